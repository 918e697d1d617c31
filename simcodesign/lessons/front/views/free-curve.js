// The curve of the laboratory's panel: forecasts as a line, simulated points as they come.
import { scaleLinear, scaleLog } from "d3-scale";
import { line } from "d3-shape";
import { digits, duration, escaped, tickText, unitOf } from "../numbers.js";
import { text } from "../texts.js";
import { byteTicks, withUnit } from "./free-units.js";

const MARGIN = { top: 18, right: 92, bottom: 44, left: 54 }, HEIGHT = 330;

export class FreeCurve {
  constructor(svg) {
    this.svg = svg;
    this.points = [];
    this.rows = [];
    this.top = 0;
    this.pins = [];
  }

  /** Pinned curves over the parameter of the axis. */
  get beside() {
    return this.pins.filter((pin) => pin.axis === this.axis?.name);
  }

  /** Fit the axis to what is shown. */
  fit() {
    this.top = 0;
    this.draw();
  }

  /** Fit the axis to the next forecast, which is of something else. */
  fitNext() {
    this.isNew = true;
  }

  forecast(axis, { values, total_s }) {
    this.axis = axis;
    this.rows = values.map((value, k) => ({ value, total: total_s[k] })).filter((row) => row.total !== null);
    this.svg.classList.remove("is-old");
    if (this.isNew) this.top = 0;
    this.isNew = false;
    this.draw();
  }

  point(one) {
    this.points.push(one);
    this.points.sort((first, second) => first.value - second.value);
    this.draw();
  }

  clear() {
    this.points = [];
    this.draw();
  }

  fade() {
    this.svg.classList.add("is-old");
  }

  draw() {
    const width = this.svg.parentElement.clientWidth, { rows, points } = this;
    if (rows.length < 2 || !width) return;
    const all = [rows, ...this.beside.map((pin) => pin.rows)], values = all.flatMap((one) => [one[0].value, one.at(-1).value]);
    const ends = [Math.min(...values), Math.max(...values)];
    const x = (ends[0] > 0 && ends[1] / ends[0] > 20 ? scaleLog() : scaleLinear()).domain(ends).range([MARGIN.left + 8, width - MARGIN.right]);
    const marks = [points, ...this.beside.map((pin) => pin.points)].flat();
    const highest = Math.max(...all.flat().map((row) => row.total), ...marks.map((one) => one.high)) || 1;
    // The axis grows, but does not shrink by itself: a machine that is ten times as fast is seen to be.
    if (highest > this.top) this.top = highest * 1.06;
    this.svg.closest("lesson-free").querySelector(".lab-fit").hidden = highest > 0.4 * this.top;
    const y = scaleLinear().domain([0, this.top]).range([HEIGHT - MARGIN.bottom, MARGIN.top]);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.svg.style.height = `${HEIGHT}px`;
    this.svg.innerHTML = this.axes(x, y, width, unitOf(this.top)) + this.pinned(x, y) + this.lines(x, y);
    this.svg.setAttribute("aria-label", this.summary());
  }

  axes(x, y, width, unit) {
    const across = y.ticks(5).map((tick) => `<g class="tick"><line x1="${MARGIN.left}" x2="${width - MARGIN.right}" y1="${y(tick)}" y2="${y(tick)}"/>
      <text x="${MARGIN.left - 8}" y="${y(tick) + 4}" text-anchor="end">${tickText(tick / unit[0])}</text></g>`);
    let left = -Infinity;
    const isBytes = this.axis.unit === "B" && x.base !== undefined;
    const along = (isBytes ? byteTicks(...x.domain()) : x.ticks(6)).map((tick) => {
      const words = isBytes ? withUnit(tick, "B") : tickWords(tick), at = x(tick), half = 4 * words.length;
      if (at - half < left + 6) return "";
      left = at + half;
      return `<text x="${at}" y="${HEIGHT - MARGIN.bottom + 18}" text-anchor="middle">${words}</text>`;
    });
    const about = `${this.axis.name}${this.axis.unit && !isBytes ? ` in ${this.axis.unit}` : ""}`;
    return `<g class="axes">${across.join("")}${along.join("")}<text x="${MARGIN.left - 8}" y="${MARGIN.top - 5}" text-anchor="end">${unit[1]}</text>
      <text x="${width - MARGIN.right}" y="${HEIGHT - 4}" text-anchor="end" class="faint">${escaped(about)}</text></g>`;
  }

  lines(x, y) {
    const { rows, points } = this, last = rows.at(-1), end = points.at(-1);
    const path = line().x((row) => x(row.value)).y((row) => y(row.total))(rows);
    const marks = points.map(({ value, mean, low, high }) => {
      const bar = high > low ? `<line class="interval" x1="${x(value)}" x2="${x(value)}" y1="${y(low)}" y2="${y(high)}"/>` : "";
      return `${bar}<circle class="simulated" data-value="${value}" cx="${x(value)}" cy="${y(mean)}" r="4"><title>${withUnit(value, this.axis.unit)}: ${duration(mean, 4)}</title></circle>`;
    });
    const label = (role, name, at, value) => `<text class="end ${role}" x="${x(last.value) + 12}" y="${at}">${text(name)}<tspan x="${x(last.value) + 12}" dy="14" class="faint">${duration(value)}</tspan></text>`;
    const near = end && Math.abs(y(end.mean) - y(last.total)) < 32, isUp = end && end.mean >= last.total;
    return `<path class="formula" d="${path}"/>${marks.join("")}${label("formula", "forecast", y(last.total) + (near ? (isUp ? 18 : -20) : 0), last.total)}
      ${end ? label("simulation", "simulation", y(end.mean) - (near ? (isUp ? 20 : -18) : 2), end.mean) : ""}`;
  }

  /** Curves that are pinned: the forecast broken, simulated points hollow, with the number of each. */
  pinned(x, y) {
    return this.beside.map(({ number, rows, points }) => {
      const path = line().x((row) => x(row.value)).y((row) => y(row.total))(rows);
      const marks = points.map(({ value, mean }) => `<circle class="simulated hollow" cx="${x(value)}" cy="${y(mean)}" r="3.4"/>`);
      const at = rows[Math.floor(rows.length * (0.55 + 0.1 * number)) - 1];
      return `<g class="pinned"><path class="formula" d="${path}"/>${marks.join("")}<circle class="badge" cx="${x(at.value)}" cy="${y(at.total)}" r="9"/><text class="number" x="${x(at.value)}" y="${y(at.total) + 4}" text-anchor="middle">${number}</text></g>`;
    }).join("");
  }

  summary() {
    const parts = this.points.map((one) => `${tickWords(one.value)}: ${text("simulation")} ${duration(one.mean)}`);
    return `${text("forecast")} ${duration(this.rows[0].total)} – ${duration(this.rows.at(-1).total)}; ${parts.join("; ")}`;
  }
}

/** 1e6 rather than 1,000,000, so that neighbours do not touch. */
function tickWords(value) {
  return Math.abs(value) >= 1e5 || (value && Math.abs(value) < 1e-3) ? value.toExponential(1).replace(".0", "").replace("e+", "e") : digits(value, 4).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}
