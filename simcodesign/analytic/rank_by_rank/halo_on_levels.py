"""Halo exchanges whose messages are on several levels of the machine, rank by rank in Hockney's model.

A rank sends to its neighbours, one after another, and then receives from them. A message costs what the level costs
that it is on; on a level that holds receivers, it holds its receiver as long as its sender. A rank waits for what its
neighbours send before they receive anything. So ranks take as long as each other if their neighbours are on the same
levels, and those of their neighbours are: these are followed as one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.route_links import shared_parts
from simcodesign.analytic.rank_by_rank.alike_ranks import levels_of
from simcodesign.describe.machine import Machine

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Messages of all ranks that are followed; and moments that are held at once.
MOST_MESSAGES, MOST_MOMENTS = 2**21, 2**20
NOBODY = -1


@dataclass(frozen=True)
class HaloCourse:
    """Which ranks of groups on one process grid do alike. Of each direction, upwards and downwards in every dimension
    in the order in which all ranks send: its dimension ``dims`` (L,), and ``levels`` (L, A) on which the neighbours of
    A kinds of ranks are. Of B kinds that also differ in their neighbours: which of the A kinds they are, ``own`` (B,),
    and that of their ``neighbours`` (L, B). NOBODY where a rank has no neighbour."""

    dims: tuple[int, ...]
    levels: Ints
    own: Ints
    neighbours: Ints

    @classmethod
    def of(cls, machine: Machine, ranks: int, members: Ints, grid: Sequence[int], periodic: bool) -> HaloCourse:
        """The course of groups with these members (G, n), among so many ranks."""
        directions, labels = _directions(grid, periodic), shared_parts(machine, ranks)[:, members]
        every = np.arange(members.shape[1])
        levels = [np.where(is_there, levels_of(labels, to, every), NOBODY).ravel() for _, to, is_there in directions]
        kinds, own = np.unique(np.reshape(levels, (len(directions), members.size)), axis=1, return_inverse=True)
        own = own.reshape(members.shape)
        beside = [np.where(is_there, own[:, to], NOBODY).ravel() for _, to, is_there in directions]
        both = np.unique(np.stack([own.ravel(), *beside]), axis=1)
        return cls(tuple(dim for dim, _, _ in directions), kinds, both[0], both[1:])

    @property
    def is_mixed(self) -> bool:
        """Whether messages along some dimension are on several levels."""
        return any(
            len(np.unique(found[found != NOBODY])) > 1
            for found in (self.levels[np.equal(self.dims, dim)] for dim in {*self.dims})
        )

    def seconds(self, messages: Callable[[int, int], Message], counts: Sequence[int], shape: tuple[int, ...]) -> Floats:
        """Seconds at K design points, of as many messages to each neighbour by dimension; ``messages(level, dim)``
        costs numbers, or arrays of the ``shape`` (K,)."""
        used = {
            (int(level), dim)
            for dim, row in zip(self.dims, self.levels, strict=True)
            for level in np.unique(row[row != NOBODY])
        }
        times = np.zeros((int(self.levels.max(initial=0)) + 1, max(self.dims, default=0) + 1, 4, *shape))
        for level, dim in used:
            one = messages(level, dim)
            for place, time_s in enumerate((one.send_s, one.arrival_s, one.receive_s, one.copy_s)):
                times[level, dim, place] = time_s
        at_once = max(1, int(MOST_MOMENTS // max(2 * len(self.own) * sum(counts), 1)))
        parts = [self._seconds(times[..., low : low + at_once], counts) for low in range(0, max(shape[0], 1), at_once)]
        return np.concatenate(parts)

    def _seconds(self, times: Floats, counts: Sequence[int]) -> Floats:
        now = np.zeros((self.levels.shape[1], times.shape[-1]))
        begun: list[list[Floats]] = []
        for dim, level in zip(self.dims, self.levels, strict=True):
            send_s = np.where((level != NOBODY)[:, None], times[level, dim, 0], 0.0)
            begun.append([])
            for _ in range(counts[dim]):
                begun[-1].append(now)
                now = now + send_s
        now = now[self.own]
        for number, dim in enumerate(self.dims):
            level, neighbour = self.levels[number][self.own], self.neighbours[number]
            is_there = (level != NOBODY)[:, None]
            _, arrival_s, receive_s, copy_s = np.moveaxis(times[level, dim], 1, 0)
            for begin in begun[number ^ 1]:  # the neighbour sent in the other direction
                ends = np.maximum(now + copy_s, begin[neighbour] + arrival_s) + receive_s
                now = np.where(is_there, ends, now)
        seconds: Floats = now.max(axis=0, initial=0.0)
        return seconds


def _directions(grid: Sequence[int], periodic: bool) -> list[tuple[int, Ints, NDArray[np.bool_]]]:
    """Upwards and downwards in every dimension: the dimension, the neighbours (n,), and which members have one."""
    found = []
    place = np.unravel_index(np.arange(int(np.prod(grid))), tuple(grid))
    for dim, extent in enumerate(grid):
        for way in (1, -1) if extent > 1 else ():
            moved = [*place]
            moved[dim] = (place[dim] + way) % extent
            is_there = np.full(len(place[dim]), True)
            if not periodic:
                is_there = (place[dim] + way >= 0) & (place[dim] + way < extent)
            found.append((dim, np.asarray(np.ravel_multi_index(moved, tuple(grid)), dtype=np.int64), is_there))
    return found
