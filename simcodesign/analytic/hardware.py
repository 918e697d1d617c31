"""Metrics of a machine that its file defines: properties, costs, power; and the energy of a run on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simcodesign.analytic.resources import highest_power
from simcodesign.describe.machine import Machine
from simcodesign.describe.resources import instances_of, not_negative
from simcodesign.result import Result
from simcodesign.units import Amount

#: Metrics by the fields of ``Totals``, and their dimensions.
_TOTALS = {"rack_units": "count", "die_area_m2": "", "price": "", "static_power_w": "power"}
_NAMES = {"die_area_m2": "die_area", "static_power_w": "static_power"}
#: Metrics of a run, by the fields of ``Result``.
_OF_RUN = {"energy": ("energy_j", "energy"), "peak_power": ("peak_power_w", "power")}
#: Power without a workload.
FULL_POWER = "full_power"


def full_power_w(machine: Machine, counts: Mapping[str, Amount] | None = None) -> Amount:
    """Static power, and dynamic power of all that can be at work at the same time, on all processors (Spafford and
    Vetter, 2015): built-in parts, and of conflicting resources those that draw most together without a conflict.

    ``counts`` replaces ``nodes`` and ``processors_per_node``; arrays allowed.
    """
    every = _counts(machine, counts)
    custom, names = machine.custom, machine.custom.names(every)
    watts: dict[str, Amount] = {
        title: instances_of(one, title, names)
        * not_negative(one.dynamic_power, names, f"dynamic_power of {title}", one.place)
        for title, one in custom.resources.items()
        if one.dynamic_power is not None
    }
    parts = [value for path, value in machine.powers().items() if path.endswith(".dynamic_power")]
    static = custom.totals(every).static_power_w
    of_rank = highest_power(watts, custom) + sum(parts, start=0.0)
    return (0.0 if static is None else static) + every["processors"] * of_rank


def _counts(machine: Machine, counts: Mapping[str, Amount] | None) -> dict[str, Amount]:
    every = machine.counts() | dict(counts or {})
    return every | {"processors": every["nodes"] * every["processors_per_node"]}


@dataclass(frozen=True)
class HardwareMetrics:
    """What ``machine`` says of itself, as metrics by name; with ``run`` also those of a run on it.

    Properties by their names, ``rack_units``, ``die_area`` (m2), ``price``, ``static_power``, ``full_power``, and of a
    run ``energy`` and ``peak_power``; those that the machine says nothing about are not there.
    """

    machine: Machine
    run: bool = True

    @property
    def dimensions(self) -> Mapping[str, str]:
        """Names and dimensions of the metrics."""
        found = dict.fromkeys(self.machine.custom.properties, "")
        totals = self.machine.totals()
        found |= {_NAMES.get(key, key): unit for key, unit in _TOTALS.items() if getattr(totals, key) is not None}
        if not self.machine.has_power:
            return found
        of_run = {name: unit for name, (_, unit) in _OF_RUN.items()} if self.run else {}
        return found | {FULL_POWER: "power"} | of_run

    def evaluate(
        self, machine: Machine, counts: Mapping[str, Amount] | None = None, result: Result | None = None
    ) -> dict[str, Amount]:
        """For a machine like this one whose constants and parameters may be arrays, with so many nodes and processors
        of a node; ``result`` of the run, None for the machine alone."""
        every = _counts(machine, counts)
        names, totals = machine.custom.names(every), machine.custom.totals(every)
        found: dict[str, Amount] = {name: names[name] for name in machine.custom.properties}
        found |= {_NAMES.get(key, key): getattr(totals, key) for key in _TOTALS}
        found[FULL_POWER] = full_power_w(machine, every)
        for name, (key, _) in _OF_RUN.items():
            value = None if result is None else getattr(result, key)
            found[name] = np.nan if value is None else value
        return {name: found[name] for name in self.dimensions}
