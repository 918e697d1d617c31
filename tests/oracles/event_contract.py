"""What the tests of engines share: a slow reading of the event contract, and a writer of random Plans.

The oracle is written from the contract alone: events ordered by (time, phase, id), arrivals and completions before
arbitration, stations in their order, waiting requests in the order (arrival time, rank, operation).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from simcodesign.core.errors import DeadlockError
from simcodesign.core.operation_kinds import COMPUTE, READ, RECEIVE, SEND
from simcodesign.engine.event_contract import Log
from simcodesign.generate.plan import (
    ANY,
    DISK,
    INTERFACE,
    LIMITED,
    LINK,
    MAILBOX,
    NONE,
    PROCESSOR,
    UNLIMITED,
    AlternativeRoutes,
    Discipline,
    Edges,
    FairSharing,
    PacketSharing,
    Plan,
    Routes,
    Stations,
)

Run = Callable[[Plan], Log]

# ---------------------------------------------------------------------------------------------------------------------
# The oracle


@dataclass
class Queue:
    """A station: who waits, and when each of its servers is free again."""

    free: list[float]
    waiting: list[tuple[float, int, int]] = field(default_factory=list)  # (arrival, rank, operation)
    served: int = 0
    busy: float = 0.0
    wait: float = 0.0
    longest: int = 0
    capacity: float = math.inf
    newcomers: list[tuple[float, int, int]] = field(default_factory=list)  # to be judged, where capacity is limited
    blocked: int = 0

    def turn(self, now: float) -> float:
        """When it arbitrates next: as soon as somebody waits and a server is free, or somebody has to be judged."""
        if self.newcomers:
            return now
        return max(now, min(self.free)) if self.waiting else math.inf

    def come(self, request: tuple[float, int, int]) -> None:
        (self.waiting if self.capacity == math.inf else self.newcomers).append(request)
        self.longest = max(self.longest, len(self.waiting))

    def judge(self, now: float) -> list[int]:
        """Who finds it full, one after another in the contract's order."""
        away = []
        for request in sorted(self.newcomers):
            if len(self.waiting) + sum(free > now for free in self.free) < self.capacity:
                self.waiting.append(request)
            else:
                away.append(request[2])
        self.newcomers.clear()
        self.longest, self.blocked = max(self.longest, len(self.waiting)), self.blocked + len(away)
        return away

    def take(self, now: float) -> int:
        """The operation whose turn it is."""
        chosen = min(self.waiting)
        self.waiting.remove(chosen)
        self.served, self.wait = self.served + 1, self.wait + (now - chosen[0])
        return chosen[2]


@dataclass
class MailboxQueue(Queue):
    """A mailbox: receives wait, and messages that have come."""

    messages: list[tuple[float, int]] = field(default_factory=list)  # (arrival, operation of the send)

    def turn(self, now: float) -> float:
        return now if self.waiting and self.messages else math.inf


