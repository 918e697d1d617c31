"""Points of a sweep that take a given processor time and nothing else, for figures of what is around them."""

from __future__ import annotations

import time

from simcodesign.studies.sweep.evaluate import PointTask, _evaluator
from simcodesign.studies.sweep.points import PointResult

POINT_S = 0.02


def spin(task: PointTask) -> list[PointResult]:
    """A row for each point, after POINT_S of processor time."""
    sweep, rows = _evaluator(task.packed).sweep, []
    for point in task.points:
        until = time.thread_time() + POINT_S
        while time.thread_time() < until:
            pass
        rows.append(sweep.row(point, {"simulated_makespan_s": float(point.number)}))
    return rows
