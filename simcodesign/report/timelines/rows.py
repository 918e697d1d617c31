"""Shared parts of the files of timelines: times in whole nanoseconds, tracks of ranks, names of operations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.operation_kinds import KERNEL, KINDS
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import Timeline

Ints = NDArray[np.int64]
NAMES = ("compute", "send to {}", "receive from {}", "read", "write", "memory", "go on", *KINDS[KERNEL:])
WAITS = (
    "wait to compute",
    "wait to send to {}",
    "wait for {}",
    "wait to read",
    "wait to write",
    "wait for memory",
    "wait to go on",
    *(f"wait: {kind}" for kind in KINDS[KERNEL:]),
)


def in_nanoseconds(times_s: NDArray[np.float64]) -> Ints:
    """Return times rounded once, so that what touches still does."""
    return np.rint(times_s * 1e9).astype(np.int64)


def title_of(result: Result) -> str:
    """Title: the workload and the machine."""
    return f"{result.workload} on {result.machine}" + (f", {result.preset}" if result.preset else "")


def names_of_tracks(timeline: Timeline, track: Ints) -> dict[int, str]:
    """Return the name of each track by its number, tracks of a rank together."""
    ranks = int(timeline.rank.max(initial=0)) + 1
    tracks = np.unique(np.concatenate([timeline.rank, track])).tolist()
    order = sorted(tracks, key=lambda tid: (tid % ranks, tid))
    return {tid: f"rank {tid % ranks}" + ("" if tid < ranks else ", beside") for tid in order}


def served_by(timeline: Timeline, op: int) -> str:
    """Whom a station serves."""
    if op >= len(timeline.rank):
        return "message of another job"
    return f"rank {timeline.rank[op]}: {NAMES[timeline.kind[op]].format(timeline.peer[op])}"


def nanoseconds_of(timeline: Timeline) -> tuple[Ints, Ints, Ints]:
    """Ready, start and finish, rounded once, so that neighbouring events touch and never overlap."""
    ready, start, finish = (in_nanoseconds(times) for times in (timeline.ready_s, timeline.start_s, timeline.finish_s))
    return ready, np.clip(start, ready, finish), finish


def tracks_of(timeline: Timeline, ready: Ints, finish: Ints) -> Ints:
    """Return the track of each operation, (N,).

    The number of its rank, or, if a later one of the rank begins before its end, the first free one of the rank's
    further tracks, which are numbered above all ranks.
    """
    rank, track = timeline.rank.astype(np.int64), timeline.rank.astype(np.int64)
    order = np.lexsort((np.arange(len(rank)), rank))[::-1]
    moment, place = np.unique(np.concatenate([ready, finish]), return_inverse=True)
    begins, ends = place.reshape(2, -1) + rank * (len(moment) + 1)
    until_next = np.full(len(rank), np.iinfo(np.int64).max)
    until_next[order[1:]] = np.minimum.accumulate(begins[order])[:-1]
    taken: dict[int, list[int]] = {}  # by rank: when each of its further tracks is free
    beside = np.flatnonzero(until_next < ends)
    for op in beside[np.lexsort((beside, ready[beside], rank[beside]))].tolist():
        free = taken.setdefault(int(rank[op]), [])
        number = next((number for number, until in enumerate(free) if until <= ready[op]), len(free))
        free[number : number + 1] = [int(finish[op])]
        track[op] = rank[op] + (number + 1) * (int(rank.max()) + 1)
    return track
