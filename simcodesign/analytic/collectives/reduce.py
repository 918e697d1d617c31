"""Closed forms of reduce: rank 0 gets the reduction of the bytes of all."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, register_algorithm_form
from simcodesign.analytic.collectives.pipelines.any_tree import TreeSteps, check_in_order, tree_in_segments
from simcodesign.analytic.collectives.pipelines.chain import pipelined_chain_s
from simcodesign.analytic.collectives.pipelines.tree import Path, pipelined_tree
from simcodesign.analytic.collectives.scatter import sent_by_others
from simcodesign.analytic.messages import ordered_steps
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts, ceil_log2
from simcodesign.analytic.messages.rounds import row_s, tree_s
from simcodesign.analytic.messages.trees import Taken, binary_up, doubling_up, halving_up, interleaved_binary_up
from simcodesign.core.units import FloatOrArray


def reduce_binomial(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Up a binomial tree, the nearest child first, which has the smallest subtree; receives are v apart."""
    m = p.reduced(size)
    if m.in_order:
        return _reduction(tree_s(p.ranks, m.whole_s, m.next_receive_s), ceil_log2(p.ranks), size, p)
    return _of_root(halving_up(p.ranks, lambda _: m), size, p)


def reduce_binomial_far(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Up a binomial tree, the farthest child first."""
    m = p.reduced(size)
    return _of_root(doubling_up(p.ranks, lambda _: m), size, p)


def reduce_binomial_in_segments(size: FloatOrArray, p: MessageCosts, segments: FloatOrArray) -> Cost:
    """Up the tree, the nearest child first, segment after segment. InputError in LogGOPS, and where senders wait."""
    m = p.reduced(size / segments)
    check_in_order(m)
    return _along(pipelined_tree(p.ranks, segments, m), size, p, segments)


def reduce_tree_in_segments(size: FloatOrArray, p: MessageCosts, segments: FloatOrArray, steps: TreeSteps) -> Cost:
    """Up a tree of these steps, segment after segment. InputError in LogGOPS, and where senders wait."""
    path = tree_in_segments(steps, p.ranks, segments, p.reduced(size / segments), up=True)
    return _along(path, size, p, segments)


def _along(path: Path, size: FloatOrArray, p: MessageCosts, segments: FloatOrArray) -> Cost:
    """Price a reduction by its longest path."""
    cost = _reduction(path.time_s, path.received / segments, size, p)
    return replace(cost, messages=(p.ranks - 1) * segments)


def reduce_binary_tree(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Up a binary tree; every rank receives from its right child first."""
    return _of_root(binary_up(p.ranks, p.reduced(size)), size, p)


def reduce_interleaved_binary_tree(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Up Open MPI's binary tree; every rank receives from its nearer child first."""
    return _of_root(interleaved_binary_up(p.ranks, p.reduced(size)), size, p)


def reduce_chain(size: FloatOrArray, p: MessageCosts) -> Cost:
    """P - 1 whole messages one after another, each of which is reduced before the next."""
    messages = p.ranks - 1
    return _reduction(messages * p.reduced(size).whole_s, messages, size, p)


def reduce_in_segments(size: FloatOrArray, p: MessageCosts, segments: FloatOrArray) -> Cost:
    """Reduction segment after segment."""
    time = pipelined_chain_s(p.ranks, segments, p.reduced(size / segments))
    on_path = np.where(np.asarray(p.ranks) > 1, (p.ranks - 2 + segments) / segments, 0.0)
    return replace(_reduction(time, on_path, size, p), messages=(p.ranks - 1) * segments)


def reduce_linear(size: FloatOrArray, p: MessageCosts) -> Cost:
    """All others send at the same time; the root takes up and reduces P - 1 messages."""
    m, others = p.reduced(size), p.ranks - 1
    return _reduction(row_s(others, m.whole_s, m.next_receive_s), others, size, p)


def _of_root(root: Taken, size: FloatOrArray, p: MessageCosts) -> Cost:
    return _reduction(root.done_s, root.on_path, size, p)


def _reduction(time_s: FloatOrArray, on_path: FloatOrArray, size: FloatOrArray, p: MessageCosts) -> Cost:
    """P - 1 messages, each of which is reduced, ``on_path`` of them on the longest path."""
    sent = (p.ranks - 1) * size
    return Cost(time_s, p.ranks - 1, sent, on_path * size * p.reduction_s_per_byte, sent)


register_algorithm_form(
    "reduce",
    "binomial",
    AlgorithmForm(
        reduce_binomial,
        partial(ordered_steps.tree, up=True, reduced=1.0),
        "log2(P)",
        "log2(P)",
        sent_by_others,
        segmented=reduce_binomial_in_segments,
        pace_in_turn="1",
    ),
)
register_algorithm_form(
    "reduce",
    "bine",
    AlgorithmForm(
        reduce_binomial,
        partial(ordered_steps.bine_tree, up=True, reduced=1.0),
        "log2(P)",
        "log2(P)",
        sent_by_others,
    ),
)
register_algorithm_form(
    "reduce",
    "binomial_far",
    AlgorithmForm(
        reduce_binomial_far,
        partial(ordered_steps.near_tree, up=True, reduced=1.0),
        "log2(P)",
        "log2(P)",
        sent_by_others,
    ),
)
for _name, _cost, _steps in (
    ("binary_tree", reduce_binary_tree, partial(ordered_steps.binary_tree, up=True, reduced=1.0)),
    (
        "interleaved_binary_tree",
        reduce_interleaved_binary_tree,
        partial(ordered_steps.interleaved_tree, up=True, reduced=1.0),
    ),
):
    register_algorithm_form(
        "reduce",
        _name,
        AlgorithmForm(
            _cost,
            _steps,
            "log2(P)",
            "log2(P)",
            sent_by_others,
            segmented=partial(reduce_tree_in_segments, steps=_steps),
            pace_in_turn="1",
        ),
    )
register_algorithm_form(
    "reduce",
    "chain",
    AlgorithmForm(
        reduce_chain,
        partial(ordered_steps.chain, back=True, reduced=1.0),
        "P - 1",
        "P - 1",
        sent_by_others,
        segmented=reduce_in_segments,
        pace_in_turn="1",
    ),
)
register_algorithm_form(
    "reduce",
    "linear",
    AlgorithmForm(
        reduce_linear,
        partial(ordered_steps.star, up=True, reduced=1.0),
        "min(P - 1, 1)",
        "min(P - 1, 1)",
        sent_by_others,
    ),
)
