"""GOAL schedules, the text format of LogGOPSim and ATLAHS.

Hoefler, Siebert, Lumsdaine, "Group Operation Assembly Language", ICPP 2009, as LogGOPSim's txt2bin reads it::

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

Wider than txt2bin: a statement also ends at ``;`` and before ``}``, a comment is possible wherever a blank is, ranks
may be in any order, and a dependency may come before the operations that it names. Stricter: a label can be given only
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
from simcodesign.describe.goal.files import MAX_BYTES
from simcodesign.describe.goal.schedule import Schedule

#: Operations and edges written at a time.
_PIECE = 200_000


def read_goal(path: str | Path) -> Schedule:
    """Return the schedule of a GOAL file, named after the file.

    InputError names file, line and what is allowed there.

    A dependency that goes in a circle is not looked for: a simulation reports it as a deadlock.
    """
    data, file = _read(Path(path)), str(path)
    from simcodesign.describe.goal.scanner import adjacency, scan

    scanned = scan(data)
    blocks = scanned.blocks
    if scanned.error != FINE:
        rank = int(blocks.rank[-1]) if len(blocks.rank) else 0
        raise goal_error(scanned.error, data, scanned.wrong, file, ranks=scanned.ranks, rank=rank)
    _check_ranks(blocks, data, file, scanned.ranks)
    del data
    first, operations, edges = _in_order(blocks, scanned.operations, scanned.edges)
    return Schedule(
        name=Path(path).stem,
        first=first,
        **operations._asdict(),
        **adjacency(edges, len(operations.kind)),
        place=Place(file),
    )


def _read(path: Path) -> NDArray[np.uint8]:
    """Return the bytes of a file and a zero."""
    with open_bytes(path, MAX_BYTES) as file:
        data = np.empty(os.fstat(file.fileno()).st_size + 1, np.uint8)
        size = file.readinto(data[:-1])  # type: ignore[attr-defined] # a buffered file
    data[size] = 0
    return data[: size + 1]


def _check_ranks(blocks: Any, data: NDArray[np.uint8], file: str, ranks: int) -> None:
    """InputError unless each rank is in the file once."""
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
    amount = _amounts(schedule)
    with replacing(path) as file:
        file.write(b"num_ranks %d\n" % schedule.ranks)
        _write_ranks(schedule, amount, file)


def _amounts(schedule: Schedule) -> NDArray[np.int64]:
    """(N,) whole nanoseconds of each calc, whole bytes of each message."""
    amount = np.rint(np.where(schedule.kind == COMPUTE, schedule.calc_s * 1e9, schedule.size_bytes))
    if np.any(amount > MOST):
        operation = int(np.argmax(amount > MOST))
        what = f"{schedule.label(operation)} is too large for GOAL"
        raise InputError(what, schedule.place, value=int(amount[operation]), allowed=f"at most {MOST} ns or bytes")
    return amount.astype(np.int64)


def _write_ranks(schedule: Schedule, amount: NDArray[np.int64], file: BinaryIO) -> None:
    """Piece by piece, each of whole ranks."""
    from simcodesign.describe.goal.printer import LONGEST, printer

    put_ranks = printer(schedule, amount)
    ends = schedule.first + schedule.edge_start[schedule.first] + np.arange(len(schedule.first))
    low, last = 0, len(ends) - 1
    while low < last:
        high = max(low + 1, int(np.searchsorted(ends, ends[low] + _PIECE, side="right")) - 1)
        out = np.empty((ends[high] - ends[low]) * LONGEST, np.uint8)
        file.write(out[: put_ranks(low, high, out)].data)
        low = high
