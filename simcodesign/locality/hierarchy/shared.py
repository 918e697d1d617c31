"""Hierarchies of several processors that share some of their caches, and prefetch, driven by a trace of each, compiled.

The streams of the processors go through the caches one access of each in turn, in their order; a stream that has ended
is passed over. Each has its own memory, a page behind that of the one before it: its addresses are those of its trace,
moved.
The caches are those of ``simulate``: non-inclusive, write-back, write-allocate, true LRU in every set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import compiled_without_arrays, inlined
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hierarchy.fast_paths import writes
from simcodesign.locality.hierarchy.prefetch import empty_tables, fetched_ahead
from simcodesign.locality.hierarchy.sets import (
    EMPTY,
    NONE,
    TICK,
    Array,
    Sets,
    as_int,
    at,
    look,
    oldest,
    replace,
    sets_for,
    touch,
)
from simcodesign.locality.traces.trace import STORE, Accesses, Trace, line_shift

#: A page lies between the memory of one stream and that of the next, which begins at a page.
PAGE_BYTES = 4096
#: Columns of ``total``.
ACCESSES, STORES, PREFETCHED = range(3)


class Processors(NamedTuple):
    """The caches of all processors, and what was counted of each."""

    sets: Sets
    cache: Array  # int64 (processors, levels): where in ``sets`` the cache of each level is
    first_key: Array  # int64 (processors,): the first line of each one's memory, ascending
    tables: Array  # int64 (processors, 2, streams) of the prefetchers
    miss: Array  # int64 (processors, levels)
    written: Array  # int64 (processors, levels): of its lines, those that a level wrote back
    back: Array  # int64 (processors,): of its lines, those that came back to memory
    total: Array  # int64 (processors, 3)
    now: Array  # int64 (1,)


class StreamCounts(NamedTuple):
    """What became of one stream: ``misses`` of each level and lines ``written`` back by each, (levels,); ``back``: of
    these, those that came to memory; and of its accesses the stores, and those that were fetched ahead."""

    accesses: int
    stores: int
    prefetched: int
    misses: NDArray[np.int64]
    written: NDArray[np.int64]
    back: int

    def since(self, before: StreamCounts) -> StreamCounts:
        """What was counted after ``before`` was."""
        return StreamCounts(
            self.accesses - before.accesses,
            self.stores - before.stores,
            self.prefetched - before.prefetched,
            self.misses - before.misses,
            self.written - before.written,
            self.back - before.back,
        )


class SharedHierarchy:
    """Empty caches of processors. ``caches`` (levels, processors): the number of the cache that each has at each level,
    of those of ``geometries``; whoever shares one shares all that are farther out. ``streams`` of each prefetcher; 0:
    there is none. ``spans``: the first address of each processor's traces, and the one after the last."""

    def __init__(
        self,
        geometries: Sequence[CacheGeometry],
        caches: NDArray[np.int64],
        streams: int,
        spans: Sequence[tuple[int, int]],
    ) -> None:
        levels, count = caches.shape
        self._shift = line_shift(geometries[0].line_bytes)
        every: list[CacheGeometry] = []
        where = np.zeros((count, levels), np.int64)
        for level, geometry in enumerate(geometries):
            numbers, index = np.unique(caches[level], return_inverse=True)
            where[:, level] = len(every) + index
            every += [geometry] * len(numbers)
        page_bytes = max(PAGE_BYTES, geometries[0].line_bytes)
        begin, end = np.array(spans, dtype=np.int64).T
        pages = -(-(end - begin) // page_bytes) + 1
        first = begin[0] + (np.cumsum(pages) - pages) * page_bytes
        self._offset = first - begin
        self._state = Processors(
            sets_for(every),
            where,
            first >> self._shift,
            empty_tables(count, streams),
            np.zeros((count, levels), np.int64),
            np.zeros((count, levels), np.int64),
            np.zeros(count, np.int64),
            np.zeros((count, 3), np.int64),
            np.zeros(1, np.int64),
        )

    @np.errstate(over="ignore")  # without Numba, Python would warn of hashes that wrap around
    def run(self, traces: Sequence[Trace]) -> None:
        """One access of each trace in turn, to the end of the longest. Accesses without kinds are loads."""
        for who, address, kind in _in_step(traces):
            address += self._offset[who, None].astype(np.uint64)
            walk_in_turn(self._state, who, address, kind, self._shift)

    def counts(self) -> list[StreamCounts]:
        """What has been counted of every stream."""
        state = self._state
        return [
            StreamCounts(accesses, stores, prefetched, missed.copy(), written.copy(), back)
            for (accesses, stores, prefetched), missed, written, back in zip(
                state.total.tolist(), state.miss, state.written, state.back.tolist(), strict=True
            )
        ]


def _in_step(traces: Sequence[Trace]) -> Iterator[tuple[Array, Array, Array]]:
    """Pieces of the traces: (n,) the numbers of those that go on, and (n, m) addresses and kinds of the next m accesses
    of each."""
    readers = [trace.chunks() for trace in traces]
    left: dict[int, Accesses] = {}
    while True:
        for number, reader in enumerate(readers):
            if number not in left and (chunk := next(reader, None)) is not None:
                left[number] = chunk
        if not left:
            return
        length = min(map(len, left.values()))
        pieces = [left[number][:length] for number in sorted(left)]
        none = np.zeros(length, np.uint8)
        kinds = [none if piece.kind is None else piece.kind for piece in pieces]
        yield np.array(sorted(left)), np.stack([piece.address for piece in pieces]), np.stack(kinds)
        rest = {number: chunk[length:] for number, chunk in left.items()}
        left = {number: chunk for number, chunk in rest.items() if len(chunk)}


# --- Compiled -------------------------------------------------------------------------------------------------


@compiled_without_arrays
def walk_in_turn(state: Processors, who: Array, address: Array, kind: Array, shift: int) -> None:
    """Accesses n of all the processors ``who``, then those n + 1."""
    now = state.now[0]
    for n in range(address.shape[1]):
        for place in range(len(who)):
            now += TICK
            key, what = as_int(address[place, n] >> np.uint64(shift)), as_int(kind[place, n])
            access(state, who[place], key, what, now)
    state.now[0] = now


@inlined
def access(state: Processors, processor: int, key: int, kind: int, now: int) -> None:
    """One access, level by level outward until one holds the line, which then is in all levels."""
    sets, levels = state.sets, state.cache.shape[1]
    state.total[processor, ACCESSES] += 1
    state.total[processor, STORES] += kind == STORE
    level, place = 0, NONE
    while level < levels:
        place = look(sets, state.cache[processor, level], key)
        if place != NONE:
            touch(sets, state.cache[processor, level], key, place, now)
            break
        state.miss[processor, level] += 1
        level += 1
    if level == levels and state.tables.shape[2]:
        state.total[processor, PREFETCHED] += fetched_ahead(state.tables, processor, key, now)
    while level > 0:
        level -= 1
        cache = state.cache[processor, level]
        place = oldest(sets, cache, key)
        word = replace(sets, cache, key, place, 0, now)
        if word & 1 and word != EMPTY:
            write_back(state, level, word)
    sets.line[at(place)] |= writes(kind)


@inlined
def write_back(state: Processors, level: int, word: int) -> None:
    """A level has lost a dirty line: it goes to the next one that holds it of its own processor's, else to memory."""
    key, owner = word >> 1, len(state.first_key) - 1
    while state.first_key[owner] > key:
        owner -= 1
    state.written[owner, level] += 1
    for farther in range(level + 1, state.cache.shape[1]):
        place = look(state.sets, state.cache[owner, farther], key)
        if place != NONE:
            state.sets.line[at(place)] |= 1
            return
    state.back[owner] += 1
