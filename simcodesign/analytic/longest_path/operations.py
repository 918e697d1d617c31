"""How steps of a program enter a graph of events: own work, messages, operations of several ranks, waits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.demands.point_to_point import empty_receive_s
from simcodesign.analytic.longest_path.booked_path import Floats, Ints
from simcodesign.analytic.longest_path.event_graph import (
    NONE,
    EventGraph,
    Moments,
    Receives,
    Sends,
)
from simcodesign.analytic.longest_path.expansion import Expansion
from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.message_order import Ordered
from simcodesign.describe.machine import Machine

#: Part left out of a graph.
FROM_ANYONE = "that receives from anyone wait"
AS_THEY_COME = "gaps of receives, and waits for the processor (LogGOPS)"
BY_SIZE = "what receives take by the size of their messages"


class Messages(NamedTuple):
    """A message of each of M ranks ``who``, which takes the times of ``Message`` as arrays (M,).

    ``has_gap``: whether the gap after it holds the next send back; ``receive_s`` (M,): what its receive takes where
    that is not counted by the receive itself; ``copy_s`` (M,): for how long it holds its receiver before."""

    who: Ints
    target: Ints
    tag: Ints
    send_s: Floats
    arrival_s: Floats
    receive_s: Floats
    copy_s: Floats
    gap_s: Floats
    waits: NDArray[np.bool_]
    has_gap: bool

    @classmethod
    def of(cls, who: Ints, target: Ints, tag: Ints | int, one: Message, machine: Machine, is_priced: bool) -> Messages:
        """Make messages from the times of a message: numbers, or arrays (M,).

        ``is_priced``: the constants of the whole program, so that what the receive takes is known here; in Hockney's
        model beyond the least that one of any size does, and if no receive waits for it to begin.
        """

        def of_each(value: object) -> Floats:
            return np.broadcast_to(np.asarray(value, dtype=np.float64), who.shape)

        waits = np.broadcast_to(np.asarray(one.waits, dtype=bool), who.shape) & one.in_order
        receive_s = of_each(one.receive_s if is_priced else 0.0)
        if one.in_order and is_priced:
            receive_s = np.where(waits, 0.0, receive_s - empty_receive_s(machine, 1))
        has_gap = not one.in_order and machine.network.interfaces.count == 1
        tags = np.broadcast_to(np.asarray(tag, dtype=np.int64), who.shape)
        times = of_each(one.send_s), of_each(one.arrival_s), receive_s, of_each(one.copy_s), of_each(one.next_send_s)
        return cls(who, target, tags, *times, waits, has_gap)


def send(graph: EventGraph, messages: Messages, is_started: bool) -> Moments:
    """Return the moments at which the senders are done with them."""
    who = messages.who
    if messages.has_gap and not is_started:
        graph.after_gap(who, messages.gap_s)
    begins = graph.now.of(who)
    ends = begins.later(messages.send_s)
    goes_on, label = np.full(len(who), NONE), np.broadcast_to(graph.label, who.shape)
    waits = messages.waits
    if waits.any():
        goes_on[waits] = graph.nodes(who[waits], ends.of(waits))
        ends = Moments(np.where(waits, goes_on, ends.node), np.where(waits, 0.0, ends.offset_s))
    times = messages.arrival_s, messages.receive_s, messages.copy_s
    graph.add_sends(Sends(who, messages.target, messages.tag, *begins, *times, goes_on, label))
    if not is_started:
        graph.work_s[who] += messages.send_s
        graph.go_to(who, ends)
    return ends


class Taken(NamedTuple):
    """A receive of each of M ranks ``who``, from ``source`` or, if that is NONE, from any rank.

    ``receive_s`` (M,): what it takes, as far as that does not count with its message.
    """

    who: Ints
    source: Ints
    tag: Ints
    receive_s: Floats


def receive(graph: EventGraph, taken: Taken, is_priced: bool, is_started: bool) -> Moments:
    """Return the moments at which the receivers are done.

    ``is_priced``: whether a message determines the time of its receive.
    """
    who, turn = taken.who, graph.now.of(taken.who)
    if (taken.source == NONE).any():
        graph.left_out[FROM_ANYONE] = None
    node = graph.nodes(who, turn)
    flags = np.full(len(who), is_priced), np.full(len(who), not is_started)
    label = np.broadcast_to(graph.label, who.shape)
    graph.add_receives(Receives(taken.source, who, taken.tag, node, *turn, *flags, label))
    ends = Moments(node, taken.receive_s)
    if not is_started:
        graph.work_s[who] += taken.receive_s
        graph.go_to(who, ends)
    return ends


def together(ordered: Ordered, who: Ints, machine: Machine) -> Expansion:
    """Return an operation of the ranks ``who``, which ascend, by its messages among them."""
    gaps = not machine.network.message_model.ranks_work_in_order and machine.network.interfaces.count == 1
    return Expansion.of(ordered.within(who), len(who), gaps)


def join(graph: EventGraph, who: Ints, work_s: Floats, is_started: bool) -> tuple[Moments, Ints]:
    """When ranks reach an operation of several, and nodes at which they leave it, whose edges come later."""
    begins = graph.now.of(who)
    if not is_started:
        graph.work_s[who] += work_s
    ends = graph.nodes(who, begins)
    if not is_started:
        graph.go_to(who, Moments(ends, np.zeros(len(who))))
    return begins, ends
