"""Messages of broadcast: the bytes of rank 0 go to every other rank."""

from __future__ import annotations

import numpy as np

from simcodesign.generate.columns import Ranks
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages
from simcodesign.generate.messages.collectives.patterns import powers_of_two, tree_edges


@register_messages("broadcast", "binomial", lambda p: p - 1)
def broadcast_binomial(ranks: Ranks, size_bytes: float) -> None:
    """From rank 0 down a binomial tree, the largest subtree first."""
    for bit in reversed(powers_of_two(ranks.count)):
        upper, lower = tree_edges(ranks, bit)
        ranks.send(lower, size_bytes, upper)
        ranks.receive(upper, size_bytes, who=lower)


@register_messages("broadcast", "binomial_nearest_first", lambda p: p - 1)
def broadcast_binomial_nearest_first(ranks: Ranks, size_bytes: float) -> None:
    """From rank 0 at distance 1, 2, 4, ...: all that have the message pass it on."""
    for bit in powers_of_two(ranks.count):
        upper = ranks.rank[: min(bit, ranks.count - bit)]
        lower = upper + np.int32(bit)
        ranks.send(lower, size_bytes, upper)
        ranks.receive(upper, size_bytes, who=lower)


@register_messages("broadcast", "linear", lambda p: p - 1)
def broadcast_linear(ranks: Ranks, size_bytes: float) -> None:
    """Rank 0 sends to every other rank in turn."""
    root = ranks.rank[:1]
    for target in range(1, ranks.count):
        receiver = ranks.rank[target : target + 1]
        ranks.send(receiver, size_bytes, root)
        ranks.receive(root, size_bytes, who=receiver)
