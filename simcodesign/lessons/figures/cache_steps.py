"""Animation of a cache: a loop goes through an array with a stride, and each access hits, or loads and evicts a line.

Stack distances decide which accesses hit (Mattson et al. 1970); in a cache with sets, distances within the set of the
line. The walk below only notes in which slot each line is, and evicts the least recently used line of a set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.stack.distances import stack_distances

#: Bytes of an element and of a line, and how often the loop goes through the array.
ELEMENT_BYTES, LINE_BYTES, SWEEPS = 8, 64, 2
#: Number of the evicted line if no line is evicted.
NONE = -1


def cache_cases(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the accesses of each stride and size of a view, sizes within strides.

    Each case has the ``stride`` (elements), the ``size`` (bytes), the number of ``sets``, and ``accesses``: element,
    slot of its line, 1 for a hit, and the evicted line or ``NONE``.
    """
    cases = []
    for stride in options["strides"]:
        sweep = np.arange(0, options["elements"], stride, dtype=np.int64)
        element = np.tile(sweep, SWEEPS)
        for size_bytes in options["sizes"]:
            cache = CacheGeometry(size_bytes, LINE_BYTES, options.get("ways"))
            steps = cache_steps(element * ELEMENT_BYTES, cache)
            accesses = [[int(one), *step] for one, step in zip(element, steps, strict=True)]
            cases.append({"stride": stride, "size": size_bytes, "sets": cache.sets, "accesses": accesses})
    return cases


def cache_steps(address: NDArray[np.int64], cache: CacheGeometry) -> list[tuple[int, int, int]]:
    """Return for each access the slot of its line, 1 for a hit or 0, and the line that it evicts or ``NONE``.

    ``address``: the bytes that are accessed, one after another, in a cache with LRU replacement that is empty at first.
    Slots are numbered set by set.
    """
    key = address // cache.line_bytes
    hits = _hits(address, cache)
    slots: dict[int, int] = {}
    held: list[list[int]] = [[] for _ in range(cache.sets)]  # lines of each set, least recently used first
    steps = []
    for line, hit in zip(key.tolist(), hits.tolist(), strict=True):
        number = line % cache.sets
        lines, evicted = held[number], NONE
        if hit:
            lines.remove(line)
        elif len(lines) < cache.ways_per_set:
            slots[line] = number * cache.ways_per_set + len(lines)
        else:
            evicted = lines.pop(0)
            slots[line] = slots.pop(evicted)
        lines.append(line)
        steps.append((slots[line], int(hit), evicted))
    return steps


def _hits(address: NDArray[np.int64], cache: CacheGeometry) -> NDArray[np.bool_]:
    """Return which accesses have fewer other lines of their set since the last use than a set has ways."""
    number = address // cache.line_bytes % cache.sets
    distance = np.full(len(address), NONE, dtype=np.int64)
    for one in np.unique(number):
        mine = number == one
        distance[mine] = stack_distances(address[mine], cache.line_bytes)
    return (distance >= 0) & (distance < cache.ways_per_set)
