"""Stack and reuse distances as they are defined: the readable way, and the oracle for the fast one.

R. Mattson, J. Gecsei, D. Slutz, I. Traiger, "Evaluation techniques for storage hierarchies", IBM Systems Journal 9,
1970: keep all keys in a list, the latest first. The place at which a key is found is the number of distinct other keys
that were accessed since it was accessed itself, which is its stack distance; then it moves to the front. An LRU cache
of C lines holds just the first C keys of this list, whatever C is, so that it hits if and only if the distance is
below C: one pass over a trace answers for caches of all sizes.

A first touch is found nowhere; it is cold, and its distance is ``COLD`` (-1).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from simcodesign.locality.profile import COLD


def mattson_distances(keys: Iterable[Hashable]) -> NDArray[np.int64]:
    """Stack distances of n keys, int64 (n,): distinct other keys strictly between two uses, -1 for the first use.

    Takes O(n d) steps for a mean distance of d. ``distances.stack_distances`` finds the same in O(n log d).
    """
    stack: list[Hashable] = []
    known: set[Hashable] = set()
    distances = []
    for key in _plain(keys):
        if key in known:
            distance = stack.index(key)
            del stack[distance]
        else:
            distance = COLD
            known.add(key)
        stack.insert(0, key)
        distances.append(distance)
    return np.array(distances, np.int64)


def reuse_distances_by_dict(keys: Iterable[Hashable]) -> NDArray[np.int64]:
    """Reuse distances of n keys, int64 (n,): accesses strictly between two uses, -1 for the first use."""
    last: dict[Hashable, int] = {}
    distances = []
    for now, key in enumerate(_plain(keys)):
        distances.append(now - last[key] - 1 if key in last else COLD)
        last[key] = now
    return np.array(distances, np.int64)


def _plain(keys: Iterable[Hashable]) -> Iterable[Hashable]:
    """Python's own integers are much faster to compare than NumPy's."""
    return keys.tolist() if isinstance(keys, np.ndarray) else keys
