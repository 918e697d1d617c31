"""Dependencies of operations that wait for others than the one before them in their rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simcodesign.generate.plan import NONE, UNLIMITED, Discipline, Edges, LogGOPS

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Dependencies:
    """What the N operations of a Plan wait for, if not each for the one before it in its rank: E dependencies, from
    ``source`` to ``target`` (``early``: from the beginning of the source, not its end); and the processor of each."""

    follows_previous: Flags  # (N,) waits for the operation before it
    source: Ints  # (E,)
    target: Ints  # (E,)
    early: Flags  # (E,)
    processor: NDArray[np.int32]  # (N,) or NONE
    processors: int
    rendezvous: tuple[Ints, Ints]  # sends with a rendezvous, and the operations that wait for their receives
    without_noise: Ints | None = None  # operations whose durations stay as they are under noise
    disk_discipline: Discipline = UNLIMITED  # of every disk
    loggops: LogGOPS | None = None  # of a schedule that runs by the rules of LogGOPSim


def edges_of(count: int, source: Ints, target: Ints, early: ArrayLike = False) -> Edges | None:
    """Dependencies of ``count`` operations, ``target[k]`` waiting for ``source[k]``; None if there are none."""
    if not len(source):
        return None
    order = np.argsort(source, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=count))]).astype(np.int64)
    flags = np.broadcast_to(np.asarray(early, bool), source.shape)
    return Edges(start, target[order].astype(np.int32), flags[order])


def rendezvous(
    first: Ints, rank: NDArray[np.int32], match: NDArray[np.int32], hold: NDArray[np.int32]
) -> tuple[Ints, Ints]:
    """Sources and targets of dependencies: what stands at place ``hold`` of the sender waits for the receive.

    Messages that meet their receive in a mailbox hold nothing up, since it is not known beforehand which one that is.
    """
    sends = np.flatnonzero((hold != NONE) & (match != NONE))
    target = first[rank[sends]] + hold[sends]
    inside = target < first[rank[sends] + 1]
    return match[sends[inside]].astype(np.int64), target[inside]
