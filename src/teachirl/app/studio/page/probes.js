// A learner who is unknown: draw a probe, show it, send what the learner made of it.

import { ask, events } from './api.js';
import { atLeast, byId, make } from './dom.js';

let drawn = null;

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
  byId('draw').onclick = async () => {
    byId('draw').disabled = true;
    try {
      const work = await ask(`/api/work/${path}/probe`, { method: 'POST', body: '{}' });
      for await (const now of events(`/api/work/${work.id}`)) {
        byId('drawn').textContent = now.status === 'running' ? 'drawing…' : now.error;
        if (now.status === 'done') {
          drawn = now.result.probe;
          byId('drawn').replaceChildren(make('a', { href: `/api/file/probe/${path}/${drawn}`, download: true }, now.result.policy));
          byId('send-answer').disabled = false;
        }
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
