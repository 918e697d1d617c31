"""When a run's simulation reads clocks and sends messages, and which receives from any rank it would do otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.simulation_parts import Timeline
from simcodesign.describe.machine import Machine
from simcodesign.describe.python_programs.recorded_operations import SEND
from simcodesign.describe.python_programs.recording import Recording
from simcodesign.describe.recordings.workload import workload_of_recording
from simcodesign.engine.simulate import simulate
from simcodesign.mpi.ranks.log import Log
from simcodesign.mpi.ranks.matching import ANY_SOURCE, ANY_TAG, Mailbox, Taken
from simcodesign.mpi.ranks.world import Sent

#: Kind of rows of a timeline.
_SEND = 1


@dataclass(frozen=True)
class SimulatedTimes:
    """``reads_s`` and ``sends`` of each rank; ``arrival_s``: (N,) of the message of each entry, NaN of other ones."""

    reads_s: list[list[float]]
    sends: list[list[Sent]]
    arrival_s: NDArray[np.float64]


def simulated_times(log: Log, recording: Recording, machine: Machine) -> SimulatedTimes:
    """Simulate a recording; return when ranks read clocks, and when messages are sent and arrive."""
    entries = len(recording.op)
    numbered = replace(recording, line=np.arange(entries))  # so that the timeline has the entry of each row
    workload = workload_of_recording(numbered, "times")
    timeline = simulate(workload, machine, {"P": recording.ranks}, timeline=True).timeline
    assert timeline is not None
    assert timeline.line is not None
    arrival_s = np.full(entries, np.nan)
    sends: list[list[Sent]] = [[] for _ in range(recording.ranks)]
    is_send = np.append(recording.of_kind(SEND), False)[recording.op[timeline.line]]
    is_own = np.ones(entries + 1, bool)
    for rank, parts in enumerate(log.parts_of):
        is_own[recording.first[rank] + np.array(parts, np.int64)] = False
    rows = np.flatnonzero(is_send & is_own[timeline.line] & (timeline.kind == _SEND))
    assert timeline.arrival_s is not None
    arrival_s[timeline.line[rows]] = timeline.arrival_s[rows]
    columns = (timeline.peer, timeline.size_bytes, timeline.ready_s, timeline.finish_s, timeline.arrival_s)
    for rank, *sent in zip(timeline.rank[rows].tolist(), *(column[rows].tolist() for column in columns), strict=True):
        sends[rank].append(Sent(*sent))
    return SimulatedTimes(_reads_s(log, recording, timeline), sends, arrival_s)


def _reads_s(log: Log, recording: Recording, timeline: Timeline) -> list[list[float]]:
    """Return a rank reads its clock when all is done that it waited for."""
    assert timeline.line is not None
    first_row = np.searchsorted(timeline.line, np.arange(len(recording.op) + 1))
    done_s = np.where(recording.started[timeline.line], 0.0, timeline.finish_s)
    reads_s = []
    for rank, reads in enumerate(log.reads):
        begin, end = first_row[recording.first[rank : rank + 2]]
        before_s = np.maximum.accumulate(np.append(0.0, done_s[begin:end]))
        row = first_row[recording.first[rank] + np.array(reads, np.int64)] - begin
        reads_s.append(before_s[row].tolist())
    return reads_s


def out_of_order(boxes: Sequence[Sequence[Mailbox]], recording: Recording, arrival_s: NDArray[np.float64]) -> int:
    """Count the receives from any rank that took another message than the simulation would give them.

    Another message that fits, from another rank, arrives earlier in the simulation.
    """
    return sum(_out_of_order(box.taken, recording, arrival_s) for box in chain(*boxes) if box.taken)


def _out_of_order(every: Sequence[Taken], recording: Recording, arrival_s: NDArray[np.float64]) -> int:
    taken = sorted(every, key=lambda one: one.posted)
    source, tag, sender, entry = (
        np.array([getattr(one, name) for one in taken], np.int64)
        for name in ("from_rank", "with_tag", "sender", "entry")
    )
    times_s = arrival_s[recording.first[sender] + entry]
    count = 0
    for place, one in enumerate(taken):
        if one.source == ANY_SOURCE:
            later = slice(place + 1, None)
            earlier = (times_s[later] < times_s[place]) & (source[later] != one.from_rank)
            count += bool((earlier & ((tag[later] == one.tag) | (one.tag == ANY_TAG))).any())
    return count
