"""Closed forms of broadcast: the bytes of rank 0 go to every other rank."""

from __future__ import annotations

import numpy as np

from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, Ints, Rows, register_algorithm_form
from simcodesign.analytic.collectives.patterns import binomial_tree
from simcodesign.analytic.collectives.rounds import row_s, tree_s
from simcodesign.analytic.message_costs import Cost, MessageCosts
from simcodesign.core.units import FloatOrArray
from simcodesign.fitting.normal_form import COLLECTIVES


def broadcast_binomial(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Down a binomial tree, the largest subtree first.

    log2 P (2o + L + (m - 1) G) for LogGP, P = 2^k and gaps that do not outlast a message; else see ``tree_s``.
    """
    m = p.message(size)
    return Cost(tree_s(p.ranks, m.whole_s, m.apart_s), p.ranks - 1, (p.ranks - 1) * size)


def broadcast_linear(size: FloatOrArray, p: MessageCosts) -> Cost:
    """The root sends P - 1 times, ``apart_s`` apart; the last receiver receives."""
    m, others = p.message(size), p.ranks - 1
    return Cost(row_s(others, m.whole_s, m.apart_s), others, others * size)


def star(rank: Ints, size: float) -> Rows:
    """Rank 0 sends to every other."""
    yield np.zeros_like(rank[1:]), rank[1:], size


def sent_per_byte(ranks: FloatOrArray) -> FloatOrArray:
    """P - 1 messages, over P processes."""
    return COLLECTIVES["Bcast"].numeric(np.asarray(ranks, dtype=np.float64))


register_algorithm_form(
    "broadcast",
    "binomial",
    AlgorithmForm(broadcast_binomial, binomial_tree, "log2(P)", "log2(P)", sent_per_byte, "Bcast"),
)
register_algorithm_form(
    "broadcast",
    "linear",
    AlgorithmForm(broadcast_linear, star, "P - 1", "P - 1", sent_per_byte, "Bcast_linear"),
)
