"""The operations of a program whose ranks do its steps in order: every block once, and then as often as it is repeated.

A loop with an index is lowered once for all iterations that do the same. Steps in it that do not depend on the index
are lowered once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.demands.wait import Poll, Wait
from simcodesign.describe.evaluation import EvaluatedBlock, EvaluatedStep
from simcodesign.describe.programs.groups import GROUP_NAMES
from simcodesign.describe.programs.program import Block, Step, placed_demands, walk
from simcodesign.generate.demands.base import lowering
from simcodesign.generate.plan import DemandOrder, Int32s, Int64s
from simcodesign.generate.plan_builder import Added, LoweredProgram, PlanBuilder, StepWriter
from simcodesign.generate.rank_classes import ClassFinder, RankClasses
from simcodesign.generate.segment import Segment, joined
from simcodesign.generate.side_chains import SideChains

#: Maximum number of values of an expression, of all iterations and ranks, that are compared.
MAX_COMPARED = 2**24


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
        every = self._each(loop, number, ready)
        return self._joined([one.segment for one in every], [one.turns for one in every])

    def _each(self, loop: EvaluatedBlock, number: int, ready: dict[int, Written]) -> list[Written]:
        """Return the iterations, of which those that do the same are lowered once, and add up the totals of each."""
        firsts, totals = first_alike(loop, self.builder), self.builder.totals
        every, added = list[Written](), dict[int, list[Added]]()
        for iteration, first in zip(loop.iterations(), firsts, strict=True):
            if first < len(every):
                every.append(every[first])
                for one in added[first]:
                    totals.add(*one)
                continue
            outer, totals.noted = totals.noted, []
            every.append(self._block(iteration, number, ready))
            added[first], totals.noted = totals.noted, outer
            if outer is not None:
                outer.extend(added[first])
        return every

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


def first_alike(loop: EvaluatedBlock, builder: PlanBuilder) -> list[int]:
    """Return for each iteration the number of the first one that does the same: its own if none does.

    Iterations do the same if all expressions with the index have the same values, to the last bit. All count as
    different if steps have random times, counters or files, or if these expressions have names that are only known
    within an iteration.
    """
    count = int(np.max(loop.count()))
    expressions = _with_index(loop.block, builder)
    if expressions is None or count < 2 or count * builder.ranks > MAX_COMPARED:
        return [*range(count)]
    assert loop.block.index is not None
    names = {**loop.evaluation.names, loop.block.index: np.arange(count, dtype=np.float64)[:, None]}
    alike = np.zeros(count, np.int64)
    for expression in expressions:
        try:
            values, _ = np.broadcast_arrays(expression.evaluate(names), np.zeros((count, 1)))
        except InputError:  # the iteration that has this value is to raise it, if there is one
            return [*range(count)]
        bits = np.ascontiguousarray(values, dtype=np.float64).view(np.int64)
        number = np.unique(bits, axis=0, return_inverse=True)[1].reshape(count)
        alike = np.unique(alike * count + number, return_inverse=True)[1].reshape(count)
    first = np.unique(alike, return_index=True)[1]
    numbers: list[int] = first[alike].tolist()
    return numbers


def _with_index(loop: Block, builder: PlanBuilder) -> list[Expression] | None:
    """Return the expressions with the index, whose values decide what an iteration does; None if others decide too."""
    workload = builder.design_point.workload
    if builder.tally is not None or builder.variations.marked or workload.uses_storage:
        return None
    steps = [loop, *walk(loop.body)]
    inner = {step.index for step in steps[1:] if isinstance(step, Block)} - {None}
    found: dict[str, Expression] = {}
    for step in steps:
        own = [*step.expressions()]
        if not isinstance(step, Block) and step.communicator is not None:
            own.append(workload.groups[step.communicator])
        found |= {one.text: one for one in own if loop.index in one.names}
    if any(not one.names.isdisjoint({*GROUP_NAMES, *inner}) for one in found.values()):
        return None
    return [*found.values()]