class Oracle:
    """Event by event; ``youngest_first`` turns round the order of the events of one instant, which must not matter."""

    def __init__(self, plan: Plan, youngest_first: bool = False) -> None:
        self.plan, self.sign = plan, -1 if youngest_first else 1
        self.now, self.events, self.numbers, self.processed = 0.0, [], 0, 0
        stations = plan.stations
        self.queues: list[Queue] = [
            MailboxQueue([]) if kind == MAILBOX else Queue([0.0] * int(servers))
            for kind, servers in zip(stations.kind, stations.servers, strict=True)
        ]
        for queue, number in zip(self.queues, () if stations.discipline is None else stations.discipline, strict=False):
            discipline = stations.disciplines[number]
            queue.capacity = discipline.capacity if discipline.kind == LIMITED else math.inf
        self.blocked_operations: list[int] = []
        self.finish: list[float | None] = [None] * len(plan)
        self.arrival: list[float | None] = [None] * len(plan)
        self.match: list[int] = [int(other) for other in plan.match]
        self.place = [0] * len(plan)  # of a message on its route
        self.tail = [0.0] * len(plan)  # when its last byte is past the station before
        self.route = [] if plan.routes is None else [int(row) for row in plan.routes.route]
        self.choosing: list[tuple[float, int, int]] = []  # messages whose two routes part here: (arrival, rank, send)
        self.decided: set[int] = set()
        self.posted: set[int] = set()  # receives that wait for their message
        self.needs: list[set[object]] = [self.needs_of(op) for op in range(len(plan))]
        self.owed_to: dict[object, list[int]] = defaultdict(list)
        self.set_edges()
        for op, needs in enumerate(self.needs):
            for need in needs:
                self.owed_to[need].append(op)

    def needs_of(self, op: int) -> set[object]:
        """What must have happened in its rank before the operation is ready."""
        first = op == self.plan.first[self.plan.rank[op]]
        return {("done", op - 1)} if self.plan.follows_previous[op] and not first else {"start"}

    def set_edges(self) -> None:
        edges = self.plan.edges
        for other in range(len(self.plan)) if edges is not None else ():
            for place in range(edges.start[other], edges.start[other + 1]):
                self.needs[edges.target[place]].add(("begun" if edges.early[place] else "done", other))

    def run(self) -> Oracle:
        self.happened("start")
        while True:
            event = min(self.events, default=(math.inf,))
            turns = [*(queue.turn(self.now) for queue in self.queues), self.now if self.choosing else math.inf]
            turn = min(turns, default=math.inf)
            if event[0] == turn == math.inf:
                return self
            if event[0] <= turn:
                self.events.remove(event)
                self.now = event[0]
                getattr(self, event[2])(event[3])
            else:
                self.now = turn
                station = turns.index(turn)
                self.choose() if station == len(self.queues) else self.arbitrate(station)

    @property
    def ended(self) -> bool:
        return None not in self.finish

    def at(self, time: float, what: str, op: int) -> None:
        self.numbers += 1
        self.events.append((time, self.sign * self.numbers, what, op))

    def happened(self, what: object) -> None:
        for op in self.owed_to.pop(what, []):
            self.needs[op].remove(what)
            if not self.needs[op]:
                self.at(self.now, "ready", op)

    def of(self, name: str, op: int) -> Any:
        """An optional entry of an operation, or NONE."""
        array = getattr(self.plan, name)
        return NONE if array is None else array[op].item()

    def ready(self, op: int) -> None:
        """Nothing but its message may hold it up any more."""
        if self.plan.kind[op] != RECEIVE:
            self.go_on(op)
        elif self.of("mailbox", op) != NONE:
            self.queues[self.of("mailbox", op)].come((self.now, int(self.plan.rank[op]), op))
        elif self.match[op] == NONE or self.arrival[self.match[op]] is not None:
            self.go_on(op)
        else:
            self.posted.add(op)

    def arrive(self, send: int) -> None:
        self.arrival[send] = self.now
        if self.of("mailbox", send) != NONE:
            self.queues[self.of("mailbox", send)].messages.append((self.now, send))
        elif self.match[send] in self.posted:
            self.at(self.now, "go_on", self.match[send])

    def go_on(self, op: int) -> None:
        if self.of("station", op) != NONE:
            self.queues[self.of("station", op)].come((self.now, int(self.plan.rank[op]), op))
        else:
            self.begin(op)

    def begin(self, op: int) -> float:
        """The operation begins now; its message sets out."""
        plan, begin = self.plan, self.now
        self.at(begin, "begun", op)
        self.at(begin + float(plan.duration_s[op]), "done", op)
        if self.travels(op):
            head = begin + self.cost("inject_s", op)
            self.tail[op] = head + self.cost("tail_s", op)
            self.at(head, "reach", op)
        elif plan.kind[op] == SEND and plan.flight_s is not None:
            self.at(begin + float(plan.flight_s[op]), "arrive", op)
        return begin

    def begun(self, op: int) -> None:
        self.happened(("begun", op))

    def travels(self, op: int) -> bool:
        return self.plan.routes is not None and self.plan.routes.route[op] != NONE

    def cost(self, name: str, op: int, station: int = NONE) -> float:
        """A time of a message, at a station: by the group of the link, where these differ."""
        cost = getattr(self.plan.routes, name)[self.plan.routes.cost[op]]
        return float(cost if np.ndim(cost) == 0 else cost[self.plan.routes.group[station]])

    def done(self, op: int) -> None:
        self.finish[op] = self.now
        self.processed += not self.done_with_its_message(op)
        if self.plan.kind[op] == SEND and not self.travels(op) and self.plan.flight_s is None:
            self.arrive(op)
        self.happened(("done", op))

    def done_with_its_message(self, op: int) -> bool:
        """A receive that takes no event of its own."""
        plan = self.plan
        held = self.of("station", op) != NONE or self.of("mailbox", op) != NONE
        return plan.kind[op] == RECEIVE and plan.duration_s[op] == 0 and not held

    def way(self, op: int) -> list[int]:
        return self.stations_of(self.route[op])

    def stations_of(self, route: int) -> list[int]:
        routes = self.plan.routes
        return routes.station[routes.start[route] : routes.start[route + 1]].tolist()

    def reach(self, op: int) -> None:
        adaptive = self.plan.routes.adaptive
        may_choose = adaptive is not None and adaptive.route[op] != NONE and op not in self.decided
        if may_choose and adaptive.fork[op] == self.place[op]:
            self.choosing.append((self.now, int(self.plan.rank[op]), op))
            return
        self.processed += 1
        self.queues[self.way(op)[self.place[op]]].come((self.now, int(self.plan.rank[op]), op))

    def choose(self) -> None:
        """The first message takes the route whose next station, weighted by its links, has the shorter queue, or all
        of whose stations together have; the minimal one if they differ by no more than a threshold."""
        chosen = min(self.choosing)
        self.choosing.remove(chosen)
        op, adaptive = chosen[2], self.plan.routes.adaptive
        weights = []
        for row in (self.route[op], int(adaptive.route[op])):
            ahead = [self.queues[number] for number in self.stations_of(row)[self.place[op] :]]
            at_hand = [len(queue.waiting) + sum(free > self.now for free in queue.free) for queue in ahead]
            weights.append(sum(at_hand) if adaptive.along_route else at_hand[0] * int(adaptive.links[row]))
        if weights[0] > weights[1] + adaptive.threshold:
            self.route[op] = int(adaptive.route[op])
        self.decided.add(op)
        self.at(self.now, "reach", op)

    def arbitrate(self, station: int) -> None:
        queue, kind = self.queues[station], self.plan.stations.kind[station]
        for op in queue.judge(self.now):
            self.blocked_operations.append(op)
            self.at(self.now, "begun", op)
            self.at(self.now, "done", op)
        if not isinstance(queue, MailboxQueue) and (not queue.waiting or min(queue.free) > self.now):
            return
        self.processed += 1
        op = queue.take(self.now)
        if isinstance(queue, MailboxQueue):
            message = min(queue.messages)
            queue.messages.remove(message)
            self.match[op], self.match[message[1]] = message[1], op
            self.go_on(op)
            return
        begin = self.now
        if kind in (DISK, PROCESSOR):
            service = float(self.plan.duration_s[op])
            begin = self.begin(op)
        else:
            factor = self.plan.stations.service_factor
            service = self.cost("interface_s" if kind == INTERFACE else "link_s", op, station)
            service *= 1.0 if factor is None else float(factor[station])
            self.leave(station, op, service)
        queue.free.remove(min(queue.free))
        queue.free.append(begin + service)
        queue.busy += service

    def leave(self, station: int, op: int, service: float) -> None:
        """The tail passes when it is there and served; gap after an interface, latency after a link, none at the end
        of the route if that is an interface. A stored message is whole before the next link sees its head."""
        routes, kinds, way = self.plan.routes, self.plan.stations.kind, self.way(op)
        rest = way[self.place[op] + 1 :]
        self.place[op] += 1
        passed = max(self.tail[op], self.now + service)
        is_link = kinds[station] == LINK
        after = "latency_s" if is_link else "after_interface_s"
        on_the_way = self.cost(after, op, station) if is_link or rest else 0.0
        self.tail[op] = passed + on_the_way
        if not rest:
            self.at(self.tail[op], "passed", op)
        elif is_link and routes.store_and_forward and kinds[rest[0]] == LINK:
            self.at(self.tail[op], "reach", op)
        else:
            self.at(self.now + on_the_way, "reach", op)

    def passed(self, op: int) -> None:
        """The last byte has passed the last station."""
        self.processed += 1
        self.arrive(op)


