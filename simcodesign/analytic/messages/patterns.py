"""Traffic patterns that several algorithms share (tree, ring ...), as rows of sources, targets and bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simcodesign.analytic.collectives.algorithm_form import Ints, Rows
from simcodesign.analytic.messages.ordered_steps import bits
from simcodesign.core.units import FloatOrArray


def binomial_tree(rank: Ints, size: float) -> Rows:
    """Every rank but 0 receives from the rank without its lowest bit."""
    yield rank[1:] & (rank[1:] - 1), rank[1:], size


def doubling_tree(rank: Ints, size: float) -> Rows:
    """Every rank but 0 receives from the rank without its highest bit."""
    for bit in powers_of_two(rank):
        child = rank[bit : 2 * bit]
        yield child - bit, child, size


def halving_blocks(rank: Ints, size: float) -> Rows:
    """The tree of ``binomial_tree``; to every rank goes what all ranks of its subtree get."""
    for bit in powers_of_two(rank):
        child = rank[bit :: 2 * bit]
        yield from _by_blocks(bit, child, np.minimum(bit, len(rank) - child), size)


def doubling_blocks(rank: Ints, size: float) -> Rows:
    """The same of ``doubling_tree``, whose subtrees are every 2, 4, 8, ... th rank."""
    for bit in powers_of_two(rank):
        child = rank[bit : 2 * bit]
        yield from _by_blocks(bit, child, (len(rank) - 1 - child) // (2 * bit) + 1, size)


def _by_blocks(bit: int, child: Ints, blocks: Ints, size: float) -> Rows:
    for count in np.unique(blocks):
        some = child[blocks == count]
        yield some - bit, some, float(count * size)


def binary_tree(rank: Ints, size: float) -> Rows:
    """Rank r sends to ranks 2 r + 1 and 2 r + 2."""
    yield (rank[1:] - 1) // 2, rank[1:], size


def interleaved_binary_tree(rank: Ints, size: float) -> Rows:
    """Rank r, one of the 2^l ranks from 2^l - 1 on, sends to ranks r + 2^l and r + 2^(l+1)."""
    for bit in powers_of_two(rank):
        child = rank[2 * bit - 1 : 4 * bit - 1]
        yield np.where(child < 3 * bit - 1, child - bit, child - 2 * bit), child, size


def chains_from_the_root(rank: Ints, size: float, chains: int) -> Rows:
    """Rank 0 sends to the heads of rows of ranks, as even as can be, every other rank to the next of its row."""
    others = len(rank) - 1
    lengths = (others + np.arange(chains - 1, -1, -1)) // chains
    is_head = np.isin(rank[1:], 1 + np.cumsum(lengths) - lengths)
    yield np.where(is_head, 0, rank[1:] - 1), rank[1:], size


def chain(rank: Ints, size: float) -> Rows:
    """Every rank but the last one sends to the next."""
    yield rank[:-1], rank[1:], size


def star(rank: Ints, size: FloatOrArray) -> Rows:
    """Rank 0 sends to every other, of (P,) bytes those of the receiver."""
    yield np.zeros_like(rank[1:]), rank[1:], size if np.ndim(size) == 0 else np.asarray(size)[1:]


def upwards(pattern: Callable[[Ints, float], Rows]) -> Callable[[Ints, float], Rows]:
    """A pattern with all its messages the other way round."""

    def turned(rank: Ints, size: float) -> Rows:
        for source, target, each in pattern(rank, size):
            yield target, source, each

    return turned


def all_pairs(rank: Ints, size: FloatOrArray) -> Rows:
    """Every ordered pair of ranks."""
    source, target = (side.ravel() for side in np.meshgrid(rank, rank, indexing="ij"))
    apart = source != target
    yield source[apart], target[apart], size if np.ndim(size) == 0 else np.asarray(size)[source[apart]]


def ring(rank: Ints, size: FloatOrArray) -> Rows:
    """P - 1 times: every rank sends to the next."""
    for step in range(len(rank) - 1):
        yield rank, (rank + 1) % len(rank), size if np.ndim(size) == 0 else np.roll(size, step)


def powers_of_two(rank: Ints) -> list[int]:
    """1, 2, 4, ... below P."""
    return bits(len(rank))
