"""The memory of simulated caches, empty at first; ``cache_sets.c`` defines how it is used.

A line is a word: its key, doubled, plus 1 if it is dirty. A level is kept in one of two ways.
- Few ways: the words of a set are neighbours, and the times of last use follow them.
- Many ways (listed): a hash table gives the line, and a list of each set keeps the order of use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.native.records import Record
from simcodesign.locality.cache import CacheGeometry

Array = NDArray[Any]
#: The word of a place that holds no line. Keys are below 2**62, so that no line has it.
EMPTY = -1
NONE = -1
#: Number of ways up to which they are searched one by one.
FEW_WAYS = 16
#: Columns of ``shape``, the fields of ``struct cache_shape``.
FIRST, WAYS, SETS, MASK, LISTED, HEAD, HEADS_MASK, HEADS_BITS, FIELDS = range(9)
#: A listed line is a node of NODE numbers; the node after the lines of a level is the ends of its list.
NEWER, OLDER, CHAINED, NODE = 0, 1, 2, 4
WORDS_IN_LINE = 8


class Sets(Record):
    """All levels. The listed ones come first in ``line``, so that a line's number there is also its node's."""

    struct = "cache_sets"
    use = "a simulation of caches"


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
    node, head = np.full(nodes * NODE, NONE, np.int32), np.full(heads, NONE, np.int32)
    sets = Sets(shape=shape, line=_aligned(lines), node=node, head=head)
    for n, cache in enumerate(geometries):
        if listed[n]:
            _list_all(node, int(shape[n, FIRST]), cache)
        else:
            part(sets, n)[:, 1] = np.arange(cache.ways_per_set)
    return sets


def _aligned(words: int) -> Array:
    """Empty words that begin with a line of this machine's cache."""
    buffer = np.full(words + WORDS_IN_LINE, EMPTY, np.int64)
    skip = -buffer.ctypes.data % (WORDS_IN_LINE * 8) // 8
    return buffer[skip : skip + words]


def _list_all(node: Array, first: int, cache: CacheGeometry) -> None:
    """Link the places of every set of a level in a ring through the node that marks its ends."""
    ring = first + np.arange(cache.lines, dtype=np.int32).reshape(cache.sets, cache.ways_per_set)
    ends = first + cache.lines + np.arange(cache.sets, dtype=np.int32)[:, None]
    ring = np.hstack([ring, ends])
    node[ring * NODE + OLDER] = np.roll(ring, -1, axis=1)
    node[ring * NODE + NEWER] = np.roll(ring, 1, axis=1)


def part(sets: Sets, level: int) -> Array:
    """Return the words of a level: a view (sets, ways), or of few ways (sets, 2, ways) with their times."""
    shape, line = sets.arrays["shape"][level], sets.arrays["line"]
    first, ways, count = (int(field) for field in shape[[FIRST, WAYS, SETS]])
    if shape[LISTED]:
        return line[first : first + ways * count].reshape(count, ways)
    return line[first : first + 2 * ways * count].reshape(count, 2, ways)


def words_of(sets: Sets, level: int) -> Array:
    """Return the words of the lines that a level holds."""
    words = part(sets, level)
    held: Array = words if words.ndim == 2 else words[:, 0]
    resident: Array = held[held != EMPTY]
    return resident
