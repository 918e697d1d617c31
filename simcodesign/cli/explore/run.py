"""What ``explore`` was asked for, and what it answers."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from simcodesign.cli.app import sc
from simcodesign.cli.aspen import given_parameters
from simcodesign.cli.options import case_of, check_files, check_folder
from simcodesign.core.errors import InputError, Place
from simcodesign.report.common.terminal import complain, print_all, write_json

#: Ending of Aspen models.
ASPEN = ".aspen"


class Explored(NamedTuple):
    """The options of a planner, as they were given."""

    planner: str
    workload: str | None
    machine: str | None
    vary: list[str] | None
    subject_to: list[str] | None
    minimise: list[str] | None
    maximise: list[str] | None
    file: Path | None
    settings: list[str] | None
    ranks: int | None
    preset: str | None
    phases: list[str] | None
    solver: str | None
    seed: int | None
    evaluations: int | None
    trace: Path | None
    pareto: bool
    points: int | None
    confirm: int | None
    effects: str | None
    engine: str | None
    as_json: bool
    plot: Path | None
    size: str | None = None
    socket: str | None = None
    kernel: str | None = None


def explored(asked: Explored) -> None:
    """Search, explain, confirm, print, write."""
    _check(asked)
    study = _study(asked)
    model = _model(study)
    for note in study.model_notes(model):
        complain(note)
    problem = study.problem(model)
    for note in (study.size_note(problem), *study.unit_notes(problem)):
        if note:
            complain(f"note: {note}")
    options: dict[str, Any] = {
        "solver": study.solver or "auto",
        "seed": study.seed or 0,
        "evaluations": asked.evaluations,
    }
    if asked.pareto:
        _front(asked, problem, options)
        return
    solution, why, sensitivities = _solved(problem, options)
    if asked.trace:
        import_module("simcodesign.studies.explore.evaluator").write_trace(solution.trace, asked.trace)
    confirmed = _confirmed(asked, solution, options["seed"]) if asked.confirm and solution.feasible else None
    report = import_module("simcodesign.report.explore.tables")
    if asked.as_json:
        write_json(
            import_module("simcodesign.report.explore.to_json").solution_dict(
                asked.planner, solution, why, sensitivities, confirmed
            )
        )
    else:
        print_all(report.solution_tables(asked.planner, solution, why, sensitivities, confirmed))
    if asked.plot:
        import_module("simcodesign.report.explore.plot").solution_plot(solution, asked.plot)


def _solved(problem: Any, options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The optimum, why there is none, and what each bound is worth."""
    with import_module("simcodesign.report.common.progress").search_progress() as on_progress:
        solution = import_module("simcodesign.studies.explore.solvers.solve").solve(
            problem, **options, on_progress=on_progress
        )
        if solution.feasible:
            bounds = import_module("simcodesign.studies.explore.bound_sensitivity").bound_sensitivities
            solution, sensitivities = bounds(solution, **options, on_progress=on_progress)
            return solution, None, sensitivities
        why = (
            import_module("simcodesign.studies.explore.solvers.infeasibility").explain(
                solution, **options, on_progress=on_progress
            )
            if problem.constraints
            else None
        )
        return solution, why, []


def _check(asked: Explored) -> None:
    """InputError for what cannot be, before any work is done."""
    check_files(asked.plot)
    if asked.trace:
        import_module("simcodesign.studies.explore.evaluator").check_trace(asked.trace)
        check_folder("--trace", asked.trace)
    for option, value, needed in (
        ("--effects", asked.effects, asked.confirm),
        ("--engine", asked.engine, asked.confirm),
        ("--points", asked.points, asked.pareto),
    ):
        if value is not None and not needed:
            where = "with --pareto" if option == "--points" else "with --confirm"
            raise InputError("has no meaning here", Place(option), value=value, allowed=where)
    if asked.solver == "isres":
        import_module("simcodesign.studies.explore.solvers.isres").load_nlopt()


def _study(asked: Explored) -> Any:
    """The options laid over the file."""
    module = import_module("simcodesign.studies.explore.study")
    file = module.load_study(asked.file) if asked.file else module.Study()
    if file.planner and file.planner != asked.planner:
        what = f"{asked.file} is a study for the planner {file.planner}"
        raise InputError(what, value=asked.planner, allowed=f"explore {file.planner}")
    objectives = [
        module.Statement(text, Place(option), maximise=option == "--maximise")
        for option, texts in (("--minimise", asked.minimise), ("--maximise", asked.maximise))
        for text in texts or []
    ]
    given = module.Study(
        planner=asked.planner,
        workload=asked.workload or "",
        machine=asked.machine or "",
        settings=_settings(asked),
        preset=asked.preset,
        phases=tuple(asked.phases or ()),
        vary=tuple(module.statement_of(text, Place("--vary")) for text in asked.vary or []),
        subject_to=tuple(module.Statement(text, Place("--subject-to")) for text in asked.subject_to or []),
        objectives=tuple(objectives),
        solver=asked.solver or "",
        seed=asked.seed,
        size=asked.size or "",
        socket=asked.socket or "",
        kernel=asked.kernel or "",
    )
    names = [statement.name for statement in given.vary]
    for name in names:
        if names.count(name) > 1:
            raise InputError("varied twice", Place("--vary"), value=name, allowed="each name once")
    return given.over(file)


