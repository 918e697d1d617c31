"""A space of designs, searched: the study that options and file state, its optimum or front, and what is printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypedDict

from simcodesign.aspen.application import load_application
from simcodesign.aspen.machine import load_machine as load_aspen_machine
from simcodesign.aspen.parse import parse_file
from simcodesign.cli.options.explore_options import FILES, ExploreOptions
from simcodesign.cli.options.shared import needs, usable_cpus
from simcodesign.cli.run.aspen import parsed_parameters
from simcodesign.cli.run.region import run_region, spans_region
from simcodesign.cli.run.scenario import kind_of, load_noted_machine, machine_parameters, scenario_of
from simcodesign.cli.written_files import RequestedFiles
from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import DIMENSIONS
from simcodesign.describe.machine import Machine
from simcodesign.describe.resources import PREFIX
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_workload
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.common.terminal import complain, print_all, write_json
from simcodesign.report.explore.plot import front_plot, solution_plot
from simcodesign.report.explore.simulated_plot import simulated_plot
from simcodesign.report.explore.simulated_tables import metrics_table, simulated_dict, simulated_tables
from simcodesign.report.explore.tables import front_tables, solution_tables
from simcodesign.report.explore.to_json import front_dict, solution_dict
from simcodesign.studies.explore.bound_sensitivity import BoundSensitivity, bound_sensitivities
from simcodesign.studies.explore.evaluator import write_trace
from simcodesign.studies.explore.models.aspen_model import AspenMachineModel, AspenModel
from simcodesign.studies.explore.models.machine_model import MachineModel
from simcodesign.studies.explore.models.native_model import NativeModel
from simcodesign.studies.explore.pareto import POINTS, pareto_front
from simcodesign.studies.explore.problem import Model, Problem
from simcodesign.studies.explore.simulated.confirmation import DEFAULT_BEST, Confirmation, confirm, confirm_front
from simcodesign.studies.explore.simulated.search import optimum_by_simulation
from simcodesign.studies.explore.solvers.infeasibility import Infeasibility, explain
from simcodesign.studies.explore.solvers.isres import load_nlopt
from simcodesign.studies.explore.solvers.solve import Solution, solve
from simcodesign.studies.explore.study import ExplorationStudy, Statement, load_study, statements_of
from simcodesign.studies.sweep.machine_source import MachineFile, source_of

#: Ending of Aspen models.
ASPEN = ".aspen"


class _Search(TypedDict):
    """How the space is searched."""

    solver: str
    seed: int
    evaluations: int | None


class _Simulation(TypedDict):
    """How points are simulated."""

    effects: str
    engine: str
    seed: int


def run(options: ExploreOptions) -> None:
    """Search, explain, simulate, print, write."""
    files = FILES.requested(options.output.write)
    _check(options)
    study = _study(options)
    if spans_region(study) and not study.more and not _is_special(study):
        run_region(study, options, files)
        return
    if options.search.points is not None and not options.search.pareto:
        raise needs("--points", "--pareto, or a simulated region")
    model = _model_with_notes(study, options.problem.metrics)
    if options.problem.metrics:
        _list_metrics(model, options.output.as_json)
        return
    problem = study.problem(model)
    if "mapping" in problem.space.names and not (options.simulation.simulate or options.simulation.simulate_best):
        complain("note: a forecast hardly depends on mapping; --simulate distinguishes its values")
    for note in (study.size_note(problem), *study.unit_notes(problem)):
        if note:
            complain(f"note: {note}")
    search: _Search = {
        "solver": study.solver or "auto",
        "seed": study.seed or 0,
        "evaluations": options.search.max_evaluations,
    }
    if options.search.pareto:
        _run_front(problem, search, options, files)
    elif options.simulation.simulate:
        _run_simulated(problem, search, options, files)
    else:
        _run_optimum(problem, search, options, files)


def _is_special(study: ExplorationStudy) -> bool:
    """Whether names without values mean all values that their files allow."""
    if study.machine.endswith(ASPEN):
        return True
    parameters = load_workload(study.workload).parameters
    names = [one.name for one in study.vary if not one.text]
    return any(name.startswith(PREFIX) or (name in parameters and parameters[name].choices) for name in names)


def _list_metrics(model: Model, as_json: bool) -> None:
    if as_json:
        write_json(
            [
                {"metric": name, "dimension": one, "unit": DIMENSIONS.get(one, "")}
                for name, one in model.dimensions.items()
            ]
        )
    else:
        print_all([metrics_table(model)])


def _run_simulated(problem: Problem, search: _Search, options: ExploreOptions, files: RequestedFiles) -> None:
    """Search the optimum when simulated."""
    with _searching() as on_progress:
        solution = solve(problem, **search, on_progress=on_progress)
    with ProgressBar("systems", counted=True) as on_system:
        optimum = optimum_by_simulation(
            solution,
            simulations=options.simulation.max_simulations,
            jobs=options.simulation.jobs or usable_cpus(),
            **_simulation(options, search["seed"]),
            on_progress=on_system,
        )
    for path in files.paths("evaluations"):
        write_trace(optimum.trace, path)
    files.show(optimum, lambda: simulated_tables(optimum), options.output.as_json, lambda: simulated_dict(optimum))
    for path in files.paths("plot") if problem.objectives else ():
        simulated_plot(optimum, path)


def _searching() -> ProgressBar:
    """Return the bar of a search."""
    return ProgressBar("{task.completed:,} points evaluated", bar=False, steps=True)


def _check(options: ExploreOptions) -> None:
    """Raise InputError for a solver that is not installed."""
    if options.search.solver == "isres":
        load_nlopt()


def _run_optimum(problem: Problem, search: _Search, options: ExploreOptions, files: RequestedFiles) -> None:
    """One optimum, or why there is none."""
    solution, why, sensitivities = _solved(problem, search)
    for path in files.paths("evaluations"):
        write_trace(solution.trace, path)
    confirmation = _confirmed(solution, options, search["seed"]) if solution.feasible else None
    parts = solution, why, sensitivities, confirmation
    files.show(parts, lambda: solution_tables(*parts), options.output.as_json, lambda: solution_dict(*parts))
    for path in files.paths("plot"):
        solution_plot(solution, path)


def _confirmed(solution: Solution, options: ExploreOptions, seed: int) -> Confirmation | None:
    """Return the best points by simulation; None if there is none.

    As many as are requested; by default some, if the search took sums of ranks that differ.
    """
    model, count = solution.problem.model, options.simulation.simulate_best
    is_default = count is None
    if count is None:
        count = DEFAULT_BEST if isinstance(model, NativeModel) and model.takes_sums else 0
    if not count:
        return None
    with ProgressBar("systems", counted=True) as on_progress:
        try:
            simulation = _simulation(options, seed)
            return confirm(solution, count, neighbours=not is_default, **simulation, on_progress=on_progress)
        except InputError as error:
            if not is_default:
                raise
            complain(f"note: {error}")
            return None


def _solved(problem: Problem, search: _Search) -> tuple[Solution, Infeasibility | None, list[BoundSensitivity]]:
    """Return the optimum, why there is none, and what each bound is worth."""
    with _searching() as on_progress:
        solution = solve(problem, **search, on_progress=on_progress)
        if solution.feasible:
            solution, sensitivities = bound_sensitivities(solution, **search, on_progress=on_progress)
            return solution, None, sensitivities
        if not problem.constraints:
            return solution, None, []
        return solution, explain(solution, **search, on_progress=on_progress), []


def _run_front(problem: Problem, search: _Search, options: ExploreOptions, files: RequestedFiles) -> None:
    """Search the Pareto front instead of one optimum."""
    why, confirmation = None, None
    with _searching() as on_progress:
        front = pareto_front(problem, points=options.search.points or POINTS, **search, on_progress=on_progress)
        if not front.points and problem.constraints:
            why = explain(front.solution, **search, on_progress=on_progress)
    for path in files.paths("evaluations"):
        write_trace(front.trace, path)
    if options.simulation.simulate_best and front.points:
        with ProgressBar("systems", counted=True) as on_system:
            confirmation = confirm_front(
                front,
                options.simulation.simulate_best,
                **_simulation(options, search["seed"]),
                on_progress=on_system,
            )
    parts = front, why, confirmation
    files.show(parts, lambda: front_tables(*parts), options.output.as_json, lambda: front_dict(*parts))
    for path in files.paths("plot") if front.points else ():
        front_plot(front, path)


def _simulation(options: ExploreOptions, seed: int) -> _Simulation:
    return {
        "effects": options.simulation.effects or "all",
        "engine": options.simulation.engine or "auto",
        "seed": seed,
    }


def _study(options: ExploreOptions) -> ExplorationStudy:
    """Return the options laid over the file."""
    problem = options.problem
    file = load_study(problem.file) if problem.file else ExplorationStudy()
    given = _names(options.names)
    study = ExplorationStudy(
        workload=next(iter(given["workload"]), ""),
        more=tuple(given["workload"][1:]),
        machine=next(iter(given["machine"]), ""),
        against=problem.against or "",
        settings=_settings(options),
        preset=options.preset,
        phases=tuple(options.phase),
        vary=statements_of(problem.vary, Place("--vary")),
        subject_to=tuple(Statement(text, Place("--subject-to")) for text in problem.subject_to),
        objectives=tuple(_objectives(options)),
        solver=options.search.solver or "",
        seed=options.search.seed,
        size=problem.size or "",
        socket=options.search.socket or "",
        kernel=options.kernel or "",
    )
    names = [statement.name for statement in study.vary]
    for name in names:
        if names.count(name) > 1:
            raise InputError("varied twice", Place("--vary"), value=name, allowed="each name once")
    return study.merged_over(file)


def _names(names: list[str]) -> dict[str, list[str]]:
    """Return the workloads and the machine among the names, by kind."""
    found: dict[str, list[str]] = {"workload": [], "machine": []}
    for name in names:
        kind = _aspen_kind(name) if name.endswith(ASPEN) else kind_of(name)
        found[kind].append(name)
        if len(found["machine"]) > 1 or (len(found["workload"]) > 1 and any(one.endswith(ASPEN) for one in names)):
            raise InputError(f"a second {kind}", value=name, allowed="workloads and a machine, or a machine")
    return found


def _aspen_kind(path: str) -> str:
    return "workload" if parse_file(path).models else "machine"


def _objectives(options: ExploreOptions) -> Iterator[Statement]:
    yield from (Statement(text, Place("--minimize")) for text in options.problem.minimize)
    yield from (Statement(text, Place("--maximize"), maximize=True) for text in options.problem.maximize)


def _settings(options: ExploreOptions) -> dict[str, str]:
    """Name and text of each setting; ``scenario_of`` finds what is wrong with one."""
    items = [*options.problem.settings, *([f"P={options.ranks}"] if options.ranks is not None else [])]
    pairs = [item.partition("=") for item in items]
    if any(not sign or not name.strip() for name, sign, _ in pairs):
        scenario_of("burst", "crossbar-16", items)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _model_with_notes(study: ExplorationStudy, lists: bool) -> Model:
    """Return the model, ``lists``: with all metrics that expressions may use."""
    model = _model(study, lists)
    for note in study.model_notes(model):
        complain(note)
    return model


def _model(study: ExplorationStudy, lists: bool = False) -> Model:
    """Return the model to explore: formulas, a machine alone, or a workload on a machine."""
    if study.formulas:
        return study.formula_model()
    if not study.machine:
        raise InputError("no machine is given", allowed="the name of a machine or its path, or --file FILE")
    if study.machine.endswith(ASPEN) or study.workload.endswith(ASPEN):
        return _aspen_model(study)
    for option in ("socket", "kernel"):
        if getattr(study, option):
            raise needs(f"--{option}", "Aspen models")
    reference = load_noted_machine(study.against) if study.against else None
    if not study.workload:
        return study.system_model((MachineModel(_machine(study)),), _source(study, []), reference)
    models = _runs(study)
    return study.system_model(models, _source(study, [one.workload for one in models]), reference, lists)


def _runs(study: ExplorationStudy) -> list[NativeModel]:
    """Each workload on the machine. What is set is left out for a workload without it that another one has."""
    names = [study.workload, *study.more]
    loaded = [load_workload(one) for one in names] if study.more else []
    others = {name for one in loaded for name in one.parameters}
    found: list[NativeModel] = []
    for at, name in enumerate(names):
        foreign = others - set(loaded[at].parameters) - {"P"} if study.more else set()
        settings = [text for text in _texts(study) if text.partition("=")[0] not in foreign]
        found.append(NativeModel(scenario_of(name, study.machine, settings, study.preset, study.phases)))
    return found


def _source(study: ExplorationStudy, workloads: Sequence[Workload]) -> MachineFile:
    """Return the file of the machine, with what is set of it."""
    own = {"P", *(name for one in workloads for name in one.parameters)}
    return source_of(study.machine, {name: text for name, text in study.settings.items() if name not in own})


def _texts(study: ExplorationStudy) -> list[str]:
    return [f"{name}={value}" for name, value in study.settings.items()]


def _machine(study: ExplorationStudy) -> Machine:
    """Return the machine alone, with what is set: keys of its file, and parameters of its own (``machine.NAME``)."""
    own = {name: text for name, text in study.settings.items() if name.startswith(PREFIX)}
    machine = load_noted_machine(
        study.machine, {name: text for name, text in study.settings.items() if name not in own}
    )
    return machine.with_constants(machine_parameters(machine, own))


def _aspen_model(study: ExplorationStudy) -> Model:
    """Return an Aspen application on an Aspen machine, or that alone."""
    given = parsed_parameters(_texts(study))
    for option, value in (("--preset", study.preset), ("--phase", study.phases)):
        if value:
            raise needs(option, "a workload that is no Aspen model")
    machine, socket = load_aspen_machine(study.machine), study.socket or None
    if not study.workload:
        return AspenMachineModel(machine, socket, given)
    if not study.workload.endswith(ASPEN):
        what = "an Aspen machine needs an Aspen application"
        raise InputError(what, value=study.workload, allowed="a file that ends in .aspen")
    return AspenModel(load_application(study.workload), machine, socket, given, study.kernel or "main")
