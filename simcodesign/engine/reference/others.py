"""Messages of other jobs in the reference engine: each sets out at its time, passes the stations of its route as the
message of a send does, and is received by nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from simcodesign.engine.reference.messages import Messages, Process
    from simcodesign.generate.plan import BackgroundMessages


class Others:
    """What others send while a simulation lasts, and what that occupies."""

    def __init__(self, simulation: Messages, background: BackgroundMessages) -> None:
        self.simulation, self.sets_out_s = simulation, background.sets_out_s.tolist()
        self.busy_s = [0.0] * len(simulation.stations)

    def send(self) -> Process:
        """Their messages set out one after another; their numbers come after those of all operations."""
        env = self.simulation.env
        for message, time_s in enumerate(self.sets_out_s, start=len(self.simulation.plan)):
            yield env.timeout_at(time_s)
            env.process(self.simulation.travel_to_the_end(message))

    def count(self, message: int, station: int, service_s: float) -> None:
        """A station serves a message, perhaps one of others."""
        if message >= len(self.simulation.plan):
            self.busy_s[station] += service_s

    def as_array(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """(S,) for how long they have occupied each station."""
        return np.array(self.busy_s)
