// Slides: one step fills the screen, in large type. Arrow keys and Page Up/Down turn them, Escape ends them.
import { Figure } from "./figure.js";
import { clamp } from "./numbers.js";
import { text } from "./texts.js";

/** What has a use for arrow keys of its own. */
const OWN_KEYS = "input, select, textarea, [role='listbox'], [role='slider'], circle, summary, dialog, .events";
const STEPS = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 };
/** How wide the page of a slide is in its own pixels; whatever the screen has more makes type and figures larger. */
const WIDTH = 1100, MOST_ZOOM = 2.6;

export class Slides extends Figure {
  static uses = [];

  build() {
    this.slides = [...document.querySelectorAll(".hero, .step")];
    this.innerHTML = `<button type="button" class="ghost">${text("slides")}</button>`;
    this.firstChild.addEventListener("click", () => this.start());
    addEventListener("keydown", (event) => this.isOn && this.press(event));
    addEventListener("resize", () => this.isOn && this.zoom());
  }

  get isOn() {
    return document.body.classList.contains("is-slides");
  }

  /** Begin with the part of the page that is read now. */
  start() {
    const first = this.slides.findIndex((one) => one.getBoundingClientRect().bottom > 120);
    document.body.classList.add("is-slides");
    this.bar = document.createElement("nav");
    this.bar.className = "slides-bar";
    this.bar.setAttribute("aria-label", text("slidesBar"));
    const button = (name, sign) => `<button type="button" class="ghost" data-name="${name}" aria-label="${text(name)}">${sign}</button>`;
    this.bar.innerHTML = `${button("slideBefore", "‹")}<output></output>${button("slideAfter", "›")}${button("slidesEnd", "×")}`;
    const [before, after, end] = this.bar.querySelectorAll("button");
    before.addEventListener("click", () => this.go(this.at - 1));
    after.addEventListener("click", () => this.go(this.at + 1));
    end.addEventListener("click", () => this.end());
    document.body.append(this.bar);
    this.zoom();
    dispatchEvent(new Event("resize")); // what remembers a width asks for it again
    this.go(Math.max(first, 0));
  }

  end() {
    const last = this.slides[this.at];
    document.body.classList.remove("is-slides");
    document.querySelector("main").style.zoom = "";
    for (const one of this.slides) one.classList.remove("is-slide");
    this.bar.remove();
    dispatchEvent(new Event("resize"));
    last.scrollIntoView();
    this.firstChild.focus({ preventScroll: true });
  }

  go(number) {
    this.at = clamp(number, 0, this.slides.length - 1);
    this.slides.forEach((one, k) => one.classList.toggle("is-slide", k === this.at));
    this.bar.querySelector("output").textContent = text("slideOf", this.at + 1, this.slides.length);
    const [before, after] = this.bar.querySelectorAll("button");
    before.disabled = this.at === 0;
    after.disabled = this.at === this.slides.length - 1;
    scrollTo({ top: 0, behavior: "instant" });
    this.slides[this.at].focus({ preventScroll: true });
  }

  zoom() {
    document.querySelector("main").style.zoom = clamp(innerWidth / WIDTH, 1, MOST_ZOOM);
  }

  press(event) {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape" && !document.querySelector("dialog[open]")) return this.end();
    if (!(event.key in STEPS) || event.target.closest?.(OWN_KEYS)) return;
    event.preventDefault();
    this.go(this.at + STEPS[event.key]);
  }
}
