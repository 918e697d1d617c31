"""Tables of measured times: a row for each measurement, in CSV or as a DataFrame.

Columns, in any order; only ``value`` is needed:

- parameters and equations of the workload, ``P``, constants and keys of a machine file (``network.startup``): where it
  was measured; an empty cell holds at any value. ``preset`` stands for the values of one;
- ``phase`` and ``component``: what was measured; both empty, the total;
- ``value``: a time, in seconds or with a unit; ``low`` and ``high``, or ``spread`` (half of it, to both sides); ``n``
  or ``count``, how many measurements are behind it; ``interval``, what the spread is (``95 % t``, ``quartiles``, ...);
- ``machine``, ``role`` (``evidence``, or ``calibration`` for what constants are from) and ``source``.

A column with the name of a parameter of the workload is that parameter, also ``n``. Lines that begin with ``#`` are
comments; ``# interval: quartiles`` says it for all rows that do not, and so do ``unit`` (of times without one),
``machine``, ``role`` and ``source``. Several rows of the same, without a spread, are repetitions: their median stands
for them, with their quartiles (linear between order statistics).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.files.input_files import open_text
from simcodesign.core.files.text_files import MISSING, NUMBER, CsvRows, check_width
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.units import parse_quantity
from simcodesign.describe.constants import dimension_at
from simcodesign.describe.measured.times import ROLES, MeasuredTimes, MeasuredValue
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.machine import MACHINE_KEYS

if TYPE_CHECKING:
    import pandas as pd

#: Columns with a meaning of their own; any other is of where it was measured.
COLUMNS = (
    "phase",
    "component",
    "value",
    "low",
    "high",
    "spread",
    "count",
    "interval",
    "machine",
    "preset",
    "role",
    "source",
)
MOST_COUNT = 10**15
#: What a comment may say for all rows.
_OF_ALL = ("unit", "interval", "machine", "role", "source")
_COMMENT = re.compile(rf"#+\s*({'|'.join(_OF_ALL)})\s*:\s*(.*)", re.DOTALL)
#: What the spread of repetitions is.
QUARTILES = "quartiles, around the median of repetitions"
#: The column of message sizes in the rows of benchmarks.
BYTES = "bytes"
_RANKS = Parameter("P", None, low=1, whole=True)

Rows = Iterable[tuple[Place, Sequence[str]]]


@dataclass(frozen=True)
class _Cell:
    """A text of a table, and where it stands."""

    text: str
    place: Place


@dataclass
class _Group:
    """The rows that were measured at the same place."""

    at: dict[str, float | str]
    machine: str
    role: str
    source: str
    place: Place
    values: dict[tuple[str, str], list[MeasuredValue]] = field(default_factory=dict)


def read_measured(path: str | Path, workload: Workload) -> tuple[MeasuredTimes, ...]:
    """The measured times of a CSV file (comma, semicolon or tab), in the order of the file, for this workload.

    Raises InputError naming line and column for unknown columns and phases, values that cannot be read, and several
    rows of the same with a spread.
    """
    path = Path(path)
    with open_text(path) as file:
        rows = CsvRows(file, str(path), commented=True)
        cells = [(Place(str(path), line), row) for line, row in rows]
    if not cells:
        raise InputError("the file is empty", Place(str(path)), allowed=f"a table with columns {', '.join(COLUMNS)}")
    (head, titles), *rest = cells
    titles = [title.strip() for title in titles]
    for place, row in rest:
        check_width(row, titles, place, rows.delimiter)
    return _times(titles, head, rest, _said_of_all(rows.comments), workload)


def measured_frame(frame: pd.DataFrame, workload: Workload) -> tuple[MeasuredTimes, ...]:
    """The same of a DataFrame, whose ``attrs`` may say what comments of a file do."""
    titles = [str(name).strip() for name in frame.columns]
    columns = [_texts(frame.iloc[:, number]) for number in range(len(titles))]
    rows = [(Place(f"row {number} of the table"), cells) for number, cells in enumerate(zip(*columns, strict=True))]
    said = {key: str(frame.attrs[key]) for key in _OF_ALL if key in frame.attrs}
    return _times(titles, Place("the table"), rows, said, workload)


def _texts(column: pd.Series) -> list[str]:
    """A column as it would stand in a file."""
    return ["" if missing else _text(cell) for cell, missing in zip(column, column.isna(), strict=True)]


def _text(cell: object) -> str:
    is_number = isinstance(cell, int | float | np.number) and not isinstance(cell, bool)
    return repr(float(cell)) if is_number else str(cell)  # type: ignore[arg-type] # a number, as tested


def _said_of_all(comments: Iterable[tuple[str, Place]]) -> dict[str, str]:
    """What comments say for all rows."""
    found = (_COMMENT.fullmatch(text.strip()) for text, _ in comments)
    return {match[1]: match[2].strip() for match in found if match}


def _times(
    titles: Sequence[str], head: Place, rows: Rows, of_all: Mapping[str, str], workload: Workload
) -> tuple[MeasuredTimes, ...]:
    named, of_benchmarks = _of_workload(titles, head, workload)
    table = _Table(_checked(named, head, workload), of_all, workload)
    groups: dict[object, _Group] = {}
    left_out: dict[str, None] = {}
    for place, cells in rows:
        operation = cells[titles.index("phase")].strip() if of_benchmarks else ""
        if operation and operation not in workload.phases():
            left_out[operation] = None
            continue
        table.add(groups, place, cells)
    if not groups and left_out:
        what = f"no row is of a phase of {workload.name}: the operations of the benchmarks are others"
        allowed = (
            f"a workload with a phase that is named as one of them; {workload.name} has {', '.join(workload.phases())}"
        )
        raise InputError(what, head, value=", ".join(left_out), allowed=allowed)
    if not groups:
        raise InputError("the table has no rows", head, allowed="a row for each measurement")
    return tuple(_measured(group) for group in groups.values())


def _of_workload(titles: Sequence[str], head: Place, workload: Workload) -> tuple[list[str], bool]:
    """Of rows of benchmarks, as ``calibrate --rows`` writes them, the titles with the parameter of the workload that is
    a size in place of ``bytes``; and whether the table is one of these. InputError where no or several ones are."""
    if BYTES in workload.parameters or not {BYTES, "phase", "role"} <= set(titles):
        return [*titles], False
    sizes = [name for name, one in workload.parameters.items() if one.dimension == "size" and one.unit]
    if len(sizes) != 1:
        what = f"{workload.name} has {'several sizes' if sizes else 'no parameter in bytes'} that bytes could be"
        allowed = (
            f"the column named as one of them: {', '.join(sizes)}" if sizes else "a workload with a parameter 'bytes'"
        )
        raise InputError(what, head, value=BYTES, allowed=allowed)
    return [sizes[0] if title == BYTES else title for title in titles], True


def _checked(titles: Sequence[str], head: Place, workload: Workload) -> list[str]:
    """The titles, those with a meaning in small letters. InputError for unknown ones and two of one name."""
    known = [_meaning(title, workload) for title in titles]
    for title in known:
        is_known = title in {*COLUMNS, *workload.parameters, *workload.equations, "P", *MACHINE_KEYS} or "." in title
        if not is_known:
            allowed = nearest(title, [*COLUMNS, *workload.parameters, *workload.equations, "P"])
            raise InputError("unknown column", head, value=title, allowed=allowed)
        if known.count(title) > 1:
            raise InputError("two columns of one name", head, value=title, allowed="each once")
    if "value" not in known:
        raise InputError("the table has no column value", head, value=", ".join(titles), allowed=", ".join(COLUMNS))
    return known


def _meaning(title: str, workload: Workload) -> str:
    """The column that a title stands for."""
    if title in workload.parameters and title != "value":
        return title
    return "count" if title == "n" else title.lower() if title.lower() in COLUMNS else title


@dataclass(frozen=True)
class _Table:
    """How the rows of one table are read."""

    titles: Sequence[str]
    of_all: Mapping[str, str]
    workload: Workload

    def add(self, groups: dict[object, _Group], place: Place, cells: Sequence[str]) -> None:
        """Take in a row."""
        texts = {title: text.strip() for title, text in zip(self.titles, cells, strict=True)}
        row = {
            title: _Cell(text, Place(place.file, place.line, f"column {title}"))
            for title, text in texts.items()
            if text not in MISSING
        }
        if "value" not in row:
            raise InputError("a value is missing", Place(place.file, place.line, "column value"), allowed="a time")
        words = {key: row[key].text if key in row else self.of_all.get(key, "") for key in _OF_ALL if key != "unit"}
        if words["role"] not in ("", *ROLES):
            where = row["role"].place if "role" in row else place
            raise InputError("role of a measurement", where, value=words["role"], allowed=" or ".join(ROLES))
        at = self._at(row)
        key = (*sorted(at.items()), words["machine"], words["role"])
        group = groups.setdefault(key, _Group(at, words["machine"], words["role"], words["source"], place))
        group.values.setdefault(self._part(row), []).append(self._value(row, words["interval"], place))

    def _part(self, row: Mapping[str, _Cell]) -> tuple[str, str]:
        """Phase and component, empty for all of them."""
        allowed = {"phase": [*self.workload.phases()], "component": [*COMPONENTS]}
        for name, known in allowed.items():
            if name in row and row[name].text not in known:
                raise InputError(
                    f"no such {name}", row[name].place, value=row[name].text, allowed=nearest(row[name].text, known)
                )
        return tuple(row[name].text if name in row else "" for name in allowed)  # type: ignore[return-value]

    def _value(self, row: Mapping[str, _Cell], interval: str, place: Place) -> MeasuredValue:
        given = {name: row[name] for name in ("value", "low", "high", "spread") if name in row}
        self._check_units(given)
        seconds = {name: self._seconds(cell) for name, cell in given.items()}
        low, high = seconds.get("low"), seconds.get("high")
        if (half_s := seconds.get("spread")) is not None:
            if low is not None or high is not None:
                raise InputError("a spread beside its ends", row["spread"].place, allowed="low and high, or spread")
            low, high = max(seconds["value"] - half_s, 0.0), seconds["value"] + half_s
        n = self._count(row["count"]) if "count" in row else None
        return MeasuredValue(seconds["value"], low, high, n, interval if low is not None else "", place)

    def _check_units(self, given: Mapping[str, _Cell]) -> None:
        """InputError for an end of a spread without a unit beside a value that has one: it would be of seconds."""
        if "unit" in self.of_all or NUMBER.fullmatch(given["value"].text):
            return
        for name, cell in given.items():
            if NUMBER.fullmatch(cell.text) and float(cell.text):
                what = f"{name} has no unit, but the value has: {given['value'].text}"
                raise InputError(what, cell.place, value=cell.text, allowed="a unit, or '# unit: ...' above the table")

    def _count(self, cell: _Cell) -> int:
        count = float(cell.text) if NUMBER.fullmatch(cell.text) else 0.0
        if not 1 <= count <= MOST_COUNT or count != int(count):
            allowed = f"a whole number, 1 to {MOST_COUNT:,}"
            raise InputError("number of measurements", cell.place, value=cell.text, allowed=allowed)
        return int(count)

    def _seconds(self, cell: _Cell) -> float:
        unit = self.of_all.get("unit", "s")
        text = f"{cell.text} {unit}" if NUMBER.fullmatch(cell.text) else cell.text
        value = parse_quantity(text, "time", cell.place)
        if value < 0:
            raise InputError("a measured time", cell.place, value=cell.text, allowed="0 or above")
        return value

    def _at(self, row: Mapping[str, _Cell]) -> dict[str, float | str]:
        """Where it was measured: values by name."""
        at: dict[str, float | str] = {}
        if "preset" in row:
            if row["preset"].text not in self.workload.presets:
                allowed = nearest(row["preset"].text, self.workload.presets)
                raise InputError("no such preset", row["preset"].place, value=row["preset"].text, allowed=allowed)
            at |= {name: float(value) for name, value in self.workload.presets[row["preset"].text].items()}
        return at | {name: self._coordinate(name, cell) for name, cell in row.items() if name not in COLUMNS}

    def _coordinate(self, name: str, cell: _Cell) -> float | str:
        """A value of what may be varied, in SI units; a word of a machine file as it is."""
        if name in self.workload.parameters or name == "P":
            parameter = self.workload.parameters.get(name, _RANKS)
            value = parameter.parsed(cell.text, cell.place)
            parameter.check(value, cell.place)
            return value
        if name in self.workload.equations:
            return parse_quantity(cell.text, "count", cell.place)
        dimension = "bandwidth" if name.endswith("bandwidth") else dimension_at(name)
        if dimension is not None:
            return parse_quantity(cell.text, dimension, cell.place)
        return float(cell.text) if NUMBER.fullmatch(cell.text) else cell.text


def _measured(group: _Group) -> MeasuredTimes:
    values = {part: _summary(several) for part, several in group.values.items()}
    return MeasuredTimes(
        total=values.get(("", "")),
        phases={phase: one for (phase, component), one in values.items() if phase and not component},
        components={component: one for (phase, component), one in values.items() if component and not phase},
        parts={part: one for part, one in values.items() if all(part)},
        at=group.at,
        machine=group.machine,
        role=group.role,
        source=group.source,
        place=group.place,
    )


def _summary(several: Sequence[MeasuredValue]) -> MeasuredValue:
    """One value; the median of repetitions, with their quartiles. InputError where several have a spread."""
    first = several[0]
    if len(several) == 1:
        return first
    for one in several:
        if one.ends is not None or one.n is not None:
            what = "one of several rows of the same with a spread or a count"
            allowed = "repetitions without either, or one row"
            raise InputError(what, one.place, value=one.value, allowed=allowed)
    low, middle, high = map(float, np.quantile([one.value for one in several], (0.25, 0.5, 0.75)))
    return MeasuredValue(middle, low, high, len(several), QUARTILES, first.place)
