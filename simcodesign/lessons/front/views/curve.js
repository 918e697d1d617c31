// Time over one slider: the formula as a line, simulations as points with intervals, what was measured as diamonds; and,
// where a prediction is asked for, the pencil of the student, who draws before anything else is shown.
import { scaleLinear, scaleLog } from "d3-scale";
import { area, line } from "d3-shape";
import { Figure, pointerIn } from "../figure.js";
import { clamp, duration, escaped, local, tickText, unitOf } from "../numbers.js";
import { apart, stopLabels } from "./labels.js";
import { reducedMotion } from "../store.js";
import { text } from "../texts.js";

/** Milliseconds until the formula is drawn after the prediction, then the first simulated point, and between points. */
const REVEAL = { formula: 300, points: 1300, each: 160 };
const MARGIN = { top: 26, right: 92, bottom: 52, left: 50 };
/** Curves of one step have one scale, if the highest is not this much higher than the lowest: it would be a flat line. */
const MOST_APART = 4;
/** Of more measured points only the chosen one has its time beside it. */
const MOST_LABELS = 12;

export class Curve extends Figure {
  static uses = ["stops", "rungs", "predicted"];

  build() {
    const { options } = this;
    this.run = this.runs[0];
    this.axis = this.lesson.slider(options.over);
    this.pencil = new Map(); // stop number: seconds
    this.innerHTML = `<figure>${this.heading(options.title)}<svg class="chart"></svg>
      <p class="reading" aria-live="polite"></p><p class="note" aria-live="polite"></p>${options.predict ? '<div class="actions"></div><div class="score" aria-live="polite"></div>' : ""}</figure>`;
    this.svg = this.querySelector("svg");
    this.svg.addEventListener("click", (event) => this.choose(event));
    if (!options.predict) return;
    this.svg.addEventListener("pointerdown", (event) => this.startDrawing(event));
    this.svg.addEventListener("pointermove", (event) => this.isDrawing && this.drawTo(event));
    addEventListener("pointerup", () => (this.isDrawing = false));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.setting = { ...this.state.stops };
    this.recall();
    this.store.subscribe((changed) => changed.has("imported") && this.recall());
  }

  /** Show the prediction that was drawn before: when the page opens, and after answers were imported. */
  recall() {
    const earlier = this.state.pencils[this.dataset.step];
    if (earlier) {
      this.pencil = new Map(earlier.points);
      this.setting = { ...this.state.stops, ...earlier.at };
      if (!this.asks && !this.isDrawn()) this.pencil.clear(); // all steps were opened before it was compared
    }
    this.actions();
    this.allowCompare();
    this.redraw();
  }

  keepPencil() {
    this.store.set({ pencils: { ...this.state.pencils, [this.dataset.step]: { at: this.setting, points: [...this.pencil] } } });
  }

  get asks() {
    return this.options.predict && !this.state.predicted;
  }

  /** A click sets the slider of the axis to the nearest stop. */
  choose(event) {
    if (this.asks || !this.scale) return;
    const [at] = pointerIn(this.svg, event), { x } = this.scale;
    const off = (number) => Math.abs(x(this.axis.stops[number].value) - at);
    this.store.setStop(this.options.over, this.axis.stops.reduce((best, _, number) => (off(number) < off(best) ? number : best), 0));
  }

  get simulatedRung() {
    if (this.asks || !this.run.effects.length) return null;
    return this.options.rung ?? (this.options.predict ? this.lesson.calmRung(this.run) : this.rungOf(this.run));
  }

  /** What is drawn: of every stop the forecast, and of those simulated the simulation. */
  rows() {
    const rung = this.simulatedRung ?? this.lesson.calmRung(this.run);
    const simulated = new Set(this.run.simulated[this.options.over]);
    return this.axis.stops.map((stop, number) => {
      const stops = { ...this.state.stops, [this.options.over]: number };
      const row = { number, value: stop.value, stop, forecast: this.lesson.forecast(this.run, stops) };
      if (simulated.has(number)) row.simulated = this.lesson.simulated(this.run, stops, rung);
      return row;
    });
  }

