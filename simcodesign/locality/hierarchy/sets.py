"""The sets of a simulated cache, compiled: find a line, make it the most recent, take the oldest, replace it.

A line is a word: its key, doubled, plus 1 where it is dirty. A level is kept in one of two ways.
- Few ways: the words of a set lie side by side, one line of this machine's own cache when there are eight, and the
  times of last use after them. To find a line is to look at every way; to use it is to note the time.
- Many ways: a hash table gives the line, and a list of each set keeps the order of use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import inlined
from simcodesign.locality.cache import CacheGeometry

Array = NDArray[Any]
#: The word of a place that holds no line. Keys are below 2**62, so that no line has it.
EMPTY = -1
NONE = -1
#: Up to so many ways are looked at one by one.
FEW_WAYS = 16
#: A time is this times the number of the access, plus the way, so that the oldest time says which way it is.
TICK = 32
#: Columns of ``shape``.
FIRST, WAYS, SETS, MASK, LISTED, HEAD, HEADS_MASK, HEADS_BITS, FIELDS = range(9)
#: A listed line is a node of NODE numbers; the node after the lines of a level stands for the ends of its list.
NEWER, OLDER, CHAINED, NODE = 0, 1, 2, 4
#: Spreads the upper bits of keys in the hash tables. The lower bits stay as they are: neighbours are used together.
SPREAD = 0x9E3779B97F4A7C15 - 2**64
WORDS_IN_LINE = 8


class Sets(NamedTuple):
    """All levels. The listed ones come first in ``line``, so that a line's number there is that of its node."""

    shape: Array  # int64 (levels, FIELDS)
    line: Array  # int64: words of listed levels; for every set of the others its words, then its times
    node: Array  # int32 (listed lines x NODE)
    head: Array  # int32: the first line of each chain of the hash tables


