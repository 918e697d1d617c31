"""Closed form of collective operations: that of their algorithm."""

from __future__ import annotations

from collections.abc import Iterator

from simcodesign.analytic.collective_symbols import COST_FUNCTIONS, MESSAGE_COUNTS, cost_name
from simcodesign.analytic.collective_traffic import Traffic, collective_traffic
from simcodesign.analytic.critical_path_bound import SYNCHRONISING
from simcodesign.analytic.demands.base import CLOSED_FORMS, Charge, ClosedForm, Floats
from simcodesign.analytic.demands.messages import message_charge, prices_at
from simcodesign.analytic.formula_prices import Payment, Prices
from simcodesign.analytic.message_costs import FORMULAS, FREE, Price, floor_log2, price
from simcodesign.analytic.power import all_busy_s
from simcodesign.core.expression import parse
from simcodesign.core.expression_sympy import to_sympy
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.evaluation import EvaluatedStep


class CollectiveForm(ClosedForm[Collective]):
    """Collective operations of all ranks."""

    def charge(self, demand: Collective, step: EvaluatedStep) -> Charge:
        prices = prices_at(step)
        cost = FORMULAS[demand.name, demand.algorithm](step.amount(demand.bytes, "bytes"), prices)
        return message_charge(step, cost, lambda: all_busy_s(cost, prices))

    def traffic(self, demand: Collective, step: EvaluatedStep) -> Traffic:
        ranks, size = step.evaluation.design_point.ranks, float(step.amount(demand.bytes, "bytes"))
        return collective_traffic(demand.name, demand.algorithm, ranks, size)

    def rounds_s(self, demand: Collective, own_s: Floats) -> float | None:
        """The work of the least busy rank on the rounds that every rank takes part in.

        Ranks that only fold in and out of a power of two have less to do than the rounds; the last rank has them all.
        """
        ranks = len(own_s)
        if (demand.name, demand.algorithm) not in SYNCHRONISING or ranks == 1:
            return None
        folded = demand.algorithm == "recursive_doubling" and ranks != 2 ** int(floor_log2(ranks))
        return float(own_s[-1]) if folded else float(own_s.min())

    def message_rows(self, demand: Collective, ranks: int) -> float:
        cost = FORMULAS[demand.name, demand.algorithm](0.0, Price(float(ranks), lambda size: FREE))
        return float(cost.messages)

    def requirements(self, demand: Collective, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        size, ranks = step.amount(demand.bytes, "bytes"), step.evaluation.ranks
        if counting == "cost_functions":
            return {"sent_bytes": size * COST_FUNCTIONS[demand.name, demand.algorithm](ranks)}
        cost = FORMULAS[demand.name, demand.algorithm](size, price(step.evaluation.machine.network, ranks))
        return {"sent_bytes": cost.message_bytes / ranks}

    def payments(self, demand: Collective, prices: Prices) -> Iterator[Payment]:
        messages, sizes = (to_sympy(parse(text)) for text in MESSAGE_COUNTS[demand.name, demand.algorithm])
        yield prices.of("t_s"), (messages,)
        yield prices.bytes(demand.bytes, (sizes,))

    def model_terms(self, demand: Collective) -> list[tuple[str, str]]:
        if demand.name == "barrier":
            return []
        return [("sent_bytes", f"({demand.bytes.text})*{cost_name(demand.name, demand.algorithm)}")]


CLOSED_FORMS.add(Collective, CollectiveForm())
