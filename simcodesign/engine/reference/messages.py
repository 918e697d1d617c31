"""Messages in the reference engine: processes that pass the stations of their routes, in turn, in packets, or as flows.

A part of ``engine.Simulation``, which says how to read it.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import pairwise
from typing import Any

import numpy as np
import simpy

from simcodesign.engine.event_contract import link_capacities
from simcodesign.engine.reference.environment import ContractEnvironment
from simcodesign.engine.reference.fair_links import FairLinks, rounded
from simcodesign.engine.reference.others import Others, Process
from simcodesign.engine.reference.packet import Packet
from simcodesign.engine.reference.stations import RouteChooser
from simcodesign.generate.plan import LINK, MESSAGE_MEMORY, NONE, Plan


class Messages:
    """The processes of messages."""

    # What they share with the processes of ranks:
    plan: Plan
    env: ContractEnvironment
    stations: list[Any]
    arrival_s: list[float]
    mailbox: list[int]
    events: int
    arrived: dict[int, simpy.Event]
    passed: dict[int, simpy.Event]
    others: Others | None
    fair_links: FairLinks | None

    def read_routes(self, plan: Plan) -> None:
        """Routes as lists of (station, whether it is a link), and what messages cost on them."""
        self.route, self.held = [NONE] * len(plan), [False] * len(plan)
        self.adaptive, self.fork = None, dict[int, int]()  # where the two routes of a message part
        if plan.routes is not None:
            routes, is_link = plan.routes, np.isin(plan.stations.kind, (LINK, MESSAGE_MEMORY)).tolist()
            self.route, self.cost = routes.route.tolist(), routes.cost.tolist()
            stations = [(number, is_link[number]) for number in routes.station.tolist()]
            self.ways = [stations[start:end] for start, end in pairwise(routes.start.tolist())]
            times = (
                routes.inject_s,
                routes.tail_s,
                routes.interface_s,
                routes.link_s,
                routes.after_interface_s,
                routes.latency_s,
            )
            self.store_and_forward = routes.store_and_forward
            factor = plan.stations.service_factor
            self.service_factor: list[float] = [1.0] * len(is_link) if factor is None else factor.tolist()
            self.costs = list(zip(*(time.tolist() for time in times), strict=True))
            self.group: list[int] | None = None if routes.group is None else routes.group.tolist()
            if routes.holds is not None:
                self.held = routes.holds.tolist()
            self.packets = routes.packets
            self.adaptive = routes.adaptive
            if routes.adaptive is not None:
                self.route_chooser = RouteChooser(self.env, len(is_link), self.choose_route)
                choosing = np.flatnonzero(routes.adaptive.route != NONE)
                self.fork = dict(zip(choosing.tolist(), routes.adaptive.fork[choosing].tolist(), strict=True))
            if routes.fair is not None:
                self.fair = routes.fair
                capacity, loaded = (each.tolist() for each in link_capacities(plan))
                self.fair_links = FairLinks(self.env, len(is_link), capacity, loaded, routes.fair.unit)

    def arrive(self, send: int) -> None:
        """The message of a send is there."""
        self.arrival_s[send] = self.env.now
        if self.mailbox[send] != NONE:
            self.stations[self.mailbox[send]].put(send)
        elif send in self.arrived:
            self.arrived.pop(send).succeed()

    def fly(self, send: int, flight_s: float) -> Process:
        """A message that shares nothing on its way."""
        yield self.env.timeout(flight_s)
        self.arrive(send)

    def way_of_message(self, send: int) -> Process:
        """The process of a message with a route, by the way in which messages share links."""
        if self.fair_links is not None:
            return self.flow(send)
        return self.travel(send) if self.packets is None else self.travel_in_packets(send)

    def travel_to_the_end(self, send: int) -> Generator[simpy.Event, Any, float]:
        """Pass the stations of the route, until it is known when the last byte will have passed them: the value."""
        if self.fair_links is not None:
            yield from self.pass_fairly(send)
            return self.env.now
        if self.packets is not None:
            return (yield from self.pass_in_packets(send))
        return (yield from self.pass_stations(send))

    def travel(self, send: int) -> Process:
        """A message that passes the stations of its route."""
        tail_s = yield from self.pass_stations(send)
        yield self.env.timeout_at(tail_s)
        self.events += 1
        self.arrive(send)

    def pass_stations(self, send: int) -> Generator[simpy.Event, Any, float]:
        """A whole message passes the stations of its route (see ``pass_in_turn``)."""
        yield self.env.timeout(self.costs[self.cost[send]][0])
        return (yield from self.pass_in_turn(send, self.cost[send], self.env.now))

    def pass_in_turn(
        self, send: int, cost: int, head_s: float, packet: Packet | None = None
    ) -> Generator[simpy.Event, Any, float]:
        """The head of a message or a packet requests one station of its route after another; its tail follows (see
        ``Routes``). When the last one takes it up, it is known when the tail will have passed that: the value."""
        _, tail_s, interface_s, link_s, after_interface_s, latency_s = self.costs[cost]
        env, way, place = self.env, self.ways[self.route[send]], 0
        tail_passes_s: float = head_s + tail_s  # when the last byte has passed the station that the head is at
        while place < len(way):
            if self.fork.get(send) == place:
                way = yield self.route_chooser.choose(send)
            (number, is_link), following = way[place], way[place + 1] if place + 1 < len(way) else None
            if packet is not None:
                yield packet.before[place]
            service_s, delay_s = (link_s, latency_s) if is_link else (interface_s, after_interface_s)
            if is_link and self.group is not None:  # a time for each group of links
                service_s, delay_s = link_s[self.group[number]], latency_s[self.group[number]]
            service_s *= self.service_factor[number]
            yield self.stations[number].request(send, service_s)
            self.stations[number].release_after(service_s)
            self.events += 2  # the head has come, and has been granted the station
            if self.others is not None:
                self.others.count(send, number, service_s)
            is_last = following is None
            # Between two links, a message that is stored at every node waits for its tail there.
            is_stored = self.store_and_forward and is_link and following is not None and following[1]
            tail_passes_s = max(tail_passes_s, env.now + service_s)
            if packet is not None:
                packet.is_granted(place, service_s, tail_passes_s)
            if is_link or not is_last:
                tail_passes_s += delay_s
            if is_stored:  # wait for the tail; else the head goes on
                yield env.timeout_at(tail_passes_s)
            elif not is_last:
                yield env.timeout(delay_s)
            place += 1
        return tail_passes_s

    def choose_route(self, send: int) -> list[tuple[int, bool]]:
        """The way of a message from where its two routes part: the other one if its queue is shorter."""
        assert self.adaptive is not None
        first, other, fork = self.route[send], int(self.adaptive.route[send]), self.fork[send]
        if self.queue_ahead(first, fork) > self.queue_ahead(other, fork) + self.adaptive.threshold:
            self.route[send] = other
        return self.ways[self.route[send]]

    def queue_ahead(self, route: int, fork: int) -> int:
        """The queue at a place of a route, times its links; or those from there on together."""
        assert self.adaptive is not None
        queues = [self.stations[number].requests for number, _ in self.ways[route][fork:]]
        return sum(queues) if self.adaptive.along_route else queues[0] * int(self.adaptive.links[route])

    def travel_in_packets(self, send: int) -> Process:
        """A message whose packets pass the stations of its route one behind another."""
        assert self.packets is not None
        tail_s = yield from self.pass_in_packets(send)
        yield self.env.timeout_at(tail_s)
        if self.held[send] and not self.packets.until_away:
            self.passed.pop(send).succeed()
        self.events += 1
        self.arrive(send)

    def pass_in_packets(self, send: int) -> Generator[simpy.Event, Any, float]:
        """The packets of a message, until it is known when the last one will have passed the last station."""
        assert self.packets is not None
        env, cost = self.env, self.cost[send]
        yield env.timeout(self.costs[cost][0])
        head_s, packet = env.now, None
        for _ in range(int(self.packets.count[send]) - 1):
            packet = Packet(env, len(self.ways[self.route[send]]), packet)
            env.process(self.travel_as_packet(send, cost, head_s, packet))
            head_s += self.costs[cost][1]
            yield packet.served[0]  # the next one has nothing to do before
        last = Packet(env, len(self.ways[self.route[send]]), packet)
        if self.held[send] and self.packets.until_away:
            last.when_away = self.passed.pop(send)
        return (yield from self.head_of_packet(send, cost + 1, head_s, last))

    def travel_as_packet(self, send: int, cost: int, head_s: float, packet: Packet) -> Process:
        """A packet of a message, from when its head sets out until its tail has arrived."""
        yield self.env.timeout_at((yield from self.head_of_packet(send, cost, head_s, packet)))

    def head_of_packet(self, send: int, cost: int, head_s: float, packet: Packet) -> Generator[simpy.Event, Any, float]:
        """The head of a packet, from when it sets out until it is known when the tail will have arrived."""
        if head_s > self.env.now:
            yield self.env.timeout_at(head_s)
        return (yield from self.pass_in_turn(send, cost, head_s, packet))

    def flow(self, send: int) -> Process:
        """A message that shares the links of its route fairly with others."""
        yield from self.pass_fairly(send)
        self.events += 1
        self.arrive(send)

    def flow_of_access(self, op: int) -> Process:
        """An operation whose bytes share a memory controller fairly with messages."""
        yield from self.pass_fairly(op)
        self.events += 1

    def pass_fairly(self, send: int) -> Process:
        """The flow of a message, until its last byte is there."""
        assert self.fair_links is not None
        fair = self.fair
        yield self.env.timeout_at(max(self.env.now, rounded(self.env.now + fair.delay_s[send])))
        if fair.size_bytes[send]:
            links = [number for number, _ in self.ways[self.route[send]]]
            self.events += send < len(self.plan)
            own_rate, weight, begin_s = int(fair.own_rate[send]), int(fair.weight[send]), self.env.now
            yield self.fair_links.carry(links, own_rate, float(fair.size_bytes[send]), weight)
            if self.env.services is not None:
                self.env.services += [(number, send, begin_s, begin_s, self.env.now) for number in links]
            if fair.holds[send]:
                self.passed.pop(send).succeed()
        yield self.env.timeout(fair.after_s[send])
