"""Algorithms of ours whose forecasts fit the times of a collective operation best, by ranges of sizes.

For each algorithm, the ratio of a measured time to its forecast is taken at every row. The best one of a range of sizes
is the one whose logarithms of ratios vary least around their mean: wrong constants shift the mean, another algorithm
makes ratios vary. A forecast that leaves out that concurrent messages share an interface counts as the time of the
busiest interface. That makes forecasts better; it does not tell which algorithm the library ran.

How many ranges there are is chosen by the Bayesian information criterion (G. Schwarz, Annals of Statistics 6, 1978) of
independent normal errors, with three numbers for each range: its end, its algorithm, its mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.bounds import MOST_LOADED_IN_NODE, MOST_LOADED_INTERFACE
from simcodesign.analytic.forecast import forecast
from simcodesign.calibration.benchmarks.reductions import OPERATIONS, is_as_placed
from simcodesign.calibration.benchmarks.samples import Lines
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import parse
from simcodesign.core.units import shortest_quantity
from simcodesign.describe.demands.collective import SEGMENTED, SIGNALS, Collective, every_algorithm
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.algorithm_choice import Decisions
from simcodesign.describe.network.open_mpi_rules import LIBRARIES
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.workload import Workload
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkTable

Floats = NDArray[np.float64]
Predict = Callable[[Workload, Machine, Mapping[str, float]], float]
"""The time of a workload on a machine at values of its parameters, in seconds."""
#: Rows that a range has at least, and ranges of an operation at most.
LEAST_ROWS, MOST_RANGES = 3, 4
#: Numbers that a range is described by.
_NUMBERS = 3
#: Candidates fit about as well up to this multiple of the least spread; logarithms of predictions that differ by more
#: than ``STEADY`` are different, as in anchored predictions.
RIVAL, STEADY = 1.5, 0.2
#: An algorithm is impossible if the busiest interface needs more than this many times the measured time for its bytes:
#: interfaces may be faster than a single message by less. Each impossible row counts more than any spread.
MOST_FASTER, _PENALTY = 2.0, 1e4
#: Segments that are tried, as in the decisions of Open MPI (``describe.network.open_mpi_rules``).
SEGMENTS = (1024.0, 8192.0, 32768.0, 131072.0)
#: Lower bounds that closed forms leave out: messages that a rank sends concurrently share its interface.
SHARED = (MOST_LOADED_INTERFACE, MOST_LOADED_IN_NODE)
#: Logarithms of ratios that vary by less are the same: times are printed with two to four digits.
_LEAST_SPREAD = 1e-3


@dataclass(frozen=True)
class Candidate:
    """An ``algorithm`` that a library may use, with data in segments of ``segment_bytes``, None for the whole data."""

    algorithm: str
    segment_bytes: float | None = None

    @property
    def label(self) -> str:
        """The name of the algorithm, and its segments if it has any."""
        if self.segment_bytes is None:
            return self.algorithm
        return f"{self.algorithm} in {shortest_quantity(self.segment_bytes, 'size', 4)}"


@dataclass(frozen=True)
class AlgorithmChoice:
    """The algorithm whose forecasts vary least in a range of sizes of an ``operation``.

    ``from_bytes`` to ``up_to_bytes``: the sizes measured there. ``spread``: standard deviation of the
    logarithm of measured over forecast; ``ratio``: the geometric mean of that quotient; ``rows``: how many. ``others``:
    the next algorithms, with their spreads there. ``lines``: the rows, which are no evidence for this choice.
    ``segment_bytes``: of an algorithm that passes data on in segments, otherwise None. ``caution``: another algorithm
    that fits about as well and predicts another time for more ranks, in words; empty without any.
    """

    operation: str
    algorithm: str
    from_bytes: float
    up_to_bytes: float
    spread: float
    ratio: float
    rows: int
    others: tuple[tuple[str, float], ...]
    lines: Lines
    segment_bytes: float | None = None
    caution: str = ""

    @property
    def candidate(self) -> Candidate:
        """The algorithm with its segments."""
        return Candidate(self.algorithm, self.segment_bytes)


@dataclass(frozen=True, order=True)
class Time:
    """A measured time of one operation, with its file and line."""

    size_bytes: float
    ranks: int
    time_s: float
    file: str
    line: int


def algorithm_choices(tables: Iterable[BenchmarkTable], machine: Machine) -> tuple[AlgorithmChoice, ...]:
    """Return, for each collective operation with measured times, its ranges of sizes, in their order.

    Rows count that state bytes and ranks P (or nodes, with one rank on each), and that the machine can hold. Operations
    with fewer than three such rows are left out.
    """
    times = times_of_operations(tables, machine)
    return tuple(
        choice
        for operation, every in times.items()
        if len(every) >= LEAST_ROWS
        for choice in _of_operation(operation, sorted(every), machine)
    )


def times_of_operations(tables: Iterable[BenchmarkTable], machine: Machine) -> dict[str, list[Time]]:
    """Return the measured times of each collective operation that has bytes, in the order of the registered operations.

    Without rows whose ranks were on another number of nodes than the machine places them on.
    """
    times: dict[str, list[Time]] = {}
    for table in tables:
        for row in table.rows:
            ranks = row.parameters.get("P", row.parameters.get("nodes"))
            is_time = row.quantity == "time" and row.value > 0 and is_as_placed(row, machine)
            if is_time and ranks is not None and row.parameters.get("bytes"):  # none of 0 bytes, which need no message
                one = Time(row.parameters["bytes"], int(ranks), row.value, table.file, row.line)
                times.setdefault(row.operation, []).append(one)
    known = dict.fromkeys(operation for operation, _ in every_algorithm() if operation not in SIGNALS)
    return {operation: times[operation] for operation in known if operation in times}


def notes_without_ranks(tables: Iterable[BenchmarkTable]) -> list[str]:
    """Return a note for each file with collective operations whose number of ranks is not stated.

    They choose no algorithm, and are no evidence. Reductions have a note of their own.
    """
    known = {operation for operation, _ in every_algorithm()} - {*OPERATIONS}
    notes = []
    for table in tables:
        lacking = dict.fromkeys(
            row.operation
            for row in table.rows
            if row.operation in known and row.quantity == "time" and not {"P", "nodes"} & row.parameters.keys()
        )
        if lacking:
            what = f"{table.file}: nothing states the number of ranks of {', '.join(lacking)}, so that it is not used."
            notes.append(f"{what} Set it, for example by --given {Path(table.file).name}:P=8.")
    return notes


def notes_of_placement(tables: Iterable[BenchmarkTable], machine: Machine) -> list[str]:
    """Return a note for each collective operation of more ranks than the machine has, or on other nodes than it has."""
    known = {operation for operation, _ in every_algorithm()} - {*SIGNALS}
    lacking = dict.fromkeys(
        (table.file, row.operation, row.parameters["P"], row.parameters.get("nodes"))
        for table in tables
        for row in table.rows
        if row.operation in known and row.quantity == "time" and not is_as_placed(row, machine)
    )
    return [
        f"{file}: {operation} of {ranks:g} ranks is not used: {machine.name} has at most {machine.most_ranks:,}."
        if nodes is None or ranks > machine.most_ranks
        else f"{file}: {operation} of {ranks:g} ranks on {nodes:g} nodes is not used: {machine.name} places them on "
        f"{machine.placement.nodes_used(ranks):g} (mapping)."
        for file, operation, ranks, nodes in lacking
    ]


def decision_table(choices: Sequence[AlgorithmChoice], stated: Decisions) -> dict[str, str | list[dict[str, object]]]:
    """Return the key ``collectives`` of a machine file that takes these algorithms.

    Sizes between two ranges belong to the lower one. Other operations keep the library whose rules are ``stated``,
    because a table by operations replaces the name of a library for all.
    """
    tables: dict[str, list[dict[str, object]]] = {}
    for one, after in zip_longest(choices, choices[1:]):
        same = after if after is not None and after.operation == one.operation else None
        if same is None or same.candidate != one.candidate:
            row: dict[str, object] = {} if same is None else {"up_to": one.up_to_bytes}
            row["algorithm"] = one.algorithm
            if one.segment_bytes is not None:
                row["segment"] = one.segment_bytes
            tables.setdefault(one.operation, []).append(row)
    libraries = {
        operation: name
        for operation, rules in stated.items()
        for name, every in LIBRARIES.items()
        if every.get(operation) is rules
    }
    return {**libraries, **tables} if choices else {}


def _of_operation(operation: str, times: Sequence[Time], machine: Machine) -> Iterable[AlgorithmChoice]:
    """Return the ranges of one operation; none if no algorithm has forecasts."""
    ratios: dict[Candidate, Floats] = {}
    impossible, of_algorithms = [], dict[str, dict[tuple[float, float], float]]()
    for one in _candidates(operation, times[-1].size_bytes):
        bounds_s = of_algorithms.setdefault(one.algorithm, {})  # segments have the bytes of the whole data
        logs = log_ratios(operation, one, times, machine, partial(_shared_s, bounds_s=bounds_s))
        if logs is not None:
            ratios[one] = logs
            impossible.append([MOST_FASTER * row.time_s < bounds_s[row.size_bytes, row.ranks] for row in times])
    if not ratios:
        return []
    fits = Fits([*ratios], np.array([*ratios.values()]), np.array(impossible))
    ends = _ends(np.array([one.size_bytes for one in times]), _sums_of_squares(fits.logs, fits.impossible))
    return [
        replace(_choice(operation, part, rows), caution=_caution(operation, part, rows, machine))
        for low, high in ends
        for part, rows in [(fits.of_rows(low, high), times[low:high])]
    ]


def _candidates(operation: str, largest_bytes: float) -> list[Candidate]:
    """Return the algorithms of an operation, first with the whole data; segments are smaller than the largest data."""
    whole = [Candidate(algorithm) for name, algorithm in every_algorithm() if name == operation]
    segmented = [one.algorithm for one in whole if (operation, one.algorithm) in SEGMENTED]
    sizes = [size for size in SEGMENTS if size < largest_bytes]
    return [*whole, *(Candidate(name, size) for name in segmented for size in sizes)]


def forecast_s(workload: Workload, machine: Machine, at: Mapping[str, float]) -> float:
    """Return the forecast time of a workload."""
    return float(forecast(workload, machine, at, longest_path=False).makespan_s)


def _shared_s(
    workload: Workload,
    machine: Machine,
    at: Mapping[str, float],
    bounds_s: dict[tuple[float, float], float] | None = None,
) -> float:
    """Return the forecast, or what the busiest interface needs for its bytes if that is longer.

    ``bounds_s`` has the latter by bytes and ranks, or receives it.
    """
    known, point = {} if bounds_s is None else bounds_s, (at["m"], at["P"])
    predicted = forecast(workload, machine, at, longest_path=False, bounds=point not in known)
    if point not in known:
        lower_s = {} if predicted.bounds is None else predicted.bounds.lower_s
        known[point] = max(lower_s.get(name, 0.0) for name in SHARED)
    return max(float(predicted.makespan_s), known[point])


def log_ratios(
    operation: str, candidate: Candidate, times: Sequence[Time], machine: Machine, predict: Predict = forecast_s
) -> Floats | None:
    """Return logarithms of measured over predicted; None where the machine has no prediction by this algorithm."""
    segment = None if candidate.segment_bytes is None else parse(repr(candidate.segment_bytes))
    algorithm = candidate.algorithm
    demand = Collective(None, machine.place, name=operation, algorithm=algorithm, bytes=parse("m"), segment=segment)
    workload = Workload(operation, {"m": Parameter("m", None)}, {}, (demand,))
    known: dict[tuple[float, int], float] = {}
    try:
        for one in times:
            point = one.size_bytes, one.ranks
            if point not in known:
                known[point] = predict(workload, machine, {"P": one.ranks, "m": one.size_bytes})
    except InputError:
        return None
    predicted = np.array([known[one.size_bytes, one.ranks] for one in times])
    measured = np.array([one.time_s for one in times])
    return np.log(measured / predicted) if np.all(predicted > 0) else None


@dataclass(frozen=True)
class Fits:
    """Logarithms of measured over forecast by candidates, (candidates, rows), and where a candidate is impossible."""

    names: Sequence[Candidate]
    logs: Floats
    impossible: NDArray[np.bool_]

    def of_rows(self, low: int, high: int) -> Fits:
        """Return the fits of the rows low to high - 1."""
        return Fits(self.names, self.logs[:, low:high], self.impossible[:, low:high])

    @property
    def spreads(self) -> Floats:
        """Standard deviations, larger than all others of candidates with more impossible rows."""
        return np.asarray(self.logs.std(axis=1) + _PENALTY * self.impossible.sum(axis=1))

    @property
    def best(self) -> int:
        """The candidate with the least spread; of equals, the usual one."""
        return int(np.flatnonzero(self.spreads <= self.spreads.min() + _LEAST_SPREAD)[0])


def _sums_of_squares(logs: Floats, impossible: NDArray[np.bool_]) -> Floats:
    """Return the least sums of squared deviations from a mean, of any algorithm, (rows + 1, rows + 1).

    Each is of the rows low to high - 1, with a penalty for each impossible one.
    """
    count = logs.shape[1]
    sums, squares, penalties = (
        np.concatenate([np.zeros((len(logs), 1)), np.cumsum(one, axis=1)], axis=1)
        for one in (logs, logs**2, _PENALTY * impossible)
    )
    low, high = np.triu_indices(count + 1, 1)
    each = squares[:, high] - squares[:, low] - (sums[:, high] - sums[:, low]) ** 2 / (high - low)
    each += penalties[:, high] - penalties[:, low]
    least = np.full((count + 1, count + 1), np.inf)
    least[low, high] = np.maximum(each.min(axis=0), 0.0)
    return least


def _ends(sizes: Floats, squares: Floats) -> list[tuple[int, int]]:
    """Return the first row of each range, and the one behind its last, by dynamic programming.

    Rows of one size stay together.
    """
    count = len(sizes)
    cuts = [0, *(at for at in range(1, count) if sizes[at] != sizes[at - 1]), count]
    best: dict[tuple[int, int], tuple[float, list[tuple[int, int]]]] = {(0, 0): (0.0, [])}
    for ranges in range(1, MOST_RANGES + 1):
        for high in cuts[1:]:
            found = [
                (cost + squares[low, high], [*path, (low, high)])
                for low in cuts
                if high - low >= LEAST_ROWS and (ranges - 1, low) in best
                for cost, path in [best[ranges - 1, low]]
            ]
            if found:
                best[ranges, high] = min(found)
    floor = count * _LEAST_SPREAD**2
    scored = [
        (count * math.log((cost + floor) / count) + _NUMBERS * ranges * math.log(count), path)
        for (ranges, high), (cost, path) in best.items()
        if high == count
    ]
    return min(scored)[1]


def _choice(operation: str, fits: Fits, times: Sequence[Time]) -> AlgorithmChoice:
    """Return the best algorithm of some rows, and the others by their spread, impossible ones last."""
    first, names, spreads = fits.best, fits.names, np.std(fits.logs, axis=1)
    others = [one for one in np.argsort(fits.spreads, kind="stable").tolist() if one != first]
    lines: dict[str, list[int]] = {}
    for one in times:
        lines.setdefault(one.file, []).append(one.line)
    return AlgorithmChoice(
        operation,
        names[first].algorithm,
        times[0].size_bytes,
        times[-1].size_bytes,
        float(spreads[first]),
        float(np.exp(np.mean(fits.logs[first]))),
        len(times),
        tuple((names[one].label, float(spreads[one])) for one in others),
        {file: tuple(sorted({*every})) for file, every in lines.items()},
        names[first].segment_bytes,
    )


def _caution(operation: str, fits: Fits, times: Sequence[Time], machine: Machine) -> str:
    """Return in words which candidate fits about as well as the best, but differs most on twice as many ranks.

    Empty if none differs by more than ``STEADY``. Predictions are forecasts times the mean ratio, at a middle size.
    """
    first, names, spreads = fits.best, fits.names, fits.spreads
    ranks, size_bytes = 2 * max(one.ranks for one in times), times[len(times) // 2].size_bytes
    there = [Time(size_bytes, ranks, 1.0, "", 0)]
    predicted = {
        number: float(np.mean(fits.logs[number]) - found[0])
        for number in np.flatnonzero(spreads <= RIVAL * max(spreads[first], _LEAST_SPREAD)).tolist()
        if (found := log_ratios(operation, names[number], there, machine, _shared_s)) is not None
    }
    if first not in predicted:  # more ranks than the machine has
        return ""
    rival = max(predicted, key=lambda number: abs(predicted[number] - predicted[first]))
    if abs(predicted[rival] - predicted[first]) <= STEADY:
        return ""
    both = " and ".join(f"{names[one].label} (spread {spreads[one]:.3g})" for one in (first, rival))
    factor = math.exp(abs(predicted[rival] - predicted[first]))
    return f"{both} fit about as well, but differ by a factor of {factor:.2g} on {ranks:,} ranks"
