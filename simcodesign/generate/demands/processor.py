"""How long a computation occupies its processor: the rate model as the simulation sees it."""

from __future__ import annotations

from collections.abc import Callable

from simcodesign.core.errors import InputError
from simcodesign.core.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.machine import Machine


def work_of_computation(step: Compute, amount: Callable[[Expression, str], FloatOrArray]) -> FloatOrArray:
    """What every rank computes, in the demand's unit; ``amount`` evaluates an expression and names it in errors."""
    if step.amount is not None:
        return amount(step.amount, step.unit)
    work: FloatOrArray = 0.0
    for loop in step.loops:
        work = work + amount(loop.range, "range") * amount(loop.operations, "operations")
    return work


def duration_of_computation_s(step: Compute, machine: Machine, demand: FloatOrArray) -> FloatOrArray:
    """Seconds of a computation. Raises InputError for a demand in instructions on a machine without a clock."""
    processor = machine.processor
    if step.unit == "seconds":
        return demand
    if step.unit == "flops":
        return demand / processor.rate_flop_per_s
    if processor.clock_hz is None:
        what = f"a demand in instructions needs processor.clock, which {machine.name} has not"
        raise InputError(what, step.place)
    return demand * processor.cycles_per_instruction / processor.clock_hz
