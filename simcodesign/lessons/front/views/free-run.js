// The ladder of one point of the laboratory's panel, and the Gantt chart of one run at each of its rungs: the views of
// lessons, of a lesson that has this one run. Rungs come one by one as they are simulated.
import { unpack } from "../data.js";
import { Lesson } from "../lesson.js";
import { Clock, Store } from "../store.js";
import { text } from "../texts.js";

/** Simulations of a point where something is random, unless a request says otherwise (lab/asked.py). */
const SEEDS = 5;
const NONE = { shape: [0], data: new Float32Array() };

export class FreeRun {
  /** `place`: where the figures stand; `effects`: those that are on; `about`: of the point, in words. */
  constructor(place, effects, about) {
    Object.assign(this, { place, effects, about, rungs: [], shown: 0 });
  }

  /** A rung that has been simulated; the ladder has those up to the first that is still missing. */
  async add(rung) {
    if (rung.block) rung.arrays = (await unpack(rung.block)).arrays;
    this.rungs[rung.place] = rung;
    let known = 0;
    while (this.rungs[known]) known++;
    if (known === this.shown) return;
    this.shown = known;
    const isDone = known === this.effects.length + 1, hasRuns = isDone && this.rungs.every((one) => one.arrays);
    this.draw(known, hasRuns);
    const reason = this.rungs.find((one) => one && !one.arrays)?.reason;
    if (isDone && !hasRuns) this.place.append(Object.assign(document.createElement("p"), { className: "note", textContent: text("labNoRun", reason) }));
  }

  draw(known, hasRuns) {
    const lesson = new Lesson(this.header(known, hasRuns));
    const store = new Store({ stops: {}, rungs: [known - 1], draw: 0, time: 0, end: 0, playing: false, speed: 1, link: null, hover: null });
    const own = { lesson, store, clock: new Clock(store) };
    this.place.replaceChildren(...lesson.steps[0].views.map((view, number) => {
      const figure = document.createElement(`lesson-${view.kind}`);
      Object.assign(figure.dataset, { step: 0, view: number });
      figure.own = own;
      return figure;
    }));
  }

  /** What a page is told of a lesson, of this run with as many rungs as are known. */
  header(known, hasRuns) {
    const rungs = this.rungs.slice(0, known);
    const arrays = {
      "run/formula": { shape: [], data: [rungs[0].forecast_s] },
      "run/simulated": { shape: [known, 3], data: rungs.flatMap((one) => [one.mean, one.low, one.high]) },
    };
    if (hasRuns) {
      for (const name of ["position", "ends", "bend", "stubs", "hosts"]) arrays[`run/0/${name}`] = NONE; // no network is drawn
      arrays["run/0/node"] = rungs[0].arrays.node;
      rungs.forEach((one, k) => Object.entries(one.arrays).forEach(([name, array]) => (arrays[`run/0/${k}/${name}`] = array)));
    }
    const traces = hasRuns ? [{ at: {}, arrays: "run/0/", stations: {}, draws: rungs.map(() => 1) }] : [];
    const run = { about: this.about, sliders: [], effects: this.effects.slice(0, known - 1), seeds: SEEDS, simulated: {}, traces, measured: [], helps: [], events: null };
    const kinds = hasRuns ? ["ladder", "gantt", "clock"] : ["ladder"];
    const titles = { ladder: `${text("labLadder")}: ${this.about}`, gantt: text("labGantt"), clock: "" };
    const views = kinds.map((kind) => ({ kind, runs: ["run"], title: titles[kind] }));
    return { arrays, sliders: {}, runs: { run }, steps: [{ views }], begins_with_chance: false, isForecast: true };
  }
}
