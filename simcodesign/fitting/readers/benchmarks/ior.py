"""IOR: bandwidth of files written and read; the table of results, and ``-O summaryFormat=CSV`` or ``JSON``.

A result is one repetition: ``access bw(MiB/s) [IOPS Latency(s)] block(KiB) xfer(KiB) open(s) wr/rd(s) close(s) total(s)
iter`` (bandwidth over the total, open and close included). CSV has the same columns and ``numTasks``; JSON has ``bwMiB,
blockKiB, xferKiB, iops, ...`` for each of ``Results``. Files that hold nothing but "Summary of all tests" give its mean
from ``Min(MiB)`` to ``Max(MiB)``. Source: IOR 3.0 to 4.0, user documentation and ``src/ior-output.c``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.core.files.text_files import NUMBER
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable, add_benchmark
from simcodesign.fitting.readers.benchmarks.output.text import numbered_lines, text_of

MIB, KIB = float(2**20), 1024.0
OPERATIONS = ("write", "read")
TASKS = re.compile(r"(?:tasks|clients)\s*[:=]\s*(\d+)(?:\s*\((\d+) per node\))?")
NODES = re.compile(r"nodes\s*[:=]\s*(\d+)")


def read_ior(path: Path) -> BenchmarkTable:
    """Return a row for each repetition of writing and reading.

    Raises InputError for rows and JSON that cannot be read.
    """
    text = text_of(path, "ior")
    rows = _of_json(text, path) if text.lstrip().startswith("{") else _of_text(path)
    return BenchmarkTable(str(path), "ior", tuple(rows))


def _of_text(path: Path) -> list[BenchmarkRow]:
    results: list[BenchmarkRow] = []
    summary: list[BenchmarkRow] = []
    titles: list[str] = []
    at: dict[str, float] = {}
    for line, text in numbered_lines(path, "ior"):
        separator = "," if text.startswith(("access,", "write,", "read,")) else None
        cells = [cell.strip() for cell in text.split(separator)]
        if cells[0] in ("access", "Operation"):
            titles = cells
        elif cells[0] in OPERATIONS and titles:
            row = _row(cells, titles, at, Place(str(path), line))
            (results if titles[0] == "access" else summary).append(row)
        elif found := TASKS.match(text):
            at["P"] = float(found[1])
            if found[2]:
                at["nodes"] = -(-at["P"] // float(found[2]))
        elif found := NODES.match(text):
            at["nodes"] = float(found[1])
    return results or summary


def _row(cells: list[str], titles: list[str], at: Mapping[str, float], place: Place) -> BenchmarkRow:
    """Return a row of results, or of the summary."""
    named = dict(reversed([*zip(titles, cells, strict=False)]))  # of two columns StdDev the first
    is_result = titles[0] == "access"
    sizes = {"bw(MiB/s)": MIB, "block(KiB)": KIB, "xfer(KiB)": KIB} if is_result else {"Mean(MiB)": MIB}
    values = {name: _number(named, name, place) * unit for name, unit in sizes.items()}
    if is_result:
        more = {"P": float(named["numTasks"])} if NUMBER.fullmatch(named.get("numTasks", "")) else {}
        sized = {"transfer_bytes": values["xfer(KiB)"], "block_bytes": values["block(KiB)"]}
        return _result(cells[0], values["bw(MiB/s)"], {**sized, **at, **more}, place)
    taken = {"xsize": "transfer_bytes", "blksiz": "block_bytes", "#Tasks": "P", "tPN": "tasks_per_node"}
    sized = {to: float(named[key]) for key, to in taken.items() if NUMBER.fullmatch(named.get(key, ""))}
    if per_node := sized.pop("tasks_per_node", 0.0):
        sized["nodes"] = -(-sized.get("P", 1.0) // per_node)
    return BenchmarkRow(
        cells[0],
        "bandwidth",
        values["Mean(MiB)"],
        place.line or 0,
        "disk",
        sized,
        low=_number(named, "Min(MiB)", place) * MIB,
        high=_number(named, "Max(MiB)", place) * MIB,
        repetitions=int(named["reps"]) if named.get("reps", "").isdecimal() else 1,
        interval="least to most of the repetitions",
    )


def _result(operation: str, bandwidth: float, parameters: Mapping[str, float], place: Place) -> BenchmarkRow:
    return BenchmarkRow(operation, "bandwidth", bandwidth, place.line or 0, "disk", dict(parameters))


def _number(named: Mapping[str, str], name: str, place: Place) -> float:
    text = named.get(name, "")
    if not NUMBER.fullmatch(text):
        raise InputError(f"column {name}", place, value=text or None, allowed="a number")
    return float(text)


def _of_json(text: str, path: Path) -> list[BenchmarkRow]:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", Place(str(path))) from None
    lines = iter([line for line, one in enumerate(text.splitlines(), 1) if '"bwMiB"' in one])
    rows = []
    for test, result in _json_results(whole):
        place = Place(str(path), next(lines, None))
        operation = str(result.get("access", ""))
        if operation not in OPERATIONS:
            continue
        cells = {name: str(result.get(name, "")) for name in ("bwMiB", "xferKiB", "blockKiB")}
        bandwidth, transfer, block = (_number(cells, name, place) for name in cells)
        sized = {"transfer_bytes": transfer * KIB, "block_bytes": block * KIB}
        rows.append(_result(operation, bandwidth * MIB, {**sized, **_json_tasks(test)}, place))
    return rows


def _json_results(whole: Any) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Each test with each of its results, which older versions keep among its options."""
    tests = whole.get("tests", []) if isinstance(whole, dict) else []
    for test in tests if isinstance(tests, list) else []:
        if not isinstance(test, dict):
            continue
        options = test.get("Options")
        results = test.get("Results") or (options.get("Results") if isinstance(options, dict) else None)
        for result in results if isinstance(results, list) else []:
            if isinstance(result, dict):
                yield test, result


def _json_tasks(test: Mapping[str, Any]) -> dict[str, float]:
    options = test.get("Options")
    options = options if isinstance(options, dict) else {}
    found = {"P": str(options.get("tasks", "")), "nodes": str(options.get("nodes", ""))}
    return {name: float(text) for name, text in found.items() if NUMBER.fullmatch(text)}


def sniff(start: FileStart) -> Match:
    """Recognise a file by what its JSON has."""
    known = start.text.startswith("{") and '"Version"' in start.text and '"tests"' in start.text
    return Match.CERTAIN if known else Match.NONE


BEGINS = re.compile(r"IOR-|access,?\s*bw\(MiB/s\)|(?:\S+: )?MPI Coordinated Test of Parallel I/O")
add_benchmark("ior", read_ior, sniff, begins=BEGINS)
