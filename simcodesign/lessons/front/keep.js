// Keeps answers, drawings, opened steps and sliders in the browser's storage, so that they survive a reload; not in an
// exam. Warns before the page is left with answers that are neither kept nor exported.
import { answersIn, pencilsIn, questionsOf, stopsIn } from "./answers.js";
import { checkedCode, sha256 } from "./code.js";
import { isEmbedded } from "./links.js";

const KEPT = ["answers", "drafts", "predictions", "pencils", "predicted", "opened", "allOpen", "openSteps", "stops", "rungs", "code", "started"];
/** Milliseconds from a change to writing it, so that a stroke is written once. */
const WAIT_MS = 250;

/** The answers that storage has, and whether storage works. */
const kept = { answers: null, works: false, isForgotten: false };
let key = null, timer = null;

export const keepsAnswers = () => kept.works;

/** What the storage has of this lesson and code, as far as it fits the page: a part of the state. */
export function recalled(lesson, code) {
  if (lesson.exam || !(lesson.asksPrediction || questionsOf(lesson).length)) return {};
  // Pages with a teacher's changes have other steps.
  const changes = lesson.changes ? sha256(JSON.stringify(lesson.changes))[0].toString(16) : "";
  // Steps are open in a page inside another one, which is not to open them elsewhere.
  const place = isEmbedded(location.hash) ? ["embedded"] : [];
  key = ["simcodesign", ...place, lesson.name, lesson.content, lesson.language, changes, code].join("/");
  try {
    // A browser may refuse the storage, or refuse to write: both show here.
    localStorage.setItem("simcodesign", "");
    kept.works = true;
    return stateIn(JSON.parse(localStorage.getItem(key)), lesson, code);
  } catch {
    return {};
  }
}

function stateIn(found, lesson, code) {
  if (found === null || typeof found !== "object") return {};
  const state = { answers: answersIn(found.answers, lesson), pencils: pencilsIn(found.pencils, lesson) };
  for (const name of ["predicted", "opened", "allOpen"]) if (typeof found[name] === "boolean") state[name] = found[name];
  for (const name of ["drafts", "predictions"]) if (found[name] && typeof found[name] === "object") state[name] = found[name];
  if (Array.isArray(found.openSteps)) state.openSteps = found.openSteps;
  if (Array.isArray(found.rungs) && found.rungs.length === lesson.steps.length && found.rungs.every((one) => Number.isInteger(one) && one >= 0)) state.rungs = found.rungs;
  if (typeof found.code === "string") state.code = code || (checkedCode(found.code) ?? "");
  if (typeof found.started === "string") state.started = found.started;
  return { ...state, keptStops: stopsIn(found.stops, lesson) };
}

/** Write changes of the state into the storage, and warn before leaving. */
export function keep(lesson, store) {
  store.subscribe((changed) => {
    if (key === null || !KEPT.some((name) => changed.has(name))) return;
    clearTimeout(timer);
    timer = setTimeout(() => write(store), WAIT_MS);
  });
  kept.answers = store.state.answers;
  addEventListener("pagehide", () => timer !== null && write(store));
  addEventListener("beforeunload", (event) => {
    const { answers, exported } = store.state;
    if (timer !== null) write(store);
    const isSaved = answers === exported || (kept.works && answers === kept.answers);
    if (!kept.isForgotten && !isSaved && Object.keys(answers).length) event.preventDefault();
  });
}

function write(store) {
  timer = null;
  if (kept.isForgotten || key === null) return;
  try {
    localStorage.setItem(key, JSON.stringify(Object.fromEntries(KEPT.map((name) => [name, store.state[name]]))));
    kept.answers = store.state.answers;
  } catch {
    kept.works = false; // full, or refused since
  }
}

/** Delete what is kept of this page, and begin again. */
export function forget() {
  kept.isForgotten = true;
  try {
    localStorage.removeItem(key);
  } finally {
    location.reload();
  }
}
