"""A file on the disk of this computer, which the program itself names, as its ``open`` would."""

from __future__ import annotations

import os
import stat
import weakref

from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.values.errors import MpiError

MODE_CREATE, MODE_RDONLY, MODE_WRONLY, MODE_RDWR = 1, 2, 4, 8
MODE_DELETE_ON_CLOSE, MODE_UNIQUE_OPEN, MODE_EXCL, MODE_APPEND, MODE_SEQUENTIAL = 16, 32, 64, 128, 256
_FLAGS = {MODE_RDONLY: os.O_RDONLY, MODE_WRONLY: os.O_WRONLY, MODE_RDWR: os.O_RDWR}


class FileError(MpiError):
    """A file that cannot be used so."""


class DiskFile:
    """A regular file that is open. Raises FileError if the system does not allow what is asked."""

    def __init__(self, path: str, amode: int) -> None:
        ways = [flag for way, flag in _FLAGS.items() if amode & way]
        if len(ways) != 1:
            allowed = "one of MPI.MODE_RDONLY, MODE_WRONLY and MODE_RDWR (MPI_ERR_AMODE)"
            raise FileError(
                "the mode of a file must state once whether it is read or written",
                place_of_call(),
                value=amode,
                allowed=allowed,
            )
        self.path, self.amode = path, amode
        flags = ways[0] | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        flags |= (os.O_CREAT if amode & MODE_CREATE else 0) | (os.O_EXCL if amode & MODE_EXCL else 0)
        try:
            self._descriptor = os.open(path, flags, 0o666)
        except (OSError, ValueError) as error:
            raise _failed(path, "opened", error) from None
        self._close = weakref.finalize(self, os.close, self._descriptor)
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            self._close()
            raise FileError(
                f"{path} cannot be opened: it is not a regular file", place_of_call(), allowed="a regular file"
            )

    def check(self, *, writes: bool) -> None:
        """Raise FileError unless the mode allows to write or to read."""
        if writes and self.amode & MODE_RDONLY:
            what = f"{self.path} is written, but was opened for reading"
            raise FileError(what, place_of_call(), allowed="reads only (MPI_ERR_READ_ONLY)")
        if not writes and self.amode & MODE_WRONLY:
            what = f"{self.path} is read, but was opened for writing"
            raise FileError(what, place_of_call(), allowed="writes only (MPI_ERR_ACCESS)")

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return os.fstat(self._descriptor).st_size

    def read(self, at: int, size: int) -> bytes:
        """Return up to ``size`` bytes from a place on, fewer at the end of the file."""
        parts = []
        os.lseek(self._descriptor, at, os.SEEK_SET)  # not pread, which Windows does not have
        while size and (part := os.read(self._descriptor, size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def write(self, at: int, data: bytes) -> None:
        """Write bytes from a place on."""
        try:
            os.lseek(self._descriptor, at, os.SEEK_SET)
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            raise _failed(self.path, "written", error) from None

    def resize(self, size: int) -> None:
        """Cut the file, or fill it with zeros."""
        self.check(writes=True)
        os.ftruncate(self._descriptor, size)

    def close(self) -> None:
        """Close the file, and remove it if its mode requests that."""
        self._close()
        if self.amode & MODE_DELETE_ON_CLOSE:
            remove(self.path)


def remove(path: str) -> None:
    """Remove a file."""
    try:
        os.remove(path)
    except (OSError, ValueError) as error:
        raise _failed(path, "removed", error) from None


def _failed(path: str, what: str, error: Exception) -> FileError:
    return FileError(f"{path} cannot be {what}: {getattr(error, 'strerror', None) or error}", place_of_call())
