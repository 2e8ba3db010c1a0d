// A lesson: read, watch, act. The server alone knows the world; a step is done when it says so.

import { ask } from './api.js';
import { atLeast, atMost, byId, draw, make, number, still } from './dom.js';
import { drawMap, place, token, trail } from './world.js';

const PACE = 500;
const ARROWS = { ArrowUp: '↑', ArrowDown: '↓', ArrowLeft: '←', ArrowRight: '→' };
let around, now, timer = null, waiting = false, since = 0, typed = '';
const stop = () => { clearInterval(timer); timer = null; };
const HINT = 'Click or tap, or press what stands on a button.';

function trouble(text) {
  byId('trouble').hidden = !text;
  byId('trouble').textContent = text ?? '';
}

// Sends a move until the server acknowledges it; sent twice it counts once.
async function send(kind, more = {}) {
  if (waiting) return;
  waiting = true;
  const body = JSON.stringify({ at: now.at, ...more });
  for (let attempt = 0; ; attempt += 1) {
    try {
      const next = await ask(kind, { method: 'POST', body });
      waiting = false;
      trouble(null);
      show(next);
      return;
    } catch (error) {
      if (error.constructor.name === 'Refused') {
        waiting = false;
        trouble(error.message);
        return;
      }
      trouble('The server cannot be reached. Nothing is lost; trying again …');
      await new Promise((wake) => setTimeout(wake, Math.min(500 * 2 ** attempt, 5000)));
    }
  }
}

function meters(values) {
  if (!now.features.length) return make('p', { class: 'hint' }, 'There is nothing that you can see of the world.');
  return make('dl', { class: 'meters', id: 'meters' }, ...now.features.flatMap((name, i) => {
    const value = values?.[i];
    return [make('dt', {}, name), make('dd', { class: value ? 'on' : '' }, value == null ? '–' : value ? `■ ${number(value)}` : '□ 0')];
  }));
}

function world(cell, label, { marked, past = [] } = {}) {
  if (!around.map) return null;
  const circle = token(around.map, Math.max(cell ?? 0, 0));
  const svg = drawMap(around.map, label, { above: cell == null ? [] : [trail(around.map, [...past, cell]), circle], marked });
  place(circle, around.map, cell ?? -1);
  return make('div', { class: 'world', id: 'world' }, svg);
}

const button = (text, go) => make('button', { type: 'button', class: 'main', id: 'go', onclick: go }, text);
const block = () => `Part ${now.at[1] + 1} of ${now.of[0]}`;

