"""Readers of address traces, one for each format, and their registry; each registers itself in its own module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from simcodesign.core.files.readers import Reader, ReaderRegistry
from simcodesign.locality.traces.trace import Trace


@dataclass(frozen=True)
class TraceReader(Reader[Callable[[Path, str, bool], Trace]]):
    """The reader of one format. ``read`` takes the file, the suffix of its compression or "", and ``instructions``."""

    #: Whether it names the instructions fetched, which may then be accesses too.
    has_instructions: bool = False
    #: Whether any first bytes may be data, so that only a suffix shows that a file is compressed.
    is_any_bytes: bool = False


READERS: ReaderRegistry[TraceReader] = ReaderRegistry("traces", __name__, "simcodesign.trace_readers")
