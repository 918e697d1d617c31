"""Closed forms of reduce: rank 0 gets the reduction of the bytes of all."""

from __future__ import annotations

from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, register_algorithm_form
from simcodesign.analytic.collectives.broadcast import one_after_another
from simcodesign.analytic.collectives.gather import to_root_linear
from simcodesign.analytic.collectives.patterns import binary_tree, binomial_tree, chain, doubling_tree, star, upwards
from simcodesign.analytic.collectives.rounds import tree_s
from simcodesign.analytic.collectives.scatter import sent_by_others
from simcodesign.analytic.collectives.trees import binary_up_s, doubling_up_s, halving_up_s
from simcodesign.analytic.message_costs import Cost, MessageCosts
from simcodesign.core.units import FloatOrArray


def reduce_binomial(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Up a binomial tree, the nearest child first, which has the smallest subtree; receives are v apart."""
    m = p.message(size)
    time = tree_s(p.ranks, m.whole_s, m.next_receive_s) if m.in_order else halving_up_s(p.ranks, lambda _: m)
    return Cost(time, p.ranks - 1, (p.ranks - 1) * size)


def reduce_binomial_far(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Up a binomial tree, the farthest child first."""
    m = p.message(size)
    return Cost(doubling_up_s(p.ranks, lambda _: m), p.ranks - 1, (p.ranks - 1) * size)


def reduce_binary_tree(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Up a binary tree; every rank receives from its right child first."""
    return Cost(binary_up_s(p.ranks, p.message(size)), p.ranks - 1, (p.ranks - 1) * size)


register_algorithm_form(
    "reduce",
    "binomial",
    AlgorithmForm(reduce_binomial, upwards(binomial_tree), "log2(P)", "log2(P)", sent_by_others),
)
register_algorithm_form(
    "reduce",
    "binomial_far",
    AlgorithmForm(reduce_binomial_far, upwards(doubling_tree), "log2(P)", "log2(P)", sent_by_others),
)
register_algorithm_form(
    "reduce",
    "binary_tree",
    AlgorithmForm(reduce_binary_tree, upwards(binary_tree), "log2(P)", "log2(P)", sent_by_others),
)
register_algorithm_form(
    "reduce", "chain", AlgorithmForm(one_after_another, upwards(chain), "P - 1", "P - 1", sent_by_others)
)
register_algorithm_form(
    "reduce",
    "linear",
    AlgorithmForm(to_root_linear, upwards(star), "min(P - 1, 1)", "min(P - 1, 1)", sent_by_others),
)
