"""Collectives whose messages share the memory of their nodes, and the interfaces to the network, in closed form.

Among the concurrent messages of the algorithm, k are within a node, or pass one of its interfaces. In the max-rate
model (W. Gropp, L. Olson, P. Samfass, "Modeling MPI communication performance on SMP nodes", EuroMPI 2016; for levels
A. Bienz, W. Gropp, L. Olson, "Improving performance models for irregular point-to-point communication", EuroMPI 2018) a
message of m bytes arrives after

    within a node        startup + hops + m max(1 / b, k / R_m) if the operation's footprint is above a rank's share of
                         the last cache, otherwise as one alone
    between nodes        startup + hops + m max(1 / b, k / R_N)

b is the bandwidth of a message, R_m the memory's in bytes of messages, R_N an interface's under load. What holds
sender and receiver where processors copy stays as it is. With these times ranks are followed through the algorithm
(``rank_by_rank.alike_ranks``): in a round in which all ranks of a node send and receive, the longer of 2 (startup + m /
b) and startup + k m / R_m.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.collectives.on_levels import can_be_followed, has_rendezvous, steps_of
from simcodesign.analytic.group_levels import first_alike, members_at_points
from simcodesign.analytic.messages.costs_by_size import at_size
from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.message_costs import MessageCosts, price
from simcodesign.analytic.messages.message_models.base import hold_receivers
from simcodesign.analytic.messages.route_links import links_of_levels, modelled_hops, shared_parts
from simcodesign.analytic.rank_by_rank.alike_ranks import MOST_MESSAGES, Course, Prices, course, follow
from simcodesign.analytic.rank_by_rank.shared_stations import Load, Shared
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.evaluation import EvaluatedStep
from simcodesign.describe.machine import Machine

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def is_shared(machine: Machine) -> bool:
    """Whether the machine states what messages share of its nodes."""
    return machine.node_memory is not None or machine.network.interfaces.loaded_per_byte_s is not None


def loaded_s(demand: Collective, step: EvaluatedStep, alone_s: FloatOrArray) -> FloatOrArray | None:
    """Seconds of an operation of all ranks, or of each group, whose messages share their nodes.

    At every design point. ``alone_s``: what it takes where no message is slower for that.

    None where ranks are not followed through it: in LogGOPS, in segments, where bytes differ by rank, and where no
    order of messages is stated, or they are too many. Groups of one size share what they pass, groups of
    several do not.
    """
    machine, shape = step.machine, step.evaluation.design_point.shape
    if demand.meets or not can_be_followed(machine) or demand.segment is not None or demand.is_sized_by_rank:
        return None
    time_s = np.zeros(shape or (1,))
    is_slower = np.zeros(time_s.shape, bool)
    if np.max(step.evaluation.ranks) > MOST_MESSAGES:
        return None
    for ranks, members, where in members_at_points(step, demand.root):
        here = np.ones(time_s.shape, bool) if where is None else np.broadcast_to(where, time_s.shape)
        for alike in _of_one_course(demand, machine, ranks, members):
            one = _Loaded(demand, step, ranks, alike)
            for way, chosen in demand.choices(float(alike.shape[1]), one.size_bytes):
                if way.segment is not None:
                    return None
                some = here & chosen
                followed_s = one.time_s(way, some) if some.any() else time_s[some]
                if followed_s is None:
                    return None
                time_s[some] = np.maximum(time_s[some], followed_s)
                is_slower[some] |= np.broadcast_to(one.is_slower, time_s.shape)[some]
    time_s = np.where(is_slower, time_s, alone_s)
    return time_s if shape else float(time_s[0])


def interface_s_per_byte(machine: Machine, load: float) -> FloatOrArray:
    """Seconds per byte of each of ``load`` messages on one interface."""
    network = machine.network
    return load * (network.loaded_interface_s_per_byte if load > 1 else network.interface_occupancy_s_per_byte)


def _of_one_course(demand: Collective, machine: Machine, ranks: int, members: Ints) -> Iterator[Ints]:
    """Yield the groups (G, n) by the order of their messages, which may depend on who shares a node."""
    if not demand.looks_at_nodes:
        yield members
        return
    _, which = np.unique(first_alike(machine.node_of(ranks)[members]), axis=0, return_inverse=True)
    for number in range(int(which.max()) + 1):
        yield members[which.ravel() == number]


@dataclass
class _Loaded:
    """An operation of groups with these members (G, n), among ``ranks`` ranks.

    ``is_slower``: if some of its messages are slower than alone, of those that were priced.
    """

    demand: Collective
    step: EvaluatedStep
    ranks: int
    members: Ints
    is_slower: NDArray[np.bool_] = field(default_factory=lambda: np.array(False))

    @property
    def size_bytes(self) -> FloatOrArray:
        return self.step.amount(self.demand.bytes, "bytes", self._names)

    @property
    def _names(self) -> dict[str, FloatOrArray]:
        return {} if self.demand.communicator is None else {"group_size": float(self.members.shape[1])}

    @property
    def _passes_memory(self) -> NDArray[np.bool_]:
        """Where its messages pass the memory of nodes."""
        amount = functools.partial(self.step.amount, changed=self._names)
        footprint = self.demand.footprint_bytes(float(self.members.shape[1]), amount)
        return np.asarray(footprint > self.step.machine.message_cache_bytes)

    def time_s(self, way: Collective, where: NDArray[np.bool_]) -> Floats | None:
        """Seconds by one algorithm at some design points; None where ranks are not followed."""
        machine = self.step.machine
        one = _course(way.key, machine, self.ranks, self.members)
        if one is None:
            return None
        if not one.rows:  # ranks by themselves
            return np.zeros(int(where.sum()))

        def pick(values: FloatOrArray) -> Floats:
            return np.broadcast_to(np.asarray(values, dtype=np.float64), where.shape)[where]

        prices = Prices(one, self._prices, self.size_bytes, False, pick, self._under_load)
        return follow(one, prices, machine.network.reduction_s_per_byte).time_s

    def _prices(self, level: int) -> MessageCosts:
        network, ranks = self.step.machine.network, self.step.evaluation.ranks
        links = links_of_levels(self.step.machine, (level,), ranks)
        return price(network, float(self.members.shape[1]), modelled_hops(network, ranks), links)

    def _under_load(self, level: int, size_bytes: FloatOrArray, alone: Message, load: Load) -> Message:
        """Return a message that shares the memory, or an interface, with others."""
        machine = self.step.machine
        of_memory = np.where(self._passes_memory, load.memory * machine.message_memory_s_per_byte, 0.0)
        shared = np.maximum(of_memory, interface_s_per_byte(machine, load.interface))
        network = machine.levels[level] if machine.has_levels else machine.network
        model = at_size(network, size_bytes).message_model
        later_s = size_bytes * np.maximum(shared - np.maximum(model.per_byte_s, network.link_occupancy_s_per_byte), 0.0)
        arrival_s = alone.arrival_s + later_s
        self.is_slower = self.is_slower | (later_s > 0)
        if hold_receivers((network,)) or not model.bytes_hold_sender:
            return replace(alone, arrival_s=arrival_s)
        send_s = alone.send_s + later_s
        return replace(alone, arrival_s=arrival_s, send_s=send_s, next_send_s=np.maximum(alone.next_send_s, send_s))


def _course(key: tuple[str, str], machine: Machine, ranks: int, members: Ints) -> Course | None:
    """Return the course of groups (G, n) and what their messages load; None if there are too many."""
    node, memory, network = machine.node_of(ranks), machine.memory, machine.network
    own = machine.own_interface_of(ranks)
    controllers = 1 if memory is None else memory.controllers
    of_memory = node * controllers + (machine.socket_of(ranks) if controllers > 1 else 0)
    count = network.interfaces.count
    interface = node if own is None else node * count + own.leaving(np.arange(ranks))
    labels = shared_parts(machine, ranks)[:, members]
    arrays = labels, node[members], of_memory[members], interface[members]
    flags = has_rendezvous(machine), hold_receivers(machine.levels)
    stations = count if own is None else 1, network.interfaces.is_full_duplex
    return _known_course(key, flags, stations, *((one.tobytes(), one.shape) for one in arrays))


@functools.lru_cache(maxsize=32)
def _known_course(
    key: tuple[str, str], flags: tuple[bool, bool], stations: tuple[int, bool], *arrays: tuple[bytes, tuple[int, ...]]
) -> Course | None:
    labels, node, memory, interface = (np.frombuffer(data, np.int64).reshape(shape) for data, shape in arrays)
    waits, copies = flags
    shared = Shared(node, memory, interface, *stations)
    return course(steps_of(key, node), labels, np.ones(len(node), np.int64), waits, copies=copies, shared=shared)
