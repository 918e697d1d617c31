"""Messages of barrier: no rank leaves before the last one has come."""

from __future__ import annotations

from simcodesign.generate.columns import Ranks
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages
from simcodesign.generate.messages.collectives.patterns import powers_of_two


@register_messages("barrier", "dissemination", lambda p: p * len(powers_of_two(p)))
def barrier_dissemination(ranks: Ranks, size_bytes: float) -> None:
    """At distance 1, 2, 4, ...: signal to the right, wait for the left."""
    for bit in powers_of_two(ranks.count):
        ranks.exchange((ranks.rank + bit) % ranks.count, (ranks.rank - bit) % ranks.count, size_bytes)
