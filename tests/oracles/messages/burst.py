"""An all-to-all burst in LogGP, message by message: all ranks do the same, so that one of them is followed."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class BurstMachine:
    """Constants of LogGP in seconds (A. Alexandrov et al., SPAA 1995), and who takes messages up: with ``processors`` 2 a
    processor that does nothing else. ``bytes_hold_receiver``: it is busy from the first byte to the last and for o (as in
    LogGOPSim, HPDC 2010, where O = 0); else for o after the last byte, which the interface has stored."""

    latency_s: float
    overhead_s: float
    gap_s: float
    per_byte_s: float
    processors: int = 1
    bytes_hold_receiver: bool = False


def burst_s(machine: BurstMachine, ranks: int, size_bytes: float) -> float:
    """Seconds until a rank has sent a message to each other one, and has taken up one from each. A rank sends first what
    can be sent at the same time as a message could be taken up; interfaces are full duplex."""
    flow_s = (size_bytes - 1) * machine.per_byte_s
    held_s = machine.overhead_s + (flow_s if machine.bytes_hold_receiver else 0.0)
    flight_s = machine.overhead_s + machine.latency_s + (0.0 if machine.bytes_hold_receiver else flow_s)
    free_s = [0.0] * machine.processors  # the first one sends, the last one receives
    next_out_s = next_in_s = 0.0
    there_s: list[float] = []
    taken = 0
    while taken < ranks - 1:
        send_s = max(free_s[0], next_out_s) if len(there_s) < ranks - 1 else math.inf
        take_s = max(free_s[-1], next_in_s, there_s[taken]) if taken < len(there_s) else math.inf
        if send_s <= take_s:
            free_s[0] = send_s + machine.overhead_s
            next_out_s = send_s + machine.gap_s + flow_s
            there_s.append(send_s + flight_s)
        else:
            free_s[-1] = take_s + held_s
            next_in_s = take_s + machine.gap_s + flow_s
            taken += 1
    return max(free_s)
