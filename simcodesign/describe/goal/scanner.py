"""The bytes of GOAL files: one pass from text to arrays, and one from arrays to text.

This loads Numba where it is installed: use it through ``simcodesign.describe.goal.format``. Every function works on a
buffer of bytes that ends in a zero, so that looking at the next byte is always allowed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import compiled
from simcodesign.core.result import COMPUTE, RECEIVE, SEND
from simcodesign.describe.goal.errors import (
    AMOUNT,
    ATTRIBUTE,
    BLOCK,
    CLOSE,
    DUPLICATE,
    END,
    FINE,
    FROM,
    HEADER,
    ITSELF,
    LABEL,
    MOST,
    MOST_INT,
    NUMBER,
    OPEN,
    OPERATION,
    PEER,
    RANK,
    RANKS,
    STATEMENT,
    TAG,
    TIME,
    TO,
    TWICE,
    UNIT,
    UNKNOWN,
)
from simcodesign.describe.goal.schedule import ANY, NONE

Bytes = NDArray[np.uint8]

_DIGITS = b"0123456789"
_NAME_BYTES = _DIGITS + b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#: 0 for bytes that cannot stand in a name; else from 1 to 63, digits first.
_CODES = np.zeros(256, np.uint8)
_CODES[np.frombuffer(_NAME_BYTES, np.uint8)] = np.arange(1, 64)
#: Longest name with a code of its own.
_CODED = 9
_MASK = 0xFFFFFFFF
#: Odd, and small enough for 64 bits to hold its product with 32.
_SPREAD = 0x5BD1E995
_NEWLINE, _SPACE, _TAB_STOP, _RETURN, _SEMICOLON, _COLON, _OPEN, _CLOSE, _SLASH, _STAR = b"\n \t\r;:{}/*"
_ZERO, _ONE, _NINE, _POINT, _MINUS, _B, _Q = b"019.-bq"


def _code(word: bytes) -> int:
    """The code of a keyword: its bytes as digits to the base 64, unique up to 9 of them (as ``name_at`` reads it)."""
    code = 0
    for byte in word:
        code = code * 64 + int(_CODES[byte])
    return code


_NUM_RANKS, _RANK, _REQUIRES, _IREQUIRES = (_code(word) for word in (b"num_ranks", b"rank", b"requires", b"irequires"))
_SEND, _RECV, _CALC, _TO, _FROM = (_code(word) for word in (b"send", b"recv", b"calc", b"to", b"from"))
_TAG, _CPU, _NIC = (_code(word) for word in (b"tag", b"cpu", b"nic"))


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
    """``target`` waits for ``source``; while a rank is read, both are labels, afterwards operations."""

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    early: NDArray[np.bool_]


class Blocks(NamedTuple):
    """The ``rank R { ... }`` of a file: R, its first operation, and where in the file it stands."""

    rank: NDArray[np.int32]
    first: NDArray[np.int64]
    at: NDArray[np.int64]


class Labels(NamedTuple):
    """Hash table of the labels of the rank that is being read: ``slots`` (a power of two) hold 1 + label, or 0.

    A label has its bytes in the file, its operation (-1 while it has only been mentioned) and its slot.
    """

    slots: NDArray[np.int32]
    at: NDArray[np.int64]
    end: NDArray[np.int64]
    operation: NDArray[np.int32]
    slot: NDArray[np.int64]


@compiled
def capacity(data: Bytes) -> tuple[int, int, int]:
    """At most how many operations, dependencies and ranks the text can hold."""
    statements, dependencies, blocks = 1, 0, 0
    for byte in data:
        if byte in (_NEWLINE, _SEMICOLON, _CLOSE):
            statements += 1
        elif byte == _Q:
            dependencies += 1
        elif byte == _OPEN:
            blocks += 1
            statements += 1
    return statements, min(statements, dependencies), blocks


@compiled
def scan(
    data: Bytes, operations: Operations, edges: Edges, blocks: Blocks, labels: Labels
) -> tuple[int, int, int, int, int, int]:
    """Read a whole file; gives error, where (byte), and the numbers of operations, edges, blocks and ranks.

    After an error, the block that it stands in is counted.
    """
    at = 3 if data[0] == 0xEF and data[1] == 0xBB and data[2] == 0xBF else 0
    error, at, ranks = _header(data, at)
    operation, edge, block = 0, 0, 0
    while error == FINE:
        at = _gap(data, at)
        if at == len(data) - 1:
            break
        start = at
        error, at, rank = _block(data, at, ranks)
        if error == FINE:
            blocks.rank[block], blocks.first[block], blocks.at[block] = rank, operation, start
            block += 1
            error, at, operation, edge = _body(data, at, ranks, operations, operation, edges, edge, labels)
    return error, at, operation, edge, block, ranks


@compiled
def _header(data: Bytes, at: int) -> tuple[int, int, int]:
    """``num_ranks P``: error, position, P."""
    at = _gap(data, at)
    end, code, _, _ = name_at(data, at)
    if code != _NUM_RANKS:
        return HEADER, at, 0
    at = _skip(data, end)
    end, ranks = _number(data, at)
    if ranks < 1 or ranks > MOST_INT:
        return RANKS, at, 0
    return FINE, end, ranks


@compiled
def _block(data: Bytes, at: int, ranks: int) -> tuple[int, int, int]:
    """``rank R {``: error, position, R."""
    end, code, _, _ = name_at(data, at)
    if code != _RANK:
        return BLOCK, at, 0
    at = _skip(data, end)
    end, rank = _number(data, at)
    if rank < 0 or rank >= ranks:
        return RANK, at, 0
    at = _skip(data, end)
    if data[at] != _OPEN:
        return OPEN, at, rank
    return FINE, at + 1, rank


@compiled
def _body(
    data: Bytes, at: int, ranks: int, operations: Operations, operation: int, edges: Edges, edge: int, labels: Labels
) -> tuple[int, int, int, int]:
    """The statements of a rank up to its ``}``: error, position, numbers of operations and edges so far."""
    first_edge, known = edge, 0
    while True:
        at = _gap(data, at)
        if data[at] == _CLOSE:
            break
        end, code, stem, number = name_at(data, at)
        if at == len(data) - 1 or code in (_RANK, _NUM_RANKS):
            return CLOSE, at, operation, edge
        start = at
        if code != _SEND and code != _RECV and code != _CALC:
            if end == at or _is_digit(data, at):
                return STATEMENT, at, operation, edge
            label = _label(data, labels, known, at, end, stem, number)
            known = max(known, label + 1)
            at = _skip(data, end)
            if data[at] != _COLON:
                error, at, other = _dependency(data, start, at, labels, known, label, edges, edge)
                if error != FINE:
                    return error, at, operation, edge
                known = max(known, other + 1)
                edge += 1
                continue
            if labels.operation[label] >= 0:
                return DUPLICATE, start, operation, edge
            labels.operation[label] = operation
            at = _skip(data, at + 1)
            end, code, stem, number = name_at(data, at)
        error, at = _operation(data, at, end, code, ranks, operations, operation)
        operation += 1
        if error != FINE:
            return error, at, operation, edge
    error, where = _resolve(labels, known, edges, first_edge, edge)
    return error, at + 1 if error == FINE else where, operation, edge


@compiled
def _operation(
    data: Bytes, at: int, end: int, code: int, ranks: int, operations: Operations, operation: int
) -> tuple[int, int]:
    """``calc``, ``send`` or ``recv`` (which ends at ``end``) and what follows: error, position."""
    if code == _CALC:
        error, at = _calc(data, _skip(data, end), operations, operation)
    elif code == _SEND:
        error, at = _message(data, _skip(data, end), SEND, ranks, operations, operation)
    elif code == _RECV:
        error, at = _message(data, _skip(data, end), RECEIVE, ranks, operations, operation)
    else:
        return OPERATION, at
    return (_end(data, at), at) if error == FINE else (error, at)


@compiled
def _calc(data: Bytes, at: int, operations: Operations, operation: int) -> tuple[int, int]:
    end, time_ns = _number(data, at)
    if time_ns < 0 or time_ns > MOST:
        return TIME, at
    operations.kind[operation] = COMPUTE
    operations.peer[operation] = NONE
    operations.size_bytes[operation] = 0.0
    operations.calc_s[operation] = time_ns / 1e9
    return _attributes(data, end, operations, operation)


@compiled
def _message(data: Bytes, at: int, kind: int, ranks: int, operations: Operations, operation: int) -> tuple[int, int]:
    """``SIZEb to PEER`` or ``SIZEb from PEER`` and attributes: error, position."""
    end, size = _number(data, at)
    if size < 0 or size > MOST:
        return AMOUNT, at
    at = _skip(data, end)
    if data[at] != _B:
        return UNIT, at
    at = _skip(data, at + 1)
    end, code, _, _ = name_at(data, at)
    if kind == SEND and code != _TO:
        return TO, at
    if kind == RECEIVE and code != _FROM:
        return FROM, at
    at = _skip(data, end)
    end, peer = _number(data, at)
    if kind == RECEIVE and _is_any(data, at):
        end, peer = at + 2, ANY
    elif peer < 0 or peer >= ranks:
        return PEER, at
    operations.kind[operation] = kind
    operations.peer[operation] = peer
    operations.size_bytes[operation] = size
    operations.calc_s[operation] = 0.0
    return _attributes(data, end, operations, operation)


@compiled
def _attributes(data: Bytes, at: int, operations: Operations, operation: int) -> tuple[int, int]:
    """``tag``, ``cpu``, ``nic`` and their numbers, each at most once, a calc has only ``cpu``: error, position."""
    kind = operations.kind[operation]
    tag, cpu, nic = 0, -1, -1
    tagged = False
    while True:
        at = _skip(data, at)
        end, code, _, _ = name_at(data, at)
        if end == at:
            break
        if code != _CPU and (kind == COMPUTE or (code != _TAG and code != _NIC)):
            return ATTRIBUTE, at
        if (code == _CPU and cpu >= 0) or (code == _NIC and nic >= 0) or (code == _TAG and tagged):
            return TWICE, at
        at = _skip(data, end)
        end, number = _number(data, at)
        if code == _TAG:
            tagged = True
            if kind == RECEIVE and _is_any(data, at):
                end, number = at + 2, _MASK
            if number < 0 or (kind == SEND and number & _MASK == _MASK):
                return TAG, at
            tag = number & _MASK
        elif number < 0 or number > MOST_INT:
            return NUMBER, at
        elif code == _CPU:
            cpu = number
        else:
            nic = number
        at = end
    operations.tag[operation] = tag if tag <= MOST_INT else tag - _MASK - 1
    operations.cpu[operation] = max(cpu, 0)
    operations.nic[operation] = max(nic, 0)
    return FINE, at


@compiled
def _dependency(
    data: Bytes, start: int, at: int, labels: Labels, known: int, label: int, edges: Edges, edge: int
) -> tuple[int, int, int]:
    """``requires LABEL`` or ``irequires LABEL`` after the label at ``start``: error, position, the other label."""
    end, code, _, _ = name_at(data, at)
    if code != _REQUIRES and code != _IREQUIRES:
        return STATEMENT, start, 0
    at = _skip(data, end)
    end, _, stem, number = name_at(data, at)
    if end == at or _is_digit(data, at):
        return LABEL, at, 0
    other = _label(data, labels, known, at, end, stem, number)
    if other == label:
        return ITSELF, start, 0
    edges.source[edge], edges.target[edge], edges.early[edge] = other, label, code == _IREQUIRES
    at = _skip(data, end)
    return _end(data, at), at, other


@compiled
def _resolve(labels: Labels, known: int, edges: Edges, first_edge: int, edge: int) -> tuple[int, int]:
    """Turn the labels of a rank's edges into operations and empty the table: error, where the label stands."""
    for label in range(known):
        labels.slots[labels.slot[label]] = 0
        if labels.operation[label] < 0:
            return UNKNOWN, labels.at[label]
    for index in range(first_edge, edge):
        edges.source[index] = labels.operation[edges.source[index]]
        edges.target[index] = labels.operation[edges.target[index]]
    return FINE, 0


