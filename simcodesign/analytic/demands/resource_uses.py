"""Closed form of an execute block; ``analytic/resources.py`` defines how its uses overlap."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simcodesign.analytic.demands.base import CLOSED_FORMS, Charge, ClosedForm, Count, Draw, Occupation
from simcodesign.analytic.formulas.formula_prices import Payment, SymbolicPrices
from simcodesign.analytic.resources import all_in_turn_s, block_s, use_s
from simcodesign.core.errors import InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.resource_uses import Execute, ItemUse, item_uses
from simcodesign.describe.evaluation import EvaluatedStep


class ExecuteForm(ClosedForm[Execute]):
    """Uses of the resources that the machine file defines."""

    def charge(self, demand: Execute, step: EvaluatedStep) -> Charge:
        parallelism = step.amount(demand.parallelism, "parallelism")
        uses = item_uses(demand, step.machine, step.amount)
        counts = tuple(count for use in uses for count in _counts(use, parallelism))
        has_power = step.evaluation.design_point.has_power
        draws = tuple(_draw(use, parallelism) for use in uses) if has_power else ()
        return Charge("computation", block_s(uses, parallelism, step.machine.custom), counts, draws=draws)

    def occupation(self, demand: Execute, step: EvaluatedStep) -> Occupation:
        parallelism = step.amount(demand.parallelism, "parallelism")
        uses = item_uses(demand, step.machine, step.amount)
        return Occupation(block_s(uses, parallelism, step.machine.custom), all_in_turn_s(uses, parallelism))

    def requirements(self, demand: Execute, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        parallelism = step.amount(demand.parallelism, "parallelism")
        flops = [step.amount(use.amount, "flops") for use in demand.uses if use.resource == "flops"]
        return {"flops": parallelism * sum(flops, start=np.zeros(()))}

    def payments(self, demand: Execute, prices: SymbolicPrices) -> Iterator[Payment]:
        raise InputError("the time of an execute block is the machine's, so there is no formula", demand.place)


def _counts(use: ItemUse, parallelism: FloatOrArray) -> Iterator[Count]:
    """Yield the amount of a resource; an amount of ``flops`` is also work."""
    amount = use.amount * parallelism
    yield Count("used", use.resource, amount)
    if use.resource == "flops":
        yield Count("work", "flops", amount)


def _draw(use: ItemUse, parallelism: FloatOrArray) -> Draw:
    """Idle instances draw nothing, and what takes no time nothing either."""
    total_s = use_s(use, parallelism)
    lasts = np.asarray(total_s) > 0
    besides_j = np.where(lasts, parallelism * use.energy_j, 0.0)
    energy_j = parallelism * use.time_s * use.power_w + besides_j
    at_once_w = np.minimum(parallelism, use.instances) * use.power_w + besides_j / np.where(lasts, total_s, 1.0)
    return Draw(use.resource, energy_j, np.where(lasts, at_once_w, 0.0), is_resource=True)


CLOSED_FORMS.add(Execute, ExecuteForm())
