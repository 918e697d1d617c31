"""The Plan: a simulation as flat arrays of operations, which every engine walks in the same way.

Operations are numbered rank by rank, in program order within a rank, so that (rank, operation) order is plain
operation order. Durations are computed here, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.machine import Machine
from simcodesign.errors import InputError, Place
from simcodesign.generate.columns import BY_ORDER, KINDS, READ, RECEIVE, SEND, Columns

NONE = -1
DISK, INTERFACE, LINK = range(3)
STATION_KINDS = ("disk", "interface", "link")


@dataclass(frozen=True)
class Stations:
    """What operations and messages queue for; the station's number is its place in the order of arbitration."""

    kind: NDArray[np.int8]  # (S,) DISK, INTERFACE or LINK
    unit: NDArray[np.int64]  # (S,) number of the disk, node or link
    servers: NDArray[np.int32]  # (S,)

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True)
class Routes:
    """Stations that messages visit in turn: message ``op`` takes ``station[start[r]:start[r+1]]``, r = ``route[op]``.

    The head of a message leaves for its next station a while after it was granted one: after an interface
    ``gap_s``, after a link ``head_s``, after the last link ``exit_s``, after the last interface ``tail_s``.
    """

    route: NDArray[np.int32]  # (N,) or NONE
    start: NDArray[np.int64]
    station: NDArray[np.int32]
    inject_s: NDArray[np.float64]  # (N,) from the start of the send to the first station
    interface_s: NDArray[np.float64]  # (N,) service of an interface
    link_s: NDArray[np.float64]  # (N,) service of a link
    gap_s: NDArray[np.float64]
    head_s: NDArray[np.float64]
    exit_s: NDArray[np.float64]
    tail_s: NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """N operations of P ranks.

    An operation starts when the one before it in its rank is done (unless ``chained`` is False), a receive also when
    its message is there (``match``: receive -> its send, send -> its receive), and after all ``extra`` ones (CSR: the
    operations that wait for ``op`` are ``extra_target[extra_start[op]:extra_start[op+1]]``).
    """

    first: NDArray[np.int64]  # (P + 1,) first operation of each rank
    kind: NDArray[np.int8]
    phase: NDArray[np.int16]
    rank: NDArray[np.int32]
    peer: NDArray[np.int32]
    size_bytes: NDArray[np.float64]
    duration_s: NDArray[np.float64]
    match: NDArray[np.int64]
    station: NDArray[np.int32]  # station that serves the operation for its duration, or NONE
    chained: NDArray[np.bool_]
    phases: tuple[str, ...]
    stations: Stations
    routes: Routes | None = None
    extra_start: NDArray[np.int64] | None = None
    extra_target: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def ranks(self) -> int:
        """Amount of ranks."""
        return len(self.first) - 1

    def describe(self, op: int) -> str:
        """An operation in words, for messages."""
        text = f"{KINDS[self.kind[op]]}"
        if self.kind[op] in (SEND, RECEIVE):
            text += f" {'to' if self.kind[op] == SEND else 'from'} rank {self.peer[op]}"
        number = op - self.first[self.rank[op]]
        return f"{text} (operation {number}, phase {self.phases[self.phase[op]]!r})"


def numbering(columns: Columns) -> NDArray[np.int64]:
    """Operation number of every cell (C, P), rank by rank; meaningless where nothing is present."""
    count, ranks = columns.present.shape
    if columns.present.all():
        return np.arange(ranks)[None, :] * count + np.arange(count)[:, None]
    flat = np.cumsum(columns.present.T.ravel()) - 1
    return np.ascontiguousarray(flat.reshape(ranks, count).T)


def matches(columns: Columns, number: NDArray[np.int64], places: Sequence[Place]) -> NDArray[np.int64]:
    """For every operation the other end of its message, or NONE."""
    total = int(np.count_nonzero(columns.present))
    match = np.full(total, NONE, dtype=np.int64)
    known = (columns.kind == RECEIVE) & (columns.match[:, 0] != BY_ORDER) if columns.match.size else np.zeros(0, bool)
    for column in np.flatnonzero(known):
        ranks = np.flatnonzero(columns.present[column])
        sends = number[column + columns.match[column, ranks], columns.peer[column, ranks]]
        receives = number[column, ranks]
        match[receives], match[sends] = sends, receives
    _match_by_order(columns, number, match, places)
    return match


def _match_by_order(
    columns: Columns, number: NDArray[np.int64], match: NDArray[np.int64], places: Sequence[Place]
) -> None:
    """Pair the n-th send from a to b with tag t with the n-th receive of b from a with tag t."""
    sends = _loose(columns, number, match, SEND)
    receives = _loose(columns, number, match, RECEIVE)
    shared = min(len(sends), len(receives))
    differ = np.flatnonzero((sends[:shared, :3] != receives[:shared, :3]).any(axis=1))
    if len(differ) or len(sends) != len(receives):
        _refuse(sends, receives, int(differ[0]) if len(differ) else shared, places)
    match[sends[:, 3]], match[receives[:, 3]] = receives[:, 3], sends[:, 3]


def _loose(columns: Columns, number: NDArray[np.int64], match: NDArray[np.int64], kind: int) -> NDArray[np.int64]:
    """Rows (source, target, tag, operation) of the messages still to be paired, sorted."""
    chosen = np.flatnonzero((columns.kind == kind) & (columns.match == BY_ORDER).all(axis=1))
    column, rank = np.nonzero(columns.present[chosen])
    column = chosen[column]
    peer = columns.peer[column, rank].astype(np.int64)
    op = number[column, rank]
    source, target = (rank, peer) if kind == SEND else (peer, rank)
    rows = np.stack([source, target, columns.tag[column].astype(np.int64), op], axis=1)
    rows = rows[match[op] == NONE]
    return rows[np.lexsort(rows.T[::-1])]


def _refuse(sends: NDArray[np.int64], receives: NDArray[np.int64], row: int, places: Sequence[Place]) -> None:
    rows = [tuple(int(x) for x in part[row, :3]) for part in (sends, receives) if row < len(part)]
    source, target, tag = min(rows)
    counts = [int(np.count_nonzero((part[:, :3] == (source, target, tag)).all(axis=1))) for part in (sends, receives)]
    place = places[0] if places else None
    what = (
        f"rank {source} sends {counts[0]} messages with tag {tag} to rank {target}, which receives {counts[1]} of them"
    )
    raise InputError(f"sends and receives do not match: {what}", place)


def rank_major(columns: Columns, array: NDArray[np.generic]) -> NDArray[np.generic]:
    """A (C, P) or (C,) array as one value per operation, rank by rank."""
    present = columns.present
    cells = np.broadcast_to(array if array.ndim == 2 else array[:, None], present.shape).T
    return cells[present.T] if not present.all() else np.ascontiguousarray(cells).ravel()


def used_disks(machine: Machine, node: NDArray[np.int64]) -> NDArray[np.int64]:
    """Disk of every rank's node."""
    return node // (machine.disk.shared_by if machine.disk else 1)


def is_access(kind: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Whether operations are reads or writes."""
    return kind >= READ
