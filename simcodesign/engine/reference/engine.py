"""The reference engine: a Plan simulated with SimPy, written to be read. The compiled engine gives the same bits.

How to read it
    A SimPy simulation consists of *processes*: Python generators that ``yield`` events and go on when these happen.
    ``Simulation.strand`` is the process of a rank, which does its operations one after another; a rank that does
    several things at a time (operations that do not follow the previous one) has several strands. ``travel`` and
    ``fly`` are the processes of messages that take time of their own. Three things hold a process up:

    * time: ``yield env.timeout(duration)``;
    * another process: ``yield self.done[op]``, an event that the process of ``op`` triggers by ``succeed``;
    * a resource that others use too: ``yield station.request(...)``, and ``station.release()`` afterwards.

    Begin with ``strand``. ``stations.py`` has the resources: disks, processors, memory controllers, network interfaces
    and links are queues with servers, mailboxes are where messages for anyone are collected. ``environment.py`` has
    the clock and the calendar of events: it decides what comes first of what happens at the same time
    (``event_contract.py`` has the rules).

What a run leaves behind is a ``Log``: when every operation was done, when every message arrived, what stations did.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import pairwise
from math import isnan, nan
from typing import Any

import numpy as np
import simpy
from simpy.core import EmptySchedule

from simcodesign.core.operation_kinds import RECEIVE, SEND
from simcodesign.engine.event_contract import (
    Log,
    OnProgress,
    blocked_by_station,
    check_finished,
    count_flows,
    ends_at_once,
    link_capacities,
)
from simcodesign.engine.reference.environment import ContractEnvironment
from simcodesign.engine.reference.fair_links import FairLinks, rounded
from simcodesign.engine.reference.packet import Packet
from simcodesign.engine.reference.stations import STATION_OF, Mailbox, RouteChooser, Station
from simcodesign.generate.plan import LINK, MAILBOX, NONE, Plan

#: Events between two reports of progress.
REPORT_EVERY = 20_000

Process = Generator[simpy.Event, Any, None]


def run(plan: Plan, on_progress: OnProgress | None = None) -> Log:
    """Simulate the Plan to its end. DeadlockError when ranks wait for each other."""
    return run_simulation(Simulation, plan, on_progress)


def run_simulation(of: type[Simulation], plan: Plan, on_progress: OnProgress | None) -> Log:
    """Simulate the Plan with these processes."""
    with _no_garbage_collection():
        simulation = of(plan)
        simulation.run(on_progress)
    check_finished(plan, simulation.finish_s)
    return simulation.log()


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Nothing here becomes garbage in a circle, and looking for it takes a quarter of a run with a million messages."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Simulation:
    """The processes of a Plan, and what they record. Lists, not arrays: single items are much quicker to read."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.env = plan, ContractEnvironment()
        self.finish_s, self.arrival_s = [nan] * len(plan), [nan] * len(plan)
        self.match: list[int] = plan.match.tolist()
        self.blocked: list[int] = []
        self.events = 0  # as the event contract counts them
        # By operation: the events that it has begun, is done, that its message has passed its links (where that holds
        # the sender), has arrived; made when awaited.
        self.begun: dict[int, simpy.Event] = defaultdict(self.env.event)
        self.done: dict[int, simpy.Event] = defaultdict(self.env.event)
        self.arrived: dict[int, simpy.Event] = defaultdict(self.env.event)
        self.passed: dict[int, simpy.Event] = defaultdict(
            self.env.event
        )  # the last byte of a message that holds its send
        self.fair_links: FairLinks | None = None
        self.stations = [self.make_station(number) for number in range(len(plan.stations))]
        self.read_operations(plan)
        self.read_dependencies(plan)
        self.read_routes(plan)
        self.start()

    def start(self) -> None:
        """Begin the processes of the ranks."""
        for first, end in pairwise(np.flatnonzero(~self.plan.follows_previous).tolist()):
            self.env.process(self.strand(first, end))

    def make_station(self, number: int) -> Any:
        """The resource with this number in the order of arbitration."""
        stations = self.plan.stations
        if stations.kind[number] == MAILBOX:
            return Mailbox(self.env, number)
        discipline = stations.discipline_of(number)
        return STATION_OF[discipline.kind](self.env, number, int(stations.servers[number]), discipline)

    def read_operations(self, plan: Plan) -> None:
        """What each operation is, how long it takes and where it queues."""
        nowhere = [NONE] * len(plan)
        self.kind, self.duration_s = plan.kind.tolist(), plan.duration_s.tolist()
        self.station = nowhere if plan.station is None else plan.station.tolist()
        self.mailbox = nowhere if plan.mailbox is None else plan.mailbox.tolist()
        self.flight_s: list[float] | None = None if plan.flight_s is None else plan.flight_s.tolist()
        self.end_is_event = (~ends_at_once(plan)).tolist()

    def read_dependencies(self, plan: Plan) -> None:
        """The events that operations wait for besides the one before them and their message."""
        self.awaited: dict[int, list[simpy.Event]] = defaultdict(list)
        if plan.edges is not None:
            source = np.repeat(np.arange(len(plan)), np.diff(plan.edges.start)).tolist()
            for other, op, early in zip(source, plan.edges.target.tolist(), plan.edges.early.tolist(), strict=True):
                self.awaited[op].append((self.begun if early else self.done)[other])

    def read_routes(self, plan: Plan) -> None:
        """Routes as lists of (station, whether it is a link), and what messages cost on them."""
        self.route, self.held = [NONE] * len(plan), [False] * len(plan)
        self.adaptive, self.fork = None, dict[int, int]()  # where the two routes of a message part
        if plan.routes is not None:
            routes, is_link = plan.routes, (plan.stations.kind == LINK).tolist()
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
                self.fair_links = FairLinks(self.env, len(is_link), link_capacities(plan).tolist(), routes.fair.unit)

    def run(self, on_progress: OnProgress | None) -> None:
        """Process all events, with a report now and then."""
        step = self.env.step
        try:
            while True:
                for _ in range(REPORT_EVERY):
                    step()
                if on_progress is not None:
                    on_progress(self.env.now, self.events)
        except EmptySchedule:
            return

    # --- Ranks

    def strand(self, first: int, end: int) -> Process:
        """Do the operations ``first`` to ``end`` of a rank, one after another."""
        for op in range(first, end):
            for event in self.awaited.get(op, ()):  # noqa: UP028 - a list cannot take what events send
                yield event
            if self.kind[op] == RECEIVE:
                yield from self.receive(op)
            if self.station[op] == NONE:
                yield from self.perform(op)
            else:
                yield from self.perform_at(self.stations[self.station[op]], op)
            self.end(op)

    def receive(self, op: int) -> Process:
        """Wait for the message: that of one send, or the first that comes to the mailbox."""
        if self.mailbox[op] != NONE:
            send = yield self.stations[self.mailbox[op]].get(op)
            self.match[op], self.match[send] = send, op
            self.events += 1
        elif self.match[op] != NONE and isnan(self.arrival_s[self.match[op]]):
            yield self.arrived[self.match[op]]

    def perform_at(self, station: Station, op: int) -> Process:
        """Queue for a server of a station, and keep it as long as the operation takes."""
        if (yield station.request(op, self.duration_s[op])):
            self.events += 1
            yield from self.perform(op)
            station.release()
        else:  # the station is full: the operation is done and has taken no time
            self.blocked.append(op)
            self.begin(op)

    def perform(self, op: int) -> Process:
        """Begin, and take the time it takes."""
        self.begin(op)
        if self.held[op]:
            yield self.passed[op]
        elif self.duration_s[op]:
            yield self.env.timeout(self.duration_s[op])

    def begin(self, op: int) -> None:
        """The operation begins, and its message sets out."""
        if op in self.begun:
            self.begun[op].succeed()
        if self.kind[op] == SEND:
            if self.route[op] != NONE:
                self.env.process(self.way_of_message(op))
            elif self.flight_s is not None:
                self.env.process(self.fly(op, self.flight_s[op]))

    def end(self, op: int) -> None:
        """The operation is done, and its message is there unless it takes time of its own."""
        self.finish_s[op] = self.env.now
        self.events += self.end_is_event[op]
        if op in self.done:
            self.done[op].succeed()
        if self.kind[op] == SEND and self.route[op] == NONE and self.flight_s is None:
            self.arrive(op)

    # --- Messages

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

    def pass_fairly(self, send: int) -> Process:
        """The flow of a message, until its last byte is there."""
        assert self.fair_links is not None
        fair = self.fair
        yield self.env.timeout_at(max(self.env.now, rounded(self.env.now + fair.delay_s[send])))
        if fair.size_bytes[send]:
            links = [number for number, _ in self.ways[self.route[send]]]
            self.events += 1
            own_rate, weight = int(fair.own_rate[send]), int(fair.weight[send])
            yield self.fair_links.carry(links, own_rate, float(fair.size_bytes[send]), weight)
            if fair.holds[send]:
                self.passed.pop(send).succeed()
        yield self.env.timeout(fair.after_s[send])

    def log(self) -> Log:
        """What happened."""
        stations, blocked = self.stations, np.array(sorted(self.blocked), dtype=np.int64)
        served = np.array([station.served for station in stations], dtype=np.int64)
        busy_s = np.array([station.busy_s for station in stations])
        longest = np.array([station.longest_queue for station in stations], dtype=np.int64)
        if self.fair_links is not None:
            count_flows(self.plan, served, busy_s)
            longest = np.maximum(longest, self.fair_links.most_flows)
        return Log(
            finish_s=np.array(self.finish_s),
            arrival_s=np.array(self.arrival_s),
            match=np.array(self.match, dtype=np.int32),
            served=served,
            busy_s=busy_s,
            wait_s=np.array([station.wait_s for station in stations]),
            longest_queue=longest,
            blocked=blocked_by_station(self.plan, blocked),
            blocked_operations=blocked,
            events=self.events,
        )
