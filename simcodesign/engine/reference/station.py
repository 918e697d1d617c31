"""A station in SimPy: servers, a queue in the contract's order, and one arbitration event at a time.

A station is never told that a service has ended. It knows when its next server will be free, and wakes up then if
somebody is waiting: one event for every request, however long it waits.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush, heapreplace
from math import inf
from typing import Any

import simpy
from simpy.events import NORMAL, EventPriority

#: What SimPy calls when an event comes: functions of a Tick.
Callbacks = list[Callable[[Any], None]]


class ContractEnvironment(simpy.Environment):
    """An environment that can schedule at an absolute time: ``now + (time - now)`` is not always ``time``.

    SimPy has no public way to do so; this is the body of its ``schedule`` without the addition.
    """

    def schedule_at(self, event: simpy.Event, priority: EventPriority, time: float) -> None:
        """Schedule ``event`` at ``time``, which must not lie in the past."""
        heappush(self._queue, (time, priority, next(self._eid), event))


class Tick(simpy.Event):
    """An event that is scheduled again and again, for whatever operation it serves at the moment."""

    op: int
    env: ContractEnvironment

    def __init__(self, env: ContractEnvironment) -> None:
        super().__init__(env)
        self._ok = True

    def after(self, delay_s: float, callbacks: Callbacks) -> None:
        """Call ``callbacks`` after ``delay_s``."""
        self.callbacks = callbacks
        self.env.schedule(self, NORMAL, delay_s)

    def at(self, time: float, callbacks: Callbacks) -> None:
        """Call ``callbacks`` at ``time``."""
        self.callbacks = callbacks
        self.env.schedule_at(self, NORMAL, time)


class Station:
    """A first-come first-served station. ``grant(op)`` is called when a server takes up operation ``op``, which it
    serves at once, or from ``begin(op, now)`` on."""

    def __init__(
        self,
        env: ContractEnvironment,
        number: int,
        servers: int,
        service_s: list[float],
        grant: Callable[[int], None],
        begin: Callable[[int, float], float] | None = None,
    ) -> None:
        self._env, self._service_s, self._grant, self._begin = env, service_s, grant, begin
        self._priority = EventPriority(2 + number)
        self._free = [0.0] * servers  # when each server is free, a heap
        self._waiting: list[tuple[float, int]] = []  # (arrival time, operation), a heap
        self._tick = Tick(env)
        self._callbacks: Callbacks = [self._arbitrate]
        self._awake = False
        self.served, self.busy_s, self.wait_s, self.longest_queue = 0, 0.0, 0.0, 0

    def request(self, op: int) -> None:
        """Operation ``op`` arrives now."""
        waiting = self._waiting
        heappush(waiting, (self._env._now, op))
        if len(waiting) > self.longest_queue:
            self.longest_queue = len(waiting)
        if not self._awake:
            self._wake()

    def _wake(self) -> None:
        """Arbitrate as soon as a server is free."""
        self._awake = True
        self._tick.callbacks = self._callbacks
        free, now = self._free[0], self._env._now
        self._env.schedule_at(self._tick, self._priority, free if free > now else now)

    def _arbitrate(self, tick: Tick) -> None:
        arrival, op = heappop(self._waiting)
        now, service = self._env._now, self._service_s[op]
        start = now if self._begin is None else self._begin(op, now)
        heapreplace(self._free, start + service)
        self.served += 1
        self.busy_s += service
        self.wait_s += now - arrival
        self._awake = False
        if self._waiting:
            self._wake()
        self._grant(op)


class LimitedStation(Station):
    """A station that has room for so many requests: ``refuse(op)`` is called for one that finds no place."""

    def __init__(
        self,
        env: ContractEnvironment,
        number: int,
        servers: int,
        service_s: list[float],
        grant: Callable[[int], None],
        begin: Callable[[int, float], float] | None,
        room: int,
        refuse: Callable[[int], None],
    ) -> None:
        super().__init__(env, number, servers, service_s, grant, begin)
        self._room, self._refuse = room, refuse
        self._newcomers: list[tuple[float, int]] = []  # still to be judged, a heap
        self._next = inf  # when it arbitrates next

    def request(self, op: int) -> None:
        """Operation ``op`` arrives now, and will be judged in this instant."""
        heappush(self._newcomers, (self._env._now, op))
        self._arbitrate_at(self._env._now)

    def _arbitrate_at(self, time: float) -> None:
        """Arbitrate at ``time``, if not before; what was scheduled for later is passed over when it comes."""
        if time < self._next:
            self._next = time
            tick = Tick(self._env)
            tick.callbacks = self._callbacks
            self._env.schedule_at(tick, self._priority, time)

    def _arbitrate(self, tick: Tick) -> None:
        now = self._env._now
        if now != self._next:
            return
        self._next = inf
        refused = self._judged(now)
        granted = self._granted(now) if self._waiting and self._free[0] <= now else None
        if self._waiting:
            self._arbitrate_at(max(self._free[0], now))
        for op in refused:
            self._refuse(op)
        if granted is not None:
            self._grant(granted)

    def _judged(self, now: float) -> list[int]:
        """Let in those who find a place; the others."""
        refused, serving = [], sum(free > now for free in self._free)
        while self._newcomers:
            newcomer = heappop(self._newcomers)
            if serving + len(self._waiting) < self._room:
                heappush(self._waiting, newcomer)
            else:
                refused.append(newcomer[1])
        self.longest_queue = max(self.longest_queue, len(self._waiting))
        return refused

    def _granted(self, now: float) -> int:
        """Who is next, and is served from now on."""
        arrival, op = heappop(self._waiting)
        service = self._service_s[op]
        heapreplace(self._free, (now if self._begin is None else self._begin(op, now)) + service)
        self.served += 1
        self.busy_s += service
        self.wait_s += now - arrival
        return op


class Mailbox:
    """Where messages for anyone who receives at a rank meet the receives: ``meet(receive, send)``."""

    busy_s = 0.0

    def __init__(self, env: ContractEnvironment, number: int, meet: Callable[[int, int], None]) -> None:
        self._env, self._meet = env, meet
        self._priority = EventPriority(2 + number)
        self._receives: list[tuple[float, int]] = []  # (time posted, operation), a heap
        self._messages: list[tuple[float, int]] = []  # (arrival time, operation), a heap
        self._tick = Tick(env)
        self._callbacks: Callbacks = [self._arbitrate]
        self._awake = False
        self.served, self.wait_s, self.longest_queue = 0, 0.0, 0

    def post(self, receive: int) -> None:
        """A receive waits from now on."""
        heappush(self._receives, (self._env.now, receive))
        self.longest_queue = max(self.longest_queue, len(self._receives))
        self._wake()

    def put(self, send: int) -> None:
        """A message has arrived now."""
        heappush(self._messages, (self._env.now, send))
        self._wake()

    def _wake(self) -> None:
        if not self._awake and self._receives and self._messages:
            self._awake = True
            self._tick.callbacks = self._callbacks
            self._env.schedule_at(self._tick, self._priority, self._env.now)

    def _arbitrate(self, tick: Tick) -> None:
        posted, receive = heappop(self._receives)
        send = heappop(self._messages)[1]
        self.served += 1
        self.wait_s += self._env.now - posted
        self._awake = False
        self._wake()
        self._meet(receive, send)