def sets_for(geometries: Sequence[CacheGeometry], few_ways: int = FEW_WAYS) -> Sets:
    """Empty sets. Levels of more ways than ``few_ways`` are listed."""
    shape = np.zeros((len(geometries), FIELDS), np.int64)
    listed = [geometry.ways_per_set > few_ways for geometry in geometries]
    lines = heads = 0
    for n in sorted(range(len(geometries)), key=lambda n: not listed[n]):
        cache = geometries[n]
        if not listed[n]:
            lines = -(-lines // WORDS_IN_LINE) * WORDS_IN_LINE
        bits = (2 * cache.lines - 1).bit_length() if listed[n] else 0
        mask = cache.sets - 1 if cache.sets.bit_count() == 1 else NONE
        shape[n] = lines, cache.ways_per_set, cache.sets, mask, listed[n], heads, (1 << bits) - 1, bits
        lines += cache.lines + cache.sets if listed[n] else 2 * cache.lines
        heads += listed[n] << bits
    nodes = sum(cache.lines + cache.sets for cache, many in zip(geometries, listed, strict=True) if many)
    sets = Sets(shape, _aligned(lines), np.full(nodes * NODE, NONE, np.int32), np.full(heads, NONE, np.int32))
    for n, cache in enumerate(geometries):
        if listed[n]:
            _list_all(sets.node, int(shape[n, FIRST]), cache)
        else:
            part(sets, n)[:, 1] = np.arange(cache.ways_per_set)
    return sets


def _aligned(words: int) -> Array:
    """Empty words that begin with a line of this machine's cache."""
    buffer = np.full(words + WORDS_IN_LINE, EMPTY, np.int64)
    skip = -buffer.ctypes.data % (WORDS_IN_LINE * 8) // 8
    return buffer[skip : skip + words]


def _list_all(node: Array, first: int, cache: CacheGeometry) -> None:
    """Link the places of every set of a level in a ring through the node that stands for its ends."""
    ring = first + np.arange(cache.lines, dtype=np.int32).reshape(cache.sets, cache.ways_per_set)
    ends = first + cache.lines + np.arange(cache.sets, dtype=np.int32)[:, None]
    ring = np.hstack([ring, ends])
    node[ring * NODE + OLDER] = np.roll(ring, -1, axis=1)
    node[ring * NODE + NEWER] = np.roll(ring, 1, axis=1)


def part(sets: Sets, level: int) -> Array:
    """The words of a level: a view (sets, ways), or of few ways (sets, 2, ways) with their times."""
    first, ways, count = (int(field) for field in sets.shape[level, [FIRST, WAYS, SETS]])
    if sets.shape[level, LISTED]:
        return sets.line[first : first + ways * count].reshape(count, ways)
    return sets.line[first : first + 2 * ways * count].reshape(count, 2, ways)


def words_of(sets: Sets, level: int) -> Array:
    """The words of the lines that a level holds."""
    words = part(sets, level)
    words = words if sets.shape[level, LISTED] else words[:, 0]
    return words[words != EMPTY]


# --- Compiled -------------------------------------------------------------------------------------------------


@inlined
def at(place: int) -> np.uint64:
    """A place in an array that is not negative: Numba need not look whether it counts from the end."""
    return np.uint64(place)


@inlined
def key_of(address: Array, n: int, shift: int) -> Any:
    """The line of the n-th access."""
    return np.int64(address[at(n)] >> np.uint64(shift))


@inlined
def as_int(number: Any) -> Any:
    """A number of any integer type as the one in which places and keys are computed."""
    return np.int64(number)


@inlined
def spread(key: int, bits: int, mask: int) -> int:
    """A key's place in a table of 2**bits."""
    return (key + (((key >> bits) * SPREAD) >> 32)) & mask


@inlined
def set_of(sets: Sets, level: int, key: int) -> int:
    """The number of the set where a line may lie."""
    mask = sets.shape[level, MASK]
    return key & mask if mask != NONE else key % sets.shape[level, SETS]


@inlined
def look(sets: Sets, level: int, key: int) -> int:
    """The place of a line; NONE if the level does not hold it."""
    if sets.shape[level, LISTED]:
        return look_up(sets, level, key)
    ways = sets.shape[level, WAYS]
    first = sets.shape[level, FIRST] + set_of(sets, level, key) * 2 * ways
    return among(sets, key, first, ways)


@inlined
def among(sets: Sets, key: int, first: int, ways: int) -> int:
    """The place of a line among the words of a set; NONE if it is not there."""
    dirty = key << 1 | 1
    for way in range(ways):
        if sets.line[at(first + way)] | 1 == dirty:
            return first + way
    return NONE


@inlined
def look_up(sets: Sets, level: int, key: int) -> int:
    """The same, for a listed level."""
    place = sets.head[at(_head(sets, level, key))]
    while place != NONE and sets.line[at(place)] | 1 != key << 1 | 1:
        place = sets.node[at(place * NODE + CHAINED)]
    return place


@inlined
def _head(sets: Sets, level: int, key: int) -> int:
    return sets.shape[level, HEAD] + spread(key, sets.shape[level, HEADS_BITS], sets.shape[level, HEADS_MASK])


@inlined
def touch(sets: Sets, level: int, key: int, place: int, now: int) -> None:
    """The line is the most recently used of its set."""
    if sets.shape[level, LISTED]:
        to_front(sets, ends_of(sets, level, key), place)
    else:
        stamp(sets, place, sets.shape[level, WAYS], now)


@inlined
def stamp(sets: Sets, place: int, ways: int, now: int) -> None:
    """The same, for a level of few ways."""
    time = at(place + ways)
    sets.line[time] = now | (sets.line[time] & (TICK - 1))


@inlined
def to_front(sets: Sets, ends: int, place: int) -> None:
    """The same, for a listed level."""
    if sets.node[at(ends * NODE + OLDER)] != place:
        _unlink(sets, place)
        _link(sets, ends, sets.node[at(ends * NODE + OLDER)], place)


@inlined
def ends_of(sets: Sets, level: int, key: int) -> int:
    """The node between the newest line of a set (older than it) and the oldest (newer than it)."""
    lines = sets.shape[level, WAYS] * sets.shape[level, SETS]
    return sets.shape[level, FIRST] + lines + set_of(sets, level, key)


@inlined
def _unlink(sets: Sets, place: int) -> None:
    newer, older = sets.node[at(place * NODE + NEWER)], sets.node[at(place * NODE + OLDER)]
    sets.node[at(newer * NODE + OLDER)] = older
    sets.node[at(older * NODE + NEWER)] = newer


@inlined
def _link(sets: Sets, newer: int, older: int, place: int) -> None:
    sets.node[at(place * NODE + NEWER)], sets.node[at(place * NODE + OLDER)] = newer, older
    sets.node[at(newer * NODE + OLDER)] = place
    sets.node[at(older * NODE + NEWER)] = place


@inlined
def oldest(sets: Sets, level: int, key: int) -> int:
    """The place that a new line takes: an empty one, else that of the least recently used line of the set."""
    if sets.shape[level, LISTED]:
        return sets.node[at(ends_of(sets, level, key) * NODE + NEWER)]
    ways = sets.shape[level, WAYS]
    first = sets.shape[level, FIRST] + set_of(sets, level, key) * 2 * ways
    return first + oldest_of(sets, first + ways, ways)


@inlined
def oldest_of(sets: Sets, first: int, ways: int) -> int:
    """The way that was used before all others, by the times of a set."""
    time = sets.line[at(first)]
    for place in range(first + 1, first + ways):
        time = min(time, sets.line[at(place)])
    return time & (TICK - 1)


@inlined
def oldest_of_8(sets: Sets, first: int) -> int:
    """The same for eight ways: pairs are compared side by side."""
    one = min(sets.line[at(first)], sets.line[at(first + 1)])
    two = min(sets.line[at(first + 2)], sets.line[at(first + 3)])
    three = min(sets.line[at(first + 4)], sets.line[at(first + 5)])
    four = min(sets.line[at(first + 6)], sets.line[at(first + 7)])
    return min(min(one, two), min(three, four)) & (TICK - 1)


@inlined
def replace(sets: Sets, level: int, key: int, place: int, dirty: int, now: int) -> int:
    """Put a line, the most recently used from now on, where another was. The word of that one, or EMPTY."""
    word = sets.line[at(place)]
    if sets.shape[level, LISTED]:
        if word != EMPTY:
            _unchain(sets, level, word, place)
        head = at(_head(sets, level, key))
        sets.node[at(place * NODE + CHAINED)] = sets.head[head]
        sets.head[head] = place
    sets.line[at(place)] = key << 1 | dirty
    touch(sets, level, key, place, now)
    return word


@inlined
def empty(sets: Sets, level: int, key: int, place: int) -> int:
    """Take a line out; its place is the next to be filled. Its word."""
    word = sets.line[at(place)]
    sets.line[at(place)] = EMPTY
    if sets.shape[level, LISTED]:
        ends = ends_of(sets, level, key)
        _unchain(sets, level, word, place)
        _unlink(sets, place)
        _link(sets, sets.node[at(ends * NODE + NEWER)], ends, place)
    else:
        stamp(sets, place, sets.shape[level, WAYS], 0)
    return word


@inlined
def _unchain(sets: Sets, level: int, word: int, place: int) -> None:
    head = at(_head(sets, level, word >> 1))
    after = sets.node[at(place * NODE + CHAINED)]
    before = sets.head[head]
    if before == place:
        sets.head[head] = after
        return
    while sets.node[at(before * NODE + CHAINED)] != place:
        before = sets.node[at(before * NODE + CHAINED)]
    sets.node[at(before * NODE + CHAINED)] = after
