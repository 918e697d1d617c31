"""Exact stack distances of real traces, counted in C: tens of millions of accesses a second.

Keys are looked up in pages (``keys``), and live slots counted above the slot of the last use (``slots``).
A key that was the last or the last but one, as every second access is in many programs, needs neither: its distance
is 0 or 1. The loop works on arrays that never change their size; if one is full it returns, Python enlarges it, and
the loop continues.

Memory for each distinct key, measured: 17 to 20 bytes if keys are neighbours, of which 4 are in its page and 8 or
more in the histogram; up to 32 if one key in four is used; up to 93 if no two share a page.
"""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.native.records import Record
from simcodesign.locality.stack.keys import WIDE, grown, new_keys
from simcodesign.locality.stack.loops import loops
from simcodesign.locality.stack.slots import capacity_for, live_in_closed, new_slots
from simcodesign.locality.traces.trace import Addresses

#: Slots at first, and for each live one when they are numbered again.
LEAST_SLOTS, SPREAD = 1 << 16, 8
#: Length of the histogram at first; it becomes a quarter longer when there are as many keys.
DISTANCES = 1 << 10
#: Why the loop returned.
DONE, NO_SLOTS, NO_PAGES, NO_DISTANCES = range(4)


class State(Record):
    """Where a count has arrived."""

    struct = "stack_state"
    use = "a stack distance"


class StackCounter:
    """Counts stack distances of keys ``address >> shift`` over any number of chunks.

    ``slots``, ``spread``, ``first`` and ``page_bits`` are for tests: they do not change the answer.
    """

    def __init__(
        self, shift: int, slots: int = LEAST_SLOTS, spread: int = SPREAD, first: int = 1, page_bits: int = WIDE
    ) -> None:
        self._shift, self._least, self._spread = shift, slots, spread
        self._slots = new_slots(capacity_for(0, spread, slots + first), 0)
        self._keys = new_keys(np.uint32, page_bits)
        self._count = np.zeros(DISTANCES, np.int64)
        self._state = State(slot=first)

    @property
    def cold(self) -> int:
        """First touches, which is how many different keys there are."""
        return int(self._state.live)

    @property
    def histogram(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Distances that occurred, ascending, and how often each did."""
        distance = np.flatnonzero(self._count)
        return distance, self._count[distance]

    def add(self, address: Addresses) -> None:
        """Count the next accesses."""
        self._run(address, None)

    def measure(self, address: Addresses) -> NDArray[np.int64]:
        """Stack distances of the next n accesses, int64 (n,), COLD for first touches; they are counted as well."""
        distances = np.empty(len(address), np.int64)
        self._run(address, distances)
        return distances

    def _run(self, address: Addresses, distances: NDArray[np.int64] | None) -> None:
        address = np.require(address, np.uint64, ["C"])
        self._state.next = 0
        while why := self._count_until_full(address, distances):
            if why == NO_SLOTS:
                self._renumber()
            elif why == NO_PAGES:
                self._add_pages()
            else:
                # In place; nothing else looks into this array. What is new is zero.
                self._count.resize(len(self._count) + len(self._count) // 4, refcheck=False)

    def _count_until_full(self, address: Addresses, distances: NDArray[np.int64] | None) -> int:
        return int(
            loops().stack_count(
                address.ctypes.data,
                len(address),
                self._shift,
                *map(ctypes.byref, (self._state, self._slots, self._keys)),
                self._count.ctypes.data,
                len(self._count),
                None if distances is None else distances.ctypes.data,
            )
        )

    def _renumber(self) -> None:
        capacity = capacity_for(self.cold, self._spread, self._least)
        words = self._slots.arrays["words"]
        last, below = self._keys.entries, np.empty(len(words), np.uint32)
        used = self._keys.pages << self._keys.page_bits
        loops().stack_renumber(last.ctypes.data, used, words.ctypes.data, below.ctypes.data, len(words))
        self._slots = new_slots(capacity, self.cold)
        self._state.slot, self._state.closed = self.cold + 1, live_in_closed(self.cold)

    def _add_pages(self) -> None:
        self._keys = grown(self._keys, self.cold)
        for key, at in (("key", "at"), ("older", "older_at")):
            setattr(self._state, at, loops().stack_locate(ctypes.byref(self._keys), getattr(self._state, key)))
