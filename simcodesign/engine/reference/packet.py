"""A packet of a message. Stations serve messages in round robin: of each, they know one packet at a time, the next one
after that has been served."""

from __future__ import annotations

import simpy

from simcodesign.engine.reference.environment import ContractEnvironment


class Packet:
    """``before``: by station of the route, the event that it has served the packet before; ``served``: that it has
    served this one. ``when_away``: an event that happens when this one has passed the first station, if not None."""

    def __init__(self, env: ContractEnvironment, stations: int, previous: Packet | None) -> None:
        self.env = env
        self.served: list[simpy.Event] = [env.event() for _ in range(stations)]
        self.before = [env.event().succeed() for _ in range(stations)] if previous is None else previous.served
        self.when_away: simpy.Event | None = None

    def is_granted(self, place: int, service_s: float, tail_passes_s: float) -> None:
        """A station takes the packet up: when it will have served it, and when the last byte will have passed."""
        self._at(self.env.now + service_s, self.served[place])
        if place == 0 and self.when_away is not None:
            self._at(tail_passes_s, self.when_away)

    def _at(self, time_s: float, event: simpy.Event) -> None:
        """Let an event happen at ``time_s``."""
        callbacks = self.env.timeout_at(time_s).callbacks
        assert callbacks is not None
        callbacks.append(event.trigger)
