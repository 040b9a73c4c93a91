// Small parts that every screen uses.
import { html, useEffect, useRef, useState } from './preact.js';
import { go } from './place.js';
import { ago, clock, look } from './words.js';

// A link within the page.
export function Go({ to, children, class: name, ...rest }) {
  const click = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    go(to);
  };
  return html`<a href=${to} class=${name} onClick=${click} ...${rest}>${children}</a>`;
}

export function Sign({ state, word = false }) {
  const [sign, name, words] = look(state);
  return html`<span class="sign ${name}"><span aria-hidden="true">${sign}</span>${' '}<span class=${word ? '' : 'hidden'}>${words}</span></span>`;
}

export function Copy({ text }) {
  const [done, set] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    set(true);
    setTimeout(() => set(false), 1500);
  };
  return html`<span class="command"><code>${text}</code><button type="button" data-copy=${text} onClick=${copy} aria-label="Copy the command">${done ? 'Copied' : 'Copy'}</button></span>`;
}

// Since when, as of a time of the cluster.
export function Since({ since, now }) {
  if (!since) return null;
  return html`<time datetime=${since} title=${since} class="quiet">${ago(since, now)}</time>`;
}

// What stands between the reader and news.
export function Banner({ state }) {
  const last = state.at ? ` The last news are of ${clock(state.at)} UTC.` : '';
  if (state.phase === 'off') {
    return html`<p class="banner" role="status"><b>pemdas ui does not answer.</b> Start it again with <code>pemdas ui</code>, and open the link that it prints.${last}</p>`;
  }
  if (!state.away) return null;
  return html`<p class="banner" role="status"><b>The cluster does not answer:</b> ${state.away}.${last} The page goes on by itself when it answers again.</p>`;
}

// Nothing to show: why, and what can be done.
export function Failure({ failure }) {
  return html`<section class="failure"><h1>${failure.error}</h1>${failure.hint ? html`<p>${failure.hint}</p>` : null}</section>`;
}

export function Loading() {
  return html`<p class="quiet" role="status">Reading the cluster</p>`;
}

const KEYS = [
  ['/', 'search the fleet'],
  ['g f', 'go to the fleet'],
  ['j k', 'next and previous row'],
  ['Enter', 'open what is focused'],
  ['← → ↑ ↓', 'go along the edges of the graph'],
  ['x', 'select the root cause'],
  ['w', 'next link of the why'],
  ['y', 'YAML of the node'],
  ['d', 'what would be written next'],
  ['c', 'copy the command'],
  ['Esc', 'close the node'],
  ['?', 'these keys'],
];

export function Keys({ close }) {
  const box = useRef(null);
  useEffect(() => {
    box.current.showModal();
  }, []);
  return html`<dialog ref=${box} onClose=${close} aria-label="Keys"><h2>Keys</h2><dl class="keys">${KEYS.map(
    ([key, words]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${words}</dd></div>`,
  )}</dl><form method="dialog"><button>Close</button></form></dialog>`;
}
