"""Messages of all-to-all and all-broadcast: every rank sends to every other, different bytes or the same."""

from __future__ import annotations

import numpy as np

from simcodesign.core.units import FloatOrArray
from simcodesign.generate.columns import Ranks, of_ranks
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages
from simcodesign.generate.messages.collectives.patterns import powers_of_two


@register_messages("all_to_all", "linear", lambda p: p * (p - 1))
def all_to_all_linear(ranks: Ranks, size_bytes: FloatOrArray) -> None:
    """Let every rank post all its sends, to its right neighbour first, and then wait for all: a burst."""
    for distance in range(1, ranks.count):
        ranks.send((ranks.rank + distance) % ranks.count, size_bytes, until=2 * ranks.count - 1 - distance)
    for distance in range(1, ranks.count):
        source = (ranks.rank - distance) % ranks.count
        ranks.receive(source, of_ranks(size_bytes, source), match=1 - ranks.count)


@register_messages("all_to_all", "pairwise", lambda p: p * (p - 1))
def all_to_all_pairwise(ranks: Ranks, size_bytes: FloatOrArray) -> None:
    """In step k send to the k-th rank on the right and wait for the k-th on the left."""
    for distance in range(1, ranks.count):
        source = (ranks.rank - distance) % ranks.count
        ranks.send((ranks.rank + distance) % ranks.count, size_bytes, until=2)
        ranks.receive(source, of_ranks(size_bytes, source))


@register_messages("all_to_all", "bruck", lambda p: p * len(powers_of_two(p)), packs=True)
def all_to_all_bruck(ranks: Ranks, size_bytes: float) -> None:
    """At distance 1, 2, 4, ...: send on every block whose remaining way has that bit, packed into a message.

    All blocks are copied before, so that place k has that for the k-th rank on the right, and after, into the order of
    ranks. Source: J. Bruck, C. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient algorithms for all-to-all
    communications in multiport message-passing systems", IEEE TPDS 8 (1997), section 3.2.
    """
    bits, ways = powers_of_two(ranks.count), np.arange(ranks.count)
    blocks = [int(np.count_nonzero(ways & bit)) for bit in bits]
    if bits:
        ranks.copy(ranks.count + blocks[0], size_bytes)
    for bit, each, following in zip(bits, blocks, [*blocks[1:], ranks.count], strict=False):
        ranks.exchange((ranks.rank + bit) % ranks.count, (ranks.rank - bit) % ranks.count, each * size_bytes)
        ranks.copy(each + following, size_bytes)


@register_messages("all_broadcast", "linear", lambda p: p * (p - 1))
def all_broadcast_linear(ranks: Ranks, size_bytes: float) -> None:
    """Every rank sends the same to ranks 0, 1, 2, ... and then waits for ranks 0, 1, 2, ... (SPECseis96)."""
    rank, others = ranks.rank, range(ranks.count - 1)
    for place in others:
        ranks.send(place + (place >= rank), size_bytes, until=2 * (ranks.count - 1) - place)
    for place in others:
        source = place + (place >= rank)
        sent_in = rank - (rank > source)  # the source's column for this rank
        ranks.receive(source, size_bytes, match=sent_in - (ranks.count - 1 + place))
