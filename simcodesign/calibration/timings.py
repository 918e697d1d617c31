"""Tables of measured times: one row a measurement, with the values of parameters it was taken at.

Columns of a CSV file (comma, semicolon or tab): ``seconds``; any parameter of the workload and ``P``; ``preset``,
``phase`` and ``component`` in words. A phase that is missing or empty is the whole run, a component that is missing,
empty or ``total`` all of its time; an empty parameter has its default. ``repetition``, ``table``, ``role``, ``run``,
``source`` and ``comment`` only label rows. Rows of the same point are repetitions. Lines that begin with # are
comments.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.files.input_files import open_text
from simcodesign.core.files.text_files import CsvRows, check_width, number
from simcodesign.core.units import NOT_NEGATIVE_RANGE, is_positive

SECONDS, RANKS, PRESET, PHASE, COMPONENT = "seconds", "P", "preset", "phase", "component"
WORDS = (PRESET, PHASE, COMPONENT)
LABELS = ("repetition", "table", "role", "run", "source", "comment")
TOTAL = "total"


@dataclass(frozen=True)
class Timing:
    """One measured time. ``phase`` empty: the whole run; ``component`` ``total``: all of the time."""

    seconds: float
    values: Mapping[str, float] = field(default_factory=dict)
    preset: str | None = None
    phase: str = ""
    component: str = TOTAL
    place: Place = field(default=Place(), compare=False)

    @property
    def point(self) -> tuple[str | None, tuple[tuple[str, float], ...]]:
        """Where it was measured."""
        return self.preset, tuple(sorted(self.values.items()))

    def __str__(self) -> str:
        words = [self.preset or "", *(f"{name}={value:g}" for name, value in self.values.items())]
        what = " ".join(part for part in (self.phase, self.component) if part)
        return f"{what} at {', '.join(filter(None, words)) or 'the defaults'}"

    def json_fields(self) -> str:
        """In words."""
        return str(self)


@dataclass(frozen=True)
class TableNames:
    """The names that a table may use: parameters (with P), presets, phases and components (with total)."""

    parameters: Collection[str]
    presets: Collection[str]
    phases: Collection[str]
    components: Collection[str]

    def of(self, column: str) -> Collection[str]:
        """The words of a column."""
        return {PRESET: self.presets, PHASE: self.phases, COMPONENT: self.components}[column]


def read_timings(paths: Iterable[Path | str], names: TableNames) -> tuple[Timing, ...]:
    """The rows of tables, in their order.

    Raises InputError with file and line for columns, words and numbers that cannot be used, and for empty tables.
    """
    return tuple(timing for path in paths for timing in _read(Path(path), names))


def _read(path: Path, names: TableNames) -> Iterator[Timing]:
    with open_text(path) as file:
        table = CsvRows(file, str(path), commented=True)
        rows = iter(table)
        line, header = next(rows, (0, []))
        if not header:
            raise InputError("an empty table", Place(str(path)), allowed="a header with seconds, and rows")
        columns = _columns(header, names, Place(str(path), line))
        is_empty = True
        for line, cells in rows:
            is_empty = False
            check_width(cells, columns, Place(str(path), line), table.delimiter)
            entries = {name: cell.strip() for name, cell in zip(columns, cells, strict=True)}
            yield _timing(entries, names, _place(path, line))
        if is_empty:
            raise InputError("a table without rows", Place(str(path)), allowed="at least one measured time")


def _place(path: Path, line: int) -> Callable[[str], Place]:
    return lambda column: Place(str(path), line, f"column {column}" if column else "")


def _columns(header: Sequence[str], names: TableNames, place: Place) -> list[str]:
    columns = [name.strip() for name in header]
    allowed = {SECONDS, *WORDS, *names.parameters, *LABELS}
    for name in columns:
        if name not in allowed:
            raise InputError("unknown column", place, value=name, allowed=nearest(name, allowed))
        if columns.count(name) > 1:
            raise InputError("two columns of one name", place, value=name)
    if SECONDS not in columns:
        raise InputError("no column of times", place, value=", ".join(columns), allowed=f"a column {SECONDS}")
    return columns


def _timing(entries: Mapping[str, str], names: TableNames, place: Callable[[str], Place]) -> Timing:
    seconds = number(entries[SECONDS], place(SECONDS), "a time that is not a number")
    if seconds != 0 and not is_positive(seconds):
        raise InputError("a time out of range", place(SECONDS), value=seconds, allowed=NOT_NEGATIVE_RANGE)
    for column in WORDS:
        entry = entries.get(column, "")
        if entry and entry not in names.of(column) and not (column == PHASE and entry == TOTAL):
            allowed = nearest(entry, names.of(column))
            raise InputError(f"no such {column}", place(column), value=entry, allowed=allowed)
    values = {
        name: number(entry, place(name), "a parameter that is not a number")
        for name, entry in entries.items()
        if name in names.parameters and name not in (SECONDS, *WORDS) and entry
    }
    phase = entries.get(PHASE, "")
    return Timing(
        seconds,
        values,
        entries.get(PRESET) or None,
        "" if phase == TOTAL else phase,
        entries.get(COMPONENT) or TOTAL,
        place(""),
    )
