"""Titles of tables: a name with a unit, and the column of values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.units import units_with_dimension

#: Names of the column of values, by falling precedence.
VALUE, *TIMES = VALUES = ("value", "seconds", "time")
_UNIT_BEHIND = re.compile(r"(?P<name>.*\S)\s*(?:\((?P<round>[^()]*)\)|\[(?P<square>[^\[\]]*)\])")
_VALUE_AND_UNIT = re.compile(rf"(?P<name>{'|'.join(VALUES)})(?:\s*[_/,]\s*|\s+(?:in\s+)?)(?P<unit>\S+)", re.IGNORECASE)
_BASE_WORDS = {"s": ("sec", "second", "seconds"), "B": ("byte", "bytes")}
_PREFIX_WORDS = {"m": ("m", "milli"), "u": ("u", "micro"), "n": ("n", "nano")}
#: Units in words, in small letters.
_WORDS = {word: unit for unit, words in _BASE_WORDS.items() for word in words}
_WORDS |= {
    f"{short}{word}": f"{prefix}s"
    for prefix, shorts in _PREFIX_WORDS.items()
    for short in shorts
    for word in ("sec", "second", "seconds")
}


def split_title(title: str) -> tuple[str, str]:
    """Return the name and the unit of a title: ``time (ms)``, ``size [KiB]``, ``time_us``, ``Time/s``.

    No unit in any other title.
    """
    text = title.strip()
    match = _UNIT_BEHIND.fullmatch(text)
    if match:
        return match["name"], _unit(match["round"] if match["round"] is not None else match["square"])
    match = _VALUE_AND_UNIT.fullmatch(text)
    if match and _unit(match["unit"]) in units_with_dimension():
        return match["name"], _unit(match["unit"])
    return text, ""


def _unit(text: str) -> str:
    return _WORDS.get(text.strip().lower(), text.strip())


def value_column(
    titles: Sequence[str], chosen: str | None, place: Place, is_known: Callable[[str], bool] | None = None
) -> int:
    """Return the place of the column of values.

    It is the column ``chosen``, otherwise ``value``, otherwise ``seconds`` or ``time``, whichever the table has,
    otherwise the only column that ``is_known`` does not recognise. Titles may have units. Raises InputError if no
    column or several columns could be it.
    """
    names = [split_title(title)[0] for title in titles]
    if chosen is not None:
        return _chosen(titles, names, chosen.strip(), place)
    small = [name.lower() for name in names]
    if VALUE in small:
        return small.index(VALUE)
    named = [column for column, name in enumerate(small) if name in TIMES]
    unknown = [] if is_known is None else [column for column, name in enumerate(names) if not is_known(name)]
    if len(named) == 1 or (not named and len(unknown) == 1):
        return (named or unknown)[0]
    several = [names[column] for column in named or unknown]
    what = "several columns could be the values" if several else "the table has no column of values"
    allowed = f"one column {', '.join(VALUES[:-1])} or {VALUES[-1]}; --value COLUMN (value=) names another"
    raise InputError(what, place, value=", ".join(several or names), allowed=allowed)


def _chosen(titles: Sequence[str], names: Sequence[str], chosen: str, place: Place) -> int:
    """Return the place of a column by its whole title or its name, in letters of any size."""
    for known in ([title.strip() for title in titles], names):
        small = [name.lower() for name in known]
        if chosen.lower() in small:
            return small.index(chosen.lower())
    raise InputError("no such column of values", place, value=chosen, allowed=nearest(chosen, names))
