// A piece of long work: a button that begins it, its progress, a button that cancels it.

import { ask, events } from './api.js';
import { make } from './dom.js';

const NAMES = { frontier: 'Draw the curve', plan: 'Make a plan', report: 'Write a report' };
const FILES = { frontier: 'Download the curve (JSON)', plan: 'Download the plan (JSON)', report: 'Download the report (HTML)' };

export class Work {
  constructor(holder, kind, desk) {
    Object.assign(this, { holder, kind, desk, following: null });
    this.idle();
  }

  idle(note = '') {
    this.holder.replaceChildren(
      make('button', { type: 'button', onclick: () => this.begin() }, NAMES[this.kind]),
      make('span', { class: 'note', role: 'status' }, note));
  }

  // What is there already for the present choice, done or under way.
  async look() {
    this.following?.abort();
    const key = this.desk.key();
    this.idle();
    this.desk.found(this.kind, null);
    try {
      const { work } = await ask(`/api/kept/${this.desk.path(this.kind)}?choice=${encodeURIComponent(JSON.stringify(this.desk.plain()))}`);
      if (key === this.desk.key() && work && ['done', 'running'].includes(work.status)) this.follow(work);
    } catch (error) { this.idle(error.message); }
  }

  async begin() {
    const key = this.desk.key();
    try {
      const work = await ask(`/api/work/${this.desk.path(this.kind)}`, { method: 'POST', body: JSON.stringify(this.desk.plain()) });
      if (key === this.desk.key()) this.follow(work);
    } catch (error) { if (key === this.desk.key()) this.idle(error.message); }
  }

  async follow(work) {
    this.following?.abort();
    const following = this.following = new AbortController();
    const bar = make('progress', { max: 1, value: 0, 'aria-label': NAMES[this.kind] });
    const note = make('span', { class: 'note' });
    const cancel = make('button', { type: 'button', onclick: () => ask(`/api/work/${work.id}`, { method: 'DELETE' }) }, 'Cancel');
    this.holder.replaceChildren(bar, note, cancel);
    try {
      for await (const now of events(`/api/work/${work.id}`, following.signal)) {
        bar.value = now.share;
        note.textContent = now.left == null ? 'under way' : `${Math.ceil(now.left)} s left`;
        if (now.status !== 'running') this.end(now);
      }
    } catch (error) {
      if (!following.signal.aborted) this.idle(`${error.message}; try again`);
    }
  }

  end(now) {
    if (now.status !== 'done') {
      this.idle(now.status === 'cancelled' ? 'Cancelled.' : `${now.error}. Try again.`);
      return;
    }
    this.holder.replaceChildren(make('a', { href: `/api/file/work/${now.id}`, download: true, class: 'button' }, FILES[this.kind]));
    this.desk.found(this.kind, now.result);
  }
}
