"""Efficiency and launch of an accelerator's kernels, from measured products of matrices.

A product of m x k by k x n numbers takes ``launch + max(2 m n k / (efficiency rate), latency + bytes / bandwidth)``, as
in the workload (docs/accelerators.md): rate, latency and bandwidth are the machine's, efficiency and launch are
fitted by least squares of the relative errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.stats import t as student

from simcodesign.calibration.benchmarks.samples import Lines, MachineConstant, lines_of
from simcodesign.core.errors import InputError, Place
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.accelerator import Accelerator, needed_per_byte_s, needed_rate
from simcodesign.describe.machine_parts.rates import FORMAT_BYTES
from simcodesign.fitting.readers.benchmarks.gemm import OPERATION, SIZES, TYPE
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkTable

Floats = NDArray[np.float64]
EFFICIENCY, LAUNCH = "accelerator.efficiency", "accelerator.launch"
#: Minimum number of products to separate two constants and estimate their errors.
MIN_PRODUCTS = 3
#: Below this efficiency no kernel is looked for.
MIN_EFFICIENCY = 1e-6


class _Products(NamedTuple):
    """Seconds of products: at the machine's full rate, for their bytes, and as measured."""

    computing_s: Floats
    moving_s: Floats
    measured_s: Floats
    lines: Lines
    formats: tuple[str, ...]

    def predicted_s(self, efficiency: float, launch_s: float) -> Floats:
        return launch_s + np.maximum(self.computing_s / efficiency, self.moving_s)


def kernel_constants(
    tables: Sequence[BenchmarkTable], machine: Machine, level: float
) -> tuple[list[MachineConstant], list[str]]:
    """Return efficiency and launch of the accelerator, and what limits them.

    ``tables``: of which rows of ``gemm`` are used; ``level``: the probability of the intervals. Raises InputError for a
    number format whose rate the machine does not state.
    """
    if not any(row.operation == OPERATION for table in tables for row in table.rows):
        return [], []
    if machine.accelerator is None:
        return [], [f"{machine.name} states no accelerator: products of matrices have no place in it."]
    if machine.accelerator.efficiency_by_shape is not None:
        return [], [f"{machine.name} has an efficiency by shape: products of matrices do not change it."]
    products = _products(tables, machine, machine.accelerator)
    count = len(products.measured_s)
    if count < MIN_PRODUCTS:
        return [], [f"{count} products of matrices are too few for efficiency and launch, which take {MIN_PRODUCTS}."]
    return _fitted(products, level)


def _products(tables: Sequence[BenchmarkTable], machine: Machine, accelerator: Accelerator) -> _Products:
    rows = [(table.file, row) for table in tables for row in table.rows if row.operation == OPERATION]
    parts, formats = [], dict[str, None]()
    for file, row in rows:
        place = Place(file, row.line)
        m, n, k = (row.parameters[name] for name in SIZES)
        if not (min(m, n, k) > 0 and row.value > 0):
            raise InputError("a product of matrices", place, value=(m, n, k, row.value), allowed="above 0")
        name = row.labels.get(TYPE) or _format_of(accelerator, place)
        if name not in FORMAT_BYTES:
            raise InputError("unknown number format", place, value=name, allowed=", ".join(FORMAT_BYTES))
        formats[name] = None
        rate = float(np.max(needed_rate(accelerator, name, machine.name, place)))
        per_byte_s = needed_per_byte_s(accelerator.memory_per_byte_s, "memory", machine.name, place)
        size_bytes = (m * k + k * n + m * n) * FORMAT_BYTES[name]
        moving_s = float(np.max(accelerator.memory_latency_s + size_bytes * per_byte_s))
        parts.append((2 * m * n * k / rate, moving_s, row.value))
    columns = np.array(parts, dtype=float).T
    return _Products(columns[0], columns[1], columns[2], lines_of(rows), tuple(formats))


def _format_of(accelerator: Accelerator, place: Place) -> str:
    """Return the format of rows that state none: of 16 bits, whose rates do not differ, or the only one."""
    stated = accelerator.rates.stated()
    for name in ("bf16", "fp16"):
        if name in stated:
            return name
    if len(stated) == 1:
        return next(iter(stated))
    raise InputError("the number format of a product is not stated", place, allowed=f"a column {TYPE}")


def _fitted(products: _Products, level: float) -> tuple[list[MachineConstant], list[str]]:
    def errors(unknown: Floats) -> Floats:
        return np.asarray(products.predicted_s(unknown[0], unknown[1]) / products.measured_s - 1.0)

    most_s = float(products.measured_s.min())
    starts = [(start, part * most_s) for start in (0.3, 0.6, 0.9) for part in (0.01, 0.5)]
    bounds = ([MIN_EFFICIENCY, 0.0], [1.0, max(most_s, np.finfo(float).tiny)])
    fits = [least_squares(errors, start, bounds=bounds, x_scale=(1.0, most_s)) for start in starts]
    best = min(fits, key=lambda fit: fit.cost)
    efficiency, launch_s = map(float, best.x)
    limited = products.computing_s / efficiency > products.moving_s
    if not limited.any():
        return [], ["All products of matrices wait for the memory: they do not show the efficiency."]
    halves = _half_widths(best.jac, best.fun, level)
    names = " and ".join(products.formats)
    how = f"{len(limited)} products of matrices in {names}, {int(limited.sum())} of which computing limits"
    found = ((EFFICIENCY, efficiency, halves[0], 1.0), (LAUNCH, launch_s, halves[1], np.inf))
    constants = [
        MachineConstant(path, value, max(value - half, 0.0), min(value + half, most), how, products.lines)
        for path, value, half, most in found
    ]
    middle, worst = np.median(np.abs(best.fun)), float(best.fun[np.argmax(np.abs(best.fun))])
    fit = f"Products of matrices: the fitted times miss them by {middle:.1%} (median), at worst {worst:+.1%}"
    return constants, [f"{fit}; these rows are no evidence."]


def _half_widths(jacobian: Floats, errors: Floats, level: float) -> tuple[float, float]:
    """Half widths of the intervals of both constants, from the linearised fit; infinite if it leaves one open."""
    freedom = len(errors) - 2
    if freedom < 1 or np.linalg.matrix_rank(jacobian) < 2:
        return np.inf, np.inf
    covariance = np.linalg.inv(jacobian.T @ jacobian) * float(errors @ errors) / freedom
    width = student.ppf((1 + level) / 2, freedom) * np.sqrt(np.diag(covariance))
    return float(width[0]), float(width[1])
