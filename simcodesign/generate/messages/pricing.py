"""Prices for columns of operations: how long each takes, and the route of its message, on a variant of the machine."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.operation_kinds import HELD, RECEIVE, SEND
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import ONE, Demand
from simcodesign.describe.demands.collective import ALGORITHM_SENDS
from simcodesign.describe.demands.exchange import Exchange
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.effects import Mechanism
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.levels import PATHS
from simcodesign.describe.network.network import Network
from simcodesign.describe.programs.program import Step, placed_demands, with_phase
from simcodesign.describe.python_programs.recorded_program import RecordedProgram
from simcodesign.generate.columns import Column
from simcodesign.generate.messages.constants_by_size import has_rendezvous
from simcodesign.generate.messages.levels import LevelWay, LevelWays, longest, slowest_of_levels
from simcodesign.generate.messages.message_models.base import modelled_hops, simulated
from simcodesign.generate.messages.route_table import RouteTable
from simcodesign.generate.messages.routing.route_choice import route_choice
from simcodesign.generate.messages.way import Way, Ways, by_law

#: Route of messages for which it does not matter.
NO_WAY = Way(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]


class MessagePricing:
    """Costs of messages on a machine with these effects, whose constants the blocks of a program may replace.

    ``route_table`` is None unless stations are shared on routes; ``loggops``: messages cost what they do in LogGOPSim;
    ``has_rendezvous``: some senders may have to wait for their receivers.
    """

    def __init__(self, point: DesignPoint, on: frozenset[Mechanism], seed: int) -> None:
        machine = point.machine
        self._choice = route_choice(machine.network, seed)
        self._machine, self._ranks, self._on = machine, point.ranks, on
        self._law = modelled_hops(machine.network, point.ranks)
        self._counted = Mechanism.OWN_ROUTES in on
        self._levels = LevelWays(machine, point.ranks, self._choice, seed) if machine.has_levels else None
        self.loggops = point.has_loggops
        model, steps = machine.network.message_model, [step for _, step in with_phase(point.workload.program)]
        models = [model, *(model.sending(sends) for sends in _words_of_sends(steps))]
        self._flies = self.loggops or not all(one.flight_holds_sender for one in models)
        self._holds_differ = any(one is not model for one in models)
        self._uses_differ = any(tuning.interfaces for tuning in machine.network.tunings.values())
        self.has_rendezvous = _has_rendezvous(point)
        self.loads_memory = machine.node_memory is not None and Mechanism.NODE_NETWORKS in on
        self._receives_by_size = any(network.message_model.receives_by_size for network in machine.levels)
        self._holds = np.array([network.message_model.holds_both_ends for network in machine.levels])
        self.holds_receivers = bool(self._holds.any()) and not self.loggops
        self._trains = any(isinstance(step, Exchange) and step.train != ONE for step in steps)
        self._variants: list[Machine] = []
        self._numbers: dict[int, int] = {}  # by identity

    @cached_property
    def route_table(self) -> RouteTable | None:
        """The routes of the messages, None if they share no stations."""
        shared = self._on & {Mechanism.LINKS, Mechanism.INTERFACES}
        if not shared and (self._levels is None or Mechanism.NODE_NETWORKS not in self._on):
            return None
        return RouteTable(self._machine, self.node_of, self._on, self._choice, self._levels)

    def again(self) -> MessagePricing:
        """Return the prices with a table of routes of their own, which may grow without this one's."""
        prices = copy(self)
        if self.route_table is not None:
            prices.__dict__["route_table"] = self.route_table.copied()
        return prices

    @property
    def waits_for_receivers(self) -> bool:
        """Whether an operation of its own waits for the receiver of a message in Hockney's model."""
        return self.has_rendezvous and not self.loggops

    @property
    def names(self) -> tuple[str, ...]:
        """The extra fields that operations need."""
        routed = ("route", "cost") if self.route_table else ()
        used = ("interfaces",) if routed and self._uses_differ else ()
        flies = ("flight_s",) if self._flies else ()
        loggops = ("gap_s", "until", "variant", "receive_s", "spread_s", "rendezvous") if self.loggops else ()
        rendezvous = ("until", "rendezvous") if self.waits_for_receivers else ()
        held = ("holds",) if self._holds_differ else ()
        sized = ("variant",) if (self._receives_by_size or self.holds_receivers) and not self.loggops else ()
        return routed + used + flies + loggops + rendezvous + held + sized + (("train",) if self._trains else ())

    @cached_property
    def _ways(self) -> Ways:
        return Ways(self._machine, self._ranks, self._choice)

    @property
    def node_of(self) -> NDArray[np.int64]:
        """Node of every rank."""
        return self._ways.node

    def priced(self, columns: Sequence[Column], machine: Machine, is_collective: bool = False) -> list[Column]:
        """Return the columns with their durations, and with their routes and gaps if there are any."""
        priced: list[Column] = []
        ways_of = self._ways_alike(columns, machine, is_collective)
        by_size = self._levels is None and self.route_table is None and self._go_by_size(machine, is_collective)
        of_size: dict[tuple[int, FloatOrArray, int], Column] = {}  # one of each kind, size and train
        for number, column in enumerate(columns):
            if column.kind not in (SEND, RECEIVE):
                priced.append(column)
                continue
            if column.ends is not None:
                priced.append(self._between_ends(column, machine))
                continue
            costs = (column.kind, column.size_bytes, column.train)
            is_one_size = by_size and not np.ndim(column.size_bytes)
            if is_one_size and costs in of_size:
                priced.append(_priced_as(of_size[costs], column))
            elif number and column.costs_as(columns[number - 1]):
                priced.append(_priced_as(priced[-1], column))
            elif column.kind == SEND:
                priced.append(self._send(column, machine, ways_of(column)))
            else:
                held_s = self._held_s(column, machine, ways_of) if self.holds_receivers else 0.0
                priced.append(self._receive(column, machine, held_s))
            if is_one_size:
                of_size[costs] = priced[-1]
        return priced

    def _held_s(
        self, column: Column, machine: Machine, ways_of: Callable[[Column], Sequence[LevelWay] | None]
    ) -> FloatOrArray:
        """Return for how long the messages that a column receives hold their receivers.

        As long as their senders, on levels if they do. NaN if the size or the sender is known only when a message is.
        """
        assert self._levels is not None
        source, target = self._ends(column.who, column.peer)
        size_bytes = np.broadcast_to(np.asarray(column.size_bytes, dtype=np.float64), source.shape)
        known = source >= 0
        holds = ~known | self._holds[self._levels.level_of(np.where(known, source, target), target)]
        held_s = np.where(holds, np.nan, 0.0)
        here = holds & known & ~np.isnan(size_bytes)
        if here.any():
            who, peer = source[here].astype(np.int32), target[here].astype(np.int32)
            size = column.size_bytes if np.ndim(column.size_bytes) == 0 else size_bytes[here]
            sends = Column(SEND, who, peer, size, train=column.train, alike=column.alike)
            held_s[here] = self._sent_s(sends, machine, ways_of(sends))
        return held_s if holds.any() else 0.0

    def _sent_s(self, column: Column, machine: Machine, ways: Sequence[LevelWay] | None) -> FloatOrArray:
        """For how long messages hold their senders."""
        ways, train, size = self._ways_of(column, machine) if ways is None else ways, column.train, _each_bytes(column)
        sent_s: FloatOrArray = longest(ways, lambda network, way: simulated(network).send_s(network, way, size, train))
        return sent_s

    def _receive(self, column: Column, machine: Machine, held_s: FloatOrArray) -> Column:
        size = column.size_bytes
        extra: dict[str, Any] = {}
        ways = self._ways_of_receives(machine, column.who, column.peer)
        if self.loggops:
            gap = np.where(
                np.isnan(size), np.nan, longest(ways, lambda network, way: simulated(network).between_s(network, size))
            )
            extra["gap_s"] = gap
        if "variant" in self.names:
            extra["variant"] = self._variant(machine)
        return replace(
            column,
            duration_s=longest(ways, lambda network, way: simulated(network).receive_s(network, size)),
            extra=extra,
            held_s=held_s,
        )

    def _ways_of_receives(self, machine: Machine, who: Int32s | None, peer: Int32s | int) -> Sequence[LevelWay]:
        """Return the levels of messages that ranks receive; any level for those from anyone."""
        if self._levels is None:
            return [LevelWay(0, machine.network, NO_WAY)]
        source, target = self._ends(who, peer)
        known = source >= 0
        level = self._levels.level_of(np.where(known, source, target), target)
        every = [
            LevelWay(number, network, NO_WAY, (level == number) | ~known)
            for number, network in enumerate(machine.levels)
        ]
        return [one for one in every if np.any(one.here)]

    def _send(self, column: Column, machine: Machine, ways: Sequence[LevelWay] | None, route: bool = True) -> Column:
        """``ways``: if they are not each message's own. ``route``: whether its route is the route of its ranks."""
        ways, train, size = self._ways_of(column, machine) if ways is None else ways, column.train, _each_bytes(column)
        extra: dict[str, Any] = {"train": train} if self._trains else {}
        if self._flies:
            extra["flight_s"] = longest(
                ways, lambda network, way: simulated(network).arrival_s(network, way, size, train)
            )
        if self.loggops:
            extra["gap_s"] = longest(ways, lambda network, way: simulated(network).between_s(network, size))
            extra["receive_s"] = longest(ways, lambda network, way: simulated(network).receive_s(network, size))
            extra["spread_s"] = longest(ways, lambda network, way: simulated(network).spread_s(network, size))
        if self.loggops or self.has_rendezvous:
            extra["rendezvous"] = longest(ways, lambda network, way: has_rendezvous(network.message_model, size))
        if self._holds_differ:
            extra["holds"] = machine.network.message_model.bytes_hold_sender
        if self.route_table:
            if route:
                cost = self._cost(column, machine, ways, size)
                extra |= {"route": self.route_table.routes_of(column), "cost": cost}
            if self._uses_differ:
                extra["interfaces"] = machine.network.interfaces.used or machine.network.interfaces.count
        return replace(
            column,
            duration_s=longest(ways, lambda network, way: simulated(network).send_s(network, way, size, train)),
            extra=extra,
        )

    def _cost(self, column: Column, machine: Machine, ways: Sequence[LevelWay], size: FloatOrArray) -> Int32s | int:
        """Return the row of costs of every message, by its own level."""
        assert self.route_table is not None
        if self._levels is None:
            return self.route_table.costs.row_of(ways[0], ways[0].way, size, column.train)
        source, target = self._ends(column.who, column.peer)[::-1]
        level = self._levels.level_of(source, target)
        memory_s = self.route_table.memory_s_per_byte(machine, source, target, column.in_memory)
        cost = np.zeros(level.shape, np.int32)
        for one in ways:
            here = level == one.number
            each = size if np.ndim(size) == 0 else np.broadcast_to(size, here.shape)[here]
            if here.any():
                own_s = memory_s if np.ndim(memory_s) == 0 else np.asarray(memory_s)[here]
                cost[here] = self.route_table.costs.row_of(one, one.of(here), each, column.train, own_s)
        return cost

    def _ends(self, who: Int32s | None, peer: Int32s | int) -> tuple[Int64s, Int64s]:
        """Return the peers and the ranks of a column, as many of each."""
        ranks = np.arange(self._ranks) if who is None else who
        others, own = (np.asarray(side, dtype=np.int64) for side in np.broadcast_arrays(np.asarray(peer), ranks))
        return others, own

    def _between_ends(self, column: Column, machine: Machine) -> Column:
        """Messages between nodes of which one has no rank that sends or receives: their rank waits for them itself."""
        assert column.ends is not None
        network, size = machine.network, column.size_bytes
        if column.kind == RECEIVE:
            extra: dict[str, Any] = {**column.extra} | (
                {"variant": self._variant(machine)} if "variant" in self.names else {}
            )
            return replace(column, duration_s=simulated(network).receive_s(network, size), extra=extra)
        way = self._ways.between_nodes(network, *column.ends, size)
        way = way if self._counted else by_law(way, self._law)
        at = [LevelWay(0, network, way)]
        sent = self._send(replace(column, ends=None, extra={}), machine, at, route=False)
        extra = {**column.extra, **sent.extra}
        if self.has_rendezvous:
            extra["rendezvous"] = False
        if self.route_table:
            extra["route"] = self.route_table.number(*column.ends)
            extra["cost"] = self.route_table.costs.row_of(at[0], way, size)
        return replace(column, duration_s=sent.duration_s, extra=extra)

    def between_nodes(
        self, machine: Machine, source: Int64s, target: Int64s, size_bytes: float
    ) -> tuple[Int32s, Int32s]:
        """Return the route and the row of costs of messages between nodes, from any sender; shapes (n,)."""
        assert self.route_table is not None
        way = self._ways.between_nodes(machine.network, source, target, size_bytes)
        row = self.route_table.costs.row_of(LevelWay(0, machine.network, way), way, size_bytes)
        cost = np.broadcast_to(row, len(source)).astype(np.int32)
        return self.route_table.number(source, target), cost

    def _ways_alike(
        self, columns: Sequence[Column], machine: Machine, is_collective: bool
    ) -> Callable[[Column], Sequence[LevelWay] | None]:
        """Return the ways that messages of a column have in common with others, by ``Column.alike``.

        None if each has its own.
        """
        if self._counted:
            return lambda column: None
        if is_collective and (self._levels is not None or machine.network.node is not None):
            return lambda column: self._by_level(column, machine)
        if machine.costs_by_level:
            return lambda column: None if column.alike is None else self._by_level(column, machine)
        if self._go_by_size(machine, is_collective):
            return self._ways_by_size(machine.network)
        ways: dict[int | None, list[Sequence[LevelWay]]] = {}
        for column in columns:
            if column.alike is not None and column.kind == SEND:
                ways.setdefault(column.alike, []).append(self._ways_of(column, machine))
        slowest = {alike: slowest_of_levels(several) for alike, several in ways.items()}
        return lambda column: slowest.get(column.alike)

    def _go_by_size(self, machine: Machine, is_collective: bool) -> bool:
        """Whether the routes of messages depend on their sizes alone, not on their ranks."""
        several = self._levels is not None or machine.network.node is not None
        if self._counted or machine.costs_by_level or (is_collective and several):
            return False
        return is_collective or not machine.paths_differ

    def _ways_by_size(self, network: Network) -> Callable[[Column], Sequence[LevelWay]]:
        """Return the routes of messages whose ranks are not looked at: routes that no message of this size exceeds."""
        known = dict[FloatOrArray, Sequence[LevelWay]]()

        def ways_of(column: Column) -> Sequence[LevelWay]:
            size = _each_bytes(column) if network.has_segments else 0.0
            if np.ndim(size):
                return [LevelWay(0, network, Way.of_hops(network, self._law, size))]
            if size not in known:
                known[size] = [LevelWay(0, network, Way.of_hops(network, self._law, size))]
            return known[size]

        return ways_of

    def _by_level(self, column: Column, machine: Machine) -> Sequence[LevelWay]:
        """Return the way of every message that none between ranks on its level exceeds."""
        target, source = self._ends(column.who, column.peer)
        size = _each_bytes(column)
        if self._levels is not None:
            return self._levels.of_pairs(machine, source, target, size)
        network = machine.network
        return [LevelWay(0, network, self._ways.of_levels(network, self._law, source, target, size))]

    def _ways_of(self, column: Column, machine: Machine) -> Sequence[LevelWay]:
        """Return the way of every message: counted on its route, without hops on the same node.

        With a law of distances, it is counted by the law.
        """
        target, source = self._ends(column.who, column.peer)
        size = _each_bytes(column)
        if self._levels is not None:
            return self._levels.of_messages(machine, source, target, size, self._counted)
        if self._counted:
            way = self._ways.counted(machine.network, source, target, size)
        else:
            way = self._ways.by_law(machine.network, self._law, source, target, size)
        return [LevelWay(0, machine.network, way)]

    def _variant(self, machine: Machine) -> int:
        """Return the number of a variant of the machine, which is the same object whenever it comes."""
        number = self._numbers.setdefault(id(machine), len(self._variants))
        if number == len(self._variants):
            self._variants.append(machine)
        return number

    def price_receives(self, fields: Mapping[str, NDArray[Any]], rank: Int32s, place: Place) -> None:
        """Receives whose size was not known before their messages were, in place. InputError if it still is not."""
        if self.holds_receivers:
            self._price_holds(fields, rank, place)
        if not self.loggops and not self._receives_by_size:
            return
        unknown = np.isnan(fields["gap_s" if self.loggops else "duration_s"])
        receives = np.flatnonzero((fields["kind"] == RECEIVE) & unknown)
        _check_sizes_known(fields["size_bytes"][receives], place)
        variants = fields["variant"][receives]
        for number in np.unique(variants):
            mine = receives[variants == number]
            machine, size = self._variants[number], fields["size_bytes"][mine]
            ways = self._ways_of_receives(machine, rank[mine], fields["peer"][mine])
            fields["duration_s"][mine] = longest(ways, functools.partial(_receive_s, size))
            if self.loggops:
                fields["gap_s"][mine] = longest(ways, functools.partial(_between_s, size))

    def _price_holds(self, fields: Mapping[str, NDArray[Any]], rank: Int32s, place: Place) -> None:
        """For how long receivers are held whose messages were not known before, in place.

        One that takes a message from anyone is held as on the level on which that is longest.
        """
        assert self._levels is not None
        held = np.flatnonzero((fields["kind"] == HELD) & np.isnan(fields["duration_s"]))
        receives = held + 1
        _check_sizes_known(fields["size_bytes"][receives], place)
        variants = fields["variant"][receives]
        for number in np.unique(variants):
            machine, here = self._variants[number], variants == number
            peer, size = fields["peer"][receives], fields["size_bytes"][receives]
            named = here & (peer >= 0)
            if named.any():
                sends = Column(SEND, peer[named], rank[receives[named]], size[named])
                fields["duration_s"][held[named]] = self._sent_s(sends, machine, None)
            anyone = here & (peer < 0)
            if anyone.any():
                ways = [one for one in self._levels.by_law(machine, size[anyone]) if self._holds[one.number]]
                fields["duration_s"][held[anyone]] = longest(ways, functools.partial(_send_s, size[anyone]))


