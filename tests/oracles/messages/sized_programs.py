"""Collective algorithms whose messages have several sizes, as a program of each rank, run one operation after another.

A rank sends (busy for ``cost(m)[0]``), receives (waits until the message is there, then busy for ``cost(m)[1]``), or does
both at once: its send comes first, and it goes on when both are done. Where ``cost(m)[2]``, a sender goes on only when its
receiver takes the message up. Written from R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005); J. Bruck et al., IEEE
TPDS 8 (1997); J. Chen et al., HPC Asia (2005); R. van de Geijn, JPDC 22 (1994). For any number of ranks; trees send to
the farthest child first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

#: A message's seconds at its sender and its receiver, and whether the sender waits for the receiver.
Cost = Callable[[float], tuple[float, float, bool]]
#: (target or None, bytes, source or None) of each operation of a rank.
Program = Iterator[tuple[int | None, float, int | None]]
Programs = Callable[[int, int, float], Program]


def run_s(programs: Programs, ranks: int, size_bytes: float, cost: Cost) -> float:
    """Seconds until every rank is done, all having begun together."""
    arrives: dict[tuple[int, int, int], tuple[float, float]] = {}  # by ends and number: when it is there, its r
    taken: dict[tuple[int, int, int], float] = {}
    ends = [0.0] * ranks
    waiting = {
        rank: _rank(programs(rank, ranks, size_bytes), rank, cost, arrives, taken, ends) for rank in range(ranks)
    }
    while waiting:
        done = [rank for rank, steps in waiting.items() if next(steps, None) is None]
        for rank in done:
            del waiting[rank]
    return max(ends)


def _rank(program: Program, rank: int, cost: Cost, arrives: dict, taken: dict, ends: list[float]) -> Iterator[bool]:
    """Yields whenever it has to wait for another rank."""
    now, sent, received = 0.0, [0] * len(ends), [0] * len(ends)
    for target, size, source in program:
        held = None
        if target is not None:
            busy_s, receive_s, waits = cost(size)
            now += busy_s
            key = rank, target, sent[target]
            arrives[key] = now, receive_s
            sent[target] += 1
            held = key if waits else None
        if source is not None:
            key = source, rank, received[source]
            received[source] += 1
            while key not in arrives:
                yield True
            there, receive_s = arrives[key]
            taken[key] = max(now, there)
            now = taken[key] + receive_s
        while held is not None and held not in taken:
            yield True
        now = now if held is None else max(now, taken[held])
    ends[rank] = now


def _distances(ranks: int) -> list[int]:
    return [1 << bit for bit in range((ranks - 1).bit_length())]


def _children(rank: int, ranks: int) -> list[tuple[int, int]]:
    """The children in a binomial tree, the nearest one first, and how many ranks are below and including each."""
    lowest = rank & -rank or ranks
    return [(rank + d, min(d, ranks - rank - d)) for d in _distances(ranks) if d < lowest and rank + d < ranks]


def scatter(rank: int, ranks: int, size: float) -> Program:
    if rank:
        yield None, 0.0, rank & (rank - 1)
    for child, below in reversed(_children(rank, ranks)):
        yield child, below * size, None


def gather(rank: int, ranks: int, size: float) -> Program:
    for child, _ in _children(rank, ranks):
        yield None, 0.0, child
    if rank:
        yield rank & (rank - 1), min(rank & -rank, ranks - rank) * size, None


def _ring(rank: int, ranks: int, size: float, steps: int) -> Program:
    for _ in range(steps):
        yield (rank + 1) % ranks, size, (rank - 1) % ranks


def scatter_allgather(rank: int, ranks: int, size: float) -> Program:
    yield from scatter(rank, ranks, size / ranks)
    yield from _ring(rank, ranks, size / ranks, ranks - 1)


def allreduce_ring(rank: int, ranks: int, size: float) -> Program:
    yield from _ring(rank, ranks, size / ranks, 2 * (ranks - 1))


def all_to_all_bruck(rank: int, ranks: int, size: float) -> Program:
    for d in _distances(ranks):
        blocks = sum(1 for block in range(ranks) if block & d)
        yield (rank + d) % ranks, blocks * size, (rank - d) % ranks


def allgather_bruck(rank: int, ranks: int, size: float) -> Program:
    for d in _distances(ranks):
        yield (rank - d) % ranks, min(d, ranks - d) * size, (rank + d) % ranks


def neighbour_exchange(rank: int, ranks: int, size: float) -> Program:
    if ranks % 2:
        yield from _ring(rank, ranks, size, ranks - 1)
        return
    for step in range(ranks // 2):
        partner = (rank + (1 if (rank + step) % 2 == 0 else -1)) % ranks
        yield partner, size if step == 0 else 2 * size, partner


def recursive_halving(rank: int, ranks: int, size: float) -> Program:
    for d in reversed(_distances(ranks)):
        yield (rank + d) % ranks, min(d, ranks - d) * size / ranks, (rank - d) % ranks


def rabenseifner(rank: int, ranks: int, size: float) -> Program:
    cube = 1 << (ranks.bit_length() - 1)
    rest = ranks - cube
    if rank < 2 * rest and rank % 2 == 0:
        yield rank + 1, size, None
        yield None, 0.0, rank + 1
        return
    if rank < 2 * rest:
        yield None, 0.0, rank - 1
    corner = rank // 2 if rank < 2 * rest else rank - rest
    halves = [(d, size / 2 ** (place + 1)) for place, d in enumerate(_distances(cube))]
    for d, part in [*halves, *reversed(halves)]:
        partner = corner ^ d
        partner = 2 * partner + 1 if partner < rest else partner + rest
        yield partner, part, partner
    if rank < 2 * rest:
        yield rank - 1, size, None


def pipelined_chain(rank: int, ranks: int, size: float) -> Program:
    """In segments of 1000 bytes at most, all of one size."""
    parts = max(math.ceil(size / 1000), 1)
    for _ in range(parts):
        if rank:
            yield None, 0.0, rank - 1
        if rank + 1 < ranks:
            yield rank + 1, size / parts, None


#: By (operation, algorithm).
PROGRAMS: dict[tuple[str, str], Programs] = {
    ("scatter", "binomial"): scatter,
    ("gather", "binomial"): gather,
    ("broadcast", "scatter_allgather"): scatter_allgather,
    ("broadcast", "chain"): pipelined_chain,
    ("allreduce", "ring"): allreduce_ring,
    ("allreduce", "rabenseifner"): rabenseifner,
    ("all_to_all", "bruck"): all_to_all_bruck,
    ("allgather", "bruck"): allgather_bruck,
    ("allgather", "neighbour_exchange"): neighbour_exchange,
    ("reduce_scatter", "recursive_halving"): recursive_halving,
}
