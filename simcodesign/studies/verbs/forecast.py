"""``sc.forecast``: one workload on a machine in closed form, or several jobs on it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypedDict, Unpack, overload

from simcodesign.analytic.forecast import forecast as forecast_once
from simcodesign.analytic.jobs.forecast_jobs import forecast_jobs
from simcodesign.core.errors import InputError
from simcodesign.core.jobs_result import JobsResult
from simcodesign.core.result import Result
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.describe.jobs.job import JobList
from simcodesign.describe.scenario import MachineSource, Scenario, WorkloadSource


class ForecastOptions(TypedDict, total=False):
    """The keyword options of ``forecast``."""

    preset: str | None
    phases: Collection[str] | None
    bounds: bool
    queueing: bool
    longest_path: bool
    bubbles: bool


@overload
def forecast(
    workload: WorkloadSource | Scenario,
    machine: MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    **options: Unpack[ForecastOptions],
) -> Result: ...
@overload
def forecast(workload: JobList, machine: MachineSource) -> JobsResult: ...
@shows_keywords(ForecastOptions, taken_by=forecast_once)
def forecast(
    workload: WorkloadSource | Scenario | JobList,
    machine: MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    **options: Any,
) -> Result | JobsResult:
    """Forecast the workload on the machine in closed form (equations 1 to 4 of SPECseis96, generalised).

    ``workload`` and ``machine`` are objects, bundled names or paths of files; a ``Scenario`` replaces both, parameters,
    preset and phases. A list instead of the workload is of several jobs on the machine, each a ``Job`` or a text as
    ``jacobi@0:512``: the answer is a ``JobsResult``, with each job alone and with its shares of links and storage, and
    no other argument applies. ``parameters`` sets workload parameters, ``P``, machine constants (SI units) and
    parameters of the machine (``machine.NAME``); arrays broadcast and give arrays of that shape.
    Where all ranks do alike, the makespan is the sum of the closed forms of all demands, each as if all ranks began it
    together when the previous one has ended everywhere; for started operations, only the rest when they are waited for
    (``analytic/side_parts``). Where ranks differ, it is the longest path through their messages, and ``Result.sum_s``
    the sum (``analytic/headline``); without ``longest_path`` it is the sum there too, with ``bubbles`` prolonged by the
    bubble that the workload states (``gpt``, ``pipeline``).
    ``Result.pipelined``: the sum where ranks continue as soon as they can, for one design point.
    ``bounds`` adds bounds of the simulated time: for one design point, and unless an operation has more messages
    than could be looked at one by one (``bounds.MOST_MESSAGES``). With them, ``Result.notes`` mentions if messages that
    are sent together are faster than the interfaces allow.
    ``queueing``: loops without messages whose ranks share disks or memory, and whose demands vary, take what
    queueing theory predicts (``Result.formulas`` names it); without it, random demands take their mean, and nothing
    waits.

    Raises InputError for anything that cannot be used.

    >>> import simcodesign as sc
    >>> machine = sc.Machine.load("crossbar-16", changes={"processor.rate": "2 GFLOP/s"})
    >>> work = sc.Workload.load({"name": "work", "program": [{"compute": {"flops": 6e9}}]})
    >>> float(sc.forecast(work, machine, {"P": 1}).makespan_s)
    3.0
    """
    if not isinstance(workload, list | tuple):
        return forecast_once(workload, machine, parameters, **options)
    if parameters or options or machine is None:
        what = "several jobs have one machine, and parameters of their own"
        raise InputError(what, value=[*(parameters or {}), *options], allowed="forecast([Job(...), ...], machine)")
    return forecast_jobs(workload, machine)
