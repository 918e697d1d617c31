"""Straw-man systems: the largest problem that each can hold, and the minimum time of each for the same problem.

Calotoiu et al., CLUSTER 2018, section III-B, Tables VI and VII. A system is the number of its processors, the memory of
each, and the rate of each: all processors are used, parallelisation is perfect, and nothing but computation takes time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.to_json import fields_of
from simcodesign.core.units import POSITIVE_RANGE, is_positive
from simcodesign.describe.machine import Machine
from simcodesign.describe.scenario import MachineSource, WorkloadSource, machine_of, workload_of
from simcodesign.describe.workload import Workload
from simcodesign.studies.requirements.memory_capacity import SIZE, MemoryFit, limits, refuse, sized
from simcodesign.studies.requirements.upgrade import check_known, filled, models, needs_at, of_workload, share_of


@dataclass(frozen=True)
class System:
    """One system for one workload.

    ``benchmark_size``: of a process in the problem that all systems solve, and ``wall_time_s`` its flops over the rate
    of a processor; None where a system holds no problem, or the fraction of a process is smaller than the workload
    allows.
    """

    machine: Machine
    processes: float
    memory_bytes: float
    rate_flop_per_s: float
    fit: MemoryFit
    benchmark_size: float | None = None
    benchmark_flops: float | None = None

    @property
    def overall(self) -> float:
        """The largest overall problem, N = p n; 0 if nothing fits."""
        return self.fit.overall

    @property
    def wall_time_s(self) -> float | None:
        """The least time for the benchmark problem."""
        return None if self.benchmark_flops is None else self.benchmark_flops / self.rate_flop_per_s

    def json_fields(self) -> dict[str, Any]:
        """With the largest problem and the least time."""
        return fields_of(self, "wall_time_s", largest_problem="overall")


@dataclass(frozen=True)
class StrawManStudy:
    """One workload on several systems.

    ``benchmark``: the largest overall problem that all systems hold, or one that was given; None if one of them holds
    none.
    """

    workload: Workload
    systems: tuple[System, ...]
    benchmark: float | None
    models: Mapping[str, str]

    @property
    def excluded(self) -> tuple[System, ...]:
        """Systems that hold no problem at all if all their processors are used."""
        return tuple(system for system in self.systems if not system.fit.fits)

    def json_fields(self) -> dict[str, Any]:
        """With the machines that hold no problem."""
        return fields_of(self) | {"excluded": [system.machine for system in self.excluded]}


def straw_man_study(
    workload: WorkloadSource,
    machines: Sequence[MachineSource],
    parameters: Mapping[str, object] | None = None,
    *,
    preset: str | None = None,
    size: str = SIZE,
    benchmark: float | None = None,
) -> StrawManStudy:
    """Return a row of Table VII. ``benchmark``: another overall problem than the largest that all systems hold.

    Raises InputError for machines without a capacity, workloads without a footprint, and where P or the size is given:
    all processors are used.
    """
    described = workload_of(workload)
    refuse(parameters, "P", size)
    given = dict(parameters or {})
    systems = [_system(described, load(machine), given, preset, size) for machine in machines]
    if not systems:
        raise InputError("a study of straw-man systems needs systems", allowed="one or more machines")
    if benchmark is not None and not is_positive(benchmark):
        raise InputError("overall problem", value=benchmark, allowed=POSITIVE_RANGE)
    common = benchmark
    if common is None and all(system.fit.fits for system in systems):
        common = min(system.overall for system in systems)
    if common is not None:
        systems = [_timed(described, system, common, given, preset, size) for system in systems]
    return StrawManStudy(described, tuple(systems), common, models(described, given, preset=preset, size=size))


def straw_man_table(
    workloads: Sequence[WorkloadSource],
    machines: Sequence[MachineSource],
    parameters: Mapping[str, object] | None = None,
    *,
    preset: str | None = None,
    size: str = SIZE,
    benchmark: float | None = None,
) -> list[StrawManStudy]:
    """Every workload on all systems. Parameters that only some workloads have are theirs."""
    described = [workload_of(one) for one in workloads]
    loaded = [load(machine) for machine in machines]
    check_known(described, parameters)
    return [
        straw_man_study(one, loaded, of_workload(one, parameters), preset=preset, size=size, benchmark=benchmark)
        for one in described
    ]


def load(machine: MachineSource) -> Machine:
    """Return the machine itself, or of this name."""
    return machine_of(machine)


def _system(workload: Workload, machine: Machine, given: Mapping[str, object], preset: str | None, size: str) -> System:
    processes, memory_bytes = share_of(machine)
    rate = machine.processor.rate_flop_per_s
    if np.ndim(rate):
        raise InputError("rate of a straw-man system", machine.place, value=rate, allowed="one number")
    fit = filled(workload, processes, memory_bytes, given, preset=preset, size=size).fit
    return System(machine, processes, memory_bytes, float(rate), fit)


def _timed(
    workload: Workload, system: System, benchmark: float, given: Mapping[str, object], preset: str | None, size: str
) -> System:
    share = benchmark / system.processes
    low, high = limits(sized(workload, size), size)
    if not (system.fit.fits and low <= share <= high):
        return system
    flops = float(needs_at(workload, system.processes, share, given, preset, size).flops)
    return System(
        system.machine, system.processes, system.memory_bytes, system.rate_flop_per_s, system.fit, share, flops
    )
