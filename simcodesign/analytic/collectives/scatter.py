"""Closed forms of scatter: rank 0 has bytes for every other rank."""

from __future__ import annotations

from functools import partial

import numpy as np

from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, register_algorithm_form
from simcodesign.analytic.messages import ordered_steps
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts
from simcodesign.analytic.messages.rounds import row_s, tree_blocks
from simcodesign.analytic.messages.trees import doubling_down_s, halving_down_s
from simcodesign.core.units import FloatOrArray


def scatter_binomial(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Down a binomial tree, the farthest child first; a message has the blocks of a subtree.

    For P = 2^k in Hockney's model k (startup + receive overhead) + (P - 1) bytes x time per byte.
    """
    time = halving_down_s(p.ranks, lambda blocks: p.message(blocks * size))
    return Cost(time, p.ranks - 1, tree_blocks(p.ranks) * size)


def scatter_binomial_near(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Binomial scatter, the nearest child first: it gets half of the blocks."""
    time = doubling_down_s(p.ranks, lambda blocks: p.message(blocks * size))
    return Cost(time, p.ranks - 1, tree_blocks(p.ranks) * size)


def scatter_linear(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Return the root sends P - 1 times, ``apart_s`` apart; the last receiver receives."""
    m, others = p.message(size), p.ranks - 1
    return Cost(row_s(others, m.whole_s, m.apart_s), others, others * size)


def scatter_linear_of_sizes(sizes: FloatOrArray, p: MessageCosts) -> Cost:
    """Price a linear scatter of (..., P) bytes by the rank that gets them, the root's own first.

    A message begins when those before it let it, and the last one to be received ends the operation.
    """
    m = p.message(np.asarray(sizes)[..., 1:])
    whole_s, apart_s = np.broadcast_arrays(m.whole_s, m.apart_s)
    done_s = np.cumsum(apart_s, axis=-1) - apart_s + whole_s
    return of_others(np.max(done_s, axis=-1, keepdims=True, initial=0.0), sizes)


def of_others(time_s: FloatOrArray, sizes: FloatOrArray) -> Cost:
    """Return the cost of a whole operation in which a message goes between the root and every other rank.

    (..., P) bytes, the root first; with an axis of length 1 instead of the ranks.
    """
    others = np.asarray(sizes)[..., 1:]
    return Cost(time_s, float(others.shape[-1]), np.sum(others, axis=-1, keepdims=True))


def sent_through_tree(ranks: FloatOrArray) -> FloatOrArray:
    """P blocks, each sent half of log2 P times, over P processes."""
    sent: FloatOrArray = 0.5 * np.log2(ranks)
    return sent


def sent_by_others(ranks: FloatOrArray) -> FloatOrArray:
    """P - 1 messages, over P processes."""
    sent: FloatOrArray = (np.asarray(ranks) - 1.0) / np.asarray(ranks)
    return sent


register_algorithm_form(
    "scatter",
    "binomial",
    AlgorithmForm(
        scatter_binomial,
        partial(ordered_steps.tree, in_blocks=True),
        "log2(P)",
        "P - 1",
        sent_through_tree,
    ),
)
register_algorithm_form(
    "scatter",
    "binomial_near",
    AlgorithmForm(
        scatter_binomial_near,
        partial(ordered_steps.near_tree, in_blocks=True),
        "log2(P)",
        "P - 1",
        sent_through_tree,
    ),
)
register_algorithm_form(
    "scatter",
    "linear",
    AlgorithmForm(
        scatter_linear,
        ordered_steps.star,
        "P - 1",
        "P - 1",
        sent_by_others,
        of_sizes=scatter_linear_of_sizes,
    ),
)
