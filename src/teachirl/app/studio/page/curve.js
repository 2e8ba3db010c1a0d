// Two drawings of numbers: a gauge of what is guaranteed, and the curve of what a budget buys.

import { atLeast, draw } from './dom.js';

export function hatching() {
  return draw('defs', {}, draw('pattern', { id: 'hatch', width: 7, height: 7, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
    draw('rect', { width: 7, height: 7, fill: '#fff' }), draw('rect', { width: 2.2, height: 7, fill: '#0b4f7d' })));
}

export function gauge({ guaranteed, possible, simulated, wanted }) {
  const x = (share) => 4 + 292 * Math.min(Math.max(share, 0), 1);
  const said = [`guaranteed ${atLeast(guaranteed)}`];
  if (simulated != null) said.push(`simulated ${atLeast(simulated)}`);
  if (wanted != null) said.push(`asked for ${atLeast(wanted)}`);
  const svg = draw('svg', { viewBox: '0 0 300 52', role: 'img', 'aria-label': said.join(', ') }, hatching(),
    draw('rect', { x: 4, y: 16, width: 292, height: 16, fill: '#f3f6f9', stroke: '#4a4a4a', class: 'surface' }),
    draw('rect', { x: 4, y: 16, width: x(guaranteed) - 4, height: 16, fill: '#0b4f7d' }),
    draw('rect', { x: x(guaranteed), y: 16, width: Math.max(x(possible) - x(guaranteed), 0), height: 16, fill: 'url(#hatch)' }));
  const end = (share) => (share > 0.8 ? 'end' : share < 0.2 ? 'start' : 'middle');
  // A dark line on a dark bar has a light one below it.
  const upright = (share, from, to, dashes) => {
    const place = { x1: x(share), x2: x(share), y1: from, y2: to };
    svg.append(draw('line', { ...place, stroke: '#fff', 'stroke-width': 5, class: 'below' }));
    svg.append(draw('line', { ...place, stroke: '#1c1c1c', 'stroke-width': 2, 'stroke-dasharray': dashes }));
  };
  if (simulated != null) {
    upright(simulated, 12, 32);
    svg.append(draw('path', { d: `M${x(simulated)} 12 l-5 -7 h10 z`, fill: '#1c1c1c' }));
  }
  if (wanted != null) {
    upright(wanted, 14, 37, '3 2');
    svg.append(draw('text', { x: x(wanted), y: 48, 'text-anchor': end(wanted), class: 'small' }, 'asked for'));
  }
  return svg;
}

export function curve(points, wanted, here, take) {
  const left = 44, right = 300, top = 14, bottom = 150;
  const most = Math.max(...points.map((point) => point.cost), here?.cost ?? 0) || 1;
  const x = (cost) => left + (right - left - 8) * (cost / most);
  const y = (share) => bottom - (bottom - top) * share;
  const svg = draw('svg', { viewBox: '0 0 308 186', role: 'img', 'aria-label': `What is guaranteed against what it costs: ${points.map((p) => `${atLeast(p.guaranteed)} for ${p.cost}`).join(', ')}` });
  for (const share of [0, 0.5, 1]) {
    svg.append(draw('line', { x1: left, x2: right, y1: y(share), y2: y(share), stroke: '#c9ced3', class: 'guide' }));
    svg.append(draw('text', { x: left - 6, y: y(share) + 4, 'text-anchor': 'end', class: 'small' }, `${share * 100} %`));
  }
  if (wanted != null) svg.append(draw('line', { x1: left, x2: right, y1: y(wanted), y2: y(wanted), stroke: '#1c1c1c', 'stroke-dasharray': '4 3' }));
  const steps = points.map((p, i) => (i === 0 ? `M${x(p.cost)} ${y(p.guaranteed)}` : `H${x(p.cost)} V${y(p.guaranteed)}`));
  svg.append(draw('path', { d: `${steps.join(' ')} H${right}`, fill: 'none', stroke: '#0b4f7d', 'stroke-width': 2.5 }));
  svg.append(draw('text', { x: left, y: bottom + 16, 'text-anchor': 'middle', class: 'small' }, '0'));
  svg.append(draw('text', { x: x(most), y: bottom + 16, 'text-anchor': 'middle', class: 'small' }, `${most}`));
  svg.append(draw('text', { x: (left + right) / 2, y: bottom + 32, 'text-anchor': 'middle', class: 'small' }, 'cost'));
  points.forEach((point) => {
    const dot = draw('circle', { class: 'point', cx: x(point.cost), cy: y(point.guaranteed), r: 6, fill: '#fff', stroke: '#0b4f7d', 'stroke-width': 2.5 });
    dot.addEventListener('click', () => take(point));
    svg.append(dot);
  });
  if (here && here.guaranteed != null) {
    svg.append(draw('path', { d: `M${x(here.cost) - 5} ${y(here.guaranteed) - 5} l10 10 m0 -10 l-10 10`, stroke: '#1c1c1c', 'stroke-width': 2.5 }));
  }
  return svg;
}
