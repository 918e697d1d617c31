"""Several jobs on one machine in closed form: each alone, and with its shares of what several of them use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.jobs.shares import Shares, shares_of_jobs
from simcodesign.core.jobs_result import JobsResult, JobTimes
from simcodesign.describe.jobs.job import Job
from simcodesign.describe.jobs.placed import PlacedJobs
from simcodesign.describe.scenario import MachineSource, Scenario

#: Parts of the times of jobs.
BASIS = (
    "forecast of each job alone, a lower bound as far as that is one",
    "forecast of the same job with its share of the links, disks and storage servers that other jobs use too, as if "
    "these used them all the time: 1/J of J jobs, or its part of their ranks if that is less. It is an upper bound if "
    "links are shared so, and messages of the job itself do not wait for each other",
)


def forecast_jobs(jobs: Sequence[Job | str], machine: MachineSource) -> JobsResult:
    """Forecast several jobs on one machine: ``alone_s`` of each, and as ``makespan_s`` its time with its shares.

    ``jobs``: each a ``Job`` or a text as ``jacobi@0:512``; no two on the same node. Shares hold however long the other
    jobs run, and whenever they start. Raises InputError for jobs that do not go together.

    >>> from simcodesign.analytic.jobs.forecast_jobs import forecast_jobs
    >>> answer = forecast_jobs(["jacobi@0:16", "jacobi@16:32"], "torus-cluster")
    >>> answer.jobs[0].alone_s <= answer.jobs[0].makespan_s
    True
    """
    placed = PlacedJobs.of(jobs, machine)
    every = zip(placed.jobs, placed.scenarios, shares_of_jobs(placed), strict=True)
    times = tuple(_times(job, scenario, shares) for job, scenario, shares in every)
    last_s = max(one.start_s + one.makespan_s for one in times)
    return JobsResult("forecast", placed.machine.label, times, last_s, basis=BASIS)


def _times(job: Job, scenario: Scenario, shares: Shares) -> JobTimes:
    """One job, alone and with its shares."""
    alone = forecast(scenario)
    shared = forecast(replace(scenario, machine=shares.of_machine(scenario.machine)))
    times_s = float(shared.headline_s), float(alone.headline_s)
    return JobTimes(
        job.label, len(job.places), job.start_s, *times_s, alone, shared, shares.links, shares.storage, shares.disks
    )
