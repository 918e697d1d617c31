"""Closed forms of barrier: no rank continues before all have arrived."""

from __future__ import annotations

import numpy as np

from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, register_algorithm_form
from simcodesign.analytic.messages import ordered_steps
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts, ceil_log2
from simcodesign.analytic.messages.rounds import equal_rounds
from simcodesign.analytic.pipelining.succession import Succession
from simcodesign.core.units import FloatOrArray


def barrier_dissemination(size: FloatOrArray, p: MessageCosts) -> Cost:
    """ceil(log2 P) rounds of a message each."""
    return equal_rounds(ceil_log2(p.ranks), size, p)


def sent_by_signals(ranks: FloatOrArray) -> FloatOrArray:
    """Signals carry no bytes."""
    return 0.0 * np.asarray(ranks)


register_algorithm_form(
    "barrier",
    "dissemination",
    AlgorithmForm(
        barrier_dissemination,
        ordered_steps.dissemination,
        "log2(P)",
        "log2(P)",
        sent_by_signals,
        synchronises=True,
        succession=Succession(ends_together=True, rounds=lambda size, ranks: (float(ceil_log2(ranks)), size)),
    ),
)
