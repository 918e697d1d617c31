"""What a schedule's operations need to run by LogGOPSim's rules: processors, interfaces, and where messages are met."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.result import RECEIVE, SEND
from simcodesign.describe.goal.schedule import ANY, Schedule
from simcodesign.describe.machine import Machine
from simcodesign.generate.dependencies import Dependencies
from simcodesign.generate.messages.cost_model import processed_s, spread_s
from simcodesign.generate.plan import NONE, LogGOPS

Ints = NDArray[np.int64]


def as_in_loggopsim(schedule: Schedule, tag: Ints, machine: Machine) -> Dependencies:
    """The dependencies of a schedule, each in the order of the file, and its processors, interfaces and queues.

    A message keeps the numbers of its send's processor and interface where it arrives, as in LogGOPSim.
    """
    rank = np.repeat(np.arange(schedule.ranks), np.diff(schedule.first))
    sends = np.flatnonzero(schedule.kind == SEND)
    peer = schedule.peer[sends].astype(np.int64)
    processor, receiver, processors = _units(rank, schedule.cpu, peer, schedule.cpu[sends])
    interface, receiver_interface, interfaces = _units(rank, schedule.nic, peer, schedule.nic[sends])
    box, boxes = _boxes(schedule, rank, tag)
    line, message_line, lines = _lines(schedule, processor, interface, receiver, receiver_interface)
    size = schedule.size_bytes[sends]
    most = machine.network.rendezvous_above_bytes
    rules = LogGOPS(
        interface=interface,
        receiver=_of_sends(receiver, sends, len(schedule)),
        receiver_interface=_of_sends(receiver_interface, sends, len(schedule)),
        receive_s=_of_sends(np.asarray(processed_s(machine, size)), sends, len(schedule)),
        spread_s=_of_sends(np.asarray(spread_s(machine, size)), sends, len(schedule)),
        rendezvous=_of_sends(np.zeros(len(size), bool) if most is None else size > most, sends, len(schedule)),
        box=box,
        line=line,
        message_line=_of_sends(message_line, sends, len(schedule)),
        interfaces=interfaces,
        boxes=boxes,
        lines=lines,
    )
    source = np.repeat(np.arange(len(schedule)), np.diff(schedule.edge_start))
    nothing = np.zeros(0, np.int64)
    return Dependencies(
        follows_previous=np.zeros(len(schedule), bool),
        source=source,
        target=schedule.edge_target.astype(np.int64),
        early=schedule.edge_early,
        processor=processor,
        processors=processors,
        rendezvous=(nothing, nothing),
        loggops=rules,
    )


def _units(
    rank: Ints, number: NDArray[np.int32], peer: Ints, at_peer: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """Processors, or interfaces, as numbers among those of all ranks: of operations, of messages at their targets."""
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


def _of_sends(values: NDArray[Any], sends: Ints, count: int) -> NDArray[Any]:
    """Values of the sends as an array of all operations."""
    every = np.zeros(count, values.dtype)
    every[sends] = values
    return every


def _boxes(schedule: Schedule, rank: Ints, tag: Ints) -> tuple[NDArray[np.int32], int]:
    """The queue in which each send and receive meets another: one for each source, target and tag, or for each target
    and tag that receives from anyone."""
    messages = np.flatnonzero((schedule.kind == SEND) | (schedule.kind == RECEIVE))
    sends, peer = schedule.kind[messages] == SEND, schedule.peer[messages].astype(np.int64)
    target = np.where(sends, peer, rank[messages])
    source = np.where(sends, rank[messages], peer)
    place = target << 32 | (tag[messages] & 0xFFFFFFFF)
    source[np.isin(place, place[source == ANY])] = ANY
    _, number = np.unique(np.stack([place, source]), axis=1, return_inverse=True)
    box = np.full(len(schedule), NONE, np.int32)
    box[messages] = number.ravel()
    return box, int(box.max(initial=NONE)) + 1
