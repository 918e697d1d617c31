"""What can be explored: a workload on a machine, or a machine alone, as a model with metrics for a problem of design.

Variables of a workload on a machine are its parameters, ``P``, and the constants, powers and parameters
(``machine.NAME``) of the machine by their paths (also ``network.bandwidth`` and the like, in place of a time per byte);
metrics are those of the forecast, and what the machine says of itself: properties, costs, power (``Extra``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.machine_metrics import HardwareMetrics
from simcodesign.comparison.compare import Comparison, compare
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.result import Result
from simcodesign.core.units import FloatOrArray, format_quantity
from simcodesign.describe.constants import CAPACITY, CONSTANTS, POWERS
from simcodesign.describe.demands.resource_uses import Execute
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.machine import Machine
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.program import walk
from simcodesign.describe.resources import PREFIX
from simcodesign.describe.scenario import Scenario
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from simcodesign.studies.explore.problem import Model, RefusedPointsError
from simcodesign.studies.explore.space import FloatArray, Variable

#: Bandwidths, and the constants of which they are the inverse.
BANDWIDTHS = {
    "network.bandwidth": "network.per_byte",
    "network.link_bandwidth": "network.link_per_byte",
    "network.interface_bandwidth": "network.interface_per_byte",
    "disk.bandwidth": "disk.per_byte",
    "memory.bandwidth": "memory.per_byte",
}
#: What stands in place of ``network.per_byte`` in LogGOP.
LOGGOP_PER_BYTE = "network.G"
#: Metrics of a forecast and their dimensions.
METRICS = {
    "time": "time",
    "computation": "time",
    "communication": "time",
    "disk_time": "time",
    "memory_time": "time",
    "messages": "count",
    "message_bytes": "size",
    "disk_bytes": "size",
    "flops": "count",
    "instructions": "count",
    "rate": "rate",
}
#: Metrics of memory, where workload and machine say it.
FOOTPRINT, CAPACITY_METRIC = "footprint", "capacity"
#: Metrics of a machine alone.
MACHINE_METRICS = {
    "processors": "count",
    "peak_rate": "rate",
    "memory_capacity": "size",
    "memory_bandwidth": "bandwidth",
    "injection_bandwidth": "bandwidth",
    "flops_per_byte": "",
}
#: Numbers of a machine that may be varied where it is looked at alone.
COUNTS = ("nodes", "processors_per_node")
#: Ranks times points that are held at once where ranks differ.
MOST_HELD = 4_000_000


class Extra(Protocol):
    """More metrics of a machine, and of a run on it: power, energy, costs."""

    @property
    def dimensions(self) -> Mapping[str, str]:
        """Names and dimensions of the metrics."""

    def evaluate(
        self, machine: Machine, counts: Mapping[str, FloatOrArray], result: Result | None
    ) -> Mapping[str, FloatOrArray]:
        """For a machine whose constants may be arrays, with so many nodes and processors of a node; ``result`` of the
        run, None for a machine alone."""


class Explorable(Model, Protocol):
    """A model that knows what may be varied."""

    def parameter(self, name: str) -> tuple[Parameter, str]:
        """What is known of a variable: limits, whether whole, default; and its dimension. InputError if unknown."""


@runtime_checkable
class Ranged(Protocol):
    """A model whose parameters have ranges, and words for their values."""

    def variable(self, name: str, place: Place | None = None) -> Variable:
        """A parameter over all of its range. InputError for one without."""

    def word(self, name: str, text: str) -> float:
        """The value that a word stands for. InputError for other words."""


def adopted(model: Explorable, variable: Variable) -> Variable:
    """The variable with what the model knows of it: whole numbers and a default. InputError beyond its limits."""
    known, dimension = model.parameter(variable.name)
    outside = variable.low < known.low or variable.high > known.high
    if outside:
        allowed = f"within {_said(known.low, dimension)} to {_said(known.high, dimension)}"
        what = f"{'choices' if variable.choices else 'limits'} of {variable.name} beyond what {model.name} allows"
        value = f"{_said(variable.low, dimension)}:{_said(variable.high, dimension)}"
        value = ", ".join(_said(one, dimension) for one in variable.choices) or value
        raise InputError(what, variable.place, value=value, allowed=allowed)
    if known.whole and variable.choices and any(value != np.floor(value) for value in variable.choices):
        raise InputError(f"choices of {variable.name}", variable.place, value=variable.choices, allowed="whole numbers")
    whole = (variable.whole or known.whole) and not variable.choices
    default = variable.default if variable.default is not None else known.default
    inside = default is not None and variable.low <= default <= variable.high
    words = {number: word for word, number in known.choices.items()}
    return replace(variable, whole=whole, default=default if inside else None, words=words)


def _said(value: float, dimension: str) -> str:
    """A limit with its unit."""
    if dimension in ("", "count") or not np.isfinite(value):
        return f"{value:g}"
    return format_quantity(value, dimension)


@dataclass(frozen=True)
class NativeModel:
    """A workload on a machine, by the forecast. ``scenario``: both, with the parameters and constants that are fixed.

    ``extras`` add metrics; by default those of ``HardwareMetrics``.
    """

    scenario: Scenario
    extras: tuple[Extra, ...] | None = None
    design_point: DesignPoint = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.extras is None:
            own = {*METRICS, FOOTPRINT, CAPACITY_METRIC, *self.workload.equations, *self.workload.parameters, "P"}
            object.__setattr__(self, "extras", (HardwareMetrics(self.machine, taken=frozenset(own)),))
        design_point = self.scenario.bind()
        design_point.require_one_point("an exploration")
        object.__setattr__(self, "design_point", design_point)

    @property
    def workload(self) -> Workload:
        """That of the scenario."""
        return self.scenario.workload

    @property
    def machine(self) -> Machine:
        """That of the scenario."""
        return self.scenario.machine

    @property
    def name(self) -> str:
        """Of both."""
        return f"{self.workload.name} on {self.machine.name}"

    @cached_property
    def dimensions(self) -> Mapping[str, str]:
        """All metrics."""
        found = dict(METRICS)
        if self.workload.footprint is not None:
            found[FOOTPRINT] = "size"
        if self.design_point.capacity_bytes is not None:
            found[CAPACITY_METRIC] = "size"
        found |= {f"phase.{name}": "time" for name in self.design_point.workload.phases() if name.isidentifier()}
        found |= {name: "" for name in self.workload.equations if name not in found}
        found |= {f"used.{name}": "count" for name in _resources_of(self.design_point.workload)}
        for extra in self.extras or ():
            found |= extra.dimensions
        return found

    def fixed(self, varied: Collection[str]) -> Mapping[str, float]:
        """Parameters, ``P`` and constants that are not varied."""
        values = {name: self._now(name) for name in (*self.workload.parameters, "P")}
        return _beside({**values, **_constants_of(self.design_point.machine)}, varied, self.machine)

    def parameter(self, name: str) -> tuple[Parameter, str]:
        """A parameter of the workload, ``P``, or a constant of the machine."""
        if name in self.workload.parameters:
            known = self.workload.parameters[name]
            high = min(known.high, self.machine.most_ranks) if name == "P" else known.high
            return replace(known, default=self._now(name), high=high), known.dimension if known.unit else ""
        if name == "P":
            return Parameter("P", self._now(name), whole=True, low=1, high=self.machine.most_ranks), ""
        constants = _constants_of(self.design_point.machine)
        if name in constants:
            return _constant(name, constants[name], self.machine)
        allowed = nearest(name, {*self.workload.parameters, "P", *constants})
        raise InputError(f"{self.name}: nothing of this name can be varied", value=name, allowed=allowed)

    def _now(self, name: str) -> float:
        return float(np.asarray(self.design_point.values[name]))

    def parameters(self, values: Mapping[str, FloatOrArray]) -> dict[str, object]:
        """Arguments of ``forecast`` and ``simulate`` for these values of the variables."""
        fixed = {name: value for name, value in self.scenario.parameters.items() if name not in values}
        return {**fixed, **_translated(values, self.machine)}

    def _with(self, parameters: Mapping[str, object]) -> Scenario:
        """The scenario with these parameters alone."""
        return replace(self.scenario, parameters=parameters)

    def evaluate(self, values: Mapping[str, FloatArray]) -> Mapping[str, FloatOrArray]:
        """The forecast at n points, and every fixed number."""
        count = len(next(iter(values.values())))
        self._check_occupancy(values, count)
        if not self.by_rank:
            return self._read(values)
        # Ranks that differ are the last axis of all arrays: points of one P at a time, and not too many.
        ranks = values.get("P", np.full(count, self.design_point.values["P"]))
        whole: dict[str, FloatArray] = {}
        for size in np.unique(ranks):
            held = max(int(MOST_HELD // max(size, 1)), 1)
            places = np.flatnonzero(ranks == size)
            for chunk in np.array_split(places, -(-len(places) // held)):
                part: dict[str, Any] = {name: value[chunk] for name, value in values.items() if name != "P"}
                for name, value in self._read(part, P=float(size)).items():
                    whole.setdefault(name, np.empty(count))[chunk] = value
        return whole

    def _check_occupancy(self, values: Mapping[str, FloatArray], count: int) -> None:
        """Refuse at once all points at which messages would pass their link or interface faster than it goes: where a
        bandwidth is varied these are many."""
        asked, network = self.parameters(values), self.design_point.machine.network
        whole: Any = asked.get(f"network.{'G' if network.model == 'loggop' else 'per_byte'}", network.per_byte_s)
        for part in ("link", "interface"):
            own: Any = asked.get(f"network.{part}_per_byte", getattr(network, f"{part}_per_byte_s"))
            refused = np.broadcast_to(np.greater(whole if own is None else own, whole * (1 + 1e-12)), (count,))
            if refused.any():
                what = f"a message cannot pass faster than its {part}"
                limit = f"network.bandwidth up to that of the {part}"
                raise RefusedPointsError(InputError(what, self.machine.place, allowed=limit), refused)

    @cached_property
    def by_rank(self) -> bool:
        """Whether ranks differ, so that there is no forecast for several P at once."""
        return self.design_point.workload.differs_by_rank

    def _read(self, values: Mapping[str, FloatOrArray], **more: float) -> dict[str, FloatOrArray]:
        asked = {**self.parameters(values), **more}
        result = forecast(self._with(asked))
        return self.metrics(result, asked)

    def metrics(self, result: Result, asked: Mapping[str, object]) -> dict[str, FloatOrArray]:
        """The metrics of a forecast or simulation with these parameters."""
        found = {**{name: result.values[name] for name in self.workload.equations}, **metrics_of(result)}
        found |= {name: np.nan for name in self.dimensions if name not in found}  # what is not in this Result
        if self.extras:
            constants: dict[str, Any] = {name: value for name, value in asked.items() if _of_machine(name)}
            machine = self.machine.with_constants(constants)
            if CAPACITY in asked:
                capacity: Any = asked[CAPACITY]
                machine = replace(machine, capacity_bytes=capacity)
            counts = {"nodes": machine.nodes, "processors_per_node": machine.processors_per_node}
            for extra in self.extras:
                found |= extra.evaluate(machine, counts, result)
        return {name: found[name] for name in self.dimensions}

    def simulate(self, values: Mapping[str, float], **options: Any) -> dict[str, FloatOrArray]:
        """The same metrics by simulation, at one point; options of ``simulate``."""
        asked = self.parameters(values)
        result = simulate(self._with(asked), **options)
        return self.metrics(result, asked)

    def compare(self, values: Mapping[str, float], **options: Any) -> Comparison:
        """Forecast and simulations at one point; options of ``compare``."""
        return compare(self._with(self.parameters(values)), **options)


@dataclass(frozen=True)
class MachineModel:
    """A machine without a workload: what it is capable of. Counts and constants may be varied."""

    machine: Machine
    extras: tuple[Extra, ...] | None = None

    def __post_init__(self) -> None:
        if self.extras is None:
            object.__setattr__(self, "extras", (HardwareMetrics(self.machine, False, frozenset(MACHINE_METRICS)),))

    @property
    def name(self) -> str:
        """Of the machine."""
        return self.machine.name

    @cached_property
    def dimensions(self) -> Mapping[str, str]:
        """All metrics."""
        absent = set() if self.machine.memory is not None else {"memory_bandwidth", "flops_per_byte"}
        absent |= set() if self.machine.capacity_bytes is not None else {"memory_capacity"}
        found = {name: dimension for name, dimension in MACHINE_METRICS.items() if name not in absent}
        for extra in self.extras or ():
            found |= extra.dimensions
        return found

    def fixed(self, varied: Collection[str]) -> Mapping[str, float]:
        """Counts and constants that are not varied."""
        return _beside({**self._counts(), **_constants_of(self.machine)}, varied, self.machine)

    def _counts(self) -> dict[str, float]:
        return {"nodes": float(self.machine.nodes), "processors_per_node": float(self.machine.processors_per_node)}

    def parameter(self, name: str) -> tuple[Parameter, str]:
        """A count or a constant of the machine."""
        known = self.fixed(())
        if name not in known:
            what = f"{self.name}: nothing of this name can be varied"
            raise InputError(what, value=name, allowed=nearest(name, known))
        if name in COUNTS:
            return Parameter(name, known[name], low=1, whole=True), ""
        return _constant(name, known[name], self.machine)

    def evaluate(self, values: Mapping[str, FloatArray]) -> Mapping[str, FloatOrArray]:
        """Capability at n points."""
        constants = _translated({name: value for name, value in values.items() if name not in COUNTS}, self.machine)
        machine = self.machine.with_constants({name: value for name, value in constants.items() if name != CAPACITY})
        machine = replace(machine, capacity_bytes=constants.get(CAPACITY, machine.capacity_bytes))
        counts: dict[str, FloatOrArray] = {
            **self._counts(),
            **{name: values[name] for name in COUNTS if name in values},
        }
        found = capability(machine, counts)
        for extra in self.extras or ():
            found |= extra.evaluate(machine, counts, None)
        return {name: found[name] for name in self.dimensions}


def capability(machine: Machine, counts: Mapping[str, FloatOrArray]) -> dict[str, FloatOrArray]:
    """Metrics of a machine alone with so many ``nodes`` and ``processors_per_node``."""
    nodes = counts["nodes"]
    processors = nodes * counts["processors_per_node"]
    found: dict[str, FloatOrArray] = {
        "processors": processors,
        "peak_rate": processors * machine.processor.rate_flop_per_s,
    }
    with np.errstate(all="ignore"):
        found["injection_bandwidth"] = nodes / np.asarray(machine.network.interface_occupancy_s_per_byte)
        if machine.capacity_bytes is not None:
            found["memory_capacity"] = nodes * machine.capacity_bytes
        if machine.memory is not None:
            found["memory_bandwidth"] = nodes / np.asarray(machine.memory.per_byte_s)
            found["flops_per_byte"] = found["peak_rate"] / found["memory_bandwidth"]
    return found


def metrics_of(result: Result) -> dict[str, FloatOrArray]:
    """The metrics of a forecast or a simulation."""
    parts = result.components
    found: dict[str, FloatOrArray] = {
        "time": result.makespan_s,
        "computation": parts["computation"],
        "communication": parts["communication"],
        "disk_time": parts["disk"],
        "memory_time": parts["memory"],
        "messages": result.messages,
        "message_bytes": result.message_bytes,
        "disk_bytes": result.disk_bytes,
        "flops": result.flops,
        "instructions": result.instructions,
    }
    with np.errstate(all="ignore"):
        found["rate"] = np.asarray(result.flops) / np.asarray(result.makespan_s)
    if result.footprint_bytes is not None:
        found[FOOTPRINT] = result.footprint_bytes
    if result.capacity_bytes is not None:
        found[CAPACITY_METRIC] = result.capacity_bytes
    found |= {f"used.{name}": amount for name, amount in result.used.items()}
    zero: FloatOrArray = 0.0
    return {**found, **{f"phase.{name}": sum(times.values(), zero) for name, times in result.phases.items()}}


def constant_dimension(path: str) -> str:
    """Of a constant or a power of a machine, or of a bandwidth in place of one."""
    if path in BANDWIDTHS:
        return "bandwidth"
    return "size" if path == CAPACITY else (CONSTANTS | POWERS)[path][2]


def _constant(path: str, now: float, machine: Machine) -> tuple[Parameter, str]:
    """What is known of a constant, a power or a parameter of a machine, and its dimension."""
    if path.startswith(PREFIX):
        known = machine.parameter(path)
        return replace(known, name=path, default=now), known.dimension if known.unit else ""
    return Parameter(path, now, low=0.0), constant_dimension(path)


def _of_machine(name: str) -> bool:
    """Whether ``Machine.with_constants`` takes it."""
    return name in CONSTANTS or name in POWERS or name.startswith(PREFIX)


def _resources_of(workload: Workload) -> tuple[str, ...]:
    """Resources of the machine that a workload uses."""
    blocks = (step for step in walk(workload.program) if isinstance(step, Execute))
    return tuple(dict.fromkeys(use.resource for block in blocks for use in block.uses))


def inverse_of(path: str, machine: Machine) -> str | None:
    """The constant of which a bandwidth is the inverse; None for anything else."""
    loggop = path == "network.bandwidth" and machine.network.model == "loggop"
    return LOGGOP_PER_BYTE if loggop else BANDWIDTHS.get(path)


def _constants_of(machine: Machine) -> dict[str, float]:
    """Every constant, power and parameter, and every bandwidth in place of a time per byte."""
    values = machine.constants() | machine.powers()
    values |= {f"{PREFIX}{name}": machine.names()[name] for name in machine.custom.parameters}
    known = {path: float(np.asarray(value)) for path, value in values.items()}
    if machine.capacity_bytes is not None:
        known[CAPACITY] = float(np.asarray(machine.capacity_bytes))
    pairs = [(path, inverse_of(path, machine)) for path in BANDWIDTHS]
    known |= {path: 1.0 / known[other] for path, other in pairs if other in known and known[other] > 0}
    return known


def _beside(known: Mapping[str, float], varied: Collection[str], machine: Machine) -> dict[str, float]:
    """What is known but for what is varied, in whatever unit."""
    gone = set(varied)
    for path in BANDWIDTHS:
        other = inverse_of(path, machine)
        gone |= {path, other or ""} if gone & {path, other} else set()
    return {name: value for name, value in known.items() if name not in gone}


def _translated(values: Mapping[str, FloatOrArray], machine: Machine) -> dict[str, FloatOrArray]:
    """Values with times per byte in place of bandwidths. InputError where both are given."""
    found: dict[str, FloatOrArray] = {}
    for name, value in values.items():
        other = inverse_of(name, machine)
        if other is None:
            found[name] = value
            continue
        if other in values:
            raise InputError(f"{name} is {other} in another unit", allowed="one of them varied")
        with np.errstate(divide="ignore"):
            found[other] = 1.0 / np.asarray(value)
    return found
