"""The operations of a program whose ranks do its steps in order: every block once, and then as often as it is repeated.

A loop with an index is evaluated once for each of its iterations; what does not depend on the index in it is lowered
once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.demands.wait import Poll, Wait
from simcodesign.describe.evaluation import EvaluatedBlock, EvaluatedStep
from simcodesign.describe.programs.program import Step, placed_demands, walk
from simcodesign.generate.demands.base import lowering
from simcodesign.generate.plan import DemandOrder, Int32s, Int64s
from simcodesign.generate.plan_builder import LoweredProgram, PlanBuilder, StepWriter
from simcodesign.generate.rank_classes import ClassFinder, RankClasses
from simcodesign.generate.segment import Segment, joined
from simcodesign.generate.side_chains import SideChains


@dataclass(frozen=True)
class Written:
    """The operations of a step, all its repetitions, and the variants of its demands in order (``DemandOrder``)."""

    segment: Segment
    turns: Int32s


@dataclass(frozen=True)
class ProgramLowering:
    """The lowering of one program: of all ranks, or of one rank of each of its ``classes``.

    With a ``finder``, no operations are kept: it notes what the ranks do.
    """

    builder: PlanBuilder
    classes: RankClasses | None = None
    finder: ClassFinder | None = None
    counts: list[Int64s] = field(default_factory=list)  # of operations, by variant
    demand: list[int] = field(default_factory=list)  # number of the demand of each variant

    def lowered(self) -> LoweredProgram:
        """Return the whole program."""
        written = self._block(self.builder.evaluation.program, 0)
        demand = np.array(self.demand, dtype=np.int32)
        demands = DemandOrder(written.turns, tuple(self.counts), demand)
        return LoweredProgram(written.segment, demands=demands, classes=self.classes)

    @property
    def _ranks(self) -> int:
        """How many ranks have operations in the segments that are kept."""
        return self.builder.ranks if self.classes is None else len(self.classes)

    def _kept(self, segment: Segment) -> Segment:
        """Return the stored form of the operations that all ranks do in a step."""
        if self.finder is not None:
            return self.finder.add(segment)
        return segment if self.classes is None else self.classes.reduced(segment)

    def _of_all_ranks(self, counts: Int64s) -> Int64s:
        """(P,) from counts of the ranks that are kept."""
        return counts if self.classes is None else counts[self.classes.of_rank]

    def _block(self, block: EvaluatedBlock, number: int, ready: dict[int, Written] | None = None) -> Written:
        """Return a block done once, its own blocks as often as these are repeated.

        Its demands have numbers from ``number`` on. ``ready``: steps written already, by their place.
        """
        parts, turns = [], []
        chains = SideChains(self.builder.ranks) if self.builder.design_point.workload.has_overlap else None
        for place, step in enumerate(block.steps()):
            written = (ready or {}).get(place) or self._step(step, number)
            segment = written.segment
            if chains is not None and isinstance(step, EvaluatedStep):
                segment = self._kept(chains.placed(step.demand, segment, StepWriter(self.builder, step)))
            elif chains is not None:
                chains.passed(self._of_all_ranks(segment.counts))
            if isinstance(step, EvaluatedStep):
                self.counts[written.turns[0]] = segment.counts if segment.width is None else np.array(segment.width)
            parts.append(segment)
            turns.append(written.turns)
            number += _demands_in(step.demand if isinstance(step, EvaluatedStep) else step.block)
        return self._joined(parts, turns)

    def _step(self, step: EvaluatedBlock | EvaluatedStep, number: int) -> Written:
        if isinstance(step, EvaluatedStep):
            writer, form = StepWriter(self.builder, step), lowering(step.demand)
            form.write(step.demand, writer)
            segment = writer.segment(form.is_collective)
            # Side chains are placed among the operations of all ranks, in their block.
            beside = self.builder.design_point.workload.has_overlap
            return Written(segment if beside else self._kept(segment), self._variant(number))
        times = whole_repeat(step)
        if self.finder is not None:
            times = min(times, 1)
        if not times:
            for one in range(number, number + _demands_in(step.block)):
                self._variant(one)
            return self._joined([], [])
        if step.block.index is not None:
            return self._iterations(step, number)
        once = self._block(step, number)
        return Written(once.segment.repeated(times), np.tile(once.turns, times))

    def _iterations(self, loop: EvaluatedBlock, number: int) -> Written:
        """Every iteration of a loop with an index."""
        index, ready = loop.block.index, dict[int, Written]()
        workload = self.builder.design_point.workload
        by_machine = any(index in value.names for _, value in loop.block.constants)
        first = number
        changing = set[str]()  # names of what is started by other ranks in each iteration
        begun = set[str]()  # names of what may be polled after its start
        for place, step in enumerate(loop.without_index.steps()):
            inner = step.demand if isinstance(step, EvaluatedStep) else step.block
            depends = index in workload.names_in(inner)
            if isinstance(inner, Demand) and depends and inner.started_as:
                changing.add(inner.started_as)
            if isinstance(inner, Demand) and inner.polled is not None:
                begun.add(inner.started_as)
            if isinstance(inner, Wait):  # an operation of every rank that has started what it waits for
                depends = not changing.isdisjoint(inner.names)
            depends = depends or any(isinstance(one, Poll) and begun.intersection(one.names) for one in walk((inner,)))
            if not by_machine and not depends:
                ready[place] = self._step(step, first)
            first += _demands_in(inner)
        every = [self._block(iteration, number, ready) for iteration in loop.iterations()]
        return self._joined([one.segment for one in every], [one.turns for one in every])

    def _variant(self, number: int) -> Int32s:
        """Return a new variant of a demand, of which nothing is counted yet."""
        self.counts.append(np.array(0))
        self.demand.append(number)
        return np.array([len(self.counts) - 1], dtype=np.int32)

    def _joined(self, parts: list[Segment], turns: list[Int32s]) -> Written:
        segment = joined(parts, self._ranks, self.builder.extra_fields)
        return Written(segment, np.concatenate([np.zeros(0, np.int32), *turns]))


def _demands_in(step: Step) -> int:
    return sum(1 for _ in placed_demands((step,)))


def whole_repeat(step: EvaluatedBlock) -> int:
    """How often the block is done. InputError unless that is a whole number."""
    times, block = float(np.max(step.repeat)), step.block
    if times != int(times):
        raise InputError(
            f"a simulation needs whole repetitions, but repeat = {block.repeat.text} = {times:g} here; choose "
            "parameters that divide evenly (a forecast takes any number)",
            block.repeat.place or block.place,
        )
    return int(times)
