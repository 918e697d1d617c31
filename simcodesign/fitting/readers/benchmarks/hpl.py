"""High Performance Linpack: ``HPL.out``, and what the program prints.

Every run has a line ``WR11C2R4 N NB P Q Time Gflops`` (seconds, 10^9 operations a second), and below it whether its
residual passed. HPL of NVIDIA prints ``WC0 ... Gflops ( per GPU)``. HPL counts 2/3 n^3 + 3/2 n^2 operations. Source:
HPL 2.3, ``testing/ptest/HPL_pdtest.c`` as documented on netlib.org/benchmark/hpl.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable, add_benchmark, numbers
from simcodesign.fitting.readers.benchmarks.output.text import numbered_lines

#: NVIDIA's HPL adds the rate of each GPU in parentheses.
RUN = re.compile(r"(W[RC]\w+(?:\s+[0-9]+){4}\s+[0-9.eE+-]+\s+[0-9.eE+-]+)(?:\s+\(\s*[0-9.eE+-]+\s*\))?")
RESIDUAL = re.compile(r"\|\|Ax-b\|\|.*(PASSED|FAILED)")


def read_hpl(path: Path) -> BenchmarkTable:
    """Read a time and a rate for each run; runs whose residual failed are left out, and mentioned in the notes."""
    rows: list[BenchmarkRow] = []
    failed: set[int] = set()
    damaged: list[int] = []
    for line, text in numbered_lines(path, "hpl"):
        if run := RUN.fullmatch(text):
            time, rate = _rows(run[1], path, line)
            rows += [time, rate]
            if not _is_consistent(time, rate):
                damaged.append(line)
        elif (residual := RESIDUAL.search(text)) and residual[1] == "FAILED" and rows:
            failed.add(rows[-1].line)
    notes = tuple(f"line {line}: the residual of this run FAILED; it is left out." for line in sorted(failed))
    notes += tuple(
        f"line {line}: the rate of this run is not 2/3 N^3 + 3/2 N^2 operations in its time; it is left out."
        for line in damaged
    )
    left_out = {*failed, *damaged}
    return BenchmarkTable(str(path), "hpl", tuple(row for row in rows if row.line not in left_out), notes)


def _is_consistent(time: BenchmarkRow, rate: BenchmarkRow) -> bool:
    """Return whether the rate of a run follows from its order and time, as far as their digits show.

    It does not if the line was cut short. A time has two decimals, a rate three digits or more.
    """
    n = time.parameters["n"]
    flops, rounding_s = 2 / 3 * n**3 + 3 / 2 * n**2, 0.006
    low, high = flops / (time.value + rounding_s), flops / max(time.value - rounding_s, 1e-9)
    return 0.99 * low <= rate.value <= 1.01 * high


def _rows(text: str, path: Path, line: int) -> list[BenchmarkRow]:
    variant, *cells = text.split()
    n, nb, p, q, seconds, gflops = numbers(cells, path, line)
    parameters = {"n": n, "nb": nb, "grid_p": p, "grid_q": q, "P": p * q}
    labels = {"variant": variant}
    time = BenchmarkRow("hpl", "time", seconds, line, "total", parameters, labels)
    return [time, replace(time, quantity="flop_rate", value=gflops * 1e9)]


add_benchmark("hpl", read_hpl, begins=re.compile(rf"HPLinpack|(?:{RUN.pattern})$"))
