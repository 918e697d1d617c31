"""Regions of two costs in which a workload meets a bound on its rate or time: by the forecast and by simulation."""

from __future__ import annotations

from collections.abc import Sequence

from simcodesign.cli.options.explore_options import ExploreOptions
from simcodesign.cli.run.scenario import GivenScenario, scenario_of
from simcodesign.cli.written_files import RequestedFiles
from simcodesign.core.errors import CapacityError, InputError, Place
from simcodesign.core.expressions.expression import Number
from simcodesign.describe.effects import chosen_effects
from simcodesign.report.common.terminal import complain
from simcodesign.report.feasibility.regions import region_dict, region_plot, region_tables
from simcodesign.studies.explore.problem_parser import constraint
from simcodesign.studies.explore.study import ExplorationStudy, Statement
from simcodesign.studies.feasibility.regions import (
    MOST_POINTS,
    FeasibilityQuestion,
    Region,
    UnboundedError,
    forecast_region,
    simulated_region,
    threshold,
)

BOUNDS = "one of 'rate >= 61 TFLOP/s' (of useful_flops) or 'time <= 10 s'"


def spans_region(study: ExplorationStudy) -> bool:
    """Whether two costs are varied without values: then the answer is a region."""
    return len(_costs(study)) == 2 and bool(study.workload) and not study.objectives


def _costs(study: ExplorationStudy) -> list[Statement]:
    return [one for one in study.vary if not one.text]


def run_region(study: ExplorationStudy, options: ExploreOptions, files: RequestedFiles) -> None:
    """Find the regions, print and draw them."""
    _refuse(options)
    files.refuse(["evaluations"], "a region has no list of evaluated points", "--write plot:FILE")
    name, values = _varied(study)
    questions = [_question(study, name, value) for value in values]
    simulation = options.simulation
    regions = _forecasts(questions, simulation.simulate)
    least = _least(questions[0], name, values)
    if simulation.simulate:
        effects = chosen_effects(simulation.effects or "all")
        points, engine = options.search.points or MOST_POINTS, simulation.engine or "auto"
        regions += [_simulation(question, effects, points, engine) for question in questions]
    files.show(
        regions,
        lambda: region_tables(questions, regions, least),
        options.output.as_json,
        lambda: {"regions": [region_dict(region) for region in regions], "minimum": least},
    )
    for path in files.paths("plot"):
        region_plot(questions, regions, path)


def _refuse(options: ExploreOptions) -> None:
    """InputError for options that do not apply to a region."""
    search, simulation = options.search, options.simulation
    for option, value in (
        ("--solver", search.solver),
        ("--max-evaluations", search.max_evaluations),
        ("--max-simulations", simulation.max_simulations),
        ("--simulate-best", simulation.simulate_best),
        ("--pareto", search.pareto or None),
        ("--size", options.problem.size),
    ):
        if value is not None:
            raise InputError("does not apply to a region", Place(option), value=value, allowed="with values to vary")
    if search.points is not None and not simulation.simulate:
        raise InputError("does not apply to a forecast", Place("--points"), allowed="with --simulate")


def _varied(study: ExplorationStudy) -> tuple[str, tuple[str, ...]]:
    """Return the further varied name, and its values; a single region without it."""
    others = [one for one in study.vary if one.text]
    if not others:
        return "", ("",)
    if len(others) > 1:
        raise InputError(
            "a third thing to vary", others[1].place, value=others[1].name, allowed="two costs and one more"
        )
    values = tuple(dict.fromkeys(value.strip() for value in others[0].text.split(",")))
    if not all(values) or any(":" in value for value in values):
        what = "not a list of values"
        raise InputError(what, others[0].place, value=others[0].text, allowed=f"e.g. {others[0].name}=1,0.5,0.1")
    return others[0].name, values


def _question(study: ExplorationStudy, name: str, value: str) -> FeasibilityQuestion:
    """Return the question for one value of what else is varied, if anything is."""
    varied = {name: value} if name else {}
    scenario = _scenario(study, varied)
    changes = {key: text for key, text in {**study.settings, **varied}.items() if key not in scenario.parameters}
    first, second = (one.name for one in _costs(study))
    metric, bound = _bound(study.subject_to)
    limits = {"rate_flop_per_s": bound} if metric == "rate" else {"time_limit_s": bound}
    return FeasibilityQuestion(scenario, (first, second), changes=changes, **limits)


def _bound(constraints: Sequence[Statement]) -> tuple[str, float]:
    """Return the metric that is bounded, and its bound."""
    if len(constraints) != 1:
        raise InputError("a region needs one bound", Place("--subject-to"), value=len(constraints), allowed=BOUNDS)
    (statement,) = constraints
    dimensions = {"rate": "rate", "time": "time"}
    found = constraint(statement.text, dimensions, statement.place)
    metric, right = found.left.text, found.right.tree
    if (metric, found.relation) not in (("rate", ">="), ("time", "<=")) or not isinstance(right, Number):
        raise InputError("not a bound of a region", statement.place, value=statement.text, allowed=BOUNDS)
    return metric, float(right.value)


def _scenario(study: ExplorationStudy, varied: dict[str, str]) -> GivenScenario:
    """With one more setting; an error in it is one of the option that it comes from."""
    settings = [f"{name}={text}" for name, text in {**study.settings, **varied}.items()]
    try:
        return scenario_of(study.workload, study.machine, settings, study.preset, study.phases)
    except InputError as error:
        if not varied or error.place != Place("--set"):
            raise
        raise InputError(error.what, Place("--vary"), value=error.value, allowed=error.allowed) from None


def _forecasts(questions: Sequence[FeasibilityQuestion], simulate: bool) -> list[Region]:
    """Return the regions by the forecast; none if it does not grow with a cost and simulations follow."""
    try:
        return [forecast_region(question) for question in questions]
    except UnboundedError as error:
        if not simulate:
            raise
        complain(f"note: no region by {error}")
        return []


def _simulation(question: FeasibilityQuestion, effects: tuple[str, ...], points: int, engine: str) -> Region:
    try:
        return simulated_region(question, effects, points, engine)
    except CapacityError as error:
        if "train" not in question.workload.parameters:
            raise
        raise CapacityError(f"{error}; or --set train=N, which simulates N messages to a neighbour as one") from None


def _least(question: FeasibilityQuestion, name: str, values: Sequence[str]) -> dict[str, float | None]:
    """Return the value of a parameter at which the region begins to be empty.

    Looked for a thousandfold below the least.
    """
    parameters = question.workload.parameters
    if name not in parameters or parameters[name].whole or any(cost.path == name for cost in question.costs):
        return {}
    numbers = [float(value) for value in values]
    low = max(min(numbers) * 1e-3, parameters[name].low)
    try:
        return {name: threshold(question, name, low, max(numbers))}
    except InputError:  # if some value in between cannot be used
        return {}
