"""Bandwidth of memory from STREAM, and the rate of a processor from High Performance Linpack."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simcodesign.calibration.benchmarks.samples import MachineConstant, Sample, lines_of, samples, united
from simcodesign.calibration.linear_constants import ConstantsProblem, fit_constants
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkTable

#: The kernel of STREAM that counts as the bandwidth of memory.
KERNEL = "stream triad"


def memory_bandwidth(tables: Sequence[BenchmarkTable], controllers: int = 1) -> MachineConstant | None:
    """Return the time per byte of each memory controller of a node.

    STREAM's triad with the most threads, which use all controllers, from its shortest repetition to its longest.
    """
    rows = [(table.file, row) for table in tables for row in table.rows if row.operation == KERNEL]
    if not rows:
        return None
    file, best = max(rows, key=lambda item: (item[1].parameters.get("threads", 1.0), item[1].value))
    low, high = best.low or best.value, best.high or best.value
    threads = best.parameters.get("threads", 1.0)
    how = f"STREAM, triad, {threads:g} thread{'s' if threads != 1 else ''}; from its longest repetition to its shortest"
    how += f"; {controllers} controllers" if controllers > 1 else ""
    per_byte, least, most = (controllers / value for value in (best.value, high, low))
    return MachineConstant("memory.per_byte", per_byte, least, most, how, lines_of([(file, best)]))


def processor_rate(tables: Sequence[BenchmarkTable], level: float) -> tuple[MachineConstant | None, str]:
    """Return the rate of a processor, and notes on it.

    The time of Linpack is ``(2/3 n^3 + 3/2 n^2) / (P rate)`` and what its messages take, which grows with n^2 / sqrt P:
    fitted with both terms if there are three sizes or more. Fewer give a lower bound of the rate, no constant.
    """
    taken = samples(tables, "hpl", by=("n", "P"))
    if not taken:
        return None, ""
    if len({one.parameters["n"] for one in taken}) < 3:
        most = max(_flops(one) / one.median / one.parameters["P"] for one in taken)
        bound = f"a processor does at least {most / 1e9:.4g} GFLOP/s"
        return None, f"Linpack of fewer than three sizes: {bound}; processor.rate is kept."
    ranks, size = (np.array([one.parameters[name] for one in taken]) for name in ("P", "n"))
    design = np.column_stack([np.array([_flops(one) for one in taken]) / ranks, size**2 / np.sqrt(ranks)])
    seconds = np.array([one.median for one in taken])
    problem = ConstantsProblem(("per operation", "per n^2 / sqrt P"), design, seconds, np.zeros(len(taken)))
    estimate = fit_constants(problem, level)["per operation"]
    if not (estimate.determined and estimate.value > 0):
        return None, "The times of Linpack do not grow as n^3: processor.rate is kept."
    low, high = (1 / end if end > 0 else np.inf for end in (estimate.high, estimate.low))
    how = f"Linpack of {len(taken)} sizes and numbers of ranks, the part that grows as n^3"
    lines = united(one.lines for one in taken)
    return MachineConstant("processor.rate", 1 / estimate.value, low, high, how, lines), ""


def _flops(one: Sample) -> float:
    """Return the operations of the factorisation and the solution as HPL counts them."""
    n = one.parameters["n"]
    return 2 / 3 * n**3 + 3 / 2 * n**2
