"""A schedule from elsewhere has no closed form: what it takes is what its simulation takes."""

from __future__ import annotations

from collections.abc import Iterator

from simcodesign.analytic.demands.base import CLOSED_FORMS, Charge, ClosedForm
from simcodesign.analytic.formulas.formula_prices import Payment, SymbolicPrices
from simcodesign.core.errors import InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.replay import Replay
from simcodesign.describe.evaluation import EvaluatedStep


class ReplayForm(ClosedForm[Replay]):
    """A schedule has no closed form: every method raises InputError."""

    def charge(self, demand: Replay, step: EvaluatedStep) -> Charge:
        what = "a schedule has no closed form, so that it cannot be forecast"
        raise InputError(what, demand.place, allowed="simulate it")

    def requirements(self, demand: Replay, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        raise InputError("a schedule has no closed form of its requirements", demand.place)

    def payments(self, demand: Replay, prices: SymbolicPrices) -> Iterator[Payment]:
        raise InputError("a schedule has no formula", demand.place, allowed="simulate it")


CLOSED_FORMS.add(Replay, ReplayForm())
