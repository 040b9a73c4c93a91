// What the server tells: a snapshot, and then what is new. A tab that nobody sees hears nothing, so that any number of them may
// be open; it hears a new snapshot as soon as it is seen.
import { useEffect, useState } from './preact.js';
import { takeToken } from './place.js';

const token = takeToken();
const headers = { authorization: `Bearer ${token}` };
const AGAIN = 2000;

// The opposite of `changes.rs`.
export function put(document, change) {
  const next = { ...document };
  for (const name of change.gone) delete next[name];
  Object.assign(next, change.set);
  for (const [name, list] of Object.entries(change.lists)) {
    const all = new Map(next[name].map((it) => [it.id, it]));
    for (const it of list.put) all.set(it.id, it);
    next[name] = (list.order ?? next[name].map((it) => it.id)).map((id) => all.get(id));
  }
  return next;
}

export async function ask(name, words) {
  const response = await fetch(`/api/v1/${name}?${new URLSearchParams(words)}`, { headers });
  const document = await response.json();
  if (!response.ok) throw Object.assign(new Error(document.error), { failure: document });
  return document;
}

function news(state, line) {
  const known = { ...state, phase: 'live', at: line.at, away: line.away, failure: null };
  if (line.type === 'snapshot') return { ...known, document: line.document };
  if (line.type === 'failure') return { ...known, failure: line.failure };
  return line.change ? { ...known, document: put(state.document, line.change) } : known;
}

async function read(response, take) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const line of lines) take(JSON.parse(line));
  }
}

// Follows something until it is told to stop.
function follow(name, words, set) {
  let ended = false;
  let control = new AbortController();
  let wake = () => {};
  const hide = () => (document.hidden ? control.abort() : wake());
  document.addEventListener('visibilitychange', hide);
  const run = async () => {
    while (!ended) {
      if (document.hidden) await new Promise((done) => (wake = done));
      control = new AbortController();
      let wait = AGAIN;
      try {
        const address = `/api/v1/stream/${name}?${new URLSearchParams(words)}`;
        const response = await fetch(address, { headers, signal: control.signal });
        if (response.ok) {
          await read(response, (line) => ended || set((state) => news(state, line)));
        } else {
          const failure = await response.json();
          if (!ended) set((state) => ({ ...state, phase: 'live', failure }));
          if (failure.status === 401 || failure.status === 403) return;
        }
      } catch {
        if (document.hidden) wait = 0;
      }
      if (ended) return;
      if (wait) set((state) => ({ ...state, phase: 'off' }));
      await new Promise((done) => setTimeout(done, wait));
    }
  };
  run();
  return () => {
    ended = true;
    control.abort();
    wake();
    document.removeEventListener('visibilitychange', hide);
  };
}

const NOTHING = { phase: 'loading', document: null, at: 0, away: null, failure: null };

export function useStream(name, words) {
  const key = `${name} ${JSON.stringify(words)}`;
  const [state, set] = useState({ ...NOTHING, key });
  useEffect(() => {
    set((before) => ({ ...NOTHING, key, document: before.key.startsWith('fleet ') && name === 'fleet' ? before.document : null }));
    return follow(name, words, set);
  }, [key]);
  return state.key === key || name === 'fleet' ? state : { ...NOTHING, key };
}
