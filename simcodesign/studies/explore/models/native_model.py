"""A workload on a machine, by the sum of closed forms and the bubble, as a model for design-space exploration.

Variables are its parameters, ``P``, and the constants, powers and parameters
(``machine.NAME``) of the machine by their paths (also ``network.bandwidth`` and the like, instead of a time per byte);
metrics are the metrics of the forecast and the machine's own: properties, costs, power (``Extra``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.longest_path.ranks_differ import ranks_differ
from simcodesign.analytic.machine_metrics import HardwareMetrics
from simcodesign.comparison.compare import Comparison, compare
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.interval import Interval, bounds, bounds_of, point
from simcodesign.core.forecast_parts import FailureForecast
from simcodesign.core.operation_kinds import LIMIT_NAMES, PROCESSOR_LIMIT_NAMES
from simcodesign.core.result import Result
from simcodesign.core.serving_result import ServingResult
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import CAPACITY
from simcodesign.describe.demands.computation import Copy, Kernel
from simcodesign.describe.demands.resource_uses import Execute
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.evaluation import Evaluation
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.size_segments import PATH
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.programs.program import indices_of, walk
from simcodesign.describe.scenario import OfScenario, Scenario
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from simcodesign.studies.explore.models.machine_constants import (
    constant_parameter,
    constants_of,
    is_constant,
    nothing_to_vary,
    varied_constant,
    without_bandwidths,
    without_varied,
)
from simcodesign.studies.explore.models.model_interfaces import Extra
from simcodesign.studies.explore.models.serving_metrics import SERVING_METRICS, forecast_serving, simulated_serving
from simcodesign.studies.explore.problem import RefusedPointsError
from simcodesign.studies.explore.space import FloatArray

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
#: Footprint and capacity of a rank's accelerator.
ACCELERATOR_FOOTPRINT, ACCELERATOR_CAPACITY = "accelerator_footprint", "accelerator_capacity"
#: Failures that a run meets, with the time that they add (Daly), where the machine states how often nodes fail.
FAILURES_METRIC = "failures"
#: Seconds of the run with the failures that it meets.
WITH_FAILURES = "time_with_failures"
#: Seconds of kernels and copies by what limits them, in the mean of the ranks, of workloads that have any.
LIMITED = {f"limited_by_{name}": "time" for name in LIMIT_NAMES}
#: The same for processors, for workloads that use memory; each cache has one as well.
PROCESSOR_LIMITED = {f"processor_limited_by_{name}": "time" for name in PROCESSOR_LIMIT_NAMES}
#: Ranks times points kept in memory together if ranks differ.
MAX_HELD = 4_000_000


@dataclass(frozen=True)
class NativeModel(OfScenario):
    """A workload on a machine, by the sum of closed forms and the bubble, so that all points are evaluated together.

    ``scenario``: both, with the parameters and constants that are fixed.

    ``extras`` add metrics; by default ``HardwareMetrics``. ``serves``: with metrics of a server of language
    models, which take longer than all others.
    """

    scenario: Scenario
    extras: tuple[Extra, ...] | None = None
    serves: bool = False
    design_point: DesignPoint = field(init=False, compare=False, repr=False)
    _served: dict[object, ServingResult | InputError] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        if self.extras is None:
            taken_names = {
                *METRICS,
                FOOTPRINT,
                CAPACITY_METRIC,
                ACCELERATOR_FOOTPRINT,
                ACCELERATOR_CAPACITY,
                FAILURES_METRIC,
                WITH_FAILURES,
                *LIMITED,
                *PROCESSOR_LIMITED,
                *self.workload.equations,
                *self.workload.parameters,
                "P",
            }
            object.__setattr__(self, "extras", (HardwareMetrics(self.machine, taken=frozenset(taken_names)),))
        # Conditions hold for points: defaults may break one that a search keeps.
        design_point = replace(self.scenario, workload=replace(self.workload, requires={})).bind()
        design_point.require_one_point("an exploration")
        object.__setattr__(self, "design_point", design_point)

    def on(self, machine: Machine) -> NativeModel:
        """Return the workload and settings on another machine."""
        return NativeModel(replace(self.scenario, machine=machine), serves=self.serves)

    def serving(self) -> NativeModel:
        """Return the model with metrics of a server, if the workload has one."""
        return self if self.workload.serving is None else replace(self, serves=True)

    @property
    def of_server(self) -> Collection[str]:
        """Metrics of a server of language models, which exist if an expression names one."""
        return () if self.workload.serving is None else SERVING_METRICS

    @property
    def name(self) -> str:
        """``workload on machine``."""
        return f"{self.workload.name} on {self.machine.label}"

    @cached_property
    def dimensions(self) -> Mapping[str, str]:
        """All metrics."""
        dimensions = dict(METRICS)
        if self.workload.footprint is not None:
            dimensions[FOOTPRINT] = "size"
        if self.design_point.capacity_bytes is not None:
            dimensions[CAPACITY_METRIC] = "size"
        if self.workload.accelerator_footprint is not None:
            dimensions[ACCELERATOR_FOOTPRINT] = "size"
        if self.design_point.accelerator_capacity_bytes is not None:
            dimensions[ACCELERATOR_CAPACITY] = "size"
        if self.machine.failures is not None:
            dimensions |= {FAILURES_METRIC: "count", WITH_FAILURES: "time"}
        if any(isinstance(step, Kernel | Copy) for step in walk(self.workload.program)):
            dimensions |= LIMITED
        if self.workload.accesses_memory and self.machine.memory is not None:
            dimensions |= PROCESSOR_LIMITED
            caches = (name for name in self.machine.memory.level_names[:-1] if name.isidentifier())
            dimensions |= {f"processor_limited_by_{name}": "time" for name in caches}
        dimensions |= {f"phase.{name}": "time" for name in self.design_point.workload.phases() if name.isidentifier()}
        dimensions |= {name: "" for name in self.workload.equations if name not in dimensions}
        dimensions |= {f"used.{name}": "count" for name in _resources_of(self.design_point.workload)}
        for extra in self.extras or ():
            dimensions |= extra.dimensions
        return dimensions | SERVING_METRICS if self.serves else dimensions

    def fixed(self, varied: Collection[str]) -> Mapping[str, float]:
        """Parameters, ``P`` and constants that are not varied."""
        values = {name: self._current_value(name) for name in (*self.workload.parameters, "P")}
        return without_varied({**values, **constants_of(self.design_point.machine)}, varied, self.machine)

    def parameter(self, name: str) -> tuple[Parameter, str]:
        """Return a parameter of the workload, ``P``, or a constant of the machine."""
        if name in self.workload.parameters:
            parameter = self.workload.parameters[name]
            high = min(parameter.high, self.machine.most_ranks) if name == "P" else parameter.high
            return replace(
                parameter, default=self._current_value(name), high=high
            ), parameter.dimension if parameter.unit else ""
        if name == "P":
            return Parameter("P", self._current_value(name), whole=True, low=1, high=self.machine.most_ranks), ""
        value = varied_constant(name, self.design_point.machine)
        if value is not None:
            return constant_parameter(name, value, self.machine)
        raise nothing_to_vary(self.name, name, {*self.workload.parameters, "P"}, self.design_point.machine)

    def _current_value(self, name: str) -> float:
        return float(np.asarray(self.design_point.values[name]))

    def parameters(self, values: Mapping[str, FloatOrArray]) -> dict[str, object]:
        """Arguments of ``forecast`` and ``simulate`` for these values of the variables."""
        fixed = {name: value for name, value in self.scenario.parameters.items() if name not in values}
        return {**fixed, **without_bandwidths(values, self.machine)}

    def _scenario_with(self, parameters: Mapping[str, object]) -> Scenario:
        """Return the scenario with these parameters alone."""
        return replace(self.scenario, parameters=parameters)

    def evaluate(self, values: Mapping[str, FloatArray]) -> Mapping[str, FloatOrArray]:
        """Return the forecast at n points, and every fixed number."""
        count = len(next(iter(values.values())))
        self._check_occupancy(values, count)
        metrics = self._forecasts(values, count)
        if not self.serves:
            return metrics
        each = [{name: float(value[at]) for name, value in values.items()} for at in range(count)]
        scenarios = [self._scenario_with(self.parameters(one)) for one in each]
        return {**metrics, **forecast_serving(scenarios, self._served)}

    def _forecasts(self, values: Mapping[str, FloatArray], count: int) -> Mapping[str, FloatOrArray]:
        """Return the metrics of ``forecast`` at n points."""
        if not self.by_rank:
            return self._forecast_metrics(values)
        # Ranks that differ are the last axis of all arrays: points of one P at a time, and not too many.
        ranks = values.get("P", np.full(count, self.design_point.values["P"]))
        whole: dict[str, FloatArray] = {}
        for size in np.unique(ranks):
            points_per_chunk = 1 if self._has_loops else max(int(MAX_HELD // max(size, 1)), 1)
            indices = np.flatnonzero(ranks == size)
            for chunk in np.array_split(indices, -(-len(indices) // points_per_chunk)):
                of_chunk = chunk[0] if self._has_loops else chunk
                chunk_values: dict[str, Any] = {name: value[of_chunk] for name, value in values.items() if name != "P"}
                for name, value in self._forecast_metrics(chunk_values, P=float(size)).items():
                    whole.setdefault(name, np.empty(count))[chunk] = value
        return whole

    def bounds(self, names: Mapping[str, Interval]) -> Mapping[str, Interval]:
        """Bounds over a box of what is a formula of parameters: equations, the footprint, a capacity that stays."""
        workload, values = self.design_point.workload, self.design_point.values
        fixed = {name: point(self._current_value(name)) for name in values if name not in workload.equations}
        known = {**fixed, **names}
        equations = bounds_of(workload.equations, workload.equation_order, known)
        taken = {*METRICS, FOOTPRINT, CAPACITY_METRIC}  # of the forecast, which takes precedence over equations
        metrics = {name: interval for name, interval in equations.items() if name not in taken}
        if workload.footprint is not None:
            metrics[FOOTPRINT] = bounds(workload.footprint, {**known, **equations})
        capacity_bytes = self.design_point.capacity_bytes
        if capacity_bytes is not None and names.keys() <= {*workload.parameters, "P"}:
            metrics[CAPACITY_METRIC] = point(float(np.asarray(capacity_bytes)))
        return metrics

    def _check_occupancy(self, values: Mapping[str, FloatArray], count: int) -> None:
        """Raise RefusedPointsError for all points at which the network would be faster than its links or interfaces.

        These are many if a bandwidth is varied.
        """
        parameters, network = self.parameters(values), self.design_point.machine.network
        network_per_byte: Any = self._least_per_byte(parameters)
        for part, name, own in (
            ("link", "network.link_per_byte", network.link_per_byte_s),
            ("interface", "network.interfaces.per_byte", network.interfaces.per_byte_s),
        ):
            part_per_byte: Any = parameters.get(name, own)
            refused = np.broadcast_to(
                np.greater(
                    network_per_byte if part_per_byte is None else part_per_byte, network_per_byte * (1 + 1e-12)
                ),
                (count,),
            )
            if refused.any():
                what = f"a message cannot pass faster than its {part}"
                limit = f"network.bandwidth up to the bandwidth of the {part}"
                raise RefusedPointsError(InputError(what, self.machine.place, allowed=limit), refused)

    def _least_per_byte(self, parameters: Mapping[str, Any]) -> Any:
        """Seconds per byte of the fastest messages over the network."""
        model = self.design_point.machine.network.message_model
        key = model.per_byte_key()
        if not model.segments:
            return parameters.get(f"network.{key}", model.per_byte_s)
        sized = enumerate(model.segments, start=1)
        every = [parameters.get(f"{PATH}.{number}.{key}", segment.per_byte_s) for number, segment in sized]
        return reduce(np.minimum, every)

    @cached_property
    def by_rank(self) -> bool:
        """Whether ranks differ, so that there is no forecast for several P together."""
        return self.design_point.differs_by_rank

    @cached_property
    def _has_loops(self) -> bool:
        """Whether ranks differ by the index of a loop, whose iterations then belong to one point."""
        return bool(indices_of(self.workload.program))

    def _forecast_metrics(self, values: Mapping[str, FloatOrArray], **overrides: float) -> dict[str, FloatOrArray]:
        parameters = {**self.parameters(values), **overrides}
        result = forecast(self._scenario_with(parameters), longest_path=False, bubbles=True)
        return self.metrics(result, parameters)

    @cached_property
    def takes_sums(self) -> bool:
        """Whether ranks differ, so that the metrics lack waiting between ranks, except for a stated bubble."""
        return bool(ranks_differ(Evaluation.at_points(self.design_point)).any())

    def headline_s(self, values: Mapping[str, float]) -> float:
        """Return the time of the forecast of one point: the longest path where ranks differ."""
        return float(forecast(self._scenario_with(self.parameters(values))).makespan_s)

    def metrics(self, result: Result, parameters: Mapping[str, object]) -> dict[str, FloatOrArray]:
        """Return the metrics of a forecast or simulation with these parameters."""
        metrics = {**{name: result.values[name] for name in self.workload.equations}, **metrics_of(result)}
        metrics |= {name: 0.0 for name in LIMITED if name not in metrics and result.limits_s}
        metrics |= {name: np.nan for name in self.dimensions if name not in metrics}  # what is not in this Result
        if self.extras:
            constants: dict[str, Any] = {name: value for name, value in parameters.items() if is_constant(name)}
            machine = self.machine.with_constants(constants)
            if CAPACITY in parameters:
                capacity: Any = parameters[CAPACITY]
                machine = replace(machine, capacity_bytes=capacity)
            if machine.nodes_by_ranks is not None:
                machine = machine.for_ranks(result.values["P"])
            counts = {"nodes": machine.nodes, "processors_per_node": machine.processors_per_node}
            for extra in self.extras:
                metrics |= extra.evaluate(machine, counts, result)
        return {name: metrics[name] for name in self.dimensions}

    def simulate(self, values: Mapping[str, float], **options: Any) -> dict[str, FloatOrArray]:
        """Return the metrics by simulation, at one point; options of ``simulate``."""
        parameters = self.parameters(values)
        scenario = self._scenario_with(parameters)
        metrics = self.metrics(simulate(scenario, **options), parameters)
        return {**metrics, **simulated_serving(scenario, **options)} if self.serves else metrics

    def rungs(self, values: Mapping[str, float], **options: Any) -> list[tuple[str, dict[str, FloatOrArray]]]:
        """Return the metrics after each effect, in order, at one point; options of ``compare``."""
        parameters = self.parameters(values)
        found = []
        for rung in self.compare(values, **options).rungs:
            metrics = self.metrics(rung.simulation, parameters)
            if self.serves:
                own = options | {"effects": rung.simulation.effects}
                metrics |= simulated_serving(self._scenario_with(parameters), **own)
            found.append((rung.effect, metrics))
        return found

    def compare(self, values: Mapping[str, float], **options: Any) -> Comparison:
        """Forecast and simulations at one point; options of ``compare``."""
        return compare(self._scenario_with(self.parameters(values)), **options)


def metrics_of(result: Result) -> dict[str, FloatOrArray]:
    """Return the metrics of a forecast or a simulation."""
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
    if result.accelerator_footprint_bytes is not None:
        metrics[ACCELERATOR_FOOTPRINT] = result.accelerator_footprint_bytes
    if result.accelerator_capacity_bytes is not None:
        metrics[ACCELERATOR_CAPACITY] = result.accelerator_capacity_bytes
    if isinstance(result.failures, FailureForecast):
        metrics[FAILURES_METRIC] = result.failures.daly_s / result.failures.mtbf_s
        metrics[WITH_FAILURES] = result.failures.daly_s
    elif result.failures is not None:
        metrics[FAILURES_METRIC] = float(result.failures.count)
        metrics[WITH_FAILURES] = result.makespan_s
    metrics |= {f"limited_by_{name}": time for name, time in result.limits_of_a_rank_s.items()}
    metrics |= {f"processor_limited_by_{name}": it for name, it in result.processor_limits_of_a_rank_s.items()}
    metrics |= {f"used.{name}": amount for name, amount in result.used.items()}
    zero: FloatOrArray = 0.0
    return {**metrics, **{f"phase.{name}": sum(times.values(), zero) for name, times in result.phases.items()}}


def _resources_of(workload: Workload) -> tuple[str, ...]:
    """Resources of the machine that a workload uses."""
    blocks = (step for step in walk(workload.program) if isinstance(step, Execute))
    return tuple(dict.fromkeys(use.resource for block in blocks for use in block.uses))
