// A learner who is unknown: draw a probe, show it, send what the learner made of it.

import { ask, events } from './api.js';
import { atLeast, byId, make } from './dom.js';

let drawn = null;

// The probe that waits for an answer, and its table.
function offer(path, probe) {
  drawn = probe;
  const policy = probe.replace(/json$/, 'csv');
  byId('drawn').replaceChildren(make('a', { href: `/api/file/probe/${path}/${probe}`, download: true }, policy));
  byId('send-answer').disabled = false;
}

export function loadProbes(problem, name, changed, trouble) {
  byId('probes').hidden = !problem.unknown;
  if (!problem.unknown) return;
  const known = problem.unknown;
  const group = (standing) => known.candidates.filter((each) => each.standing === standing).map((each) => each.name).join(', ') || 'nothing';
  byId('known').textContent = `Proved to see: ${group('proved')}. Does not see: ${group('excluded')}. Open: ${group('open')}. `
    + `Guaranteed now: ${atLeast(known.guaranteed)}, and at most ${atLeast(known.at_most)} if it sees all that is open.`;
  byId('draw').disabled = !known.next;
  if (!known.next) byId('drawn').textContent = 'Nothing is left to find out.';
  const path = encodeURIComponent(name);
  if (known.drawn) offer(path, known.drawn);
  byId('draw').onclick = async () => {
    byId('draw').disabled = true;
    try {
      const work = await ask(`/api/work/${path}/probe`, { method: 'POST', body: '{}' });
      const bar = make('progress', { max: 1, value: 0, 'aria-label': 'Drawing a probe' });
      byId('drawn').replaceChildren(bar, make('button', { type: 'button', onclick: () => ask(`/api/work/${work.id}`, { method: 'DELETE' }) }, 'Cancel'));
      for await (const now of events(`/api/work/${work.id}`)) {
        bar.value = now.share;
        if (now.status === 'done') offer(path, now.result.probe);
        else if (now.status !== 'running') byId('drawn').textContent = now.status === 'cancelled' ? 'Cancelled.' : `${now.error}. Try again.`;
        byId('draw').disabled = ['running', 'done'].includes(now.status);
      }
    } catch (error) { trouble(error.message); byId('draw').disabled = false; }
  };
  byId('send-answer').onclick = async () => {
    try {
      const now = await ask(`/api/upload/${path}/${drawn}`, { method: 'POST', body: byId('answer-text').value });
      byId('answer-text').value = '';
      byId('send-answer').disabled = true;
      byId('drawn').textContent = '';
      loadProbes(now, name, changed, trouble);
      changed(now);
    } catch (error) { trouble(error.message); }
  };
}
