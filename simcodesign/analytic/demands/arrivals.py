"""Open streams as demands: ``analytic/queueing`` has closed forms of whole programs of them."""

from __future__ import annotations

from simcodesign.analytic.demands.base import CLOSED_FORMS, ClosedForm
from simcodesign.core.errors import InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.arrivals import Arrivals
from simcodesign.describe.evaluation import EvaluatedStep


class ArrivalsForm(ClosedForm[Arrivals]):
    """Arrivals need a program of their own, which ``open_forecast`` reads."""

    def requirements(self, demand: Arrivals, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        raise InputError("requirements apply to operations of ranks, not to arrivals", demand.place)


CLOSED_FORMS.add(Arrivals, ArrivalsForm())
