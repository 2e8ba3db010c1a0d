// Elements, numbers and drawings that both pages make. Texts are set as texts, never as markup.

const SVG = 'http://www.w3.org/2000/svg';

export const byId = (id) => document.getElementById(id);

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

export const make = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);
export const draw = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

export function table(caption, headings, rows) {
  return make('table', {},
    make('caption', {}, caption),
    make('thead', {}, make('tr', {}, ...headings.map(([text, kind]) => make('th', { scope: 'col', class: kind }, text)))),
    make('tbody', {}, ...rows.map((row) => make('tr', {}, ...row.map((cell, i) => (i === 0
      ? make('th', { scope: 'row' }, cell) : make('td', { class: headings[i][1] }, cell)))))));
}

// What is guaranteed is rounded down, what is possible up.
const percent = (tenths) => `${tenths % 10 ? (tenths / 10).toFixed(1) : tenths / 10} %`;
export const atLeast = (share) => percent(Math.floor(share * 1000 + 1e-3));
export const atMost = (share) => percent(Math.ceil(share * 1000 - 1e-3));

export function number(value) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  const text = size >= 1e5 || size < 1e-3 ? value.toExponential(2) : Number(value.toPrecision(3)).toString();
  return text.replace('-', '−');
}

export const still = () => matchMedia('(prefers-reduced-motion: reduce)').matches;
