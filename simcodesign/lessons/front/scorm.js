// Reports score and status of a lesson inside a learning platform, and keeps answers there: by the API that ADL's SCORM
// Run-Time Environment 1.2 describes. Only the page of a SCORM package looks for it.
import { answersIn } from "./answers.js";
import { checkedCode } from "./code.js";
import { scoreOf } from "./score.js";

const MOST_FRAMES = 50;
/** The most characters that cmi.suspend_data holds. */
const MOST_SUSPENDED = 4096;
const MOST_NAME = 40;

/** The connection to the platform; null outside of one. */
export function connect() {
  const api = document.body.dataset.scorm === undefined ? null : (apiFrom(window) ?? apiFrom(window.opener));
  return api && String(api.LMSInitialize("")) === "true" ? new Platform(api) : null;
}

function apiFrom(frame) {
  try {
    for (let one = frame, k = 0; one && k < MOST_FRAMES; one = one.parent, k++) {
      if (one.API) return one.API;
      if (one.parent === one) break;
    }
  } catch {
    // a frame of another site
  }
  return null;
}

class Platform {
  #api;
  #begun = performance.now();
  #status;

  constructor(api) {
    this.#api = api;
    this.#status = this.#get("cmi.core.lesson_status");
    // Characters that no code has become "-", so that the numbers of questions depend on the student.
    this.code = checkedCode(this.#get("cmi.core.student_id").replace(/[^A-Za-z0-9._-]/g, "-").replace(/^[._-]+/, "").slice(0, MOST_NAME)) ?? "";
  }

  #get(name) {
    return String(this.#api.LMSGetValue(name) ?? "");
  }

  #set(name, value) {
    this.#api.LMSSetValue(name, String(value));
  }

  /** The answers that the platform has kept. */
  answersOf(lesson) {
    try {
      return answersIn(JSON.parse(this.#get("cmi.suspend_data") || "{}"), lesson);
    } catch {
      return {};
    }
  }

  follow(lesson, store) {
    if (this.#status !== "completed" && this.#status !== "passed") this.#set("cmi.core.lesson_status", (this.#status = "incomplete"));
    store.subscribe((changed) => changed.has("answers") && this.report(lesson, store));
    addEventListener("pagehide", () => this.finish());
    if (scoreOf(lesson, store.state.answers).answered || !scoreOf(lesson, {}).asked) this.report(lesson, store);
  }

  report(lesson, store) {
    const { answers } = store.state, { points, possible, answered, asked } = scoreOf(lesson, answers);
    if (possible) {
      this.#set("cmi.core.score.min", 0);
      this.#set("cmi.core.score.max", 100);
      this.#set("cmi.core.score.raw", +((100 * points) / possible).toFixed(2));
    }
    if (answered === asked && this.#status === "incomplete") this.#set("cmi.core.lesson_status", (this.#status = "completed"));
    const suspended = JSON.stringify(Object.fromEntries(Object.entries(answers).map(([name, { value, typed }]) => [name, { value: shortened(value), typed }])));
    if (suspended.length <= MOST_SUSPENDED) this.#set("cmi.suspend_data", suspended);
    if (String(this.#api.LMSCommit("")) === "true") store.state.exported = answers;
  }

  finish() {
    this.#set("cmi.core.session_time", timespan((performance.now() - this.#begun) / 1000));
    this.#set("cmi.core.exit", "suspend");
    this.#api.LMSCommit("");
    this.#api.LMSFinish("");
  }
}

/** Drawn times with six digits. */
const shortened = (value) => (typeof value === "object" ? Object.fromEntries(Object.entries(value).map(([stop, time]) => [stop, +time.toPrecision(6)])) : value);

/** Seconds as HHHH:MM:SS.SS. */
export function timespan(seconds) {
  const hundredths = Math.min(Math.round(100 * seconds), 9999 * 360000), digits = (value, count) => String(value).padStart(count, "0");
  return `${digits(Math.floor(hundredths / 360000), 4)}:${digits(Math.floor(hundredths / 6000) % 60, 2)}:${digits(Math.floor(hundredths / 100) % 60, 2)}.${digits(hundredths % 100, 2)}`;
}
