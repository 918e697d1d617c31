// Begins a lesson: unpack the numbers, make store and clock, define the elements.
import { enter } from "./code.js";
import { unpack } from "./data.js";
import { provide } from "./figure.js";
import { Lesson } from "./lesson.js";
import { numbersIn } from "./numbers.js";
import { Clock, Store } from "./store.js";
import { Teacher, remember } from "./teacher.js";
import { fillTexts, text, useLanguage } from "./texts.js";
import { ClockBar } from "./views/clock.js";
import { Curve } from "./views/curve.js";
import { Drawing } from "./views/drawing.js";
import { Events } from "./views/events.js";
import { Free } from "./views/free.js";
import { Gantt } from "./views/gantt.js";
import { Helps } from "./views/helps.js";
import { Ladder } from "./views/ladder.js";
import { Network } from "./views/network.js";
import { Question } from "./views/question.js";
import { Sliders } from "./views/sliders.js";
import { Table } from "./views/table.js";
import { Export, Theme } from "./views/tools.js";
import { Trust } from "./views/trust.js";

const ELEMENTS = { curve: Curve, ladder: Ladder, network: Network, gantt: Gantt, clock: ClockBar, sliders: Sliders, table: Table, events: Events, helps: Helps, trust: Trust, question: Question, drawing: Drawing, teacher: Teacher, theme: Theme, export: Export, free: Free };

async function begin() {
  remember();
  const lesson = new Lesson(await unpack(document.getElementById("lesson-data").textContent));
  useLanguage(lesson.language);
  numbersIn(lesson.language);
  fillTexts(document);
  const { code, started } = await enter(lesson);
  lesson.asksPrediction = lesson.steps.some((step) => step.views.some((view) => view.predict));
  const stops = Object.fromEntries(Object.entries(lesson.sliders).map(([name, slider]) => [name, slider.start]));
  const store = new Store({
    stops, rung: firstRung(lesson), time: 0, end: 0, playing: false, speed: 1, link: null, hover: null,
    predicted: false, opened: !lesson.asksPrediction, predictions: {}, answers: {}, code, started,
  });
  const clock = new Clock(store);
  provide(lesson, store, clock);
  store.subscribe((changed) => {
    if (changed.has("stops") || changed.has("rung")) measureEnd(lesson, store);
    if (changed.has("predicted") || changed.has("opened")) openSteps(store);
  });
  measureEnd(lesson, store);
  store.flush();
  for (const [name, element] of Object.entries(ELEMENTS)) customElements.define(`lesson-${name}`, element);
  lockSteps(store);
  document.addEventListener("click", (event) => {
    const jump = event.target.closest?.("[data-clock]");
    if (jump) store.set({ time: Number(jump.dataset.clock), playing: false });
  });
  markSteps();
  document.body.classList.add("is-ready");
}

/** The rung that a page begins with: all effects up to the first that is random, since texts and clock are of one run; all, if a
 * lesson is about chance. */
function firstRung(lesson) {
  return Math.max(0, ...Object.values(lesson.runs).map((run) => lesson.calmRung(run)));
}

/** When the last run of the page ends, at the stops and effects that are shown; the clock stands no later. */
function measureEnd(lesson, store) {
  const { stops, rung, end, time } = store.state;
  const longest = lesson.endOf(Object.keys(lesson.runs), stops, rung);
  store.set({ end: longest, time: end && longest !== end ? Math.min(time, longest) : time });
}

/** A line in place of steps that wait for a prediction, with a way around it for teachers. */
function lockSteps(store) {
  for (const step of document.querySelectorAll("[data-after-prediction]")) {
    const note = document.createElement("p");
    note.className = "locked";
    note.innerHTML = `<span>${text("locked")}</span> <button type="button">${text("openAnyway")}</button>`;
    note.querySelector("button").addEventListener("click", () => store.set({ opened: true }));
    step.append(note);
  }
  openSteps(store);
}

function openSteps(store) {
  const isOpen = store.state.predicted || store.state.opened;
  if (isOpen) store.set({ opened: true });
  document.body.classList.toggle("is-open", isOpen);
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
