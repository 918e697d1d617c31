"""The two hierarchies that most questions need, compiled for speed; ``hierarchy_engine`` does all others.

One is the non-inclusive hierarchy of few ways. Once a line is looked for in a set, the place that it will take if it
is not there stays the same until it takes it, so that every set is looked at once. The other is one fully
associative cache of which only the misses are wanted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simcodesign.core.jit import called, compiled_without_arrays, inlined
from simcodesign.locality.hierarchy.sets import (
    CHAINED,
    EMPTY,
    FIRST,
    HEADS_BITS,
    NEWER,
    NODE,
    NONE,
    OLDER,
    TICK,
    WAYS,
    Array,
    Sets,
    among,
    as_int,
    at,
    key_of,
    look,
    oldest_of,
    oldest_of_8,
    replace,
    set_of,
    spread,
    stamp,
)
from simcodesign.locality.traces.trace import LOAD, STORE

#: Places in ``Counts.total``.
NOW, MEMORY_WRITEBACKS, MEMORY_STORES = range(3)
#: Columns of ``Counts.event``.
FILLS, EVICTIONS, REMOVALS, WRITEBACKS = range(4)


class Counts(NamedTuple):
    """What is counted. Accesses of an outer level are the misses of the one before."""

    miss: Array  # int64 (levels, kinds)
    event: Array  # int64 (levels, 4)
    total: Array  # int64 (3,)


class Hierarchy(NamedTuple):
    """The levels, and what they do for each other."""

    sets: Sets
    guess: Array  # int32 (2**n,): a place in the first level
    guess_bits: int
    chosen: Array  # int64 (levels,) places that a line will take
    counts: Counts
    inclusive: bool
    exclusive: bool
    write_allocate: bool


@inlined
def kind_of(kind: Array, n: int) -> int:
    """What the n-th access is."""
    return as_int(kind[at(n)]) if len(kind) else LOAD


@inlined
def writes(kind: int) -> int:
    """1 for a store and a modify, 0 for a load and a fetch."""
    return (kind + 1) >> 1 & 1


@inlined
def guess_of(state: Hierarchy, key: int) -> np.uint64:
    """A line's place in the table of guesses."""
    return at(spread(key, state.guess_bits, len(state.guess) - 1))


@inlined
def hits(state: Hierarchy, address: Array, kind: Array, shift: int, n: int, begin: int) -> int:
    """Do accesses from the n-th on as long as their lines are where they are guessed to be. The number of the next."""
    line, ways = state.sets.line, state.sets.shape[0, WAYS]
    while n < len(address):
        key = key_of(address, n, shift)
        place = state.guess[guess_of(state, key)]
        word = line[at(place)]
        if word | 1 != key << 1 | 1:
            break
        n += 1
        stamp(state.sets, place, ways, begin + n * TICK)
        if len(kind):
            line[at(place)] = word | writes(as_int(kind[at(n - 1)]))
    return n


@called
def write_back(sets: Sets, counts: Counts, level: int, word: int) -> None:
    """Dirty data goes to the next level from this one on that holds the line, else to memory."""
    while level < len(counts.miss):
        place = look(sets, level, word >> 1)
        if place != NONE:
            sets.line[at(place)] |= 1
            return
        level += 1
    counts.total[MEMORY_WRITEBACKS] += 1


@compiled_without_arrays
def walk_few_ways(state: Hierarchy, address: Array, kind: Array, shift: int) -> None:
    """All accesses of a chunk in a non-inclusive hierarchy. Fills and evictions follow from the misses."""
    sets, counts, begin, n = state.sets, state.counts, state.counts.total[NOW], 0
    while True:
        n = hits(state, address, kind, shift, n, begin)
        if n == len(address):
            break
        n += 1
        key, what = key_of(address, n - 1, shift), kind_of(kind, n - 1)
        now = begin + n * TICK
        level, place = find(sets, counts.miss, state.chosen, key, what)
        if place != NONE:
            stamp(sets, place, sets.shape[level, WAYS], now)
        if level and what == STORE and not state.write_allocate:
            if place == NONE:
                counts.total[MEMORY_STORES] += 1
            else:
                sets.line[at(place)] |= 1
            continue
        while level > 0:
            level -= 1
            place = state.chosen[level]
            word = sets.line[at(place)]
            sets.line[at(place)] = key << 1
            stamp(sets, place, sets.shape[level, WAYS], now)
            if word & 1 and word != EMPTY:
                counts.event[level, WRITEBACKS] += 1
                write_back(sets, counts, level + 1, word)
        sets.line[at(place)] |= writes(what)
        state.guess[guess_of(state, key)] = place
    counts.total[NOW] = begin + n * TICK


@inlined
def find(sets: Sets, miss: Array, chosen: Array, key: int, kind: int) -> tuple[int, int]:
    """The level that holds a line, and where; in the levels before it a place for the line is chosen."""
    for level in range(len(miss)):
        ways = sets.shape[level, WAYS]
        first = sets.shape[level, FIRST] + set_of(sets, level, key) * 2 * ways
        # Written twice, as a loop of known length is much faster.
        place = among(sets, key, first, 8) if ways == 8 else among(sets, key, first, ways)
        if place != NONE:
            return level, place
        miss[level, kind] += 1
        chosen[level] = first + (oldest_of_8(sets, first + 8) if ways == 8 else oldest_of(sets, first + ways, ways))
    return len(miss), NONE


@compiled_without_arrays
def lru_misses(sets: Sets, address: Array, shift: int) -> int:
    """Misses of a chunk in one fully associative level, which is listed."""
    line, node, head, misses = sets.line, sets.node, sets.head, 0
    ends, bits, mask = sets.shape[0, WAYS], sets.shape[0, HEADS_BITS], len(sets.head) - 1
    newest = as_int(node[at(ends * NODE + OLDER)])
    for n in range(len(address)):
        key = key_of(address, n, shift)
        place = as_int(head[at(spread(key, bits, mask))])
        while place != NONE and line[at(place)] != key << 1:
            place = as_int(node[at(place * NODE + CHAINED)])
        if place == newest:
            continue
        if place == NONE:
            misses += 1
            place = as_int(node[at(ends * NODE + NEWER)])
            replace(sets, 0, key, place, 0, 0)
        else:
            newer, older = node[at(place * NODE + NEWER)], node[at(place * NODE + OLDER)]
            node[at(newer * NODE + OLDER)] = older
            node[at(older * NODE + NEWER)] = newer
            node[at(place * NODE + NEWER)] = ends
            node[at(place * NODE + OLDER)] = newest
            node[at(newest * NODE + NEWER)] = place
            node[at(ends * NODE + OLDER)] = place
        newest = place
    return misses
