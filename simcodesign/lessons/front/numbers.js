// Numbers as they are shown.

let isGerman = false;

/** In German a comma precedes decimals, and whole parts of five and more digits have narrow blanks between thousands. */
export function numbersIn(language) {
  isGerman = language === "de";
}

/** Digits as the language of the page writes them; lessons/values.py applies the same rule. */
export const local = (digits) => (isGerman ? digits.replace(/(\d+(?:,\d{3})*)(?:\.(\d+))?/g, german) : digits);

function german(_, grouped, decimals) {
  const whole = grouped.replaceAll(",", "");
  const shown = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole;
  return decimals === undefined ? shown : `${shown},${decimals}`;
}

const UNITS = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];

/** The unit in which times up to `most` seconds read well: [seconds, name]. */
export function unitOf(most) {
  return UNITS.find(([seconds]) => most >= 0.9995 * seconds) ?? UNITS.at(-1);
}

/** A number to three digits or, when larger, to whole ones. */
export function digits(value, count = 3) {
  if (!Number.isFinite(value)) return "–";
  if (value !== 0 && Math.abs(value) < 1e-3) return local(value.toPrecision(2));
  const places = Math.max(0, Math.min(count, count - 1 - Math.floor(Math.log10(Math.abs(value) || 1))));
  const shown = value.toFixed(places);
  return local(Math.abs(value) >= 1e4 ? Number(shown).toLocaleString("en") : shown);
}

/** A number as it was understood, with all of its digits. */
export function inFull(value, isGrouped = true) {
  const exact = Number(value.toPrecision(12)), size = Math.abs(exact);
  if (size !== 0 && (size < 1e-6 || size >= 1e15)) return local(String(exact));
  return local(exact.toLocaleString("en", { maximumFractionDigits: 20, useGrouping: isGrouped }));
}

/** A round number of an axis. */
export const tickText = (value) => local(Number(value.toPrecision(6)).toLocaleString("en", { maximumFractionDigits: 6 }));

/** A time in s as text with its unit. */
export function duration(seconds, count = 3) {
  if (seconds === 0) return "0";
  const [size, name] = unitOf(Math.abs(seconds));
  return `${digits(seconds / size, count)}\u00a0${name}`;
}

export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** The largest of values and `least`; Math.max(...values) fails where a browser takes no more arguments (some 120,000). */
export function largest(values, least = -Infinity) {
  let most = least;
  for (const value of values) if (value > most) most = value;
  return most;
}

/** The smallest of values; infinite where there are none. */
export function smallest(values) {
  let least = Infinity;
  for (const value of values) if (value < least) least = value;
  return least;
}

export function escaped(value) {
  return String(value).replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter]);
}