  measured() {
    if (!this.options.measured) return [];
    const others = this.run.sliders.filter((name) => name !== this.options.over);
    return this.run.measured
      .filter((one) => others.every((name) => one.at[name] === this.state.stops[name]))
      .map((one) => ({ ...one, number: one.at[this.options.over] }));
  }

  scales(rows, measured) {
    const { width } = this, height = this.options.height ?? clamp(width * 0.5, 260, 400);
    const values = rows.map((row) => row.value);
    const x = (values[0] > 0 && values.at(-1) / values[0] > 20 ? scaleLog().base(2) : scaleLinear())
      .domain([values[0], values.at(-1)]).range([MARGIN.left + 12, width - MARGIN.right]);
    const others = this.compared().map((one) => one.highest(one.rows(), one.measured())), own = this.highest(rows, measured);
    const common = Math.max(own, ...others);
    this.hasOwnScale = others.length > 0 && common > MOST_APART * Math.min(own, ...others);
    const highest = this.hasOwnScale ? own : common;
    const lowest = Math.min(...rows.flatMap((row) => [row.forecast, row.simulated?.low ?? Infinity]), ...measured.map((one) => one.low));
    const y = (this.options.log ? scaleLog().domain([lowest / 1.3, highest * 1.3]) : scaleLinear().domain([0, highest * 1.06]))
      .range([height - MARGIN.bottom, MARGIN.top]);
    return { width, height, x, y, unit: unitOf(highest) };
  }

  highest(rows, measured) {
    const most = Math.max(...rows.map((row) => row.forecast));
    return this.asks ? (this.options.top ?? 6) * most : Math.max(
      most, ...rows.map((row) => row.simulated?.high ?? 0), ...measured.map((one) => one.high),
      ...(this.showsPencil() ? this.pencil.values() : []));
  }

  /** The other curves of its step over the same slider. */
  compared() {
    const all = [...(this.closest(".stage")?.querySelectorAll("lesson-curve") ?? [])];
    return all.filter((one) => one !== this && one.run && one.options.over === this.options.over && !one.asks && !this.asks);
  }

  /** The pencil belongs to the setting in which it was drawn. */
  showsPencil() {
    const others = this.run.sliders.filter((name) => name !== this.options.over);
    return this.pencil.size > 0 && others.every((name) => this.state.stops[name] === this.setting[name]);
  }

  draw() {
    if (!this.asks && this.querySelector(".compare")) { // all steps were opened, and nothing was compared
      this.pencil.clear();
      this.actions();
    }
    const rows = this.rows(), measured = this.measured();
    const view = (this.scale = this.scales(rows, measured));
    const { width, height } = view;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.style.height = `${height}px`;
    this.svg.classList.toggle("asks", Boolean(this.asks));
    const points = rows.filter((row) => row.simulated);
    const focused = this.querySelector("circle:focus")?.dataset.stop;
    this.svg.innerHTML =
      this.axes(view, rows) +
      (this.asks ? this.given(view, points) : this.readings(view, rows, points)) +
      (this.options.predict ? this.pencilMarks(view, points) : "") +
      this.diamonds(view, measured, rows);
    if (focused !== undefined) this.svg.querySelector(`circle[data-stop="${focused}"]`)?.focus();
    if (!this.options.predict) this.svg.setAttribute("role", "img");
    this.svg.setAttribute("aria-label", this.summary(rows, measured));
    this.reading(rows, measured);
    this.note(points);
    if (this.options.predict) this.score(points, rows);
  }

  axes({ x, y, width, height, unit }, rows) {
    const isRound = (tick) => !this.options.log || /^[125]0*$/.test(String(+(tick / unit[0]).toPrecision(6)).replace(/^0?\.0*/, ""));
    const ticks = y.ticks(5).filter(isRound).map((tick) => `<g class="tick"><line x1="${MARGIN.left}" x2="${width - MARGIN.right}" y1="${y(tick)}" y2="${y(tick)}"/>
      <text x="${MARGIN.left - 8}" y="${y(tick) + 4}" text-anchor="end">${tickText(tick / unit[0])}</text></g>`);
    const labels = stopLabels(rows.map((row) => row.stop), (stop) => x(stop.value), height - MARGIN.bottom);
    return `<g class="axes">${ticks.join("")}<text x="${MARGIN.left - 8}" y="11" text-anchor="end">${unit[1]}</text>
      ${labels}<text x="${width - MARGIN.right}" y="${height - 2}" text-anchor="end" class="faint">${escaped(this.axis.about)}</text></g>`;
  }

