// The desk: what is chosen, what that is worth, and undo and redo.

import { ask, events } from './api.js';
import { fromAddress, plain, same, toAddress } from './choice.js';
import { curve, gauge } from './curve.js';
import { atLeast, atMost, byId, make, number, table } from './dom.js';
import { Player } from './player.js';
import { loadProbes } from './probes.js';
import { Work } from './work.js';
import { drawPolicy, mostVisits } from './world.js';

const MARKS = { seen: '●', taught: '✓', required: '✓', sale: '○', closed: '–' };
let problem, name, choice, asking = null;
let past = [], future = [], shown = {}, points = [];
const player = new Player();

const desk = {
  path: (kind) => `${encodeURIComponent(name)}/${kind}`,
  plain: () => plain(choice),
  key: () => JSON.stringify([name, plain(choice)]),
  found(kind, result) { if (kind === 'frontier') { points = result?.points ?? []; drawCurve(); } },
};
const works = [...document.querySelectorAll('.work')].map((holder) => new Work(holder, holder.dataset.kind, desk));

function trouble(text) {
  byId('trouble').hidden = !text;
  byId('trouble').textContent = text ?? '';
}

const fileSees = () => problem.features.filter((each) => each.kind === 'seen').map((each) => each.name);
const sees = () => new Set(choice.sees ?? fileSees());

// What a feature is at present: seen, taught, required, sale or closed.
function kindOf(feature) {
  if (feature.kind === 'required') return 'required';
  if (sees().has(feature.name)) return 'seen';
  if (choice.taught.includes(feature.name)) return 'taught';
  return feature.price != null ? 'sale' : 'closed';
}

function words(feature, kind) {
  const price = feature.price == null ? '' : ` · ${feature.price}`;
  return { seen: 'seen', taught: `taught${price}`, required: `required${price}`, sale: `for sale${price}`, closed: 'not for sale' }[kind];
}

function drawFeatures() {
  const rows = problem.features.map((feature) => {
    const kind = kindOf(feature), changed = sees().has(feature.name) !== (feature.kind === 'seen');
    const locked = feature.fixed || kind === 'required' || (problem.unknown && feature.price == null);
    const button = make('button', {
      type: 'button', class: `${kind}${changed ? ' changed' : ''}`, disabled: locked,
      'aria-pressed': String(['seen', 'taught', 'required'].includes(kind)), 'data-name': feature.name, onclick: () => toggle(feature),
    }, make('span', { class: 'mark', 'aria-hidden': 'true' }, MARKS[kind]), make('span', { class: 'name' }, feature.name),
    make('span', { class: 'what' }, `${words(feature, kind)}${changed ? ' (what if)' : ''}`));
    return make('li', {}, button);
  });
  const focused = document.activeElement?.dataset?.name;
  byId('features').replaceChildren(...rows);
  if (focused) [...byId('features').querySelectorAll('button')].find((each) => each.dataset.name === focused)?.focus();
  byId('left-out').hidden = !problem.left_out;
  byId('left-out').textContent = `${problem.left_out} more features are not listed.`;
}

function toggle(feature) {
  const kind = kindOf(feature), next = { ...choice, taught: [...choice.taught] };
  if (kind === 'taught') next.taught = next.taught.filter((each) => each !== feature.name);
  else if (kind === 'sale' && feature.kind !== 'seen') next.taught.push(feature.name);
  else {
    const now = sees();
    if (now.has(feature.name)) now.delete(feature.name); else now.add(feature.name);
    const list = problem.features.map((each) => each.name).filter((each) => now.has(each));
    next.sees = same({ sees: list, taught: [] }, { sees: fileSees(), taught: [] }) ? null : list;
    next.taught = next.taught.filter((each) => !now.has(each));
  }
  change(next);
}

function change(next, { remember = true } = {}) {
  if (same(next, choice)) return;
  if (remember) { past.push(choice); future = []; }
  choice = next;
  history.pushState(null, '', toAddress(name, choice));
  show();
}

function step(from, to) {
  if (!from.length) return;
  to.push(choice);
  choice = from.pop();
  history.pushState(null, '', toAddress(name, choice));
  show();
}

