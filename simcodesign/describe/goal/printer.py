"""The bytes of a GOAL file from the arrays of a Schedule.

This loads Numba where it is installed: use it through ``simcodesign.describe.goal.format``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import compiled
from simcodesign.core.operation_kinds import COMPUTE, SEND
from simcodesign.describe.goal.schedule import ANY

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]


class Columns(NamedTuple):
    """The arrays of a Schedule, with whole nanoseconds and bytes in ``amount``."""

    first: NDArray[np.int64]
    kind: NDArray[np.int8]
    peer: Ints
    amount: NDArray[np.int64]
    tag: Ints
    cpu: Ints
    nic: Ints
    edge_start: NDArray[np.int64]
    edge_target: Ints
    edge_early: NDArray[np.bool_]


def _text(text: bytes) -> Bytes:
    return np.frombuffer(text, np.uint8)


_RANK, _OPEN, _CLOSE, _LINE = _text(b"rank "), _text(b" {\n"), _text(b"}\n"), _text(b"\n")
_LABEL, _CALC, _SEND, _RECV = _text(b"l"), _text(b": calc "), _text(b": send "), _text(b": recv ")
_TO, _FROM, _ANY = _text(b"b to "), _text(b"b from "), _text(b"-1")
_TAG, _CPU, _NIC = _text(b" tag "), _text(b" cpu "), _text(b" nic ")
_REQUIRES, _IREQUIRES = _text(b" requires l"), _text(b" irequires l")
#: No rank, operation or edge takes more bytes than this.
LONGEST = 128


@compiled
def put_ranks(columns: Columns, low: int, high: int, out: Bytes) -> int:
    """Write the ranks from ``low`` to below ``high``: the number of bytes."""
    at = 0
    for rank in range(low, high):
        at = _put(out, at, _RANK)
        at = _put_number(out, at, rank)
        at = _put(out, at, _OPEN)
        first, last = columns.first[rank], columns.first[rank + 1]
        for operation in range(first, last):
            at = _put_operation(columns, operation, operation - first + 1, out, at)
        for operation in range(first, last):
            at = _put_edges(columns, operation, first, out, at)
        at = _put(out, at, _CLOSE)
    return at


@compiled
def _put_operation(columns: Columns, operation: int, label: int, out: Bytes, at: int) -> int:
    at = _put(out, at, _LABEL)
    at = _put_number(out, at, label)
    kind = columns.kind[operation]
    if kind == COMPUTE:
        at = _put(out, at, _CALC)
        at = _put_number(out, at, columns.amount[operation])
    else:
        at = _put(out, at, _SEND if kind == SEND else _RECV)
        at = _put_number(out, at, columns.amount[operation])
        at = _put(out, at, _TO if kind == SEND else _FROM)
        peer, tag = columns.peer[operation], columns.tag[operation]
        at = _put(out, at, _ANY) if peer == ANY else _put_number(out, at, peer)
        at = _put(out, at, _TAG)
        at = _put(out, at, _ANY) if tag == -1 else _put_number(out, at, tag if tag >= 0 else int(tag) + 2**32)
    if columns.cpu[operation]:
        at = _put_number(out, _put(out, at, _CPU), columns.cpu[operation])
    if columns.nic[operation] and kind != COMPUTE:
        at = _put_number(out, _put(out, at, _NIC), columns.nic[operation])
    return _put(out, at, _LINE)


@compiled
def _put_edges(columns: Columns, operation: int, first: int, out: Bytes, at: int) -> int:
    for edge in range(columns.edge_start[operation], columns.edge_start[operation + 1]):
        at = _put_number(out, _put(out, at, _LABEL), columns.edge_target[edge] - first + 1)
        at = _put(out, at, _IREQUIRES if columns.edge_early[edge] else _REQUIRES)
        at = _put_number(out, at, operation - first + 1)
        at = _put(out, at, _LINE)
    return at


@compiled
def _put(out: Bytes, at: int, text: Bytes) -> int:
    for byte in text:
        out[at] = byte
        at += 1
    return at


@compiled
def _put_number(out: Bytes, at: int, number: int) -> int:
    rest, end = int(number), at + 1
    while rest >= 10:
        rest //= 10
        end += 1
    rest = int(number)
    for place in range(end - 1, at - 1, -1):
        out[place] = 48 + rest % 10
        rest //= 10
    return end
