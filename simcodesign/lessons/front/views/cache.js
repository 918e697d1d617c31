// A loop goes through an array, and a cache hits, loads and evicts lines: access by access, or playing. Python computed all accesses.
import { Figure } from "../figure.js";
import { escaped } from "../numbers.js";
import { reducedMotion } from "../store.js";
import { text } from "../texts.js";

const STEP_MS = 700, ELEMENT_BYTES = 8, LINE_BYTES = 64, IN_LINE = LINE_BYTES / ELEMENT_BYTES;
const times = (count, make) => Array.from({ length: count }, (_, k) => make(k)).join("");

export class Cache extends Figure {
  static uses = [];

  build() {
    const { elements, strides, sizes } = this.options, title = this.options.title;
    [this.stride, this.size, this.number] = [0, 0, 0];
    const range = (name, label, last) => `<label><span>${label}</span><output></output><input type="range" min="0" max="${last}" step="1" value="0" data-cache="${name}"></label>`;
    this.innerHTML = `<figure class="cache" role="group" aria-label="${escaped(title || text("cacheSlots"))}">${this.heading(title)}
      <div class="sliders">${range("stride", text("cacheStride"), strides.length - 1)}${range("size", text("cacheSize"), sizes.length - 1)}</div>
      <pre class="loop"></pre>
      <div class="steps"><button type="button" class="ghost" data-step-by="-1">◀ ${text("before")}</button><button type="button" class="ghost play-cache" aria-pressed="false">${text("play")}</button>
      <button type="button" class="ghost" data-step-by="1">${text("after")} ▶</button><input type="range" min="0" step="1" data-cache="number" aria-label="${text("cacheAccess")}"></div>
      <p class="told" aria-live="polite"></p>
      <div aria-hidden="true"><p class="note">${text("cacheArray", elements, IN_LINE)}</p><div class="array">${times(Math.ceil(elements / IN_LINE), (line) =>
        `<div class="line"><span>${line}</span>${times(Math.min(IN_LINE, elements - line * IN_LINE), () => "<i></i>")}</div>`)}</div>
      <p class="note">${text("cacheSlots")}</p><div class="slots"></div></div>
      <details><summary></summary><ol></ol></details></figure>`;
    for (const input of this.querySelectorAll("input")) input.addEventListener("input", () => this.change({ [input.dataset.cache]: Number(input.value) }));
    for (const one of this.querySelectorAll("[data-step-by]")) one.addEventListener("click", () => this.change({ number: this.number + Number(one.dataset.stepBy) }));
    this.querySelector(".play-cache").addEventListener("click", () => (this.timer ? this.stop() : this.play()));
    this.querySelector(".play-cache").hidden = reducedMotion(); // then it is gone through access by access
    this.querySelector("details").addEventListener("toggle", () => this.redraw());
  }

  disconnectedCallback() {
    this.stop();
  }

  /** The accesses at this stride and size. */
  get case() {
    return this.options.cases[this.stride * this.options.sizes.length + this.size];
  }

  /** Another stride or size begins at the start; an access is one of those that there are. */
  change(values) {
    this.stop();
    if (!("number" in values)) values = { ...values, number: 0 };
    Object.assign(this, values);
    this.number = Math.max(0, Math.min(this.number, this.case.accesses.length));
    this.redraw();
  }

  play() {
    if (this.number === this.case.accesses.length) this.number = 0;
    this.timer = setInterval(() => {
      this.number++;
      if (this.number >= this.case.accesses.length) this.stop();
      this.redraw();
    }, STEP_MS);
    this.redraw();
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.redraw();
  }

  /** An access in words. */
  words(k) {
    const { accesses } = this.case, [element, , hit, evicted] = accesses[k];
    const key = hit ? "cacheHit" : evicted < 0 ? "cacheLoad" : "cacheEvict";
    return text(key, k + 1, accesses.length, element, Math.floor(element / IN_LINE), evicted);
  }

