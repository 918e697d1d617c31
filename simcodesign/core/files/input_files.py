"""The files that a user names: all of them are opened here, and nowhere else in the package.

Only regular files are opened (a pipe or a device could be read for ever), none beyond a limit of bytes, and whatever is
wrong is an InputError that names the file. What decompresses or unpacks asks ``check_size`` before it does.
``confine`` keeps files that others have written from naming any file outside a folder.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, BinaryIO

from simcodesign.core.errors import InputError, Place, shorten

#: The most bytes of a description: a machine, a workload, a model, a graph. Most kinds have a lower limit of their own.
DESCRIPTION_BYTES = 64 * 2**20
#: Maximum number of bytes of data held in memory, in the file and decompressed: tables, profiles.
DATA_BYTES = 2**30
#: Maximum number of bytes of data read piece by piece, in the file and decompressed: traces.
STREAM_BYTES = 2**40
#: The longest line of a text that is read line by line.
LINE_CHARACTERS = 2**26
#: The folder out of which no description may name a file, for this process and those that it starts.
CONFINED = "SIMCODESIGN_CONFINE"
#: Set if descriptions may name programs in Python (``allow_programs``), for this process and those that it starts.
PROGRAMS = "SIMCODESIGN_PROGRAMS"
#: Whether descriptions may name no file at all (``without_files``).
_STANDS_ALONE: ContextVar[bool] = ContextVar("stands_alone", default=False)
#: Where the files that are opened are noted, if anywhere (``noted_files``).
_NOTED: ContextVar[list[Path] | None] = ContextVar("noted", default=None)
_PACKAGE = os.path.realpath(Path(__file__).parent.parent.parent)
_SHIPPED = tuple(
    os.path.join(folder, name)
    for folder in (_PACKAGE, os.path.dirname(_PACKAGE))  # inside the installed package, or next to it in a checkout
    for name in ("topologies", "workloads", "validation")
)
_BUFFER_BYTES = 1 << 17
#: How files are opened. On POSIX without waiting, since one may have become a pipe; on Windows without changing bytes.
_READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class _LimitedFile(io.FileIO):
    """A file whose reading raises InputError if it fails, or exceeds ``most_bytes``: files grow."""

    def __init__(self, descriptor: int, most_bytes: int, place: Place, shown: str) -> None:
        super().__init__(descriptor, "rb")
        self._most_bytes, self._place, self._shown = most_bytes, place, shown

    def readinto(self, buffer: Any) -> int:
        try:
            count = super().readinto(buffer) or 0
        except OSError as error:
            raise InputError(f"{self._shown}cannot be read: {_reason(error)}", self._place) from None
        check_size(self.tell(), self._most_bytes, self._place, f"{self._shown}the file")
        return count

    def readall(self) -> bytes:
        data, piece = bytearray(), bytearray(_BUFFER_BYTES)
        while count := self.readinto(piece):
            data += memoryview(piece)[:count]
        return bytes(data)


def open_bytes(path: str | Path, most_bytes: int = DATA_BYTES, named_at: Place | None = None) -> BinaryIO:
    """Return the file, open for reading bytes, which can be sought; ``named_at``: where another file names it.

    Raises InputError for what is no regular file, cannot be opened, or has more than ``most_bytes``; where a file is
    found to be longer than it was when it was opened, reading does.
    """
    path = Path(path)
    place = named_at or Place(_name(path))
    shown = f"{_name(path)}: " if named_at else ""
    _check_stands_alone(path, place, _SHIPPED)
    try:
        descriptor = _regular_file(path)
        size_bytes = os.fstat(descriptor).st_size
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise InputError(f"{shown}cannot be read: {_reason(error)}", place) from None
    if size_bytes > most_bytes:
        os.close(descriptor)
        check_size(size_bytes, most_bytes, place, f"{shown}the file")
    if (noted := _NOTED.get()) is not None:
        noted.append(path)
    return io.BufferedReader(_LimitedFile(descriptor, most_bytes, place, shown), _BUFFER_BYTES)


@contextmanager
def noted_files() -> Iterator[list[Path]]:
    """Note every file that is opened in this context of execution (a thread, a task of asyncio) while this lasts.

    Yields the list to which the paths are appended, in the order in which the files are opened.
    """
    noted: list[Path] = []
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)


def _regular_file(path: Path) -> int:
    """Return the descriptor of a regular file.

    Raises OSError for what is none, without waiting for who writes a pipe.
    """
    mode = os.stat(path).st_mode
    if stat.S_ISREG(mode):
        descriptor = os.open(path, _READING)
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode):
            return descriptor
        os.close(descriptor)
    raise OSError(errno.EINVAL, f"it is {_kind(mode)}, not a regular file")


class _Text(io.TextIOWrapper):
    """Text whose lines, when it is iterated, are bounded: what is no text may have no end of line."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        start = file.read(4)
        file.seek(0)
        super().__init__(file, encoding=encoding_of(start))
        self._path = path

    def __next__(self) -> str:  # type: ignore[override] # typeshed has bytes in the base class of all files
        line = self.readline(LINE_CHARACTERS + 1)
        if len(line) > LINE_CHARACTERS:
            allowed = f"up to {LINE_CHARACTERS} characters"
            raise InputError("a line is too long", Place(_name(self._path)), allowed=allowed)
        if not line:
            raise StopIteration
        return line


