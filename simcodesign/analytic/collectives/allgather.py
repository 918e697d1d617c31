"""Closed forms of allgather: every rank gets the bytes of every other."""

from __future__ import annotations

import numpy as np

from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, Ints, Rows, register_algorithm_form
from simcodesign.analytic.collectives.all_to_all import (
    all_of_sizes,
    exchange_linear,
    linear_of_sizes,
    sent_to_each_other,
)
from simcodesign.analytic.messages import ordered_steps
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts, ceil_log2
from simcodesign.analytic.messages.patterns import all_pairs, powers_of_two, ring
from simcodesign.analytic.messages.rounds import Round, equal_rounds, growing_rounds, rounds_of
from simcodesign.analytic.pipelining.succession import SYMMETRIC, Succession
from simcodesign.analytic.rank_by_rank.sizes_by_rank import ring_s
from simcodesign.core.units import FloatOrArray


def allgather_ring(size: FloatOrArray, p: MessageCosts) -> Cost:
    """P - 1 steps of one message each way."""
    return equal_rounds(p.ranks - 1, size, p)


def ring_of_sizes(sizes: FloatOrArray, p: MessageCosts) -> Cost:
    """The same, (..., P) bytes by rank: the costliest block passes P - 1 ranks, and no round takes longer than that.

    In LogGOPS an estimate, as if all blocks took the longest times."""
    return all_of_sizes(ring_s(sizes, p), sizes)


def allgather_bruck(size: FloatOrArray, p: MessageCosts) -> Cost:
    """ceil(log2 P) rounds: of the P - 1 blocks of the others 1, 2, 4, ..., and in the last what is missing. Then the P
    blocks are copied into the order of ranks."""
    return _doubling_rounds(size, p, p.ranks)


def allgather_recursive_doubling(size: FloatOrArray, p: MessageCosts) -> Cost:
    """The same rounds between pairs, whose blocks are in order, if P is a power of two."""
    return _doubling_rounds(size, p, np.where(np.exp2(ceil_log2(p.ranks)) == p.ranks, 0.0, p.ranks))


def _doubling_rounds(size: FloatOrArray, p: MessageCosts, copied: FloatOrArray) -> Cost:
    """So many blocks are copied after the last round."""
    return growing_rounds(
        size,
        p,
        lambda k: np.clip(p.ranks - 2.0**k, 0.0, 2.0**k),
        lambda k, is_last: (0.0, np.where(is_last, copied, 0.0)),
    )


def allgather_neighbour_exchange(size: FloatOrArray, p: MessageCosts) -> Cost:
    """P / 2 rounds: of one block, then of two; as a ring if P is odd. From the fourth round on, all take as long."""
    is_odd, rounds = np.asarray(p.ranks) % 2 > 0, np.floor(np.asarray(p.ranks) / 2)
    first = rounds_of(p, (Round((1.0 if k == 0 else 2.0) * size, k < rounds) for k in range(3)))
    later = np.maximum(rounds - 3, 0.0)
    ring_cost, even_s = allgather_ring(size, p), first.time_s + later * p.message(2.0 * size).round_s
    messages = np.where(is_odd, ring_cost.messages, p.ranks * rounds)
    return Cost(np.where(is_odd, ring_cost.time_s, even_s), messages, ring_cost.message_bytes)


def doubling_gather(rank: Ints, size: float) -> Rows:
    """Pairs at distance 1, 2, 4, ... with all that they have; by Bruck's algorithm if P is no power of two."""
    if len(rank) & (len(rank) - 1):
        yield from bruck_gather(rank, size)
        return
    for step in powers_of_two(rank):
        yield rank, rank ^ step, size * step


def neighbours_in_turn(rank: Ints, size: float) -> Rows:
    """One block to a neighbour, then two to the other one and to this one in turn; a ring if P is odd."""
    count = len(rank)
    if count % 2:
        yield from ring(rank, size)
        return
    for step in range(count // 2):
        way = np.where((rank + step) % 2, -1, 1)
        yield rank, (rank + way) % count, size * min(step + 1, 2)


def bruck_gather(rank: Ints, size: float) -> Rows:
    """At distance 1, 2, 4, ...: all blocks that were gathered so far, in the last round only those missing."""
    for step in powers_of_two(rank):
        yield rank, (rank - step) % len(rank), size * min(step, len(rank) - step)


register_algorithm_form(
    "allgather",
    "ring",
    AlgorithmForm(
        allgather_ring,
        ring,
        "P - 1",
        "P - 1",
        sent_to_each_other,
        "Allgather_ring",
        synchronises=True,
        succession=Succession(ends_together=True, rounds=lambda size, ranks: (ranks - 1, size)),
        of_sizes=ring_of_sizes,
        steps=ordered_steps.ring,
    ),
)
register_algorithm_form(
    "allgather",
    "recursive_doubling",
    AlgorithmForm(
        allgather_recursive_doubling,
        doubling_gather,
        "log2(P)",
        "P - 1",
        sent_to_each_other,
        synchronises=True,
        succession=SYMMETRIC,
        steps=ordered_steps.doubling_gather,
    ),
)
register_algorithm_form(
    "allgather",
    "neighbour_exchange",
    AlgorithmForm(
        allgather_neighbour_exchange,
        neighbours_in_turn,
        "floor(P/2)",
        "P - 1",
        sent_to_each_other,
        synchronises=True,
        succession=SYMMETRIC,
        steps=ordered_steps.neighbours,
    ),
)
register_algorithm_form(
    "allgather",
    "bruck",
    AlgorithmForm(
        allgather_bruck,
        bruck_gather,
        "log2(P)",
        "P - 1",
        sent_to_each_other,
        "Allgather_bruck",
        copies_in_turn="P*min(P - 1, 1)",
        synchronises=True,
        succession=SYMMETRIC,
        steps=ordered_steps.bruck_gather,
    ),
)
register_algorithm_form(
    "allgather",
    "linear",
    AlgorithmForm(
        exchange_linear,
        all_pairs,
        "P - 1",
        "P - 1",
        sent_to_each_other,
        "Allgather_linear",
        succession=SYMMETRIC,
        of_sizes=linear_of_sizes,
        steps=ordered_steps.burst_to_the_right,
    ),
)
