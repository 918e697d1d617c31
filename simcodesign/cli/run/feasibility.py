"""For which costs of messages a workload reaches a rate: regions by the forecast and by simulation."""

from __future__ import annotations

from collections.abc import Sequence

from simcodesign.cli.commands.codesign import FeasibilityOptions
from simcodesign.cli.run.scenario import GivenScenario, load_scenario
from simcodesign.core.errors import CapacityError, InputError, Place
from simcodesign.core.units import parse_quantity
from simcodesign.describe.effects import chosen_effects
from simcodesign.report.common.terminal import complain, print_all, write_json
from simcodesign.report.feasibility.regions import region_dict, region_plot, region_tables
from simcodesign.studies.feasibility.regions import (
    MOST_POINTS,
    FeasibilityQuestion,
    Region,
    UnboundedError,
    forecast_region,
    simulated_region,
    threshold,
)

#: The efficiency, and the values for which a workload that has it as a parameter is evaluated by default.
EFFICIENCY, EFFICIENCIES = "eta", ("1", "0.75", "0.5", "0.25", "0.2", "0.1")


def run(options: FeasibilityOptions) -> None:
    """Find the regions, print and draw them."""
    name, values = _varied(load_scenario(options.scenario), options.each)
    questions = [_question(options, name, value) for value in values]
    regions = _forecasts(questions, options.simulate)
    least = _least(questions[0], name, values)
    if options.simulate:
        effects = chosen_effects(options.effects or "all")
        points, engine = options.points or MOST_POINTS, options.engine or "auto"
        regions += [_simulation(question, effects, points, engine) for question in questions]
    if options.output.as_json:
        write_json({"regions": [region_dict(region) for region in regions], "least": least})
    else:
        print_all(region_tables(questions, regions, least))
    if options.output.plot:
        region_plot(questions, regions, options.output.plot)


def _varied(scenario: GivenScenario, each: str | None) -> tuple[str, tuple[str, ...]]:
    """What is varied, and its values; without, a single region."""
    parameters = scenario.workload.parameters
    if each is None:
        has_efficiency = EFFICIENCY in parameters and EFFICIENCY not in scenario.parameters
        return (EFFICIENCY, EFFICIENCIES) if has_efficiency else ("", ("",))
    name, _, listed = (part.strip() for part in each.partition("="))
    values = tuple(dict.fromkeys(value.strip() for value in listed.split(",")))
    if not name or not all(values):
        raise InputError("not a list of values", Place("--each"), value=each, allowed="e.g. eta=1,0.5,0.1")
    return name, values


def _question(options: FeasibilityOptions, name: str, value: str) -> FeasibilityQuestion:
    """The question for one value of what is varied; for the empty name that of the options alone."""
    varied = [f"{name}={value}"] if name else []
    scenario = _load_varied(options, varied)
    pairs = [[part.strip() for part in text.split("=", 1)] for text in (*options.scenario.settings, *varied)]
    changes = {key: text for key, text in pairs if key not in scenario.parameters}
    first, *others = (cost.strip() for cost in options.over.split(","))
    # Small letters for the unit of a rate as well, as it is often written.
    rate = parse_quantity(options.target.replace("flop/s", "FLOP/s"), "rate", Place("--target"))
    return FeasibilityQuestion(
        scenario,
        (first, *others),  # type: ignore[arg-type] # checked there
        rate,
        changes,
    )


def _load_varied(options: FeasibilityOptions, varied: Sequence[str]) -> GivenScenario:
    """With more settings; an error in these is one of the option that they come from."""
    try:
        return load_scenario(options.scenario, more=varied)
    except InputError as error:
        if not varied or error.place != Place("--set"):
            raise
        raise InputError(error.what, Place("--each"), value=error.value, allowed=error.allowed) from None


def _forecasts(questions: Sequence[FeasibilityQuestion], simulate: bool) -> list[Region]:
    """A forecast that does not grow with a cost is no answer, and no obstacle to one by simulation."""
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
    """The value of a parameter at which the region begins to be empty, looked for a thousandfold below the least."""
    parameters = question.workload.parameters
    if name not in parameters or parameters[name].whole or any(cost.path == name for cost in question.costs):
        return {}
    numbers = [float(value) for value in values]
    low = max(min(numbers) * 1e-3, parameters[name].low)
    try:
        return {name: threshold(question, name, low, max(numbers))}
    except InputError:  # where some value in between cannot be used
        return {}
