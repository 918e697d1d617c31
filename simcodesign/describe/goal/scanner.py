"""The statements of GOAL files: one pass from text to arrays, in C (``goal_scanner.c``).

Every function takes bytes that end in a zero, so that the next byte may always be looked at.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.native.records import Bytes, Flags, Floats, Integers, Record, ShortIntegers, check_layout
from simcodesign.core.native.shared_library import required_library

_NAME_BYTES = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#: 0 of bytes that cannot be in a name; else from 1 to 63, digits first.
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
    """What a file says; after an error (``errors.py``), what it says up to the byte ``wrong``."""

    operations: Operations
    edges: Edges
    blocks: Blocks
    ranks: int
    error: int
    wrong: int


class GoalText(Record):
    """Bytes of a file, and what is read from them."""

    struct = "goal_text"
    _fields_: ClassVar = [
        ("text", Bytes),
        ("codes", Bytes),
        ("kind", Bytes),
        ("peer", ShortIntegers),
        ("size_bytes", Floats),
        ("calc_s", Floats),
        ("tag", ShortIntegers),
        ("cpu", ShortIntegers),
        ("nic", ShortIntegers),
        ("source", ShortIntegers),
        ("target", ShortIntegers),
        ("early", Flags),
        ("edge_start", Integers),
        ("edge_target", ShortIntegers),
        ("edge_early", Flags),
        ("rank", ShortIntegers),
        ("first", Integers),
        ("at", Integers),
        ("slots", ShortIntegers),
        ("label_at", Integers),
        ("label_end", Integers),
        ("label_operation", ShortIntegers),
        ("label_slot", Integers),
        *((name, ctypes.c_int64) for name in ("bytes", "slot_mask", "labels", "operations", "edges", "blocks")),
        *((name, ctypes.c_int64) for name in ("ranks", "error", "wrong")),
    ]

    def taken(self, length: int, *names: str) -> list[NDArray[Any]]:
        """Return the first values of these fields."""
        return [self.arrays[name][:length] for name in names]


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
    return {name: goal.arrays[name] for name in ("edge_start", "edge_target", "edge_early")}


@cache
def _functions() -> ctypes.CDLL:
    library = required_library("reading a GOAL file")
    check_layout(library, GoalText)
    for name in ("goal_capacity", "goal_scan", "goal_adjacency"):
        library[name].restype = None
    return library
