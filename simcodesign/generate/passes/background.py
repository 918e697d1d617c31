"""The messages of other jobs, drawn in advance: when each sets out, from which node to which, and its route.

They come after the operations of the job in every array by messages (``Plan.background``). The first n of them are the
same however many are drawn, so that a run that was longer than they last is repeated with more of them
(``engine.background``); and at another load they are the same ones at other times.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.memory_limit import check_memory
from simcodesign.describe.effects import Mechanism
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.background import NEIGHBOUR, OPPOSITE, PERMUTATION, RANDOM, Background
from simcodesign.describe.network.sharing import RoundRobin
from simcodesign.generate.messages.constants_by_size import constant
from simcodesign.generate.messages.pricing import MessagePricing
from simcodesign.generate.plan import BackgroundMessages
from simcodesign.generate.plan_builder import DrawnBackground
from simcodesign.generate.randomness.random_streams import stream

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
#: Memory that a message takes in the Plan and in an engine, without its hops.
BYTES_PER_MESSAGE = 250
#: Times are whole picoseconds, so that a run in LogGOPS may continue to count in these.
PER_SECOND = 1e12


@dataclass(frozen=True)
class BackgroundRoutes:
    """Messages of others, B of them.

    For each the number of its route, its row of costs, and the interfaces of its nodes, which the messages of a node
    take round robin.
    """

    messages: BackgroundMessages
    route: Int32s
    cost: Int32s
    turns: tuple[Int64s, Int64s]

    def after(
        self, route: Int32s, cost: Int32s, turns: tuple[Int64s, Int64s] | None
    ) -> tuple[Int32s, Int32s, tuple[Int64s, Int64s] | None]:
        """Routes, costs and turns of the job's own operations, and then of these."""
        leaves, comes = self.turns
        both = None if turns is None else (np.concatenate([turns[0], leaves]), np.concatenate([turns[1], comes]))
        return np.concatenate([route, self.route]), np.concatenate([cost, self.cost]), both


@dataclass(frozen=True)
class BackgroundLoad:
    """Traffic of the others on a machine, before any of it is drawn.

    ``senders`` nodes send messages that pass ``stations`` links and interfaces each in the mean.
    """

    machine: Machine
    background: Background
    senders: int
    stations: float

    @classmethod
    def of(cls, machine: Machine, used: Callable[[], Int64s], on: Set[Mechanism]) -> BackgroundLoad | None:
        """Load on a machine on which jobs have ``used`` these nodes; None if others send nothing."""
        background = machine.background
        if background is None or not background.load or Mechanism.OTHER_JOBS not in on:
            return None
        senders = background.senders_among(machine.nodes, used())
        ends = 2.0 if Mechanism.INTERFACES in on else 0.0
        return cls(machine, background, senders, machine.network.mean_hops + ends) if senders else None

    def messages_per_s(self, size_bytes: float) -> float:
        """Messages of this size that all of them send in a second."""
        return 1 / _between_s(self.machine, self.background, self.senders, size_bytes)

    def events_per_s(self, size_bytes: float) -> float:
        """Events of an engine for these in a second of the run: two for each station that a message or packet takes."""
        rule = self.machine.network.sharing
        packets = np.ceil(size_bytes / rule.packet_bytes) if isinstance(rule, RoundRobin) else 1.0
        return float(2 * self.stations * packets * self.messages_per_s(size_bytes))


