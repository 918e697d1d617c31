"""Commands that answer questions about designs: ``codesign feasibility``."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Annotated, Any

import typer

from simcodesign.cli import base
from simcodesign.cli.base import app
from simcodesign.cli.options import (
    AsJson,
    CaseInput,
    Effects,
    Engine,
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
from simcodesign.errors import InputError, Place
from simcodesign.report.terminal import print_all, write_json

#: Efficiencies for which a workload that has this parameter is asked by default.
EFFICIENCY, EFFICIENCIES = "eta", (1.0, 0.75, 0.5, 0.25, 0.2, 0.1)

codesign = typer.Typer(no_args_is_help=True, help="Questions about designs.")
app.add_typer(codesign, name="codesign")


@codesign.command()
def feasibility(
    workload: WorkloadName,
    machine: MachineName,
    target: Annotated[float, typer.Option(metavar="RATE", help="The rate to be reached, in flop/s, e.g. 1e18.")],
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
            metavar="NAME=A,B,...", help="One region for each value; by default of eta, if the workload has it."
        ),
    ] = None,
    simulated: Annotated[bool, typer.Option("--simulate", help="Also the regions by simulation.")] = False,
    effects: Effects = "all",
    engine: Engine = "auto",
    points: Annotated[int, typer.Option(metavar="N", min=2, help="Points of a simulated boundary.")] = 5,
    settings: Settings = None,
    ranks: Ranks = None,
    preset: Preset = None,
    phase: Phases = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """For which costs of messages does a workload reach a rate? The boundary, and the largest cost on each axis."""
    check_files(plot)
    case = case_of(workload, machine, settings, ranks, preset, phase)
    module, report = import_module("simcodesign.codesign.feasibility"), base.report("regions")
    asked = module.Question(
        case.workload, case.machine, tuple(over.split(",")), target, case.parameters, case.preset, case.phases or None
    )
    name, values = _each(case, each)
    every = [replace(asked, parameters={**asked.parameters, name: value}) if name else asked for value in values]
    regions = [module.forecast_region(one) for one in every]
    least = _least(module, asked, name, values)
    if simulated:
        chosen = import_module("simcodesign.describe.effects").chosen_effects(effects)
        feasible = [one for one, region in zip(every, regions, strict=True) if region.feasible]
        regions += [module.simulated_region(one, chosen, points, engine) for one in feasible]
    if as_json:
        write_json({"regions": [report.region_dict(region) for region in regions], "least": least})
    else:
        print_all(report.region_tables(asked, regions, least))
    if plot:
        report.region_plot(asked, regions, plot)


def _least(module: Any, asked: Any, name: str, values: tuple[float, ...]) -> dict[str, float | None]:
    """The value of a parameter at which the region begins to be empty, looked for a thousandfold below the least."""
    if not name or asked.workload.parameters[name].whole:
        return {}
    low = max(min(values) * 1e-3, asked.workload.parameters[name].low)
    return {name: module.threshold(asked, name, low, max(values))}


def _each(case: CaseInput, text: str | None) -> tuple[str, tuple[float, ...]]:
    """The parameter that is varied, and its values; without one, a single region."""
    known = case.workload.parameters
    if text is None:
        default = EFFICIENCY in known and EFFICIENCY not in case.parameters
        return (EFFICIENCY, EFFICIENCIES) if default else ("", (0.0,))
    name, _, values = (part.strip() for part in text.partition("="))
    try:
        numbers = tuple(float(value) for value in values.split(","))
    except ValueError:
        raise InputError("not a list of values", Place("--each"), value=text, allowed="e.g. eta=1,0.5,0.1") from None
    if name not in known:
        allowed = ", ".join(known)
        raise InputError("not a parameter of the workload", Place("--each"), value=name, allowed=allowed)
    return name, numbers
