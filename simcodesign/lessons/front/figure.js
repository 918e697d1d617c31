// What all figures have in common: the store, a title, drawing only when on screen and when something has changed.
import { escaped } from "./numbers.js";
import { effectName, text } from "./texts.js";

let context = null;

/** Of the palette that is shown now, by name. */
const colours = new Map();
addEventListener("themechange", () => colours.clear());
let hatched = null;

const TILE = 10; // in half pixels of the page

/** Lines that rise to the right, and go on from tile to tile. */
function hatchTile(colour, paper) {
  const tile = Object.assign(document.createElement("canvas"), { width: TILE, height: TILE }), pen = tile.getContext("2d");
  pen.fillStyle = paper;
  pen.fillRect(0, 0, TILE, TILE);
  pen.strokeStyle = colour;
  pen.lineWidth = 2.8;
  pen.beginPath();
  for (const from of [-TILE, 0, TILE]) {
    pen.moveTo(from - 2, TILE + 2);
    pen.lineTo(from + TILE + 2, -2);
  }
  pen.stroke();
  return tile;
}

/** Lesson, store and clock, for all elements of the page. */
export function provide(lesson, store, clock) {
  context = { lesson, store, clock };
}

/** Lesson, store and clock of the page. */
export const provided = () => context;

export class Figure extends HTMLElement {
  /** Keys of the state that it draws. */
  static uses = ["stops", "rungs"];
  #isVisible = false;
  #isStale = true;
  #end = null;
  #before = null;

  connectedCallback() {
    Object.assign(this, this.own ?? context);
    if (this.dataset.view !== undefined) this.options = this.lesson.view(this);
    this.runs = (this.options?.runs ?? []).map((name) => this.lesson.run(name));
    this.build();
    this.store.subscribe((changed) => {
      if (!this.constructor.uses.some((key) => changed.has(key))) return;
      this.#isStale = true;
      this.#drawIfSeen();
    });
    // Remembered: asking for it between the drawings of two figures would lay out the page each time.
    new ResizeObserver(([entry]) => {
      this.width = Math.floor(entry.contentRect.width);
      this.redraw();
    }).observe(this);
    new IntersectionObserver((entries) => {
      this.#isVisible = entries.at(-1).isIntersecting;
      this.#drawIfSeen();
    }, { rootMargin: "200px" }).observe(this);
    addEventListener("themechange", () => this.redraw());
    addEventListener("beforeprint", () => {
      this.width ||= this.clientWidth;
      if (this.width) this.draw();
    });
  }

  redraw() {
    this.#isStale = true;
    this.#drawIfSeen();
  }

  #drawIfSeen() {
    if (!this.#isVisible || !this.#isStale || !this.width) return;
    this.#isStale = false;
    this.draw();
    this.#sayWhatIsOff();
  }

  /** Whether these, and what all figures are drawn by, are as when this was asked last: then there is nothing to draw. */
  isAsBefore(...values) {
    const all = [...values, this.width, innerHeight, devicePixelRatio, this.colour("ink")];
    const same = this.#before?.every((value, k) => value === all[k]) ?? false;
    this.#before = all;
    return same;
  }

  /** When the last run of its step ends: one clock for all that is seen together. */
  get end() {
    const { stops, rungs, draw } = this.state;
    if (this.#end?.stops !== stops || this.#end.rungs !== rungs || this.#end.draw !== draw) this.#end = { stops, rungs, draw, value: this.#findEnd() };
    return this.#end.value;
  }

  #findEnd() {
    const names = (this.lesson.steps[this.dataset.step]?.views ?? [this.options]).flatMap((view) => view.runs);
    return this.lesson.endOf(names, this.state.stops, this.rung, this.state.draw);
  }

  get state() {
    return this.store.state;
  }

  /** How many effects are on in its step. */
  get rung() {
    return this.state.rungs[this.dataset.step];
  }

  /** The rung that a run is shown at: that of the step, as far as the run has one. */
  rungOf(run) {
    return Math.min(this.rung ?? run.effects.length, run.effects.length);
  }

  /** What is kept of its first run, as it is shown. */
  get shownTrace() {
    return this.lesson.trace(this.run, this.state.stops, this.rungOf(this.run), this.state.draw);
  }

  /** The rung of what it simulates; null for what is the same at every rung, or shows by itself what is off. */
  get simulatedRung() {
    return null;
  }

  /** Below it: the effects of its run that are off. */
  #sayWhatIsOff() {
    const off = this.simulatedRung === null ? [] : this.run.effects.slice(this.simulatedRung).map((effect) => effectName(effect.name));
    const note = this.querySelector(":scope > figure > .is-switched-off");
    if (!note && !off.length) return;
    const place = note ?? Object.assign(document.createElement("p"), { className: "note is-switched-off" });
    if (!note) this.querySelector(":scope > figure").append(place);
    place.textContent = off.length ? text("switchedOff", off.join(", ")) : "";
  }

  heading(title, note = "") {
    return title || note ? `<h3>${escaped(title)} <small>${note}</small></h3>` : "";
  }

  colour(name) {
    if (!colours.has(name)) colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
    return colours.get(name);
  }

  /** The look of waiting: grey lines on paper, which differ from any operation in print without colours, too. */
  hatch(pen) {
    const key = `${this.colour("wait")} ${this.colour("paper")}`;
    if (hatched?.key !== key) {
      const pattern = pen.createPattern(hatchTile(this.colour("wait"), this.colour("paper")), "repeat");
      pattern.setTransform(new DOMMatrix().scale(1 / 2));
      hatched = { key, pattern };
    }
    return hatched.pattern;
  }

  build() {}
  draw() {}
}

/** Where a pointer is in an element, in the pixels of that element: slides are larger than they are laid out. */
export function pointerIn(element, event) {
  const box = element.getBoundingClientRect(), scale = box.width / (element.clientWidth || box.width);
  return [(event.clientX - box.left) / scale, (event.clientY - box.top) / scale];
}

/** The height of the window in the pixels of an element. */
export const heightFor = (element) => innerHeight / (element.currentCSSZoom ?? 1);

/** A canvas as wide as its element, in device pixels. */
export function sized(canvas, width, height) {
  const ratio = Math.min((devicePixelRatio || 1) * (canvas.currentCSSZoom ?? 1), 3);
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}
