// The panel of the laboratory: two texts with their errors, parameters, the forecast over one of them, and simulations
// that come point by point. All numbers come from the server; a change ends the simulations that run.
import { escaped } from "../numbers.js";
import { text } from "../texts.js";
import { axisValues, fieldOf, span } from "./free-axis.js";
import { FreeCurve } from "./free-curve.js";
import { runAddress, runChoice } from "./free-lesson.js";
import { FreePins } from "./free-pins.js";
import { FreeRun } from "./free-run.js";
import { events } from "./free-events.js";
import { FreeState } from "./free-state.js";
import { numberOf, withUnit } from "./free-units.js";

const LOOK_MS = 250, REST_MS = 500, POINTS = 9, FORECASTS = 120;

export class Free extends HTMLElement {
  connectedCallback() {
    this.config = JSON.parse(this.dataset.config);
    this.values = { ...this.config.start.parameters };
    this.axis = this.config.start.axis;
    this.phases = this.config.start.phases;
    this.off = new Set();
    this.build();
    for (const kind of ["machine", "workload"]) this.listen(kind);
    this.curve = new FreeCurve(this.querySelector("svg"));
    new ResizeObserver(() => this.curve.draw()).observe(this.querySelector(".lab-stage"));
    this.pins = new FreePins(this, this.querySelector(".lab-pins"));
    this.kept = new FreeState(this, this.config.name);
    this.listenToButtons();
    const before = this.kept.kept;
    if (before) this.apply(before);
    else this.look();
  }

  /** Everything that is set. */
  get state() {
    const { machine, workload, parameters, phases } = this.asked;
    return { phases, machine, workload, parameters: { ...parameters }, axis: this.axis, ends: this.ends ?? null, off: [...this.off] };
  }

  /** Set everything as it was, and pinned curves too if they are given. */
  apply({ machine, workload, parameters, axis, phases = null, ends = null, off = [], pins }) {
    Object.assign(this, { values: { ...parameters }, axis, phases, ends, off: new Set(off) });
    for (const [kind, content] of [["machine", machine], ["workload", workload]]) {
      this.area(kind).value = content;
      this.number(kind);
    }
    if (pins) [this.pins.all, this.curve.pins] = [pins, pins];
    this.curve.fitNext();
    this.look();
  }

  keep() {
    this.kept.keep();
  }

  listenToButtons() {
    const on = (name, heard) => this.querySelector(`.lab-${name}`).addEventListener("click", heard);
    on("pin", () => this.pins.add());
    on("fit", () => this.curve.fit());
    on("save", () => this.kept.save());
    on("again", () => {
      this.kept.forget();
      this.apply({ ...this.config.start, pins: [] });
    });
    this.querySelector(".lab-runs")?.addEventListener("change", async ({ target }) => {
      const name = target.value;
      target.value = "";
      const start = name && (await this.ask(runAddress(this.config.name, name)));
      if (start?.ok) this.apply(await start.json());
    });
    const file = this.querySelector(".lab-file");
    on("open", () => file.click());
    file.addEventListener("change", async () => {
      if (file.files.length) await this.kept.open(file.files[0]);
      file.value = "";
    });
  }

