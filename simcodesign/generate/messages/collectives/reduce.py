"""Messages of reduce: rank 0 gets the reduction of the bytes of all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simcodesign.generate.columns import Int32s, Ranks
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages
from simcodesign.generate.messages.collectives.patterns import (
    binary_edges,
    bine_edges,
    chain_edges,
    doubling_edges,
    halving_edges,
    interleaved_binary_edges,
    powers_of_two,
)


def up_the_tree(ranks: Ranks, edges: Sequence[tuple[Int32s, Int32s]], size_bytes: float, segments: int) -> None:
    """Every rank sends to its parent what it has reduced of its own and its children's bytes, segment by segment."""
    each_bytes = size_bytes / segments
    for upper, lower in [*edges] * segments:
        ranks.send(upper, each_bytes, lower)
        ranks.receive(lower, each_bytes, who=upper)
        ranks.reduce(each_bytes, upper)


@register_messages("reduce", "binomial", lambda p: p - 1)
def reduce_binomial(ranks: Ranks, size_bytes: float, segments: int = 1) -> None:
    """Up a binomial tree to rank 0, segment by segment; the nearest child is first, which has the smallest subtree."""
    up_the_tree(ranks, [halving_edges(ranks, bit) for bit in powers_of_two(ranks.count)], size_bytes, segments)


@register_messages("reduce", "binomial_far", lambda p: p - 1)
def reduce_binomial_far(ranks: Ranks, size_bytes: float) -> None:
    """At distance ..., 4, 2, 1: the upper half of all that have something left sends it to the lower half."""
    up_the_tree(ranks, [doubling_edges(ranks, bit) for bit in reversed(powers_of_two(ranks.count))], size_bytes, 1)


@register_messages("reduce", "binary_tree", lambda p: p - 1)
def reduce_binary_tree(ranks: Ranks, size_bytes: float, segments: int = 1) -> None:
    """Every rank receives from its right child, whose subtree is no larger, then from its left one, and sends on."""
    up_the_tree(ranks, binary_edges(ranks)[::-1], size_bytes, segments)


@register_messages("reduce", "interleaved_binary_tree", lambda p: p - 1)
def reduce_interleaved_binary_tree(ranks: Ranks, size_bytes: float, segments: int = 1) -> None:
    """Reduce up the binary tree of Open MPI, from the nearer child first."""
    edges = sorted(interleaved_binary_edges(ranks), key=lambda edge: (-int(edge[0][0]), int(edge[1][0])))
    up_the_tree(ranks, edges, size_bytes, segments)


@register_messages("reduce", "bine", lambda p: p - 1)
def reduce_bine(ranks: Ranks, size_bytes: float) -> None:
    """Up the Bine tree of broadcast; up a binomial one if P is no power of two."""
    if ranks.count & (ranks.count - 1):
        reduce_binomial(ranks, size_bytes)
        return
    for upper, lower in reversed(bine_edges(ranks)):
        order = np.argsort(upper)
        ranks.send(upper, size_bytes, lower)
        ranks.receive(lower[order], size_bytes, who=upper[order])
        ranks.reduce(size_bytes, upper[order])


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
