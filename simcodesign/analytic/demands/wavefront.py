"""Closed form of a wavefront; ``analytic/messages/sweeps.py`` computes its time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from simcodesign.analytic.collectives.on_levels import can_be_followed, has_rendezvous
from simcodesign.analytic.demands.base import CLOSED_FORMS, Charge, ClosedForm, Count, part_draws
from simcodesign.analytic.demands.computation import ComputeForm, compute_s
from simcodesign.analytic.demands.messages import group_charge, prices_at
from simcodesign.analytic.formulas.formula_prices import Payment, SymbolicPrices
from simcodesign.analytic.group_sizes import (
    GroupSize,
    group_sizes,
    members_of_groups,
    put_in,
    size_names,
    symbolic_size,
)
from simcodesign.analytic.messages.collective_traffic import Traffic
from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.message_costs import Cost
from simcodesign.analytic.messages.message_order import Ordered, in_sweeps
from simcodesign.analytic.messages.route_links import links_of_messages, worst_links
from simcodesign.analytic.messages.sweeps import Sweeps
from simcodesign.analytic.power import busy_s
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import parse
from simcodesign.core.expressions.expression_sympy import to_sympy
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Evaluate
from simcodesign.describe.demands.wavefront import Wavefront
from simcodesign.describe.evaluation import EvaluatedStep

#: The basis of a forecast with messages on several levels: in Hockney's model, if senders wait, and in LogGOPS.
BOUND = "an upper bound: every message at the price of the slowest level of any ranks"
ESTIMATE = "an estimate: every message at the price of the slowest level of any ranks"
BOUND_IF_EXACT = (
    "every message at the price of the slowest level of any ranks: an upper bound if the closed form is exact"
)


class WavefrontForm(ClosedForm[Wavefront]):
    """Pipelined sweeps: the longest path of the largest group. What a rank computes itself is booked as computation."""

    def charge(self, demand: Wavefront, step: EvaluatedStep) -> Charge:
        sizes = group_sizes(step)

        def of_group(groups: GroupSize) -> tuple[Cost, Callable[[], FloatOrArray]]:
            return _cost(demand, step, groups)

        charge = group_charge(step, sizes, of_group)
        if text := _text_of_bound(step):
            charge = replace(charge, basis=(f"{demand.label}: {text}",))
        if demand.compute is None:
            return charge
        each: FloatOrArray = 0.0
        for groups in sizes:
            amount = functools.partial(step.amount, changed=size_names(step, groups))
            work = demand.compute.work(amount) * demand.checked_planes(amount) * len(demand.corners)
            each = each + work * groups.members / step.evaluation.ranks
        draws = charge.draws + part_draws(step, "processor", compute_s(demand.compute, step.machine.processor, each))
        return replace(charge, counts=(Count("work", demand.compute.unit, each),), draws=draws)

    def traffic(self, demand: Wavefront, step: EvaluatedStep) -> Traffic:
        parts = []
        for members, names in members_of_groups(step):
            amount = functools.partial(step.amount, changed=names)
            px, py = (int(extent) for extent in demand.checked_grid(members.shape[1], amount))
            place = np.arange(px * py).reshape(px, py)
            planes = float(demand.checked_planes(amount))
            for axis, size in enumerate(demand.sizes_bytes(amount)):
                lower, upper = np.delete(place, -1, axis).ravel(), np.delete(place, 0, axis).ravel()
                for corner in demand.corners:
                    ends = (upper, lower) if corner[axis] else (lower, upper)
                    of_all = np.full(len(lower), float(size)), np.full(len(lower), planes)
                    parts.append(Traffic(*ends, *of_all).among(members))
        return Traffic.together(parts)

    def ordered(self, demand: Wavefront, step: EvaluatedStep) -> Ordered:
        parts, machine, ranks = [], step.machine, step.evaluation.design_point.ranks
        for members, names in members_of_groups(step):
            amount = functools.partial(step.amount, changed=names)
            px, py = (int(extent) for extent in demand.checked_grid(members.shape[1], amount))
            sizes, planes = [float(size) for size in demand.sizes_bytes(amount)], int(demand.checked_planes(amount))
            work_s = float(np.max(_work_s(demand, step, amount)))
            parts.append(in_sweeps((px, py), planes, sizes, work_s, demand.corners).among(members))
        one = Ordered.together(parts)
        links = links_of_messages(machine, ranks, one.source, one.target) if machine.paths_differ else None
        return one.priced(machine.network, ranks, links)

    def message_rows(self, demand: Wavefront, ranks: int) -> float:
        return 2.0 * len(demand.corners) * ranks

    def requirements(self, demand: Wavefront, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        sent_bytes: FloatOrArray = 0.0
        flops: FloatOrArray = 0.0
        for groups in group_sizes(step):
            amount = functools.partial(step.amount, changed=size_names(step, groups))
            share = groups.count / step.evaluation.ranks
            sent_bytes = sent_bytes + _sent(demand, groups, amount)[1] * share
            if demand.compute is not None and demand.compute.unit == "flops":
                blocks = demand.checked_planes(amount) * len(demand.corners)
                flops = flops + demand.compute.work(amount) * blocks * groups.ranks * share
        return {"sent_bytes": sent_bytes, "flops": flops}

    def payments(self, demand: Wavefront, prices: SymbolicPrices) -> Iterator[Payment]:
        """Yield payments for sends that hold their senders, and receives that take nothing.

        The longest path is through the corner.
        """
        for one, other in zip(demand.corners, demand.corners[1:], strict=False):
            if one[0] == other[0] or one[1] == other[1]:
                what = "sweeps of a wavefront that overlap have no formula in symbols"
                raise InputError(what, demand.place, allowed="corners that lie opposite one another: 1, 2")
        size = symbolic_size(demand, prices.workload)
        px, py, planes = (f"({put_in(one, 'group_size', size).text})" for one in (*demand.grid, demand.planes))
        sweeps = prices.sympy.Integer(len(demand.corners))
        in_x = f"min({px} - 1, 1)*({px} + {py} + {planes} - 3)"
        in_y = f"min({py} - 1, 1)*({py} + {planes} - 2)"
        for text, size_bytes in zip((in_x, in_y), demand.bytes, strict=True):
            messages = sweeps, to_sympy(parse(text))
            yield prices.of("t_s"), messages
            yield prices.bytes(put_in(size_bytes, "group_size", size), messages)
        if demand.compute is not None:
            blocks = sweeps, to_sympy(parse(f"{px} + {py} + {planes} - 2"))
            for price, counts in ComputeForm().payments(demand.compute, prices):
                yield price, (*blocks, *counts)


def _text_of_bound(step: EvaluatedStep) -> str:
    """Return the basis of the forecast if messages between any ranks are on several levels, otherwise nothing."""
    machine, ranks = step.machine, step.evaluation.ranks
    levels = worst_links(machine, ranks).levels
    local = machine.network.node is not None and np.any(np.asarray(ranks) > machine.placement.ranks_on_first_node)
    if not local and np.max(sum(np.asarray(one.here, dtype=np.int64) for one in levels), initial=0) < 2:
        return ""
    if not can_be_followed(machine):
        return BOUND_IF_EXACT
    return ESTIMATE if has_rendezvous(machine) else BOUND


def _cost(demand: Wavefront, step: EvaluatedStep, groups: GroupSize) -> tuple[Cost, Callable[[], FloatOrArray]]:
    """Cost of the sweeps of one group, and for how long its ranks send and receive."""
    amount = functools.partial(step.amount, changed=size_names(step, groups))
    prices = prices_at(step, None if demand.group is None else groups.ranks)
    x, y = (_held(prices.message(size)) for size in demand.sizes_bytes(amount))
    work_s = _work_s(demand, step, amount)
    px, py = demand.checked_grid(np.where(np.asarray(groups.count) > 0, groups.ranks, 0.0), amount)
    planes = demand.checked_planes(amount)
    time_s = Sweeps(px, py, planes, x, y, work_s).time_s(demand.corners)
    counts, size_bytes = _sent(demand, groups, amount)
    computed_s = work_s * planes * len(demand.corners)

    def all_busy_s() -> FloatOrArray:
        return counts[0] * busy_s(x) + counts[1] * busy_s(y)

    return Cost(time_s, counts[0] + counts[1], size_bytes, reduction_s=computed_s), all_busy_s


def _work_s(demand: Wavefront, step: EvaluatedStep, amount: Evaluate) -> FloatOrArray:
    """Seconds of a rank's work on a block."""
    if demand.compute is None:
        return 0.0
    step.machine.processor.needs_one_kind("a wavefront", demand.place)
    return compute_s(demand.compute, step.machine.processor, demand.compute.work(amount))


def _held(message: Message) -> Message:
    """Return a message whose sender waits for its receiver is taken to hold it until it arrives."""
    held_s = np.where(message.waits, np.maximum(message.send_s, message.arrival_s), message.send_s)
    return replace(message, send_s=held_s, next_send_s=np.maximum(message.next_send_s, held_s))


def _sent(
    demand: Wavefront, groups: GroupSize, amount: Evaluate
) -> tuple[tuple[FloatOrArray, FloatOrArray], FloatOrArray]:
    """Messages in x and in y of one group, and the bytes of all."""
    px, py = (amount(extent, "grid") for extent in demand.grid)
    blocks = demand.checked_planes(amount) * len(demand.corners)
    in_x, in_y = (px - 1.0) * py * blocks, px * (py - 1.0) * blocks
    size_x, size_y = demand.sizes_bytes(amount)
    return (in_x, in_y), in_x * size_x + in_y * size_y


CLOSED_FORMS.add(Wavefront, WavefrontForm())
