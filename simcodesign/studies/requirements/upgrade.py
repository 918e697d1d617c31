"""Upgrade studies: how the largest problem and the requirements of a process change with a machine.

The five steps of Calotoiu et al., CLUSTER 2018, Table IV: the requirement models (I), processes and memory of a process
on the new machine (II), the footprint there (III), the size that fills the memory and with it the overall problem (IV),
and the requirements at that size (V). Ratios are new over old, and no intermediate result is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simcodesign.analytic.formulas.model_text import model_texts
from simcodesign.analytic.requirements_per_process import Requirements, requirements, skeleton
from simcodesign.core.errors import InputError
from simcodesign.core.to_json import fields_of
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.scenario import MachineSource, WorkloadSource, machine_of, workload_of
from simcodesign.describe.workload import Workload
from simcodesign.studies.requirements.memory_capacity import SIZE, MemoryFit, fit_memory, limits, sized
from simcodesign.studies.requirements.upgrade_factors import Upgrade

#: Ratios of Table V, by the name of what they compare; bytes read and written (which that table leaves out), and loads
#: and stores alone, as well.
RATIOS = ("size", "overall", "computation", "communication", "memory_access", "io", "loads_stores")


@dataclass(frozen=True)
class Filled:
    """A system of ``processes`` with ``memory_bytes`` each, filled with the largest problem.

    ``needs`` is None where not even the smallest one fits.
    """

    processes: float
    memory_bytes: float
    fit: MemoryFit
    needs: Requirements | None

    def metric(self, name: str) -> float:
        """Return the quantity that a ratio compares; not a number if nothing fits."""
        if self.needs is None:
            return 0.0 if name in ("size", "overall") else math.nan
        return {
            "size": self.fit.size,
            "overall": self.fit.overall,
            "computation": float(self.needs.flops),
            "communication": float(self.needs.sent_bytes),
            "memory_access": float(self.needs.weighted_accesses),
            "io": float(self.needs.disk_bytes),
            "loads_stores": float(self.needs.loads_stores),
        }[name]

    @property
    def uses_disks(self) -> bool:
        """Whether a process reads or writes anything."""
        return self.needs is not None and float(self.needs.disk_bytes) > 0

    def json_fields(self) -> dict[str, Any]:
        """With the requirements under the name that they have for people."""
        return fields_of(self, requirements="needs")


@dataclass(frozen=True)
class UpgradeStudy:
    """One workload on a machine before and after an upgrade.

    ``inflated_bytes``: step III, the footprint on the new system of the size that filled the old one. ``models``:
    metric -> formula, for people.
    """

    workload: Workload
    machine: Machine
    upgrade: Upgrade
    old: Filled
    new: Filled
    inflated_bytes: float
    models: Mapping[str, str]

    @property
    def uses_disks(self) -> bool:
        """Whether a process reads or writes anything, before or after."""
        return self.old.uses_disks or self.new.uses_disks

    @property
    def baseline(self) -> dict[str, float]:
        """The ratios of a program whose footprint and requirements are proportional to the size."""
        size, processes = self.upgrade.memory, self.upgrade.processes
        return {name: processes * size if name == "overall" else size for name in RATIOS}

    @property
    def ratios(self) -> dict[str, float]:
        """Return new over old, by the names of ``RATIOS``.

        0 for sizes of which none fits any more, and no number for requirements there, or of something that is not
        needed.
        """
        return {name: _ratio(self.new.metric(name), self.old.metric(name)) for name in RATIOS}

    def json_fields(self) -> dict[str, Any]:
        """Return the system before and after, and the ratios."""
        return fields_of(self, "ratios", "baseline", without=("inflated_bytes",))


def upgrade_study(
    workload: WorkloadSource,
    machine: MachineSource,
    upgrade: Upgrade,
    parameters: Mapping[str, object] | None = None,
    *,
    preset: str | None = None,
    size: str = SIZE,
) -> UpgradeStudy:
    """One cell of Table V. ``parameters`` may hold ``P``, the processes of the machine as it is (else all processors).

    Memory access is loads and stores times their stack distance, as in the paper where the distance changes.
    Raises InputError for a machine that does not say its capacity, and for a workload without a footprint.
    """
    described = workload_of(workload)
    base = machine_of(machine)
    processes, memory_bytes = share_of(base, parameters)
    given = {name: value for name, value in (parameters or {}).items() if name != "P"}
    more = _processes(processes * upgrade.processes, upgrade)
    old, new = (
        filled(described, p, m, given, preset=preset, size=size)
        for p, m in ((processes, memory_bytes), (more, memory_bytes * upgrade.memory))
    )
    inflated = _footprint(described, more, old, given, preset, size)
    return UpgradeStudy(
        described, base, upgrade, old, new, inflated, models(described, given, preset=preset, size=size)
    )


def upgrade_table(
    workloads: Sequence[WorkloadSource],
    machine: MachineSource,
    upgrades: Sequence[Upgrade],
    parameters: Mapping[str, object] | None = None,
    *,
    preset: str | None = None,
    size: str = SIZE,
) -> list[UpgradeStudy]:
    """Every workload with every upgrade, upgrade after upgrade. Parameters that only some workloads have are theirs."""
    described = [workload_of(one) for one in workloads]
    base = machine_of(machine)
    check_known(described, parameters)
    return [
        upgrade_study(one, base, upgrade, of_workload(one, parameters), preset=preset, size=size)
        for upgrade in upgrades
        for one in described
    ]


def share_of(machine: Machine, parameters: Mapping[str, object] | None = None) -> tuple[float, float]:
    """Return processes of a machine, all processors unless ``P`` is given, and the memory of each.

    InputError where the machine does not say its capacity, or has fewer processors.
    """
    capacity = machine.rank_capacity_bytes
    if capacity is None:
        what = f"{machine.name} does not say how much memory a node has"
        raise InputError(
            what, machine.place, allowed="memory: {capacity: ...} in its file, or --set memory.capacity=..."
        )
    processes = float((parameters or {}).get("P", machine.most_ranks))  # type: ignore[arg-type] # checked by set_up
    if not 1 <= processes <= machine.most_ranks:
        allowed = f"1 to {machine.most_ranks}"
        raise InputError(f"processes on {machine.name}: P", machine.place, value=processes, allowed=allowed)
    return processes, float(capacity)


def filled(
    workload: Workload,
    processes: float,
    memory_bytes: float,
    parameters: Mapping[str, object] | None = None,
    *,
    preset: str | None = None,
    size: str = SIZE,
) -> Filled:
    """Return steps III to V for one system."""
    fit = fit_memory(workload, processes, memory_bytes, parameters, preset=preset, size=size)
    needs = needs_at(workload, processes, fit.size, parameters, preset, size) if fit.fits else None
    return Filled(processes, memory_bytes, fit, needs)


def needs_at(
    workload: Workload,
    processes: float,
    size_of_process: float,
    parameters: Mapping[str, object] | None = None,
    preset: str | None = None,
    size: str = SIZE,
) -> Requirements:
    """Return requirements of a process at this size, which may be a fraction."""
    given = {**(parameters or {}), "P": processes, size: size_of_process}
    return requirements(sized(workload, size), given, preset=preset)


def models(
    workload: Workload, parameters: Mapping[str, object] | None = None, *, preset: str | None = None, size: str = SIZE
) -> dict[str, str]:
    """Step I: the requirement models as formulas of the size and p."""
    described = sized(workload, size)
    given = {key: value for key, value in (parameters or {}).items() if key not in (size, "P")}
    point = bind(described, skeleton(), given | {"P": 1, size: limits(described, size)[0]}, preset=preset)
    return model_texts(described, point.values, size)


def of_workload(workload: Workload, parameters: Mapping[str, object] | None) -> dict[str, object]:
    """Return the parameters that this workload has, and P."""
    return {key: value for key, value in (parameters or {}).items() if key == "P" or key in workload.parameters}


def check_known(workloads: Sequence[Workload], parameters: Mapping[str, object] | None) -> None:
    """InputError for a parameter that none of the workloads has."""
    known = {"P", *(name for one in workloads for name in one.parameters)}
    for name in parameters or {}:
        if name not in known:
            raise InputError("no workload has this parameter", value=name, allowed=", ".join(sorted(known)))


def _footprint(
    workload: Workload, processes: float, old: Filled, given: Mapping[str, object], preset: str | None, size: str
) -> float:
    if not old.fit.fits:
        return math.nan
    return float(needs_at(workload, processes, old.fit.size, given, preset, size).footprint_bytes or 0.0)


def _processes(count: float, upgrade: Upgrade) -> float:
    if count < 1 or count != math.floor(count):
        what = f"the upgrade {upgrade.name} leaves no whole number of processes"
        raise InputError(what, value=count, allowed="another number of processes, or other factors")
    return count


def _ratio(new: float, old: float) -> float:
    return new / old if old else math.nan
