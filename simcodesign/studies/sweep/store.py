"""The store of a sweep: SQLite in WAL mode, one row per point, durable before it counts as done.

A file that SQLite cannot read, or that lacks the rows of a store, is a ``StoreError``. ``check`` runs SQLite's
own check of all pages and indices.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import first_bytes, is_file
from simcodesign.studies.sweep.points import PointResult
from simcodesign.studies.sweep.store_connection import can_be_written, connect, has_pending_rows, is_written, state_of
from simcodesign.studies.sweep.store_lock import StoreLock
from simcodesign.studies.sweep.sweep import Sweep, differences
from simcodesign.studies.sweep.table import NUMBER, table_of

#: Format of the file, and the mark by which SQLite recognises a store of sweeps.
FORMAT = 2
APPLICATION = 0x53436453
MAGIC = b"SQLite format 3\x00"
PAGE_BYTES = 4096
#: States of a point.
_DONE, _FAILED = 0, 1
#: Number of keys that are recomputed and compared when a store is opened for a sweep.
_CHECKED_KEYS = 64
_SCHEMA = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE points (number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, state INTEGER NOT NULL,"
    " row TEXT NOT NULL)",
    "CREATE INDEX failed ON points (state) WHERE state <> 0",
)


class StoreError(InputError):
    """A store that cannot be read or written: what and where."""


class Store:
    """An open store. Made by ``Store.create`` and ``Store.open``; a context manager, which closes it."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: StoreLock | None) -> None:
        self.path, self._connection, self._lock = path, connection, lock
        self._state = None if lock or is_written(path) else state_of(path)

    # Opening and closing.

    @classmethod
    def create(cls, path: str | Path, meta: Mapping[str, object]) -> Store:
        """Return a new store, open for writing. StoreError if the file exists already or cannot be written."""
        path = Path(path)
        if path.exists():
            raise StoreError("exists already", place_of(path), allowed=f"another name, or --resume {path}")
        lock = StoreLock.acquire(path)
        try:
            _create_file(path, meta)
            return cls._connect(path, lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open(cls, path: str | Path, write: bool = True) -> Store:
        """Return an existing store. StoreError for what is none, is damaged, or is being written by another process."""
        path = Path(path)
        if not is_file(path):
            raise StoreError("no such store", place_of(path), allowed="the file of an earlier sweep")
        lock = StoreLock.acquire(path) if write else None
        try:
            return cls._connect(path, lock)
        except BaseException:
            if lock is not None:
                lock.release()
            raise

    @classmethod
    def _connect(cls, path: Path, lock: StoreLock | None) -> Store:
        check_header(path)
        with _store_errors(path):
            connection = connect(path, write=lock is not None)
        try:
            with _store_errors(path):
                _prepare(connection, path, write=lock is not None)
            return cls(path, connection, lock)
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        """Close it; all that was added is in the file. A second time it does nothing."""
        if self._lock is not None:
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        with suppress(sqlite3.Error):
            self._connection.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _store_errors(self) -> Iterator[None]:
        """StoreError for errors of SQLite, and where a file that is only read has been written meanwhile."""
        try:
            with _store_errors(self.path):
                yield
            self._check_unchanged()
        except StoreError:
            self._check_unchanged()
            raise

    def _check_unchanged(self) -> None:
        if self._state not in (None, state_of(self.path)):
            what = "was written by another process while it was read"
            raise StoreError(what, place_of(self.path), allowed="reading it once more") from None

    # Description of the store itself.

    def meta(self) -> dict[str, object]:
        """Return the description of the sweep (``Sweep.meta``). StoreError if it is damaged."""
        with self._store_errors():
            rows = self._connection.execute("SELECT value FROM meta WHERE name = 'sweep'").fetchall()
            meta = json.loads(rows[0][0]) if len(rows) == 1 and isinstance(rows[0][0], str) else None
        if not isinstance(meta, dict):
            raise damaged(self.path, "it has no description of its sweep")
        return meta

    def check_sweep(self, sweep: Sweep) -> None:
        """StoreError, with what differs, unless this is the store of the sweep."""
        differing = differences(self.meta(), sweep.meta())
        if differing:
            what = "is the store of another sweep"
            raise StoreError(f"{what}: {'; '.join(differing)}", place_of(self.path), allowed="another --store")
        done = self.done()
        checked = done[np.linspace(0, len(done) - 1, min(len(done), _CHECKED_KEYS)).astype(int)]
        if len(done) and not 0 <= done.min() <= done.max() < sweep.count:
            raise damaged(self.path, f"it has a point {int(done.max())} of {sweep.count}")
        for number in checked.tolist():
            if self._key(number) != sweep.point(number).key:
                raise damaged(self.path, f"point {number} does not belong to this sweep")

    def _key(self, number: int) -> str:
        with self._store_errors():
            rows = self._connection.execute("SELECT key FROM points WHERE number = ?", (number,)).fetchall()
        return bytes(rows[0][0]).hex() if rows and isinstance(rows[0][0], bytes) else ""

    # Rows.

    def add(self, rows: Iterable[PointResult]) -> None:
        """Add rows in one transaction; when this returns, they survive a power loss.

        StoreError, with none of them added, when the disk is full, the file cannot be written, or a point exists.
        """
        records = [_record(row) for row in rows]
        with self._store_errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.executemany("INSERT INTO points VALUES (?, ?, ?, ?)", records)
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def done(self) -> NDArray[np.int64]:
        """Numbers of the points that are done or have failed, ascending."""
        with self._store_errors():
            # One long text: a third of the time that a million rows take.
            ((text,),) = self._connection.execute("SELECT group_concat(number) FROM points").fetchall()
        numbers = np.fromstring(text or "", dtype=np.int64, sep=",")
        numbers.sort()
        if len(numbers) and (numbers[0] < 0 or (numbers[1:] == numbers[:-1]).any()):
            raise damaged(self.path, "its index names points twice, or points that are none")
        return numbers

    def missing(self, count: int) -> NDArray[np.int64]:
        """Numbers of the points 0 to ``count`` - 1 that are not stored yet, ascending."""
        is_stored = np.zeros(count, dtype=bool)
        done = self.done()
        is_stored[done[(done >= 0) & (done < count)]] = True
        return np.flatnonzero(~is_stored)

    def __len__(self) -> int:
        """Return the number of points that are done or have failed."""
        with self._store_errors():
            ((count,),) = self._connection.execute("SELECT count(*) FROM points").fetchall()
        return int(count)

    def failed(self) -> int:
        """Return the number of points that have failed."""
        with self._store_errors():
            rows = self._connection.execute("SELECT count(*) FROM points WHERE state <> 0").fetchall()
        return int(rows[0][0])

    def forget_failures(self) -> int:
        """Delete failed points, so that they are evaluated again; their number."""
        with self._store_errors():
            return self._connection.execute("DELETE FROM points WHERE state <> 0").rowcount

    def rows(self) -> Iterator[PointResult]:
        """All rows by number. Raises StoreError at a damaged row."""
        return self._rows("")

    def failures(self) -> Iterator[PointResult]:
        """Return the rows of points that have failed, by number."""
        return self._rows("WHERE state <> 0")

    def _rows(self, where: str) -> Iterator[PointResult]:
        previous = -1
        with self._store_errors():
            for record in self._connection.execute(f"SELECT * FROM points {where} ORDER BY number"):
                row = _row_of(record)
                if row is None:
                    raise damaged(self.path, f"the row of point {record[0]} is none of a store")
                if row.number <= previous:
                    raise damaged(self.path, f"point {row.number} comes twice")
                previous = row.number
                yield row

    def frame(self) -> pd.DataFrame:
        """Return the tidy table: one row per point, by number. StoreError if a row is damaged or missing."""
        table, done = table_of(self.rows()), self.done()
        if not np.array_equal(table[NUMBER].to_numpy(), done):
            raise damaged(self.path, f"{len(table)} rows can be read, and its index names {len(done)}")
        return table

    def check(self) -> list[str]:
        """Return what SQLite reports of damaged pages and indices, a line each; an empty list if there is none."""
        try:
            self.meta()
        except StoreError as error:
            return [error.what]
        try:
            lines = self._connection.execute("PRAGMA integrity_check(20)").fetchall()
        except sqlite3.Error as error:
            return [f"SQLite: {error}"]
        return [f"SQLite: {line}" for (text,) in lines for line in str(text).splitlines() if line != "ok"]


# The file.


def _record(row: PointResult) -> tuple[int, bytes, int, str]:
    """Return the record of a row: number, key, state and JSON text."""
    text = json.dumps([dict(row.axes), dict(row.results), row.reason], separators=(",", ":"), ensure_ascii=True)
    return row.number, bytes.fromhex(row.key), _FAILED if row.failed else _DONE, text


def _row_of(record: tuple[object, ...]) -> PointResult | None:
    """Return the row of a record, None if it has other fields than ``_record`` writes."""
    number, key, state, text = record
    parts = json.loads(text) if isinstance(text, str) else None
    if not (isinstance(number, int) and isinstance(key, bytes) and isinstance(parts, list) and len(parts) == 3):
        return None
    axes, results, reason = parts
    if not (isinstance(axes, dict) and isinstance(results, dict) and isinstance(reason, str)):
        return None
    return PointResult(number, key.hex(), axes, results, reason) if state == bool(reason) else None


def check_header(path: Path) -> None:
    """Raise StoreError for a file that is no store, or whose size differs from that in its header."""
    try:
        head = first_bytes(path, 100)
        size = path.stat().st_size
    except (InputError, OSError) as error:
        raise StoreError(getattr(error, "what", str(error)), place_of(path)) from None
    if len(head) < 100 or head[:16] != MAGIC:
        raise damaged(path, "it does not begin as a SQLite database does")
    if int.from_bytes(head[68:72]) != APPLICATION:
        raise damaged(path, "it is no store of a sweep, or its first page is damaged")
    page = int.from_bytes(head[16:18])
    page = 65536 if page == 1 else page
    pages = int.from_bytes(head[28:32])
    if not has_pending_rows(path) and size != pages * page:
        raise damaged(path, f"it has {size} bytes instead of the {pages * page} in its header")


def _prepare(connection: sqlite3.Connection, path: Path, write: bool) -> None:
    """Configure a connection, and check format and tables of the file."""
    connection.execute("PRAGMA busy_timeout = 10000")
    connection.execute("PRAGMA cell_size_check = ON")
    if write:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise damaged(path, "it cannot be brought into WAL mode")
        check_header(path)
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != FORMAT:
        what = "is in a format that this program does not read"
        raise StoreError(what, place_of(path), value=version, allowed=str(FORMAT))
    tables = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    if sorted(str(text) for (text,) in tables) != sorted(_SCHEMA):
        raise damaged(path, "it lacks the tables of a store")


def _create_file(path: Path, meta: Mapping[str, object]) -> None:
    """Write an empty store under a temporary name, then link it to its path."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with _store_errors(path), closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.executescript(f"BEGIN; {'; '.join(_SCHEMA)}; COMMIT;")
            created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            rows = (("sweep", json.dumps(meta, separators=(",", ":"))), ("created", created))
            connection.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        os.link(temporary, path)  # unlike a rename, this never takes the place of another file
        _sync_folder(path.parent)
    except OSError as error:
        raise StoreError(f"cannot be made: {error.strerror or error}", place_of(path)) from None
    finally:
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                os.unlink(f"{temporary}{suffix}")


def _sync_folder(folder: Path) -> None:
    """Make the name of a new file durable, where folders can be opened (not on Windows)."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def place_of(path: Path) -> Place:
    """Return the place of a store for error messages."""
    return Place(str(path))


def damaged(path: Path, what: str) -> StoreError:
    """Return the error of a damaged store."""
    return StoreError(f"the store is damaged: {what}", place_of(path), allowed="a copy of it, or a new store")


@contextmanager
def _store_errors(path: Path) -> Iterator[None]:
    """Convert errors of SQLite into StoreErrors with a remedy."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise StoreError(f"the point exists already ({error})", place_of(path)) from None
    except sqlite3.OperationalError as error:
        raise _operational(path, error) from None
    except sqlite3.Error as error:
        raise damaged(path, str(error)) from None
    except (UnicodeDecodeError, json.JSONDecodeError, OverflowError) as error:
        raise damaged(path, str(error)) from None


def _operational(path: Path, error: sqlite3.OperationalError) -> StoreError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return StoreError(
            "the disk is full; what was stored before is safe", place_of(path), allowed="free space, resume"
        )
    if code == sqlite3.SQLITE_IOERR:
        what = f"cannot be written ({error}): the disk is full, a limit of file sizes is reached, or it fails"
        return StoreError(f"{what}; what was stored before is safe", place_of(path), allowed="free space, resume")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreError("another process writes to it", place_of(path))
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        rows = has_pending_rows(path) and not can_be_written(path)
        remedy = "a copy of it, and of its -wal, in a folder that can be written" if rows else None
        return StoreError(f"cannot be opened: {error}", place_of(path), allowed=remedy)
    return damaged(path, str(error))
