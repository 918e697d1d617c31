"""Traces from files: ``open_trace(path)`` finds out what a file is, and reads it in chunks, as often as is asked.

| format | holds | suffixes |
|---|---|---|
| npy | addresses, an array that ``numpy.save`` wrote | .npy |
| npz | arrays address, kind and group, as recording writes them | .npz |
| raw | addresses as little-endian uint64 | .u64 .raw .bin |
| lackey | what ``valgrind --tool=lackey --trace-mem=yes`` prints | any |
| din | input of the Dinero cache simulators | .din |

Each but npz may be compressed by gzip, xz or bzip2, and then has one more suffix (.gz, .xz, .bz2).
"""

from __future__ import annotations

from pathlib import Path

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.locality.traces.arrays import NpyTrace, NpzTrace, RawTrace
from simcodesign.locality.traces.byte_streams import COMPRESSIONS, check_is_file, open_stream
from simcodesign.locality.traces.text import DIN_TEXT, LACKEY_TEXT, MESSAGE_LINE, TextTrace
from simcodesign.locality.traces.trace import Trace, empty_trace

NPY, NPZ, RAW, LACKEY, DIN = FORMATS = ("npy", "npz", "raw", "lackey", "din")
SUFFIXES = {".npy": NPY, ".npz": NPZ, ".u64": RAW, ".raw": RAW, ".bin": RAW, ".din": DIN, ".lackey": LACKEY}
#: First bytes of the formats that have such, which count for more than a suffix does.
FIRST_BYTES = {b"\x93NUMPY": NPY, b"PK\x03\x04": NPZ}
LOOKED_AT_BYTES = 1 << 16


def open_trace(path: str | Path, format: str | None = None, *, instructions: bool = False) -> Trace:
    """The trace in a file; ``format`` is one of ``FORMATS``, or None to find it out from the suffix and first bytes.

    With ``instructions``, the instruction fetches of a text are accesses too (of kind FETCH, each its own group).
    Raises ``InputError`` here or while it is read: a file that is missing, of no known format, empty, cut off or
    corrupt (with the byte offset, in the decompressed stream, and the line of a text).
    """
    path = Path(path)
    check_is_file(path)
    if format is not None and format not in FORMATS:
        raise InputError("no such format of traces", Place(str(path)), value=format, allowed=nearest(format, FORMATS))
    compression = compression_of(path, format)
    found = format or guessed_format(path, compression)
    if instructions and found not in (LACKEY, DIN):
        raise InputError(
            f"a trace in format {found} names no instructions fetched", Place(str(path)), allowed=f"{LACKEY}, {DIN}"
        )
    if found in (LACKEY, DIN):
        return TextTrace(path, LACKEY_TEXT if found == LACKEY else DIN_TEXT, compression, instructions)
    if found == NPZ:
        if compression:
            raise InputError(
                "a .npz file is compressed in itself", Place(str(path)), allowed="the file without compression"
            )
        return NpzTrace(path)
    return NpyTrace(path, compression) if found == NPY else RawTrace(path, compression)


def compression_of(path: Path, format: str | None = None) -> str:
    """The suffix of how a file is compressed, or nothing. Without one its first bytes tell, but not for raw numbers."""
    suffix = path.suffix.lower()
    if suffix in COMPRESSIONS:
        return suffix
    if format == RAW or SUFFIXES.get(suffix) == RAW:
        return ""
    start = first_bytes(path, "")
    return next((name for name, (first, _) in COMPRESSIONS.items() if start.startswith(first)), "")


def guessed_format(path: Path, compression: str) -> str:
    """The format that the first bytes of a file show, or its suffix."""
    start = first_bytes(path, compression)
    for first, name in FIRST_BYTES.items():
        if start.startswith(first):
            return name
    inner = path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path
    if known := SUFFIXES.get(inner.suffix.lower()):
        return known
    if not start:
        raise empty_trace(str(path))
    return format_of_text(start) or _unknown(path, start)


def format_of_text(start: bytes) -> str:
    """lackey or din by the first line that is no message of valgrind; nothing if it is of neither."""
    lines = [line for line in start.splitlines(keepends=True) if line.strip()]
    records = [line for line in lines if not MESSAGE_LINE.match(line)]
    if not records:
        return LACKEY if lines else ""
    return next((text.name for text in (LACKEY_TEXT, DIN_TEXT) if text.record.match(records[0])), "")


def first_bytes(path: Path, compression: str) -> bytes:
    """Enough of a file to see what it is."""
    with open_stream(path, compression) as stream:
        return bytes(stream.read(LOOKED_AT_BYTES))


def _unknown(path: Path, start: bytes) -> str:
    allowed = f"format={'|'.join(FORMATS)}, or a suffix {' '.join(SUFFIXES)}, with {' '.join(COMPRESSIONS)} after it"
    raise InputError("format of the trace is not known", Place(str(path)), value=start[:24], allowed=allowed)
