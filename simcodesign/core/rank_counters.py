"""What hardware counters and a communication profiler would show of a simulation, by rank and phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, nearest

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
    """What hardware counters and a communication profiler would show of a simulation, (counters, ranks, phases).

    ``values``: in the order of ``RANK_COUNTERS``. ``clock_hz``: of the processor, NaN without one; ``frequency_hz``:
    (phases,) that of each phase, NaN without one and where a phase has work at several clocks.

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
        """A counter of every rank in every phase, (ranks, phases). InputError for an unknown name."""
        if name not in RANK_COUNTERS:
            raise InputError("no such counter", value=name, allowed=nearest(name, RANK_COUNTERS))
        return np.asarray(self.values[RANK_COUNTERS.index(name)])
