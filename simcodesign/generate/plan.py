"""The Plan: a simulation as flat arrays of operations, which every engine walks in the same way.

Operations are numbered rank by rank, in program order within a rank, so that (rank, operation) order is plain
operation order. Durations are computed here, once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.result import KINDS, RECEIVE, SEND

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

    A message has a head, which asks for the stations one after another, and a tail, its last byte. The head sets out
    ``inject_s`` after the start of the send, the tail ``tail_s`` later. A station that was granted at g lets the tail
    pass when it has come and when it has been served: max(tail, g + service). Both are then on the way for ``gap_s``
    after an interface and for ``latency_s`` after a link; with ``store_and_forward`` the head waits for the tail
    between two links. The message has arrived when its tail has passed the last station. Alone on the network, that is
    when its sender is done with it, unless it is stored and its receiver's interface is slower than the last link.
    """

    route: NDArray[np.int32]  # (N,) or NONE
    start: NDArray[np.int64]
    station: NDArray[np.int32]
    inject_s: NDArray[np.float64]  # (N,)
    tail_s: NDArray[np.float64]  # (N,)
    interface_s: NDArray[np.float64]  # (N,) service of an interface
    link_s: NDArray[np.float64]  # (N,) service of a link
    gap_s: NDArray[np.float64]  # (N,)
    latency_s: NDArray[np.float64]  # (N,)
    store_and_forward: bool = False


@dataclass(frozen=True)
class Operations:
    """The N operations of P ranks before anything queues: what they are, their messages paired and priced."""

    first: NDArray[np.int64]  # (P + 1,) first operation of each rank
    kind: NDArray[np.int8]
    phase: NDArray[np.int16]
    part: NDArray[np.int16]  # machine variant (phase constants)
    rank: NDArray[np.int32]
    peer: NDArray[np.int32]
    size_bytes: NDArray[np.float64]
    duration_s: NDArray[np.float64]
    match: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.kind)


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
        """Number of ranks."""
        return len(self.first) - 1

    def describe(self, op: int) -> str:
        """An operation in words, for messages."""
        text = f"{KINDS[self.kind[op]]}"
        if self.kind[op] in (SEND, RECEIVE):
            text += f" {'to' if self.kind[op] == SEND else 'from'} rank {self.peer[op]}"
        number = op - self.first[self.rank[op]]
        return f"{text} (operation {number}, phase {self.phases[self.phase[op]]!r})"
