// The Sequence graph as a picture: from left to right, what comes after stands further right. Where the boxes stand comes from the
// server, and stays while their states change.
import { html, useLayoutEffect, useRef, useState } from './preact.js';
import { go, withQuery } from './place.js';
import { edgeWords, look, plural } from './words.js';

const WIDTH = 184;
const HEIGHT = 50;
const ACROSS = 76;
const DOWN = 16;
const RIM = 14;

const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// By id: the left upper corner of each box. Short columns stand beside the middle of long ones.
function corners(boxes, edges) {
  const rows = new Map();
  const all = boxes.map((it) => [it.column, it.row]).concat(edges.flatMap((it) => it.via));
  for (const [column, row] of all) rows.set(column, Math.max(rows.get(column) ?? 0, row + 1));
  const most = Math.max(0, ...rows.values());
  const corner = ([column, row]) => {
    const first = ((most - rows.get(column)) / 2) * (HEIGHT + DOWN);
    return [RIM + column * (WIDTH + ACROSS), RIM + first + row * (HEIGHT + DOWN)];
  };
  const at = new Map(boxes.map((it) => [it.id, corner([it.column, it.row])]));
  const width = RIM * 2 + rows.size * (WIDTH + ACROSS) - ACROSS;
  return { at, corner, width: Math.max(width, 1), height: RIM * 2 + most * (HEIGHT + DOWN) - DOWN };
}

// From the right side of a box to the left one of another, through the free places between them.
function curve(from, via, to) {
  const stops = [...via.map(([x, y]) => [x, y, x + WIDTH]), [to[0] - 9, to[1]]];
  let [x, y] = [from[0] + WIDTH, from[1] + HEIGHT / 2];
  let path = `M${x} ${y}`;
  for (const [left, top, right] of stops) {
    const [end, middle] = [left, top + HEIGHT / 2];
    const bend = end > x ? Math.max(28, (end - x) / 2) : 90;
    path += `C${x + bend} ${y} ${end - bend} ${middle} ${end} ${middle}`;
    if (right) path += `H${right}`;
    [x, y] = [right ?? end, middle];
  }
  return path;
}

function Line({ edge, at, corner, near }) {
  const [from, to] = [at.get(edge.from), at.get(edge.to)];
  if (!from || !to) return null;
  const state = edge.now ?? 'open';
  const words = `${edge.to} comes after ${edge.from}${edge.until ? `, until ${edge.until}` : ''}${edge.now ? `: ${edgeWords[state]}` : ''}`;
  const via = edge.via.map(corner);
  const last = via.at(-1) ?? from;
  const middle = [(last[0] + WIDTH + to[0]) / 2, (last[1] + to[1] + HEIGHT) / 2];
  return html`<g class="edge ${state} ${near ? 'near' : ''}"><title>${words}</title><path d=${curve(from, via, to)} marker-end="url(#end-${state})" />${
    state === 'closed' ? html`<g class="stop"><circle cx=${middle[0]} cy=${middle[1]} r="8" /><path d="M${middle[0] - 4} ${middle[1]}h8" /></g>` : null
  }</g>`;
}

function Box({ it, at, selected, cause, focus }) {
  const [x, y] = at.get(it.id);
  const [sign, name, words] = look(it.state);
  const count = it.members ? ` ${it.ready}/${it.count}` : '';
  const below = [it.kind, ...it.marks].filter(Boolean).join(' · ') || it.role;
  const to = withQuery({ node: it.id, tab: '' });
  const click = (event) => {
    event.preventDefault();
    go(to);
  };
  const label = `${it.id}${count} ${below}: ${words || it.role}${count ? `, ${it.ready} of ${it.count} ready` : ''}${cause ? ', root cause' : ''}`;
  return html`<a href=${to} class="box ${name} ${selected ? 'selected' : ''} ${cause ? 'cause' : ''} ${it.late ? 'late' : ''}" data-node=${it.id} tabindex=${focus ? '0' : '-1'} aria-current=${selected ? 'true' : null} onClick=${click}>
    <title>${label}</title>
    <rect x=${x} y=${y} width=${WIDTH} height=${HEIGHT} rx="8" />
    <path class="bar" d="M${x + 8} ${y}a8 8 0 0 0-8 8v${HEIGHT - 16}a8 8 0 0 0 8 8h-2.5v-${HEIGHT}z" />
    <text class="mark" aria-hidden="true" x=${x + 22} y=${y + 22}>${sign}</text>
    <text class="name" x=${x + (sign ? 36 : 18)} y=${y + 22}>${cut(it.id, 19 - count.length)}${count}</text>
    <text class="below" x=${x + (sign ? 36 : 18)} y=${y + 38}>${cut(below, 24)}</text>
    ${cause ? html`<text class="flag" aria-hidden="true" x=${x + WIDTH - 8} y=${y - 3}>root cause</text>` : null}
  </a>`;
}

