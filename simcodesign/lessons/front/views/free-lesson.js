// Runs of the lesson on this page, with which the laboratory's panel may begin.
import { provided } from "../figure.js";
import { escaped } from "../numbers.js";
import { text } from "../texts.js";

/** A choice of the runs, or "" on a page without a lesson. `names`: those that can be written as texts. */
export function runChoice(names) {
  const lesson = provided()?.lesson;
  if (!lesson || !names.length) return "";
  const options = names.map((name) => `<option value="${escaped(name)}">${escaped(lesson.runs[name]?.about || name)}</option>`);
  return `<label>${text("labTake")} <select class="lab-runs"><option value="">${text("labChoose")}</option>${options.join("")}</select></label>`;
}

/** The address of a run where the sliders of the lesson are now, below that of the server. */
export function runAddress(page, name) {
  const { lesson, store } = provided(), { stops } = store.state;
  const at = new URLSearchParams(lesson.runs[name].sliders.map((slider) => [slider, stops[slider]]));
  return `lesson/${encodeURIComponent(page)}/start/${encodeURIComponent(name)}?${at}`;
}