const pages = {
  consent: () => reading('Before you begin', 'I have read this and take part'),
  instructions: () => reading('What to do', 'Begin'),

  new() {
    byId('heading').textContent = 'Something new';
    return [
      make('p', {}, 'From now on you can see ', make('strong', {}, now.name), '.'),
      now.cells.length ? make('p', {}, 'Hatched are the places where it can be other than 0.') : null,
      now.cells.length ? world(null, `Where ${now.name} can be other than 0`, { marked: (cell) => now.cells.includes(cell) }) : null,
      button('Watch again, with it', () => send('next')),
    ];
  },

  watch() {
    byId('heading').textContent = 'Watch';
    const shows = now.shown.flatMap((each) => Array(each.times).fill(each.steps));
    let which = 0, step = 0;
    const stage = make('div', { class: 'stage' }), title = make('p', { 'aria-live': 'polite' });
    const last = () => step >= shows[which].length - 1;
    const show = () => {
      const here = shows[which][step];
      title.textContent = `Episode ${which + 1} of ${shows.length}, step ${step + 1} of ${shows[which].length}: ${around.actions[here.action]}`;
      stage.replaceChildren(...[world(here.cell, 'Where the one who is shown is', { past: shows[which].slice(0, step).map((each) => each.cell) }), meters(here.values)].filter(Boolean));
      go.disabled = !(which === shows.length - 1 && last());
      back.disabled = which === 0 && step === 0;
      on.disabled = which === shows.length - 1 && last();
    };
    const move = (by) => {
      step += by;
      if (step < 0 && which > 0) { which -= 1; step = shows[which].length - 1; }
      else if (step >= shows[which].length && which < shows.length - 1) { which += 1; step = 0; }
      step = Math.min(Math.max(step, 0), shows[which].length - 1);
      show();
      if (on.disabled) pause();
    };
    const pause = () => { stop(); play.textContent = 'Play'; };
    const play = make('button', { type: 'button', id: 'play', onclick: () => {
      if (timer) pause();
      else { play.textContent = 'Pause'; timer = setInterval(() => move(1), still() ? 2 * PACE : PACE); }
    } }, 'Play');
    const back = make('button', { type: 'button', id: 'back', 'aria-label': 'One step back', onclick: () => { pause(); move(-1); } }, '◀');
    const on = make('button', { type: 'button', id: 'step', 'aria-label': 'One step on', onclick: () => { pause(); move(1); } }, '▶');
    const go = button('Now you', () => send('next'));
    const skip = make('button', { type: 'button', id: 'to-end', onclick: () => { pause(); which = shows.length - 1; step = shows[which].length - 1; show(); } }, 'To the end');
    show();
    return [title, stage, make('div', { class: 'player' }, back, play, on, skip), go];
  },

  act() {
    byId('heading').textContent = 'Your turn';
    since = performance.now();
    const buttons = now.actions.map((action) => make('button', { type: 'button', class: 'act', 'data-action': action, onclick: () => act(action) },
      ...(around.actions[action] === around.keys[action] ? [around.keys[action]] : [around.actions[action], ' ', make('kbd', {}, around.keys[action])])));
    return [
      make('p', { id: 'count' }, `Episode ${now.at[2] + 1} of ${now.of[1]}, step ${now.at[3] + 1} of at most ${now.of[2]}`),
      make('div', { class: 'stage' }, world(now.cell, 'Where you are'), make('div', {},
        make('h2', {}, around.per_step ? 'What you see of your last step' : 'What you see here'), meters(now.values))),
      make('div', { class: 'actions', role: 'group', 'aria-label': 'What you can do' }, ...buttons),
      make('p', { class: 'hint', id: 'typed', role: 'status' }, HINT),
    ];
  },

  end() {
    byId('heading').textContent = 'Thank you';
    const x = (share) => 10 + 280 * Math.min(Math.max(share, 0), 1);
    const picture = draw('svg', { viewBox: '0 0 300 60', role: 'img', 'aria-label': `You: ${atLeast(now.mean)}, in the long run ${atLeast(now.low)} to ${atMost(now.high)}` },
      draw('line', { x1: 10, x2: 290, y1: 30, y2: 30, class: 'axis' }),
      draw('rect', { x: x(now.low), y: 22, width: Math.max(x(now.high) - x(now.low), 3), height: 16, fill: '#0b4f7d' }),
      draw('path', { d: `M${x(now.mean)} 20 l-5 -8 h10 z`, fill: '#1c1c1c' }),
      draw('text', { x: 10, y: 54, class: 'small' }, 'worst'), draw('text', { x: 290, y: 54, 'text-anchor': 'end', class: 'small' }, 'expert'));
    return [
      make('p', {}, 'That was all; what you did is recorded. You can close this page.'),
      make('div', { id: 'gauge' }, picture),
      make('dl', { class: 'facts' },
        make('dt', {}, '▼ your performance in the last part'), make('dd', { id: 'mean' }, atLeast(now.mean)),
        make('dt', {}, `what it would be in the long run (with ${atLeast(now.confidence)} confidence)`), make('dd', { id: 'performance' }, `${atLeast(now.low)} – ${atMost(now.high)}`),
        make('dt', {}, 'how far what you saw was from what was shown'), make('dd', { id: 'mismatch' }, number(now.mismatch)),
        make('dt', {}, 'how far the few episodes that you watched were from it'), make('dd', { id: 'off' }, number(now.off)),
        make('dt', {}, 'guaranteed to all who match it'), make('dd', { id: 'guaranteed' }, atLeast(now.guaranteed)),
        make('dt', {}, 'what a simulated learner does'), make('dd', {}, atLeast(now.simulated))),
    ];
  },
};

function reading(heading, text) {
  byId('heading').textContent = heading;
  const words = make('div', { class: 'words' });
  // Markup that the server made of Markdown, with all tags of the author's own escaped.
  words.innerHTML = now.text;
  return [words, button(text, () => send('next'))];
}

function act(action) {
  if (now.stage === 'act' && !waiting) send('act', { action, took: performance.now() - since });
}

function show(next) {
  stop();
  typed = '';
  const before = now?.stage;
  now = next;
  const focused = document.activeElement?.dataset?.action;
  byId('progress').textContent = ['consent', 'instructions', 'end'].includes(now.stage) ? '' : block();
  byId('main').replaceChildren(...pages[now.stage]().filter(Boolean));
  document.body.dataset.at = JSON.stringify(now.at);
  const again = focused && document.querySelector(`[data-action="${focused}"]`);
  if (again) again.focus();
  else if (before !== now.stage) byId('main').focus();
}

// The arrow or letter of a key; on keyboards without Latin letters, the one in its place.
function pressed(event) {
  if (event.key in ARROWS) return ARROWS[event.key];
  return /^[a-z]$/i.test(event.key) ? event.key.toUpperCase() : /^Key([A-Z])$/.exec(event.code)?.[1];
}

addEventListener('keydown', (event) => {
  const last = pressed(event);
  if (now?.stage !== 'act' || !last || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  // Keys of several letters are typed one after the other; what leads nowhere begins anew.
  const meant = [typed + last, last].map((text) => [text, now.actions.filter((each) => around.keys[each].startsWith(text))]);
  const [text, actions] = meant.find((each) => each[1].length) ?? ['', []];
  typed = text;
  if (!actions.length) return;
  event.preventDefault();
  const action = actions.find((each) => around.keys[each] === text);
  byId('typed').textContent = action === undefined ? `${text} …` : HINT;
  if (action !== undefined) { typed = ''; act(action); }
});

ask('now').then((first) => { around = first.around; show(first); }).catch((error) => trouble(error.message));
