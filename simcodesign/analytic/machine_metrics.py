"""Metrics of a machine that its file defines: properties, costs, power; and the energy of a run on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from simcodesign.analytic.resources import highest_power
from simcodesign.core.result import Result
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine import Machine
from simcodesign.describe.resources import PREFIX, Totals, instances_of, not_negative

#: Metrics by the fields of ``Totals``, and their dimensions.
_TOTALS = {"rack_units": "count", "die_area_m2": "", "price": "", "static_power_w": "power", "embodied_carbon_kg": ""}
_NAMES = {"die_area_m2": "die_area", "static_power_w": "static_power", "embodied_carbon_kg": "embodied_carbon"}
#: Metrics of a run, by the fields of ``Result``.
_OF_RUN = {"energy": ("energy_j", "energy"), "peak_power": ("peak_power_w", "power")}
#: Power without a workload.
FULL_POWER = "full_power"
#: Cost of ownership: of a run, at its mean power; of a machine alone, at full power.
OWNERSHIP_COST = "ownership_cost"
#: Costs of a run: money, and kg of CO2 equivalent.
RUN_COST, CARBON = "run_cost", "carbon"
#: Columns of tables: of a machine, and, behind the name of a reading, of a run on it.
MACHINE_COLUMNS = ("price", "static_power_w", "embodied_carbon_kg")
_COLUMNS = {CARBON: "carbon_kg"}
RUN_COLUMNS = (OWNERSHIP_COST, RUN_COST, "carbon_kg")
#: Keys of machine files from which metrics follow that a machine may lack.
_SUMMED = ("price", "rack_units", "die_area", "embodied_carbon")
HARDWARE = {name: f"components that state their {name}" for name in _SUMMED}
HARDWARE |= dict.fromkeys((FULL_POWER, "static_power", *_OF_RUN), "static_power or dynamic_power")
HARDWARE |= dict.fromkeys((OWNERSHIP_COST, RUN_COST, CARBON), "ownership, and with static_power or dynamic_power")
#: Metrics that are costs, in units that no table of units has.
COSTS = ("rack_units", "die_area", "price", "embodied_carbon", OWNERSHIP_COST, RUN_COST, CARBON)


def costs_of_run(machine: Machine, energy_j: FloatOrArray | None, time_s: FloatOrArray) -> dict[str, FloatOrArray]:
    """Return what a run costs that takes this time and energy, as far as the machine states what that needs.

    ``ownership_cost`` of the machine at the mean power of the run, ``run_cost``, and ``carbon`` in kg.
    """
    ownership, totals = machine.custom.ownership, machine.totals()
    if ownership is None or energy_j is None:
        return {}
    with np.errstate(all="ignore"):
        power_w = np.asarray(energy_j) / np.asarray(time_s)
    price, carbon_kg = (0.0 if one is None else one for one in (totals.price, totals.embodied_carbon_kg))
    found = {
        OWNERSHIP_COST: ownership.cost(price, power_w),
        RUN_COST: ownership.run_cost(price, energy_j, time_s),
        CARBON: ownership.carbon_kg(carbon_kg, energy_j, time_s),
    }
    return {name: value for name, value in found.items() if value is not None}


def cost_columns(
    machine: Machine, results: Mapping[str, FloatOrArray], prefixes: Sequence[str]
) -> dict[str, FloatOrArray]:
    """Return columns of a table: what the components of a machine cost, and a run on it by each of some readings.

    ``results``: ``PREFIX_energy_j`` and ``PREFIX_makespan_s`` of the readings, as far as they are known.
    """
    totals = machine.totals()
    stated = {name: getattr(totals, name) for name in MACHINE_COLUMNS}
    columns = {name: value for name, value in stated.items() if value is not None}
    for prefix in prefixes:
        energy_j, time_s = (results.get(f"{prefix}_{name}") for name in ("energy_j", "makespan_s"))
        if time_s is not None:
            costs = costs_of_run(machine, energy_j, time_s)
            columns |= {f"{prefix}_{_COLUMNS.get(name, name)}": value for name, value in costs.items()}
    return columns


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
    """Metrics of ``machine`` by name; with ``run`` also metrics of a run on it.

    Properties by their names, ``rack_units``, ``die_area`` (m2), ``price``, ``embodied_carbon`` (kg), ``static_power``,
    ``full_power``, ``ownership_cost``, and of a run ``energy``, ``peak_power``, ``run_cost`` and ``carbon`` (kg); those
    that the machine does not state are missing. A property with the name of another metric, here or in
    ``taken``, is ``machine.NAME``.
    """

    machine: Machine
    run: bool = True
    taken: frozenset[str] = frozenset()

    def _name_of(self, name: str) -> str:
        """Return the metric of a property."""
        own = {*(_NAMES.get(key, key) for key in _TOTALS), FULL_POWER, OWNERSHIP_COST, RUN_COST, CARBON, *_OF_RUN}
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
        metrics |= {FULL_POWER: "power"} | of_run
        ownership = self.machine.custom.ownership
        if ownership is None:
            return metrics
        if ownership.energy_price is not None:
            metrics |= dict.fromkeys((OWNERSHIP_COST, RUN_COST) if self.run else (OWNERSHIP_COST,), "")
        return metrics | ({CARBON: ""} if self.run and ownership.carbon_intensity is not None else {})

    def evaluate(
        self, machine: Machine, counts: Mapping[str, FloatOrArray] | None = None, result: Result | None = None
    ) -> dict[str, FloatOrArray]:
        """Return metrics for a machine like this one whose constants and parameters may be arrays.

        With these numbers of nodes and processors of a node; ``result`` of the run, None for the machine alone.
        """
        every = _counts(machine, counts)
        names, totals = machine.custom.names(every), machine.custom.totals(every)
        metrics: dict[str, FloatOrArray] = {self._name_of(name): names[name] for name in machine.custom.properties}
        metrics |= {_NAMES.get(key, key): getattr(totals, key) for key in _TOTALS}
        metrics[FULL_POWER] = _full_power_w(machine, every, names, totals)
        for name, (key, _) in _OF_RUN.items():
            value = None if result is None else getattr(result, key)
            metrics[name] = np.nan if value is None else value
        metrics |= self._costs(machine, metrics, result)
        return {name: metrics[name] for name in self.dimensions}

    def _costs(self, machine: Machine, metrics: Mapping[str, FloatOrArray], result: Result | None) -> dict[str, Any]:
        """Return the costs of ownership, and the costs of the run."""
        ownership = machine.custom.ownership
        if ownership is None:
            return {}
        if result is None:
            price = metrics["price"]
            return {OWNERSHIP_COST: ownership.cost(0.0 if price is None else price, metrics[FULL_POWER])}
        nothing = dict.fromkeys((OWNERSHIP_COST, RUN_COST, CARBON), np.nan)
        return nothing | costs_of_run(machine, result.energy_j, result.makespan_s)
