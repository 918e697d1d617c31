"""How long messages and declared computation take while a program runs: the forecast for a mean route, without
anything in the way."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simcodesign.analytic.messages.message_costs import price
from simcodesign.describe.machine import Machine

#: Operations of all ranks in which everyone sends to everyone.
_ALL_TO_ALL = ("all_to_all", "all_broadcast")


@dataclass(frozen=True, slots=True)
class Times:
    """In s: the sender is busy, it may send again, the message is there, the receiver is busy."""

    send_s: float
    next_send_s: float
    arrival_s: float
    receive_s: float


class MessageTimes:
    """The times of messages among ``ranks`` ranks of a machine, by their size."""

    def __init__(self, machine: Machine, ranks: int) -> None:
        network, processor = machine.network, machine.processor
        self._flop_per_s = math.inf if processor is None else float(np.min(np.asarray(processor.rate_flop_per_s)))
        self._message = None if network is None else price(network, float(ranks)).message
        self._known: dict[float, Times] = {}

    def of(self, size_bytes: float) -> Times:
        """Return the times of a message of a size in bytes."""
        known = self._known.get(size_bytes)
        if known is None:
            times = [0.0] * 4
            if self._message is not None:
                one = self._message(float(size_bytes))
                every = (one.send_s, one.next_send_s, one.arrival_s, one.held_s)
                times = [float(np.max(np.asarray(time_s))) for time_s in every]
            known = self._known[size_bytes] = Times(*times)
        return known

    def of_flops(self, flops: float) -> float:
        """Return the time of floating-point operations on the slowest processor."""
        return flops / self._flop_per_s

    def of_all_ranks(self, operation: str, size_bytes: float, ranks: int) -> float:
        """Return roughly what an operation of all ranks takes: as many messages as a tree has levels."""
        rounds = ranks - 1 if operation in _ALL_TO_ALL else math.ceil(math.log2(max(ranks, 1)))
        one = self.of(size_bytes)
        return rounds * (one.arrival_s + one.receive_s)
