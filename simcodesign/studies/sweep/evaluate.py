"""What stands in the row of a point: one point at a time anywhere, or all forecasts in one call."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from hashlib import blake2b

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError, SimcodesignError
from simcodesign.core.result import Result
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import CAPACITY
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.parameters import Parameter
from simcodesign.engine.simulate import simulate
from simcodesign.studies.sweep.content_digest import DIGEST_BYTES
from simcodesign.studies.sweep.grid import CHANGE, PARAMETER, Design
from simcodesign.studies.sweep.points import Point, Row, Value
from simcodesign.studies.sweep.sweep import FORECAST, SIMULATE
from simcodesign.studies.sweep.sweep import Sweep as Sweep
from simcodesign.studies.sweep.table import ERROR, NUMBER, column_of

#: What a reading is called in the names of columns: ``forecast_makespan_s``, ``simulated_makespan_s``.
PREFIXES = {FORECAST: "forecast", SIMULATE: "simulated"}
#: What is told of a Result, where it says it.
COUNTS = ("messages", "message_bytes", "disk_bytes", "flops", "instructions")
MAYBE = ("energy_j", "peak_power_w", "footprint_bytes", "response_s", "blocked")
#: Forecast over simulated makespan, or response time of an open stream.
RATIO = "ratio"
#: Machines whose file was changed that a process keeps.
_KEPT = 64
#: Ranks times points that are held at once where ranks differ.
_MOST_HELD = 4_000_000


@dataclass(frozen=True)
class Packed:
    """A sweep as bytes, made once; a process that has unpacked it knows it by its digest."""

    digest: str
    data: bytes


@dataclass(frozen=True)
class Task:
    """Points of a sweep for another process."""

    packed: Packed
    points: tuple[Point, ...]


def pack(sweep: Sweep) -> Packed:
    """The sweep for tasks. Of its design only the names are in it: points bring their values with them, and a design
    may have a million."""
    axes = tuple(replace(axis, values=axis.values[:1]) for axis in sweep.design.axes)
    data = pickle.dumps(replace(sweep, design=Design(axes)), protocol=pickle.HIGHEST_PROTOCOL)
    # Sweeps that differ in their points alone are the same to a process.
    return Packed(blake2b(data, digest_size=DIGEST_BYTES).hexdigest(), data)


def evaluate(task: Task) -> list[Row]:
    """The rows of the points, in their order; a point that cannot be has a reason in place of results."""
    evaluator = _evaluator(task.packed)
    return [evaluator.row(point) for point in task.points]


# A Packed is equal by its digest and data: hashing megabytes for each task would take longer than the points.
_EVALUATORS: OrderedDict[str, Evaluator] = OrderedDict()


def _evaluator(packed: Packed) -> Evaluator:
    """The evaluator that this process has, or makes now; two sweeps at most are kept."""
    if packed.digest not in _EVALUATORS:
        _EVALUATORS[packed.digest] = Evaluator(pickle.loads(packed.data))
        while len(_EVALUATORS) > 2:
            _EVALUATORS.popitem(last=False)
    return _EVALUATORS[packed.digest]


class Evaluator:
    """Reads points of a sweep, and keeps the machines that it has made."""

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        self._machine = lru_cache(_KEPT)(self._changed)

    def row(self, point: Point) -> Row:
        """The row of a point. Nothing is raised: what goes wrong at a point is the reason in its row."""
        try:
            return self.sweep.row(point, self.results(point))
        except SimcodesignError as error:
            return self.sweep.row(point, reason=str(error) or type(error).__name__)
        except MemoryError:
            return self.sweep.row(point, reason="not enough memory")
        except Exception as error:  # one point must not end a sweep of a million
            return self.sweep.row(point, reason=f"internal error: {type(error).__name__}: {error}")

    def results(self, point: Point) -> dict[str, float]:
        """The numbers of a point. Raises as ``forecast`` and ``simulate`` do."""
        sweep, machine = self.sweep, self.machine(point.changes)
        said: dict[str, float] = {}
        if sweep.reading != SIMULATE:
            result = forecast(sweep.workload, machine, point.parameters, preset=sweep.preset, phases=sweep.phases)
            said |= _plain(numbers(result, PREFIXES[FORECAST]))
        if sweep.reading != FORECAST:
            result = simulate(
                sweep.workload,
                machine,
                point.parameters,
                preset=sweep.preset,
                phases=sweep.phases,
                effects=sweep.effects,
                seed=point.seed,
                engine=sweep.engine,
                iterations=sweep.iterations,
            )
            said |= _plain(numbers(result, PREFIXES[SIMULATE]))
        return said | _ratio(said)

    def machine(self, changes: Mapping[str, Value]) -> Machine:
        """The machine with changes in its file."""
        return self._machine(tuple(sorted(changes.items()))) if changes else self.sweep.source.machine

    def _changed(self, changes: tuple[tuple[str, Value], ...]) -> Machine:
        return self.sweep.source.changed(dict(changes))


def numbers(result: Result, prefix: str) -> dict[str, FloatOrArray]:
    """What a row tells of a Result, each name with the prefix of the reading."""
    found: dict[str, FloatOrArray] = {"makespan_s": result.makespan_s}
    found |= {f"{part}_s": time for part, time in result.components.items()}
    found |= {name: getattr(result, name) for name in COUNTS}
    maybe = {name: getattr(result, name, None) for name in MAYBE}
    found |= {name: value for name, value in maybe.items() if value is not None}
    return {f"{prefix}_{name}": value for name, value in found.items()}


def _plain(found: Mapping[str, FloatOrArray]) -> dict[str, float]:
    return {name: float(value) for name, value in found.items()}


def _ratio(said: Mapping[str, float]) -> dict[str, float]:
    """Forecast over simulated time, of open streams over response time, where both are there; NaN of a simulation that
    takes no time."""
    pair = [said.get(f"{prefix}_response_s", said.get(f"{prefix}_makespan_s")) for prefix in PREFIXES.values()]
    if pair[0] is None or pair[1] is None:
        return {}
    return {RATIO: pair[0] / pair[1] if pair[1] else float("nan")}


# Forecasts of all points at once.


def forecast_frame(sweep: Sweep, chosen: NDArray[np.int64] | None = None) -> pd.DataFrame:
    """The forecasts of these points (all, if None): the tidy table of a sweep whose reading is ``forecast``.

    One vectorised call, where structure is varied one for each structure. Points that cannot be have a reason in the
    column ``error``.
    """
    every = np.arange(sweep.count, dtype=np.int64) if chosen is None else np.asarray(chosen, dtype=np.int64)
    reading = _Vectorised(sweep, every)
    reading.read()
    return reading.frame()


class _Vectorised:
    """The columns of a table while they are filled. Numbers in here are rows of the table."""

    def __init__(self, sweep: Sweep, every: NDArray[np.int64]) -> None:
        self.sweep, self.every = sweep, every
        self.places = sweep.design.places(every)
        self.results: dict[str, NDArray[np.float64]] = {}
        self.error = np.full(len(every), "", dtype=object)
        self.by_rank = sweep.workload.differs_by_rank
        self.given = {
            axis.known.path: np.array(axis.given, dtype=np.float64)[at]
            for axis, at in zip(sweep.design.axes, self.places, strict=True)
            if axis.known.kind == PARAMETER
        }

    def read(self) -> None:
        evaluator = Evaluator(self.sweep)
        for changes, rows in self._structures():
            try:
                machine = evaluator.machine(changes)
            except InputError as error:
                self.error[rows] = str(error)
                continue
            for part in self._parts(self._possible(machine, rows)):
                self._read(machine, part)

    def frame(self) -> pd.DataFrame:
        columns = {
            name: column_of(values.tolist()) if values.dtype.kind == "O" else values
            for name, values in self.sweep.design.columns(self.every).items()
        }
        return pd.DataFrame({NUMBER: self.every, **columns, **self.results, ERROR: pd.Series(self.error, dtype="str")})

    def _structures(self) -> Iterator[tuple[dict[str, Value], NDArray[np.int64]]]:
        """Changes in the machine file, and the rows that have them."""
        pairs = zip(self.sweep.design.axes, self.places, strict=True)
        varied = [(axis, at) for axis, at in pairs if axis.known.kind == CHANGE]
        rows = np.arange(len(self.every), dtype=np.int64)
        if not varied or not len(rows):
            yield {}, rows
            return
        # Equal values of a sample are one structure, whatever their places.
        codes = np.stack([_codes(axis.given)[at] for axis, at in varied])
        _, first, group = np.unique(codes, axis=1, return_index=True, return_inverse=True)
        order = np.argsort(group.ravel(), kind="stable")
        starts = np.searchsorted(group.ravel()[order], np.arange(len(first)))
        for one, members in zip(first, np.split(order, starts[1:]), strict=True):
            yield {axis.known.path: axis.given[at[one]] for axis, at in varied}, members

    def _possible(self, machine: Machine, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows whose parameters are each within their limits, and whose constants make a machine; the others get
        their reason. Without this, each of them would be found by forecasts of its own."""
        own = self.sweep.workload.parameters
        # In the order of set_up, so that a point with two faults has the reason that it has alone.
        every = {"P": Parameter("P", None, whole=True, low=1)} | dict(own)
        for name in [name for name in every if name in self.given]:
            rows = self._within(rows, name, partial(_refusal, every[name]))
        if "P" in self.given:
            rows = self._within(rows, "P", lambda value: _ranks_refusal(value, machine, self.sweep))
        constants = [name for name in self.given if name != "P" and name not in own and name != CAPACITY]
        if not constants or not len(rows):
            return rows
        columns = np.stack([self.given[name][rows] for name in constants])
        if not _constants_refusal(machine, dict(zip(constants, columns, strict=True))):
            return rows
        values, place = np.unique(columns, axis=1, return_inverse=True)
        each = [dict(zip(constants, one, strict=True)) for one in values.T.tolist()]
        return self._without(rows, [_constants_refusal(machine, one) for one in each], place.ravel())

    def _within(self, rows: NDArray[np.int64], name: str, refusal: Callable[[float], str]) -> NDArray[np.int64]:
        """The rows whose value of this name is not refused."""
        values, place = np.unique(self.given[name][rows], return_inverse=True)
        return self._without(rows, [refusal(value) for value in values.tolist()], place.ravel())

    def _without(self, rows: NDArray[np.int64], reasons: Sequence[str], place: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows whose reason (at their place among the reasons) is empty; the others get theirs."""
        bad = np.array([bool(reason) for reason in reasons], dtype=bool)[place]
        self.error[rows[bad]] = np.array(reasons, dtype=object)[place[bad]]
        return np.asarray(rows[~bad], dtype=np.int64)

    def _parts(self, rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """All rows, or those of one P at a time and not too many, where ranks differ."""
        if not self.by_rank or not len(rows):
            yield rows
            return
        ranks = self.given.get("P")
        for size in [None] if ranks is None else np.unique(ranks[rows]).tolist():
            same = rows if ranks is None or size is None else rows[ranks[rows] == size]
            held = size or self.sweep.given.get("P") or self.sweep.source.machine.most_ranks
            yield from np.array_split(same, -(-len(same) * int(held) // _MOST_HELD) or 1)

    def _read(self, machine: Machine, rows: NDArray[np.int64]) -> None:
        """Forecast these rows; where that cannot be, halves of them, down to the rows that cannot."""
        if not len(rows):
            return
        asked: dict[str, object] = {**self.sweep.given}
        for name, column in self.given.items():
            one = self.by_rank and name == "P"
            asked[name] = float(column[rows[0]]) if one or len(rows) == 1 else column[rows]
        try:
            result = forecast(self.sweep.workload, machine, asked, preset=self.sweep.preset, phases=self.sweep.phases)
        except InputError as error:
            if len(rows) == 1:
                self.error[rows] = str(error)
                return
            for half in np.array_split(rows, 2):
                self._read(machine, half)
            return
        for name, value in numbers(result, PREFIXES[FORECAST]).items():
            self.results.setdefault(name, np.full(len(self.every), np.nan))[rows] = value


def _codes(values: Sequence[Value]) -> NDArray[np.int64]:
    """Equal numbers for equal values."""
    known: dict[Value, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in values], dtype=np.int64)


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
    """Why there cannot be so many ranks, empty if there can."""
    if ranks <= machine.most_ranks:
        return ""
    asked = {**sweep.given, "P": ranks}
    try:
        bind(sweep.workload, machine, asked, preset=sweep.preset, phases=sweep.phases)
    except InputError as error:
        return str(error)
    return ""
