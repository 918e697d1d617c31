"""Evaluates the points of a sweep: one point at a time in any process, or all forecasts in one vectorised call."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from hashlib import blake2b

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.machine_metrics import MACHINE_COLUMNS, RUN_COLUMNS, cost_columns
from simcodesign.core.errors import InputError, SimcodesignError
from simcodesign.core.operation_kinds import COMPONENTS, LIMIT_NAMES, PROCESSOR_LIMIT_NAMES
from simcodesign.core.result import Result
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import CAPACITY
from simcodesign.describe.design_point import differs_by_rank
from simcodesign.describe.machine import Machine
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.scenario import Scenario
from simcodesign.engine.simulate import simulate_experiment
from simcodesign.studies.sweep.content_digest import DIGEST_BYTES
from simcodesign.studies.sweep.design.grid import CHANGE, PARAMETER, Design
from simcodesign.studies.sweep.points import PointResult, SweepPoint, Value
from simcodesign.studies.sweep.sweep import Sweep as Sweep
from simcodesign.studies.sweep.table import ERROR, NUMBER, column_of

#: Prefix of the columns of a reading: ``forecast_makespan_s``, ``simulated_makespan_s``.
FORECAST, SIMULATED = PREFIXES = ("forecast", "simulated")
#: Columns of every Result, and those that only some have.
COUNTS = ("messages", "message_bytes", "disk_bytes", "flops", "instructions")
OPTIONAL = (
    "sum_s",
    "loaded_s",
    "energy_j",
    "peak_power_w",
    "footprint_bytes",
    "accelerator_footprint_bytes",
    "response_s",
    "blocked",
)
#: Columns of what limits kernels and copies, in the mean of the ranks.
LIMITS = tuple(f"limited_by_{name}_s" for name in LIMIT_NAMES)
#: The same for processors; each cache has one as well.
PROCESSOR_LIMITS = tuple(f"processor_limited_by_{name}_s" for name in PROCESSOR_LIMIT_NAMES)
#: Forecast over simulated makespan, or response time of an open stream.
RATIO = "ratio"
#: Number of machines with changed files that a process caches.
_CACHED_MACHINES = 64
#: Largest number of ranks times points in memory together if ranks differ.
_MAX_RANK_POINTS = 4_000_000


@dataclass(frozen=True)
class PackedSweep:
    """A sweep as bytes, made once; a process that has unpacked it recognises it by its digest."""

    digest: str
    data: bytes


@dataclass(frozen=True)
class PointTask:
    """Points of a sweep for another process."""

    packed: PackedSweep
    points: tuple[SweepPoint, ...]


def pack(sweep: Sweep) -> PackedSweep:
    """Pack the sweep for tasks.

    It contains only the names of its design: points bring their values with them, and a design may have a million.
    """
    axes = tuple(replace(axis, values=axis.values[:1]) for axis in sweep.design.settings)
    data = pickle.dumps(replace(sweep, design=Design(axes)), protocol=pickle.HIGHEST_PROTOCOL)
    # Sweeps that differ in their points alone are the same to a process.
    return PackedSweep(blake2b(data, digest_size=DIGEST_BYTES).hexdigest(), data)


def evaluate(task: PointTask) -> list[PointResult]:
    """Return the rows of the points, in their order.

    A point that cannot be evaluated has a reason instead of results.
    """
    evaluator = _evaluator(task.packed)
    return [evaluator.row(point) for point in task.points]


# A Packed is equal by its digest and data: hashing megabytes for each task would take longer than the points.
_EVALUATORS: OrderedDict[str, SweepEvaluator] = OrderedDict()


def _evaluator(packed: PackedSweep) -> SweepEvaluator:
    """Return the evaluator of a sweep, cached in this process; at most two sweeps are cached."""
    if packed.digest not in _EVALUATORS:
        _EVALUATORS[packed.digest] = SweepEvaluator(pickle.loads(packed.data))
        while len(_EVALUATORS) > 2:
            _EVALUATORS.popitem(last=False)
    return _EVALUATORS[packed.digest]


class SweepEvaluator:
    """Evaluates points of a sweep, and caches the machines that it builds."""

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        self._machine = lru_cache(_CACHED_MACHINES)(self._machine_with)

    def row(self, point: SweepPoint) -> PointResult:
        """Return the row of a point. Raises nothing: an error becomes the reason in its row."""
        try:
            return self.sweep.row(point, self.results(point))
        except SimcodesignError as error:
            return self.sweep.row(point, reason=str(error) or type(error).__name__)
        except MemoryError:
            return self.sweep.row(point, reason="not enough memory")
        except Exception as error:  # one point must not end a sweep of a million
            return self.sweep.row(point, reason=f"internal error: {type(error).__name__}: {error}")

    def results(self, point: SweepPoint) -> dict[str, float]:
        """Return the numbers of a point. Raises as ``forecast`` and ``simulate`` do."""
        sweep, experiment, scenario = self.sweep, self.sweep.experiment, self.scenario(point)
        results = _plain(numbers(forecast(scenario), FORECAST))
        if sweep.simulate:
            result = simulate_experiment(replace(experiment, scenario=scenario, seed=point.seed))
            results |= _plain(numbers(result, SIMULATED))
        costs = cost_columns(scenario.bind().machine, results, PREFIXES) if scenario.machine.custom.components else {}
        return results | _plain(costs) | _ratio(results)

    def scenario(self, point: SweepPoint) -> Scenario:
        """Return the scenario of a point. InputError for a machine that cannot be."""
        return self.sweep.experiment.scenario.on(self.machine(point.changes)).at(point.parameters)

    def machine(self, changes: Mapping[str, Value]) -> Machine:
        """Return the machine with changes in its file."""
        return self._machine(tuple(sorted(changes.items()))) if changes else self.sweep.source.machine

    def _machine_with(self, changes: tuple[tuple[str, Value], ...]) -> Machine:
        return self.sweep.source.changed(dict(changes))


def numbers(result: Result, prefix: str) -> dict[str, FloatOrArray]:
    """Return the columns of a Result, each name with the prefix of the reading."""
    columns: dict[str, FloatOrArray] = {"makespan_s": result.makespan_s}
    columns |= {f"{component}_s": time for component, time in result.components.items()}
    columns |= {name: getattr(result, name) for name in COUNTS}
    optional = {name: getattr(result, name, None) for name in OPTIONAL}
    columns |= {name: value for name, value in optional.items() if value is not None}
    columns |= {f"limited_by_{name}_s": time for name, time in result.limits_of_a_rank_s.items()}
    on_processors = result.processor_limits_of_a_rank_s
    columns |= {f"processor_limited_by_{name}_s": time for name, time in on_processors.items()}
    return {f"{prefix}_{name}": value for name, value in columns.items()}


def result_columns(simulate: bool, caches: Iterable[str] = ()) -> list[str]:
    """Return the columns that the results of a sweep may have.

    With simulations or without, on a machine with these ``caches``.
    """
    names = ["makespan_s", *(f"{component}_s" for component in COMPONENTS), *COUNTS, *OPTIONAL, *LIMITS]
    names += [*PROCESSOR_LIMITS, *(f"processor_limited_by_{name}_s" for name in caches), *RUN_COLUMNS]
    columns = [*MACHINE_COLUMNS]
    columns += [f"{prefix}_{name}" for prefix in (PREFIXES if simulate else (FORECAST,)) for name in names]
    return [*columns, RATIO] if simulate else columns


def _plain(columns: Mapping[str, FloatOrArray]) -> dict[str, float]:
    return {name: float(value) for name, value in columns.items()}


def _ratio(results: Mapping[str, float]) -> dict[str, float]:
    """Forecast over simulated time, for open streams over response time, if both exist.

    NaN of a simulation that takes no time.
    """
    pair = [results.get(f"{prefix}_response_s", results.get(f"{prefix}_makespan_s")) for prefix in PREFIXES]
    if pair[0] is None or pair[1] is None:
        return {}
    return {RATIO: pair[0] / pair[1] if pair[1] else float("nan")}


# Forecasts of all points together.


def forecast_frame(sweep: Sweep, point_numbers: NDArray[np.int64] | None = None) -> pd.DataFrame:
    """Return the forecasts of these points (all, if None): the tidy table of a sweep whose reading is ``forecast``.

    One vectorised call, or one for each structure where the structure of the machine is varied. Points that cannot be
    evaluated have a reason in the column ``error``.
    """
    all_numbers = (
        np.arange(sweep.count, dtype=np.int64) if point_numbers is None else np.asarray(point_numbers, dtype=np.int64)
    )
    table = _Vectorised(sweep, all_numbers)
    table.read()
    return table.frame()


def parameter_columns(sweep: Sweep, point_numbers: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    """Values of parameters that the axes set at these points, by the paths that ``forecast`` takes: (points,) each."""
    return {
        axis.known.path: np.array(axis.given, dtype=np.float64)[at]
        for axis, at in zip(sweep.design.settings, sweep.design.places(point_numbers), strict=True)
        if axis.known.kind == PARAMETER
    }


def structures(sweep: Sweep, point_numbers: NDArray[np.int64]) -> Iterator[tuple[dict[str, Value], NDArray[np.int64]]]:
    """Each distinct set of changes in the machine file, and the indices of the points that have it."""
    pairs = zip(sweep.design.settings, sweep.design.places(point_numbers), strict=True)
    varied = [(axis, at) for axis, at in pairs if axis.known.kind == CHANGE]
    rows = np.arange(len(point_numbers), dtype=np.int64)
    if not varied or not len(rows):
        yield {}, rows
        return
    # Equal values of a sample are one structure, whatever their places.
    codes = np.stack([_codes(axis.given)[at] for axis, at in varied])
    _, first, group = np.unique(codes, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    starts = np.searchsorted(group.ravel()[order], np.arange(len(first)))
    for row, members in zip(first, np.split(order, starts[1:]), strict=True):
        yield {axis.known.path: axis.given[at[row]] for axis, at in varied}, members


class _Vectorised:
    """The columns of a table while they are filled; ``rows`` are row indices of the table."""

    def __init__(self, sweep: Sweep, point_numbers: NDArray[np.int64]) -> None:
        self.sweep, self.point_numbers = sweep, point_numbers
        self.results: dict[str, NDArray[np.float64]] = {}
        self.error = np.full(len(point_numbers), "", dtype=object)
        self.by_rank = False
        self.parameters = parameter_columns(sweep, point_numbers)

    def read(self) -> None:
        evaluator = SweepEvaluator(self.sweep)
        for changes, rows in structures(self.sweep, self.point_numbers):
            try:
                machine = evaluator.machine(changes)
            except InputError as error:
                self.error[rows] = str(error)
                continue
            self.by_rank = machine.nodes_by_ranks is not None or differs_by_rank(self.sweep.workload, machine)
            for chunk in self._chunks(self._within_limits(machine, rows)):
                self._forecast_rows(machine, chunk)

    def frame(self) -> pd.DataFrame:
        columns = {
            name: column_of(values.tolist()) if values.dtype.kind == "O" else values
            for name, values in self.sweep.design.columns(self.point_numbers).items()
        }
        return pd.DataFrame(
            {NUMBER: self.point_numbers, **columns, **self.results, ERROR: pd.Series(self.error, dtype="str")}
        )

    def _within_limits(self, machine: Machine, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows whose parameters are each within their limits, and whose constants make a machine.

        The others get their reason. This avoids isolating each of them by separate forecasts.
        """
        workload_parameters = self.sweep.workload.parameters
        # In the order of set_up, so that a point with two faults has the reason that it has alone.
        parameters = {"P": Parameter("P", None, whole=True, low=1)} | dict(workload_parameters)
        for name in [name for name in parameters if name in self.parameters]:
            rows = self._accepted_rows(rows, name, partial(_refusal, parameters[name]))
        if "P" in self.parameters:
            rows = self._accepted_rows(rows, "P", lambda value: _ranks_refusal(value, machine, self.sweep))
        constants = [
            name for name in self.parameters if name != "P" and name not in workload_parameters and name != CAPACITY
        ]
        if not constants or not len(rows):
            return rows
        columns = np.stack([self.parameters[name][rows] for name in constants])
        if not _constants_refusal(machine, dict(zip(constants, columns, strict=True))):
            return rows
        values, inverse = np.unique(columns, axis=1, return_inverse=True)
        distinct = [dict(zip(constants, values_, strict=True)) for values_ in values.T.tolist()]
        return self._drop_refused(rows, [_constants_refusal(machine, values_) for values_ in distinct], inverse.ravel())

    def _accepted_rows(self, rows: NDArray[np.int64], name: str, refusal: Callable[[float], str]) -> NDArray[np.int64]:
        """Return the rows whose value of this name is not refused."""
        values, inverse = np.unique(self.parameters[name][rows], return_inverse=True)
        return self._drop_refused(rows, [refusal(value) for value in values.tolist()], inverse.ravel())

    def _drop_refused(
        self, rows: NDArray[np.int64], reasons: Sequence[str], inverse: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the rows with an empty reason; the others get theirs.

        ``inverse``: the index of the reason of each row.
        """
        refused = np.array([bool(reason) for reason in reasons], dtype=bool)[inverse]
        self.error[rows[refused]] = np.array(reasons, dtype=object)[inverse[refused]]
        return np.asarray(rows[~refused], dtype=np.int64)

    def _chunks(self, rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Chunks of rows for one forecast each: where ranks differ, rows of one P, limited in number."""
        if not self.by_rank or not len(rows):
            yield rows
            return
        ranks = self.parameters.get("P")
        for size in [None] if ranks is None else np.unique(ranks[rows]).tolist():
            rows_of_size = rows if ranks is None or size is None else rows[ranks[rows] == size]
            ranks_per_point = size or self.sweep.given.get("P") or self.sweep.source.machine.most_ranks
            chunks = -(-len(rows_of_size) * int(ranks_per_point) // _MAX_RANK_POINTS)
            yield from np.array_split(rows_of_size, max(1, min(chunks, len(rows_of_size))))

    def _forecast_rows(self, machine: Machine, rows: NDArray[np.int64]) -> None:
        """Forecast these rows; if that fails, halve them until the failing rows are isolated."""
        if not len(rows):
            return
        parameters: dict[str, object] = {**self.sweep.given}
        for name, column in self.parameters.items():
            is_scalar = self.by_rank and name == "P"
            parameters[name] = float(column[rows[0]]) if is_scalar or len(rows) == 1 else column[rows]
        try:
            scenario = self.sweep.experiment.scenario.on(machine).at(parameters)
            result = forecast(scenario)
        except InputError as error:
            if len(rows) == 1:
                self.error[rows] = str(error)
                return
            for half in np.array_split(rows, 2):
                self._forecast_rows(machine, half)
            return
        columns = numbers(result, FORECAST)
        if machine.custom.components:
            columns |= cost_columns(scenario.bind().machine, columns, PREFIXES)
        for name, value in columns.items():
            self.results.setdefault(name, np.full(len(self.point_numbers), np.nan))[rows] = value


def _codes(values: Sequence[Value]) -> NDArray[np.int64]:
    """Equal numbers for equal values."""
    code_of: dict[Value, int] = {}
    return np.array([code_of.setdefault(value, len(code_of)) for value in values], dtype=np.int64)


def _constants_refusal(machine: Machine, constants: Mapping[str, FloatOrArray]) -> str:
    """Why there is no machine with these constants, empty if there is."""
    try:
        machine.with_constants(constants)
    except InputError as error:
        return str(error)
    return ""


def _refusal(parameter: Parameter, value: float) -> str:
    """Why a parameter cannot have the value, empty if it can."""
    try:
        parameter.check(value, parameter.place)
    except InputError as error:
        return str(error)
    return ""


def _ranks_refusal(ranks: float, machine: Machine, sweep: Sweep) -> str:
    """Why there cannot be this many ranks, empty if there can."""
    if ranks <= machine.most_ranks:
        return ""
    try:
        sweep.experiment.scenario.on(machine).at({**sweep.given, "P": ranks}).bind()
    except InputError as error:
        return str(error)
    return ""
