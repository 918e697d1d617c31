"""Bounds of the simulated time: what no simulation can undercut or exceed, in closed form.

Lower bounds: the critical path of the ranks' own work, the most loaded link, interface, disk and memory. Upper bound:
everything one after another, gaps between messages included; a message's flight, in which its sender works on, counts
for the upper bound alone. They hold for the deterministic effects, not for caches, imbalance and noise, which change
the work itself; the bounds of what can be shared are for simulations in which it is.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.critical_path_bound import Path, cut
from simcodesign.analytic.demands.accelerators import OF_ACCELERATORS
from simcodesign.analytic.demands.base import ClosedForm, closed_form
from simcodesign.analytic.demands.point_to_point import empty_receive_s
from simcodesign.analytic.group_sizes import group_sizes, size_names
from simcodesign.analytic.messages.collective_traffic import Traffic
from simcodesign.analytic.messages.message_costs import price
from simcodesign.analytic.messages.route_links import longest_links, modelled_hops, without_links
from simcodesign.core.forecast_parts import Bounds
from simcodesign.core.result import Result
from simcodesign.core.units import FloatOrArray, format_quantity
from simcodesign.describe.demands.footprint import MessageDemand
from simcodesign.describe.demands.wait import Wait
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.effects import ladder
from simcodesign.describe.evaluation import EvaluatedBlock, EvaluatedStep, Evaluation
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.levels import Level
from simcodesign.describe.network.interfaces import OwnInterfaces
from simcodesign.describe.network.network import Network
from simcodesign.describe.programs.program import placed_demands

Floats = NDArray[np.float64]


#: Larger operations are not written out message by message: there are no bounds then.
MOST_MESSAGES = 20_000_000
MOST_LOADED_INTERFACE, MOST_LOADED_IN_NODE = "most loaded interface", "most loaded part of a node"
#: Relative difference of times below which there is none.
ROUNDING = 1e-9


def bounds_of(design_point: DesignPoint) -> Bounds | None:
    """Return the bounds of one design point, None for operations of too many messages.

    InputError for several points.
    """
    design_point.require_one_point("a bound of the simulated time")
    ranks, machine = design_point.ranks, design_point.machine
    demands = [placed.demand for placed in placed_demands(design_point.workload.program)]
    if max(ranks, *(closed_form(demand).message_rows(demand, ranks) for demand in demands)) > MOST_MESSAGES:
        return None
    node = machine.node_of(ranks)
    stations = {"memory": _controllers(machine, node)} | {
        name: (unit,) for name, unit in _shared_by_ranks(machine, node).items()
    }
    interfaces = _Interfaces.of(machine, node)
    load = _Loads(ranks, node, interfaces, {name: _Station.of(*it) for name, it in stations.items()})
    path = load.path(Evaluation.at_ranks(design_point).program)
    shared = {
        MOST_LOADED_INTERFACE: interfaces.busiest_s,
        "most loaded link": max(load.links.values(), default=0.0) / machine.network.rails,
        MOST_LOADED_IN_NODE: max(load.in_nodes.values(), default=0.0),
    }
    busiest_s = {name: float(station.busy_s.max()) for name, station in load.stations.items()}
    if machine.disk is not None:
        shared["most loaded disk"] = busiest_s["disk"] / machine.disk.spindles
    shared["most loaded memory"] = busiest_s["memory"]
    if machine.accelerator is not None:
        shared["most loaded accelerator"] = max(busiest_s[name] for name in OF_ACCELERATORS)
    if machine.storage is not None:
        shared["most loaded storage"] = max(busiest_s["storage"] / machine.storage.servers, busiest_s["metadata"])
    lower = {"ranks' own work": path.length_s} | {name: bound for name, bound in shared.items() if bound}
    needs_effect = {effect.lower_bound: effect.name for effect in ladder() if effect.lower_bound in lower}
    return Bounds(lower, load.serial_s, needs_effect)


def beyond_interfaces(forecast: Result, bounds: Bounds, design_point: DesignPoint) -> tuple[str, ...]:
    """Return a sentence if concurrent messages take less time in the forecast than their bytes need.

    At the busiest interface, or at the busiest part of a node: in closed forms all flow at full speed, however many
    messages a rank sends or receives concurrently.
    """
    network = design_point.machine.network
    if not network.message_model.bytes_flow_together:
        return ()
    overlapped = design_point.workload.has_overlap  # with other work, which is then in the time as well
    spent_s = float(forecast.makespan_s if overlapped else forecast.components["communication"])
    needed_s, where, effect = max(
        (bounds.lower_s.get(MOST_LOADED_INTERFACE, 0.0), "the busiest network interface", "interfaces"),
        (bounds.lower_s.get(MOST_LOADED_IN_NODE, 0.0), "the busiest interface or link inside a node", "node"),
    )
    if spent_s * (1 + ROUNDING) >= needed_s:
        return ()
    spent, needed = (format_quantity(time_s, "time") for time_s in (spent_s, needed_s))
    return (
        f"the forecast takes {spent} {'in all' if overlapped else 'for communication'}, but {where} "
        f"needs {needed} for its bytes: with sends: nonblocking, concurrent messages are "
        f"each as fast in a closed form as one alone; only the effect {effect} of the simulation lets them share one",
    )


def _footprints(step: EvaluatedStep) -> tuple[float, float]:
    """Return the smallest and the largest footprint of an operation, by its ranks and its groups."""
    assert isinstance(step.demand, MessageDemand)
    every = []
    for groups in group_sizes(step):
        amount = functools.partial(step.amount, changed=size_names(step, groups))
        every.append(np.ravel(step.demand.footprint_bytes(groups.ranks, amount)))
    several = np.concatenate(every)
    return float(several.min()), float(several.max())


def _controllers(machine: Machine, node: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return, for each rank, the memory controller of its socket, followed by the other controllers of its node."""
    sockets = 1 if machine.memory is None else machine.memory.controllers
    if sockets == 1:
        return (node,)
    socket = machine.socket_of(len(node))
    return tuple(node * sockets + (socket + further) % sockets for further in range(sockets))


