"""A job: a workload, the processors of the machine that it has, and when it starts.

``W@FIRST:END`` is the workload W on the places FIRST to END - 1 of the machine, ``W@FIRST:END:STEP`` on every STEP-th
of them. ``W@FIRST:END+TIME`` starts at that time. The places of a machine are the ranks of a program that fills it, in
the order of its mapping: place 17 is the processor that rank 17 of such a program has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import parse_quantity
from simcodesign.describe.scenario import WorkloadSource
from simcodesign.describe.variants import JOB, JOB_FORM, split_variant
from simcodesign.describe.workload import Workload


@dataclass(frozen=True)
class Job:
    """A workload on some of the processors of a machine, as many ranks as ``places``.

    ``workload``: an object, a bundled name, or the path of a file. ``places``: those that it has, one for each rank.
    ``parameters``: values of its parameters. ``preset``: a named set of values. ``start_s``: when its ranks begin.
    Raises InputError for places that are not ascending or none, and for a start that is not 0 or later.

    >>> from simcodesign.describe.jobs.job import Job
    >>> Job.parse("jacobi@512:1024").label
    'jacobi@512:1024'
    """

    workload: WorkloadSource
    places: range
    parameters: Mapping[str, object] = field(default_factory=dict)
    preset: str | None = None
    start_s: float = 0.0

    def __post_init__(self) -> None:
        places = self.places
        if not isinstance(places, range) or not len(places) or places.step < 1 or places.start < 0:
            allowed = "at least one place, ascending from 0, as range(0, 512)"
            raise InputError(f"the places of job {self.name}", value=places, allowed=allowed)
        if not (isinstance(self.start_s, int | float) and 0 <= self.start_s < np.inf):
            raise InputError(f"the start of job {self.name}", value=self.start_s, allowed="0 s or later")
        if "P" in self.parameters or "P" in split_variant(self.name)[1]:
            what = f"job {self.label} has as many ranks as places"
            raise InputError(what, value="P", allowed="its number of ranks by its places alone")

    @classmethod
    def parse(cls, text: str, parameters: Mapping[str, object] | None = None, preset: str | None = None) -> Job:
        """Return the job that a text specifies.

        With values of the ``parameters`` of its workload and a ``preset`` of them. InputError for a text of another
        form.
        """
        match = JOB.fullmatch(text.strip())
        if match is None:
            raise InputError("not a job", Place(), value=text, allowed=JOB_FORM)
        numbers = match["places"].split(":")
        if not numbers[1] or (len(numbers) > 2 and not int(numbers[2] or 0)):
            raise InputError("the places of a job have an end, and a step above 0", value=text, allowed=JOB_FORM)
        places = range(int(numbers[0] or 0), int(numbers[1]), int(numbers[2]) if len(numbers) > 2 else 1)
        start_s = float(parse_quantity(match["start"], "time", Place())) if match["start"] else 0.0
        return cls(match["workload"].strip(), places, parameters or {}, preset, start_s)

    @property
    def name(self) -> str:
        """The name of its workload, without a path."""
        if isinstance(self.workload, Workload):
            return self.workload.name
        text = str(self.workload)
        return text if split_variant(text)[1] else Path(text).name.removesuffix(".yaml")

    @property
    def label(self) -> str:
        """Its workload and its places, which no other job has."""
        step = "" if self.places.step == 1 else f":{self.places.step}"
        return f"{self.name}@{self.places.start}:{self.places.stop}{step}"


#: Several jobs, as the verbs take them instead of one workload.
JobList = list[Job] | list[str] | list[Job | str] | tuple[Job | str, ...]


def job_of(source: Job | str) -> Job:
    """Return the job, parsed if it is a text. InputError for anything else."""
    if isinstance(source, Job):
        return source
    if isinstance(source, str):
        return Job.parse(source)
    raise InputError("not a job", value=source, allowed=f"Job(workload, range(0, 512)), or {JOB_FORM}")
