"""Whether the ranks of a program differ, so that its forecast is the longest path and not the sum of closed forms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.group_sizes import group_sizes
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.demands.wavefront import Wavefront
from simcodesign.describe.evaluation import EvaluatedStep, Evaluation
from simcodesign.describe.programs.program import placed_demands
from simcodesign.describe.python_programs.recorded_program import RecordedProgram

Bools = NDArray[np.bool_]


def ranks_differ(evaluation: Evaluation) -> Bools:
    """Return at which design points, an array of their shape, the ranks of the program differ.

    They do if there is more than one rank, and the program has

    - sends or receives of its own, or a wavefront (pipelines);
    - a step whose condition or amounts depend on ``rank``, or that is done in groups by each rank for itself;
    - a collective operation whose root or bytes depend on ``rank``, or one of groups of several sizes or without some
      of the ranks;
    - several recorded ranks (programs in Python, traces), unless the program has a formula of its own;

    or the machine has partitions or caches with which the same step takes some ranks longer than others.
    Otherwise all ranks do alike: each does the same steps, or its part of the same operations of several ranks.
    """
    point = evaluation.design_point
    demands = [placed.demand for placed in placed_demands(point.workload.program)]
    several = np.broadcast_to(np.asarray(point.values["P"]) > 1, point.shape)
    recorded = [demand for demand in demands if isinstance(demand, RecordedProgram)]
    if any(demand.formula is not None for demand in recorded):
        return np.zeros(point.shape, bool)
    has_kind = any(isinstance(demand, Send | Receive | Wavefront | RecordedProgram) for demand in demands)
    by_rank = any("rank" in expression.names for demand in demands for expression in demand.rank_expressions())
    if has_kind or by_rank or point.differs_by_rank:
        return several
    if all(demand.communicator is None for demand in demands):
        return np.zeros(point.shape, bool)
    return several & _groups_differ(evaluation)


def _groups_differ(evaluation: Evaluation) -> Bools:
    """Whether the groups of some step have several sizes, or leave out ranks."""
    differ = np.zeros(evaluation.design_point.shape, bool)
    for step in evaluation.program.demands():
        if step.demand.communicator is not None:
            differ = differ | _of_iterations(step, differ.shape)
    return differ


def _of_iterations(step: EvaluatedStep, shape: tuple[int, ...]) -> Bools:
    """Whether they do at each design point, in any of the iterations around the step, whose axes are in front."""
    sizes = group_sizes(step)
    kinds = sum(np.asarray(groups.count) > 0 for groups in sizes)
    members = sum(groups.members for groups in sizes)
    differ = np.asarray((kinds > 1) | (members < step.evaluation.ranks))
    axes = tuple(range(max(differ.ndim - len(shape), 0)))
    return np.broadcast_to(np.any(differ, axis=axes), shape)
