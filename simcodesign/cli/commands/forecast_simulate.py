"""The commands ``forecast`` and ``simulate``: one reading of a workload on a machine."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Option, command
from simcodesign.cli.options.shared import (
    AnchorFiles,
    AnswerOptions,
    AspenOptions,
    ScenarioOptions,
    SeedOfSamples,
    needs,
)
from simcodesign.cli.options.simulate_options import JobsOptions, SimulateOptions
from simcodesign.cli.sections import Heading, Section
from simcodesign.cli.simulation_files import FILES, WITH_STATIONS
from simcodesign.cli.written_files import PLOT_SUFFIXES, TABLE, Output, Outputs, RequestedFiles

#: Ranks up to which bounds of the simulated time are given, unless --bounds asks for them: they take longer.
RANKS_WITH_BOUNDS = 1024


@dataclass(frozen=True, kw_only=True)
class ForecastOptions:
    """Workload and machine of a forecast, and what is printed."""

    jobs: JobsOptions
    aspen: AspenOptions
    bounds: Annotated[
        bool | None,
        Option(
            heading=Heading.SHOWN, help=f"Bounds of the simulated time; by default up to {RANKS_WITH_BOUNDS} ranks."
        ),
    ] = None
    seed: SeedOfSamples = None
    anchor: AnchorFiles = field(default_factory=list)
    output: AnswerOptions

    @property
    def scenario(self) -> ScenarioOptions:
        """The workload on the machine, if no jobs are given."""
        return self.jobs.scenario


def _bars(forecast: Any, path: Path) -> None:
    from simcodesign.report.results.plots import result_bars

    result_bars(forecast, path)


FORECAST_FILES = Outputs(
    Output("plot", PLOT_SUFFIXES, "a plot: the time of each phase by component", _bars),
    Output(
        "roofline", PLOT_SUFFIXES, "kernels and phases of the workload below the rooflines of the machine", by_name=True
    ),
    TABLE,
)


def _write_rooflines(files: RequestedFiles, scenario: Any) -> None:
    if "roofline" in files:
        from simcodesign.analytic.roofline_points import roofline_points
        from simcodesign.report.machines.roofline_plot import workload_roofline_plot

        title = f"{scenario.workload.name} on {scenario.machine.label}: roofline (percentages: of the time)"
        for path in files.paths("roofline"):
            workload_roofline_plot(scenario.bind().machine, path, roofline_points(scenario), title)


@command(app, "forecast", section=Section.MODEL, outputs=FORECAST_FILES)
def run_forecast(options: ForecastOptions) -> None:
    """Forecast a workload on a machine: the sum of closed forms, and the pipelined time.

    W1@0:512 W2@512:1024 MACHINE: several jobs, alone and with their shares of the links and the storage.

    APP.aspen MACHINE.aspen: run time, energy, power and memory. --set sets parameters of both models (application.n or
    machine.n if both have n); --seed draws samples instead of their means.
    """
    from simcodesign.analytic.forecast import forecast
    from simcodesign.cli.run.scenario import load_scenario
    from simcodesign.report.results.tables import forecast_tables

    files = FORECAST_FILES.requested(options.output.write)
    if options.jobs.has_jobs:
        files.refuse(["roofline"], "several jobs have no roofline together", "one workload")
    usable = ("settings", "seed", "as_json")
    if options.aspen.apply_to(*options.jobs.job_names, options.jobs.machine_name, other_options=usable):
        from simcodesign.cli.run.aspen import forecast_models

        forecast_models(options.scenario, options.aspen, options.seed, options.output.as_json)
        return
    if options.seed is not None:
        raise needs("--seed", "Aspen models, because other forecasts have no random numbers")
    if options.jobs.has_jobs:
        from simcodesign.cli.run.jobs import run_forecast_of_jobs

        run_forecast_of_jobs(options.jobs, files, options.output.as_json)
        return
    scenario = load_scenario(options.scenario)
    bounds = scenario.bind().ranks <= RANKS_WITH_BOUNDS if options.bounds is None else options.bounds
    result = forecast(scenario, bounds=bounds)
    _write_rooflines(files, scenario)
    if not options.anchor:
        files.show(result, lambda: forecast_tables(result), options.output.as_json)
        return
    from simcodesign.cli.run.anchors import anchors_of
    from simcodesign.core.to_json import to_plain
    from simcodesign.report.results.anchored_tables import anchored_tables
    from simcodesign.studies.anchored.anchor import forecast_s

    anchors = anchors_of(options.anchor, options.scenario, scenario)
    one = anchors.anchored("forecast", forecast_s, scenario, float(result.headline_s))
    files.show(
        result,
        lambda: [*forecast_tables(result), *anchored_tables([one])],
        options.output.as_json,
        lambda: {**to_plain(result), "anchored": [to_plain(one)]},
    )


@command(app, "simulate", section=Section.MODEL, outputs=FILES)
def run_simulate(options: SimulateOptions) -> None:
    """Simulate a workload on a machine event by event, once or repeatedly.

    For example: simulate jacobi torus-cluster -P 16. With several jobs on one machine (W1@0:512 W2@512:1024 MACHINE),
    the command prints how much each job is slowed down by the others.
    """
    from simcodesign.cli.run.scenario import load_scenario, run_keywords
    from simcodesign.cli.simulation_files import SimulatedRun, is_recorded
    from simcodesign.engine.experiment import Experiment
    from simcodesign.engine.simulate import simulate
    from simcodesign.report.common.progress import ProgressBar
    from simcodesign.report.results.tables import simulation_tables

    files = options.requested_files()
    if options.jobs.has_jobs:
        from simcodesign.cli.run.jobs import run_jobs

        run_jobs(options, files)
        return
    if options.replication.replicates:
        from simcodesign.cli.run.replication import run_replications
        from simcodesign.cli.run.why import check_why

        check_why(options.why)
        run_replications(options, files)
        return
    options.replication.check_unused()
    scenario = load_scenario(options.scenario)
    keywords = run_keywords(options.simulation, scenario.machine)
    if keywords["engine"] == "auto" and any(word in files for word in WITH_STATIONS):
        keywords["engine"] = "simpy"  # which records the services of stations
    began_s = time.perf_counter()
    with ProgressBar("simulating", note="preparing") as on_progress:
        result = simulate(
            scenario,
            **keywords,
            timeline=is_recorded(files),
            counters="counters" in files,
            on_progress=on_progress,
        )
    took_s = time.perf_counter() - began_s
    more_tables: list[Any] = []
    answer: object = result
    if options.why:
        from simcodesign.cli.run.why import what_helps, why_tables, with_why

        helps = what_helps(scenario, options.simulation, result, took_s)
        more_tables, answer = why_tables(helps), with_why(result, helps)
    run = SimulatedRun(
        result=result,
        experiment=Experiment.of(scenario, **keywords),
        window_s=options.window_s,
        as_json=options.output.as_json,
    )
    files.show(
        run,
        lambda: [*simulation_tables(result, options.stations), *more_tables],
        options.output.as_json,
        lambda: answer,
    )
    for path in files.paths("plot"):
        from simcodesign.report.results.plots import activity_profile

        activity_profile(result, path)
