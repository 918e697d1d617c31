"""Open streams as demands: their closed forms are those of whole programs, in ``analytic/queueing``."""

from __future__ import annotations

from simcodesign.analytic.demands.base import CLOSED_FORMS, ClosedForm
from simcodesign.core.errors import InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.arrivals import Arrivals
from simcodesign.describe.evaluation import EvaluatedStep


class ArrivalsForm(ClosedForm[Arrivals]):
    """Arrivals stand in a program of their own, which ``open_forecast`` reads."""

    def requirements(self, demand: Arrivals, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        raise InputError("requirements are of what ranks do, not of arrivals", demand.place)


CLOSED_FORMS.add(Arrivals, ArrivalsForm())
