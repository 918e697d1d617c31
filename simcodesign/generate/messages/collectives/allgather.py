"""Messages of allgather: every rank gets the bytes of every other."""

from __future__ import annotations

import numpy as np

from simcodesign.core.units import FloatOrArray
from simcodesign.generate.columns import Ranks, of_ranks
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages
from simcodesign.generate.messages.collectives.all_to_all import all_to_all_linear
from simcodesign.generate.messages.collectives.patterns import powers_of_two


@register_messages("allgather", "ring", lambda p: p * (p - 1))
def allgather_ring(ranks: Ranks, size_bytes: FloatOrArray) -> None:
    """P - 1 times: pass on to the right what came from the left."""
    left = (ranks.rank - 1) % ranks.count
    for step in range(ranks.count - 1):
        block = (ranks.rank - step) % ranks.count
        ranks.send((ranks.rank + 1) % ranks.count, of_ranks(size_bytes, block), until=2)
        ranks.receive(left, of_ranks(size_bytes, block[left]))


@register_messages("allgather", "bruck", lambda p: p * len(powers_of_two(p)), packs=True)
def allgather_bruck(ranks: Ranks, size_bytes: float) -> None:
    """At distance 1, 2, 4, ...: pass on all that was gathered so far, in the last round only what is missing.

    Then copy all blocks into the order of ranks: a rank has its own one first.
    """
    for bit in powers_of_two(ranks.count):
        size = min(bit, ranks.count - bit) * size_bytes
        ranks.exchange((ranks.rank - bit) % ranks.count, (ranks.rank + bit) % ranks.count, size)
    if ranks.count > 1:
        ranks.copy(ranks.count, size_bytes)


@register_messages("allgather", "recursive_doubling", lambda p: p * len(powers_of_two(p)), packs=True)
def allgather_recursive_doubling(ranks: Ranks, size_bytes: float) -> None:
    """Pairs exchange, at distance 1, 2, 4, ..., all that they have; by Bruck's algorithm if P is no power of two."""
    if ranks.count & (ranks.count - 1):
        allgather_bruck(ranks, size_bytes)
        return
    for bit in powers_of_two(ranks.count):
        ranks.exchange(ranks.rank ^ bit, ranks.rank ^ bit, bit * size_bytes)


@register_messages("allgather", "neighbour_exchange", lambda p: p * (p - 1 if p % 2 else p // 2))
def allgather_neighbour_exchange(ranks: Ranks, size_bytes: float) -> None:
    """Exchange with both neighbours alternately, P / 2 times.

    First one's own bytes, then the two blocks that came last.

    As a ring if P is odd. Source: J. Chen, L. Zhang, Y. Zhang, W. Yuan, "Performance evaluation of allgather algorithms
    on terascale Linux cluster with fast Ethernet", HPC Asia 2005.
    """
    if ranks.count % 2:
        allgather_ring(ranks, size_bytes)
        return
    right, left = (ranks.rank + 1) % ranks.count, (ranks.rank - 1) % ranks.count
    is_even = ranks.rank % 2 == 0
    first, second = np.where(is_even, right, left), np.where(is_even, left, right)
    for step in range(ranks.count // 2):
        partner = second if step % 2 else first
        ranks.exchange(partner, partner, size_bytes if step == 0 else 2 * size_bytes)


register_messages("allgather", "linear", lambda p: p * (p - 1))(all_to_all_linear)
