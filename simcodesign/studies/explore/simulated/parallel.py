"""Simulates points by several processes; the outcomes and their order are the same for any number of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from simcodesign.core.errors import SimcodesignError
from simcodesign.core.processes.ordered_map import MIN_SAVING_S
from simcodesign.core.processes.process_pool import ProcessExecutor
from simcodesign.studies.explore.simulated.point_simulator import PointSimulator
from simcodesign.studies.explore.space import FloatArray

#: The metrics of a simulated point, or why it could not be simulated.
Outcome: TypeAlias = dict[str, float] | str


def outcome_of(simulator: PointSimulator, point: FloatArray) -> Outcome:
    """Return the metrics of a point, or why there are none."""
    try:
        return simulator.metrics(point)
    except SimcodesignError as error:
        return str(error)


@contextmanager
def simulated_in_order(
    simulator: PointSimulator, jobs: int, expected: int
) -> Iterator[Callable[[FloatArray], list[Outcome]]]:
    """Return a function from points (n, variables) to their outcomes.

    ``expected``: how many there will be in all; processes are started if they would save some seconds.
    """
    pool: list[ProcessExecutor] = []
    spent = [0.0, 0]

    def simulate(points: FloatArray) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for at, point in enumerate(points):
            done = int(spent[1])
            saving = spent[0] / max(done, 1) * (expected - done) * (1 - 1 / jobs)
            if jobs > 1 and not pool and done and saving >= MIN_SAVING_S:
                pool.append(ProcessExecutor(jobs))
            if pool:
                futures = [pool[0].submit(outcome_of, simulator, other) for other in points[at:]]
                return outcomes + [_result(future.result) for future in futures]
            began = time.monotonic()
            outcomes.append(outcome_of(simulator, point))
            spent[0], spent[1] = spent[0] + time.monotonic() - began, done + 1
        return outcomes

    try:
        yield simulate
    finally:
        for executor in pool:
            executor.shutdown(cancel_futures=True)


def _result(result: Callable[[], Outcome]) -> Outcome:
    try:
        return result()
    except SimcodesignError as error:  # the process died
        return str(error)
