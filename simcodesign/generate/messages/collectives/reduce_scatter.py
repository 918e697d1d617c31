"""Messages of reduce-scatter: each rank gets a P-th of the reduction of the bytes of all."""

from __future__ import annotations

from simcodesign.generate.columns import Ranks
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages
from simcodesign.generate.messages.collectives.patterns import powers_of_two


@register_messages("reduce_scatter", "recursive_halving", lambda p: p * len(powers_of_two(p)), packs=True)
def reduce_scatter_recursive_halving(ranks: Ranks, size_bytes: float) -> None:
    """At distance ..., 4, 2, 1: send the half of what is left that is not one's own, reduce the other half.

    If P is no power of two, all ranks send to the right and none folds: Bruck's allgather backwards. From the parts
    from its own on that are left, a rank sends those from the bit-th on to the rank whose own is the first of these.
    It copies all parts into this order before.
    """
    power_of_two = ranks.count & (ranks.count - 1) == 0
    if not power_of_two:
        ranks.copy(ranks.count, size_bytes / ranks.count)
    for bit in reversed(powers_of_two(ranks.count)):
        size = min(bit, ranks.count - bit) * size_bytes / ranks.count
        if power_of_two:
            ranks.exchange(ranks.rank ^ bit, ranks.rank ^ bit, size)
        else:
            ranks.exchange((ranks.rank + bit) % ranks.count, (ranks.rank - bit) % ranks.count, size)
        ranks.reduce(size)


@register_messages("reduce_scatter", "ring", lambda p: p * (p - 1))
def reduce_scatter_ring(ranks: Ranks, size_bytes: float) -> None:
    """P - 1 times: add one's own to the part that came from the left, and pass it on to the right."""
    part = size_bytes / ranks.count
    for _ in range(ranks.count - 1):
        ranks.exchange((ranks.rank + 1) % ranks.count, (ranks.rank - 1) % ranks.count, part)
        ranks.reduce(part)


@register_messages("reduce_scatter", "pairwise", lambda p: p * (p - 1))
def reduce_scatter_pairwise(ranks: Ranks, size_bytes: float) -> None:
    """In step k send its part to the k-th rank on the right, and add what comes from the k-th on the left."""
    part = size_bytes / ranks.count
    for distance in range(1, ranks.count):
        ranks.exchange((ranks.rank + distance) % ranks.count, (ranks.rank - distance) % ranks.count, part)
        ranks.reduce(part)
