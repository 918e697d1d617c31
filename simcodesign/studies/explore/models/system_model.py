"""Workloads on a machine that is built for each point: its topology, mapping and all else in its file may vary.

Several workloads run apart, each alone on the machine. A metric without the name of a workload is then the worst of
all: the largest, of ``rate`` and capacities the smallest. ``slowdown`` is the time over the time on a reference
machine, of the same workload with the same parameters, by the same reading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine import Machine
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.scenario import Scenario
from simcodesign.describe.workload import Workload
from simcodesign.studies.explore.models.machine_model import MachineModel
from simcodesign.studies.explore.models.native_model import (
    ACCELERATOR_CAPACITY,
    CAPACITY_METRIC,
    NativeModel,
)
from simcodesign.studies.explore.models.structure import Structural, changes_at
from simcodesign.studies.explore.problem import RefusedPointsError
from simcodesign.studies.explore.space import FloatArray
from simcodesign.studies.sweep.machine_source import MachineFile

#: The metric that compares with the reference machine.
SLOWDOWN = "slowdown"
#: Metrics of which the smallest is the worst.
_SMALLEST_IS_WORST = frozenset({"rate", CAPACITY_METRIC, ACCELERATOR_CAPACITY})
#: Metrics that each of several workloads has under its own name.
_OF_EACH = ("time", SLOWDOWN, "energy")
#: Keys of a machine that decide how many ranks it has room for.
_SIZES = {"nodes", "processors_per_node", "mapping"}
#: Machines that are kept.
_MOST_KEPT = 64
Metrics = dict[str, FloatOrArray]


@dataclass(frozen=True)
class SystemModel:
    """One or several workloads, or a machine alone (``models``), on the machine of ``source``.

    Its ``structure`` is varied. ``reference``: the machine of ``slowdown``; None without that metric.
    """

    models: tuple[NativeModel, ...] | tuple[MachineModel]
    source: MachineFile
    structure: tuple[Structural, ...] = ()
    reference: Machine | None = None
    _kept: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Return ``workload and workload on machine``."""
        if not self.workloads:
            return self.machine.label
        names = " and ".join(one.name for one in self.workloads)
        return f"{names} on {self.machine.label}"

    @property
    def runs(self) -> tuple[NativeModel, ...]:
        """Return the workloads, each on the machine as described; none for a machine alone."""
        return tuple(one for one in self.models if isinstance(one, NativeModel))

    @property
    def workloads(self) -> list[Workload]:
        """Return the workloads."""
        return [one.workload for one in self.runs]

    @property
    def workload(self) -> Workload:
        """Return the first workload."""
        return self.runs[0].workload

    @property
    def machine(self) -> Machine:
        """Return the machine as described."""
        return self.models[0].machine

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Return the names of the workloads as expressions take them; an empty name for a single workload."""
        if len(self.models) == 1:
            return ("",)
        plain = [re.sub(r"\W+", "_", one.name) for one in self.workloads]
        return tuple(f"{one}_{at}" if plain.count(one) > 1 else one for at, one in enumerate(plain, start=1))

    @cached_property
    def dimensions(self) -> Mapping[str, str]:
        """Return all metrics that the workloads have in common, and the times of each workload."""
        first, *others = (one.dimensions for one in self.models)
        dimensions = {name: unit for name, unit in first.items() if all(name in one for one in others)}
        if self.reference is not None:
            dimensions[SLOWDOWN] = "count"
        of_each = [name for name in _OF_EACH if name in dimensions] if others else []
        return dimensions | {f"{label}.{name}": dimensions[name] for label in self.labels for name in of_each}

    def is_structural(self, name: str) -> bool:
        """Return whether a variable is none of the numbers that a forecast takes as an array."""
        return any(one.name == name for one in self.structure)

    def fixed(self, varied: Collection[str]) -> Mapping[str, float]:
        """Return the numbers that are not varied, as far as all workloads have equal ones."""
        every = [one.fixed(varied) for one in self.models]
        known = {name: value for one in reversed(every) for name, value in one.items()}
        apart = {name for one in every for name, value in one.items() if value != known[name]}
        return {name: value for name, value in known.items() if name not in apart and name not in varied}

    def parameter(self, name: str) -> tuple[Parameter, str]:
        """Return a key of the machine, a parameter of any workload, ``P``, or a constant of the machine."""
        own = next((one for one in self.structure if one.name == name), None)
        if own is not None:
            return own.parameter, ""
        owners = [one for one in self.runs if name in one.workload.parameters]
        parameter, dimension = (owners[0] if owners else self.models[0]).parameter(name)
        if name == "P" and _SIZES & {one.path for one in self.structure}:
            stated = self.workload.parameters.get("P")
            parameter = replace(parameter, high=np.inf if stated is None else stated.high)
        return parameter, dimension

    def evaluate(self, values: Mapping[str, FloatArray]) -> Mapping[str, FloatOrArray]:
        """Return the metrics of the forecasts at n points, machine by machine."""
        count = len(next(iter(values.values())))
        columns = [np.asarray(values[one.name], dtype=np.float64) for one in self.structure]
        keys = np.stack(columns, axis=1) if columns else np.zeros((count, 0))
        distinct, which = np.unique(keys, axis=0, return_inverse=True)
        found: dict[str, FloatArray] = {}
        for at, key in enumerate(distinct):
            rows = np.flatnonzero(which.ravel() == at)
            metrics = self._forecast(key, {name: value[rows] for name, value in values.items()}, rows, count)
            for name in self.dimensions:
                found.setdefault(name, np.full(count, np.nan))[rows] = metrics.get(name, np.nan)
        return found

    def _forecast(self, key: FloatArray, values: Mapping[str, FloatArray], rows: Any, count: int) -> Metrics:
        """Return the metrics of the points (``rows`` of ``count``) that are on one machine."""
        refused = np.zeros(count, dtype=np.bool_)
        try:
            models = self._models_at(key)
        except InputError as error:
            refused[rows] = True
            raise RefusedPointsError(error, refused) from None
        try:
            return self._combined(models, values, lambda model, own: model.evaluate(_some(own, len(rows), model)))
        except RefusedPointsError as error:
            refused[rows] = error.refused
            raise RefusedPointsError(error, refused) from None

    def simulate(self, values: Mapping[str, float], **options: Any) -> Metrics:
        """Return all metrics by simulation, at one point; ``options`` of ``simulate``."""

        def run(model: Any, own: Mapping[str, float]) -> Metrics:
            at = [number for number, one in enumerate(self._references) if one is model]
            if not at:
                return dict(model.simulate(own, **options))
            key = ("reference", at[0], tuple(own.items()), tuple(options.items()))
            return dict(self._once(key, lambda: model.simulate(own, **options)))

        metrics = self._combined(self._models_of(values), values, run)
        return {name: metrics.get(name, np.nan) for name in self.dimensions}

    def rungs(self, values: Mapping[str, float], **options: Any) -> list[tuple[str, Metrics]]:
        """Return the metrics after each effect, one after another, at one point; ``options`` of ``compare``."""
        models, steps = self._models_of(values), dict[object, list[tuple[str, Metrics]]]()

        def ladder(model: Any, own: Mapping[str, float]) -> list[tuple[str, Metrics]]:
            key = (id(model), tuple(own.items()))
            if key not in steps:
                steps[key] = model.rungs(own, **options)
            return steps[key]

        first = ladder(models[0], self._own(models[0], values))
        return [
            (effect, self._combined(models, values, lambda model, own, at=at: ladder(model, own)[at][1]))  # type: ignore[misc]
            for at, (effect, _) in enumerate(first)
        ]

    @property
    def notes(self) -> list[str]:
        """Return notes for a reader of its metrics."""
        names = " and ".join(one.name for one in self.workloads)
        notes = []
        if len(self.models) > 1:
            notes.append(f"note: {names} run apart, each alone; a metric without a name of theirs is the worst of all")
        if self.reference is not None:
            own = "as described, without what is varied of it" if self.reference is self.machine else "as it is"
            notes.append(f"note: slowdown is against {self.reference.label} {own}")
        return notes

    @property
    def takes_sums(self) -> bool:
        """Return whether the ranks of any workload differ, so that its metrics, sums of closed forms, omit waits."""
        return any(one.takes_sums for one in self.runs)

    def headline_s(self, values: Mapping[str, float]) -> float:
        """Return the longest forecast of one point: longest paths if ranks differ."""
        return max(float(model.headline_s(self._own(model, values))) for model in self._models_of(values))

    def _combined(
        self, models: Sequence[Any], values: Mapping[str, Any], metrics_of: Callable[[Any, Mapping[str, Any]], Any]
    ) -> Metrics:
        """Return the metrics of all workloads: each with its slowdown, and the worst of them."""
        every: list[Metrics] = []
        for at, model in enumerate(models):
            metrics = dict(metrics_of(model, self._own(model, values)))
            if self.reference is not None:
                on_reference = metrics_of(self._references[at], self._own(self._references[at], values, is_other=True))
                with np.errstate(all="ignore"):
                    metrics[SLOWDOWN] = np.asarray(metrics["time"]) / np.asarray(on_reference["time"])
            every.append(metrics)
        if len(every) == 1:
            return every[0]
        common = [name for name in every[0] if all(name in one for one in every)]
        worst = {name: _worst(name, [one[name] for one in every]) for name in common}
        own = zip(self.labels, every, strict=True)
        return worst | {f"{label}.{name}": one[name] for label, one in own for name in _OF_EACH if name in one}

    def _own(self, model: Any, values: Mapping[str, Any], is_other: bool = False) -> dict[str, Any]:
        """Return the values that a model takes: parameters of its workload, and unless ``is_other`` constants."""
        if not isinstance(model, NativeModel):
            return {name: value for name, value in values.items() if not self.is_structural(name)}
        of_workloads = {"P", *(name for one in self.workloads for name in one.parameters)}
        own = {"P", *model.workload.parameters}
        return {
            name: value
            for name, value in values.items()
            if name in own or not (is_other or name in of_workloads or self.is_structural(name))
        }

    @cached_property
    def _references(self) -> tuple[NativeModel, ...]:
        """Each workload on the reference machine, without the constants that are set of another one."""
        if self.reference is None:
            return ()
        return tuple(_on_reference(one, self.reference) for one in self.runs)

    def _models_of(self, values: Mapping[str, float]) -> Sequence[Any]:
        return self._models_at(np.array([values[one.name] for one in self.structure], dtype=np.float64))

    def _models_at(self, key: FloatArray) -> Sequence[Any]:
        """Return the models on the machine with these values of the structure, in its order."""
        if not self.structure:
            return self.models
        names = [one.name for one in self.structure]
        changes = changes_at(self.structure, dict(zip(names, key.tolist(), strict=True)))

        def built() -> Sequence[Any]:
            machine = self.source.changed(changes)
            return tuple(one.on(machine) for one in self.models)

        return self._once(("machine", tuple(key.tolist())), built)  # type: ignore[no-any-return]

    def _once(self, key: object, make: Callable[[], Any]) -> Any:
        """Return the value made before for this key, or make it now; the last ones are kept."""
        if key not in self._kept:
            made = make()
            while len(self._kept) >= _MOST_KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = made
        return self._kept[key]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_kept"} | {"_kept": {}}


def _worst(name: str, values: Sequence[FloatOrArray]) -> FloatOrArray:
    least = name.rpartition(".")[2] in _SMALLEST_IS_WORST
    found: FloatOrArray = (np.minimum if least else np.maximum).reduce(np.broadcast_arrays(*values))
    return found


def _some(values: Mapping[str, Any], count: int, model: Any) -> Mapping[str, Any]:
    """Return the values, with ``count`` points also if a model has none of the variables."""
    if values or not isinstance(model, NativeModel):
        return values or {"nodes": np.full(count, float(model.machine.nodes))}
    return {"P": np.full(count, float(np.asarray(model.design_point.values["P"])))}


def _on_reference(model: NativeModel, machine: Machine) -> NativeModel:
    """Return the workload on the reference machine, with its parameters and P.

    The constants that are set apply if that is the same machine.
    """
    scenario: Scenario = model.scenario
    if machine is model.machine:
        return model
    own = {"P", *model.workload.parameters}
    parameters = {name: value for name, value in scenario.parameters.items() if name in own}
    return NativeModel(replace(scenario, machine=machine, parameters=parameters), serves=model.serves)