  readings({ x, y, height }, rows, points) {
    if (!points.length) return this.formulaAlone(x, y, rows);
    const chosen = this.state.stops[this.options.over];
    const path = line().x((row) => x(row.value));
    const formula = path.y((row) => y(row.forecast))(rows);
    const last = rows.at(-1), end = points.at(-1);
    // Two lines of text each: apart from one another, and above the axis.
    const isShort = end !== last, lowest = height - MARGIN.bottom - 16;
    const heights = isShort ? [y(last.forecast), y(end.simulated.mean)] : apart(y(last.forecast), y(end.simulated.mean), 32, lowest);
    const formulaLabel = this.label(x(last.value), Math.min(heights[0], lowest), "formula", last.forecast);
    const formulaMarks = `<path class="formula" d="${formula}"/>${formulaLabel}`;
    if (this.shown !== undefined) // the reveal is under way
      return this.shown < 0 ? "" : formulaMarks + this.simulated(points.slice(0, this.shown), x, y);
    if (rows.every((row) => /^\p{L}/u.test(row.stop.text))) return this.named(rows, points, x, y) + formulaLabel;
    const simulation = path.y((row) => y(row.simulated.mean))(points);
    return `${this.between(points, x, y)}${formulaMarks}<path class="simulation" d="${simulation}"/>
      ${this.simulated(points, x, y)}${this.ring(rows[chosen], x, y)}${this.label(x(end.value), isShort ? heights[1] - 22 : Math.min(heights[1], lowest), "simulation", end.simulated.mean, isShort && x(end.value) > MARGIN.left + 90)}`;
  }

  /** Where stops have names instead of values, nothing lies between two of them: no line joins them. */
  named(rows, points, x, y) {
    const marks = rows.map((row) => `<path class="formula" d="M${x(row.value) - 16} ${y(row.forecast)}H${x(row.value) + 16}"/>`);
    return marks.join("") + this.simulated(points, x, y) + this.ring(rows[this.state.stops[this.options.over]], x, y);
  }

  /** The area between simulation and pencil, which is the score; without a pencil, between simulation and formula. */
  between(points, x, y) {
    const isYours = this.options.predict && this.showsPencil();
    const known = isYours ? points.filter((row) => this.pencil.has(row.number)) : points;
    const other = (row) => (isYours ? this.pencil.get(row.number) : row.forecast);
    const path = area().x((row) => x(row.value)).y0((row) => y(other(row))).y1((row) => y(row.simulated.mean))(known);
    return `<path class="between${isYours ? " yours" : ""}" d="${path}"/>`;
  }

  simulated(points, x, y) {
    return points.map((row) => {
      const { mean, low, high, exact } = row.simulated;
      const bar = high > low ? `<line class="interval" x1="${x(row.value)}" x2="${x(row.value)}" y1="${y(low)}" y2="${y(high)}"/>` : "";
      const title = `<title>${escaped(row.stop.text)}: ${duration(mean, 4)}</title>`;
      return `${bar}<circle class="simulated${exact ? "" : " hollow"}" cx="${x(row.value)}" cy="${y(mean)}" r="${points.length > 40 ? 2 : 3.6}">${title}</circle>`;
    }).join("");
  }

  /** In an exam, which holds simulations back. */
  formulaAlone(x, y, rows) {
    const path = line().x((row) => x(row.value)).y((row) => y(row.forecast))(rows), last = rows.at(-1);
    return `<path class="formula" d="${path}"/>${this.label(x(last.value), y(last.forecast), "formula", last.forecast)}`;
  }

