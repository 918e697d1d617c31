"""Formulas and measured times of a workload file or of a file of their own, and a formula that is one expression."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import Expression, parse
from simcodesign.core.files.input_files import check_confined
from simcodesign.describe.formulas.formula import Formula
from simcodesign.describe.measured.times import MeasuredTimes, MeasuredValue
from simcodesign.describe.measured_tables.table import read_measured
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.machine import check_format
from simcodesign.describe.yaml.resources import check_name
from simcodesign.describe.yaml.tree import Entry, read_yaml

_FORMULA_KEYS = ("total", "phases", "components", "valid", "symbols", "word", "source", "about")
_MEASURED_KEYS = ("total", "phases", "components", "interval", "at", "machine", "source", "about")
#: Those of a measured time with its spread.
_VALUE_KEYS = ("value", "low", "high", "n", "interval")
_FILE_KEYS = ("simcodesign", "formulas", "measured")
SUFFIXES = (".yaml", ".yml")
#: ``name = expression``: a name before an expression of its own.
_NAMED = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]*)\s*=(?!=)(.*)", re.DOTALL)


@dataclass(frozen=True)
class FormulaFile:
    """What a file of formulas holds."""

    formulas: tuple[Formula, ...]
    measured: tuple[MeasuredTimes, ...] = ()


def load_formulas(source: str | Path, default_name: str = "formula") -> FormulaFile:
    """The formulas of a file (``.yaml``), or the one that an expression is, as ``"log2(P)*(t_s + m*t_w)"``, also with a
    name of its own, ``"mine = 2.5 us*P"``. InputError names file, line and path, or the column, of an error."""
    if isinstance(source, Path) or source.endswith(SUFFIXES):
        items = read_yaml(Path(source)).mapping(_FILE_KEYS, ("formulas",))
        if "simcodesign" in items:
            check_format(items["simcodesign"])
        measured = measured_from(items["measured"]) if "measured" in items else ()
        return FormulaFile(tuple(formulas_from(items["formulas"]).values()), measured)
    named = _NAMED.fullmatch(source)
    name, text = named.groups() if named else (default_name, source)
    place = Place(f"formula {name!r}")
    return FormulaFile((Formula(name, parse(text, place, with_units=True), place=place),))


def formulas_from(entry: Entry) -> dict[str, Formula]:
    """The formulas under a key ``formulas``, each an expression or a mapping."""
    return {name: _formula(name, item) for name, item in entry.mapping().items()}


def _formula(name: str, entry: Entry) -> Formula:
    if isinstance(entry.content, str):
        return Formula(name, _expression(entry), place=entry.place)
    items = entry.mapping(_FORMULA_KEYS)

    def each(key: str) -> dict[str, Expression]:
        return {one: _expression(item) for one, item in items[key].mapping().items()} if key in items else {}

    def one(key: str) -> Expression | None:
        return _expression(items[key]) if key in items else None

    for symbol, item in items["symbols"].mapping().items() if "symbols" in items else ():
        check_name(symbol, item.place, ("P",))
    return Formula(
        name=name,
        total=one("total"),
        phases=each("phases"),
        components=each("components"),
        valid=one("valid"),
        symbols=each("symbols"),
        word=one("word"),
        source=items["source"].text() if "source" in items else "",
        about=items["about"].text() if "about" in items else "",
        place=entry.place,
    )


def _expression(entry: Entry) -> Expression:
    return parse(entry.text(), entry.place, with_units=True)


def measured_from(entry: Entry) -> tuple[MeasuredTimes, ...]:
    """The measured times under a key ``measured``: a mapping, or several in a sequence."""
    return tuple(_measured(item) for item in (entry.content if isinstance(entry.content, list) else [entry]))


def measured_of_workload(entry: Entry, workload: Workload) -> tuple[MeasuredTimes, ...]:
    """The same of a workload file, which may also name a table, ``{file: TABLE.csv}``, by its path from there."""
    several: list[MeasuredTimes] = []
    for item in entry.sequence() if isinstance(entry.content, list) else [entry]:
        if isinstance(item.content, dict) and "file" in item.content:
            named = item.mapping(("file",))["file"]
            several += read_measured(
                check_confined(Path(named.place.file).parent / named.text(), named.place), workload
            )
        else:
            several.append(_measured(item))
    return tuple(several)


def _measured(entry: Entry) -> MeasuredTimes:
    items = entry.mapping(_MEASURED_KEYS)
    interval = items["interval"].text() if "interval" in items else ""

    def values(key: str) -> dict[str, MeasuredValue]:
        return {name: _value(item, interval) for name, item in items[key].mapping().items()} if key in items else {}

    return MeasuredTimes(
        total=_value(items["total"], interval) if "total" in items else None,
        phases=values("phases"),
        components=values("components"),
        at={name: item.number() for name, item in items["at"].mapping().items()} if "at" in items else {},
        machine=items["machine"].text() if "machine" in items else "",
        source=items["source"].text() if "source" in items else "",
        about=items["about"].text() if "about" in items else "",
        place=entry.place,
    )


def _value(entry: Entry, interval: str) -> MeasuredValue:
    """A time, or a mapping of it and its spread; ``interval`` is what the spread is where the mapping does not say."""
    if not isinstance(entry.content, dict):
        return MeasuredValue(_seconds(entry), place=entry.place)
    items = entry.mapping(_VALUE_KEYS, ("value",))
    low, high = (_seconds(items[key]) if key in items else None for key in ("low", "high"))
    n = items["n"].whole(1) if "n" in items else None
    words = items["interval"].text() if "interval" in items else interval
    return MeasuredValue(_seconds(items["value"]), low, high, n, words if low is not None else "", entry.place)


def _seconds(entry: Entry) -> float:
    value = entry.quantity("time")
    if value < 0:
        raise InputError("a measured time", entry.place, value=entry.text(), allowed="0 or above")
    return value
