// A question for a curve: the student draws times over the stops of a slider, both axes logarithmic.
import { scaleLinear, scaleLog } from "d3-scale";
import { line } from "d3-shape";
import { pointerIn } from "../figure.js";
import { clamp, duration, escaped, local } from "../numbers.js";
import { missOf } from "../score.js";
import { text } from "../texts.js";
import { stopLabels } from "./labels.js";
import { Question } from "./question.js";

const MARGIN = { top: 16, right: 24, bottom: 52, left: 62 };
/** How far a key moves a point, of the height. */
const STEP = 1 / 80;

export class Drawing extends Question {
  body(id) {
    this.axis = this.lesson.slider(this.question.over);
    this.given = new Map(this.question.given);
    this.pencil = new Map(); // stop number: seconds
    const note = `<p class="note">${text("drawFirst")}</p>`;
    return `<svg class="chart asks" role="group" aria-labelledby="${id}-text"></svg>${note}
      <div class="field"><button type="submit" class="primary" disabled>${text(this.lesson.exam ? "keep" : "check")}</button></div>`;
  }

  build() {
    super.build();
    this.svg = this.querySelector("svg");
    this.svg.addEventListener("pointerdown", (event) => this.begin(event));
    this.svg.addEventListener("pointermove", (event) => this.isDrawing && this.drawTo(event));
    addEventListener("pointerup", () => (this.isDrawing = false));
    this.svg.addEventListener("keydown", (event) => this.key(event));
  }

  get stops() {
    return [...this.given.keys(), ...this.question.open];
  }

  draw() {
    const width = this.svg.clientWidth, height = clamp(width * 0.6, 240, 360);
    const values = this.stops.map((stop) => this.axis.stops[stop].value);
    const x = (values[0] > 0 ? scaleLog() : scaleLinear()).domain([values[0], values.at(-1)]).range([MARGIN.left + 10, width - MARGIN.right]);
    const y = scaleLog().domain(this.question.axis).range([height - MARGIN.bottom, MARGIN.top]);
    this.scale = { x: (stop) => x(this.axis.stops[stop].value), y };
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.style.height = `${height}px`;
    const focused = this.querySelector("circle:focus")?.dataset.stop;
    this.svg.innerHTML = this.axes(width, height) + this.marks();
    if (focused !== undefined) this.svg.querySelector(`circle[data-stop="${focused}"]`)?.focus();
  }

  axes(width, height) {
    const { x, y } = this.scale;
    const [low, high] = this.question.axis.map((value) => Math.round(Math.log10(value)));
    const decades = Array.from({ length: high - low + 1 }, (_, k) => 10 ** (low + k));
    const lines = decades.map((value) => `<g class="tick"><line x1="${MARGIN.left}" x2="${width - MARGIN.right}" y1="${y(value)}" y2="${y(value)}"/>
      <text x="${MARGIN.left - 8}" y="${y(value) + 4}" text-anchor="end">${duration(value, 1)}</text></g>`);
    const labels = stopLabels(this.stops.map((stop) => ({ ...this.axis.stops[stop], stop })), ({ stop }) => x(stop), height - MARGIN.bottom);
    return `<g class="axes">${lines.join("")}${labels}<text x="${width - MARGIN.right}" y="${height - 2}" text-anchor="end" class="faint">${escaped(this.axis.about)}</text></g>`;
  }

  marks() {
    const { x, y } = this.scale, { open, truth } = this.question;
    const path = line().x(([stop]) => x(stop)).y(([, value]) => y(value));
    const drawn = open.filter((stop) => this.pencil.has(stop)).map((stop) => [stop, this.pencil.get(stop)]);
    const given = [...this.given].map(([stop, value]) => `<circle class="given" cx="${x(stop)}" cy="${y(value)}" r="4"/>`);
    const handles = open.map((stop) => {
      const value = this.pencil.get(stop), shown = value === undefined ? "–" : duration(value);
      return `<circle class="handle${value === undefined ? " empty" : ""}" data-stop="${stop}" tabindex="0" role="slider" r="9" cx="${x(stop)}" cy="${y(value ?? this.heightBefore(stop))}"
        aria-label="${escaped(text("drawPoint", this.axis.stops[stop].text))}" aria-valuemin="${this.question.axis[0]}" aria-valuemax="${this.question.axis[1]}" aria-valuenow="${value ?? this.heightBefore(stop)}" aria-valuetext="${shown}"/>`;
    });
    // The truth is there to be compared with once there has been feedback.
    const right = this.isJudged && truth ? `<path class="simulation" d="${path(open.map((stop, k) => [stop, truth[k]]))}"/>` : "";
    const pencil = drawn.length ? `<path class="pencil" d="${path([...[...this.given].slice(-1), ...drawn])}"/>` : "";
    // The value of the point that was moved last: all of them would not stand side by side.
    const read = drawn.filter(([stop]) => stop === this.touched).map(([stop, value]) => `<text class="drawn" x="${x(stop)}" y="${y(value) - 14}" text-anchor="middle" aria-hidden="true">${duration(value, 2)}</text>`);
    return right + pencil + given.join("") + read.join("") + handles.join("");
  }

