"""The readable engine: a Plan walked with SimPy under the event contract.

Every operation that takes time is one event. A receive takes none of its own: it is done when its rank has come to it
and its message has arrived. A message that shares nothing on its way arrives when its sender is done with it; one that
does (``Routes``) is an event at every station that its head reaches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from simpy.core import EmptySchedule
from simpy.events import NORMAL

from simcodesign.engine.contract import Log, Progress, check_finished
from simcodesign.engine.network import Messages
from simcodesign.engine.station import Callbacks, ContractEnvironment, Station, Tick
from simcodesign.generate.plan import DISK, NONE, Plan
from simcodesign.result import RECEIVE, SEND

#: Events between two reports of progress.
REPORT_EVERY = 20_000


def run(plan: Plan, progress: Progress | None = None) -> Log:
    """Walk the Plan to its end. DeadlockError when ranks wait for each other."""
    walk = Walk(plan)
    events = walk.run(progress)
    check_finished(plan, walk.finish)
    return walk.log(events)


class Walk:
    """The ranks on their way through the Plan. Lists, not arrays: single items are several times as quick to read."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.env = plan, ContractEnvironment()
        self.finish = [float("nan")] * len(plan)
        self._duration = plan.duration_s.tolist()
        self._chained = plan.chained.tolist()
        self._missing = _missing(plan).tolist()
        self._at_once = ((plan.kind == RECEIVE) & (plan.duration_s == 0)).tolist()
        self._extra = plan.extra_target is not None
        self._released: list[int] = []
        self._releasing = False
        self._messages = Messages(self.env, plan, self.advance)
        travels = self._messages.travels
        self._queues = ((plan.station != NONE) | travels).tolist()
        self._receiver = np.where((plan.kind == SEND) & ~travels, plan.match, NONE).tolist()
        self._disks = self._make_disks()
        self._spare: list[Tick] = []
        self._done_callbacks: Callbacks = [self._done]

    def _make_disks(self) -> list[Station]:
        """Disks are the first stations."""
        servers = self.plan.stations.servers[self.plan.stations.kind == DISK].tolist()
        return [Station(self.env, number, count, self._duration, self._occupy) for number, count in enumerate(servers)]

    def run(self, progress: Progress | None) -> int:
        """Start every rank and process all events, with a look at the clock in between; number of events."""
        for op in np.flatnonzero(~self.plan.chained[:-1]).tolist():
            self.advance(op)
        step, rounds, count = self.env.step, 0, 0
        try:
            while True:
                for count in range(REPORT_EVERY):  # noqa: B007 - the count at which the events end
                    step()
                rounds += 1
                if progress is not None:
                    progress(self.env.now, rounds * REPORT_EVERY)
        except EmptySchedule:
            return rounds * REPORT_EVERY + count

    def advance(self, op: int) -> None:
        """One thing that operation ``op`` waited for has happened: start it if it was the last one."""
        missing = self._missing
        missing[op] -= 1
        if not missing[op]:
            self._start(op)

    def _start(self, op: int) -> None:
        """Everything that ``op`` waited for has happened. Receives that are done at once are passed over in a loop."""
        if self._at_once[op]:
            missing, at_once, chained, finish = self._missing, self._at_once, self._chained, self.finish
            now = self.env._now  # the property costs a twentieth of the run
            while True:
                finish[op] = now
                if self._extra:
                    self._release(op)
                op += 1
                if not chained[op]:
                    return
                missing[op] -= 1
                if missing[op]:
                    return
                if not at_once[op]:
                    break
        if self._queues[op]:
            self._queue(op)
        else:
            self._occupy(op)

    def _queue(self, op: int) -> None:
        """An access waits for its disk; a send takes its own time, while its message sets out."""
        station = self.plan.station.item(op)
        if station != NONE:
            self._disks[station].request(op)
        else:
            self._messages.set_out(op)
            self._occupy(op)

    def _occupy(self, op: int) -> None:
        """The operation takes its time from now on."""
        tick = self._spare.pop() if self._spare else Tick(self.env)
        tick.op = op
        tick.callbacks = self._done_callbacks
        self.env.schedule(tick, NORMAL, self._duration[op])

    def _done(self, tick: Tick) -> None:
        """The operation has taken its time. The hot spot, so ``advance`` is written out twice."""
        op, missing = tick.op, self._missing
        self._spare.append(tick)
        self.finish[op] = self.env._now
        receive = self._receiver[op]
        if receive != NONE:
            missing[receive] -= 1
            if not missing[receive]:
                self._start(receive)
        if self._extra:
            self._release(op)
        op += 1
        if self._chained[op]:
            missing[op] -= 1
            if not missing[op]:
                self._start(op)

    def _release(self, op: int) -> None:
        """Operations elsewhere that wait for this one; in a loop, since receives that are done at once release more."""
        start, target = self.plan.extra_start, self.plan.extra_target
        if start is None or target is None:
            return
        self._released += target[start[op] : start[op + 1]].tolist()
        if self._releasing:
            return
        self._releasing = True
        while self._released:
            self.advance(self._released.pop())
        self._releasing = False

    def log(self, events: int) -> Log:
        """What happened."""
        finish = np.array(self.finish)
        arrival = np.where(self.plan.kind == SEND, finish, np.nan)
        if self.plan.routes is not None:
            arrival = np.where(self._messages.travels, np.array(self._messages.arrival), arrival)
        stations = [*self._disks, *self._messages.stations]
        return Log(
            finish_s=finish,
            arrival_s=arrival,
            served=np.array([station.served for station in stations], dtype=np.int64),
            busy_s=np.array([station.busy_s for station in stations]),
            wait_s=np.array([station.wait_s for station in stations]),
            longest_queue=np.array([station.longest_queue for station in stations], dtype=np.int64),
            events=events,
        )


def _missing(plan: Plan) -> NDArray[np.int64]:
    """How many things every operation waits for: its start or the one before it, its message, and extra ones."""
    missing: NDArray[np.int64] = 1 + (plan.kind == RECEIVE).astype(np.int64)
    if plan.extra_target is not None:
        missing += np.bincount(plan.extra_target, minlength=len(plan))
    return missing
