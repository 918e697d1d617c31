"""Closed forms of allgather: every rank gets the bytes of every other."""

from __future__ import annotations

import numpy as np

from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, Ints, Rows, register_algorithm_form
from simcodesign.analytic.collectives.all_to_all import exchange_linear, sent_to_each_other
from simcodesign.analytic.collectives.patterns import all_pairs, powers_of_two, ring
from simcodesign.analytic.collectives.rounds import equal_rounds, growing_rounds
from simcodesign.analytic.message_costs import Cost, MessageCosts
from simcodesign.analytic.pipelining.succession import SYMMETRIC, Succession
from simcodesign.core.units import FloatOrArray


def allgather_ring(size: FloatOrArray, p: MessageCosts) -> Cost:
    """P - 1 steps of one message each way."""
    return equal_rounds(p.ranks - 1, size, p)


def allgather_bruck(size: FloatOrArray, p: MessageCosts) -> Cost:
    """ceil(log2 P) rounds: of the P - 1 blocks of the others 1, 2, 4, ..., and in the last what is missing."""
    return growing_rounds(size, p, lambda k: np.clip(p.ranks - 2.0**k, 0.0, 2.0**k))


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
        synchronises=True,
        succession=SYMMETRIC,
    ),
)
register_algorithm_form(
    "allgather",
    "linear",
    AlgorithmForm(
        exchange_linear, all_pairs, "P - 1", "P - 1", sent_to_each_other, "Allgather_linear", succession=SYMMETRIC
    ),
)