  build() {
    const { shipped, start } = this.config;
    const editor = (kind, label) => `<div class="lab-head"><label for="lab-${kind}">${text(label)}</label>
      <label class="note">${text("labFrom")} <select data-from="${kind}"><option value="">${text("labChoose")}</option>${shipped[kind]
        .map((name) => `<option>${escaped(name)}</option>`).join("")}</select></label></div>
      <div class="lab-editor" data-kind="${kind}"><pre aria-hidden="true"></pre><textarea id="lab-${kind}" rows="12" spellcheck="false"
        autocapitalize="off" autocomplete="off" aria-describedby="lab-${kind}-error">${escaped(start[kind])}</textarea></div>
      <p class="lab-error" id="lab-${kind}-error" role="status"></p>`;
    const button = (name, words) => `<button type="button" class="ghost lab-${name}">${text(words)}</button>`;
    this.innerHTML = `<h2>${text("labTitle")}</h2><p class="note">${text("labNote")}</p>
      <div class="lab-row">${button("save", "labSave")}${button("open", "labOpen")}${button("again", "labAgain")}${runChoice(this.config.runs)}<input type="file" class="lab-file" accept=".json,application/json" hidden><span class="note" data-of="saved" role="status"></span></div>
      <div class="lab-grid"><div>${editor("machine", "labMachine")}${editor("workload", "labWorkload")}</div>
      <div class="lab-stage"><figure><svg class="chart lab-chart" role="img"></svg></figure>
      <div class="lab-row">${button("pin", "labPin")}${button("fit", "labFit")}</div><div class="lab-pins scroll" hidden></div>
      <p class="lab-status" role="status"><span data-of="forecast"></span> <span data-of="points"></span></p><p class="lab-error" data-of="errors" role="status"></p>
      <div class="lab-row"><label>${text("labAxis")} <select class="lab-axis"></select></label>
        <label>${text("labLow")} <input type="text" class="lab-low"></label> <label>${text("labHigh")} <input type="text" class="lab-high"></label>
        <button type="button" class="primary lab-run">${text("labRun")}</button><button type="button" class="ghost lab-stop">${text("labStop")}</button></div>
      <div class="lab-row lab-ask"><label>${text("labAt")} <select class="lab-at"></select></label>
        <button type="button" class="ghost lab-show">${text("labShow")}</button><span class="note" data-of="rungs" role="status"></span></div>
      <div class="lab-set"></div><div class="lab-row"><fieldset><legend>${text("labEffects")}</legend><span class="lab-effects"></span></fieldset>
      <fieldset class="lab-parts" hidden><legend>${text("labPhases")}</legend><span class="lab-phases"></span></fieldset></div></div></div><div class="lab-shown"></div>`;
    this.querySelector(".lab-show").addEventListener("click", () => this.show());
    this.querySelector(".lab-chart").addEventListener("click", ({ target }) => {
      if (target.dataset.value === undefined) return;
      this.querySelector(".lab-at").value = this.chosen = target.dataset.value;
      this.show();
    });
    this.querySelector(".lab-at").addEventListener("change", ({ target }) => (this.chosen = target.value));
    this.querySelector(".lab-run").addEventListener("click", () => this.simulate());
    this.querySelector(".lab-stop").addEventListener("click", () => this.stop());
    this.querySelector(".lab-axis").addEventListener("change", (event) => {
      this.axis = event.target.value;
      this.curve.fitNext();
      this.ends = null;
      this.offer();
      this.changed();
    });
    for (const name of ["low", "high"]) this.querySelector(`.lab-${name}`).addEventListener("change", (event) => this.setEnd(name, event.target));
  }

  // --- The texts

  listen(kind) {
    const area = this.area(kind), lines = this.editor(kind).querySelector("pre");
    area.addEventListener("input", () => {
      this.number(kind);
      this.keep();
      this.stop();
      clearTimeout(this.looking);
      this.looking = setTimeout(() => this.look(), LOOK_MS);
    });
    area.addEventListener("scroll", () => (lines.scrollTop = area.scrollTop));
    this.querySelector(`[data-from="${kind}"]`).addEventListener("change", async ({ target }) => {
      if (!target.value) return;
      const response = await this.ask(`shipped/${kind}/${encodeURIComponent(target.value)}`);
      if (!response?.ok) return;
      area.value = await response.text();
      this.curve.fitNext();
      if (kind === "workload") [this.values, this.axis, this.ends, this.phases] = [this.values.P ? { P: this.values.P } : {}, "P", null, null];
      target.value = "";
      this.number(kind);
      this.look();
    });
    this.number(kind);
  }

  area(kind) {
    return this.querySelector(`#lab-${kind}`);
  }

  editor(kind) {
    return this.querySelector(`.lab-editor[data-kind="${kind}"]`);
  }

  /** The numbers of the lines, that of an error marked. */
  number(kind, wrong = null) {
    const count = this.area(kind).value.split("\n").length;
    const rows = Array.from({ length: count }, (_, k) => `<b${k + 1 === wrong ? ' class="is-wrong"' : ""}>${k + 1}</b>`);
    const lines = this.editor(kind).querySelector("pre");
    lines.innerHTML = rows.join("");
    lines.scrollTop = this.area(kind).scrollTop;
  }

  goTo(kind, line) {
    const area = this.area(kind), lines = area.value.split("\n");
    const begin = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    area.focus();
    area.setSelectionRange(begin, begin + (lines[line - 1]?.length ?? 0));
    area.scrollTop = Math.max(0, (line - 6) * 19);
  }

  // --- Asking the server

  get asked() {
    return { machine: this.area("machine").value, workload: this.area("workload").value, parameters: this.values, phases: this.phases };
  }

