"""The floating-point operations of which a rate is made: what a paper divides by the time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.design_point import DesignPoint, finite
from simcodesign.describe.evaluation import EvaluatedBlock, Evaluation
from simcodesign.describe.programs.program import Block, with_phase
from simcodesign.describe.workload import Workload


def useful_flops(design_point: DesignPoint) -> FloatOrArray:
    """Return the useful operations of all ranks together.

    Shape of the design point, a plain number for one design point.

    Each block that states ``useful_flops`` counts as often as it is repeated, by its ``repeat`` and those around it. Of
    a block of which only some phases were selected nothing counts. Raises InputError when no block states any, and
    for amounts that are negative or not finite.
    """
    with np.errstate(all="ignore"):
        parts = list(_parts(Evaluation.at_points(design_point, by_rank=False).program))
    if not parts:
        raise _none_stated(design_point.workload)
    total = sum(parts[1:], start=parts[0])
    whole: FloatOrArray = np.broadcast_to(total, design_point.shape) if design_point.shape else float(total)
    return finite(whole, "the sum of useful_flops", design_point.workload, None)


def useful_phases(workload: Workload) -> tuple[str, ...]:
    """Return the phases within blocks with ``useful_flops``, to be selected. InputError if none states any."""
    phases: dict[str, None] = {}
    for phase, step in with_phase(workload.program):
        if isinstance(step, Block) and step.useful_flops is not None:
            inside = with_phase(step.body, phase)
            phases |= {name: None for name, demand in inside if not isinstance(demand, Block)}
    if not phases:
        raise _none_stated(workload)
    return tuple(phases)


def _none_stated(workload: Workload) -> InputError:
    what = f"{workload.name} states no useful_flops here, of which a rate could be made"
    return InputError(what, workload.place, allowed="useful_flops in a block of its program")


def _parts(block: EvaluatedBlock) -> Iterator[FloatOrArray]:
    """Contribution of each block in this one, the outer ones first."""
    for step in block.steps():
        if isinstance(step, EvaluatedBlock):
            useful = step.block.useful_flops
            for part in step.parts():
                if useful is not None:
                    yield part.total(part.evaluation.amount(useful, "useful_flops"))
                yield from _parts(part)
