"""Numbers as spreadsheets and Fortran programs write them: decimal commas, thousands separators, ``1.0D+00``.

A table that commas separate has decimal points. In a table that semicolons or tabs separate, the first number that can
be read in one way only shows the decimal sign of all of its columns: ``0,5`` and ``1.234,5`` show a comma, ``0.5`` and
``1,234.5`` a point, ``1,234`` and ``1.234`` neither.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from simcodesign.core.errors import InputError, Place

POINT, COMMA = ".", ","
_SIGNS = re.compile(r"[.,]")
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>[0-9.,]*[0-9][0-9.,]*)(?P<exponent>[eEdD][+-]?[0-9]+)?(?P<unit>\s*[A-Za-zµμ%/]*)"
)
_GROUPED = {
    POINT: re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+\.[0-9]*"),
    COMMA: re.compile(r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+,[0-9]*"),
}
#: One sign that may end the whole part of a number or its thousands.
_EITHER = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}")
#: A number with thousands separators, or with a decimal comma.
_LOCAL = re.compile(r"[+-]?[0-9]{1,3}(?:[., '\u00a0\u2009\u202f\u2019][0-9]{3})*(?:[.,][0-9]*)?(?:[eE][+-]?[0-9]+)?")
#: Columns of words, whose entries are never numbers, whatever they look like.
WORDS = frozenset(
    [
        *("region", "callpath", "metric", "repetition", "kernel", "function", "class", "problem_class", "phase"),
        *("component", "interval", "machine", "preset", "role", "source", "run", "table", "comment", "algorithm"),
        "placement",
    ]
)


def shown_sign(text: str) -> str:
    """Return the decimal sign that a number shows for certain, otherwise an empty string."""
    match = _NUMBER.fullmatch(text)
    digits = match["digits"] if match else ""
    signs = _SIGNS.findall(digits)
    if len(signs) == 1:
        may_group = _EITHER.fullmatch(digits) is not None and not (match and match["exponent"])
        return "" if may_group else str(signs[0])
    return next((sign for sign, grouped in _GROUPED.items() if grouped.fullmatch(digits)), "")


def plain(text: str, sign: str = POINT) -> str:
    """Return a number with a decimal point and an exponent of E, without separators; any other text unchanged."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    digits, exponent = match["digits"], match["exponent"] or ""
    if _GROUPED[sign].fullmatch(digits):
        digits = digits.replace(COMMA if sign == POINT else POINT, "")
    if sign == COMMA and digits.count(COMMA) == 1 and POINT not in digits:
        digits = digits.replace(COMMA, POINT)
    if digits.count(POINT) == 1 and COMMA not in digits:  # Fortran always prints the point
        exponent = exponent.replace("D", "E").replace("d", "e")
    return f"{match['sign']}{digits}{exponent}{match['unit']}"


def check_sign(text: str, sign: str, place: Place, shown_by: str) -> None:
    """Raise InputError for a number with a point in a table of decimal commas, as ``shown_by`` shows."""
    match = _NUMBER.fullmatch(text) if sign == COMMA else None
    if match and match["digits"].count(POINT) == 1 and COMMA not in match["digits"]:
        whole, _, rest = match["digits"].partition(POINT)
        groups = f"{whole}{rest} or " if _EITHER.fullmatch(match["digits"]) else ""
        raise InputError(
            f"a point in a table with decimal commas ({shown_by})",
            place,
            value=text,
            allowed=f"one decimal sign: {groups}{whole},{rest}",
        )


def sign_of_row(cells: Sequence[str], is_words: Sequence[bool]) -> tuple[str, str]:
    """Return the first decimal sign that a row shows, and the cell that shows it; empty strings if none does."""
    for cell, words in zip(cells, is_words, strict=False):
        if not words and (sign := shown_sign(cell.strip())):
            return sign, cell.strip()
    return "", ""


def local_hint(text: str) -> str:
    """Return what to write instead of a number with thousands separators or a decimal comma; empty for other text."""
    signs = re.findall(r"[^0-9+\-eE]", text)
    if not signs or not _LOCAL.fullmatch(text):
        return ""
    joined = re.sub(r"[^0-9+\-eE]", "", text)
    if len(signs) == 1 and signs[0] in ".,":
        decimal = text.replace(COMMA, POINT)
        return f"{joined} or {decimal}" if _EITHER.fullmatch(text.lstrip("+-")) else decimal
    whole, _, rest = text.rpartition(signs[-1])
    plain_whole = re.sub(r"[^0-9+\-]", "", whole)
    if len(set(signs)) > 1 and signs[-1] in ".,":
        return f"{plain_whole}.{rest}"
    return f"{joined}, without separators"