def numbers(values: Iterable[float | None]) -> list[float | str]:
    """As a list that compares with ==; what never happened is 'never'."""
    return ["never" if value is None or value != value else float(value) for value in values]


def check_same(log: Log, oracle: Oracle) -> None:
    """Equal to the last bit."""
    assert numbers(log.finish_s) == numbers(oracle.finish)
    assert numbers(log.arrival_s) == numbers(oracle.arrival)
    assert log.match.tolist() == oracle.match
    assert log.served.tolist() == [queue.served for queue in oracle.queues]
    assert log.busy_s.tolist() == [queue.busy for queue in oracle.queues]
    assert log.wait_s.tolist() == [queue.wait for queue in oracle.queues]
    assert log.longest_queue.tolist() == [queue.longest for queue in oracle.queues]
    assert log.blocked.tolist() == [queue.blocked for queue in oracle.queues]
    assert log.blocked_operations.tolist() == sorted(oracle.blocked_operations)
    assert log.events == oracle.processed


def check(plan: Plan, run: Run) -> None:
    """The engine against the oracle, which must not depend on the order of events of one instant."""
    one, other = Oracle(plan).run(), Oracle(plan, youngest_first=True).run()
    if one.ended:
        log = run(plan)
        check_same(log, one)
        check_same(log, other)
        return
    assert numbers(one.finish) == numbers(other.finish)
    with pytest.raises(DeadlockError) as caught:
        run(plan)
    for rank in sorted({int(plan.rank[op]) for op, finish in enumerate(one.finish) if finish is None})[:5]:
        assert f"rank {rank} waits" in str(caught.value)