  draw() {
    const { accesses, stride, size, sets } = this.case, lines = size / LINE_BYTES, { elements } = this.options;
    const held = new Array(lines).fill(-1);
    let hits = 0;
    for (const [element, slot, hit] of accesses.slice(0, this.number)) {
      held[slot] = Math.floor(element / IN_LINE);
      hits += hit;
    }
    const now = accesses[this.number - 1];
    this.controls(stride, size, lines, elements);
    this.tell(now, hits);
    this.array(now, stride, held);
    this.slots(now, held, sets);
    this.list();
  }

  controls(stride, size, lines, elements) {
    const [strideInput, sizeInput, numberInput] = this.querySelectorAll("input");
    const shown = text("cacheLines", `${size} B`, lines);
    this.put(strideInput, this.stride, String(stride));
    this.put(sizeInput, this.size, shown);
    strideInput.previousElementSibling.textContent = stride;
    sizeInput.previousElementSibling.textContent = shown;
    numberInput.max = this.case.accesses.length;
    this.put(numberInput, this.number, `${this.number} / ${this.case.accesses.length}`);
    this.querySelector(".loop").textContent = `for (i = 0; i < ${elements}; i += ${stride}) sum += a[i];`;
    const play = this.querySelector(".play-cache");
    play.textContent = text(this.timer ? "pause" : "play");
    play.setAttribute("aria-pressed", String(Boolean(this.timer)));
    const [before, after] = this.querySelectorAll("[data-step-by]");
    before.disabled = this.number === 0;
    after.disabled = this.number === this.case.accesses.length;
  }

  put(input, value, shown) {
    input.value = value;
    input.setAttribute("aria-valuetext", shown);
  }

  /** While it plays, nothing is read out: a reader would never come to an end. */
  tell(now, hits) {
    const told = this.querySelector(".told");
    told.setAttribute("aria-live", this.timer ? "off" : "polite");
    told.textContent = now ? `${this.words(this.number - 1)} ${text("cacheCount", hits, this.number - hits)}` : text("cacheStart", this.sweeps);
  }

  get sweeps() {
    return this.case.accesses.filter(([element]) => element === 0).length;
  }

  array(now, stride, held) {
    this.querySelectorAll(".array .line").forEach((group, line) => {
      group.classList.toggle("is-held", held.includes(line));
      group.classList.toggle("is-evicted", now?.[3] === line);
      group.querySelectorAll("i").forEach((cell, k) => {
        const element = line * IN_LINE + k;
        cell.className = [element % stride ? "" : "used", now?.[0] === element ? "now" : ""].join(" ").trim();
      });
    });
  }

  /** A mark besides the colour: what happened to a line is also a word. */
  slots(now, held, sets) {
    const ways = held.length / sets;
    const slot = (number) => {
      const isNow = now?.[1] === number, state = !isNow ? "" : now[2] ? "hit" : "loaded";
      const word = !isNow ? "" : now[2] ? text("cacheMarkHit") : text("cacheMarkLoaded");
      const gone = isNow && now[3] >= 0 ? `<s>${text("cacheLine", now[3])}</s> ${text("cacheMarkEvicted")}` : "";
      return `<div class="slot ${state}"><b>${held[number] < 0 ? text("cacheFree") : text("cacheLine", held[number])}</b><span>${word}</span><span>${gone}</span></div>`;
    };
    this.querySelector(".slots").innerHTML = times(sets, (set) =>
      `<div class="set">${sets > 1 ? `<span class="note">${text("cacheSet", set)}</span>` : ""}${times(ways, (way) => slot(set * ways + way))}</div>`);
  }

  /** The same for those who read or hear it: every access as a sentence, once it is asked for. */
  list() {
    const { accesses } = this.case, all = accesses.reduce((sum, one) => sum + one[2], 0), details = this.querySelector("details");
    details.querySelector("summary").textContent = text("cacheAll", accesses.length, all, accesses.length - all);
    if (!details.open || this.listed === this.case) return;
    this.listed = this.case;
    details.querySelector("ol").innerHTML = accesses.map((_, k) => `<li>${escaped(this.words(k))}</li>`).join("");
  }
}
