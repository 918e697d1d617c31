"""Traces in files of numbers: ``.npy`` arrays, raw little-endian uint64, and the ``.npz`` that recording writes.

They are read in chunks, an uncompressed ``.npy`` through a memory map, so that they may be larger than memory.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import STREAM_BYTES, open_bytes
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.locality.traces.byte_streams import Readable, Stream, open_stream
from simcodesign.locality.traces.readers.registry import READERS, TraceReader
from simcodesign.locality.traces.trace import (
    CHUNK,
    Accesses,
    Trace,
    addresses,
    at_least_one,
    empty_trace,
    first_negative,
    kinds,
    sizes,
)

WORD_BYTES = 8
ADDRESS, KIND, GROUP, SIZE = COLUMNS = "address", "kind", "group", "size"
_READ_HEADER = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
#: Exceptions for a file that is not a zip archive.
_BAD_ARCHIVE = (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, ValueError, struct.error)


class RawTrace(Trace):
    """Addresses as uint64 in little-endian order, one after another and nothing else."""

    def __init__(self, path: Path, compression: str = "") -> None:
        self.name, self._path, self._compression = str(path), path, compression
        with open_stream(path, compression):
            if not compression:
                self._check_size(path.stat().st_size)

    def chunks(self, most: int = CHUNK) -> Iterator[Accesses]:
        size_bytes = min(at_least_one(most), CHUNK) * WORD_BYTES
        with open_stream(self._path, self._compression) as stream:
            while data := stream.read(size_bytes):
                if len(data) % WORD_BYTES:
                    stream.read(1)  # raises if the file is damaged here
                    self._check_size(stream.offset)
                yield Accesses(native(data, np.dtype("<u8")))
            self._check_size(stream.offset)

    def _check_size(self, size_bytes: int) -> None:
        if not size_bytes:
            raise empty_trace(self.name)
        if rest := size_bytes % WORD_BYTES:
            what = f"the trace is cut off: its last address has only {rest} of {WORD_BYTES} bytes"
            raise InputError(what, Place(self.name, path=f"byte {size_bytes - rest}"), value=f"{size_bytes} bytes")


@dataclass(frozen=True)
class Header:
    """Fields of the header of an array of integers."""

    dtype: np.dtype[Any]
    count: int
    start: int  # byte at which the entries begin


class NpyTrace(Trace):
    """The addresses of a ``.npy`` file: one dimension of unsigned, or signed but not negative, integers."""

    def __init__(self, path: Path, compression: str = "") -> None:
        self.name, self._path, self._compression = str(path), path, compression
        with open_stream(path, compression) as stream:
            self._header = read_header(stream)
        if not self._header.count:
            raise empty_trace(self.name)
        if not compression:
            check_length(self._header, path.stat().st_size, Place(self.name))

    def chunks(self, most: int = CHUNK) -> Iterator[Accesses]:
        at_least_one(most)
        parts = self._streamed(most) if self._compression else self._mapped(most)
        first = 0
        for part in parts:
            if (at := first_negative(part)) is not None:
                place = Place(self.name, path=f"byte {self._header.start + (first + at) * part.itemsize}")
                raise InputError(f"entry {first + at} is negative", place, value=int(part[at]), allowed="0 or more")
            yield Accesses(addresses(part, Place(self.name)))
            first += len(part)

    def _mapped(self, most: int) -> Iterator[NDArray[Any]]:
        header = self._header
        # Copy on write: functions in C take no array that may not be written.
        with open_bytes(self._path, STREAM_BYTES) as file:
            entries = np.memmap(file, header.dtype, "c", header.start, (header.count,)).view(np.ndarray)
        return (entries[first : first + most] for first in range(0, header.count, most))

    def _streamed(self, most: int) -> Iterator[NDArray[Any]]:
        with open_stream(self._path, self._compression) as stream:
            yield from column_chunks(stream, most)


class NpzTrace(Trace):
    """The columns ``address`` and, if present, ``kind``, ``group`` and ``size`` of a ``.npz`` file."""

    def __init__(self, path: Path) -> None:
        self.name, self._path = str(path), path
        with self._archive() as archive:
            self._columns = [name for name in COLUMNS if f"{name}.npy" in archive.namelist()]
            if ADDRESS not in self._columns:
                allowed = f"arrays {', '.join(COLUMNS)}"
                raise InputError(
                    "the file has no array of addresses", Place(self.name), value=archive.namelist(), allowed=allowed
                )
            counts = [self._count(archive, name) for name in self._columns]
        if len(set(counts)) > 1:
            value = dict(zip(self._columns, counts, strict=True))
            raise InputError("the arrays of a trace have different lengths", Place(self.name), value=value)
        if not counts[0]:
            raise empty_trace(self.name)

    def chunks(self, most: int = CHUNK) -> Iterator[Accesses]:
        at_least_one(most)
        with self._archive() as archive:
            streams = [self._column(archive, name) for name in self._columns]
            try:
                for parts in zip(*(column_chunks(stream, most) for stream in streams), strict=True):
                    yield self._accesses(dict(zip(self._columns, parts, strict=True)))
            finally:
                for stream in streams:
                    stream.__exit__(None, None, None)

    def _accesses(self, part: dict[str, NDArray[Any]]) -> Accesses:
        return Accesses(
            addresses(part[ADDRESS], Place(self.name, path=ADDRESS)),
            kinds(part[KIND], Place(self.name, path=KIND)) if KIND in part else None,
            addresses(part[GROUP], Place(self.name, path=GROUP)) if GROUP in part else None,
            sizes(part[SIZE], Place(self.name, path=SIZE)) if SIZE in part else None,
        )

    @contextmanager
    def _archive(self) -> Iterator[zipfile.ZipFile]:
        with open_bytes(self._path, STREAM_BYTES) as file:
            try:
                archive = zipfile.ZipFile(file)
            except _BAD_ARCHIVE as error:
                what = f"this is no whole .npz file: {error}"
                raise InputError(what, Place(self.name, path=f"byte {self._path.stat().st_size}")) from None
            with archive:
                yield archive

    def _column(self, archive: zipfile.ZipFile, name: str) -> Stream:
        try:
            return Stream(cast(Readable, archive.open(f"{name}.npy")), f"{self.name}: {name}")
        except _BAD_ARCHIVE as error:
            raise InputError(f"the file is corrupt: {error}", Place(self.name, path=name)) from None

    def _count(self, archive: zipfile.ZipFile, name: str) -> int:
        with self._column(archive, name) as stream:
            header = read_header(stream)
            check_length(header, archive.getinfo(f"{name}.npy").file_size, Place(stream.name))
        return header.count


def column_chunks(stream: Stream, most: int) -> Iterator[NDArray[Any]]:
    """Yield the entries of an array in a stream of bytes, checked to match its header."""
    header, most = read_header(stream), min(most, CHUNK)
    left = header.count
    while left:
        size = min(most, left) * header.dtype.itemsize
        data = stream.read(size)
        if len(data) < size:
            stream.read(1)  # raises if the file is damaged here
            check_length(header, stream.offset, Place(stream.name))
        yield native(data, header.dtype)
        left -= min(most, left)
    if stream.read(1):
        check_length(header, stream.offset, Place(stream.name))


def read_header(stream: Stream) -> Header:
    """Return the header of an array of integers with one dimension; InputError for anything else."""
    file = cast(Any, SimpleNamespace(read=stream.read))
    try:
        version = npy.read_magic(file)
        if version not in _READ_HEADER:
            raise ValueError(f"version {version} is not known")
        shape, _, dtype = _READ_HEADER[version](file)
    except InputError:
        raise
    except Exception as error:  # NumPy takes the header for Python: bytes that are none raise whatever Python does
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"no header of a .npy array of integers: {what}", stream.place(0)) from None
    place = Place(stream.name)
    if len(shape) != 1 or shape[0] < 0:
        raise InputError("an array of a trace must have one dimension", place, value=shape, allowed="one dimension")
    if dtype.kind not in "iu":
        raise InputError(
            "an array of a trace must contain integers", place, value=str(dtype), allowed="integers of 8 to 64 bits"
        )
    return Header(dtype, shape[0], stream.offset)


def native(data: bytearray, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the entries in this machine's order of bytes, in an array that may be written."""
    return np.frombuffer(data, dtype).astype(dtype.newbyteorder("="))


