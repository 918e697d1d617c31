"""Closed form of memory time: what each level serves times its latency, and no faster than memory can deliver.

With BF the blocking factor and h_l the accesses that level l serves, by the stack model (Calotoiu et al., CLUSTER 2018,
for stack distances as a requirement; Ding et al., APMT, equations 2 and 3, for the blocking factor):

    T = max(BF sum over l of h_l latency_l, bytes to and from memory x time per byte)
"""

from __future__ import annotations

import numpy as np

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.served_accesses import ServedAccesses
from simcodesign.describe.machine_parts import Memory


def stall_s(seen: ServedAccesses, blocking: FloatOrArray, memory: Memory) -> FloatOrArray:
    """Seconds for which a processor stands still."""
    latency_s = sum(share * each_s for share, each_s in zip(seen.served.shares, memory.latencies_s, strict=True))
    return blocking * seen.accesses * latency_s


def transfer_s(seen: ServedAccesses, memory: Memory) -> FloatOrArray:
    """Seconds for which the memory controller is busy with the bytes that come and go."""
    return seen.accesses * seen.served.traffic_bytes * memory.per_byte_s


def memory_s(seen: ServedAccesses, blocking: FloatOrArray, memory: Memory) -> FloatOrArray:
    """Seconds of a memory demand that has the memory for itself."""
    return np.maximum(stall_s(seen, blocking, memory), transfer_s(seen, memory))
