"""A machine without a workload as a model for design-space exploration: what it is capable of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from simcodesign.analytic.machine_metrics import HardwareMetrics
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import CAPACITY
from simcodesign.describe.machine import Machine
from simcodesign.describe.parameters import Parameter
from simcodesign.studies.explore.models.machine_constants import (
    constant_parameter,
    constants_of,
    nothing_to_vary,
    varied_constant,
    without_bandwidths,
    without_varied,
)
from simcodesign.studies.explore.models.model_interfaces import Extra
from simcodesign.studies.explore.space import FloatArray

#: Metrics of a machine alone.
MACHINE_METRICS = {
    "processors": "count",
    "peak_rate": "rate",
    "memory_capacity": "size",
    "memory_bandwidth": "bandwidth",
    "injection_bandwidth": "bandwidth",
    "flops_per_byte": "",
}
#: Counts that may be varied for a machine without a workload.
COUNTS = ("nodes", "processors_per_node")


@dataclass(frozen=True)
class MachineModel:
    """A machine without a workload: what it is capable of. Counts and constants may be varied."""

    machine: Machine
    extras: tuple[Extra, ...] | None = None

    def __post_init__(self) -> None:
        if self.extras is None:
            object.__setattr__(self, "extras", (HardwareMetrics(self.machine, False, frozenset(MACHINE_METRICS)),))

    def on(self, machine: Machine) -> MachineModel:
        """Another machine in its place."""
        return MachineModel(machine)

    @property
    def name(self) -> str:
        """Label of the machine."""
        return self.machine.label

    @cached_property
    def dimensions(self) -> Mapping[str, str]:
        """All metrics."""
        absent = set() if self.machine.memory is not None else {"memory_bandwidth", "flops_per_byte"}
        absent |= set() if self.machine.capacity_bytes is not None else {"memory_capacity"}
        dimensions = {name: dimension for name, dimension in MACHINE_METRICS.items() if name not in absent}
        for extra in self.extras or ():
            dimensions |= extra.dimensions
        return dimensions

    def fixed(self, varied: Collection[str]) -> Mapping[str, float]:
        """Return counts and constants that are not varied."""
        return without_varied({**self._counts(), **constants_of(self.machine)}, varied, self.machine)

    def _counts(self) -> dict[str, float]:
        return {"nodes": float(self.machine.nodes), "processors_per_node": float(self.machine.processors_per_node)}

    def parameter(self, name: str) -> tuple[Parameter, str]:
        """Return a count or a constant of the machine."""
        if name in COUNTS:
            return Parameter(name, self._counts()[name], low=1, whole=True), ""
        value = varied_constant(name, self.machine)
        if value is None:
            raise nothing_to_vary(self.name, name, COUNTS, self.machine)
        return constant_parameter(name, value, self.machine)

    def evaluate(self, values: Mapping[str, FloatArray]) -> Mapping[str, FloatOrArray]:
        """Capability at n points."""
        constants = without_bandwidths(
            {name: value for name, value in values.items() if name not in COUNTS}, self.machine
        )
        machine = self.machine.with_constants({name: value for name, value in constants.items() if name != CAPACITY})
        machine = replace(machine, capacity_bytes=constants.get(CAPACITY, machine.capacity_bytes))
        counts: dict[str, FloatOrArray] = {
            **self._counts(),
            **{name: values[name] for name in COUNTS if name in values},
        }
        metrics = capability(machine, counts)
        for extra in self.extras or ():
            metrics |= extra.evaluate(machine, counts, None)
        return {name: metrics[name] for name in self.dimensions}


def capability(machine: Machine, counts: Mapping[str, FloatOrArray]) -> dict[str, FloatOrArray]:
    """Metrics of a machine alone with these numbers of ``nodes`` and ``processors_per_node``."""
    nodes = counts["nodes"]
    processors = nodes * counts["processors_per_node"]
    metrics: dict[str, FloatOrArray] = {
        "processors": processors,
        "peak_rate": processors * machine.mean_flop_per_s,
    }
    with np.errstate(all="ignore"):
        interfaces = nodes * machine.network.interfaces.count
        metrics["injection_bandwidth"] = interfaces / np.asarray(machine.network.interface_occupancy_s_per_byte)
        if machine.capacity_bytes is not None:
            metrics["memory_capacity"] = nodes * machine.capacity_bytes
        if machine.memory is not None:
            metrics["memory_bandwidth"] = nodes / np.asarray(machine.memory.per_byte_s)
            metrics["flops_per_byte"] = metrics["peak_rate"] / metrics["memory_bandwidth"]
    return metrics