# ---------------------------------------------------------------------------------------------------------------------
# Plans


@dataclass
class Op:
    """One operation while a Plan is written. It waits for the ends of ``after`` and the beginnings of ``early``."""

    rank: int
    kind: int
    duration: float
    station: int = NONE
    peer: int = NONE
    partner: Op | None = None
    way: tuple[int, ...] = ()
    delays: tuple[float, ...] = (0.0,) * 6
    follows_previous: bool = True
    after: list[Op] = field(default_factory=list)
    early: list[Op] = field(default_factory=list)
    mailbox: int = NONE
    flight: float | None = None


def with_limited_capacity(plan: Plan, random: Random) -> Plan:
    """The Plan where some disks have a capacity of a few requests only."""
    disciplines = (UNLIMITED, *(Discipline(LIMITED, capacity) for capacity in (1, 2, 3, 4)))
    chosen = [random.choice((0, 1, 1, 2, 3, 4)) if kind == DISK else 0 for kind in plan.stations.kind]
    stations = replace(plan.stations, discipline=np.array(chosen, np.int8), disciplines=disciplines)
    return replace(plan, stations=stations)


def with_slow_stations(plan: Plan, random: Random) -> Plan:
    """The Plan where some interfaces and links take longer, or less time, for everything."""
    factor = [random.choice((1.0, 1.0, 2.0, 0.5, 1.1)) for _ in plan.stations.kind]
    return replace(plan, stations=replace(plan.stations, service_factor=np.array(factor)))


