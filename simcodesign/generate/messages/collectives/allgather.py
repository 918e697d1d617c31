"""Messages of allgather: every rank gets the bytes of every other."""

from __future__ import annotations

from simcodesign.generate.columns import Ranks
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages
from simcodesign.generate.messages.collectives.all_to_all import all_to_all_linear
from simcodesign.generate.messages.collectives.patterns import powers_of_two


@register_messages("allgather", "ring", lambda p: p * (p - 1))
def allgather_ring(ranks: Ranks, size_bytes: float) -> None:
    """P - 1 times: pass on to the right what came from the left."""
    for _ in range(ranks.count - 1):
        ranks.exchange((ranks.rank + 1) % ranks.count, (ranks.rank - 1) % ranks.count, size_bytes)


@register_messages("allgather", "bruck", lambda p: p * len(powers_of_two(p)))
def allgather_bruck(ranks: Ranks, size_bytes: float) -> None:
    """At distance 1, 2, 4, ...: pass on all that was gathered so far, in the last round only what is missing."""
    for bit in powers_of_two(ranks.count):
        size = min(bit, ranks.count - bit) * size_bytes
        ranks.exchange((ranks.rank - bit) % ranks.count, (ranks.rank + bit) % ranks.count, size)


register_messages("allgather", "linear", lambda p: p * (p - 1))(all_to_all_linear)
