"""Messages of broadcast: the bytes of rank 0 go to every other rank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simcodesign.core.units import FloatOrArray
from simcodesign.generate.columns import Int32s, Ranks, of_ranks
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages
from simcodesign.generate.messages.collectives.allgather import allgather_ring
from simcodesign.generate.messages.collectives.patterns import (
    binary_edges,
    bine_edges,
    chain_edges,
    doubling_edges,
    halving_edges,
    interleaved_binary_edges,
    parallel_chain_edges,
    powers_of_two,
)
from simcodesign.generate.messages.collectives.scatter import scatter_binomial


def down_the_tree(ranks: Ranks, edges: Sequence[tuple[Int32s, Int32s]], size_bytes: float, segments: int) -> None:
    """Every rank passes on to its children what it has received, segment by segment."""
    for upper, lower in [*edges] * segments:
        ranks.send(lower, size_bytes / segments, upper)
        ranks.receive(upper, size_bytes / segments, who=lower)


@register_messages("broadcast", "binomial", lambda p: p - 1)
def broadcast_binomial(ranks: Ranks, size_bytes: float, segments: int = 1) -> None:
    """From rank 0 down a binomial tree, the farthest child first, which has the largest subtree."""
    down_the_tree(
        ranks, [halving_edges(ranks, bit) for bit in reversed(powers_of_two(ranks.count))], size_bytes, segments
    )


@register_messages("broadcast", "binomial_near", lambda p: p - 1)
def broadcast_binomial_near(ranks: Ranks, size_bytes: float, segments: int = 1) -> None:
    """From rank 0 at distance 1, 2, 4, ...: all that have the message pass it on."""
    down_the_tree(ranks, [doubling_edges(ranks, bit) for bit in powers_of_two(ranks.count)], size_bytes, segments)


@register_messages("broadcast", "binary_tree", lambda p: p - 1)
def broadcast_binary_tree(ranks: Ranks, size_bytes: float, segments: int = 1) -> None:
    """Every rank sends to its left child and then to its right one."""
    down_the_tree(ranks, binary_edges(ranks), size_bytes, segments)


@register_messages("broadcast", "interleaved_binary_tree", lambda p: p - 1)
def broadcast_interleaved_binary_tree(ranks: Ranks, size_bytes: float, segments: int = 1) -> None:
    """Broadcast down the binary tree of Open MPI, in which the numbers of a rank's subtrees alternate."""
    down_the_tree(ranks, interleaved_binary_edges(ranks), size_bytes, segments)


@register_messages("broadcast", "split_binary_tree", lambda p: 2 * (p - 1))
def broadcast_split_binary_tree(ranks: Ranks, size_bytes: float, segments: int = 1) -> None:
    """Send half of the bytes down the left side of this tree and half down the right one.

    Then ranks 2 i - 1 and 2 i, one on each side, exchange their halves, and a last rank without a partner gets the
    other half from rank 0.
    """
    half_bytes = size_bytes / 2
    down_the_tree(ranks, interleaved_binary_edges(ranks), half_bytes, -(-segments // 2))
    paired = ranks.rank[1 : ranks.count - 1 + ranks.count % 2]
    if len(paired):
        partner = paired + np.where(paired % 2, 1, -1).astype(np.int32)
        ranks.exchange(partner, partner, half_bytes, paired)
    if ranks.count % 2 == 0:
        root, last = ranks.rank[:1], ranks.rank[-1:]
        ranks.send(last, half_bytes, root)
        ranks.receive(root, half_bytes, who=last)


@register_messages("broadcast", "bine", lambda p: p - 1)
def broadcast_bine(ranks: Ranks, size_bytes: float) -> None:
    """Down a Bine tree, which keeps subtrees near their parents; down a binomial one if P is no power of two.

    Source: D. De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality",
    SC25.
    """
    if ranks.count & (ranks.count - 1):
        broadcast_binomial(ranks, size_bytes)
        return
    for upper, lower in bine_edges(ranks):
        order = np.argsort(upper)
        ranks.send(lower[order], size_bytes, upper[order])
        ranks.receive(upper, size_bytes, who=lower)


@register_messages("broadcast", "three_chains", lambda p: p - 1)
def broadcast_three_chains(ranks: Ranks, size_bytes: float, chains: int = 3) -> None:
    """Rank 0 sends to the heads of as many rows of ranks, each of which passes on what it has received."""
    for sender, receiver in parallel_chain_edges(ranks, chains):
        ranks.send(receiver, size_bytes, sender)
        ranks.receive(sender, size_bytes, who=receiver)


@register_messages("broadcast", "four_chains", lambda p: p - 1)
def broadcast_four_chains(ranks: Ranks, size_bytes: float) -> None:
    """Broadcast with four rows."""
    broadcast_three_chains(ranks, size_bytes, chains=4)


@register_messages("broadcast", "chain", lambda p: p - 1)
def broadcast_chain(ranks: Ranks, size_bytes: float, segments: int = 1) -> None:
    """Rank r passes on to rank r + 1 what it has received, each segment before it receives the next."""
    for sender, receiver in chain_edges(ranks, segments):
        ranks.send(receiver, size_bytes / segments, sender)
        ranks.receive(sender, size_bytes / segments, who=receiver)


@register_messages("broadcast", "scatter_allgather", lambda p: (p + 1) * (p - 1))
def broadcast_scatter_allgather(ranks: Ranks, size_bytes: float) -> None:
    """Scatter the P parts of the data down a binomial tree and gather them by all around a ring (van de Geijn)."""
    scatter_binomial(ranks, size_bytes / ranks.count)
    allgather_ring(ranks, size_bytes / ranks.count)


@register_messages("broadcast", "linear", lambda p: p - 1)
@register_messages("scatter", "linear", lambda p: p - 1)
def from_root_linear(ranks: Ranks, size_bytes: FloatOrArray) -> None:
    """Rank 0 sends to every other rank, one after another; of (P,) bytes the receiver's."""
    root = ranks.rank[:1]
    for target in range(1, ranks.count):
        receiver = ranks.rank[target : target + 1]
        own_bytes = of_ranks(size_bytes, receiver)
        ranks.send(receiver, own_bytes, root)
        ranks.receive(root, own_bytes, who=receiver)