function drawAnswer() {
  const { bounds, standing, simulated, goals, rewards, failed } = shown;
  byId('guaranteed').textContent = bounds ? `≥ ${atLeast(bounds.guaranteed)}` : '…';
  byId('state').textContent = failed ? 'no answer' : !bounds ? 'computing' : !bounds.matchable ? 'nobody can match what is shown' : bounds.exact ? 'exact' : 'tightening';
  if (bounds) byId('gauge').replaceChildren(gauge({ ...bounds, simulated: simulated?.performance, wanted: problem.wanted }));
  byId('whatever').hidden = !problem.rewards;
  byId('whatever').textContent = problem.rewards ? `The reward is not known exactly (${problem.rewards}). This is about the weights that it is planned for. ${rewards?.sentence ?? 'Under the others: computing …'}${rewards?.cut ? ' This was cut short: the report searches longer.' : ''}` : '';
  const rows = [];
  if (rewards?.matchable) rows.push(['whatever the reward', `≥ ${atLeast(rewards.guaranteed)}`]);
  if (bounds && !bounds.exact) rows.push(['may still turn out to be up to', atMost(bounds.possible)]);
  if (simulated) rows.push([`▼ simulated (${simulated.name})`, atLeast(simulated.performance)]);
  if (bounds) rows.push(['reward guaranteed', number(bounds.reward)], ['the best there is', number(problem.best)]);
  if (standing) rows.push(['teaching risk', standing.risk.toFixed(3)], ['cost', number(standing.cost)]);
  if (goals?.met != null) rows.push([`asked for: ${problem.goals.join('; ')}`, goals.met ? '✓ met' : '✗ not met']);
  byId('facts').replaceChildren(...rows.flatMap(([term, value]) => [make('dt', {}, term), make('dd', {}, value)]));
}

function drawCurve() {
  const here = shown.standing && shown.bounds ? { cost: shown.standing.cost, guaranteed: shown.bounds.guaranteed } : null;
  const chosen = JSON.stringify([...choice.taught].sort());
  const chosenOf = (point) => point.features.filter((each) => problem.features.some((f) => f.name === each && f.kind !== 'required'));
  const take = (point) => change({ ...choice, taught: chosenOf(point) });
  byId('curve').replaceChildren(...(points.length ? [curve(points, problem.wanted, here, take)] : []));
  byId('points').replaceChildren(...points.map((point) => make('li', {}, make('button', {
    type: 'button', onclick: () => take(point), 'aria-pressed': String(JSON.stringify(chosenOf(point).sort()) === chosen),
  }, make('span', {}, number(point.cost)), make('span', {}, atLeast(point.guaranteed)), make('span', {}, point.features.join(', ') || 'nothing')))));
}

function drawBehaviour({ expert, worst, differences }) {
  const limit = mostVisits(expert, worst);
  const tracks = [['The expert', 'expert', expert], ['The worst', 'worst', worst]].map(([label, id, policy]) =>
    [label, policy?.episode ?? [], drawPolicy(byId(id), problem.map, policy, label, limit)]);
  player.load(tracks);
  const rows = differences.map((each) => [each.name, number(each.expert), number(each.worst), number(each.lost)]);
  byId('differences').replaceChildren(rows.length
    ? table('In which features they differ, discounted', [['feature', ''], ['expert', 'n'], ['worst', 'n'], ['costs', 'n']], rows)
    : make('p', { class: 'hint' }, worst ? 'They do the same in every feature.' : ''));
}

function fail(text) {
  trouble(text);
  shown.failed = true;
  drawAnswer();
}

async function answer() {
  asking?.abort();
  const mine = asking = new AbortController(), began = performance.now();
  shown = {};
  drawAnswer();
  try {
    for await (const event of events(`/api/answer/${encodeURIComponent(name)}?choice=${encodeURIComponent(JSON.stringify(plain(choice)))}`, mine.signal)) {
      if (mine.signal.aborted) return;
      if (event.event === 'error') fail(event.error);
      else if (event.event === 'behaviour') drawBehaviour(event);
      else shown[event.event] = event;
      if (event.event === 'bounds' && !document.body.dataset.first) document.body.dataset.first = performance.now() - began;
      if (event.event === 'done') document.body.dataset.settled = desk.key();
      drawAnswer();
      drawCurve();
    }
  } catch (error) {
    if (!mine.signal.aborted) fail(`${error.message}. Is the server still running?`);
  }
}