def encoding_of(start: bytes) -> str:
    """Return the encoding of a text by its first four bytes: UTF-16 (as spreadsheets' "Unicode text"), or UTF-8."""
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    zeros = [byte == 0 for byte in start[:4]]
    if zeros == [False, True, False, True]:
        return "utf-16-le"
    return "utf-16-be" if zeros == [True, False, True, False] else "utf-8-sig"


@contextmanager
def open_text(path: str | Path, most_bytes: int = DATA_BYTES) -> Iterator[IO[str]]:
    """Open the file as text, in UTF-8 or UTF-16.

    Raises InputError as ``open_bytes``, and if it is neither, with line and byte.
    """
    path = Path(path)
    try:
        with open_bytes(path, most_bytes) as file, _Text(file, path) as text:
            yield text
    except UnicodeDecodeError:
        raise not_utf8(path, most_bytes) from None


def read_bytes(path: str | Path, most_bytes: int = DESCRIPTION_BYTES, named_at: Place | None = None) -> bytes:
    """All of a file. Raises InputError as ``open_bytes``."""
    with open_bytes(path, most_bytes, named_at) as file:
        return file.read()


def read_text(path: str | Path, most_bytes: int = DATA_BYTES) -> str:
    """All of a text in UTF-8. Raises InputError as ``open_text``."""
    with open_text(path, most_bytes) as file:
        return file.read()


def first_bytes(path: str | Path, count: int, named_at: Place | None = None) -> bytes:
    """Up to ``count`` bytes from the beginning of a file of any size. Raises InputError as ``open_bytes``."""
    with open_bytes(path, STREAM_BYTES, named_at) as file:
        return file.read(count)


def not_utf8(path: Path, most_bytes: int = DATA_BYTES) -> InputError:
    """Return the error of a file that is not UTF-8; the file is read again to find the line and byte."""
    offset = 0
    allowed = "UTF-8, or UTF-16 with a byte order mark"
    what = "the file is not text in UTF-8"
    with open_bytes(path, most_bytes) as file:
        if encoding_of(file.read(4)) != "utf-8-sig":
            return InputError("the file is not text in UTF-16", Place(_name(path)), allowed=allowed)
        file.seek(0)
        for line_number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                place = Place(_name(path), line_number, f"byte {offset + error.start}")
                return InputError(what, place, value=line[error.start : error.start + 1], allowed=allowed)
            offset += len(line)
    return InputError(what, Place(_name(path)), allowed=allowed)


def check_size(size_bytes: int, most_bytes: int, place: Place, what: str = "the file") -> None:
    """Raise InputError, which names the limit, for more than ``most_bytes``, of a file or of what it unpacks to."""
    if size_bytes > most_bytes:
        allowed = f"up to {most_bytes} bytes"
        raise InputError(f"{what} is too large", place, value=f"{size_bytes} bytes", allowed=allowed)


def is_file(path: str | Path) -> bool:
    """Whether this is a regular file; False if that cannot be determined."""
    return _mode_is(path, stat.S_ISREG)


