// The page: which screen is shown, and the keys that work on all of them.
import { html, render, useEffect, useState } from './preact.js';
import { go, usePlace, withQuery } from './place.js';
import { Banner, Go, Keys } from './parts.js';
import { Blueprint } from './blueprint.js';
import { Fleet } from './fleet.js';
import { Instance } from './instance.js';

const SCREENS = { fleet: Fleet, instance: Instance, blueprint: Blueprint };

// Focuses the next or previous of the rows, lines and links of a screen.
function step(by) {
  const rows = [...document.querySelectorAll('[data-row]')];
  const all = rows.length ? rows : [...document.querySelectorAll('[data-line]')];
  const at = all.indexOf(document.activeElement);
  const to = all[Math.min(Math.max(at + by, 0), all.length - 1)];
  to?.focus();
}

function nextLink() {
  const all = [...document.querySelectorAll('[data-link]')];
  all[(all.indexOf(document.activeElement) + 1) % all.length]?.focus();
}

function toCause() {
  const flag = document.querySelector('.chain .root [data-link]');
  if (flag) {
    flag.click();
    document.querySelector('.box.cause')?.focus();
  }
}

function copy() {
  const near = document.activeElement.closest?.('li, section')?.querySelector('[data-copy]');
  (near ?? document.querySelector('[data-copy]'))?.click();
}

function keys(showKeys) {
  let before = '';
  return (event) => {
    const typing = event.target.closest?.('input, textarea, dialog');
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing) {
      if (event.key === 'Escape') event.target.blur?.();
      return;
    }
    const last = before;
    before = event.key;
    const acts = {
      '/': () => {
        const search = document.getElementById('search');
        if (search) search.focus();
        else go('/');
      },
      f: () => last === 'g' && go('/'),
      j: () => step(1),
      k: () => step(-1),
      x: toCause,
      w: nextLink,
      y: () => go(withQuery({ tab: '' }), true),
      d: () => go(withQuery({ tab: 'diff' }), true),
      c: copy,
      '?': () => showKeys(true),
      Escape: () => go(withQuery({ node: '', tab: '' })),
    };
    if (acts[event.key]) {
      acts[event.key]();
      event.preventDefault();
    }
  };
}

function App() {
  const place = usePlace();
  const [state, report] = useState({});
  const [shown, showKeys] = useState(false);
  useEffect(() => {
    const act = keys(showKeys);
    addEventListener('keydown', act);
    return () => removeEventListener('keydown', act);
  }, []);
  const Screen = SCREENS[place.screen];
  return html`<a class="skip" href="#main">Go to the content</a>
    <header><${Go} to="/" class="home"><img src="/assets/icon.svg" alt="" width="22" height="22" /><b>Pemdas</b><//>
      <nav aria-label="Screens"><${Go} to="/" aria-current=${place.screen === 'fleet' ? 'page' : null}>Fleet<//></nav>
      <span class="grow"></span><span class="live ${state.phase === 'live' && !state.away ? 'on' : ''}" data-phase=${state.phase ?? 'loading'} role="status">${state.phase === 'live' && !state.away ? '● live' : state.phase === 'loading' || !state.phase ? '○ reading' : '✗ no news'}</span>
      <button type="button" onClick=${() => showKeys(true)} aria-label="Keys">?</button></header>
    <${Banner} state=${state} />
    <main id="main" tabindex="-1"><${Screen} key=${place.screen} place=${place} report=${report} /></main>
    ${shown ? html`<${Keys} close=${() => showKeys(false)} />` : null}`;
}

const root = document.getElementById('app');
root.replaceChildren();
render(html`<${App} />`, root);
