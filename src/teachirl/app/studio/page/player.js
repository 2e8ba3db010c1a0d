// Plays the episodes of two policies side by side: play, pause, one step on, one back.

import { byId, make, still } from './dom.js';

const PACE = 450;

export class Player {
  constructor() {
    this.tracks = [];
    this.at = 0;
    this.timer = null;
    byId('play').addEventListener('click', () => (this.timer ? this.pause() : this.play()));
    byId('step').addEventListener('click', () => { this.pause(); this.go(this.at + 1); });
    byId('back').addEventListener('click', () => { this.pause(); this.go(this.at - 1); });
    byId('moment').addEventListener('input', (event) => { this.pause(); this.go(Number(event.target.value)); });
  }

  // tracks: [label, steps, show] each
  load(tracks) {
    this.pause();
    this.tracks = tracks;
    this.length = Math.max(1, ...tracks.map(([, steps]) => steps.length));
    byId('moment').max = this.length - 1;
    this.go(0);
  }

  play() {
    if (this.at >= this.length - 1) this.go(0);
    this.timer = setInterval(() => { if (this.at >= this.length - 1) this.pause(); else this.go(this.at + 1); }, still() ? 2 * PACE : PACE);
    byId('play').textContent = 'Pause';
    byId('play').setAttribute('aria-pressed', 'true');
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    byId('play').textContent = 'Play';
    byId('play').setAttribute('aria-pressed', 'false');
  }

  go(at) {
    this.at = Math.min(Math.max(at, 0), this.length - 1);
    byId('moment').value = this.at;
    byId('moment').setAttribute('aria-valuetext', `step ${this.at + 1} of ${this.length}`);
    byId('now').replaceChildren(...this.tracks.flatMap(([label, steps, show]) => {
      const step = steps[this.at];
      show(step);
      const text = step ? `${this.at + 1}. ${step.state} → ${step.action}` : 'has ended';
      return [make('dt', {}, label), make('dd', {}, text)];
    }));
  }
}
