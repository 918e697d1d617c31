// Begins a lesson: unpack the numbers, make store and clock, define the elements.
import { enter } from "./code.js";
import { unpack } from "./data.js";
import { provide } from "./figure.js";
import { keep, recalled } from "./keep.js";
import { Lesson } from "./lesson.js";
import { codeIn, followLinks } from "./links.js";
import { numbersIn } from "./numbers.js";
import { printLight } from "./print.js";
import { connect } from "./scorm.js";
import { Slides } from "./slides.js";
import { Clock, Store } from "./store.js";
import { Teacher, remember } from "./teacher.js";
import { fillTexts, text, useLanguage } from "./texts.js";
import { termsIn } from "./terms.js";
import { Cache } from "./views/cache.js";
import { ClockBar } from "./views/clock.js";
import { Curve } from "./views/curve.js";
import { Drawing } from "./views/drawing.js";
import { Events } from "./views/events.js";
import { Free } from "./views/free.js";
import { Gantt } from "./views/gantt.js";
import { Helps } from "./views/helps.js";
import { Import } from "./views/import.js";
import { Ladder } from "./views/ladder.js";
import { Network } from "./views/network.js";
import { Question } from "./views/question.js";
import { Share } from "./views/share.js";
import { Sliders } from "./views/sliders.js";
import { Summary } from "./views/summary.js";
import { Table } from "./views/table.js";
import { Export, Theme } from "./views/tools.js";
import { Trust } from "./views/trust.js";

const ELEMENTS = { curve: Curve, ladder: Ladder, network: Network, gantt: Gantt, clock: ClockBar, sliders: Sliders, table: Table, events: Events, helps: Helps, trust: Trust, cache: Cache, question: Question, drawing: Drawing, teacher: Teacher, theme: Theme, export: Export, import: Import, share: Share, summary: Summary, free: Free, slides: Slides };

async function begin() {
  remember();
  const lesson = new Lesson(await unpack(document.getElementById("lesson-data").textContent));
  useLanguage(lesson.language);
  numbersIn(lesson.language);
  termsIn(lesson.language);
  const platform = (lesson.platform = connect());
  if (platform) document.querySelector("[data-text=made]").dataset.text = "madeReported";
  fillTexts(document);
  const { code, started } = await enter(lesson, platform?.code || codeIn(location.hash));
  lesson.asksPrediction = lesson.steps.some((step) => step.views.some((view) => view.predict));
  const stops = Object.fromEntries(Object.entries(lesson.sliders).map(([name, slider]) => [name, slider.start]));
  lesson.firstRungs = lesson.steps.map((step) => firstRung(lesson, step));
  const { keptStops, ...earlier } = recalled(lesson, code);
  if (platform) earlier.answers = { ...earlier.answers, ...platform.answersOf(lesson) };
  const store = new Store({
    rungs: lesson.firstRungs, draw: 0, time: 0, end: 0, playing: false, speed: 1, link: null, hover: null,
    predicted: false, opened: !lesson.asksPrediction, allOpen: false, openSteps: [], predictions: {}, pencils: {}, answers: {}, drafts: {}, code, started,
    ...earlier, stops: { ...stops, ...keptStops },
  });
  const clock = new Clock(store);
  provide(lesson, store, clock);
  printLight(store);
  store.subscribe((changed) => {
    if (changed.has("stops") || changed.has("rungs") || changed.has("draw")) measureEnd(lesson, store);
    if (changed.has("predicted") || changed.has("opened") || changed.has("openSteps") || changed.has("answers")) openSteps(lesson, store);
  });
  keep(lesson, store);
  platform?.follow(lesson, store);
  measureEnd(lesson, store);
  store.flush();
  for (const [name, element] of Object.entries(ELEMENTS)) customElements.define(`lesson-${name}`, element);
  lockSteps(lesson, store);
  document.addEventListener("click", (event) => {
    const jump = event.target.closest?.("[data-clock]");
    if (jump) store.set({ stops: { ...store.state.stops, ...JSON.parse(jump.dataset.stops) }, time: Number(jump.dataset.clock), playing: false });
  });
  markSteps();
  followLinks(lesson, store);
  document.body.classList.add("is-ready");
}

/** The rung that a step begins with: what it says, or all effects up to the first that is random, since texts and clock are of one
 * run; all, if a lesson is about chance. */
function firstRung(lesson, step) {
  return step.begins ?? Math.max(0, ...step.views.flatMap((view) => view.runs).map((name) => lesson.calmRung(lesson.run(name))));
}

/** When the last run of the page ends, at the stops and effects that are shown; the clock stands no later. */
function measureEnd(lesson, store) {
  const { stops, rungs, draw, end, time } = store.state;
  const longest = Math.max(0, ...lesson.steps.map((step, k) => lesson.endOf(step.views.flatMap((view) => view.runs), stops, rungs[k], draw)));
  store.set({ end: longest, time: end && longest !== end ? Math.min(time, longest) : time });
}

/** A line in place of steps that wait for a prediction, or for an answer, with a way around it for teachers. */
function lockSteps(lesson, store) {
  for (const step of document.querySelectorAll("[data-after-prediction], [data-after-answer]")) {
    const note = document.createElement("p"), waits = step.dataset.afterAnswer !== undefined;
    note.className = "locked";
    note.innerHTML = `<span>${text(waits ? "lockedAnswer" : "locked")}</span> <button type="button">${text(waits ? "openStep" : "openAnyway")}</button>`;
    note.querySelector("button").addEventListener("click", () => {
      if (!waits) return store.set({ opened: true, predicted: true, allOpen: true });
      step.classList.add("is-open");
      store.set({ openSteps: [...store.state.openSteps, step.id] });
    });
    step.append(note);
  }
  openSteps(lesson, store);
}

function openSteps(lesson, store) {
  const { predicted, opened, allOpen, openSteps: chosen, answers } = store.state, isOpen = predicted || opened;
  if (isOpen) store.set({ opened: true });
  document.body.classList.toggle("is-open", isOpen);
  const asked = new Set(lesson.steps.flatMap((step) => step.questions.map((one) => one.name)));
  for (const step of document.querySelectorAll("[data-after-answer]")) {
    const { afterAnswer } = step.dataset;
    if (allOpen || chosen.includes(step.id) || afterAnswer in answers || !asked.has(afterAnswer)) step.classList.add("is-open");
  }
}

/** The step that is read now, in the list of steps. */
function markSteps() {
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const [id, link] of links) {
        if (id === entry.target.id) link.setAttribute("aria-current", "step");
        else link.removeAttribute("aria-current");
      }
    }
  }, { rootMargin: "-30% 0px -60% 0px" });
  for (const step of document.querySelectorAll(".step")) seen.observe(step);
}

begin();
