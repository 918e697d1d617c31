"""Checkpoints and failures of a simulated run.

Both stop all ranks, so that events keep their order: what the run does at a time of its own clock happens at a later
time, by all that it was stopped before.

A failure costs what was done since the last checkpoint and the restart; what was done before is not simulated again. If
nodes fail while ranks restart, they begin to restart again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.result import CHECKPOINTS, FAILURES, Result
from simcodesign.core.simulation_parts import Failures
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.effects import Mechanism, switched_on
from simcodesign.describe.randomness.node_failures import CheckpointTimes
from simcodesign.generate.randomness.failures import failure_times_s

Floats = NDArray[np.float64]
#: Failures after which a run is taken not to end.
MOST_FAILURES = 1_000_000
#: Relative: by so little more than a whole number of intervals, work needs no further checkpoint.
ROUNDING = 1e-12


@dataclass
class Clock:
    """When what a run does at a time of its own clock happens, if it is stopped for checkpoints, and after failures."""

    times: CheckpointTimes
    work_s: float
    failures: Iterator[float]
    now_s: float = 0.0
    begun: int = 0  # intervals that are done
    count: int = 0
    lost_s: float = 0.0
    restart_s: float = 0.0
    since: list[tuple[int, float]] = field(default_factory=list)  # from which interval on, and when it begins

    def __post_init__(self) -> None:
        self.interval_s = min(float(self.times.interval_s), self.work_s)
        self.write_s = float(self.times.write_s)
        whole = self.work_s / self.interval_s if self.work_s else 0.0
        self.checkpoints = max(int(np.ceil(whole * (1 - ROUNDING))) - 1, 0)
        self._next_s = next(self.failures, np.inf)
        while True:
            self.since.append((self.begun, self.now_s))
            self._work_until_failure()
            if self._end_s() <= self._next_s:
                break
            self.lost_s += self._next_s - self.now_s
            self._restart()

    def _work_until_failure(self) -> None:
        """As many intervals, with their checkpoints, as are done before the next failure."""
        each_s, left = self.interval_s + self.write_s, self.checkpoints - self.begun
        done = left if self._next_s == np.inf else min(left, int((self._next_s - self.now_s) / each_s)) if left else 0
        self.begun += done
        self.now_s += done * each_s

    def _end_s(self) -> float:
        """When the run ends, if it has only its last interval to do, and no node fails."""
        if self.begun < self.checkpoints:
            return np.inf
        return self.now_s + self.work_s - self.checkpoints * self.interval_s

    def _restart(self) -> None:
        """Continue ``restart_s`` after the first failure that is followed by ``restart_s`` without another."""
        failed_s, restart_s = self._next_s, float(self.times.restart_s)
        self.now_s = failed_s
        while self._next_s <= self.now_s:
            self.count += 1
            if self.count > MOST_FAILURES:
                what = f"the program does not end: {MOST_FAILURES:g} failures in {self.now_s:.3g} s"
                raise InputError(what, allowed="checkpoints in shorter intervals, or a longer failures.mtbf")
            self.now_s = self._next_s + restart_s
            self._next_s = next(self.failures, np.inf)
        self.restart_s += self.now_s - failed_s

    def at(self, run_s: Floats) -> Floats:
        """Return the times at which what a run does at ``run_s`` happens at last."""
        if not self.work_s:
            return run_s
        interval = np.clip(np.ceil(run_s / self.interval_s * (1 - ROUNDING)) - 1, 0, self.checkpoints)
        first, begin_s = (np.array(column) for column in zip(*self.since, strict=True))
        piece = np.searchsorted(first, interval, side="right") - 1
        stopped_s = (interval - first[piece]) * self.write_s
        happened_s: Floats = begin_s[piece] + (run_s - first[piece] * self.interval_s) + stopped_s
        return happened_s


def with_failures(result: Result, point: DesignPoint, effects: Collection[str], seed: int) -> Result:
    """Return the Result of a run with its checkpoints, and with failures if that is one of the ``effects``.

    Makespan, phases, energy, and the times of ranks, timeline and power. Stations and waits are copied from the run.
    """
    fails = Mechanism.FAILURES in switched_on(effects) and point.machine.failures is not None
    if point.workload.checkpoints is None and point.machine.failures is None:
        return result
    times = failure_times_s(point, seed) if fails else iter(())
    clock = Clock(point.checkpoint_times, float(result.makespan_s), times)
    nothing = dict.fromkeys(COMPONENTS, 0.0)
    phases = dict(result.phases)
    if point.workload.checkpoints is not None:
        phases[CHECKPOINTS] = nothing | {"disk": clock.checkpoints * clock.write_s}
    if point.machine.failures is not None:
        phases[FAILURES] = nothing | {"computation": clock.lost_s, "disk": clock.restart_s}
    makespan_s = float(clock.at(np.array([result.makespan_s]))[0])
    return replace(
        _at_times_of(result, clock, makespan_s),
        makespan_s=makespan_s,
        phases=phases,
        checkpoints=None if point.workload.checkpoints is None else clock.checkpoints,
        failures=Failures(clock.count, clock.lost_s, clock.restart_s) if fails else None,
    )


def _at_times_of(result: Result, clock: Clock, makespan_s: float) -> Result:
    """Return the result with its times converted to the clock.

    While ranks are stopped, they draw the power of the moment before, or the mean power if there is no profile.
    """
    ranks, timeline, profile, energy_j = result.ranks, result.timeline, result.power_profile, result.energy_j
    if ranks is not None:
        ranks = replace(ranks, end_s=clock.at(ranks.end_s))
    if timeline is not None:
        ready_s, start_s, finish_s = (clock.at(it) for it in (timeline.ready_s, timeline.start_s, timeline.finish_s))
        arrival_s = None if timeline.arrival_s is None else clock.at(timeline.arrival_s)
        services = None if timeline.services is None else timeline.services.at_times(clock.at)
        timeline = replace(
            timeline, ready_s=ready_s, start_s=start_s, finish_s=finish_s, arrival_s=arrival_s, services=services
        )
    if profile is not None:
        edges_s = np.concatenate([[0.0], clock.at(profile.edges_s[1:])])
        profile = replace(profile, edges_s=edges_s)
        energy_j = profile.energy_j
    elif energy_j is not None and result.makespan_s:
        energy_j = energy_j * makespan_s / float(result.makespan_s)
    return replace(result, ranks=ranks, timeline=timeline, power_profile=profile, energy_j=energy_j)
