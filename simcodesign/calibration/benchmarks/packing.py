"""What copying a block and each of its bytes takes, from times of collectives by an algorithm that packs blocks.

A time less the forecast of its messages is the time of the copies: their number times the time per block, and their
bytes times the time per byte. Rows have to name the algorithm: blocks of other algorithms are not copied.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simcodesign.calibration.benchmarks.reductions import by_algorithm, terms_of, usable
from simcodesign.calibration.benchmarks.samples import MachineConstant, Sample, united
from simcodesign.calibration.linear_constants import ConstantsProblem, fit_constants
from simcodesign.describe.machine import Machine
from simcodesign.fitting.measurements import FloatArray
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkTable

PATHS = ("network.packing", "network.packing_per_byte")
#: Operations and algorithms in which every rank copies blocks, whatever the number of ranks.
PACKED = (("all_to_all", "bruck"), ("allgather", "bruck"))
#: Fewer sizes or numbers of ranks cannot tell two constants from an error of the messages.
LEAST_ROWS = 3


def packing_times(
    tables: Sequence[BenchmarkTable], machine: Machine, level: float
) -> tuple[list[MachineConstant], list[str]]:
    """Return the seconds to copy a block and to copy a byte, with notes.

    None if fewer than three rows name an algorithm that packs blocks.
    """
    used: list[Sample] = []
    parts: list[FloatArray] = []
    for operation, algorithm in PACKED:
        taken = usable(_naming(tables, operation, algorithm), operation, machine)
        if taken:
            parts.append(terms_of(operation, algorithm, machine, taken, PATHS))
            used += taken
    if not used:
        return [], []
    if len(used) < LEAST_ROWS:
        return [], [f"Copies of blocks (network.packing) need {LEAST_ROWS} rows by bruck or more, not {len(used)}."]
    *copies, messages = np.concatenate(parts, axis=1)
    seconds = np.array([one.median for one in used])
    fit = fit_constants(ConstantsProblem(PATHS, np.array(copies).T, seconds, messages), level)
    found = [
        MachineConstant(path, one.value, one.low, one.high, "collectives by bruck, less their messages", _lines(used))
        for path, one in ((path, fit[path]) for path in PATHS)
        if one.value > 0
    ]
    if not found:
        return [], ["Collectives by bruck take no longer than their messages: network.packing is kept."]
    return found, []


def _naming(tables: Sequence[BenchmarkTable], operation: str, algorithm: str) -> list[BenchmarkTable]:
    """Return the tables with the rows of an operation that name this algorithm."""
    named = [
        one
        for one in tables
        if any(row.operation == operation and row.labels.get("algorithm") == algorithm for row in one.rows)
    ]
    return by_algorithm(named, operation, algorithm)


def _lines(used: Sequence[Sample]) -> dict[str, tuple[int, ...]]:
    return dict(united(one.lines for one in used))
