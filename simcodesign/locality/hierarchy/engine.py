"""Hierarchies of caches of one processor; the loops are in C (``cache_hierarchy.c``).

``HierarchyEngine`` takes the quick way of hierarchies that are not inclusive and of few ways, if it can.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.native.records import Record
from simcodesign.core.native.shared_library import required_library
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hierarchy.counts import EXCLUSIVE, INCLUSIVE, ByKind, HierarchyCounts, LevelCounts, Policy
from simcodesign.locality.hierarchy.sets import FIRST, LISTED, Array, Sets, sets_for, words_of
from simcodesign.locality.traces.trace import LOAD, STORE, Accesses, line_shift

#: Keys at and above this do not fit into a word.
MOST_KEYS = 2**62
#: Entries of the table of guesses for every line of the first level.
GUESSES_PER_LINE = 8
KINDS = 4
#: Columns of ``event``.
FILLS, EVICTIONS, EVENTS = 0, 1, 4


class Hierarchy(Record):
    """Relations of the levels, and counts: accesses of a level are misses of its inner neighbour."""

    struct = "cache_hierarchy"
    use = "a simulation of caches"


class LruEngine:
    """One fully associative cache of which only hits and misses are counted."""

    def __init__(self, geometry: CacheGeometry) -> None:
        self.shift = line_shift(geometry.line_bytes)
        self.sets = sets_for([geometry], few_ways=0)
        self.accesses = self.misses = 0

    def run(self, chunk: Accesses) -> None:
        """Perform the accesses one after another."""
        check_keys(chunk, self.shift)
        self.accesses += len(chunk)
        address = np.ascontiguousarray(chunk.address)
        self.misses += functions().lru_misses(self.sets, address, len(address), self.shift)


class HierarchyEngine:
    """The levels, the one next to the processor first."""

    def __init__(self, geometries: Sequence[CacheGeometry], policy: Policy) -> None:
        levels = len(geometries)
        self.shift = line_shift(geometries[0].line_bytes)
        self.accesses = np.zeros(KINDS, np.int64)
        self.sets = sets_for(geometries)
        shape = self.sets.arrays["shape"]
        inclusive, exclusive = policy.inclusion == INCLUSIVE, policy.inclusion == EXCLUSIVE
        self.common = not (inclusive or exclusive or shape[:, LISTED].any())
        bits = 0 if shape[0, LISTED] else (GUESSES_PER_LINE * geometries[0].lines - 1).bit_length()
        self.state = Hierarchy(
            # Any place of level 1 will do as a guess.
            guess=np.full(1 << bits, shape[0, FIRST], np.int32),
            chosen=np.zeros(levels, np.int64),
            miss=np.zeros((levels, KINDS), np.int64),
            event=np.zeros((levels, EVENTS), np.int64),
            levels=levels,
            shift=self.shift,
            guess_bits=bits,
            guess_mask=(1 << bits) - 1,
            inclusive=inclusive,
            exclusive=exclusive,
            write_allocate=policy.write_allocate,
        )

    def run(self, chunk: Accesses) -> None:
        """Perform the accesses one after another. Accesses without kinds are loads."""
        check_keys(chunk, self.shift)
        kind = None if chunk.kind is None else np.ascontiguousarray(chunk.kind)
        if kind is None:
            self.accesses[LOAD] += len(chunk)
        else:
            self.accesses += [np.count_nonzero(kind == number) for number in range(KINDS)]
        walk = functions().hierarchy_walk_few_ways if self.common else functions().hierarchy_walk
        address = np.ascontiguousarray(chunk.address)
        walk(self.state, self.sets, address, None if kind is None else kind.ctypes.data, len(address))

    def counts(self) -> HierarchyCounts:
        """Return the counts so far."""
        reached = [self.accesses, *self.state.arrays["miss"]]
        levels = tuple(self._level(n, *reached[n : n + 2]) for n in range(len(reached) - 1))
        stores = self.state.memory_stores
        reads = int(reached[-1].sum()) - stores
        return HierarchyCounts(levels, reads, self.state.memory_writebacks + stores, stores)

    def _level(self, number: int, accesses: Array, misses: Array) -> LevelCounts:
        words = words_of(self.sets, number)
        event = self.state.arrays["event"][number].copy()
        if self.common:
            event[FILLS] = misses.sum() - (0 if self.state.write_allocate else misses[STORE])
            event[EVICTIONS] = event[FILLS] - len(words)
        reached, hits = ByKind(*accesses.tolist()), ByKind(*(accesses - misses).tolist())
        fills, evictions, removals, writebacks = event.tolist()
        dirty = int((words & 1).sum())
        return LevelCounts(reached, hits, fills, evictions, removals, writebacks, len(words), dirty)


def check_keys(chunk: Accesses, shift: int) -> None:
    """InputError for addresses too large to be simulated with lines so short."""
    if shift < 2 and len(chunk) and int(chunk.address.max()) >> shift >= MOST_KEYS:
        what = f"an address is too large for a simulation with lines of {1 << shift} bytes"
        raise InputError(what, value=int(chunk.address.max()), allowed="below 2^62 lines; lines of 4 bytes or more")


@cache
def functions() -> ctypes.CDLL:
    """Return the library, its functions of caches checked."""
    library = required_library("a simulation of caches")
    addresses = np.ctypeslib.ndpointer(np.uint64, flags="C")
    library.lru_misses.argtypes = [ctypes.POINTER(Sets), addresses, ctypes.c_int64, ctypes.c_int64]
    library.lru_misses.restype = ctypes.c_int64
    for walk in (library.hierarchy_walk, library.hierarchy_walk_few_ways):
        walk.argtypes = [ctypes.POINTER(Hierarchy), ctypes.POINTER(Sets), addresses, ctypes.c_void_p, ctypes.c_int64]
        walk.restype = None
    return library
