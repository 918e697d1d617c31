// Questions with feedback: numbers with a tolerance and known mistakes, and choices. In an exam answers are kept only.
import { Figure } from "../figure.js";
import { escaped } from "../numbers.js";
import { text } from "../texts.js";

const short = (value) => String(+value.toPrecision(4));

export class Question extends Figure {
  static uses = [];

  build() {
    this.question = this.lesson.steps[this.dataset.step].questions[this.dataset.question];
    const { question } = this, id = `q-${this.dataset.step}-${this.dataset.question}`;
    const hint = question.hint ? `<details><summary>${text("hint")}</summary><p>${question.hint}</p></details>` : "";
    this.innerHTML = `<form class="question" id="${id}"><div class="asked" id="${id}-text">${question.html}</div>
      ${this.body(id)}${this.worth()}<p class="feedback" aria-live="polite"></p>${hint}</form>`;
    this.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    for (const one of this.querySelectorAll("[data-choice]")) one.addEventListener("click", () => this.choose(Number(one.dataset.choice)));
  }

  /** What is answered with. */
  body(id) {
    return this.question.choices ? this.choices(id) : this.field(id);
  }

  /** In an exam: points, and how exact an answer must be. */
  worth() {
    const { points, tolerance } = this.question;
    if (!this.lesson.exam) return "";
    const within = tolerance > 0 ? `; ${text("within", short(100 * tolerance))}` : "";
    return `<p class="note">${text("points", short(points))}${within}</p>`;
  }

  choices(id) {
    const chips = this.question.choices.map((choice, k) => `<button type="button" class="chip" aria-pressed="false" data-choice="${k}">${choice.html}</button>`);
    return `<div class="chips" role="group" aria-labelledby="${id}-text">${chips.join("")}</div>`;
  }

  field(id) {
    const unit = this.question.unit ? `<span class="unit">${escaped(this.question.unit)}</span>` : "";
    return `<div class="field"><input type="text" inputmode="decimal" autocomplete="off" aria-label="${text("answer")}${this.question.unit ? `, ${escaped(this.question.unit)}` : ""}" aria-describedby="${id}-text">${unit}<button type="submit" class="primary">${text(this.lesson.exam ? "keep" : "check")}</button></div>`;
  }

  choose(number) {
    const choice = this.question.choices[number];
    this.querySelectorAll("[data-choice]").forEach((one, k) => one.setAttribute("aria-pressed", String(k === number)));
    if (this.lesson.exam) return this.keepSilently(choice.id);
    this.feedback(choice.right, choice.feedback);
    this.keep(choice.id, choice.right);
  }

  submit() {
    if (!this.question.choices) this.judge(this.querySelector("input").value);
  }

  /** What was typed without the unit of the answer, which stands beside the field. */
  withoutUnit(typed) {
    const { unit } = this.question, known = [unit, unit.replace("µs", "us")].find((one) => one && typed.endsWith(one));
    return known ? typed.slice(0, -known.length).trim() : typed;
  }

  /** Right within the tolerance; else the nearest of the known mistakes, or whether it is too small or too large. */
  judge(given) {
    const number = this.withoutUnit(given.trim()), value = Number(number.replace(",", "."));
    if (number === "" || !Number.isFinite(value)) return this.feedback(false, text("number"));
    if (this.lesson.exam) return this.keepSilently(value);
    const { answer, tolerance, right, wrong, mistakes } = this.question;
    const near = (other) => Math.abs(value - other) <= Math.max(tolerance, 1e-9) * Math.abs(other) + 1e-12;
    const isRight = near(answer);
    const mistake = mistakes.find((one) => Math.abs(value - one.answer) <= Math.max(tolerance, 0.02) * Math.abs(one.answer));
    this.feedback(isRight, isRight ? right : mistake ? mistake.html : `${text(value < answer ? "low" : "high")} ${wrong}`);
    this.keep(value, isRight);
  }

  feedback(isRight, html) {
    const shown = this.querySelector(".feedback");
    shown.className = `feedback ${isRight ? "is-right" : "is-wrong"}`;
    shown.innerHTML = `<b>${isRight ? "✓ " + text("right") : this.lesson.exam ? "" : text("notYet")}</b> ${html}`;
  }

  keepSilently(value) {
    this.keep(value);
    const shown = this.querySelector(".feedback");
    shown.className = "feedback is-kept";
    shown.textContent = text("kept");
  }

  /** The last answer counts; earlier ones and when each was given are kept beside it. */
  keep(value, isRight) {
    const { answers } = this.store.state, earlier = answers[this.question.name];
    const one = { value, tries: [...(earlier?.tries ?? []), { value, at: new Date().toISOString() }] };
    if (isRight !== undefined) one.right = isRight || Boolean(earlier?.right);
    this.store.set({ answers: { ...answers, [this.question.name]: one } });
  }
}
