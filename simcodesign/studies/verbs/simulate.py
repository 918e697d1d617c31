"""``sc.simulate``: one simulation, or independent replications of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypedDict, Unpack, overload

from simcodesign.core.errors import InputError
from simcodesign.core.jobs_result import JobsResult
from simcodesign.core.result import Result
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.describe.jobs.job import JobList
from simcodesign.describe.scenario import MachineSource, RunKeywords, Scenario, SimulationKeywords, WorkloadSource
from simcodesign.engine.experiment import Experiment
from simcodesign.engine.jobs.simulate_jobs import simulate_jobs
from simcodesign.engine.simulate import simulate as simulate_once
from simcodesign.studies.replication.replicate import Replicated, Replications, WarmUpKeywords, replicate
from simcodesign.studies.verbs.repetition import RepetitionOptions, repetition, taken_from


class _OnceOptions(TypedDict, total=False):
    """Records to keep of one simulation, and a function to report its progress to."""

    timeline: bool
    counters: bool
    on_progress: Callable[..., object] | None


class JobsKeywords(RunKeywords, total=False):
    """The keyword options of ``simulate`` for several jobs."""

    timeline: bool
    on_progress: Callable[..., object] | None


class SimulateOptions(SimulationKeywords, RepetitionOptions, WarmUpKeywords, _OnceOptions, total=False):
    """The keyword options of ``simulate``."""


@overload
def simulate(
    workload: WorkloadSource | Scenario,
    machine: MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    *,
    replications: None = None,
    precision: None = None,
    **options: Unpack[SimulateOptions],
) -> Result: ...
@overload
def simulate(
    workload: WorkloadSource | Scenario,
    machine: MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    *,
    replications: int | None = None,
    precision: float | None = None,
    **options: Unpack[SimulateOptions],
) -> Replicated: ...
@overload
def simulate(
    workload: JobList,
    machine: MachineSource,
    parameters: None = None,
    *,
    replications: None = None,
    precision: None = None,
    **options: Unpack[JobsKeywords],
) -> JobsResult: ...
@shows_keywords(_OnceOptions, taken_by=simulate_once)
@shows_keywords(WarmUpKeywords, taken_by=Replications.of)
@shows_keywords(RepetitionOptions, taken_by=repetition)
@shows_keywords(SimulationKeywords, taken_by=Experiment.of)
def simulate(
    workload: WorkloadSource | Scenario | JobList,
    machine: MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    *,
    replications: int | None = None,
    precision: float | None = None,
    **options: Any,
) -> Result | Replicated | JobsResult:
    """Simulate the workload on the machine, event by event: once, or again and again with independent random numbers.

    ``workload`` and ``machine`` are objects, bundled names or paths of files; a ``Scenario`` replaces both, parameters,
    preset and phases. A list instead of the workload is of several jobs on the machine, each a ``Job`` or a text as
    ``jacobi@0:512``: the answer is a ``JobsResult``, with the slowdown of each against alone, and only ``effects``,
    ``seed``, ``engine``, ``timeline`` and ``on_progress`` apply. ``parameters`` sets workload parameters, ``P``,
    machine constants (``network.startup``, SI units) and parameters (``machine.NAME``). ``preset``: a named set of
    values. ``phases``: only these. ``effects``: ``"all"``, ``"none"`` or some of ``describe.effects`` (``links``
    includes ``hops``). ``timeline`` keeps every operation, and with the engine ``"simpy"`` also the services of each
    station (``Timeline.services``); ``counters`` the counters of every rank and phase (``Result.counters``).

    ``seed``: of all random numbers; the same seed gives the same Result. ``on_progress``: called with what has been
    done now and then. ``engine``: ``"simpy"``, ``"compiled"``, or ``"auto"``, which takes the compiled one if it is
    installed, and SimPy for a timeline up to ``selection.SIMPY_UP_TO`` operations and hops. Both give the same Result
    to the last bit.

    ``replications``: how many simulations; the answer is then the mean of every quantity with its interval. 1 is
    allowed of an open stream, whose response time then has an interval from batch means. ``precision``: replicate,
    from ``replications`` on, until the half-width of ``precision_of`` is this fraction of its mean, at two looks in a
    row, one look after every 10 replications; up to ``at_most``, in whole rounds of 10. Neither
    ``replications`` nor ``at_most`` may be above 1,000,000. ``precision_of``: a name of ``Replicated.keys``, parts
    joined by dots; by default the makespan, or the response time of an open stream. ``level``: of all intervals, 0 to
    1. ``warm_up``: how many first requests of an open stream are left out of response times and shares blocked, by
    default as many as MSER-5 finds in their mean. ``jobs``: maximum number of processes for replications; the answer
    does not depend on it. If nothing in the description is random under the effects, there is one run.

    Raises InputError for anything that cannot be used, CapacityError (one of them) when the run would not fit in
    memory, DeadlockError when ranks wait for each other, and SimcodesignError when a replication ends its process
    again and again.

    >>> import simcodesign as sc
    >>> result = sc.simulate("broadcast", "mesh-256", {"P": 8}, effects="none")
    >>> result.messages  # of a tree, to everyone but the root
    7
    >>> interval = sc.simulate("jacobi", "torus-cluster", {"P": 4}, replications=3).interval("makespan_s")
    >>> bool(interval.low <= interval.mean <= interval.high)
    True
    """
    if isinstance(workload, list | tuple):
        given = {"parameters": parameters, "replications": replications, "precision": precision}
        return _simulated_jobs(workload, machine, given, options)
    repeats = taken_from(options, "warm_up")
    if replications is None and precision is None:
        if repeats:
            raise InputError(f"{next(iter(repeats))} needs replications", allowed="replications= or precision=")
        return simulate_once(workload, machine, parameters, **options)
    if any(options.pop(name, False) for name in ("timeline", "counters")):
        raise InputError("timeline and counters need a single simulation", allowed="without replications and precision")
    warm_up = {"warm_up": repeats.pop("warm_up")} if "warm_up" in repeats else {}
    repeated = repetition(replications, precision, **repeats)
    return replicate(workload, machine, parameters, **repeated, **warm_up, **options)


def _simulated_jobs(
    jobs: JobList, machine: MachineSource | None, others: Mapping[str, object], options: dict[str, Any]
) -> JobsResult:
    """Simulate several jobs. InputError for arguments that apply to one workload only."""
    unusable = [name for name, value in others.items() if value is not None]
    unusable += sorted(options.keys() - JobsKeywords.__annotations__.keys())
    if machine is None or unusable:
        what = "several jobs have one machine, and parameters of their own"
        allowed = f"simulate([Job(...), ...], machine), {', '.join(sorted(JobsKeywords.__annotations__))}"
        raise InputError(what, value=unusable or "no machine", allowed=allowed)
    return simulate_jobs(jobs, machine, **options)
