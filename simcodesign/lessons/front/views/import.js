// Reads a file of answers that the page has exported, and shows them as given here.
import { answersIn, pencilsOf, questionsOf } from "../answers.js";
import { Figure } from "../figure.js";
import { text } from "../texts.js";

const MOST_BYTES = 1e6;

export class Import extends Figure {
  static uses = [];

  build() {
    if (!questionsOf(this.lesson).length && !this.lesson.asksPrediction) return;
    this.innerHTML = `<button type="button" class="ghost">${text("import")}</button><input type="file" accept=".json,application/json" hidden aria-label="${text("import")}"><p class="note" role="status"></p>`;
    const field = this.querySelector("input");
    this.querySelector("button").addEventListener("click", () => field.click());
    field.addEventListener("change", async () => {
      const [file] = field.files;
      if (!file) return;
      this.querySelector("p").textContent = this.take(file.size > MOST_BYTES ? null : parsed(await file.text()));
      field.value = ""; // so that the same file can be chosen again
    });
  }

  /** Put the answers into the state; the sentence to show. */
  take(file) {
    const problem = this.problem(file);
    if (problem) return problem;
    const answers = answersIn(file.answers, this.lesson), pencils = pencilsOf(file.predictions, this.lesson), { state } = this;
    this.store.set({
      answers: { ...state.answers, ...answers }, drafts: {}, code: state.code || file.code, imported: (state.imported ?? 0) + 1,
      ...(Object.keys(pencils).length ? { pencils: { ...state.pencils, ...pencils }, predictions: { ...state.predictions, ...file.predictions }, predicted: true } : {}),
    });
    return text("importDone", Object.keys(answers).length);
  }

  /** Why a file cannot be used here, or "". */
  problem(file) {
    const { lesson } = this, { code } = this.state;
    if (!file || typeof file !== "object" || file.simcodesign !== 1 || typeof file.answers !== "object" || typeof file.code !== "string") return text("importNoFile");
    if (file.lesson !== lesson.name) return text("importOtherLesson", String(file.lesson));
    if (file.content !== lesson.content) return text("importOtherVersion");
    if (lesson.parameters && file.code !== code) return text("importOtherCode", file.code, code);
    return lesson.exam && !file.exam ? text("importPractice") : "";
  }
}

function parsed(content) {
  try {
    return JSON.parse(content);
  } catch {
    return null;
  }
}
