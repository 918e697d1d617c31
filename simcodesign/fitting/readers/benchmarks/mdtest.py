"""mdtest: rates of creating, looking up, reading and removing files and directories.

A summary ``SUMMARY rate: (of 3 iterations)`` (newer: ``SUMMARY rate (in ops/sec): ...``) has for each operation ``Max
Min Mean Std Dev`` in operations a second, of all tasks together. Source: mdtest of IOR 3.0 to 4.0, ``src/mdtest.c`` as
its output shows.
"""

from __future__ import annotations

import re
from pathlib import Path

from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable, add_benchmark, numbers
from simcodesign.fitting.readers.benchmarks.output.text import numbered_lines

TASKS = re.compile(r"mdtest\S* was launched with (\d+) total task\(s\) on (\d+) node")
FILES = re.compile(r"(\d+) tasks, (\d+) (?:files|directories|files/directories)")
SUMMARY = re.compile(r"SUMMARY (rate|time).*\(of (\d+) iterations?\)")
NUMERAL = r"\s+([0-9.eE+-]+)"
ROW = re.compile(rf"((?:File|Directory|Tree) \w+)\s*:?{NUMERAL}{NUMERAL}{NUMERAL}{NUMERAL}")


def read_mdtest(path: Path) -> BenchmarkTable:
    """Return the mean rate of each operation from the least to the most of its iterations.

    None for what was not done.
    """
    rows: list[BenchmarkRow] = []
    at: dict[str, float] = {}
    is_rate, repetitions = False, 1
    for line, text in numbered_lines(path, "mdtest"):
        if found := TASKS.search(text):
            at = {"P": float(found[1]), "nodes": float(found[2])}
        elif found := FILES.match(text):
            at["files"] = float(found[2])
        elif found := SUMMARY.match(text):
            is_rate, repetitions = found[1] == "rate", int(found[2])
        elif is_rate and (found := ROW.fullmatch(text)):
            most, least, mean, _ = numbers(found.groups()[1:], path, line)
            if mean > 0:
                operation = found[1].lower()
                rows.append(_row(operation, (least, mean, most), at, repetitions, line))
    return BenchmarkTable(str(path), "mdtest", tuple(rows))


def _row(
    operation: str, rates: tuple[float, float, float], at: dict[str, float], repetitions: int, line: int
) -> BenchmarkRow:
    least, mean, most = rates
    return BenchmarkRow(
        operation,
        "operation_rate",
        mean,
        line,
        "disk",
        dict(at),
        low=least,
        high=most,
        repetitions=repetitions,
        interval="least to most of the iterations",
    )


add_benchmark("mdtest", read_mdtest, begins=re.compile(rf"{TASKS.pattern}|{SUMMARY.pattern}"))
