"""Lines written back by LRU caches of every size at once, from one pass over a trace.

A line that is stored to is dirty until it leaves the cache. Between one store to it and the next, it leaves a fully
associative LRU cache of C lines if one of the accesses to it after the first store, up to and with the next one, has a
stack distance of C or more; after its last store, also if C or more other lines were accessed since its last access.
It is then written back once, however often it comes and goes again, for it comes back clean. So the largest of these
distances says of each interval in which sizes of caches it ends with a line that is written back: the stack algorithm
of Thompson and Smith, "Efficient (stack) algorithms for analysis of write-back and sector memories", ACM TOCS 7(1),
1989.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import compiled_without_arrays
from simcodesign.locality.profile import StackDistanceProfile
from simcodesign.locality.stack.distances import stack_counter
from simcodesign.locality.stack.keys import NO_ROOM, Keys, grown, new_keys, stretch_of
from simcodesign.locality.stack.slots import ONE, ZERO, U, Words
from simcodesign.locality.traces.trace import MODIFY, STORE, Addresses, Kinds, Trace, line_shift

#: Accesses that can be told apart: the time of the last one stands in half a word.
MOST = 2**32 - 1
#: Places in ``state``: accesses so far, pages in use, different keys, the access that is next, intervals that ended.
TIME, USED, DISTINCT, NEXT, ENDED = range(5)
# An entry of a key: the time of its last access, the largest distance since its last store, whether it is dirty.
_TIME, _LARGEST, _DIRTY = U(32), ONE, ONE
_LARGEST_MASK = U(2**31 - 1)


def profiles_with_writebacks(trace: Trace, line_bytes: int) -> tuple[StackDistanceProfile, StackDistanceProfile]:
    """The stack distances of a trace of up to ``MOST`` accesses, and the largest distances of its dirty intervals: a
    cache of C lines writes back as many lines as have one of C or more. Accesses without kinds are loads."""
    counter, intervals = stack_counter(line_bytes), DirtyIntervals(line_shift(line_bytes))
    for chunk in trace.by_line(line_bytes):
        distances = counter.measure(chunk.address)
        kind = np.zeros(len(chunk), np.uint8) if chunk.kind is None else chunk.kind
        intervals.add(chunk.address, kind, distances)
    distance, count = counter.histogram
    profile = StackDistanceProfile(distance, count.astype(np.float64), float(counter.cold), line_bytes)
    return profile, StackDistanceProfile.from_distances(intervals.largest(), line_bytes)


class DirtyIntervals:
    """Collects the largest stack distance between each store to a key ``address >> shift`` and the next."""

    def __init__(self, shift: int) -> None:
        self._shift = U(shift)
        self._keys = new_keys(np.uint64)
        self._state = np.zeros(5, np.uint64)
        self._ended: list[NDArray[np.int64]] = []

    def add(self, address: Addresses, kind: Kinds, distances: NDArray[np.int64]) -> None:
        """The next n accesses: addresses, kinds and stack distances, each (n,)."""
        address, kind = np.require(address, np.uint64, ["C", "W"]), np.require(kind, np.uint8, ["C", "W"])
        ended = np.empty(len(address), np.int64)
        self._state[NEXT] = self._state[ENDED] = 0
        with np.errstate(over="ignore"):  # without Numba, Python would warn of hashes that wrap around
            while not follow(address, kind, distances, self._shift, self._state, self._keys, ended):
                self._keys, pages = grown(self._keys, int(self._state[USED]), int(self._state[DISTINCT]))
                self._state[USED] = pages
        self._ended.append(ended[: int(self._state[ENDED])].copy())

    def largest(self) -> NDArray[np.int64]:
        """The largest distance of every interval, those that last to the end of the trace included."""
        entry = self._keys.entry[self._keys.entry != 0]
        time, largest = entry >> _TIME, (entry >> _LARGEST) & _LARGEST_MASK
        since = np.empty(len(entry), np.int64)  # keys accessed after the last access of each
        since[np.argsort(time)] = np.arange(len(entry))[::-1]
        is_dirty = (entry & _DIRTY) == ONE
        return np.concatenate([*self._ended, np.maximum(largest.astype(np.int64), since)[is_dirty]])


@compiled_without_arrays
def follow(
    address: Addresses,
    kind: Kinds,
    distances: NDArray[np.int64],
    shift: np.uint64,
    state: Words,
    keys: Keys,
    ended: NDArray[np.int64],
) -> bool:
    """Processes accesses; returns whether all are done, or the memory for pages is full."""
    entry, page_bits = keys.entry, keys.page_bits
    n, time, count = state[NEXT], state[TIME], state[ENDED]
    while n < np.uint64(len(address)):
        key = address[n] >> shift
        stretch = stretch_of(keys, key >> page_bits, state, USED)
        if stretch == NO_ROOM:
            break
        here = stretch + (key & ((ONE << page_bits) - ONE))
        before = entry[here]
        if before == ZERO:
            state[DISTINCT] += ONE
        dirty, largest = before & _DIRTY, (before >> _LARGEST) & _LARGEST_MASK
        if dirty == ONE and distances[n] > np.int64(largest):
            largest = np.uint64(distances[n])
        if kind[n] == STORE or kind[n] == MODIFY:
            if dirty == ONE:
                ended[count] = np.int64(largest)
                count += ONE
            dirty, largest = ONE, ZERO
        time += ONE
        entry[here] = (time << _TIME) | (largest << _LARGEST) | dirty
        n += ONE
    state[NEXT], state[TIME], state[ENDED] = n, time, count
    return bool(n == np.uint64(len(address)))
