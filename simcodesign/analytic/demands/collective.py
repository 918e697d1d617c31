"""Closed form of a collective demand: takes that of the algorithm from ``analytic/collectives``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from simcodesign.analytic.collective_traffic import Traffic, collective_traffic
from simcodesign.analytic.collectives.algorithm_form import algorithm_form_of
from simcodesign.analytic.demands.base import CLOSED_FORMS, Charge, ClosedForm, Floats
from simcodesign.analytic.demands.messages import flies_at, message_charge, prices_at
from simcodesign.analytic.even_sharing import evenly_shared_s
from simcodesign.analytic.formula_prices import Payment, SymbolicPrices
from simcodesign.analytic.message_costs import FREE, Cost, MessageCosts, price
from simcodesign.analytic.pipelining.pace import Carry, rounds
from simcodesign.analytic.pipelining.succession import Operation, Succession, takes_all
from simcodesign.analytic.power import all_busy_s
from simcodesign.core.expressions.expression import parse
from simcodesign.core.expressions.expression_sympy import to_sympy
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.collective import SIGNALS, Collective
from simcodesign.describe.evaluation import EvaluatedStep


class CollectiveForm(ClosedForm[Collective]):
    """Collective operations of all ranks."""

    def charge(self, demand: Collective, step: EvaluatedStep) -> Charge:
        prices = prices_at(step)
        cost = algorithm_form_of(demand).cost(step.amount(demand.bytes, "bytes"), prices)
        return message_charge(step, cost, lambda: all_busy_s(cost, prices))

    def operation(self, demand: Collective, step: EvaluatedStep, charge: Charge) -> Operation:
        form, prices = algorithm_form_of(demand), prices_at(step)
        ranks, size = int(step.evaluation.design_point.ranks), float(step.amount(demand.bytes, "bytes"))
        flies, succession = flies_at(prices, size), form.succession
        alike = not (form.folds and is_folded(ranks))
        cost = Cost(charge.time_s, charge.messages, charge.message_bytes)
        all_busy = takes_all(all_busy_s(cost, prices) / ranks, charge.time_s)
        repeated = succession.repeated
        return Operation(
            step.phase,
            demand.label,
            float(charge.time_s),
            (demand.key, size, id(step.machine)),
            ends_together=succession.ends_together and alike,
            waits_for_all=form.synchronises and alike and not flies,
            whole_time=lambda: np.asarray(True) if all_busy else succession.whole_time(ranks, flies),
            repeated_s=None if repeated is None else lambda times: float(repeated(size, prices, times)),
            row_with_gaps_s=_row_with_gaps(succession, size, prices),
            carry=_carry(succession, size, prices) if alike else None,
        )

    def traffic(self, demand: Collective, step: EvaluatedStep) -> Traffic:
        ranks, size = step.evaluation.design_point.ranks, float(step.amount(demand.bytes, "bytes"))
        return collective_traffic(algorithm_form_of(demand), ranks, size)

    def evenly_shared_s(self, demand: Collective, step: EvaluatedStep) -> float | None:
        pattern = algorithm_form_of(demand).doubling
        if pattern is None:
            return None
        size_bytes = float(step.amount(demand.bytes, "bytes"))
        return evenly_shared_s(step.machine, step.evaluation.design_point.ranks, size_bytes, pattern)

    def rounds_s(self, demand: Collective, own_s: Floats) -> float | None:
        """The work of the least busy rank on the rounds that every rank takes part in.

        Ranks that only fold in and out of a power of two have less to do than the rounds; the last rank has them all.
        """
        ranks, form = len(own_s), algorithm_form_of(demand)
        if not form.synchronises or ranks == 1:
            return None
        return float(own_s[-1]) if form.folds and is_folded(ranks) else float(own_s.min())

    def message_rows(self, demand: Collective, ranks: int) -> float:
        cost = algorithm_form_of(demand).cost(0.0, MessageCosts(float(ranks), lambda size: FREE))
        return float(cost.messages)

    def requirements(self, demand: Collective, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        size, ranks = step.amount(demand.bytes, "bytes"), step.evaluation.ranks
        if counting == "cost_functions":
            return {"sent_bytes": size * algorithm_form_of(demand).sent_per_byte(ranks)}
        cost = algorithm_form_of(demand).cost(size, price(step.evaluation.machine.network, ranks))
        return {"sent_bytes": cost.message_bytes / ranks}

    def payments(self, demand: Collective, prices: SymbolicPrices) -> Iterator[Payment]:
        form = algorithm_form_of(demand)
        messages, sizes = (to_sympy(parse(text)) for text in (form.messages_in_turn, form.sizes_in_turn))
        yield prices.of("t_s"), (messages,)
        yield prices.bytes(demand.bytes, (sizes,))

    def model_terms(self, demand: Collective) -> list[tuple[str, str]]:
        if demand.name in SIGNALS:
            return []
        name = algorithm_form_of(demand).cost_function or f"{demand.name}_{demand.algorithm}"
        return [("sent_bytes", f"({demand.bytes.text})*{name}(P)")]


def _row_with_gaps(succession: Succession, size: float, prices: MessageCosts) -> Callable[[float], float | None] | None:
    """Seconds of a number of it in a row, in LogGOPS."""
    row = succession.row_with_gaps
    if row is None or prices.message(size).in_order:
        return None
    return lambda times: row(size, prices, times)


def _carry(succession: Succession, size: float, prices: MessageCosts) -> Carry | None:
    """Its rounds, if they are all alike, in LogGOPS."""
    if succession.rounds is None:
        return None
    count, each = succession.rounds(size, float(prices.ranks))
    message = prices.message(each)
    return None if message.in_order else rounds(message, count)


def is_folded(ranks: int) -> bool:
    """Whether some ranks only fold in and out of a power of two."""
    return ranks & (ranks - 1) != 0


CLOSED_FORMS.add(Collective, CollectiveForm())
