// What answers are worth in a practice page, as lessons/grading/marking.py marks them: the last answer counts.
import { questionsOf } from "./answers.js";

/** A curve within this many times its tolerance has half of the points. */
const HALF = 2;
const LEAST = { relative: 1e-9, absolute: 1e-12 };

export const isNear = (value, { answer, tolerance }) => Math.abs(value - answer) <= Math.max(tolerance, LEAST.relative) * Math.abs(answer) + LEAST.absolute;

/** Points for the value of an answer; NaN in an exam, whose page has no truths. */
export function pointsFor(question, value, lesson) {
  if (lesson.exam) return NaN;
  if (question.choices) return question.choices.find((choice) => choice.id === value)?.right ? question.points : 0;
  if (!question.open) return isNear(value, question) ? question.points : 0;
  const miss = missOf(question, value, lesson), tolerance = question.tolerance * (1 + LEAST.relative);
  return miss <= tolerance ? question.points : miss <= HALF * tolerance ? question.points / 2 : 0;
}

/** By what share the drawn curve of a question misses the true one. */
export function missOf({ over, open, truth }, value, lesson) {
  return missedShare(open.map((stop) => lesson.sliders[over].stops[stop].value), open.map((stop) => value[stop]), truth);
}

/** By what share a curve misses another in the geometric mean over the axis (marking.py, missed_share). */
export function missedShare(values, drawn, truth) {
  const x = values.every((value) => value > 0) ? values.map(Math.log) : values;
  const apart = drawn.map((value, k) => Math.log(value) - Math.log(truth[k]));
  let area = 0;
  for (let k = 1; k < x.length; k++) {
    const first = apart[k - 1], second = apart[k], size = Math.abs(first) + Math.abs(second);
    area += (x[k] - x[k - 1]) * (first * second < 0 ? (first * first + second * second) / (2 * size) : size / 2);
  }
  return Math.expm1(area / (x.at(-1) - x[0]));
}

/** A row for each question, and the sums: points, possible points, answered and asked questions. */
export function scoreOf(lesson, answers) {
  const rows = questionsOf(lesson).map(({ question, place }) => {
    const answer = answers[question.name];
    return { question, place, answer, points: answer === undefined ? 0 : pointsFor(question, answer.value, lesson) };
  });
  const sum = (value) => rows.reduce((total, row) => total + value(row), 0);
  return { rows, points: sum((row) => row.points), possible: sum((row) => row.question.points), answered: sum((row) => (row.answer ? 1 : 0)), asked: rows.length };
}
