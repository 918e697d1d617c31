"""A workload that fills a system, forecast and simulated: what the studies of simulated upgrades and systems share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from simcodesign.comparison.compare import Comparison, compare
from simcodesign.core.result import Result
from simcodesign.core.to_json import attributes_of
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.demands.disk_access import DiskAccess
from simcodesign.describe.effects import Mechanism, chosen_effects, effect_named
from simcodesign.describe.machine import Machine
from simcodesign.describe.programs.program import walk
from simcodesign.describe.workload import Workload
from simcodesign.engine.event_contract import OnProgress as OnSimulationProgress
from simcodesign.studies.requirements.memory_capacity import SIZE, sized
from simcodesign.studies.requirements.upgrade import of_workload

#: Messages of one exchange of all with all, in which their number is the square of the ranks.
MOST_PAIRS = 2**18
#: Counters of a simulation, and the ratios of requirements that they must have.
COUNTERS = ("flops", "sent_bytes", "loads_stores", "disk_bytes")

#: Called before each system is simulated: workload, system, how many are done, and how many there are.
OnProgress = Callable[[str, str, int, int], None]


class SystemKeywords(TypedDict, total=False):
    """The keywords of ``SystemSimulator.of``, which the studies pass on."""

    preset: str | None
    size: str
    effects: str | Collection[str]
    seed: int
    engine: str
    on_simulation_progress: OnSimulationProgress | None


@dataclass(frozen=True)
class SystemRun:
    """One workload that fills one system, by both readings."""

    machine: Machine
    processes: int
    size: float
    comparison: Comparison

    @property
    def simulation(self) -> Result:
        """With every chosen effect."""
        return self.comparison.simulation

    @property
    def counters(self) -> dict[str, float]:
        """Counts of the simulation, of the average process, by the names of ``COUNTERS``."""
        result = self.simulation
        totals = (result.flops, result.message_bytes, sum(result.served.values()), result.disk_bytes)
        return {name: float(total) / self.processes for name, total in zip(COUNTERS, totals, strict=True)}

    def json_fields(self) -> dict[str, Any]:
        """Return the system, and what both readings say."""
        return attributes_of(
            self,
            *("processes", "size", "counters"),
            nodes="machine.nodes",
            network="machine.network.topology.label",
            engine="simulation.engine",
            events="simulation.events",
            forecast_s="comparison.forecast.makespan_s",
            simulated_s="simulation.makespan_s",
            components_s="simulation.components",
            ladder="comparison.rungs",
        )


@dataclass(frozen=True)
class SystemSimulator:
    """One workload, and how it is simulated on systems.

    ``given``: its parameters except for the number of processes and ``size``, the parameter that is the problem of a
    process.
    """

    workload: Workload
    given: Mapping[str, object]
    preset: str | None
    size: str
    effects: tuple[str, ...]
    seed: int
    engine: str
    on_simulation_progress: OnSimulationProgress | None

    @classmethod
    def of(
        cls,
        workload: Workload,
        parameters: Mapping[str, object] | None,
        *,
        preset: str | None = None,
        size: str = SIZE,
        effects: str | Collection[str] = "all",
        seed: int = 0,
        engine: str = "auto",
        on_simulation_progress: OnSimulationProgress | None = None,
    ) -> SystemSimulator:
        """Return the simulator for the ``parameters`` that the workload has, and the effects that act on it."""
        given, acting = of_workload(workload, parameters), useful_effects(workload, effects)
        return cls(sized(workload, size), given, preset, size, acting, seed, engine, on_simulation_progress)

    def at(self, processes: float, size: float) -> dict[str, object]:
        """All parameters, on this number of processes with a problem of this size each."""
        return {**self.given, "P": processes, self.size: size}

    def run(self, machine: Machine, size: float) -> SystemRun:
        """Return the workload on all processors of a machine, with a problem of this size on each."""
        comparison = compare(
            self.workload,
            machine,
            self.at(machine.most_ranks, size),
            preset=self.preset,
            effects=self.effects,
            seed=self.seed,
            engine=self.engine,
            on_progress=self.on_simulation_progress,
        )
        return SystemRun(machine, machine.most_ranks, size, comparison)


class SystemCounter:
    """Calls ``on_progress`` with how many of ``total`` systems are done."""

    def __init__(self, on_progress: OnProgress | None, total: int) -> None:
        self._on_progress, self._done, self._total = on_progress, 0, total

    def __call__(self, workload: str, system: str) -> None:
        """Note the next system."""
        if self._on_progress is not None:
            self._on_progress(workload, system, self._done, self._total)
        self._done += 1


def exchanges_all_with_all(workload: Workload) -> bool:
    """Whether every rank sends to every other one, so that messages are the square of the ranks."""
    steps = (step for step in walk(workload.program) if isinstance(step, Collective))
    return any(step.name == "all_to_all" and step.algorithm != "bruck" for step in steps)


def useful_effects(workload: Workload, effects: str | Collection[str]) -> tuple[str, ...]:
    """Effects without unused disks: each costs a simulation."""
    disks = any(isinstance(step, DiskAccess) for step in walk(workload.program))
    return tuple(
        effect for effect in chosen_effects(effects) if disks or Mechanism.DISKS not in effect_named(effect).switches_on
    )
