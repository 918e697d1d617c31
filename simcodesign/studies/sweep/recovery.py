"""Rows out of a damaged store, read from its bytes: neither SQLite nor the order of pages is needed.

A row is known by the head of its record in the SQLite file format (https://www.sqlite.org/fileformat2.html, sections
1.6, 2.1 and 4), and is taken only if its checksum is right.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from simcodesign.studies.sweep.checksums import meta_of, row_of
from simcodesign.studies.sweep.points import Row
from simcodesign.studies.sweep.store import PAGE_BYTES, Store, StoreError, place_of
from simcodesign.studies.sweep.store_lock import StoreLock

#: Heads of records: their length, then the types of the columns. NULL (for the number), a blob of 16 bytes, 0 or 1, ...
_POINT = re.compile(rb"[\x06-\x0a]\x00\x2c[\x08\x09]", re.DOTALL)
#: A text of 5 letters, ...
_META = re.compile(rb"[\x04-\x08]\x17", re.DOTALL)
_CHECKSUM = 0x1C
#: A text longer than this is none of a row.
_MOST_TEXT = 1 << 24
_BATCH = 10_000
_WAL_HEAD, _FRAME_HEAD = 32, 24


@dataclass(frozen=True)
class Recovered:
    """``rows`` of a damaged store that are right; ``meta``: what it says of its sweep, empty if that is lost."""

    rows: int
    meta: Mapping[str, object]

    @property
    def lost(self) -> int | None:
        """Points that the sweep has besides, done or not; None if it is not known how many it has."""
        points = self.meta.get("points")
        return points - self.rows if isinstance(points, int) else None


def recover(path: str | Path, target: str | Path) -> Recovered:
    """Copy every row of a store whose checksum is right into a new store.

    A sweep goes on from the new store: what is not in it is done again. Where even the description of the sweep is
    lost, the new store has none, and takes that of the first sweep whose keys all of its rows have. StoreError if there
    is no such file, it is in use, or nothing of a store is in it.
    """
    path = Path(path)
    if not path.is_file():
        raise StoreError("no such store", place_of(path))
    lock = StoreLock.taken(path)
    try:
        found, meta = carved(path)
    finally:
        lock.release()
    if not found and not meta:
        raise StoreError("nothing of a store is in it", place_of(path))
    with Store.create(target, meta) as store:
        numbers = sorted(found)
        for first in range(0, len(numbers), _BATCH):
            store.add(found[number] for number in numbers[first : first + _BATCH])
    return Recovered(len(found), meta)


def carved(path: Path) -> tuple[dict[int, Row], dict[str, object]]:
    """All right rows in a file and its write-ahead log, by number, and what it says of its sweep.

    Of two rows of one point the one with results is taken.
    """
    found: dict[int, Row] = {}
    meta: dict[str, object] = {}
    with _pages_of(path) as pages:
        for page in pages.every():
            for match in _POINT.finditer(page):
                row = _point_at(page, match.start(), pages)
                if row is not None and (row.number not in found or found[row.number].failed):
                    found[row.number] = row
            for match in _META.finditer(page) if not meta else ():
                meta = _meta_at(page, match.start(), pages) or meta
    return found, meta


class _Pages:
    """The pages of a file, and those in its log, each of which may be newer than that of the file."""

    def __init__(self, main: bytes | mmap.mmap, log: bytes | mmap.mmap) -> None:
        self._main, self._log = main, log
        self._frames: dict[int, list[int]] = {}
        for start in range(_WAL_HEAD, len(log) - _FRAME_HEAD, _FRAME_HEAD + PAGE_BYTES):
            self._frames.setdefault(int.from_bytes(log[start : start + 4]), []).append(start + _FRAME_HEAD)

    def every(self) -> Iterator[bytes]:
        """All pages, those of the log first."""
        for starts in self._frames.values():
            for start in starts:
                yield self._log[start : start + PAGE_BYTES]
        for start in range(0, len(self._main), PAGE_BYTES):
            yield self._main[start : start + PAGE_BYTES]

    def of(self, number: int) -> list[bytes]:
        """All that page ``number`` (from 1) is or was."""
        log = [self._log[start : start + PAGE_BYTES] for start in self._frames.get(number, [])]
        main = self._main[(number - 1) * PAGE_BYTES : number * PAGE_BYTES] if number else b""
        return [page for page in (*reversed(log), main) if len(page) == PAGE_BYTES]


@contextmanager
def _pages_of(path: Path) -> Iterator[_Pages]:
    with _mapped(path) as main, _mapped(path.with_name(f"{path.name}-wal")) as log:
        yield _Pages(main, log)


@contextmanager
def _mapped(path: Path) -> Iterator[bytes | mmap.mmap]:
    """The bytes of a file, as they are asked for; none if it is not there."""
    try:
        with path.open("rb") as file:
            if not path.stat().st_size:
                yield b""
                return
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                yield data
    except FileNotFoundError:
        yield b""
    except OSError as error:
        raise StoreError(f"cannot be read: {error.strerror or error}", place_of(path)) from None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A whole number of variable length, and where it ends; IndexError beyond the end of the data."""
    value = 0
    for length in range(8):
        byte = data[at + length]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + length + 1
    return value << 8 | data[at + 8], at + 9


