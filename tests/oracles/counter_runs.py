"""Runs that are made up from equation 2 with known constants: counters of one process, as a profiler would list them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simcodesign.counters.table import OTHERS, CounterTable, Latencies, counter_table

HZ = 2e9
SIZE = 1e6
LATENCIES = Latencies(4.0, 12.0, 40.0, 80e-9)


@dataclass(frozen=True)
class Truth:
    """A kernel: instructions of a process over the work of a process and P; accesses an instruction; constants."""

    instructions: Callable[[float, float], float]
    cpi: float
    stalls: float = 0.0
    misses: float = 0.0

    def row(self, processes: float, work: float, hz: float = HZ) -> dict[str, object]:
        """``stalls``: cycles an instruction at ``HZ``, BF_mem times T_mem of its accesses; memory keeps its seconds."""
        count = self.instructions(work, processes)
        accesses = {"l1_hits": 0.3 * count, "l2_hits": 0.02 * count, "llc_hits": 0.01 * count}
        accesses["memory_accesses"] = self.misses * count
        stall = self.stalls * count
        cycles = self.cpi * count + stall
        return {"instructions": count, "cycles": cycles, "stall_cycles": stall, "frequency_hz": hz, **accesses}


KERNELS = {
    "solve": Truth(lambda work, P: 400 * work + 5000, 0.8, 0.1, 1e-5),
    "exchange_ghosts": Truth(lambda work, P: 60 * work, 1.1, 0.3, 1e-5),
    "assemble": Truth(lambda work, P: 1e6 + 0 * work, 1.5),
    "small_a": Truth(lambda work, P: 2 * work, 1.0),
    "small_b": Truth(lambda work, P: 3 * work, 1.0),
}
P2P = (2e-9, 1e-3)
COLLECTIVE = (3e-4, 5e-9, 2e-3)


def p2p_bytes(processes: float, size: float = SIZE) -> float:
    return 8 * 4 * size / processes + 4096


def collective_bytes(processes: float) -> float:
    return 1000.0 * processes


def compute_s(processes: float, size: float = SIZE, kernels: Sequence[str] = tuple(KERNELS)) -> float:
    work = size / processes
    return sum(
        KERNELS[name].instructions(work, processes) * (KERNELS[name].cpi + KERNELS[name].stalls) / HZ
        for name in kernels
    )


def communication_s(processes: float, size: float = SIZE) -> float:
    a, b, c = COLLECTIVE
    point_to_point = P2P[0] * p2p_bytes(processes, size) + P2P[1]
    return point_to_point + a * math.log2(processes) + b * collective_bytes(processes) + c


def others_s(processes: float) -> float:
    return 0.01 * processes + 0.5


def rows(processes: float, size: float = SIZE, exposed: float = 1.0) -> list[dict[str, object]]:
    """One run; communication is reported by one kernel, and a share ``exposed`` of it is not overlapped."""
    work = size / processes
    run = {"processes": processes, "size": size}
    values = [run | truth.row(processes, work) | {"kernel": name} for name, truth in KERNELS.items()]
    for row in values:
        row["time_s"] = row["cycles"] / HZ  # type: ignore[operator]
    a, b, c = COLLECTIVE
    waits = {
        "p2p_wait_s": P2P[0] * p2p_bytes(processes, size) + P2P[1],
        "collective_wait_s": a * math.log2(processes) + b * collective_bytes(processes) + c,
    }
    values[1] |= waits | {"message_bytes": p2p_bytes(processes, size), "collective_bytes": collective_bytes(processes)}
    values[1]["time_s"] += exposed * sum(waits.values())  # type: ignore[operator]
    values.append({**run, "kernel": OTHERS, "time_s": others_s(processes), "frequency_hz": HZ})
    return values


def runs(counts: Sequence[float] = (2, 4, 8, 16), size: float = SIZE, exposed: float = 1.0) -> CounterTable:
    return counter_table([row for processes in counts for row in rows(processes, size, exposed)])


def seconds(processes: float, size: float = SIZE, exposed: float = 1.0) -> float:
    """Equation 2."""
    return compute_s(processes, size) + exposed * communication_s(processes, size) + others_s(processes)
