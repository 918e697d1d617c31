"""Messages of allreduce: every rank gets the reduction of the bytes of all."""

from __future__ import annotations

import numpy as np

from simcodesign.generate.columns import Ranks
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages
from simcodesign.generate.messages.collectives.allgather import allgather_ring
from simcodesign.generate.messages.collectives.broadcast import broadcast_binomial
from simcodesign.generate.messages.collectives.patterns import powers_of_two
from simcodesign.generate.messages.collectives.reduce import reduce_binomial


@register_messages("allreduce", "recursive_doubling", lambda p: p * len(powers_of_two(p)) + p)
def allreduce_recursive_doubling(ranks: Ranks, size_bytes: float) -> None:
    """Pairs exchange at distance 1, 2, 4, ... Beyond a power of two, the first ranks fold in pairs before and after."""
    power = 2 ** (ranks.count.bit_length() - 1)
    rest = ranks.count - power
    even, odd = ranks.rank[: 2 * rest : 2], ranks.rank[1 : 2 * rest : 2]
    if rest:
        ranks.send(odd, size_bytes, even)
        ranks.receive(even, size_bytes, who=odd)
        ranks.reduce(size_bytes, odd)
    active = ranks.rank[:power]  # number among those that go on: the odd ones of the pairs, then the others
    who = np.where(active < rest, 2 * active + 1, active + rest).astype(np.int32)
    for bit in powers_of_two(power):
        partner = who[active ^ bit]
        ranks.exchange(partner, partner, size_bytes, who if rest else None)
        ranks.reduce(size_bytes, who if rest else None)
    if rest:
        ranks.send(even, size_bytes, odd)
        ranks.receive(odd, size_bytes, who=even)


@register_messages("allreduce", "ring", lambda p: 2 * p * (p - 1))
def allreduce_ring(ranks: Ranks, size_bytes: float) -> None:
    """Reduce-scatter and allgather around a ring, a P-th of the data at a time."""
    part = size_bytes / ranks.count
    for _ in range(ranks.count - 1):
        ranks.exchange((ranks.rank + 1) % ranks.count, (ranks.rank - 1) % ranks.count, part)
        ranks.reduce(part)
    allgather_ring(ranks, part)


@register_messages("allreduce", "reduce_broadcast", lambda p: 2 * (p - 1))
def allreduce_reduce_broadcast(ranks: Ranks, size_bytes: float) -> None:
    """Up a binomial tree to rank 0, then down again."""
    reduce_binomial(ranks, size_bytes)
    broadcast_binomial(ranks, size_bytes)
