"""Parts of a simulation's Result in addition to its makespan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.stations.services import Services

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Failures:
    """The ``count`` failures of a simulation: seconds of work that was lost, and of restarts."""

    count: int
    lost_s: float
    restart_s: float


@dataclass(frozen=True)
class RankTimes:
    """Times of every rank, (ranks, phases, components); ``busy_s`` includes ``waiting_s``. ``end_s``: (ranks,).

    If a rank does several things at the same time, each counts, so that its times may add up to more than its end.
    """

    phases: tuple[str, ...]
    busy_s: NDArray[np.float64]
    waiting_s: NDArray[np.float64]
    end_s: NDArray[np.float64]

    @property
    def critical_rank(self) -> int:
        """The rank that is done last (the first of them)."""
        return int(np.argmax(self.end_s))

    def table(self) -> pd.DataFrame:
        """One row per rank, phase and component: busy and waiting seconds."""
        import pandas as pd

        ranks, phases, components = np.indices(self.busy_s.shape).reshape(3, -1)
        return pd.DataFrame(
            {
                "rank": ranks,
                "phase": np.array(self.phases, dtype=object)[phases],
                "component": np.array(COMPONENTS, dtype=object)[components],
                "busy_s": self.busy_s.ravel(),
                "waiting_s": self.waiting_s.ravel(),
            }
        )


@dataclass(frozen=True, eq=False)
class Requests:
    """The requests of an open stream, arrays of one length, in the order in which they arrived.

    ``arrived_s``: at the first station, or when a message was ready to be sent; ``left_s``: served by the last station
    of its way, or at its destination, NaN of one that was blocked. ``source``: the rank that it came from.
    """

    arrived_s: NDArray[np.float64]
    left_s: NDArray[np.float64]
    source: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.arrived_s)

    @property
    def response_s(self) -> NDArray[np.float64]:
        """How long each of those served took, in order of arrival."""
        response = self.left_s - self.arrived_s
        return np.asarray(response[~np.isnan(response)])

    @property
    def blocked(self) -> int:
        """Requests that were turned away because the station was full."""
        return int(np.count_nonzero(np.isnan(self.left_s)))


#: Stations in ``Result.to_dict``: all of them, or as many of the most used; and steps of the power, or none.
MOST_LISTED = 10_000


@dataclass(frozen=True)
class Timeline:
    """Who did what from when to when: one row per operation, arrays of equal length.

    ``ready_s``: the rank reached it; ``start_s``: it stopped waiting; ``finish_s``: it was done. ``kind``: 0
    compute, 1 send, 2 receive, 3 read, 4 write, 5 memory; ``peer`` is -1 without a partner. ``match``: row of the
    other end of a message, -1 without one. ``arrival_s``: of the message of a send, NaN of other operations;
    ``stations_of``: names of the stations of a row: the station that serves the operation, then those its message
    passes.
    ``services``: which request each station served when, None if the engine does not record it; ``line``: of the
    operation in a recorded program, None otherwise.
    """

    phases: tuple[str, ...]
    rank: NDArray[np.int32]
    phase: NDArray[np.int16]
    kind: NDArray[np.int8]
    ready_s: NDArray[np.float64]
    start_s: NDArray[np.float64]
    finish_s: NDArray[np.float64]
    peer: NDArray[np.int32]
    size_bytes: NDArray[np.float64]
    match: NDArray[np.int32]
    arrival_s: NDArray[np.float64] | None = None
    stations_of: Callable[[int], tuple[str, ...]] | None = None
    services: Services | None = None
    line: NDArray[np.int32] | None = None


@dataclass(frozen=True)
class PowerProfile:
    """Power over time: ``watts[i]`` from ``edges_s[i]`` to ``edges_s[i + 1]``; (steps + 1,) and (steps,)."""

    edges_s: NDArray[np.float64]
    watts: NDArray[np.float64]

    @property
    def energy_j(self) -> float:
        """Joules: the area under the profile."""
        return float(self.watts @ np.diff(self.edges_s))

    @property
    def peak_w(self) -> float:
        """The highest power in W; 0 for an empty profile."""
        return float(self.watts.max(initial=0.0))


#: What ``RankCounters`` hold, in this order: names as in tables of hardware counters.
RANK_COUNTERS = (
    "time_s",
    "instructions",
    "cycles",
    "l1_hits",
    "l2_hits",
    "llc_hits",
    "memory_accesses",
    "loads_stores",
    "stall_cycles",
    "p2p_wait_s",
    "collective_wait_s",
    "messages",
    "message_bytes",
    "collectives",
    "collective_bytes",
)


@dataclass(frozen=True, eq=False)
class RankCounters:
    """Counters as hardware and a communication profiler would show them, of a simulation: (counters, ranks, phases).

    ``values``: in the order of ``RANK_COUNTERS``. ``clock_hz``: of the processor, NaN without one; ``frequency_hz``:
    (phases,) of each phase, NaN without one and if a phase has work at several clocks.

    - ``instructions``: of computations; of those in flops or seconds, what the processor retires in that time before
      noise, time x clock / CPI. Imbalance changes the work of a rank, and so its instructions. Loads and stores are
      taken to be among the instructions that a workload states, and add none.
    - ``cycles``: time of computations (noise included) and of memory demands (waits at the controller included), x
      clock; ``stall_cycles``: the memory part. Without a clock these and ``instructions`` are NaN.
    - ``l1_hits``: accesses that the first cache served, ``llc_hits`` the last of two or more, ``l2_hits`` those
      between; a cache alone is the first, and its misses are ``memory_accesses``. ``loads_stores``: all.
    - ``p2p_wait_s``, ``collective_wait_s``: time of sends and receives, waiting included; ``messages`` and
      ``message_bytes``: sent point to point; ``collectives``: calls; ``collective_bytes``: as the demands state them.
    - ``time_s``: all operations, those on disks included, and in a schedule waits for a processor that is at work.
    """

    phases: tuple[str, ...]
    values: NDArray[np.float64]
    frequency_hz: NDArray[np.float64]
    clock_hz: float

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return int(self.values.shape[1])

    def of(self, name: str) -> NDArray[np.float64]:
        """Return a counter of every rank in every phase, (ranks, phases). InputError for an unknown name."""
        if name not in RANK_COUNTERS:
            raise InputError("no such counter", value=name, allowed=nearest(name, RANK_COUNTERS))
        return np.asarray(self.values[RANK_COUNTERS.index(name)])
