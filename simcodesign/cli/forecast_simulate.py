"""Commands that read a workload on a machine: ``forecast``, ``simulate``, ``compare``, ``export``."""

from __future__ import annotations

import math
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from simcodesign.cli.app import app, sc
from simcodesign.cli.options import (
    AgainstMachine,
    AsJson,
    AtMost,
    Confidence,
    Counters,
    Effects,
    Engine,
    Iterations,
    Jobs,
    MachineName,
    Phases,
    Plot,
    Power,
    Precision,
    PrecisionOf,
    Preset,
    Ranks,
    Replications,
    Seed,
    Settings,
    Timeline,
    WarmUp,
    WorkloadName,
    case_of,
    check_files,
    check_folder,
)
from simcodesign.cli.replication_options import Replicating, check_together, compared, replicated, share_of
from simcodesign.core.errors import InputError, Place
from simcodesign.report.common.terminal import complain, print_all, write_json

RANKS_WITH_BOUNDS = 1024


@app.command()
def forecast(
    workload: WorkloadName,
    machine: MachineName,
    settings: Settings = None,
    ranks: Ranks = None,
    preset: Preset = None,
    phase: Phases = None,
    bounds: Annotated[
        bool | None,
        typer.Option(help=f"Bounds of the simulated time; by default up to {RANKS_WITH_BOUNDS} ranks."),
    ] = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Forecast a workload on a machine in closed form."""
    check_files(plot)
    case = case_of(workload, machine, settings, ranks, preset, phase)
    result = case.call(sc.forecast)
    if bounds or (bounds is None and result.values["P"] <= RANKS_WITH_BOUNDS):
        result = case.call(sc.forecast, bounds=True)
    if as_json:
        write_json(result.to_dict())
    else:
        print_all(import_module("simcodesign.report.results.tables").forecast_tables(result))
    if plot:
        import_module("simcodesign.report.results.plots").result_bars(result, plot)


@app.command()
def simulate(
    workload: WorkloadName,
    machine: MachineName,
    settings: Settings = None,
    ranks: Ranks = None,
    preset: Preset = None,
    phase: Phases = None,
    effects: Effects = "all",
    seed: Seed = 0,
    engine: Engine = "auto",
    iterations: Iterations = "all",
    stations: Annotated[int, typer.Option(metavar="N", min=0, help="Show the N most used stations.")] = 5,
    as_json: AsJson = False,
    plot: Plot = None,
    timeline: Timeline = None,
    counters: Counters = None,
    power: Power = None,
    replications: Replications = None,
    precision: Precision = None,
    precision_of: PrecisionOf = None,
    at_most: AtMost = None,
    confidence: Confidence = None,
    warm_up: WarmUp = None,
    against: AgainstMachine = None,
    jobs: Jobs = None,
) -> None:
    """Simulate a workload on a machine, event by event: once, or as often as it takes to know the means."""
    check_files(plot, timeline, power)
    asked = Replicating(replications, precision, precision_of, at_most, confidence, warm_up, jobs)
    if asked.wanted or against:
        check_together(timeline=timeline, counters=counters, power=power)
        cases = [case_of(workload, one, settings, ranks, preset, phase) for one in (machine, against) if one]
        replicated(
            cases,
            asked,
            {"effects": effects, "seed": seed, "engine": engine, "iterations": iterations},
            stations,
            as_json,
            plot,
        )
        return
    asked.check_unused()
    if power and iterations != "all":
        raise InputError("power over time shows every iteration", Place("--power"), allowed="--iterations all")
    if counters:
        check_folder("--counters", counters, (".csv",))
    case = case_of(workload, machine, settings, ranks, preset, phase)
    with import_module("simcodesign.report.common.progress").simulation_progress() as on_progress:
        result = case.call(
            sc.simulate,
            effects=effects,
            seed=seed,
            engine=engine,
            iterations=iterations,
            timeline=bool(plot or timeline),
            counters=counters is not None,
            on_progress=on_progress,
        )
    if counters:
        table = import_module("simcodesign.studies.extrapolation.virtual_profiler").counters_of(result, repetition=seed)
        import_module("simcodesign.counters.readers.tidy_table").write_counters(counters, table)
    if as_json:
        write_json(result.to_dict())
    else:
        print_all(import_module("simcodesign.report.results.tables").simulation_tables(result, stations))
    if plot:
        import_module("simcodesign.report.results.plots").activity_profile(result, plot)
    if power:
        import_module("simcodesign.report.results.power_plot").power_over_time(result, power)
    if timeline:
        import_module("simcodesign.report.results.chrome_trace").write_chrome_trace(result, timeline)


@app.command()
def compare(
    workload: WorkloadName,
    machine: MachineName,
    settings: Settings = None,
    ranks: Ranks = None,
    preset: Preset = None,
    phase: Phases = None,
    effects: Effects = "all",
    seed: Seed = 0,
    engine: Engine = "auto",
    iterations: Iterations = "all",
    tolerance: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Exit with 1 when the error of the total is larger, e.g. 5%.")
    ] = None,
    as_json: AsJson = False,
    plot: Plot = None,
    timeline: Timeline = None,
    replications: Replications = None,
    precision: Precision = None,
    at_most: AtMost = None,
    confidence: Confidence = None,
    jobs: Jobs = None,
) -> None:
    """Compare the forecast with the simulation and say which effect explains how much of the gap."""
    check_files(plot, timeline)
    limit = math.inf if tolerance is None else share_of(tolerance, "--tolerance")
    case = case_of(workload, machine, settings, ranks, preset, phase)
    asked = Replicating(replications, precision, None, at_most, confidence, None, jobs)
    if asked.wanted:
        check_together(plot=plot, timeline=timeline)
        error = compared(
            case, asked, {"effects": effects, "seed": seed, "engine": engine, "iterations": iterations}, as_json
        )
        _check_tolerance(error, tolerance, limit)
        return
    asked.check_unused()
    with import_module("simcodesign.report.common.progress").simulation_progress() as on_progress:
        comparison = case.call(
            sc.compare,
            effects=effects,
            seed=seed,
            engine=engine,
            iterations=iterations,
            timeline=bool(timeline),
            on_progress=on_progress,
        )
    if as_json:
        write_json(comparison.to_dict())
    else:
        print_all(import_module("simcodesign.report.results.tables").comparison_tables(comparison))
    if plot:
        import_module("simcodesign.report.results.plots").comparison_bars(comparison, plot)
    if timeline:
        import_module("simcodesign.report.results.chrome_trace").write_chrome_trace(comparison.simulation, timeline)
    _check_tolerance(comparison.error, tolerance, limit)


def _check_tolerance(error: float, tolerance: str | None, limit: float) -> None:
    # A total of nothing but forecast has no relative error (nan): that is out of every tolerance.
    if tolerance is not None and not abs(error) <= limit:
        complain(f"out of tolerance: error of the forecast {error:+.3%}, allowed {limit:.4%}")
        raise typer.Exit(1)


@app.command()
def export(
    workload: WorkloadName,
    machine: MachineName,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, e.g. run.goal.")],
    settings: Settings = None,
    ranks: Ranks = None,
    preset: Preset = None,
    phase: Phases = None,
    effects: Effects = "none",
    seed: Seed = 0,
) -> None:
    """Write what is simulated as a GOAL schedule, for LogGOPSim, ATLAHS or simulate.

    Computations and disk accesses become calcs of their time, with the effects imbalance and noise; messages keep their
    sizes, for the other simulator to price.
    """
    case = case_of(workload, machine, settings, ranks, preset, phase)
    schedule = case.call(sc.schedule_of, effects=effects, seed=seed)
    known = import_module("simcodesign.describe.effects")
    left_out = [
        effect.name
        for effect in known.ladder()
        if effect.random_on is not None
        and effect.acts_on(case.workload, case.machine)
        and effect.name not in effects
        and effects != "all"
    ]
    if left_out:
        complain(f"note: written without {' and '.join(left_out)} (--effects {','.join(left_out)} for with)")
    if "network" in case.machine.noise_model.parts:
        complain("note: a schedule has no noise of messages")
    described = import_module("simcodesign.describe.design_point")
    if places := described.phases_with_constants(case.workload, "network."):
        complain(f"note: a schedule has no network of its own for phases that have one: {', '.join(places)}")
    import_module("simcodesign.describe.goal.format").write_goal(schedule, file)
