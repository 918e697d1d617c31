"""The command ``serve``: a server of a language model, forecast and simulated."""

from __future__ import annotations

from dataclasses import dataclass, field

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import command
from simcodesign.cli.options.shared import SIMULATION_LEVEL, AsJson, Count, Effects, Level, Seed, WorkloadOnRanks, Write
from simcodesign.cli.sections import Section
from simcodesign.cli.written_files import TABLE, Outputs

FILES = Outputs(TABLE)


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The server, how it is simulated, and what is written."""

    scenario: WorkloadOnRanks
    effects: Effects = "all"
    seed: Seed = 0
    replications: Count = None
    level: Level = None
    write: Write = field(default_factory=list)
    as_json: AsJson = False


@command(app, "serve", section=Section.MODEL, outputs=FILES)
def run(options: ServeOptions) -> None:
    """Forecast and simulate a server of a language model: time to first token, latency, tokens per second.

    The workload has a section 'serving', for example: serve inference selene --set rate=2.
    """
    from simcodesign.cli.run.scenario import load_scenario, note_implied, parsed_level
    from simcodesign.report.common.progress import ProgressBar
    from simcodesign.report.serving.tables import serving_tables
    from simcodesign.studies.serving.serve import REPLICATIONS, serve

    files = FILES.requested(options.write)
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
