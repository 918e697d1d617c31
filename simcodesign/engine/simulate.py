"""Reading 2: the description as events."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Unpack

import numpy as np

from simcodesign.core.errors import DeadlockError, whole_seed
from simcodesign.core.result import Result
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.describe.effects import chosen_effects, switched_on
from simcodesign.describe.goal.schedule import Schedule
from simcodesign.describe.scenario import MachineSource, Scenario, SimulationKeywords, WorkloadSource
from simcodesign.engine.background import run_with_background
from simcodesign.engine.event_contract import OnProgress
from simcodesign.engine.experiment import Experiment
from simcodesign.engine.failure_time import with_failures
from simcodesign.engine.selection import chosen_engine, run
from simcodesign.engine.to_result import measured
from simcodesign.generate.export_schedule import schedule_of as as_schedule
from simcodesign.generate.lower import Plans, make_plan
from simcodesign.generate.passes.background import BackgroundLoad
from simcodesign.generate.plan import Plan


@shows_keywords(SimulationKeywords, taken_by=Experiment.of)
def simulate(
    workload: WorkloadSource | Scenario,
    machine: MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    *,
    timeline: bool = False,
    counters: bool = False,
    on_progress: OnProgress | None = None,
    **options: Unpack[SimulationKeywords],
) -> Result:
    """Simulate once, as ``studies.verbs.simulate`` describes."""
    experiment = Experiment.of(workload, machine, parameters, **options)
    return simulate_experiment(experiment, timeline=timeline, counters=counters, on_progress=on_progress)


def simulate_experiment(
    experiment: Experiment,
    *,
    timeline: bool = False,
    counters: bool = False,
    on_progress: OnProgress | None = None,
    plans: Plans | None = None,
) -> Result:
    """``simulate``, of what is one object already.

    ``plans``: of its design point and seed, if several simulations have much in common.
    """
    point, effects, seed = experiment.point, experiment.effects, experiment.seed

    own = plans or Plans(point, seed, counters, every_rank=timeline)

    def made(background: int, size_bytes: float) -> Plan:
        return own.plan(effects, background, size_bytes)

    load = BackgroundLoad.of(point.machine, lambda: np.unique(point.machine.node_of(point.ranks)), switched_on(effects))
    try:
        plan, log = run_with_background(
            made, lambda plan: run(plan, chosen_engine(plan, experiment.engine, timeline), on_progress, timeline), load
        )
    except DeadlockError:
        if own.every_rank:
            raise
        every = Plans(point, seed, counters)  # whose error names the ranks of the program
        return simulate_experiment(experiment, timeline=timeline, counters=counters, plans=every)
    taken = chosen_engine(plan, experiment.engine, timeline)
    return with_failures(measured(point, plan, log, effects, seed, taken, timeline), point, effects, seed)


def schedule_of(
    workload: WorkloadSource | Scenario,
    machine: MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    *,
    preset: str | None = None,
    phases: Collection[str] | None = None,
    effects: str | Collection[str] = "none",
    seed: int = 0,
) -> Schedule:
    """Return what ``simulate`` would run, as a schedule.

    ``describe.goal.write_goal`` writes it for other simulators.

    The only effects in it are ``imbalance`` and ``noise``: the times of computations and disk accesses. The
    program that runs it decides what messages cost; nonblocking messages hold the processor there.
    Raises as ``simulate`` does.

    >>> from simcodesign.engine.simulate import schedule_of
    >>> schedule = schedule_of("broadcast", "crossbar-16", {"P": 4})
    >>> schedule.ranks
    4
    """
    chosen = chosen_effects(effects)
    scenario = Scenario.of(workload, machine, parameters, preset=preset, phases=phases)
    plan = make_plan(scenario.bind(), chosen, whole_seed(seed))
    return as_schedule(plan, scenario.workload.name)
