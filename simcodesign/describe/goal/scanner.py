"""The statements of GOAL files: one pass from text to arrays.

This loads Numba where it is installed: use it through ``simcodesign.describe.goal.format``. Every function works on a
buffer of bytes that ends in a zero, so that looking at the next byte is always allowed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import compiled
from simcodesign.core.operation_kinds import COMPUTE, RECEIVE, SEND
from simcodesign.describe.goal.errors import (
    AMOUNT,
    ATTRIBUTE,
    BLOCK,
    CLOSE,
    DUPLICATE,
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
)
from simcodesign.describe.goal.labels import Edges, Labels, label_number, resolve_labels
from simcodesign.describe.goal.schedule import ANY, NONE
from simcodesign.describe.goal.tokens import (
    BRACE,
    CLOSING_BRACE,
    COLON,
    LETTER_B,
    LETTER_Q,
    MASK,
    NEWLINE,
    SEMICOLON,
    WORD_CALC,
    WORD_CPU,
    WORD_FROM,
    WORD_IREQUIRES,
    WORD_NIC,
    WORD_NUM_RANKS,
    WORD_RANK,
    WORD_RECV,
    WORD_REQUIRES,
    WORD_SEND,
    WORD_TAG,
    WORD_TO,
    Bytes,
    is_any,
    is_digit,
    name_at,
    number_at,
    skip_blanks,
    skip_to_statement,
    statement_end,
)


class Operations(NamedTuple):
    """Fields of the operations, as in Schedule."""

    kind: NDArray[np.int8]
    peer: NDArray[np.int32]
    size_bytes: NDArray[np.float64]
    calc_s: NDArray[np.float64]
    tag: NDArray[np.int32]
    cpu: NDArray[np.int32]
    nic: NDArray[np.int32]


class Blocks(NamedTuple):
    """The ``rank R { ... }`` of a file: R, its first operation, and where in the file it stands."""

    rank: NDArray[np.int32]
    first: NDArray[np.int64]
    at: NDArray[np.int64]


@compiled
def capacity(data: Bytes) -> tuple[int, int, int]:
    """At most how many operations, dependencies and ranks the text can hold."""
    statements, dependencies, blocks = 1, 0, 0
    for byte in data:
        if byte in (NEWLINE, SEMICOLON, CLOSING_BRACE):
            statements += 1
        elif byte == LETTER_Q:
            dependencies += 1
        elif byte == BRACE:
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
        at = skip_to_statement(data, at)
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
    at = skip_to_statement(data, at)
    end, code, _, _ = name_at(data, at)
    if code != WORD_NUM_RANKS:
        return HEADER, at, 0
    at = skip_blanks(data, end)
    end, ranks = number_at(data, at)
    if ranks < 1 or ranks > MOST_INT:
        return RANKS, at, 0
    return FINE, end, ranks


@compiled
def _block(data: Bytes, at: int, ranks: int) -> tuple[int, int, int]:
    """``rank R {``: error, position, R."""
    end, code, _, _ = name_at(data, at)
    if code != WORD_RANK:
        return BLOCK, at, 0
    at = skip_blanks(data, end)
    end, rank = number_at(data, at)
    if rank < 0 or rank >= ranks:
        return RANK, at, 0
    at = skip_blanks(data, end)
    if data[at] != BRACE:
        return OPEN, at, rank
    return FINE, at + 1, rank


@compiled
def _body(
    data: Bytes, at: int, ranks: int, operations: Operations, operation: int, edges: Edges, edge: int, labels: Labels
) -> tuple[int, int, int, int]:
    """The statements of a rank up to its ``}``: error, position, numbers of operations and edges so far."""
    first_edge, known = edge, 0
    while True:
        at = skip_to_statement(data, at)
        if data[at] == CLOSING_BRACE:
            break
        end, code, stem, number = name_at(data, at)
        if at == len(data) - 1 or code in (WORD_RANK, WORD_NUM_RANKS):
            return CLOSE, at, operation, edge
        start = at
        if code != WORD_SEND and code != WORD_RECV and code != WORD_CALC:
            if end == at or is_digit(data, at):
                return STATEMENT, at, operation, edge
            label = label_number(data, labels, known, at, end, stem, number)
            known = max(known, label + 1)
            at = skip_blanks(data, end)
            if data[at] != COLON:
                error, at, other = _dependency(data, start, at, labels, known, label, edges, edge)
                if error != FINE:
                    return error, at, operation, edge
                known = max(known, other + 1)
                edge += 1
                continue
            if labels.operation[label] >= 0:
                return DUPLICATE, start, operation, edge
            labels.operation[label] = operation
            at = skip_blanks(data, at + 1)
            end, code, stem, number = name_at(data, at)
        error, at = _operation(data, at, end, code, ranks, operations, operation)
        operation += 1
        if error != FINE:
            return error, at, operation, edge
    error, where = resolve_labels(labels, known, edges, first_edge, edge)
    return error, at + 1 if error == FINE else where, operation, edge


@compiled
def _operation(
    data: Bytes, at: int, end: int, code: int, ranks: int, operations: Operations, operation: int
) -> tuple[int, int]:
    """``calc``, ``send`` or ``recv`` (which ends at ``end``) and what follows: error, position."""
    if code == WORD_CALC:
        error, at = _calc(data, skip_blanks(data, end), operations, operation)
    elif code == WORD_SEND:
        error, at = _message(data, skip_blanks(data, end), SEND, ranks, operations, operation)
    elif code == WORD_RECV:
        error, at = _message(data, skip_blanks(data, end), RECEIVE, ranks, operations, operation)
    else:
        return OPERATION, at
    return (statement_end(data, at), at) if error == FINE else (error, at)


@compiled
def _calc(data: Bytes, at: int, operations: Operations, operation: int) -> tuple[int, int]:
    end, time_ns = number_at(data, at)
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
    end, size = number_at(data, at)
    if size < 0 or size > MOST:
        return AMOUNT, at
    at = skip_blanks(data, end)
    if data[at] != LETTER_B:
        return UNIT, at
    at = skip_blanks(data, at + 1)
    end, code, _, _ = name_at(data, at)
    if kind == SEND and code != WORD_TO:
        return TO, at
    if kind == RECEIVE and code != WORD_FROM:
        return FROM, at
    at = skip_blanks(data, end)
    end, peer = number_at(data, at)
    if kind == RECEIVE and is_any(data, at):
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
        at = skip_blanks(data, at)
        end, code, _, _ = name_at(data, at)
        if end == at:
            break
        if code != WORD_CPU and (kind == COMPUTE or (code != WORD_TAG and code != WORD_NIC)):
            return ATTRIBUTE, at
        if (code == WORD_CPU and cpu >= 0) or (code == WORD_NIC and nic >= 0) or (code == WORD_TAG and tagged):
            return TWICE, at
        at = skip_blanks(data, end)
        end, number = number_at(data, at)
        if code == WORD_TAG:
            tagged = True
            if kind == RECEIVE and is_any(data, at):
                end, number = at + 2, MASK
            if number < 0 or (kind == SEND and number & MASK == MASK):
                return TAG, at
            tag = number & MASK
        elif number < 0 or number > MOST_INT:
            return NUMBER, at
        elif code == WORD_CPU:
            cpu = number
        else:
            nic = number
        at = end
    operations.tag[operation] = tag if tag <= MOST_INT else tag - MASK - 1
    operations.cpu[operation] = max(cpu, 0)
    operations.nic[operation] = max(nic, 0)
    return FINE, at


@compiled
def _dependency(
    data: Bytes, start: int, at: int, labels: Labels, known: int, label: int, edges: Edges, edge: int
) -> tuple[int, int, int]:
    """``requires LABEL`` or ``irequires LABEL`` after the label at ``start``: error, position, the other label."""
    end, code, _, _ = name_at(data, at)
    if code != WORD_REQUIRES and code != WORD_IREQUIRES:
        return STATEMENT, start, 0
    at = skip_blanks(data, end)
    end, _, stem, number = name_at(data, at)
    if end == at or is_digit(data, at):
        return LABEL, at, 0
    other = label_number(data, labels, known, at, end, stem, number)
    if other == label:
        return ITSELF, start, 0
    edges.source[edge], edges.target[edge], edges.early[edge] = other, label, code == WORD_IREQUIRES
    at = skip_blanks(data, end)
    return statement_end(data, at), at, other


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
