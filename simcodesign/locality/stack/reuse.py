"""Exact reuse distances, compiled with Numba: the accesses since the last use of a key, looked up in its page."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import compiled_without_arrays
from simcodesign.locality.profile import COLD
from simcodesign.locality.stack.keys import NO_ROOM, WIDE, Keys, grown, new_keys, stretch_of
from simcodesign.locality.stack.slots import ONE, ZERO, U, Words
from simcodesign.locality.traces.trace import Addresses

#: Places in ``state``: accesses so far, pages in use, different keys, and the access that is next.
TIME, USED, DISTINCT, NEXT = range(4)


class ReuseMeter:
    """Measures reuse distances of keys ``address >> shift`` over any number of chunks."""

    def __init__(self, shift: int, page_bits: int = WIDE) -> None:
        self._shift = U(shift)
        self._keys = new_keys(np.uint64, page_bits)
        self._state = np.zeros(4, np.uint64)

    def measure(self, address: Addresses) -> NDArray[np.int64]:
        """Reuse distances of the next n accesses, int64 (n,), COLD for first touches."""
        address = np.require(address, np.uint64, ["C", "W"])
        distances = np.empty(len(address), np.int64)
        self._state[NEXT] = 0
        with np.errstate(over="ignore"):  # without Numba, Python would warn of hashes that wrap around
            while not measure(address, self._shift, self._state, self._keys, distances):
                self._keys, pages = grown(self._keys, int(self._state[USED]), int(self._state[DISTINCT]))
                self._state[USED] = pages
        return distances


@compiled_without_arrays
def measure(address: Addresses, shift: np.uint64, state: Words, keys: Keys, distances: NDArray[np.int64]) -> bool:
    """Processes accesses; returns whether all are done, or the memory for pages is full."""
    entry, page_bits = keys.entry, keys.page_bits
    n, time = state[NEXT], state[TIME]
    while n < np.uint64(len(address)):
        key = address[n] >> shift
        stretch = stretch_of(keys, key >> page_bits, state, USED)
        if stretch == NO_ROOM:
            break
        here = stretch + (key & ((ONE << page_bits) - ONE))
        if entry[here] == ZERO:
            distances[n] = COLD
            state[DISTINCT] += ONE
        else:
            distances[n] = np.int64(time - entry[here])
        time += ONE
        entry[here] = time
        n += ONE
    state[NEXT], state[TIME] = n, time
    return bool(n == np.uint64(len(address)))
