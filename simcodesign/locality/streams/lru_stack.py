"""An LRU stack from which the key at any depth is taken, and the order of such depths; compiled with Numba.

The stack is a row of slots by the time of the last access: a key moves from its slot to the next free one. A bitmap
says which slots are taken, and a tree of partial sums (P. Fenwick, "A new data structure for cumulative frequency
tables", Software: Practice and Experience 24, 1994) over its words finds the k-th of them, in time that grows with the
logarithm of the number of keys. When the slots are used up the keys are moved together, at most once in as many
accesses as there are keys.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import called, compiled, inlined

Whole = NDArray[np.int64]
#: Slots in a word of the bitmap; half of what would fit, so that no word is negative.
BITS = 32
#: Places of the numbers in ``counts``.
KEYS, NEXT = range(2)


class Stack(NamedTuple):
    """An LRU stack. Words of the bitmap are numbered from 0, places of the tree from 1."""

    key: Whole  # (slots,)
    taken: Whole  # (words,) BITS slots in each
    below: Whole  # (words + 1,) taken slots in the words that a place of the tree stands for
    counts: Whole  # (2,) KEYS in the stack, NEXT free slot


def stack_for(keys: int) -> Stack:
    """An empty stack with a capacity of so many keys."""
    words = 2 * keys // BITS + 2
    return Stack(
        np.zeros(words * BITS, np.int64),
        np.zeros(words, np.int64),
        np.zeros(words + 1, np.int64),
        np.zeros(2, np.int64),
    )


@compiled
def shuffle(draws: Whole, chances: NDArray[np.float64], depth: int) -> int:
    """Put ascending distances (-1: cold) into a random order in which each is below the depth that the stack then has.

    Each is drawn, with equal chances, from those that are left and not too deep; ``depth``: keys at the start. The
    number of those that could be put in order: all, or those before the first that no stack is deep enough for.
    """
    allowed = 0
    for place in range(len(draws)):
        while allowed < len(draws) and draws[allowed] < depth:
            allowed += 1
        if allowed == place:
            return place
        chosen = place + int(chances[place] * (allowed - place))
        distance = draws[chosen]
        draws[chosen], draws[place] = draws[place], distance
        if distance < 0:
            depth += 1
    return len(draws)


@compiled
def touch(stack: Stack, distances: Whole, keys: Whole) -> None:
    """Access the key at every distance in turn, a new one for -1; keys are numbered as they come."""
    for place in range(len(distances)):
        keys[place] = _touched(stack, distances[place])


@inlined
def _touched(stack: Stack, distance: int) -> int:
    counts = stack.counts
    if distance == 0:
        return int(stack.key[counts[NEXT] - 1])
    if counts[NEXT] == len(stack.key):
        _move_together(stack)
    if distance < 0:
        key = counts[KEYS]
        counts[KEYS] += 1
    else:
        slot = _slot_of(stack, counts[KEYS] - distance)
        key = stack.key[slot]
        _change(stack, slot, -1)
    slot = counts[NEXT]
    counts[NEXT] += 1
    stack.key[slot] = key
    _change(stack, slot, 1)
    return int(key)


@inlined
def _change(stack: Stack, slot: int, by: int) -> None:
    """Take a slot (1) or leave it (-1)."""
    place = slot // BITS
    stack.taken[place] += by << slot % BITS
    place += 1
    while place < len(stack.below):
        stack.below[place] += by
        place += place & -place


@inlined
def _slot_of(stack: Stack, rank: int) -> int:
    """The slot taken before all but ``rank`` - 1 others."""
    place, step = 0, 1
    while 2 * step < len(stack.below):
        step *= 2
    while step:
        if place + step < len(stack.below) and stack.below[place + step] < rank:
            place += step
            rank -= stack.below[place]
        step //= 2
    word = stack.taken[place]
    for _ in range(rank - 1):
        word &= word - 1
    return place * BITS + _ones((word & -word) - 1)


@inlined
def _ones(word: int) -> int:
    """Bits that are set, of BITS: summed in pairs, in fours, and then in bytes."""
    word -= word >> 1 & 0x55555555
    word = (word & 0x33333333) + (word >> 2 & 0x33333333)
    word = word + (word >> 4) & 0x0F0F0F0F
    return (word * 0x01010101 >> 24) & 0xFF


@called
def _move_together(stack: Stack) -> None:
    """Let the keys have the first slots, in the same order."""
    free = 0
    for slot in range(len(stack.key)):
        if stack.taken[slot // BITS] >> slot % BITS & 1:
            stack.key[free] = stack.key[slot]
            free += 1
    stack.counts[NEXT] = free
    for place in range(len(stack.below)):
        stack.below[place] = 0
    for word in range(len(stack.taken)):
        here = min(max(free - word * BITS, 0), BITS)
        stack.taken[word] = (1 << here) - 1
        place = word + 1
        stack.below[place] += here
        parent = place + (place & -place)
        if parent < len(stack.below):
            stack.below[parent] += stack.below[place]
