"""Address streams that no loop nest gives: random access, a pointer chase, and the bit reversal of an FFT.

Random values come from NumPy's generator with the given seed, in pieces of fixed size, so that the stream does
not depend on the chunks in which it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from simcodesign.locality.streams.loop_nest import FIRST_GROUP, LONGEST
from simcodesign.locality.traces.trace import LOAD, MODIFY, STORE, Accesses, Addresses


@dataclass(frozen=True)
class RandomUpdates:
    """``count`` elements, each drawn uniformly from ``elements``, read and written back: one modify each."""

    base: int
    elements: int
    element_bytes: int
    count: int
    seed: int

    def blocks(self, most: int) -> Iterator[Accesses]:
        """All accesses in order."""
        generator = np.random.default_rng(self.seed)
        for start in range(0, self.count, LONGEST):
            address = generator.integers(0, self.elements, min(LONGEST, self.count - start), np.uint64)
            address *= np.uint64(self.element_bytes)
            address += np.uint64(self.base)
            yield from _of_one_kind(address, MODIFY).split(most)


@dataclass(frozen=True)
class Chase:
    """``count`` loads along a cycle through all of ``elements`` nodes, one of all such cycles with equal chances.

    The cycle is held in memory: 8 bytes a node.
    """

    base: int
    elements: int
    element_bytes: int
    count: int
    seed: int

    def blocks(self, most: int) -> Iterator[Accesses]:
        """All accesses in order."""
        # The nodes in a random order, and back to the first, are a random cycle.
        cycle = np.random.default_rng(self.seed).permutation(self.elements).astype(np.uint64)
        cycle *= np.uint64(self.element_bytes)
        cycle += np.uint64(self.base)
        rounds = np.tile(cycle, -(-LONGEST // self.elements))  # several of a short one at a time
        for start in range(0, self.count, len(rounds)):
            for first in range(start, min(start + len(rounds), self.count), LONGEST):
                piece = rounds[first - start : min(first + LONGEST, self.count) - start]
                yield from _of_one_kind(piece, LOAD).split(most)


@dataclass(frozen=True)
class BitReversal:
    """Elements i and j swapped wherever j is i with its ``bits`` bits in reverse order, and i < j.

    Load i, load j, store i, store j.
    """

    base: int
    bits: int
    element_bytes: int

    @property
    def count(self) -> int:
        """Accesses: four for each pair; 2^ceil(bits/2) elements are their own reverse."""
        return 2 * ((1 << self.bits) - (1 << (self.bits + 1) // 2))

    def blocks(self, most: int) -> Iterator[Accesses]:
        """All accesses in order."""
        for start in range(0, 2**self.bits, LONGEST):
            one = np.arange(start, min(start + LONGEST, 2**self.bits), dtype=np.uint64)
            other = reversed_bits(one, self.bits)
            swapped = one < other
            pairs = np.stack([one[swapped], other[swapped]], axis=1)
            address = np.concatenate([pairs, pairs], axis=1).ravel()
            address *= np.uint64(self.element_bytes)
            address += np.uint64(self.base)
            kind = np.tile(np.array([LOAD, LOAD, STORE, STORE], np.uint8), len(pairs))
            yield from Accesses(address, kind, np.full(len(address), FIRST_GROUP, np.uint64)).split(most)


def reversed_bits(numbers: Addresses, bits: int) -> Addresses:
    """Numbers below 2^bits with their bits in reverse order."""
    result = np.zeros_like(numbers)
    for bit in range(bits):
        result |= ((numbers >> np.uint64(bit)) & np.uint64(1)) << np.uint64(bits - 1 - bit)
    return result


def _of_one_kind(address: Addresses, kind: int) -> Accesses:
    return Accesses(address, np.full(len(address), kind, np.uint8), np.full(len(address), FIRST_GROUP, np.uint64))
