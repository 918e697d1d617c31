"""Upgrade studies simulated: do the ratios of requirements predict the ratios of times?

A cell is one workload with one upgrade, on the base machine made smaller and on what the upgrade makes of it. The
scaling rule: a node stays as it is (processors, memory, rates), and there are fewer of them, joined by a network of the
same kind and number of dimensions. The problem of a process fills its memory at that number of processes, as in the
study of requirements (``upgrade_study``) there. So processes, size and footprint agree with each other, but a term that
grows with p is smaller than on the whole machine: the cell keeps the study of the whole machine beside.

Every system is forecast, and simulated with the effects switched on one after another (``compare``). From the ratio of
times that the requirements imply to the simulated one, each step then has its share (``SimulatedCell.steps``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.requirements_per_process import Requirements, requirements
from simcodesign.comparison.compare import Comparison, compare
from simcodesign.core.errors import InputError
from simcodesign.core.result import Result
from simcodesign.core.to_json import attributes_of
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.demands.disk_access import DiskAccess
from simcodesign.describe.effects import chosen_effects
from simcodesign.describe.machine import Machine
from simcodesign.describe.program import walk
from simcodesign.describe.scenario import MachineSource, WorkloadSource, machine_of
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_workload
from simcodesign.engine.event_contract import OnProgress as OnSimulationProgress
from simcodesign.studies.requirements.memory_capacity import SIZE, refuse, sized
from simcodesign.studies.requirements.scaled_machine import smaller_machine, upgraded_machine
from simcodesign.studies.requirements.upgrade import UpgradeStudy, check_known, of_workload, upgrade_study
from simcodesign.studies.requirements.upgrade_file import Upgrade, load_upgrade

#: Ranks of the base machine, unless others are asked for: five workloads with three upgrades then take about a minute.
RANKS = 512
#: Messages of one exchange of all with all, in which their number is the square of the ranks.
MOST_PAIRS = 2**18
#: Ratio of requirements -> the component of time that it is about.
RESOURCES = {"computation": "computation", "communication": "communication", "memory_access": "memory"}
#: Counters of a simulation, and the ratios of requirements that they must have.
COUNTERS = ("flops", "sent_bytes", "loads_stores")
#: Steps from the requirements to the forecast; those of the simulation are called by the effects.
WEIGHTS, DISTANCES, COSTS = "weights of resources", "stack distances", "startups, hops and caches"
#: A step of less than this share of the ratio explains nothing.
NEGLIGIBLE = 1e-4

#: Called before each system is read: workload, system, how many are done, and how many there are.
OnProgress = Callable[[str, str, int, int], None]


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
        """What the simulation counted, of the average process, by the names of ``COUNTERS``."""
        seen = self.simulation
        totals = (seen.flops, seen.message_bytes, sum(seen.served.values()))
        return {name: float(total) / self.processes for name, total in zip(COUNTERS, totals, strict=True)}

    def json_fields(self) -> dict[str, Any]:
        """The system, and what both readings say."""
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
class Step:
    """A step from the ratio of times that requirements imply to the simulated one; ``ratio`` is that after it."""

    name: str
    ratio: float
    change: float


@dataclass(frozen=True)
class SimulatedCell:
    """One workload with one upgrade. ``study``: requirements at the simulated number of processes, ``full``: those of
    the whole machine, with the ratios of time by the forecast and as its requirements imply (not a number where nothing
    fits). ``expected``: ratios
    of the requirements by ``messages``, which the counters must have. ``new`` is None where nothing fits."""

    full: UpgradeStudy
    full_time_ratio: float
    full_implied_ratio: float
    study: UpgradeStudy
    expected: Mapping[str, float]
    old: SystemRun
    new: SystemRun | None

    @property
    def workload(self) -> str:
        """Its name."""
        return self.study.workload.name

    @property
    def upgrade(self) -> str:
        """Its name."""
        return self.study.upgrade.name

    @property
    def counter_ratios(self) -> dict[str, float]:
        """New over old, of what the simulations counted of a process."""
        if self.new is None:
            return dict.fromkeys(COUNTERS, math.nan)
        old, new = self.old.counters, self.new.counters
        return {name: _ratio(new[name], old[name]) for name in COUNTERS}

    @property
    def counter_error(self) -> float:
        """The largest relative difference between a ratio of counters and that of the requirements."""
        pairs = [(self.counter_ratios[name], self.expected[name]) for name in COUNTERS]
        return max((abs(seen - said) / said for seen, said in pairs if said and math.isfinite(said)), default=math.nan)

    @property
    def component_ratios(self) -> dict[str, float]:
        """New over old, of the simulated seconds on the critical path, by component."""
        if self.new is None:
            return dict.fromkeys(RESOURCES.values(), math.nan)
        old, new = self.old.simulation.components, self.new.simulation.components
        return {part: _ratio(float(new[part]), float(old[part])) for part in RESOURCES.values()}

    @property
    def weights(self) -> dict[str, float]:
        """Share of each resource in the forecast time on the base."""
        return weights_of(self.old.comparison.forecast)

    @property
    def requirement_ratio(self) -> float:
        """The geometric mean of the three requirement ratios: without rates no resource counts more than another."""
        return geometric_mean([self.study.ratios[name] for name in RESOURCES])

    @property
    def implied_ratio(self) -> float:
        """The ratio of times if every resource took longer as its requirement grows: the ratios of the requirements,
        weighed with the times of the resources on the base."""
        return weighed(self.study.ratios, self.weights)

    @property
    def time_ratio(self) -> float:
        """Simulated makespan, new over old."""
        if self.new is None:
            return math.nan
        return _ratio(float(self.new.simulation.makespan_s), float(self.old.simulation.makespan_s))

    @property
    def overall_ratio(self) -> float:
        """The overall problem, new over old."""
        return self.study.ratios["overall"]

    @property
    def time_per_problem(self) -> float:
        """Simulated time for a unit of the overall problem, new over old: ``time_ratio`` over ``overall_ratio``."""
        return _ratio(self.time_ratio, self.overall_ratio)

    @property
    def steps(self) -> tuple[Step, ...]:
        """From ``requirement_ratio`` to ``time_ratio``: that one resource takes more of the time than another, stack
        distances that grow and hit a cache all the same, what does not grow with requirements, and the effects. None
        where nothing fits."""
        if self.new is None:
            return ()
        loads = weighed(self.study.ratios | {"memory_access": self.study.ratios["loads_stores"]}, self.weights)
        said = [float(run.comparison.forecast.makespan_s) for run in (self.new, self.old)]
        rungs = zip(self.new.comparison.rungs, self.old.comparison.rungs, strict=True)
        ratios = [(WEIGHTS, self.implied_ratio), (DISTANCES, loads), (COSTS, _ratio(said[0], said[1]))]
        ratios += [
            (new.effect, _ratio(float(new.simulation.makespan_s), float(old.simulation.makespan_s)))
            for new, old in rungs
        ]
        before, found = self.requirement_ratio, []
        for name, ratio in ratios:
            found.append(Step(name, ratio, ratio - before))
            before = ratio
        return tuple(found)

    def explained_by(self, *, weights: bool = True) -> Step | None:
        """The step that changes the ratio most, of those after the weights where these are known; None where all are
        ``NEGLIGIBLE``."""
        steps = [step for step in self.steps if weights or step.name != WEIGHTS]
        most = max(steps, key=lambda step: abs(step.change), default=None)
        return most if most is not None and abs(most.change) > NEGLIGIBLE * self.time_ratio else None

    def json_fields(self) -> dict[str, Any]:
        """Both systems as they were simulated, and the full ones as they were forecast."""
        shown = attributes_of(
            self,
            *("workload", "upgrade", "counter_ratios", "counter_error", "component_ratios", "weights"),
            *("requirement_ratio", "implied_ratio", "time_ratio", "time_per_problem", "steps", "old", "new"),
            requirement_ratios="study.ratios",
            expected_counter_ratios="expected",
        )
        times = attributes_of(self, time_ratio="full_time_ratio", implied_ratio="full_implied_ratio")
        return shown | {"full": self.full.json_fields() | times}


def simulated_upgrades(
    workloads: Sequence[WorkloadSource],
    machine: MachineSource,
    upgrades: Sequence[Upgrade | str | Path],
    parameters: Mapping[str, object] | None = None,
    *,
    preset: str | None = None,
    size: str = SIZE,
    ranks: int | None = None,
    effects: str | Collection[str] = "all",
    seed: int = 0,
    engine: str = "auto",
    on_progress: OnProgress | None = None,
    on_simulation_progress: OnSimulationProgress | None = None,
) -> list[SimulatedCell]:
    """Every workload with every upgrade, workload after workload. ``ranks`` of the base machine (default: ``RANKS``, or
    all that it has); workloads that exchange all with all take fewer (``ranks_for``). The rest is as for ``compare``.

    Raises InputError as ``upgrade_table`` and ``smaller_machine`` do, and for workloads of which nothing fits the base.
    """
    described = [one if isinstance(one, Workload) else load_workload(one) for one in workloads]
    base = machine_of(machine)
    changes = [one if isinstance(one, Upgrade) else load_upgrade(one) for one in upgrades]
    refuse(parameters, "P", size)
    check_known(described, parameters)
    report = _Reporter(on_progress, len(described) * (1 + len(changes)))
    found: list[SimulatedCell] = []
    for workload in described:
        given = of_workload(workload, parameters)
        reader = _Reader(
            sized(workload, size),
            given,
            preset,
            size,
            useful_effects(workload, effects),
            seed,
            engine,
            on_simulation_progress,
        )
        asked = ranks_for(workload, base, changes, ranks)
        found += _cells(reader, base, smaller_machine(base, asked), changes, report)
    return found


def ranks_for(workload: Workload, machine: Machine, upgrades: Sequence[Upgrade], ranks: int | None = None) -> int:
    """Ranks of the base machine to be simulated: as many as asked for or ``RANKS``, whole nodes; halved for workloads
    that exchange all with all until the largest upgraded system has ``MOST_PAIRS`` messages at the most."""
    per_node = 1 if machine.mapping == "one_per_node" else machine.processors_per_node
    count = min(max(RANKS // per_node, 1) * per_node, machine.most_ranks) if ranks is None else ranks
    if not exchanges_all_with_all(workload):
        return count
    growth = max([1.0, *(upgrade.processes for upgrade in upgrades)])
    while (count * growth) ** 2 > MOST_PAIRS and count % (2 * per_node) == 0:
        count //= 2
    return count


def exchanges_all_with_all(workload: Workload) -> bool:
    """Whether every rank sends to every other one, so that messages are the square of the ranks."""
    steps = (step for step in walk(workload.program) if isinstance(step, Collective))
    return any(step.name == "all_to_all" and step.algorithm != "bruck" for step in steps)


def useful_effects(workload: Workload, effects: str | Collection[str]) -> tuple[str, ...]:
    """Effects but for disks that nobody uses: each costs a simulation."""
    disks = any(isinstance(step, DiskAccess) for step in walk(workload.program))
    return tuple(effect for effect in chosen_effects(effects) if disks or effect != "disks")


@dataclass(frozen=True)
class _Reader:
    """How systems are read."""

    workload: Workload
    given: Mapping[str, object]
    preset: str | None
    size: str
    effects: tuple[str, ...]
    seed: int
    engine: str
    on_simulation_progress: OnSimulationProgress | None

    def study(self, machine: Machine, upgrade: Upgrade) -> UpgradeStudy:
        return upgrade_study(self.workload, machine, upgrade, self.given, preset=self.preset, size=self.size)

    def at(self, processes: float, size: float) -> dict[str, object]:
        return {**self.given, "P": processes, self.size: size}

    def run(self, machine: Machine, size: float) -> SystemRun:
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

    def forecast(self, machine: Machine, size: float) -> Result:
        return forecast(self.workload, machine, self.at(machine.most_ranks, size), preset=self.preset)

    def needs(self, processes: float, size: float) -> Requirements:
        return requirements(self.workload, self.at(processes, size), preset=self.preset, counting="messages")


class _Reporter:
    """Counts the systems that are read."""

    def __init__(self, on_progress: OnProgress | None, total: int) -> None:
        self._on_progress, self._done, self._total = on_progress, 0, total

    def __call__(self, workload: str, system: str) -> None:
        if self._on_progress is not None:
            self._on_progress(workload, system, self._done, self._total)
        self._done += 1


def _cells(
    reader: _Reader, whole: Machine, base: Machine, upgrades: Sequence[Upgrade], report: _Reporter
) -> Iterator[SimulatedCell]:
    """The cells of one workload, which share the base."""
    studies = [reader.study(base, upgrade) for upgrade in upgrades]
    if studies and not studies[0].old.fit.fits:
        what = f"nothing of {reader.workload.name} fits the {base.most_ranks} processes of {base.name}"
        raise InputError(what, reader.workload.place, allowed="a base machine that the smallest problem fits")
    report(reader.workload.name, "as it is")
    old = reader.run(base, studies[0].old.fit.size)
    for upgrade, study in zip(upgrades, studies, strict=True):
        report(reader.workload.name, upgrade.name)
        fit = study.new.fit
        new = reader.run(upgraded_machine(base, upgrade), fit.size) if fit.fits else None
        full = reader.study(whole, upgrade)
        yield SimulatedCell(full, *_full_times(reader, full), study, _expected(reader, study), old, new)


def _full_times(reader: _Reader, full: UpgradeStudy) -> tuple[float, float]:
    """Ratios of time on the whole machine: by the forecast, and as the requirements imply."""
    if not (full.old.fit.fits and full.new.fit.fits):
        return math.nan, math.nan
    old = reader.forecast(full.machine, full.old.fit.size)
    new = reader.forecast(upgraded_machine(full.machine, full.upgrade), full.new.fit.size)
    return _ratio(float(new.makespan_s), float(old.makespan_s)), weighed(full.ratios, weights_of(old))


def _expected(reader: _Reader, study: UpgradeStudy) -> dict[str, float]:
    """Ratios of the requirements of a process as the messages of the algorithms count them."""
    if not study.new.fit.fits:
        return dict.fromkeys(COUNTERS, math.nan)
    old, new = (reader.needs(side.processes, side.fit.size) for side in (study.old, study.new))
    return {name: _ratio(float(getattr(new, name)), float(getattr(old, name))) for name in COUNTERS}


def _ratio(new: float, old: float) -> float:
    return new / old if old else math.nan


def geometric_mean(ratios: Sequence[float]) -> float:
    """Of those above 0 that there are: a workload may not communicate."""
    usable = [ratio for ratio in ratios if math.isfinite(ratio) and ratio > 0]
    return math.exp(sum(math.log(ratio) for ratio in usable) / len(usable)) if usable else math.nan


def weights_of(said: Result) -> dict[str, float]:
    """Share of each resource in the time of a forecast."""
    times = {name: float(said.components[part]) for name, part in RESOURCES.items()}
    total = sum(times.values())
    return {name: time / total if total else math.nan for name, time in times.items()}


def weighed(ratios: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The mean of ratios of resources with these weights."""
    return sum(share * ratios[name] for name, share in weights.items() if share)
