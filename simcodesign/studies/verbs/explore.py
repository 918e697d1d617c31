"""``sc.explore``: the best design, or a front of designs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypedDict, Unpack

from simcodesign.core.errors import Place
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.describe.scenario import MachineSource, Scenario, WorkloadSource, machine_of
from simcodesign.studies.explore.machine_model import MachineModel
from simcodesign.studies.explore.native_model import NativeModel
from simcodesign.studies.explore.pareto import POINTS, Front, pareto_front
from simcodesign.studies.explore.solvers.solve import Solution, solve
from simcodesign.studies.explore.study import ExplorationStudy, Statement, statements_of

#: One text, or several.
Texts = str | Sequence[str]


class ExploreOptions(TypedDict, total=False):
    """The keyword options of ``explore``."""

    preset: str | None
    phases: Collection[str] | None
    size: str
    points: int
    solver: str
    seed: int
    max_evaluations: int | None


def _defaults(
    *,
    preset: str | None = None,
    phases: Collection[str] | None = None,
    size: str = "",
    points: int = POINTS,
    solver: str = "auto",
    seed: int = 0,
    max_evaluations: int | None = None,
) -> None:
    """The options with their defaults, as ``help`` shows them."""


@shows_keywords(ExploreOptions, taken_by=_defaults)
def explore(
    workload: WorkloadSource | Scenario | None,
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
    the machine alone is explored. ``vary``: parameters of the workload, ``P`` and constants of the machine, each with
    its values (``[4, 8, 16]``) or its range in words (``"1:64:whole"``, ``"1 GB/s:10 GB/s:log"``), or texts as
    ``simcodesign explore --vary`` takes them; without any, the size of the problem, which ``size`` names.
    ``minimize``, ``maximize``: metrics or expressions of them, one or several; by default the time, or what
    docs/explore.md says. ``subject_to``: constraints (``"time <= 10 s"``). ``points``: of a front. ``solver``,
    ``seed``, ``max_evaluations``: how the space is searched.

    Raises InputError for statements that cannot be read, names that are varied and set, and unbounded searches.

    >>> import simcodesign as sc
    >>> sc.explore("broadcast", "mesh-256", {"m": 1024}, vary={"P": [4, 16, 64]}).point.values
    {'P': 4.0}
    >>> front = sc.explore("jacobi", "torus-cluster", vary=["P=4,16,64"], minimize=["time", "P"])
    >>> [point.values["P"] for point in front.points]
    [64.0, 16.0, 4.0]
    """
    names = [f"{name}={_text(values)}" for name, values in vary.items()] if isinstance(vary, Mapping) else vary
    model: MachineModel | NativeModel
    if workload is None and machine is not None:
        model, given = MachineModel(machine_of(machine).with_constants(dict(parameters or {}))), parameters  # type: ignore[arg-type]
    else:
        scenario = Scenario.of(
            workload or "", machine, parameters, preset=options.get("preset"), phases=options.get("phases")
        )
        model, given = NativeModel(scenario), scenario.parameters
    study = ExplorationStudy(
        settings={name: str(value) for name, value in (given or {}).items()},
        preset=options.get("preset"),
        vary=statements_of(names, Place("vary")),
        subject_to=tuple(_statements(subject_to, "subject_to")),
        objectives=(*_statements(minimize, "minimize"), *_statements(maximize, "maximize")),
        size=options.get("size", ""),
    )
    problem = study.problem(model)
    solver, seed, evaluations = options.get("solver", "auto"), options.get("seed", 0), options.get("max_evaluations")
    if len(problem.objectives) > 1:
        points = options.get("points", POINTS)
        return pareto_front(problem, points=points, solver=solver, seed=seed, evaluations=evaluations)
    return solve(problem, solver=solver, seed=seed, evaluations=evaluations)


def _text(values: str | Sequence[object]) -> str:
    return values if isinstance(values, str) else ",".join(str(value) for value in values)


def _statements(texts: Texts, where: str) -> Iterator[Statement]:
    for text in [texts] if isinstance(texts, str) else texts:
        yield Statement(text, Place(where), maximize=where == "maximize")
