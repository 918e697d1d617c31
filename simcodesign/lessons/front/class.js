// Predictions of a class as a histogram, from the files of answers that students have saved. Nothing leaves the page.
import { scaleLog } from "d3-scale";
import { duration, escaped } from "./numbers.js";
import { text } from "./texts.js";

const WIDTH = 560, HEIGHT = 250, MARGIN = { top: 30, right: 20, bottom: 34, left: 34 }, BINS = 12;

/** A dialog with a choice of files, of a stop, and the histogram. `lesson`, `store`: of the page; `closed`: what follows. */
export function showClass(lesson, store, closed) {
  const dialog = document.createElement("dialog");
  dialog.className = "teacher class";
  dialog.setAttribute("aria-labelledby", "class-head");
  dialog.innerHTML = `<h2 id="class-head">${text("classHead")}</h2><p>${text("classNote")}</p>
    <div class="actions"><button type="button" class="primary class-files">${text("classFiles")}</button><input type="file" accept=".json,application/json" multiple hidden>
    <label hidden>${text("classAt")} <select></select></label></div><p class="note" role="status"></p><div class="class-chart"></div>
    <div class="actions"><button type="button" class="again">${text("classClose")}</button></div>`;
  const [files, select, note, chart] = ["input", "select", ".note", ".class-chart"].map((one) => dialog.querySelector(one));
  const views = predicted(lesson);
  let all = [];
  dialog.querySelector(".class-files").addEventListener("click", () => files.click());
  dialog.querySelector(".again").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    dialog.remove();
    closed();
  });
  const draw = () => {
    const [step, stop] = JSON.parse(select.value), view = views.get(step);
    const times = all.map((one) => one[step]?.[stop]).filter((one) => typeof one === "number" && Number.isFinite(one) && one >= 0);
    chart.innerHTML = times.length ? histogram(times, store.state.predicted ? marks(lesson, view, stop) : []) : "";
    note.textContent = text("classCount", all.length, times.length);
  };
  select.addEventListener("change", draw);
  files.addEventListener("change", async () => {
    const read = await Promise.all([...files.files].map(predictionsIn(lesson.name)));
    all = read.filter(Boolean);
    const wrong = [...files.files].filter((_, k) => !read[k]).map((one) => one.name);
    offer(select, views, lesson);
    select.parentElement.hidden = false;
    draw();
    if (wrong.length) note.textContent += ` ${text("classWrong", wrong.join(", "))}`;
    files.value = "";
  });
  document.body.append(dialog);
  dialog.showModal();
}

/** The views that ask for a prediction, by the step that they are in. */
function predicted(lesson) {
  return new Map(lesson.steps.flatMap((step, k) => step.views.filter((view) => view.predict).map((view) => [String(k), view])));
}

/** The predictions in a file by step and stop, or null if it is not of this lesson. */
const predictionsIn = (name) => async (file) => {
  try {
    const content = JSON.parse(await file.text());
    return content.simcodesign === 1 && content.lesson === name && typeof content.predictions === "object" ? content.predictions : null;
  } catch {
    return null;
  }
};

/** The stops that are predicted; the last one is chosen, where predictions differ most. */
function offer(select, views, lesson) {
  const options = [...views].flatMap(([step, view]) => {
    const slider = lesson.slider(view.over), simulated = lesson.run(view.runs[0]).simulated[view.over].slice(view.given ?? 0);
    return simulated.map((stop) => `<option value="${escaped(JSON.stringify([step, slider.stops[stop].text]))}">${escaped(`${slider.about}: ${slider.stops[stop].text}`)}</option>`);
  });
  select.innerHTML = options.join("");
  select.selectedIndex = options.length - 1;
}

/** Formula and simulation at a stop, where the sliders begin. */
function marks(lesson, view, stop) {
  const run = lesson.run(view.runs[0]), slider = lesson.slider(view.over);
  const stops = Object.fromEntries(Object.entries(lesson.sliders).map(([name, one]) => [name, one.start]));
  stops[view.over] = slider.stops.findIndex((one) => one.text === stop);
  const simulated = lesson.simulated(run, stops, view.rung ?? lesson.calmRung(run)).mean;
  return [["formula", lesson.forecast(run, stops)], ["simulation", simulated]].filter(([, value]) => value > 0);
}

function histogram(times, known) {
  const least = Math.min(...times.filter((one) => one > 0), ...known.map(([, value]) => value)), most = Math.max(...times, ...known.map(([, value]) => value));
  if (!(most > 0)) return "";
  const x = scaleLog().base(2).domain(most / least > 1.05 ? [least / 1.02, most * 1.02] : [least / 2, most * 2]).range([MARGIN.left, WIDTH - MARGIN.right]);
  const [from, to] = x.range(), wide = (to - from) / BINS, counts = new Array(BINS).fill(0);
  for (const one of times) counts[one > 0 ? Math.min(BINS - 1, Math.max(0, Math.floor((x(one) - from) / wide))) : 0]++;
  const highest = Math.max(...counts), zero = HEIGHT - MARGIN.bottom, tall = zero - MARGIN.top;
  const bars = counts.map((count, k) => count && `<rect class="bin" x="${from + k * wide + 1}" width="${wide - 2}" y="${zero - (tall * count) / highest}" height="${(tall * count) / highest}"/><text class="count" x="${from + (k + 0.5) * wide}" y="${zero - (tall * count) / highest - 5}" text-anchor="middle">${count}</text>`);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((place) => `<text x="${from + place * (to - from)}" y="${zero + 18}" text-anchor="middle">${duration(x.invert(from + place * (to - from)), 2)}</text>`);
  const lines = known.map(([role, value]) => `<g class="known ${role}"><line x1="${x(value)}" x2="${x(value)}" y1="16" y2="${zero}"/><text x="${x(value)}" y="12" text-anchor="${x(value) > WIDTH / 2 ? "end" : "start"}">${text(role)} ${duration(value)}</text></g>`);
  const sorted = [...times].sort((one, other) => one - other), middle = (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
  const words = text("classWords", times.length, duration(middle), duration(sorted[0]), duration(sorted.at(-1)));
  return `<svg class="chart" role="img" aria-label="${escaped(words)}" viewBox="0 0 ${WIDTH} ${HEIGHT}"><line class="tick" x1="${from}" x2="${to}" y1="${zero}" y2="${zero}" stroke="currentColor"/>${bars.filter(Boolean).join("")}${ticks.join("")}${lines.join("")}</svg><p>${escaped(words)}</p>`;
}
