"""Times of messages and of declared computation while a program runs.

They are the forecast for a mean route, without contention.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.messages.message_costs import price
from simcodesign.core.errors import Place
from simcodesign.describe.machine import Machine
from simcodesign.describe.python_programs.keyword_calls import accelerator_demand
from simcodesign.describe.python_programs.recorded_operations import KERNEL
from simcodesign.describe.workload import Workload

#: Operations of all ranks in which everyone sends to everyone.
_ALL_TO_ALL = ("all_to_all", "all_broadcast")


@dataclass(frozen=True, slots=True)
class Times:
    """Times in s: the sender is busy, it may send again, the message arrives, the receiver is busy."""

    send_s: float
    next_send_s: float
    arrival_s: float
    receive_s: float


class MessageTimes(dict[float, Times]):
    """The times of messages among ``ranks`` ranks of a machine, by their size in bytes."""

    def __init__(self, machine: Machine, ranks: int) -> None:
        network, processor = machine.network, machine.processor
        self._flop_per_s = math.inf if processor is None else float(np.min(np.asarray(processor.rate_flop_per_s)))
        self._machine, self._of_kernels = machine, dict[str, float]()
        self._message = None if network is None else price(network, float(ranks)).message

    def __missing__(self, size_bytes: float) -> Times:
        """Return the times of messages of a size that there was not before."""
        times = [0.0] * 4
        if self._message is not None:
            one = self._message(float(size_bytes))
            every = (one.send_s, one.next_send_s, one.arrival_s, one.held_s)
            times = [float(np.max(np.asarray(time_s))) for time_s in every]
        self[size_bytes] = found = Times(*times)
        return found

    def of_flops(self, flops: float) -> float:
        """Return the time of floating-point operations on the slowest processor."""
        return flops / self._flop_per_s

    def of_kernel(self, text: str, place: Place) -> float:
        """Return the time of kernels, by their keywords in JSON, on the accelerator of the first rank.

        Raises InputError for a machine on which they cannot run.
        """
        if text not in self._of_kernels:
            kernels = Workload("kernels", {}, {}, (accelerator_demand(KERNEL, text, place),))
            self._of_kernels[text] = float(forecast(kernels, self._machine, {"P": 1}, longest_path=False).makespan_s)
        return self._of_kernels[text]

    def of_all_ranks(self, operation: str, size_bytes: float, ranks: int) -> float:
        """Return roughly what an operation of all ranks takes: as many messages as a tree has levels."""
        rounds = ranks - 1 if operation in _ALL_TO_ALL else math.ceil(math.log2(max(ranks, 1)))
        one = self[size_bytes]
        return rounds * (one.arrival_s + one.receive_s)
