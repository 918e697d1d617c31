"""Runs of benchmarks: the number of ranks that commands above them state, and runs that are no repetitions of another.

A log often holds one test several times: on more and more ranks, within a node and between nodes, or by one algorithm
after another. Benchmarks that print none of this leave rows that look like repetitions. ``check_runs`` refuses them in
one file, ``check_files`` in several that are read together, if their times differ by more than repetitions do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from simcodesign.core.errors import InputError, Place
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable

#: A command that starts a test of OSU.
COMMAND = re.compile(
    r"(?:^|[\s/$+])(?:mpirun|mpiexec(?:\.\w+)?|orterun|prun|srun|aprun|flux run)\s(?P<options>.*[\s/])?osu_\w+"
)
#: Its number of ranks. ``-N`` is of nodes or of ranks on each: not read.
RANKS = re.compile(r"(?:^|\s)(?:-n|-np|--np|--ntasks)[ =](\d+)\s")
#: Runs whose times differ by this factor over all sizes, in the median, are of different things.
MAX_FACTOR = 1.5
MIN_SIZES = 3
RANKS_ABOVE = "; or ranks on a line above each run, as in mpirun -np 4 ... osu_allreduce"
ALLOWED = "a file for each number of ranks, placement or algorithm"


def is_command(text: str) -> bool:
    """Return whether a line is a command that starts a test of OSU."""
    return COMMAND.search(text) is not None


def ranks_of_command(text: str) -> float | None:
    """Return the number of ranks with which a command starts a test of OSU; None for any other line.

    >>> ranks_of_command("+ mpirun --bind-to core -np 16 ./osu_allreduce -f"), ranks_of_command("srun -N 4 osu_bw")
    (16.0, None)
    """
    command = COMMAND.search(text)
    found = RANKS.search(command["options"] or "") if command else None
    return float(found[1]) if found else None


def check_runs(rows: Sequence[BenchmarkRow], file: str, or_else: str = "") -> None:
    """Raise InputError if runs of one operation with the same parameters have times that are no repetitions.

    ``or_else``: what the message allows in addition.
    """
    if (found := _differing(rows)) is not None:
        what, row = found
        raise InputError(f"{what} in the file distinguishes them", Place(file, row.line), allowed=f"{ALLOWED}{or_else}")


def check_files(tables: Sequence[BenchmarkTable]) -> None:
    """Raise InputError if several files would be repetitions of one another, but their times are none."""
    if len(tables) < 2 or (found := _differing([row for table in tables for row in table.rows])) is None:
        return
    allowed = f"files of different sizes or stated ranks{RANKS_ABOVE}"
    raise InputError(
        f"{found[0]} in the files distinguishes them", Place(", ".join(one.file for one in tables)), allowed=allowed
    )


def _differing(rows: Sequence[BenchmarkRow]) -> tuple[str, BenchmarkRow] | None:
    """Return the start of a sentence about runs that are no repetitions, and the first row of one; None without any.

    The k-th row of a size belongs to run k. Runs differ if the median over the sizes of the logarithms of their times,
    relative to each other, is beyond ``MAX_FACTOR``. The rows of at least ``MIN_SIZES`` sizes are compared.
    """
    series: dict[tuple[object, ...], dict[float, list[BenchmarkRow]]] = {}
    for row in rows:
        if row.value > 0:
            others = frozenset((name, value) for name, value in row.parameters.items() if name != "bytes")
            key = (row.operation, row.quantity, others, frozenset(row.labels.items()), row.data)
            series.setdefault(key, {}).setdefault(row.parameters.get("bytes", 0.0), []).append(row)
    for sizes in series.values():
        count = max(map(len, sizes.values()))
        whole = [found for found in sizes.values() if len(found) == count]
        if count < 2 or len(whole) < MIN_SIZES:
            continue
        of_runs = [median(math.log(found[run].value / found[0].value) for found in whole) for run in range(count)]
        factor = math.exp(max(of_runs) - min(of_runs))
        if factor > MAX_FACTOR:
            first = max(pairwise(range(count)), key=lambda pair: abs(of_runs[pair[1]] - of_runs[pair[0]]))[1]
            row = whole[0][first]
            what = f"{count} runs of {row.operation} with values that differ by a factor of {factor:.1f}"
            return f"{what} are no repetitions, and nothing", row
    return None
