// Where the formula can be trusted: over two sliders, by how much it misses the simulation at every point that is simulated.
import { Figure } from "../figure.js";
import { duration, escaped, local } from "../numbers.js";
import { text } from "../texts.js";

export class Trust extends Figure {
  static uses = ["stops", "rungs"];

  build() {
    this.run = this.runs[0];
    [this.across, this.down] = this.options.over;
    this.within = this.options.within ?? 0.1;
    const keys = ["trusted", "tooLow", "tooHigh"].map((name) => `<span class="key ${name}">${text(name, (100 * this.within).toFixed(0))}</span>`).join("");
    this.innerHTML = `<figure>${this.heading(this.options.title)}<p class="note keys">${keys}</p><div class="scroll" tabindex="0" role="region" aria-label="${escaped(this.options.title || text("trust"))}"><table class="trust"></table></div><p class="note"></p></figure>`;
    this.querySelector("table").addEventListener("click", (event) => {
      const { across, down } = event.target.closest("button")?.dataset ?? {};
      if (across === undefined) return;
      this.store.set({ stops: { ...this.state.stops, [this.across]: Number(across), [this.down]: Number(down) } });
    });
  }

  get simulatedRung() {
    return this.rungOf(this.run);
  }

  draw() {
    const { lesson, run, across, down } = this;
    const [columns, rows] = [run.simulated[across], run.simulated[down].toReversed()];
    const stop = (name, number) => lesson.slider(name).stops[number];
    const head = (name, number) => escaped(stop(name, number).text);
    let trusted = 0;
    const cells = (row) => columns.map((column) => {
      const stops = { ...this.state.stops, [across]: column, [down]: row };
      const { mean, at } = lesson.simulated(run, stops, this.rungOf(run));
      const forecast = lesson.forecast(run, at), error = forecast / mean - 1;
      const isTrusted = Math.abs(error) <= this.within;
      trusted += isTrusted;
      const role = isTrusted ? "trusted" : error < 0 ? "tooLow" : "tooHigh";
      const strength = isTrusted ? 1 : Math.min(1, 0.25 + Math.abs(Math.log(forecast / mean)) / 0.8);
      const isChosen = this.state.stops[across] === column && this.state.stops[down] === row;
      const words = `${stop(across, column).text}, ${stop(down, row).text}: ${text("formula")} ${duration(forecast)}, ${text("simulation")} ${duration(mean)}`;
      return `<td><button type="button" class="${role}" style="--strength:${strength.toFixed(2)}" aria-pressed="${isChosen}" data-across="${column}" data-down="${row}" title="${escaped(words)}" aria-label="${escaped(`${words}, ${this.percent(error)}`)}">${this.percent(error)}</button></td>`;
    }).join("");
    const body = rows.map((row) => `<tr><th scope="row">${head(down, row)}</th>${cells(row)}</tr>`).join("");
    const focused = document.activeElement?.closest?.("lesson-trust") === this ? { ...document.activeElement.dataset } : null;
    this.querySelector("table").innerHTML = `<tbody>${body}</tbody><tfoot><tr><td></td>${columns.map((column) => `<th scope="col">${head(across, column)}</th>`).join("")}</tr></tfoot>`;
    if (focused?.across !== undefined) this.querySelector(`[data-across="${focused.across}"][data-down="${focused.down}"]`)?.focus();
    const axes = text("axes", escaped(lesson.slider(across).about), escaped(lesson.slider(down).about));
    this.querySelector("figure > .note:last-child").innerHTML = `${axes}. ${text("trustCount", trusted, rows.length * columns.length)}`;
  }

  percent(error) {
    const rounded = Math.abs(100 * error).toFixed(Math.abs(100 * error) < 9.95 ? 1 : 0);
    return `${Number(rounded) === 0 ? "" : error < 0 ? "−" : "+"}${local(rounded)}\u00a0%`;
  }
}
