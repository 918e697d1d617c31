"""Stack and reuse distances in logarithmically many steps an access: the oracle for streams too long for the list.

Every key marks the time of its last use in a Fenwick tree (P. Fenwick, "A new data structure for cumulative frequency
tables", Software: Practice and Experience 24, 1994), which counts the marks after a time in logarithmically many steps;
these are the distinct keys used since (B. Bennett, V. Kruskal, "LRU stack processing", IBM Journal of Research and
Development 19, 1975).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.locality.profile import COLD
from simcodesign.locality.traces.trace import Addresses

#: Times in the tree at first, and for each live key when the times have run out and are numbered anew.
LEAST_TIMES, SPREAD = 1 << 12, 4


class PlainStack:
    """Counts stack distances of keys ``address >> shift`` over any number of chunks."""

    def __init__(self, shift: int, times: int = LEAST_TIMES) -> None:
        self._shift, self._least = shift, times
        self._last: dict[int, int] = {}  # in the order of last use
        self._tree = [0] * (times + 1)
        self._now = 1
        self._count: dict[int, int] = {}
        self.cold = 0

    def measure(self, address: Addresses) -> NDArray[np.int64]:
        """Stack distances of the next n accesses, int64 (n,), COLD for first touches; they are counted as well."""
        distances = [self._distance(key) for key in (address >> np.uint64(self._shift)).tolist()]
        return np.array(distances, np.int64)

    def add(self, address: Addresses) -> None:
        """Count the next accesses."""
        self.measure(address)

    @property
    def histogram(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Distances that occurred, ascending, and how often each did."""
        pairs = sorted(self._count.items())
        return np.array([pair[0] for pair in pairs], np.int64), np.array([pair[1] for pair in pairs], np.int64)

    def _distance(self, key: int) -> int:
        if self._now == len(self._tree):
            self._renumber()
        before = self._last.pop(key, None)
        if before is None:
            self.cold += 1
            distance = COLD
        else:
            distance = len(self._last) + 1 - self._marks_to(before)
            self._mark(before, -1)
            self._count[distance] = self._count.get(distance, 0) + 1
        self._mark(self._now, 1)
        self._last[key] = self._now
        self._now += 1
        return distance

    def _mark(self, time: int, change: int) -> None:
        while time < len(self._tree):
            self._tree[time] += change
            time += time & -time

    def _marks_to(self, time: int) -> int:
        """Marks at ``time`` and before."""
        marks = 0
        while time:
            marks += self._tree[time]
            time &= time - 1
        return marks

    def _renumber(self) -> None:
        """Number the last uses from 1 again, in order, with room for more."""
        live = len(self._last)
        self._tree = [0] * (max(self._least, SPREAD * live) + 1)
        self._last = {key: time for time, key in enumerate(self._last, start=1)}
        for time in range(1, live + 1):
            self._mark(time, 1)
        self._now = live + 1


class PlainReuse:
    """Measures reuse distances of keys ``address >> shift`` over any number of chunks."""

    def __init__(self, shift: int) -> None:
        self._shift = shift
        self._last: dict[int, int] = {}
        self._now = 0

    def measure(self, address: Addresses) -> NDArray[np.int64]:
        """Reuse distances of the next n accesses, int64 (n,), COLD for first touches."""
        distances = np.empty(len(address), np.int64)
        for place, key in enumerate((address >> np.uint64(self._shift)).tolist()):
            before = self._last.get(key)
            distances[place] = COLD if before is None else self._now - before - 1
            self._last[key] = self._now
            self._now += 1
        return distances
