"""Closed forms of allgather: every rank gets the bytes of every other."""

from __future__ import annotations

import numpy as np

from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, register_algorithm_form
from simcodesign.analytic.collectives.all_to_all import (
    all_of_sizes,
    exchange_linear,
    linear_of_sizes,
    sent_to_each_other,
)
from simcodesign.analytic.messages import ordered_steps
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts, ceil_log2
from simcodesign.analytic.messages.rounds import Round, equal_rounds, growing_rounds, rounds_of
from simcodesign.analytic.pipelining.succession import SYMMETRIC, Succession
from simcodesign.analytic.rank_by_rank.sizes_by_rank import ring_s
from simcodesign.core.units import FloatOrArray


def allgather_ring(size: FloatOrArray, p: MessageCosts) -> Cost:
    """P - 1 steps of one message each way."""
    return equal_rounds(p.ranks - 1, size, p)


def ring_of_sizes(sizes: FloatOrArray, p: MessageCosts) -> Cost:
    """Ring of (..., P) bytes by rank: the costliest block passes P - 1 ranks, and no round takes longer than that.

    In LogGOPS an estimate, as if all blocks took the longest times."""
    return all_of_sizes(ring_s(sizes, p), sizes)


def allgather_bruck(size: FloatOrArray, p: MessageCosts) -> Cost:
    """ceil(log2 P) rounds: of the P - 1 blocks of the others 1, 2, 4, ..., and in the last what is missing.

    Then the P blocks are copied into the order of ranks.
    """
    return _doubling_rounds(size, p, p.ranks)


def allgather_recursive_doubling(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Return rounds between pairs, whose blocks are in order, if P is a power of two."""
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


register_algorithm_form(
    "allgather",
    "ring",
    AlgorithmForm(
        allgather_ring,
        ordered_steps.ring,
        "P - 1",
        "P - 1",
        sent_to_each_other,
        "Allgather_ring",
        synchronises=True,
        succession=Succession(ends_together=True, rounds=lambda size, ranks: (ranks - 1, size)),
        of_sizes=ring_of_sizes,
    ),
)
register_algorithm_form(
    "allgather",
    "recursive_doubling",
    AlgorithmForm(
        allgather_recursive_doubling,
        ordered_steps.doubling_gather,
        "log2(P)",
        "P - 1",
        sent_to_each_other,
        synchronises=True,
        succession=SYMMETRIC,
    ),
)
register_algorithm_form(
    "allgather",
    "neighbour_exchange",
    AlgorithmForm(
        allgather_neighbour_exchange,
        ordered_steps.neighbours,
        "floor(P/2)",
        "P - 1",
        sent_to_each_other,
        synchronises=True,
        succession=SYMMETRIC,
    ),
)
register_algorithm_form(
    "allgather",
    "bruck",
    AlgorithmForm(
        allgather_bruck,
        ordered_steps.bruck_gather,
        "log2(P)",
        "P - 1",
        sent_to_each_other,
        "Allgather_bruck",
        copies_in_turn="P*min(P - 1, 1)",
        synchronises=True,
        succession=SYMMETRIC,
    ),
)
register_algorithm_form(
    "allgather",
    "linear",
    AlgorithmForm(
        exchange_linear,
        ordered_steps.burst_to_the_right,
        "P - 1",
        "P - 1",
        sent_to_each_other,
        "Allgather_linear",
        succession=SYMMETRIC,
        of_sizes=linear_of_sizes,
    ),
)
