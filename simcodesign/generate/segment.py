"""Segments: what ranks do in a piece of the program, as flat arrays rank by rank.

Columns are woven into a segment once; segments are joined one after another and repeated. So the work of a loop is
generated once, however often it is repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.operation_kinds import RECEIVE
from simcodesign.generate.columns import Column
from simcodesign.generate.operation_columns import EXTRAS, FIELDS, PLACES
from simcodesign.generate.plan import NONE

Array = NDArray[Any]
Int64s = NDArray[np.int64]

#: ``match`` is BY_TAG - tag where messages are still to be paired.
BY_TAG = -2
#: Ranks whose operations are written together, so that they stay in the processor's cache.
RANKS_AT_ONCE = 64


@dataclass(frozen=True)
class Segment:
    """Operations of P ranks: rank r has ``first[r]`` to ``first[r + 1]`` of every array in ``fields``."""

    first: Int64s
    fields: Mapping[str, Array]

    @property
    def counts(self) -> Int64s:
        """Operations of every rank."""
        return np.diff(self.first)

    @property
    def width(self) -> int | None:
        """Number of operations if it is the same for all ranks."""
        counts = self.counts
        return int(counts[0]) if len(counts) and (counts == counts[0]).all() else None

    def repeated(self, times: int) -> Segment:
        """Return the segment ``times`` times one after another."""
        if times == 1:
            return self
        if self.width is not None:
            return self._repeated_evenly(self.width, times)
        first, ranks = self.first * times, len(self.first) - 1
        fields = {name: np.empty(first[-1], array.dtype) for name, array in self.fields.items()}
        for low in range(0, ranks, RANKS_AT_ONCE):
            high = min(low + RANKS_AT_ONCE, ranks)
            inside = slice(int(first[low]), int(first[high]))
            for name, values in self._repeated_unevenly(low, high, times).items():
                fields[name][inside] = values
        return Segment(first, fields)

    def _repeated_unevenly(self, low: int, high: int, times: int) -> dict[str, Array]:
        """Return the fields of some ranks."""
        counts = self.counts.astype(np.int32)
        pieces = np.repeat(counts[low:high], times)  # of every rank, one repetition after another
        index = np.repeat(np.repeat(self.first[low:high], times) - np.cumsum(pieces) + pieces, pieces)
        index += np.arange(len(index))
        fields = {name: array[index] for name, array in self.fields.items()}
        turn = np.repeat(np.tile(np.arange(times, dtype=np.int32), high - low), pieces)
        for name in PLACES & fields.keys():
            width = (
                counts[np.maximum(fields["peer"], 0)]
                if name == "match"
                else np.repeat(counts[low:high], counts[low:high] * times)
            )
            np.add(fields[name], turn * width, out=fields[name], where=fields[name] >= 0)
        return fields

    def _repeated_evenly(self, width: int, times: int) -> Segment:
        ranks = len(self.first) - 1
        fields = {}
        for name, array in self.fields.items():
            turns, once = np.empty((ranks, times, width), array.dtype), array.reshape(ranks, width)
            for low in range(0, ranks, RANKS_AT_ONCE):
                block = slice(low, low + RANKS_AT_ONCE)
                turns[block] = once[block, None]
                if name in PLACES:
                    later = np.where(once[block] >= 0, np.int32(width), np.int32(0))
                    turns[block] += np.arange(times, dtype=np.int32)[:, None] * later[:, None]
            fields[name] = turns.ravel()
        return Segment(self.first * times, fields)


def joined(parts: Sequence[Segment], ranks: int, names: Sequence[str] = ()) -> Segment:
    """Segments one after another; ``names`` are the extra fields of an empty one."""
    parts = [part for part in parts if part.first[-1]] or parts[:1]  # a copy of a large one takes as much memory again
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return woven([], ranks, 0, names)
    widths = [part.width for part in parts]
    if None not in widths:
        return _joined_evenly(parts, ranks, [width or 0 for width in widths])
    counts = np.array([part.counts for part in parts])
    first = _starts(counts.sum(axis=0))
    before = np.cumsum(counts, axis=0) - counts  # operations of every rank before each part
    fields = {name: np.empty(first[-1], array.dtype) for name, array in parts[0].fields.items()}
    for part, start in zip(parts, before, strict=True):
        place = np.repeat(first[:-1] + start - part.first[:-1], part.counts) + np.arange(part.first[-1])
        for name, array in part.fields.items():
            fields[name][place] = _moved(part, start, name) if name in PLACES else array
    return Segment(first, fields)


def _joined_evenly(parts: Sequence[Segment], ranks: int, widths: Sequence[int]) -> Segment:
    total, before = sum(widths), 0
    fields = {name: np.empty((ranks, total), array.dtype) for name, array in parts[0].fields.items()}
    for part, width in zip(parts, widths, strict=True):
        inside = slice(before, before + width)
        for name, array in part.fields.items():
            fields[name][:, inside] = array.reshape(ranks, width)
        for name in PLACES & fields.keys() if before else ():
            places = fields[name][:, inside]
            places += np.where(places >= 0, np.int32(before), np.int32(0))
        before += width
    return Segment(np.arange(ranks + 1) * total, {name: array.ravel() for name, array in fields.items()})


def _moved(part: Segment, start: Int64s, name: str) -> Array:
    """Return the places of a part that begins ``start`` operations later in every rank."""
    places, peer = part.fields[name], np.maximum(part.fields["peer"], 0)
    later = start[peer] if name == "match" else np.repeat(start, part.counts)
    return np.where(places >= 0, places + later.astype(np.int32), places)


def woven(columns: Sequence[Column], ranks: int, phase: int, names: Sequence[str] = ()) -> Segment:
    """Return the columns rank by rank; ``names`` are the extra fields."""
    even = all(column.who is None for column in columns)
    return (_woven_evenly if even else _woven_unevenly)(columns, ranks, phase, names)


def _values(column: Column, names: Sequence[str], match: Any, phase: int) -> dict[str, Any]:
    """Return the fields of one column."""
    values = {"kind": column.kind, "phase": phase, "peer": column.peer, "match": match}
    values |= {"size_bytes": column.size_bytes, "duration_s": column.duration_s}
    return values | {name: column.extra.get(name, EXTRAS[name][1]) for name in names}


def _types(names: Sequence[str]) -> dict[str, type[np.generic]]:
    return FIELDS | {name: EXTRAS[name][0] for name in names}


def _woven_evenly(columns: Sequence[Column], ranks: int, phase: int, names: Sequence[str]) -> Segment:
    """Every rank takes part in every column, so that a column has the same place in all ranks."""
    width = len(columns)
    rows = [
        _values(column, names, number + column.match if column.match is not None else _loose(column), phase)
        | _until(number + column.until, names)
        for number, column in enumerate(columns)
    ]
    fields = {name: np.empty((ranks, width), dtype) for name, dtype in _types(names).items()}
    for name, array in fields.items():
        values = [row[name] for row in rows]
        wide = [(number, value) for number, value in enumerate(values) if getattr(value, "ndim", 0)]
        for number, _ in wide:
            values[number] = 0
        array[:] = values
        numbers = [number for number, _ in wide]
        every = np.array([value for _, value in wide], array.dtype)
        for low in range(0, ranks if wide else 0, RANKS_AT_ONCE):
            array[low : low + RANKS_AT_ONCE, numbers] = every[:, low : low + RANKS_AT_ONCE].T
    for number, column in enumerate(columns):
        if column.match is not None and column.kind == RECEIVE:
            sender = np.asarray(number + column.match)
            fields["match"][np.asarray(column.peer) if sender.ndim else slice(None), sender] = number
    return Segment(np.arange(ranks + 1) * width, {name: array.ravel() for name, array in fields.items()})


def _until(place: Any, names: Sequence[str]) -> dict[str, Any]:
    """Field for the ``place`` of the operation that waits for a column."""
    return {"until": place} if "until" in names else {}


def _woven_unevenly(columns: Sequence[Column], ranks: int, phase: int, names: Sequence[str]) -> Segment:
    everyone = np.arange(ranks)
    crowd = [everyone if column.who is None else column.who for column in columns]
    counts = np.zeros(ranks, np.int64)
    places = []  # of every column's operations in their ranks
    awaited = _Awaited(columns, crowd, names)
    for number, who in enumerate(crowd):
        awaited.reach(number, counts)
        places.append(counts[who])
        counts[who] += 1
    for number in range(len(columns), 2 * len(columns) + 2):
        awaited.reach(number, counts)
    first = _starts(counts)
    fields = {name: np.empty(first[-1], dtype) for name, dtype in _types(names).items()}
    received = []
    for number, (column, who) in enumerate(zip(columns, crowd, strict=True)):
        match = _sent_at(number, columns, crowd, places) if column.match is not None else _loose(column)
        index = first[who] + places[number]
        for name, value in (_values(column, names, match, phase) | _until(awaited.place[number], names)).items():
            fields[name][index] = value
        if column.match is not None and column.kind == RECEIVE:
            received.append((first[column.peer] + match, places[number]))
    for sends, place in received:
        fields["match"][sends] = place
    return Segment(first, fields)


class _Awaited:
    """How many operations each rank of a column has before what waits for it."""

    def __init__(self, columns: Sequence[Column], crowd: Sequence[Array], names: Sequence[str]) -> None:
        self.place: list[Any] = [NONE] * len(columns)
        self._crowd = crowd
        self._waiting: dict[int, list[int]] = {}
        for number, column in enumerate(columns if "until" in names else ()):
            self._waiting.setdefault(number + column.until, []).append(number)

    def reach(self, place: int, counts: Int64s) -> None:
        """Note that the columns before ``place`` are counted."""
        for number in self._waiting.get(place, ()):
            self.place[number] = counts[self._crowd[number]]


def _loose(column: Column) -> int:
    """Return the match of a column whose partner is not named in it."""
    return NONE if column.tag is None else BY_TAG - column.tag


def _sent_at(number: int, columns: Sequence[Column], crowd: Sequence[Array], places: Sequence[Int64s]) -> Int64s:
    """Index among the operations of each source of the message that column ``number`` receives."""
    peer = np.asarray(columns[number].peer)
    sender = np.broadcast_to(number + np.asarray(columns[number].match), peer.shape)
    sent_at = np.empty(len(peer), np.int64)
    for source in np.unique(sender):
        mine = np.flatnonzero(sender == source)
        sent_at[mine] = places[source][np.searchsorted(crowd[source], peer[mine])]
    return sent_at


def _starts(counts: Int64s) -> Int64s:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
