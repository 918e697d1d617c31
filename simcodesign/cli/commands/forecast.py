"""The command ``forecast``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Option, command
from simcodesign.cli.options import OutputOptions, ScenarioOptions
from simcodesign.cli.sections import Section
from simcodesign.report.common.terminal import print_all, write_json

#: Ranks up to which bounds of the simulated time are given, unless --bounds asks for them: they take longer.
RANKS_WITH_BOUNDS = 1024


@dataclass(frozen=True, kw_only=True)
class ForecastOptions:
    """What is forecast, and what is printed of it."""

    scenario: ScenarioOptions
    bounds: Annotated[
        bool | None,
        Option(help=f"Bounds of the simulated time; by default up to {RANKS_WITH_BOUNDS} ranks."),
    ] = None
    output: OutputOptions


@command(app, "forecast", section=Section.MODEL)
def run(options: ForecastOptions) -> None:
    """Forecast a workload on a machine: the sum of closed forms, and the pipelined time."""
    from simcodesign.analytic.forecast import forecast
    from simcodesign.cli.run.scenario import load_scenario
    from simcodesign.report.results.tables import forecast_tables

    options.output.check()
    scenario = load_scenario(options.scenario)
    bounds = scenario.bind().ranks <= RANKS_WITH_BOUNDS if options.bounds is None else options.bounds
    result = forecast(scenario, bounds=bounds, longest_path=True)
    if options.output.as_json:
        write_json(result)
    else:
        print_all(forecast_tables(result))
    if options.output.plot:
        from simcodesign.report.results.plots import result_bars

        result_bars(result, options.output.plot)
