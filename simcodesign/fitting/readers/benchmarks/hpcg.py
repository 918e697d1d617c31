"""HPCG: its summary, as text of ``Section::Key=value`` (version 3) or as nested YAML (version 2).

Taken are the times and rates of the parts (DDOT, WAXPBY, SpMV, MG, Total) and of the whole run, with the processes,
threads and the dimensions of the local domain. Source: HPCG 3.1, ``src/ReportResults.cpp`` as its output shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from simcodesign.core.files.text_files import NUMBER
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable, add_benchmark
from simcodesign.fitting.readers.benchmarks.output.text import text_of

#: Ends of keys -> parameters.
PARAMETERS = {
    "Machine Summary::Distributed Processes": "P",
    "Machine Summary::Threads per processes": "threads",
    "Local Domain Dimensions::nx": "nx",
    "Local Domain Dimensions::ny": "ny",
    "Local Domain Dimensions::nz": "nz",
}
TIMES, RATES = "Benchmark Time Summary::", "GFLOP/s Summary::"
FINAL = re.compile(
    r"HPCG result is (VALID|INVALID).* GFLOP/s rating? of|HPCG result is (VALID|INVALID) with a GFLOP/s rate of"
)


def read_hpcg(path: Path) -> BenchmarkTable:
    """Read a time and a rate for each part. A result that is not VALID is mentioned in the notes."""
    parameters: dict[str, float] = {}
    rows: list[BenchmarkRow] = []
    notes: list[str] = []

    def add(part: str, quantity: str, value: float) -> None:
        rows.append(BenchmarkRow(f"hpcg {part.lower()}", quantity, value, line, "total", dict(parameters)))

    for line, key, value in _entries(path):
        name = PARAMETERS.get(key) or PARAMETERS.get("::".join(key.split("::")[-2:]))
        if "INVALID" in key:
            notes.append(f"line {line}: HPCG calls its result INVALID")
        if not NUMBER.fullmatch(value):
            continue
        if name:
            parameters[name] = float(value)
        elif TIMES in key:
            add(key.rpartition("::")[2], "time", float(value))
        elif RATES in key:
            add(key.rpartition("::")[2], "flop_rate", float(value) * 1e9)
        elif FINAL.search(key):
            add("rating", "flop_rate", float(value) * 1e9)
    return BenchmarkTable(str(path), "hpcg", tuple(rows), tuple(notes))


def _entries(path: Path) -> Iterator[tuple[int, str, str]]:
    """Lines of both forms as a full key and its value."""
    above: list[tuple[int, str]] = []
    for line, text in enumerate(text_of(path, "hpcg").split("\n"), 1):
        if "=" in text and "::" in text.partition("=")[0]:
            key, _, value = text.partition("=")
            yield line, key.strip(), value.strip()
        elif ":" in text:
            depth = len(text) - len(text.lstrip())
            key, _, value = text.strip().rpartition(":")
            above = [item for item in above if item[0] < depth]
            yield line, "::".join([*(name for _, name in above), key.strip()]), value.strip()
            above.append((depth, key.strip()))


add_benchmark("hpcg", read_hpcg, begins=re.compile(r"HPCG[- ]Benchmark"))
