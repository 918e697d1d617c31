"""The order of last uses as bits.

Every key is one live slot, later slots are later uses, and a stack distance is the number of live slots above one.

Live slots are bits of words; above them are counts of blocks of 8 words (four counts in a word, so that few additions
add many), and of supers of 64 blocks in a Fenwick tree, so that even the longest distance takes tens of steps. Slots
are given out upwards; when all are spent, the live ones are numbered again, which a multiple of as many accesses pays.
The loops over them are in C.
"""

from __future__ import annotations

import numpy as np

from simcodesign.core.errors import CapacityError
from simcodesign.core.native.records import Record

U = np.uint64
ALL = U(2**64 - 1)
#: log2 of slots in a super.
SUPER = 15
SUPER_SLOTS = 1 << SUPER
#: The last slot is below this, for slots are kept as uint32.
MOST_SLOTS = 2**32 - 2**15


class Slots(Record):
    """Live slots, and their numbers."""

    struct = "stack_slots"
    use = "a stack distance"


def new_slots(capacity: int, live: int) -> Slots:
    """Slots of which 1 to ``live`` are live; slot 0 is never used, because it means no use at all."""
    supers = -(-capacity // SUPER_SLOTS)
    words = np.zeros(-(-capacity // 64), np.uint64)
    words[: (live + 1) >> 6] = ALL
    if (live + 1) & 63:
        words[(live + 1) >> 6] = U((1 << ((live + 1) & 63)) - 1)
    words[0] &= ~U(1)
    blocks = np.clip(live + 1 - 512 * np.arange(supers * 64), 0, 512).astype(np.uint16)
    blocks[0] -= 1
    full = closed_supers(live)
    below = np.minimum(np.arange(supers + 1, dtype=np.uint64), U(full)) * U(SUPER_SLOTS)
    below[1:] -= U(full > 0)
    place = np.arange(supers + 1)
    tree = below - below[place & (place - 1)]
    lanes = blocks.astype(np.uint64).reshape(-1, 4)
    counts = lanes[:, 0] | lanes[:, 1] << U(16) | lanes[:, 2] << U(32) | lanes[:, 3] << U(48)
    # No slot lies above this mark.
    return Slots(words=words, counts=counts, supers=tree, n_words=len(words), n_supers=len(tree), mark=2**64 - 1)


def closed_supers(live: int) -> int:
    """Supers that slots 1 to ``live`` fill, except for the super of the last slot."""
    return live >> SUPER


def live_in_closed(live: int) -> int:
    """Live slots of these supers."""
    return max(0, closed_supers(live) * SUPER_SLOTS - 1)


def capacity_for(live: int, spread: int, least: int) -> int:
    """Return the number of slots to allocate for ``live`` ones; CapacityError when slot numbers are exhausted."""
    capacity = min(max(least, spread * live + 64), MOST_SLOTS)
    if capacity < live + live // 8:
        raise CapacityError("a trace touches too many different lines", value=live, allowed="up to 3.8e9; larger lines")
    return -(-capacity // 64) * 64
