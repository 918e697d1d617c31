"""Hierarchies of caches, compiled: the same answers as ``hierarchy_model``, several hundred times as fast.

``HierarchyEngine`` takes the quick way of ``hierarchy_common`` where it can; ``walk`` does every hierarchy, function by
function as the model does. No array is made while accesses are simulated: memory is that of the geometries.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.jit import called, compiled_without_arrays, inlined
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hierarchy.counts import (
    EXCLUSIVE,
    INCLUSIVE,
    ByKind,
    HierarchyCounts,
    LevelCounts,
    Policy,
)
from simcodesign.locality.hierarchy.fast_paths import (
    EVICTIONS,
    FILLS,
    MEMORY_STORES,
    MEMORY_WRITEBACKS,
    NOW,
    REMOVALS,
    WRITEBACKS,
    Counts,
    Hierarchy,
    guess_of,
    hits,
    kind_of,
    lru_misses,
    walk_few_ways,
    write_back,
    writes,
)
from simcodesign.locality.hierarchy.sets import (
    EMPTY,
    LISTED,
    NONE,
    TICK,
    Array,
    as_int,
    at,
    empty,
    ends_of,
    key_of,
    look,
    look_up,
    oldest,
    replace,
    sets_for,
    to_front,
    touch,
    words_of,
)
from simcodesign.locality.traces.trace import LOAD, STORE, Accesses, line_shift

#: Keys at and above this do not fit into a word.
MOST_KEYS = 2**62
#: Entries of the table of guesses for every line of the first level.
GUESSES_PER_LINE = 8
KINDS = 4


class LruEngine:
    """One fully associative cache of which only hits and misses are counted."""

    def __init__(self, geometry: CacheGeometry) -> None:
        self.shift = line_shift(geometry.line_bytes)
        self.sets = sets_for([geometry], few_ways=0)
        self.accesses = self.misses = 0

    @np.errstate(over="ignore")  # without Numba, Python would warn of hashes that wrap around
    def run(self, chunk: Accesses) -> None:
        """Do the accesses in turn."""
        check_keys(chunk, self.shift)
        self.accesses += len(chunk)
        self.misses += lru_misses(self.sets, np.ascontiguousarray(chunk.address), self.shift)


class HierarchyEngine:
    """The levels, the one next to the processor first."""

    def __init__(self, geometries: Sequence[CacheGeometry], policy: Policy) -> None:
        levels = len(geometries)
        self.shift = line_shift(geometries[0].line_bytes)
        self.accesses = np.zeros(KINDS, np.int64)
        sets = sets_for(geometries)
        inclusive, exclusive = policy.inclusion == INCLUSIVE, policy.inclusion == EXCLUSIVE
        self.common = not (inclusive or exclusive or sets.shape[:, LISTED].any())
        bits = 0 if sets.shape[0, LISTED] else (GUESSES_PER_LINE * geometries[0].lines - 1).bit_length()
        counts = Counts(np.zeros((levels, KINDS), np.int64), np.zeros((levels, 4), np.int64), np.zeros(3, np.int64))
        # Any place of level 1 will do as a guess.
        guess = np.full(1 << bits, sets.shape[0, 0], np.int32)
        chosen = np.zeros(levels, np.int64)
        self.state = Hierarchy(sets, guess, bits, chosen, counts, inclusive, exclusive, policy.write_allocate)

    @np.errstate(over="ignore")  # without Numba, Python would warn of hashes that wrap around
    def run(self, chunk: Accesses) -> None:
        """Do the accesses in turn. Those without kinds are loads."""
        check_keys(chunk, self.shift)
        if chunk.kind is None:
            kind = np.zeros(0, np.uint8)
            self.accesses[LOAD] += len(chunk)
        else:
            kind = np.ascontiguousarray(chunk.kind)
            self.accesses += [np.count_nonzero(kind == number) for number in range(KINDS)]
        work = walk_few_ways if self.common else walk
        work(self.state, np.ascontiguousarray(chunk.address), kind, self.shift)

    def counts(self) -> HierarchyCounts:
        """What has been counted so far."""
        total = self.state.counts.total
        reached = [self.accesses, *self.state.counts.miss]
        levels = tuple(self._level(n, *reached[n : n + 2]) for n in range(len(reached) - 1))
        stores = int(total[MEMORY_STORES])
        reads = int(reached[-1].sum()) - stores
        return HierarchyCounts(levels, reads, int(total[MEMORY_WRITEBACKS]) + stores, stores)

    def _level(self, number: int, accesses: Array, misses: Array) -> LevelCounts:
        words = words_of(self.state.sets, number)
        event = self.state.counts.event[number].copy()
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
        what = f"address in a simulation with lines of {1 << shift} bytes"
        raise InputError(what, value=int(chunk.address.max()), allowed="below 2^62 lines; lines of 4 bytes or more")


@compiled_without_arrays
def walk(state: Hierarchy, address: Array, kind: Array, shift: int) -> None:
    """All accesses of a chunk. ``kind`` is empty where all are loads."""
    begin, n, listed = state.counts.total[NOW], 0, state.sets.shape[0, LISTED]
    while True:
        n = listed_hits(state, address, kind, shift, n) if listed else hits(state, address, kind, shift, n, begin)
        if n == len(address):
            break
        n += 1
        access(state, key_of(address, n - 1, shift), kind_of(kind, n - 1), begin + n * TICK)
    state.counts.total[NOW] = begin + n * TICK


@inlined
def listed_hits(state: Hierarchy, address: Array, kind: Array, shift: int, n: int) -> int:
    """The same, where level 1 is listed."""
    sets = state.sets
    while n < len(address):
        key = key_of(address, n, shift)
        place = look_up(sets, 0, key)
        if place == NONE:
            break
        to_front(sets, ends_of(sets, 0, key), place)
        if len(kind):
            sets.line[at(place)] |= writes(kind_of(kind, n))
        n += 1
    return n


@inlined
def access(state: Hierarchy, key: int, kind: int, now: int) -> None:
    """Any access, level by level outward until one holds the line; it is then put where it belongs."""
    sets, miss = state.sets, state.counts.miss
    level, place = 0, NONE
    while level < len(miss):
        place = look(sets, level, key)
        if place != NONE:
            break
        miss[level, kind] += 1
        level += 1
    if level and kind == STORE and not state.write_allocate:
        store_outside(state, level, key, place, now)
        return
    if level and state.exclusive:
        place = move_to_first(state, level, key, place, writes(kind), now)
    else:
        if place != NONE:
            touch(sets, level, key, place, now)
            sets.line[at(place)] |= writes(kind) if level == 0 else 0
        if level:
            place = fill_inward(state, level, key, writes(kind), now)
    if not sets.shape[0, LISTED]:
        state.guess[guess_of(state, key)] = place


@inlined
def store_outside(state: Hierarchy, level: int, key: int, place: int, now: int) -> None:
    """No-write-allocate: the store is done where the line is, and brings it nowhere."""
    if place == NONE:
        state.counts.total[MEMORY_STORES] += 1
    else:
        touch(state.sets, level, key, place, now)
        state.sets.line[at(place)] |= 1


@inlined
def fill_inward(state: Hierarchy, level: int, key: int, dirty: int, now: int) -> int:
    """Non-inclusive and inclusive: bring the line into every level before this one, the outermost first."""
    place = as_int(NONE)
    while level > 0:
        level -= 1
        place = oldest(state.sets, level, key)
        word = replace(state.sets, level, key, place, 0 if level else dirty, now)
        state.counts.event[level, FILLS] += 1
        if word != EMPTY:
            evict(state, level, word)
    return place


@called
def evict(state: Hierarchy, level: int, word: int) -> None:
    """A level has lost a line: where it is inclusive, so do the levels before it, and their dirty data goes too."""
    event = state.counts.event
    event[level, EVICTIONS] += 1
    if state.inclusive:
        for inner in range(level):
            place = look(state.sets, inner, word >> 1)
            if place != NONE:
                was = empty(state.sets, inner, word >> 1, place)
                event[inner, REMOVALS] += 1
                event[inner, WRITEBACKS] += was & 1
                word |= was & 1
    if word & 1:
        event[level, WRITEBACKS] += 1
        write_back(state.sets, state.counts, level + 1, word)


@called
def move_to_first(state: Hierarchy, level: int, key: int, place: int, dirty: int, now: int) -> int:
    """Exclusive: the line leaves where it was and enters level 1; every victim moves one level outward."""
    sets, event = state.sets, state.counts.event
    if place != NONE:
        dirty |= empty(sets, level, key, place) & 1
        event[level, REMOVALS] += 1
    first = oldest(sets, 0, key)
    word, place = key << 1 | dirty, first
    level = 0
    while level < len(event):
        place = oldest(sets, level, word >> 1)
        word = replace(sets, level, word >> 1, place, word & 1, now)
        event[level, FILLS] += 1
        if word == EMPTY:
            return first
        event[level, EVICTIONS] += 1
        event[level, WRITEBACKS] += word & 1
        level += 1
    state.counts.total[MEMORY_WRITEBACKS] += word & 1
    return first
