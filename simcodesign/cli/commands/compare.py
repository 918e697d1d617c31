"""The command ``compare``."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from click.exceptions import Exit

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Option, command
from simcodesign.cli.options import (
    OutputOptions,
    ReplicationOptions,
    ScenarioOptions,
    SimulationOptions,
    Why,
    check_timeline,
)
from simcodesign.report.common.terminal import complain, print_all, write_json

OUT_OF_TOLERANCE = 1


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """What is forecast and simulated, how and how often, and what is printed and written of it."""

    scenario: ScenarioOptions
    simulation: SimulationOptions
    formula: Annotated[
        list[str],
        Option(
            metavar="FILE|EXPRESSION",
            help="A formula to compare beside our forecast: a .yaml file with 'formulas:', or an expression for the "
            "total, as 'log2(P)*(t_s + m*t_w)' or 'NAME = 2.5 us*P' (see docs/formulas.md). Repeatable.",
        ),
    ] = field(default_factory=list)
    tolerance: Annotated[
        str | None,
        Option(
            metavar="SHARE",
            help="Exit with 1 when the error of the total is larger, e.g. 5%: that of our forecast; with --formula, "
            "that of any formula given instead.",
        ),
    ] = None
    why: Why = False
    output: OutputOptions
    timeline: Annotated[
        Path | None, Option(metavar="FILE", help="Write a trace that ui.perfetto.dev shows (JSON).")
    ] = None
    replication: ReplicationOptions


@command(app, "compare")
def run(options: CompareOptions) -> None:
    """Compare the forecast with the simulation; say which effect, and which demand, explains how much of the gap."""
    from simcodesign.cli.run.scenario import parsed_share
    from simcodesign.cli.run.why import check_why

    options.output.check()
    check_timeline(options.timeline)
    limit = None if options.tolerance is None else parsed_share(options.tolerance, "--tolerance")
    if options.replication.replicates:
        check_why(options.why)
        from simcodesign.cli.run.replication import run_compared_replications

        errors = {"the forecast": run_compared_replications(options)}
    else:
        options.replication.check_unused()
        errors = _run_once(options)
    # A total of nothing but forecast has no relative error (nan): that is out of every tolerance.
    outside = {what: error for what, error in errors.items() if limit is not None and not abs(error) <= limit}
    for what, error in outside.items():
        text = "none, since it says nothing here" if math.isnan(error) else f"{error:+.3%}"
        complain(f"out of tolerance: error of {what} {text}, allowed {limit:.4%}")
    if outside:
        raise Exit(OUT_OF_TOLERANCE)


def _run_once(options: CompareOptions) -> dict[str, float]:
    """Compare with one simulation, and print it; the errors that count: of the forecast, or of formulas given."""
    from simcodesign.cli.run.scenario import load_scenario, run_keywords
    from simcodesign.cli.run.why import what_helps, why_tables, with_why
    from simcodesign.comparison.compare import compare
    from simcodesign.report.common.progress import simulation_progress
    from simcodesign.report.results.comparison_tables import comparison_tables

    scenario = load_scenario(options.scenario)
    began_s = time.perf_counter()
    with simulation_progress() as on_progress:
        comparison = compare(
            scenario,
            **run_keywords(options.simulation),
            formulas=options.formula,
            timeline=bool(options.timeline),
            on_progress=on_progress,
        )
    helps = None
    if options.why:
        each_s = (time.perf_counter() - began_s) / len(comparison.rungs)
        helps = what_helps(scenario, options.simulation, comparison.simulation, each_s)
    if options.output.as_json:
        write_json(with_why(comparison, helps))
    else:
        print_all([*comparison_tables(comparison), *why_tables(helps)])
    if options.output.plot:
        from simcodesign.report.results.plots import comparison_bars

        comparison_bars(comparison, options.output.plot)
    if options.timeline:
        from simcodesign.report.results.chrome_trace import write_chrome_trace

        write_chrome_trace(comparison.simulation, options.timeline)
    given = {f"formula {one.name}": one.error for one in comparison.formulas if one.given}
    return given or {"the forecast": comparison.error}
