"""Sends and receives paired before the simulation starts, so that no engine ever searches for a message."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.errors import InputError, Place
from simcodesign.generate.columns import BY_ORDER, Columns
from simcodesign.generate.plan import NONE
from simcodesign.result import RECEIVE, SEND

Ints = NDArray[np.int64]


def matches(columns: Columns, number: Ints, place: Place) -> Ints:
    """For every operation the other end of its message, or NONE."""
    total = int(np.count_nonzero(columns.present))
    match = np.full(total, NONE, dtype=np.int64)
    column, rank = np.nonzero(columns.present & (columns.match != BY_ORDER) & (columns.kind == RECEIVE)[:, None])
    receives = number[column, rank]
    sends = number[column + columns.match[column, rank], columns.peer[column, rank]]
    match[receives], match[sends] = sends, receives
    _match_by_order(columns, number, match, place)
    return match


def _match_by_order(columns: Columns, number: Ints, match: Ints, place: Place) -> None:
    """Pair the n-th send from a to b with tag t with the n-th receive of b from a with tag t."""
    sends = _loose(columns, number, match, SEND)
    receives = _loose(columns, number, match, RECEIVE)
    shared = min(len(sends), len(receives))
    differ = np.flatnonzero((sends[:shared, :3] != receives[:shared, :3]).any(axis=1))
    if len(differ) or len(sends) != len(receives):
        _refuse(sends, receives, int(differ[0]) if len(differ) else shared, place)
    match[sends[:, 3]], match[receives[:, 3]] = receives[:, 3], sends[:, 3]


def _loose(columns: Columns, number: Ints, match: Ints, kind: int) -> Ints:
    """Rows (source, target, tag, operation) of the messages still to be paired, sorted."""
    chosen = np.flatnonzero((columns.kind == kind) & (columns.match == BY_ORDER).all(axis=1))
    column, rank = np.nonzero(columns.present[chosen])
    column = chosen[column]
    peer = columns.peer[column, rank].astype(np.int64)
    op = number[column, rank]
    source, target = (rank, peer) if kind == SEND else (peer, rank)
    rows: Ints = np.stack([source, target, columns.tag[column].astype(np.int64), op], axis=1)
    rows = rows[match[op] == NONE]
    return rows[np.lexsort(rows.T[::-1])]


def _refuse(sends: Ints, receives: Ints, row: int, place: Place) -> None:
    rows = [tuple(int(x) for x in part[row, :3]) for part in (sends, receives) if row < len(part)]
    source, target, tag = min(rows)
    counts = [int(np.count_nonzero((part[:, :3] == (source, target, tag)).all(axis=1))) for part in (sends, receives)]
    sent = f"rank {source} sends {counts[0]} messages with tag {tag} to rank {target}"
    what = f"{sent}, which receives {counts[1]} of them"
    raise InputError(f"sends and receives do not match: {what}", place)
