// Curves of the laboratory's panel that are pinned: they stay in the chart, and a table says what differs from now.
import { digits, escaped } from "../numbers.js";
import { text } from "../texts.js";
import { withUnit } from "./free-units.js";

const MOST = 4;

export class FreePins {
  /** `panel`: the panel; `place`: where the table stands. */
  constructor(panel, place) {
    Object.assign(this, { panel, place, all: [] });
  }

  get canAdd() {
    return this.all.length < MOST && this.panel.curve.rows.length > 1;
  }

  /** Keep the curve that is shown now, with everything it was made of. */
  add() {
    if (!this.canAdd) return;
    const { curve, known, state } = this.panel, parameters = { ...Object.fromEntries(known.parameters.map((one) => [one.name, one.value])), ...state.parameters };
    const used = new Set(this.all.map((pin) => pin.number));
    const number = [1, 2, 3, 4].find((one) => !used.has(one));
    this.all.push({ number, names: [known.machine, known.workload], unit: curve.axis.unit, rows: [...curve.rows], points: [...curve.points], ...state, parameters });
    this.changed();
  }

  remove(number) {
    this.all = this.all.filter((pin) => pin.number !== number);
    this.changed();
  }

  changed() {
    this.panel.keep();
    this.panel.curve.pins = this.all;
    this.panel.curve.draw();
    this.show();
  }

  /** The table, as of now. */
  show() {
    const { known, curve } = this.panel;
    this.place.hidden = !this.all.length;
    if (!this.all.length || !known || !curve.axis) return void (this.place.innerHTML = "");
    const rows = this.all.map((pin) => `<tr><th scope="row"><b class="pin">${pin.number}</b></th><td>${escaped(pin.names.join(", "))}<br>${this.differences(pin)}</td>
      ${this.ratios(pin)}<td><button type="button" class="ghost" data-back="${pin.number}">${text("labTakeBack")}</button>
      <button type="button" class="ghost" data-unpin="${pin.number}" aria-label="${text("labUnpin", pin.number)}">×</button></td></tr>`);
    this.place.innerHTML = `<table><thead><tr><th scope="col">${text("labPinned")}</th><th scope="col">${text("labDiffers")}</th>
      <th scope="col">${text("labNowForecast")}</th><th scope="col">${text("labNowSimulation")}</th><th scope="col">${text("labPinDo")}</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
    for (const one of this.place.querySelectorAll("[data-unpin]")) one.addEventListener("click", () => this.remove(Number(one.dataset.unpin)));
    for (const one of this.place.querySelectorAll("[data-back]")) one.addEventListener("click", () => this.panel.apply(this.all.find((pin) => pin.number === Number(one.dataset.back))));
  }

  /** Lines of both texts, values and effects that are not as they were: was → is. */
  differences(pin) {
    const now = this.panel.state, found = [...changedLines(pin.machine, now.machine), ...changedLines(pin.workload, now.workload)];
    for (const { name, unit, value } of this.panel.known.parameters) {
      if (name === now.axis && pin.axis === now.axis) continue;
      const [was, is] = [pin, now].map((one) => one.parameters[name] ?? value);
      if (String(was) !== String(is)) found.push(`${name}: ${withUnit(was, unit)} → ${withUnit(is, unit)}`);
    }
    if (pin.off.join() !== now.off.join()) found.push(`${text("labOff")}: ${pin.off.join(", ") || "–"} → ${now.off.join(", ") || "–"}`);
    if (String(pin.phases) !== String(now.phases)) found.push(`${text("labPhases")}: ${pin.phases?.join(", ") ?? text("labAll")} → ${now.phases?.join(", ") ?? text("labAll")}`);
    if (pin.axis !== now.axis) found.unshift(text("labOtherAxis", pin.axis));
    return `<small>${found.slice(0, 4).map(escaped).join("<br>") || text("labSame")}${found.length > 4 ? "<br>…" : ""}</small>`;
  }

  /** Times now over times then, at the largest value that both have. */
  ratios(pin) {
    if (pin.axis !== this.panel.axis) return "<td>–</td><td>–</td>";
    const { rows, points } = this.panel.curve;
    return [[rows, pin.rows, "total"], [points, pin.points, "mean"]].map(([now, then, key]) => {
      const last = now.findLast((one) => then.some((other) => other.value === one.value));
      if (!last) return "<td>–</td>";
      const other = then.find((one) => one.value === last.value);
      return `<td>×${digits(last[key] / other[key])}<br><small>${escaped(pin.axis)} = ${withUnit(last.value, pin.unit)}</small></td>`;
    }).join("");
  }
}

/** Two lines as one, with a key that they share written once. */
function change(was, is) {
  const [key] = /^[\w.-]+: /.exec(was) ?? [""];
  return `${was} → ${key && is.startsWith(key) ? is.slice(key.length) : is}`;
}

/** Lines that differ between two texts of the same length, or else lines that only one of them has. */
function changedLines(was, is) {
  const [before, after] = [was, is].map((one) => one.split("\n").map((line) => line.trim()));
  if (before.length === after.length) return before.flatMap((line, k) => (line === after[k] ? [] : [change(line, after[k])]));
  const gone = before.filter((line) => !after.includes(line)), come = after.filter((line) => !before.includes(line));
  return [...gone.map((line) => `${line} →`), ...come.map((line) => `→ ${line}`)];
}
