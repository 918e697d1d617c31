"""Messages of scatter: rank 0 has bytes for every other rank."""

from __future__ import annotations

from simcodesign.generate.columns import Ranks
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages
from simcodesign.generate.messages.collectives.patterns import (
    doubling_edges,
    doubling_subtree,
    halving_edges,
    halving_subtree,
    powers_of_two,
)


@register_messages("scatter", "binomial", lambda p: p - 1)
def scatter_binomial(ranks: Ranks, size_bytes: float) -> None:
    """Down a binomial tree, the farthest child first: a child gets the blocks of all ranks of its subtree."""
    for bit in reversed(powers_of_two(ranks.count)):
        upper, lower = halving_edges(ranks, bit)
        blocks = halving_subtree(ranks, bit, lower) * size_bytes
        ranks.send(lower, blocks, upper)
        ranks.receive(upper, blocks, who=lower)


@register_messages("scatter", "binomial_near", lambda p: p - 1)
def scatter_binomial_near(ranks: Ranks, size_bytes: float) -> None:
    """Scatter at distance 1, 2, 4, ...: all that have blocks of others pass half of them on."""
    for bit in powers_of_two(ranks.count):
        upper, lower = doubling_edges(ranks, bit)
        blocks = doubling_subtree(ranks, bit, lower) * size_bytes
        ranks.send(lower, blocks, upper)
        ranks.receive(upper, blocks, who=lower)
