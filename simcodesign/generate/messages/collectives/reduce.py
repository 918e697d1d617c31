"""Messages of reduce: rank 0 gets the reduction of the bytes of all."""

from __future__ import annotations

from simcodesign.generate.columns import Ranks
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages
from simcodesign.generate.messages.collectives.patterns import (
    binary_edges,
    chain_edges,
    doubling_edges,
    halving_edges,
    powers_of_two,
)


@register_messages("reduce", "binomial", lambda p: p - 1)
def reduce_binomial(ranks: Ranks, size_bytes: float, segments: int = 1) -> None:
    """Up a binomial tree to rank 0, segment by segment; the nearest child is first, which has the smallest subtree."""
    each_bytes = size_bytes / segments
    for bit in powers_of_two(ranks.count) * segments:
        upper, lower = halving_edges(ranks, bit)
        ranks.send(upper, each_bytes, lower)
        ranks.receive(lower, each_bytes, who=upper)
        ranks.reduce(each_bytes, upper)


@register_messages("reduce", "binomial_far", lambda p: p - 1)
def reduce_binomial_far(ranks: Ranks, size_bytes: float) -> None:
    """At distance ..., 4, 2, 1: the upper half of all that have something left sends it to the lower half."""
    for bit in reversed(powers_of_two(ranks.count)):
        upper, lower = doubling_edges(ranks, bit)
        ranks.send(upper, size_bytes, lower)
        ranks.receive(lower, size_bytes, who=upper)
        ranks.reduce(size_bytes, upper)


@register_messages("reduce", "binary_tree", lambda p: p - 1)
def reduce_binary_tree(ranks: Ranks, size_bytes: float) -> None:
    """Every rank receives from its right child, whose subtree is no larger, then from its left one, and sends on."""
    for upper, lower in reversed(binary_edges(ranks)):
        ranks.send(upper, size_bytes, lower)
        ranks.receive(lower, size_bytes, who=upper)
        ranks.reduce(size_bytes, upper)


@register_messages("reduce", "chain", lambda p: p - 1)
def reduce_chain(ranks: Ranks, size_bytes: float, segments: int = 1) -> None:
    """From the last rank on, each sends to the previous rank what has been reduced so far, segment by segment."""
    for place, next_place in chain_edges(ranks, segments):
        sender, receiver = (ranks.count - 1 - each[::-1] for each in (place, next_place))
        ranks.send(receiver, size_bytes / segments, sender)
        ranks.receive(sender, size_bytes / segments, who=receiver)
        ranks.reduce(size_bytes / segments, receiver)


@register_messages("reduce", "linear", lambda p: p - 1)
def reduce_linear(ranks: Ranks, size_bytes: float) -> None:
    """Every other rank sends to rank 0, which receives from ranks 1, 2, 3, ..."""
    root = ranks.rank[:1]
    for source in range(1, ranks.count):
        sender = ranks.rank[source : source + 1]
        ranks.send(root, size_bytes, sender)
        ranks.receive(sender, size_bytes, who=root)
        ranks.reduce(size_bytes, root)
