"""Measurements from files: ``read_measurements(path)`` finds out what a file is, and reads it.

| format | holds | suffixes |
|---|---|---|
| text | Extra-P's text: PARAMETER, POINTS, METRIC, REGION, DATA | .txt |
| json | Extra-P's JSON, new and old | .json |
| jsonlines | one JSON object a line, with ``params`` and ``value`` | .jsonl .ndjson |
| talpas | the same with ``parameters``, and ``;`` for ``,`` | .txt |
| csv | a tidy table: parameters, region, metric, value, repetition | .csv .tsv |
| parquet | such a table, or a sweep's; needs pyarrow | .parquet .pq |
| sweep | the table of a sweep, in CSV | .csv |
| extrap | an experiment that Extra-P has saved | .extra-p |
| cube | a folder of Score-P's runs; needs pycubexr (extra ``cube``) | a folder |
| osu imb nccl hpl hpcg stream ior mdtest pico caliper smpi gemm training | what benchmarks print, or gzip of it | any |

The first bytes of a file take precedence over its suffix. Each format registers itself in ``READERS``, in the module of
this package that reads it; other packages bring theirs by entry points ``simcodesign.measurement_readers``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import first_bytes, is_folder
from simcodesign.core.files.readers import START_BYTES, FileStart, Reader, ReaderRegistry
from simcodesign.fitting.measurements import Measurements


class ReadMeasurements(Protocol):
    """Reader of one format. ``partial``: whether a series may lack points that others have."""

    def __call__(self, path: Path, partial: bool = ...) -> Measurements: ...


@dataclass(frozen=True)
class MeasurementReader(Reader[ReadMeasurements]):
    """The reader of one format of measurements, from a file or from a folder.

    ``read_all``: reads a file whose format was not named, with what other formats have in it; None for ``read``.
    """

    reads_folder: bool = False
    read_all: ReadMeasurements | None = None
    read_column: Callable[[Path, bool, str], Measurements] | None = None
    """Reads a table whose column of values is named, last."""


READERS: ReaderRegistry[MeasurementReader] = ReaderRegistry("measurements", __name__, "simcodesign.measurement_readers")


def read_measurements(
    path: str | Path, format: str | None = None, *, partial: bool | None = None, value: str | None = None
) -> Measurements:
    """Return the measurements in a file, or in a folder of Score-P's runs.

    ``format`` names a reader, None to find it out.

    ``partial``: whether a series may lack points that others have (NaN in ``values``). By default only a folder of
    runs may, as call trees differ; elsewhere a point that is missing is an error that names it. ``value``: the column
    of values of a tidy table, by default ``value``, ``seconds`` or ``time``.
    Raises InputError naming file and line (or byte, or path of keys): see the modules of the formats.
    """
    path = Path(path)
    named = None if format is None else READERS.named(format, path)
    start = start_of(path)
    reader = named or recognised(start, path)
    if start.is_folder and not reader.reads_folder:
        folders = ", ".join(name for name, reader in READERS.items() if reader.reads_folder)
        raise InputError("a folder instead of a file", Place(str(path)), allowed=f"a folder for format {folders}")
    if reader.reads_folder and not start.is_folder:
        allowed = "the folder that holds a folder for each run"
        raise InputError("a file instead of a folder of runs", Place(str(path)), allowed=allowed)
    if not start.is_folder and not start.text:
        raise InputError("the file is empty", Place(str(path)), allowed=f"measurements: {READERS.names}")
    if value is not None:
        if reader.read_column is None:
            tables = ", ".join(name for name, one in READERS.items() if one.read_column)
            what = f"format {reader.name} has no column of values to choose"
            raise InputError(what, Place(str(path)), value=value, allowed=f"a tidy table ({tables})")
        return reader.read_column(path, bool(partial), value)
    read = reader.read if named else reader.read_all or reader.read
    return read(path) if partial is None else read(path, partial)


def recognised(start: FileStart, path: Path) -> MeasurementReader:
    """Return the reader by the first bytes of a file, or its suffix. Raises InputError if neither determines one."""
    reader = READERS.recognised(start)
    if reader is None:
        raise InputError(
            "the format of the file is unknown" if start.text else "the file is empty",
            Place(str(path), 1 if start.text else None),
            value=start.text[:40] or None,
            allowed=f"a table in CSV, or one of the formats {READERS.names}; --format (format=) selects one",
        )
    return reader


def start_of(path: Path) -> FileStart:
    """Return the properties that show the format of a file. Raises InputError if it cannot be read."""
    suffix = path.suffix.lower()
    if is_folder(path):
        return FileStart(suffix, is_folder=True)
    return FileStart(suffix, first_bytes(path, START_BYTES))
