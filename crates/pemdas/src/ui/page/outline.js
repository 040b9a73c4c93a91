// The Also graph as a tree: each node below what needs it, once.
import { html } from './preact.js';
import { withQuery } from './place.js';
import { Go, Sign } from './parts.js';

const WRITTEN = ['also', 'deleting', 'own_root'];

// The lines of the tree, each with its depth.
export function lines({ boxes, also, roots }) {
  const known = new Map(boxes.map((it) => [it.id, it]));
  const drawn = new Set(roots ?? []);
  const all = [];
  const walk = (from, depth) => {
    for (const edge of also ?? []) {
      if (edge.from !== from || !WRITTEN.includes(edge.origin)) continue;
      const it = known.get(edge.to);
      if (drawn.has(edge.to)) {
        if (it && depth > 0) all.push({ it, depth, again: true, key: `${from} ${edge.to}` });
        continue;
      }
      drawn.add(edge.to);
      if (it) all.push({ it, depth, when: edge.when, key: edge.to });
      walk(edge.to, depth + (it ? 1 : 0));
    }
  };
  for (const root of roots ?? []) walk(root, 0);
  for (const it of boxes) if (!drawn.has(it.id)) all.push({ it, depth: 0, key: it.id });
  return all;
}

export function Outline({ document: told, selected, cause, why }) {
  return html`<ul class="outline">${lines(told).map(
    ({ it, depth, again, when, key }) => html`<li key=${key} class="deep${Math.min(depth, 8)} ${it.id === selected ? 'selected' : ''}">
      <${Go} to=${withQuery({ node: it.id, tab: '' })} data-line=${again ? null : it.id} aria-current=${it.id === selected ? 'true' : null}>
        <${Sign} state=${it.state} /><b>${it.id}</b>${it.members ? html`<span class="quiet">${it.ready}/${it.count}</span>` : null}<span class="quiet">${it.kind}</span>
        ${it.id === cause ? html`<span class="flag">root cause</span>` : null}
        ${again ? html`<span class="quiet">shown above</span>` : null}
      <//>
      ${!again && why(it.id) ? html`<span class="reason"><bdi>${why(it.id)}</bdi></span>` : null}
      ${when ? html`<span class="reason quiet">only if <code>${when}</code></span>` : null}
    </li>`,
  )}</ul>`;
}
