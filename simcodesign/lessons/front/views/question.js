// Questions with feedback: numbers with a tolerance and known mistakes, and choices. In an exam answers are kept only.
import { Figure } from "../figure.js";
import { escaped, inFull } from "../numbers.js";
import { text } from "../texts.js";
import { readings, writesThousands } from "../typed.js";

const short = (value) => String(+value.toPrecision(4));

export class Question extends Figure {
  static uses = [];
  // For tests, which cannot import a module of a page.
  readingsIn = readings;
  writesThousands = writesThousands;

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
    return `<div class="field"><input type="text" inputmode="text" autocomplete="off" aria-label="${text("answer")}${this.question.unit ? `, ${escaped(this.question.unit)}` : ""}" aria-describedby="${id}-text">${unit}<button type="submit" class="primary">${text(this.lesson.exam ? "keep" : "check")}</button></div>`;
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

  /** What was typed counts where it can only mean one number; otherwise the student is asked. */
  judge(typed) {
    const found = readings(typed, this.lesson.language, this.question.unit);
    if (!found.length) return this.feedback(false, text("number"));
    const value = this.meant(found);
    if (value !== undefined) return this.settle(value, typed, found);
    if (this.lesson.exam) this.keep(typed); // until there is an answer; whoever grades it sees it
    this.ask(typed, found);
  }

  /** Of two readings: the right one in practice; otherwise that of thousands, if the question itself writes them so. */
  meant(found) {
    if (found.length === 1) return found[0];
    const right = this.lesson.exam ? undefined : found.find((value) => this.isNear(value));
    return right ?? (writesThousands(this.question.html, this.lesson.language) ? found[0] : undefined);
  }

  ask(typed, found) {
    const shown = this.querySelector(".feedback");
    shown.className = "feedback is-asked";
    shown.innerHTML = `${escaped(text("twoWays", typed.trim()))} ${found.map((value, k) => `<button type="button" class="chip" data-reading="${k}">${this.withUnit(inFull(value, false))}</button>`).join(" ")}`;
    for (const one of shown.querySelectorAll("button")) one.addEventListener("click", () => this.settle(found[Number(one.dataset.reading)], typed, found));
  }

  withUnit(digits) {
    return this.question.unit ? `${digits}\u00a0${escaped(this.question.unit)}` : digits;
  }

  isNear(value) {
    const { answer, tolerance } = this.question;
    return Math.abs(value - answer) <= Math.max(tolerance, 1e-9) * Math.abs(answer) + 1e-12;
  }

  /** Right within the tolerance; else the nearest of the known mistakes, or whether it is too small or too large. */
  settle(value, typed, found) {
    const shown = this.withUnit(inFull(value)), note = found.length > 1 && value === found[0] ? ` ${text("thousands")}` : "";
    if (this.lesson.exam) return this.keepSilently(value, text("keptAs", shown, note), typed);
    const { answer, tolerance, right, wrong, mistakes } = this.question, isRight = this.isNear(value);
    const mistake = mistakes.find((one) => Math.abs(value - one.answer) <= Math.max(tolerance, 0.02) * Math.abs(one.answer));
    const html = isRight ? right : mistake ? mistake.html : `${text(value < answer ? "low" : "high")} ${wrong}`;
    this.feedback(isRight, `<span class="faint">${text("understood", shown)}${note}</span> ${html}`);
    this.keep(value, isRight, typed);
  }

  feedback(isRight, html) {
    const shown = this.querySelector(".feedback");
    shown.className = `feedback ${isRight ? "is-right" : "is-wrong"}`;
    shown.innerHTML = `<b>${isRight ? "✓ " + text("right") : this.lesson.exam ? "" : text("notYet")}</b> ${html}`;
  }

  keepSilently(value, words = text("kept"), typed = undefined) {
    this.keep(value, undefined, typed);
    const shown = this.querySelector(".feedback");
    shown.className = "feedback is-kept";
    shown.innerHTML = words;
  }

  /** The last answer counts; earlier ones, what was typed and when are kept beside it. */
  keep(value, isRight, typed) {
    const { answers } = this.store.state, earlier = answers[this.question.name], last = typed === undefined ? { value } : { value, typed };
    const one = { ...last, tries: [...(earlier?.tries ?? []), { ...last, at: new Date().toISOString() }] };
    if (isRight !== undefined) one.right = isRight || Boolean(earlier?.right);
    this.store.set({ answers: { ...answers, [this.question.name]: one } });
  }
}
