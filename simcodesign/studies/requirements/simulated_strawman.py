"""Straw-man systems made smaller by one factor and simulated: do the least times keep their order?

The scaling rule: nodes and processors of a node are divided by the same two factors on all systems, so that their
numbers of processors keep their ratios. A processor keeps its rate, its memory, and its share of the node's memory
bandwidth; messages keep their cost. The problem is the largest that all the smaller systems hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from simcodesign.core.errors import InputError
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.core.to_json import attributes_of, fields_of
from simcodesign.describe.machine import Machine
from simcodesign.describe.scenario import MachineSource, WorkloadSource, workload_of
from simcodesign.describe.workload import Workload
from simcodesign.studies.requirements.scaled_machine import varied_machine, with_nodes
from simcodesign.studies.requirements.simulated_systems import (
    MOST_PAIRS,
    OnProgress,
    SystemCounter,
    SystemKeywords,
    SystemRun,
    SystemSimulator,
    exchanges_all_with_all,
)
from simcodesign.studies.requirements.strawman import StrawManStudy, load, straw_man_study
from simcodesign.studies.requirements.upgrade import check_known

#: The most ranks of the largest system by default.
RANKS = 2000


@dataclass(frozen=True)
class Scale:
    """Divisors of all systems: for their nodes, and for the processors of a node."""

    nodes: int
    processors_per_node: int

    @property
    def processors(self) -> int:
        """The factor on processors."""
        return self.nodes * self.processors_per_node

    def json_fields(self) -> dict[str, Any]:
        """With the factor on processors."""
        return fields_of(self, "processors")


@dataclass(frozen=True)
class SimulatedStrawMan:
    """One workload on several systems.

    As they are (``full``), smaller (``small``), and the smaller ones simulated with the benchmark problem; None for a
    system on which it has no size.
    """

    full: StrawManStudy
    small: StrawManStudy
    scale: Scale
    runs: tuple[SystemRun | None, ...]

    @property
    def times_s(self) -> tuple[float, ...]:
        """Simulated makespans; not a number if there is none."""
        return tuple(math.nan if run is None else float(run.simulation.makespan_s) for run in self.runs)

    def ratios(self) -> dict[str, tuple[float, ...]]:
        """Return times over the least of all systems.

        Times of the whole systems (``full``), of the smaller ones (``small``), both of computation alone, and simulated
        (``simulated``).
        """
        rows = {"full": _least_times(self.full), "small": _least_times(self.small), "simulated": self.times_s}
        return {name: _over_least(times) for name, times in rows.items()}

    def json_fields(self) -> dict[str, Any]:
        """All systems made smaller, as they were simulated."""
        pairs = zip(self.small.systems, self.runs, strict=True)
        return attributes_of(self, "scale", workload="full.workload", benchmark="small.benchmark") | {
            "ratios": self.ratios(),
            "systems": [{"machine": system.machine, **(run.json_fields() if run else {})} for system, run in pairs],
        }


@shows_keywords(SystemKeywords, SystemSimulator.of)
def simulated_straw_men(
    workloads: Sequence[WorkloadSource],
    machines: Sequence[MachineSource],
    parameters: Mapping[str, object] | None = None,
    *,
    ranks: int | None = None,
    on_progress: OnProgress | None = None,
    **options: Unpack[SystemKeywords],
) -> list[SimulatedStrawMan]:
    """Every workload on all systems made smaller.

    ``ranks``: the most of the largest one (default: ``RANKS``); workloads that exchange all with all take fewer, so
    that there are at most ``MOST_PAIRS`` messages. ``size``: the parameter that is the problem of a process.

    Raises InputError as ``straw_man_table`` does, and where the systems cannot be made so small.
    """
    described = [workload_of(one) for one in workloads]
    whole = [load(machine) for machine in machines]
    check_known(described, parameters)
    next_system = SystemCounter(on_progress, len(described) * len(whole))
    return [_simulated(workload, whole, parameters, ranks or RANKS, next_system, options) for workload in described]


def _simulated(
    workload: Workload,
    whole: Sequence[Machine],
    parameters: Mapping[str, object] | None,
    ranks: int,
    next_system: SystemCounter,
    options: SystemKeywords,
) -> SimulatedStrawMan:
    """One workload on all systems."""
    simulator = SystemSimulator.of(workload, parameters, **options)
    most = min(ranks, math.isqrt(MOST_PAIRS)) if exchanges_all_with_all(workload) else ranks
    scale = scale_for(whole, most)
    full, small = (
        straw_man_study(workload, several, simulator.given, preset=simulator.preset, size=simulator.size)
        for several in (whole, [smaller_system(machine, scale) for machine in whole])
    )
    runs: list[SystemRun | None] = []
    for system in small.systems:
        next_system(workload.name, system.machine.name)
        size = system.benchmark_size
        runs.append(None if size is None else simulator.run(system.machine, size))
    return SimulatedStrawMan(full, small, scale, tuple(runs))


def scale_for(machines: Sequence[Machine], ranks: int) -> Scale:
    """Return the minimum factors by which all systems are divided to have at most ``ranks`` processors.

    The largest then has at most as many; of equal ones the factors that leave most nodes. InputError if there are none.
    """
    nodes = math.gcd(*(machine.nodes for machine in machines))
    per_node = math.gcd(*(machine.processors_per_node for machine in machines))
    most = max(machine.processors for machine in machines)
    pairs = [Scale(a, b) for a in divisors(nodes) for b in divisors(per_node) if most <= ranks * a * b]
    if not pairs:
        least = most // (nodes * per_node)
        what = "systems cannot be made so small in the same ratios: ranks of the largest"
        raise InputError(what, value=ranks, allowed=f"{least} or more")
    return min(pairs, key=lambda scale: (scale.processors, scale.nodes))


def divisors(number: int) -> list[int]:
    """In increasing order."""
    small = [it for it in range(1, math.isqrt(number) + 1) if number % it == 0]
    return sorted({*small, *(number // it for it in small)})


def smaller_system(machine: Machine, scale: Scale) -> Machine:
    """Return the system with fewer nodes and processors of a node; a processor has what it had."""
    fewer = with_nodes(machine, machine.nodes // scale.nodes)
    share = scale.processors_per_node
    capacity = None if fewer.capacity_bytes is None else fewer.capacity_bytes / share
    node = replace(fewer, processors_per_node=fewer.processors_per_node // share, capacity_bytes=capacity)
    return varied_machine(node, "memory.bandwidth", 1.0 / share)


def _least_times(study: StrawManStudy) -> tuple[float, ...]:
    times = (system.wall_time_s for system in study.systems)
    return tuple(math.nan if time is None else time for time in times)


def _over_least(times: Sequence[float]) -> tuple[float, ...]:
    least = min((time for time in times if math.isfinite(time)), default=math.nan)
    return tuple(time / least if least else math.nan for time in times)
