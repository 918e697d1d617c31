"""Aspen models for design-space exploration: an application on one kind of socket, or a machine alone.

Variables are the parameters of both files, within the ranges that the files give them; members of enumerations count
from 0. A name that both files have is ``application.name`` or ``machine.name``. Metrics as in the paper
(Spafford and Vetter, Scientific Programming 2015): time, energy, power, memory, and the amount of each resource.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simcodesign.aspen.application import Application
from simcodesign.aspen.capacity import data_bytes, memory_bytes
from simcodesign.aspen.machine import AspenMachine, LocatedResource
from simcodesign.aspen.part_costs import part_costs, stated_costs
from simcodesign.aspen.power import energy_j, machine_max_power_w, max_power_w, static_power_w
from simcodesign.aspen.run.comparison import AspenComparison, compare_aspen, simulate_aspen
from simcodesign.aspen.scope import Definitions, Given, Scope, range_of, read_given
from simcodesign.aspen.timing import BlockTime, Timing, read_machine_parameters, run_time, split_parameters
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.result import Result
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.parameters import Parameter
from simcodesign.studies.explore.space import FloatArray, Variable

#: Metrics of an application on a machine, and their dimensions.
METRICS = {
    "time": "time",
    "energy": "energy",
    "max_power": "power",
    "static_power": "power",
    "data_bytes": "size",
    "memory_bytes": "size",
}
#: Metrics of a machine alone.
MACHINE_METRICS = {"max_power": "power", "static_power": "power", "memory_bytes": "size"}
#: Dimensions of the costs that components may state; a die area is in square metres, a price in its own currency.
COST_DIMENSIONS = {"rack_units": "count", "die_area": "", "price": ""}
#: Resources whose amounts have a dimension; the others are counted.
DIMENSION_OF = {"loads": "size", "stores": "size", "messages": "size", "intracomm": "size"}
_PROBE = 1e12  # an amount so large that the fixed cost of one use is negligible


@dataclass(frozen=True)
class AspenModel:
    """An application on a machine. ``given``: parameters that are fixed to other values than in the files.

    Metrics in addition to ``METRICS``: for each used resource its amount (``flops``) and seconds
    (``flops_time``), and every property of the machine (``component.property``). Raises InputError as ``run_time``.
    """

    application: Application
    machine: AspenMachine
    socket: str | None = None
    given: Mapping[str, Given] = field(default_factory=dict)
    kernel: str = "main"
    timing: Timing = field(init=False, compare=False, repr=False)
    dimensions: Mapping[str, str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        timing = run_time(self.application, self.machine, self.socket, self.given, kernel=self.kernel)
        if np.ndim(timing.seconds):
            raise InputError("an exploration begins at one point, not arrays", value=f"{np.size(timing.seconds)}")
        object.__setattr__(self, "socket", timing.socket)
        object.__setattr__(self, "timing", timing)
        object.__setattr__(self, "dimensions", self._dimensions())

    @property
    def name(self) -> str:
        """``application on machine (socket)``."""
        socket = f" ({self.socket})" if self.socket else ""
        return f"{self.application.name} on {self.machine.name}{socket}"

    def _dimensions(self) -> dict[str, str]:
        """All metrics."""
        dimensions = dict(METRICS)
        for resource in dict.fromkeys(use.resource for block in self.timing.blocks for use in block.uses):
            dimensions |= {resource: DIMENSION_OF.get(resource, "count"), f"{resource}_time": "time"}
        dimensions |= {name: COST_DIMENSIONS[name] for name in stated_costs(self.machine)}
        dimensions |= dict.fromkeys(_properties(self.machine), "")
        parameters = self._names
        return {name: dimension for name, dimension in dimensions.items() if name not in parameters}

    @property
    def _names(self) -> dict[str, tuple[Definitions, str]]:
        """Every parameter under the name by which it is varied: its definitions, and its name there."""
        application_parameters = {name: self.application.model_of(name) for name in self.application.parameters}
        shared_names = application_parameters.keys() & self.machine.definitions.parameters.keys()
        definitions_by_name = {
            f"application.{name}" if name in shared_names else name: (model.definitions, last)
            for name, (model, last) in application_parameters.items()
        }
        return definitions_by_name | {
            f"machine.{name}" if name in shared_names else name: (self.machine.definitions, name)
            for name in self.machine.definitions.parameters
        }

    def is_of_machine(self, name: str) -> bool:
        """Whether this is a parameter of the machine."""
        return name in self._names and self._names[name][0] is self.machine.definitions

    def fixed(self, varied: Collection[str]) -> Mapping[str, float]:
        """Values of the parameters that are neither varied nor computed from varied ones."""
        application_values, machine_values = split_parameters(
            self.application, self.machine, dict.fromkeys(varied, 0.0)
        )
        fixed_values: dict[str, float] = {}
        for name, (definitions, last) in self._names.items():
            if definitions is self.machine.definitions:
                is_fixed = not _depends_on(definitions, last, machine_values)
            elif definitions is self.application.definitions:
                is_fixed = not _depends_on(definitions, last, application_values)
            else:  # of an import, to which the importing model may hand on what is varied
                is_fixed = not application_values
            if is_fixed:
                fixed_values |= _value_if_defined(name, self._current_value)
        return fixed_values

    def _current_value(self, name: str) -> float:
        """Return the value of a parameter at the given ones."""
        application_values, machine_values = split_parameters(self.application, self.machine, dict(self.given))
        owner, _, rest = name.partition(".")
        key = rest if owner in ("application", "machine") and name not in self.application.parameters else name
        is_machine = owner == "machine" or (owner != "application" and key in self.machine.definitions.parameters)
        scope: Scope = self.machine.scope(machine_values) if is_machine else self.application.scope(application_values)
        with np.errstate(all="ignore"):
            return float(scope.value(key, None))

    def parameter(self, name: str) -> tuple[Parameter, str]:
        """Return a parameter of the application or of the machine, with its range."""
        if name not in self._names:
            what = f"{self.name}: nothing of this name can be varied"
            raise InputError(what, value=name, allowed=nearest(name, self._names))
        return _parameter(name, *self._names[name], self._current_value(name)), ""

    def variable(self, name: str, place: Place | None = None) -> Variable:
        """Return a parameter over all of its range. InputError for one without a range."""
        self.parameter(name)
        return _variable(name, *self._names[name], self._current_value(name), place)

    def word(self, name: str, text: str) -> float:
        """Return a member of the enumeration of a parameter as its number. InputError for other words."""
        self.parameter(name)
        return float(read_given(*self._names[name], text))

    def parameters(self, values: Mapping[str, FloatOrArray]) -> dict[str, Given]:
        """Arguments of ``run_time`` for these values of the variables."""
        return {**self.given, **values}

    def evaluate(self, values: Mapping[str, FloatArray]) -> Mapping[str, FloatOrArray]:
        """All metrics at n points."""
        parameters = self.parameters(values)
        timing = run_time(self.application, self.machine, self.socket, parameters, kernel=self.kernel)
        return self._metrics(timing, timing.seconds)

    def _metrics(self, timing: Timing, seconds: Any) -> dict[str, FloatOrArray]:
        application_values, machine_values = split_parameters(self.application, self.machine, timing.parameters)
        static = static_power_w(self.machine, machine_values)
        sizes: Any = sum(data_bytes(self.application, application_values).values(), 0.0)
        with np.errstate(invalid="ignore"):  # an infinite time has no energy, and is no answer
            idle_s = seconds - np.asarray(timing.seconds)
        metrics: dict[str, FloatOrArray] = {
            "time": seconds,
            "energy": energy_j(timing) + static * idle_s,
            "max_power": max_power_w(timing),
            "static_power": static,
            "data_bytes": sizes,
            "memory_bytes": memory_bytes(self.machine, self.socket, machine_values),
        }
        metrics |= _amounts(timing.blocks) | part_costs(self.machine, machine_values)
        with np.errstate(all="ignore"):
            metrics |= self.machine.property_values(timing.machine_names)
        return {name: metrics.get(name, 0.0) for name in self.dimensions}  # 0: a resource used elsewhere only

    def metrics(self, simulated: Result, parameters: Mapping[str, Any]) -> dict[str, FloatOrArray]:
        """Return the metrics at one point with the time of a simulation."""
        timing = run_time(self.application, self.machine, self.socket, parameters, kernel=self.kernel)
        return self._metrics(timing, float(simulated.makespan_s))

    def simulate(self, values: Mapping[str, float], **options: Any) -> dict[str, FloatOrArray]:
        """Return the metrics by simulation, at one point; options of ``simulate_aspen``."""
        parameters = self.parameters(values)
        result = simulate_aspen(self.application, self.machine, self.socket, parameters, kernel=self.kernel, **options)
        return self.metrics(result, parameters)

    def compare(self, values: Mapping[str, float], **options: Any) -> AspenComparison:
        """Compare closed form and simulations at one point; options of ``compare_aspen``."""
        parameters = self.parameters(values)
        return compare_aspen(self.application, self.machine, self.socket, parameters, kernel=self.kernel, **options)


@dataclass(frozen=True)
class AspenMachineModel:
    """A machine without an application: power, memory, and what it is capable of.

    Metrics in addition to ``MACHINE_METRICS``: for each resource of the socket the rate of all its instances without
    traits, for amounts so large that the fixed cost of one use is negligible (``flops_rate``); the number of each
    component (``count.component``); ``rack_units``, ``die_area`` and ``price`` where components state them; and every
    property (``component.property``).
    """

    machine: AspenMachine
    socket: str | None = None
    given: Mapping[str, Given] = field(default_factory=dict)
    resources: Mapping[str, LocatedResource] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "socket", self.machine.check_socket(self.socket))
        scope, resources = self.machine.scope(read_machine_parameters(self.machine, self.given)), {}
        for resource in dict.fromkeys(self.machine.resources(self.socket)):
            located = self.machine.find(resource, self.socket)
            if located is not None and _has_rate(located, scope):
                resources[resource] = located
        object.__setattr__(self, "resources", resources)

    @property
    def name(self) -> str:
        """Name of the machine."""
        return f"{self.machine.name} ({self.socket})" if self.socket else self.machine.name

    @property
    def dimensions(self) -> Mapping[str, str]:
        """All metrics."""
        dimensions = dict(MACHINE_METRICS)
        for resource in self.resources:
            dimensions[f"{resource}_rate"] = (
                "bandwidth" if resource in DIMENSION_OF else "rate" if resource == "flops" else ""
            )
        dimensions |= {name: COST_DIMENSIONS[name] for name in stated_costs(self.machine)}
        dimensions |= {f"count.{element.name}": "count" for element in self.machine.below(self.machine.top)}
        dimensions |= dict.fromkeys(_properties(self.machine), "")
        return {
            name: dimension for name, dimension in dimensions.items() if name not in self.machine.definitions.parameters
        }

    def fixed(self, varied: Collection[str]) -> Mapping[str, float]:
        """Values of the parameters that are neither varied nor computed from varied ones."""
        definitions = self.machine.definitions
        fixed_values: dict[str, float] = {}
        for name in definitions.parameters:
            if not _depends_on(definitions, name, set(varied)):
                fixed_values |= _value_if_defined(name, self._current_value)
        return fixed_values

    def _current_value(self, name: str) -> float:
        scope = self.machine.scope(read_machine_parameters(self.machine, self.given))
        with np.errstate(all="ignore"):
            return float(scope.value(name, None))

    def parameter(self, name: str) -> tuple[Parameter, str]:
        """Return a parameter of the machine, with its range."""
        definitions = self.machine.definitions
        if name not in definitions.parameters:
            what = f"{self.name}: nothing of this name can be varied"
            raise InputError(what, value=name, allowed=nearest(name, definitions.parameters))
        return _parameter(name, definitions, name, self._current_value(name)), ""

    def variable(self, name: str, place: Place | None = None) -> Variable:
        """Return a parameter over all of its range. InputError for one without a range."""
        self.parameter(name)
        return _variable(name, self.machine.definitions, name, self._current_value(name), place)

    def word(self, name: str, text: str) -> float:
        """Return a member of the enumeration of a parameter as its number. InputError for other words."""
        self.parameter(name)
        return float(read_given(self.machine.definitions, name, text))

    def evaluate(self, values: Mapping[str, FloatArray]) -> Mapping[str, FloatOrArray]:
        """Capability at n points."""
        parameters: dict[str, Given] = {**self.given, **values}
        scope = self.machine.scope(read_machine_parameters(self.machine, parameters))
        metrics: dict[str, FloatOrArray] = {
            "max_power": machine_max_power_w(self.machine, parameters),
            "static_power": static_power_w(self.machine, parameters),
            "memory_bytes": memory_bytes(self.machine, self.socket, parameters),
            **part_costs(self.machine, parameters),
        }
        with np.errstate(all="ignore"):
            metrics |= {f"count.{name}": count for name, count in self.machine.counts(scope).items()}
            metrics |= self.machine.property_values(scope)
            metrics |= {f"{name}_rate": _rate(located, scope) for name, located in self.resources.items()}
        return {name: metrics[name] for name in self.dimensions}


def _value_if_defined(name: str, value_of: Callable[[str], float]) -> dict[str, float]:
    """``{name: value}``; empty if the definition uses undefined names (harmless while nothing uses the parameter)."""
    try:
        return {name: value_of(name)}
    except InputError:
        return {}


def _has_rate(located: LocatedResource, scope: Scope) -> bool:
    """Whether the resource has a finite rate; False if its time uses names that the machine does not define."""
    try:
        with np.errstate(all="ignore"):
            return bool(np.isfinite(_rate(located, scope)))
    except InputError:
        return False


def _rate(located: LocatedResource, scope: Scope) -> FloatOrArray:
    """Marginal throughput of all instances: additional amount per additional second."""
    resource = located.resource
    first, second = (
        scope.evaluate(resource.time_s, {resource.argument: np.float64(at)}) for at in (_PROBE, 2 * _PROBE)
    )
    rate: Any = located.instances(scope) * _PROBE / (second - first)
    return rate if np.ndim(rate) else float(rate)


def _amounts(blocks: Collection[BlockTime]) -> dict[str, FloatOrArray]:
    totals: dict[str, FloatOrArray] = {}
    for use in (use for block in blocks for use in block.uses):
        for name, value in ((use.resource, use.amount), (f"{use.resource}_time", use.seconds)):
            totals[name] = totals[name] + value if name in totals else value
    return totals


def _properties(machine: AspenMachine) -> list[str]:
    return [
        f"{element.name}.{name}"
        for element in machine.below(machine.top)
        for name, value in element.properties.items()
        if value is not None
    ]


def _depends_on(definitions: Definitions, name: str, changed: Collection[str]) -> bool:
    """Whether a parameter is among ``changed`` or is computed from one of them."""
    pending, visited = [name], set()
    while pending:
        current = pending.pop()
        if current in changed:
            return True
        if current not in visited:
            visited.add(current)
            expression = definitions.expression(current)
            pending += sorted(expression.names) if expression else []
    return False


def _limits(definitions: Definitions, name: str) -> tuple[float, float] | None:
    return range_of(definitions.parameters[name], Scope(definitions, {})) if name in definitions.parameters else None


def _parameter(name: str, definitions: Definitions, last: str, now: float) -> Parameter:
    definition = definitions.parameters[last]
    low, high = _limits(definitions, last) or (-np.inf, np.inf)
    members = definitions.enumerations[definition.choices].members if definition.choices is not None else ()
    choices = {word: float(number) for number, word in enumerate(members)}
    return Parameter(name, now, low=low, high=high, whole=bool(members), place=definition.place, choices=choices)


def _variable(name: str, definitions: Definitions, last: str, now: float, place: Place | None) -> Variable:
    limits, definition = _limits(definitions, last), definitions.parameters[last]
    if limits is None:
        what = f"{name} has no range in {definition.place.file}"
        raise InputError(what, place or definition.place, allowed=f"{name}=LOW:HIGH")
    choices = tuple(np.arange(limits[1] + 1).tolist()) if definition.choices is not None else ()
    return Variable(name, *limits, choices=choices, default=now, place=place or definition.place)
