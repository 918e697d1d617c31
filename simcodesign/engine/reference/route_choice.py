"""Choice between two routes in the reference engine, by the queues of the stations at which the two part."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np
import simpy

from simcodesign.engine.reference.environment import ContractEnvironment
from simcodesign.engine.reference.stations import Resource, Station
from simcodesign.generate.plan import NONE, AlternativeRoutes

#: The stations of a route, each with its group of links, or NONE if it is no link.
Way = list[tuple[int, int]]


class RouteChooser(Resource):
    """Where messages that have two routes choose one, as ``AlternativeRoutes`` describes.

    ``route``: the route of each message, which is replaced when it chooses the other one; ``ways``: the stored routes.
    """

    def __init__(
        self,
        env: ContractEnvironment,
        stations: Sequence[Station],
        adaptive: AlternativeRoutes,
        route: list[int],
        ways: list[Way],
    ) -> None:
        super().__init__(env, number=len(stations))
        self.stations, self.adaptive, self.route, self.ways = stations, adaptive, route, ways
        choosing = np.flatnonzero(adaptive.route != NONE)
        self.fork: dict[int, int] = dict(zip(choosing.tolist(), adaptive.fork[choosing].tolist(), strict=True))
        self.waiting: list[tuple[float, int, simpy.Event]] = []  # (since, send, its way), a heap

    def choose(self, send: int) -> simpy.Event:
        """Return an event: the message of a send has chosen; the value is its way."""
        chosen = self.env.event()
        heappush(self.waiting, (self.env.now, send, chosen))
        self.arbitrate_if_needed()
        return chosen

    def can_grant(self) -> bool:
        """Whether a message is to choose."""
        return len(self.waiting) > 0

    def grant(self) -> None:
        """Let the first message choose: the other route if its queue is shorter."""
        _, send, chosen = heappop(self.waiting)
        first, other, fork = self.route[send], int(self.adaptive.route[send]), self.fork[send]
        if self.queue_ahead(first, fork) > self.queue_ahead(other, fork) + self.adaptive.threshold:
            self.route[send] = other
        chosen.succeed(self.ways[self.route[send]])

    def queue_ahead(self, route: int, fork: int) -> int:
        """Return the queue at a place of a route, times its links; or the sum of the queues from there on."""
        queues = [self.stations[number].requests for number, _ in self.ways[route][fork:]]
        return sum(queues) if self.adaptive.along_route else queues[0] * int(self.adaptive.links[route])
