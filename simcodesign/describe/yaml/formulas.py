"""Formulas and measured times of a workload file or of a file of their own, and a formula that is one expression."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import parse
from simcodesign.core.files.input_files import check_confined
from simcodesign.describe.formulas.formula import Formula
from simcodesign.describe.keys.forms import FROM_0, Number, OneOf, Quantity, Text, Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Items, Named, Section
from simcodesign.describe.measured.times import MeasuredTimes, MeasuredValue
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.machine import check_format
from simcodesign.describe.yaml.resources import check_name
from simcodesign.describe.yaml.tree import Entry, read_yaml


class _WithUnits(Text):
    """An expression whose numbers may have units."""

    def read(self, entry: Entry) -> Any:
        return parse(entry.text(), entry.place, with_units=True)


_FORMULA = Section(
    Key("total", _WithUnits(), "seconds of the whole"),
    Key("phases", Named(_WithUnits(), "seconds of one"), "seconds of each phase"),
    Key("components", Named(_WithUnits(), "seconds of one"), "seconds of each component"),
    Key("valid", _WithUnits(), "a condition under which it holds", "always"),
    Key("symbols", Named(_WithUnits(), "one symbol"), "meanings of its symbols"),
    Key("word", _WithUnits(), "bytes of a word, the unit of `t_w`", "`value_bytes`, or 1"),
    Key("source", Text(), "where the formula is from"),
    Key("about", Text(), "what it is"),
)
#: Formulas of a workload.
FORMULAS = Named(OneOf(_WithUnits(), _FORMULA), "an expression, or a mapping")


class _Seconds(Quantity):
    """A measured time."""

    range = FROM_0

    def __init__(self) -> None:
        super().__init__("time")

    def read(self, entry: Entry) -> float:
        value = super().read(entry)
        if value < 0:
            raise InputError("a measured time cannot be negative", entry.place, value=entry.text(), allowed=FROM_0)
        return value


_VALUE = Section(
    Key("value", _Seconds(), "the time", required=True),
    Key("low", _Seconds(), "lower end of the spread", "not stated"),
    Key("high", _Seconds(), "upper end of the spread", "not stated"),
    Key("n", Whole(1), "number of runs", "not stated"),
    Key("interval", Text(), "what `low` and `high` are", "as `measured.interval`"),
)
_TIME = OneOf(_Seconds(), _VALUE)
_MEASURED = Section(
    Key("total", _TIME, "the time of the whole, or a mapping with its spread", "not stated"),
    Key("phases", Named(_TIME, "the time of one"), "times of phases"),
    Key("components", Named(_TIME, "the time of one"), "times of components"),
    Key("interval", Text(), "what `low` and `high` are"),
    Key("at", Named(Number(), "the value of one"), "the parameters of the run"),
    Key("machine", Text(), "the machine on which it ran"),
    Key("source", Text(), "where the times are from"),
    Key("about", Text(), "what was measured"),
)
_OR_FILE = Section(
    *_MEASURED.keys, Key("file", Text(), "a table of times next to this file, instead of the other keys")
)
#: Measured times of a workload.
MEASURED = OneOf(_OR_FILE, Items(_OR_FILE, "one of several"))
_FILE_KEYS = ("simcodesign", "formulas", "measured")
SUFFIXES = (".yaml", ".yml")
#: ``name = expression``: a name before an expression of its own.
_NAMED = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]*)\s*=(?!=)(.*)", re.DOTALL)


@dataclass(frozen=True)
class FormulaFile:
    """Contents of a file of formulas."""

    formulas: tuple[Formula, ...]
    measured: tuple[MeasuredTimes, ...] = ()


def load_formulas(source: str | Path, default_name: str = "formula") -> FormulaFile:
    """Return the formulas of a file (``.yaml``), or the formula of an expression.

    As ``"log2(P)*(t_s + m*t_w)"``, also with a name of its own, ``"mine = 2.5 us*P"``. InputError names file, line and
    path, or the column, of an error.
    """
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
    """Return the formulas under a key ``formulas``, each an expression or a mapping."""
    return {name: _formula(name, item) for name, item in entry.mapping().items()}


def _formula(name: str, entry: Entry) -> Formula:
    if isinstance(entry.content, str):
        return Formula(name, _WithUnits().read(entry), place=entry.place)
    items = _FORMULA.items(entry)
    for symbol, item in items["symbols"].mapping().items() if "symbols" in items else ():
        check_name(symbol, item.place, ("P",))
    return Formula(name=name, **_FORMULA.values(items), place=entry.place)


def measured_from(entry: Entry) -> tuple[MeasuredTimes, ...]:
    """Return the measured times under a key ``measured``: a mapping, or several in a sequence."""
    return tuple(_measured(item) for item in (entry.content if isinstance(entry.content, list) else [entry]))


def measured_of_workload(entry: Entry, workload: Workload) -> tuple[MeasuredTimes, ...]:
    """Measured times of a workload file, which may also name a table, ``{file: TABLE.csv}``, by its path from there."""
    several: list[MeasuredTimes] = []
    for item in entry.sequence() if isinstance(entry.content, list) else [entry]:
        if isinstance(item.content, dict) and "file" in item.content:
            from simcodesign.describe.measured_tables.table import read_measured

            named = item.mapping(("file",))["file"]
            several += read_measured(
                check_confined(Path(named.place.file).parent / named.text(), named.place), workload
            )
        else:
            several.append(_measured(item))
    return tuple(several)


def _measured(entry: Entry) -> MeasuredTimes:
    items = _MEASURED.items(entry)
    interval = items["interval"].text() if "interval" in items else ""
    values = _MEASURED.values(items)
    values.pop("interval", None)
    for key in ("phases", "components"):
        if key in items:
            values[key] = {name: _value(item, interval) for name, item in items[key].mapping().items()}
    if "total" in items:
        values["total"] = _value(items["total"], interval)
    return MeasuredTimes(**{"total": None} | values, place=entry.place)


def _value(entry: Entry, interval: str) -> MeasuredValue:
    """Return a time, or a mapping of it and its spread.

    ``interval`` is what the spread is where the mapping does not say.
    """
    if not isinstance(entry.content, dict):
        return MeasuredValue(_Seconds().read(entry), place=entry.place)
    own = {"interval": interval} | _VALUE.read(entry)
    return MeasuredValue(**own | ({} if "low" in own else {"interval": ""}), place=entry.place)
