"""nccl-tests (and rccl-tests): times of collectives among GPUs, out of place and in place; the text and ``--json``.

Titles are in two lines of comments (``size count type redop root time algbw busbw #wrong time algbw busbw #wrong``,
bytes, microseconds, GB/s of 10^9 bytes); a line ``#  Rank  0 ...`` names every rank's device, and newer versions print
``# Collective test starting: all_reduce_perf``. ``size`` is the larger of what a rank sends and gets (``row_bytes``
makes ours of it), ``count`` the elements passed to the operation: a P-th of size in allgather, reduce_scatter,
gather, scatter and all_to_all. It, ``redop`` and ``root`` identify an operation without a name. Rows of old
versions leave out a blank ``redop`` and ``root``. ``cputime`` (-C 1) is no time of an operation. Source: README,
doc/PERFORMANCE.md, src/common.cu and src/util.cu of NVIDIA/nccl-tests 2.0 to 2.18.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.core.files.text_files import NUMBER
from simcodesign.fitting.readers.benchmarks.output.operations import operation_of, row_bytes
from simcodesign.fitting.readers.benchmarks.output.runs import check_runs
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable, add_benchmark, numbers
from simcodesign.fitting.readers.benchmarks.output.text import numbered_lines, prose_note, text_of

NAMED = re.compile(r"#\s*Collective test starting:\s*(\w+?)_perf")
#: A command that runs a test, as shells and batch systems print it.
COMMAND = re.compile(
    r"(?:^|[/\s])(all_reduce|all_gather|reduce_scatter|broadcast|reduce|alltoall|gather|scatter|sendrecv)_perf\b"
)
RUN = re.compile(r"#\s*nThread\s+\d+\s+nGpus\s+\d+")
DEVICE = re.compile(r"#\s+Rank\s+(\d+)(?:\s+Group\s+(\d+))?\s.*?\son\s+(\S+)\s+device")
TITLES = re.compile(r"#\s+size\s+count\s+type\b")
BEGINS = re.compile(rf"{NAMED.pattern}|{RUN.pattern}|{TITLES.pattern}.*busbw|# [nr]ccl-tests[ :]")
STAMP = re.compile(r"\s+\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")
#: Left of the times: size, count, type, redop and root.
LEFT = re.compile(r"(\d+) (\d+) ([a-z]\w*)(?: ([a-z]\w*))?(?: (-?\d+))?")
#: How a row begins; messages of libraries may begin with one number.
ROW = re.compile(r"\d+\s+[\d.]+(?:\s|$)|\d+$")
RIGHT = re.compile(r"[0-9.]+(?:[eE][+-]?[0-9]+)?|N/A|-?nan|inf")
OUT_OF_PLACE, IN_PLACE = "out-of-place", "in-place"
#: Bytes of an element, by the name of its type.
ELEMENT_BYTES = {
    **dict.fromkeys(("int8", "uint8", "char", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"), 1),
    **dict.fromkeys(("half", "bfloat16", "float16"), 2),
    **dict.fromkeys(("int32", "uint32", "int", "float"), 4),
    **dict.fromkeys(("int64", "uint64", "double"), 8),
}
UNKNOWN = "collective"
CPU_TIME = "times of {} are how long the calls took (-C 1), not the operations: left out."
NO_BYTES = "the number of ranks of {} is unknown: its rows have no bytes."
UNNAMED = "no line names the operation, and 'collective' may be {}."
Columns = Mapping[str, str]
"""Cells of a row by the titles of one of its times."""


@dataclass
class _Run:
    """One test: its operation, the group and node of each rank, and what it printed."""

    operation: str = ""
    groups: list[tuple[str, str]] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    results: list[tuple[_Sizes, Sequence[Columns], Place]] = field(default_factory=list)

    def parameters(self, sizes: _Sizes) -> dict[str, float]:
        """Return the ranks of a group, the nodes of all, and how many groups there are beyond one.

        A buffer of P blocks shows P also where the lines of devices are cut short, which then tell no nodes.
        """
        blocks = sizes.blocks or 1.0
        groups = [group for group, _ in self.groups]
        if blocks > 1 and blocks == int(blocks) and blocks != groups.count(next(iter(groups), "")):
            return {"P": blocks}
        if not groups:
            return {}
        several = {"groups": float(len({*groups}))} if len({*groups}) > 1 else {}
        return {"P": float(groups.count(groups[0])), "nodes": float(len({node for _, node in self.groups})), **several}

    def labels(self, sizes: _Sizes) -> dict[str, str]:
        """Type, operator and root of a row, where the run has several."""
        labels = {}
        for name in ("type", "redop", "root"):
            if len({getattr(one, name) for one, *_ in self.results}) > 1:
                value = getattr(sizes, name)
                labels[name] = f"root {value}" if name == "root" else value
        return labels


@dataclass(frozen=True)
class _Sizes:
    """Columns to the left of the times in a row."""

    size: float
    count: float
    type: str
    redop: str
    root: int

    @property
    def data(self) -> str:
        """The type, and the operator if there is one."""
        return self.type if self.redop == "none" else f"{self.type} {self.redop}"

    @property
    def blocks(self) -> float | None:
        """How many times the elements passed to the operation are in the buffer; None if that is not known."""
        one = self.count * ELEMENT_BYTES.get(self.type, 0)
        return self.size / one if one else None


def read_nccl(path: Path) -> BenchmarkTable:
    """Read all rows of a file, two for each size. Raises InputError for results that the test itself found wrong."""
    start = text_of(path, "nccl").lstrip()
    if start.startswith("{"):
        return _of_json(start, path)
    runs = [_Run()]
    command = ""
    notes: dict[str, None] = {}
    for line, text in numbered_lines(path, "nccl"):
        if named := NAMED.match(text):
            runs.append(_Run(operation_of(named[1])))
            command = named[1]
        elif RUN.match(text):
            runs.append(_Run(operation_of(command)))
            command = ""
        elif device := DEVICE.match(text):
            runs[-1].groups.append((device[2] or "0", device[3]))
        elif TITLES.match(text):
            runs[-1].titles = text.lstrip("# ").split()
        elif runs[-1].titles and NUMBER.fullmatch(text.split()[0]) and not ROW.match(text):
            notes[prose_note(line, text)] = None
        elif runs[-1].titles and NUMBER.fullmatch(text.split()[0]):
            place = Place(str(path), line)
            runs[-1].results.append((*_split(runs[-1].titles, text, place), place))
        elif (found := COMMAND.search(text)) and not text.startswith("#"):
            command = found[1]
    return _table(path, runs, notes)


def _table(path: Path, runs: Sequence[_Run], notes: dict[str, None]) -> BenchmarkTable:
    rows = [row for run in runs if run.results for row in _rows(run, notes)]
    check_runs(rows, str(path))
    return BenchmarkTable(str(path), "nccl", tuple(rows), tuple(notes))


def _split(titles: Sequence[str], text: str, place: Place) -> tuple[_Sizes, list[Columns]]:
    """Return the columns left of the times, and the columns of each time. Raises InputError for rows cut short."""
    kept = [title for title in titles if title != "timestamp"]
    cells = STAMP.sub("", text).split()
    firsts = [number for number, title in enumerate(kept) if title in ("time", "cputime")]
    right = len(cells) - len(kept) + firsts[0] if firsts else 0
    left = LEFT.fullmatch(" ".join(cells[: max(right, 0)]))
    is_whole = left is not None and (right == firsts[0] or not left[4])  # old versions leave both words blank
    if left is None or not is_whole or not all(map(RIGHT.fullmatch, cells[right:])):
        what = "a row with more or fewer cells than titles"
        raise InputError(what, place, value=text, allowed=" ".join(titles))
    of_times = dict(enumerate(cells[right:], firsts[0]))
    times: list[Columns] = [
        {kept[number]: of_times[number] for number in range(begin, end)}
        for begin, end in zip(firsts, [*firsts[1:], len(kept)], strict=True)
    ]
    size, count = numbers(left.group(1, 2), Path(place.file), place.line or 0)
    return _Sizes(size, count, left[3], left[4] or "none", int(left[5] or -1)), times


def _rows(run: _Run, notes: dict[str, None]) -> Iterator[BenchmarkRow]:
    """All rows of a run; ``notes`` takes in what was left out."""
    operation = run.operation or _recognised(max((sizes for sizes, *_ in run.results), key=lambda one: one.size), notes)
    for sizes, times, place in run.results:
        parameters = run.parameters(sizes)
        size = row_bytes("nccl", operation, sizes.size, parameters.get("P") or sizes.blocks)
        if operation == UNKNOWN:  # of all that it may be, ours is a block
            size = sizes.size / (sizes.blocks or 1.0)
        if size is None:
            notes[NO_BYTES.format(operation)] = None
        parameters |= {} if size is None else {"bytes": size}
        name = f"multi_{operation}" if "groups" in parameters else operation
        for where, part in zip((OUT_OF_PLACE, IN_PLACE), times, strict=False):
            wrong = part.get("#wrong", "0")
            if NUMBER.fullmatch(wrong) and float(wrong) > 0:
                raise InputError("results that the test found to be wrong", place, value=wrong, allowed="none")
            if "cputime" in part:
                notes[CPU_TIME.format(operation)] = None
            if NUMBER.fullmatch(part.get("time", "")):  # else N/A: not run in place
                labels = {"placement": where, **run.labels(sizes)}
                yield replace(_row(name, part, parameters, labels, place), data=sizes.data)


def _row(
    operation: str, part: Columns, parameters: Mapping[str, float], labels: Mapping[str, str], place: Place
) -> BenchmarkRow:
    """Return the time of one placement, from the least to the most of the iterations if they are printed."""
    low, high = (float(part[name]) * 1e-6 if name in part else None for name in ("i_min", "i_max"))
    has_spread = low is not None and high is not None
    return BenchmarkRow(
        operation,
        "time",
        float(part["time"]) * 1e-6,
        place.line or 0,
        parameters=parameters,
        labels=labels,
        low=low,
        high=high,
        interval="least to most of the iterations" if has_spread else "",
    )


def _recognised(sizes: _Sizes, notes: dict[str, None]) -> str:
    """Return the operation by its operator, its root and the blocks of its buffer; ``collective`` if they fit none."""
    reduces, rooted, blocks = sizes.redop != "none", sizes.root >= 0, sizes.blocks
    if blocks is None:
        notes[UNNAMED.format("any; its bytes are the size that was printed")] = None
        return UNKNOWN
    if reduces:
        return "reduce" if rooted else "reduce_scatter" if blocks > 1 else "allreduce"
    if blocks <= 1:
        return "broadcast" if rooted else "sendrecv"
    notes[UNNAMED.format("gather or scatter" if rooted else "allgather or all_to_all")] = None
    return UNKNOWN


def _of_json(text: str, path: Path) -> BenchmarkTable:
    """Return the rows of what ``--json`` writes: an object with ``args``, ``config`` and ``results``.

    Each with its line, or with its number among the results if these are not on lines of their own.
    """
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", Place(str(path))) from None
    found = whole.get("results") if isinstance(whole, dict) else None
    results = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    lines = [line for line, one in enumerate(text.split("\n"), 1) if '"out_of_place"' in one]
    if len(lines) != len(results):  # written without line ends: the number of the result identifies it
        lines = [*range(1, len(results) + 1)]
    run = _json_run(whole) if results else _Run()
    for line, result in zip(lines, results, strict=True):
        place = Place(str(path), line)
        times = [_json_times(result, name) for name in ("out_of_place", "in_place")]
        run.results.append((_json_sizes(result, place), times, place))
    return _table(path, [run], {})


def _json_run(whole: Mapping[str, Any]) -> _Run:
    """Return the operation by the name of the program, and its ranks: of each process only the first one is listed."""
    args = whole.get("args")
    named = COMMAND.search(str(args[0])) if isinstance(args, list) and args else None
    config = whole.get("config")
    config = config if isinstance(config, dict) else {}
    found = config.get("devices")
    devices = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    ranks = sorted(int(one["rank"]) for one in devices if isinstance(one.get("rank"), int))
    each = [one for one in map(config.get, ("nthreads", "ngpus")) if isinstance(one, int) and 0 < one < 1024]
    of_process = math.prod(each)
    times = of_process if len(ranks) < 2 or ranks[1] - ranks[0] >= of_process else 1
    groups = [(str(one.get("group", 0)), str(one.get("hostname", ""))) for one in devices for _ in range(times)]
    return _Run(operation_of(named[1]) if named else "", groups)


def _json_sizes(result: Mapping[str, Any], place: Place) -> _Sizes:
    size, count, root = (str(result.get(name, "")).strip() for name in ("size", "count", "root"))
    for name, cell in (("size", size), ("count", count)):
        if not NUMBER.fullmatch(cell):
            raise InputError(f"member {name} of a result", place, value=cell or None, allowed="a number")
    redop = str(result.get("redop") or "none")
    return _Sizes(
        float(size), float(count), str(result.get("type")), redop, int(float(root)) if NUMBER.fullmatch(root) else -1
    )


def _json_times(result: Mapping[str, Any], name: str) -> dict[str, str]:
    """Return the columns that the text has, of one part of a result."""
    part, each = (result.get(key) for key in (name, f"{name}_per_iter"))
    columns = {"time": "time", "cpu_time": "cputime", "nwrong": "#wrong"}
    cells = {to: str(part.get(key)) for key, to in columns.items() if key in part} if isinstance(part, dict) else {}
    spread = {"min_us": "i_min", "max_us": "i_max"}
    ends = {to: str(each[key]) for key, to in spread.items() if key in each} if isinstance(each, dict) else {}
    return cells | (ends if len(ends) == 2 and all(map(NUMBER.fullmatch, ends.values())) else {})


def sniff(start: FileStart) -> Match:
    """Recognise a file by what its JSON has."""
    known = start.text.startswith("{") and '"args"' in start.text and "_perf" in start.text
    return Match.CERTAIN if known else Match.NONE


add_benchmark("nccl", read_nccl, sniff, begins=BEGINS)
