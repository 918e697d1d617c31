// Every node over time: what it sends and receives, when its message waits for a link, and the critical path.
import { scaleLinear } from "d3-scale";
import { Figure, sized } from "../figure.js";
import { clamp, duration, tickText, unitOf } from "../numbers.js";
import { text } from "../texts.js";

const SEND = 1, RECEIVE = 2, LEFT = 30, BOTTOM = 24;

export class Gantt extends Figure {
  static uses = ["stops", "rung", "time", "hover"];

  build() {
    this.run = this.runs[0];
    const keys = ["sends", "receives", "waits", "path"].map((name) => `<span class="key ${name}">${text(name)}</span>`).join("");
    this.innerHTML = `<figure>${this.heading(this.options.title)}<p class="note keys">${keys}</p><canvas role="img"></canvas></figure>`;
    this.canvas = this.querySelector("canvas");
    this.canvas.addEventListener("pointermove", (event) => this.store.set({ hover: this.rankAt(event) }));
    this.canvas.addEventListener("pointerleave", () => this.store.set({ hover: null }));
    this.canvas.addEventListener("click", (event) => {
      const box = this.canvas.getBoundingClientRect();
      this.store.set({ time: clamp(this.x.invert(event.clientX - box.left), 0, this.x.domain()[1]), playing: false });
    });
  }

  draw() {
    const trace = this.lesson.trace(this.run, this.state.stops, this.rungOf(this.run));
    if (!trace) return;
    this.trace = trace;
    const { width } = this, height = clamp(innerHeight - 410, 220, 560);
    this.row = (height - BOTTOM) / trace.ranks;
    this.x = scaleLinear().domain([0, this.longest()]).range([LEFT, width - 8]);
    const pen = sized(this.canvas, width, height);
    this.bars(pen);
    this.axis(pen, width, height);
    this.path(pen);
    this.cursor(pen, height);
    const name = this.options.title || this.run.about;
    this.canvas.setAttribute("aria-label", `${name}, ${text("nodeRows")}; ${text("done", duration(trace.end))}`);
  }

  /** All runs of a page share an axis, so that they can be compared. */
  longest() {
    return Math.max(this.trace.end, this.store.state.end ?? 0);
  }

  bars(pen) {
    const { time, hover } = this.state;
    const [blue, light, red] = ["sim", "sim-2", "wait"].map((name) => this.colour(name));
    const bar = (rank, from, to, colour) => {
      const draw = (begin, end, alpha) => {
        if (end <= begin) return;
        pen.globalAlpha = alpha;
        pen.fillRect(this.x(begin), rank * this.row + 0.15 * this.row, Math.max(this.x(end) - this.x(begin), 0.6), Math.max(0.7 * this.row, 1));
      };
      pen.fillStyle = colour;
      draw(from, Math.min(to, time), 1); // what has been
      draw(Math.max(from, time), to, 0.3); // what will be
    };
    if (hover !== null) {
      pen.fillStyle = this.colour("grid");
      pen.fillRect(LEFT, hover * this.row, this.x.range()[1] - LEFT, Math.max(this.row, 2));
    }
    for (const op of this.trace.ops) if (op.kind !== RECEIVE) bar(op.rank, op.begin, op.end, op.kind === SEND ? light : this.colour("for"));
    for (const message of this.trace.messages) {
      const begin = message.recorded ? message.hops.at(-1).grant : message.begin;
      bar(message.to, begin, message.arrival, blue);
      if (message.recorded) for (const hop of message.hops) if (hop.grant > hop.arrival) bar(message.to, hop.arrival, hop.grant, red);
    }
    pen.globalAlpha = 1;
  }

  axis(pen, width, height) {
    const [size, unit] = unitOf(this.x.domain()[1]);
    pen.font = "11px Inter, sans-serif";
    pen.fillStyle = this.colour("muted");
    pen.textAlign = "center";
    for (const tick of this.x.ticks(Math.max(3, width / 110)))
      pen.fillText(tickText(tick / size) + (tick === 0 ? ` ${unit}` : ""), clamp(this.x(tick), LEFT + 8, width - 14), height - 6);
    pen.textAlign = "right";
    const every = Math.ceil(14 / this.row);
    const step = every <= 1 ? 1 : 2 ** Math.ceil(Math.log2(every));
    for (let rank = 0; rank < this.trace.ranks; rank += step) pen.fillText(rank, LEFT - 6, (rank + 0.5) * this.row + 4);
  }

  /** Along the upper edges of rows, so that no bar is hidden; down or up where it goes on with another node. */
  path(pen) {
    pen.strokeStyle = this.colour("ink");
    pen.lineWidth = 1.8;
    pen.lineJoin = "round";
    pen.beginPath();
    this.trace.path.forEach((one, k) => {
      const y = this.rowOf(one) * this.row + 0.5;
      if (k === 0) pen.moveTo(this.x(one.from), y);
      else pen.lineTo(this.x(one.from), y);
      pen.lineTo(this.x(one.to), y);
    });
    pen.stroke();
  }

  /** A message on its way belongs to who receives it. */
  rowOf(one) {
    return one.link !== -1 && one.message >= 0 ? this.trace.messages[one.message].to : one.rank;
  }

  cursor(pen, height) {
    const at = (seconds, dash) => {
      pen.setLineDash(dash);
      pen.beginPath();
      pen.moveTo(this.x(seconds), 0);
      pen.lineTo(this.x(seconds), height - BOTTOM + 4);
      pen.stroke();
      pen.setLineDash([]);
    };
    pen.strokeStyle = this.colour("for");
    pen.lineWidth = 1.2;
    at(this.lesson.forecast(this.run, this.trace.at), [2, 3]);
    pen.strokeStyle = this.colour("ink");
    at(Math.min(this.state.time, this.x.domain()[1]), []);
  }

  rankAt(event) {
    if (!this.trace) return null;
    const box = this.canvas.getBoundingClientRect();
    const rank = Math.floor((event.clientY - box.top) / this.row);
    return rank >= 0 && rank < this.trace.ranks ? rank : null;
  }
}
