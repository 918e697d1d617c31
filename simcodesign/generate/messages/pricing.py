"""Prices for columns of operations: how long each takes, and the route of its message, on a variant of the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.operation_kinds import RECEIVE, SEND
from simcodesign.describe.demands.base import ONE
from simcodesign.describe.demands.exchange import Exchange
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.machine import Machine
from simcodesign.describe.programs.program import placed_demands, with_phase
from simcodesign.generate.columns import BETWEEN_NODES, WITHIN_NODES, Column
from simcodesign.generate.messages.cost_model import (
    arrival_s,
    between_s,
    modelled_hops,
    receive_s,
    send_s,
    spread_s,
)
from simcodesign.generate.messages.route_choice import RouteChoice
from simcodesign.generate.messages.routes_and_stations import RouteTable
from simcodesign.generate.messages.way import Way, Ways, slowest


class MessagePricing:
    """What messages cost on a machine with these effects, whose constants the blocks of a program may replace.

    ``route_table`` is None unless stations are shared on the way; ``loggops``: messages cost what they do in LogGOPSim;
    ``has_rendezvous``: some senders may have to wait for their receivers.
    """

    def __init__(self, point: DesignPoint, effects: frozenset[str], seed: int) -> None:
        machine = point.machine
        self._choice = RouteChoice(machine.network, seed)
        self._machine, self._ranks, self._effects = machine, point.ranks, effects
        self._law = modelled_hops(machine, point.ranks)
        self._counted = bool(effects & {"hops", "links"})
        self.loggops = point.has_loggops
        self._flies = self.loggops or not machine.network.flight_holds_sender
        self.has_rendezvous = _has_rendezvous(point)
        steps = [step for _, step in with_phase(point.workload.program)]
        self._trains = any(isinstance(step, Exchange) and step.train != ONE for step in steps)
        self._variants: list[Machine] = []

    @cached_property
    def route_table(self) -> RouteTable | None:
        """The routes of the messages, None if they share no stations."""
        shared = bool(self._effects & {"links", "interfaces"})
        return RouteTable(self._machine, self.node_of, self._effects, self._choice) if shared else None

    @property
    def names(self) -> tuple[str, ...]:
        """The extra fields that operations need."""
        routed = ("route", "cost") if self.route_table else ()
        flies = ("flight_s",) if self._flies else ()
        loggops = ("gap_s", "until", "variant", "receive_s", "spread_s", "rendezvous") if self.loggops else ()
        rendezvous = ("until", "rendezvous") if self.has_rendezvous and not self.loggops else ()
        return routed + flies + loggops + rendezvous + (("train",) if self._trains else ())

    @cached_property
    def _ways(self) -> Ways:
        return Ways(self._machine, self._ranks, self._choice)

    @property
    def node_of(self) -> NDArray[np.int64]:
        """Node of every rank."""
        return self._ways.node

    def priced(self, columns: Sequence[Column], machine: Machine, is_collective: bool = False) -> list[Column]:
        """The columns with their durations, and with their routes and gaps where there are any."""
        priced: list[Column] = []
        ways = self._ways_alike(columns, machine, is_collective)
        for number, column in enumerate(columns):
            if column.kind not in (SEND, RECEIVE):
                priced.append(column)
            elif number and column.costs_as(columns[number - 1]):
                priced.append(replace(column, duration_s=priced[-1].duration_s, extra=priced[-1].extra))
            elif column.kind == SEND:
                priced.append(self._send(column, machine, ways.get(column.alike)))
            else:
                priced.append(self._receive(column, machine))
        return priced

    def _receive(self, column: Column, machine: Machine) -> Column:
        size = column.size_bytes
        extra: dict[str, Any] = {}
        if self.loggops:
            gap = np.where(np.isnan(size), np.nan, between_s(machine, size))
            extra = {"gap_s": gap, "variant": self._variant(machine)}
        return replace(column, duration_s=receive_s(machine, size), extra=extra)

    def _send(self, column: Column, machine: Machine, way: Way | None) -> Column:
        """``way``: where it is not that of each message."""
        way, train = self._way(column, machine) if way is None else way, column.train
        size = column.size_bytes / train
        extra: dict[str, Any] = {"train": train} if self._trains else {}
        if self._flies:
            extra["flight_s"] = arrival_s(machine, way, size, train)
        if self.loggops:
            extra |= {"gap_s": between_s(machine, size), "receive_s": receive_s(machine, size)}
            extra["spread_s"] = spread_s(machine, size)
        if self.loggops or self.has_rendezvous:
            most = machine.network.rendezvous_above_bytes
            extra["rendezvous"] = False if most is None else np.asarray(size) > most
        if self.route_table:
            cost = self.route_table.cost_of(machine, way, size, train)
            extra |= {"route": self.route_table.routes_of(column), "cost": cost}
        return replace(column, duration_s=send_s(machine, way, size, train), extra=extra)

    def _ways_alike(self, columns: Sequence[Column], machine: Machine, is_collective: bool) -> dict[int | None, Way]:
        """The ways that messages of a step have in common, by ``Column.alike``; none where each has its own."""
        if self._counted:
            return {}
        if is_collective or not machine.network.paths_differ:
            every: dict[int | None, Way] = dict.fromkeys(
                {column.alike for column in columns}, self._of_anybody(machine)
            )
            if is_collective and machine.network.node is not None:
                every[WITHIN_NODES] = self._ways.within_nodes(machine.network.node, machine.network.socket)
                every[BETWEEN_NODES] = Way.of_hops(machine.network, self._law)
            return every
        ways: dict[int | None, list[Way]] = {}
        for column in columns:
            if column.alike is not None and column.kind == SEND:
                ways.setdefault(column.alike, []).append(self._way(column, machine))
        return {alike: slowest(several) for alike, several in ways.items()}

    def _of_anybody(self, machine: Machine) -> Way:
        """The way that no message exceeds. Ranks are not looked at where messages within nodes cost what others do."""
        network = machine.network
        return Way.of_hops(network, self._law) if network.node is None else self._ways.of_anybody(machine, self._law)

    def _way(self, column: Column, machine: Machine) -> Way:
        """The way of every message: counted on its route, without hops on the same node; or by the law over it."""
        who = np.arange(self._ranks) if column.who is None else column.who
        source, target = (ranks.astype(np.int64) for ranks in np.broadcast_arrays(who, np.asarray(column.peer)))
        if self._counted:
            return self._ways.counted(machine.network, source, target)
        return self._ways.by_law(machine.network, self._law, source, target)

    def _variant(self, machine: Machine) -> int:
        """Number of a variant of the machine; each comes many times in a row."""
        if not self._variants or self._variants[-1] is not machine:
            self._variants.append(machine)
        return len(self._variants) - 1

    def price_receives(self, fields: Mapping[str, NDArray[Any]], place: Place) -> None:
        """Receives whose size was not known before their messages were, in place. InputError if it still is not."""
        if not self.loggops:
            return
        receives = np.flatnonzero((fields["kind"] == RECEIVE) & np.isnan(fields["gap_s"]))
        if np.isnan(fields["size_bytes"][receives]).any():
            what = "messages of several sizes may come to a receive from anyone that states no size"
            raise InputError(what, place, allowed="bytes, on which the time of a receive depends in LogGOPS")
        variants = fields["variant"][receives]
        for number in np.unique(variants):
            mine = receives[variants == number]
            machine, size = self._variants[number], fields["size_bytes"][mine]
            fields["duration_s"][mine] = receive_s(machine, size)
            fields["gap_s"][mine] = between_s(machine, size)


def _has_rendezvous(point: DesignPoint) -> bool:
    """Whether the machine, or a block of the program, says above which size senders wait for their receivers."""
    if point.machine.network.rendezvous_above_bytes is not None:
        return True
    return any("network.S" in placed.constants for placed in placed_demands(point.workload.program))
