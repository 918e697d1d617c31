"""Computation: what a processor has to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Demand, Evaluate
from simcodesign.describe.randomness.distribution import Distribution


@dataclass(frozen=True)
class Loop:
    """``range`` times ``operations`` per iteration: one row of a loop-level operation count."""

    name: str
    range: Expression
    operations: Expression


@dataclass(frozen=True)
class Compute(Demand):
    """Work of a processor: ``amount`` in ``unit`` (flops, instructions, seconds), or summed over ``loops`` in flops.

    ``varies``, here as in other demands: each time it is done, it takes as long times a factor of its own.
    """

    unit: str
    amount: Expression | None
    loops: tuple[Loop, ...] = ()
    varies: Distribution | None = None
    works_on = "processor"

    def amounts(self) -> Iterator[Expression]:
        yield from (() if self.amount is None else (self.amount,))
        for loop in self.loops:
            yield from (loop.range, loop.operations)

    def work(self, evaluate: Evaluate) -> FloatOrArray:
        """What is computed, in ``unit``: the operations of an iteration times the range, summed over the loops
        (Armstrong and Eigenmann, SPECseis96, equation 2)."""
        if self.amount is not None:
            return evaluate(self.amount, self.unit)
        work: FloatOrArray = 0.0
        for loop in self.loops:
            work = work + evaluate(loop.range, "range") * evaluate(loop.operations, "operations")
        return work
