"""Numbers as people type them: ``2,279``, ``2.279,5``, ``3/2``, ``3·2^4``. The page reads them in ``front/typed.js``.

A language has a mark before decimals and one between thousands. Text in the notation of the other language is accepted
if it cannot be meant in the own one. Where both notations give a number and the own one takes a mark for the mark of
thousands (``1,375`` in English), the text is ambiguous: ``readings`` returns both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from html import unescape

#: For each language: the mark before decimals, and the mark between thousands.
MARKS = {"en": (".", ","), "de": (",", ".")}
#: Longer texts are no answers, and nest too deeply.
MOST_CHARACTERS = 100
#: Between thousands in both languages: blanks of several widths, and apostrophes.
_GAPS = " \N{NO-BREAK SPACE}\N{THIN SPACE}\N{NARROW NO-BREAK SPACE}'\N{RIGHT SINGLE QUOTATION MARK}"
#: Signs that mean the same, and the sign that replaces all of them.
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("xX×·⋅∙∗", "*"),
        **dict.fromkeys("÷:⁄", "/"),
        "\N{MINUS SIGN}": "-",
        "\N{GREEK SMALL LETTER MU}": "\N{MICRO SIGN}",
    }
)


def readings(text: str, language: str, unit: str = "") -> tuple[float, ...]:
    """Return the numbers that a text can mean: none, one, or two, the first of them in the notation of ``language``.

    ``unit``: the answer's unit, which may follow the number.
    """
    typed = _without_unit(text.translate(_SIGNS).strip(), unit)
    decimal, thousands = MARKS[language]
    own, other = _value(typed, decimal, thousands), _value(typed, thousands, decimal)
    found = [value for value in (own, other) if value is not None]
    is_clear = own is not None and not re.search(rf"[0-9]\{thousands}[0-9]{{3}}", typed)
    return tuple(dict.fromkeys(found[:1] if is_clear else found))


def writes_thousands(html: str, language: str) -> bool:
    """Return whether a text has a number with a mark between thousands, so that the other answers are read likewise."""
    _, thousands = MARKS[language]
    shown = unescape(re.sub(r"<[^>]*>", "", html))
    return re.search(rf"(?<![\d.,])[1-9]\d{{0,2}}(\{thousands}\d{{3}})+(?!\d)", shown) is not None


def _without_unit(typed: str, unit: str) -> str:
    for name in (unit, unit.replace("µs", "us")):
        if name and typed.endswith(name):
            return typed[: -len(name)].strip()
    return typed


def _value(typed: str, decimal: str, thousands: str) -> float | None:
    """Return the value of a number, product or other expression in one notation.

    None for what is none, or not finite.
    """
    if len(typed) > MOST_CHARACTERS:
        return None
    try:
        calculation = _Calculation(list(_tokens(typed, decimal, thousands)))
        value = calculation.sum()
    except (ValueError, ArithmeticError):
        return None
    return value if not calculation.rest and math.isfinite(value) else None


def _tokens(typed: str, decimal: str, thousands: str) -> Iterator[float | str]:
    """Numbers and signs. ValueError for anything else."""
    whole = rf"[1-9][0-9]{{0,2}}([{_GAPS}\{thousands}])[0-9]{{3}}(?:\2[0-9]{{3}})*(?![0-9])|[0-9]+"
    number = rf"((?:{whole})(?:\{decimal}[0-9]*)?|\{decimal}[0-9]+)([eE][+-]?[0-9]+)?"
    token = re.compile(rf"\s*(?:{number}|(\*\*|[-+*/^()]))")
    place, end = 0, len(typed.rstrip())
    while place < end:
        found = token.match(typed, place)
        if found is None:
            raise ValueError(typed)
        shown, _, exponent, sign = found.groups()
        if sign:
            yield sign.replace("**", "^")
        else:
            digits = re.sub(rf"[{_GAPS}\{thousands}]", "", shown).replace(decimal, ".")
            yield _finite(float(digits + (exponent or "")))
        place = found.end()


class _Calculation:
    """Evaluate sums of products of powers, as a pocket calculator does.

    ValueError for tokens in no such order, ArithmeticError for what has no finite value.
    """

    def __init__(self, tokens: list[float | str]) -> None:
        self.rest = tokens[::-1]

    def _next(self, *signs: str) -> str | None:
        """Return the next token, taken away, if it is one of these signs."""
        token = self.rest[-1] if self.rest else None
        if isinstance(token, str) and token in signs:
            self.rest.pop()
            return token
        return None

    def sum(self) -> float:
        """Return the text of products."""
        value = self._product()
        while sign := self._next("+", "-"):
            other = self._product()
            value = _finite(value + other if sign == "+" else value - other)
        return value

    def _product(self) -> float:
        value = self._signed()
        while sign := self._next("*", "/"):
            other = self._signed()
            value = _finite(value * other if sign == "*" else value / other)
        return value

    def _signed(self) -> float:
        if sign := self._next("+", "-"):
            return -self._signed() if sign == "-" else self._signed()
        base = self._atom()
        return _finite(math.pow(base, self._signed())) if self._next("^") else base

    def _atom(self) -> float:
        if self._next("("):
            value = self.sum()
            if not self._next(")"):
                raise ValueError("a bracket is open")
            return value
        token = self.rest.pop() if self.rest else None
        if not isinstance(token, float):
            raise ValueError("no number")
        return token


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise OverflowError
    return value