  /** A ring around the chosen stop, with how many times the formula the simulation takes there. */
  ring(row, x, y) {
    if (!row?.simulated?.exact || this.options.measured) return "";
    const { mean } = row.simulated, isLeft = x(row.value) < MARGIN.left + 60; // there it would stand on the numbers of the axis
    return `<circle class="ring" cx="${x(row.value)}" cy="${y(mean)}" r="8.5"/>
      <text class="ratio" x="${x(row.value) + (isLeft ? 10 : -8)}" y="${y(mean) - 13}" text-anchor="${isLeft ? "start" : "end"}">×${local((mean / row.forecast).toFixed(2))}</text>`;
  }

  /** Right of a point, or left of it where the curves go on. */
  label(x, y, role, value, isLeft = false) {
    const at = isLeft ? x - 12 : x + 12;
    return `<text class="end ${role}" x="${at}" y="${y - 2}"${isLeft ? ' text-anchor="end"' : ""}>${text(role)}<tspan x="${at}" dy="14" class="faint">${duration(value)}</tspan></text>`;
  }

  /** What was measured; the time beside a point where there is room for it. */
  diamonds({ x, y, width }, measured, rows) {
    const taken = [], isMany = measured.length > MOST_LABELS, size = isMany ? 4 : 6;
    return measured.map((one) => {
      const at = x(rows[one.number].value), high = y(one.value), words = duration(one.value, 4), long = 7 * words.length;
      const places = [[at - 10, -8, "end"], [at - 10, 18, "end"], [at + 8, -8, "start"], [at + 8, 18, "start"], [at, -12, "middle"], [at, 24, "middle"]]
        .map(([left, down, anchor]) => ({ left, down, anchor, from: left - { end: long, start: 0, middle: long / 2 }[anchor], base: high + down }));
      const isFree = (place) => place.from > MARGIN.left && place.from + long < width && place.base > 12
        && !taken.some((other) => Math.abs(other.base - place.base) < 14 && other.from < place.from + long && place.from < other.from + other.long);
      const place = isMany && one.number !== this.state.stops[this.options.over] ? undefined : places.find(isFree);
      if (place) taken.push({ ...place, long });
      const label = place ? `<text class="measured-label" x="${place.left}" y="${place.base}" text-anchor="${place.anchor}">${words}</text>` : "";
      return `<path class="measured" d="M${at} ${high - size}L${at + size} ${high}L${at} ${high + size}L${at - size} ${high}Z"><title>${words}</title></path>${label}`;
    }).join("");
  }

  given({ x, y }, points) {
    return points.slice(0, this.options.given ?? 2)
      .map((row) => `<circle class="given" cx="${x(row.value)}" cy="${y(row.simulated.mean)}" r="4"/>`).join("");
  }

  // --- The pencil

  open(points) {
    return points.slice(this.options.given ?? 2);
  }

  pencilMarks({ x, y }, points) {
    if (!this.asks && !this.showsPencil()) return "";
    const first = points.slice(0, this.options.given ?? 2).map((row) => [row, row.simulated.mean]);
    const drawn = this.open(points).filter((row) => this.pencil.has(row.number)).map((row) => [row, this.pencil.get(row.number)]);
    const path = line().x(([row]) => x(row.value)).y(([, value]) => y(value))([...first.slice(-1), ...drawn]);
    if (!this.asks) {
      const [row, value] = drawn.at(-1);
      const taken = [row.forecast, row.simulated.mean].some((other) => Math.abs(y(other) - y(value)) < 28);
      return `<path class="pencil" d="${path}"/>${taken ? "" : this.label(x(row.value), y(value), "you", value)}`;
    }
    const handles = this.open(points).map((row) => {
      const value = this.pencil.get(row.number);
      return `<circle class="handle${value === undefined ? " empty" : ""}" data-stop="${row.number}" tabindex="0" role="slider" r="9"
        cx="${x(row.value)}" cy="${y(value ?? this.before(points, row))}" aria-label="${escaped(text("drawPoint", row.stop.text))}"
        aria-valuemin="0" aria-valuemax="${y.domain()[1]}" aria-valuenow="${value ?? 0}" aria-valuetext="${value === undefined ? "–" : duration(value)}"/>`;
    });
    return `<path class="pencil" d="${path}"/>${handles.join("")}`;
  }

