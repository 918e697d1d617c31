"""Collective operations as messages: what each rank sends and receives, written for all ranks at once.

Every function appends the columns of one algorithm for ``size_bytes`` per rank (or per pair of ranks). Algorithms as
in Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from simcodesign.generate.columns import Ranks


def broadcast_binomial(ranks: Ranks, size_bytes: float) -> None:
    """From rank 0 down a binomial tree, the largest subtree first."""
    for bit in reversed(_bits(ranks.count)):
        _down(ranks, size_bytes, bit)


def broadcast_linear(ranks: Ranks, size_bytes: float) -> None:
    """Rank 0 sends to every other rank in turn."""
    for target in range(1, ranks.count):
        ranks.send(target, size_bytes, ranks.rank == 0)
        ranks.receive(0, size_bytes, when=ranks.rank == target)


def allreduce_recursive_doubling(ranks: Ranks, size_bytes: float) -> None:
    """Pairs exchange at distance 1, 2, 4, ... Beyond a power of two, the first ranks fold in pairs before and after."""
    rank, power = ranks.rank, 2 ** (ranks.count.bit_length() - 1)
    rest = ranks.count - power
    even, odd = (rank < 2 * rest) & (rank % 2 == 0), (rank < 2 * rest) & (rank % 2 == 1)
    if rest:
        ranks.send(rank + 1, size_bytes, even)
        ranks.receive(rank - 1, size_bytes, when=odd)
    active = np.where(odd, rank // 2, rank - rest)
    for bit in _bits(power):
        other = active ^ bit
        partner = np.where(other < rest, 2 * other + 1, other + rest)
        ranks.send(partner, size_bytes, ~even)
        ranks.receive(partner, size_bytes, when=~even)
    if rest:
        ranks.send(rank - 1, size_bytes, odd)
        ranks.receive(rank + 1, size_bytes, when=even)


def allreduce_ring(ranks: Ranks, size_bytes: float) -> None:
    """Reduce-scatter and allgather around a ring, a P-th of the data at a time."""
    for _ in range(2):
        allgather_ring(ranks, size_bytes / ranks.count)


def allreduce_reduce_broadcast(ranks: Ranks, size_bytes: float) -> None:
    """Up a binomial tree to rank 0, then down again."""
    rank = ranks.rank
    for bit in _bits(ranks.count):
        ranks.send(rank - bit, size_bytes, rank % (2 * bit) == bit)
        ranks.receive(rank + bit, size_bytes, when=(rank % (2 * bit) == 0) & (rank + bit < ranks.count))
    broadcast_binomial(ranks, size_bytes)


def allgather_ring(ranks: Ranks, size_bytes: float) -> None:
    """P - 1 times: pass on to the right what came from the left."""
    for _ in range(ranks.count - 1):
        ranks.send((ranks.rank + 1) % ranks.count, size_bytes)
        ranks.receive((ranks.rank - 1) % ranks.count, size_bytes)


def allgather_bruck(ranks: Ranks, size_bytes: float) -> None:
    """At distance 1, 2, 4, ...: pass on all that was gathered so far, in the last round only what is missing."""
    for bit in _bits(ranks.count):
        size = min(bit, ranks.count - bit) * size_bytes
        ranks.send((ranks.rank - bit) % ranks.count, size)
        ranks.receive((ranks.rank + bit) % ranks.count, size)


def all_to_all_linear(ranks: Ranks, size_bytes: float) -> None:
    """A burst: every rank posts all its sends, to its right neighbour first, and then waits for all."""
    for distance in range(1, ranks.count):
        ranks.send((ranks.rank + distance) % ranks.count, size_bytes)
    for distance in range(1, ranks.count):
        ranks.receive((ranks.rank - distance) % ranks.count, size_bytes, match=1 - ranks.count)


def all_to_all_pairwise(ranks: Ranks, size_bytes: float) -> None:
    """In step k send to the k-th rank on the right and wait for the k-th on the left."""
    for distance in range(1, ranks.count):
        ranks.send((ranks.rank + distance) % ranks.count, size_bytes)
        ranks.receive((ranks.rank - distance) % ranks.count, size_bytes)


def all_to_all_bruck(ranks: Ranks, size_bytes: float) -> None:
    """At distance 1, 2, 4, ...: send on every block whose remaining way has that bit."""
    ways = np.arange(ranks.count)
    for bit in _bits(ranks.count):
        size = np.count_nonzero(ways & bit) * size_bytes
        ranks.send((ranks.rank + bit) % ranks.count, size)
        ranks.receive((ranks.rank - bit) % ranks.count, size)


def all_broadcast_linear(ranks: Ranks, size_bytes: float) -> None:
    """Every rank sends the same to ranks 0, 1, 2, ... and then waits for ranks 0, 1, 2, ... (SPECseis96)."""
    rank, others = ranks.rank, range(ranks.count - 1)
    for place in others:
        ranks.send(place + (place >= rank), size_bytes)
    for place in others:
        source = place + (place >= rank)
        sent_in = rank - (rank > source)  # the source's column for this rank
        ranks.receive(source, size_bytes, match=sent_in - (ranks.count - 1 + place))


def barrier_dissemination(ranks: Ranks, size_bytes: float) -> None:
    """At distance 1, 2, 4, ...: signal to the right, wait for the left."""
    for bit in _bits(ranks.count):
        ranks.send((ranks.rank + bit) % ranks.count, size_bytes)
        ranks.receive((ranks.rank - bit) % ranks.count, size_bytes)


def halo_exchange(ranks: Ranks, grid: Sequence[int], sizes_bytes: Sequence[float], periodic: bool) -> None:
    """Send to both neighbours in every dimension of the grid (rank in row-major order), then wait for all."""
    place = np.unravel_index(ranks.rank, tuple(grid))
    links = []
    for dim, extent in enumerate(grid):
        for way in (1, -1) if extent > 1 else ():
            moved = [*place]
            moved[dim] = (place[dim] + way) % extent
            inside = (place[dim] + way >= 0) & (place[dim] + way < extent)
            links.append((np.ravel_multi_index(moved, tuple(grid)), inside | periodic, sizes_bytes[dim]))
    for to, when, size in links:
        ranks.send(to, size, when)
    for number, (source, when, size) in enumerate(links):
        # The neighbour above sent downwards, in the other column of the same dimension.
        ranks.receive(source, size, match=(number ^ 1) - number - len(links), when=when)


def _down(ranks: Ranks, size_bytes: float, bit: int) -> None:
    rank = ranks.rank
    ranks.send(rank + bit, size_bytes, (rank % (2 * bit) == 0) & (rank + bit < ranks.count))
    ranks.receive(rank - bit, size_bytes, when=rank % (2 * bit) == bit)


def _bits(count: int) -> list[int]:
    """1, 2, 4, ... below ``count``."""
    return [1 << place for place in range((count - 1).bit_length())]


#: (collective, algorithm) -> generator of its messages, and the number of columns that it takes for P ranks.
GENERATORS: dict[tuple[str, str], tuple[Callable[[Ranks, float], None], Callable[[int], int]]] = {
    ("broadcast", "binomial"): (broadcast_binomial, lambda p: 2 * len(_bits(p))),
    ("broadcast", "linear"): (broadcast_linear, lambda p: 2 * (p - 1)),
    ("allreduce", "recursive_doubling"): (allreduce_recursive_doubling, lambda p: 2 * len(_bits(p)) + 2),
    ("allreduce", "ring"): (allreduce_ring, lambda p: 4 * (p - 1)),
    ("allreduce", "reduce_broadcast"): (allreduce_reduce_broadcast, lambda p: 4 * len(_bits(p))),
    ("allgather", "ring"): (allgather_ring, lambda p: 2 * (p - 1)),
    ("allgather", "bruck"): (allgather_bruck, lambda p: 2 * len(_bits(p))),
    ("allgather", "linear"): (all_to_all_linear, lambda p: 2 * (p - 1)),
    ("all_to_all", "pairwise"): (all_to_all_pairwise, lambda p: 2 * (p - 1)),
    ("all_to_all", "linear"): (all_to_all_linear, lambda p: 2 * (p - 1)),
    ("all_to_all", "bruck"): (all_to_all_bruck, lambda p: 2 * len(_bits(p))),
    ("all_broadcast", "linear"): (all_broadcast_linear, lambda p: 2 * (p - 1)),
    ("barrier", "dissemination"): (barrier_dissemination, lambda p: 2 * len(_bits(p))),
}
