"""Traces from files: ``open_trace(path)`` detects the format of a file, and reads it in chunks, any number of times.

| format | holds | suffixes |
|---|---|---|
| npy | addresses, an array that ``numpy.save`` wrote | .npy |
| npz | arrays address, kind, group and size, as recording writes them | .npz |
| raw | addresses as little-endian uint64 | .u64 .raw .bin |
| lackey | what ``valgrind --tool=lackey --trace-mem=yes`` prints | .lackey |
| din | input of the Dinero cache simulators | .din |
| pin | what the example tool pinatrace of Pin prints | .pin |

Each but npz may be compressed by gzip, xz or bzip2, and then has one more suffix (.gz, .xz, .bz2). Each format
registers itself in the module of ``readers`` that reads it; other packages bring theirs by entry points
``simcodesign.trace_readers``.
"""

from __future__ import annotations

from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.readers import START_BYTES, FileStart
from simcodesign.locality.traces.byte_streams import COMPRESSIONS, open_stream
from simcodesign.locality.traces.readers.registry import READERS, TraceReader
from simcodesign.locality.traces.trace import Trace, empty_trace


def open_trace(path: str | Path, format: str | None = None, *, instructions: bool = False) -> Trace:
    """Return the trace in a file; ``format`` names a reader, or None to find it out from the suffix and first bytes.

    With ``instructions``, the instruction fetches of a text are accesses too (of kind FETCH, each its own group).
    Raises ``InputError`` here or while it is read: a file that is missing, of no known format, empty, cut off or
    corrupt (with the byte offset, in the decompressed stream, and the line of a text).
    """
    path = Path(path)
    named = None if format is None else READERS.named(format, path)
    compression = compression_of(path, named)
    reader = named or recognised(path, compression)
    if instructions and not reader.has_instructions:
        allowed = ", ".join(name for name, reader in READERS.items() if reader.has_instructions)
        what = f"a trace in format {reader.name} names no instructions fetched"
        raise InputError(what, Place(str(path)), allowed=allowed)
    return reader.read(path, compression, instructions)


def compression_of(path: Path, named: TraceReader | None = None) -> str:
    """Return the suffix of how a file is compressed, or nothing.

    Without one its first bytes tell, but not for raw numbers.
    """
    suffix = path.suffix.lower()
    if suffix in COMPRESSIONS:
        return suffix
    if any(reader and reader.is_any_bytes for reader in (named, READERS.of_suffix(suffix))):
        return ""
    start = first_bytes(path, "")
    return next((name for name, (first, _) in COMPRESSIONS.items() if start.startswith(first)), "")


def recognised(path: Path, compression: str) -> TraceReader:
    """Return the reader by the first bytes of a file, or its suffix. Raises InputError if neither determines one."""
    inner = path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path
    start = FileStart(inner.suffix.lower(), first_bytes(path, compression))
    reader = READERS.recognised(start)
    if reader is None and not start.content:
        raise empty_trace(str(path))
    if reader is None:
        formats = "|".join(READERS)
        suffixes = " ".join(READERS.suffixes)
        allowed = f"format={formats}, or a suffix {suffixes}, with {' '.join(COMPRESSIONS)} after it"
        value = start.content[:24]
        raise InputError("the format of the trace is unknown", Place(str(path)), value=value, allowed=allowed)
    return reader


def first_bytes(path: Path, compression: str) -> bytes:
    """Enough of a file to see what it is."""
    with open_stream(path, compression) as stream:
        return bytes(stream.read(START_BYTES))
