"""Startup and time per byte of the network between nodes, from rings of NCCL among several ranks on each node.

A step of such a ring has messages of both levels, so that its time is no single message's. The constants are the ones
with which the forecast of the operation, on the machine with its networks inside nodes, is nearest to the measured
times: least squares of relative errors. The algorithm is ``ring_channels``, or NCCL's rules if these fit better.

Intervals are of the forecast's linear part at the estimates (``linear_constants``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.stats import t

from simcodesign.analytic.forecast import forecast
from simcodesign.calibration.benchmarks.levels import OUTSIDE, at_level
from simcodesign.calibration.benchmarks.point_to_point import PointToPoint, Segment
from simcodesign.calibration.benchmarks.reductions import usable
from simcodesign.calibration.benchmarks.rings import PING_PONG, is_on_both_levels
from simcodesign.calibration.benchmarks.samples import RINGS, MachineConstant, Sample, united
from simcodesign.calibration.benchmarks.saturation import PATH as INTERFACE
from simcodesign.calibration.linear_constants import ConstantsProblem, fit_constants
from simcodesign.calibration.segments import LEAST_SIZES, Segmentation
from simcodesign.core.expressions.expression import parse
from simcodesign.core.units import LEAST
from simcodesign.describe.constants import required_paths
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.algorithm_choice import NCCL
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_machine
from simcodesign.fitting.measurements import FloatArray
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkTable

#: Algorithms that the rows may be by; another one than the first must fit better by this factor.
CANDIDATES, BETTER = ("ring_channels", NCCL), 0.99
#: Times per byte of links and interfaces.
LINKS = "network.link_per_byte", INTERFACE
#: Relative errors below this are of printed times. A constant is hidden if forecasts without it fit as well.
PRINTED = 1e-3
#: The relative step of a constant in which the forecast is taken to be linear.
STEP = 1e-6
#: Steps of one least-squares fit at most, and its tolerances.
MOST_STEPS, TOLERANCES = 50, ("xtol", "ftol", "gtol")
#: Factors of the first estimates of a time per byte: rings leave nodes in one channel, or in as many as have ranks.
FACTORS = (16.0, 4.0, 1.0, 0.25)


BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Fit:
    """``constants``: (2,) startup and time per byte; ``error``: root mean squared relative error of the forecasts."""

    algorithm: str
    constants: FloatArray
    error: float


def rings_across_nodes(
    tables: tuple[BenchmarkTable, ...], name: str | Path, changes: Mapping[str, object], level: float
) -> tuple[PointToPoint | None, tuple[BenchmarkTable, ...], tuple[str, ...]]:
    """Return the constants between nodes, of one segment, the tables without the used rows, and notes.

    None without rings of three sizes or more, and if there are ping-pongs between nodes.

    ``changes``: of the machine's file, which add what is known of messages within nodes.
    """
    machine = load_machine(name, {**changes})
    far = at_level(tables, OUTSIDE, machine)
    rows = [row for table in far for row in table.rows]
    rings = [replace(table, rows=tuple(row for row in table.rows if is_on_both_levels(row, machine))) for table in far]
    if any(row.operation == PING_PONG for row in rows) or not any(table.rows for table in rings):
        return None, tables, ()
    taken = [(operation, one) for operation in RINGS for one in usable(rings, operation, machine)]
    names = ", ".join(dict.fromkeys(operation for operation, _ in taken))
    if len({one.parameters["bytes"] for _, one in taken}) < LEAST_SIZES:
        what = f"fewer than {LEAST_SIZES} sizes of them are on nodes as {machine.name} places its ranks"
        return None, tables, (f"Rings across nodes are not used: {what}.",)
    problem = _Rings(machine, taken)
    fits = [problem.fitted(algorithm) for algorithm in CANDIDATES]
    best = fits[1] if fits[1].error < BETTER * fits[0].error else fits[0]
    other = fits[0] if best is fits[1] else fits[1]
    by = f"{names} across nodes of nccl-tests is taken to be by {best.algorithm}"
    errors = f"the forecast is off by {best.error:.2%} (root mean square; {other.algorithm}: {other.error:.2%})"
    notes = [f"{by}: {errors}.".replace("%", " %")]
    messages = problem.result(best, level, notes)
    lines = {} if messages is None else messages.lines
    rest = tuple(
        replace(one, rows=tuple(row for row in one.rows if row.line not in lines.get(one.file, ()))) for one in tables
    )
    return messages, rest, tuple(notes)


class _Rings:
    """Forecasts of measured operations as a function of startup and time per byte between nodes."""

    def __init__(self, machine: Machine, taken: Sequence[tuple[str, Sample]]) -> None:
        self.machine, self.taken = machine, taken
        first, *_, last = required_paths(machine.network.message_model)
        self.paths = first, last
        self.measured_s = np.array([one.median for _, one in taken])
        stated = machine.constants()
        self.stated = np.array([float(np.max(stated.get(path, 0.0))) for path in self.paths])
        self.links = {path: float(np.max(stated[path])) for path in LINKS if path in stated}

    def predicted_s(self, algorithm: str, sets: FloatArray) -> FloatArray:
        """Forecast times with K sets of constants, (K, 2): (K, N)."""
        times = np.empty((len(sets), len(self.taken)))
        groups: dict[tuple[str, float], list[int]] = {}
        for place, (operation, one) in enumerate(self.taken):
            groups.setdefault((operation, one.parameters["P"]), []).append(place)
        constants = {path: sets[:, [column]] for column, path in enumerate(self.paths)}
        # Links that the machine has slower than these messages are as fast as they, as in the calibrated machine.
        constants |= {path: np.minimum(value, sets[:, [1]]) for path, value in self.links.items()}
        for (operation, ranks), places in groups.items():
            demand = Collective(None, self.machine.place, name=operation, algorithm=algorithm, bytes=parse("m"))
            workload = Workload(operation, {"m": Parameter("m", None)}, {}, (demand,))
            size = np.array([self.taken[place][1].parameters["bytes"] for place in places])
            given = {"P": ranks, "m": size, **constants}
            times[:, places] = forecast(workload, self.machine, given, longest_path=False).makespan_s
        return times

    def fitted(self, algorithm: str) -> _Fit:
        """Return the best fit by an algorithm, from several first estimates: the forecast has largest-of-two terms."""

        def off(constants: FloatArray) -> FloatArray:
            return np.asarray(self.predicted_s(algorithm, (constants * scale)[None])[0] / measured - 1)

        measured, found = self.measured_s, []
        size = np.array([one.parameters["bytes"] for _, one in self.taken])
        ranks = np.array([one.parameters["P"] for _, one in self.taken])
        scale = np.maximum(np.array([np.min(measured / ranks) / 2, np.min(measured / size)]), LEAST)
        for factor in FACTORS:
            start, bounds = np.array([1.0, factor]), (0.0, np.inf)
            done = least_squares(off, start, bounds=bounds, max_nfev=MOST_STEPS, **dict.fromkeys(TOLERANCES, 1e-10))
            found.append((float(np.sqrt(2 * done.cost / len(measured))), done.x * scale))
            if found[-1][0] < PRINTED:
                break
        error, constants = min(found, key=lambda one: one[0])
        return _Fit(algorithm, constants, error)

    def result(self, fit: _Fit, level: float, notes: list[str]) -> PointToPoint | None:
        """Return the constants with intervals; hidden ones are kept if the machine's are no worse, with a note."""
        hidden = np.array([self._fits(fit, np.where(one, 0.0, fit.constants), level) for one in np.eye(2)])
        if hidden.all():
            notes.append("Rings across nodes determine no constant: messages within nodes take longer.")
            return None
        constants = self._kept(fit, hidden, level, notes)
        raised = fit.constants * (1 + STEP * np.eye(2)) + LEAST * np.eye(2)
        at, *others = self.predicted_s(fit.algorithm, np.array([fit.constants, *raised]))
        design = np.maximum((np.array(others) - at).T / (np.diag(raised) - fit.constants), 0.0)
        known = np.maximum(at - design @ fit.constants, 0.0)
        known[known < 1e-9 * at] = 0.0
        linear = fit_constants(ConstantsProblem(self.paths, design, self.measured_s, known), level)
        lines = united(one.lines for _, one in self.taken)
        size = np.array([one.parameters["bytes"] for _, one in self.taken])
        how = f"forecasts of rings of {len(np.unique(size))} sizes"
        of_path = [
            MachineConstant(path, value, np.nan, np.nan, "hidden by other parts of rings", {})
            if hidden[column]
            else MachineConstant(path, value, min(linear[path].low, value), max(linear[path].high, value), how, lines)
            for column, (path, value) in enumerate(zip(self.paths, constants.tolist(), strict=True))
        ]
        segment = Segment(np.inf, (np.inf, np.inf), of_path[0], of_path[1])
        none, startup, per_byte = np.empty(0), constants[:1], constants[1:]
        cuts = Segmentation(size, self.measured_s, np.array([0]), startup, per_byte, none, none, ())
        return PointToPoint(cuts, (segment,), (), linear, linear, (), lines)

    def _fits(self, fit: _Fit, constants: FloatArray, level: float) -> bool:
        """Return whether these constants fit as well, by Student's t at this level, or as times are printed."""
        off = self.predicted_s(fit.algorithm, constants[None])[0] / self.measured_s - 1
        free = max(len(self.taken) - 2, 1)
        most = fit.error * np.sqrt(1 + t.ppf((1 + level) / 2, free) ** 2 / free)
        return bool(np.sqrt(np.mean(off**2)) <= max(most, PRINTED))

    def _kept(self, fit: _Fit, hidden: BoolArray, level: float, notes: list[str]) -> FloatArray:
        """Return the constants, with the machine's for hidden ones unless they make forecasts worse."""
        constants = np.where(hidden, self.stated, fit.constants)
        is_kept = self._fits(fit, constants, level)
        for path in np.array(self.paths)[hidden].tolist():
            what = f"{self.machine.name}'s is kept" if is_kept else "the estimate is the most that fits"
            notes.append(f"{path} is hidden, because other parts of rings across nodes take longer: {what}.")
        return constants if is_kept else fit.constants
