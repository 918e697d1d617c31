"""Aspen models simulated: an application on a machine as events, compared with its closed form.

With no effect the blocks of the application follow each other as they are written; branches of ``par`` share the
instances of the resources that they use. Effects are what the closed form leaves out, one after another:

- ``conflicts``: resources that exclude each other take turns in the order of the statements. The closed form adds up
  all that conflicts link, also two that only a third one excludes.
- ``maps``: an iteration of ``map`` continues as soon as its own block is done. The closed form takes block after block.
- ``chance``: samples, and cases with a probability, are drawn whenever they come up. The closed form takes means.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simcodesign.aspen.application import Application
from simcodesign.aspen.machine import AspenMachine
from simcodesign.aspen.run.schedule import Rules, schedule_of_work
from simcodesign.aspen.run.work import work_of
from simcodesign.aspen.scope import Given
from simcodesign.aspen.timing import Timing, run_time
from simcodesign.comparison.attribution import changes_of, relative_error
from simcodesign.core.errors import InputError, Place, nearest, whole_seed
from simcodesign.core.result import Result
from simcodesign.core.to_json import PlainResult, attributes_of, fields_of
from simcodesign.describe.goal.schedule import Schedule
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.network.network import Network
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.yaml.files import workload_of
from simcodesign.engine.selection import AUTO
from simcodesign.engine.simulate import simulate

if TYPE_CHECKING:
    import pandas as pd

EFFECTS = ("conflicts", "maps", "chance")
#: Cause of the difference between the closed form and the simulation without effects.
SHARING = "shared instances"


@dataclass(frozen=True)
class AspenRung:
    """The simulation with this effect and all before it."""

    effect: str
    simulated_s: float
    change_s: float  # against the rung before (the closed form before the first)
    fraction: float  # of the whole gap; nan when there is none
    operations: int
    simulation: Result

    def json_fields(self) -> dict[str, Any]:
        """Return a row of the ladder."""
        return fields_of(self, without=("simulation",))


@dataclass(frozen=True)
class AspenComparison(PlainResult):
    """A closed form compared with simulations with the effects switched on one after another."""

    timing: Timing
    rungs: tuple[AspenRung, ...]

    @property
    def forecast_s(self) -> float:
        """Time of the closed form, in which ``map`` and ``par`` overlap."""
        return float(self.timing.overlapped_seconds)

    @property
    def simulated_s(self) -> float:
        """With every chosen effect."""
        return self.rungs[-1].simulated_s

    @property
    def engine(self) -> str:
        """Engine of the last simulation."""
        return self.rungs[-1].simulation.engine

    @property
    def difference_s(self) -> float:
        """Simulated minus forecast seconds."""
        return self.simulated_s - self.forecast_s

    @property
    def error(self) -> float:
        """Signed relative error of the closed form against the simulation."""
        return relative_error(self.forecast_s, self.simulated_s)

    def ladder(self) -> pd.DataFrame:
        """One row per effect: simulated seconds with it, what it adds, its fraction of the gap, and operations."""
        import pandas as pd

        rows = [(rung.effect, rung.simulated_s, rung.change_s, rung.fraction, rung.operations) for rung in self.rungs]
        return pd.DataFrame(rows, columns=["effect", "simulated_s", "change_s", "fraction", "operations"])

    def json_fields(self) -> dict[str, Any]:
        """Totals, and the ladder as rows."""
        return attributes_of(self, "forecast_s", "simulated_s", "difference_s", "error", "engine", ladder="rungs")


def aspen_effects(effects: str | Collection[str]) -> tuple[str, ...]:
    """``"all"``, ``"none"``, or some of ``EFFECTS``, in their order. InputError for others."""
    names = effects.replace(",", " ").split() if isinstance(effects, str) else list(effects)
    chosen = {"all": EFFECTS, "none": ()}.get(names[0], tuple(names)) if len(names) == 1 else tuple(names)
    for name in chosen:
        if name not in EFFECTS:
            what = "Aspen models have no such effect"
            raise InputError(what, value=name, allowed=f"{nearest(name, EFFECTS)} of all, none, {', '.join(EFFECTS)}")
    return tuple(name for name in EFFECTS if name in chosen)


def aspen_schedule(
    application: Application,
    machine: AspenMachine,
    socket: str | None = None,
    parameters: Mapping[str, Given] | None = None,
    *,
    kernel: str = "main",
    effects: str | Collection[str] = "none",
    seed: int = 0,
) -> Schedule:
    """Return the schedule to simulate: one rank whose processors are fractions of the instances of resources.

    Raises InputError as ``run_time`` does, for arrays of parameters, and for more than a simulation can hold.
    """
    chosen, random = aspen_effects(effects), np.random.default_rng(whole_seed(seed))
    socket = machine.check_socket(socket)
    rules, place = Rules(machine.conflicts(socket), "conflicts" in chosen, "maps" in chosen), Place(application.path)
    draws = random if "chance" in chosen else None
    try:
        work = work_of(application, machine, socket, parameters or {}, kernel, draws)
        return schedule_of_work(work, application.name, place, rules)
    except RecursionError as error:
        raise InputError("the model is nested too deeply", place, allowed="shorter expressions, fewer calls") from error


def simulate_aspen(
    application: Application,
    machine: AspenMachine,
    socket: str | None = None,
    parameters: Mapping[str, Given] | None = None,
    *,
    kernel: str = "main",
    effects: str | Collection[str] = "all",
    seed: int = 0,
    engine: str = AUTO,
    timeline: bool = False,
) -> Result:
    """Simulate an application on one kind of socket of a machine; ``seed`` is of the effect ``chance``.

    ``engine`` as for ``simulate``: both give the same. Raises InputError as ``aspen_schedule`` does.
    """
    schedule = aspen_schedule(application, machine, socket, parameters, kernel=kernel, effects=effects, seed=seed)
    return _run(schedule, machine, engine, timeline)


def _run(schedule: Schedule, machine: AspenMachine, engine: str, timeline: bool = False) -> Result:
    # Nothing is sent, and every operation states its seconds: rates and network do not matter.
    any_machine = Machine(machine.name, Processor(1e9), Network(build_topology("crossbar", 2)))
    return simulate(workload_of(schedule), any_machine, effects="none", engine=engine, timeline=timeline)


def compare_aspen(
    application: Application,
    machine: AspenMachine,
    socket: str | None = None,
    parameters: Mapping[str, Given] | None = None,
    *,
    kernel: str = "main",
    effects: str | Collection[str] = "all",
    seed: int = 0,
    engine: str = AUTO,
) -> AspenComparison:
    """Return the closed form, then simulations with no effect and with the effects switched on one after another.

    Raises InputError as ``run_time`` and ``aspen_schedule`` do.
    """
    chosen = aspen_effects(effects)
    timing = run_time(application, machine, socket, parameters, kernel=kernel)
    if np.ndim(timing.seconds):
        raise InputError("a simulation takes one point, not arrays", value=f"{np.size(timing.seconds)} points")
    steps: list[tuple[Schedule, Result]] = []
    for count in range(len(chosen) + 1):
        schedule = aspen_schedule(
            application, machine, socket, parameters, kernel=kernel, effects=chosen[:count], seed=seed
        )
        is_same = bool(steps) and _equal(schedule, steps[-1][0])
        steps.append((schedule, steps[-1][1] if is_same else _run(schedule, machine, engine)))
    changes = changes_of([float(timing.seconds), *(float(run.makespan_s) for _, run in steps)])
    rungs = (
        AspenRung(effect, float(run.makespan_s), *change, len(schedule), run)
        for effect, change, (schedule, run) in zip((SHARING, *chosen), changes, steps, strict=True)
    )
    return AspenComparison(timing, tuple(rungs))


def _equal(a: Schedule, b: Schedule) -> bool:
    """Whether two schedules are of the same operations."""
    names = ("calc_s", "cpu", "edge_start", "edge_target")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)
