"""Hierarchies of several processors with shared caches and prefetching, driven by a trace of each.

The streams of the processors go through the caches round robin, one access of each in their order; a stream that has
ended is skipped. Each has its own memory, a page behind the memory of the previous one: its addresses are moved.
The caches are as in ``simulate``: non-inclusive, write-back, write-allocate, true LRU in every set.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.native.records import Record
from simcodesign.core.native.shared_library import required_library
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hierarchy.prefetch import Prefetcher, prefetcher_for
from simcodesign.locality.hierarchy.sets import Array, Sets, sets_for
from simcodesign.locality.traces.trace import Accesses, Trace, line_shift

#: A page lies between the memory of one stream and the memory of the next, which begins at a page.
PAGE_BYTES = 4096


class SharedCaches(Record):
    """Which caches each processor has, and what was counted of it; ``shared_caches.c`` has the loops."""

    struct = "shared_caches"
    use = "a simulation of caches"


class StreamCounts(NamedTuple):
    """Counts of one stream: ``misses`` of each level and lines ``written`` back by each, (levels,).

    ``back``: of these, the lines that reached memory; and of its accesses the stores, and those that were fetched
    ahead.
    """

    accesses: int
    stores: int
    prefetched: int
    misses: NDArray[np.int64]
    written: NDArray[np.int64]
    back: int

    def since(self, before: StreamCounts) -> StreamCounts:
        """Return the counts since ``before``."""
        return StreamCounts(
            self.accesses - before.accesses,
            self.stores - before.stores,
            self.prefetched - before.prefetched,
            self.misses - before.misses,
            self.written - before.written,
            self.back - before.back,
        )


class SharedHierarchy:
    """Empty caches of processors.

    ``caches`` (levels, processors): the number of the cache that each has at each level, as numbered in ``geometries``;
    sharing one implies sharing all outer ones. ``streams`` of each prefetcher; 0: there is none. ``spans``: the
    first address of each processor's traces, and the end of the last.
    """

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
        self._sets, self._prefetcher = sets_for(every), prefetcher_for(count, streams)
        by_level = {name: np.zeros((count, levels), np.int64) for name in ("miss", "written")}
        totals = {name: np.zeros(count, np.int64) for name in ("back", "accesses", "stores", "prefetched")}
        self._state = SharedCaches(
            cache=where, first_key=first >> self._shift, processors=count, levels=levels, shift=self._shift
        )
        for name, array in (by_level | totals).items():
            setattr(self._state, name, array)

    def run(self, traces: Sequence[Trace]) -> None:
        """Perform one access of each trace round robin, to the end of the longest. Accesses without kinds are loads."""
        for who, address, kind in _in_step(traces):
            address += self._offset[who, None].astype(np.uint64)
            kind, length = np.ascontiguousarray(kind), address.shape[1]
            records = (self._state, self._sets, self._prefetcher)
            _functions().walk_in_turn(*records, who, len(who), address, kind, length)

    def counts(self) -> list[StreamCounts]:
        """Return the counts of every stream."""
        state = self._state.arrays
        totals = (state[name].tolist() for name in ("accesses", "stores", "prefetched", "back"))
        return [
            StreamCounts(accesses, stores, prefetched, missed.copy(), written.copy(), back)
            for accesses, stores, prefetched, back, missed, written in zip(
                *totals, state["miss"], state["written"], strict=True
            )
        ]


def _in_step(traces: Sequence[Trace]) -> Iterator[tuple[Array, Array, Array]]:
    """Yield pieces of the traces.

    (n,) the numbers of those that continue, and (n, m) addresses and kinds of the next m accesses of each.
    """
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


@cache
def _functions() -> ctypes.CDLL:
    library = required_library("a simulation of caches")
    numbers, addresses, kinds = (np.ctypeslib.ndpointer(kind, flags="C") for kind in (np.int64, np.uint64, np.uint8))
    records = [ctypes.POINTER(record) for record in (SharedCaches, Sets, Prefetcher)]
    library.walk_in_turn.argtypes = [*records, numbers, ctypes.c_int64, addresses, kinds, ctypes.c_int64]
    library.walk_in_turn.restype = None
    return library
