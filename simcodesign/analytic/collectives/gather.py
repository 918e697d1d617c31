"""Closed forms of gather: rank 0 gets the bytes of every other rank."""

from __future__ import annotations

from functools import partial

import numpy as np

from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, register_algorithm_form
from simcodesign.analytic.collectives.pipelines.any_tree import check_in_order
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
    """Price a linear gather of (..., P) bytes by the rank that sends them, the root's own first.

    Some message is waited for, and all later ones are then taken up without waiting.

    In LogGOPS the root takes them up as they come: with O > G an estimate, since it matters then which one is last.
    """
    m = p.message(np.asarray(sizes)[..., 1:])
    arrival_s, receive_s, next_s = np.broadcast_arrays(m.arrival_s, m.receive_s, m.next_receive_s)
    from_here_s = np.flip(np.cumsum(np.flip(next_s, axis=-1), axis=-1), axis=-1) - next_s[..., -1:]
    done_s = arrival_s + from_here_s + receive_s[..., -1:]
    return of_others(np.max(done_s, axis=-1, keepdims=True, initial=0.0), sizes)


def gather_linear_synchronised(size: FloatOrArray, p: MessageCosts, segments: FloatOrArray = 1.0) -> Cost:
    """Return the root asks one rank after another for its first segment by a message of no bytes, and waits for it.

    Then it takes up the rest of all. InputError for more than one segment in LogGOPS, and where senders wait.

    With A for the whole time of question and answer, the rest of rank i is there c + a after the i-th question came:
    (P - 1) (A + r), or if that is later (P - 2) A + D(0) + c + D(rest), or the rest of rank 1 and all others after it.
    """
    others, has_rest = p.ranks - 1, np.asarray(segments) > 1
    ask, first, rest = p.message(0.0 * size), p.message(size / segments), p.message(size - size / segments)
    if has_rest.any():
        check_in_order(rest)
    asked_s = ask.whole_s + first.whole_s
    period_s = np.maximum(np.maximum(asked_s, ask.apart_s), first.next_receive_s)
    time_s = row_s(others, asked_s, period_s)
    arrival_s = ask.whole_s + first.send_s + rest.arrival_s
    taken_s = np.maximum(
        np.maximum(time_s + others * rest.receive_s, np.maximum(others - 1, 0) * asked_s + arrival_s + rest.receive_s),
        arrival_s + others * rest.receive_s,
    )
    time_s = np.where(has_rest & (np.asarray(others) > 0), taken_s, time_s)
    return Cost(time_s, others * np.where(has_rest, 3.0, 2.0), others * size, empty_messages=others)


register_algorithm_form(
    "gather",
    "linear_synchronised",
    AlgorithmForm(
        gather_linear_synchronised,
        ordered_steps.synchronised_star,
        "2*(P - 1)",
        "P - 1",
        sent_by_others,
        segmented=gather_linear_synchronised,
        segmented_steps=ordered_steps.synchronised_star,
    ),
)
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