def check_length(header: Header, size_bytes: int, place: Place) -> None:
    """InputError unless the entries end where the file does."""
    entries, end = header.count, header.start + header.count * header.dtype.itemsize
    at = Place(place.file, path=f"byte {min(size_bytes, end)}")
    if size_bytes < end:
        whole = max(0, size_bytes - header.start) // header.dtype.itemsize
        raise InputError(f"the array is cut off after {whole} of {entries} entries", at)
    if size_bytes > end:
        raise InputError(f"more bytes follow the {entries} entries that the header names", at)


def read_npy(path: Path, compression: str, instructions: bool) -> Trace:
    """Return the trace of one array, perhaps compressed."""
    return NpyTrace(path, compression)


def read_npz(path: Path, compression: str, instructions: bool) -> Trace:
    """Return the trace of an archive. Raises InputError for one that is compressed once more."""
    if compression:
        allowed = "the file without compression"
        raise InputError("a .npz file is compressed in itself", Place(str(path)), allowed=allowed)
    return NpzTrace(path)


def read_raw(path: Path, compression: str, instructions: bool) -> Trace:
    """Return the trace of plain addresses, perhaps compressed."""
    return RawTrace(path, compression)


def sniff_npy(start: FileStart) -> Match:
    """Recognise what NumPy begins an array with."""
    return Match.CERTAIN if start.content.startswith(npy.MAGIC_PREFIX) else Match.NONE


def sniff_npz(start: FileStart) -> Match:
    """Match the first bytes of a zip archive."""
    return Match.CERTAIN if start.content.startswith(b"PK\x03\x04") else Match.NONE


READERS.add_reader(TraceReader("npy", read_npy, (".npy",), sniff_npy))
READERS.add_reader(TraceReader("npz", read_npz, (".npz",), sniff_npz))
READERS.add_reader(TraceReader("raw", read_raw, (".u64", ".raw", ".bin"), is_any_bytes=True))
