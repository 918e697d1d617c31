"""Closed forms of gather: rank 0 gets the bytes of every other rank."""

from __future__ import annotations

from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, register_algorithm_form
from simcodesign.analytic.collectives.scatter import sent_by_others, sent_through_tree
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts
from simcodesign.analytic.messages.patterns import doubling_blocks, halving_blocks, star, upwards
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
    """The same, the farthest child first: the nearest one sends half of the blocks."""
    time = doubling_up(p.ranks, lambda blocks: p.message(blocks * size)).done_s
    return Cost(time, p.ranks - 1, tree_blocks(p.ranks) * size)


def gather_linear(size: FloatOrArray, p: MessageCosts) -> Cost:
    """All others send at the same time; the root takes up P - 1 messages, ``next_receive_s`` apart."""
    m, others = p.message(size), p.ranks - 1
    return Cost(row_s(others, m.whole_s, m.next_receive_s), others, others * size)


register_algorithm_form(
    "gather",
    "binomial",
    AlgorithmForm(gather_binomial, upwards(halving_blocks), "log2(P)", "P - 1", sent_through_tree),
)
register_algorithm_form(
    "gather",
    "binomial_far",
    AlgorithmForm(gather_binomial_far, upwards(doubling_blocks), "log2(P)", "P - 1", sent_through_tree),
)
register_algorithm_form(
    "gather",
    "linear",
    AlgorithmForm(gather_linear, upwards(star), "min(P - 1, 1)", "min(P - 1, 1)", sent_by_others),
)
