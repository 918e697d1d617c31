"""A program with its amounts evaluated: the one walk over blocks and demands that every reading takes.

An ``Evaluation`` gives all names their values; ``Evaluation.program`` is the program as nested ``EvaluatedBlock``s,
whose steps know their phase, the machine with the constants of that phase, and how often they are done. A reading only
prices the results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import CAPACITY
from simcodesign.describe.demands.base import ONE, Demand
from simcodesign.describe.design_point import DesignPoint, finite
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.accelerator import Accelerator, needed_accelerator
from simcodesign.describe.programs.groups import GROUP_NAMES, Membership
from simcodesign.describe.programs.program import MAIN_PHASE, Block, phase_name

#: Numbers in an array of the values of iterations, points and ranks.
MOST_AT_ONCE = 2**20


@dataclass(frozen=True)
class Evaluation:
    """The values of all ``names``, and the ``machine``, at which a program is evaluated.

    Numbers or arrays over the design points, with the ranks as the last axis where ``by_rank``, and the iterations of
    every loop with an index in front of them, the innermost first. ``indices`` are the names of these; ``counts``:
    which iterations there are, None for all of the axis: values beyond them have no weight, whatever they are.
    """

    design_point: DesignPoint
    names: Mapping[str, FloatOrArray]
    machine: Machine
    by_rank: bool
    indices: frozenset[str] = frozenset()
    counts: NDArray[np.bool_] | None = None

    @classmethod
    def at_points(cls, design_point: DesignPoint, by_rank: bool | None = None) -> Evaluation:
        """At every design point: arrays (...), or (..., P) if ``by_rank``.

        None for that if some demand differs by rank.
        """
        if not (design_point.differs_by_rank if by_rank is None else by_rank):
            return cls(design_point, design_point.values, design_point.machine, False)
        names = {name: np.asarray(value)[..., None] for name, value in design_point.values.items()}
        names["rank"] = design_point.every_rank()
        machine = design_point.machine
        if design_point.shape:
            varying = {path: value for path, value in machine.varying().items() if path != CAPACITY}
            machine = machine.with_constants({path: np.asarray(value)[..., None] for path, value in varying.items()})
        return cls(design_point, names, design_point.machine.of_ranks(machine, design_point.ranks), True)

    @classmethod
    def at_ranks(cls, design_point: DesignPoint) -> Evaluation:
        """For every rank of a single design point: numbers, or arrays (P,) of what depends on ``rank``."""
        names = {**design_point.values, "rank": design_point.every_rank()}
        machine = design_point.machine
        return cls(design_point, names, machine.of_ranks(machine, design_point.ranks), True)

    @property
    def ranks(self) -> FloatOrArray:
        """P."""
        return self.names["P"]

    @property
    def program(self) -> EvaluatedBlock:
        """The program, as a block of its own that is done once."""
        return EvaluatedBlock(self, Block(ONE, self.design_point.workload.program), None)

    def iterations(self) -> Iterator[dict[str, float]]:
        """Yield the indices of every iteration at a single design point.

        None of them outside of loops with an index.
        """
        indices = np.broadcast_arrays(
            1.0 if self.counts is None else self.counts, *(self.names[name] for name in self.indices)
        )
        for counts, *numbers in zip(*(np.ravel(index) for index in indices), strict=True):
            if counts:
                yield dict(zip(self.indices, map(float, numbers), strict=True))

    def value(
        self,
        expression: Expression,
        what: str,
        changed: Mapping[str, FloatOrArray] | None = None,
        beyond: float = 0.0,
    ) -> FloatOrArray:
        """Return the value; some names may be ``changed``, and it is ``beyond`` where no iteration counts.

        InputError unless it is finite everywhere.
        """
        names = self.names if changed is None else {**self.names, **changed}
        text = f"{what} = {expression.text}"
        value = expression.evaluate(names)
        if self.counts is not None and (expression.names & self.indices) - (changed or {}).keys():
            value = np.where(self.counts, value, beyond)
        return finite(value, text, self.design_point.workload, expression)

    def amount(
        self, expression: Expression, what: str, changed: Mapping[str, FloatOrArray] | None = None
    ) -> FloatOrArray:
        """Return the value. InputError unless it is finite and not negative everywhere."""
        value = self.value(expression, what, changed, beyond=1.0)
        if np.any(np.asarray(value) < 0):
            place = expression.place or self.design_point.workload.place
            raise InputError(f"{what} = {expression.text} is negative", place, value=float(np.min(value)))
        return value

    def membership(self, group: str) -> Membership:
        """Who is in which of these groups; where the ranks are an axis."""
        workload, ranks = self.design_point.workload, self.design_point.ranks
        colour = workload.groups[group]
        return Membership.by_colour(group, self.value(colour, f"group {group}"), ranks, colour, workload.indices)

    def when(self, demand: Demand) -> NDArray[np.bool_] | None:
        """Which ranks a demand applies to; None for all of them."""
        return None if demand.when is None else np.asarray(self.value(demand.when, "when")) != 0

    def over_ranks(self, each: FloatOrArray) -> FloatOrArray:
        """Return the sum over all ranks of what each has, the last axis kept."""
        if not self.by_rank:
            return each * self.ranks
        every = each + np.zeros(self.design_point.ranks)
        total: FloatOrArray = np.sum(every, axis=-1, keepdims=True)
        return total


@dataclass(frozen=True)
class EvaluatedBlock:
    """A block of a program; ``outer`` is the block around it, None for the program itself.

    For a loop with an index it is the whole loop, of which ``parts`` and ``iterations`` give the steps their values;
    ``nodes``: of a part.
    """

    evaluation: Evaluation
    block: Block
    outer: EvaluatedBlock | None
    nodes: Nodes | None = None

    @cached_property
    def phase(self) -> str:
        """The phase in which its time is booked."""
        return MAIN_PHASE if self.outer is None else phase_name(self.outer.phase, self.block.phase)

    @cached_property
    def machine(self) -> Machine:
        """The machine with the constants that hold in the block."""
        machine = self.evaluation.machine if self.outer is None else self.outer.machine
        if not self.block.constants:
            return machine
        values = {path: self.evaluation.amount(value, path) for path, value in self.block.constants}
        return machine.with_constants(machine.on_all_nodes(values), self.block.place)

    @cached_property
    def repeat(self) -> FloatOrArray:
        """How often its steps are done each time that it is done."""
        evaluation = self.evaluation if self.outer is None else self.outer.evaluation
        return evaluation.amount(self.block.repeat, "repeat")

    @cached_property
    def repetitions(self) -> FloatOrArray:
        """How often its steps are done in all."""
        if self.outer is None:
            return 1.0
        return self.total(1.0) if self.evaluation.indices else self.outer.repetitions * self.repeat

    def summed(self, each: FloatOrArray) -> FloatOrArray:
        """Return the sum over its iterations of what it has in each: times ``repeat`` if they are alike."""
        return each * self.repeat if self.nodes is None else self.nodes.summed(each)

    def total(self, each: FloatOrArray) -> FloatOrArray:
        """Return the sum over all its repetitions, including the repetitions of the blocks around it."""
        if not self.evaluation.indices:
            return each * self.repetitions
        return each if self.outer is None else self.outer.total(self.summed(each))

    def highest(self, each: FloatOrArray) -> FloatOrArray:
        """Return the largest of all its repetitions, 0 if there are none."""
        if not self.evaluation.indices or self.outer is None:
            return each
        return self.outer.highest(each if self.nodes is None else self.nodes.highest(each))

    def parts(self) -> Iterator[EvaluatedBlock]:
        """Yield the block, or all iterations of a loop with an index in parts that bounded memory holds.

        Each part has its iterations as an axis.
        """
        if self.block.index is None:
            yield self
            return
        count = self.count()
        most, shape = int(np.max(count, initial=1.0)), np.shape(count)
        axes = self.axes_of_values()
        width = max(MOST_AT_ONCE // max(int(np.prod(axes, initial=1.0)), 1), 1)
        for low in range(0, max(most, 1), width):
            first = np.arange(low, min(low + width, max(most, 1)), dtype=np.float64)
            index = first.reshape(-1, *(1 for _ in axes))
            here = index < np.reshape(count, (1,) * (len(axes) - len(shape)) + shape)
            yield self.at_nodes(index, np.where(here, 1.0, 0.0))

    def at_nodes(self, index: NDArray[np.float64], weights: NDArray[np.float64]) -> EvaluatedBlock:
        """Return the loop at these values of its index, with what each counts in a sum.

        Both with the iterations in front.
        """
        outer = self.evaluation
        counts = None if np.all(weights != 0) else np.asarray(weights != 0)
        if outer.counts is not None:
            counts = outer.counts if counts is None else counts & outer.counts
        assert self.block.index is not None
        names = {**outer.names, self.block.index: index}
        inner = replace(outer, names=names, indices=outer.indices | {self.block.index}, counts=counts)
        return replace(self, evaluation=inner, nodes=Nodes(index, weights))

    def iterations(self) -> Iterator[EvaluatedBlock]:
        """Yield the iterations of a loop with an index, at a single design point, each as a block that is done once."""
        assert self.block.index is not None
        once = replace(self.block, repeat=ONE, index=None)
        for number in range(int(np.max(self.count()))):
            names = {**self.evaluation.names, self.block.index: float(number)}
            yield EvaluatedBlock(replace(self.evaluation, names=names), once, self.outer)

    @property
    def without_index(self) -> EvaluatedBlock:
        """The block for its steps that do not depend on its index."""
        return EvaluatedBlock(self.evaluation, replace(self.block, index=None), self.outer)

    def axes_of_values(self) -> tuple[int, ...]:
        """Return the lengths of the axes that values have here: iterations of the loops around it, points and ranks."""
        of_ranks = (self.evaluation.design_point.ranks,) if self.evaluation.by_rank else ()
        axes = self.evaluation.design_point.shape + of_ranks
        outer = self.outer
        while outer is not None:
            axes = axes if outer.nodes is None else (len(outer.nodes.index), *axes)
            outer = outer.outer
        return axes

    def count(self) -> FloatOrArray:
        """Return the number of iterations. InputError unless that is whole."""
        count, given = np.asarray(self.repeat), self.block.repeat
        if np.any(count != np.floor(count)):
            odd = float(count[count != np.floor(count)].flat[0])
            what = f"a loop with an index needs whole repetitions: repeat = {given.text}"
            raise InputError(what, given.place or self.block.place, value=odd, allowed="e.g. n // b, ceil(n / b)")
        return count

    def steps(self) -> Iterator[EvaluatedBlock | EvaluatedStep]:
        """Its blocks and demands, in their order."""
        for step in self.block.body:
            if isinstance(step, Block):
                yield EvaluatedBlock(self.evaluation, step, self)
            else:
                yield EvaluatedStep(step.at(self.evaluation.names, self.evaluation.machine), self, step)

    def demands(self) -> Iterator[EvaluatedStep]:
        """All demands in it and in its blocks, in their order."""
        for step in self.steps():
            if isinstance(step, EvaluatedBlock):
                for part in step.parts():
                    yield from part.demands()
            else:
                yield step


@dataclass(frozen=True)
class Nodes:
    """Values of an index, the iterations in front of the axes of all else, and the weight of each in a sum."""

    index: NDArray[np.float64]
    weights: NDArray[np.float64]

    def summed(self, each: FloatOrArray) -> FloatOrArray:
        """Return the weighted sum of what each iteration has, or of what they all have."""
        if np.ndim(each) < self.index.ndim:
            of_all: FloatOrArray = each * self.weights.sum(axis=0)
            return of_all
        total: FloatOrArray = np.sum(self.weights * each, axis=0)
        return total

    def highest(self, each: FloatOrArray) -> FloatOrArray:
        """Return the largest of what iterations have that count."""
        every = np.where(self.weights != 0, each, 0.0)
        highest: FloatOrArray = every.max(axis=0)
        return highest


@dataclass(frozen=True)
class EvaluatedStep:
    """A demand at its place in the program. ``stated``: as the program has it, before anything was chosen."""

    demand: Demand
    block: EvaluatedBlock
    stated: Demand | None = None

    @cached_property
    def evaluation(self) -> Evaluation:
        """The values of all names, including the rank's names in its group."""
        evaluation = self.block.evaluation
        if self.demand.communicator is None or self.demand.alike_on_all_ranks or not evaluation.by_rank:
            return evaluation
        groups = self.membership
        own = zip(GROUP_NAMES, (groups.group_rank, groups.group_size), strict=True)
        here = {name: values.astype(np.float64) for name, values in own}
        return replace(evaluation, names={**evaluation.names, **here})

    @cached_property
    def membership(self) -> Membership:
        """Who is in which of its groups; where the ranks are an axis."""
        assert self.demand.communicator is not None
        return self.block.evaluation.membership(self.demand.communicator)

    @property
    def phase(self) -> str:
        """The phase in which its time is booked."""
        return self.block.phase

    @property
    def machine(self) -> Machine:
        """The machine with the constants that hold here, whose messages are sent as the demand specifies."""
        return self.demand.sent_on(self.block.machine)

    @property
    def repetitions(self) -> FloatOrArray:
        """How often it is done in all."""
        return self.block.repetitions

    def total(self, each: FloatOrArray) -> FloatOrArray:
        """Return the sum over all repetitions of what it has each time that it is done."""
        return self.block.total(each)

    @cached_property
    def applies(self) -> NDArray[np.bool_] | None:
        """Which ranks it applies to; None for all of them."""
        when = self.evaluation.when(self.demand)
        if self.demand.communicator is None or self.demand.alike_on_all_ranks:
            return when
        in_group = self.membership.present
        return in_group if when is None else in_group & when

    @cached_property
    def present(self) -> FloatOrArray:
        """1 for ranks that it applies to, 0 for others; 1 alone for all ranks."""
        applies = self.applies
        return 1.0 if applies is None else np.where(applies, 1.0, 0.0)

    @property
    def accelerator(self) -> Accelerator:
        """The accelerator of the ranks that it applies to. InputError if some have none."""
        lacking = None
        if self.evaluation.by_rank:
            lacking = self.machine.lacks_accelerator(self.evaluation.design_point.ranks) & (self.present != 0)
        return needed_accelerator(self.machine.accelerator, self.machine.name, self.demand.place, lacking)

    def amount(
        self, expression: Expression, what: str, changed: Mapping[str, FloatOrArray] | None = None
    ) -> FloatOrArray:
        """Return an amount of the demand. InputError unless it is finite and not negative everywhere."""
        return self.evaluation.amount(expression, what, changed)

    def over_ranks(self, each: FloatOrArray) -> FloatOrArray:
        """Return the sum over all ranks of what each has."""
        return self.evaluation.over_ranks(each)


@dataclass(frozen=True)
class StepOfRanks(EvaluatedStep):
    """A demand at one design point that each rank does ``often`` times (P,), as a recording has it."""

    often: NDArray[np.int64] = field(kw_only=True)

    @property
    def applies(self) -> NDArray[np.bool_]:
        """(P,) which ranks do it."""
        return self.often > 0
