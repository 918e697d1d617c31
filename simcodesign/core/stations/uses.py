"""How the stations of a simulation were used: disks, memory controllers, processors, interfaces, links, mailboxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.to_json import fields_of


@dataclass(frozen=True)
class StationUse:
    """How a disk, interface or link was used. ``mean_queue``: requests waiting, averaged over the makespan.

    ``longest_queue``: maximum number of requests at a time, including those about to be granted; ``blocked``: requests
    that were turned away because the station was full; ``background_s``: of ``busy_s``, for messages of other jobs,
    None without any.
    """

    name: str
    kind: str
    servers: int
    served: int
    busy_s: float
    wait_s: float
    utilisation: float
    mean_queue: float
    longest_queue: int
    blocked: int = 0
    background_s: float | None = None

    def json_fields(self) -> dict[str, Any]:
        """Return the fields; ``background_s`` only if there is one."""
        return fields_of(self, without=("background_s",) if self.background_s is None else ())


@dataclass(frozen=True, eq=False)
class StationUses(Sequence[StationUse]):
    """How all S stations were used: arrays of one length, and each station as a ``StationUse`` when it is indexed."""

    name: Callable[[int], str]
    kinds: tuple[str, ...]
    kind: NDArray[np.int8]
    servers: NDArray[np.int32]
    served: NDArray[np.int64]
    busy_s: NDArray[np.float64]
    wait_s: NDArray[np.float64]
    longest_queue: NDArray[np.int64]
    span_s: float  # the time over which utilisation and mean queue are averages
    blocked: NDArray[np.int64] | None = None  # None: no request is
    background_s: NDArray[np.float64] | None = None  # of ``busy_s``; None: no other jobs

    def __len__(self) -> int:
        return len(self.kind)

    @overload
    def __getitem__(self, number: int) -> StationUse: ...
    @overload
    def __getitem__(self, number: slice) -> list[StationUse]: ...
    def __getitem__(self, number: int | slice) -> StationUse | list[StationUse]:
        if isinstance(number, slice):
            return [self[place] for place in range(*number.indices(len(self)))]
        place = range(len(self))[number]  # IndexError for what is none
        servers, busy, wait = int(self.servers[place]), float(self.busy_s[place]), float(self.wait_s[place])
        return StationUse(
            name=self.name(place),
            kind=self.kinds[self.kind[place]],
            servers=servers,
            served=int(self.served[place]),
            busy_s=busy,
            wait_s=wait,
            utilisation=busy / (self.span_s * servers),
            mean_queue=wait / self.span_s,
            longest_queue=int(self.longest_queue[place]),
            blocked=0 if self.blocked is None else int(self.blocked[place]),
            background_s=None if self.background_s is None else float(self.background_s[place]),
        )

    def most_used(self, count: int) -> list[StationUse]:
        """Return the stations of highest utilisation; among equals those that were busy longest, then the first."""
        order = np.lexsort((-self.busy_s, -self.busy_s / self.servers))
        return [self[int(place)] for place in order[:count]]

    def waits_by_kind(self) -> dict[str, float]:
        """Seconds that all requests waited, by the kind of the stations, of the kinds that there are."""
        return {
            kind: float(self.wait_s[self.kind == number].sum())
            for number, kind in enumerate(self.kinds)
            if (self.kind == number).any()
        }


#: No stations: what a forecast has, and a simulation in which nothing is shared.
NO_STATIONS = StationUses(
    name=str,
    kinds=(),
    kind=np.zeros(0, np.int8),
    servers=np.zeros(0, np.int32),
    served=np.zeros(0, np.int64),
    busy_s=np.zeros(0),
    wait_s=np.zeros(0),
    longest_queue=np.zeros(0, np.int64),
    span_s=1.0,
)
