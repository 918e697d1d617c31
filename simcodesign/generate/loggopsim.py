"""Additions to operations for LogGOPSim's rules: processors, interfaces, and queues in which messages are met.

A program is treated as a schedule in which every rank has one processor and one interface, each operation posted
together with others requires the ones posted before, and messages have tags that distinguish them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.operation_kinds import RECEIVE, SEND
from simcodesign.describe.goal.schedule import Schedule
from simcodesign.generate.dependencies import Dependencies
from simcodesign.generate.plan import NONE, Int32s, LogGOPS
from simcodesign.generate.segment import Segment

Ints = NDArray[np.int64]


def program_in_loggopsim(segment: Segment, rank: Int32s, match: Int32s, mailbox: Int32s | None) -> Dependencies:
    """Return the dependencies of a program, and its processors, interfaces and queues.

    ``match`` and ``mailbox``: (N,) the other end of every message, and the mailbox of those for anyone.
    """
    kind, ranks = segment.fields["kind"], len(segment.first) - 1
    unit = segment.fields.get("unit")
    processor, more = (rank, 0) if unit is None else _processors(rank, unit, ranks)
    target = np.where(kind == SEND, segment.fields["peer"], 0).astype(np.int32)
    line = np.where(kind == SEND, rank + ranks, rank).astype(np.int32)
    line[processor >= ranks] = processor[processor >= ranks] + 2 * ranks
    line[kind == RECEIVE] = NONE
    box, boxes = _own_boxes(kind, match, mailbox)
    rules = LogGOPS(
        interface=rank,
        receiver=target,
        receiver_interface=target,
        receive_s=segment.fields["receive_s"],
        spread_s=segment.fields["spread_s"],
        rendezvous=segment.fields["rendezvous"],
        box=box,
        line=line,
        message_line=(target + 2 * ranks).astype(np.int32),
        interfaces=ranks,
        boxes=boxes,
        lines=3 * ranks + more,
    )
    source, then = _waits_of_groups(segment, rank)
    return _dependencies(rules, source, then, np.zeros(len(source), bool), processor, ranks + more)


def _processors(rank: Int32s, unit: NDArray[np.int16], ranks: int) -> tuple[Int32s, int]:
    """Return a processor for each rank, and one more for each other part of a rank that works, and how many more."""
    processor, other = rank.copy(), np.flatnonzero(unit)
    parts, number = np.unique(rank[other].astype(np.int64) << 16 | unit[other], return_inverse=True)
    processor[other] = ranks + number
    return processor, len(parts)


def _own_boxes(kind: NDArray[np.int8], match: Int32s, mailbox: Int32s | None) -> tuple[Int32s, int]:
    """Return a queue for each message, but one for all messages of a mailbox."""
    box = np.full(len(kind), NONE, np.int32) if mailbox is None else mailbox.copy()
    boxes = int(box.max(initial=NONE)) + 1
    sends = np.flatnonzero((kind == SEND) & (box == NONE))
    box[sends] = np.arange(boxes, boxes + len(sends))
    receives = np.flatnonzero((kind == RECEIVE) & (box == NONE))
    box[receives] = box[match[receives]]
    return box, boxes + len(sends)


def _waits_of_groups(segment: Segment, rank: Int32s) -> tuple[Ints, Ints]:
    """Return sources and targets of dependencies of operations posted together.

    Operations posted together, to which the same ``until`` belongs, wait for all operations posted together before them
    in their rank, or as far ``back`` as given; and for the ones in ``awaits``.
    """
    until, back = segment.fields["until"], segment.fields.get("back")
    begins = np.flatnonzero(np.diff(rank, prepend=NONE) | np.diff(until, prepend=NONE))
    sizes = np.diff(np.append(begins, len(rank)))
    group = np.repeat(np.arange(len(begins)), sizes)
    before = begins - (1 if back is None else back[begins])
    then = np.flatnonzero(before >= segment.first[rank[begins]])
    after = group[before[then]]
    if back is not None:
        awaits = segment.fields["awaits"]
        waits = np.flatnonzero(awaits)
        after, then = np.append(after, group[waits - awaits[waits]]), np.append(then, group[waits])
        order = np.lexsort((then, after))
        after, then = after[order], then[order]
    times = sizes[after] * sizes[then]
    pair = np.repeat(np.arange(len(after)), times)
    place, width = np.arange(len(pair)) - (np.cumsum(times) - times)[pair], sizes[then][pair]
    return begins[after][pair] + place // width, begins[then][pair] + place % width


def as_in_loggopsim(schedule: Schedule, tag: Ints, shared: Ints, segment: Segment) -> Dependencies:
    """Return the dependencies of a schedule, each in the order of the file, and its processors and queues.

    Also return its interfaces. ``shared``: (N,) the number of the queue of messages and receives of several kinds, or
    NONE.

    A message keeps the numbers of its send's processor and interface at its target, as in LogGOPSim.
    """
    rank = np.repeat(np.arange(schedule.ranks), np.diff(schedule.first))
    sends = np.flatnonzero(schedule.kind == SEND)
    peer = schedule.peer[sends].astype(np.int64)
    processor, receiver, processors = _units(rank, schedule.cpu, peer, schedule.cpu[sends])
    interface, receiver_interface, interfaces = _units(rank, schedule.nic, peer, schedule.nic[sends])
    box, boxes = _boxes(schedule, rank, tag, shared)
    line, message_line, lines = _lines(schedule, processor, interface, receiver, receiver_interface)
    rules = LogGOPS(
        interface=interface,
        receiver=_of_sends(receiver, sends, len(schedule)),
        receiver_interface=_of_sends(receiver_interface, sends, len(schedule)),
        receive_s=segment.fields["receive_s"],
        spread_s=segment.fields["spread_s"],
        rendezvous=segment.fields["rendezvous"],
        box=box,
        line=line,
        message_line=_of_sends(message_line, sends, len(schedule)),
        interfaces=interfaces,
        boxes=boxes,
        lines=lines,
    )
    source = np.repeat(np.arange(len(schedule)), np.diff(schedule.edge_start))
    target = schedule.edge_target.astype(np.int64)
    return _dependencies(rules, source, target, schedule.edge_early, processor, processors)


def _dependencies(
    rules: LogGOPS, source: Ints, target: Ints, early: NDArray[np.bool_], processor: Int32s, processors: int
) -> Dependencies:
    return Dependencies(
        follows_previous=np.zeros(len(processor), bool),
        source=source,
        target=target,
        early=early,
        processor=processor,
        processors=processors,
        loggops=rules,
    )


def _units(
    rank: Ints, number: NDArray[np.int32], peer: Ints, at_peer: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """Processors, or interfaces, as numbers among all ranks': of operations, of messages at their targets."""
    key = np.concatenate([rank, peer]) << 32 | np.concatenate([number, at_peer])
    units, place = np.unique(key, return_inverse=True)
    numbers: NDArray[np.int32] = place.astype(np.int32)
    return numbers[: len(rank)], numbers[len(rank) :], len(units)


