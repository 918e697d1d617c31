// The events of a small run one by one, beside the lines of the reference engine that make each of them happen.
import { Figure } from "../figure.js";
import { duration, escaped } from "../numbers.js";
import { term } from "../terms.js";
import { text } from "../texts.js";

export class Events extends Figure {
  static uses = ["stops", "rungs", "time"];

  build() {
    this.run = this.runs[0];
    this.number = 0;
    if (!this.run.events) return;
    const at = this.lesson.words(this.run, this.run.events.at);
    this.innerHTML = `<figure>${this.heading(this.options.title, escaped(text("shown", at)))}
      <div class="steps"><button type="button" class="ghost" data-step-by="-1">◀ ${text("before")}</button>
      <button type="button" class="ghost" data-step-by="1">${text("after")} ▶</button><output></output></div>
      <div class="events"><ol tabindex="0" role="listbox" aria-label="${text("events")}"></ol><div class="source" tabindex="0" role="region" aria-label="${text("source")}" aria-live="polite"></div></div></figure>`;
    this.list = this.querySelector("ol");
    this.list.id = `events-${this.dataset.step}-${this.dataset.view}`;
    for (const one of this.querySelectorAll("[data-step-by]")) one.addEventListener("click", () => this.go(this.number + Number(one.dataset.stepBy)));
    this.list.addEventListener("click", (event) => {
      const item = event.target.closest("li");
      if (item) this.go(Number(item.dataset.number));
    });
    this.list.addEventListener("keydown", (event) => {
      const moves = { ArrowDown: this.number + 1, ArrowUp: this.number - 1, Home: 0, End: this.rows.length - 1 };
      if (!(event.key in moves)) return;
      event.preventDefault();
      this.go(moves[event.key]);
    });
  }

  /** Choose an event; the clock of all views goes to its time. */
  go(number) {
    this.number = Math.max(0, Math.min(number, this.rows.length - 1));
    this.chosen = true;
    this.store.set({ time: this.rows[this.number].time, playing: false });
    this.redraw();
  }

  get simulatedRung() {
    return this.run.events ? this.rungOf(this.run) : null;
  }

  draw() {
    if (!this.run.events) return;
    const rows = this.lesson.events(this.run, this.rungOf(this.run)), { time } = this.state;
    if (rows !== this.rows) {
      this.rows = rows;
      this.list.innerHTML = rows.map((row, number) => this.item(row, number)).join("");
      this.number = Math.min(this.number, Math.max(rows.length - 1, 0));
    }
    if (!rows.length) return;
    // The clock has been moved elsewhere: the last event until then.
    if (Math.abs(rows[this.number].time - time) > 1e-6 * (rows.at(-1).time || 1))
      this.number = Math.max(0, rows.findLastIndex((row) => row.time <= time * (1 + 1e-6)));
    const items = this.list.children;
    this.list.querySelector('[aria-selected="true"]')?.setAttribute("aria-selected", "false");
    const item = items[this.number];
    item.setAttribute("aria-selected", "true");
    this.list.setAttribute("aria-activedescendant", item.id);
    const { list } = this;
    if (item.offsetTop < list.scrollTop || item.offsetTop + item.offsetHeight > list.scrollTop + list.clientHeight)
      list.scrollTop = item.offsetTop - list.clientHeight / 3;
    this.querySelector("output").textContent = text("ofEvents", this.number + 1, rows.length);
    this.source(rows[this.number]);
  }

  item(row, number) {
    const waits = row.what === "waits" ? " role-waiting" : "";
    return `<li role="option" aria-selected="false" id="${this.list.id}-${number}" data-number="${number}"><span class="when">${duration(row.time, 4)}</span>
      <span class="who">${row.operation === "message" ? `${row.rank} → ${row.peer}` : escaped(text("rankShort", row.rank))}</span><span class="what${waits}">${escaped(this.words(row))}</span></li>`;
  }

  /** An event in words. */
  words(row) {
    const about = row.operation === "message" || row.station ? "" : row.peer === null ? ` ${term(row.operation)}` : ` ${term(row.operation)} ${row.operation === "receive" ? "←" : "→"} ${row.peer}`;
    const station = term(row.station ?? "");
    if (row.waits_for !== null) return text("event_waits_for", row.waits_for);
    if (row.what === "waits" && row.holder) return text("event_waits_holder", station, row.holder.length > 1 ? row.holder.join(" → ") : text("rankShort", row.holder[0]));
    return `${text(`event_${row.what}`, station)}${about}`;
  }

  /** Functions of the engine in the order in which they run, the lines that do marked. */
  source(row) {
    const { functions } = this.run.events;
    const parts = row.lines.map(([number, ...ran]) => {
      const one = functions[number], marked = new Set(ran);
      const lines = one.text.map((line, k) => `<span class="line${marked.has(k) ? " ran" : ""}"><i>${one.first + k}</i>${marked.has(k) ? `<mark>${escaped(line)}</mark>` : escaped(line)}</span>`);
      return `<p><b>${escaped(one.name)}</b> <span class="faint">engine/reference/${escaped(one.file)}</span></p><pre>${lines.join("")}</pre>`;
    });
    this.querySelector(".source").innerHTML = parts.join("") || `<p class="faint">${text("noLines")}</p>`;
  }
}
