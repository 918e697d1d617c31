"""Models for design-space exploration: a workload on a machine, or a machine alone, with their metrics.

Variables of a workload on a machine are its parameters, ``P``, and the constants, powers and parameters
(``machine.NAME``) of the machine by their paths (also ``network.bandwidth`` and the like, in place of a time per byte);
metrics are those of the forecast and those that the machine defines: properties, costs, power (``Extra``).
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
#: The constant of LogGOP that corresponds to ``network.per_byte``.
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
#: Metrics of memory, where the workload defines a footprint and the machine a capacity.
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
#: Counts that may be varied for a machine without a workload.
COUNTS = ("nodes", "processors_per_node")
#: Ranks times points kept in memory at once where ranks differ.
MOST_HELD = 4_000_000


class Extra(Protocol):
    """More metrics of a machine, and of a run on it: power, energy, costs."""

    @property
    def dimensions(self) -> Mapping[str, str]:
        """Names and dimensions of the metrics."""

    def evaluate(
        self, machine: Machine, counts: Mapping[str, FloatOrArray], result: Result | None
    ) -> Mapping[str, FloatOrArray]:
        """The metrics of a machine whose constants may be arrays. ``counts``: nodes and processors per node; ``result``
        of the run, None for a machine alone."""


class Explorable(Model, Protocol):
    """A model that knows what may be varied."""

    def parameter(self, name: str) -> tuple[Parameter, str]:
        """Limits, integrality and default of a variable, and its dimension. Raises InputError for an unknown name."""


@runtime_checkable
class Ranged(Protocol):
    """A model whose parameters have ranges, and words for their values."""

    def variable(self, name: str, place: Place | None = None) -> Variable:
        """A parameter over all of its range. InputError for one without."""

    def word(self, name: str, text: str) -> float:
        """The value that a word stands for. InputError for other words."""


def apply_model_limits(model: Explorable, variable: Variable) -> Variable:
    """The variable with integrality, default and value names from the model.

    Raises InputError for values beyond the limits of the model.
    """
    parameter, dimension = model.parameter(variable.name)
    outside = variable.low < parameter.low or variable.high > parameter.high
    if outside:
        allowed = f"within {_format_limit(parameter.low, dimension)} to {_format_limit(parameter.high, dimension)}"
        what = f"{'choices' if variable.choices else 'limits'} of {variable.name} beyond what {model.name} allows"
        value = f"{_format_limit(variable.low, dimension)}:{_format_limit(variable.high, dimension)}"
        value = ", ".join(_format_limit(choice, dimension) for choice in variable.choices) or value
        raise InputError(what, variable.place, value=value, allowed=allowed)
    if parameter.whole and variable.choices and any(value != np.floor(value) for value in variable.choices):
        raise InputError(f"choices of {variable.name}", variable.place, value=variable.choices, allowed="whole numbers")
    whole = (variable.whole or parameter.whole) and not variable.choices
    default = variable.default if variable.default is not None else parameter.default
    inside = default is not None and variable.low <= default <= variable.high
    words = {number: word for word, number in parameter.choices.items()}
    return replace(variable, whole=whole, default=default if inside else None, words=words)


def _format_limit(value: float, dimension: str) -> str:
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
            taken_names = {
                *METRICS,
                FOOTPRINT,
                CAPACITY_METRIC,
                *self.workload.equations,
                *self.workload.parameters,
                "P",
            }
            object.__setattr__(self, "extras", (HardwareMetrics(self.machine, taken=frozenset(taken_names)),))
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
        """``workload on machine``."""
        return f"{self.workload.name} on {self.machine.name}"

    @cached_property
    def dimensions(self) -> Mapping[str, str]:
        """All metrics."""
        dimensions = dict(METRICS)
        if self.workload.footprint is not None:
            dimensions[FOOTPRINT] = "size"
        if self.design_point.capacity_bytes is not None:
            dimensions[CAPACITY_METRIC] = "size"
        dimensions |= {f"phase.{name}": "time" for name in self.design_point.workload.phases() if name.isidentifier()}
        dimensions |= {name: "" for name in self.workload.equations if name not in dimensions}
        dimensions |= {f"used.{name}": "count" for name in _resources_of(self.design_point.workload)}
        for extra in self.extras or ():
            dimensions |= extra.dimensions
        return dimensions

    def fixed(self, varied: Collection[str]) -> Mapping[str, float]:
        """Parameters, ``P`` and constants that are not varied."""
        values = {name: self._current_value(name) for name in (*self.workload.parameters, "P")}
        return _without_varied({**values, **_constants_of(self.design_point.machine)}, varied, self.machine)

    def parameter(self, name: str) -> tuple[Parameter, str]:
        """A parameter of the workload, ``P``, or a constant of the machine."""
        if name in self.workload.parameters:
            parameter = self.workload.parameters[name]
            high = min(parameter.high, self.machine.most_ranks) if name == "P" else parameter.high
            return replace(
                parameter, default=self._current_value(name), high=high
            ), parameter.dimension if parameter.unit else ""
        if name == "P":
            return Parameter("P", self._current_value(name), whole=True, low=1, high=self.machine.most_ranks), ""
        constants = _constants_of(self.design_point.machine)
        if name in constants:
            return _constant(name, constants[name], self.machine)
        allowed = nearest(name, {*self.workload.parameters, "P", *constants})
        raise InputError(f"{self.name}: nothing of this name can be varied", value=name, allowed=allowed)

    def _current_value(self, name: str) -> float:
        return float(np.asarray(self.design_point.values[name]))

    def parameters(self, values: Mapping[str, FloatOrArray]) -> dict[str, object]:
        """Arguments of ``forecast`` and ``simulate`` for these values of the variables."""
        fixed = {name: value for name, value in self.scenario.parameters.items() if name not in values}
        return {**fixed, **_without_bandwidths(values, self.machine)}

    def _scenario_with(self, parameters: Mapping[str, object]) -> Scenario:
        """The scenario with these parameters alone."""
        return replace(self.scenario, parameters=parameters)

    def evaluate(self, values: Mapping[str, FloatArray]) -> Mapping[str, FloatOrArray]:
        """The forecast at n points, and every fixed number."""
        count = len(next(iter(values.values())))
        self._check_occupancy(values, count)
        if not self.by_rank:
            return self._forecast_metrics(values)
        # Ranks that differ are the last axis of all arrays: points of one P at a time, and not too many.
        ranks = values.get("P", np.full(count, self.design_point.values["P"]))
        whole: dict[str, FloatArray] = {}
        for size in np.unique(ranks):
            points_per_chunk = max(int(MOST_HELD // max(size, 1)), 1)
            indices = np.flatnonzero(ranks == size)
            for chunk in np.array_split(indices, -(-len(indices) // points_per_chunk)):
                chunk_values: dict[str, Any] = {name: value[chunk] for name, value in values.items() if name != "P"}
                for name, value in self._forecast_metrics(chunk_values, P=float(size)).items():
                    whole.setdefault(name, np.empty(count))[chunk] = value
        return whole

    def _check_occupancy(self, values: Mapping[str, FloatArray], count: int) -> None:
        """Raise RefusedPointsError for all points at which the network would be faster than its links or interfaces:
        these are many where a bandwidth is varied."""
        parameters, network = self.parameters(values), self.design_point.machine.network
        network_per_byte: Any = parameters.get(
            f"network.{'G' if network.model == 'loggop' else 'per_byte'}", network.per_byte_s
        )
        for part in ("link", "interface"):
            part_per_byte: Any = parameters.get(f"network.{part}_per_byte", getattr(network, f"{part}_per_byte_s"))
            refused = np.broadcast_to(
                np.greater(
                    network_per_byte if part_per_byte is None else part_per_byte, network_per_byte * (1 + 1e-12)
                ),
                (count,),
            )
            if refused.any():
                what = f"a message cannot pass faster than its {part}"
                limit = f"network.bandwidth up to that of the {part}"
                raise RefusedPointsError(InputError(what, self.machine.place, allowed=limit), refused)

    @cached_property
    def by_rank(self) -> bool:
        """Whether ranks differ, so that there is no forecast for several P at once."""
        return self.design_point.workload.differs_by_rank

    def _forecast_metrics(self, values: Mapping[str, FloatOrArray], **overrides: float) -> dict[str, FloatOrArray]:
        parameters = {**self.parameters(values), **overrides}
        result = forecast(self._scenario_with(parameters))
        return self.metrics(result, parameters)

    def metrics(self, result: Result, parameters: Mapping[str, object]) -> dict[str, FloatOrArray]:
        """The metrics of a forecast or simulation with these parameters."""
        metrics = {**{name: result.values[name] for name in self.workload.equations}, **metrics_of(result)}
        metrics |= {name: np.nan for name in self.dimensions if name not in metrics}  # what is not in this Result
        if self.extras:
            constants: dict[str, Any] = {name: value for name, value in parameters.items() if _of_machine(name)}
            machine = self.machine.with_constants(constants)
            if CAPACITY in parameters:
                capacity: Any = parameters[CAPACITY]
                machine = replace(machine, capacity_bytes=capacity)
            counts = {"nodes": machine.nodes, "processors_per_node": machine.processors_per_node}
            for extra in self.extras:
                metrics |= extra.evaluate(machine, counts, result)
        return {name: metrics[name] for name in self.dimensions}

    def simulate(self, values: Mapping[str, float], **options: Any) -> dict[str, FloatOrArray]:
        """The same metrics by simulation, at one point; options of ``simulate``."""
        parameters = self.parameters(values)
        result = simulate(self._scenario_with(parameters), **options)
        return self.metrics(result, parameters)

    def compare(self, values: Mapping[str, float], **options: Any) -> Comparison:
        """Forecast and simulations at one point; options of ``compare``."""
        return compare(self._scenario_with(self.parameters(values)), **options)


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
        dimensions = {name: dimension for name, dimension in MACHINE_METRICS.items() if name not in absent}
        for extra in self.extras or ():
            dimensions |= extra.dimensions
        return dimensions

    def fixed(self, varied: Collection[str]) -> Mapping[str, float]:
        """Counts and constants that are not varied."""
        return _without_varied({**self._counts(), **_constants_of(self.machine)}, varied, self.machine)

    def _counts(self) -> dict[str, float]:
        return {"nodes": float(self.machine.nodes), "processors_per_node": float(self.machine.processors_per_node)}

    def parameter(self, name: str) -> tuple[Parameter, str]:
        """A count or a constant of the machine."""
        values = self.fixed(())
        if name not in values:
            what = f"{self.name}: nothing of this name can be varied"
            raise InputError(what, value=name, allowed=nearest(name, values))
        if name in COUNTS:
            return Parameter(name, values[name], low=1, whole=True), ""
        return _constant(name, values[name], self.machine)

    def evaluate(self, values: Mapping[str, FloatArray]) -> Mapping[str, FloatOrArray]:
        """Capability at n points."""
        constants = _without_bandwidths(
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
    """Metrics of a machine alone with so many ``nodes`` and ``processors_per_node``."""
    nodes = counts["nodes"]
    processors = nodes * counts["processors_per_node"]
    metrics: dict[str, FloatOrArray] = {
        "processors": processors,
        "peak_rate": processors * machine.processor.rate_flop_per_s,
    }
    with np.errstate(all="ignore"):
        metrics["injection_bandwidth"] = nodes / np.asarray(machine.network.interface_occupancy_s_per_byte)
        if machine.capacity_bytes is not None:
            metrics["memory_capacity"] = nodes * machine.capacity_bytes
        if machine.memory is not None:
            metrics["memory_bandwidth"] = nodes / np.asarray(machine.memory.per_byte_s)
            metrics["flops_per_byte"] = metrics["peak_rate"] / metrics["memory_bandwidth"]
    return metrics


def metrics_of(result: Result) -> dict[str, FloatOrArray]:
    """The metrics of a forecast or a simulation."""
    components = result.components
    metrics: dict[str, FloatOrArray] = {
        "time": result.makespan_s,
        "computation": components["computation"],
        "communication": components["communication"],
        "disk_time": components["disk"],
        "memory_time": components["memory"],
        "messages": result.messages,
        "message_bytes": result.message_bytes,
        "disk_bytes": result.disk_bytes,
        "flops": result.flops,
        "instructions": result.instructions,
    }
    with np.errstate(all="ignore"):
        metrics["rate"] = np.asarray(result.flops) / np.asarray(result.makespan_s)
    if result.footprint_bytes is not None:
        metrics[FOOTPRINT] = result.footprint_bytes
    if result.capacity_bytes is not None:
        metrics[CAPACITY_METRIC] = result.capacity_bytes
    metrics |= {f"used.{name}": amount for name, amount in result.used.items()}
    zero: FloatOrArray = 0.0
    return {**metrics, **{f"phase.{name}": sum(times.values(), zero) for name, times in result.phases.items()}}


def constant_dimension(path: str) -> str:
    """Of a constant or a power of a machine, or of a bandwidth in place of one."""
    if path in BANDWIDTHS:
        return "bandwidth"
    return "size" if path == CAPACITY else (CONSTANTS | POWERS)[path][2]


def _constant(path: str, value: float, machine: Machine) -> tuple[Parameter, str]:
    """A constant, power or parameter of a machine as a parameter, and its dimension."""
    if path.startswith(PREFIX):
        parameter = machine.parameter(path)
        return replace(parameter, name=path, default=value), parameter.dimension if parameter.unit else ""
    return Parameter(path, value, low=0.0), constant_dimension(path)


def _of_machine(name: str) -> bool:
    """Whether ``Machine.with_constants`` accepts the name."""
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
    constants = {path: float(np.asarray(value)) for path, value in values.items()}
    if machine.capacity_bytes is not None:
        constants[CAPACITY] = float(np.asarray(machine.capacity_bytes))
    pairs = [(path, inverse_of(path, machine)) for path in BANDWIDTHS]
    constants |= {
        path: 1.0 / constants[inverse] for path, inverse in pairs if inverse in constants and constants[inverse] > 0
    }
    return constants


def _without_varied(constants: Mapping[str, float], varied: Collection[str], machine: Machine) -> dict[str, float]:
    """The constants that are not varied, neither directly nor through the inverse of a bandwidth."""
    excluded = set(varied)
    for path in BANDWIDTHS:
        inverse = inverse_of(path, machine)
        excluded |= {path, inverse or ""} if excluded & {path, inverse} else set()
    return {name: value for name, value in constants.items() if name not in excluded}


def _without_bandwidths(values: Mapping[str, FloatOrArray], machine: Machine) -> dict[str, FloatOrArray]:
    """Values with times per byte in place of bandwidths. Raises InputError where both are given."""
    translated: dict[str, FloatOrArray] = {}
    for name, value in values.items():
        inverse = inverse_of(name, machine)
        if inverse is None:
            translated[name] = value
            continue
        if inverse in values:
            raise InputError(f"{name} is {inverse} in another unit", allowed="one of them varied")
        with np.errstate(divide="ignore"):
            translated[inverse] = 1.0 / np.asarray(value)
    return translated
