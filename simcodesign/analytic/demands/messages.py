"""What the closed forms of all demands with messages share: a charge by the costs of their messages."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simcodesign.analytic.demands.base import Charge, Draw
from simcodesign.analytic.message_costs import Cost, MessageCosts, price
from simcodesign.analytic.power import byte_power_w
from simcodesign.analytic.route_links import worst_links
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.evaluation import EvaluatedStep


def prices_at(step: EvaluatedStep) -> MessageCosts:
    """The prices of messages at this place of the program."""
    ranks = step.evaluation.ranks
    return price(step.machine.network, ranks, links=worst_links(step.machine, ranks))


def flies_at(prices: MessageCosts, size_bytes: FloatOrArray) -> bool:
    """Whether a message is on the way for some time after its sender is done with it."""
    return bool(np.any(np.asarray(prices.message(size_bytes).flight_s) > 0))


def message_charge(step: EvaluatedStep, cost: Cost, busy_s: Callable[[], FloatOrArray]) -> Charge:
    """A charge by its costs; all ranks together are at work on the messages for ``busy_s()``, which is
    asked for only where the machine says what it draws."""
    draws = _draws(step, cost, busy_s()) if step.evaluation.design_point.has_power else ()
    return Charge(
        "communication",
        cost.time_s,
        messages=cost.messages,
        message_bytes=cost.message_bytes,
        draws=draws,
        computation_s=cost.reduction_s,
    )


def _draws(step: EvaluatedStep, cost: Cost, busy_s: FloatOrArray) -> tuple[Draw, ...]:
    """The power and energy of sends and receives, of operators, while they are at work, and of bytes."""
    network = step.machine.network
    power_w = 0.0 if network.dynamic_power_w is None else network.dynamic_power_w
    per_byte_j = 0.0 if network.energy_per_byte_j is None else network.energy_per_byte_j
    energy_j = busy_s * power_w + cost.message_bytes * per_byte_j
    at_work_w = step.over_ranks(np.where(np.asarray(busy_s) > 0, power_w, 0.0) * step.present)
    reduction_j, processor_w = _reduction(step, cost)
    return (
        Draw("processor", reduction_j, np.where(reduction_j > 0, processor_w, 0.0), of_all=True),
        Draw("network", energy_j, at_work_w, of_all=True),
        Draw("bytes", 0.0, byte_power_w(network, cost), of_all=True),
    )


def _reduction(step: EvaluatedStep, cost: Cost) -> tuple[FloatOrArray, FloatOrArray]:
    """The energy of the operators of all ranks, and their power while all are at work."""
    power_w = step.machine.processor.dynamic_power_w
    each_w = 0.0 if power_w is None else power_w
    energy_j = cost.reduced_bytes * step.machine.network.reduction_s_per_byte * each_w
    return np.asarray(energy_j), step.over_ranks(each_w * step.present)
