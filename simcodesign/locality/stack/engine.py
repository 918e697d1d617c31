"""Exact stack distances of real traces, compiled with Numba: tens of millions of accesses a second.

Keys are looked up in pages (``keys``), and live slots counted above the one of the last use (``slots``).
A key that was the last or the last but one, as every second access is in many programs, needs neither: its distance
is 0 or 1. The hot loop works on arrays that never change their size; where one is full it returns, Python enlarges it,
and the loop goes on: arrays bound anew inside of it would make it three times as slow.

Memory for each distinct key, measured: 17 to 20 bytes where keys are neighbours, of which 4 are in its page and 8 or
more in the histogram; up to 32 where every fourth key is used; up to 93 where no two share a page.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import compiled_without_arrays, inlined
from simcodesign.locality.stack.keys import NO_ROOM, WIDE, Keys, grown, new_keys, place_of, stretch_of
from simcodesign.locality.stack.slots import (
    ABOVE,
    BLOCK,
    ONE,
    SUPER,
    SUPER_SLOTS,
    WORD,
    ZERO,
    Slots,
    U,
    Words,
    capacity_for,
    live_in_closed,
    new_slots,
    raise_count,
    renumber,
    take_far,
    take_near,
    use,
)
from simcodesign.locality.traces.trace import Addresses

#: Slots at first, and for each live one when they are numbered anew.
LEAST_SLOTS, SPREAD = 1 << 16, 8
#: Length of the histogram at first; it becomes a quarter longer when there are as many keys.
DISTANCES = 1 << 10
#: Why the loop returned.
DONE, NO_SLOTS, NO_PAGES, NO_DISTANCES = range(4)
#: Places in ``state``: the next slot, live ones, pages in use, live ones of closed supers (those before the current
#: one), the last key and the one before and where their slots stand, and the access that is next.
SLOT, LIVE, USED, CLOSED, KEY, OLDER, AT, OLDER_AT, NEXT = range(9)
_NOWHERE = np.empty(0, np.int64)


class StackCounter:
    """Counts stack distances of keys ``address >> shift`` over any number of chunks.

    ``slots``, ``spread``, ``first`` and ``page_bits`` are for tests: they do not change the answer.
    """

    def __init__(
        self, shift: int, slots: int = LEAST_SLOTS, spread: int = SPREAD, first: int = 1, page_bits: int = WIDE
    ) -> None:
        self._shift, self._least, self._spread = U(shift), slots, spread
        self._slots = new_slots(capacity_for(0, spread, slots + first), 0)
        self._keys = new_keys(np.uint32, page_bits)
        self._count = np.zeros(DISTANCES, np.int64)
        self._state = np.zeros(9, np.uint64)
        self._state[SLOT] = first

    @property
    def cold(self) -> int:
        """First touches, which is how many different keys there are."""
        return int(self._state[LIVE])

    @property
    def histogram(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Distances that occurred, ascending, and how often each did."""
        distance = np.flatnonzero(self._count)
        return distance, self._count[distance]

    def add(self, address: Addresses) -> None:
        """Count the next accesses."""
        self._run(address, _NOWHERE)

    def measure(self, address: Addresses) -> NDArray[np.int64]:
        """Stack distances of the next n accesses, int64 (n,), COLD for first touches; they are counted as well."""
        distances = np.empty(len(address), np.int64)
        self._run(address, distances)
        return distances

    def _run(self, address: Addresses, distances: NDArray[np.int64]) -> None:
        # Numba would compile again for arrays with gaps, and for those that are read-only.
        address = np.require(address, np.uint64, ["C", "W"])
        self._state[NEXT] = 0
        with np.errstate(over="ignore"):  # without Numba, Python would warn of hashes that wrap around
            while why := count(address, self._shift, self._state, self._slots, self._keys, self._count, distances):
                if why == NO_SLOTS:
                    self._renumber()
                elif why == NO_PAGES:
                    self._add_pages()
                else:
                    # In place; nothing else looks into this array. What is new is zero.
                    self._count.resize(len(self._count) + len(self._count) // 4, refcheck=False)

    def _renumber(self) -> None:
        live, pages = self.cold, int(self._state[USED])
        capacity = capacity_for(live, self._spread, self._least)
        words = self._slots.words
        renumber(self._keys.entry[: pages << int(self._keys.page_bits)], words, np.empty(len(words), np.uint32))
        self._slots = new_slots(capacity, live)
        self._state[SLOT], self._state[CLOSED] = live + 1, live_in_closed(live)

    def _add_pages(self) -> None:
        self._keys, pages = grown(self._keys, int(self._state[USED]), self.cold)
        self._state[USED] = pages
        for key, at in ((KEY, AT), (OLDER, OLDER_AT)):
            self._state[at] = locate(self._keys, self._state[key])


@compiled_without_arrays
def locate(keys: Keys, key: np.uint64) -> np.uint64:
    """Where the entry of a key stands that has one, and 0 for others."""
    stretch = keys.table[place_of(keys.table, key >> keys.page_bits, keys.table_bits) + ONE]
    within = key & ((ONE << keys.page_bits) - ONE)
    return ((stretch - ONE) << keys.page_bits) + within if stretch != ZERO else ZERO


@inlined
def _taken(slots: Slots, state: Words, last: np.uint64, slot: np.uint64, live: np.uint64) -> np.uint64:
    """Free the slot of the last use, before the next ``slot`` is used; the number of live ones between them."""
    if last >> BLOCK == slot >> BLOCK:
        return take_near(slots, last, slot)
    if last >> SUPER != slot >> SUPER:
        state[CLOSED] -= ONE
    return take_far(slots, last, slot, live)


@compiled_without_arrays
def count(
    address: Addresses,
    shift: np.uint64,
    state: Words,
    slots: Slots,
    keys: Keys,
    counted: NDArray[np.int64],
    distances: NDArray[np.int64],
) -> int:
    """Processes accesses until they are DONE or an array is full; returns which. ``distances`` may be empty."""
    slot, live, key, older = state[SLOT], state[LIVE], state[KEY], state[OLDER]
    at, older_at, n = state[AT], state[OLDER_AT], state[NEXT]
    end, recorded = np.uint64(len(address)), len(distances) > 0
    entry, page_bits = keys.entry, keys.page_bits
    capacity = np.uint64(len(slots.words)) << WORD
    stop = min(capacity, (slot + SUPER_SLOTS - ONE) & ~(SUPER_SLOTS - ONE))
    within, why = (ONE << page_bits) - ONE, DONE
    if live == ZERO and n < end:
        key = older = (address[n] >> shift) ^ ONE  # not the first one
    page, stretch = key >> page_bits, at - (key & within)
    if live == ZERO:
        page = ~page
    while n < end:
        now = address[n] >> shift
        distance = ZERO
        if now == key:
            counted[ZERO] += 1
        elif now == older:
            distance = ONE
            counted[ONE] += 1
            entry[at], entry[older_at] = entry[older_at], entry[at]
            key, older, at, older_at = older, key, older_at, at
        else:
            if now >> page_bits != page:
                stretch = stretch_of(keys, now >> page_bits, state, USED)
                if stretch == NO_ROOM:
                    why = NO_PAGES
                    break
                page = now >> page_bits
            if slot == stop:
                if slot == capacity:
                    why = NO_SLOTS
                    break
                raise_count(slots, (slot >> SUPER) - ONE, live - state[CLOSED])
                state[CLOSED] = live
                stop = min(capacity, stop + SUPER_SLOTS)
            here = stretch + (now & within)
            last = np.uint64(entry[here])
            if last == ZERO:
                if live == np.uint64(len(counted)):
                    why = NO_DISTANCES
                    break
                live += ONE
                slots.far[ABOVE] += ONE
                distance = ~ZERO
                if live == ONE:
                    key = now
            else:
                distance = _taken(slots, state, last, slot, live)
                counted[distance] += 1
            use(slots, slot)
            entry[here] = slot
            slot += ONE
            key, older, at, older_at = now, key, here, at
        if recorded:
            distances[n] = np.int64(distance)
        n += ONE
    state[SLOT], state[LIVE], state[KEY], state[OLDER] = slot, live, key, older
    state[AT], state[OLDER_AT], state[NEXT] = at, older_at, n
    return why