function show() {
  trouble(null);
  delete document.body.dataset.first;
  delete document.body.dataset.settled;
  byId('undo').disabled = !past.length;
  byId('redo').disabled = !future.length;
  drawFeatures();
  const given = choice.show ?? problem.show;
  for (const radio of document.querySelectorAll('input[name="show"]')) {
    radio.checked = radio.value === (['optimal', 'choose'].includes(given) ? given : '');
  }
  const mismatch = choice.mismatch ?? problem.mismatch ?? 0;
  byId('mismatch').value = mismatch;
  byId('mismatch-value').textContent = number(mismatch);
  byId('save-problem').href = `/api/file/${encodeURIComponent(name)}/problem.toml?choice=${encodeURIComponent(JSON.stringify(plain(choice)))}`;
  byId('door-link').textContent = "for a person who takes the learner's place";
  answer();
  works.forEach((work) => work.look());
}

async function open() {
  delete document.body.dataset.settled;
  const found = fromAddress(location.search);
  // From here on the cookie is enough, and the token is in no link that is copied.
  if (new URLSearchParams(location.search).has('token')) history.replaceState(null, '', found.problem ? toAddress(found.problem, found.choice) : '/');
  const { problems } = await ask('/api/problems');
  byId('gallery-link').hidden = problems.length < 2;
  if (problems.length === 1) found.problem ??= problems[0].name;
  byId('gallery').hidden = Boolean(found.problem);
  byId('desk').hidden = !found.problem;
  if (!found.problem) {
    byId('cards').replaceChildren(...problems.map((each) => make('li', {}, make('a', { href: `/?problem=${encodeURIComponent(each.name)}` }, each.name.replaceAll('_', ' ')))));
    return;
  }
  if (name !== found.problem) {
    name = found.problem;
    byId('state').textContent = 'opening the problem';
    problem = await ask(`/api/problem/${encodeURIComponent(name)}`).finally(() => { byId('state').textContent = ''; });
    [past, future] = [[], []];
    document.title = `${problem.title} · teachirl studio`;
    byId('title').textContent = problem.title;
    byId('mismatch').max = problem.mismatch_most;
    byId('mismatch').step = problem.mismatch_most / 100;
    byId('as-file').hidden = ['optimal', 'choose'].includes(problem.show);
    loadProbes(problem, name, (now) => { problem = now; show(); }, trouble);
  } else if (choice && !same(found.choice, choice)) {
    // The browser's back and forward are changes as well, and can be undone.
    past.push(choice);
    future = [];
  }
  choice = found.choice;
  show();
}

byId('undo').addEventListener('click', () => step(past, future));
byId('redo').addEventListener('click', () => step(future, past));
byId('mismatch').addEventListener('input', (event) => { byId('mismatch-value').textContent = number(Number(event.target.value)); });
byId('mismatch').addEventListener('change', (event) => change({ ...choice, mismatch: Number(event.target.value) || (problem.mismatch ? 0 : null) }));
for (const radio of document.querySelectorAll('input[name="show"]')) {
  radio.addEventListener('change', () => change({ ...choice, show: radio.value === problem.show || !radio.value ? null : radio.value }));
}
byId('door').addEventListener('click', async () => {
  const mine = desk.key();
  byId('door').disabled = true;
  byId('door-link').textContent = 'is prepared …';
  let said;
  try {
    const { link } = await ask(`/api/lesson/${encodeURIComponent(name)}`, { method: 'POST', body: JSON.stringify(plain(choice)) });
    said = make('a', { href: link, target: '_blank', rel: 'noopener' }, 'The lesson, with what is chosen here');
  } catch (error) { said = error.message; }
  if (mine === desk.key()) byId('door-link').replaceChildren(said);
  byId('door').disabled = false;
});
addEventListener('popstate', () => open().catch((error) => trouble(error.message)));
addEventListener('keydown', (event) => {
  const typing = event.target.matches?.('textarea, input[type="text"]');
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key?.toLowerCase();
  if (key === 'u') step(past, future);
  if (key === 'r') step(future, past);
  if (['ArrowDown', 'ArrowUp'].includes(event.key) && event.target.closest?.('#features')) {
    const buttons = [...byId('features').querySelectorAll('button:enabled')];
    const next = buttons[buttons.indexOf(event.target) + (event.key === 'ArrowDown' ? 1 : -1)];
    if (next) { next.focus(); event.preventDefault(); }
  }
});
open().catch((error) => trouble(error.message));