def names_a_path(name: str | Path, suffixes: tuple[str, ...] = (".yaml", ".yml")) -> bool:
    """Return whether a name is the path of a file, not the name of a bundled one: by its separators or its suffix."""
    separators = {"/", os.sep, os.altsep or os.sep}
    return isinstance(name, Path) or not separators.isdisjoint(name) or name.endswith(suffixes)


def is_folder(path: str | Path) -> bool:
    """Whether this is a folder; False if that cannot be determined."""
    return _mode_is(path, stat.S_ISDIR)


def real_path(path: str | Path) -> Path:
    """Return the path without symbolic links.

    As far as they lead somewhere (``Path.resolve`` fails on a loop of them).
    """
    return Path(os.path.realpath(path))


@contextmanager
def confine(folder: str | Path) -> Iterator[None]:
    """Refuse every file outside ``folder`` that a description names, while this lasts.

    For descriptions written by others: their ``extends``, ``file``, ``profile``, ``include`` and ``import`` then reach
    the files in ``folder`` (symbolic links followed) and those shipped with the package, and no others. It holds for
    the whole process with its threads and the processes that it starts. Raises InputError unless ``folder`` is one.

    >>> import simcodesign as sc
    >>> with sc.confine("."):
    ...     machine = sc.Machine.load("crossbar-16")  # what is shipped may still be read
    """
    if not is_folder(folder):
        raise InputError("no folder to confine descriptions to", Place(_name(Path(folder))), allowed="a folder")
    with _environment(CONFINED, str(real_path(folder))):
        yield


@contextmanager
def allow_programs() -> Iterator[None]:
    """Let descriptions name programs in Python, which are executed, while this lasts.

    This applies to the whole process and to the processes that it starts.
    """
    with _environment(PROGRAMS, "1"):
        yield


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@contextmanager
def without_files() -> Iterator[None]:
    """Refuse every file that a description names, except files shipped with the package.

    In this context of execution (a thread, a task of asyncio) while this lasts. For texts that a page sends.
    """
    token = _STANDS_ALONE.set(True)
    try:
        yield
    finally:
        _STANDS_ALONE.reset(token)


def stands_alone() -> bool:
    """Whether ``without_files`` holds."""
    return _STANDS_ALONE.get()


def _check_stands_alone(path: Path, place: Place, allowed: tuple[str, ...] = ()) -> None:
    if _STANDS_ALONE.get() and not any(_is_inside(path, within) for within in allowed):
        what = "a self-contained text names no file"
        raise InputError(what, place, value=str(path), allowed="definitions in the text itself, and bundled machines")


def check_confined(path: Path, place: Place) -> Path:
    """Return the path of a file that a description names at ``place``.

    InputError where ``confine`` or ``without_files`` forbids it.
    """
    _check_stands_alone(path, place)
    folder = os.environ.get(CONFINED)
    if folder and not any(_is_inside(path, within) for within in (os.path.realpath(folder), *_SHIPPED)):
        raise InputError("a file outside the folder of --confine", place, value=str(path), allowed=f"files in {folder}")
    return path


def check_execution(place: Place, value: str, *, named_in_description: bool = False) -> None:
    """Raise InputError if code named by a file or a user may not be executed.

    ``confine`` forbids all such code. Code that a description names needs ``allow_programs`` in addition.
    """
    if os.environ.get(CONFINED):
        raise InputError("Python code is executed, which --confine forbids", place, value=value)
    if named_in_description and not os.environ.get(PROGRAMS):
        allowed = "a workload in YAML, or --programs before the command, which executes what descriptions name"
        raise InputError("a description names a program in Python", place, value=value, allowed=allowed)


def _is_inside(path: Path, folder: str) -> bool:
    try:
        return Path(os.path.realpath(path)).is_relative_to(folder)
    except ValueError:  # a zero byte in the name
        return False


def _mode_is(path: str | Path, kind: Any) -> bool:
    try:
        return bool(kind(os.stat(path).st_mode))
    except (OSError, ValueError):
        return False


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or "not a path"


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
    return next((words for holds, words in kinds if holds(mode)), "a device")


def _name(path: Path) -> str:
    """Return a path in a form suitable for a message."""
    text = str(path)
    return text if text.isprintable() and len(text) <= 200 else shorten(text, 200)
