"""``sc.explore``: the best design, or a front of designs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

from simcodesign.core.errors import InputError, Place
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.describe.scenario import MachineSource, Scenario, WorkloadSource, machine_of, workload_of
from simcodesign.describe.workload import Workload
from simcodesign.studies.explore.models.machine_model import MachineModel
from simcodesign.studies.explore.models.native_model import NativeModel
from simcodesign.studies.explore.pareto import POINTS, Front, pareto_front
from simcodesign.studies.explore.solvers.solve import Solution, solve
from simcodesign.studies.explore.study import ExplorationStudy, Statement, statements_of
from simcodesign.studies.sweep.machine_source import MachineFile, source_of

#: Types of a single workload.
_ONE = str | Path | Workload | Scenario
#: One text, or several.
Texts = str | Sequence[str]


class ExploreOptions(TypedDict, total=False):
    """The keyword options of ``explore``."""

    against: MachineSource | None
    preset: str | None
    phases: Collection[str] | None
    size: str
    points: int
    solver: str
    seed: int
    max_evaluations: int | None


def _defaults(
    *,
    against: MachineSource | None = None,
    preset: str | None = None,
    phases: Collection[str] | None = None,
    size: str = "",
    points: int = POINTS,
    solver: str = "auto",
    seed: int = 0,
    max_evaluations: int | None = None,
) -> None:
    """Return the options with their defaults, as ``help`` shows them."""


@shows_keywords(ExploreOptions, taken_by=_defaults)
def explore(
    workload: WorkloadSource | Scenario | Sequence[WorkloadSource] | None,
    machine: MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    *,
    vary: Mapping[str, str | Sequence[object]] | Sequence[str] = (),
    minimize: Texts = (),
    maximize: Texts = (),
    subject_to: Texts = (),
    **options: Unpack[ExploreOptions],
) -> Solution | Front:
    """Find the best design by the forecast; with two or three objectives, a Pareto front of designs.

    ``workload``, ``machine``, ``parameters``, ``preset`` and ``phases`` as for ``forecast``; without a workload (None)
    the machine alone is explored. Several workloads, in a list, run apart: a metric is the worst of all. ``vary``:
    parameters of the workload, ``P``, constants of the machine and any other key of its file
    (``network.topology.taper``, ``mapping``), each with its values (``[4, 8, 16]``) or its range in words
    (``"1:64:whole"``, ``"1 GB/s:10 GB/s:log"``), or texts as ``simcodesign explore --vary`` takes them; without any,
    the size of the problem, which ``size`` names. ``against``: the machine of the metric ``slowdown``, by default the
    machine as described, without what is varied.
    ``minimize``, ``maximize``: metrics or expressions of them, one or several; by default the time, or what
    docs/explore.md lists. ``subject_to``: constraints (``"time <= 10 s"``). ``points``: of a front. ``solver``,
    ``seed``, ``max_evaluations``: how the space is searched.

    Raises InputError for statements that cannot be read, names both varied and set, and unbounded searches.

    >>> import simcodesign as sc
    >>> sc.explore("broadcast", "mesh-256", {"m": 1024}, vary={"P": [4, 16, 64]}).point.values
    {'P': 4.0}
    >>> front = sc.explore("jacobi", "torus-cluster", vary=["P=4,16,64"], minimize=["time", "P"])
    >>> [point.values["P"] for point in front.points]
    [64.0, 16.0, 4.0]
    """
    names = [f"{name}={_text(values)}" for name, values in vary.items()] if isinstance(vary, Mapping) else vary
    against = options.get("against")
    models: list[NativeModel] | tuple[MachineModel]
    if workload is None and machine is not None:
        given = parameters or {}
        models = (MachineModel(machine_of(machine).with_constants(dict(given))),)  # type: ignore[arg-type]
    else:
        several = [workload or ""] if workload is None or isinstance(workload, _ONE) else [*workload]
        own = {"preset": options.get("preset"), "phases": options.get("phases")}
        models = [NativeModel(one) for one in _scenarios(several, machine, parameters, **own)]
        given = {name: value for one in models for name, value in one.scenario.parameters.items()}
    study = ExplorationStudy(
        settings={name: str(value) for name, value in given.items()},
        preset=options.get("preset"),
        vary=statements_of(names, Place("vary")),
        subject_to=tuple(_statements(subject_to, "subject_to")),
        objectives=(*_statements(minimize, "minimize"), *_statements(maximize, "maximize")),
        size=options.get("size", ""),
    )
    source = MachineFile(models[0].machine) if machine is None else source_of(machine)
    problem = study.problem(study.system_model(models, source, None if against is None else machine_of(against)))
    solver, seed, evaluations = options.get("solver", "auto"), options.get("seed", 0), options.get("max_evaluations")
    if len(problem.objectives) > 1:
        points = options.get("points", POINTS)
        return pareto_front(problem, points=points, solver=solver, seed=seed, evaluations=evaluations)
    return solve(problem, solver=solver, seed=seed, evaluations=evaluations)


def _scenarios(
    workloads: Sequence[WorkloadSource | Scenario],
    machine: MachineSource | None,
    parameters: Mapping[str, object] | None,
    **own: Any,
) -> Iterator[Scenario]:
    """Each workload on the machine, with the parameters except for those that another workload alone has."""
    if len(workloads) == 1:
        yield Scenario.of(workloads[0], machine, parameters, **own)
        return
    loaded = [workload_of(one) for one in workloads if not isinstance(one, Scenario)]
    if len(loaded) < len(workloads):
        raise InputError("a scenario has its workload", allowed="workloads, and a machine")
    every = {name for one in loaded for name in one.parameters}
    for one in loaded:
        foreign = every - one.parameters.keys() - {"P"}
        kept = {name: value for name, value in (parameters or {}).items() if name not in foreign}
        yield Scenario.of(one, machine, kept, **own)


def _text(values: str | Sequence[object]) -> str:
    return values if isinstance(values, str) else ",".join(str(value) for value in values)


def _statements(texts: Texts, where: str) -> Iterator[Statement]:
    for text in [texts] if isinstance(texts, str) else texts:
        yield Statement(text, Place(where), maximize=where == "maximize")
