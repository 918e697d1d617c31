"""One writer for a store: a lock that ends with its process, however that ends, on every operating system.

The lock is a transaction of SQLite, which locks files as the operating system requires, in a small database next to the
store. It holds the name of the process, which others can read while the lock is held, and a token by which the process
notices that the file under this name is no longer the file that it has locked.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import uuid
from contextlib import closing, suppress
from pathlib import Path

from simcodesign.core.errors import InputError, Place

#: Errors of SQLite for a file that was removed after it was opened (and for other causes, which stay as they are).
_MOVED = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY)
_TRIES = 100
_OWNER = "CREATE TABLE IF NOT EXISTS owner (name TEXT, token TEXT)"


class StoreLock:
    """The lock of a store, in a separate file that names its process."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path, self._connection = path, connection

    @classmethod
    def acquire(cls, store: Path) -> StoreLock:
        """Lock a store. Raises InputError naming the process that holds the lock, or why it cannot be created."""
        path, place = store.with_name(f"{store.name}.lock"), Place(str(store))
        for tries_left in reversed(range(_TRIES)):
            owner, token = f"process {os.getpid()} on {platform.node()}", uuid.uuid4().hex
            connection = _open(path, "rwc", place)
            try:
                _take(connection, owner, token)
                if _owner(path)[1] == token:
                    return cls(path, connection)
            except sqlite3.Error as error:
                if not tries_left or _code(error) not in _MOVED:
                    connection.close()
                    raise _refusal(path, error, place) from None
            connection.close()  # its last owner took the file away in between
        raise InputError("cannot be written: its lock is taken away again and again", place)

    def release(self) -> None:
        """Let others write; a second time it does nothing."""
        if self._path.name:
            removed = _remove(self._path)
            self._connection.close()
            if not removed:  # Windows removes no file that is open, and none that another process has opened by now
                _remove(self._path)
            self._path = Path()


def _open(path: Path, mode: str, place: Place) -> sqlite3.Connection:
    """Return a connection to the file of a lock, which SQLite writes only when it is used."""
    address = f"{path.resolve().as_uri()}?mode={mode}"
    try:
        return sqlite3.connect(address, timeout=0, uri=True, isolation_level=None, check_same_thread=False)
    except sqlite3.Error:
        raise InputError("cannot be written: no lock can be made next to it", place) from None


def _take(connection: sqlite3.Connection, owner: str, token: str) -> None:
    """Write who has the lock, so that others can read it, and keep all others from writing."""
    connection.execute("PRAGMA synchronous = OFF")  # it need not outlive the system
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(_OWNER)
    connection.execute("DELETE FROM owner")
    connection.execute("INSERT INTO owner VALUES (?, ?)", (owner, token))
    connection.execute("COMMIT")
    connection.execute("BEGIN IMMEDIATE")


def _owner(path: Path) -> tuple[str, str]:
    """Return the process that has locked the file of this name, and its token; empty if that cannot be read."""
    with suppress(sqlite3.Error, InputError), closing(_open(path, "ro", Place(str(path)))) as reader:
        for name, token in reader.execute("SELECT name, token FROM owner"):
            return str(name), str(token)
    return "", ""


def _refusal(path: Path, error: sqlite3.Error, place: Place) -> InputError:
    """Why there is no lock."""
    if _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return InputError(f"is being written by {_owner(path)[0] or 'another process'}", place)
    return InputError(f"cannot be written: its lock {path.name}: {error}", place)


def _code(error: sqlite3.Error) -> int:
    """Return the primary result code of SQLite; 0 if there is none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _remove(path: Path) -> bool:
    """Take the file away; whether that could be done."""
    try:
        path.unlink()
    except OSError:
        return False
    return True
