"""Messages of collective operations, for the simulation: what each rank sends and receives, for all ranks at once.

Every registered function appends the columns of one algorithm for ``size_bytes`` per rank (or per pair of ranks).
Algorithms as in Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA
2005.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.registry import Registry
from simcodesign.describe.demands.collective import ENTRY_POINTS, Collective
from simcodesign.generate.columns import Int32s, Ranks

Writer = Callable[[Ranks, float], None]
WriterT = TypeVar("WriterT", bound=Writer)


@dataclass(frozen=True)
class Messages:
    """The messages of an algorithm: ``write(ranks, size_bytes)``, and at most how many of them P ranks send."""

    write: Writer
    most: Callable[[int], int]


#: By operation and algorithm.
MESSAGES: Registry[tuple[str, str], Messages] = Registry("collective algorithm", __name__, ENTRY_POINTS)


def register_messages(operation: str, algorithm: str, most: Callable[[int], int]) -> Callable[[WriterT], WriterT]:
    """A decorator: the function writes the messages of this algorithm, of which P ranks send ``most(P)`` at most."""

    def decorate(write: WriterT) -> WriterT:
        MESSAGES.add((operation, algorithm), Messages(write, most))
        return write

    return decorate


def messages_of(step: Collective) -> Messages:
    """The messages of a demand. InputError where nobody registered any."""
    if step.key not in MESSAGES:
        what = "the messages of this algorithm are not known, so that it cannot be simulated"
        raise InputError(what, step.place, value=f"{step.name}: {step.algorithm}", allowed="forecast it")
    return MESSAGES[step.key]


@register_messages("broadcast", "binomial", lambda p: p - 1)
def broadcast_binomial(ranks: Ranks, size_bytes: float) -> None:
    """From rank 0 down a binomial tree, the largest subtree first."""
    for bit in reversed(_bits(ranks.count)):
        upper, lower = _tree_edges(ranks, bit)
        ranks.send(lower, size_bytes, upper)
        ranks.receive(upper, size_bytes, who=lower)


@register_messages("broadcast", "binomial_nearest_first", lambda p: p - 1)
def broadcast_binomial_nearest_first(ranks: Ranks, size_bytes: float) -> None:
    """From rank 0 at distance 1, 2, 4, ...: all that have the message pass it on."""
    for bit in _bits(ranks.count):
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


@register_messages("allreduce", "recursive_doubling", lambda p: p * len(_bits(p)) + p)
def allreduce_recursive_doubling(ranks: Ranks, size_bytes: float) -> None:
    """Pairs exchange at distance 1, 2, 4, ... Beyond a power of two, the first ranks fold in pairs before and after."""
    power = 2 ** (ranks.count.bit_length() - 1)
    rest = ranks.count - power
    even, odd = ranks.rank[: 2 * rest : 2], ranks.rank[1 : 2 * rest : 2]
    if rest:
        ranks.send(odd, size_bytes, even)
        ranks.receive(even, size_bytes, who=odd)
    active = ranks.rank[:power]  # number among those that go on: the odd ones of the pairs, then the others
    who = np.where(active < rest, 2 * active + 1, active + rest).astype(np.int32)
    for bit in _bits(power):
        partner = who[active ^ bit]
        ranks.exchange(partner, partner, size_bytes, who if rest else None)
    if rest:
        ranks.send(even, size_bytes, odd)
        ranks.receive(odd, size_bytes, who=even)


@register_messages("allreduce", "ring", lambda p: 2 * p * (p - 1))
def allreduce_ring(ranks: Ranks, size_bytes: float) -> None:
    """Reduce-scatter and allgather around a ring, a P-th of the data at a time."""
    for _ in range(2):
        allgather_ring(ranks, size_bytes / ranks.count)


@register_messages("allreduce", "reduce_broadcast", lambda p: 2 * (p - 1))
def allreduce_reduce_broadcast(ranks: Ranks, size_bytes: float) -> None:
    """Up a binomial tree to rank 0, then down again."""
    for bit in _bits(ranks.count):
        upper, lower = _tree_edges(ranks, bit)
        ranks.send(upper, size_bytes, lower)
        ranks.receive(lower, size_bytes, who=upper)
    broadcast_binomial(ranks, size_bytes)


@register_messages("allgather", "ring", lambda p: p * (p - 1))
def allgather_ring(ranks: Ranks, size_bytes: float) -> None:
    """P - 1 times: pass on to the right what came from the left."""
    for _ in range(ranks.count - 1):
        ranks.exchange((ranks.rank + 1) % ranks.count, (ranks.rank - 1) % ranks.count, size_bytes)


@register_messages("allgather", "bruck", lambda p: p * len(_bits(p)))
def allgather_bruck(ranks: Ranks, size_bytes: float) -> None:
    """At distance 1, 2, 4, ...: pass on all that was gathered so far, in the last round only what is missing."""
    for bit in _bits(ranks.count):
        size = min(bit, ranks.count - bit) * size_bytes
        ranks.exchange((ranks.rank - bit) % ranks.count, (ranks.rank + bit) % ranks.count, size)


@register_messages("allgather", "linear", lambda p: p * (p - 1))
@register_messages("all_to_all", "linear", lambda p: p * (p - 1))
def all_to_all_linear(ranks: Ranks, size_bytes: float) -> None:
    """A burst: every rank posts all its sends, to its right neighbour first, and then waits for all."""
    for distance in range(1, ranks.count):
        ranks.send((ranks.rank + distance) % ranks.count, size_bytes, until=2 * ranks.count - 1 - distance)
    for distance in range(1, ranks.count):
        ranks.receive((ranks.rank - distance) % ranks.count, size_bytes, match=1 - ranks.count)


@register_messages("all_to_all", "pairwise", lambda p: p * (p - 1))
def all_to_all_pairwise(ranks: Ranks, size_bytes: float) -> None:
    """In step k send to the k-th rank on the right and wait for the k-th on the left."""
    for distance in range(1, ranks.count):
        ranks.exchange((ranks.rank + distance) % ranks.count, (ranks.rank - distance) % ranks.count, size_bytes)


@register_messages("all_to_all", "bruck", lambda p: p * len(_bits(p)))
def all_to_all_bruck(ranks: Ranks, size_bytes: float) -> None:
    """At distance 1, 2, 4, ...: send on every block whose remaining way has that bit."""
    ways = np.arange(ranks.count)
    for bit in _bits(ranks.count):
        size = np.count_nonzero(ways & bit) * size_bytes
        ranks.exchange((ranks.rank + bit) % ranks.count, (ranks.rank - bit) % ranks.count, size)


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


@register_messages("barrier", "dissemination", lambda p: p * len(_bits(p)))
def barrier_dissemination(ranks: Ranks, size_bytes: float) -> None:
    """At distance 1, 2, 4, ...: signal to the right, wait for the left."""
    for bit in _bits(ranks.count):
        ranks.exchange((ranks.rank + bit) % ranks.count, (ranks.rank - bit) % ranks.count, size_bytes)


def _tree_edges(ranks: Ranks, bit: int) -> tuple[Int32s, Int32s]:
    """Parents and children of the binomial tree whose numbers differ by ``bit``."""
    upper = ranks.rank[: ranks.count - bit : 2 * bit]
    return upper, upper + np.int32(bit)


def _bits(count: int) -> list[int]:
    """1, 2, 4, ... below ``count``."""
    return [1 << place for place in range((count - 1).bit_length())]