  /** Where a point that is not drawn yet begins: as high as the last one before it. */
  before(points, row) {
    const earlier = points.filter((one) => one.number < row.number);
    const known = earlier.findLast((one) => this.pencil.has(one.number));
    return known ? this.pencil.get(known.number) : points[(this.options.given ?? 2) - 1].simulated.mean;
  }

  startDrawing(event) {
    if (!this.asks) return;
    this.isDrawing = true;
    this.lastStop = null;
    event.preventDefault();
    this.svg.setPointerCapture?.(event.pointerId);
    this.drawTo(event);
  }

  drawTo(event) {
    const [across, down] = pointerIn(this.svg, event), { x, y } = this.scale;
    const points = this.open(this.rows().filter((row) => row.simulated));
    const value = clamp(y.invert(down), 0, y.domain()[1]);
    const nearest = points.reduce((best, row) => (Math.abs(x(row.value) - across) < Math.abs(x(best.value) - across) ? row : best));
    if (across < x(points[0].value) - 24) return;
    const from = points.findIndex((row) => row.number === this.lastStop), to = points.indexOf(nearest);
    // A quick stroke passes points between two events.
    if (from >= 0 && Math.abs(to - from) > 1) {
      const begin = this.pencil.get(this.lastStop), step = Math.sign(to - from);
      for (let k = from + step; k !== to; k += step)
        this.pencil.set(points[k].number, begin + ((value - begin) * (k - from)) / (to - from));
    }
    this.pencil.set(nearest.number, value);
    this.lastStop = nearest.number;
    this.drawn(points);
  }

