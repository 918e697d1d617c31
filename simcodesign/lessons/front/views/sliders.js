// Sliders with stops, as range inputs. Stops stand by their values, as on the axis of a chart.
import { scaleLinear, scaleLog } from "d3-scale";
import { Figure } from "../figure.js";
import { escaped } from "../numbers.js";
import { text } from "../texts.js";

/** Of a range input: the number of its last place. */
const LAST = 1000;
const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 2, PageDown: -2, Home: -Infinity, End: Infinity };

/** The places of stops, 0 to LAST; those that have names instead of values are equally far apart. */
export function placesOf(stops) {
  const values = stops.map((stop) => stop.value), [first, last] = [values[0], values.at(-1)];
  if (stops.length < 2 || stops.every((stop) => /^\p{L}/u.test(stop.text))) return values.map((_, k) => (k * LAST) / Math.max(stops.length - 1, 1));
  return values.map((first > 0 && last / first > 20 ? scaleLog() : scaleLinear()).domain([first, last]).range([0, LAST]));
}

export class Sliders extends Figure {
  static uses = ["stops", "predicted"];

  build() {
    this.names = this.options.show ?? Object.keys(this.lesson.sliders);
    this.places = new Map(this.names.map((name) => [name, placesOf(this.lesson.slider(name).stops)]));
    this.innerHTML = `<div class="sliders">${this.names.map((name) => {
      const marks = this.places.get(name).map((place) => `<i style="--place:${(place / LAST).toFixed(4)}"></i>`).join("");
      return `<label><span>${escaped(this.lesson.slider(name).about)}</span><output></output>
        <input type="range" min="0" max="${LAST}" step="1" data-slider="${escaped(name)}"><span class="marks" aria-hidden="true">${marks}</span></label>`;
    }).join("")}</div><p class="note" hidden>${text("slidersStay")}</p>`;
    for (const input of this.querySelectorAll("input")) this.listen(input, input.dataset.slider);
    this.draw(); // also before it is seen: what is locked is locked from the beginning
  }

  /** A pointer takes the stop that is nearest; keys, and whatever else moves the slider a little, go to the next one. */
  listen(input, name) {
    const places = this.places.get(name), last = places.length - 1;
    let isHeld = false;
    const go = (number) => {
      this.store.setStop(name, Math.min(Math.max(number, 0), last));
      this.put(input);
    };
    input.addEventListener("pointerdown", () => (isHeld = true));
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => (isHeld = false));
    input.addEventListener("keydown", (event) => {
      if (!(event.key in STEPS)) return;
      event.preventDefault();
      go(this.state.stops[name] + STEPS[event.key]);
    });
    input.addEventListener("input", () => {
      const value = Number(input.value), now = this.state.stops[name];
      const nearest = places.reduce((best, place, k) => (Math.abs(place - value) < Math.abs(places[best] - value) ? k : best), 0);
      go(isHeld || nearest !== now ? nearest : now + Math.sign(value - Math.round(places[now])));
    });
  }

  draw() {
    // While a prediction is asked for, the setting that it is about stays.
    const stay = this.lesson.asksPrediction && !this.state.predicted;
    this.querySelector(".note").hidden = !stay;
    for (const input of this.querySelectorAll("input")) {
      this.put(input);
      input.disabled = stay;
    }
  }

  put(input) {
    const { slider } = input.dataset, number = this.state.stops[slider], shown = this.lesson.slider(slider).stops[number].text;
    input.value = this.places.get(slider)[number];
    input.setAttribute("aria-valuetext", shown);
    input.previousElementSibling.textContent = shown;
  }
}
