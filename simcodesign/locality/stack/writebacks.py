"""Lines written back by LRU caches of every size, from one pass over a trace.

A line that is stored to is dirty until it leaves the cache. Between one store to it and the next, it leaves a fully
associative LRU cache of C lines if one of the accesses to it after the first store, up to and with the next one, has a
stack distance of C or more; after its last store, also if C or more other lines were accessed since its last access.
It is then written back once, however often it comes and goes again, because it comes back clean. So the largest of
these distances determines for each interval in which sizes of caches it ends with a line written back: the stack
algorithm of Thompson and Smith, "Efficient (stack) algorithms for analysis of write-back and sector memories", ACM TOCS
7(1), 1989.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.locality.profile import StackDistanceProfile
from simcodesign.locality.stack.distances import stack_counter
from simcodesign.locality.stack.keys import new_keys
from simcodesign.locality.stack.reuse import State, run
from simcodesign.locality.traces.trace import Addresses, Kinds, Trace, line_shift

#: Maximum number of distinguishable accesses: the time of the last one is stored in half a word.
MOST = 2**32 - 1
# An entry of a key: the time of its last access, the largest distance since its last store, whether it is dirty.
_TIME, _LARGEST, _DIRTY = (np.uint64(number) for number in (32, 1, 1))
_LARGEST_MASK = np.uint64(2**31 - 1)


def profiles_with_writebacks(trace: Trace, line_bytes: int) -> tuple[StackDistanceProfile, StackDistanceProfile]:
    """Return the stack distances of a trace, and the largest distances of its dirty intervals.

    The trace has at most ``MOST`` accesses. A cache of C lines writes back as many lines as have one of C or more.
    Accesses without kinds are loads.
    """
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
        self._shift = shift
        self._keys = new_keys(np.uint64)
        self._state = State()
        self._ended: list[NDArray[np.int64]] = []

    def add(self, address: Addresses, kind: Kinds, distances: NDArray[np.int64]) -> None:
        """Add the next n accesses: addresses, kinds and stack distances, each (n,)."""
        kind, distances = np.require(kind, np.uint8, ["C"]), np.require(distances, np.int64, ["C"])
        ended = np.empty(len(address), np.int64)
        self._state.ended = 0
        columns = (kind, distances, ended)
        self._keys = run("writebacks_follow", address, self._shift, self._state, self._keys, *columns)
        self._ended.append(ended[: self._state.ended].copy())

    def largest(self) -> NDArray[np.int64]:
        """Return the largest distance of every interval, those that last to the end of the trace included."""
        entry = self._keys.entries[self._keys.entries != 0]
        time, largest = entry >> _TIME, (entry >> _LARGEST) & _LARGEST_MASK
        since = np.empty(len(entry), np.int64)  # keys accessed after the last access of each
        since[np.argsort(time)] = np.arange(len(entry))[::-1]
        is_dirty = (entry & _DIRTY) == _DIRTY
        return np.concatenate([*self._ended, np.maximum(largest.astype(np.int64), since)[is_dirty]])