@compiled
def _label(data: Bytes, labels: Labels, known: int, at: int, end: int, stem: int, number: int) -> int:
    """The number of the label ``data[at:end]`` in this rank, ``known`` if it is new (it is entered then).

    Labels that count up (l1, l2, l3 ...) lie side by side, which keeps them in the processor's cache.
    """
    mask = len(labels.slots) - 1
    slot, step = (stem + number) & mask, (stem >> 15) | 1  # an odd step comes by every slot
    while labels.slots[slot] != 0:
        label = int(labels.slots[slot]) - 1
        if _same(data, labels.at[label], labels.end[label], at, end):
            return label
        slot = (slot + step) & mask
    labels.slots[slot] = known + 1
    labels.at[known], labels.end[known] = at, end
    labels.operation[known], labels.slot[known] = -1, slot
    return known


@compiled
def _same(data: Bytes, at: int, end: int, other: int, other_end: int) -> bool:
    if end - at != other_end - other:
        return False
    for index in range(end - at):  # noqa: SIM110 - compiled, generators are not
        if data[at + index] != data[other + index]:
            return False
    return True


@compiled
def name_at(data: Bytes, at: int) -> tuple[int, int, int, int]:
    """A run of letters, digits and _: its end, code (0 if too long for one), hash of its stem, number at its end."""
    end, code, stem, number = at, 0, 0, 0
    while True:
        digit = int(_CODES[data[end]])
        if digit == 0:
            return end, code, stem, number
        code = code * 64 + digit if end - at < _CODED else 0
        if digit <= 10:
            number = (number * 10 + digit - 1) & _MASK
        else:
            stem = (((stem ^ number) + digit) * _SPREAD) & _MASK
            number = 0
        end += 1


