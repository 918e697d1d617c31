"""Halo exchanges whose messages are on several levels of the machine, rank by rank.

A rank sends to its neighbours, one after another, and then receives from them. A message costs what the level costs
that it is on; on a level that holds receivers, it holds its receiver as long as its sender.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.posted_together import exchanged_s
from simcodesign.analytic.messages.route_links import shared_parts
from simcodesign.analytic.rank_by_rank.alike_ranks import levels_of
from simcodesign.describe.machine import Machine

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Messages of all ranks that are followed at most, and moments kept in memory.
MOST_MESSAGES, MOST_MOMENTS = 2**21, 2**20
NOBODY = -1


@dataclass(frozen=True)
class HaloLevels:
    """The neighbours of ranks, in G groups of n members on one process grid, and the levels on which they are.

    There are L directions: upwards and downwards in every dimension, in the order in which all ranks send. Each has a
    dimension, ``dims`` (L,), a neighbour of every member, ``neighbours`` (L, n), and the level of the message to it,
    ``levels`` (L, G, n), which is NOBODY if the member has no neighbour there.

    ``times`` of messages are c, a, r, u and v of ``message_costs``, and for how long they hold their receivers, by
    level and dimension at K design points: shape (D, dims, 6, K).
    """

    dims: tuple[int, ...]
    neighbours: Ints
    levels: Ints

    @classmethod
    def of(cls, machine: Machine, ranks: int, members: Ints, grid: Sequence[int], periodic: bool) -> HaloLevels:
        """Find the levels for groups with these ``members`` (G, n), among ``ranks`` ranks in all."""
        directions, labels = _directions(grid, periodic), shared_parts(machine, ranks)[:, members]
        every, shape = np.arange(members.shape[1]), (len(directions), *members.shape)
        levels = [np.where(is_there, levels_of(labels, to, every), NOBODY) for _, to, is_there in directions]
        neighbours = np.reshape([to for _, to, _ in directions], shape[::2]).astype(np.int64)
        return cls(tuple(dim for dim, _, _ in directions), neighbours, np.reshape(levels, shape).astype(np.int64))

    @property
    def is_mixed(self) -> bool:
        """Whether messages along some dimension are on several levels."""
        rows = (self.levels[np.equal(self.dims, dim)] for dim in {*self.dims})
        return any(len(np.unique(row[row != NOBODY])) > 1 for row in rows)

    @property
    def is_alike(self) -> bool:
        """Whether all ranks have their neighbours on the same levels."""
        return bool(np.all(self.levels == self.levels[:, :1, :1]))

    def seconds(self, times: Floats, counts: Sequence[float], in_order: bool) -> Floats:
        """Compute the seconds (K,) of an exchange with ``counts`` messages to each neighbour, by dimension.

        In Hockney's model if ranks work ``in_order``; otherwise in LogGOPS, a lower bound unless ranks are alike. NaN
        in Hockney's for fractions of messages, or too many.
        """
        whole = [int(count) for count in counts]
        if not self.dims:
            return np.zeros(times.shape[-1])
        if not in_order:
            return self._posted_s(times, counts)
        return self._in_order_s(times, whole) if whole == [*counts] else np.full(times.shape[-1], np.nan)

    def _in_order_s(self, times: Floats, counts: Sequence[int]) -> Floats:
        """Return the seconds of the exchanges if messages are sent in order; nan for too many messages.

        A rank waits for what its neighbours send before they receive anything. So ranks take as long as each other if
        their neighbours are on the same levels, and the neighbours of these as well: these are followed as one.
        """
        pairs = zip(self.dims, self.levels, strict=True)
        if sum(int((row != NOBODY).sum()) * counts[dim] for dim, row in pairs) > MOST_MESSAGES:
            return np.full(times.shape[-1], np.nan)
        kinds, own = _kinds(self.levels.reshape(len(self.dims), -1))
        own = own.reshape(self.levels.shape[1:])
        pairs = zip(self.levels, self.neighbours, strict=True)
        beside = [np.where(level != NOBODY, own[:, to], NOBODY).ravel() for level, to in pairs]
        alike, _ = _kinds(np.stack([own.ravel(), *beside]))
        at_once = max(1, int(MOST_MOMENTS // max(2 * alike.shape[1] * sum(counts), 1)))
        points = range(0, max(times.shape[-1], 1), at_once)
        parts = [_of_alike_s(self.dims, times[..., low : low + at_once], counts, kinds, alike) for low in points]
        return np.concatenate(parts)

    def _posted_s(self, times: Floats, counts: Sequence[float]) -> Floats:
        """In LogGOPS. Where ranks differ it is the largest of the lower bounds for a rank."""
        kinds, _ = _kinds(self.levels.reshape(len(self.dims), -1))
        seconds = np.zeros(times.shape[-1])
        for levels in kinds.T:
            pairs = [(level, dim) for level, dim in zip(levels, self.dims, strict=True) if level != NOBODY]
            if pairs:
                messages = [replace(Message(*times[pair][:5]), in_order=False) for pair in pairs]
                several = [counts[dim] for _, dim in pairs]
                seconds = np.maximum(seconds, exchanged_s(messages, several, self.is_alike))
        return seconds


def _of_alike_s(dims: Sequence[int], times: Floats, counts: Sequence[int], kinds: Ints, alike: Ints) -> Floats:
    """``kinds`` (L, A): the levels of A kinds of ranks.

    ``alike`` (1 + L, B): of B kinds that also differ in their neighbours which of the A kinds they are, and these.
    """
    now = np.zeros((kinds.shape[1], times.shape[-1]))
    begun: list[list[Floats]] = []
    for dim, level in zip(dims, kinds, strict=True):
        send_s = np.where((level != NOBODY)[:, None], times[level, dim, 0], 0.0)
        begun.append([])
        for _ in range(counts[dim]):
            begun[-1].append(now)
            now = now + send_s
    own = alike[0]
    now = now[own]
    for number, dim in enumerate(dims):
        level, neighbour = kinds[number][own], alike[1 + number]
        is_there = (level != NOBODY)[:, None]
        _, arrival_s, receive_s, *_, copy_s = np.moveaxis(times[level, dim], 1, 0)
        for begin in begun[number ^ 1]:  # the neighbour sent in the other direction
            ends = np.maximum(now + copy_s, begin[neighbour] + arrival_s) + receive_s
            now = np.where(is_there, ends, now)
    seconds: Floats = now.max(axis=0, initial=0.0)
    return seconds


def _kinds(rows: Ints) -> tuple[Ints, Ints]:
    """Return the distinct columns (L, A) of ``rows`` (L, N), and which of them each is (N,)."""
    which = np.zeros(rows.shape[1], np.int64)
    for row in rows:
        _, which = np.unique(which * (row.max(initial=0) + 2) + (row - NOBODY), return_inverse=True)
    _, first = np.unique(which, return_index=True)
    return rows[:, first], which


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
