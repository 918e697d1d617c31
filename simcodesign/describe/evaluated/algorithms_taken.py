"""Which algorithms the collective operations of a program take that have ``algorithm: auto`` or ``nccl``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from simcodesign.core.forecast_parts import ChosenAlgorithm
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.evaluation import EvaluatedBlock, EvaluatedStep
from simcodesign.describe.programs.groups import Membership
from simcodesign.describe.programs.program import Step, walk
from simcodesign.describe.python_programs.matched import algorithms_recorded
from simcodesign.describe.python_programs.recorded_program import RecordedProgram

#: The ranks of the groups of a step, and how many such groups there are.
Sizes = Iterable[tuple[FloatOrArray, FloatOrArray]]


def sizes_of_members(step: EvaluatedStep) -> Sizes:
    """Return the groups of a step of one design point, by their members, in each iteration if these differ."""
    if step.demand.communicator is None:
        return [(step.evaluation.ranks, 1.0)]
    colour = step.membership.colour
    rows = [
        {members.shape[1]: len(members) for members in Membership(row).members()}
        for row in colour.reshape(-1, colour.shape[-1])
    ]
    shape = (*colour.shape[:-1], 1) if colour.ndim > 1 else ()
    sizes = sorted(set().union(*rows))
    return [(float(size), np.array([row.get(size, 0.0) for row in rows]).reshape(shape)) for size in sizes]


def algorithms_taken(
    program: EvaluatedBlock, sizes: Callable[[EvaluatedStep], Sizes] = sizes_of_members
) -> tuple[ChosenAlgorithm, ...]:
    """One row for each phase, operation and algorithm, in the order of the program.

    For programs in Python, at a single design point only. InputError for bytes that cannot be.
    """
    if not any(_may_choose(step) for step in walk(program.block.body)):
        return ()
    found: dict[tuple[str, str, str], ChosenAlgorithm] = {}
    for step in program.demands():
        for one in _of_step(step, sizes):
            key = (one.phase, one.operation, one.algorithm)
            found[key] = found[key].plus(one) if key in found else one
    return tuple(found.values())


def _may_choose(step: Step) -> bool:
    return isinstance(step, RecordedProgram) or (isinstance(step, Collective) and step.is_open)


def _of_step(step: EvaluatedStep, sizes: Callable[[EvaluatedStep], Sizes]) -> Iterator[ChosenAlgorithm]:
    demand, point = step.demand, step.evaluation.design_point
    if isinstance(demand, RecordedProgram) and not point.shape:
        values = demand.arguments(point.values, point.workload.parameters)
        yield from algorithms_recorded(demand.recorded(point.ranks, values), point.machine.collectives)
    elif isinstance(demand, Collective) and (demand.is_open or demand.chosen_by):
        yield from _of_collective(step, demand, sizes(step))


def _of_collective(step: EvaluatedStep, demand: Collective, sizes: Sizes) -> Iterator[ChosenAlgorithm]:
    is_open, counts = replace(demand, algorithm=demand.chosen_by or demand.algorithm), step.evaluation.counts
    for ranks, groups in sizes:
        names = None if demand.group is None else {"group_size": ranks}
        size = step.amount(demand.bytes, "bytes", names)
        there = (np.asarray(groups) > 0) & (np.asarray(step.repetitions) > 0)
        there = there if counts is None else there & counts
        for way, where in is_open.choices(ranks, size):
            taken, p, n = np.broadcast_arrays(where & there, ranks, size)
            if taken.any():
                p, n = p[taken], n[taken]
                row = int(p.min()), int(p.max()), float(n.min()), float(n.max())
                yield ChosenAlgorithm(step.phase, demand.label, way.algorithm, *row)