  key(event) {
    const stop = event.target.dataset?.stop;
    if (stop === undefined || !this.asks) return;
    const points = this.rows().filter((row) => row.simulated), open = this.open(points);
    const row = open.find((one) => one.number === Number(stop));
    const step = this.scale.y.domain()[1] / 60;
    const moves = { ArrowUp: step, ArrowDown: -step, PageUp: 5 * step, PageDown: -5 * step, Enter: 0, " ": 0 };
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const next = open[open.indexOf(row) + (event.key === "ArrowRight" ? 1 : -1)];
      this.svg.querySelector(`circle[data-stop="${next?.number}"]`)?.focus();
    } else if (event.key in moves) {
      const value = (this.pencil.get(row.number) ?? this.before(points, row)) + moves[event.key];
      this.pencil.set(row.number, clamp(value, 0, this.scale.y.domain()[1]));
      this.drawn(open);
    } else return;
    event.preventDefault();
  }

  drawn(points) {
    this.draw();
    this.keepPencil();
    this.allowCompare(points);
  }

  /** Whether all points that the student is to draw are there. */
  isDrawn(points = this.open(this.rows().filter((row) => row.simulated))) {
    return points.every((row) => this.pencil.has(row.number));
  }

  allowCompare(points) {
    this.querySelector(".compare")?.toggleAttribute("disabled", !this.isDrawn(points));
  }

  actions() {
    this.querySelector(".actions").innerHTML = this.asks
      ? `<button type="button" class="primary compare" disabled>${text("compare")}</button><span class="note">${text("drawFirst")}</span>`
      : `<button type="button" class="again">${text("redraw")}</button>`;
    this.querySelector(".compare")?.addEventListener("click", () => this.finish());
    this.querySelector(".again")?.addEventListener("click", () => {
      this.timers?.forEach(clearTimeout);
      this.shown = undefined;
      this.pencil.clear();
      this.setting = { ...this.state.stops };
      this.keepPencil();
      this.store.set({ predicted: false });
      this.actions();
    });
  }

  finish() {
    const points = this.rows().filter((row) => row.simulated);
    const drawn = this.open(points).map((row) => [row.stop.text, this.pencil.get(row.number)]);
    this.reveal(points.length);
    this.store.set({ predicted: true, predictions: { ...this.state.predictions, [this.dataset.step]: Object.fromEntries(drawn) } });
    this.actions();
  }

  /** First the formula, then one simulated point after another, then the score: at once where motion is unwelcome. */
  reveal(count) {
    this.timers?.forEach(clearTimeout);
    if (reducedMotion()) return;
    this.shown = -1; // how many simulated points are shown; -1: not even the formula
    const at = (wait, shown) => setTimeout(() => {
      this.shown = shown;
      this.draw();
    }, wait);
    const each = Math.min(REVEAL.each, 3000 / count);
    this.timers = [at(REVEAL.formula, 0), ...Array.from({ length: count }, (_, k) => at(REVEAL.points + k * each, k + 1)),
      at(REVEAL.points + (count + 2) * each, undefined)];
  }

  /** By what factor pencil and formula miss the simulation, in the geometric mean over the points that were drawn; null before. */
  missed(open = this.open(this.rows().filter((row) => row.simulated))) {
    if (this.asks || !this.showsPencil() || !this.isDrawn(open)) return null;
    const off = (value) => Math.exp(open.reduce((sum, row) => sum + Math.abs(Math.log(Math.max(value(row), 1e-12) / row.simulated.mean)), 0) / open.length);
    return { you: off((row) => this.pencil.get(row.number)), formula: off((row) => row.forecast) };
  }

  score(points, rows) {
    const shown = this.querySelector(".score");
    if (this.asks || !this.showsPencil() || this.shown !== undefined) return void (shown.innerHTML = "");
    const missed = this.missed(this.open(points));
    if (!missed) return void (shown.innerHTML = "");
    const { you, formula } = missed;
    const bar = (role, value) => `<div class="bar-row"><span>${text(role)}</span><i class="${role}" style="width:${Math.min(100, (100 * Math.log(value)) / Math.log(Math.max(you, formula, 1.05)))}%"></i><b>${text("offBy", local(value.toFixed(2)))}</b></div>`;
    shown.innerHTML = `<div>${bar("you", you)}${bar("formula", formula)}</div><p>${text(you < formula ? "closerYou" : "closerFormula")}</p>`;
  }

  /** Below it: what the chosen stop has, as exact as questions ask for it. */
  reading(rows, measured) {
    const { over } = this.options, chosen = this.state.stops[over], row = rows[chosen], isHidden = this.asks || this.shown !== undefined;
    const times = [["formula", row.forecast], ["simulation", row.simulated?.mean], ["measured", measured.find((one) => one.number === chosen)?.value]]
      .filter(([role, time]) => time !== undefined && (role !== "simulation" || this.run.effects.length));
    const words = times.map(([role, time]) => `${text(role)} <b class="${role}">${duration(time, 4)}</b>`).join(", ");
    const html = isHidden ? "" : `${escaped(this.lesson.words({ sliders: [over] }, { [over]: chosen }))}: ${words}`;
    const shown = this.querySelector(".reading");
    if (shown.innerHTML !== html) shown.innerHTML = html;
  }

  note(points) {
    const hollow = !this.asks && points.find((row) => !row.simulated.exact);
    const parts = hollow ? [text("hollow", escaped(this.lesson.words(this.run, hollow.simulated.at, this.options.over)))] : [];
    if (!this.asks && points.some((row) => row.simulated.high > row.simulated.low)) parts.push(text("interval"));
    if (this.options.measured) parts.push(escaped(this.run.measured_about));
    if (this.hasOwnScale && !this.asks) parts.push(text("ownScale"));
    this.querySelector("figure > .note").innerHTML = parts.join("; ");
  }

  summary(rows, measured) {
    if (this.asks) return `${this.options.title}. ${text("drawFirst")}`;
    const parts = rows.filter((row) => row.simulated).map((row) =>
      `${row.stop.text}: ${text("formula")} ${duration(row.forecast)}, ${text("simulation")} ${duration(row.simulated.mean)}`);
    return `${this.options.title}. ${parts.join("; ")}${measured.map((one) => `; ${text("measured")} ${duration(one.value)}`).join("")}`;
  }
}
