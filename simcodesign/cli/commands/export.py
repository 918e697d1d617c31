"""The command ``export``: what is simulated, as a file for other simulators."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Argument, command
from simcodesign.cli.options import Effects, ScenarioOptions, Seed
from simcodesign.cli.sections import Section
from simcodesign.report.common.terminal import complain


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """What is exported, and where to."""

    scenario: ScenarioOptions
    file: Annotated[Path, Argument(metavar="FILE", help="The file to write, e.g. run.goal.")]
    effects: Effects = "none"
    seed: Seed = 0


@command(app, "export", section=Section.MODEL)
def run(options: ExportOptions) -> None:
    """Write what is simulated as a GOAL schedule, for LogGOPSim, ATLAHS or simulate.

    Computations and disk accesses become calcs of their time, with the effects imbalance and noise; messages keep their
    sizes, for the other simulator to price.
    """
    from simcodesign.cli.run.scenario import load_scenario
    from simcodesign.describe.design_point import phases_with_constants
    from simcodesign.describe.effects import ladder
    from simcodesign.describe.goal.format import write_goal
    from simcodesign.engine.simulate import schedule_of

    scenario = load_scenario(options.scenario)
    schedule = schedule_of(
        scenario,
        effects=options.effects,
        seed=options.seed,
    )
    left_out = [
        effect.name
        for effect in ladder()
        if effect.random_on is not None
        and effect.changes_work
        and effect.acts_on(scenario.workload, scenario.machine)
        and effect.name not in options.effects
        and options.effects != "all"
    ]
    if left_out:
        complain(f"note: written without {' and '.join(left_out)} (--effects {','.join(left_out)} for with)")
    if "network" in scenario.machine.noise_model.parts:
        complain("note: a schedule has no noise of messages")
    if places := phases_with_constants(scenario.workload, "network."):
        complain(f"note: a schedule has no network of its own for phases that have one: {', '.join(places)}")
    write_goal(schedule, options.file)
