"""The error on evidence by group, in the table of docs/fugaku.md and in files of docs/tables.

``python -m validation.measured.evidence docs/tables`` writes what the pages link (some CPU minutes):

* ``evidence-rows.csv``: what each reading predicts of each row of evidence, in seconds;
* ``evidence-groups.csv``: the quartiles of the errors of each group;
* ``measured-machines.csv``: a line for each group outside Fugaku, errors as in the next file;
* ``fugaku-groups.csv``: the table of the page of Fugaku;
* ``calibration-rows.csv``: the rows from which constants or choices come.

A group is operation, system, and shape or number of ranks; rows of algorithms
that the library replaces by its own are a group apart. Roles of rows are those of the benchmark.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

from simcodesign.studies.validation.scores import EVIDENCE, MeasuredRow

from .benchmark import rows
from .scores import FORECAST, SIMULATION, TEXTBOOK, predicted_s
from .small_runs import RANKS, SHAPE, anchored_s, normal_form_s

ANCHORED, NORMAL_FORM = "anchored", "normal form"
COLUMNS = (TEXTBOOK, FORECAST, SIMULATION, ANCHORED, NORMAL_FORM)
ROWS_FILE, GROUPS_FILE, CALIBRATION_FILE = "evidence-rows.csv", "evidence-groups.csv", "calibration-rows.csv"
MACHINES_FILE, FUGAKU_FILE = "measured-machines.csv", "fugaku-groups.csv"
#: Algorithms in whose place the library takes its own.
REPLACED = ("nonoverlapping", "rdbc")
OWN = " (library's own)"
#: Groups of all numbers of ranks, because each has one row or two.
POOLED = ("send", "both-ways", "two-partners", "gpt-step")
STATISTICS = ("q25", "median", "q75", "worst")
FUGAKU = "fugaku"


@dataclass(frozen=True, order=True)
class Group:
    """Rows of one operation of a system, ``at`` a shape or number of ranks (empty: all)."""

    system: str
    operation: str
    at: str

    @classmethod
    def of(cls, row: MeasuredRow) -> Group:
        """Return the group of a row."""
        system, operation = row.group.split("/")
        kind = operation
        if row.values.get("algorithm") in REPLACED:
            operation += OWN
        is_pooled = kind in POOLED or (system in ("miriel", "taurus") and kind == "all-to-all")
        at = "" if is_pooled else str(row.values.get(SHAPE, row.values.get(RANKS, "")))
        return cls(system, operation, at)


@cache
def evidence() -> tuple[MeasuredRow, ...]:
    """Return the rows of evidence, in the order of their tables."""
    return tuple(row for row in rows() if row.role == EVIDENCE)


def groups() -> dict[Group, list[MeasuredRow]]:
    """Return the rows of evidence of each group."""
    found: dict[Group, list[MeasuredRow]] = {}
    for row in evidence():
        found.setdefault(Group.of(row), []).append(row)
    return found


def reading_s(row: MeasuredRow, column: str) -> float | None:
    """Predict a row in seconds by one of ``COLUMNS``; None without a prediction. Anchored is the simulation."""
    if column == ANCHORED:
        return anchored_s(row, partial(predicted_s, reading=SIMULATION))
    return normal_form_s(row) if column == NORMAL_FORM else predicted_s(row, column)


def cell_of(row: MeasuredRow, column: str) -> str:
    """Return a prediction as ``evidence-rows.csv`` has it: seconds with six digits, empty without one."""
    value = reading_s(row, column)
    return "" if value is None else f"{value:.6g}"


def rows_lines(among: Iterable[MeasuredRow]) -> list[list[str]]:
    """Return the lines of ``evidence-rows.csv``."""
    title = ["id", "system", "operation", "at", "measured_s", *(f"{name.replace(' ', '_')}_s" for name in COLUMNS)]
    lines = [
        [row.id, *vars(Group.of(row)).values(), f"{row.seconds:.9g}", *(cell_of(row, name) for name in COLUMNS)]
        for row in among
    ]
    return [title, *lines]


@dataclass(frozen=True)
class Errors:
    """Quartiles and the largest of |predicted / measured - 1| over the ``rows`` that a reading predicts."""

    rows: int
    q25: float
    median: float
    q75: float
    worst: float

    @classmethod
    def of(cls, errors: Sequence[float]) -> Errors | None:
        """Return them, or None without an error."""
        return cls(len(errors), *np.percentile(errors, (25, 50, 75, 100)).tolist()) if errors else None


def group_errors(lines: Sequence[Mapping[str, str]]) -> dict[Group, dict[str, Errors | None]]:
    """Return the errors of each group and column, from the lines of ``evidence-rows.csv``."""
    found: dict[Group, dict[str, list[float]]] = {}
    for line in lines:
        columns = found.setdefault(Group(line["system"], line["operation"], line["at"]), {name: [] for name in COLUMNS})
        for name, errors in columns.items():
            if text := line[f"{name.replace(' ', '_')}_s"]:
                errors.append(abs(float(text) / float(line["measured_s"]) - 1))
    return {
        group: {name: Errors.of(errors) for name, errors in columns.items()}
        for group, columns in found.items()
        if any(columns.values())
    }


def groups_lines(errors: Mapping[Group, Mapping[str, Errors | None]]) -> list[list[str]]:
    """Return the lines of ``evidence-groups.csv``: a line for each group and column, errors as fractions."""
    lines = [["system", "operation", "at", "reading", "rows", *STATISTICS]]
    for group, columns in errors.items():
        for name, one in columns.items():
            if one is not None:
                values = [f"{getattr(one, statistic):.4f}" for statistic in STATISTICS]
                lines.append([*vars(group).values(), name, str(one.rows), *values])
    return lines


def percent(error: float) -> str:
    """Return an error in per cent with two digits, whole from 10 % on."""
    return f"{100 * error:.0f}" if error >= 0.0995 else f"{100 * error:.1f}"


def cell(one: Errors | None, rows: int) -> str:
    """Return a cell of a page: median (quartiles; worst), and the number of rows if it is not that of the group."""
    if one is None:
        return ""
    text = percent(one.median)
    if one.rows > 1:
        text += f" ({percent(one.q25)} to {percent(one.q75)}; {percent(one.worst)})"
    return text if one.rows == rows else f"{text}, {one.rows} row{'s' * (one.rows > 1)}"


def table_rows(errors: Mapping[Group, Mapping[str, Errors | None]], *, fugaku: bool) -> list[list[str]]:
    """Return a line of cells for each group of Fugaku, or of all other systems: operation, system, place, rows, errors.

    Lines of Fugaku have no cell for the system.
    """
    count = {group: len(every) for group, every in groups().items()}
    order = [(group.system, group.operation) for group in errors]

    def place(group: Group) -> tuple[bool, int, int, str]:
        is_own = group.operation.endswith(OWN)
        return is_own, order.index((group.system, group.operation)), len(group.at), group.at

    lines = []
    for group, columns in sorted(errors.items(), key=lambda each: place(each[0])):
        if (group.system == FUGAKU) == fugaku:
            first = [group.operation] if fugaku else [group.operation, group.system]
            cells = [cell(columns[name], count[group]) for name in COLUMNS]
            lines.append([*first, group.at, str(count[group]), *cells])
    return lines


def machines_lines(errors: Mapping[Group, Mapping[str, Errors | None]]) -> list[list[str]]:
    """Return the lines of ``measured-machines.csv``: errors in per cent, median (quartiles; worst)."""
    return [["operation", "system", "P", "rows", *COLUMNS], *table_rows(errors, fugaku=False)]


def fugaku_lines(errors: Mapping[Group, Mapping[str, Errors | None]]) -> list[list[str]]:
    """Return the lines of ``fugaku-groups.csv``: errors in per cent, median (quartiles; worst)."""
    return [["operation", "nodes", "rows", *COLUMNS[:-1], "normal-form fit"], *table_rows(errors, fugaku=True)]


def calibration_lines() -> list[list[str]]:
    """Return the lines of ``calibration-rows.csv``: the rows that chose something, then those that the hash sets aside."""
    kept = [row for row in rows() if row.role == "calibration"]
    ordered = sorted(kept, key=lambda row: not row.calibrates)
    return [["id", "used"], *([row.id, "constants" if row.calibrates else "none"] for row in ordered)]


def read_lines(path: Path) -> list[dict[str, str]]:
    """Read a table of ``docs/tables``."""
    with path.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


def _write(path: Path, lines: Iterable[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)


def main(folder: str) -> int:
    """Write the five files."""
    tables = Path(folder)
    _write(tables / ROWS_FILE, rows_lines(evidence()))
    errors = group_errors(read_lines(tables / ROWS_FILE))
    _write(tables / GROUPS_FILE, groups_lines(errors))
    _write(tables / MACHINES_FILE, machines_lines(errors))
    _write(tables / CALIBRATION_FILE, calibration_lines())
    _write(tables / FUGAKU_FILE, fugaku_lines(errors))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
