// The student's code, and the stops of sliders that are drawn from it as in lessons/grading/seeding.py.
import { escaped } from "./numbers.js";
import { text } from "./texts.js";

const PRIMES = Array.from({ length: 310 }, (_, k) => k + 2).filter((n) => !Array.from({ length: n - 2 }, (_, k) => k + 2).some((k) => n % k === 0));
const bits = (value) => Math.floor((value - Math.floor(value)) * 2 ** 32) | 0;

/** SHA-256 of a text, as eight words of 32 bits (FIPS 180-4): browsers have none of their own for files. */
export function sha256(message) {
  const bytes = new TextEncoder().encode(message);
  const view = new DataView(new ArrayBuffer(((bytes.length + 8) >> 6) * 64 + 64));
  new Uint8Array(view.buffer).set(bytes);
  view.setUint8(bytes.length, 0x80);
  view.setUint32(view.byteLength - 4, bytes.length * 8);
  const state = PRIMES.slice(0, 8).map((prime) => bits(Math.sqrt(prime)));
  const turned = (word, by) => (word >>> by) | (word << (32 - by));
  for (let begin = 0; begin < view.byteLength; begin += 64) {
    const words = Array.from({ length: 16 }, (_, k) => view.getInt32(begin + 4 * k));
    let [a, b, c, d, e, f, g, h] = state;
    for (let k = 0; k < 64; k++) {
      if (k > 15) {
        const early = words[k - 15], late = words[k - 2];
        words[k] = (words[k - 16] + (turned(early, 7) ^ turned(early, 18) ^ (early >>> 3)) + words[k - 7] + (turned(late, 17) ^ turned(late, 19) ^ (late >>> 10))) | 0;
      }
      const one = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + bits(Math.cbrt(PRIMES[k])) + words[k]) | 0;
      const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, k) => (state[k] = (state[k] + word) | 0));
  }
  return state.map((word) => word >>> 0);
}

/** A code as it counts, or null for what is none. */
export function checkedCode(given) {
  const code = given.trim().toLowerCase();
  return /^[a-z0-9][a-z0-9._-]{0,39}$/.test(code) && /^[\x00-\x7f]*$/.test(given) ? code : null;
}

/** Which of `count` combinations is that of a code. */
export function placeOf(lesson, code, count) {
  const [, head, digits] = code.match(/^(.*?)([0-9]*)$/);
  const [first, second] = sha256(`${lesson}/${head}`);
  const start = (BigInt(first) << 16n) | (BigInt(second) >> 16n);
  return Number((start + BigInt(digits || 0)) % BigInt(count));
}

/** A form that asks for a code, and calls `done` with one that can be used; `toSave`: at the end, where it may stay empty. */
export function codeForm(done, toSave = false) {
  const form = document.createElement("form");
  form.className = "code-form";
  form.innerHTML = `<label>${text("code")} <input name="code" autocomplete="off" autocapitalize="none" spellcheck="false" aria-describedby="code-note"></label>
    <button type="submit" class="primary">${text(toSave ? "save" : "begin")}</button><p id="code-note" class="note" aria-live="polite">${text(toSave ? "codeToSave" : "codeNote")}</p>`;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const code = checkedCode(form.elements.code.value);
    if (code) return done(code);
    if (toSave && form.elements.code.value.trim() === "") return done("");
    form.querySelector(".note").textContent = text("codeWrong");
    form.elements.code.focus();
  });
  return form;
}

/** Waits for the student's code if the page needs one that is not `given`, and puts texts, questions and sliders to its stops. */
export async function enter(lesson, given) {
  if (document.body.dataset.needsCode === undefined) return { code: given, started: new Date().toISOString() };
  const section = document.createElement("section");
  section.className = "enter";
  section.setAttribute("aria-label", text("code"));
  document.querySelector(".hero").after(section);
  const code = given || await new Promise((done) => {
    section.append(codeForm(done));
    document.body.classList.add("asks-code");
  });
  section.innerHTML = `<p>${text("codeIs", `<b>${escaped(code)}</b>`)}</p>`;
  document.body.classList.remove("asks-code");
  document.body.classList.add("has-code");
  useCode(lesson, code);
  return { code, started: new Date().toISOString() };
}

export function useCode(lesson, code) {
  const { sliders, combinations } = lesson.seeded;
  const number = placeOf(lesson.name, code, combinations.length);
  lesson.parameters = Object.fromEntries(sliders.map((name, k) => [name, combinations[number][k]]));
  for (const name of sliders) lesson.sliders[name].start = lesson.parameters[name];
  lesson.steps.forEach((step, place) => {
    step.questions = step.questions.map((one) => ({ ...one, ...one.cases?.[number] }));
    const html = step.cases?.[number].html;
    if (html === undefined) return;
    const prose = document.querySelector(`#step-${place + 1} .prose`);
    const heads = [...prose.children].filter((one) => one.matches(".number, h2"));
    prose.innerHTML = html;
    prose.prepend(...heads);
  });
}
