"""Count the operations of a program before any is made, and those in memory at a time while they are joined."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from simcodesign.describe.evaluation import EvaluatedBlock, EvaluatedStep
from simcodesign.generate.demands.base import lowering
from simcodesign.generate.plan_builder import PlanBuilder, StepWriter
from simcodesign.generate.program_lowering import whole_repeat

#: Operations, where each receive may come with one of a receiver that is held, to what they are without.
HELD_SHARE = 1.5
#: Operations of a step in memory while they are made, to those that it has: as columns, and woven rank by rank.
WOVEN = 2.0


@dataclass(frozen=True)
class ProgramSize:
    """Operations of all ranks together, at most, and the most of them that are in memory at a time while the program
    is lowered: parts and what they are joined to, or a part and its repetitions."""

    operations: float
    most: float

    def of_ranks(self, fraction: float) -> ProgramSize:
        """The size with only this fraction of the ranks."""
        return ProgramSize(self.operations * fraction, self.most * fraction)


def size_of(builder: PlanBuilder, block: EvaluatedBlock) -> ProgramSize:
    """Return the size of a block that is done once."""
    return _joined(_of_step(builder, step) for step in block.steps())


def _joined(parts: Iterable[ProgramSize]) -> ProgramSize:
    """The size of parts one after another: all are kept until they are copied into one (``segment.joined``)."""
    operations = most = 0.0
    several = 0
    for part in parts:
        most = max(most, operations + part.most)
        operations += part.operations
        several += part.operations > 0
    return ProgramSize(operations, max(most, 2 * operations if several > 1 else operations))


def _of_step(builder: PlanBuilder, step: EvaluatedBlock | EvaluatedStep) -> ProgramSize:
    if isinstance(step, EvaluatedStep):
        own = lowering(step.demand).operations(step.demand, StepWriter(builder, step))
        own *= HELD_SHARE if builder.prices.holds_receivers else 1.0
        own += builder.ranks if step.demand.started_as else 0
        return ProgramSize(own, WOVEN * own)
    if step.block.index is not None:
        return _joined(size_of(builder, iteration) for iteration in step.iterations())
    times = whole_repeat(step)
    if not times:
        return ProgramSize(0.0, 0.0)
    once = size_of(builder, step)
    every = times * once.operations
    return ProgramSize(every, max(once.most, once.operations + every) if times > 1 else once.most)
