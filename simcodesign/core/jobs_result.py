"""The answer about several jobs on one machine: each of them together with the others, and alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simcodesign.core.result import Result
from simcodesign.core.to_json import PlainResult, attributes_of, fields_of


@dataclass(frozen=True)
class JobTimes(PlainResult):
    """A job: its ``label`` (``jacobi@0:512``), when it starts, and how long it takes from then on.

    ``makespan_s``: with the other jobs; of a forecast with its shares of what several jobs use. ``alone_s``: without
    them, on the same nodes. ``together``, ``alone``: both as a ``Result`` of their own, without stations, which belong
    to no job. ``link_share``, ``storage_share``, ``disk_share``: of a forecast, the smallest fractions that the job has
    of the bandwidth of links, storage servers and disks.
    """

    label: str
    ranks: int
    start_s: float
    makespan_s: float
    alone_s: float
    alone: Result = field(repr=False)
    together: Result = field(repr=False)
    link_share: float | None = None
    storage_share: float | None = None
    disk_share: float | None = None

    @property
    def slowdown(self) -> float:
        """How many times as long it takes with the other jobs as alone; 1 for a job that takes no time."""
        return self.makespan_s / self.alone_s if self.alone_s else 1.0

    def json_fields(self) -> dict[str, Any]:
        """Its times, without the Results."""
        unknown = [name for name in ("link_share", "storage_share", "disk_share") if getattr(self, name) is None]
        shown = fields_of(self, without=("alone", "together", *unknown))
        return shown | attributes_of(self, "slowdown")


@dataclass(frozen=True)
class JobsResult(PlainResult):
    """Several ``jobs`` on one ``machine``. ``makespan_s``: until the last of them ends.

    ``together``: the run of all jobs as one ``Result``, with the ranks of all jobs in the order of their nodes,
    and whose phases begin with the labels of the jobs; None of a forecast. ``basis``: what the times of a forecast
    consist of.

    >>> import simcodesign as sc
    >>> answer = sc.simulate(["jacobi@0:8", "jacobi@8:16"], "torus-cluster")
    >>> [job.label for job in answer.jobs]
    ['jacobi@0:8', 'jacobi@8:16']
    >>> answer.jobs[0].slowdown >= 1
    True
    """

    reading: str
    machine: str
    jobs: tuple[JobTimes, ...]
    makespan_s: float
    together: Result | None = field(default=None, repr=False)
    basis: tuple[str, ...] = ()

    def json_fields(self) -> dict[str, Any]:
        """Return the times of the jobs, and of a simulation the Result of all of them."""
        shown = fields_of(self, without=("together", "basis"))
        shown |= {"basis": self.basis} if self.basis else {}
        return shown if self.together is None else shown | {"together": self.together}
