// One instance: first the root cause and what a human can do, then what needs what beside what comes after what.
import { html, useEffect } from './preact.js';
import { blueprintPath, pathOf, withQuery } from './place.js';
import { Copy, Failure, Go, Loading, Sign, Since } from './parts.js';
import { Graph } from './graph.js';
import { Node } from './node.js';
import { Outline } from './outline.js';
import { useStream } from './stream.js';
import { address, command, look, slot, title } from './words.js';

// The root cause that is looked at first: of a node of this instance, if there is one.
export const causeOf = (told) => told.instance.chain.find((it) => it.rootCause && !it.instance);

function Chain({ all, now }) {
  return html`<ol class="chain">${all.map((it, at) => {
    const name = it.instance ? title(it.instance) : slot(it);
    const to = it.instance ? pathOf(it.instance) : withQuery({ node: it.node, tab: '' });
    return html`<li key=${at} class="deep${Math.min(it.depth, 8)} ${it.rootCause ? 'root' : ''}"><span class="arrow" aria-hidden="true">${it.depth ? '└ ' : ''}</span><${Go} to=${to} data-link=${at}><b>${name}</b><//>${' '}<bdi>${it.text}</bdi>${' '}<${Since} since=${it.since} now=${now} />${it.rootCause ? html` <span class="flag">root cause</span>` : null}</li>`;
  })}</ol>`;
}

function Todo({ advice, explain, cause }) {
  return html`<ul class="todo">${
    cause ? html`<li>${advice.length ? 'Look at the object' : 'Make the object as it is wanted; Pemdas then goes on by itself. Look at it'}:<${Copy} text=${`kubectl get ${address(cause)} -o yaml`} /></li>` : null
  }${advice.map((it) => {
    const text = command(it);
    const words = text ? it.replace(/`?/g, '').replace(text.replace(/`/g, ''), '').replace(/[:\s]+$/, '') : it;
    return html`<li key=${it}><bdi>${words}</bdi>${text ? html`<${Copy} text=${text} />` : null}</li>`;
  })}<li>The same in a terminal:<${Copy} text=${explain} /></li></ul>`;
}

function Events({ all, now }) {
  if (!all.length) return null;
  return html`<section aria-labelledby="events"><h2 id="events">Events</h2><ul class="events">${all.map(
    (it, at) => html`<li key=${at}><${Since} since=${it.when} now=${now} /> <b>${it.reason}</b> <bdi>${it.message}</bdi></li>`,
  )}</ul></section>`;
}

function Why({ it, nodes, now }) {
  const ready = it.state === 'Ready';
  if (ready && !it.advice.length) return null;
  const last = it.chain.find((link) => link.rootCause && !link.instance);
  const object = nodes.find((node) => last && slot(node) === slot(last))?.objects[0];
  return html`<section class="cause-panel ${look(it.state)[1]}" aria-labelledby="why"><h2 id="why">${ready ? 'What you can do' : 'Why'}</h2>
    ${it.causes.map((cause) => html`<p key=${cause} class="cause-text"><bdi>${cause}</bdi></p>`)}
    <div class="sides">${ready ? null : html`<div><${Chain} all=${it.chain} now=${now} />${!it.chain.length && !it.causes.length ? html`<p class="quiet">Nothing holds it: it goes on by itself.</p>` : null}</div>`}
    <div>${ready ? null : html`<h3>What you can do</h3>`}<${Todo} advice=${it.advice} cause=${object} explain=${`pemdas explain ${address(it.instance)}`} /></div></div></section>`;
}

export function Instance({ place, report }) {
  const state = useStream('instance', place.of);
  const told = state.document;
  useEffect(() => report(state), [state]);
  useEffect(() => {
    const it = told?.instance;
    document.title = it ? `${look(it.state)[0]} ${it.instance.name} is ${look(it.state)[2]} · Pemdas` : 'Pemdas';
  }, [told]);
  if (state.failure) return html`<${Failure} failure=${state.failure} />`;
  if (!told) return html`<${Loading} />`;
  const it = told.instance;
  const cause = causeOf(told)?.node;
  const selected = place.query.node?.replace(/\[.*/, '');
  const why = (name) => {
    const node = told.nodes.find((node) => node.node === name && node.state !== 'Ready');
    return node?.why.map((it) => it.text).join('; ');
  };
  const ready = told.nodes.filter((node) => node.state === 'Ready').length;
  return html`<h1><${Sign} state=${it.state} />${title(it.instance)} is ${look(it.state)[2]}</h1>
    <p class="facts-line quiet">${told.nodes.length ? html`<span>${ready} of ${told.nodes.length} nodes ready</span>` : null}${it.since ? html`<span>for <${Since} since=${it.since} now=${state.at} /></span>` : null}
      <span>blueprint <${Go} to=${blueprintPath(it.blueprint)}>${it.blueprint}<//></span><span>as ${it.account}</span>${it.revision ? html`<span>revision <code>${it.revision}</code></span>` : null}</p>
    ${it.notes.map((note) => html`<p key=${note} class="note"><bdi>${note}</bdi></p>`)}
    <${Why} it=${it} nodes=${told.nodes} now=${state.at} />
    <div class="panes ${selected ? 'with-node' : ''}">
      <section class="pane" aria-labelledby="needs"><h2 id="needs">What needs what</h2><${Outline} document=${told} selected=${selected} cause=${cause} why=${why} /></section>
      <section class="pane wide" aria-labelledby="order"><h2 id="order">What comes after what</h2><${Graph} document=${told} selected=${selected} cause=${cause} /></section>
      ${place.query.node ? html`<${Node} document=${told} id=${place.query.node} tab=${place.query.tab} now=${state.at} />` : null}
    </div>
    <${Events} all=${it.events} now=${state.at} />`;
}
