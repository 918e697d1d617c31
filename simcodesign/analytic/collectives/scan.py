"""Closed forms of scan: rank r gets the reduction of the bytes of the ranks 0 to r."""

from __future__ import annotations

from functools import partial

import numpy as np

from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, register_algorithm_form
from simcodesign.analytic.collectives.allreduce import sent_by_doubling
from simcodesign.analytic.collectives.scatter import sent_by_others
from simcodesign.analytic.messages import ordered_steps
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts, ceil_log2
from simcodesign.analytic.messages.rounds import most_ones_up_to, numbers_with_digit
from simcodesign.core.units import FloatOrArray


def scan_recursive_doubling(size: FloatOrArray, p: MessageCosts) -> Cost:
    """k = ceil(log2 P) rounds of exchanges (D) and reductions (w, for the upper rank of a pair 2 w).

    The longest way changes the rank in every round. It ends at the rank of k - 1 ones, which has no partner in the last
    round, after (k - 1) (D + 2 w); or in the upper half, after k (D + w) and another w for each of the most ones that
    the number of a rank there has.
    """
    depth, work_s = ceil_log2(p.ranks), size * p.reduction_s_per_byte
    upper = p.ranks - np.exp2(depth - 1)  # ranks in the upper half
    ones = most_ones_up_to(np.maximum(upper - 1, 0.0)) + 1
    m = p.message(size)
    above = depth * m.round_s + (depth + ones) * work_s
    below = (depth - 1) * (m.round_s + 2 * work_s)
    is_above, several = above >= below, depth > 0
    pairs: FloatOrArray = sum(
        (numbers_with_digit(p.ranks, place) for place in range(int(np.max(depth)))), start=np.zeros(np.shape(p.ranks))
    )
    reductions = np.where(is_above, depth + ones, 2 * (depth - 1))
    return Cost(
        np.where(several, np.maximum(above, below) + m.exchange_s - m.round_s, 0.0),
        2 * pairs,
        2 * pairs * size,
        np.where(several, reductions, 0.0) * work_s,
        3 * pairs * size,
    )


def scan_linear(size: FloatOrArray, p: MessageCosts) -> Cost:
    """P - 1 messages, one after another."""
    steps, m = p.ranks - 1, p.reduced(size)
    reduced = steps * size
    return Cost(steps * m.whole_s, steps, reduced, reduced * p.reduction_s_per_byte, reduced)


register_algorithm_form(
    "scan",
    "recursive_doubling",
    AlgorithmForm(
        scan_recursive_doubling,
        ordered_steps.scan_pairs,
        "log2(P)",
        "log2(P)",
        sent_by_doubling,
    ),
)
register_algorithm_form(
    "scan",
    "linear",
    AlgorithmForm(
        scan_linear,
        partial(ordered_steps.chain, reduced=1.0),
        "P - 1",
        "P - 1",
        sent_by_others,
    ),
)
