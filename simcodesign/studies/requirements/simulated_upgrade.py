"""Upgrade studies simulated: do the ratios of requirements predict the ratios of times?

A cell is one workload with one upgrade, on the base machine made smaller and on what the upgrade makes of it. The
scaling rule: a node stays as it is (processors, memory, rates), and there are fewer of them, joined by a network of the
same kind and number of dimensions. The problem of a process fills its memory at that number of processes, as in the
study of requirements (``upgrade_study``) there. So processes, size and footprint agree with each other, but a term that
grows with p is smaller than on the whole machine: the cell also keeps the study of the whole machine.

Every system is forecast, and simulated with the effects switched on one after another (``compare``). From the ratio of
times that the requirements imply to the simulated one, each step then has its share (``SimulatedCell.steps``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.requirements_per_process import Requirements, requirements
from simcodesign.core.errors import InputError
from simcodesign.core.result import Result
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.core.to_json import attributes_of
from simcodesign.describe.machine import Machine
from simcodesign.describe.scenario import MachineSource, WorkloadSource, machine_of, workload_of
from simcodesign.describe.workload import Workload
from simcodesign.studies.requirements.memory_capacity import SIZE, refuse
from simcodesign.studies.requirements.scaled_machine import smaller_machine, upgraded_machine
from simcodesign.studies.requirements.simulated_systems import (
    COUNTERS,
    MOST_PAIRS,
    OnProgress,
    SystemCounter,
    SystemKeywords,
    SystemRun,
    SystemSimulator,
    exchanges_all_with_all,
)
from simcodesign.studies.requirements.upgrade import Filled, UpgradeStudy, check_known, upgrade_study
from simcodesign.studies.requirements.upgrade_factors import Upgrade

#: Ranks of the base machine by default: five workloads with three upgrades then take about a minute.
RANKS = 512
#: Ratio of requirements -> the component of time that it is about.
RESOURCES = {"computation": "computation", "communication": "communication", "memory_access": "memory", "io": "disk"}
#: Steps from the requirements to the forecast; the steps of the simulation have the names of the effects.
WEIGHTS, DISTANCES, COSTS = "weights of resources", "stack distances", "startups, hops and caches"
#: A step of less than this fraction of the ratio explains nothing.
NEGLIGIBLE = 1e-4


@dataclass(frozen=True)
class RatioStep:
    """A step from the ratio of times that requirements imply to the simulated one; ``ratio`` is that after it."""

    name: str
    ratio: float
    change: float


@dataclass(frozen=True)
class SimulatedCell:
    """One workload with one upgrade.

    ``study``: requirements at the simulated number of processes, ``full``: those of the whole machine, with the ratios
    of time by the forecast and as its requirements imply (not a number if nothing fits). ``expected``: ratios of
    the requirements by ``messages``, which the counters must have. ``new`` is None if nothing fits.
    """

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
        """The largest relative difference between a ratio of counters and the ratio of the requirements."""
        pairs = [(self.counter_ratios[name], self.expected[name]) for name in COUNTERS]
        return max(
            (abs(counted - required) / required for counted, required in pairs if required and math.isfinite(required)),
            default=math.nan,
        )

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
        """The geometric mean of the requirement ratios: without rates no resource counts more than another."""
        return geometric_mean([self.study.ratios[name] for name in RESOURCES])

    @property
    def implied_ratio(self) -> float:
        """Return the ratio of times if every resource took longer as its requirement grows.

        The ratios of the requirements, weighted by the times of the resources on the base.
        """
        return weighted_mean(self.study.ratios, self.weights)

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
    def steps(self) -> tuple[RatioStep, ...]:
        """Return the steps from ``requirement_ratio`` to ``time_ratio``.

        That one resource takes more of the time than another, stack distances that grow and hit a cache all the same,
        what does not grow with requirements, and the effects. None if nothing fits.
        """
        if self.new is None:
            return ()
        loads = weighted_mean(self.study.ratios | {"memory_access": self.study.ratios["loads_stores"]}, self.weights)
        forecasts = [float(run.comparison.forecast.makespan_s) for run in (self.new, self.old)]
        rungs = zip(self.new.comparison.rungs, self.old.comparison.rungs, strict=True)
        ratios = [(WEIGHTS, self.implied_ratio), (DISTANCES, loads), (COSTS, _ratio(forecasts[0], forecasts[1]))]
        ratios += [
            (new.effect, _ratio(float(new.simulation.makespan_s), float(old.simulation.makespan_s)))
            for new, old in rungs
        ]
        before, steps = self.requirement_ratio, []
        for name, ratio in ratios:
            steps.append(RatioStep(name, ratio, ratio - before))
            before = ratio
        return tuple(steps)

    def explained_by(self, *, weights: bool = True) -> RatioStep | None:
        """Return the step that changes the ratio most, of the steps after the weights if these are known.

        None if all are ``NEGLIGIBLE``.
        """
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


@shows_keywords(SystemKeywords, SystemSimulator.of)
def simulated_upgrades(
    workloads: Sequence[WorkloadSource],
    machine: MachineSource,
    upgrades: Sequence[Upgrade],
    parameters: Mapping[str, object] | None = None,
    *,
    ranks: int | None = None,
    on_progress: OnProgress | None = None,
    **options: Unpack[SystemKeywords],
) -> list[SimulatedCell]:
    """Every workload with every upgrade, workload after workload.

    ``ranks`` of the base machine (default: ``RANKS``, or all that it has); workloads that exchange all with all take
    fewer (``ranks_for``). ``size``: the parameter that is the problem of a process. The rest is as for ``compare``.

    Raises InputError as ``upgrade_table`` and ``smaller_machine`` do, and for workloads of which nothing fits the base.
    """
    described = [workload_of(one) for one in workloads]
    base = machine_of(machine)
    refuse(parameters, "P", options.get("size", SIZE))
    check_known(described, parameters)
    next_system = SystemCounter(on_progress, len(described) * (1 + len(upgrades)))
    cells: list[SimulatedCell] = []
    for workload in described:
        simulator = SystemSimulator.of(workload, parameters, **options)
        small = smaller_machine(base, ranks_for(workload, base, upgrades, ranks))
        cells += _cells(simulator, base, small, upgrades, next_system)
    return cells


def ranks_for(workload: Workload, machine: Machine, upgrades: Sequence[Upgrade], ranks: int | None = None) -> int:
    """Ranks of the base machine to be simulated: ``ranks`` or else ``RANKS``, in whole nodes.

    Halved for workloads that exchange all with all until the largest upgraded system has at most ``MOST_PAIRS``
    messages.
    """
    per_node = machine.placement.per_node
    count = min(max(RANKS // per_node, 1) * per_node, machine.most_ranks) if ranks is None else ranks
    if not exchanges_all_with_all(workload):
        return count
    growth = max([1.0, *(upgrade.processes for upgrade in upgrades)])
    while (count * growth) ** 2 > MOST_PAIRS and count % (2 * per_node) == 0:
        count //= 2
    return count


def _cells(
    simulator: SystemSimulator,
    whole: Machine,
    base: Machine,
    upgrades: Sequence[Upgrade],
    next_system: SystemCounter,
) -> Iterator[SimulatedCell]:
    """Yield the cells of one workload, which share the base."""
    studies = [_study(simulator, base, upgrade) for upgrade in upgrades]
    if studies and not studies[0].old.fit.fits:
        what = f"nothing of {simulator.workload.name} fits the {base.most_ranks} processes of {base.name}"
        raise InputError(what, simulator.workload.place, allowed="a base machine that the smallest problem fits")
    next_system(simulator.workload.name, "as it is")
    old = simulator.run(base, studies[0].old.fit.size)
    for upgrade, study in zip(upgrades, studies, strict=True):
        next_system(simulator.workload.name, upgrade.name)
        fit = study.new.fit
        new = simulator.run(upgraded_machine(base, upgrade), fit.size) if fit.fits else None
        full = _study(simulator, whole, upgrade)
        yield SimulatedCell(full, *_full_times(simulator, full), study, _expected(simulator, study), old, new)


def _study(simulator: SystemSimulator, machine: Machine, upgrade: Upgrade) -> UpgradeStudy:
    given, preset, size = simulator.given, simulator.preset, simulator.size
    return upgrade_study(simulator.workload, machine, upgrade, given, preset=preset, size=size)


def _forecast(simulator: SystemSimulator, machine: Machine, size: float) -> Result:
    given = simulator.at(machine.most_ranks, size)
    return forecast(simulator.workload, machine, given, preset=simulator.preset)


def _needs(simulator: SystemSimulator, side: Filled) -> Requirements:
    given = simulator.at(side.processes, side.fit.size)
    return requirements(simulator.workload, given, preset=simulator.preset, counting="messages")


def _full_times(simulator: SystemSimulator, full: UpgradeStudy) -> tuple[float, float]:
    """Ratios of time on the whole machine: by the forecast, and as the requirements imply."""
    if not (full.old.fit.fits and full.new.fit.fits):
        return math.nan, math.nan
    old = _forecast(simulator, full.machine, full.old.fit.size)
    new = _forecast(simulator, upgraded_machine(full.machine, full.upgrade), full.new.fit.size)
    return _ratio(float(new.makespan_s), float(old.makespan_s)), weighted_mean(full.ratios, weights_of(old))


def _expected(simulator: SystemSimulator, study: UpgradeStudy) -> dict[str, float]:
    """Ratios of the requirements of a process as the messages of the algorithms count them."""
    if not study.new.fit.fits:
        return dict.fromkeys(COUNTERS, math.nan)
    old, new = (_needs(simulator, side) for side in (study.old, study.new))
    return {name: _ratio(float(getattr(new, name)), float(getattr(old, name))) for name in COUNTERS}


def _ratio(new: float, old: float) -> float:
    return new / old if old else math.nan


def geometric_mean(ratios: Sequence[float]) -> float:
    """Mean of the ratios above 0: a workload may not communicate."""
    usable = [ratio for ratio in ratios if math.isfinite(ratio) and ratio > 0]
    return math.exp(sum(math.log(ratio) for ratio in usable) / len(usable)) if usable else math.nan


def weights_of(forecast_result: Result) -> dict[str, float]:
    """Share of each resource in the time of a forecast."""
    times = {name: float(forecast_result.components[part]) for name, part in RESOURCES.items()}
    total = sum(times.values())
    return {name: time / total if total else math.nan for name, time in times.items()}


def weighted_mean(ratios: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the mean of ratios of resources with these weights."""
    return sum(share * ratios[name] for name, share in weights.items() if share)
