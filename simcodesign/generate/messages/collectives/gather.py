"""Messages of gather: rank 0 gets the bytes of every other rank."""

from __future__ import annotations

from simcodesign.core.units import FloatOrArray
from simcodesign.generate.columns import Ranks, of_ranks
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages
from simcodesign.generate.messages.collectives.patterns import (
    doubling_edges,
    doubling_subtree,
    halving_edges,
    halving_subtree,
    powers_of_two,
)


@register_messages("gather", "binomial", lambda p: p - 1)
def gather_binomial(ranks: Ranks, size_bytes: float) -> None:
    """Up a binomial tree, the nearest child first: a child sends the blocks of all ranks of its subtree."""
    for bit in powers_of_two(ranks.count):
        upper, lower = halving_edges(ranks, bit)
        blocks = halving_subtree(ranks, bit, lower) * size_bytes
        ranks.send(upper, blocks, lower)
        ranks.receive(lower, blocks, who=upper)


@register_messages("gather", "binomial_far", lambda p: p - 1)
def gather_binomial_far(ranks: Ranks, size_bytes: float) -> None:
    """Gather at distance ..., 4, 2, 1: the upper half of all that have blocks sends them to the lower half."""
    for bit in reversed(powers_of_two(ranks.count)):
        upper, lower = doubling_edges(ranks, bit)
        blocks = doubling_subtree(ranks, bit, lower) * size_bytes
        ranks.send(upper, blocks, lower)
        ranks.receive(lower, blocks, who=upper)


@register_messages("gather", "linear", lambda p: p - 1)
def gather_linear(ranks: Ranks, size_bytes: FloatOrArray) -> None:
    """Every other rank sends to rank 0, which receives from ranks 1, 2, 3, ...; of (P,) bytes, each sends its own."""
    root = ranks.rank[:1]
    for source in range(1, ranks.count):
        sender = ranks.rank[source : source + 1]
        own_bytes = of_ranks(size_bytes, sender)
        ranks.send(root, own_bytes, sender)
        ranks.receive(sender, own_bytes, who=root)


@register_messages("gather", "linear_synchronised", lambda p: 3 * (p - 1))
def gather_linear_synchronised(ranks: Ranks, size_bytes: float, segments: int = 1) -> None:
    """Ask one rank after another for its data.

    Rank 0 sends an empty message to ranks 1, 2, 3, ..., and receives the first of ``segments`` equal parts from each
    before it asks the next; the rest follows in one message, which rank 0 takes up in the end.
    """
    root, rest_bytes = ranks.rank[:1], size_bytes - size_bytes / segments
    rest_sent = {}
    for source in range(1, ranks.count):
        sender = ranks.rank[source : source + 1]
        ranks.send(sender, 0.0, root)
        ranks.receive(root, 0.0, who=sender)
        ranks.send(root, size_bytes / segments, sender)
        ranks.receive(sender, size_bytes / segments, who=root)
        if segments > 1:
            rest_sent[source] = len(ranks.columns)
            ranks.send(root, rest_bytes, sender)
    for source, column in rest_sent.items():
        ranks.receive(ranks.rank[source : source + 1], rest_bytes, match=column - len(ranks.columns), who=root)
