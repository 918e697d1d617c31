"""Waiting and polling take no time of their own: the forecast of a block has the rest of the started operations."""

from __future__ import annotations

from simcodesign.analytic.demands.base import CLOSED_FORMS, Charge, ClosedForm
from simcodesign.describe.demands.wait import Poll, Wait
from simcodesign.describe.evaluation import EvaluatedStep


class WaitForm(ClosedForm[Wait | Poll]):
    """Nothing by itself: a polled part advances during the other work."""

    def charge(self, demand: Wait | Poll, step: EvaluatedStep) -> Charge:
        return Charge("communication", 0.0)


for kind in (Wait, Poll):
    CLOSED_FORMS.add(kind, WaitForm())