def background_routes(machine: Machine, prices: MessagePricing, drawn: DrawnBackground) -> BackgroundRoutes | None:
    """Return the first messages of others, as many as are drawn; None if there are no others, or they send nothing."""
    background, count, seed = machine.background, drawn.count, drawn.seed
    if background is None or not background.load or not count:
        return None
    used = np.unique(prices.node_of) if drawn.used is None else drawn.used
    size = drawn.size_bytes if background.size_bytes is None else background.size_bytes
    source_of, sends_to = _jobs(background, background.senders(machine.nodes, used), seed)
    if not len(source_of):
        return None
    check_memory(f"{count:.3g} messages of background take", BYTES_PER_MESSAGE * float(count), background.place)
    sets_out_s = _times(_between_s(machine, background, len(source_of), size), count, seed)
    which = _drawn("background sources", seed, count, len(source_of))
    source = source_of[which]
    target = sends_to.targets(which, seed)
    size_bytes = np.full(count, size)
    route, cost = prices.between_nodes(machine, source, target, size)
    of_target = machine.interfaces_of_nodes(target)
    leaves, comes = _counted(source) % machine.interfaces_of_nodes(source), _counted(target) % of_target
    if machine.network.rails > 1:  # interface i of every node is on the same rail
        comes = leaves % of_target
    return BackgroundRoutes(BackgroundMessages(sets_out_s, size_bytes), route, cost, (leaves, comes))


@dataclass(frozen=True)
class _Jobs:
    """Sources and targets among the S senders. The members of a job are neighbours in ``member``."""

    member: Int64s  # (S,) nodes
    first: Int64s  # (S,) of a sender's job, among members
    size: Int64s  # (S,) of that job
    pattern: str

    def targets(self, which: Int64s, seed: int) -> Int64s:
        """Nodes to which these senders send a message each."""
        first, size = self.first[which], self.size[which]
        place = which - first
        if self.pattern in (NEIGHBOUR, PERMUTATION):
            to = (place + 1) % size
        elif self.pattern == OPPOSITE:
            to = (place + size // 2) % size
        else:
            draw: NDArray[np.float64] = stream(seed, "background targets").random(len(which))
            to = np.minimum((draw * (size - 1)).astype(np.int64), size - 2)
            to += to >= place
        return self.member[first + to]


def _jobs(background: Background, nodes: Int64s, seed: int) -> tuple[Int64s, _Jobs]:
    """Return the nodes that send, and their jobs: a job of one node has no destination."""
    if background.mapping == RANDOM:
        nodes = stream(seed, "background mapping").permutation(nodes)
    parts = background.parts(nodes)
    if background.pattern == PERMUTATION:
        order = stream(seed, "background permutation")
        parts = [order.permutation(part) for part in parts]
    elif background.mapping == RANDOM:
        parts = [np.sort(part) for part in parts]
    size = np.array([len(part) for part in parts], np.int64)
    member = np.concatenate([np.zeros(0, np.int64), *parts])
    jobs = _Jobs(member, np.repeat(np.cumsum(size) - size, size), np.repeat(size, size), background.pattern)
    return member, jobs


def _between_s(machine: Machine, background: Background, senders: int, size_bytes: float) -> float:
    """Seconds between two messages of any of them, in the mean."""
    per_byte_s = float(constant(machine.network.message_model, "per_byte_s", size_bytes))
    if not per_byte_s:
        what = "the load of a background is a fraction of the bandwidth of messages, which is infinite here"
        raise InputError(what, background.place, value=background.load, allowed="a network.bandwidth, or no background")
    return size_bytes * per_byte_s / background.load / senders


def _times(between_s: float, count: int, seed: int) -> NDArray[np.float64]:
    """(B,) seconds: all senders together are one Poisson process."""
    gaps = stream(seed, "background times").standard_exponential(count) * between_s
    return np.asarray(np.rint(np.cumsum(gaps) * PER_SECOND) / PER_SECOND)


def _drawn(name: str, seed: int, count: int, below: int) -> Int64s:
    """Whole numbers below a limit, each as likely."""
    draw: NDArray[np.float64] = stream(seed, name).random(count)
    return np.minimum((draw * below).astype(np.int64), below - 1)


def _counted(owner: Int64s) -> Int64s:
    """Return the number of each element among its owner's elements."""
    order = np.argsort(owner, kind="stable")
    number, sorted_owner = np.empty(len(owner), np.int64), owner[order]
    number[order] = np.arange(len(owner)) - np.searchsorted(sorted_owner, sorted_owner)
    return number
