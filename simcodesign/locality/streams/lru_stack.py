"""An LRU stack from which the key at any depth is taken, and the order of such depths; the loops are in C.

The stack is a row of slots by the time of the last access: a key moves from its slot to the next free one. A bitmap
marks the occupied slots, and a tree of partial sums (P. Fenwick, "A new data structure for cumulative frequency
tables", Software: Practice and Experience 24, 1994) over its words finds the k-th of them, in time that grows with the
logarithm of the number of keys. When the slots are used up the keys are moved together, at most once in as many
accesses as there are keys.
"""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.native.records import Record
from simcodesign.core.native.shared_library import required_library

Whole = NDArray[np.int64]
#: Slots in a word of the bitmap; half of what would fit, so that no word is negative.
BITS = 32


class Stack(Record):
    """An LRU stack. Words of the bitmap are numbered from 0, places of the tree from 1."""

    struct = "lru_stack"
    use = "a stream with a given profile"


def stack_for(keys: int) -> Stack:
    """Return an empty stack with a capacity of ``keys`` keys."""
    words = 2 * keys // BITS + 2
    key, taken, below = (np.zeros(n, np.int64) for n in (words * BITS, words, words + 1))
    return Stack(key=key, taken=taken, below=below, slots=len(key), words=words)


def shuffle(draws: Whole, chances: NDArray[np.float64], depth: int) -> int:
    """Put ascending distances (-1: cold) into a random order in which each is below the depth that the stack then has.

    Each is drawn, with equal chances, from those that are left and not too deep; ``depth``: keys at the start. The
    number of those that could be put in order: all, or those before the first that no stack is deep enough for.
    """
    return int(_functions().lru_shuffle(draws, chances, len(draws), depth))


def touch(stack: Stack, distances: Whole, keys: Whole) -> None:
    """Access the keys at these distances one after another, a new key for -1; keys are numbered as they come."""
    _functions().lru_touch(ctypes.byref(stack), distances, keys, len(distances))


@cache
def _functions() -> ctypes.CDLL:
    library = required_library("a stream with a given profile")
    whole = np.ctypeslib.ndpointer(np.int64, flags="C")
    library.lru_touch.argtypes = [ctypes.POINTER(Stack), whole, whole, ctypes.c_int64]
    library.lru_touch.restype = None
    library.lru_shuffle.argtypes = [whole, np.ctypeslib.ndpointer(np.float64, flags="C"), *[ctypes.c_int64] * 2]
    library.lru_shuffle.restype = ctypes.c_int64
    return library
