"""Several jobs on one machine as events: all together, and each alone on the nodes that it has."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from simcodesign.core.errors import InputError, whole_seed
from simcodesign.core.jobs_result import JobsResult, JobTimes
from simcodesign.core.result import Result
from simcodesign.core.stations.uses import NO_STATIONS
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.effects import Mechanism, chosen_effects, switched_on
from simcodesign.describe.jobs.job import Job
from simcodesign.describe.jobs.placed import PlacedJobs
from simcodesign.describe.machine import Machine
from simcodesign.describe.scenario import MachineSource
from simcodesign.engine.background import run_with_background
from simcodesign.engine.event_contract import Log, OnProgress
from simcodesign.engine.jobs.job_logs import log_of_job
from simcodesign.engine.selection import AUTO, check_engine, chosen_engine, run
from simcodesign.engine.to_result import measured, measured_jobs
from simcodesign.generate.jobs.merged_plan import merged_plan
from simcodesign.generate.jobs.numbering import Numbering
from simcodesign.generate.lower import Plans
from simcodesign.generate.passes.background import BackgroundLoad
from simcodesign.generate.passes.order import with_sharing
from simcodesign.generate.plan import Plan
from simcodesign.generate.plan_builder import DrawnBackground


def simulate_jobs(
    jobs: Sequence[Job | str],
    machine: MachineSource,
    *,
    effects: str | Collection[str] = "all",
    seed: int = 0,
    engine: str = AUTO,
    timeline: bool = False,
    on_progress: OnProgress | None = None,
) -> JobsResult:
    """Simulate several jobs on one machine: together, and each alone on its nodes, which gives its slowdown.

    ``jobs``: each a ``Job`` or a text as ``jacobi@0:512``; no two on the same node. Job number k, from 0, draws its
    random numbers with ``seed`` + k, together and alone. Messages of background come from the nodes of no job, in both
    cases. ``timeline``: keep all operations of the run of all jobs.

    Raises InputError for jobs that do not go together, DeadlockError for ranks of a job that wait for each other, and
    CapacityError if they do not fit in memory.

    >>> from simcodesign.engine.jobs.simulate_jobs import simulate_jobs
    >>> answer = simulate_jobs(["jacobi@0:4", "jacobi@4:8"], "torus-cluster", effects="none")
    >>> [job.slowdown for job in answer.jobs]  # nothing is shared
    [1.0, 1.0]
    """
    placed = PlacedJobs.of(jobs, machine)
    run_of_jobs = _Jobs(placed, chosen_effects(effects), whole_seed(seed), check_engine(engine))
    return run_of_jobs.simulated(timeline, on_progress)


@dataclass(frozen=True)
class _Merged:
    """The Plan of all jobs, the Plans of each before messages share stations, and the numbers of these in it."""

    plan: Plan
    plans: list[Plan]
    numbering: Numbering


@dataclass(frozen=True)
class _Jobs:
    """Jobs on a machine, and how they are simulated."""

    placed: PlacedJobs
    effects: tuple[str, ...]
    seed: int
    engine: str

    def simulated(self, timeline: bool, on_progress: OnProgress | None) -> JobsResult:
        """All jobs together, and each alone."""
        self._check()
        last: list[_Merged] = []

        def made(background: int, size_bytes: float) -> Plan:
            last[:] = [self._merged(background, size_bytes)]
            return last[0].plan

        plan, log = run_with_background(made, lambda one: self._run(one, on_progress, timeline), self._load)
        times = [self._times(last[0], log, number, on_progress) for number in range(len(self.placed.jobs))]
        taken = chosen_engine(plan, self.engine, timeline)
        labels = [job.label for job in self.placed.jobs]
        together = measured_jobs(self._point_of_all, plan, log, self.effects, self.seed, taken, timeline)
        together = replace(together, workload=" + ".join(labels))
        return JobsResult("simulation", self._machine.label, tuple(times), float(together.makespan_s), together)

    @property
    def _machine(self) -> Machine:
        return self.placed.machine

    @cached_property
    def _plans(self) -> list[Plans]:
        """The Plans of every job."""
        return [Plans(point, self.seed + number) for number, point in enumerate(self.placed.points)]

    @cached_property
    def _point_of_all(self) -> DesignPoint:
        """The machine with the ranks of all jobs; of its workload only the machine and P have a meaning."""
        point = self.placed.points[0]
        return DesignPoint(point.workload, self.placed.machine_of_all, {"P": float(len(self.placed.places))}, {})

    def _check(self) -> None:
        """InputError for what several jobs do not have."""
        on = switched_on(self.effects)
        for job, point in zip(self.placed.jobs, self.placed.points, strict=True):
            if point.workload.is_open:
                what = f"job {job.label} is a stream of arrivals"
                raise InputError(what, point.workload.place, allowed="jobs whose programs end")
            if point.workload.checkpoints is not None:
                what = f"job {job.label} writes checkpoints, which stop all ranks of the machine"
                raise InputError(what, point.workload.place, allowed="jobs without `checkpoints`")
        if Mechanism.FAILURES in on and self._machine.failures is not None:
            what = "failures of nodes stop the ranks of all jobs"
            raise InputError(what, self._machine.place, allowed="several jobs without the effect failures")

    @cached_property
    def _load(self) -> BackgroundLoad | None:
        """Return the traffic of nodes that no job uses."""
        return BackgroundLoad.of(self._machine, lambda: self.placed.nodes, switched_on(self.effects))

    def _background(self, count: int, size_bytes: float, number: int = 0) -> DrawnBackground:
        """Messages from the nodes of no job; of a run of all jobs they come with the first one."""
        return DrawnBackground(count if number == 0 else 0, self.seed, self.placed.nodes, size_bytes)

    def _merged(self, background: int, size_bytes: float) -> _Merged:
        """Return the Plan of all jobs."""
        jobs = self.placed.jobs
        with np.errstate(all="ignore"):
            plans = [
                one.unshared(self.effects, self._background(background, size_bytes, number))
                for number, one in enumerate(self._plans)
            ]
            plan, numbering = merged_plan(
                plans,
                [job.places for job in jobs],
                [job.start_s for job in jobs],
                [job.label for job in jobs],
                self._machine.network.message_model.bytes_hold_sender,
            )
            return _Merged(with_sharing(plan, self._point_of_all, self.effects, self.seed), plans, numbering)

    def _shared(self, plan: Plan, number: int) -> Plan:
        """Return the Plan of one job, whose messages share stations as the machine specifies."""
        with np.errstate(all="ignore"):
            return with_sharing(plan, self.placed.points[number], self.effects, self.seed + number)

    def _run(self, plan: Plan, on_progress: OnProgress | None, timeline: bool = False) -> Log:
        return run(plan, chosen_engine(plan, self.engine, timeline), on_progress, timeline)

    def _times(self, merged: _Merged, log: Log, number: int, on_progress: OnProgress | None) -> JobTimes:
        """One job, with the others and alone."""
        job, plan = self.placed.jobs[number], self._shared(merged.plans[number], number)
        together = self._result(number, plan, log_of_job(log, merged.numbering, number, job.start_s))

        def made(background: int, size_bytes: float) -> Plan:
            if self._load is None:
                return plan
            drawn = self._background(background, size_bytes)
            return self._shared(self._plans[number].unshared(self.effects, drawn), number)

        others = merged.plan.background
        size_bytes = None if others is None else float(others.size_bytes[0])
        own, log_alone = run_with_background(made, lambda one: self._run(one, on_progress), self._load, size_bytes)
        alone = self._result(number, own, log_alone)
        times_s = float(together.makespan_s), float(alone.makespan_s)
        return JobTimes(job.label, self.placed.points[number].ranks, job.start_s, *times_s, alone, together)

    def _result(self, number: int, plan: Plan, log: Log) -> Result:
        """Return the Result of one job. Stations, and the power of the machine, belong to no job."""
        point = self.placed.points[number]
        engine = chosen_engine(plan, self.engine)
        result = measured(point, replace(plan, powers=None), log, self.effects, self.seed + number, engine)
        return replace(result, stations=NO_STATIONS)
