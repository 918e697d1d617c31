"""Binary GOAL schedules (``.bin``), as LogGOPSim's txt2bin writes them and LogGOPSim and ATLAHS run them.

All numbers are little-endian, without gaps. The file begins with 8 bytes, 4223; offsets count from there:
the number of ranks P (4 bytes), the highest processor and the highest interface (1 each), and for every rank where its
section begins and ends (8 each). A section holds the number of its operations and of those that wait for nothing (4
each), the numbers of the latter, the operations (``_OPERATION``), and the numbers of those that wait, 4 bytes each,
which every operation names by a count and a first place: once for its end and once for its beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import open_bytes
from simcodesign.core.operation_kinds import COMPUTE, RECEIVE, SEND
from simcodesign.describe.goal.errors import MOST
from simcodesign.describe.goal.files import MAGIC, MAX_BYTES, USED_UP
from simcodesign.describe.goal.schedule import ANY, NONE, Schedule

#: Kinds of operations in a file, and a rank or a tag that is left open.
KIND_OF = {1: SEND, 2: RECEIVE, 3: COMPUTE}
OPEN = 2**32 - 1
_OPERATION = np.dtype(
    [
        ("waits_for", "<u4"),
        ("type", "i1"),
        ("peer", "<u4"),
        ("amount", "<u8"),  # bytes of a message, nanoseconds of a calc
        ("tag", "<u4"),
        ("cpu", "u1"),
        ("nic", "u1"),
        ("at_end", "<u4"),  # how many operations wait for the end of this one
        ("at_end_from", "<u4"),
        ("at_begin", "<u4"),
        ("at_begin_from", "<u4"),
    ]
)
Array = NDArray[Any]


def read_binary_goal(path: str | Path) -> Schedule:
    """Return the schedule of a binary GOAL file, named after the file.

    InputError names what does not fit together in it.
    """
    file = _File(Path(path))
    sections = [file.section(rank) for rank in range(file.ranks)]
    operations = np.concatenate([section[0] for section in sections])
    counts = np.array([len(section[0]) for section in sections])
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    messages = operations["type"] != 3
    edges = [section[1:] for section in sections]
    source = _joined([edge[0] for edge in edges], first)
    target = _joined([edge[1] for edge in edges], first)
    order = np.argsort(source, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=len(operations)))]).astype(np.int64)
    amount = operations["amount"].astype(np.float64)
    peer = np.where(operations["peer"] == OPEN, ANY, operations["peer"].astype(np.int64))
    kind = np.zeros(4, np.int8)
    kind[list(KIND_OF)] = list(KIND_OF.values())
    return Schedule(
        name=Path(path).stem,
        first=first,
        kind=kind[operations["type"]],
        peer=np.where(messages, peer, NONE).astype(np.int32),
        size_bytes=np.where(messages, amount, 0.0),
        calc_s=np.where(messages, 0.0, amount / 1e9),
        tag=np.where(messages, operations["tag"], 0).astype(np.uint32).view(np.int32),
        cpu=operations["cpu"].astype(np.int32),
        nic=np.where(messages, operations["nic"], 0).astype(np.int32),
        edge_start=start,
        edge_target=target[order].astype(np.int32),
        edge_early=np.concatenate([edge[2] for edge in edges])[order],
        place=file.place,
    )


def _joined(numbers: Sequence[Array], first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers of operations in their ranks as numbers among all."""
    counts = [len(each) for each in numbers]
    joined: NDArray[np.int64] = np.concatenate(numbers).astype(np.int64) + np.repeat(first[:-1], counts)
    return joined


