"""Messages of scan: rank r gets the reduction of the bytes of the ranks 0 to r."""

from __future__ import annotations

import numpy as np

from simcodesign.generate.columns import Ranks
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages
from simcodesign.generate.messages.collectives.patterns import powers_of_two


@register_messages("scan", "recursive_doubling", lambda p: p * len(powers_of_two(p)))
def scan_recursive_doubling(ranks: Ranks, size_bytes: float) -> None:
    """Pairs exchange, at distance 1, 2, 4, ..., the reduction of all that they have, if both ranks exist.

    The upper one of a pair also adds the arriving value to its result.
    """
    for bit in powers_of_two(ranks.count):
        partner = ranks.rank ^ np.int32(bit)
        who = ranks.rank[partner < ranks.count]
        ranks.exchange(partner[who], partner[who], size_bytes, who)
        ranks.reduce(np.where(who & bit, 2 * size_bytes, size_bytes), who)


@register_messages("scan", "linear", lambda p: p - 1)
def scan_linear(ranks: Ranks, size_bytes: float) -> None:
    """Each rank adds its own to what comes from the left, and passes it on."""
    for place in range(ranks.count - 1):
        sender, receiver = ranks.rank[place : place + 1], ranks.rank[place + 1 : place + 2]
        ranks.send(receiver, size_bytes, sender)
        ranks.receive(sender, size_bytes, who=receiver)
        ranks.reduce(size_bytes, receiver)
