// What was measured beside both readings.
import { Figure } from "../figure.js";
import { duration, escaped, local } from "../numbers.js";
import { text } from "../texts.js";

export class Table extends Figure {
  static uses = ["stops", "rungs"];

  get simulatedRung() {
    return this.rungOf(this.run);
  }

  build() {
    this.run = this.runs[0];
    this.innerHTML = `<figure>${this.heading(this.options.title)}<div class="scroll" tabindex="0" role="region" aria-label="${text("measured")}: ${escaped(this.runs[0].about)}"><table></table></div></figure>`;
  }

  draw() {
    const [run] = this.runs, { over } = this.options, slider = this.lesson.slider(over);
    const rows = run.measured.map((one) => {
      const stops = { ...this.state.stops, ...one.at }, stop = slider.stops[one.at[over]];
      const forecast = this.lesson.forecast(run, stops), { mean, exact } = this.lesson.simulated(run, stops, this.rungOf(run));
      const cells = [duration(forecast, 4), exact ? duration(mean, 4) : "–", `<b>${duration(one.value, 4)}</b>`, local((one.value / forecast).toFixed(2)), exact ? local((one.value / mean).toFixed(2)) : "–"];
      return `<tr><th scope="row">${escaped(stop.note || stop.text)} <small>${escaped(stop.note ? `${stop.text} ${slider.about}` : "")}</small></th>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
    });
    const heads = ["formula", "simulation", "measured", "gap", "gapSimulation"].map((name) => `<th scope="col">${text(name)}</th>`).join("");
    this.querySelector("table").innerHTML = `<thead><tr><th scope="col">${escaped(slider.about)}</th>${heads}</tr></thead><tbody>${rows.join("")}</tbody>`;
  }
}
