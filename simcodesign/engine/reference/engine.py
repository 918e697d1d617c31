"""The reference engine: a Plan simulated with SimPy, written to be read. The compiled engine gives the same bits.

How to read it
    A SimPy simulation consists of *processes*: Python generators that ``yield`` events and continue when these happen.
    ``Simulation.strand`` is the process of a rank, which does its operations one after another; a rank that does
    several things at a time (operations that do not follow the previous one) has several strands.
    ``Simulation.message`` is the process of a message that takes time of its own. A process waits for three things:

    * time: ``yield env.timeout(duration)``;
    * another process: ``yield self.done[op]``, an event that the process of ``op`` triggers by ``succeed``;
    * a resource that others use too: ``yield station.request(...)``, and ``station.release()`` afterwards.

    Begin with ``strand``. Then read ``stations.py``, the resources: disks, processors, memory controllers, network
    interfaces and links are queues with servers; and ``messages.py``, how a message passes the stations of its route.
    ``environment.py`` has the clock and the calendar of events: it orders the events of an instant
    (``event_contract.py`` has the rules). That is the plain case. ``run.py`` chooses the classes of the other cases,
    each in a module of its own: ``packets.py``, ``fair_links.py``, ``loggopsim.py``, ``others.py``. Resources of other
    kinds are in ``disciplines.py``, ``mailboxes.py``, ``route_choice.py`` and ``polling.py``.

A run returns a ``Log``: when every operation was done, when every message arrived, what stations did.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from itertools import pairwise
from math import isnan, nan
from typing import Any

import numpy as np
import simpy
from numpy.typing import NDArray
from simpy.core import EmptySchedule

from simcodesign.core.operation_kinds import RECEIVE, SEND
from simcodesign.core.stations.services import Services
from simcodesign.engine.event_contract import Log, OnProgress, blocked_by_station, ends_at_once
from simcodesign.engine.reference.disciplines import STATION_OF
from simcodesign.engine.reference.environment import ContractEnvironment, Process
from simcodesign.engine.reference.mailboxes import Mailbox
from simcodesign.engine.reference.messages import Messages
from simcodesign.engine.reference.polling import Polling
from simcodesign.engine.reference.stations import Station
from simcodesign.generate.plan import MAILBOX, NONE, Plan

#: Events between two reports of progress.
REPORT_EVERY = 20_000


class Simulation:
    """The processes of a Plan, and what they record. Lists, not arrays: single items are much quicker to read."""

    def __init__(self, plan: Plan, messages: type[Messages]) -> None:
        self.plan, self.env = plan, ContractEnvironment()
        self.finish_s, self.arrival_s = [nan] * len(plan), [nan] * len(plan)
        self.match: list[int] = plan.match.tolist()
        self.blocked: list[int] = []
        # Events by operation, made when awaited: it has begun, it is done, its message has arrived, its message has
        # left a mailbox with its receive.
        self.begun: dict[int, simpy.Event] = defaultdict(self.env.event)
        self.done: dict[int, simpy.Event] = defaultdict(self.env.event)
        self.arrived: dict[int, simpy.Event] = defaultdict(self.env.event)
        self.taken: dict[int, simpy.Event] = defaultdict(self.env.event)
        self.stations = [self.make_station(number) for number in range(len(plan.stations))]
        self.messages = messages(plan, self.env, self.stations)
        self.read_operations(plan)
        self.read_dependencies(plan)
        self.undone, self.all_known = len(plan), self.env.event()  # operations whose ends are unknown; there are none
        self.start()

    def start(self) -> None:
        """Begin the processes of the ranks."""
        for first, end in pairwise(np.flatnonzero(~self.plan.follows_previous).tolist()):
            self.env.process(self.strand(first, end))

    def make_station(self, number: int) -> Any:
        """Return the resource with this number in the order of arbitration."""
        stations = self.plan.stations
        if stations.kind[number] == MAILBOX:
            return Mailbox(self.env, number, self.plan)
        discipline = stations.discipline_of(number)
        return STATION_OF[discipline.kind](self.env, number, int(stations.servers[number]), discipline)

    def read_operations(self, plan: Plan) -> None:
        """Read the kind, duration and station of each operation."""
        nowhere = [NONE] * len(plan)
        self.kind, self.duration_s = plan.kind.tolist(), plan.duration_s.tolist()
        self.polling: Polling | None = None
        self.part = nowhere if plan.polls is None else plan.polls.part.tolist()
        self.end_of = nowhere if plan.polls is None else plan.polls.end.tolist()
        self.station = nowhere if plan.station is None else plan.station.tolist()
        self.mailbox = nowhere if plan.mailbox is None else plan.mailbox.tolist()
        self.flight_s: list[float] | None = None if plan.flight_s is None else plan.flight_s.tolist()
        self.travels = [
            route != NONE or (kind == SEND and plan.flight_s is not None)
            for route, kind in zip(self.messages.route, self.kind, strict=False)
        ]
        self.end_is_event = (~ends_at_once(plan)).tolist()

    def read_dependencies(self, plan: Plan) -> None:
        """Collect the events that operations wait for, in addition to the previous operation and their message."""
        self.awaited: dict[int, list[simpy.Event]] = defaultdict(list)
        if plan.edges is not None:
            source = np.repeat(np.arange(len(plan)), np.diff(plan.edges.start)).tolist()
            for other, op, early in zip(source, plan.edges.target.tolist(), plan.edges.early.tolist(), strict=True):
                self.awaited[op].append((self.begun if early else self.done)[other])
        if plan.taken_by is not None:
            for send in np.flatnonzero(plan.taken_by != NONE).tolist():
                self.awaited[int(plan.taken_by[send])].append(self.taken[send])
        if plan.polls is not None:
            self.polling = Polling(self.env, len(plan.stations) + 1, plan.polls, self.has_come)
            for part, begun in self.polling.begun.items():
                self.awaited[part].append(begun)

    def run(self, on_progress: OnProgress | None) -> None:
        """Process all events, with a report now and then."""
        step = self.env.step
        with suppress(EmptySchedule):
            while True:
                for _ in range(REPORT_EVERY):
                    step()
                if on_progress is not None:
                    on_progress(self.env.now, self.env.events)

    # --- Ranks

    def strand(self, first: int, end: int) -> Process:
        """Do the operations ``first`` to ``end`` of a rank, one after another."""
        for op in range(first, end):
            for event in self.awaited.get(op, ()):  # noqa: UP028 - a list cannot take what events send
                yield event
            if self.kind[op] == RECEIVE:
                yield from self.receive(op)
            if self.part[op] != NONE:
                yield from self.poll(op)
            if self.station[op] == NONE:
                yield from self.perform(op)
            else:
                yield from self.perform_at(self.stations[self.station[op]], op)
            self.end(op)

    def receive(self, op: int) -> Process:
        """Wait for the message of one send, or for the first that arrives in the mailbox."""
        if self.mailbox[op] != NONE:
            box = self.stations[self.mailbox[op]]
            send = yield box.get(op)
            self.duration_s[op] += self.plan.matching_s * box.searched[op]
            self.match[op], self.match[send] = send, op
            self.env.events += 1
            if send in self.taken:
                self.taken[send].succeed()
        elif self.match[op] != NONE and isnan(self.arrival_s[self.match[op]]):
            yield self.arrived[self.match[op]]

    def poll(self, op: int) -> Process:
        """Look whether a part can begin, and wait for its end if it begins now."""
        assert self.polling is not None
        ended = self.done[self.end_of[self.part[op]]]
        if (yield self.polling.look(op)):
            yield ended

    def perform_at(self, station: Station, op: int) -> Process:
        """Queue for a server of a station, and keep the server as long as the operation takes."""
        if (yield station.request(op, self.duration_s[op])):
            self.env.events += 1
            yield from self.perform(op)
            station.release()
        else:  # the station is full: the operation is done and has taken no time
            self.blocked.append(op)
            self.begin(op)

    def perform(self, op: int) -> Process:
        """Begin the operation, and wait until it is done."""
        self.begin(op)
        if self.messages.holds[op]:
            yield self.messages.passed[op]
        elif self.duration_s[op]:
            yield self.env.timeout(self.duration_s[op])

    def begin(self, op: int) -> None:
        """Begin the operation: its message sets out."""
        if op in self.begun:
            self.begun[op].succeed()
        if self.travels[op]:
            self.env.process(self.message(op))

    def end(self, op: int) -> None:
        """End the operation: its message has arrived, unless that takes time of its own."""
        self.finishes(op, self.env.now)
        self.env.events += self.end_is_event[op]
        if op in self.done:
            self.done[op].succeed()
        if self.kind[op] == SEND and not self.travels[op]:
            self.arrive(op)

    def finishes(self, op: int, time_s: float) -> None:
        """Record when an operation ends, as soon as that is determined."""
        self.finish_s[op] = time_s
        self.undone -= 1
        if not self.undone:
            self.all_known.succeed()

    # --- Messages

    def message(self, op: int) -> Process:
        """Carry the message of a send, or the bytes of a memory access, which no rank receives."""
        if self.messages.route[op] != NONE:
            yield self.env.timeout_at((yield from self.messages.travel(op)))
            self.env.events += 1
        elif self.flight_s is not None:  # its route has no shared stations
            yield self.env.timeout(self.flight_s[op])
        if self.kind[op] == SEND:
            self.arrive(op)

    def has_come(self, receive: int) -> bool:
        """Return whether the message of a receive has arrived."""
        return not isnan(self.arrival_s[self.match[receive]])

    def arrive(self, send: int) -> None:
        """Deliver the message of a send to its receive."""
        self.arrival_s[send] = self.env.now
        if self.mailbox[send] != NONE:
            self.stations[self.mailbox[send]].put(send)
        elif send in self.arrived:
            self.arrived.pop(send).succeed()

    def searched(self) -> NDArray[np.int32]:
        """(N,) the number of messages that each receive examined in its mailbox."""
        searched = np.zeros(len(self.plan), np.int32)
        for box in self.stations:
            if isinstance(box, Mailbox):
                searched[list(box.searched)] = list(box.searched.values())
        return searched

    def log(self) -> Log:
        """Return what happened."""
        stations, blocked = self.stations, np.array(sorted(self.blocked), dtype=np.int64)
        log = Log(
            finish_s=np.array(self.finish_s),
            arrival_s=np.array(self.arrival_s),
            match=np.array(self.match, dtype=np.int32),
            served=np.array([station.served for station in stations], dtype=np.int64),
            busy_s=np.array([station.busy_s for station in stations]),
            wait_s=np.array([station.wait_s for station in stations]),
            longest_queue=np.array([station.longest_queue for station in stations], dtype=np.int64),
            blocked=blocked_by_station(self.plan, blocked),
            blocked_operations=blocked,
            events=self.env.events,
            searched=self.searched() if self.plan.matching_s else None,
            others_busy_s=None if self.plan.background is None else np.array(self.messages.others_busy_s),
            services=None if self.env.services is None else Services.of(self.env.services),
        )
        self.messages.complete(log)
        return log