def _settings(asked: Explored) -> dict[str, str]:
    """Name and text of each setting; ``case_of`` finds what is wrong with one."""
    items = [*(asked.settings or []), *([f"P={asked.ranks}"] if asked.ranks is not None else [])]
    pairs = [item.partition("=") for item in items]
    if any(not sign or not name.strip() for name, sign, _ in pairs):
        case_of("burst", "crossbar-16", items, None, None, None)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _model(study: Any) -> Any:
    """What is explored: formulas, a machine alone, or a workload on a machine."""
    explored_module = import_module("simcodesign.studies.explore.models")
    if study.formulas:
        return study.formula_model()
    settings = [f"{name}={value}" for name, value in study.settings.items()]
    for name in ("machine",) if study.planner == "architect" else ("workload", "machine"):
        if not getattr(study, name):
            raise InputError(f"no {name} is given", allowed=f"the name of a {name} or its path, or --file FILE")
    if study.machine.endswith(ASPEN) or (study.workload.endswith(ASPEN) and study.planner != "architect"):
        return _aspen_model(study, settings)
    for option in ("socket", "kernel"):
        if getattr(study, option):
            raise InputError("has no meaning here", Place(f"--{option}"), allowed="with Aspen models")
    if study.planner == "architect":
        return explored_module.MachineModel(_machine(study))
    case = case_of(study.workload, study.machine, settings, None, study.preset, list(study.phases) or None)
    return explored_module.NativeModel(case.workload, case.machine, case.parameters, case.preset, case.phases)


def _machine(study: Any) -> Any:
    """The machine alone, with what is set: keys of its file, and parameters of its own (``machine.NAME``)."""
    prefix = import_module("simcodesign.describe.resources").PREFIX
    own = {name: text for name, text in study.settings.items() if name.startswith(prefix)}
    described = sc.load_machine(study.machine, {k: v for k, v in study.settings.items() if k not in own})
    places = {name: Place("--set", None, name) for name in own}
    values = {name: described.parameter(name, places[name]).parsed(text, places[name]) for name, text in own.items()}
    for name, value in values.items():
        described.parameter(name, places[name]).check(value, places[name])
    return described.with_constants(values)


def _aspen_model(study: Any, settings: list[str]) -> Any:
    """An Aspen application on an Aspen machine, or that alone."""
    models, given = import_module("simcodesign.studies.explore.aspen_model"), given_parameters(settings)
    for option, value in (("--preset", study.preset), ("--phase", study.phases)):
        if value:
            raise InputError("has no meaning here", Place(option), value=value, allowed="with native workloads")
    machine, socket = import_module("simcodesign.aspen.machine").load_machine(study.machine), study.socket or None
    if study.planner == "architect":
        return models.AspenMachineModel(machine, socket, given)
    if not study.workload.endswith(ASPEN):
        what = "an Aspen machine needs an Aspen application"
        raise InputError(what, value=study.workload, allowed="a file that ends in .aspen")
    application = import_module("simcodesign.aspen.application").load_application(study.workload)
    return models.AspenModel(application, machine, socket, given, study.kernel or "main")


def _confirmed(asked: Explored, solution: Any, seed: int) -> Any:
    with import_module("simcodesign.report.common.progress").system_progress() as (on_progress, _):
        return import_module("simcodesign.studies.explore.confirmation").confirm(
            solution, asked.confirm, **_simulated(asked, seed), on_progress=on_progress
        )


def _simulated(asked: Explored, seed: int) -> dict[str, Any]:
    """How points are simulated."""
    return {"effects": asked.effects or "all", "engine": asked.engine or "auto", "seed": seed}


def _front(asked: Explored, problem: Any, options: dict[str, Any]) -> None:
    """The Pareto front in place of one optimum."""
    why, confirmed = None, None
    with import_module("simcodesign.report.common.progress").search_progress() as on_progress:
        front = import_module("simcodesign.studies.explore.pareto").pareto_front(
            problem, points=asked.points or 20, **options, on_progress=on_progress
        )
        if not front.points and problem.constraints:
            why = import_module("simcodesign.studies.explore.solvers.infeasibility").explain(
                front.solution, **options, on_progress=on_progress
            )
    if asked.trace:
        import_module("simcodesign.studies.explore.evaluator").write_trace(front.trace, asked.trace)
    if asked.confirm and front.points:
        with import_module("simcodesign.report.common.progress").system_progress() as (on_progress, _):
            how = _simulated(asked, options["seed"])
            confirmed = import_module("simcodesign.studies.explore.confirmation").confirm_front(
                front, asked.confirm, **how, on_progress=on_progress
            )
    report = import_module("simcodesign.report.explore.tables")
    if asked.as_json:
        write_json(import_module("simcodesign.report.explore.to_json").front_dict(asked.planner, front, why, confirmed))
    else:
        print_all(report.front_tables(asked.planner, front, why, confirmed))
    if asked.plot and front.points:
        import_module("simcodesign.report.explore.plot").front_plot(front, asked.plot)
