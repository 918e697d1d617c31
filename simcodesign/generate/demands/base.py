"""The lowering of one kind of demand: how it becomes operations of a Plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from simcodesign.core.errors import InputError
from simcodesign.core.registry import Registry
from simcodesign.describe.demands.base import ENTRY_POINTS, Demand
from simcodesign.describe.evaluation import EvaluatedStep
from simcodesign.generate.plan_builder import LoweredProgram, PlanBuilder, StepWriter

D = TypeVar("D", bound=Demand)


class Lowering(Generic[D]):
    """Base of the simulation's part of one kind of demand."""

    #: Whether its messages belong to a collective operation, which counters distinguish.
    is_collective = False

    def operations(self, demand: D, writer: StepWriter) -> float:
        """How many operations of all ranks it takes at most, before any is made: one of each rank that does it."""
        return writer.builder.ranks if writer.who is None else len(writer.who)

    def write(self, demand: D, writer: StepWriter) -> None:
        """Write its operations, and note for the Result what they do. InputError if it cannot be simulated."""
        raise InputError("a demand that needs a program of its own", demand.place, value=type(demand).__name__)

    def program(self, steps: Sequence[EvaluatedStep], builder: PlanBuilder) -> LoweredProgram | None:
        """Return the whole program that begins with this kind of demand, for kinds with a program of their own.

        None for others.
        """
        return None


#: Kind of demand -> its lowering.
LOWERINGS: Registry[Any, Lowering[Any]] = Registry("lowering", __name__, ENTRY_POINTS)


def lowering(demand: Demand) -> Lowering[Any]:
    """Return the lowering of its kind. InputError if there is none."""
    if type(demand) not in LOWERINGS:
        raise InputError("a demand that cannot be simulated", demand.place, value=type(demand).__name__)
    return LOWERINGS[type(demand)]
