"""Messages under way in SimPy: the head of a message visits the stations of its route one after another.

Cut-through: a station is occupied for the whole message, but its head goes on ``head_s`` after it was granted.
Store-and-forward only lengthens that delay (see ``Routes``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

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
        self._inject, self._gap = routes.inject_s.tolist(), routes.gap_s.tolist()
        self._head, self._exit, self._tail = (
            routes.head_s.tolist(),
            routes.exit_s.tolist(),
            routes.tail_s.tolist(),
        )
        self._next = np.where(
            self.travels, routes.start[routes.route], NONE
        ).tolist()  # place on the route, per message
        self._end = np.where(self.travels, routes.start[routes.route + 1] - 1, NONE).tolist()
        self._way = routes.station.tolist()
        self._ticks: dict[int, Tick] = {}
        self._reach_callbacks: Callbacks = [self._reach]
        self._arrive_callbacks: Callbacks = [self._arrive]
        self._make_stations(plan, routes.interface_s.tolist(), routes.link_s.tolist())

    def _make_stations(self, plan: Plan, interface_s: list[float], link_s: list[float]) -> None:
        """Interfaces and links follow the disks in the order of stations."""
        kinds = plan.stations.kind.tolist()
        self._first_station = kinds.count(DISK)
        self._is_link = [kind == LINK for kind in kinds]
        for number, kind in enumerate(kinds[self._first_station :], self._first_station):
            service, grant = (interface_s, self._leave_interface) if kind == INTERFACE else (link_s, self._leave_link)
            self.stations.append(Station(self._env, number, 1, service, grant))

    def set_out(self, op: int) -> None:
        """The send ``op`` begins: its first byte enters the network after the startup."""
        tick = self._ticks[op] = Tick(self._env)
        tick.op = op
        tick.after(self._inject[op], self._reach_callbacks)

    def _reach(self, tick: Tick) -> None:
        """The head of the message is at its next station."""
        op = tick.op
        self.stations[self._way[self._next[op]] - self._first_station].request(op)

    def _leave_interface(self, op: int) -> None:
        tick = self._ticks[op]
        if self._next[op] == self._end[op]:
            tick.after(self._tail[op], self._arrive_callbacks)
            return
        self._next[op] += 1
        tick.after(self._gap[op], self._reach_callbacks)

    def _leave_link(self, op: int) -> None:
        tick, place = self._ticks[op], self._next[op]
        if place == self._end[op]:
            tick.after(self._exit[op], self._arrive_callbacks)
            return
        self._next[op] = place + 1
        onward = self._head if self._is_link[self._way[place + 1]] else self._exit
        tick.after(onward[op], self._reach_callbacks)

    def _arrive(self, tick: Tick) -> None:
        op = tick.op
        del self._ticks[op]
        self.arrival[op] = self._env.now
        self._advance(self._match[op])