@compiled
def _number(data: Bytes, at: int) -> tuple[int, int]:
    """A whole number: its end and value, -1 if there is none or it runs into a letter other than b, or is huge."""
    value, end = 0, at
    while _is_digit(data, end) and value <= 10**17:
        value = value * 10 + int(data[end]) - _ZERO
        end += 1
    after = int(data[end])
    if end == at or after == _POINT or (after != _B and _CODES[after] != 0):
        return at, -1
    return end, value


@compiled
def _is_digit(data: Bytes, at: int) -> bool:
    return bool(_ZERO <= data[at] <= _NINE)


@compiled
def _is_any(data: Bytes, at: int) -> bool:
    """Whether -1 stands here."""
    return bool(data[at] == _MINUS and data[at + 1] == _ONE and _CODES[data[at + 2]] == 0)


@compiled
def _end(data: Bytes, at: int) -> int:
    """Whether a statement ends here: an error code."""
    byte = data[at]
    if byte in (_NEWLINE, _SEMICOLON, _CLOSE) or at == len(data) - 1:
        return FINE
    return END


@compiled
def _gap(data: Bytes, at: int) -> int:
    """Position after white space, comments, and ends of lines and statements."""
    at = _skip(data, at)
    while data[at] == _NEWLINE or data[at] == _SEMICOLON:
        at = _skip(data, at + 1)
    return at


