"""Metrics of a machine that its file defines: properties, costs, power; and the energy of a run on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simcodesign.analytic.resources import highest_power
from simcodesign.core.result import Result
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine import Machine
from simcodesign.describe.resources import PREFIX, Totals, instances_of, not_negative

#: Metrics by the fields of ``Totals``, and their dimensions.
_TOTALS = {"rack_units": "count", "die_area_m2": "", "price": "", "static_power_w": "power"}
_NAMES = {"die_area_m2": "die_area", "static_power_w": "static_power"}
#: Metrics of a run, by the fields of ``Result``.
_OF_RUN = {"energy": ("energy_j", "energy"), "peak_power": ("peak_power_w", "power")}
#: Power without a workload.
FULL_POWER = "full_power"


def _full_power_w(
    machine: Machine, every: Mapping[str, FloatOrArray], names: Mapping[str, FloatOrArray], totals: Totals
) -> FloatOrArray:
    custom = machine.custom
    watts: dict[str, FloatOrArray] = {
        title: instances_of(one, title, names)
        * not_negative(one.dynamic_power, names, f"dynamic_power of {title}", one.place)
        for title, one in custom.resources.items()
        if one.dynamic_power is not None
    }
    parts = [value for path, value in machine.powers().items() if path.endswith(".dynamic_power")]
    static = 0.0 if totals.static_power_w is None else totals.static_power_w
    of_rank = highest_power(watts, custom) + sum(parts, start=0.0)
    return static + every["processors"] * of_rank


def _counts(machine: Machine, counts: Mapping[str, FloatOrArray] | None) -> dict[str, FloatOrArray]:
    every = machine.counts() | dict(counts or {})
    return every | {"processors": every["nodes"] * every["processors_per_node"]}


@dataclass(frozen=True)
class HardwareMetrics:
    """What ``machine`` says of itself, as metrics by name; with ``run`` also those of a run on it.

    Properties by their names, ``rack_units``, ``die_area`` (m2), ``price``, ``static_power``, ``full_power``, and of a
    run ``energy`` and ``peak_power``; those that the machine says nothing about are not there. A property that is
    called like another metric, here or in ``taken``, is ``machine.NAME``.
    """

    machine: Machine
    run: bool = True
    taken: frozenset[str] = frozenset()

    def _name_of(self, name: str) -> str:
        """The metric of a property."""
        own = {*(_NAMES.get(key, key) for key in _TOTALS), FULL_POWER, *_OF_RUN}
        return f"{PREFIX}{name}" if name in self.taken or name in own else name

    @cached_property
    def dimensions(self) -> Mapping[str, str]:
        """Names and dimensions of the metrics."""
        metrics = {self._name_of(name): "" for name in self.machine.custom.properties}
        totals = self.machine.totals()
        metrics |= {_NAMES.get(key, key): unit for key, unit in _TOTALS.items() if getattr(totals, key) is not None}
        if not self.machine.has_power:
            return metrics
        of_run = {name: unit for name, (_, unit) in _OF_RUN.items()} if self.run else {}
        return metrics | {FULL_POWER: "power"} | of_run

    def evaluate(
        self, machine: Machine, counts: Mapping[str, FloatOrArray] | None = None, result: Result | None = None
    ) -> dict[str, FloatOrArray]:
        """For a machine like this one whose constants and parameters may be arrays, with so many nodes and processors
        of a node; ``result`` of the run, None for the machine alone."""
        every = _counts(machine, counts)
        names, totals = machine.custom.names(every), machine.custom.totals(every)
        metrics: dict[str, FloatOrArray] = {self._name_of(name): names[name] for name in machine.custom.properties}
        metrics |= {_NAMES.get(key, key): getattr(totals, key) for key in _TOTALS}
        metrics[FULL_POWER] = _full_power_w(machine, every, names, totals)
        for name, (key, _) in _OF_RUN.items():
            value = None if result is None else getattr(result, key)
            metrics[name] = np.nan if value is None else value
        return {name: metrics[name] for name in self.dimensions}
