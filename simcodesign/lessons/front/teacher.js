// The teacher's dialog: what is hidden, where sliders begin, how exact answers must be; and the page that has it so.
// lessons/grading/changes.py does the same for `lesson build`.
import { showClass } from "./class.js";
import { withHeader } from "./data.js";
import { Figure } from "./figure.js";
import { escaped } from "./numbers.js";
import { text } from "./texts.js";
import { download } from "./views/tools.js";

let source = null;

/** Keep the page as it was written, before anything is filled in. */
export function remember() {
  source = document.documentElement.cloneNode(true);
}

export class Teacher extends Figure {
  static uses = [];

  build() {
    this.innerHTML = `<button type="button" class="ghost">${text("teacher")}</button>`;
    this.firstChild.addEventListener("click", () => this.open());
  }

  open() {
    const dialog = document.createElement("dialog");
    dialog.className = "teacher";
    dialog.setAttribute("aria-labelledby", "teacher-head");
    dialog.innerHTML = `<form method="dialog"><h2 id="teacher-head">${text("teacher")}</h2><p>${text("teacherNote")}</p>
      ${this.lesson.asksPrediction ? `<button type="submit" value="class" class="again">${text("classHead")}</button>` : ""}
      ${this.lesson.steps.map((step) => this.step(step)).join("")}${this.starts()}
      <div class="actions"><button type="submit" value="write" class="primary">${text("write")}</button><button type="submit" value="" class="again">${text("cancel")}</button></div></form>`;
    dialog.addEventListener("close", async () => {
      dialog.remove();
      if (dialog.returnValue === "write") download(`${this.lesson.name}.html`, "text/html", await written(this.changes(dialog)));
      if (dialog.returnValue === "class") return showClass(this.lesson, this.store, () => this.firstChild.focus());
      this.firstChild.focus();
    });
    document.body.append(dialog);
    dialog.showModal();
  }

  /** Boxes for a step, its figures and its questions. */
  step(step) {
    const box = (name, label) => `<label class="shown"><input type="checkbox" checked data-part="${escaped(name)}"> ${label}</label>`;
    const views = step.views.map((view) => box(`${step.name}/${view.figure}`, escaped(view.title || view.kind)));
    const questions = step.questions.map((one) => {
      const percent = one.tolerance === undefined ? "" : `<label>${text("tolerance")} <input type="number" min="0" max="1000" step="any" value="${+(100 * one.tolerance).toPrecision(6)}" data-tolerance="${escaped(one.name)}"> %</label>`;
      return `<div class="asked-for">${box(one.name, `${text("question")} ${escaped(one.name)}`)}${percent}</div>`;
    });
    return `<fieldset><legend>${box(step.name, `<b>${escaped(step.name)}</b>`)}</legend>${views.join("")}${questions.join("")}</fieldset>`;
  }

  starts() {
    const rows = Object.entries(this.lesson.sliders).filter(([name]) => !this.lesson.seeded.sliders.includes(name)).map(([name, one]) => {
      const options = one.stops.map((stop, k) => `<option${k === one.start ? " selected" : ""}>${escaped(stop.text)}</option>`);
      return `<label>${escaped(one.about)} <small>(${escaped(name)})</small> <select data-start="${escaped(name)}">${options.join("")}</select></label>`;
    });
    return rows.length ? `<fieldset><legend>${text("starts")}</legend>${rows.join("")}</fieldset>` : "";
  }

  changes(dialog) {
    const changes = { hide: [], start: {}, tolerance: {} };
    for (const one of dialog.querySelectorAll("[data-part]:not(:checked)")) changes.hide.push(one.dataset.part);
    for (const one of dialog.querySelectorAll("[data-start]"))
      if (one.selectedIndex !== this.lesson.sliders[one.dataset.start].start) changes.start[one.dataset.start] = one.value;
    for (const one of dialog.querySelectorAll("[data-tolerance]"))
      if (one.value !== one.defaultValue && one.validity.valid) changes.tolerance[one.dataset.tolerance] = +(Number(one.value) / 100).toPrecision(12);
    return changes;
  }
}

/** The page with the changes. */
export async function written(changes) {
  const root = source.cloneNode(true);
  const data = root.querySelector("#lesson-data");
  data.textContent = await withHeader(data.textContent, (header) => {
    const hidden = new Set(changes.hide);
    shorten(root, header.steps, hidden);
    return changed(header, changes, hidden);
  });
  return `<!doctype html>\n${root.outerHTML}\n`;
}

function changed(header, changes, hidden) {
  const steps = header.steps.filter((step) => !hidden.has(step.name)).map((step) => ({
    ...step,
    views: step.views.filter((view) => !hidden.has(`${step.name}/${view.figure}`)),
    questions: step.questions.filter((one) => !hidden.has(one.name))
      .map((one) => (one.name in changes.tolerance ? { ...one, tolerance: changes.tolerance[one.name] } : one)),
  }));
  const sliders = Object.fromEntries(Object.entries(header.sliders).map(([name, one]) =>
    [name, name in changes.start ? { ...one, start: one.stops.findIndex((stop) => stop.text === changes.start[name]) } : one]));
  const { hide = [], start = {}, tolerance = {} } = header.changes ?? {};
  const made = { hide: [...new Set([...hide, ...changes.hide])], start: { ...start, ...changes.start }, tolerance: { ...tolerance, ...changes.tolerance } };
  return { ...header, steps, sliders, changes: made };
}

/** Take what is hidden out of the page, and number the rest anew. */
function shorten(root, steps, hidden) {
  let count = 0;
  steps.forEach((step, place) => {
    const section = root.querySelector(`#step-${place + 1}`), link = root.querySelector(`nav a[href="#step-${place + 1}"]`);
    section.dataset.place = place;
    link.dataset.place = place;
  });
  steps.forEach((step, place) => {
    const section = root.querySelector(`section[data-place="${place}"]`), link = root.querySelector(`a[data-place="${place}"]`);
    if (hidden.has(step.name)) {
      section.remove();
      link.closest("li").remove();
      return;
    }
    renumber(section, "view", (k) => hidden.has(`${step.name}/${step.views[k].figure}`), count);
    renumber(section, "question", (k) => hidden.has(step.questions[k].name), count);
    for (const row of section.querySelectorAll(".row")) row.children.length ? (row.className = `row of-${row.children.length}`) : row.remove();
    count += 1;
    section.id = `step-${count}`;
    section.setAttribute("aria-labelledby", `head-${count}`);
    section.querySelector("h2").id = `head-${count}`;
    section.querySelector(".number [data-count]").dataset.count = count;
    link.setAttribute("href", `#step-${count}`);
    link.querySelector("b").textContent = count;
    delete section.dataset.place;
    delete link.dataset.place;
  });
}

function renumber(section, kind, isHidden, step) {
  let count = 0;
  for (const one of section.querySelectorAll(`[data-${kind}]`)) {
    if (isHidden(Number(one.dataset[kind]))) {
      one.remove();
      continue;
    }
    one.dataset.step = step;
    one.dataset[kind] = count++;
  }
}