@compiled
def _skip(data: Bytes, at: int) -> int:
    """Position after white space and comments of this line; a comment that is not closed stays."""
    while True:
        byte = data[at]
        if byte in (_SPACE, _TAB_STOP, _RETURN):
            at += 1
        elif byte == _SLASH:
            after = _comment(data, at)
            if after == at:
                return at
            at = after
        else:
            return at


@compiled
def _comment(data: Bytes, at: int) -> int:
    """Position after the comment that starts here; ``at`` if none does."""
    end = at + 2
    last = len(data) - 1
    if data[at + 1] == _SLASH:
        while end < last and data[end] != _NEWLINE:
            end += 1
        return end
    if data[at + 1] == _STAR:
        while end < last:
            if data[end] == _STAR and data[end + 1] == _SLASH:
                return end + 2
            end += 1
    return at


@compiled
def adjacency(edges: Edges, operations: int) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.bool_]]:
    """The edges by their source, in the order of the file: start (operations + 1,), target, early."""
    start = np.zeros(operations + 1, np.int64)
    target = np.empty(len(edges.source), np.int32)
    early = np.empty(len(edges.source), np.bool_)
    for source in edges.source:
        start[source + 1] += 1
    for operation in range(operations):
        start[operation + 1] += start[operation]
    for index in range(len(edges.source)):  # leaves in start[op] where the edges of op end
        place = start[edges.source[index]]
        start[edges.source[index]] = place + 1
        target[place], early[place] = edges.target[index], edges.early[index]
    for operation in range(operations, 0, -1):
        start[operation] = start[operation - 1]
    start[0] = 0
    return start, target, early
