"""Patterns that several algorithms share: powers of two, the edges of a binomial tree."""

from __future__ import annotations

import numpy as np

from simcodesign.generate.columns import Int32s, Ranks


def tree_edges(ranks: Ranks, bit: int) -> tuple[Int32s, Int32s]:
    """Parents and children of the binomial tree whose numbers differ by ``bit``."""
    upper = ranks.rank[: ranks.count - bit : 2 * bit]
    return upper, upper + np.int32(bit)


def powers_of_two(count: int) -> list[int]:
    """1, 2, 4, ... below ``count``."""
    return [1 << place for place in range((count - 1).bit_length())]
