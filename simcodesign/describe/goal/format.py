"""GOAL schedules, the text format of LogGOPSim and ATLAHS: Hoefler, Siebert, Lumsdaine, "Group Operation Assembly
Language", ICPP 2009, as LogGOPSim's txt2bin reads it::

    num_ranks 2
    rank 0 {
      l1: send 8b to 1 tag 3 cpu 0 nic 0   // tag, cpu, nic are 0 if not given
      l2: recv 8b from -1 tag -1           /* -1: from any rank, any tag */
      calc 100 cpu 1                       // nanoseconds; an operation needs a label only if another waits for it
      l2 requires l1                       // l2 starts when l1 is done
      l2 irequires l1                      // ... when l1 has started
    }
    rank 1 {
    }

Wider than txt2bin: a statement also ends at ``;`` and before ``}``, a comment may stand wherever a blank may, ranks may
stand in any order, and a dependency may stand before the operations that it names. Stricter: a label can be given only
once in a rank, and only a receive may leave its tag open. A tag counts modulo 2**32, as in txt2bin.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.atomic_files import replacing
from simcodesign.core.files.input_files import open_bytes
from simcodesign.core.operation_kinds import COMPUTE
from simcodesign.describe.goal.errors import FINE, MOST, goal_error, place_at
from simcodesign.describe.goal.schedule import Schedule

#: Operations and edges that are written at a time.
_PIECE = 200_000
#: The most bytes of a file: a hundred million operations and more.
MAX_BYTES = 2**32


def read_goal(path: str | Path) -> Schedule:
    """The schedule of a GOAL file, named after the file. InputError names file, line and what is allowed there.

    A dependency that goes in a circle is not looked for: a simulation reports it as a deadlock.
    """
    data, file = _read(Path(path)), str(path)
    from simcodesign.describe.goal import scanner

    operations, edges, blocks, labels = _empty_arrays(scanner, data)
    error, at, n_operations, n_edges, n_blocks, ranks = scanner.scan(data, operations, edges, blocks, labels)
    del labels
    blocks = scanner.Blocks(*(array[:n_blocks] for array in blocks))
    if error != FINE:
        rank = int(blocks.rank[-1]) if n_blocks else 0
        raise goal_error(error, data, at, file, ranks=ranks, rank=rank)
    _check_ranks(blocks, data, file, ranks)
    del data
    operations = scanner.Operations(*(array[:n_operations] for array in operations))
    edges = edges._make(array[:n_edges] for array in edges)
    first, operations, edges = _in_order(blocks, operations, edges)
    start, target, early = scanner.adjacency(edges, n_operations)
    return Schedule(
        name=Path(path).stem,
        first=first,
        **operations._asdict(),
        edge_start=start,
        edge_target=target,
        edge_early=early,
        place=Place(file),
    )


def _read(path: Path) -> NDArray[np.uint8]:
    """The bytes of a file and a zero."""
    with open_bytes(path, MAX_BYTES) as file:
        data = np.empty(os.fstat(file.fileno()).st_size + 1, np.uint8)
        size = file.readinto(data[:-1])  # type: ignore[attr-defined] # a buffered file
    data[size] = 0
    return data[: size + 1]


def _empty_arrays(scanner: Any, data: NDArray[np.uint8]) -> tuple[Any, Any, Any, Any]:
    """Arrays for everything that the text can hold; memory is taken only for what is filled."""
    operations, edges, blocks = scanner.capacity(data)
    labels = operations + edges
    slots = 1 << (2 * labels).bit_length()
    return (
        scanner.Operations(*_empty(operations, "i1", "i4", "f8", "f8", "i4", "i4", "i4")),
        scanner.Edges(*_empty(edges, "i4", "i4", "?")),
        scanner.Blocks(*_empty(blocks, "i4", "i8", "i8")),
        scanner.Labels(np.zeros(slots, np.int32), *_empty(labels, "i8", "i8", "i4", "i8")),
    )


def _empty(length: int, *types: str) -> list[NDArray[Any]]:
    return [np.empty(length, dtype) for dtype in types]


def _check_ranks(blocks: Any, data: NDArray[np.uint8], file: str, ranks: int) -> None:
    """InputError unless each rank stands in the file once."""
    order = np.argsort(blocks.rank, kind="stable")
    rank = blocks.rank[order]
    again = np.flatnonzero(rank[1:] == rank[:-1])
    if len(again):
        block = int(np.min(order[again + 1]))
        place = place_at(data, int(blocks.at[block]), file)
        raise InputError("rank given twice", place, value=int(blocks.rank[block]), allowed="each rank once")
    if len(rank) < ranks:
        gaps = np.flatnonzero(rank != np.arange(len(rank)))
        missing = int(gaps[0]) if len(gaps) else len(rank)
        raise InputError(
            "rank is missing", Place(file), value=missing, allowed=f"rank 0 {{ ... }} to rank {ranks - 1} {{ ... }}"
        )


def _in_order(blocks: Any, operations: Any, edges: Any) -> tuple[NDArray[np.int64], Any, Any]:
    """First operation of each rank and, if the ranks of the file are not in order, everything put in order."""
    total = len(operations.kind)
    counts = np.diff(blocks.first, append=total)
    order = np.argsort(blocks.rank)
    first = np.concatenate([[0], np.cumsum(counts[order])])
    if np.all(order[:-1] < order[1:]):
        return first, operations, edges
    taken = np.repeat(blocks.first[order] - first[:-1], counts[order]) + np.arange(total)
    new = np.empty(total, np.int32)
    new[taken] = np.arange(total, dtype=np.int32)
    operations = operations._make(array[taken] for array in operations)
    return first, operations, edges._replace(source=new[edges.source], target=new[edges.target])


def write_goal(schedule: Schedule, path: Path) -> None:
    """Write a schedule as a GOAL file that LogGOPSim's txt2bin reads too, its labels l1, l2, ... in each rank.

    GOAL has whole bytes and whole nanoseconds: sizes and times are rounded to them, half to even. Those of a schedule
    that was read from a GOAL file are whole, and reading what is written gives it again. InputError when a size exceeds
    10**15 bytes or a time 10**15 nanoseconds.
    """
    columns = _columns(schedule)
    with replacing(path) as file:
        file.write(b"num_ranks %d\n" % schedule.ranks)
        _write_ranks(columns, file)


def _columns(schedule: Schedule) -> Any:
    from simcodesign.describe.goal import printer

    amount = np.rint(np.where(schedule.kind == COMPUTE, schedule.calc_s * 1e9, schedule.size_bytes))
    if np.any(amount > MOST):
        operation = int(np.argmax(amount > MOST))
        what = f"{schedule.label(operation)} is too large for GOAL"
        raise InputError(what, schedule.place, value=int(amount[operation]), allowed=f"at most {MOST} ns or bytes")
    fields = {name: getattr(schedule, name) for name in printer.Columns._fields if name != "amount"}
    return printer.Columns(amount=amount.astype(np.int64), **fields)


def _write_ranks(columns: Any, file: BinaryIO) -> None:
    """Piece by piece, each of whole ranks."""
    from simcodesign.describe.goal import printer

    ends = columns.first + columns.edge_start[columns.first] + np.arange(len(columns.first))
    low, last = 0, len(ends) - 1
    while low < last:
        high = max(low + 1, int(np.searchsorted(ends, ends[low] + _PIECE, side="right")) - 1)
        out = np.empty((ends[high] - ends[low]) * printer.LONGEST, np.uint8)
        size = printer.put_ranks(columns, low, high, out)
        file.write(out[:size].data)
        low = high
