// The values of a parameter that the laboratory's panel offers: from where to where, along an axis, and in a field with a slider.
import { escaped } from "../numbers.js";
import { numberOf, stopsOf, withUnit } from "./free-units.js";

/** From where to where a slider goes: a factor of 64 to both sides of the value, as far as is allowed. */
export function span(one, mostRanks) {
  const low = one.low ?? -Infinity, high = Math.min(one.high ?? Infinity, one.name === "P" ? mostRanks : Infinity);
  const value = typeof one.value === "number" && one.value > 0 ? one.value : 1;
  const [from, to] = one.name === "P" ? [Math.max(2, low), Math.max(high, 2)] : [Math.max(value / 64, low), Math.min(value * 64, high)];
  const whole = (number) => (one.whole ? Math.round(number) : number);
  return [whole(Math.max(from, one.whole ? 1 : from)), whole(to)];
}

/** `count` values between both ends, which are those of simulated points if `isRound`: powers of two of bytes and of whole numbers. */
export function axisValues(one, [from, to], count, isRound) {
  const isRatio = from > 0 && to / from > 8;
  const values = Array.from({ length: count }, (_, k) => (isRatio ? from * (to / from) ** (k / (count - 1)) : from + ((to - from) * k) / (count - 1)));
  const nice = (value) => (one.whole ? Math.round(value) : one.unit === "B" && isRatio && isRound ? 2 ** Math.round(Math.log2(value)) : value);
  // Counts that double are those of trees and grids.
  if (one.whole && isRatio) {
    const powers = [];
    for (let value = 2 ** Math.ceil(Math.log2(from)); value <= to; value *= 2) powers.push(value);
    if (powers.length > 2 && isRound) return powers.slice(-40);
    return [...new Set([...values.map(nice), ...powers])].sort((first, second) => first - second);
  }
  return [...new Set(values.map(nice))];
}

/** The field of a parameter that has this value, with a slider if `ends` allow one. */
export function fieldOf(one, value, [from, to]) {
  const name = escaped(one.name), choices = Object.entries(one.choices);
  const about = `<span title="${escaped(one.about)}">${name}${one.unit ? ` <small class="faint">${escaped(one.unit)}</small>` : ""}</span>`;
  if (choices.length) {
    const options = choices.map(([word, number]) => `<option${value === word || value === number ? " selected" : ""}>${escaped(word)}</option>`);
    return `<label>${about}<select data-set="${name}">${options.join("")}</select></label>`;
  }
  const number = typeof value === "number" ? value : numberOf(value, one.unit), shown = withUnit(value, one.unit);
  const stops = from > 0 && to > from && number > 0 ? stopsOf(one, from, to, number) : [];
  const slider = stops.length > 1
    ? `<input type="range" min="0" max="${stops.length - 1}" step="1" data-set="${name}" data-stops="${stops.join(" ")}" value="${stops.indexOf(number)}" aria-label="${name}" aria-valuetext="${escaped(shown)}">` : "";
  return `<label>${about}<input type="text" data-set="${name}" value="${escaped(shown)}">${slider}</label>`;
}
