"""A kind of demand that the package does not have: ranks that do nothing for a while."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from simcodesign.analytic.demands.base import CLOSED_FORMS, Charge, ClosedForm
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.operation_kinds import COMPUTE
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.evaluation import EvaluatedStep
from simcodesign.describe.keys.forms import Expr
from simcodesign.describe.keys.key import Key
from simcodesign.describe.yaml.demands.base import WHEN, demand
from simcodesign.describe.yaml.tree import Entry
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.plan_builder import StepWriter


@dataclass(frozen=True)
class Sleep(Demand):
    """``seconds`` without any work."""

    seconds: Expression

    def amounts(self) -> Iterator[Expression]:
        yield self.seconds


@demand("sleep", "ranks that do nothing", Key("seconds", Expr(), "for how long", required=True), WHEN)
def read_sleep(name: str, entry: Entry, values: dict[str, Any]) -> Sleep:
    return Sleep(**values, place=entry.place)


class SleepForm(ClosedForm[Sleep]):
    """As long as it says."""

    def charge(self, demand: Sleep, step: EvaluatedStep) -> Charge:
        return Charge("computation", step.amount(demand.seconds, "seconds"))


class SleepLowering(Lowering[Sleep]):
    """One operation of each rank."""

    def write(self, demand: Sleep, writer: StepWriter) -> None:
        writer.work(COMPUTE, 0.0, writer.amount(demand.seconds, "seconds"))


CLOSED_FORMS.add(Sleep, SleepForm())
LOWERINGS.add(Sleep, SleepLowering())
