// The world as a map: visits as shades, what is done as arrows, an episode as a token that moves.

import { draw, make, number, table } from './dom.js';

const CELL = 40, INK = '#1c1c1c', ACCENT = '#0b4f7d', LINE = '#868c92';
// The darkest is light enough for what stands on it, by luminance alone.
const shade = (share) => {
  const part = Math.sqrt(Math.min(Math.max(share, 0), 1));
  const mix = (light, dark) => Math.round(light + (dark - light) * part);
  return `rgb(${mix(255, 110)}, ${mix(255, 165)}, ${mix(255, 205)})`;
};

function arrow(row, column, down, right) {
  const x = (column + 0.5) * CELL, y = (row + 0.5) * CELL;
  if (down === 0 && right === 0) return draw('circle', { cx: x, cy: y, r: 3, fill: INK });
  const length = Math.hypot(down, right), dx = (right / length) * 11, dy = (down / length) * 11;
  return draw('path', {
    d: `M${x - dx} ${y - dy} L${x + dx} ${y + dy} m${-dx * 0.7 - dy * 0.45} ${-dy * 0.7 + dx * 0.45} L${x + dx} ${y + dy} l${-dx * 0.7 + dy * 0.45} ${-dy * 0.7 - dx * 0.45}`,
    fill: 'none', stroke: INK, 'stroke-width': 2.2, 'stroke-linecap': 'round', 'stroke-linejoin': 'round',
  });
}

function frame(map, label) {
  const left = map.row_names.length ? 10 + 6.8 * Math.max(...map.row_names.map((name) => name.length)) : 4, bottom = map.column_names.length ? 20 : 4;
  const wide = map.columns * CELL, high = map.rows * CELL;
  const svg = draw('svg', { viewBox: `${-left} -4 ${wide + left + 4} ${high + bottom + 4}`, role: 'img', preserveAspectRatio: 'xMinYMin meet', 'aria-label': label });
  svg.style.maxWidth = `${1.4 * (wide + left + 8)}px`;
  const small = Math.max(0, ...map.column_names.map((name) => name.length)) > 6 ? 'cell' : 'small';
  map.row_names.forEach((name, row) => svg.append(
    draw('text', { x: -6, y: (row + 0.5) * CELL + 4, 'text-anchor': 'end', class: 'small' }, name)));
  map.column_names.forEach((name, column) => svg.append(
    draw('text', { x: (column + 0.5) * CELL, y: high + 15, 'text-anchor': 'middle', class: small }, name)));
  return svg;
}

// A map with cells that `fill` colours, walls, and whatever `above` draws.
export function drawMap(map, label, { fill = () => '#fff', marked = () => false, above = [] } = {}) {
  const svg = frame(map, label);
  for (let cell = 0; cell < map.rows * map.columns; cell += 1) {
    const row = Math.floor(cell / map.columns), column = cell % map.columns;
    svg.append(draw('rect', {
      x: column * CELL, y: row * CELL, width: CELL, height: CELL, fill: fill(cell), stroke: LINE, class: 'surface',
    }));
    if (map.texts[cell]) {
      svg.append(draw('text', { x: column * CELL + 2.5, y: row * CELL + 9, class: 'cell' }, map.texts[cell].slice(0, 9)));
    }
    if (marked(cell)) {
      svg.append(draw('path', {
        d: `M${column * CELL + 4} ${(row + 1) * CELL - 4} l32 -32 M${column * CELL + 4} ${row * CELL + 24} l20 -20 M${column * CELL + 16} ${(row + 1) * CELL - 4} l20 -20`,
        stroke: ACCENT, 'stroke-width': 2.5,
      }));
    }
  }
  for (const [r1, c1, r2, c2] of map.walls) {
    svg.append(draw('line', {
      x1: c1 * CELL, y1: r1 * CELL, x2: c2 * CELL, y2: r2 * CELL, stroke: INK, 'stroke-width': 4, 'stroke-linecap': 'round',
    }));
  }
  svg.append(...above);
  return svg;
}

// Where an episode has been, as a line.
export function trail(map, cells) {
  const at = cells.filter((cell) => cell >= 0).map((cell) => `${((cell % map.columns) + 0.5) * CELL} ${(Math.floor(cell / map.columns) + 0.5) * CELL}`);
  return draw('polyline', { points: at.join(', '), fill: 'none', stroke: ACCENT, 'stroke-width': 3, 'stroke-dasharray': '2 6', 'stroke-linecap': 'round' });
}

export function token(map, cell) {
  const row = Math.floor(cell / map.columns), column = cell % map.columns;
  return draw('circle', {
    class: 'token', cx: (column + 0.5) * CELL, cy: (row + 0.5) * CELL, r: 13, fill: '#fff', 'fill-opacity': 0.75, stroke: ACCENT, 'stroke-width': 4,
  });
}

export function place(circle, map, cell) {
  circle.setAttribute('visibility', cell >= 0 ? 'visible' : 'hidden');
  if (cell < 0) return;
  circle.setAttribute('cx', ((cell % map.columns) + 0.5) * CELL);
  circle.setAttribute('cy', (Math.floor(cell / map.columns) + 0.5) * CELL);
}

// What a policy does; returns a function that shows a step of its episode.
export function drawPolicy(holder, map, policy, label, limit) {
  if (!policy) {
    holder.replaceChildren(make('p', { class: 'hint' }, 'No policy matches what is shown: nothing is known of who comes near.'));
    return () => {};
  }
  if (!map) {
    const rows = policy.most.map((row) => [row.state, number(row.visits), row.action]);
    holder.replaceChildren(table('Visited most', [['state', ''], ['visits', 'n'], ['does', '']], rows));
    return () => {};
  }
  const moves = policy.moves.length <= 400 ? policy.moves.map((move) => arrow(...move)) : [];
  const circle = token(map, Math.max(policy.episode[0]?.cell ?? -1, 0));
  holder.replaceChildren(drawMap(map, `${label}: ${policy.sentence}`, {
    fill: (cell) => shade(policy.visits[cell] / (limit || 1)), above: [...moves, circle],
  }));
  return (step) => place(circle, map, step?.cell ?? -1);
}

export const mostVisits = (...policies) => Math.max(...policies.filter(Boolean).flatMap((each) => each.visits ?? [0]));
