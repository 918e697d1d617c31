"""A program with its amounts evaluated: the one walk over blocks and demands that every reading takes.

An ``Evaluation`` gives all names their values; ``Evaluation.program`` is the program as nested ``EvaluatedBlock``s,
whose steps know their phase, the machine with the constants of that phase, and how often they are done. A reading only
prices what it comes to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import CAPACITY
from simcodesign.describe.demands.base import ONE, Demand
from simcodesign.describe.design_point import DesignPoint, finite
from simcodesign.describe.groups import GROUP_NAMES, Membership
from simcodesign.describe.machine import Machine
from simcodesign.describe.program import MAIN_PHASE, Block, phase_name


@dataclass(frozen=True)
class Evaluation:
    """The values of all ``names``, and the ``machine``, at which a program is evaluated: numbers or arrays over the
    design points, with the ranks as the last axis where ``by_rank``."""

    design_point: DesignPoint
    names: Mapping[str, FloatOrArray]
    machine: Machine
    by_rank: bool

    @classmethod
    def at_points(cls, design_point: DesignPoint, by_rank: bool | None = None) -> Evaluation:
        """At every design point: arrays (...), or (..., P) if ``by_rank``; None for that where some demand differs by
        rank."""
        if not (design_point.differs_by_rank if by_rank is None else by_rank):
            return cls(design_point, design_point.values, design_point.machine, False)
        names = {name: np.asarray(value)[..., None] for name, value in design_point.values.items()}
        names["rank"] = design_point.every_rank()
        machine = design_point.machine
        if design_point.shape:
            varying = {path: value for path, value in machine.varying().items() if path != CAPACITY}
            machine = machine.with_constants({path: np.asarray(value)[..., None] for path, value in varying.items()})
        return cls(design_point, names, machine, True)

    @classmethod
    def at_ranks(cls, design_point: DesignPoint) -> Evaluation:
        """For every rank of a single design point: numbers, or arrays (P,) of what depends on ``rank``."""
        names = {**design_point.values, "rank": design_point.every_rank()}
        return cls(design_point, names, design_point.machine, True)

    @property
    def ranks(self) -> FloatOrArray:
        """P."""
        return self.names["P"]

    @property
    def program(self) -> EvaluatedBlock:
        """The program, as a block of its own that is done once."""
        return EvaluatedBlock(self, Block(ONE, self.design_point.workload.program), None)

    def value(
        self, expression: Expression, what: str, changed: Mapping[str, FloatOrArray] | None = None
    ) -> FloatOrArray:
        """The value; some names may be ``changed``. InputError unless it is finite everywhere."""
        names = self.names if changed is None else {**self.names, **changed}
        text = f"{what} = {expression.text}"
        return finite(expression.evaluate(names), text, self.design_point.workload, expression)

    def amount(
        self, expression: Expression, what: str, changed: Mapping[str, FloatOrArray] | None = None
    ) -> FloatOrArray:
        """The value. InputError unless it is finite and not negative everywhere."""
        value = self.value(expression, what, changed)
        if np.any(np.asarray(value) < 0):
            place = expression.place or self.design_point.workload.place
            raise InputError(f"{what} = {expression.text} is negative", place, value=float(np.min(value)))
        return value

    def membership(self, group: str) -> Membership:
        """Who is in which of these groups; where the ranks are an axis."""
        expression, ranks = self.design_point.workload.groups[group], self.design_point.ranks
        return Membership.by_colour(group, self.value(expression, f"group {group}"), ranks, expression)

    def when(self, demand: Demand) -> NDArray[np.bool_] | None:
        """Which ranks a demand applies to; None for all of them."""
        return None if demand.when is None else np.asarray(self.value(demand.when, "when")) != 0

    def over_ranks(self, each: FloatOrArray) -> FloatOrArray:
        """The sum over all ranks of what each has, the last axis kept."""
        if not self.by_rank:
            return each * self.ranks
        every = each + np.zeros(self.design_point.ranks)
        total: FloatOrArray = np.sum(every, axis=-1, keepdims=True)
        return total


@dataclass(frozen=True)
class EvaluatedBlock:
    """A block of a program; ``outer`` is the one around it, None for the program itself."""

    evaluation: Evaluation
    block: Block
    outer: EvaluatedBlock | None

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
        return machine.with_constants(values, self.block.place)

    @cached_property
    def repeat(self) -> FloatOrArray:
        """How often its steps are done each time that it is done."""
        return self.evaluation.amount(self.block.repeat, "repeat")

    @cached_property
    def repetitions(self) -> FloatOrArray:
        """How often its steps are done in all."""
        return 1.0 if self.outer is None else self.outer.repetitions * self.repeat

    def steps(self) -> Iterator[EvaluatedBlock | EvaluatedStep]:
        """Its blocks and demands, in their order."""
        for step in self.block.body:
            if isinstance(step, Block):
                yield EvaluatedBlock(self.evaluation, step, self)
            else:
                yield EvaluatedStep(step, self)

    def demands(self) -> Iterator[EvaluatedStep]:
        """All demands in it and in its blocks, in their order."""
        for step in self.steps():
            if isinstance(step, EvaluatedBlock):
                yield from step.demands()
            else:
                yield step


@dataclass(frozen=True)
class EvaluatedStep:
    """A demand where it stands in the program."""

    demand: Demand
    block: EvaluatedBlock

    @cached_property
    def evaluation(self) -> Evaluation:
        """The values of all names, those of the rank in its group among them."""
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
        """The machine with the constants that hold here."""
        return self.block.machine

    @property
    def repetitions(self) -> FloatOrArray:
        """How often it is done in all."""
        return self.block.repetitions

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

    def amount(
        self, expression: Expression, what: str, changed: Mapping[str, FloatOrArray] | None = None
    ) -> FloatOrArray:
        """An amount of the demand. InputError unless it is finite and not negative everywhere."""
        return self.evaluation.amount(expression, what, changed)

    def over_ranks(self, each: FloatOrArray) -> FloatOrArray:
        """The sum over all ranks of what each has."""
        return self.evaluation.over_ranks(each)
