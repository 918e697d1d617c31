"""Dependencies of operations that wait for others than the previous one in their rank."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simcodesign.core.operation_kinds import WAIT
from simcodesign.generate.plan import NONE, UNLIMITED, Discipline, Edges, LogGOPS, Polls

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Dependencies:
    """Dependencies of the N operations of a Plan, if not each waits for the previous one in its rank.

    E dependencies, from ``source`` to ``target`` (``early``: from the beginning of the source, not its end); and the
    processor of each.
    """

    follows_previous: Flags  # (N,) waits for the operation before it
    source: Ints  # (E,)
    target: Ints  # (E,)
    early: Flags  # (E,)
    processor: NDArray[np.int32]  # (N,) or NONE
    processors: int
    without_noise: Ints | None = None  # operations whose durations stay as they are under noise
    disk_discipline: Discipline = UNLIMITED  # of every disk
    loggops: LogGOPS | None = None  # of what runs by the rules of LogGOPSim
    polls: Polls | None = None


def edges_of(count: int, source: Ints, target: Ints, early: ArrayLike = False) -> Edges | None:
    """Dependencies of ``count`` operations, ``target[k]`` waiting for ``source[k]``; None if there are none."""
    if not len(source):
        return None
    order = np.argsort(source, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=count))]).astype(np.int64)
    flags = np.broadcast_to(np.asarray(early, bool), source.shape)
    return Edges(start, target[order].astype(np.int32), flags[order])


def with_edges(others: Dependencies | None, count: int, source: Ints, target: Ints, early: bool) -> Dependencies:
    """Return the dependencies of ``count`` operations, and further ones; by default all ranks work in order."""
    flags = np.full(len(source), early, bool)
    if others is None:
        none = np.full(count, NONE, np.int32)
        return Dependencies(np.ones(count, bool), source, target, flags, none, 0)
    return replace(
        others,
        source=np.concatenate([others.source, source]),
        target=np.concatenate([others.target, target]),
        early=np.concatenate([others.early, flags]),
    )


def with_meetings(
    others: Dependencies | None, kind: NDArray[np.int8], match: NDArray[np.int32]
) -> tuple[Dependencies | None, NDArray[np.int32]]:
    """Return the dependencies with those of waits for other ranks, and the ``match`` of messages alone.

    A wait with a ``match`` begins when that operation of another rank is done (``Ranks.meet``).
    """
    waits = np.flatnonzero((kind == WAIT) & (match >= 0))
    if not len(waits):
        return others, match
    several = with_edges(others, len(kind), match[waits].astype(np.int64), waits, early=False)
    match = match.copy()
    match[waits] = NONE
    return several, match
