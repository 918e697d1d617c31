"""Messages of other jobs in the reference engine: each sets out at its time, passes the stations of its route as the
message of a send does, and is received by nobody."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import simpy
from numpy.typing import NDArray

from simcodesign.engine.reference.environment import ContractEnvironment
from simcodesign.generate.plan import Plan

Process = Generator[simpy.Event, Any, None]


class Others:
    """What others send while a simulation lasts, and what that occupies. ``travel``: the process of a message."""

    def __init__(self, plan: Plan, env: ContractEnvironment, travel: Callable[[int], Generator[Any, Any, Any]]) -> None:
        self.env, self.travel, self.operations = env, travel, len(plan)
        self.sets_out_s = [] if plan.background is None else plan.background.sets_out_s.tolist()
        self.station_busy_s = [0.0] * len(plan.stations)

    def send(self) -> Process:
        """Their messages set out one after another; their numbers come after those of all operations."""
        for message, time_s in enumerate(self.sets_out_s, start=self.operations):
            yield self.env.timeout_at(time_s)
            self.env.process(self.travel(message))

    def count(self, message: int, station: int, service_s: float) -> None:
        """A station serves a message, perhaps one of others."""
        if message >= self.operations:
            self.station_busy_s[station] += service_s

    @property
    def busy_s(self) -> NDArray[np.float64]:
        """(S,) for how long they have occupied each station."""
        return np.array(self.station_busy_s)
