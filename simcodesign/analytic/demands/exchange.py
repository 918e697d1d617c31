"""Closed form of a halo exchange; its time stands in ``analytic/halo.py``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from simcodesign.analytic.collective_traffic import Traffic, halo_traffic
from simcodesign.analytic.demands.base import CLOSED_FORMS, Charge, ClosedForm
from simcodesign.analytic.demands.messages import message_charge, prices_at
from simcodesign.analytic.formula_prices import Payment, SymbolicPrices
from simcodesign.analytic.halo import busy_s, carried_halo, halo, most_neighbours, most_work_s
from simcodesign.analytic.message_costs import MessageCosts, price
from simcodesign.analytic.pipelining.succession import Operation, takes_all
from simcodesign.analytic.route_links import links_of_neighbours
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.expressions.expression_sympy import to_sympy
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.exchange import Exchange, check_train
from simcodesign.describe.evaluation import EvaluatedStep


class ExchangeForm(ClosedForm[Exchange]):
    """Halo exchange."""

    def charge(self, demand: Exchange, step: EvaluatedStep) -> Charge:
        sizes, messages = demand.sizes_bytes(step.amount), demand.message_counts(step.amount)
        check_train(demand, step.amount(demand.train, "train"), step.machine.network)
        grid, prices = demand.checked_extents(step.evaluation.ranks, step.amount), _prices(demand, step)
        cost = halo(sizes, grid, demand.periodic, prices, messages)
        return message_charge(step, cost, lambda: busy_s(sizes, grid, demand.periodic, prices, messages))

    def operation(self, demand: Exchange, step: EvaluatedStep, charge: Charge) -> Operation:
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
        sizes = [float(size) for size in demand.sizes_bytes(step.amount)]
        messages = [float(count) for count in demand.message_counts(step.amount)]
        grid = [int(extent) for extent in demand.checked_extents(step.evaluation.ranks, step.amount)]
        return halo_traffic(grid, sizes, demand.periodic, messages)

    def message_rows(self, demand: Exchange, ranks: int) -> float:
        return 2.0 * demand.dims * ranks

    def requirements(self, demand: Exchange, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        sizes, messages = demand.sizes_bytes(step.amount), demand.message_counts(step.amount)
        if counting == "cost_functions":
            pairs = zip(sizes, messages, strict=True)
            return {"sent_bytes": 2.0 * sum((size * count for size, count in pairs), start=np.zeros(()))}
        ranks = step.evaluation.ranks
        prices = price(step.evaluation.machine.network, ranks)
        cost = halo(sizes, demand.extents(ranks, step.amount), demand.periodic, prices, messages)
        return {"sent_bytes": cost.message_bytes / ranks}

    def payments(self, demand: Exchange, prices: SymbolicPrices) -> Iterator[Payment]:
        for count, messages, size in _neighbours(demand):
            yield prices.of("t_s"), (prices.sympy.Integer(count), messages)
            yield prices.bytes(size, (prices.sympy.Integer(count), messages))

    def model_terms(self, demand: Exchange) -> list[tuple[str, str]]:
        counts = [count.text for count in demand.messages_by_dim]
        if len({size.text for size in demand.bytes}) == 1 and set(counts) == {"1"}:
            return [("sent_bytes", f"{2 * demand.dims}*({demand.bytes[0].text})")]
        parts = zip(demand.bytes, counts, strict=True)
        return [("sent_bytes", "+".join(f"2*({size.text})*({count})" for size, count in parts))]


def _prices(demand: Exchange, step: EvaluatedStep) -> MessageCosts:
    """What messages cost: along each dimension where links differ."""
    network, ranks = step.machine.network, step.evaluation.ranks
    if not network.paths_differ:
        return prices_at(step)
    grid = demand.checked_extents(ranks, step.amount)
    links = links_of_neighbours(step.machine, grid, demand.periodic, step.evaluation.by_rank)
    return replace(prices_at(step), along=tuple(price(network, ranks, links=row).message for row in links))


def _neighbours(demand: Exchange) -> Iterator[tuple[int, Any, Expression]]:
    """Neighbours of a rank in every dimension, messages to each of them and the size of a message."""
    for dim, (messages, size) in enumerate(zip(demand.messages_by_dim, demand.bytes, strict=True)):
        count = 2
        if demand.grid is not None and not demand.grid[dim].names:
            extent = float(demand.grid[dim].evaluate({}))
            count = 0 if extent == 1 else 2 if demand.periodic else min(2, int(extent) - 1)
        yield count, to_sympy(messages), size


CLOSED_FORMS.add(Exchange, ExchangeForm())
