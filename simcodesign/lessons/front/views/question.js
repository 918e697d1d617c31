// Questions with feedback: numbers with a tolerance and known mistakes, and choices. In an exam answers are kept only.
import { Figure } from "../figure.js";
import { escaped, inFull } from "../numbers.js";
import { isNear } from "../score.js";
import { text } from "../texts.js";
import { readings, writesThousands } from "../typed.js";
import { openedHints, singleHint } from "./hints.js";

const short = (value) => String(+value.toPrecision(4));

export class Question extends Figure {
  static uses = [];
  // For tests, which cannot import a module of a page.
  readingsIn = readings;
  writesThousands = writesThousands;

  build() {
    this.question = this.lesson.steps[this.dataset.step].questions[this.dataset.question];
    const { question } = this, id = `q-${this.dataset.step}-${this.dataset.question}`;
    this.innerHTML = `<form class="question" id="${id}"><div class="asked" id="${id}-text">${question.html}</div>
      ${this.body(id)}${this.worth()}<p class="feedback" aria-live="polite"></p>${singleHint(question)}<div class="hints" aria-live="polite"></div></form>`;
    this.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    for (const one of this.querySelectorAll("[data-choice]")) one.addEventListener("click", () => this.choose(Number(one.dataset.choice)));
    this.querySelector("input")?.addEventListener("input", (event) => this.draft(event.target.value));
    this.recall();
    this.store.subscribe((changed) => changed.has("imported") && this.recall());
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
    const { id } = this.question.choices[number];
    this.keep(id, this.respond(id));
  }

  /** Show what the page replies to a value, and whether it is right; undefined in an exam. */
  respond(value, note = "") {
    return this.question.choices ? this.respondToChoice(value) : this.respondToNumber(value, note);
  }

  respondToChoice(id) {
    const { choices } = this.question, choice = choices.find((one) => one.id === id);
    this.querySelectorAll("[data-choice]").forEach((one, k) => one.setAttribute("aria-pressed", String(choices[k] === choice)));
    if (this.lesson.exam) return this.showKept();
    this.feedback(choice.right, choice.feedback);
    return choice.right;
  }

  /** What is typed or drawn, but not an answer yet. */
  draft(value) {
    this.store.set({ drafts: { ...this.state.drafts, [this.question.name]: value } });
  }

  /** Show what was answered before: when the page opens, and after answers were imported. */
  recall() {
    const { name } = this.question, answer = this.state.answers[name], draft = this.state.drafts[name];
    if (answer === undefined && draft === undefined) return;
    this.putBack(draft ?? answer.typed ?? answer.value);
    // A text that can be read in two ways has no reply yet.
    if (draft === undefined && (this.question.choices || typeof answer.value !== "string")) this.respond(answer.value);
    this.showHints();
  }

  /** Put a typed text or a number into the field. */
  putBack(value) {
    const field = this.querySelector("input");
    if (field) field.value = typeof value === "number" ? inFull(value, false) : String(value);
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
    const right = this.lesson.exam ? undefined : found.find((value) => isNear(value, this.question));
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

  /** Right within the tolerance; else the nearest of the known mistakes, or whether it is too small or too large. */
  settle(value, typed, found) {
    const note = found.length > 1 && value === found[0] ? ` ${text("thousands")}` : "";
    this.keep(value, this.respond(value, note), typed);
  }

  respondToNumber(value, note) {
    const shown = this.withUnit(inFull(value));
    if (this.lesson.exam) return this.showKept(text("keptAs", shown, note));
    const { answer, tolerance, right, wrong, mistakes } = this.question, isRight = isNear(value, this.question);
    const mistake = mistakes.find((one) => Math.abs(value - one.answer) <= Math.max(tolerance, 0.02) * Math.abs(one.answer));
    const html = isRight ? right : mistake ? mistake.html : `${text(value < answer ? "low" : "high")} ${wrong}`;
    this.feedback(isRight, `<span class="faint">${text("understood", shown)}${note}</span> ${html}`);
    return isRight;
  }

  feedback(isRight, html) {
    const shown = this.querySelector(".feedback");
    shown.className = `feedback ${isRight ? "is-right" : "is-wrong"}`;
    shown.innerHTML = `<b>${isRight ? "✓ " + text("right") : this.lesson.exam ? "" : text("notYet")}</b> ${html}`;
  }

  showKept(words = text("kept")) {
    const shown = this.querySelector(".feedback");
    shown.className = "feedback is-kept";
    shown.innerHTML = words;
  }

  showHints() {
    this.querySelector(".hints").innerHTML = openedHints(this.question, this.state.answers[this.question.name], this.lesson);
  }

  /** The last answer counts; earlier ones, what was typed and when are kept beside it. */
  keep(value, isRight, typed) {
    const { answers } = this.store.state, earlier = answers[this.question.name], last = typed === undefined ? { value } : { value, typed };
    const one = { ...last, tries: [...(earlier?.tries ?? []), { ...last, at: new Date().toISOString() }] };
    if (isRight !== undefined) one.right = isRight || Boolean(earlier?.right);
    const { [this.question.name]: _, ...drafts } = this.state.drafts;
    this.store.set({ answers: { ...answers, [this.question.name]: one }, drafts });
    this.showHints();
  }
}
