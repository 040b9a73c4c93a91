// One node: what it is, why it is not further, which edge holds it, its objects, and what would be written next.
import { html, useEffect, useState } from './preact.js';
import { go, withQuery } from './place.js';
import { Copy, Go, Sign, Since } from './parts.js';
import { ask } from './stream.js';
import { address, edgeWords, look, slot, title } from './words.js';

function Reasons({ why }) {
  if (!why.reasons.length) return html`<p class="cause-text"><bdi>${why.text}</bdi></p>`;
  return html`<table class="reasons"><thead><tr><th scope="col">Path</th><th scope="col">Is</th><th scope="col">Wants</th></tr></thead><tbody>${why.reasons.map(
    (it) => html`<tr key=${it.path}><th scope="row"><code>${it.path}</code></th><td><bdi>${it.is}</bdi></td><td><bdi>${it.wants}</bdi></td></tr>`,
  )}</tbody></table>`;
}

function Why({ node, now }) {
  if (node.state === 'Ready') return null;
  return node.why.map(
    (why) => html`<div key=${why.text} class="why">${
      why.waitsFor ? html`<p>Waits for <${Go} to=${withQuery({ node: why.waitsFor.node, tab: '' })}><b>${slot(why.waitsFor)}</b><//>${why.reasons.length ? ', of which this is not as wanted:' : ''}</p>` : null
    }${why.waitsFor && !why.reasons.length ? null : html`<${Reasons} why=${why} />`}</div>`,
  );
}

const ENDS = { passed: 'passed', failed: 'failed', cut: 'deleted before its end' };

// What the ledger remembers of a once or a state.
function Attempt({ it }) {
  if (!it) return null;
  const end = it.end ? ENDS[it.end] : 'under way';
  return html`<dt>Attempt</dt><dd>${it.number ? `number ${it.number}` : 'none was needed'}, ${end}${it.retries ? `, after ${it.retries} retries` : ''}${it.due ? ', due again' : ''}</dd>`;
}

function Edges({ name, edges, to }) {
  const all = edges.filter((it) => it[to ? 'to' : 'from'] === name);
  if (!all.length) return null;
  const other = to ? 'from' : 'to';
  return html`<dt>${to ? 'Comes after' : 'Comes before'}</dt><dd><ul>${all.map(
    (it) => html`<li key=${it.id}><${Go} to=${withQuery({ node: it[other], tab: '' })}>${it[other]}<//>${it.until ? html` until <code>${it.until}</code>` : null}${it.now ? html` <span class="edge-word ${it.now}">${edgeWords[it.now]}</span>` : null}</li>`,
  )}</ul></dd>`;
}

// YAML in lines, so that it can be read, and found in the page by its line.
function Text({ text, diff }) {
  const sign = { '+': 'added', '-': 'taken', '@': 'where' };
  return html`<pre class="text" tabindex="0">${text.split('\n').map(
    (line, at) => html`<span key=${at} class=${diff ? (sign[line[0]] ?? '') : ''}>${line}${'\n'}</span>`,
  )}</pre>`;
}

// An object is read again when something about its instance is new.
function Body({ object, number }) {
  const [told, set] = useState(null);
  const key = JSON.stringify(object);
  useEffect(() => {
    let gone = false;
    ask('object', object).then(
      (it) => gone || set(it),
      (why) => gone || set({ failure: why.failure ?? { error: String(why) } }),
    );
    return () => (gone = true);
  }, [key, number]);
  if (!told) return html`<p class="quiet">Reading the object</p>`;
  if (told.failure) return html`<p class="note">${told.failure.error}${told.failure.hint ? ` (${told.failure.hint})` : ''}</p>`;
  const others = told.managers.filter((it) => it.manager !== 'pemdas');
  return html`<${Text} text=${told.yaml} />
    <p class="quiet">${others.length ? html`Other managers of its fields: ${others.map((it) => `${it.manager}${it.part ? ` (${it.part})` : ''}`).join(', ')}.` : 'Nobody but Pemdas manages fields of it.'}</p>`;
}

export function Node({ document: told, id, tab, now }) {
  const box = told.boxes.find((it) => it.id === id);
  const nodes = told.nodes.filter((it) => it.node === id || it.id === id);
  const close = () => go(withQuery({ node: '', tab: '' }));
  if (!box && !nodes.length) {
    return html`<section class="node" aria-label="Node"><div class="head"><h2>${id}</h2><button type="button" onClick=${close}>Close</button></div><p class="note">This instance has no node of this name now.</p></section>`;
  }
  const state = nodes.length === 1 ? nodes[0].state : box?.state;
  const objects = nodes.flatMap((it) => it.objects);
  const next = nodes.find((it) => it.next);
  const shown = tab === 'diff' && next ? 'diff' : objects.length ? 'yaml' : next ? 'diff' : '';
  return html`<section class="node" aria-labelledby="node-head">
    <div class="head"><h2 id="node-head"><${Sign} state=${state} word /> ${id}</h2><button type="button" onClick=${close}>Close</button></div>
    <p class="quiet">${[box?.kind, ...(box?.marks ?? [])].filter(Boolean).join(' · ')}</p>
    ${nodes.length > 1 ? html`<p>${nodes.filter((it) => it.state === 'Ready').length} of ${nodes.length} members are ready.</p>` : null}
    ${nodes.filter((it) => it.state !== 'Ready').slice(0, 20).map((it) => html`<div key=${it.id} class="state-of">
      ${nodes.length > 1 ? html`<h3><${Sign} state=${it.state} /> ${slot(it)}</h3>` : null}
      <p>${look(it.state)[2]}${it.since ? html` for <${Since} since=${it.since} now=${now} />` : null}</p>
      <${Why} node=${it} now=${now} /></div>`)}
    ${box?.state === 'NotNeeded' ? html`<p>Nothing needs it now.</p>` : null}
    <dl class="facts"><${Edges} name=${id.replace(/\[.*/, '')} edges=${told.edges} to /><${Edges} name=${id.replace(/\[.*/, '')} edges=${told.edges} />
      ${objects.length ? html`<dt>${objects.length === 1 ? 'Object' : 'Objects'}</dt><dd><ul>${objects.slice(0, 20).map((it) => html`<li key=${title(it)}>${title(it)}</li>`)}</ul></dd>` : null}
      <${Attempt} it=${nodes.length === 1 ? nodes[0].attempt : null} />
      ${next ? html`<dt>Written next</dt><dd>${next.next}</dd>` : null}</dl>
    ${objects.length ? html`<${Copy} text=${`kubectl get ${address(objects[0])} -o yaml`} />` : null}
    ${shown ? html`<div class="tabs" role="group" aria-label="What is shown of it">
      ${objects.length ? html`<button type="button" aria-pressed=${shown === 'yaml'} onClick=${() => go(withQuery({ tab: '' }), true)}>YAML</button>` : null}
      ${next ? html`<button type="button" aria-pressed=${shown === 'diff'} onClick=${() => go(withQuery({ tab: 'diff' }), true)}>What would be written next</button>` : null}
    </div>` : null}
    ${shown === 'yaml' ? html`<${Body} object=${objects[0]} number=${now} />` : shown === 'diff' ? html`<${Text} text=${next.diff || 'Nothing that may be shown.'} diff />` : null}
  </section>`;
}
