"""Waiting takes no time of its own: the forecast of a block has the rest of the started operations."""

from __future__ import annotations

from simcodesign.analytic.demands.base import CLOSED_FORMS, Charge, ClosedForm
from simcodesign.describe.demands.wait import Wait
from simcodesign.describe.evaluation import EvaluatedStep


class WaitForm(ClosedForm[Wait]):
    """Nothing by itself."""

    def charge(self, demand: Wait, step: EvaluatedStep) -> Charge:
        return Charge("communication", 0.0)


CLOSED_FORMS.add(Wait, WaitForm())
