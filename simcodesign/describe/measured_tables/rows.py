"""Rows of tables of measured times: what their columns mean, for every command that takes such a table.

Columns, in any order; only the times are needed:

- parameters and equations of the workload, ``P``, constants and keys of a machine file (``network.startup``), and
  ``nodes_used`` (the nodes on which the ranks are): conditions of the measurement; an empty cell holds at any value.
  ``preset`` sets the values of a preset;
- ``phase`` and ``component``: what was measured; both empty, or ``total``: the whole run;
- ``value``, ``seconds`` or ``time``, the column that the caller names, or the only one with no other meaning: a time,
  in seconds or with a unit; ``low`` and ``high``, or ``spread`` (half of it, to both sides); ``n`` or ``count``, how
  many measurements are behind it; ``interval``, what the spread is (``95 % t``, ``quartiles``, ...);
- ``machine``, ``role`` (``evidence``, or ``calibration`` for what constants are from) and ``source``;
- ``repetition``, ``run``, ``table`` and ``comment`` label rows, and are not used.

A title may have a unit, ``time (ms)``. A column with the name of a parameter of the workload is that parameter, also
``n``. Lines that begin with ``#`` are comments; ``# interval: quartiles`` applies to all rows without one, and so do
``unit`` (of times without one), ``machine``, ``role`` and ``source``.

Rows of benchmarks, as ``calibrate --write rows.csv`` writes them, have all columns of ``OF_BENCHMARKS``, and name in
``source`` the file and line of each row. Their operations are phases, ``bytes`` is the parameter that is a size, and
``nodes`` the nodes used; other columns tell rows apart. Rows of other operations, and of other quantities than time,
are left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.files.input_files import open_text
from simcodesign.core.files.table_titles import TIMES, VALUE, split_title, value_column
from simcodesign.core.files.text_files import MISSING, NUMBER, CsvRows, check_width
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.units import parse_quantity, units_with_dimension
from simcodesign.describe.constants import dimension_at
from simcodesign.describe.measured.times import ROLES, MeasuredValue
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.machine import MACHINE_KEYS

if TYPE_CHECKING:
    import pandas as pd

#: Columns with a meaning of their own; any other is a condition of the measurement.
COLUMNS = (
    "phase",
    "component",
    VALUE,
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
LABELS = ("repetition", "run", "table", "comment")
#: Names for a phase or component without a name.
TOTAL = "total"
NODES_USED = "nodes_used"
#: Columns of times.
_TIMES = (VALUE, "low", "high", "spread")
#: The columns that all rows of benchmarks have.
OF_BENCHMARKS = frozenset(("phase", "component", VALUE, "low", "high", "count", "interval", "source", "role"))
#: The component of rows that depend on the number of ranks.
COMMUNICATION = "communication"
#: Columns of rows of benchmarks: the size of a message, the nodes used, what was measured.
BYTES, NODES, QUANTITY = "bytes", "nodes", "quantity"
_FILE_AND_LINE = re.compile(r".+:[0-9]+")
MOST_COUNT = 10**15
#: Columns that a comment may specify for all rows.
OF_ALL = ("unit", "interval", "machine", "role", "source")
#: Names of columns of rates and other quantities, which are no times.
_NO_TIME = re.compile(
    r"band_?width|rate|through_?put|speed|flop|[a-z]+/s|per_?sec|ops|energy|power|efficiency|count", re.IGNORECASE
)
_COMMENT = re.compile(rf"#+\s*({'|'.join(OF_ALL)})\s*:\s*(.*)", re.DOTALL)
_RANKS = Parameter("P", None, low=1, whole=True)
_NODES = Parameter(NODES_USED, None, low=1, whole=True)

Lines = Sequence[tuple[Place, Sequence[str]]]


@dataclass(frozen=True)
class MeasuredRow:
    """One row.

    ``at``: conditions of measurement, without the values of its ``preset``; ``part``: phase and component, empty for
    all of them; ``labels``: what else distinguishes it from other rows.
    """

    at: Mapping[str, float | str]
    preset: str
    part: tuple[str, str]
    value: MeasuredValue
    machine: str
    role: str
    source: str
    labels: tuple[tuple[str, str], ...]
    is_of_benchmark: bool
    place: Place


@dataclass(frozen=True)
class _Cell:
    """A text of a table, and its place."""

    text: str
    place: Place


def rows_of_file(path: Path, workload: Workload, value: str | None = None) -> list[MeasuredRow]:
    """Return the rows of a CSV file in its order; ``value`` names the column of times.

    Raises InputError naming line and column for unknown columns and phases, and values that cannot be read.
    """
    with open_text(path) as file:
        rows = CsvRows(file, str(path))
        cells = [(Place(str(path), line), row) for line, row in rows]
    if not cells:
        raise InputError("the file is empty", Place(str(path)), allowed=f"a table with columns {', '.join(COLUMNS)}")
    (head, titles), *rest = cells
    for place, row in rest:
        check_width(row, titles, place, rows.delimiter)
    return _rows(titles, head, rest, _said_of_all(rows.comments), workload, value)


def rows_of_frame(frame: pd.DataFrame, workload: Workload, value: str | None = None) -> list[MeasuredRow]:
    """Return the rows of a DataFrame, whose ``attrs`` may say what comments of a file do."""
    titles = [str(name).strip() for name in frame.columns]
    columns = [_texts(frame.iloc[:, number]) for number in range(len(titles))]
    rows = [(Place(f"row {number} of the table"), cells) for number, cells in enumerate(zip(*columns, strict=True))]
    said = {key: str(frame.attrs[key]) for key in OF_ALL if key in frame.attrs}
    return _rows(titles, Place("the table"), rows, said, workload, value)


def _texts(column: pd.Series) -> list[str]:
    """Return a column as a file would have it."""
    return ["" if missing else _text(cell) for cell, missing in zip(column, column.isna(), strict=True)]


def _text(cell: object) -> str:
    is_number = isinstance(cell, int | float | np.number) and not isinstance(cell, bool)
    return repr(float(cell)) if is_number else str(cell)  # type: ignore[arg-type] # a number, as tested


def _said_of_all(comments: Iterable[tuple[str, Place]]) -> dict[str, str]:
    """Return what comments say for all rows."""
    found = (_COMMENT.fullmatch(text.strip()) for text, _ in comments)
    return {match[1]: match[2].strip() for match in found if match}


def _rows(
    titles: Sequence[str], head: Place, lines: Lines, of_all: Mapping[str, str], workload: Workload, value: str | None
) -> list[MeasuredRow]:
    columns = _Columns.of(titles, head, lines, workload, value)
    table = _Table(columns, of_all, workload)
    if columns.is_of_benchmarks:
        lines = _of_phases(columns, head, lines, workload)
    if not lines:
        raise InputError("the table has no rows", head, allowed="a row for each measurement")
    return [table.row(place, cells) for place, cells in lines]


def _of_phases(columns: _Columns, head: Place, lines: Lines, workload: Workload) -> Lines:
    """Return the rows of benchmarks that are times of a phase or of the whole program.

    Raises InputError if there are none, if a time of communication has no number of ranks, and if rows have sizes that
    no parameter, or one of several, could be.
    """
    kept = []
    left_out: dict[str, None] = {}
    for place, cells in lines:
        entries = {name: cell.strip() for name, cell in zip(columns.names, cells, strict=True)}
        operation, quantity = entries["phase"], entries.get(QUANTITY, "")
        if (operation and operation not in (*workload.phases(), TOTAL)) or quantity not in ("", "time"):
            left_out[operation if quantity in ("", "time") else f"{operation} ({quantity})"] = None
            continue
        if entries.get("component") == COMMUNICATION and not entries.get("P"):
            raise _no_ranks(place, operation)
        kept.append((place, cells))
        if entries.get(BYTES) and BYTES not in workload.parameters:
            raise _no_size(head, workload)
    if not kept and left_out:
        what = f"no row belongs to a phase of {workload.name}: the operations of the benchmarks are others"
        phases = ", ".join(workload.phases())
        allowed = f"a workload with a phase named as one of them; {workload.name} has {phases}"
        raise InputError(what, head, value=", ".join(left_out), allowed=allowed)
    return kept


def _no_ranks(place: Place, operation: str) -> InputError:
    """Return the error for a row of a benchmark that would be compared at any number of ranks."""
    allowed = "a number of ranks in the column P, which calibrate takes from --given FILE:P=16"
    return InputError(f"the row of {operation or TOTAL} has no number of ranks", place, value="", allowed=allowed)


def _sizes(workload: Workload) -> list[str]:
    """Return the parameters of a workload that are sizes."""
    return [name for name, one in workload.parameters.items() if one.dimension == "size" and one.unit]


def _no_size(head: Place, workload: Workload) -> InputError:
    sizes = _sizes(workload)
    what = f"{workload.name} has {'several sizes' if sizes else 'no parameter in bytes'} that bytes could be"
    named = f"the column named as one of them: {', '.join(sizes)}"
    return InputError(what, head, value=BYTES, allowed=named if sizes else "a workload with a parameter 'bytes'")


@dataclass(frozen=True)
class _Columns:
    """The meaning of each column of a table, and the unit of its title; empty if there is none."""

    names: Sequence[str]
    units: Sequence[str]
    labels: Collection[str]
    is_of_benchmarks: bool

    @staticmethod
    def of(titles: Sequence[str], head: Place, lines: Lines, workload: Workload, value: str | None) -> _Columns:
        """Return the columns of these titles. Raises InputError for unknown ones, and two of one name."""
        split = [split_title(title) for title in titles]
        has_count = any(name.lower() == "count" for name, _ in split)
        names = [_meaning(name, workload, has_count) for name, _ in split]
        is_of_benchmarks = _is_of_benchmarks(names, lines)
        if is_of_benchmarks:
            names = _of_workload(names, workload)
        known = {*COLUMNS, *LABELS, *workload.parameters, *workload.equations, "P", NODES_USED, *MACHINE_KEYS}
        labels = {name for name in names if is_of_benchmarks and name not in known and "." not in name}
        if value is None:
            times = _times_in(names, head, known, workload)
        else:
            times = value_column(titles, value, head)
            others = {VALUE, *TIMES} - {*workload.parameters}
            names = [f"{name}, not chosen" if name in others else name for name in names]
            labels |= {name for name in names if name.endswith(", not chosen")}
        names[times] = VALUE
        _check_known([name for name in names if name not in labels], known, head)
        units = [unit if _counts(unit, name, workload) else "" for name, (_, unit) in zip(names, split, strict=True)]
        return _Columns(names, units, labels, is_of_benchmarks)


def _times_in(names: Sequence[str], head: Place, known: Collection[str], workload: Workload) -> int:
    """Return the column of times by its name, or as the only unknown one; a parameter of the workload is none."""
    others = ["P" if name in workload.parameters and name.lower() in TIMES else name for name in names]
    try:
        found = value_column(others, None, head, lambda name: name in known or "." in name)
    except InputError:
        _check_known(names, {*known, *TIMES}, head)
        raise
    if names[found].lower() not in (VALUE, *TIMES) and _NO_TIME.search(names[found]):
        allowed = f"a column {VALUE}, {' or '.join(TIMES)}; --value COLUMN (value=) if {names[found]} has times"
        raise InputError(
            "the only column that could have the times is not named as one", head, value=names[found], allowed=allowed
        )
    return found


def _counts(unit: str, name: str, workload: Workload) -> bool:
    """Return whether the unit of a title is to be read: words behind a count are not, ``P (ranks)``."""
    parameter = workload.parameters.get(name)
    is_count = name == "P" or (parameter is not None and parameter.dimension == "count")
    return bool(unit) and (unit in units_with_dimension() or not is_count)


def _check_known(names: Sequence[str], known: Collection[str], head: Place) -> None:
    for name in names:
        if name not in known and "." not in name:
            raise InputError("unknown column", head, value=name, allowed=nearest(name, [*known, *TIMES]))
        if names.count(name) > 1:
            raise InputError("two columns with the same name", head, value=name, allowed="each once")


def _meaning(title: str, workload: Workload, has_count: bool) -> str:
    """Return the column that a title means; in a table with a count, ``n`` is none."""
    if title in workload.parameters and title != VALUE:
        return title
    small = title.lower()
    return "count" if title == "n" and not has_count else small if small in (*COLUMNS, *LABELS, *TIMES) else title


def _is_of_benchmarks(names: Sequence[str], lines: Lines) -> bool:
    """Return whether these are rows of benchmarks."""
    if not {*names} >= OF_BENCHMARKS:
        return False
    source = names.index("source")
    return all(_FILE_AND_LINE.fullmatch(cells[source].strip()) for _, cells in lines)


def _of_workload(names: Sequence[str], workload: Workload) -> list[str]:
    """Return the columns of benchmarks by their names in the workload."""
    sizes = _sizes(workload)
    size = sizes[0] if len(sizes) == 1 and BYTES not in workload.parameters else BYTES
    given = {BYTES: size} | ({} if NODES in workload.parameters else {NODES: NODES_USED})
    return [given.get(name, name) for name in names]


@dataclass(frozen=True)
class _Table:
    """How the rows of one table are read."""

    columns: _Columns
    of_all: Mapping[str, str]
    workload: Workload

    def row(self, place: Place, cells: Sequence[str]) -> MeasuredRow:
        """Return a row. Raises InputError naming the column of what cannot be read."""
        entries = list(self._entries(place, cells))
        row = {name: cell for name, cell in entries if name not in self.columns.labels and name not in LABELS}
        if VALUE not in row:
            raise InputError("a value is missing", Place(place.file, place.line, f"column {VALUE}"), allowed="a time")
        words = {key: row[key].text if key in row else self.of_all.get(key, "") for key in OF_ALL if key != "unit"}
        preset = row["preset"].text if "preset" in row else ""
        if preset and preset not in self.workload.presets:
            allowed = nearest(preset, self.workload.presets)
            raise InputError("no such preset", row["preset"].place, value=preset, allowed=allowed)
        is_label = self.columns.labels if self.columns.is_of_benchmarks else ()
        return MeasuredRow(
            {name: self._coordinate(name, cell) for name, cell in row.items() if name not in COLUMNS},
            preset,
            self._part(row),
            self._value(row, words["interval"], place),
            words["machine"],
            self._role(words["role"], row.get("role"), place),
            words["source"],
            tuple((name, cell.text) for name, cell in entries if name in is_label and name != QUANTITY),
            self.columns.is_of_benchmarks,
            place,
        )

    def _entries(self, place: Place, cells: Sequence[str]) -> Iterator[tuple[str, _Cell]]:
        """Yield the cells that say something, with the units of their titles."""
        for name, unit, cell in zip(self.columns.names, self.columns.units, cells, strict=True):
            text = cell.strip()
            if text not in MISSING:
                text = f"{text} {unit}" if unit and NUMBER.fullmatch(text) else text
                yield name, _Cell(text, Place(place.file, place.line, f"column {name}"))

    def _role(self, role: str, cell: _Cell | None, place: Place) -> str:
        if role not in ("", *ROLES):
            where = place if cell is None else cell.place
            raise InputError("unknown role of a measurement", where, value=role, allowed=" or ".join(ROLES))
        return role

    def _part(self, row: Mapping[str, _Cell]) -> tuple[str, str]:
        """Return phase and component, empty for all of them."""
        allowed = {"phase": [*self.workload.phases()], "component": [*COMPONENTS]}
        for name, known in allowed.items():
            if name in row and row[name].text not in (*known, TOTAL):
                raise InputError(
                    f"no such {name}", row[name].place, value=row[name].text, allowed=nearest(row[name].text, known)
                )
        phase, component = (row[name].text if name in row else "" for name in allowed)
        is_phase = phase != TOTAL or TOTAL in allowed["phase"]
        return phase if is_phase else "", component if component != TOTAL else ""

    def _value(self, row: Mapping[str, _Cell], interval: str, place: Place) -> MeasuredValue:
        given = {name: row[name] for name in _TIMES if name in row}
        self._check_units(given)
        seconds = {name: self._seconds(cell) for name, cell in given.items()}
        low, high = seconds.get("low"), seconds.get("high")
        if (half_s := seconds.get("spread")) is not None:
            if low is not None or high is not None:
                raise InputError(
                    "a spread in addition to its ends", row["spread"].place, allowed="low and high, or spread"
                )
            low, high = max(seconds[VALUE] - half_s, 0.0), seconds[VALUE] + half_s
        n = self._count(row["count"]) if "count" in row else None
        return MeasuredValue(seconds[VALUE], low, high, n, interval if low is not None else "", place)

    def _check_units(self, given: Mapping[str, _Cell]) -> None:
        """Raise InputError for an end of a spread without a unit if the value has one: it would be in seconds."""
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
            raise InputError("not a number of measurements", cell.place, value=cell.text, allowed=allowed)
        return int(count)

    def _seconds(self, cell: _Cell) -> float:
        unit = self.of_all.get("unit", "s")
        text = f"{cell.text} {unit}" if NUMBER.fullmatch(cell.text) else cell.text
        value = parse_quantity(text, "time", cell.place)
        if value < 0:
            raise InputError("a measured time cannot be negative", cell.place, value=cell.text, allowed="0 or above")
        return value

    def _coordinate(self, name: str, cell: _Cell) -> float | str:
        """Return a value of what may be varied, in SI units; a word of a machine file as it is."""
        if name in self.workload.parameters or name in ("P", NODES_USED):
            parameter = self.workload.parameters.get(name, _NODES if name == NODES_USED else _RANKS)
            value = parameter.parsed(cell.text, cell.place)
            parameter.check(value, cell.place)
            return value
        if name in self.workload.equations:
            return parse_quantity(cell.text, "count", cell.place)
        dimension = "bandwidth" if name.endswith("bandwidth") else dimension_at(name)
        if dimension is not None:
            return parse_quantity(cell.text, dimension, cell.place)
        return float(cell.text) if NUMBER.fullmatch(cell.text) else cell.text
