// Where the page is. Everything that is selected stands in the address, so that a link shows the same to somebody else;
// the token of the run does not.
import { useEffect, useState } from './preact.js';

const KEY = 'pemdas-token';

// The token comes behind the # of the link that was printed, and leaves the address at once.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given) {
    localStorage.setItem(KEY, given);
    history.replaceState(null, '', location.pathname + location.search);
  }
  return localStorage.getItem(KEY) ?? '';
}

const part = (text) => encodeURIComponent(text || '-');
const read = (text) => (text === '-' ? '' : decodeURIComponent(text ?? ''));

export const pathOf = (it) => `/i/${part(it.group)}/${part(it.kind)}/${part(it.namespace)}/${part(it.name)}`;
export const blueprintPath = (title) => `/b/${title.split('/').map(part).join('/')}`;

// What an address says.
export function here() {
  const [, screen, ...rest] = location.pathname.split('/');
  const query = Object.fromEntries(new URLSearchParams(location.search));
  try {
    if (screen === 'i') {
      const [group, kind, namespace, name] = rest.map(read);
      return { screen: 'instance', of: { group, kind, namespace, name }, query };
    }
    if (screen === 'b') {
      const [namespace, name] = rest.map(read);
      return { screen: 'blueprint', of: { namespace, name }, query };
    }
  } catch {
    return { screen: 'fleet', query: {} };
  }
  return { screen: 'fleet', query };
}

const changed = new EventTarget();

export function go(address, replace = false) {
  history[replace ? 'replaceState' : 'pushState'](null, '', address);
  changed.dispatchEvent(new Event('change'));
}

// The address with some words of its query set, or taken out.
export function withQuery(words) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(words)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  return location.pathname + (text ? `?${text}` : '');
}

export function usePlace() {
  const [place, set] = useState(here);
  useEffect(() => {
    const tell = () => set(here());
    changed.addEventListener('change', tell);
    addEventListener('popstate', tell);
    return () => {
      changed.removeEventListener('change', tell);
      removeEventListener('popstate', tell);
    };
  }, []);
  return place;
}
