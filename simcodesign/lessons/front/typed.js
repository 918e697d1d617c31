// Numbers as people type them ("2,279", "2.279,5", "3/2", "3·2^4"), read as lessons/grading/typed.py reads them.

/** By language: the mark before decimals, and the mark between thousands. */
const MARKS = { en: [".", ","], de: [",", "."] };
const MOST_CHARACTERS = 100;
/** Between thousands in both languages: blanks of several widths, and apostrophes. */
const GAPS = " \u00a0\u2009\u202f'\u2019";
const SIGNS = [[/[xX×·⋅∙∗]/g, "*"], [/[÷:⁄]/g, "/"], [/\u2212/g, "-"], [/\u03bc/g, "\u00b5"]];

/** The numbers that a text can mean: none, one, or two, of which the first is in the notation of the language. */
export function readings(text, language, unit = "") {
  const typed = withoutUnit(SIGNS.reduce((rest, [sign, one]) => rest.replace(sign, one), text).trim(), unit);
  const [decimal, thousands] = MARKS[language] ?? MARKS.en;
  const own = valueOf(typed, decimal, thousands), other = valueOf(typed, thousands, decimal);
  const isClear = own !== null && !new RegExp(`\\d\\${thousands}\\d{3}`).test(typed);
  const found = [own, other].filter((value) => value !== null);
  return [...new Set(isClear ? found.slice(0, 1) : found)];
}

/** Whether a text has a number with a mark between thousands, so that answers beside it are read likewise. */
export function writesThousands(html, language) {
  const [, thousands] = MARKS[language] ?? MARKS.en;
  return new RegExp(`(?<![\\d.,])[1-9]\\d{0,2}(\\${thousands}\\d{3})+(?!\\d)`).test(html.replace(/<[^>]*>/g, ""));
}

function withoutUnit(typed, unit) {
  const name = [unit, unit.replace("µs", "us")].find((one) => one && typed.endsWith(one));
  return name ? typed.slice(0, -name.length).trim() : typed;
}

/** The value of a number, product or other expression in one notation; null for what is none, or not finite. */
function valueOf(typed, decimal, thousands) {
  if (typed.length > MOST_CHARACTERS) return null;
  try {
    const rest = tokens(typed, decimal, thousands).reverse(), value = sum(rest);
    return rest.length ? null : finite(value);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function tokens(typed, decimal, thousands) {
  const whole = `[1-9]\\d{0,2}([${GAPS}\\${thousands}])\\d{3}(?:\\2\\d{3})*(?!\\d)|\\d+`;
  const number = `((?:${whole})(?:\\${decimal}\\d*)?|\\${decimal}\\d+)([eE][+-]?\\d+)?`;
  const token = new RegExp(`\\s*(?:${number}|(\\*\\*|[-+*/^()]))`, "y");
  const found = [], end = typed.trimEnd().length;
  while (token.lastIndex < end) {
    const match = token.exec(typed);
    if (!match) throw new RangeError(typed);
    const [, shown, , exponent = "", sign] = match;
    const digits = shown?.replace(new RegExp(`[${GAPS}\\${thousands}]`, "g"), "").replace(decimal, ".");
    found.push(sign ? sign.replace("**", "^") : finite(Number(digits + exponent)));
  }
  return found;
}

// Sums of products of powers, as a pocket calculator has them. RangeError for what has no value.
const finite = (value) => {
  if (!Number.isFinite(value)) throw new RangeError(value);
  return value;
};
const next = (rest, ...signs) => (signs.includes(rest.at(-1)) ? rest.pop() : null);

function sum(rest) {
  let value = product(rest), sign;
  while ((sign = next(rest, "+", "-"))) value = finite(value + (sign === "+" ? 1 : -1) * product(rest));
  return value;
}

function product(rest) {
  let value = signed(rest), sign;
  while ((sign = next(rest, "*", "/"))) value = finite(sign === "*" ? value * signed(rest) : value / signed(rest));
  return value;
}

function signed(rest) {
  const sign = next(rest, "+", "-");
  if (sign) return sign === "-" ? -signed(rest) : signed(rest);
  const base = atom(rest);
  return next(rest, "^") ? finite(base ** signed(rest)) : base;
}

function atom(rest) {
  if (next(rest, "(")) {
    const value = sum(rest);
    if (!next(rest, ")")) throw new RangeError("(");
    return value;
  }
  const token = rest.pop();
  if (typeof token !== "number") throw new RangeError(token);
  return token;
}
