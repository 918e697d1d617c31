"""Recovers the rows of a damaged store that SQLite can still read and whose checksums match."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from simcodesign.core.files.input_files import is_file
from simcodesign.studies.sweep.checksums import meta_of, row_of
from simcodesign.studies.sweep.points import PointResult
from simcodesign.studies.sweep.store import Store, StoreError, place_of
from simcodesign.studies.sweep.store_connection import can_be_written, connect
from simcodesign.studies.sweep.store_lock import StoreLock

_ROWS_PER_TRANSACTION = 10_000


@dataclass(frozen=True)
class Recovered:
    """Number of ``rows`` recovered from a damaged store, and the description of its sweep, empty if that is lost."""

    rows: int
    meta: Mapping[str, object]

    @property
    def lost(self) -> int | None:
        """Points of the sweep that were not recovered, done or not; None if the number of its points is unknown."""
        points = self.meta.get("points")
        return points - self.rows if isinstance(points, int) else None


def recover(path: str | Path, target: str | Path) -> Recovered:
    """Copy every row that can be read and has the right checksum into a new store.

    A sweep goes on from the new store: what is not in it is done again. Where even the description of the sweep is
    lost, the new store has none, and takes that of the first sweep whose keys all of its rows have. StoreError if there
    is no such file, it is in use, or SQLite can read nothing of a store in it.
    """
    path = Path(path)
    if not is_file(path):
        raise StoreError("no such store", place_of(path))
    lock = StoreLock.acquire(path) if can_be_written(path) else None
    try:
        with closing(connect(path, write=False, locked=lock is not None)) as connection:
            connection.execute("PRAGMA cell_size_check = ON")
            meta = _readable_meta(connection)
            rows = _readable_rows(connection, meta)
            first = next(rows, None)
            if first is None and not meta:
                raise StoreError("SQLite can read nothing of a store in it", place_of(path), allowed="a copy, if any")
            return Recovered(_copy(chain([first] if first else [], rows), meta, target), meta)
    finally:
        if lock is not None:
            lock.release()


def _copy(rows: Iterator[PointResult], meta: Mapping[str, object], target: str | Path) -> int:
    """Write the rows into a new store; how many there are."""
    count = 0
    with Store.create(target, meta) as store:
        while batch := list(islice(rows, _ROWS_PER_TRANSACTION)):
            store.add(batch)
            count += len(batch)
    return count


def _readable_meta(connection: sqlite3.Connection) -> dict[str, object]:
    """The description of the sweep in the store, empty where that is lost."""
    with suppress(sqlite3.Error, UnicodeDecodeError):
        for value, checksum in connection.execute("SELECT value, checksum FROM meta NOT INDEXED WHERE name = 'sweep'"):
            return meta_of("sweep", value, checksum) or {}
    return {}


def _readable_rows(connection: sqlite3.Connection, meta: Mapping[str, object]) -> Iterator[PointResult]:
    """All intact rows by number; ranges of numbers in which SQLite fails are halved until it does not."""
    ranges, newest = [(0, _count_of_numbers(connection, meta))], -1
    while ranges:
        first, end = ranges.pop()
        try:
            # The limit, because SQLite would look at the next row, and thus page, even after the last number.
            query = "SELECT * FROM points NOT INDEXED WHERE number >= ? AND number < ? ORDER BY number LIMIT ?"
            for record in connection.execute(query, (first, end, end - first)):
                row = row_of(record)
                if row is not None and row.number > newest:
                    newest = row.number
                    yield row
        except (sqlite3.Error, UnicodeDecodeError):
            first = max(first, newest + 1)
            if end - first > 1:
                middle = (first + end) // 2
                ranges += [(middle, end), (first, middle)]


def _count_of_numbers(connection: sqlite3.Connection, meta: Mapping[str, object]) -> int:
    """A number above those of all rows; 0 if there is none or it cannot be known."""
    points = meta.get("points")
    if isinstance(points, int):
        return points
    with suppress(sqlite3.Error):
        ((last,),) = connection.execute("SELECT max(number) FROM points")
        return 0 if last is None else int(last) + 1
    return 0