class _File:
    """The bytes of a file, looked at piece by piece."""

    def __init__(self, path: Path) -> None:
        self.place = Place(str(path))
        with open_bytes(path, MAX_BYTES) as file:
            self.data = file.read()
        magic = int.from_bytes(self.data[:8], "little")
        if magic == USED_UP:
            what = "a binary GOAL schedule that LogGOPSim has used up, as it does with --save-mem"
            raise InputError(what, self.place, allowed="a fresh one, written by txt2bin")
        if magic != MAGIC or len(self.data) < 8:
            what = "no binary GOAL schedule"
            allowed = f"a file that begins with {MAGIC} in 8 bytes, as txt2bin writes; GOAL text is named .goal"
            raise InputError(what, self.place, value=f"{self.data[:8]!r}", allowed=allowed)
        self.base = 8
        self.ranks = int(self.numbers("<u4", 1, 0)[0])
        if not self.ranks:
            raise InputError("a schedule without ranks", self.place)
        self.bounds = self.numbers("<u8", 2 * self.ranks, 6).reshape(-1, 2)

    def numbers(self, dtype: Any, count: int, at: int) -> Array:
        """Return some numbers of the file. InputError if it ends before them."""
        if count * np.dtype(dtype).itemsize > len(self.data) - self.base - at:
            raise InputError("the file ends too early", self.place, value=f"{len(self.data)} bytes")
        return np.frombuffer(self.data, dtype, count, self.base + at)

    def section(self, rank: int) -> tuple[Array, Array, Array, Array]:
        """Return the operations of a rank, and of what waits there: for which, which, whether for its beginning."""
        begin, end = (int(bound) for bound in self.bounds[rank])
        if not begin + 8 <= end <= len(self.data) - self.base:
            raise InputError(f"section of rank {rank}", self.place, value=f"{begin} to {end}", allowed="in the file")
        count, roots = (int(number) for number in self.numbers("<u4", 2, begin))
        at = begin + 8 + 4 * roots
        operations = self.numbers(_OPERATION, count, at)
        at += count * _OPERATION.itemsize
        if at > end:
            raise InputError(f"section of rank {rank} ends before its operations", self.place)
        waiting = self.numbers("<u4", (end - at) // 4, at)
        self._check(operations, rank)
        halves = [self._edges(operations, waiting, name, rank) for name in ("at_end", "at_begin")]
        source, target = (np.concatenate(parts) for parts in zip(*halves, strict=True))
        wrong = np.flatnonzero(np.bincount(target, minlength=count) != operations["waits_for"])
        if len(wrong):
            what = f"operation {wrong[0] + 1} of rank {rank} waits for another number than the file gives"
            raise InputError(what, self.place, value=int(operations["waits_for"][wrong[0]]))
        return operations, source, target, np.repeat([False, True], [len(half[0]) for half in halves])

    def _check(self, operations: Array, rank: int) -> None:
        for name, good, allowed in (
            ("type", np.isin(operations["type"], [*KIND_OF]), "1 (send), 2 (recv), 3 (calc)"),
            ("amount", operations["amount"] <= MOST, f"at most {MOST} bytes or nanoseconds"),
            (
                "peer",
                (operations["type"] == 3)
                | (operations["peer"] < self.ranks)
                | ((operations["type"] == 2) & (operations["peer"] == OPEN)),
                f"a rank from 0 to {self.ranks - 1}; {OPEN} to receive from any",
            ),
        ):
            if not good.all():
                wrong = int(np.argmin(good))
                what = f"{name} of operation {wrong + 1} of rank {rank}"
                raise InputError(what, self.place, value=operations[name][wrong].item(), allowed=allowed)

    def _edges(self, operations: Array, waiting: Array, name: str, rank: int) -> tuple[Array, Array]:
        """Operations that wait for the ends, or the beginnings, of the operations of a rank."""
        counts, begins = operations[name].astype(np.int64), operations[f"{name}_from"].astype(np.int64)
        used = counts > 0
        if np.any((begins + counts)[used] > len(waiting)):
            raise InputError(f"dependencies of rank {rank} lie outside of its section", self.place)
        source = np.repeat(np.arange(len(operations)), counts)
        within = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
        target = waiting[begins[source] + within].astype(np.int64)
        if np.any(target >= len(operations)):
            allowed = f"0 to {len(operations) - 1}"
            raise InputError(
                f"rank {rank}: a dependency of no operation", self.place, value=int(target.max()), allowed=allowed
            )
        return source, target
