"""Messages under way in SimPy: head and tail of a message pass the stations of its route (see ``Routes``)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simcodesign.engine.reference.station import Callbacks, ContractEnvironment, Station, Tick
from simcodesign.generate.plan import INTERFACE, LINK, NONE, Plan


class Messages:
    """``arrived(send)`` is called when the last byte of a message that travels has arrived."""

    def __init__(self, env: ContractEnvironment, plan: Plan, arrived: Callable[[int], None]) -> None:
        self._env, self._arrived = env, arrived
        self.stations: list[Station] = []
        self.travels = np.zeros(len(plan), bool) if plan.routes is None else plan.routes.route != NONE
        if plan.routes is None:
            return
        routes = plan.routes
        cost = np.where(self.travels, routes.cost, 0)
        self._inject, self._after_head = routes.inject_s[cost].tolist(), routes.tail_s[cost].tolist()
        self._interface, self._link = routes.interface_s[cost].tolist(), routes.link_s[cost].tolist()
        self._gap, self._latency = routes.gap_s[cost].tolist(), routes.latency_s[cost].tolist()
        self._store_and_forward = routes.store_and_forward
        self._tail = [0.0] * len(plan)  # when the last byte has passed the station that the head was at last
        route = np.where(self.travels, routes.route, 0)
        self._next = routes.start[route].tolist()  # place on the route, per message
        self._end = (routes.start[route + 1] - 1).tolist()
        self._way = routes.station.tolist()
        self._ticks: dict[int, Tick] = {}
        self._reach_callbacks: Callbacks = [self._reach]
        self._arrive_callbacks: Callbacks = [self._arrive]
        self._make_stations(plan)

    def _make_stations(self, plan: Plan) -> None:
        """Interfaces and links follow the disks and processors in the order of stations."""
        kinds = plan.stations.kind.tolist()
        self._is_link = [kind == LINK for kind in kinds]
        factors = plan.stations.service_factor
        self._factor = [1.0] * len(kinds) if factors is None else factors.tolist()
        mine = [number for number, kind in enumerate(kinds) if kind in (INTERFACE, LINK)]
        self._first_station = mine[0]
        for number in mine:
            service = self._link if self._is_link[number] else self._interface
            if self._factor[number] != 1:
                service = [service_s * self._factor[number] for service_s in service]
            grant = self._leave_link if self._is_link[number] else self._leave_interface
            self.stations.append(Station(self._env, number, 1, service, grant))

    def set_out(self, op: int, begin: float) -> None:
        """The send ``op`` begins: its first byte enters the network after the startup."""
        tick = self._ticks[op] = Tick(self._env)
        tick.op = op
        head = begin + self._inject[op]
        tick.at(head, self._reach_callbacks)
        self._tail[op] = head + self._after_head[op]

    def _reach(self, tick: Tick) -> None:
        """The head of the message is at its next station."""
        op = tick.op
        self.stations[self._way[self._next[op]] - self._first_station].request(op)

    def _leave_interface(self, op: int) -> None:
        service_s = self._interface[op] * self._factor[self._way[self._next[op]]]
        self._tail[op] = max(self._tail[op], self._env.now + service_s)
        if self._next[op] == self._end[op]:
            self._ticks[op].at(self._tail[op], self._arrive_callbacks)
            return
        self._next[op] += 1
        self._tail[op] += self._gap[op]
        self._ticks[op].after(self._gap[op], self._reach_callbacks)

    def _leave_link(self, op: int) -> None:
        place = self._next[op]
        service_s = self._link[op] * self._factor[self._way[place]]
        tail = self._tail[op] = max(self._tail[op], self._env.now + service_s) + self._latency[op]
        if place == self._end[op]:
            self._ticks[op].at(tail, self._arrive_callbacks)
            return
        self._next[op] = place + 1
        if self._store_and_forward and self._is_link[self._way[place + 1]]:
            self._ticks[op].at(tail, self._reach_callbacks)
        else:
            self._ticks[op].after(self._latency[op], self._reach_callbacks)

    def _arrive(self, tick: Tick) -> None:
        del self._ticks[tick.op]
        self._arrived(tick.op)
