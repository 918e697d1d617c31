"""Messages of allreduce: every rank gets the reduction of the bytes of all."""

from __future__ import annotations

from simcodesign.generate.columns import Ranks
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages
from simcodesign.generate.messages.collectives.allgather import allgather_ring
from simcodesign.generate.messages.collectives.broadcast import broadcast_binomial
from simcodesign.generate.messages.collectives.patterns import Hypercube, bine_partners, powers_of_two
from simcodesign.generate.messages.collectives.reduce import reduce_binomial
from simcodesign.generate.messages.collectives.reduce_scatter import reduce_scatter_ring


@register_messages("allreduce", "recursive_doubling", lambda p: p * len(powers_of_two(p)) + p)
def allreduce_recursive_doubling(ranks: Ranks, size_bytes: float) -> None:
    """Pairs exchange at distance 1, 2, 4, ... Beyond a power of two, the first ranks fold in pairs before and after."""
    cube = Hypercube.of(ranks)
    cube.enter(ranks, size_bytes)
    for bit in cube.bits:
        cube.exchange(ranks, bit, size_bytes, reduces=True)
    cube.leave(ranks, size_bytes)


@register_messages("allreduce", "bine", lambda p: p * len(powers_of_two(p)) + p)
def allreduce_bine(ranks: Ranks, size_bytes: float) -> None:
    """Let pairs of a Bine butterfly exchange all bytes, at distance 1, 1, 3, 5, 11, ...

    Use recursive doubling if P is no power of two.

    Source: D. De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality",
    SC25.
    """
    if ranks.count & (ranks.count - 1):
        allreduce_recursive_doubling(ranks, size_bytes)
        return
    for bit in powers_of_two(ranks.count):
        partner = bine_partners(ranks, bit)
        ranks.exchange(partner, partner, size_bytes)
        ranks.reduce(size_bytes)


@register_messages("allreduce", "rabenseifner", lambda p: 2 * p * len(powers_of_two(p)) + p)
def allreduce_rabenseifner(ranks: Ranks, size_bytes: float) -> None:
    """Reduce-scatter by recursive halving: pairs exchange a half, a quarter, ... of the data.

    Then they gather it the same way back. Beyond a power of two, the first ranks fold in pairs before and after.
    """
    cube = Hypercube.of(ranks)
    cube.enter(ranks, size_bytes)
    for bit in cube.bits:
        cube.exchange(ranks, bit, size_bytes / (2 * bit), reduces=True)
    for bit in reversed(cube.bits):
        cube.exchange(ranks, bit, size_bytes / (2 * bit), reduces=False)
    cube.leave(ranks, size_bytes)


@register_messages("allreduce", "ring", lambda p: 2 * p * (p - 1))
def allreduce_ring(ranks: Ranks, size_bytes: float) -> None:
    """Reduce-scatter and allgather around a ring, a P-th of the data at a time."""
    reduce_scatter_ring(ranks, size_bytes)
    allgather_ring(ranks, size_bytes / ranks.count)


@register_messages("allreduce", "reduce_broadcast", lambda p: 2 * (p - 1))
def allreduce_reduce_broadcast(ranks: Ranks, size_bytes: float) -> None:
    """Up a binomial tree to rank 0, then down again."""
    reduce_binomial(ranks, size_bytes)
    broadcast_binomial(ranks, size_bytes)
