// Staged hints of a practice page: one more after each wrong answer, and the solution after three. An exam has none.
import { escaped, inFull } from "../numbers.js";
import { pointsFor } from "../score.js";
import { text } from "../texts.js";

/** After this many wrong answers the page shows the solution. */
const TRIES = 3;

const isRight = (question, value, lesson) => pointsFor({ ...question, points: 1 }, value, lesson) === 1;

/** How many answers were wrong; the same answer twice in succession counts once. */
export function wrongTries(question, answer, lesson) {
  const tries = (answer?.tries ?? []).map((one) => one.value), same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  return tries.filter((value, k) => !(k && same(value, tries[k - 1])) && !isRight(question, value, lesson)).length;
}

/** A single hint, which can be opened at any time. */
export const singleHint = ({ hints }) => (hints?.length === 1 ? `<details><summary>${text("hint")}</summary><p>${hints[0]}</p></details>` : "");

/** The hints and the solution that earlier wrong answers have opened. */
export function openedHints(question, answer, lesson) {
  if (lesson.exam || answer === undefined) return "";
  const wrong = wrongTries(question, answer, lesson), hints = question.hints.length > 1 ? question.hints : [];
  const shown = hints.slice(0, wrong).map((html, k) => `<p class="hint"><b>${text("hintOf", k + 1, hints.length)}</b> ${html}</p>`);
  const isOpen = wrong >= TRIES && !isRight(question, answer.value, lesson);
  return shown.join("") + (isOpen ? `<p class="hint"><b>${text("solution")}</b> ${solution(question)}</p>` : "");
}

/** The right choice, or the answer to four digits with its unit; of a curve, which the figure shows, only the words. */
function solution({ choices, open, answer, unit, right }) {
  const choice = choices?.find((one) => one.right);
  if (choice) return `${choice.html} – ${choice.feedback}`;
  if (open) return `${text("solutionDrawn")} ${right}`;
  return `${inFull(Number(answer.toPrecision(4)))}${unit ? `\u00a0${escaped(unit)}` : ""}. ${right}`;
}
