// Labels of charts that do not stand on one another.
import { escaped } from "../numbers.js";

/** Half of the width of a label, in pixels. */
const half = (words) => 3.4 * words.length + 3;

/** Below an axis at height `base`: a mark at every stop, its text where there is room, and its note where there is room for that.
 * `stops`: {text, note} from left to right; `x`: where one stands. */
export function stopLabels(stops, x, base) {
  let left = Infinity, leftOfNotes = Infinity; // of the label to the right
  return stops.toReversed().map((stop) => {
    const at = x(stop), mark = `<line class="stop" x1="${at}" x2="${at}" y1="${base}" y2="${base + 4}"/>`;
    if (at + half(stop.text) > left) return mark;
    left = at - half(stop.text);
    const hasNote = stop.note && at + half(stop.note) <= leftOfNotes;
    if (hasNote) leftOfNotes = at - half(stop.note);
    const note = hasNote ? `<tspan x="${at}" dy="13" class="faint">${escaped(stop.note)}</tspan>` : "";
    return `${mark}<text x="${at}" y="${base + 17}" text-anchor="middle">${escaped(stop.text)}${note}</text>`;
  }).join("");
}

/** Two heights that are moved apart to a distance, none of them below `lowest`. */
export function apart(first, second, distance, lowest) {
  const [high, low] = [Math.min(first, second), Math.max(first, second)], short = Math.max(0, distance - (low - high));
  const bottom = Math.min(low + (2 * short) / 3, lowest), top = Math.min(high - short / 3, bottom - distance);
  return first > second ? [bottom, top] : [top, bottom];
}