def _check_sizes_known(size_bytes: NDArray[np.float64], place: Place) -> None:
    if np.isnan(size_bytes).any():
        what = "messages of several sizes may reach a receive from any source that states no size"
        raise InputError(what, place, allowed="bytes, on which the time of a receive depends here")


def _send_s(size: FloatOrArray, network: Network, way: Way) -> FloatOrArray:
    return simulated(network).send_s(network, way, size)


def _receive_s(size: FloatOrArray, network: Network, way: Way) -> FloatOrArray:
    return simulated(network).receive_s(network, size)


def _between_s(size: FloatOrArray, network: Network, way: Way) -> FloatOrArray:
    return simulated(network).between_s(network, size)


def _priced_as(same: Column, column: Column) -> Column:
    """Return the column with the prices of another."""
    return replace(column, duration_s=same.duration_s, extra=same.extra, held_s=same.held_s)


def _each_bytes(column: Column) -> FloatOrArray:
    """Bytes of each message of a train."""
    return column.size_bytes / column.train


def _words_of_sends(steps: Sequence[Step]) -> set[str]:
    """How messages of demands are sent if that is not left to the machine.

    Programs in Python may send them as any algorithm does.
    """
    recorded = any(isinstance(step, RecordedProgram) for step in steps)
    words = {step.sends_as for step in steps if isinstance(step, Demand)} | (
        set(ALGORITHM_SENDS.values()) if recorded else set()
    )
    return {word for word in words if word is not None}


def _has_rendezvous(point: DesignPoint) -> bool:
    """Whether the machine, or a block of the program, has a size above which senders wait for their receivers."""
    if any(network.message_model.has_rendezvous for network in point.machine.levels):
        return True
    limits = {f"{path}.S" for path in PATHS}
    return any(limits & set(placed.constants) for placed in placed_demands(point.workload.program))
