// What the laboratory's panel is set to, across a reload and in a file: texts, values, axis, effects, pinned curves.
import { text } from "../texts.js";
import { download } from "./tools.js";

/** As the server has it (lab/asked.py). */
const MOST_CHARACTERS = 65_536;

export class FreeState {
  /** `name`: the page, so that each lesson has a state of its own; `panel`: the panel. */
  constructor(panel, name) {
    Object.assign(this, { panel, key: `simcodesign-lab/${name}` });
  }

  /** Remember what is set now, in this browser. Where it may not remember anything, the panel works without. */
  keep() {
    try {
      localStorage.setItem(this.key, JSON.stringify(this.content));
    } catch { /* storage that is full or forbidden */ }
  }

  /** What was set when the page was left, or null. */
  get kept() {
    try {
      return read(localStorage.getItem(this.key) ?? "");
    } catch {
      return null;
    }
  }

  forget() {
    try {
      localStorage.removeItem(this.key);
    } catch { /* nothing was remembered */ }
  }

  get content() {
    return { simcodesign: 1, laboratory: { ...this.panel.state, pins: this.panel.pins.all } };
  }

  save() {
    download("laboratory.json", "application/json", JSON.stringify(this.content, null, 1));
  }

  async open(file) {
    try {
      this.panel.apply(read(await file.text()));
      this.panel.say("saved", "");
    } catch {
      this.panel.say("saved", text("labNoFile", file.name));
    }
  }
}

const isText = (one) => typeof one === "string" && one.length <= MOST_CHARACTERS;
const isNumber = (one) => typeof one === "number" && Number.isFinite(one);
const isRow = (key) => (one) => isNumber(one?.value) && isNumber(one[key]);

/** The state in a file; throws for anything else, since files come from others. */
function read(content) {
  const { simcodesign, laboratory } = JSON.parse(content);
  if (simcodesign !== 1) throw new Error("format");
  const pins = (laboratory.pins ?? []).slice(0, 4).map((pin) => {
    const { number, names, unit, rows, points } = pin;
    const isWhole = [1, 2, 3, 4].includes(number) && names.length === 2 && [...names, unit].every(isText);
    if (!isWhole || !rows.every(isRow("total")) || !points.every((one) => isRow("mean")(one) && isRow("low")(one) && isRow("high")(one))) throw new Error("pin");
    return { ...settings(pin), number, names, unit, rows, points };
  });
  return { ...settings(laboratory), pins };
}

function settings({ machine, workload, parameters, axis, ends, off, phases = null }) {
  const values = Object.entries(parameters).every(([name, value]) => isText(name) && (isText(value) || isNumber(value)));
  const isEnds = ends === null || (ends.length === 2 && ends.every(isNumber));
  if (![machine, workload, axis].every(isText) || !values || !isEnds || !off.every(isText) || !(phases ?? []).every(isText)) throw new Error("settings");
  return { machine, workload, parameters: { ...parameters }, axis, ends, off: [...off], phases: phases && [...phases] };
}
