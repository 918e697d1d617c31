// Who does what when: every node, every round of messages, or every station (links, interfaces, disks ...) over time, when
// somebody waits, and the critical path.
import { scaleLinear } from "d3-scale";
import { Figure, heightFor, pointerIn, sized } from "../figure.js";
import { clamp, duration, largest, tickText, unitOf } from "../numbers.js";
import { term } from "../terms.js";
import { text } from "../texts.js";
import { BARS } from "./bars.js";

const TOP = 14, BOTTOM = 24, FUTURE = 0.32; // what is above the rows: that a line is the end by the formula
const KEYS = { ranks: ["sends", "receives", "works", "disk", "memory", "waits", "path"], rounds: ["onTheWay", "waits"], stations: ["serves", "waitsThere"] };
const ROLES = { sends: "sim-2", receives: "sim", works: "edge", disk: "sim", memory: "sim-2", waits: null, serves: "sim" };

export class Gantt extends Figure {
  static uses = ["stops", "rungs", "draw", "time", "hover"];

  build() {
    this.run = this.runs[0];
    this.of = this.options.of ?? "ranks";
    this.innerHTML = `<figure>${this.heading(this.options.title)}<p class="note keys"></p><canvas role="img"></canvas><p class="note more"></p></figure>`;
    this.canvas = this.querySelector("canvas");
    if (this.of === "ranks") {
      this.canvas.addEventListener("pointermove", (event) => this.store.set({ hover: this.rowAt(event) }));
      this.canvas.addEventListener("pointerleave", () => this.store.set({ hover: null }));
    }
    this.canvas.addEventListener("click", (event) => {
      if (!this.x) return;
      this.store.set({ time: clamp(this.x.invert(pointerIn(this.canvas, event)[0]), 0, this.x.domain()[1]), playing: false });
    });
  }

  get simulatedRung() {
    return this.rungOf(this.run);
  }

  draw() {
    const trace = this.shownTrace;
    if (!trace || this.isAsBefore(trace, this.state.time, this.state.hover, this.end)) return;
    if (trace !== this.trace) {
      this.trace = trace;
      this.chart = BARS[this.of](trace);
      this.chart.rows = this.chart.rows.map(term);
      this.layers = null;
      this.longest = this.longestWait();
      this.legend();
    }
    const { width, chart } = this, height = this.heightOf(chart.rows.length);
    this.left = this.of === "stations" ? Math.min(0.34 * width, 12 + 6.2 * largest(chart.rows.map((name) => name.length), 2)) : 30;
    this.row = (height - TOP - BOTTOM) / Math.max(chart.rows.length, 1);
    this.x = scaleLinear().domain([0, Math.max(trace.end, this.end)]).range([this.left, width - 8]);
    const pen = sized(this.canvas, width, height);
    this.highlight(pen);
    this.bars(pen, width, height);
    this.axis(pen, width, height);
    this.path(pen);
    this.cursor(pen, height);
    const name = this.options.title || this.run.about;
    this.canvas.setAttribute("aria-label", `${name}, ${text(`rows_${this.of}`)}; ${text("done", duration(trace.end))}${this.longest}`);
  }

  heightOf(rows) {
    const most = clamp(heightFor(this) - 410, 220, 560);
    return this.of === "ranks" ? most : clamp(rows * (this.of === "rounds" ? 64 : 26) + TOP + BOTTOM, 90, most);
  }

  /** What waited longest, for those who do not see the chart. */
  longestWait() {
    const long = (bar) => (bar && bar.role.startsWith("waits") ? bar.to - bar.from : 0);
    const most = this.chart.bars.reduce((best, bar) => (long(bar) > long(best) ? bar : best), null);
    return long(most) ? `; ${text("longestWait", this.chart.rows[most.row], duration(long(most)), duration(most.from))}` : "";
  }

  /** Of what there is in this run, and that what is still to come is faint. */
  legend() {
    const roles = new Set(this.chart.bars.map((bar) => (this.of === "rounds" && bar.role === "receives" ? "onTheWay" : this.of === "stations" && bar.role === "waits" ? "waitsThere" : bar.role)));
    const shown = KEYS[this.of].filter((name) => name === "path" ? this.trace.path.length : roles.has(name));
    const keys = [...shown.map((name) => `<span class="key ${name}">${text(name)}</span>`), `<span class="key future">${text("future")}</span>`];
    if (this.of === "ranks" && this.chart.bars.some((bar) => bar.lanes > 1)) keys.push(`<span>${text("upperHalf")}</span>`);
    this.querySelector(".keys").innerHTML = keys.join("");
    this.querySelector(".more").textContent = this.chart.others ? text("moreStations", this.chart.others) : "";
  }

