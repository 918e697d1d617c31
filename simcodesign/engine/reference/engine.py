"""The readable engine: a Plan walked with SimPy under the event contract.

Every operation that takes time is one event. A receive takes none of its own: it is done when its rank has come to it
and its message has arrived. A message that shares nothing on its way arrives when its sender is done with it, or after
its flight; one that does (``Routes``) is an event at every station that its head reaches.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from simpy.core import EmptySchedule
from simpy.events import NORMAL

from simcodesign.core.result import RECEIVE, SEND
from simcodesign.engine.event_contract import Log, OnProgress, check_finished, count_events, ends_at_once, refused_by
from simcodesign.engine.reference.messages import Messages
from simcodesign.engine.reference.station import Callbacks, ContractEnvironment, LimitedStation, Mailbox, Station, Tick
from simcodesign.generate.plan import MAILBOX, NONE, PROCESSOR, Plan

#: Events between two reports of progress.
REPORT_EVERY = 20_000
#: Whom a send tells that it is done: not a receive, but a mailbox.
TO_MAILBOX = -2


def run(plan: Plan, on_progress: OnProgress | None = None) -> Log:
    """Walk the Plan to its end. DeadlockError when ranks wait for each other."""
    walk = Walk(plan)
    with _no_garbage_collection():
        walk.run(on_progress)
    check_finished(plan, walk.finish)
    return walk.log()


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Nothing here refers to itself, and looking for it takes a quarter of a run with a million messages under way."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Walk:
    """The ranks on their way through the Plan. Lists, not arrays: single items are several times as quick to read."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.env = plan, ContractEnvironment()
        self.finish = [float("nan")] * len(plan)
        self._duration = plan.duration_s.tolist()
        self._chained = plan.follows_previous.tolist()
        self._missing = _missing(plan).tolist()
        self._at_once = ends_at_once(plan).tolist()
        self._match = plan.match.tolist()
        self._has_edges = plan.edges is not None
        self._released: list[int] = []
        self._releasing = False
        self._messages = Messages(self.env, plan, self._arrived)
        self._set_ways(plan)
        self._turned_away: list[int] = []
        self._stations = self._make_stations()
        self._mailboxes = {
            number: Mailbox(self.env, number, self._meet)
            for number in np.flatnonzero(plan.stations.kind == MAILBOX).tolist()
        }
        self._gap_over: dict[tuple[bool, int, int], float] = {}
        self._spare: list[Tick] = []
        self._done_callbacks: Callbacks = [self._done]
        self._begun_callbacks: Callbacks = [self._begun]
        self._flown_callbacks: Callbacks = [self._flown]

    def _set_ways(self, plan: Plan) -> None:
        """Which operations just take their time, and which messages arrive with the end of their send."""
        sends, travels = plan.kind == SEND, self._messages.travels
        boxed = _given(plan.mailbox, plan)
        flies = sends & ~travels & (plan.flight_s is not None)
        gapped = (plan.gap_s is not None) & (sends | (plan.kind == RECEIVE))
        early = _begin_matters(plan)
        self._plain = (~(_given(plan.station, plan) | travels | flies | gapped | boxed | early)).tolist()
        # Looked at once for each operation that is not plain; as arrays these cost nothing where all are.
        self._travels, self._flies, self._early = travels, flies, early
        self._lands = sends & ~travels & ~flies
        self._receiver = np.where(self._lands, np.where(boxed, TO_MAILBOX, plan.match), NONE).tolist()
        self._arrival: dict[int, float] = {}  # of the messages that do not arrive with the end of their send

    def _make_stations(self) -> list[Station]:
        """Disks and processors are the first stations."""
        stations = self.plan.stations
        servers = stations.servers[stations.kind <= PROCESSOR].tolist()
        gaps = None if self.plan.gap_s is None else self._beginning
        room = [NONE] * len(servers) if stations.room is None else stations.room.tolist()
        return [
            Station(self.env, number, count, self._duration, self._begin, gaps)
            if room[number] == NONE
            else LimitedStation(
                self.env, number, count, self._duration, self._begin, gaps, room[number], self._turn_away
            )
            for number, count in enumerate(servers)
        ]

    def run(self, on_progress: OnProgress | None) -> None:
        """Start every rank and process all events, with a look at the clock in between."""
        for op in np.flatnonzero(~self.plan.follows_previous[:-1]).tolist():
            self.advance(op)
        step, rounds = self.env.step, 0
        try:
            while True:
                for _ in range(REPORT_EVERY):
                    step()
                rounds += 1
                if on_progress is not None:
                    on_progress(self.env.now, rounds * REPORT_EVERY)
        except EmptySchedule:
            return

    def advance(self, op: int) -> None:
        """One thing that operation ``op`` waited for has happened: start it if it was the last one."""
        missing = self._missing
        missing[op] -= 1
        if not missing[op]:
            self._start(op)

    def _start(self, op: int) -> None:
        """Everything that ``op`` waited for has happened. Receives that are done at once are passed over in a loop."""
        if self._at_once[op]:
            missing, at_once, follows_previous, finish = self._missing, self._at_once, self._chained, self.finish
            now = self.env._now  # the property costs a twentieth of the run
            while True:
                finish[op] = now
                if self._has_edges:
                    self._release(op)
                op += 1
                if not follows_previous[op]:
                    return
                missing[op] -= 1
                if missing[op]:
                    return
                if not at_once[op]:
                    break
        if self._plain[op]:
            self._occupy(op, self.env._now)
        elif self._in_mailbox(op):
            self._mailboxes[self._mailbox(op)].post(op)
        else:
            self._queue(op)

    def _in_mailbox(self, op: int) -> bool:
        return self.plan.kind[op] == RECEIVE and self._mailbox(op) != NONE

    def _mailbox(self, op: int) -> int:
        return NONE if self.plan.mailbox is None else int(self.plan.mailbox[op])

    def _meet(self, receive: int, send: int) -> None:
        """A receive from anyone has its message."""
        self._match[receive], self._match[send] = send, receive
        self._queue(receive)

    def _queue(self, op: int) -> None:
        """An operation waits for its station, if it has one."""
        station = NONE if self.plan.station is None else self.plan.station.item(op)
        if station != NONE:
            self._stations[station].request(op)
        else:
            self._begin(op)

    def _beginning(self, op: int, now: float) -> float:
        """When an operation begins that could begin now: sends and receives keep their gaps."""
        if self.plan.gap_s is None or self.plan.kind[op] not in (SEND, RECEIVE):
            return now
        return max(now, self._gap_over.get(self._gate(op), 0.0))

    def _gate(self, op: int) -> tuple[bool, int, int]:
        """What a message must pass: the way out or in, of a processor or of a rank that works in order."""
        plan = self.plan
        station = NONE if plan.station is None else int(plan.station[op])
        return bool(plan.kind[op] == SEND), station, int(plan.rank[op]) if station == NONE else NONE

    def _begin(self, op: int) -> None:
        """The operation begins, and its message sets out."""
        begin = self._beginning(op, self.env._now)
        if self.plan.gap_s is not None and self.plan.kind[op] in (SEND, RECEIVE):
            self._gap_over[self._gate(op)] = begin + self.plan.gap_s.item(op)
        if self._travels[op]:
            self._messages.set_out(op, begin)
        elif self._flies[op] and self.plan.flight_s is not None:
            self._at(begin + self.plan.flight_s.item(op), op, self._flown_callbacks)
        if self._early[op]:
            self._at(begin, op, self._begun_callbacks)
        self._occupy(op, begin)

    def _at(self, time: float, op: int, callbacks: Callbacks) -> None:
        tick = Tick(self.env)
        tick.op = op
        tick.at(time, callbacks)

    def _occupy(self, op: int, begin: float) -> None:
        """The operation takes its time."""
        tick = self._spare.pop() if self._spare else Tick(self.env)
        tick.op = op
        tick.callbacks = self._done_callbacks
        self.env.schedule_at(tick, NORMAL, begin + self._duration[op])

    def _begun(self, tick: Tick) -> None:
        self._release(tick.op, early=True)

    def _flown(self, tick: Tick) -> None:
        self._arrived(tick.op)

    def _done(self, tick: Tick) -> None:
        """The operation has taken its time. The hot spot, so ``advance`` is written out."""
        op, missing = tick.op, self._missing
        self._spare.append(tick)
        self.finish[op] = self.env._now
        receive = self._receiver[op]
        if receive >= 0:
            missing[receive] -= 1
            if not missing[receive]:
                self._start(receive)
        elif receive == TO_MAILBOX:
            self._arrived(op)
        if self._has_edges:
            self._release(op)
        op += 1
        if self._chained[op]:
            missing[op] -= 1
            if not missing[op]:
                self._start(op)

    def _turn_away(self, op: int) -> None:
        """The operation found no room at its station, and is done."""
        self._turned_away.append(op)
        self.finish[op] = self.env._now
        self._release(op)
        self._release(op, early=True)
        if self._chained[op + 1]:
            self.advance(op + 1)

    def _arrived(self, send: int) -> None:
        """The message of a send is there."""
        self._arrival[send] = self.env._now
        receive = self._match[send]
        if receive == NONE:
            self._mailboxes[self._mailbox(send)].put(send)
            return
        self._missing[receive] -= 1
        if not self._missing[receive]:
            self._start(receive)

    def _release(self, op: int, early: bool = False) -> None:
        """Operations elsewhere that wait for this one; in a loop, since receives that are done at once release more."""
        edges = self.plan.edges
        if edges is None:
            return
        mine = slice(edges.start[op], edges.start[op + 1])
        self._released += edges.target[mine][edges.early[mine] == early].tolist()
        if self._releasing:
            return
        self._releasing = True
        while self._released:
            self.advance(self._released.pop())
        self._releasing = False

    def log(self) -> Log:
        """What happened."""
        stations: list[Station | Mailbox] = [*self._stations, *self._messages.stations, *self._mailboxes.values()]
        finish = np.array(self.finish)
        arrival = np.where(self._lands, finish, np.nan)
        arrival[list(self._arrival)] = list(self._arrival.values())
        served = np.array([station.served for station in stations], dtype=np.int64)
        blocked = np.array(sorted(self._turned_away), dtype=np.int64)
        return Log(
            finish_s=finish,
            arrival_s=arrival,
            match=np.array(self._match, dtype=np.int32) if self._mailboxes else self.plan.match,
            served=served,
            busy_s=np.array([station.busy_s for station in stations]),
            wait_s=np.array([station.wait_s for station in stations]),
            longest_queue=np.array([station.longest_queue for station in stations], dtype=np.int64),
            refused=refused_by(self.plan, blocked),
            blocked=blocked,
            events=count_events(self.plan, served),
        )


def _given(stations: NDArray[np.int32] | None, plan: Plan) -> NDArray[np.bool_]:
    return np.zeros(len(plan), bool) if stations is None else stations != NONE


def _begin_matters(plan: Plan) -> NDArray[np.bool_]:
    """(N,) operations whose beginning others wait for."""
    if plan.edges is None:
        return np.zeros(len(plan), bool)
    owner = np.repeat(np.arange(len(plan)), np.diff(plan.edges.start))
    return np.bincount(owner[plan.edges.early], minlength=len(plan)) > 0


def _missing(plan: Plan) -> NDArray[np.int64]:
    """How many things every operation waits for: its start or the one before it, its message, and others (edges)."""
    missing: NDArray[np.int64] = 1 + ((plan.kind == RECEIVE) & (plan.match != NONE)).astype(np.int64)
    if plan.edges is not None:
        missing += np.bincount(plan.edges.target, minlength=len(plan))
    return missing
