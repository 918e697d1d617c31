"""Closed forms of reduce-scatter: each rank gets a P-th of the reduction of the bytes of all."""

from __future__ import annotations

import numpy as np

from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, register_algorithm_form
from simcodesign.analytic.collectives.scatter import sent_by_others
from simcodesign.analytic.messages import ordered_steps
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts, ceil_log2
from simcodesign.analytic.messages.rounds import Round, reducing_rounds, rounds_of
from simcodesign.analytic.pipelining.succession import SYMMETRIC
from simcodesign.core.units import FloatOrArray


def reduce_scatter_recursive_halving(size: FloatOrArray, p: MessageCosts) -> Cost:
    """ceil(log2 P) rounds: of the P parts, P - 2^k in the first one, then 2^k / 2, ..., 2, 1.

    Unless P is a power of two, a rank first copies its P parts into the order in which it sends them.
    """
    rounds, part = ceil_log2(p.ranks), size / p.ranks
    copied = np.where(np.exp2(rounds) == p.ranks, 0.0, p.ranks)

    def one(k: int) -> Round:
        parts = np.clip(p.ranks - 2.0**k, 0.0, 2.0**k) * part
        return Round(parts, k < rounds, True, np.where(k + 1 == rounds, copied, 0.0))

    return rounds_of(p, map(one, reversed(range(int(np.max(rounds))))), part)


def reduce_scatter_in_steps(size: FloatOrArray, p: MessageCosts) -> Cost:
    """P - 1 steps with a P-th of the data each way."""
    return reducing_rounds(p.ranks - 1, size / p.ranks, p)


for _algorithm, _cost, _steps, _messages in (
    ("recursive_halving", reduce_scatter_recursive_halving, ordered_steps.recursive_halving, "log2(P)"),
    ("ring", reduce_scatter_in_steps, ordered_steps.parts_around_the_ring, "P - 1"),
    ("pairwise", reduce_scatter_in_steps, ordered_steps.parts_in_pairs, "P - 1"),
):
    register_algorithm_form(
        "reduce_scatter",
        _algorithm,
        AlgorithmForm(
            _cost,
            _steps,
            _messages,
            "(P - 1)/P",
            sent_by_others,
            synchronises=True,
            succession=SYMMETRIC,
        ),
    )
