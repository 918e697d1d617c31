// Sliders with stops, as range inputs.
import { Figure } from "../figure.js";
import { escaped } from "../numbers.js";

export class Sliders extends Figure {
  static uses = ["stops", "predicted"];

  build() {
    this.names = this.options.show ?? Object.keys(this.lesson.sliders);
    this.innerHTML = `<div class="sliders">${this.names.map((name) => {
      const one = this.lesson.slider(name);
      return `<label><span>${escaped(one.about)}</span><output></output>
        <input type="range" min="0" max="${one.stops.length - 1}" step="1" data-slider="${escaped(name)}"></label>`;
    }).join("")}</div>`;
    for (const input of this.querySelectorAll("input"))
      input.addEventListener("input", () => this.store.setStop(input.dataset.slider, Number(input.value)));
    this.draw(); // also before it is seen: what is locked is locked from the beginning
  }

  draw() {
    for (const input of this.querySelectorAll("input")) {
      const number = this.state.stops[input.dataset.slider];
      const { text } = this.lesson.slider(input.dataset.slider).stops[number];
      input.value = number;
      // While a prediction is asked for, the setting that it is about stays.
      input.disabled = this.lesson.asksPrediction && !this.state.predicted;
      input.setAttribute("aria-valuetext", text);
      input.previousElementSibling.textContent = text;
    }
  }
}
