"""Commands that answer questions about designs: ``codesign feasibility``."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer

from simcodesign.cli.app import app
from simcodesign.cli.options import (
    AsJson,
    CaseInput,
    MachineName,
    Phases,
    Plot,
    Preset,
    Ranks,
    Settings,
    WorkloadName,
    case_of,
    check_files,
)
from simcodesign.core.errors import CapacityError, InputError, Place
from simcodesign.report.common.terminal import complain, print_all, write_json

#: Efficiencies for which a workload that has this parameter is asked by default.
EFFICIENCY, EFFICIENCIES = "eta", ("1", "0.75", "0.5", "0.25", "0.2", "0.1")

codesign = typer.Typer(no_args_is_help=True, help="Questions about designs.")
app.add_typer(codesign, name="codesign")


class Asked(NamedTuple):
    """What the user gave to describe a workload on a machine."""

    workload: str
    machine: str
    settings: Sequence[str]
    ranks: int | None
    preset: str | None
    phases: list[str] | None

    def case(self, *more: str) -> CaseInput:
        """Both loaded, with more settings."""
        return case_of(self.workload, self.machine, [*self.settings, *more], self.ranks, self.preset, self.phases)


@codesign.command()
def feasibility(
    workload: WorkloadName,
    machine: MachineName,
    target: Annotated[
        str, typer.Option(metavar="RATE", help="The rate to be reached: 1e18 (flop/s), or with a unit: '1 EFLOP/s'.")
    ],
    over: Annotated[
        str,
        typer.Option(
            metavar="X,Y",
            help="Two costs: ts (startup), tw (time per value), or any constant of the machine or parameter.",
        ),
    ] = "ts,tw",
    each: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=A,B,...",
            help="One region for each value of whatever --set takes: eta=1,0.5, or 'network.hop_latency=10 ns,100 ns'; "
            "by default of eta, if the workload has it.",
        ),
    ] = None,
    simulated: Annotated[bool, typer.Option("--simulate", help="Also the regions by simulation.")] = False,
    effects: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="With --simulate: all (the default), none, or some effects: hops,links."),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --simulate: auto (the default), simpy, or compiled.")
    ] = None,
    points: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            help="With --simulate: at most so many points of a boundary, by default 17. They are added where it bends, "
            "until straight lines between them are right to 1 % of the intercepts; 2 are the intercepts alone.",
        ),
    ] = None,
    settings: Settings = None,
    ranks: Ranks = None,
    preset: Preset = None,
    phase: Phases = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """For which costs of messages does a workload reach a rate? The boundary, and the largest cost on each axis."""
    check_files(plot)
    for option, value in (("--effects", effects), ("--engine", engine), ("--points", points)):
        if value is not None and not simulated:
            raise InputError("a forecast has no use for it", Place(option), value=value, allowed="with --simulate")
    module, report = (
        import_module("simcodesign.studies.feasibility.regions"),
        import_module("simcodesign.report.feasibility.regions"),
    )
    given = Asked(workload, machine, settings or [], ranks, preset, phase)
    case = given.case()
    name, values = _each(case, each)
    rate = _rate(target)
    every = [_question(module, given, over, rate, name, value) for value in values]
    regions = _forecasts(module, every, simulated)
    least = _least(module, every[0], name, values)
    if simulated:
        chosen = import_module("simcodesign.describe.effects").chosen_effects(effects or "all")
        most = points or module.MOST_POINTS
        regions += [_simulation(module, one, chosen, most, engine or "auto") for one in every]
    if as_json:
        write_json({"regions": [report.region_dict(region) for region in regions], "least": least})
    else:
        print_all(report.region_tables(every, regions, least))
    if plot:
        report.region_plot(every, regions, plot)


def _rate(target: str) -> float:
    """In flop/s; small letters for the unit as well, as it is often written."""
    parse_quantity = import_module("simcodesign.core.units").parse_quantity
    return float(parse_quantity(target.replace("flop/s", "FLOP/s"), "rate", Place("--target")))


def _question(module: Any, given: Asked, over: str, rate: float, name: str, value: str) -> Any:
    case = _varied(given, name, value) if name else given.case()
    settings = [*given.settings, *([f"{name}={value}"] if name else [])]
    pairs = [[part.strip() for part in text.split("=", 1)] for text in settings]
    changes = {key: text for key, text in pairs if key not in case.parameters}
    costs = tuple(cost.strip() for cost in over.split(","))
    return module.Question(
        case.workload, case.machine, costs, rate, case.parameters, case.preset, case.phases or None, changes
    )


def _varied(given: Asked, name: str, value: str) -> CaseInput:
    """With one more setting; what is wrong with it is said of the option that it comes from."""
    try:
        return given.case(f"{name}={value}")
    except InputError as error:
        if error.place != Place("--set"):
            raise
        raise InputError(error.what, Place("--each"), value=error.value, allowed=error.allowed) from None


def _forecasts(module: Any, every: Sequence[Any], simulated: bool) -> list[Any]:
    """A forecast that does not grow with a cost is no answer, and no obstacle to one by simulation."""
    try:
        return [module.forecast_region(one) for one in every]
    except module.UnboundedError as error:
        if not simulated:
            raise
        complain(f"note: no region by {error}")
        return []


def _simulation(module: Any, asked: Any, effects: tuple[str, ...], points: int, engine: str) -> Any:
    try:
        return module.simulated_region(asked, effects, points, engine)
    except CapacityError as error:
        if "train" not in asked.workload.parameters:
            raise
        raise CapacityError(f"{error}; or --set train=N, which simulates N messages to a neighbour as one") from None


def _least(module: Any, asked: Any, name: str, values: tuple[str, ...]) -> dict[str, float | None]:
    """The value of a parameter at which the region begins to be empty, looked for a thousandfold below the least."""
    parameters = asked.workload.parameters
    if name not in parameters or parameters[name].whole or any(cost.path == name for cost in asked.costs):
        return {}
    numbers = [float(value) for value in values]
    low = max(min(numbers) * 1e-3, parameters[name].low)
    try:
        return {name: module.threshold(asked, name, low, max(numbers))}
    except InputError:  # where some value in between cannot be used
        return {}


def _each(case: CaseInput, text: str | None) -> tuple[str, tuple[str, ...]]:
    """What is varied, and its values; without, a single region."""
    known = case.workload.parameters
    if text is None:
        default = EFFICIENCY in known and EFFICIENCY not in case.parameters
        return (EFFICIENCY, EFFICIENCIES) if default else ("", ("",))
    name, _, listed = (part.strip() for part in text.partition("="))
    values = tuple(dict.fromkeys(value.strip() for value in listed.split(",")))
    if not name or not all(values):
        raise InputError("not a list of values", Place("--each"), value=text, allowed="e.g. eta=1,0.5,0.1")
    return name, values