def with_unequal_links(plan: Plan, random: Random, times: tuple[float, ...]) -> Plan:
    """The Plan where every link is of one of several groups, each with its own services and latencies."""
    if plan.routes is None:
        return plan
    groups, rows = random.randint(1, 4), len(plan.routes.link_s)
    link_s, latency_s = (np.array(random.choices(times, k=rows * groups)).reshape(rows, groups) for _ in range(2))
    group = np.array([random.randrange(groups) for _ in plan.stations.kind], np.int32)
    return replace(plan, routes=replace(plan.routes, link_s=link_s, latency_s=latency_s, group=group))


def with_time_on_the_way(plan: Plan, random: Random, times: tuple[float, ...]) -> Plan:
    """The Plan where every link takes time to pass, and perhaps the flight after an interface, to set out, and to serve
    at an interface, too."""
    if plan.routes is None:
        return plan

    def some_time(values: np.ndarray, always: bool = False) -> np.ndarray:
        least = random.choice([time_s for time_s in times if time_s > 0]) if always or random.random() < 0.6 else 0.0
        return np.maximum(values, least)

    routes = plan.routes
    changed = {name: some_time(getattr(routes, name)) for name in ("inject_s", "after_interface_s", "interface_s")}
    return replace(plan, routes=replace(routes, latency_s=some_time(routes.latency_s, always=True), **changed))


def with_alternative_routes(plan: Plan, random: Random) -> Plan:
    """The Plan where most messages with a route have another one, which is the same for some stations, or for none."""
    if plan.routes is None:
        return plan
    routes = plan.routes
    shared = [number for number, kind in enumerate(plan.stations.kind) if kind in (INTERFACE, LINK)]
    ways = [routes.station[low:high].tolist() for low, high in pairwise(routes.start)]
    other, fork = np.full(len(plan), NONE, np.int32), np.zeros(len(plan), np.int32)
    for op in np.flatnonzero(routes.route != NONE):
        way = ways[routes.route[op]]
        together = random.randrange(len(way))
        elsewhere = [station for station in shared if station != way[together]]
        if elsewhere and random.random() < 0.8:
            other[op], fork[op] = len(ways), together
            ways.append([*way[:together], random.choice(elsewhere), *random.choices(shared, k=random.randint(0, 3))])
    start = np.concatenate([[0], np.cumsum([len(way) for way in ways])]).astype(np.int64)
    links = np.array([random.randint(1, 3) for _ in ways], np.int32)
    rule = {"threshold": random.choice((0, 0, 1, 3)), "along_route": random.random() < 0.5}
    stations, adaptive = np.concatenate(ways).astype(np.int32), AlternativeRoutes(other, fork, links, **rule)
    return replace(plan, routes=replace(routes, start=start, station=stations, adaptive=adaptive))