def _lines(
    schedule: Schedule,
    processor: NDArray[np.int32],
    interface: NDArray[np.int32],
    receiver: NDArray[np.int32],
    receiver_interface: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """Lines: computations by processor, sends and messages by processor and interface; NONE for receives."""
    none = np.full(len(processor), NONE, np.int32)
    way_out = np.stack([np.zeros_like(processor), processor, np.where(schedule.kind == SEND, interface, none)])
    way_in = np.stack([np.ones_like(receiver), receiver, receiver_interface])
    _, number = np.unique(np.concatenate([way_out, way_in], axis=1), axis=1, return_inverse=True)
    line = number.ravel().astype(np.int32)
    count = int(line.max(initial=NONE)) + 1
    return np.where(schedule.kind == RECEIVE, none, line[: len(processor)]), line[len(processor) :], count


def _of_sends(values: NDArray[np.int32], sends: Ints, count: int) -> NDArray[np.int32]:
    """Values of the sends as an array of all operations."""
    every = np.zeros(count, values.dtype)
    every[sends] = values
    return every


def _boxes(schedule: Schedule, rank: Ints, tag: Ints, shared: Ints) -> tuple[NDArray[np.int32], int]:
    """Return the queue in which each send and receive meets another.

    One for each source, target and tag, or a shared one.
    """
    messages = np.flatnonzero((schedule.kind == SEND) | (schedule.kind == RECEIVE))
    sends, peer = schedule.kind[messages] == SEND, schedule.peer[messages].astype(np.int64)
    target = np.where(sends, peer, rank[messages])
    source = np.where(sends, rank[messages], peer)
    place = target << 32 | (tag[messages] & 0xFFFFFFFF)
    common = shared[messages]
    place, source = np.where(common == NONE, place, 0), np.where(common == NONE, source, 0)
    _, number = np.unique(np.stack([common, place, source]), axis=1, return_inverse=True)
    box = np.full(len(schedule), NONE, np.int32)
    box[messages] = number.ravel()
    return box, int(box.max(initial=NONE)) + 1
