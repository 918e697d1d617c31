"""Messages of other jobs in the reference engine: they pass the stations of their routes, and have no receiver."""

from __future__ import annotations

from simcodesign.engine.reference.engine import Simulation
from simcodesign.engine.reference.environment import Process


class Others:
    """The processes of the messages that other jobs send while a simulation lasts."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation, self.env = simulation, simulation.env
        assert simulation.plan.background is not None
        self.env.process(self.send(simulation.plan.background.sets_out_s.tolist()))
        self.env.process(self.stop())

    def send(self, sets_out_s: list[float]) -> Process:
        """Start one message after another; their numbers follow the numbers of all operations."""
        for message, time_s in enumerate(sets_out_s, start=len(self.simulation.plan)):
            yield self.env.timeout_at(time_s)
            self.env.process(self.simulation.messages.travel(message))

    def stop(self) -> Process:
        """End the run with the last operation, whatever other jobs do then."""
        yield self.simulation.all_known
        self.env.end_s = max(self.simulation.finish_s)
