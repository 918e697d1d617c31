"""Closed forms of gather: rank 0 gets the bytes of every other rank."""

from __future__ import annotations

from functools import partial

import numpy as np

from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, register_algorithm_form
from simcodesign.analytic.collectives.scatter import of_others, sent_by_others, sent_through_tree
from simcodesign.analytic.messages import ordered_steps
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts
from simcodesign.analytic.messages.rounds import row_s, tree_blocks
from simcodesign.analytic.messages.trees import doubling_up, halving_up
from simcodesign.core.units import FloatOrArray


def gather_binomial(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Up a binomial tree, the nearest child first; a message has the blocks of a subtree.

    For P = 2^k in Hockney's model k (startup + receive overhead) + (P - 1) bytes x time per byte.
    """
    time = halving_up(p.ranks, lambda blocks: p.message(blocks * size)).done_s
    return Cost(time, p.ranks - 1, tree_blocks(p.ranks) * size)


def gather_binomial_far(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Binomial gather, the farthest child first: the nearest one sends half of the blocks."""
    time = doubling_up(p.ranks, lambda blocks: p.message(blocks * size)).done_s
    return Cost(time, p.ranks - 1, tree_blocks(p.ranks) * size)


def gather_linear(size: FloatOrArray, p: MessageCosts) -> Cost:
    """All others send at the same time; the root takes up P - 1 messages, ``next_receive_s`` apart."""
    m, others = p.message(size), p.ranks - 1
    return Cost(row_s(others, m.whole_s, m.next_receive_s), others, others * size)


def gather_linear_of_sizes(sizes: FloatOrArray, p: MessageCosts) -> Cost:
    """Linear gather of (..., P) bytes by the rank that sends them, the root's own first: some message is waited for,
    and all later ones are then taken up without waiting.

    In LogGOPS the root takes them up as they come: with O > G an estimate, since it matters then which one is last.
    """
    m = p.message(np.asarray(sizes)[..., 1:])
    arrival_s, receive_s, next_s = np.broadcast_arrays(m.arrival_s, m.receive_s, m.next_receive_s)
    from_here_s = np.flip(np.cumsum(np.flip(next_s, axis=-1), axis=-1), axis=-1) - next_s[..., -1:]
    done_s = arrival_s + from_here_s + receive_s[..., -1:]
    return of_others(np.max(done_s, axis=-1, keepdims=True, initial=0.0), sizes)


register_algorithm_form(
    "gather",
    "binomial",
    AlgorithmForm(
        gather_binomial,
        partial(ordered_steps.tree, up=True, in_blocks=True),
        "log2(P)",
        "P - 1",
        sent_through_tree,
    ),
)
register_algorithm_form(
    "gather",
    "binomial_far",
    AlgorithmForm(
        gather_binomial_far,
        partial(ordered_steps.near_tree, up=True, in_blocks=True),
        "log2(P)",
        "P - 1",
        sent_through_tree,
    ),
)
register_algorithm_form(
    "gather",
    "linear",
    AlgorithmForm(
        gather_linear,
        partial(ordered_steps.star, up=True),
        "min(P - 1, 1)",
        "min(P - 1, 1)",
        sent_by_others,
        of_sizes=gather_linear_of_sizes,
    ),
)
