"""STREAM: bandwidth of memory. ``Function  Best Rate MB/s  Avg time  Min time  Max time``, MB of 10^6 bytes.

The best rate is the rate of the shortest repetition after the first. HPC Challenge runs STREAM twice and prints GB/s:
on all ranks together (``StarSTREAM``: the least, the mean and the most of any rank), and on one while the others wait
(``SingleSTREAM``). Neither is the bandwidth of a node: they are operations of their own, ``star_stream triad`` and
``single_stream triad``. Source: STREAM 5.10 (McCalpin), ``stream.c`` as its output shows; HPC Challenge 1.5.
"""

from __future__ import annotations

import re
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.text_files import NUMBER
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable, add_benchmark, numbers
from simcodesign.fitting.readers.benchmarks.output.text import numbered_lines

BEGINS = re.compile(r"STREAM version|Function\s+(?:Best )?Rate \(?[MG]B/s|Begin of (?:Star|Single)STREAM section")
SECTION = re.compile(r"Begin of (\w+) section")
KERNEL = re.compile(r"(Copy|Scale|Add|Triad):\s+(.*)")
OF_RANKS = re.compile(r"(Minimum|Average|Maximum|Single STREAM) (Copy|Scale|Add|Triad) GB/s\s+([0-9.eE+-]+)")
SIZE = re.compile(r"Array size\s*=\s*(\d+)")
THREADS = re.compile(r"Number of Threads (?:counted|requested)\s*=\s*(\d+)")  # counted comes after requested
REPEATED = re.compile(r"Each (?:kernel|test) (?:will be executed|is run)\s+(\d+)\s+times")
#: Parts of HPC Challenge that readers here take, or that hold nothing else.
TAKEN = ("HPL", "StarSTREAM", "SingleSTREAM", "Summary")
NOTE = "StarSTREAM is a rank's rate while all are at work: it is not the bandwidth of a node, memory.bandwidth is kept."


def read_stream(path: Path) -> BenchmarkTable:
    """Read a row for each kernel: its best rate, down to the rate of its longest repetition."""
    rows: list[BenchmarkRow] = []
    parameters: dict[str, float] = {}
    repetitions, unit, section = 1, 1e6, ""
    ranks: dict[str, float] = {}
    others: list[str] = []
    failed: set[int] = set()
    begun = 0
    for line, text in numbered_lines(path, "stream"):
        place = Place(str(path), line)
        if found := SECTION.match(text):
            section = found[1].removesuffix("STREAM").lower()
            others += [found[1]] if found[1] not in TAKEN else []
        elif text.startswith("STREAM version"):
            section, begun = "", line
        elif text.startswith("Function "):
            unit = 1e9 if "GB/s" in text else 1e6
        elif found := SIZE.search(text):
            parameters = {"n": float(found[1])}
        elif found := THREADS.search(text):
            parameters["threads"] = float(found[1])
        elif found := REPEATED.search(text):
            repetitions = max(int(found[1]) - 1, 1)
        elif section and (found := OF_RANKS.match(text)):
            ranks[found[1]] = numbers([found[3]], path, line)[0] * 1e9
            if found[1] in ("Maximum", "Single STREAM"):
                rows.append(_of_ranks(f"{section}_stream {found[2].lower()}", ranks, parameters, repetitions, line))
                ranks = {}
        elif text.startswith("Failed Validation"):
            failed.update(row.line for row in rows if row.line > begun and row.operation.startswith("stream "))
        elif not section and (found := KERNEL.fullmatch(text)):
            rows.append(_row(found[1].lower(), found[2], parameters, (repetitions, unit), place))
    notes = [NOTE] if any(row.operation.startswith("star_stream") for row in rows) else []
    notes += [f"parts of HPC Challenge that are not read: {', '.join(others)}."] if others else []
    notes += [f"line {line}: the validation of STREAM failed; the row is left out." for line in sorted(failed)]
    return BenchmarkTable(str(path), "stream", tuple(row for row in rows if row.line not in failed), tuple(notes))


def _of_ranks(
    operation: str, ranks: dict[str, float], parameters: dict[str, float], repetitions: int, line: int
) -> BenchmarkRow:
    low, high = ranks.get("Minimum"), ranks.get("Maximum")
    value = next(ranks[name] for name in ("Average", "Maximum", "Single STREAM") if name in ranks)
    interval = "least to most of the ranks" if low is not None and high is not None else ""
    return BenchmarkRow(
        operation, "bandwidth", value, line, "memory", dict(parameters), {}, low, high, repetitions, interval
    )


def _row(
    kernel: str, text: str, parameters: dict[str, float], repeated: tuple[int, float], place: Place
) -> BenchmarkRow:
    cells = text.split()
    if len(cells) != 4 or not all(NUMBER.fullmatch(cell) for cell in cells):
        raise InputError("not a row of STREAM", place, value=text, allowed="rate, average, least and longest time")
    rate, _, least, most = numbers(cells, Path(place.file), place.line or 0)
    repetitions, unit = repeated
    best = rate * unit
    return BenchmarkRow(
        f"stream {kernel}",
        "bandwidth",
        best,
        place.line or 0,
        "memory",
        dict(parameters),
        low=best * least / most if most > 0 else None,
        high=best,
        repetitions=repetitions,
        interval="of the longest to the shortest repetition",
    )


add_benchmark("stream", read_stream, begins=BEGINS)
