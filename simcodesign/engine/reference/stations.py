"""What operations and messages queue for, as SimPy resources: stations, stations of limited capacity, mailboxes.

SimPy's own resources grant a request as soon as it is made. These wait for the end of the instant, when everybody who
comes in this instant is there, and then grant one request, the first in the order of the event contract. As long as
somebody waits and a server is free they arbitrate again in the same instant, after what has followed from that grant.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator
from heapq import heappop, heappush

import simpy

from simcodesign.engine.reference.environment import ContractEnvironment
from simcodesign.generate.plan import FIRST_COME, LIMITED, Discipline

#: A request in a heap: since when it waits, its operation, its service time and the event that it is granted.
Request = tuple[float, int, float, simpy.Event]


class Resource:
    """What all have in common: arbitration at the end of an instant, and statistics."""

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
        """Called at the end of an instant."""
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
        """An event: a server takes up operation ``op`` (value True), or the station is full (False)."""
        granted = self.env.event()
        heappush(self.waiting, (self.env.now, op, service_s, granted))
        self.longest_queue = max(self.longest_queue, len(self.waiting))
        self.arbitrate_if_needed()
        return granted

    def release(self) -> None:
        """A server is free again."""
        self.free_servers += 1
        self.arbitrate_if_needed()

    def release_after(self, service_s: float) -> None:
        """A server is free again after ``service_s``, for which nobody waits."""
        self.env.timeout(service_s).callbacks.append(lambda event: self.release())

    @property
    def requests(self) -> int:
        """Requests that wait or are in service."""
        return len(self.waiting) + self.servers - self.free_servers

    def can_grant(self) -> bool:
        """Whether somebody waits and a server is free."""
        return self.free_servers > 0 and len(self.waiting) > 0

    def grant(self) -> None:
        """A server takes up the first request."""
        since, op, service_s, granted = heappop(self.waiting)
        self.free_servers -= 1
        self.served += 1
        self.busy_s += service_s
        self.wait_s += self.env.now - since
        if self.env.services is not None:
            self.env.services.append((self.number, op, since, self.env.now, self.env.now + service_s))
        granted.succeed(True)


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
        """Whether somebody has come, or waits while a server is free."""
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


class RouteChooser(Resource):
    """Where messages that have two routes choose one: by the queues of the stations at which the two part."""

    def __init__(self, env: ContractEnvironment, number: int, take: Callable[[int], list[tuple[int, bool]]]) -> None:
        super().__init__(env, number)
        self.take = take  # looks at the queues, and gives the way that a message takes
        self.waiting: list[tuple[float, int, simpy.Event]] = []  # (since, send, its way), a heap

    def choose(self, send: int) -> simpy.Event:
        """An event: the message of a send has chosen; the value is its way."""
        chosen = self.env.event()
        heappush(self.waiting, (self.env.now, send, chosen))
        self.arbitrate_if_needed()
        return chosen

    def can_grant(self) -> bool:
        """Whether a message is to choose."""
        return len(self.waiting) > 0

    def grant(self) -> None:
        """The first message chooses."""
        _, send, chosen = heappop(self.waiting)
        chosen.succeed(self.take(send))


#: The station of each discipline.
STATION_OF = {FIRST_COME: Station, LIMITED: LimitedStation}


class Mailbox(Resource):
    """Where messages meet receives: the first message that suits a receive there goes to the first such receive."""

    def __init__(self, env: ContractEnvironment, number: int, suits: Callable[[int, int], bool]) -> None:
        super().__init__(env, number)
        self.suits = suits  # whether a send's message suits a receive
        self.messages: list[tuple[float, int]] = []  # (arrival time, send), sorted
        self.receives: list[tuple[float, int, simpy.Event]] = []  # (since, receive, its message), sorted

    def put(self, send: int) -> None:
        """The message of a send has arrived."""
        insort(self.messages, (self.env.now, send))
        self.arbitrate_if_needed()

    def get(self, receive: int) -> simpy.Event:
        """An event: the receive has its message; the value is the send."""
        received = self.env.event()
        insort(self.receives, (self.env.now, receive, received))
        self.longest_queue = max(self.longest_queue, len(self.receives))
        self.arbitrate_if_needed()
        return received

    def can_grant(self) -> bool:
        """Return whether a message and a receive that it suits have arrived."""
        return next(self.pairs(), None) is not None

    def pairs(self) -> Iterator[tuple[tuple[float, int], tuple[float, int, simpy.Event]]]:
        """Messages and receives that they suit, the first ones first."""
        for message in self.messages if self.receives else ():
            for receive in self.receives:
                if self.suits(message[1], receive[1]):
                    yield message, receive

    def grant(self) -> None:
        """The first message that can goes to the first receive that takes it."""
        message, receive = next(self.pairs())
        self.messages.remove(message)
        self.receives.remove(receive)
        (_, send), (since, _, received) = message, receive
        self.served += 1
        self.wait_s += self.env.now - since
        received.succeed(send)
