"""How steps of a program enter a graph of events: own work, messages, operations of several ranks, waits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.demands.point_to_point import empty_receive_s
from simcodesign.analytic.longest_path.event_graph import (
    NONE,
    EventGraph,
    Floats,
    Ints,
    Moments,
    Receives,
    Sends,
)
from simcodesign.analytic.messages.collective_traffic import Traffic
from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.message_costs import price
from simcodesign.analytic.messages.route_links import without_links
from simcodesign.describe.machine import Machine


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
        """By the times of a message: numbers, or arrays (M,). ``is_priced``: the constants of the whole program, so
        that what the receive takes is known here; in Hockney's model beyond the least that one of any size does, and
        where nobody waits for it to begin."""

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
    """The moments at which the senders are done with them."""
    who = messages.who
    if messages.has_gap and not is_started:
        graph.after_gap(who, messages.gap_s)
    begins = graph.now.of(who)
    ends = begins.later(messages.send_s)
    goes_on = np.full(len(who), NONE)
    waits = messages.waits
    if waits.any():
        goes_on[waits] = graph.nodes(who[waits], ends.of(waits))
        ends = Moments(np.where(waits, goes_on, ends.node), np.where(waits, 0.0, ends.offset_s))
    times = messages.arrival_s, messages.receive_s, messages.copy_s
    graph.add_sends(Sends(who, messages.target, messages.tag, *begins, *times, goes_on))
    if not is_started:
        graph.work_s[who] += messages.send_s
        graph.go_to(who, ends)
    return ends


class Taken(NamedTuple):
    """A receive of each of M ranks ``who``, from ``source`` or, where that is NONE, from anyone. ``receive_s`` (M,):
    what it takes, as far as that does not count with its message."""

    who: Ints
    source: Ints
    tag: Ints
    receive_s: Floats


def receive(graph: EventGraph, taken: Taken, is_priced: bool, is_started: bool) -> Moments:
    """The moments at which the receivers are done. ``is_priced``: whether what a message says of its receive counts."""
    who, turn = taken.who, graph.now.of(taken.who)
    node = graph.nodes(who, turn)
    flags = np.full(len(who), is_priced), np.full(len(who), not is_started)
    graph.add_receives(Receives(taken.source, who, taken.tag, node, *turn, *flags))
    ends = Moments(node, taken.receive_s)
    if not is_started:
        graph.work_s[who] += taken.receive_s
        graph.go_to(who, ends)
    return ends


class Together(NamedTuple):
    """An operation of M ranks ``who``. Row by row, a rank (by its place in ``who``) gets a message no
    earlier than ``whole_s`` after another one came to the operation. ``chain_s`` (M,): what each works in it itself,
    ``work_s`` with what it might do before it comes, ``uncopied_s`` without what it might copy before the last one
    comes. If ``rounds_s`` is no NaN, nobody leaves before the last
    one has come and for so long after."""

    who: Ints
    source: Ints
    target: Ints
    whole_s: Floats
    chain_s: Floats
    work_s: Floats
    uncopied_s: Floats
    rounds_s: float = float("nan")

    @classmethod
    def of(cls, who: Ints, sent: Traffic, machine: Machine, ranks: int) -> Together:
        """Without rounds, by its messages between places of ``who``, at the least that each can take: without hops and
        over the fastest links."""
        links = without_links(machine, ranks, who[sent.source], who[sent.target])
        message = price(machine.network, ranks, 0.0, links).message(sent.size_bytes)
        taken_s = np.asarray(message.receive_s - message.spread_s)
        sends_s, work_s = np.zeros(len(who)), np.zeros(len(who))
        np.add.at(sends_s, sent.source, message.send_s * sent.messages)
        np.add.at(work_s, sent.target, taken_s * sent.messages)
        work_s += sends_s
        uncopied_s = work_s.copy() if message.in_order else sends_s
        np.add.at(work_s, sent.target, message.copy_s * sent.messages)
        whole_s = np.broadcast_to(message.arrival_s + taken_s, sent.source.shape)
        chain_s = work_s if message.in_order else sends_s
        return cls(who, sent.source, sent.target, whole_s, chain_s, work_s, uncopied_s)


def within(sent: Traffic, who: Ints) -> Traffic:
    """The messages among these ranks, which are ascending, by their places."""
    here = np.isin(sent.source, who) & np.isin(sent.target, who) & (sent.messages > 0)
    source, target = (np.searchsorted(who, side[here]) for side in (sent.source, sent.target))
    return Traffic(source, target, sent.size_bytes[here], sent.messages[here])


def meet(graph: EventGraph, operation: Together, begins: Moments, ends: Ints) -> None:
    """Edges from the moments (M,) at which ranks come to an operation to the nodes (M,) at which they leave it."""
    graph.edges(begins.of(operation.source).later(operation.whole_s), ends[operation.target])
    if not np.isnan(operation.rounds_s):
        everybody = graph.nodes(np.full(1, graph.ranks), begins.of(np.zeros(1, np.int64)))
        graph.edges(begins, np.broadcast_to(everybody, begins.node.shape))
        graph.edges(Moments(np.broadcast_to(everybody, ends.shape), np.full(ends.shape, operation.rounds_s)), ends)


def join(graph: EventGraph, who: Ints, chain_s: Floats, work_s: Floats, is_started: bool) -> tuple[Moments, Ints]:
    """When ranks come to an operation of several, and the nodes at which they leave it."""
    begins = graph.now.of(who)
    if not is_started:
        graph.work_s[who] += work_s
    ends = graph.nodes(who, begins.later(chain_s))
    if not is_started:
        graph.go_to(who, Moments(ends, np.zeros(len(who))))
    return begins, ends
