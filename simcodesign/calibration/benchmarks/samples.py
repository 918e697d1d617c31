"""Rows of benchmarks gathered to samples, and the constants that are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.stats import binom

from simcodesign.core.errors import InputError
from simcodesign.describe.constants import dimension_at
from simcodesign.fitting.measurements import FloatArray
from simcodesign.fitting.readers.benchmarks.osu import DERIVED
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable

#: Parameters that part rows into samples wherever they are stated: no sample pools different ones.
PARTING = ("P", "pairs", "threads", "sender_threads", "groups", "window", "sockets")
#: The label of rows whose buffers are in the memory of an accelerator.
DEVICE = "device"
#: The label of rows of nccl-tests: in place or out of place.
PLACEMENT = "placement"
#: Operations of nccl-tests by rings -> steps over P - 1, and whether ``bytes`` is the vector of P blocks.
RINGS = {"allreduce": (2, True), "reduce_scatter": (1, True), "allgather": (1, False)}
#: Operations whose time depends on the type of elements and the operator.
REDUCTIONS = ("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block")
#: Ratio of the quartiles of repetitions from which on the machine was not measured alone.
MOST_SPREAD = 1.5
#: The parameter of a row with the number of nodes on which its ranks were.
NODES = "nodes"

Lines = Mapping[str, tuple[int, ...]]
"""Lines of files, by the file."""


@dataclass(frozen=True)
class Sample:
    """Measurements at one point: ``values`` of its repetitions, and their positions in files."""

    parameters: Mapping[str, float]
    values: tuple[float, ...]
    lines: Lines
    data: str = ""

    @property
    def median(self) -> float:
        """Median of the repetitions: a few disturbed ones do not move it."""
        return float(np.median(self.values))

    def median_interval(self, level: float) -> tuple[float, float]:
        """Return the order statistics between which the median is at this level or above.

        For few values, the least and the most.
        """
        ordered = np.sort(self.values)
        below = max(int(binom.ppf((1 - level) / 2, len(ordered), 0.5)) - 1, 0)
        return float(ordered[below]), float(ordered[len(ordered) - 1 - below])


@dataclass(frozen=True)
class MachineConstant:
    """A constant by its path in a machine file, in SI units, with an interval (nan if there is none).

    ``how``: what it was made of, in words; ``lines``: the used rows, which are no evidence for it.
    """

    path: str
    value: float
    low: float
    high: float
    how: str
    lines: Lines = field(default_factory=dict)

    @property
    def dimension(self) -> str:
        """Dimension in the unit table; constants within a node have the same dimensions as constants between nodes."""
        return dimension_at(self.path.replace(".node.", ".")) or "count"


def samples(
    tables: Sequence[BenchmarkTable], operation: str, quantity: str = "time", by: Sequence[str] = ("bytes",)
) -> list[Sample]:
    """Return the rows of an operation that have all parameters ``by``, gathered by these, in increasing order.

    Rows that differ in what parts them (``PARTING``) become separate samples, whose ``parameters`` contain it. So do
    rows of other data. Rows of several levels are not parted here: see ``levels``.
    """
    names = tuple(dict.fromkeys((*by, *PARTING)))
    found: dict[tuple[tuple[float, ...], str], list[tuple[str, BenchmarkRow]]] = {}
    for table in tables:
        for row in table.rows:
            if row.operation == operation and row.quantity == quantity and all(name in row.parameters for name in by):
                point = tuple(row.parameters.get(name, 0.0) for name in names)
                found.setdefault((point, row.data), []).append((table.file, row))
    return [
        Sample(
            {name: rows[0][1].parameters[name] for name in names if name in rows[0][1].parameters},
            tuple(row.value for _, row in rows),
            lines_of(rows),
            data,
        )
        for (_, data), rows in sorted(found.items(), key=lambda item: item[0])
        if all(row.value > 0 for _, row in rows)
    ]


def notes_of_repetitions(tables: Sequence[BenchmarkTable]) -> tuple[str, ...]:
    """Return a note if repetitions of the same ping-pongs differ too much for their median to be of the machine."""
    repeated = [one for one in samples(tables, "ping_pong", by=("bytes", NODES)) if len(one.values) > 1]
    if not repeated:
        return ()
    ratios = [upper / lower for lower, upper in (np.quantile(one.values, (0.25, 0.75)) for one in repeated)]
    ratio = float(np.median(ratios))
    if ratio < MOST_SPREAD:
        return ()
    what = f"Repetitions of a ping-pong differ by a factor of {ratio:.1f} from quartile to quartile"
    return (f"{what} (the median of {len(repeated)} sizes): others used the machine. Measure again while it is idle.",)


def of_contiguous_data(tables: Sequence[BenchmarkTable]) -> tuple[tuple[BenchmarkTable, ...], tuple[str, ...]]:
    """Return the tables without messages of derived datatypes, and with each reduction on one kind of data.

    Packing a derived datatype takes time that no constant of a network has, and operators on other types have other
    rates. The notes describe the rows that are left out.
    """
    first: dict[str, str] = {}
    left_out: dict[str, int] = {}

    def is_kept(row: BenchmarkRow) -> bool:
        of_operator = first.setdefault(row.operation, row.data) if row.operation in REDUCTIONS else row.data
        is_one = row.data != DERIVED and of_operator == row.data
        if not is_one:
            what = f"{row.operation} of {row.data or 'unknown data'}"
            left_out[what] = left_out.get(what, 0) + 1
        return is_one

    kept = tuple(replace(table, rows=tuple(filter(is_kept, table.rows))) for table in tables)
    why = "their data are not contiguous, or of another type or operator than the first rows"
    names = "; ".join(f"{count} of {what}" for what, count in left_out.items())
    return kept, (f"Rows are not used, because {why}: {names}.",) if names else ()


def of_one_memory(tables: Sequence[BenchmarkTable]) -> tuple[tuple[BenchmarkTable, ...], tuple[str, ...]]:
    """Return the tables with messages between buffers of one kind, and notes on the rows that are left out.

    Messages of accelerators' buffers pass other links than messages of host memory. If there are messages of host
    memory, only these are kept. Raises InputError for several kinds of accelerators' buffers alone.
    """
    messages = [row for table in tables for row in table.rows if row.component == "communication"]
    found = [device for device in map(_device, messages) if device]
    if not found:
        return (*tables,), ()
    names = "; ".join(dict.fromkeys(found))
    if len(found) < len(messages):
        kept = tuple(replace(table, rows=tuple(row for row in table.rows if not _device(row))) for table in tables)
        count = "1 row" if len(found) == 1 else f"{len(found)} rows"
        what = f"{count} of accelerators' buffers ({names}) {'is' if len(found) == 1 else 'are'} not used"
        files = "the files of one kind of buffers alone tell the network of accelerators"
        return kept, (f"{what}, because others are of host memory; {files}.",)
    if len({row.labels[DEVICE] for row in messages if DEVICE in row.labels}) > 1:
        allowed = "files of one kind of buffers"
        raise InputError("messages between several kinds of buffers", value=names, allowed=allowed)
    return (*tables,), (f"All messages are between accelerators' buffers ({names}): the network connects these.",)


def _device(row: BenchmarkRow) -> str:
    """Return the kind of accelerators' buffers of a row, empty for host memory; nccl-tests has no others."""
    return row.labels.get(DEVICE, "nccl-tests" if PLACEMENT in row.labels else "")


def is_ring(row: BenchmarkRow) -> bool:
    """Return whether a row is of nccl-tests and of an operation by rings."""
    ranks, size = row.parameters.get("P", 0), row.parameters.get("bytes", 0)
    return PLACEMENT in row.labels and row.operation in RINGS and ranks > 1 and size > 0


def lines_of(rows: Iterable[tuple[str, BenchmarkRow]]) -> Lines:
    """Positions of rows, by file."""
    lines: dict[str, list[int]] = {}
    for file, row in rows:
        lines.setdefault(file, []).append(row.line)
    return {file: tuple(numbers) for file, numbers in lines.items()}


def united(every: Iterable[Lines]) -> Lines:
    """All lines, each once, in their order."""
    lines: dict[str, set[int]] = {}
    for one in every:
        for file, numbers in one.items():
            lines.setdefault(file, set()).update(numbers)
    return {file: tuple(sorted(numbers)) for file, numbers in lines.items()}


def columns(taken: Sequence[Sample], *names: str) -> tuple[FloatArray, ...]:
    """Parameters of samples, and last their medians, (N,) each."""
    return *(np.array([one.parameters[name] for one in taken]) for name in names), np.array(
        [one.median for one in taken]
    )
