"""A schedule: what every rank of a parallel program does, and what each operation waits for."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.operation_kinds import COMPUTE, RECEIVE, SEND

#: The peer of an operation that has none; of a receive from any source; the tag of a receive of any tag.
NONE, ANY, ANY_TAG = -1, -2, -1
#: Names of the kinds of operations for messages, by kind.
_NAMES = {COMPUTE: "calc", SEND: "send", RECEIVE: "recv"}


def _nothing() -> NDArray[np.int32]:
    return np.zeros(0, np.int32)


@dataclass(frozen=True)
class Schedule:
    """Operations of P ranks with their dependencies, before any machine prices them.

    N operations are numbered rank by rank, in the order of the file. An operation may start when
    each operation that it waits for is done or, if the edge is early, has started. Operations of one rank with the same
    ``cpu`` do not overlap; its messages share a network interface ``nic``, each of which has a gap of its own.

    InputError when the arrays do not fit together: shapes, a peer that does not exist, an edge between two ranks or
    from an operation to itself, a negative size. Operations that wait for each other are for the simulation to report.
    """

    name: str
    first: NDArray[np.int64]
    """(P + 1,) First operation of each rank, then N."""
    kind: NDArray[np.int8]
    """(N,) COMPUTE, SEND or RECEIVE of ``simcodesign.core.operation_kinds``."""
    peer: NDArray[np.int32]
    """(N,) Rank at the other end; NONE for a calc; ANY for a receive from any source."""
    size_bytes: NDArray[np.float64]
    """(N,) Size of a message; 0 for a calc."""
    calc_s: NDArray[np.float64]
    """(N,) Time of a calc; 0 for messages."""
    tag: NDArray[np.int32]
    """(N,) A send and a receive match when their tags are equal; ANY_TAG for a receive of any tag; 0 for a calc."""
    cpu: NDArray[np.int32]
    """(N,) Processor of the rank, from 0."""
    edge_start: NDArray[np.int64]
    """(N + 1,) Operations that wait for op are ``edge_target[edge_start[op] : edge_start[op + 1]]``."""
    edge_target: NDArray[np.int32]
    """(edges,) Operations that wait."""
    edge_early: NDArray[np.bool_]
    """(edges,) True: waits only for the start of op."""
    place: Place
    nic: NDArray[np.int32] = field(default_factory=_nothing)
    """(N,) Network interface of the rank, from 0; 0 for a calc; all 0 when left out."""

    def __post_init__(self) -> None:
        if not len(self.nic):
            object.__setattr__(self, "nic", np.zeros(len(self.kind), np.int32))
        self._check_shapes()
        self._check_operations()
        self._check_edges()

    @property
    def ranks(self) -> int:
        """Number of ranks, P."""
        return len(self.first) - 1

    def __len__(self) -> int:
        """Return the number of operations, N."""
        return len(self.kind)

    def rank_of(self, operations: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the rank of each of these operations."""
        return np.searchsorted(self.first, operations, side="right") - 1

    def _check_shapes(self) -> None:
        if self.ranks < 1:
            raise InputError("a schedule without ranks", self.place)
        for array in ("peer", "size_bytes", "calc_s", "tag", "cpu", "nic"):
            if getattr(self, array).shape != (len(self),):
                raise InputError(
                    f"shape of {array}", self.place, value=getattr(self, array).shape, allowed=f"({len(self)},)"
                )
        self._check_offsets("first", self.first, len(self))
        if len(self.edge_start) != len(self) + 1:
            raise InputError("length of edge_start", self.place, value=len(self.edge_start), allowed=f"{len(self) + 1}")
        self._check_offsets("edge_start", self.edge_start, len(self.edge_target))
        if self.edge_early.shape != self.edge_target.shape:
            raise InputError("edge_early and edge_target differ in length", self.place, value=len(self.edge_early))

    def _check_offsets(self, name: str, offsets: NDArray[np.int64], total: int) -> None:
        if offsets[0] != 0 or offsets[-1] != total or np.any(np.diff(offsets) < 0):
            raise InputError(f"{name} does not rise from 0 to {total}", self.place)

    def _check_operations(self) -> None:
        kind, peer = self.kind, self.peer
        self._check(np.isin(kind, list(_NAMES)), kind, "kind", "COMPUTE, SEND or RECEIVE")
        calc, receive = kind == COMPUTE, kind == RECEIVE
        known = (peer >= 0) & (peer < self.ranks)
        good = np.where(calc, peer == NONE, known | (receive & (peer == ANY)))
        self._check(good, peer, "peer", f"a rank from 0 to {self.ranks - 1}, ANY to receive, NONE for a calc")
        self._check(receive | (self.tag != ANY_TAG), self.tag, "tag", "any tag is for receives")
        for name, amount, none in (("size_bytes", self.size_bytes, calc), ("calc_s", self.calc_s, ~calc)):
            good = np.isfinite(amount) & (amount >= 0) & ((amount == 0) | ~none)
            self._check(good, amount, name, "a finite number, at least 0; size_bytes of messages, calc_s of calcs")
        self._check(~calc | (self.tag == 0), self.tag, "tag", "0 for a calc")
        self._check(self.cpu >= 0, self.cpu, "cpu", "at least 0")
        self._check((self.nic >= 0) & (~calc | (self.nic == 0)), self.nic, "nic", "at least 0, 0 for a calc")

    def _check(self, good: NDArray[np.bool_], values: NDArray[np.generic], name: str, allowed: str) -> None:
        if not np.all(good):
            operation = int(np.argmin(good))
            raise InputError(
                f"{name} of {self.label(operation)}", self.place, value=values[operation].item(), allowed=allowed
            )

    def label(self, operation: int) -> str:
        """How messages name an operation: its rank, and its number and kind there."""
        rank = int(self.rank_of(np.array([operation], np.int32))[0])
        kind = _NAMES.get(int(self.kind[operation]), "operation")
        return f"operation {operation - self.first[rank] + 1} of rank {rank} ({kind})"

    def _check_edges(self) -> None:
        target = self.edge_target
        if np.any((target < 0) | (target >= len(self))):
            raise InputError("an edge to an operation that does not exist", self.place, allowed=f"0 to {len(self) - 1}")
        source = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.edge_start))
        rank = np.repeat(np.arange(self.ranks, dtype=np.int32), np.diff(self.first))
        for bad, what in (
            (source == target, "an operation waits for itself"),
            (rank[source] != rank[target], "an operation waits for one of another rank"),
        ):
            if np.any(bad):
                raise InputError(what, self.place, value=self.label(int(target[np.argmax(bad)])))