def _shared_by_ranks(machine: Machine, node: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Return the disk, the accelerator, the link's directions, and the storage that each rank uses.

    As far as the machine has them. All servers of the storage are one, which is busy for as long as they are together.
    """
    stations = {}
    if machine.disk is not None:
        stations["disk"] = node // machine.disk.shared_by
    if machine.accelerator is not None:
        accelerator = machine.accelerator.of_ranks(node, machine.place_of(len(node)))
        stations |= dict.fromkeys(OF_ACCELERATORS, accelerator)
    if machine.storage is not None:
        stations |= dict.fromkeys(("storage", "metadata"), np.zeros_like(node))
    return stations


@dataclass(frozen=True)
class _Station:
    """Stations of one kind: each rank's own, the others that it may use (others, P), and for how long each is busy."""

    of_rank: NDArray[np.int64]
    others: NDArray[np.int64]
    busy_s: Floats

    @classmethod
    def of(cls, *unit: NDArray[np.int64]) -> _Station:
        units, place = np.unique(np.stack(unit), return_inverse=True)
        own, *others = place.reshape(len(unit), -1)
        return cls(own, np.array(others, dtype=np.int64), np.zeros(len(units)))

    def serve(self, service_s: Floats, remote: FloatOrArray) -> None:
        """Serve ranks for ``service_s``: the fraction ``remote`` of it at the others, evenly."""
        np.add.at(self.busy_s, self.of_rank, service_s * (1 - remote))
        for place in self.others:
            np.add.at(self.busy_s, place, service_s * remote / len(self.others))


@dataclass(frozen=True)
class _Interfaces:
    """How long interfaces inject and eject.

    The interfaces of a node together, one of which has at least its share, and each of them by the messages known to
    take it. Two rows, one if they are half duplex.
    """

    node: NDArray[np.int64]  # of every rank, counted among the nodes that have ranks
    of_node: NDArray[np.int64]  # of each of these nodes
    factor: Floats  # how much longer a byte occupies one of each than the network states
    together_s: Floats
    each_s: Floats

    @classmethod
    def of(cls, machine: Machine, node: NDArray[np.int64]) -> _Interfaces:
        interfaces = machine.network.interfaces
        nodes, node = np.unique(node, return_inverse=True)
        factors = machine.interface_factors
        factor = np.ones(len(nodes)) if factors is None else factors[nodes]
        each_s = np.zeros((2 if interfaces.is_full_duplex else 1, len(nodes), interfaces.count))
        return cls(node, machine.interfaces_of_nodes(nodes), factor, each_s[..., 0].copy(), each_s)

    def pass_by(
        self, source: NDArray[np.int64], target: NDArray[np.int64], busy_s: Floats, own: OwnInterfaces | None
    ) -> None:
        """Add the time for which messages between these ranks, on different nodes, occupy an interface at both ends.

        The rank's own interface, or any.
        """
        leaves = None if own is None else own.leaving(source)
        for side, ranks in ((0, source), (-1, target)):
            node = self.node[ranks]
            occupied_s = busy_s * self.factor[node]
            np.add.at(self.together_s[side], node, occupied_s)
            if own is not None and leaves is not None:
                taken = own.coming(ranks, leaves) if side else leaves
                np.add.at(self.each_s[side], (node, taken), occupied_s)

    @property
    def busiest_s(self) -> float:
        """Lower bound on the busy time of the most loaded interface."""
        return float(max(np.max(self.together_s / self.of_node), np.max(self.each_s)))


@dataclass
class _Loads:
    """Occupation in seconds, added up over the program.

    Per interface, station and link, and of everything one after another. For a link on several rails, one at least has
    its share of what they all have.
    """

    ranks: int
    node: NDArray[np.int64]  # of every rank
    interfaces: _Interfaces
    stations: dict[str, _Station]  # by the names that occupations have for them
    links: dict[int, float] = field(default_factory=dict)
    in_nodes: dict[tuple[int, str, int], float] = field(default_factory=dict)  # by level, kind and number
    serial_s: float = 0.0

    def path(self, block: EvaluatedBlock) -> Path:
        """Return the path of a block done once; everything else is added up for all its repetitions."""
        path, parts = Path(np.zeros(self.ranks)), dict[str, tuple[Path, Path]]()
        for step in block.steps():
            if isinstance(step, EvaluatedBlock) and step.block.index is not None:
                for iteration in step.iterations():
                    path = path + self.path(iteration)
            elif isinstance(step, EvaluatedBlock):
                path = path + self.path(step).repeated(float(step.repeat))
            elif isinstance(step.demand, Wait):
                for since, part in (parts.pop(name) for name in step.demand.names):
                    path = path.at_least(since, part)
            elif step.demand.started_as:
                parts[step.demand.started_as] = path, self._demand(step, float(step.repetitions))
            else:
                path = path + self._demand(step, float(step.repetitions))
        return path

    def _demand(self, step: EvaluatedStep, times: float) -> Path:
        form = closed_form(step.demand)
        traffic = form.traffic(step.demand, step)
        if traffic is not None:
            return self._messages(step, form, traffic, times)
        occupation, here = form.occupation(step.demand, step), np.broadcast_to(step.present, self.ranks)
        least_s = here * occupation.least_s
        self.serial_s += float(np.sum(here * occupation.serial_s - least_s)) * times
        self.serial_s += float(least_s.sum()) * times
        if occupation.station in self.stations:
            self.stations[occupation.station].serve(here * occupation.service_s * times, occupation.remote)
        return Path(least_s)

    def _messages(self, step: EvaluatedStep, form: ClosedForm[Any], sent: Traffic, times: float) -> Path:
        machine = step.machine
        self._occupy(sent, machine, times)
        self._in_turn(sent, machine, times)
        if machine.node_memory is not None:
            self._load_memory(step, sent, times)
        here = without_links(machine, self.ranks, sent.source, sent.target)
        near = price(machine.network, self.ranks, 0.0, here).message(sent.size_bytes)
        self.serial_s += times * float(np.sum(near.next_receive_s * sent.messages))
        own: Floats = np.zeros(self.ranks)
        np.add.at(own, sent.source, near.send_s * sent.messages)
        if form.received_apart:
            # The time of an empty receive is counted by the receive, a step of its own.
            self.serial_s -= times * len(sent.source) * float(empty_receive_s(machine, self.ranks))
            return Path(own)
        sends_s = own.copy()
        np.add.at(own, sent.target, (near.receive_s - near.spread_s) * sent.messages)
        copied = np.zeros(self.ranks)  # perhaps before the last rank reaches the operation
        np.add.at(copied, sent.target, near.copy_s * sent.messages)
        if step.demand.started_as:  # concurrent work counts, so that nothing is cut
            return Path(own + copied if near.in_order else sends_s)
        # In LogGOPS a message may be taken up before its receiver reaches the operation.
        rounds_s = form.rounds_s(step.demand, own if near.in_order else sends_s)
        return Path(own + copied) if rounds_s is None else cut(self.ranks, rounds_s)

    def _occupy(self, sent: Traffic, machine: Machine, times: float) -> None:
        """Add the occupation of interfaces and links by the messages."""
        source, target = self.node[sent.source], self.node[sent.target]
        far = source != target
        load = sent.load_bytes[far] * times
        interface_s = load * machine.network.interface_occupancy_s_per_byte
        own = machine.own_interface_of(self.ranks)
        self.interfaces.pass_by(sent.source[far], sent.target[far], interface_s, own)
        for level in machine.numbered_levels[1:]:
            self._occupy_inside(level, machine.levels[level.number], sent, machine, times)
        network = machine.network
        if not network.routing.has_fixed_links:
            return  # no link is known to carry any of them
        links, size = network.topology.link_loads(source[far], target[far], load)
        per_byte_s = np.array(network.links_s_per_byte, dtype=np.float64)[network.topology.group_of(links)]
        for link, seconds in zip(links.tolist(), (size * per_byte_s).tolist(), strict=True):
            self.links[link] = self.links.get(link, 0.0) + seconds

    def _occupy_inside(self, level: Level, network: Network, sent: Traffic, machine: Machine, times: float) -> None:
        """Add the occupation of networks inside nodes or sockets: the interfaces at both ends, and links."""
        here = machine.level_of(self.ranks, sent.source, sent.target) == level.number
        hosts = machine.hosts_on(level, self.ranks)
        source, target = hosts[sent.source[here]], hosts[sent.target[here]]
        far, load = source != target, sent.load_bytes[here] * times
        interface_s = network.interface_occupancy_s_per_byte / network.interfaces.count
        sides = ("out", "in") if network.interfaces.is_full_duplex else ("both", "both")
        for side, ends in zip(sides, (source[far], target[far]), strict=True):
            self._add_inside(level.number, side, ends, load[far] * interface_s)
        (copies, source), (_, target) = level.split(source[far]), level.split(target[far])
        for copy in np.unique(copies):
            some = copies == copy
            links, size = network.topology.link_loads(source[some], target[some], load[far][some])
            per_byte_s = np.array(network.links_s_per_byte, dtype=np.float64)[network.topology.group_of(links)]
            self._add_inside(level.number, "link", links + copy * network.link_count, size * per_byte_s)

    def _load_memory(self, step: EvaluatedStep, sent: Traffic, times: float) -> None:
        """Add the occupation of memory by messages within nodes: half of each at the controller of either end."""
        machine = step.machine
        least, most = _footprints(step)
        inside = self.node[sent.source] == self.node[sent.target]
        seconds = sent.load_bytes[inside] * times * float(machine.message_memory_s_per_byte)
        if most > machine.message_cache_bytes:
            self.serial_s += float(seconds.sum())
        if least > machine.message_cache_bytes:
            controller = _controllers(machine, self.node)[0]
            for ends in (sent.source, sent.target):
                self._add_inside(1, "memory", controller[ends[inside]], seconds / 2)

    def _add_inside(self, level: int, kind: str, unit: NDArray[np.int64], seconds: Floats) -> None:
        units, which = np.unique(unit, return_inverse=True)
        for number, total in zip(units.tolist(), np.bincount(which, weights=seconds).tolist(), strict=True):
            key = level, kind, number
            self.in_nodes[key] = self.in_nodes.get(key, 0.0) + total

    def _in_turn(self, sent: Traffic, machine: Machine, times: float) -> None:
        """Every message alone: its sender, every station of the longest way, and its flight."""
        network = machine.network
        longest = network.topology.diameter * network.routing.longest
        hops = max(float(longest), float(modelled_hops(network, self.ranks)))
        most = price(network, self.ranks, hops, longest_links(machine, self.ranks)).message(sent.size_bytes)
        total = float(sent.load_bytes.sum())
        factors = machine.interface_factors
        slowest = 1.0 if factors is None else float(factors.max())
        stations = hops * network.link_occupancy_s_per_byte + 2 * slowest * network.loaded_interface_s_per_byte
        for inside in machine.levels[1:]:
            links_s = inside.topology.diameter * inside.link_occupancy_s_per_byte
            stations = np.maximum(stations, links_s + 2 * inside.interface_occupancy_s_per_byte)
        alone = 2 * np.sum((most.next_send_s + most.flight_s) * sent.messages) + total * stations
        alone = alone + np.sum(most.copy_s * sent.messages)
        self.serial_s += float(times * alone)