  highlight(pen) {
    const { hover } = this.state;
    if (hover === null || this.of !== "ranks") return;
    pen.fillStyle = this.colour("grid");
    pen.fillRect(this.left, TOP + hover * this.row, this.x.range()[1] - this.left, Math.max(this.row, 2));
  }

  /** All bars are drawn once; a frame shows what has been as it is, and faintly what will be. */
  bars(pen, width, height) {
    const key = [width, height, devicePixelRatio, this.x.domain()[1], this.colour("sim"), this.colour("wait")].join();
    if (this.layers?.key !== key) this.layers = { key, canvas: this.paint(width, height) };
    const { canvas } = this.layers, now = clamp(this.x(this.state.time), this.left, width), ratio = canvas.width / width;
    const part = (from, to, alpha) => {
      if (to <= from) return;
      pen.globalAlpha = alpha;
      pen.drawImage(canvas, from * ratio, 0, (to - from) * ratio, canvas.height, from, 0, to - from, height);
    };
    part(0, now, 1);
    part(now, width, FUTURE);
    pen.globalAlpha = 1;
  }

  paint(width, height) {
    const canvas = document.createElement("canvas");
    const pen = sized(canvas, width, height);
    const shades = [1, 0.62];
    for (const { row, from, to, role, lane, lanes, span, alternate } of this.chart.bars) {
      const room = 0.8 * this.row, high = room / lanes;
      pen.globalAlpha = shades[alternate ?? 0];
      pen.fillStyle = ROLES[role] ? this.colour(ROLES[role]) : this.hatch(pen);
      const thin = this.of === "rounds" && high > 3 ? 0.8 : 1;
      pen.fillRect(this.x(from), TOP + (row + 0.1) * this.row + lane * high, Math.max(this.x(to) - this.x(from), 0.6), Math.max(high * (span ?? 1) * thin, 0.7));
    }
    return canvas;
  }

  axis(pen, width, height) {
    const [size, unit] = unitOf(this.x.domain()[1]);
    pen.font = "11px Inter, sans-serif";
    pen.fillStyle = this.colour("muted");
    pen.textAlign = "center";
    for (const tick of this.x.ticks(Math.max(3, width / 110)))
      pen.fillText(tickText(tick / size) + (tick === 0 ? ` ${unit}` : ""), clamp(this.x(tick), this.left + 8, width - 14), height - 6);
    pen.textAlign = "right";
    const isDense = this.of === "stations" && this.row < 14;
    if (isDense) pen.font = "10px Inter, sans-serif";
    const every = Math.ceil((isDense ? 10 : 14) / this.row);
    const step = every <= 1 ? 1 : 2 ** Math.ceil(Math.log2(every));
    const { rows } = this.chart;
    for (let row = 0; row < rows.length; row += step) pen.fillText(rows[row], this.left - 6, TOP + (row + 0.5) * this.row + 4, this.left - 8);
  }

  /** Along the upper edges of rows, so that no bar is hidden; down or up where it goes on with another node. */
  path(pen) {
    if (this.of !== "ranks") return;
    pen.strokeStyle = this.colour("ink");
    pen.lineWidth = 1.8;
    pen.lineJoin = "round";
    pen.beginPath();
    this.trace.path.forEach((one, k) => {
      const y = TOP + this.rowOf(one) * this.row + 0.5;
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
      pen.moveTo(this.x(seconds), TOP - 2);
      pen.lineTo(this.x(seconds), height - BOTTOM + 4);
      pen.stroke();
      pen.setLineDash([]);
    };
    const forecast = this.lesson.forecast(this.run, this.trace.at);
    pen.strokeStyle = this.colour("for");
    pen.lineWidth = 1.2;
    if (forecast !== null && forecast <= this.x.domain()[1]) {
      at(forecast, [2, 3]);
      pen.fillStyle = this.colour("for-t");
      pen.textAlign = this.x(forecast) > 0.7 * this.width ? "right" : "left";
      pen.fillText(text(this.lesson.isForecast ? "labForecastEnd" : "formulaEnd"), this.x(forecast) + (pen.textAlign === "left" ? 4 : -4), 10);
    }
    pen.strokeStyle = this.colour("ink");
    at(Math.min(this.state.time, this.x.domain()[1]), []);
  }

  rowAt(event) {
    if (!this.trace) return null;
    const row = Math.floor((pointerIn(this.canvas, event)[1] - TOP) / this.row);
    return row >= 0 && row < this.chart.rows.length ? row : null;
  }
}
