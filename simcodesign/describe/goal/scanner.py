"""The statements of GOAL files: one pass from text to arrays, in C (``goal_scanner.c``).

Every function takes bytes that end in a zero, so that the next byte may always be looked at.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.native.records import Record
from simcodesign.core.native.shared_library import required_library

_NAME_BYTES = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#: 0 of bytes that cannot be in a name; otherwise from 1 to 63, digits first.
_CODES = np.zeros(256, np.uint8)
_CODES[np.frombuffer(_NAME_BYTES, np.uint8)] = np.arange(1, 64)


class Operations(NamedTuple):
    """Fields of the operations, as in Schedule."""

    kind: NDArray[np.int8]
    peer: NDArray[np.int32]
    size_bytes: NDArray[np.float64]
    calc_s: NDArray[np.float64]
    tag: NDArray[np.int32]
    cpu: NDArray[np.int32]
    nic: NDArray[np.int32]


class Edges(NamedTuple):
    """Dependencies: operation ``target`` waits for ``source``, or only for its start if ``early``."""

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    early: NDArray[np.bool_]


class Blocks(NamedTuple):
    """The ``rank R { ... }`` of a file: R, its first operation, and its first byte."""

    rank: NDArray[np.int32]
    first: NDArray[np.int64]
    at: NDArray[np.int64]


class Scanned(NamedTuple):
    """Contents of a file; after an error (``errors.py``), the contents up to the byte ``wrong``."""

    operations: Operations
    edges: Edges
    blocks: Blocks
    ranks: int
    error: int
    wrong: int


#: Fields of bytes that are 0 or 1.
_FLAGS = ("early", "edge_early")


class GoalText(Record):
    """Bytes of a file, and what is read from them."""

    struct = "goal_text"
    use = "reading a GOAL file"

    def taken(self, length: int, *names: str) -> list[NDArray[Any]]:
        """Return the first values of these fields; bytes that are flags as such."""
        taken = [self.arrays[name][:length] for name in names]
        return [array.view(np.bool_) if name in _FLAGS else array for name, array in zip(names, taken, strict=True)]


def scan(data: NDArray[np.uint8]) -> Scanned:
    """Read the bytes of a file and a zero."""
    functions, goal = _functions(), GoalText(text=data, codes=_CODES, bytes=len(data) - 1)
    functions.goal_capacity(ctypes.byref(goal))
    goal.make_room(goal.operations, *Operations._fields)
    goal.make_room(goal.edges, *Edges._fields)
    goal.make_room(goal.blocks, *Blocks._fields)
    labels = goal.operations + goal.edges
    goal.make_room(labels, "label_at", "label_end", "label_operation", "label_slot")
    slots = 1 << (2 * labels).bit_length()
    goal.slots, goal.slot_mask = np.zeros(slots, np.int32), slots - 1
    functions.goal_scan(ctypes.byref(goal))
    kind, *others = goal.taken(goal.operations, *Operations._fields)
    return Scanned(
        Operations(kind.view(np.int8), *others),
        Edges(*goal.taken(goal.edges, *Edges._fields)),
        Blocks(*goal.taken(goal.blocks, *Blocks._fields)),
        goal.ranks,
        goal.error,
        goal.wrong,
    )


def adjacency(edges: Edges, operations: int) -> dict[str, NDArray[Any]]:
    """Return the edges by their source, in the order of the file: ``edge_start`` (operations + 1,), target, early."""
    goal = GoalText(edges=len(edges.source), operations=operations, **edges._asdict())
    goal.make_room(operations + 1, "edge_start")
    goal.make_room(goal.edges, "edge_target", "edge_early")
    _functions().goal_adjacency(ctypes.byref(goal))
    names = ("edge_target", "edge_early")
    return {
        "edge_start": goal.arrays["edge_start"],
        **dict(zip(names, goal.taken(goal.edges, *names), strict=True)),
    }


@cache
def _functions() -> ctypes.CDLL:
    library = required_library("reading a GOAL file")
    for name in ("goal_capacity", "goal_scan", "goal_adjacency"):
        library[name].restype = None
    return library
