"""The order of last uses as bits: every key is one live slot, later slots are later uses, and a stack distance is the
number of live slots above one.

Live slots are bits of words; above them stand counts of blocks of 8 words (four counts in a word, so that few additions
add many), and of supers of 64 blocks in a Fenwick tree, so that even the longest distance takes tens of steps. Slots
are given out upwards; when all are spent, the live ones are numbered anew, which a multiple of as many accesses pays.

Everything is uint64: Numba adds code for negative indices to every access by a signed number, and makes floating-point
numbers of signed and unsigned ones together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import CapacityError
from simcodesign.core.jit import compiled_without_arrays, inlined

U = np.uint64
Words = NDArray[np.uint64]
ZERO, ONE, TWO, THREE, FOUR = U(0), U(1), U(2), U(3), U(4)
ALL = U(2**64 - 1)
#: log2 of slots in a word, a block, a word of counts, a super; and what is left of a slot within a word.
WORD, BLOCK, COUNTS, SUPER, IN_WORD = U(6), U(9), U(11), U(15), U(63)
#: Last word of a block, and last word of counts of a super, by OR.
LAST_OF_BLOCK, LAST_OF_SUPER = U(7), U(15)
SUPER_SLOTS = U(1 << 15)
#: The last slot is below this, for slots are kept as uint32.
MOST_SLOTS = 2**32 - 2**15
#: Places in ``far``: a slot that was live, the live ones above it, a super, and what its count has to be lowered by.
MARK, ABOVE, LATE_SUPER, LATE = 0, 1, 2, 3
_PAIRS, _FOURS, _BYTES, _SUM = (U(0x0101010101010101 * byte) for byte in (0x55, 0x33, 0x0F, 1))
_LANES, _LANE, _TOP_LANE, _TOP_BYTE = U(0x0001000100010001), U(16), U(48), U(56)


class Slots(NamedTuple):
    """Live slots, and their numbers."""

    words: Words  # (capacity / 64,) a bit for each slot
    counts: Words  # (supers * 16,) 16 bits for each block
    supers: Words  # (supers + 1,) Fenwick tree of the supers before the current one
    far: Words  # (4,) what is remembered of the last access to another block


def new_slots(capacity: int, live: int) -> Slots:
    """Slots of which 1 to ``live`` are live; slot 0 is never used, for it stands for no use at all."""
    supers = -(-capacity // int(SUPER_SLOTS))
    words = np.zeros(-(-capacity // 64), np.uint64)
    words[: (live + 1) >> 6] = ALL
    if (live + 1) & 63:
        words[(live + 1) >> 6] = U((1 << ((live + 1) & 63)) - 1)
    words[0] &= ~ONE
    blocks = np.clip(live + 1 - 512 * np.arange(supers * 64), 0, 512).astype(np.uint16)
    blocks[0] -= 1
    full = closed_supers(live)
    below = np.minimum(np.arange(supers + 1, dtype=np.uint64), U(full)) * SUPER_SLOTS
    below[1:] -= U(full > 0)
    place = np.arange(supers + 1)
    tree = below - below[place & (place - 1)]
    lanes = blocks.astype(np.uint64).reshape(-1, 4)
    counts = lanes[:, 0] | lanes[:, 1] << U(16) | lanes[:, 2] << U(32) | lanes[:, 3] << U(48)
    # No slot lies above this mark.
    return Slots(words, counts, tree, np.array([ALL, ZERO, ZERO, ZERO], np.uint64))


def closed_supers(live: int) -> int:
    """Supers that slots 1 to ``live`` fill, but for the one that the last of them is in."""
    return live >> int(SUPER)


def live_in_closed(live: int) -> int:
    """Live slots of these supers."""
    return max(0, closed_supers(live) * int(SUPER_SLOTS) - 1)


def capacity_for(live: int, spread: int, least: int) -> int:
    """How many slots to have for so many live ones; CapacityError when slots have no number any more."""
    capacity = min(max(least, spread * live + 64), MOST_SLOTS)
    if capacity < live + live // 8:
        raise CapacityError("a trace touches too many different lines", value=live, allowed="up to 3.8e9; larger lines")
    return -(-capacity // 64) * 64


@inlined
def ones(word: np.uint64) -> np.uint64:
    """Bits that are set. LLVM knows this way to count them, and makes a single instruction of it."""
    word = word - ((word >> ONE) & _PAIRS)
    word = (word & _FOURS) + ((word >> TWO) & _FOURS)
    word = (word + (word >> FOUR)) & _BYTES
    return (word * _SUM) >> _TOP_BYTE


@inlined
def use(slots: Slots, slot: np.uint64) -> None:
    """Make a slot live."""
    slots.words[slot >> WORD] |= ONE << (slot & IN_WORD)
    slots.counts[slot >> COUNTS] += ONE << (((slot >> BLOCK) & THREE) << FOUR)


@inlined
def take_near(slots: Slots, slot: np.uint64, top: np.uint64) -> np.uint64:
    """Free a live slot of the block in which ``top``, the next one to use, is; the number of live ones above it."""
    words, place = slots.words, slot >> WORD
    word = words[place]
    bit = slot & IN_WORD
    words[place] = word & ~(ONE << bit)
    slots.counts[slot >> COUNTS] -= ONE << (((slot >> BLOCK) & THREE) << FOUR)
    above: np.uint64 = ones(word >> bit) - ONE
    place += ONE
    while place <= top >> WORD:
        above += ones(words[place])
        place += ONE
    return above


@inlined
def take_far(slots: Slots, slot: np.uint64, top: np.uint64, live: np.uint64) -> np.uint64:
    """Free a live slot of an earlier block; the number of live ones above it.

    Where no live slot lies between it and the slot last taken here, the number is known: loops over arrays come
    back to their elements in the order in which they touched them before.
    """
    far, place, bit = slots.far, slot >> WORD, slot & IN_WORD
    word = slots.words[place]
    mark = far[MARK]
    above: np.uint64
    below = word & ((ONE << bit) - ONE)
    if slot > mark and place == mark >> WORD and below >> (mark & IN_WORD) == ZERO:
        above = far[ABOVE] - ONE
    else:
        above = _above(slots, slot, top, live)
        far[ABOVE] = above + ONE
    far[MARK] = slot
    slots.words[place] = word & ~(ONE << bit)
    slots.counts[slot >> COUNTS] -= ONE << (((slot >> BLOCK) & THREE) << FOUR)
    if slot >> SUPER != top >> SUPER:
        _lower(slots, slot >> SUPER)
    return above


@inlined
def _above(slots: Slots, slot: np.uint64, top: np.uint64, live: np.uint64) -> np.uint64:
    """Live slots above a live one of an earlier block: of its word, its block, its super, and of later supers."""
    place = slot >> WORD
    above: np.uint64 = ones(slots.words[place] >> (slot & IN_WORD)) - ONE
    last = place | LAST_OF_BLOCK
    place += ONE
    while place <= last:
        above += ones(slots.words[place])
        place += ONE
    place = slot >> COUNTS
    lanes = slots.counts[place] >> (((slot >> BLOCK) & THREE) << FOUR) >> _LANE
    last = min(top >> COUNTS, place | LAST_OF_SUPER)
    place += ONE
    while place <= last:
        lanes += slots.counts[place]
        place += ONE
    above += (lanes * _LANES) >> _TOP_LANE
    if slot >> SUPER != top >> SUPER:
        above += live - _up_to(slots, slot >> SUPER)
    return above


@inlined
def _up_to(slots: Slots, number: np.uint64) -> np.uint64:
    """Live slots of supers 0 to ``number``, which is before the current one."""
    live = ZERO
    place = number + ONE
    while place > ZERO:
        live += slots.supers[place]
        place &= place - ONE
    return live - slots.far[LATE] if number >= slots.far[LATE_SUPER] else live


@inlined
def _lower(slots: Slots, number: np.uint64) -> None:
    """Count one live slot less in a super. The tree learns of it when another super is next."""
    far = slots.far
    if number != far[LATE_SUPER]:
        raise_count(slots, far[LATE_SUPER], ~far[LATE] + ONE)
        far[LATE_SUPER], far[LATE] = number, ZERO
    far[LATE] += ONE


@inlined
def raise_count(slots: Slots, number: np.uint64, change: np.uint64) -> None:
    """Count more live slots in a super; negative numbers are those below 2^64."""
    place = number + ONE
    while place < np.uint64(len(slots.supers)):
        slots.supers[place] += change
        place += place & (~place + ONE)


@compiled_without_arrays
def renumber(last: NDArray[np.uint32], words: Words, below: NDArray[np.uint32]) -> None:
    """Number the live slots from 1 in ``last``, the slot of each key; ``below`` is work space, a number per word."""
    live = ZERO
    for number in range(len(words)):
        below[number] = live
        live += ones(words[number])
    for key in range(len(last)):
        slot = np.uint64(last[key])
        if slot:
            place = slot >> WORD
            earlier = words[place] & ((ONE << (slot & IN_WORD)) - ONE)
            last[key] = np.uint64(below[place]) + ones(earlier) + ONE
