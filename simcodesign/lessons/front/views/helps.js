// What helps most: by how much the time falls when one thing of the machine is 10 % better, in formula and simulation.
import { Figure } from "../figure.js";
import { escaped, local } from "../numbers.js";
import { term } from "../terms.js";
import { text } from "../texts.js";

const percent = (share) => (Math.abs(share) < 5e-4 ? "0\u00a0%" : `${share > 0 ? "+" : "−"}${local((100 * Math.abs(share)).toFixed(1))}\u00a0%`);

export class Helps extends Figure {
  static uses = ["stops"];

  build() {
    this.run = this.runs[0];
    this.innerHTML = `<figure>${this.heading(this.options.title)}<p class="note about"></p><table class="helps"></table><p class="note rest"></p></figure>`;
  }

  draw() {
    if (!this.run.helps?.length) return;
    const one = this.nearest();
    if (one === this.drawn) return;
    this.drawn = one;
    const better = (100 * one.improvement).toFixed(0);
    this.querySelector(".about").textContent = `${text("helpsNote", better)}; ${text("shown", this.lesson.words(this.run, one.at))}`;
    const rows = [...one.rows, ...one.algorithms];
    const most = Math.max(...rows.flatMap((row) => [Math.abs(row.forecast), Math.abs(row.simulated)]), 1e-9);
    const bar = (role, share) => `<td class="${role}"><span><i style="width:${(100 * Math.abs(share)) / most}%" class="${share > 0 ? "worse" : ""}"></i></span><b>${percent(share)}</b></td>`;
    const line = (row) => `<tr><th scope="row">${escaped(term(row.words))}</th>${bar("formula", row.forecast)}${bar("simulation", row.simulated)}</tr>`;
    const heads = [text("better", better), text("forecast"), text("simulation")].map((head) => `<th scope="col">${head}</th>`).join("");
    const others = [...new Set(one.algorithms.map((row) => row.instead_of))].map((before) =>
      `<tr><th scope="colgroup" colspan="3" class="part">${escaped(text("instead", term(before)))}</th></tr>${one.algorithms.filter((row) => row.instead_of === before).map(line).join("")}`).join("");
    this.querySelector("table").innerHTML = `<thead><tr>${heads}</tr></thead><tbody>${one.rows.map(line).join("")}${others}</tbody>`;
    this.querySelector(".rest").textContent = [...one.bottleneck.map(term), one.little ? text("changeLittle", one.little) : ""].filter(Boolean).join(" ");
  }

  /** What was tried at the stops that are nearest to those of the page, by ratio. */
  nearest() {
    const value = (name, stop) => Math.log(this.lesson.slider(name).stops[stop].value || 1e-30);
    const off = (one) => this.run.sliders.reduce((sum, name) => sum + Math.abs(value(name, one.at[name]) - value(name, this.state.stops[name])), 0);
    return this.run.helps.reduce((best, one) => (off(one) < off(best) ? one : best));
  }
}
