// Links to a state of the page: `#step=3&size=64 KiB&effects=links`, with `embed` for a page inside another one.
import { checkedCode } from "./code.js";

/** Milliseconds in which figures of a new page get their heights. */
const SETTLE_MS = 1000;
const plain = (words) => words.replace(/\u00a0/g, " ").trim().toLowerCase();
const wordsIn = (hash) => new URLSearchParams(hash.replace(/^#/, ""));

/** The code in a link, or "". */
export const codeIn = (hash) => checkedCode(wordsIn(hash).get("code") ?? "") ?? "";

/** Whether a link puts the page into another one. */
export const isEmbedded = (hash) => wordsIn(hash).has("embed");

/** What a link asks for: the number of a step or null, stops by slider, how many effects are on or null, whether to embed. */
export function linked(hash, lesson) {
  const words = wordsIn(hash), stops = {};
  for (const [name, slider] of Object.entries(lesson.sliders)) {
    if (!words.has(name)) continue;
    const given = plain(words.get(name));
    const stop = slider.stops.findIndex((one) => [one.text, one.note].some((text) => text && plain(text) === given) || (given !== "" && one.value === Number(given)));
    if (stop >= 0) stops[name] = stop;
  }
  const number = words.get("step") ?? "", place = lesson.steps.findIndex((step, k) => String(k + 1) === number || plain(step.name) === plain(number));
  return { step: place < 0 ? null : place, stops, effects: words.get("effects"), embed: isEmbedded(hash) };
}

/** The hash of a link to what is shown: the step, sliders that are not where they start, and the last effect that is on, if the page begins with another one. */
export function linkTo(lesson, { stops, rungs }, step) {
  const words = [`step=${step + 1}`];
  for (const [name, slider] of Object.entries(lesson.sliders))
    if (stops[name] !== slider.start) words.push(`${encodeURIComponent(name)}=${encodeURIComponent(slider.stops[stops[name]].text.replace(/\u00a0/g, " "))}`);
  const effects = effectsOf(lesson, step);
  if (effects.length && rungs[step] !== lesson.firstRungs[step]) words.push(`effects=${rungs[step] ? effects[Math.min(rungs[step], effects.length) - 1].name : "none"}`);
  return `#${words.join("&")}`;
}

/** The longest ladder of a step's runs. */
function effectsOf(lesson, step) {
  const ladders = lesson.steps[step].views.flatMap((view) => view.runs).map((name) => lesson.run(name).effects);
  return ladders.reduce((longest, one) => (one.length > longest.length ? one : longest), []);
}

/** Go where the address of the page points, now and whenever it changes. */
export function followLinks(lesson, store) {
  let waiting = null;
  const follow = () => {
    const link = linked(location.hash, lesson);
    if (link.embed) embed(lesson, store, link.step);
    if (link.step !== null) goTo(document.querySelector(`#step-${link.step + 1}`));
    waiting = link;
    apply();
  };
  // A prediction belongs to the stops at which the page begins: sliders wait until it is compared.
  const apply = () => {
    if (!waiting || !(store.state.predicted || store.state.opened)) return;
    const { step, stops, effects } = waiting;
    waiting = null;
    if (Object.keys(stops).length) store.set({ stops: { ...store.state.stops, ...stops } });
    if (step === null || effects === null) return;
    const rung = effects === "none" ? 0 : effectsOf(lesson, step).findIndex((one) => one.name === effects) + 1;
    if (rung || effects === "none") store.set({ rungs: store.state.rungs.map((one, k) => (k === step ? rung : one)) });
  };
  store.subscribe((changed) => (changed.has("predicted") || changed.has("opened")) && apply());
  addEventListener("hashchange", follow);
  if (location.hash.includes("=") || isEmbedded(location.hash)) follow();
}

/** Scroll to a step, and again when figures above it are drawn for the first time, unless the reader has begun to move. */
function goTo(section) {
  const scroll = () => section.scrollIntoView({ behavior: "instant" }), again = new ResizeObserver(scroll), stop = () => again.disconnect();
  scroll();
  again.observe(document.body);
  setTimeout(stop, SETTLE_MS);
  for (const name of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(name, stop, { once: true });
}

/** Show one step, or all of them, without what is around them. A step that waits for another one is open. */
function embed(lesson, store, step) {
  document.body.classList.add("is-embedded");
  document.querySelectorAll(".step").forEach((one, k) => one.classList.toggle("is-left-out", step !== null && k !== step));
  if (lesson.steps[step]?.after_prediction || lesson.steps[step]?.after_answer) store.set({ opened: true, predicted: true, allOpen: true });
}
