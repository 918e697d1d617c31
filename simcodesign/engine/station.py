"""A station in SimPy: servers, a queue in the contract's order, and one arbitration event at a time.

A station is never told that a service has ended. It knows when its next server will be free, and wakes up then if
somebody is waiting: one event for every request, however long it waits.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush, heapreplace
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

    def __init__(self, env: simpy.Environment) -> None:
        super().__init__(env)
        self._ok = True

    def after(self, delay_s: float, callbacks: Callbacks) -> None:
        """Call ``callbacks`` after ``delay_s``."""
        self.callbacks = callbacks
        self.env.schedule(self, NORMAL, delay_s)


class Station:
    """A first-come first-served station. ``grant(op)`` is called when a server takes up operation ``op``."""

    def __init__(
        self,
        env: ContractEnvironment,
        number: int,
        servers: int,
        service_s: list[float],
        grant: Callable[[int], None],
    ) -> None:
        self._env, self._service_s, self._grant = env, service_s, grant
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
        heappush(waiting, (self._env.now, op))
        if len(waiting) > self.longest_queue:
            self.longest_queue = len(waiting)
        if not self._awake:
            self._wake()

    def _wake(self) -> None:
        """Arbitrate as soon as a server is free."""
        self._awake = True
        self._tick.callbacks = self._callbacks
        self._env.schedule_at(self._tick, self._priority, max(self._free[0], self._env.now))

    def _arbitrate(self, tick: Tick) -> None:
        arrival, op = heappop(self._waiting)
        now, service = self._env.now, self._service_s[op]
        heapreplace(self._free, now + service)
        self.served += 1
        self.busy_s += service
        self.wait_s += now - arrival
        self._awake = False
        if self._waiting:
            self._wake()
        self._grant(op)
