"""The SimPy engine against an independent, plain and slow reading of the event contract, and its errors.

The oracle below is written from the contract alone: events ordered by (time, phase, id), arrivals and completions
before arbitration, stations in their order, waiting requests in the order (arrival time, rank, operation).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simcodesign.engine.contract import Log
from simcodesign.engine.simpy_engine import run
from simcodesign.errors import DeadlockError
from simcodesign.generate.plan import DISK, INTERFACE, LINK, NONE, Plan, Routes, Stations
from simcodesign.result import COMPUTE, READ, RECEIVE, SEND

# ---------------------------------------------------------------------------------------------------------------------
# The oracle


@dataclass
class Desk:
    """A station: who waits, and when each of its servers is free again."""

    free: list[float]
    waiting: list[tuple[float, int, int]] = field(default_factory=list)  # (arrival, rank, operation)
    served: int = 0
    busy: float = 0.0
    wait: float = 0.0
    longest: int = 0

    def turn(self, now: float) -> float:
        """When it arbitrates next: as soon as somebody waits and a server is free."""
        return max(now, min(self.free)) if self.waiting else math.inf


class Oracle:
    """Event by event; ``youngest_first`` turns round the order of the events of one instant, which must not matter."""

    def __init__(self, plan: Plan, youngest_first: bool = False) -> None:
        self.plan, self.sign = plan, -1 if youngest_first else 1
        self.now, self.events, self.numbers = 0.0, [], 0
        self.desks = [Desk([0.0] * int(servers)) for servers in plan.stations.servers]
        self.finish: list[float | None] = [None] * len(plan)
        self.arrival: list[float | None] = [None] * len(plan)
        self.place = [0] * len(plan)  # of a message on its route
        self.tail = [0.0] * len(plan)  # when its last byte is past the station before
        self.open = [self.prerequisites(op) for op in range(len(plan))]

    def prerequisites(self, op: int) -> set[object]:
        """Everything that must have happened before the operation starts."""
        plan = self.plan
        first = op == plan.first[plan.rank[op]]
        needs: set[object] = {("done", op - 1)} if plan.chained[op] and not first else {"start"}
        if plan.kind[op] == RECEIVE:
            needs.add(("message", int(plan.match[op])))
        if plan.extra_start is not None:
            for other in range(len(plan)):
                targets = plan.extra_target[plan.extra_start[other] : plan.extra_start[other + 1]]
                needs |= {("done", other)} if op in targets else set()
        return needs

    def run(self) -> None:
        self.happened("start")
        while True:
            event = min(self.events, default=(math.inf,))
            turns = [desk.turn(self.now) for desk in self.desks]
            turn = min(turns, default=math.inf)
            if event[0] == turn == math.inf:
                return
            if event[0] <= turn:
                self.events.remove(event)
                self.now = event[0]
                getattr(self, event[2])(event[3])
            else:
                self.now = turn
                self.arbitrate(turns.index(turn))

    def after(self, delay: float, what: str, op: int) -> None:
        self.at(self.now + delay, what, op)

    def at(self, time: float, what: str, op: int) -> None:
        self.numbers += 1
        self.events.append((time, self.sign * self.numbers, what, op))

    def happened(self, what: object) -> None:
        for op, needs in enumerate(self.open):
            if what in needs:
                needs.remove(what)
                if not needs:
                    self.after(0.0, "start", op)

    def start(self, op: int) -> None:
        if self.plan.station[op] != NONE:
            self.request(int(self.plan.station[op]), op)
            return
        self.after(float(self.plan.duration_s[op]), "done", op)
        if self.travels(op):
            inject = float(self.plan.routes.inject_s[op])
            self.after(inject, "reach", op)
            self.tail[op] = self.now + inject + float(self.plan.routes.tail_s[op])

    def travels(self, op: int) -> bool:
        return self.plan.routes is not None and self.plan.routes.route[op] != NONE

    def done(self, op: int) -> None:
        self.finish[op] = self.now
        if self.plan.kind[op] == SEND and not self.travels(op):
            self.arrive(op)
        self.happened(("done", op))

    def way(self, op: int) -> list[int]:
        routes = self.plan.routes
        route = routes.route[op]
        return routes.station[routes.start[route] : routes.start[route + 1]].tolist()

    def reach(self, op: int) -> None:
        self.request(self.way(op)[self.place[op]], op)

    def request(self, station: int, op: int) -> None:
        desk = self.desks[station]
        desk.waiting.append((self.now, int(self.plan.rank[op]), op))
        desk.longest = max(desk.longest, len(desk.waiting))

    def arbitrate(self, station: int) -> None:
        desk = self.desks[station]
        chosen = min(desk.waiting)
        desk.waiting.remove(chosen)
        arrival, _, op = chosen
        service = self.service(station, op)
        desk.free.remove(min(desk.free))
        desk.free.append(self.now + service)
        desk.served, desk.busy, desk.wait = desk.served + 1, desk.busy + service, desk.wait + (self.now - arrival)
        if self.plan.stations.kind[station] == DISK:
            self.after(float(self.plan.duration_s[op]), "done", op)
        else:
            self.leave(station, op)

    def service(self, station: int, op: int) -> float:
        kind = self.plan.stations.kind[station]
        if kind == DISK:
            return float(self.plan.duration_s[op])
        return float((self.plan.routes.interface_s if kind == INTERFACE else self.plan.routes.link_s)[op])

    def leave(self, station: int, op: int) -> None:
        """The tail passes when it is there and served; gap after an interface, latency after a link, none at the end
        of the route if that is an interface. A stored message is whole before the next link sees its head."""
        routes, kinds, way = self.plan.routes, self.plan.stations.kind, self.way(op)
        rest = way[self.place[op] + 1 :]
        self.place[op] += 1
        passed = max(self.tail[op], self.now + self.service(station, op))
        is_link = kinds[station] == LINK
        on_the_way = float((routes.latency_s if is_link else routes.gap_s)[op]) if is_link or rest else 0.0
        self.tail[op] = passed + on_the_way
        if not rest:
            self.at(self.tail[op], "arrive", op)
        elif is_link and routes.store_and_forward and kinds[rest[0]] == LINK:
            self.at(self.tail[op], "reach", op)
        else:
            self.after(on_the_way, "reach", op)

    def arrive(self, op: int) -> None:
        self.arrival[op] = self.now
        self.happened(("message", op))


def numbers(values: Iterable[float | None]) -> list[float | str]:
    """As a list that compares with ==; what never happened is 'never'."""
    return ["never" if value is None or value != value else float(value) for value in values]


def check_same(log: Log, oracle: Oracle) -> None:
    """Equal to the last bit."""
    assert numbers(log.finish_s) == numbers(oracle.finish)
    assert numbers(log.arrival_s) == numbers(oracle.arrival)
    assert log.served.tolist() == [desk.served for desk in oracle.desks]
    assert log.busy_s.tolist() == [desk.busy for desk in oracle.desks]
    assert log.wait_s.tolist() == [desk.wait for desk in oracle.desks]
    assert log.longest_queue.tolist() == [desk.longest for desk in oracle.desks]


# ---------------------------------------------------------------------------------------------------------------------
# Plans


@dataclass
class Op:
    """One operation while a Plan is written. ``after`` holds operations that it waits for besides its predecessor."""

    rank: int
    kind: int
    duration: float
    station: int = NONE
    peer: int = NONE
    partner: Op | None = None
    way: tuple[int, ...] = ()
    delays: tuple[float, ...] = (0.0,) * 6
    chained: bool = True
    after: list[Op] = field(default_factory=list)


def message(source: int, target: int, duration: float, overhead: float = 0.0, **more: object) -> tuple[Op, Op]:
    """A send and its receive."""
    send = Op(source, SEND, duration, peer=target, **more)
    receive = Op(target, RECEIVE, overhead, peer=source, partner=send)
    send.partner = receive
    return send, receive


def plan_of(ops: list[Op], ranks: int, kinds: tuple[int, ...] = (), servers: tuple[int, ...] = ()) -> Plan:
    """The Plan of operations listed in the program order of their ranks."""
    ops = sorted(ops, key=lambda op: op.rank)  # stable: program order stays
    number = {id(op): place for place, op in enumerate(ops)}
    count = np.bincount([op.rank for op in ops], minlength=ranks) if ops else np.zeros(ranks, int)
    first = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    chained = np.array([*(op.chained for op in ops), False])
    chained[first] = False
    return Plan(
        first=first,
        kind=np.array([op.kind for op in ops], np.int8),
        phase=np.zeros(len(ops), np.int16),
        rank=np.array([op.rank for op in ops], np.int32),
        peer=np.array([op.peer for op in ops], np.int32),
        size_bytes=np.zeros(len(ops)),
        duration_s=np.array([op.duration for op in ops], np.float64),
        match=np.array([NONE if op.partner is None else number[id(op.partner)] for op in ops], np.int64),
        station=np.array([op.station for op in ops], np.int32),
        chained=chained,
        phases=("main",),
        stations=Stations(np.array(kinds, np.int8), np.arange(len(kinds)), np.array(servers, np.int32)),
        routes=_routes(ops, set(kinds)),
        **_extra(ops, number),
    )


def _routes(ops: list[Op], kinds: set[int]) -> Routes | None:
    """Where there are interfaces or links, even if no message takes them."""
    if not kinds & {INTERFACE, LINK}:
        return None
    ways = sorted({op.way for op in ops if op.way})
    route = [ways.index(op.way) if op.way else NONE for op in ops]
    start = np.concatenate([[0], np.cumsum([len(way) for way in ways])]).astype(np.int64)
    delays = np.array([op.delays for op in ops]).reshape(-1, 6).T
    stored = bool(sum(len(way) for way in ways) % 2)  # either kind of switching, by chance
    return Routes(np.array(route, np.int32), start, np.array(sum(ways, ()), np.int32), *delays, stored)


def _extra(ops: list[Op], number: dict[int, int]) -> dict[str, np.ndarray]:
    pairs = sorted((number[id(other)], number[id(op)]) for op in ops for other in op.after)
    if not pairs:
        return {}
    source, target = np.array(pairs).T
    start = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=len(ops)))])
    return {"extra_start": start.astype(np.int64), "extra_target": target.astype(np.int64)}


TIED = (0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 3.0)
#: Durations whose sums depend on the order of adding.
ROUNDED = (0.0, 0.1, 0.1, 0.2, 0.3, 0.7, 1.0 / 3.0)
TIMES = st.sampled_from(TIED)


class Writer:
    """Writes a random Plan: every send before its receive and every extra dependency forwards, so that it ends."""

    def __init__(self, random: Random, times: tuple[float, ...], count: int) -> None:
        self.random, self.times, self.count = random, times, count
        self.ranks = random.randint(1, 5)
        disks, interfaces, links = random.randint(0, 2), random.randint(0, 3), random.randint(0, 3)
        self.kinds = (DISK,) * disks + (INTERFACE,) * interfaces + (LINK,) * links
        self.servers = tuple(random.choice((1, 1, 2, 3)) for _ in range(disks)) + (1,) * (interfaces + links)
        self.disks = range(disks)
        self.interfaces = range(disks, disks + interfaces)
        self.links = range(disks + interfaces, len(self.kinds))
        self.owed: list[Op] = []  # receives still to be written

    def plan(self) -> Plan:
        ops = [self.next() for _ in range(self.count)]
        ops += self.owed
        for place, op in enumerate(ops):
            op.chained = self.random.random() < 0.9
            if place and self.random.random() < 0.1:
                op.after = [self.random.choice(ops[:place])]
        return plan_of(ops, self.ranks, self.kinds, self.servers)

    def time(self) -> float:
        return self.random.choice(self.times)

    def next(self) -> Op:
        if self.owed and self.random.random() < 0.4:
            return self.owed.pop(self.random.randrange(len(self.owed)))
        rank = self.random.randrange(self.ranks)
        if self.ranks > 1 and self.random.random() < 0.5:
            return self.sent(rank)
        if self.disks and self.random.random() < 0.8:
            return Op(rank, READ, self.time(), station=self.random.choice(self.disks))
        return Op(rank, COMPUTE, self.time())

    def sent(self, rank: int) -> Op:
        target = (rank + self.random.randint(1, self.ranks - 1)) % self.ranks
        delays = tuple(self.time() for _ in range(6))
        send, receive = message(rank, target, self.time(), self.time(), way=self.way(), delays=delays)
        self.owed.append(receive)
        return send

    def way(self) -> tuple[int, ...]:
        """Links in any order, before them perhaps the interface of the sender, after them that of the receiver."""
        links = self.random.sample(self.links, self.random.randint(0, len(self.links)))
        ends = self.random.sample(self.interfaces, 2) if len(self.interfaces) > 1 and self.random.random() < 0.5 else []
        return (*ends[:1], *links, *ends[1:])


@st.composite
def plans(draw: st.DrawFn, times: tuple[float, ...]) -> Plan:
    """Plans that shrink to a small one when a test fails."""
    return Writer(draw(st.randoms(use_true_random=False)), times, draw(st.integers(0, 24))).plan()


@st.composite
def crowded_plans(draw: st.DrawFn, times: tuple[float, ...]) -> Plan:
    """Larger plans, drawn evenly from a seed."""
    random = Random(draw(st.integers(0, 2**64)))
    return Writer(random, times, random.randint(20, 60)).plan()


# ---------------------------------------------------------------------------------------------------------------------
# Engine and oracle


def check(plan: Plan) -> None:
    for youngest_first in (False, True):
        oracle = Oracle(plan, youngest_first)
        oracle.run()
        check_same(run(plan), oracle)


@settings(max_examples=400)
@given(st.one_of(plans(TIED), crowded_plans(TIED)))
def test_ties_at_every_step(plan: Plan) -> None:
    check(plan)


@settings(max_examples=200)
@given(st.one_of(plans(ROUNDED), crowded_plans(ROUNDED)))
def test_sums_that_round(plan: Plan) -> None:
    check(plan)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 3), TIMES, TIMES), min_size=2, max_size=24), st.integers(1, 3))
def test_crowds_at_one_disk(jobs: list[tuple[int, float, float]], servers: int) -> None:
    ops = []
    for rank, think, service in jobs:
        ops += [Op(rank, COMPUTE, think), Op(rank, READ, service, station=0)]
    check(plan_of(ops, 4, (DISK,), (servers,)))


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(1, 4), st.permutations([0, 1, 2]), st.tuples(*[TIMES] * 6)), max_size=16))
def test_crowds_on_three_links(sent: list[tuple[int, list[int], tuple[float, ...]]]) -> None:
    ops = []
    for source, way, delays in sent:
        ops += message(source, 0, 0.0, way=tuple(way[: 1 + source % 3]), delays=delays)
    check(plan_of(ops, 5, (LINK,) * 3, (1, 1, 1)))


def with_idle_steps(plan: Plan, before: list[int]) -> tuple[Plan, np.ndarray]:
    """The Plan with computations of no time put before operations; and where the old operations now are."""
    extra = np.array(before)
    where = np.arange(len(plan)) + np.cumsum(extra)
    old = np.full(len(plan) + int(extra.sum()), NONE)
    old[where] = np.arange(len(plan))
    owner = where.searchsorted(np.arange(len(old)))  # the operation that an idle step stands before
    new = np.append(where, NONE)  # NONE stays NONE

    def spread(values: np.ndarray, idle: float) -> np.ndarray:
        return np.where(old == NONE, np.array(idle, values.dtype), values[old])

    first = np.concatenate([[0], np.cumsum(np.bincount(plan.rank[owner], minlength=plan.ranks))]).astype(np.int64)
    chained = np.append(plan.chained[owner], False)
    chained[:-1] |= np.append(False, owner[1:] == owner[:-1])  # the operation waits for its idle steps
    routes = plan.routes
    if routes is not None:
        delays = {name: spread(getattr(routes, name), 0) for name in vars(routes) if name.endswith("_s")}
        routes = replace(routes, route=spread(routes.route, NONE), **delays)
    idle = replace(
        plan, first=first, kind=spread(plan.kind, COMPUTE), phase=plan.phase[owner], rank=plan.rank[owner],
        peer=spread(plan.peer, NONE), size_bytes=spread(plan.size_bytes, 0), duration_s=spread(plan.duration_s, 0),
        match=new[spread(plan.match, NONE)], station=spread(plan.station, NONE), chained=chained, routes=routes,
    )  # fmt: skip
    return idle, where


@settings(max_examples=150)
@given(st.data(), st.one_of(plans(TIED), crowded_plans(TIED)))
def test_ties_do_not_depend_on_how_many_events_came_before(data: st.DataObject, plan: Plan) -> None:
    """Steps of no time add events to an instant, and change nothing."""
    plan = replace(plan, extra_start=None, extra_target=None)
    random = Random(data.draw(st.integers(0, 2**64)))
    counts = [random.choice([0, 0, 1, 3]) for _ in range(len(plan))]
    idle, where = with_idle_steps(plan, counts) if len(plan) else (plan, np.zeros(0, int))
    plain, more = run(plan), run(idle)
    assert numbers(more.finish_s[where]) == numbers(plain.finish_s)
    assert numbers(more.arrival_s[where]) == numbers(plain.arrival_s)
    for name in ("served", "busy_s", "wait_s", "longest_queue"):
        assert getattr(more, name).tolist() == getattr(plain, name).tolist()


@settings(max_examples=150)
@given(st.data(), st.one_of(plans(TIED), crowded_plans(TIED)))
def test_what_cannot_end_is_what_the_oracle_cannot_end(data: st.DataObject, plan: Plan) -> None:
    """Programs with their steps shuffled: many of them wait in a circle."""
    order = [op for rank in range(plan.ranks) for op in data.draw(st.permutations(range(*plan.first[rank : rank + 2])))]
    place = np.append(np.argsort(np.array(order, int)), NONE)  # where each operation went; NONE stays NONE
    routes = plan.routes
    if routes is not None:
        mixed = {name: getattr(routes, name)[order] for name in vars(routes) if name not in ("start", "station", "store_and_forward")}
        routes = replace(routes, **mixed)
    same = {name: getattr(plan, name)[order] for name in ("kind", "peer", "duration_s", "station")}
    plan = replace(plan, **same, match=place[plan.match[order]], routes=routes, extra_start=None, extra_target=None)
    oracle = Oracle(plan)
    oracle.run()
    if None not in oracle.finish:
        check_same(run(plan), oracle)
        return
    waiting = sorted({int(plan.rank[op]) for op, finish in enumerate(oracle.finish) if finish is None})
    with pytest.raises(DeadlockError) as caught:
        run(plan)
    for rank in waiting:
        assert f"rank {rank} waits" in str(caught.value)


# ---------------------------------------------------------------------------------------------------------------------
# The contract in small cases


def reads(*jobs: tuple[int, float, float], servers: int = 1) -> Log:
    """Computations followed by reads of one disk: (rank, think time, service time)."""
    ops = [op for rank, think, time in jobs for op in (Op(rank, COMPUTE, think), Op(rank, READ, time, station=0))]
    return run(plan_of(ops, 1 + max(rank for rank, *_ in jobs), (DISK,), (servers,)))


def test_the_lower_rank_wins_a_tie_though_it_arrives_by_more_events() -> None:
    ops = [Op(0, COMPUTE, 0.0) for _ in range(5)] + [Op(0, READ, 2.0, station=0), Op(1, READ, 3.0, station=0)]
    log = run(plan_of(ops, 2, (DISK,), (1,)))
    assert log.finish_s.tolist() == [0.0] * 5 + [2.0, 5.0]


def test_who_came_first_wins_whatever_its_rank() -> None:
    log = reads((0, 2.0, 1.0), (1, 1.0, 5.0), (2, 0.0, 4.0))
    assert log.finish_s[1::2].tolist() == [10.0, 9.0, 4.0]
    assert (log.wait_s.tolist(), log.longest_queue.tolist()) == ([3.0 + 7.0], [2])


def test_a_completion_and_an_arrival_of_one_instant_are_seen_together() -> None:
    """At 4 the disk falls free, ranks 0 and 1 arrive, rank 2 has waited since 3: it is first."""
    log = reads((0, 4.0, 1.0), (1, 4.0, 1.0), (2, 3.0, 1.0), (3, 0.0, 4.0))
    assert log.finish_s[1::2].tolist() == [6.0, 7.0, 5.0, 4.0]


def test_several_servers_serve_as_many_at_a_time() -> None:
    log = reads(*((rank, 0.0, 3.0) for rank in range(5)), servers=2)
    assert log.finish_s[1::2].tolist() == [3.0, 3.0, 6.0, 6.0, 9.0]
    assert (log.served.tolist(), log.busy_s.tolist(), log.wait_s.tolist()) == ([5], [15.0], [12.0])
    assert log.longest_queue.tolist() == [5]


def test_a_message_with_nothing_to_share_arrives_when_its_sender_is_done() -> None:
    ops = [Op(0, COMPUTE, 1.0), *message(0, 1, 2.0, 0.5)]
    log = run(plan_of(ops, 2))
    assert numbers(log.finish_s) == [1.0, 3.0, 3.5]
    assert numbers(log.arrival_s) == ["never", 3.0, "never"]


def test_a_receive_that_comes_late_takes_only_its_overhead() -> None:
    log = run(plan_of([Op(1, COMPUTE, 9.0), *message(0, 1, 2.0, 0.5)], 2))
    assert log.finish_s.tolist() == [2.0, 9.0, 9.5]


def test_an_empty_plan_ends_at_once() -> None:
    for ranks in (1, 3):
        log = run(plan_of([], ranks))
        assert len(log.finish_s) == len(log.arrival_s) == len(log.served) == log.events == 0


def test_one_rank_does_one_thing_after_the_other() -> None:
    times = [0.1, 0.2, 0.3, 0.0, 0.7]
    log = run(plan_of([Op(0, COMPUTE, time) for time in times], 1))
    assert log.finish_s.tolist() == np.cumsum(times).tolist()


def test_ranks_without_operations_are_passed_over() -> None:
    log = run(plan_of([Op(2, COMPUTE, 1.0), Op(4, COMPUTE, 2.0)], 6))
    assert log.finish_s.tolist() == [1.0, 2.0]


def test_only_operations_of_no_time() -> None:
    ops = [Op(rank, READ, 0.0, station=0) for rank in (0, 1, 2) for _ in range(4)]
    for _ in range(4):
        ops += message(0, 1, 0.0, way=(1,))
    log = run(plan_of(ops, 3, (DISK, LINK), (1, 1)))
    assert set(log.finish_s) == {0.0}
    assert log.served.tolist() == [12, 4]


def test_unchained_operations_start_at_once() -> None:
    ops = [Op(0, COMPUTE, 5.0), Op(0, COMPUTE, 1.0, chained=False), Op(0, COMPUTE, 1.0)]
    assert run(plan_of(ops, 1)).finish_s.tolist() == [5.0, 1.0, 2.0]


def test_extra_dependencies_hold_an_operation_back() -> None:
    long, short = Op(0, COMPUTE, 5.0), Op(1, COMPUTE, 1.0)
    last = Op(2, COMPUTE, 1.0, after=[long, short])
    assert run(plan_of([long, short, last], 3)).finish_s.tolist() == [5.0, 1.0, 6.0]


MANY = 5000


def test_many_receives_in_a_row_that_are_all_there() -> None:
    late = Op(1, COMPUTE, 1e6)
    pairs = [message(0, 1, 1.0) for _ in range(MANY)]
    log = run(plan_of([late, *(op for pair in pairs for op in pair)], 2))
    assert log.finish_s.tolist() == [float(k) for k in range(1, MANY + 1)] + [1e6] * (MANY + 1)


def test_many_receives_that_release_one_another() -> None:
    """Not chained but in the same order by extra dependencies, as schedules from elsewhere are written."""
    pairs = [message(0, 1, 0.0) for _ in range(MANY)]
    hold = Op(1, COMPUTE, 1.0)
    for before, (_, receive) in zip([hold, *(pair[1] for pair in pairs)], pairs, strict=False):
        receive.chained, receive.after = False, [before]
    log = run(plan_of([hold, *(op for pair in pairs for op in pair)], 2))
    assert set(log.finish_s[MANY:]) == {1.0}


def test_progress_is_told_in_simulated_seconds() -> None:
    seen: list[tuple[float, int]] = []
    count = 50_000
    log = run(plan_of([Op(0, COMPUTE, 1.0) for _ in range(count)], 1), lambda now, done: seen.append((now, done)))
    assert log.events == count
    assert seen
    assert all(now == done <= count for now, done in seen)


# ---------------------------------------------------------------------------------------------------------------------
# Runs that cannot end


def all_receive_first(ranks: int) -> Plan:
    """Every rank waits for its left neighbour before it sends to the right."""
    pairs = [message(rank, (rank + 1) % ranks, 1.0) for rank in range(ranks)]
    ops = [op for rank in range(ranks) for op in (pairs[rank - 1][1], pairs[rank][0])]
    return plan_of(ops, ranks)


def test_two_ranks_that_both_receive_first() -> None:
    with pytest.raises(DeadlockError) as caught:
        run(all_receive_first(2))
    text = str(caught.value)
    assert "rank 0 waits in receive from rank 1 (operation 0, phase 'main')" in text
    assert "rank 1 waits in receive from rank 0 (operation 0, phase 'main')" in text


def test_a_cycle_of_three_behind_other_work() -> None:
    ring = [message(rank, (rank + 1) % 3, 1.0) for rank in range(3)]
    ops = [Op(rank, COMPUTE, 1.0) for rank in range(4)]
    ops += [op for rank in range(3) for op in (ring[rank - 1][1], ring[rank][0])]
    with pytest.raises(DeadlockError) as caught:
        run(plan_of(ops, 4))
    for rank in range(3):
        assert f"rank {rank} waits in receive from rank {(rank - 1) % 3} (operation 1" in str(caught.value)
    assert "send to rank 1 (operation 2" in str(caught.value)  # what rank 1 waits for
    assert "rank 3" not in str(caught.value)


def test_many_ranks_are_not_all_listed() -> None:
    with pytest.raises(DeadlockError, match="and 95 more ranks") as caught:
        run(all_receive_first(100))
    assert str(caught.value).count(" waits in ") == 5


def test_a_circle_of_extra_dependencies() -> None:
    one, other = Op(0, COMPUTE, 1.0), Op(1, COMPUTE, 1.0)
    one.after, other.after = [other], [one]
    with pytest.raises(DeadlockError, match="rank 0 waits in compute"):
        run(plan_of([one, other], 2))


@settings(max_examples=20)
@given(st.integers(2, 8))
@example(33)
def test_rings_that_all_receive_first_never_end(ranks: int) -> None:
    with pytest.raises(DeadlockError):
        run(all_receive_first(ranks))
