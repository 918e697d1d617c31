"""The reference engine: a Plan simulated with SimPy, written to be read. The compiled engine gives the same bits.

How to read it
    A SimPy simulation consists of *processes*: Python generators that ``yield`` events and go on when these happen.
    ``Simulation.strand`` is the process of a rank, which does its operations one after another; a rank that does
    several things at a time (operations that do not follow the previous one) has several strands. ``travel`` and
    ``fly`` are the processes of messages that take time of their own. Three things hold a process up:

    * time: ``yield env.timeout(duration)``;
    * another process: ``yield self.done[op]``, an event that the process of ``op`` triggers by ``succeed``;
    * a resource that others use too: ``yield station.request(...)``, and ``station.release()`` afterwards.

    Begin with ``strand``. ``messages.py`` has the processes of messages, ``stations.py`` the resources: disks,
    processors, memory controllers, network interfaces and links are queues with servers, mailboxes are where messages
    for anyone are collected. ``environment.py`` has the clock and the calendar of events: it decides what comes first
    of what happens at the same time (``event_contract.py`` has the rules).

What a run leaves behind is a ``Log``: when every operation was done, when every message arrived, what stations did.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from math import isnan, nan
from typing import Any

import numpy as np
import simpy
from simpy.core import EmptySchedule

from simcodesign.core.operation_kinds import RECEIVE, SEND
from simcodesign.core.stations.services import Services
from simcodesign.engine.event_contract import (
    Log,
    OnProgress,
    blocked_by_station,
    check_finished,
    count_flows,
    ends_at_once,
)
from simcodesign.engine.reference.environment import ContractEnvironment
from simcodesign.engine.reference.fair_links import FairLinks
from simcodesign.engine.reference.messages import Messages
from simcodesign.engine.reference.others import Others, Process
from simcodesign.engine.reference.stations import STATION_OF, Mailbox, Station
from simcodesign.generate.plan import ANY, ANY_TAG, MAILBOX, NONE, Plan

#: Events between two reports of progress.
REPORT_EVERY = 20_000


def run(plan: Plan, on_progress: OnProgress | None = None, records_services: bool = False) -> Log:
    """Simulate the Plan to its end. DeadlockError when ranks wait for each other."""
    return run_simulation(Simulation, plan, on_progress, records_services)


def run_simulation(of: type[Simulation], plan: Plan, on_progress: OnProgress | None, records_services: bool) -> Log:
    """Simulate the Plan with these processes."""
    with _no_garbage_collection():
        simulation = of(plan)
        simulation.env.services = [] if records_services else None
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


class Simulation(Messages):
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
        self.taken: dict[int, simpy.Event] = defaultdict(self.env.event)  # a message of a mailbox has its receive
        self.fair_links: FairLinks | None = None
        self.stations = [self.make_station(number) for number in range(len(plan.stations))]
        self.read_operations(plan)
        self.read_dependencies(plan)
        self.read_routes(plan)
        self.undone = len(plan)
        self.others = Others(plan, self.env, self.travel_to_the_end) if plan.background is not None else None
        if self.others is not None:
            self.env.process(self.others.send())
        self.start()

    def start(self) -> None:
        """Begin the processes of the ranks."""
        for first, end in pairwise(np.flatnonzero(~self.plan.follows_previous).tolist()):
            self.env.process(self.strand(first, end))

    def make_station(self, number: int) -> Any:
        """The resource with this number in the order of arbitration."""
        stations = self.plan.stations
        if stations.kind[number] == MAILBOX:
            return Mailbox(self.env, number, self.suits)
        discipline = stations.discipline_of(number)
        return STATION_OF[discipline.kind](self.env, number, int(stations.servers[number]), discipline)

    def suits(self, send: int, receive: int) -> bool:
        """Return whether a receive takes the message of a send that arrives at its mailbox."""
        plan = self.plan
        if plan.tag is None:
            return True
        from_there = plan.peer[receive] in (ANY, plan.rank[send])
        return bool(from_there and plan.tag[receive] in (ANY_TAG, plan.tag[send]))

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
        if plan.taken_by is not None:
            for send in np.flatnonzero(plan.taken_by != NONE).tolist():
                self.awaited[int(plan.taken_by[send])].append(self.taken[send])

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
            if send in self.taken:
                self.taken[send].succeed()
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
        elif self.route[op] != NONE:
            self.env.process(self.flow_of_access(op))

    def end(self, op: int) -> None:
        """The operation is done, and its message is there unless it takes time of its own."""
        self.finishes(op, self.env.now)
        self.events += self.end_is_event[op]
        if op in self.done:
            self.done[op].succeed()
        if self.kind[op] == SEND and self.route[op] == NONE and self.flight_s is None:
            self.arrive(op)

    def finishes(self, op: int, time_s: float) -> None:
        """It is known when an operation ends. When it is known of all, so is the end of the run, whatever others do."""
        self.finish_s[op] = time_s
        self.undone -= 1
        if not self.undone and self.others is not None:
            self.env.end_s = max(self.finish_s)

    def log(self) -> Log:
        """What happened."""
        stations, blocked = self.stations, np.array(sorted(self.blocked), dtype=np.int64)
        served = np.array([station.served for station in stations], dtype=np.int64)
        busy_s = np.array([station.busy_s for station in stations])
        longest = np.array([station.longest_queue for station in stations], dtype=np.int64)
        of_others = None if self.others is None else self.others.busy_s
        if self.fair_links is not None:
            nowhere = np.zeros(len(stations))
            count_flows(self.plan, self.finish_s, served, busy_s, nowhere if of_others is None else of_others)
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
            others_busy_s=of_others,
            services=None if self.env.services is None else Services.of(self.env.services),
        )
