"""Shared parts of the closed forms of all demands with messages: a charge by the costs of their messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from simcodesign.analytic.demands.base import Charge, Draw
from simcodesign.analytic.group_sizes import GroupSize
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts, price
from simcodesign.analytic.messages.route_links import modelled_hops, worst_links
from simcodesign.analytic.power import byte_power_w
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.evaluation import EvaluatedStep


def prices_at(step: EvaluatedStep, members: FloatOrArray | None = None) -> MessageCosts:
    """Return the prices of messages at this place of the program.

    Among ``members`` of all ranks if that is not None: their hops are the hops between any ranks.
    """
    network, ranks = step.machine.network, step.evaluation.ranks
    links = worst_links(step.machine, ranks)
    if members is None:
        return price(network, ranks, links=links)
    return price(network, members, modelled_hops(network, ranks), links)


def flies_at(prices: MessageCosts, size_bytes: FloatOrArray) -> bool:
    """Whether a message is in flight for some time after its sender is done with it."""
    return bool(np.any(np.asarray(prices.message(size_bytes).flight_s) > 0))


def message_charge(
    step: EvaluatedStep, cost: Cost, busy_s: Callable[[], FloatOrArray], at_work: FloatOrArray | None = None
) -> Charge:
    """Return a charge by its costs.

    All ranks together are at work on the messages for ``busy_s()``, which is evaluated only if the machine states
    powers. ``at_work``: ranks that are; None for all that do the step.
    """
    draws = _draws(step, cost, busy_s(), at_work) if step.evaluation.design_point.has_power else ()
    return Charge(
        "communication",
        cost.time_s,
        messages=cost.messages,
        message_bytes=cost.message_bytes,
        draws=draws,
        computation_s=cost.reduction_s,
    )


def group_charge(
    step: EvaluatedStep,
    sizes: Sequence[GroupSize],
    of_group: Callable[[GroupSize], tuple[Cost, Callable[[], FloatOrArray]]],
) -> Charge:
    """Return a charge by the costs of a group of each size.

    The time for which its ranks are at work on them is that of the group that takes longest.
    """
    if step.demand.communicator is None and len(sizes) == 1:
        return message_charge(step, *of_group(sizes[0]))
    parts = [(groups, *of_group(groups)) for groups in sizes]
    cost = _of_all_groups([(groups, cost) for groups, cost, _ in parts])
    if not step.evaluation.design_point.has_power:
        return message_charge(step, cost, lambda: 0.0)
    busy = [(groups, busy_s()) for groups, _, busy_s in parts]
    at_work = _sum(np.where(np.asarray(each_s) > 0, groups.members, 0.0) for groups, each_s in busy)
    return message_charge(step, cost, lambda: _sum(groups.count * each_s for groups, each_s in busy), at_work)


def _of_all_groups(parts: Sequence[tuple[GroupSize, Cost]]) -> Cost:
    """Total cost of groups of several sizes, each by its own cost."""
    time_s: FloatOrArray = 0.0
    reduction_s: FloatOrArray = 0.0
    for groups, cost in parts:
        longer = (np.asarray(groups.count) > 0) & (np.asarray(cost.time_s) > time_s)
        time_s, reduction_s = np.where(longer, cost.time_s, time_s), np.where(longer, cost.reduction_s, reduction_s)
    return Cost(
        time_s,
        _sum(groups.count * cost.messages for groups, cost in parts),
        _sum(groups.count * cost.message_bytes for groups, cost in parts),
        reduction_s,
        _sum(groups.count * cost.reduced_bytes for groups, cost in parts),
        _sum(groups.count * cost.packed_blocks for groups, cost in parts),
        _sum(groups.count * cost.packed_bytes for groups, cost in parts),
    )


def _sum(parts: Iterable[FloatOrArray]) -> FloatOrArray:
    total: FloatOrArray = 0.0
    for part in parts:
        total = total + part
    return total


def _draws(step: EvaluatedStep, cost: Cost, busy_s: FloatOrArray, at_work: FloatOrArray | None) -> tuple[Draw, ...]:
    """Return the power and energy of sends and receives, of operators, while they are at work, and of bytes."""
    network = step.machine.network
    power_w = 0.0 if network.dynamic_power_w is None else network.dynamic_power_w
    per_byte_j = 0.0 if network.energy_per_byte_j is None else network.energy_per_byte_j
    energy_j = busy_s * power_w + cost.message_bytes * per_byte_j
    working = step.over_ranks(step.present) if at_work is None else at_work
    at_work_w = np.where(np.asarray(busy_s) > 0, power_w, 0.0) * working
    processor_j, processor_w = _processing(step, cost, working)
    return (
        Draw("processor", processor_j, np.where(processor_j > 0, processor_w, 0.0), of_all=True),
        Draw("network", energy_j, at_work_w, of_all=True),
        Draw("bytes", 0.0, byte_power_w(network, cost), of_all=True),
    )


def _processing(step: EvaluatedStep, cost: Cost, at_work: FloatOrArray) -> tuple[FloatOrArray, FloatOrArray]:
    """Return the energy of operators and copies of all ranks, and their power while all are at work."""
    power_w, network = step.machine.processor.dynamic_power_w, step.machine.network
    each_w = 0.0 if power_w is None else power_w
    processed_s = cost.reduced_bytes * network.reduction_s_per_byte
    processed_s = processed_s + cost.packed_blocks * network.packing_s_per_block
    processed_s = processed_s + cost.packed_bytes * network.packing_s_per_byte
    energy_j = processed_s * each_w
    return np.asarray(energy_j), each_w * at_work
