// Play, and the time as a chart: how many messages move (blue) and wait (hatched). A range input over it is the handle.
import { Figure, sized } from "../figure.js";
import { digits, duration, largest, smallest, unitOf } from "../numbers.js";
import { reducedMotion } from "../store.js";
import { text } from "../texts.js";

const ICONS = { play: "M4 2L14 8L4 14Z", pause: "M4 2h3v12H4ZM9 2h3v12H9Z", next: "M3 2L11 8L3 14ZM11 2h2v12h-2Z" };
const SAMPLES = 240, SPEEDS = [0.25, 1, 4];

export class ClockBar extends Figure {
  static uses = ["stops", "rungs", "draw", "time", "playing", "speed", "end"];

  build() {
    this.innerHTML = `<div class="clock"><button type="button" class="play" aria-label="${text("play")}"></button>
      <output class="time"></output>
      <div class="track"><canvas aria-hidden="true"></canvas><input type="range" min="0" max="1000" step="1" aria-label="${text("time")}"></div>
      <div class="speeds" role="group" aria-label="${text("speed")}">${SPEEDS.map((speed) =>
        `<button type="button" data-speed="${speed}">${speed === 0.25 ? "¼" : speed}×</button>`).join("")}</div>
      <div class="draws" role="group" aria-label="${text("draws")}" hidden><button type="button" class="ghost" data-by="-1" aria-label="${text("drawBefore")}">◀</button>
      <output></output><button type="button" class="ghost" data-by="1" aria-label="${text("drawAfter")}">▶</button><span></span></div></div>`;
    this.range = this.querySelector("input");
    this.draws = this.querySelector(".draws");
    for (const one of this.draws.querySelectorAll("button"))
      one.addEventListener("click", () => this.store.set({ draw: (this.shownDraw + Number(one.dataset.by) + this.drawCount) % this.drawCount, playing: false }));
    addEventListener("resize", () => (this.trackWidth = undefined));
    this.range.addEventListener("input", () => this.store.set({ time: (this.range.value / 1000) * this.end, playing: false }));
    this.querySelector(".play").addEventListener("click", () => (reducedMotion() ? this.nextEvent() : this.clock.toggle(this.end)));
    for (const one of this.querySelectorAll("[data-speed]"))
      one.addEventListener("click", () => this.store.set({ speed: Number(one.dataset.speed) }));
  }

  get end() {
    return super.end || 1;
  }

  get traces() {
    return this.runs.map((run) => this.lesson.trace(run, this.state.stops, this.rungOf(run), this.state.draw)).filter(Boolean);
  }

  /** Of how many draws the runs are kept, as they are shown. */
  get drawCount() {
    return Math.max(1, ...this.runs.map((run) => this.lesson.draws(run, this.state.stops, this.rungOf(run))));
  }

  get shownDraw() {
    return Math.min(this.state.draw, this.drawCount - 1);
  }

  /** Which draw of chance this is, and how it differs from the mean of all that were simulated. */
  chance() {
    const { stops } = this.state, run = this.runs.find((one) => this.lesson.isRandom(one, stops, this.rungOf(one)));
    this.draws.hidden = !run;
    if (!run) return;
    const rung = this.rungOf(run), trace = this.lesson.trace(run, stops, rung, this.state.draw);
    this.draws.querySelector("output").textContent = this.drawCount > 1 ? text("drawOf", this.shownDraw + 1, this.drawCount) : text("oneDraw", run.seeds);
    for (const one of this.draws.querySelectorAll("button")) one.hidden = this.drawCount < 2;
    this.draws.querySelector("span").textContent = text("drawAndMean", duration(trace.end), run.seeds, duration(this.lesson.simulated(run, trace.at, rung).mean));
  }

  /** Without motion: to the next arrival of a message, or end of an operation. */
  nextEvent() {
    const times = this.traces.flatMap((trace) => (trace.messages.length ? trace.messages.map((message) => message.arrival) : trace.ops.map((op) => op.end)));
    const later = times.filter((time) => time > this.state.time * (1 + 1e-6));
    this.store.set({ time: later.length ? smallest(later) : 0 });
  }

  draw() {
    const { time, playing, speed } = this.state;
    const [size, unit] = unitOf(this.end);
    this.querySelector(".time").innerHTML = `<b>${digits(Math.min(time, this.end) / size)}</b> <span>/ ${digits(this.end / size)} ${unit}</span>`;
    const play = this.querySelector(".play");
    play.innerHTML = `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${reducedMotion() ? ICONS.next : playing ? ICONS.pause : ICONS.play}"/></svg>`;
    play.setAttribute("aria-label", text(reducedMotion() ? "next" : playing ? "pause" : "play"));
    for (const one of this.querySelectorAll("[data-speed]")) one.setAttribute("aria-pressed", String(Number(one.dataset.speed) === speed));
    this.range.value = Math.round((1000 * time) / this.end);
    this.range.setAttribute("aria-valuetext", duration(time));
    this.chance();
    this.chart();
  }

  /** Counts over time, of the first run; a formula on no side: what the trace says is counted. */
  counts(trace) {
    if (this.counted === trace && this.countedTo === this.end) return this.sums;
    const moving = new Float32Array(SAMPLES), waiting = new Float32Array(SAMPLES);
    const add = (into, from, to) => {
      for (let k = Math.ceil((from / this.end) * SAMPLES); k < Math.min((to / this.end) * SAMPLES, SAMPLES); k++) into[k]++;
    };
    for (const message of trace.messages) add(moving, message.begin, message.arrival);
    for (const wait of trace.waits) add(waiting, wait.arrival, wait.grant);
    if (!trace.messages.length) // who queues at disks or memory, and who is served there
      for (const op of trace.ops.filter(({ kind }) => kind > 2)) {
        add(moving, op.ready, op.end);
        add(waiting, op.ready, op.begin);
      }
    [this.counted, this.countedTo] = [trace, this.end];
    return (this.sums = { moving, waiting, most: largest(moving, 1) });
  }

  chart() {
    const canvas = this.querySelector("canvas"), [trace] = this.traces;
    const width = (this.trackWidth ??= canvas.parentElement.clientWidth), height = 34;
    const pen = sized(canvas, width, height);
    if (!trace) return;
    const { moving, waiting, most } = this.counts(trace);
    const step = width / SAMPLES, now = this.state.time / this.end;
    for (let k = 0; k < SAMPLES; k++) {
      pen.globalAlpha = k / SAMPLES <= now ? 1 : 0.35;
      const [all, late] = [(moving[k] / most) * (height - 4), (waiting[k] / most) * (height - 4)];
      pen.fillStyle = this.colour("sim");
      pen.fillRect(k * step, height - all, step + 0.4, all - late);
      pen.fillStyle = this.hatch(pen);
      pen.fillRect(k * step, height - late, step + 0.4, late);
    }
    pen.globalAlpha = 1;
  }
}
