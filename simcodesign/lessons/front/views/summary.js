// The end of a lesson: each question, whether it is answered and right, and the sum of points; and where answers are kept.
import { Figure } from "../figure.js";
import { forget, keepsAnswers } from "../keep.js";
import { escaped, local } from "../numbers.js";
import { scoreOf } from "../score.js";
import { text } from "../texts.js";

const short = (value) => local(String(+value.toPrecision(4)));

export class Summary extends Figure {
  static uses = ["answers", "predicted"];
  predicted = new Map(); // step number: factor

  build() {
    const { lesson } = this, { asked } = scoreOf(lesson, {});
    if (!asked && !lesson.asksPrediction) return;
    this.innerHTML = `<section class="summary" aria-labelledby="summary-head"><h2 id="summary-head">${text("summary")}</h2>
      <p class="total" role="status"></p><div class="scroll"><table><tbody></tbody></table></div><p class="note"></p></section>`;
  }

  draw() {
    if (!this.firstChild) return;
    const { lesson } = this, score = scoreOf(lesson, this.state.answers);
    const parts = [text("summaryAnswered", score.answered, score.asked)];
    if (!lesson.exam) parts.unshift(`<b>${text("summaryScore", short(score.points), short(score.possible))}</b>`);
    this.querySelector(".total").innerHTML = score.asked ? parts.join(", ") : "";
    this.querySelector("tbody").innerHTML = this.predictions() + score.rows.map((row, number) => this.row(row, number)).join("");
    this.note();
  }

  row({ question, place, answer, points }, number) {
    const { exam } = this.lesson, isFull = points === question.points;
    const state = !answer ? "Open" : exam ? "Kept" : isFull ? "Right" : points ? "Half" : "Wrong";
    const tries = answer?.tries.length > 1 ? ` (${text("summaryTries", answer.tries.length)})` : "";
    const worth = exam ? short(question.points) : `${short(points)} / ${short(question.points)}`;
    return `<tr class="is-${state.toLowerCase()}"><th scope="row">${text("summaryQuestion", number + 1)}</th>
      <td>${this.link(place)}</td><td>${text(`summary${state}`)}${tries}</td><td>${worth}</td></tr>`;
  }

  /** By what factor each prediction was off when it was compared; sliders may have moved since. */
  predictions() {
    for (const one of document.querySelectorAll("lesson-curve")) {
      const missed = one.options?.predict ? one.missed() : null;
      if (missed) this.predicted.set(Number(one.dataset.step), missed.you);
    }
    return [...this.predicted].map(([place, off]) => `<tr><th scope="row">${text("summaryPrediction")}</th>
      <td>${this.link(place)}</td><td>${text("offBy", local(off.toFixed(2)))}</td><td></td></tr>`).join("");
  }

  link(place) {
    return `<a href="#step-${place + 1}">${text("summaryStep", place + 1, escaped(this.lesson.steps[place].name))}</a>`;
  }

  note() {
    const note = this.querySelector(".note"), { exam, platform } = this.lesson, where = platform ? "keptPlatform" : keepsAnswers() ? "keptHere" : "keptNowhere";
    note.textContent = exam ? "" : `${text("summaryNote")} ${text(where)} `;
    if (exam || where !== "keptHere") return;
    const button = Object.assign(document.createElement("button"), { type: "button", className: "again", textContent: text("forget") });
    button.addEventListener("click", () => confirm(text("forgetSure")) && forget());
    note.append(button);
  }
}
