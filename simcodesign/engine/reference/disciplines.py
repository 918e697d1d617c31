"""Stations of other disciplines than first come, first served; the station of each discipline."""

from __future__ import annotations

from heapq import heappop, heappush

import simpy

from simcodesign.engine.reference.environment import ContractEnvironment
from simcodesign.engine.reference.stations import Request, Station
from simcodesign.generate.plan import FIRST_COME, LIMITED, Discipline


class LimitedStation(Station):
    """A station for at most ``capacity`` requests, waiting or in service: it blocks those that find it full."""

    def __init__(self, env: ContractEnvironment, number: int, servers: int, discipline: Discipline) -> None:
        super().__init__(env, number, servers, discipline)
        self.arriving: list[Request] = []  # in this instant, a heap

    def request(self, op: int, service_s: float) -> simpy.Event:
        """As for any station; whether it is full is decided at the end of this instant."""
        granted = self.env.event()
        heappush(self.arriving, (self.env.now, op, service_s, granted))
        self.arbitrate_if_needed()
        return granted

    def can_grant(self) -> bool:
        """Whether a request has arrived, or waits while a server is free."""
        return len(self.arriving) > 0 or super().can_grant()

    def grant(self) -> None:
        """Admits requests up to the capacity, blocks the others; then a server takes up the first request."""
        while self.arriving:
            request = heappop(self.arriving)
            if self.servers - self.free_servers + len(self.waiting) < self.discipline.capacity:
                heappush(self.waiting, request)
            else:
                request[-1].succeed(False)
        self.longest_queue = max(self.longest_queue, len(self.waiting))
        if super().can_grant():
            super().grant()


#: The station of each discipline.
STATION_OF = {FIRST_COME: Station, LIMITED: LimitedStation}
