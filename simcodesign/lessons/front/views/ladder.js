// From the formula to the simulation, effect by effect; a click on a row shows the run with the effects up to there.
import { Figure } from "../figure.js";
import { duration, escaped } from "../numbers.js";
import { effectName, text } from "../texts.js";

export class Ladder extends Figure {
  static uses = ["stops", "rungs"];

  build() {
    this.run = this.runs[0];
    this.innerHTML = `<figure>${this.heading(this.options.title, text(this.lesson.isForecast ? "labLadderNote" : "ladderNote"))}<div class="ladder" role="group"></div><p class="note"></p></figure>`;
    this.querySelector(".ladder").setAttribute("aria-label", this.options.title || text("mode"));
    this.rows = ["formula", "waiting", ...this.run.effects.map((effect) => effect.name), "simulation"].map((name, place) => this.row(name, place));
    this.querySelector(".ladder").append(...this.rows);
  }

  row(name, place) {
    const isRung = name !== "formula" && name !== "simulation";
    const one = document.createElement(isRung ? "button" : "div");
    one.className = `rung ${isRung ? "effect" : name}`;
    const title = name === "waiting" ? text("waiting_rung") : isRung ? effectName(name) : text(name === "formula" && this.lesson.isForecast ? "forecast" : name);
    one.innerHTML = `<span class="name">${escaped(title)}${isRung ? ` <small>${text("off")}</small>` : ""}</span><span class="track"><i></i></span><b></b>`;
    if (!isRung) return one;
    one.type = "button";
    if (place === 1) one.title = text("waiting_adds");
    if (place > 1 && document.documentElement.lang === "en") one.title = this.run.effects[place - 2].adds;
    one.addEventListener("click", () => this.store.set({ rungs: this.state.rungs.with(this.dataset.step, place - 1) }));
    return one;
  }

  draw() {
    const { stops } = this.state, { run } = this;
    const on = this.rungOf(run);
    const steps = run.effects.map((_, k) => this.lesson.simulated(run, stops, k + 1).mean);
    const first = this.lesson.simulated(run, stops, 0);
    // Both readings of one point: between the stops that are simulated, the ladder is that of the nearest.
    const forecast = this.lesson.forecast(run, first.at);
    const levels = [forecast, first.mean, ...steps];
    const most = Math.max(...levels);
    const place = (row, from, to, label) => {
      const bar = row.querySelector("i");
      bar.style.left = `${(100 * Math.min(from, to)) / most}%`;
      bar.style.width = `${(100 * Math.abs(to - from)) / most}%`;
      bar.classList.toggle("less", to < from);
      row.querySelector("b").textContent = label;
    };
    place(this.rows[0], 0, forecast, duration(forecast));
    for (let k = 0; k <= run.effects.length; k++) {
      const row = this.rows[k + 1], change = levels[k + 1] - levels[k];
      const small = Math.abs(change) < 1e-6 * most;
      place(row, levels[k], levels[k + 1], small ? "0" : `${change > 0 ? "+" : "−"}${duration(Math.abs(change))}`);
      row.classList.toggle("is-off", k > on);
      row.setAttribute("aria-pressed", String(k === on));
    }
    place(this.rows.at(-1), 0, levels[on + 1], duration(levels[on + 1]));
    const words = this.lesson.words(run, first.at), mean = this.lesson.simulated(run, stops, on);
    const parts = [first.exact ? words : text("hollow", words), mean.high > mean.low ? text("meanOf", run.seeds) : ""];
    this.querySelector(".note").textContent = parts.filter(Boolean).join("; ");
  }
}
