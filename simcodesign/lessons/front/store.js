// The one state of the page, and the one clock. Views subscribe; what changes within a frame is drawn once.

export class Store {
  #views = new Set();
  #pending = false;

  constructor(state) {
    this.state = state;
    this.changed = new Set();
  }

  /** Change some of the state; views hear of it in the next frame. */
  set(changes) {
    for (const [key, value] of Object.entries(changes)) {
      if (this.state[key] === value) continue;
      this.state[key] = value;
      this.changed.add(key);
    }
    if (this.changed.size && !this.#pending) {
      this.#pending = true;
      requestAnimationFrame(() => this.flush());
    }
  }

  setStop(slider, number) {
    if (this.state.stops[slider] !== number) this.set({ stops: { ...this.state.stops, [slider]: number } });
  }

  /** Draw now what has changed. */
  flush() {
    this.#pending = false;
    const changed = this.changed;
    this.changed = new Set();
    for (const view of this.#views) view(changed);
  }

  subscribe(view) {
    this.#views.add(view);
    return () => this.#views.delete(view);
  }
}

export const reducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Moves the time of the store from its place to the end in `seconds` of real time at speed 1. */
export class Clock {
  static seconds = 14;
  #last = 0;
  #end = 0;

  constructor(store) {
    this.store = store;
  }

  /** `end`: the time at which the runs end that are seen together. */
  toggle(end) {
    const { playing, time } = this.store.state;
    if (playing) return this.store.set({ playing: false });
    this.#last = performance.now();
    this.#end = end;
    this.store.set({ playing: true, time: time >= end ? 0 : time });
    requestAnimationFrame((now) => this.#tick(now));
  }

  #tick(now) {
    const { playing, time, speed } = this.store.state;
    if (!playing) return;
    const next = time + (Math.max(now - this.#last, 0) / 1000 / Clock.seconds) * speed * this.#end;
    this.#last = now;
    if (next >= this.#end) return this.store.set({ time: this.#end, playing: false });
    this.store.set({ time: next });
    requestAnimationFrame((later) => this.#tick(later));
  }
}