// The node to which an arrow key leads: along an edge, or up and down in a column.
function next(boxes, edges, id, key) {
  const here = boxes.find((it) => it.id === id);
  const find = (name) => boxes.find((it) => it.id === name);
  const near = (all) => all.filter(Boolean).sort((a, b) => Math.abs(a.row - here.row) - Math.abs(b.row - here.row))[0];
  if (key === 'ArrowRight') return near(edges.filter((it) => it.from === id).map((it) => find(it.to)));
  if (key === 'ArrowLeft') return near(edges.filter((it) => it.to === id).map((it) => find(it.from)));
  const step = key === 'ArrowDown' ? 1 : -1;
  const column = boxes.filter((it) => it.column === here.column && (it.row - here.row) * step > 0);
  return near(column) ?? boxes[boxes.indexOf(here) + step];
}

export function Graph({ document: told, selected, cause }) {
  const frame = useRef(null);
  const [chosen, choose] = useState(null);
  const [room, measure] = useState(0);
  const { boxes, edges, also, folded } = told;
  const { at, corner, width, height } = corners(boxes, edges);
  // What is only a little too wide is made to fit.
  const fit = chosen ?? (room > 0 && width > room && width * 0.6 < room);
  const first = at.has(selected) ? selected : at.has(cause) ? cause : boxes[0]?.id;
  useLayoutEffect(() => {
    const watch = new ResizeObserver(() => measure(frame.current?.clientWidth ?? 0));
    if (frame.current) watch.observe(frame.current);
    return () => watch.disconnect();
  }, [boxes.length > 0]);
  // Only the picture is scrolled, never the page.
  useLayoutEffect(() => {
    const place = at.get(selected ?? cause);
    if (!place || !frame.current || fit) return;
    const { clientWidth, clientHeight } = frame.current;
    frame.current.scrollTo(place[0] - (clientWidth - WIDTH) / 2, place[1] - (clientHeight - HEIGHT) / 2);
  }, [selected, cause, fit]);
  if (!boxes.length) return html`<p class="quiet">This instance has no nodes.</p>`;
  const press = (event) => {
    const id = event.target.closest?.('[data-node]')?.dataset.node;
    if (!id || !event.key.startsWith('Arrow')) return;
    event.preventDefault();
    const to = next(boxes, edges, id, event.key);
    if (!to) return;
    go(withQuery({ node: to.id, tab: '' }), true);
    frame.current.querySelector(`[data-node="${CSS.escape(to.id)}"]`)?.focus();
  };
  const needs = also?.filter((it) => (it.from === selected || it.to === selected) && at.has(it.from) && at.has(it.to)) ?? [];
  const sorted = [...edges].sort((a, b) => (a.now === 'closed') - (b.now === 'closed'));
  return html`<div class="graph">
    <div class="frame ${fit ? 'fit' : ''}" ref=${frame} onKeyDown=${press}>
      <svg viewBox="0 0 ${width} ${height}" width=${width} height=${height} role="group" aria-label="What comes after what">
        <defs>${['open', 'closed', 'ahead'].map(
          (it) => html`<marker key=${it} id="end-${it}" class=${it} viewBox="0 0 8 8" refX="1" refY="4" markerUnits="userSpaceOnUse" markerWidth="11" markerHeight="11" orient="auto"><path d="M0 0l8 4-8 4z" /></marker>`,
        )}</defs>
        ${sorted.map((it) => html`<${Line} key=${it.id} edge=${it} at=${at} corner=${corner} near=${it.from === selected || it.to === selected} />`)}
        ${needs.map((it) => html`<path key=${`also ${it.from} ${it.to}`} class="also" d=${curve(at.get(it.from), [], at.get(it.to))} />`)}
        ${boxes.map((it) => html`<${Box} key=${it.id} it=${it} at=${at} selected=${it.id === selected} cause=${it.id === cause} focus=${it.id === first} />`)}
      </svg>
    </div>
    <p class="legend quiet">
      ${folded ? html`<b>${plural(folded, 'node')} that are well or not near are folded. </b>` : null}
      ${edges.some((it) => it.now) ? html`<span class="key open">open</span><span class="key closed">closed: holds what comes after</span><span class="key ahead">not reached yet</span>` : null}
      ${width > room ? html`<button type="button" onClick=${() => choose(!fit)}>${fit ? 'Full size' : 'Fit into the page'}</button>` : null}
    </p>
  </div>`;
}
