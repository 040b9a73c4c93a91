// All instances: counts, groups with one cause, and a row for each, the worst first.
import { html, useEffect, useRef } from './preact.js';
import { blueprintPath, go, withQuery } from './place.js';
import { Failure, Go, Loading, Sign, Since } from './parts.js';
import { useStream } from './stream.js';
import { look, plural } from './words.js';

const ORDER = ['Stalled', 'Deleting', 'Reconciling', 'Suspended', 'Ready'];

function heading(it) {
  const parts = ORDER.filter((state) => it.states[state]).map((state) => `${it.states[state]} ${look(state)[2]}`);
  if (!it.total) return 'No instances';
  if (it.states.Ready === it.total) return `${plural(it.total, 'instance')}, all ready`;
  return `${plural(it.total, 'instance')}: ${parts.join(', ')}`;
}

function Row({ it, now }) {
  return html`<tr class="row" onClick=${(event) => event.target.closest('a') || go(it.path)}>
    <td class="state"><${Sign} state=${it.state} word /></td>
    <td class="what"><${Go} to=${it.path} data-row=${it.path}><span class="kind">${it.instance.kind}</span>${' '}<b>${it.instance.name}</b><//><span class="quiet place">${it.instance.namespace}</span></td>
    <td class="since"><${Since} since=${it.since} now=${now} /></td>
    <td class="why"><bdi>${it.cause}</bdi></td>
    <td class="from quiet"><${Go} to=${blueprintPath(it.blueprint)}>${it.blueprint}<//></td>
  </tr>`;
}

function Groups({ all, words }) {
  if (!all.length) return null;
  return html`<section aria-labelledby="causes"><h2 id="causes">The same cause</h2><ul class="groups">${all.map(
    (it) => html`<li key=${it.cause}><${Go} to=${withQuery({ q: words === it.cause ? '' : it.cause })} aria-current=${words === it.cause ? 'true' : null}><b class="count">${it.count}</b> <bdi>${it.cause}</bdi><//></li>`,
  )}</ul></section>`;
}

function Blueprints({ all }) {
  return html`<section aria-labelledby="blueprints"><h2 id="blueprints">Blueprints</h2>${
    all.length
      ? html`<ul class="cards">${all.map(
          (it) => html`<li key=${it.id}><${Go} to=${blueprintPath(it.id)} class="card"><b>${it.name}</b><span class="quiet">${it.namespace}</span><span>${
            it.trouble ? html`<span class="sign stalled">✗ cannot run</span>` : it.instances ? `${it.ready} of ${it.instances} ready` : 'no instances'
          }</span>${it.problems ? html`<span class="quiet">${plural(it.problems, 'problem')}</span>` : null}<//></li>`,
        )}</ul>`
      : html`<p class="quiet">There is no blueprint that you may see. A blueprint is a ConfigMap with the label <code>pemdas.dev/blueprint</code>.</p>`
  }</section>`;
}

export function Fleet({ place, report }) {
  const words = place.query.q ?? '';
  const state = useStream('fleet', { q: words });
  const search = useRef(null);
  useEffect(() => report(state), [state]);
  useEffect(() => {
    document.title = state.document ? `${heading(state.document)} · Pemdas` : 'Pemdas';
  }, [state.document]);
  if (state.failure) return html`<${Failure} failure=${state.failure} />`;
  const it = state.document;
  if (!it) return html`<${Loading} />`;
  const set = (text) => go(withQuery({ q: text }), true);
  return html`<h1>${heading(it)}</h1>
    ${it.only ? html`<p class="note">You may not list all namespaces: this is what is in the namespace <b>${it.only}</b>.</p>` : null}
    ${it.notes.map((note) => html`<p key=${note} class="note">${note}</p>`)}
    <div class="search"><input type="search" ref=${search} id="search" placeholder="Search: a name, a state, a cause" aria-label="Search the instances" value=${words} onInput=${(event) => set(event.target.value)} /><span class="states" role="group" aria-label="Only one state">${ORDER.filter((name) => it.states[name]).map((name) => {
      const word = name.toLowerCase();
      const on = words === word;
      return html`<button type="button" key=${name} aria-pressed=${on} onClick=${() => set(on ? '' : word)}><${Sign} state=${name} word /> ${it.states[name]}</button>`;
    })}</span></div>
    <${Groups} all=${it.groups} words=${words} />
    ${
      it.rows.length
        ? html`<div class="scroll"><table class="fleet"><caption class="hidden">Instances, the worst first</caption><thead><tr><th scope="col">State</th><th scope="col">Instance</th><th scope="col">Since</th><th scope="col">Root cause</th><th scope="col">Blueprint</th></tr></thead><tbody>${it.rows.map((row) => html`<${Row} key=${row.id} it=${row} now=${state.at} />`)}</tbody></table></div>`
        : html`<p class="quiet">${it.total ? 'No instance has these words.' : 'Nobody has created an instance of a blueprint yet.'}</p>`
    }
    ${it.found > it.rows.length ? html`<p class="note">${it.found - it.rows.length} more are not shown: search for what you need.</p>` : null}
    <${Blueprints} all=${it.blueprints} />`;
}

