"""Collective operations as messages: what each rank sends and receives, written for all ranks at once.

Every function appends the columns of one algorithm for ``size_bytes`` per rank (or per pair of ranks). Algorithms as
in Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from simcodesign.generate.columns import Int32s, Ranks


def broadcast_binomial(ranks: Ranks, size_bytes: float) -> None:
    """From rank 0 down a binomial tree, the largest subtree first."""
    for bit in reversed(_bits(ranks.count)):
        upper, lower = _tree_edges(ranks, bit)
        ranks.send(lower, size_bytes, upper)
        ranks.receive(upper, size_bytes, who=lower)


def broadcast_linear(ranks: Ranks, size_bytes: float) -> None:
    """Rank 0 sends to every other rank in turn."""
    root = ranks.rank[:1]
    for target in range(1, ranks.count):
        receiver = ranks.rank[target : target + 1]
        ranks.send(receiver, size_bytes, root)
        ranks.receive(root, size_bytes, who=receiver)


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


def allreduce_ring(ranks: Ranks, size_bytes: float) -> None:
    """Reduce-scatter and allgather around a ring, a P-th of the data at a time."""
    for _ in range(2):
        allgather_ring(ranks, size_bytes / ranks.count)


def allreduce_reduce_broadcast(ranks: Ranks, size_bytes: float) -> None:
    """Up a binomial tree to rank 0, then down again."""
    for bit in _bits(ranks.count):
        upper, lower = _tree_edges(ranks, bit)
        ranks.send(upper, size_bytes, lower)
        ranks.receive(lower, size_bytes, who=upper)
    broadcast_binomial(ranks, size_bytes)


def allgather_ring(ranks: Ranks, size_bytes: float) -> None:
    """P - 1 times: pass on to the right what came from the left."""
    for _ in range(ranks.count - 1):
        ranks.exchange((ranks.rank + 1) % ranks.count, (ranks.rank - 1) % ranks.count, size_bytes)


def allgather_bruck(ranks: Ranks, size_bytes: float) -> None:
    """At distance 1, 2, 4, ...: pass on all that was gathered so far, in the last round only what is missing."""
    for bit in _bits(ranks.count):
        size = min(bit, ranks.count - bit) * size_bytes
        ranks.exchange((ranks.rank - bit) % ranks.count, (ranks.rank + bit) % ranks.count, size)


def all_to_all_linear(ranks: Ranks, size_bytes: float) -> None:
    """A burst: every rank posts all its sends, to its right neighbour first, and then waits for all."""
    for distance in range(1, ranks.count):
        ranks.send((ranks.rank + distance) % ranks.count, size_bytes, until=2 * ranks.count - 1 - distance)
    for distance in range(1, ranks.count):
        ranks.receive((ranks.rank - distance) % ranks.count, size_bytes, match=1 - ranks.count)


def all_to_all_pairwise(ranks: Ranks, size_bytes: float) -> None:
    """In step k send to the k-th rank on the right and wait for the k-th on the left."""
    for distance in range(1, ranks.count):
        ranks.exchange((ranks.rank + distance) % ranks.count, (ranks.rank - distance) % ranks.count, size_bytes)


def all_to_all_bruck(ranks: Ranks, size_bytes: float) -> None:
    """At distance 1, 2, 4, ...: send on every block whose remaining way has that bit."""
    ways = np.arange(ranks.count)
    for bit in _bits(ranks.count):
        size = np.count_nonzero(ways & bit) * size_bytes
        ranks.exchange((ranks.rank + bit) % ranks.count, (ranks.rank - bit) % ranks.count, size)


def all_broadcast_linear(ranks: Ranks, size_bytes: float) -> None:
    """Every rank sends the same to ranks 0, 1, 2, ... and then waits for ranks 0, 1, 2, ... (SPECseis96)."""
    rank, others = ranks.rank, range(ranks.count - 1)
    for place in others:
        ranks.send(place + (place >= rank), size_bytes, until=2 * (ranks.count - 1) - place)
    for place in others:
        source = place + (place >= rank)
        sent_in = rank - (rank > source)  # the source's column for this rank
        ranks.receive(source, size_bytes, match=sent_in - (ranks.count - 1 + place))


def barrier_dissemination(ranks: Ranks, size_bytes: float) -> None:
    """At distance 1, 2, 4, ...: signal to the right, wait for the left."""
    for bit in _bits(ranks.count):
        ranks.exchange((ranks.rank + bit) % ranks.count, (ranks.rank - bit) % ranks.count, size_bytes)


def halo_exchange(
    ranks: Ranks,
    grid: Sequence[int],
    sizes_bytes: Sequence[float],
    periodic: bool,
    messages: Sequence[int] | None = None,
    train: int = 1,
) -> None:
    """Send to both neighbours in every dimension of the grid (rank in row-major order), then wait for all.

    ``messages`` go to each neighbour (one, if None), up to ``train`` of them together.
    """
    several = [1] * len(grid) if messages is None else messages
    trains = [trains_of(count, train) for count in several]
    links = _links(ranks, grid, periodic)
    # Of every neighbour: who sends there, its dimension, and the column of its first message.
    before = np.concatenate([[0], np.cumsum([len(trains[dim]) for _, _, dim in links])]).astype(int).tolist()
    total = before[-1]
    for number, (to, who, dim) in enumerate(links):
        for place, together in enumerate(trains[dim], start=before[number]):
            ranks.send(to, together * sizes_bytes[dim], who, until=2 * total - place, train=together)
    for number, (source, who, dim) in enumerate(links):
        # The neighbour above sent downwards, in the other columns of the same dimension.
        offset = before[number ^ 1] - before[number] - total
        for together in trains[dim]:
            ranks.receive(source, together * sizes_bytes[dim], offset, who)


def trains_of(messages: int, train: int) -> list[int]:
    """The lengths of the trains of so many messages: the last one is shorter when they do not divide."""
    whole, rest = divmod(messages, train)
    return [train] * whole + [rest] * (rest > 0)


def _links(ranks: Ranks, grid: Sequence[int], periodic: bool) -> list[tuple[Int32s, Int32s | None, int]]:
    """Neighbours upwards and downwards in every dimension: of whom, who has one there (None: all), the dimension."""
    place = np.unravel_index(ranks.rank, tuple(grid))
    links = []
    for dim, extent in enumerate(grid):
        for way in (1, -1) if extent > 1 else ():
            moved = [*place]
            moved[dim] = (place[dim] + way) % extent
            inside = (place[dim] + way >= 0) & (place[dim] + way < extent)
            who = None if periodic else ranks.rank[inside]
            to = np.ravel_multi_index(moved, tuple(grid)).astype(np.int32)
            links.append((to if who is None else to[who], who, dim))
    return links


def _tree_edges(ranks: Ranks, bit: int) -> tuple[Int32s, Int32s]:
    """Parents and children of the binomial tree whose numbers differ by ``bit``."""
    upper = ranks.rank[: ranks.count - bit : 2 * bit]
    return upper, upper + np.int32(bit)


def _bits(count: int) -> list[int]:
    """1, 2, 4, ... below ``count``."""
    return [1 << place for place in range((count - 1).bit_length())]


#: (collective, algorithm) -> generator of its messages, and how many messages P ranks send at most.
GENERATORS: dict[tuple[str, str], tuple[Callable[[Ranks, float], None], Callable[[int], int]]] = {
    ("broadcast", "binomial"): (broadcast_binomial, lambda p: p - 1),
    ("broadcast", "linear"): (broadcast_linear, lambda p: p - 1),
    ("allreduce", "recursive_doubling"): (allreduce_recursive_doubling, lambda p: p * len(_bits(p)) + p),
    ("allreduce", "ring"): (allreduce_ring, lambda p: 2 * p * (p - 1)),
    ("allreduce", "reduce_broadcast"): (allreduce_reduce_broadcast, lambda p: 2 * (p - 1)),
    ("allgather", "ring"): (allgather_ring, lambda p: p * (p - 1)),
    ("allgather", "bruck"): (allgather_bruck, lambda p: p * len(_bits(p))),
    ("allgather", "linear"): (all_to_all_linear, lambda p: p * (p - 1)),
    ("all_to_all", "pairwise"): (all_to_all_pairwise, lambda p: p * (p - 1)),
    ("all_to_all", "linear"): (all_to_all_linear, lambda p: p * (p - 1)),
    ("all_to_all", "bruck"): (all_to_all_bruck, lambda p: p * len(_bits(p))),
    ("all_broadcast", "linear"): (all_broadcast_linear, lambda p: p * (p - 1)),
    ("barrier", "dissemination"): (barrier_dissemination, lambda p: p * len(_bits(p))),
}
