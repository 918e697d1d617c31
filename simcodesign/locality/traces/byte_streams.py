"""Files as streams of bytes, decompressed; errors name the byte offset."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Protocol, Self, cast

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import STREAM_BYTES, check_size, open_bytes

#: Suffix of a compressed file -> its first bytes, and what opens it.
COMPRESSIONS: dict[str, tuple[bytes, Callable[[BinaryIO], Any]]] = {
    ".gz": (b"\x1f\x8b", gzip.open),
    ".xz": (b"\xfd7zXZ\x00", lzma.open),
    ".bz2": (b"BZh", bz2.open),
}
#: Exceptions of the standard library's decompressors. A cut stream is an EOFError, except for zip members.
_DAMAGED = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
PIECE_BYTES = 1 << 18


class Readable(Protocol):
    """Reader that fills a part of a buffer, and none of it at its end."""

    def readinto1(self, buffer: memoryview, /) -> int:
        """Read at most as many bytes as the buffer holds; return how many."""

    def close(self) -> None:
        """Close the stream."""


class Stream:
    """Bytes of ``source`` in order. ``offset`` counts those read; a reader of text keeps ``line`` at its next line."""

    def __init__(self, source: Readable, name: str, below: BinaryIO | None = None) -> None:
        self.name, self.offset, self.line = name, 0, cast(int | None, None)
        self._source, self._damage = source, ""
        self._below = below  # what the source reads and does not close

    def read_into(self, buffer: memoryview) -> int:
        """Fill the buffer; return how many bytes.

        Less only at the end, or before damage, which the next call raises.
        """
        filled = 0
        while filled < len(buffer) and not self._damage:
            try:
                # Little at a time, to come close to where a compressed file is damaged.
                fresh = self._source.readinto1(buffer[filled : filled + PIECE_BYTES])
            except _DAMAGED as error:
                self._damage = _damage(error)
                break
            if not fresh:
                break
            filled += fresh
        if self._damage and not filled:
            raise InputError(self._damage, self.place(self.offset))
        self.offset += filled
        check_size(self.offset, STREAM_BYTES, self.place(self.offset), "the trace, decompressed,")
        return filled

    def read(self, size: int) -> bytearray:
        """Return the next ``size`` bytes, or fewer as above."""
        data = bytearray(size)
        del data[self.read_into(memoryview(data)) :]
        return data

    def place(self, offset: int) -> Place:
        """Return a byte of the stream, in the line that is being read."""
        return Place(self.name, self.line, f"byte {offset}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._source.close()
        if self._below is not None:
            self._below.close()


def _damage(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        return f"the file cannot be read: {error.strerror}"
    what = "the compressed file is cut off" if isinstance(error, EOFError) else "the compressed file is corrupt"
    return f"{what}: only the part before can be read ({error or type(error).__name__})"


def open_stream(path: Path, compression: str = "") -> Stream:
    """Return the bytes of a file, decompressed if ``compression`` is a suffix of ``COMPRESSIONS``."""
    file = open_bytes(path, STREAM_BYTES)
    if not compression:
        return Stream(cast(Readable, file), str(path))
    first, opened = COMPRESSIONS[compression]
    try:
        if not first.startswith(file.read(len(first))):
            what = f"the file is not compressed as its suffix {compression} suggests"
            raise InputError(what, Place(str(path), path="byte 0"))
        file.seek(0)
        return Stream(opened(file), str(path), file)
    except BaseException:
        file.close()
        raise
