"""The floating-point operations of which a rate is made: what a paper divides by the time."""

from __future__ import annotations

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.design_point import DesignPoint, finite
from simcodesign.describe.program import Block, Step, with_phase
from simcodesign.describe.workload import Workload


def useful_flops(design_point: DesignPoint) -> FloatOrArray:
    """The useful operations of all ranks together: shape of the setting, a plain number for one design point.

    Each block that states ``useful_flops`` counts as often as it is repeated, by its ``repeat`` and those around it. Of
    a block of which only some phases were selected nothing counts. Raises InputError when no block states any, and
    for amounts that are negative or not finite.
    """
    with np.errstate(all="ignore"):
        parts = list(_parts(design_point, design_point.workload.program, 1.0))
    if not parts:
        raise _none_stated(design_point.workload)
    total = sum(parts[1:], start=parts[0])
    whole: FloatOrArray = np.broadcast_to(total, design_point.shape) if design_point.shape else float(total)
    return finite(whole, "the sum of useful_flops", design_point.workload, None)


def useful_phases(workload: Workload) -> tuple[str, ...]:
    """The phases of all that stands in blocks with ``useful_flops``, to be selected. InputError if none states any."""
    found: dict[str, None] = {}
    for phase, step in with_phase(workload.program):
        if isinstance(step, Block) and step.useful_flops is not None:
            inside = with_phase(step.body, phase)
            found |= {name: None for name, demand in inside if not isinstance(demand, Block)}
    if not found:
        raise _none_stated(workload)
    return tuple(found)


def _none_stated(workload: Workload) -> InputError:
    what = f"{workload.name} states no useful_flops here, of which a rate could be made"
    return InputError(what, workload.place, allowed="useful_flops in a block of its program")


def _parts(design_point: DesignPoint, program: tuple[Step, ...], times: FloatOrArray) -> list[FloatOrArray]:
    """What each block adds, the outer ones first."""
    found: list[FloatOrArray] = []
    for step in program:
        if isinstance(step, Block):
            inside = times * _amount(design_point, step.repeat, "repeat")
            if step.useful_flops is not None:
                found.append(inside * _amount(design_point, step.useful_flops, "useful_flops"))
            found += _parts(design_point, step.body, inside)
    return found


def _amount(design_point: DesignPoint, expression: Expression, what: str) -> FloatOrArray:
    """A value that is finite and not negative."""
    text = f"{what} = {expression.text}"
    value = finite(expression.evaluate(design_point.values), text, design_point.workload, expression)
    if np.any(np.asarray(value) < 0):
        raise InputError(f"{text} is negative", expression.place, value=float(np.min(value)))
    return value
