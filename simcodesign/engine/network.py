"""Messages under way in SimPy: head and tail of a message pass the stations of its route (see ``Routes``)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from simpy.events import NORMAL

from simcodesign.engine.station import Callbacks, ContractEnvironment, Station, Tick
from simcodesign.generate.plan import DISK, INTERFACE, LINK, NONE, Plan


class Messages:
    """``advance(receive)`` is called when the last byte of a message has arrived."""

    def __init__(self, env: ContractEnvironment, plan: Plan, advance: Callable[[int], None]) -> None:
        self._env, self._advance = env, advance
        self.stations: list[Station] = []
        self.arrival: list[float] = []
        self.travels = np.zeros(len(plan), bool) if plan.routes is None else plan.routes.route != NONE
        if plan.routes is None:
            return
        routes = plan.routes
        self.arrival = [float("nan")] * len(plan)
        self._match = plan.match.tolist()
        self._inject, self._after_head = routes.inject_s.tolist(), routes.tail_s.tolist()
        self._interface, self._link = routes.interface_s.tolist(), routes.link_s.tolist()
        self._gap, self._latency = routes.gap_s.tolist(), routes.latency_s.tolist()
        self._store_and_forward = routes.store_and_forward
        self._tail = [0.0] * len(plan)  # when the last byte has passed the station that the head was at last
        self._next = np.where(
            self.travels, routes.start[routes.route], NONE
        ).tolist()  # place on the route, per message
        self._end = np.where(self.travels, routes.start[routes.route + 1] - 1, NONE).tolist()
        self._way = routes.station.tolist()
        self._ticks: dict[int, Tick] = {}
        self._reach_callbacks: Callbacks = [self._reach]
        self._arrive_callbacks: Callbacks = [self._arrive]
        self._make_stations(plan)

    def _make_stations(self, plan: Plan) -> None:
        """Interfaces and links follow the disks in the order of stations."""
        kinds = plan.stations.kind.tolist()
        self._first_station = kinds.count(DISK)
        self._is_link = [kind == LINK for kind in kinds]
        for number, kind in enumerate(kinds[self._first_station :], self._first_station):
            at_interface = kind == INTERFACE
            service = self._interface if at_interface else self._link
            grant = self._leave_interface if at_interface else self._leave_link
            self.stations.append(Station(self._env, number, 1, service, grant))

    def set_out(self, op: int) -> None:
        """The send ``op`` begins: its first byte enters the network after the startup."""
        tick = self._ticks[op] = Tick(self._env)
        tick.op = op
        tick.after(self._inject[op], self._reach_callbacks)
        self._tail[op] = self._env.now + self._inject[op] + self._after_head[op]

    def _reach(self, tick: Tick) -> None:
        """The head of the message is at its next station."""
        op = tick.op
        self.stations[self._way[self._next[op]] - self._first_station].request(op)

    def _leave_interface(self, op: int) -> None:
        self._tail[op] = max(self._tail[op], self._env.now + self._interface[op])
        if self._next[op] == self._end[op]:
            self._at(self._tail[op], op, self._arrive_callbacks)
            return
        self._next[op] += 1
        self._tail[op] += self._gap[op]
        self._ticks[op].after(self._gap[op], self._reach_callbacks)

    def _leave_link(self, op: int) -> None:
        place = self._next[op]
        tail = self._tail[op] = max(self._tail[op], self._env.now + self._link[op]) + self._latency[op]
        if place == self._end[op]:
            self._at(tail, op, self._arrive_callbacks)
            return
        self._next[op] = place + 1
        if self._store_and_forward and self._is_link[self._way[place + 1]]:
            self._at(tail, op, self._reach_callbacks)
        else:
            self._ticks[op].after(self._latency[op], self._reach_callbacks)

    def _at(self, time: float, op: int, callbacks: Callbacks) -> None:
        tick = self._ticks[op]
        tick.callbacks = callbacks
        self._env.schedule_at(tick, NORMAL, time)

    def _arrive(self, tick: Tick) -> None:
        op = tick.op
        del self._ticks[op]
        self.arrival[op] = self._env.now
        self._advance(self._match[op])
