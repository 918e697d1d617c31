"""Stations: what operations and messages queue for, as SimPy resources.

SimPy's own resources grant a request as soon as it is made. These wait for the end of the instant, when all requests
of this instant have arrived, and then grant one, the first in the order of the event contract. As long as
a request waits and a server is free they arbitrate again in the same instant, after the consequences of that grant.
"""

from __future__ import annotations

from heapq import heappop, heappush

import simpy

from simcodesign.engine.reference.environment import ContractEnvironment
from simcodesign.generate.plan import Discipline

#: A request in a heap: since when it waits, its operation, its service time and the event that it is granted.
Request = tuple[float, int, float, simpy.Event]


class Resource:
    """Base of all stations: arbitration at the end of an instant, and statistics."""

    def __init__(self, env: ContractEnvironment, number: int) -> None:
        self.env, self.number = env, number
        self.arbitrates = False  # at the end of this instant
        self.served, self.busy_s, self.wait_s, self.longest_queue = 0, 0.0, 0.0, 0

    def can_grant(self) -> bool:
        """Whether there is anything to decide."""
        raise NotImplementedError

    def grant(self) -> None:
        """Decide, once."""
        raise NotImplementedError

    def arbitrate_if_needed(self) -> None:
        """Arbitrate at the end of this instant if there is anything to decide."""
        if not self.arbitrates and self.can_grant():
            self.arbitrates = True
            self.env.arbitrate_at_end_of_instant(self)

    def arbitrate(self) -> None:
        """Arbitrate at the end of an instant."""
        self.arbitrates = False
        self.grant()
        self.arbitrate_if_needed()


class Station(Resource):
    """Several servers and one queue: first come, first served, and by operation who came in the same instant."""

    def __init__(self, env: ContractEnvironment, number: int, servers: int, discipline: Discipline) -> None:
        super().__init__(env, number)
        self.servers, self.free_servers, self.discipline = servers, servers, discipline
        self.waiting: list[Request] = []  # a heap

    def request(self, op: int, service_s: float) -> simpy.Event:
        """Return an event: a server takes up operation ``op`` (value True), or the station is full (False)."""
        granted = self.env.event()
        heappush(self.waiting, (self.env.now, op, service_s, granted))
        self.longest_queue = max(self.longest_queue, len(self.waiting))
        self.arbitrate_if_needed()
        return granted

    def release(self) -> None:
        """Release a server."""
        self.free_servers += 1
        self.arbitrate_if_needed()

    def release_after(self, service_s: float) -> None:
        """Free a server after ``service_s``, an event that no process waits for."""
        self.env.timeout(service_s).callbacks.append(lambda event: self.release())

    @property
    def requests(self) -> int:
        """Requests that wait or are in service."""
        return len(self.waiting) + self.servers - self.free_servers

    def can_grant(self) -> bool:
        """Whether a request waits and a server is free."""
        return self.free_servers > 0 and len(self.waiting) > 0

    def grant(self) -> None:
        """Let a server take up the first request."""
        since, op, service_s, granted = heappop(self.waiting)
        self.free_servers -= 1
        self.served += 1
        self.busy_s += service_s
        self.wait_s += self.env.now - since
        if self.env.services is not None:
            self.env.services.append((self.number, op, since, self.env.now, self.env.now + service_s))
        granted.succeed(True)
