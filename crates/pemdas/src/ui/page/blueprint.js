// One blueprint: what is wrong with it, what its account lacks, how far it is rolled out, both graphs, and its files.
import { html, useEffect } from './preact.js';
import { go, withQuery } from './place.js';
import { Copy, Failure, Go, Loading } from './parts.js';
import { Graph } from './graph.js';
import { Outline } from './outline.js';
import { useStream } from './stream.js';
import { command, plural } from './words.js';

function heading(it, trouble) {
  const name = `Blueprint ${it.object.namespace}/${it.object.name}`;
  const told = it.told ?? {};
  const errors = (told.problems ?? []).filter((problem) => problem.error !== false).length;
  if (trouble) return `${name} cannot run`;
  if (told.suspended) return `${name} is suspended`;
  if (errors) return `${name} has ${plural(errors, 'problem')}`;
  if (told.missing?.length) return `${name} lacks ${plural(told.missing.length, 'permission')}`;
  const all = told.instances;
  return all ? `${name}: ${all.ready} of ${plural(all.total, 'instance')} ready` : `${name}`;
}

// What an operator tells, as it tells it: a form that grows.
function Value({ it }) {
  if (Array.isArray(it)) return html`<ul>${it.map((each, at) => html`<li key=${at}><${Value} it=${each} /></li>`)}</ul>`;
  if (it && typeof it === 'object') {
    return html`<dl class="facts">${Object.entries(it).filter(([, each]) => each !== null && (typeof each !== 'object' || Object.keys(each).length)).map(([name, each]) => html`<dt key=${name}>${name}</dt><dd><${Value} it=${each} /></dd>`)}</dl>`;
  }
  return html`<bdi>${String(it)}</bdi>`;
}

function Problems({ all }) {
  if (!all?.length) return null;
  return html`<section class="cause-panel stalled" aria-labelledby="problems"><h2 id="problems">Problems</h2><ul class="todo">${all.map(
    (it, at) => html`<li key=${at}>${typeof it === 'string' ? html`<bdi>${it}</bdi>` : html`<span><b>${it.code}</b> <code>${it.place}</code> <bdi>${it.message}</bdi></span>${it.hint ? html`<span class="quiet"><bdi>${it.hint}</bdi></span>` : null}`}</li>`,
  )}</ul></section>`;
}

function Files({ all, shown }) {
  if (!all.length) return null;
  const it = all.find((file) => file.id === shown) ?? all.find((file) => file.id === 'main.ncl') ?? all[0];
  return html`<section aria-labelledby="files"><h2 id="files">Source</h2>
    <div class="tabs" role="group" aria-label="Files">${all.map((file) => html`<button type="button" key=${file.id} aria-pressed=${file === it} onClick=${() => go(withQuery({ file: file.id }), true)}>${file.id}</button>`)}</div>
    <pre class="text source" tabindex="0">${it.text.split('\n').map((line, at) => html`<span key=${at}>${line}${'\n'}</span>`)}</pre></section>`;
}

export function Blueprint({ place, report }) {
  const state = useStream('blueprint', place.of);
  const told = state.document;
  useEffect(() => report(state), [state]);
  useEffect(() => {
    document.title = told ? `${heading(told.blueprint, told.trouble)} · Pemdas` : 'Pemdas';
  }, [told]);
  if (state.failure) return html`<${Failure} failure=${state.failure} />`;
  if (!told) return html`<${Loading} />`;
  const it = told.blueprint;
  const { problems, missing, instances, ...rest } = it.told ?? {};
  const selected = place.query.node;
  const explain = `pemdas explain -n ${it.object.namespace} cm/${it.object.name}`;
  return html`<h1>${heading(it, told.trouble)}</h1>
    <p class="facts-line quiet"><span>as the ServiceAccount ${it.account}</span>${it.told ? null : html`<span>no operator has told anything about it yet</span>`}
      <span><${Go} to=${`/?q=${encodeURIComponent(`${it.object.namespace}/${it.object.name}`)}`}>its instances<//></span></p>
    ${told.trouble ? html`<section class="cause-panel stalled"><h2>Why</h2><p class="cause-text"><bdi>${told.trouble}</bdi></p></section>` : null}
    <${Problems} all=${problems} />
    ${missing?.length ? html`<section class="cause-panel waiting" aria-labelledby="lacks"><h2 id="lacks">What the account may not do</h2><${Value} it=${missing} /><p>Give it these permissions: <${Copy} text=${`pemdas rbac cm/${it.object.name} -n ${it.object.namespace}`} /></p></section>` : null}
    ${it.advice.length ? html`<section class="cause-panel waiting" aria-labelledby="todo"><h2 id="todo">What you can do</h2><ul class="todo">${it.advice.map((text) => html`<li key=${text}><bdi>${text}</bdi>${command(text) ? html`<${Copy} text=${command(text)} />` : null}</li>`)}<li>The same in a terminal:<${Copy} text=${explain} /></li></ul></section>` : null}
    ${told.boxes.length ? html`<div class="panes"><section class="pane" aria-labelledby="needs"><h2 id="needs">What needs what</h2><${Outline} document=${told} selected=${selected} why=${() => ''} /></section>
      <section class="pane wide" aria-labelledby="order"><h2 id="order">What comes after what</h2><${Graph} document=${told} selected=${selected} /></section></div>` : null}
    ${Object.keys(rest).length ? html`<section aria-labelledby="told"><h2 id="told">What the operator says</h2><${Value} it=${rest} /></section>` : null}
    <${Files} all=${told.files} shown=${place.query.file} />`;
}