def _point_at(page: bytes, head: int, pages: _Pages) -> Row | None:
    """The row whose record begins with this head, None if there is no right one."""
    try:
        length, end = _varint(page, head + 4)
        if length % 2 == 0 or not 13 <= length <= _MOST_TEXT or page[end] != _CHECKSUM or end + 1 - head != page[head]:
            return None
    except IndexError:
        return None
    state, text_bytes = page[head + 3] - 8, (length - 13) // 2
    for body in _bodies(page, head, page[head] + 16 + text_bytes + 8, pages):
        body = body[page[head] :]
        text = _decoded(body[16 : 16 + text_bytes])
        for number in _numbers_before(page, head):
            row = None if text is None else row_of((number, body[:16], state, text, body[16 + text_bytes :]))
            if row is not None:
                return row
    return None


def _meta_at(page: bytes, head: int, pages: _Pages) -> dict[str, object] | None:
    """What a store says of its sweep, if it stands here."""
    try:
        length, end = _varint(page, head + 2)
        if length % 2 == 0 or not 13 <= length <= _MOST_TEXT or page[end] != _CHECKSUM or end + 1 - head != page[head]:
            return None
    except IndexError:
        return None
    text_bytes = (length - 13) // 2
    for body in _bodies(page, head, page[head] + 5 + text_bytes + 8, pages):
        body = body[page[head] :]
        if body[:5] == b"sweep":
            text = _decoded(body[5 : 5 + text_bytes])
            meta = None if text is None else meta_of("sweep", text, body[5 + text_bytes :])
            if meta is not None:
                return meta
    return None


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _numbers_before(page: bytes, head: int) -> Iterator[int]:
    """What the number of a row may be: it stands before its record, and where it begins is not known."""
    for length in range(1, 10):
        if length <= head:
            number, end = _varint(page, head - length)
            if end == head:
                yield number


def _bodies(page: bytes, head: int, size: int, pages: _Pages) -> Iterator[bytes]:
    """The record of this size that begins here, with what overflows into other pages; as many as may be meant."""
    usable = PAGE_BYTES
    if size <= usable - 35:
        if head + size <= len(page):
            yield page[head : head + size]
        return
    least = (usable - 12) * 32 // 255 - 23
    local = least + (size - least) % (usable - 4)
    local = local if local <= usable - 35 else least
    if head + local + 4 <= len(page):
        follow = int.from_bytes(page[head + local : head + local + 4])
        yield from _followed(page[head : head + local], follow, size, pages, size // (usable - 4) + 2)


def _followed(begun: bytes, number: int, size: int, pages: _Pages, most: int) -> Iterator[bytes]:
    """What has begun, followed by the chain of pages from this number on."""
    for page in pages.of(number) if most else ():
        whole = begun + page[4 : 4 + size - len(begun)]
        if len(whole) >= size:
            yield whole
        else:
            yield from _followed(whole, int.from_bytes(page[:4]), size, pages, most - 1)
