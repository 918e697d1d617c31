"""Traffic patterns that several algorithms share (tree, ring ...), as rows of sources, targets and bytes."""

from __future__ import annotations

import numpy as np

from simcodesign.analytic.collectives.algorithm_form import Ints, Rows


def binomial_tree(rank: Ints, size: float) -> Rows:
    """Every rank but 0 receives from the rank without its lowest bit."""
    yield rank[1:] & (rank[1:] - 1), rank[1:], size


def doubling_tree(rank: Ints, size: float) -> Rows:
    """Every rank but 0 receives from the rank without its highest bit."""
    for bit in powers_of_two(rank):
        child = rank[bit : 2 * bit]
        yield child - bit, child, size


def all_pairs(rank: Ints, size: float) -> Rows:
    """Every ordered pair of ranks."""
    source, target = (side.ravel() for side in np.meshgrid(rank, rank, indexing="ij"))
    apart = source != target
    yield source[apart], target[apart], size


def ring(rank: Ints, size: float) -> Rows:
    """P - 1 times: every rank sends to the next."""
    for _ in range(len(rank) - 1):
        yield rank, (rank + 1) % len(rank), size


def powers_of_two(rank: Ints) -> list[int]:
    """1, 2, 4, ... below P."""
    return [2**k for k in range(32) if 2**k < len(rank)]
