"""Closed form of computation: a rate model, with the loop-level operation counts of resource-usage equations.

Armstrong and Eigenmann, SPECseis96, equation 2: the operations of a loop iteration times the range of the loop, summed
over the loops; the time is their number over the rate.
"""

from __future__ import annotations

from collections.abc import Callable

from simcodesign.core.errors import InputError
from simcodesign.core.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.machine_parts import Processor

Evaluate = Callable[[Expression], FloatOrArray]


def operations(demand: Compute, value: Evaluate) -> FloatOrArray:
    """What is computed, in the unit of the demand."""
    if demand.amount is not None:
        return value(demand.amount)
    return sum((value(loop.range) * value(loop.operations) for loop in demand.loops), start=0.0)


def compute_s(demand: Compute, processor: Processor, amount: FloatOrArray) -> FloatOrArray:
    """Seconds of one computation. InputError when instructions are to be priced without a clock."""
    if demand.unit == "seconds":
        return amount
    if demand.unit == "flops":
        return amount / processor.rate_flop_per_s
    if processor.clock_hz is None:
        raise InputError("a demand in instructions needs processor.clock, which this machine has not", demand.place)
    return amount * processor.cycles_per_instruction / processor.clock_hz
