"""Several jobs on one machine as tables for a terminal."""

from __future__ import annotations

from rich.console import RenderableType

from simcodesign.core.jobs_result import JobsResult, JobTimes
from simcodesign.report.common.numbers import Seconds
from simcodesign.report.common.tables import new_table, paragraph
from simcodesign.report.results.tables import simulation_tables


def jobs_tables(answer: JobsResult, stations: int = 5) -> list[RenderableType]:
    """Every job together with the others and alone.

    Then what a forecast consists of, or the run of all jobs with its ``stations`` most used stations.
    """
    parts: list[RenderableType] = [_times(answer)]
    if answer.basis:
        low, high = answer.basis
        parts.append(paragraph(f"Alone: {low}. Shared: {high}."))
    return parts if answer.together is None else [*parts, *simulation_tables(answer.together, stations)]


def _times(answer: JobsResult) -> RenderableType:
    """Return a row for each job."""
    show = Seconds(time for job in answer.jobs for time in (job.makespan_s, job.alone_s))
    is_forecast = answer.together is None
    later = any(job.start_s for job in answer.jobs)
    shares = ("links", "storage", "disks") if is_forecast else ()
    heads = [
        "job",
        "ranks",
        *(["start"] if later else []),
        "alone",
        "shared" if is_forecast else "together",
        "slowdown",
    ]
    table = new_table(f"Jobs on {answer.machine} ({show.unit})", *heads, *(f"share of {name}" for name in shares))
    for job in answer.jobs:
        start = [show(job.start_s)] if later else []
        times = [show(job.alone_s), show(job.makespan_s), f"{job.slowdown:.4g}"]
        table.add_row(job.label, f"{job.ranks:,}", *start, *times, *(_shares(job) if is_forecast else ()))
    return table


def _shares(job: JobTimes) -> list[str]:
    return [f"{share:.3g}" for share in (job.link_share, job.storage_share, job.disk_share) if share is not None]
