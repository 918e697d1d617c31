// Answers from outside the page: from a file, the browser's storage or a learning platform. Nothing in them is trusted.

const isMapping = (one) => typeof one === "object" && one !== null && !Array.isArray(one);
const isTime = (one) => Number.isFinite(one) && one >= 0;

/** All questions of a lesson, each with the number of its step. */
export const questionsOf = (lesson) => lesson.steps.flatMap((step, place) => step.questions.map((question) => ({ question, place })));

/** The answers in `found` that belong to questions of the lesson and have a value of the right kind. */
export function answersIn(found, lesson) {
  const answers = {};
  for (const { question } of questionsOf(lesson)) {
    const one = isMapping(found) && Object.hasOwn(found, question.name) ? found[question.name] : null;
    if (!isMapping(one) || !isAnswer(one.value, question, lesson)) continue;
    const tries = (Array.isArray(one.tries) ? one.tries : []).filter((each) => isMapping(each) && isAnswer(each.value, question, lesson));
    const typed = typeof one.typed === "string" ? { typed: one.typed } : {};
    const right = lesson.exam || typeof one.right !== "boolean" ? {} : { right: one.right };
    answers[question.name] = { value: one.value, ...typed, tries, ...right };
  }
  return answers;
}

function isAnswer(value, question, lesson) {
  if (question.choices) return question.choices.some((choice) => choice.id === value);
  if (question.open) return isMapping(value) && question.open.every((stop) => isTime(value[stop]) && value[stop] > 0);
  return Number.isFinite(value) || (lesson.exam && typeof value === "string"); // a text that can be read in two ways
}

/** The stops in `found` that exist, by slider. */
export function stopsIn(found, lesson) {
  const known = Object.entries(isMapping(found) ? found : {});
  return Object.fromEntries(known.filter(([name, stop]) => Object.hasOwn(lesson.sliders, name) && Number.isInteger(stop) && lesson.sliders[name].stops[stop]));
}

/** Drawn predictions by the number of their step: where sliders stood, and pairs of stop and seconds. */
export function pencilsIn(found, lesson) {
  const pencils = {};
  for (const [place, one] of Object.entries(isMapping(found) ? found : {})) {
    const view = predictionOf(lesson, place);
    if (!view || !isMapping(one) || !Array.isArray(one.points)) continue;
    const { stops } = lesson.sliders[view.over];
    pencils[place] = { at: stopsIn(one.at, lesson), points: one.points.filter((pair) => Array.isArray(pair) && stops[pair[0]] && isTime(pair[1])) };
  }
  return pencils;
}

/** Predictions of a file, which names stops by their texts, as `pencilsIn` returns them. */
export function pencilsOf(predictions, lesson) {
  const pencils = {}, at = Object.fromEntries(Object.entries(lesson.sliders).map(([name, slider]) => [name, slider.start]));
  for (const [place, drawn] of Object.entries(isMapping(predictions) ? predictions : {})) {
    const view = predictionOf(lesson, place);
    if (!view || !isMapping(drawn)) continue;
    const { stops } = lesson.sliders[view.over];
    const points = stops.flatMap((stop, number) => (Object.hasOwn(drawn, stop.text) && isTime(drawn[stop.text]) ? [[number, drawn[stop.text]]] : []));
    if (points.length) pencils[place] = { at, points };
  }
  return pencils;
}

const predictionOf = (lesson, place) => lesson.steps[place]?.views.find((view) => view.predict);