  /** Where a point that is not drawn yet begins: as high as the last one before it, or in the middle. */
  heightBefore(stop) {
    const earlier = this.question.open.filter((one) => one < stop && this.pencil.has(one)).at(-1);
    return this.pencil.get(earlier) ?? [...this.given.values()].at(-1) ?? Math.sqrt(this.question.axis[0] * this.question.axis[1]);
  }

  begin(event) {
    this.isDrawing = true;
    this.last = null;
    event.preventDefault();
    this.svg.setPointerCapture?.(event.pointerId);
    this.drawTo(event);
  }

  drawTo(event) {
    const [across, down] = pointerIn(this.svg, event), { x, y } = this.scale, { open } = this.question;
    const off = (stop) => Math.abs(x(stop) - across);
    if (across < x(open[0]) - 24) return;
    const stop = open.reduce((best, one) => (off(one) < off(best) ? one : best));
    const at = clamp(down, y.range()[1], y.range()[0]);
    const from = open.indexOf(this.last), to = open.indexOf(stop);
    // A quick stroke passes points between two events.
    if (from >= 0 && Math.abs(to - from) > 1) {
      const begin = y(this.pencil.get(this.last)), step = Math.sign(to - from);
      for (let k = from + step; k !== to; k += step) this.pencil.set(open[k], y.invert(begin + ((at - begin) * (k - from)) / (to - from)));
    }
    this.last = stop;
    this.put(stop, y.invert(at));
  }

  key(event) {
    const stop = Number(event.target.dataset?.stop ?? NaN), { open } = this.question, [low, high] = this.question.axis;
    if (!open.includes(stop)) return;
    const moves = { ArrowUp: STEP, ArrowDown: -STEP, PageUp: 8 * STEP, PageDown: -8 * STEP, Enter: 0, " ": 0 };
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const next = open[open.indexOf(stop) + (event.key === "ArrowRight" ? 1 : -1)];
      this.svg.querySelector(`circle[data-stop="${next}"]`)?.focus();
    } else if (event.key in moves) {
      const value = (this.pencil.get(stop) ?? this.heightBefore(stop)) * (high / low) ** moves[event.key];
      this.put(stop, clamp(value, low, high));
    } else return;
    event.preventDefault();
  }

  put(stop, value) {
    this.pencil.set(stop, value);
    this.touched = stop;
    this.isJudged = false;
    this.draw();
    this.allowSubmit();
    this.draft(Object.fromEntries(this.pencil));
  }

  allowSubmit() {
    this.querySelector("button").toggleAttribute("disabled", !this.question.open.every((one) => this.pencil.has(one)));
  }

  putBack(drawn) {
    for (const stop of this.question.open) if (drawn?.[stop] > 0) this.pencil.set(stop, drawn[stop]);
    this.allowSubmit();
    this.redraw();
  }

  submit() {
    const value = Object.fromEntries(this.question.open.map((stop) => [stop, this.pencil.get(stop)]));
    this.keep(value, this.respond(value));
    this.redraw();
  }

  /** As lessons/grading/marking.py marks a curve: by the area between both, over the width of the axis. */
  respond(value) {
    if (this.lesson.exam) return this.showKept();
    const { tolerance, right, wrong } = this.question, miss = missOf(this.question, value, this.lesson);
    const isRight = miss <= tolerance * (1 + 1e-9);
    this.isJudged = true;
    const off = text("offBy", local((1 + miss).toFixed(2)));
    this.feedback(isRight, `${off[0].toUpperCase()}${off.slice(1)}. ${isRight ? right : wrong}`);
    return isRight;
  }
}
