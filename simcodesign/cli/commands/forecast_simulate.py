"""The commands ``forecast`` and ``simulate``: one reading of a workload on a machine."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Any

from simcodesign.cli.app import app
from simcodesign.cli.completion import names_of
from simcodesign.cli.dataclass_commands import Option, command
from simcodesign.cli.options import (
    AspenOptions,
    OutputOptions,
    ReplicationOptions,
    ScenarioOptions,
    SeedOfSamples,
    SimulationOptions,
    Why,
    check_folder,
    check_plot,
    check_timeline,
    needs,
)
from simcodesign.cli.sections import Section
from simcodesign.core.errors import InputError, Place
from simcodesign.report.common.terminal import complain, print_all, write, write_json

#: Ranks up to which bounds of the simulated time are given, unless --bounds asks for them: they take longer.
RANKS_WITH_BOUNDS = 1024


@dataclass(frozen=True, kw_only=True)
class ForecastOptions:
    """What is forecast, and what is printed of it."""

    scenario: ScenarioOptions
    aspen: AspenOptions
    bounds: Annotated[
        bool | None,
        Option(help=f"Bounds of the simulated time; by default up to {RANKS_WITH_BOUNDS} ranks."),
    ] = None
    seed: SeedOfSamples = None
    output: OutputOptions


@command(app, "forecast", section=Section.MODEL)
def run_forecast(options: ForecastOptions) -> None:
    """Forecast a workload on a machine: the sum of closed forms, and the pipelined time.

    APP.aspen MACHINE.aspen: run time, energy, power and memory. --set sets parameters of both models (application.n or
    machine.n if both have n); --seed draws samples in place of their means.
    """
    from simcodesign.analytic.forecast import forecast
    from simcodesign.cli.run.scenario import load_scenario
    from simcodesign.report.results.tables import forecast_tables

    usable = ("settings", "seed", "as_json")
    if options.aspen.apply_to(options.scenario.workload, options.scenario.machine, other_options=usable):
        from simcodesign.cli.run.aspen import forecast_models

        forecast_models(options.scenario, options.aspen, options.seed, options.output.as_json)
        return
    if options.seed is not None:
        raise needs("--seed", "Aspen models, because other forecasts have no random numbers")
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


@dataclass(frozen=True, kw_only=True)
class StreamReplicationOptions(ReplicationOptions):
    """Replications of simulations, which may be runs of arrivals."""

    precision_of: Annotated[
        str | None, Option(metavar="NAME", help="What --precision is of: energy_j, components_s.disk, ...")
    ] = None
    warm_up: Annotated[
        str | None,
        Option(
            metavar="N",
            help="Leave the first N requests of every run of arrivals out of response times; by default as many as "
            "MSER-5 finds (mser5).",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class SimulateOptions:
    """What is simulated, how and how often, and what is printed and written of it."""

    scenario: ScenarioOptions
    simulation: SimulationOptions
    stations: Annotated[int, Option(metavar="N", min=0, help="Show the N most used stations.")] = 5
    output: OutputOptions
    timeline: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Write what ranks and stations did: .json or .json.gz, for ui.perfetto.dev.",
        ),
    ] = None
    gantt: Annotated[
        Path | None,
        Option(metavar="FILE", help="Write a chart of what every rank does when (.png, .svg or .pdf)."),
    ] = None
    events: Annotated[
        bool,
        Option(
            help="Print every event in the order of time, in place of tables: who waits for whom, or at which station "
            "behind whom, begins, ends."
        ),
    ] = False
    since: Annotated[
        str | None, Option("--from", metavar="TIME", help="With --events or --gantt: not before ('2 ms').")
    ] = None
    until: Annotated[str | None, Option("--to", metavar="TIME", help="With --events or --gantt: not after.")] = None
    counters: Annotated[
        Path | None,
        Option(metavar="FILE", help="Write hardware counters of every phase and rank (.csv), for models of them."),
    ] = None
    power: Annotated[
        Path | None, Option(metavar="FILE", help="Write a plot of power over time (.png, .svg or .pdf).")
    ] = None
    why: Why = False
    replication: StreamReplicationOptions
    against: Annotated[
        str | None,
        Option(
            metavar="MACHINE",
            help="Another machine under the same random numbers: what is the difference?",
            complete=names_of("machines"),
        ),
    ] = None

    def check_files(self) -> None:
        """InputError for files that could not be written, before any work is done."""
        self.output.check()
        check_plot("--power", self.power)
        check_plot("--gantt", self.gantt)
        check_timeline(self.timeline)
        for option, given in (("--from", self.since), ("--to", self.until)):
            if given is not None and not (self.events or self.gantt):
                raise InputError("has no meaning here", Place(option), value=given, allowed="with --events or --gantt")
        _ = self.window_s
        other = "--why" if self.why else "--against" if self.against else "--replications or --precision"
        if self.events and (self.why or self.against or self.replication.replicates):
            raise InputError(f"events are those of one run: not with {other}", Place("--events"), allowed="one of them")

    @property
    def window_s(self) -> tuple[float, float]:
        """From when to when events are printed."""
        from simcodesign.core.units import parse_quantity

        texts = (("--from", self.since, 0.0), ("--to", self.until, inf))
        low, high = (
            other if text is None else parse_quantity(text, "time", Place(name)) for name, text, other in texts
        )
        if high < low:
            raise InputError("before --from", Place("--to"), value=self.until, allowed=f"{low:g} s or later")
        return low, high

    def check_single_run(self) -> None:
        """InputError for options that do not go with one plain run."""
        self.replication.check_unused()
        if self.power and self.simulation.iterations != "all":
            raise InputError("power over time shows every iteration", Place("--power"), allowed="--iterations all")
        if self.counters:
            check_folder("--counters", self.counters, (".csv",))


@command(app, "simulate", section=Section.MODEL)
def run_simulate(options: SimulateOptions) -> None:
    """Simulate a workload on a machine, event by event: once, or as often as it takes to know the means."""
    from simcodesign.cli.run.scenario import load_scenario, run_keywords
    from simcodesign.cli.run.why import check_why, what_helps, why_tables, with_why
    from simcodesign.engine.simulate import simulate
    from simcodesign.report.common.progress import ProgressBar
    from simcodesign.report.results.tables import simulation_tables

    options.check_files()
    if options.replication.replicates or options.against:
        check_why(options.why)
        from simcodesign.cli.run.replication import run_replications

        run_replications(options)
        return
    options.check_single_run()
    scenario = load_scenario(options.scenario)
    keywords = run_keywords(options.simulation, scenario.machine)
    if (options.timeline or options.events) and keywords["engine"] == "auto":
        keywords["engine"] = "simpy"  # which records whom stations serve
    began_s = time.perf_counter()
    with ProgressBar("simulating", note="preparing") as on_progress:
        result = simulate(
            scenario,
            **keywords,
            timeline=bool(options.output.plot or options.timeline or options.events or options.gantt),
            counters=options.counters is not None,
            on_progress=on_progress,
        )
    if options.counters:
        from simcodesign.counters.readers.tidy_table import write_counters
        from simcodesign.studies.extrapolation.virtual_profiler import counters_of

        write_counters(options.counters, counters_of(result, repetition=options.simulation.seed))
    took_s = time.perf_counter() - began_s
    helps = what_helps(scenario, options.simulation, result, took_s) if options.why else None
    if options.events:
        _print_events(result, options)
    elif options.output.as_json:
        write_json(with_why(result, helps))
    else:
        print_all([*simulation_tables(result, options.stations), *why_tables(helps)])
    if options.output.plot:
        from simcodesign.report.results.plots import activity_profile

        activity_profile(result, options.output.plot)
    if options.power:
        from simcodesign.report.results.power_plot import power_over_time

        power_over_time(result, options.power)
    if options.gantt:
        from simcodesign.report.timelines.gantt import gantt_chart

        gantt_chart(result, options.gantt, options.window_s)
    if options.timeline:
        from simcodesign.engine.experiment import Experiment
        from simcodesign.report.timelines.write import write_timeline

        write_timeline(result, options.timeline, Experiment.of(scenario, **keywords))


def _print_events(result: Any, options: SimulateOptions) -> None:
    """The list of events, as text or JSON."""
    from simcodesign.report.events.event_list import event_lines, event_list

    events = event_list(result, *options.window_s)
    if options.simulation.engine == "compiled":
        complain("note: waits of messages for links and interfaces are those that --engine simpy records")
    if options.output.as_json:
        write_json(events)
    else:
        for line in event_lines(events):
            write(f"{line}\n")
