"""Memory demands as operations: the processor stands still, and the controller of its node moves bytes.

Where cores share the controller (``memory``), a demand becomes some slices, in each of which the bytes pass the
controller and then the processor goes through what is left of its latencies: cores that do not fill the controller
together hardly notice each other, and those that do wait for it in turn. With ``caches``, the stack model does not
price the accesses: they are sent through the sets of the real hierarchy, which also writes lines back.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from simcodesign.core.result import MEMORY
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Evaluate
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.demands.served_accesses import ServedAccesses, memory_of
from simcodesign.describe.machine import Machine
from simcodesign.generate.columns import Int32s, Ranks, of_ranks

#: Slices of a demand that shares a controller: the last core of a node waits for one slice of each other at first.
SLICES = 16


def reference_memory(
    program_writer: Ranks,
    demand: MemoryAccesses,
    seen: ServedAccesses,
    machine: Machine,
    value: Evaluate,
    who: Int32s | None,
    sliced: bool,
    extra: Mapping[str, FloatOrArray] | None = None,
) -> None:
    """Write the demand of the ranks ``who``; ``sliced`` where the controller is shared. ``extra``: as of a column."""
    memory = memory_of(demand, machine)
    one_access_s: FloatOrArray = 0.0
    for share, latency_s in zip(seen.served.shares, memory.latencies_s, strict=True):
        one_access_s = one_access_s + latency_s * share
    stall_s = of_ranks(one_access_s * seen.accesses * value(demand.blocking, "blocking"), who)
    moved_bytes = of_ranks(seen.served.traffic_bytes * seen.accesses, who)
    transfer_s = moved_bytes * memory.per_byte_s
    if not sliced:
        program_writer.work(MEMORY, moved_bytes, np.maximum(stall_s, transfer_s), who, extra)
        return
    for _ in range(SLICES):
        program_writer.work(MEMORY, moved_bytes / SLICES, transfer_s / SLICES, who, extra)
        program_writer.work(MEMORY, 0.0, np.maximum(stall_s - transfer_s, 0.0) / SLICES, who, extra)


def operations_of(sliced: bool) -> int:
    """Operations of a rank that one demand takes."""
    return 2 * SLICES if sliced else 1
