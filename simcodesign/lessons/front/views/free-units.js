// Values of the laboratory's panel with their units: how they are shown and read, and at which values a slider stops.

const BINARY = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];
/** Other units of a base unit, largest first. */
const UNITS = {
  B: [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]],
  s: [["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9]],
  "B/s": [["TB/s", 1e12], ["GB/s", 1e9], ["MB/s", 1e6], ["kB/s", 1e3], ["B/s", 1]],
  Hz: [["GHz", 1e9], ["MHz", 1e6], ["kHz", 1e3], ["Hz", 1]],
};
/** Round numbers of a decade (series R10 of ISO 3). */
const DECADE = [1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.3, 8];

const digitsOf = (value) => String(Number(value.toPrecision(6)));

/** A number with the unit in which it has few digits: 1 MiB for 1048576 B; without one where the unit has no others. */
export function withUnit(value, unit) {
  if (typeof value !== "number") return value;
  if (!(unit in UNITS)) return digitsOf(value);
  if (value === 0) return `0 ${unit}`;
  const [name, size] = (unit === "B" && BINARY.find(([, bytes]) => value >= bytes && Number.isInteger((8 * value) / bytes))) || unitFor(value, unit);
  return `${digitsOf(value / size)} ${name}`;
}

function unitFor(value, unit) {
  return UNITS[unit].find(([, size]) => Math.abs(value) >= size) ?? UNITS[unit].at(-1);
}

/** What was typed as a number in the base unit, or NaN. */
export function numberOf(typed, unit) {
  const [, digits, name] = /^\s*([-+]?[\d.]+(?:e[-+]?\d+)?)\s*(.*?)\s*$/i.exec(typed) ?? [];
  if (digits === undefined) return NaN;
  if (name === "") return Number(digits);
  const known = [...(UNITS[unit] ?? []), ...(unit === "B" ? BINARY : [])].find(([one]) => one === name.replace("µ", "u"));
  return known ? Number(digits) * known[1] : NaN;
}

/** The values at which a slider from `from` to `to` stops, with `value` among them: powers of two of ranks and bytes, otherwise round numbers. */
export function stopsOf({ name, unit, whole }, from, to, value) {
  const found = new Set([value]);
  if (name === "P" || unit === "B") for (let power = 2 ** Math.ceil(Math.log2(from)); power <= to; power *= 2) found.add(power);
  else for (let decade = Math.floor(Math.log10(from)); 10 ** decade <= to; decade++)
    for (const one of DECADE) {
      const round = whole ? Math.round(one * 10 ** decade) : Number((one * 10 ** decade).toPrecision(4));
      if (round >= from && round <= to) found.add(round);
    }
  return [...found].sort((one, other) => one - other);
}

/** Ticks of a logarithmic axis of bytes: powers of two, some six of them. */
export function byteTicks(from, to) {
  const first = Math.ceil(Math.log2(from)), last = Math.floor(Math.log2(to)), step = Math.max(1, Math.round((last - first) / 6));
  return Array.from({ length: Math.max(0, Math.floor((last - first) / step) + 1) }, (_, k) => 2 ** (first + k * step));
}
