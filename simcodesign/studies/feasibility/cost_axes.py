"""The costs that span a feasibility region: constants of a machine or parameters of a workload, with their limits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import CONSTANTS, cache_constants, dimension_at, is_of
from simcodesign.describe.formulas.symbols import VALUE
from simcodesign.describe.machine import Machine
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.constants import OTHER_NAMES

#: Constants that the time falls with, or that choose between two ways.
NO_COSTS = ("processor.rate", "processor.clock", "network.S", "memory.outstanding", "node.memory.cache")
#: The time per byte of a message, and what may not be above it.
PER_BYTE = ("network.per_byte", "network.G")
PARTS = ("network.link_per_byte", "network.interfaces.per_byte")


@dataclass(frozen=True)
class CostAxis:
    """One axis of a region.

    ``path`` is what is set, to the cost times ``scale``; ``low`` and ``high`` are the least and the most that the
    machine or the workload allows.
    """

    name: str
    path: str
    scale: float = 1.0
    unit: str = "s"
    low: float = 0.0
    high: float = math.inf

    @property
    def span(self) -> float:
        """From the least to the most."""
        return self.high - self.low

    @property
    def some_values(self) -> tuple[float, float]:
        """Two values that are allowed."""
        return self.low, min(2 * self.low + 1.0, self.high)


def cost_of(
    name: str,
    over: tuple[str, str],
    workload: Workload,
    machine: Machine,
    parameters: Mapping[str, float],
    values: Mapping[str, FloatOrArray],
) -> CostAxis:
    """Return the cost of this name. ``over``: both names; ``parameters``: what is set; ``values``: of the workload.

    Raises InputError for what is no cost of this machine and workload.
    """
    if name in workload.parameters:
        return _of_parameter(name, workload)
    symbols = machine.network.message_model.symbols
    path = symbols.get(name, name)
    if path in NO_COSTS:
        raise InputError("no cost: the time does not grow with it", value=name, allowed="times, e.g. ts,tw")
    known = _paths(machine)
    if path not in known:
        raise InputError("a cost that does not exist", value=name, allowed=_hint(name, machine, workload))
    unit = {"time": "s", "per_byte": "s/B"}.get(dimension_at(path) or "", "")
    cost = CostAxis(name, path, unit=unit)
    if name == "tw" and VALUE in workload.parameters:
        value_bytes = float(values[VALUE])  # one design point
        cost = CostAxis(name, path, 1 / value_bytes, f"s per value of {value_bytes:g} B")
    low, high = _limits(path, {symbols.get(other, other) for other in over}, machine, parameters)
    return CostAxis(cost.name, cost.path, cost.scale, cost.unit, low / cost.scale, high / cost.scale)


def _of_parameter(name: str, workload: Workload) -> CostAxis:
    parameter = workload.parameters[name]
    if parameter.whole:
        raise InputError(
            f"{name} takes whole numbers only, so that there is no boundary to follow",
            value=name,
            allowed=f"--vary {name}=A,B,... gives a region for each",
        )
    return CostAxis(name, name, 1.0, parameter.unit, max(parameter.low, 0.0), parameter.high)


def _paths(machine: Machine) -> list[str]:
    """Constants of this machine that may be costs."""
    model = machine.network.message_model
    paths = [
        path
        for path, (part, _, _) in CONSTANTS.items()
        if is_of(path, model) and getattr(machine, part) is not None and path not in NO_COSTS
    ]
    return [*paths, *cache_constants(machine.memory)]


def _hint(name: str, machine: Machine, workload: Workload) -> str:
    part, _, key = (name if "." in name else f"network.{name}").rpartition(".")
    other = f"{part}.{OTHER_NAMES.get(key, '')}"
    known, symbols = _paths(machine), machine.network.message_model.symbols
    if "bandwidth" in key and other in known:
        symbol = next((f"{short}, or " for short, path in symbols.items() if path == other), "")
        return f"{symbol}{other}: costs are times, and a bandwidth is the inverse of one"
    if key == "startup" and "ts" in symbols:
        return "ts, or network.startup"
    return nearest(name, [*symbols, *known, *(each.name for each in workload.parameters.values() if not each.whole)])


def _limits(path: str, axes: set[str], machine: Machine, parameters: Mapping[str, float]) -> tuple[float, float]:
    """Return the limits of the axes: a message is not faster than its links and interfaces.

    The least time per byte is theirs, and the most of theirs is that.
    """
    given = machine.constants() | {**parameters}
    if path in PER_BYTE:
        if both := axes & {*PARTS}:
            what = f"{path} can be no less than {', '.join(both)}, so that the two do not span a region"
            raise InputError(what, value=sorted(axes), allowed="one of them, the other set with --set")
        return max((float(np.max(given[part])) for part in PARTS if part in given), default=0.0), math.inf
    if path in PARTS:
        return 0.0, float(np.min(given[next(whole for whole in PER_BYTE if whole in given)]))
    return 0.0, math.inf
