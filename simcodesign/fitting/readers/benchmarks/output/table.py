"""Tables of benchmark outputs: one row a measurement, in SI units, with its line in the file.

A format of this package is one module that registers a ``BenchmarkReader`` (``add_benchmark``) in the registry of all
measurements. ``read_benchmark`` reads a file as rows, for calibration and comparison; ``read_measurements`` reads the
same file as series for ``fit``: a region for each operation, a metric for each quantity.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.formula_cells import escaped
from simcodesign.core.files.readers import FileStart, Match, no_match
from simcodesign.core.files.text_files import number
from simcodesign.core.units import MOST
from simcodesign.fitting.measurements import MAX_PARAMETERS, Measurements
from simcodesign.fitting.readers.benchmarks.output.text import BEGINS, benchmarks_in, notes_on, unpacked_start
from simcodesign.fitting.readers.formats import READERS, MeasurementReader, read_measurements, recognised, start_of
from simcodesign.fitting.readers.rows import Rows, pair

if TYPE_CHECKING:
    import pandas as pd

#: Measured quantities and their units; ``time`` is per operation (one direction of a ping-pong). For a non-blocking
#: operation, ``time`` is communication alone, ``overall_time`` includes a concurrent computation of ``compute_time``,
#: and ``overlap`` the fraction of its time that the computation hides.
QUANTITIES = {
    "time": "s",
    "overall_time": "s",
    "compute_time": "s",
    "overlap": "1",
    "bandwidth": "B/s",
    "flop_rate": "FLOP/s",
    "operation_rate": "1/s",
}
#: Columns of the tidy table, in addition to the parameters and labels.
TIDY = ("phase", "component", "value", "low", "high", "count", "interval", "source")


@dataclass(frozen=True)
class BenchmarkRow:
    """One measurement: ``value`` in the unit of its ``quantity`` (``QUANTITIES``), over ``repetitions``.

    ``operation``: the measured operation, by the names of this project if it has one (``broadcast``, ``all_to_all``).
    ``component``: the part of a time that it is (``communication``, ``computation``, ``memory``, ``disk``, ``total``).
    ``parameters``: ``bytes``, ``P`` (ranks), ``nodes``, ``n`` ...; ``labels``: parameters in words (``algorithm``).
    ``low`` to ``high``: its spread, None if the benchmark prints none; ``interval`` describes these bounds.
    ``data``: type, operator and layout of what was sent, if they matter: rows of other data are no repetitions.
    ``waiting``: ranks of the run that had no part in the operation. ``line``: its line in the file, from 1.
    """

    operation: str
    quantity: str
    value: float
    line: int
    component: str = "communication"
    parameters: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    low: float | None = None
    high: float | None = None
    repetitions: int = 1
    interval: str = ""
    data: str = ""
    waiting: int = 0

    @property
    def series(self) -> str:
        """The operation and its labels, as a name of a region."""
        words = ", ".join(self.labels.values())
        return f"{self.operation} ({words})" if words else self.operation


@dataclass(frozen=True)
class BenchmarkTable:
    """The rows of one file, in its order. ``notes``: what was left out, and why."""

    file: str
    format: str
    rows: tuple[BenchmarkRow, ...]
    notes: tuple[str, ...] = ()

    def with_parameters(self, values: Mapping[str, float]) -> BenchmarkTable:
        """Return the table with these parameters added to rows that lack them."""
        return replace(self, rows=tuple(replace(row, parameters={**values, **row.parameters}) for row in self.rows))


ReadTable = Callable[[Path], BenchmarkTable]


@dataclass(frozen=True)
class BenchmarkReader(MeasurementReader):
    """A reader of measurements that also gives them as rows."""

    rows_of: ReadTable = field(kw_only=True)


def add_benchmark(
    name: str,
    rows_of: ReadTable,
    sniff: Callable[[FileStart], Match] = no_match,
    suffixes: tuple[str, ...] = (),
    begins: re.Pattern[str] | None = None,
) -> None:
    """Register the reader of one benchmark's format in the registry of measurements.

    ``begins``: what a line matches at which its output begins; such a line also shows the format, as ``sniff`` does.
    """
    if begins is not None:
        BEGINS[name] = begins

    def rows_of_part(path: Path) -> BenchmarkTable:
        len(READERS)  # imports all formats: only then are the beginnings of all outputs known, which end this one
        return rows_of(path)

    def read(path: Path, partial: bool = True) -> Measurements:
        return measurements_of(rows_of_part(path), partial)

    def read_all(path: Path, partial: bool = True) -> Measurements:
        return measurements_of(_all_parts(reader, path), partial)

    def match(start: FileStart) -> Match:
        unpacked = unpacked_start(start)
        is_shown = begins is not None and any(begins.match(line) for line in unpacked.lines)
        return Match.CERTAIN if is_shown else sniff(unpacked)

    reader = BenchmarkReader(name, read, suffixes, match, read_all=read_all, rows_of=rows_of_part)
    READERS.add_reader(reader)


def _all_parts(reader: BenchmarkReader, path: Path) -> BenchmarkTable:
    """Return the rows of all benchmarks in a file that ``reader`` recognises."""
    names = benchmarks_in(path) if reader.name in BEGINS else []
    if names in ([], [reader.name]):
        table = reader.rows_of(path)
        return replace(table, notes=(*table.notes, *notes_on(path)))
    parts = [one.rows_of(path) for one in map(READERS.get, names) if isinstance(one, BenchmarkReader)]
    notes = [note for part in parts for note in part.notes]
    notes += [f"the output of {part.format} holds no measurement." for part in parts if not part.rows]
    rows = sorted((row for part in parts for row in part.rows), key=lambda row: row.line)
    formats = " and ".join(part.format for part in parts if part.rows)
    return BenchmarkTable(str(path), formats or reader.name, tuple(rows), (*notes, *notes_on(path)))


def read_benchmark(path: str | Path, format: str | None = None) -> BenchmarkTable:
    """Return the rows of the file at ``path``, which benchmarks have written.

    ``format`` names a reader, which reads its own part; None to find out, and to read the parts of all benchmarks.
    Raises InputError naming file and line; and for a format that has no rows of this kind.
    """
    path = Path(path)
    reader = recognised(start_of(path), path) if format is None else READERS.named(format, path)
    if not isinstance(reader, BenchmarkReader):
        formats = ", ".join(name for name, one in READERS.items() if isinstance(one, BenchmarkReader))
        what = "not what a benchmark prints"
        allowed = (
            f"one of {formats}; --format names it; with measured times of a workload, calibrate WORKLOAD MACHINE FILE"
        )
        raise InputError(what, Place(str(path)), value=reader.name, allowed=allowed)
    table = _all_parts(reader, path) if format is None else reader.rows_of(path)
    if not table.rows:
        what = " ".join(("the file holds no measurement", *(f"({note.rstrip('.')})" for note in table.notes[:3])))
        raise InputError(what, Place(str(path)), allowed=f"output of {reader.name}")
    for row in table.rows:
        if not abs(row.value) <= MOST:
            raise InputError("a measurement out of range", Place(str(path), row.line), value=row.value)
    return table


def is_benchmark(path: Path) -> bool:
    """Return whether the first bytes of a file show that a benchmark printed it."""
    return isinstance(READERS.recognised(unpacked_start(start_of(path))), BenchmarkReader)


def rows_frame(table: BenchmarkTable) -> pd.DataFrame:
    """Return the rows as a DataFrame of texts, for ``measured=``: the table of ``tidy_text``, with rows of no role."""
    import pandas as pd

    text = tidy_text([table], {"role": [""] * len(table.rows)})
    titles, *rows = csv.reader(io.StringIO(text))
    return pd.DataFrame(rows, columns=titles, dtype=object)


def read_table(
    path: str | Path, format: str | None = None, *, partial: bool | None = None, value: str | None = None
) -> Measurements | BenchmarkTable:
    """Read what a file holds, by its content: measurements, or the rows that a benchmark printed.

    ``path``: a file, or a folder of Score-P's runs. ``format`` names a reader; None to find it out. Rows of a benchmark
    (operation, quantity, value in SI units, line) are for ``calibrate`` and ``fit``, measurements for ``fit``.
    ``partial``: whether a series of measurements may lack points that others have (NaN in ``values``). By default only
    a folder of runs may, as call trees differ; elsewhere a missing point is an error that names it. ``value``: the
    column of values of a tidy table, by default ``value``, ``seconds`` or ``time``.

    Raises InputError naming file and line (or byte, or path of keys).

    >>> import simcodesign as sc
    >>> from pathlib import Path
    >>> file = Path("runs.csv")
    >>> _ = file.write_text("p,value\\n2,6\\n4,12\\n8,24\\n16,48\\n32,96\\n")
    >>> sc.read_table(file).parameters
    ('p',)
    >>> file = Path("osu_latency.txt")
    >>> _ = file.write_text("# OSU MPI Latency Test v7.0\\n# Size  Latency (us)\\n1000  2\\n2000  3\\n9000  10\\n")
    >>> [round(row.value * 1e6, 6) for row in sc.read_table(file).rows]
    [2.0, 3.0, 10.0]
    """
    path = Path(path)
    if partial is None and value is None:
        reader = recognised(start_of(path), path) if format is None else READERS.named(format, path)
        if isinstance(reader, BenchmarkReader):
            return read_benchmark(path, format)
    return read_measurements(path, format, partial=partial, value=value)


def as_measurements(source: Measurements | BenchmarkTable | str | Path) -> Measurements:
    """Return the measurements of a table or a file. Raises InputError as ``read_table`` does."""
    if isinstance(source, BenchmarkTable):
        return measurements_of(source)
    return source if isinstance(source, Measurements) else read_measurements(source)


def numbers(cells: Sequence[str], path: Path, line: int) -> list[float]:
    """Cells as finite numbers. Raises InputError naming file and line."""
    return [number(cell, Place(str(path), line)) for cell in cells]


def measurements_of(table: BenchmarkTable, partial: bool = True) -> Measurements:
    """Return the rows as series: a region for each operation with its labels, a metric for each quantity.

    Parameters are those that differ between rows (at most four, with the most values first; if none does, the
    first of those that the most rows have); a row without one of them, or with a 0, is in no series. Raises
    InputError if none is left.
    """
    names = list(dict.fromkeys(name for row in table.rows for name in row.parameters))
    values = {name: {row.parameters[name] for row in table.rows if name in row.parameters} for name in names}
    varying = sorted((name for name in names if len(values[name]) > 1), key=lambda name: -len(values[name]))
    common = sorted(names, key=lambda name: -sum(name in row.parameters for row in table.rows))
    chosen = sorted(varying[:MAX_PARAMETERS] or common[:1], key=names.index)
    place = Place(table.file)
    if not chosen:
        raise InputError("measurements without any parameter", place, allowed="sizes, ranks, ...")
    rows = Rows(table.file, partial)
    for row in table.rows:
        point = tuple(row.parameters.get(name, 0.0) for name in chosen)
        if min(point) > 0:
            at = rows.point(point, lambda row=row: Place(table.file, row.line))  # type: ignore[misc]
            rows.add([pair(rows.region(row.series), rows.metric(row.quantity))], [at], [row.value])
    if not rows.count:
        raise InputError("no row has all parameters above 0", place, value=", ".join(chosen))
    return rows.measurements(tuple(chosen))


def tidy_text(tables: Sequence[BenchmarkTable], more: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return all rows as one CSV table, as ``--measured`` takes it (``describe.measured_tables.table``).

    Parameters, labels, phase, component, value, low, high, count, interval, source (file and line), ``data`` if it
    differs within an operation, and ``quantity`` if not all are times.

    ``more``: further columns, an entry for each row of all tables in their order.
    """
    rows = [(table.file, row) for table in tables for row in table.rows]
    parameters = list(dict.fromkeys(name for _, row in rows for name in row.parameters))
    labels = list(dict.fromkeys(name for _, row in rows for name in row.labels))
    extra = {**(more or {})}
    is_of_several = len({(row.operation, row.data) for _, row in rows}) > len({row.operation for _, row in rows})
    if is_of_several:
        labels = [name for name in labels if name != "data"]
        extra["data"] = [row.data for _, row in rows]
    if any(row.quantity != "time" for _, row in rows):
        extra["quantity"] = [row.quantity for _, row in rows]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(escaped, [*parameters, *labels, *TIDY, *extra]))
    for place, (file, row) in enumerate(rows):
        writer.writerow(
            [
                *(_cell(row.parameters.get(name)) for name in parameters),
                *(escaped(row.labels.get(name, "")) for name in labels),
                escaped(row.operation),
                "" if row.component == "total" else row.component,
                *map(_cell, (row.value, row.low, row.high)),
                row.repetitions,
                row.interval,
                escaped(f"{file}:{row.line}"),
                *(column[place] for column in extra.values()),
            ]
        )
    return text.getvalue()


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.12g}"