def with_fair_sharing(plan: Plan, random: Random, times: tuple[float, ...]) -> Plan:
    """The Plan where messages share the stations of their routes fairly, and some hold their senders."""
    if plan.routes is None:
        return plan
    count, unit = len(plan), 2.0**59
    size_bytes = np.array(random.choices((0.0, 1.0, 1.0, 2.0, 3.0, 100.0), k=count))
    holds = (plan.kind == SEND) & (plan.routes.route != NONE) & (size_bytes > 0)
    if plan.station is not None:
        holds &= plan.station == NONE
    rates = [int(unit * rate) for rate in random.choice(((1.0,), (0.25, 0.5, 1.0), (0.1, 0.3, 1.0, 1.0 / 3.0)))]
    capacity = np.array(random.choices(rates, k=len(plan.stations)))
    parts = random.choices(random.choice(((1,), (1, 2, 3))), k=len(plan.stations))
    fair = FairSharing(
        delay_s=np.array(random.choices(times, k=count)),
        after_s=np.array(random.choices(times, k=count)),
        size_bytes=size_bytes,
        holds=holds & np.array(random.choices((False, True), k=count)),
        own_rate=np.array(random.choices((0, 0, 0, *rates), k=count)),
        weight=np.array(random.choices(random.choice(((1,), (1, 2, 3), (1, 2**20 // 3, 2**20))), k=count), np.int32),
        capacity=capacity,
        loaded=capacity // np.array(parts),
        unit=unit,
    )
    return replace(plan, routes=replace(plan.routes, fair=fair))


def with_packets(plan: Plan, random: Random, times: tuple[float, ...]) -> Plan:
    """The Plan whose messages pass as packets, of which the last costs something else, and some hold their senders."""
    if plan.routes is None:
        return plan
    routes = plan.routes

    names = ("inject_s", "tail_s", "interface_s", "link_s", "after_interface_s", "latency_s")
    tables = {name: np.repeat(getattr(routes, name), 2, axis=0) for name in names}
    for name in ("tail_s", "interface_s", "link_s"):  # latencies are those of all: no packet overtakes another
        tables[name][::2] = np.array(random.choices(times, k=tables[name][::2].size)).reshape(tables[name][::2].shape)
    holds = (plan.kind == SEND) & (routes.route != NONE)
    if plan.station is not None:
        holds &= plan.station == NONE
    if plan.gap_s is not None:
        holds[:] = False
    packets = PacketSharing(
        count=np.array(random.choices((1, 1, 2, 3, 7), k=len(plan)), np.int32),
        holds=holds & np.array(random.choices((False, True), k=len(plan)), bool),
        until_away=random.random() < 0.5,
    )
    return replace(plan, routes=replace(routes, cost=2 * routes.cost, packets=packets, **tables))


def message(source: int, target: int, duration: float, overhead: float = 0.0, **more: Any) -> tuple[Op, Op]:
    """A send and its receive."""
    send = Op(source, SEND, duration, peer=target, **more)
    receive = Op(target, RECEIVE, overhead, peer=source, partner=send)
    send.partner = receive
    return send, receive


def posted(source: int, target: int, box: int, duration: float, overhead: float = 0.0, **more: Any) -> tuple[Op, Op]:
    """A send to a mailbox and a receive from anyone."""
    send = Op(source, SEND, duration, peer=target, mailbox=box, **more)
    return send, Op(target, RECEIVE, overhead, peer=ANY, mailbox=box)


def plan_of(ops: list[Op], ranks: int, kinds: tuple[int, ...] = (), servers: tuple[int, ...] = ()) -> Plan:
    """The Plan of operations listed in the program order of their ranks."""
    ops = sorted(ops, key=lambda op: op.rank)  # stable: program order stays
    number = {id(op): place for place, op in enumerate(ops)}
    count = np.bincount([op.rank for op in ops], minlength=ranks) if ops else np.zeros(ranks, int)
    first = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    follows_previous = np.array([*(op.follows_previous for op in ops), False])
    follows_previous[first] = False
    return Plan(
        first=first,
        kind=np.array([op.kind for op in ops], np.int8),
        phase=np.zeros(len(ops), np.int16),
        rank=np.array([op.rank for op in ops], np.int32),
        peer=np.array([op.peer for op in ops], np.int32),
        size_bytes=np.zeros(len(ops)),
        duration_s=np.array([op.duration for op in ops], np.float64),
        match=np.array([NONE if op.partner is None else number[id(op.partner)] for op in ops], np.int32),
        follows_previous=follows_previous,
        phases=("main",),
        stations=Stations(np.array(kinds, np.int8), np.arange(len(kinds)), np.array(servers, np.int32)),
        station=_or_none([op.station for op in ops]),
        mailbox=_or_none([op.mailbox for op in ops]),
        routes=_routes(ops, kinds),
        edges=_edges(ops, number),
        flight_s=_times([op.flight for op in ops]),
    )


def _or_none(stations: list[int]) -> np.ndarray | None:
    return np.array(stations, np.int32) if any(station != NONE for station in stations) else None


def _times(times: list[float | None]) -> np.ndarray | None:
    given = [time is not None for time in times]
    return np.array([time or 0.0 for time in times]) if any(given) else None


def _routes(ops: list[Op], kinds: tuple[int, ...]) -> Routes | None:
    """Where there are interfaces or links, even if no message takes them."""
    shared = [number for number, kind in enumerate(kinds) if kind in (INTERFACE, LINK)]
    if not shared:
        return None
    ways = sorted({op.way for op in ops if op.way}) or [tuple(shared[:1])]
    route = [ways.index(op.way) if op.way else NONE for op in ops]
    start = np.concatenate([[0], np.cumsum([len(way) for way in ways])]).astype(np.int64)
    rows = sorted({op.delays for op in ops if op.way}) or [(0.0,) * 6]
    cost = [rows.index(op.delays) if op.way else len(rows) + 5 for op in ops]  # meaningless without a route
    stored = bool(sum(len(way) for way in ways) % 2)  # either kind of switching, by chance
    return Routes(
        np.array(route, np.int32),
        np.array(cost, np.int32),
        start,
        np.array(sum(ways, ()), np.int32),
        *np.array(rows).T.copy(),
        store_and_forward=stored,
    )


def _edges(ops: list[Op], number: dict[int, int]) -> Edges | None:
    pairs = [(number[id(other)], number[id(op)], False) for op in ops for other in op.after]
    pairs += [(number[id(other)], number[id(op)], True) for op in ops for other in op.early]
    if not pairs:
        return None
    source, target, early = np.array(sorted(pairs)).T
    start = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=len(ops)))])
    return Edges(start.astype(np.int64), target.astype(np.int32), early.astype(bool))


TIED = (0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 3.0)
#: Durations whose sums depend on the order of adding.
ROUNDED = (0.0, 0.1, 0.1, 0.2, 0.3, 0.7, 1.0 / 3.0)
TIMES = st.sampled_from(TIED)


class Writer:
    """Writes a random Plan: every send before its receive and every edge forwards, so that it ends.

    Only where receives of one mailbox wait at the same time may one take what another needs (``hoarding``).
    """

    def __init__(
        self, random: Random, times: tuple[float, ...], count: int, hoarding: bool = True, most_ranks: int = 5
    ) -> None:
        self.random, self.times, self.count = random, times, count
        self.ranks = random.randint(1, most_ranks)
        disks, processors, boxes = (random.choice((0, 0, 1, 2)) for _ in range(3))
        interfaces, links = random.randint(0, 3), random.randint(0, 3)
        groups = ((DISK, disks), (PROCESSOR, processors), (INTERFACE, interfaces), (LINK, links), (MAILBOX, boxes))
        self.kinds = tuple(kind for kind, number in groups for _ in range(number))
        self.servers = tuple(random.choice((1, 1, 2, 3)) if kind == DISK else 1 for kind in self.kinds)
        self.of_kind = {kind: [s for s, this in enumerate(self.kinds) if this == kind] for kind, _ in groups}
        self.owner = {box: random.randrange(self.ranks) for box in self.of_kind[MAILBOX]}
        self.flights = random.random() < 0.3
        self.follows_previous = random.choice((1.0, 0.9, 0.9, 0.4, 0.0))
        self.hoarding = hoarding and random.random() < 0.5
        self.owed: list[Op] = []  # receives still to be written

    def plan(self) -> Plan:
        ops = [self.next() for _ in range(self.count)]
        ops += self.owed
        for place, op in enumerate(ops):
            op.follows_previous = self.random.random() < self.follows_previous
            self.tie(op, ops[:place])
            self.equip(op)
        if not self.hoarding:
            self.queue_up(ops)
        return plan_of(ops, self.ranks, self.kinds, self.servers)

    def tie(self, op: Op, before: list[Op]) -> None:
        """Edges from operations before it."""
        if before and self.random.random() < 0.1:
            op.after = [self.random.choice(before)]
        begins = [other for other in before if other.kind != RECEIVE]
        if begins and self.random.random() < 0.1:
            op.early = [self.random.choice(begins)]

    def equip(self, op: Op) -> None:
        """Perhaps a processor and a flight."""
        processors = self.of_kind[PROCESSOR]
        if processors and op.station == NONE and self.random.random() < 0.6:
            op.station = processors[op.rank % len(processors)]
            op.station = self.random.choice(processors) if self.random.random() < 0.2 else op.station
        op.flight = self.time() if self.flights and op.kind == SEND else None

    def queue_up(self, ops: list[Op]) -> None:
        """No receive takes from a mailbox before the one that stands before it."""
        last: dict[int, Op] = {}
        for op in ops:
            if op.kind == RECEIVE and op.mailbox != NONE:
                op.after += [last[op.mailbox]] if op.mailbox in last else []
                last[op.mailbox] = op

    def time(self) -> float:
        return self.random.choice(self.times)

    def next(self) -> Op:
        if self.owed and self.random.random() < 0.4:
            return self.owed.pop(self.random.randrange(len(self.owed)))
        rank = self.random.randrange(self.ranks)
        if self.ranks > 1 and self.random.random() < 0.5:
            return self.sent(rank)
        if self.of_kind[DISK] and self.random.random() < 0.8:
            return Op(rank, READ, self.time(), station=self.random.choice(self.of_kind[DISK]))
        return Op(rank, COMPUTE, self.time())

    def sent(self, rank: int) -> Op:
        target = (rank + self.random.randint(1, self.ranks - 1)) % self.ranks
        delays = tuple(self.time() for _ in range(6))
        boxes = [box for box, owner in self.owner.items() if owner == target]
        if boxes and self.random.random() < 0.7:
            ends = posted(
                rank, target, self.random.choice(boxes), self.time(), self.time(), way=self.way(), delays=delays
            )
        else:
            ends = message(rank, target, self.time(), self.time(), way=self.way(), delays=delays)
        self.owed.append(ends[1])
        return ends[0]

    def way(self) -> tuple[int, ...]:
        """Links in any order, before them perhaps the interface of the sender, after them that of the receiver."""
        all_links, interfaces = self.of_kind[LINK], self.of_kind[INTERFACE]
        links = self.random.sample(all_links, self.random.randint(0, len(all_links)))
        ends = self.random.sample(interfaces, 2) if len(interfaces) > 1 and self.random.random() < 0.5 else []
        return (*ends[:1], *links, *ends[1:])


@st.composite
def plans(draw: st.DrawFn, times: tuple[float, ...], hoarding: bool = True) -> Plan:
    """Plans that shrink to a small one when a test fails."""
    return Writer(draw(st.randoms(use_true_random=False)), times, draw(st.integers(0, 24)), hoarding).plan()


@st.composite
def crowded_plans(draw: st.DrawFn, times: tuple[float, ...], hoarding: bool = True) -> Plan:
    """Larger plans, drawn evenly from a seed."""
    random = Random(draw(st.integers(0, 2**64)))
    return Writer(random, times, random.randint(20, 60), hoarding).plan()


def moved_edges(edges: Edges | None, where: np.ndarray, count: int) -> Edges | None:
    """The edges when operation k has become operation ``where[k]`` of ``count``."""
    if edges is None:
        return None
    source = where[np.repeat(np.arange(len(where)), np.diff(edges.start))]
    order = np.argsort(source, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=count))]).astype(np.int64)
    return Edges(start, where[edges.target][order].astype(np.int32), edges.early[order])


def shuffled(plan: Plan, random: Random) -> Plan:
    """The Plan with the steps of every rank in another order, and perhaps without its edges."""
    order: list[int] = []
    for rank in range(plan.ranks):
        mine = [*range(*plan.first[rank : rank + 2])]
        order += random.sample(mine, len(mine)) if random.random() < 0.7 else mine
    place = np.append(np.argsort(np.array(order, int)), NONE).astype(np.int32)  # where each went; NONE stays NONE
    routes = plan.routes
    if routes is not None:
        routes = replace(routes, route=routes.route[order], cost=routes.cost[order])
    names = ("kind", "peer", "duration_s", "station", "mailbox", "flight_s")
    same = {name: getattr(plan, name)[order] for name in names if getattr(plan, name) is not None}
    edges = moved_edges(plan.edges, place[:-1], len(plan)) if random.random() < 0.5 else None
    return replace(plan, **same, match=place[plan.match[order]], routes=routes, edges=edges)
