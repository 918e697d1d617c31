"""Messages in the reference engine: each passes the stations of its route, first come, first served.

Other rules of sharing stations are classes that derive from ``Messages`` and have a ``travel`` of their own:
``packets.py``, ``fair_links.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import simpy

from simcodesign.engine.event_contract import Log
from simcodesign.engine.reference.environment import ContractEnvironment, Process, TimedProcess
from simcodesign.engine.reference.route_choice import RouteChooser, Way
from simcodesign.generate.plan import LINK, MESSAGE_MEMORY, NONE, Plan, Routes

#: The process of a message that waits until a station takes it up. Arguments: its send, the place on its route, the
#: number of the station there, and the service time in seconds.
BeServed = Callable[[int, int, int, float], Process]


class Cost(NamedTuple):
    """A row of the costs of ``Routes``; what depends on the group of links is a list."""

    inject_s: float
    tail_s: float
    interface_s: float
    after_interface_s: float
    link_s: list[float]
    latency_s: list[float]


class Messages:
    """The messages of a Plan, by the numbers of their sends."""

    def __init__(self, plan: Plan, env: ContractEnvironment, stations: list[Any]) -> None:
        self.plan, self.env, self.stations = plan, env, stations
        self.route, self.holds = [NONE] * len(plan), [False] * len(plan)
        self.passed: dict[int, simpy.Event] = defaultdict(env.event)  # by send that its message holds: that has passed
        self.others_busy_s = [0.0] * len(stations)  # by station: how long messages of other jobs occupied it
        self.chooser: RouteChooser | None = None
        if plan.routes is not None:
            self.read_routes(plan.routes)

    def read_routes(self, routes: Routes) -> None:
        """Read the routes and what messages cost on them. Lists, not arrays: single items are much quicker to read."""
        stations, count = self.plan.stations, len(self.stations)
        group, links = np.full(count, NONE), np.flatnonzero(np.isin(stations.kind, (LINK, MESSAGE_MEMORY)))
        group[links] = 0 if routes.group is None else routes.group[links]
        places = list(zip(routes.station.tolist(), group[routes.station].tolist(), strict=True))
        self.ways: list[Way] = [places[start:end] for start, end in pairwise(routes.start.tolist())]
        self.route, self.cost = routes.route.tolist(), routes.cost.tolist()
        by_link = [times.reshape(len(times), -1) for times in (routes.link_s, routes.latency_s)]
        times = (routes.inject_s, routes.tail_s, routes.interface_s, routes.after_interface_s, *by_link)
        self.costs = [Cost(*row) for row in zip(*(column.tolist() for column in times), strict=True)]
        factor = stations.service_factor
        self.service_factor: list[float] = [1.0] * count if factor is None else factor.tolist()
        if routes.holds is not None:
            self.holds = routes.holds.tolist()
        if routes.adaptive is not None:
            self.chooser = RouteChooser(self.env, self.stations, routes.adaptive, self.route, self.ways)
        self.store_and_forward = routes.store_and_forward

    def travel(self, send: int) -> TimedProcess:
        """Pass the stations of the route; the value is when the last byte will have passed them."""
        cost = self.costs[self.cost[send]]
        yield self.env.timeout(cost.inject_s)
        return (yield from self.pass_stations(send, cost, self.env.now, self.be_served))

    def pass_stations(self, send: int, cost: Cost, head_s: float, be_served: BeServed) -> TimedProcess:
        """Request one station of the route after another for the head of a message.

        Its tail follows (see ``Routes``). The value, known when the last station takes the head up: when the tail will
        have passed that station.
        """
        env, way, place = self.env, self.ways[self.route[send]], 0
        tail_passes_s = head_s + cost.tail_s  # when the last byte has passed the station that the head is at
        while place < len(way):
            if self.chooser is not None and self.chooser.fork.get(send) == place:
                way = yield self.chooser.choose(send)
            (number, group), is_last = way[place], place == len(way) - 1
            is_link = group != NONE
            service_s, delay_s = cost.interface_s, cost.after_interface_s
            if is_link:
                service_s, delay_s = cost.link_s[group], cost.latency_s[group]
            service_s *= self.service_factor[number]
            yield from be_served(send, place, number, service_s)
            tail_passes_s = max(tail_passes_s, env.now + service_s)
            if is_link or not is_last:
                tail_passes_s += delay_s
            # Between two links, a message that is stored at every node waits for its tail there.
            if self.store_and_forward and is_link and not is_last and way[place + 1][1] != NONE:
                yield env.timeout_at(tail_passes_s)
            elif not is_last:  # the head continues
                yield env.timeout(delay_s)
            place += 1
        return tail_passes_s

    def be_served(self, send: int, place: int, number: int, service_s: float) -> Process:
        """Wait until a server of a station takes the message up; the server is free again after the service time."""
        yield self.stations[number].request(send, service_s)
        self.stations[number].release_after(service_s)
        self.env.events += 2  # the head has come, and has been granted the station
        if send >= len(self.plan):
            self.others_busy_s[number] += service_s

    def complete(self, log: Log) -> None:
        """Add to the log what stations did for messages, unless stations have counted it themselves."""
