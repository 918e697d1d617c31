"""Closed form of a halo exchange; ``analytic/messages/halo.py`` computes its time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.collectives.on_levels import AT_SLOWEST, BOUND, FOLLOWED, can_be_followed
from simcodesign.analytic.demands.base import CLOSED_FORMS, LEAST_IN_LOGGOPS, Charge, ClosedForm
from simcodesign.analytic.demands.messages import group_charge, prices_at
from simcodesign.analytic.formulas.formula_prices import Payment, SymbolicPrices
from simcodesign.analytic.group_levels import MOST_RANKS, members_at_points
from simcodesign.analytic.group_sizes import (
    GroupSize,
    group_sizes,
    members_of_groups,
    put_in,
    size_names,
    symbolic_size,
)
from simcodesign.analytic.messages.collective_traffic import Traffic, halo_traffic
from simcodesign.analytic.messages.halo import busy_s, carried_halo, halo, is_least_halo, most_neighbours, most_work_s
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts, price
from simcodesign.analytic.messages.message_models.base import hold_receivers
from simcodesign.analytic.messages.message_order import Ordered, in_halo
from simcodesign.analytic.messages.posted_together import times_of
from simcodesign.analytic.messages.route_links import (
    links_of_alike,
    links_of_levels,
    links_of_neighbours,
    links_of_pairs,
    modelled_hops,
    shared_parts,
)
from simcodesign.analytic.pipelining.succession import Operation, takes_all
from simcodesign.analytic.rank_by_rank.halo_on_levels import HaloLevels
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.expressions.expression_sympy import to_sympy
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Evaluate
from simcodesign.describe.demands.exchange import Exchange, check_train
from simcodesign.describe.evaluation import EvaluatedStep

#: Basis of its forecast if messages hold their receivers, and if they are on several levels.
HELD = "messages within nodes holding their receivers as long as their senders, rank by rank"
HELD_BOUND = "an upper bound: every message priced as the slowest of its dimension, and holding its receiver"
#: In LogGOPS where ranks are not alike.
LEAST = "a lower bound: each rank's own messages, each at the price of its level"


class ExchangeForm(ClosedForm[Exchange]):
    """Halo exchange."""

    def charge(self, demand: Exchange, step: EvaluatedStep) -> Charge:
        def of_group(groups: GroupSize) -> tuple[Cost, Callable[[], FloatOrArray]]:
            amount = functools.partial(step.amount, changed=size_names(step, groups))
            sizes, messages = demand.sizes_bytes(amount), demand.message_counts(amount)
            check_train(demand, amount(demand.train, "train"))
            grid = _extents(demand, groups, amount)
            prices = _prices(demand, step) if demand.group is None else prices_at(step, groups.ranks)
            cost = halo(sizes, grid, demand.periodic, prices, messages)
            if is_least_halo(sizes, grid, demand.periodic, prices, messages):
                basis.add(f"{demand.label}: {LEAST_IN_LOGGOPS}")
            return cost, lambda: busy_s(sizes, grid, demand.periodic, prices, messages)

        basis = set[str]()
        charge = _on_levels(demand, step, group_charge(step, group_sizes(step), of_group))
        return charge if charge.basis else replace(charge, basis=tuple(basis))

    def operation(self, demand: Exchange, step: EvaluatedStep, charge: Charge) -> Operation:
        is_on_levels = charge.basis and LEAST_IN_LOGGOPS not in charge.basis[0]
        if demand.group is not None or is_on_levels:
            return Operation(step.phase, demand.label, float(charge.time_s))
        grid = [int(extent) for extent in demand.checked_extents(step.evaluation.ranks, step.amount)]
        sizes = tuple(float(size) for size in demand.sizes_bytes(step.amount))
        messages = tuple(float(count) for count in demand.message_counts(step.amount))
        work_s = most_work_s(sizes, grid, demand.periodic, _prices(demand, step), messages)
        all_busy = takes_all(work_s, charge.time_s)
        return Operation(
            step.phase,
            demand.label,
            float(charge.time_s),
            (type(demand), tuple(grid), demand.periodic, sizes, messages, id(step.machine)),
            ends_together=demand.periodic or max(grid) < 3,
            whole_time=lambda: most_neighbours(grid, demand.periodic) if all_busy else np.asarray(False),
            carry=carried_halo(sizes, grid, _prices(demand, step), messages) if demand.periodic else None,
        )

    def traffic(self, demand: Exchange, step: EvaluatedStep) -> Traffic:
        parts = []
        for members, names in members_of_groups(step):
            amount = functools.partial(step.amount, changed=names)
            sizes = [float(size) for size in demand.sizes_bytes(amount)]
            messages = [float(count) for count in demand.message_counts(amount)]
            grid = [int(extent) for extent in demand.checked_extents(members.shape[1], amount)]
            parts.append(halo_traffic(grid, sizes, demand.periodic, messages).among(members))
        return Traffic.together(parts)

    def ordered(self, demand: Exchange, step: EvaluatedStep) -> Ordered:
        parts, machine, ranks = [], step.machine, step.evaluation.design_point.ranks
        for members, names in members_of_groups(step):
            amount = functools.partial(step.amount, changed=names)
            sizes = [float(size) for size in demand.sizes_bytes(amount)]
            messages = [float(count) for count in demand.message_counts(amount)]
            grid = [int(extent) for extent in demand.checked_extents(members.shape[1], amount)]
            parts.append(in_halo(grid, sizes, demand.periodic, messages).among(members))
        one = Ordered.together(parts)
        if machine.costs_by_level or not machine.paths_differ:
            return one.priced(machine.network, ranks, links_of_pairs(machine, ranks, one.source, one.target))
        along = (one.dim == dim for dim in range(demand.dims))
        links = [links_of_alike(machine, ranks, one.source[here], one.target[here]) for here in along]
        return one.along(machine.network, ranks, links)

    def message_rows(self, demand: Exchange, ranks: int) -> float:
        return 2.0 * demand.dims * ranks

    def requirements(self, demand: Exchange, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        sent_bytes: FloatOrArray = 0.0
        for groups in group_sizes(step):
            amount = functools.partial(step.amount, changed=size_names(step, groups))
            sizes, messages = demand.sizes_bytes(amount), demand.message_counts(amount)
            if counting == "cost_functions":
                pairs = zip(sizes, messages, strict=True)
                both_ways = 2.0 * sum((size * count for size, count in pairs), start=np.zeros(()))
                each = both_ways * (groups.members / step.evaluation.ranks)
            else:
                prices = price(step.evaluation.machine.network, groups.ranks)
                cost = halo(sizes, demand.extents(groups.ranks, amount), demand.periodic, prices, messages)
                each = groups.count * cost.message_bytes / step.evaluation.ranks
            sent_bytes = sent_bytes + each
        return {"sent_bytes": sent_bytes}

    def payments(self, demand: Exchange, prices: SymbolicPrices) -> Iterator[Payment]:
        ranks = symbolic_size(demand, prices.workload)
        for count, messages, size in _neighbours(demand):
            each = to_sympy(put_in(messages, "group_size", ranks))
            yield prices.of("t_s"), (prices.sympy.Integer(count), each)
            yield prices.bytes(put_in(size, "group_size", ranks), (prices.sympy.Integer(count), each))

    def model_terms(self, demand: Exchange) -> list[tuple[str, str]]:
        counts = [count.text for count in demand.messages_by_dim]
        if len({size.text for size in demand.bytes}) == 1 and set(counts) == {"1"}:
            return [("sent_bytes", f"{2 * demand.dims}*({demand.bytes[0].text})")]
        parts = zip(demand.bytes, counts, strict=True)
        return [("sent_bytes", "+".join(f"2*({size.text})*({count})" for size, count in parts))]


def _on_levels(demand: Exchange, step: EvaluatedStep, bound: Charge) -> Charge:
    """Return the charge on a machine with levels, by its ``bound`` if messages cost as much as the slowest.

    The slowest one of its dimension, or of its group. Ranks are followed up to a number of messages.
    """
    machine, holds, in_order = step.machine, hold_receivers(step.machine.levels), can_be_followed(step.machine)
    if not machine.costs_by_level and (demand.group is None or not machine.paths_differ):
        return bound
    at_ranks = (1,) if step.evaluation.by_rank else ()
    points_shape = (*step.evaluation.design_point.shape, *at_ranks)
    shape = np.broadcast_shapes(np.shape(bound.time_s) or (1,), points_shape)
    time_s, is_followed, looked_at, is_alike = np.zeros(shape), np.zeros(shape, bool), 0, True
    beyond = HELD_BOUND if holds else BOUND if in_order else AT_SLOWEST
    for ranks, members, where in members_at_points(step, None):
        looked_at += members.size
        if not machine.costs_by_level or looked_at > MOST_RANKS:
            return replace(bound, basis=(f"{demand.label}: {beyond}",))
        names: dict[str, FloatOrArray] = {} if demand.group is None else {"group_size": float(members.shape[1])}
        amount, times = functools.partial(step.amount, changed=names), None
        rows = (*demand.message_counts(amount), *demand.extents(float(members.shape[1]), amount))
        here = np.flatnonzero(np.broadcast_to(True if where is None else where, shape))
        several = np.array([np.broadcast_to(row, shape).ravel()[here] for row in rows], dtype=np.float64)
        keys, which = several[:, :1], np.zeros(len(here), np.intp)
        if (several != keys).any():  # to sort a million columns takes seconds
            keys, which = np.unique(several, axis=1, return_inverse=True)
        for number, key in enumerate(keys.T):
            grid = key[demand.dims :].astype(int).tolist()
            levels = HaloLevels.of(machine, ranks, members, grid, demand.periodic)
            if holds or levels.is_mixed or demand.group is not None:
                times = _times(step, demand.sizes_bytes(amount), members.shape[1], shape) if times is None else times
                points = here[which.ravel() == number]
                found_s = levels.seconds(times[..., points], key[: demand.dims].tolist(), in_order)
                is_followed.flat[points], is_alike = True, is_alike and levels.is_alike
                time_s.flat[points] = np.maximum(time_s.flat[points], found_s)
    if not is_followed.any():
        return bound
    is_bound = np.isnan(time_s)
    time_s = np.where(is_followed & ~is_bound, time_s, bound.time_s)
    text = beyond if is_bound.any() else HELD if holds else FOLLOWED if in_order or is_alike else LEAST
    basis = (f"{demand.label}: {text}",)
    return replace(bound, time_s=time_s if np.shape(bound.time_s) else float(time_s[0]), basis=basis)


def _times(
    step: EvaluatedStep, sizes: Sequence[FloatOrArray], members: int, shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """Compute the times of messages of each size on each level (D, dims, 6, K), in groups of ``members`` ranks."""
    network, ranks = step.machine.network, step.evaluation.ranks
    levels = range(len(shared_parts(step.machine, 1)) + 1)
    times = np.zeros((len(levels), len(sizes), 6, *shape))
    for level in levels:
        links = links_of_levels(step.machine, (level,), ranks)
        costs = price(network, float(members), modelled_hops(network, ranks), links)
        for dim, size in enumerate(sizes):
            one = costs.message(size)
            for part, time_s in enumerate((*times_of(one), one.copy_s)):
                times[level, dim, part] = time_s
    return times.reshape(*times.shape[:3], -1)


def _prices(demand: Exchange, step: EvaluatedStep) -> MessageCosts:
    """Costs of messages: along each dimension if links differ."""
    network, ranks = step.machine.network, step.evaluation.ranks
    if not step.machine.paths_differ:
        return prices_at(step)
    grid = demand.checked_extents(ranks, step.amount)
    links = links_of_neighbours(step.machine, grid, demand.periodic, step.evaluation.by_rank)
    return replace(prices_at(step), along=tuple(price(network, ranks, links=row).message for row in links))


def _extents(demand: Exchange, groups: GroupSize, amount: Evaluate) -> list[FloatOrArray]:
    """Return the process grid of the groups. InputError if it does not hold their ranks."""
    if demand.group is None or demand.grid is None:
        return demand.checked_extents(groups.ranks, amount)
    held = functools.reduce(np.multiply, demand.extents(groups.ranks, amount))
    return demand.checked_extents(np.where(np.asarray(groups.count) > 0, groups.ranks, held), amount)


def _neighbours(demand: Exchange) -> Iterator[tuple[int, Expression, Expression]]:
    """Neighbours of a rank in every dimension, messages to each of them and the size of a message."""
    for dim, (messages, size) in enumerate(zip(demand.messages_by_dim, demand.bytes, strict=True)):
        count = 2
        if demand.grid is not None and not demand.grid[dim].names:
            extent = float(demand.grid[dim].evaluate({}))
            count = 0 if extent == 1 else 2 if demand.periodic else min(2, int(extent) - 1)
        yield count, messages, size


CLOSED_FORMS.add(Exchange, ExchangeForm())