  async ask(path, content, signal) {
    const options = content && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(content), signal };
    try {
      return await fetch(this.config.root + path, options);
    } catch (error) {
      if (error.name !== "AbortError") this.say("errors", text("labGone"), true);
      return null;
    }
  }

  /** The answer in JSON, or null where there were errors, which are shown then; only that to the last request counts. */
  async answer(path, content) {
    const number = (this[`last-${path}`] = (this[`last-${path}`] ?? 0) + 1);
    const response = await this.ask(path, content);
    const answer = response && (await response.json().catch(() => ({ errors: [] })));
    if (!answer || number !== this[`last-${path}`]) return null;
    this.showErrors(answer.errors ?? []);
    return answer.errors ? null : answer;
  }

  /** What the texts have: names, parameters, effects. */
  async look() {
    this.stop();
    const known = await this.answer("describe", this.asked);
    if (!known) return;
    this.known = known;
    const names = new Set(known.parameters.map((one) => one.name));
    for (const name of Object.keys(this.values)) if (!names.has(name) && !name.includes(".")) delete this.values[name];
    if (!this.parameter(this.axis)) [this.axis, this.ends] = ["P", null];
    this.values.P ??= this.parameter("P").value; // fewer than by default, where these would be too many
    this.offer();
    this.changed();
  }

  showErrors(errors) {
    for (const kind of ["machine", "workload"]) {
      const mine = errors.filter((one) => one.where === kind);
      this.number(kind, mine[0]?.line ?? null);
      this.editor(kind).classList.toggle("is-wrong", mine.length > 0);
      this.area(kind).setAttribute("aria-invalid", String(mine.length > 0));
      const place = this.querySelector(`#lab-${kind}-error`);
      place.classList.toggle("is-wrong", mine.length > 0);
      place.innerHTML = mine.map((one) => this.errorLine(kind, one)).join("<br>") || text("labFine");
      place.querySelector("button")?.addEventListener("click", () => this.goTo(kind, mine[0].line));
    }
    const others = errors.filter((one) => !["machine", "workload"].includes(one.where));
    this.say("errors", others.map((one) => `${one.path ? one.path + ": " : ""}${one.message}`).join("; "), true);
    if (errors.length) {
      this.say("forecast", text("labUnknown"));
      this.curve.fade();
    }
  }

  errorLine(kind, { line, path, message }) {
    const to = line === null ? "" : `<button type="button" aria-label="${escaped(text("labTo", line, text(kind === "machine" ? "labMachine" : "labWorkload")))}">${text("labLine", line)}</button> `;
    return `${to}${path ? `<code>${escaped(path)}</code>: ` : ""}${escaped(message)}`;
  }

  say(of, words, isWrong = false) {
    const place = this.querySelector(`[data-of="${of}"]`);
    place.textContent = words;
    if (isWrong) place.classList.toggle("is-wrong", words !== "");
  }

  // --- Parameters, axis and effects

  parameter(name) {
    return this.known.parameters.find((one) => one.name === name);
  }

  span(one) {
    return span(one, this.known.most_ranks);
  }

  axisValues(count) {
    const one = this.parameter(this.axis);
    return axisValues(one, this.ends ?? this.span(one), count, count === POINTS);
  }

  offer() {
    const { parameters, effects } = this.known;
    const numbers = parameters.filter((one) => !Object.keys(one.choices).length);
    this.querySelector(".lab-axis").innerHTML = numbers.map((one) => `<option${one.name === this.axis ? " selected" : ""}>${escaped(one.name)}</option>`).join("");
    const [from, to] = this.ends ?? this.span(this.parameter(this.axis));
    for (const [name, end] of [["low", from], ["high", to]]) this.querySelector(`.lab-${name}`).value = withUnit(end, this.parameter(this.axis).unit);
    const focused = this.contains(document.activeElement) ? document.activeElement.dataset.set : undefined;
    this.querySelector(".lab-set").innerHTML = parameters.filter((one) => one.name !== this.axis).map((one) => fieldOf(one, this.values[one.name] ?? one.value, this.span(one))).join("");
    for (const input of this.querySelectorAll("[data-set]")) input.addEventListener(input.type === "text" ? "change" : "input", () => this.set(input));
    if (focused) this.querySelector(`[data-set="${CSS.escape(focused)}"]`)?.focus();
    this.offerPhases();
    this.querySelector(".lab-effects").innerHTML = effects.map((one) =>
      `<label title="${escaped(one.adds)}"><input type="checkbox" value="${escaped(one.name)}"${this.off.has(one.name) ? "" : " checked"}> ${escaped(one.name)}</label>`).join(" ");
    for (const box of this.querySelectorAll(".lab-effects input")) box.addEventListener("change", () => {
      if (box.checked) this.off.delete(box.value);
      else this.off.add(box.value);
      this.changed();
    });
  }

  /** Boxes for the phases of the program, if there is a choice; the last one stays. */
  offerPhases() {
    const all = this.known.phases, place = this.querySelector(".lab-phases");
    this.querySelector(".lab-parts").hidden = all.length < 2;
    place.innerHTML = all.map((name) => `<label><input type="checkbox" value="${escaped(name)}"${this.phases === null || this.phases.includes(name) ? " checked" : ""}> ${escaped(name)}</label>`).join(" ");
    for (const box of place.querySelectorAll("input")) box.addEventListener("change", () => {
      const on = [...place.querySelectorAll("input:checked")].map((one) => one.value);
      if (!on.length) return void (box.checked = true);
      this.phases = on.length === all.length ? null : on;
      this.look();
    });
  }

  set(input) {
    const { set: name, stops } = input.dataset, { unit } = this.parameter(name);
    let { value } = input;
    if (input.type === "range") {
      value = Number(stops.split(" ")[input.value]);
      const shown = withUnit(value, unit);
      this.querySelector(`input[type="text"][data-set="${CSS.escape(name)}"]`).value = shown;
      input.setAttribute("aria-valuetext", shown);
    }
    // What is no number in a unit that is known here is read by the server.
    const number = input.tagName === "SELECT" ? NaN : numberOf(String(value), unit);
    this.values[name] = Number.isFinite(number) ? number : value;
    this.changed();
  }

  setEnd(name, input) {
    const number = numberOf(input.value, this.parameter(this.axis).unit), ends = [...(this.ends ?? this.span(this.parameter(this.axis)))];
    ends[name === "low" ? 0 : 1] = number;
    if (Number.isFinite(number) && ends[0] < ends[1]) this.ends = ends;
    this.offer();
    this.changed();
  }

  // --- Both readings

  /** The forecast at once; simulations when nothing has changed for a moment. */
  changed() {
    this.keep();
    this.stop();
    this.clear();
    this.forecast();
    this.say("points", text("labWaits"));
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.simulate(), REST_MS);
  }

  /** One request at a time: what changes meanwhile is asked for when its answer is there. */
  async forecast() {
    if (this.isAsking) return void (this.asksAgain = true);
    this.isAsking = true;
    do {
      this.asksAgain = false;
      const values = this.axisValues(FORECASTS);
      const found = await this.answer("forecast", { ...this.asked, axis: this.axis, values });
      if (!found) continue;
      this.say("forecast", text("labForecast", values.length, found.took_ms.toFixed(1)));
      this.curve.forecast(this.parameter(this.axis), found);
      this.pins.show();
    } while (this.asksAgain);
    this.isAsking = false;
  }

  stop() {
    delete this.dataset.done;
    clearTimeout(this.resting);
    this.running?.abort();
    this.running = null;
    this.showing?.abort();
    this.say("points", "");
  }

  /** Nothing is simulated yet, and nothing can be shown of it. */
  clear() {
    this.curve.clear();
    this.querySelector(".lab-ask").hidden = true;
    this.querySelector(".lab-at").innerHTML = "";
    this.chosen = null;
    const shown = this.querySelector(".lab-shown");
    shown.replaceChildren();
    delete shown.dataset.done;
    this.say("rungs", "");
  }

  point(one) {
    this.curve.point(one);
    this.pins.show();
    const at = this.querySelector(".lab-at");
    at.innerHTML = this.curve.points.map(({ value }) => `<option value="${value}">${escaped(this.axis)} = ${withUnit(value, this.parameter(this.axis).unit)}</option>`).join("");
    at.value = this.chosen ?? this.curve.points.at(-1).value;
    this.querySelector(".lab-ask").hidden = false;
  }

  get effects() {
    return this.known.effects.filter((one) => !this.off.has(one.name));
  }

  async simulate() {
    this.stop();
    const running = (this.running = new AbortController()), values = this.axisValues(POINTS);
    this.clear();
    let count = 0;
    await this.stream("simulate", values, running.signal, (name, content) => {
      if (name === "point") this.point(content);
      if (name !== "done") this.say("points", text("labPoints", ++count, values.length));
    });
    if (!running.signal.aborted) this.dataset.done = String(count);
  }

  /** The ladder of the point that is chosen, rung by rung, and one run of each. */
  async show() {
    this.showing?.abort();
    const showing = (this.showing = new AbortController()), { effects } = this;
    const at = this.querySelector(".lab-at"), place = this.querySelector(".lab-shown"), run = new FreeRun(place, effects, at.selectedOptions[0].text);
    place.replaceChildren();
    delete place.dataset.done;
    let count = 0;
    await this.stream("ladder", [Number(at.value)], showing.signal, async (name, content) => {
      if (name === "rung") await run.add(content);
      if (name !== "done") this.say("rungs", text("labRungs", ++count, effects.length + 1));
    });
    if (!showing.signal.aborted) place.dataset.done = String(count);
  }

  /** Simulations at values of the axis, as events for `heard`, until the signal ends them. */
  async stream(path, values, signal, heard) {
    const effects = this.effects.map((one) => one.name);
    const asked = { ...this.asked, axis: this.axis, values, effects: effects.length ? effects : "none" };
    const response = await this.ask(path, asked, signal);
    if (!response || signal.aborted) return;
    if (!response.ok) return this.showErrors((await response.json()).errors);
    try {
      for await (const [name, content] of events(response.body)) {
        if (signal.aborted) return;
        if (name === "failed") this.showErrors(content.errors);
        await heard(name, content);
      }
    } catch (error) {
      if (!signal.aborted) this.say("errors", text("labGone"), true);
    }
  }
}
