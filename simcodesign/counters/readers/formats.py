"""Counters from files: ``read_counters(path)`` finds out what a file is, and reads it.

| format | holds |
|---|---|
| csv | a tidy table, one row per run, kernel and rank, as ``simulate`` writes it; columns may be events |
| perf | ``perf stat``, with ``-x``, ``-j`` or as text, one run a file (``perf_stat``) |
| likwid | ``likwid-perfctr -O``, one run a file (``likwid``) |
| gprof | the flat profile of ``gprof``, times of functions alone, one run a file (``gprof``) |

Each format registers itself in ``READERS``, in the module of this package that reads it; other packages bring theirs
by entry points ``simcodesign.counter_readers``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import open_text
from simcodesign.core.files.readers import START_BYTES, FileStart, Reader, ReaderRegistry
from simcodesign.counters.events import NO_LABELS, Labels
from simcodesign.counters.table import CounterTable

CounterReader = Reader[Callable[[Path, Labels], CounterTable]]

READERS: ReaderRegistry[CounterReader] = ReaderRegistry("counters", __name__, "simcodesign.counter_readers")


def read_counters(path: str | Path, labels: Labels = NO_LABELS, format: str | None = None) -> CounterTable:
    """Return the rows of a file. ``labels``: what the file does not say of its run; ``format`` names a reader.

    Raises InputError naming file and line for what cannot be read.
    """
    path = Path(path)
    reader = recognised(path) if format is None else READERS.named(format, path)
    return reader.read(path, labels)


def recognised(path: Path) -> CounterReader:
    """Return the reader of a file, by its first lines.

    Raises InputError for a file that is empty or of no known format.
    """
    with open_text(path) as file:
        start = FileStart(path.suffix.lower(), file.read(START_BYTES).encode())
    reader = READERS.recognised(start)
    if reader is None:
        data = next((line for line in start.lines if not line.startswith("#")), None)
        if data is None:
            raise InputError("the file is empty", Place(str(path)), allowed=f"counters: {READERS.names}")
        raise InputError("the format of the file is unknown", Place(str(path)), value=data[:40], allowed=READERS.names)
    return reader
