"""The command ``serve``: a server of a language model, forecast and simulated."""

from __future__ import annotations

from dataclasses import dataclass, field

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import command
from simcodesign.cli.options.shared import (
    SIMULATION_LEVEL,
    AsJson,
    Count,
    Effects,
    Level,
    Seed,
    Vary,
    WorkloadOnRanks,
    Write,
)
from simcodesign.cli.sections import Section
from simcodesign.cli.written_files import TABLE, Outputs, RequestedFiles

FILES = Outputs(TABLE)


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The server, how it is simulated, and what is written."""

    scenario: WorkloadOnRanks
    vary: Vary = field(default_factory=list)
    effects: Effects = "all"
    seed: Seed = 0
    replications: Count = None
    level: Level = None
    write: Write = field(default_factory=list)
    as_json: AsJson = False


@command(app, "serve", section=Section.MODEL, outputs=FILES)
def run(options: ServeOptions) -> None:
    """Forecast and simulate a server of a language model: time to first token, latency, tokens per second.

    The workload needs a section 'serving', for example: serve inference selene --set rate=2. With --vary, the command
    evaluates a server at every point of a grid. To search for the best point, use explore with the same quantities
    (serving.first_token_p99).
    """
    files = FILES.requested(options.write)
    if options.vary:
        _points(options, files)
    else:
        _one(options, files)


def _one(options: ServeOptions, files: RequestedFiles) -> None:
    """One server."""
    from simcodesign.cli.run.scenario import load_scenario, note_implied, parsed_level
    from simcodesign.report.common.progress import ProgressBar
    from simcodesign.report.serving.tables import serving_tables
    from simcodesign.studies.serving.serve import REPLICATIONS, serve

    scenario, level = load_scenario(options.scenario), parsed_level(options.level, SIMULATION_LEVEL)
    note_implied(options.effects)
    count = options.replications or REPLICATIONS
    with ProgressBar("serving", total=count, unit="runs", steps=True) as on_progress:
        served = serve(
            scenario,
            effects=options.effects,
            seed=options.seed,
            replications=count,
            level=level,
            on_progress=on_progress,
        )
    files.show(served, lambda: serving_tables(served), options.as_json)


def _points(options: ServeOptions, files: RequestedFiles) -> None:
    """Evaluate a server at every point of a grid. Raises InputError if no point has an answer."""
    from simcodesign.cli.run.scenario import note_implied, parsed_level, parsed_settings
    from simcodesign.core.errors import InputError
    from simcodesign.report.common.progress import ProgressBar
    from simcodesign.report.serving.point_tables import point_tables
    from simcodesign.studies.serving.points import serve_points
    from simcodesign.studies.serving.serve import REPLICATIONS
    from simcodesign.studies.sweep.sweep import sweep_of

    scenario, level = options.scenario, parsed_level(options.level, SIMULATION_LEVEL)
    note_implied(options.effects)
    sweep = sweep_of(
        scenario.workload,
        scenario.machine,
        options.vary,
        settings=parsed_settings(scenario.all_settings),
        preset=scenario.preset,
        effects=options.effects,
        seed=options.seed,
    )
    count = options.replications or REPLICATIONS
    with ProgressBar("servers", total=sweep.count, counted=True, steps=True) as on_progress:
        points = serve_points(sweep, replications=count, level=level, on_progress=on_progress)
    if all(one.served is None for one in points.points):
        raise InputError(f"no point has an answer; the first: {points.points[0].reason}")
    files.show(points, lambda: point_tables(points), options.as_json)
