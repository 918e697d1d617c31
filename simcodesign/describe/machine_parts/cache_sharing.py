"""Caches that neighbouring processors of a node share: which cache each rank has, and how many ranks have the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.machine_parts.memory import Memory

Ints = NDArray[np.int64]


def caches_of(memory: Memory, node: Ints, place: Ints, per_node: int) -> Ints:
    """(levels, P) the number of the cache that each rank has at each level, by its node and its ``place`` there, among
    ``per_node`` processors at most."""
    return np.array(
        [node * -(-per_node // level.shared_by) + place // level.shared_by for level in memory.caches], dtype=np.int64
    )


def sharers_of(caches: Ints, present: NDArray[np.bool_] | None = None) -> Ints:
    """(levels, P) how many ranks, of those ``present``, have the same cache; 1 at least."""
    shared = np.empty(caches.shape, np.int64)
    for level, numbers in enumerate(caches):
        which, index = np.unique(numbers, return_inverse=True)
        shared[level] = np.bincount(index, present, len(which))[index]
    return np.maximum(shared, 1)
