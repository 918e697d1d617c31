"""Closed form of a halo exchange, for the models of ``message_costs``."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts
from simcodesign.analytic.messages.posted_together import SHORT, carried_s, exchanged_s, go_as_posted
from simcodesign.analytic.pipelining.pace import Carry, Pace
from simcodesign.core.units import FloatOrArray


def halo(
    sizes: Sequence[FloatOrArray],
    grid: Sequence[FloatOrArray],
    periodic: bool,
    p: MessageCosts,
    messages: Sequence[FloatOrArray] | None = None,
) -> Cost:
    """``messages`` (one each, if None) to every neighbour in the grid: two neighbours per dimension, one at an edge.

    All sends come first, in every dimension those upwards and those downwards, then the receives, those from above
    and those from below. The last to finish is a rank with most neighbours; its neighbour above sends upwards first if
    it has one above itself. Among three ranks in a row that do not close a ring, the middle one has most neighbours,
    but the first one waits longer for what its neighbour sends downwards after all that it sends upwards: both are
    tried. A fraction of a message takes as much less time as the whole ones are apart, and never less than none.

    In LogGOPS it is exact if all ranks do alike and send no more than ``SHORT`` messages, or messages of one size.
    Otherwise it is a lower bound.
    """
    several = [1.0] * len(sizes) if messages is None else list(messages)
    rows = _rows(sizes, grid, periodic, p, several)
    sent, total = _sent(rows, sizes, p.ranks)
    if not all(row.message.in_order for row in rows):
        return Cost(_posted_s(rows), sent, total)
    time: FloatOrArray = 0.0
    for edges in itertools.product(*((False, True) if row.edge_may_be_last else (False,) for row in rows)):
        time = np.maximum(time, _finish_s(rows, edges))
    return Cost(time, sent, total)


def is_least_halo(
    sizes: Sequence[FloatOrArray],
    grid: Sequence[FloatOrArray],
    periodic: bool,
    p: MessageCosts,
    messages: Sequence[FloatOrArray],
) -> bool:
    """Whether the time of ``halo`` is a lower bound at some design point."""
    rows = _rows(sizes, grid, periodic, p, list(messages))
    if all(row.message.in_order for row in rows):
        return False
    in_order = go_as_posted([row.message for row in rows], _counts(rows))
    return not bool(np.all(np.logical_and(_are_alike(rows), in_order)))


def _posted_s(rows: Sequence[_Row]) -> FloatOrArray:
    """Seconds in LogGOPS."""
    return exchanged_s([row.message for row in rows], _counts(rows), _are_alike(rows))


def _are_alike(rows: Sequence[_Row]) -> NDArray[np.bool_]:
    """Whether all ranks do alike. If an extent is 2, each of the two ranks has the other as its neighbour."""
    every = (row.periodic | (np.asarray(row.extent) <= 2) for row in rows)
    return np.asarray(functools.reduce(np.logical_and, every))


def _counts(rows: Sequence[_Row]) -> list[FloatOrArray]:
    """Messages of a rank inside the grid, of each size."""
    return [row.neighbours(False) * row.count for row in rows]


def carried_halo(
    sizes: Sequence[float], grid: Sequence[float], p: MessageCosts, messages: Sequence[float]
) -> Carry | None:
    """Clock of every rank after a periodic exchange, in LogGOPS."""
    rows = _rows(sizes, grid, True, p, messages)
    if any(row.message.in_order for row in rows):
        return None
    each, counts = [row.message for row in rows], [float(row.neighbours(False) * row.count) for row in rows]
    if np.count_nonzero(counts) > 1 and sum(counts) > SHORT:
        return None

    def carry(pace: Pace) -> Pace | None:
        after = carried_s(each, counts, (pace.send_gap_s, pace.receive_gap_s))
        if after is None:
            return None
        done_s, next_send_s, next_receive_s = (pace.now_s + part for part in after)
        return pace.at(done_s, next_send_s, next_receive_s)

    return carry


def most_work_s(
    sizes: Sequence[FloatOrArray],
    grid: Sequence[FloatOrArray],
    periodic: bool,
    p: MessageCosts,
    messages: Sequence[FloatOrArray],
) -> FloatOrArray:
    """Seconds for which a rank with most neighbours works on its messages, in Hockney's model.

    Where messages do not fly that is all of the time: when it has sent everything, all have, so that it waits for
    nothing.
    """
    rows = _rows(sizes, grid, periodic, p, messages)
    return sum(row.neighbours(False) * row.count * (row.message.send_s + row.message.held_s) for row in rows)


def busy_s(
    sizes: Sequence[FloatOrArray],
    grid: Sequence[FloatOrArray],
    periodic: bool,
    p: MessageCosts,
    messages: Sequence[FloatOrArray],
) -> FloatOrArray:
    """Seconds for which all ranks together are at work on their messages, waiting apart."""
    rows = _rows(sizes, grid, periodic, p, messages)
    return sum((row.sent(p.ranks) * (row.message.send_s + row.message.held_s) for row in rows), start=0.0)


def most_neighbours(grid: Sequence[int], periodic: bool) -> NDArray[np.bool_]:
    """Return the ranks (P,), in row-major order, that have as many neighbours in every dimension as any rank has.

    One bool if these are all ranks.
    """
    if periodic or max(grid) < 3:
        return np.asarray(True)
    inside = []
    for extent in grid:
        place = np.arange(extent)
        inside.append((place > 0) & (place < extent - 1) if extent > 2 else np.ones(extent, dtype=np.bool_))
    every: NDArray[np.bool_] = functools.reduce(np.logical_and.outer, inside).ravel()
    return every


def _sent(
    rows: Sequence[_Row], sizes: Sequence[FloatOrArray], ranks: FloatOrArray
) -> tuple[FloatOrArray, FloatOrArray]:
    """Messages and bytes of all ranks together."""
    messages: FloatOrArray = 0.0
    total: FloatOrArray = 0.0
    for row, size in zip(rows, sizes, strict=True):
        sent = row.sent(ranks)
        messages, total = messages + sent, total + sent * size
    return messages, total


@dataclass(frozen=True)
class _Row:
    """The ranks of one dimension: their messages and how many of them go to each neighbour."""

    message: Message
    count: FloatOrArray
    extent: FloatOrArray
    periodic: bool

    def sent(self, ranks: FloatOrArray) -> FloatOrArray:
        """Messages of all ranks together."""
        inside = ranks if self.periodic else ranks / self.extent * (self.extent - 1)
        return 2.0 * self.count * np.where(np.asarray(self.extent) > 1, inside, 0.0)

    @property
    def edge_may_be_last(self) -> bool:
        return not self.periodic and bool(np.any(np.asarray(self.extent) == 3))

    def neighbours(self, edge: bool) -> FloatOrArray:
        """Return the number of neighbours of the examined rank.

        The first of three if ``edge``, otherwise one with most of them.
        """
        extent = np.asarray(self.extent)
        most = 2.0 if self.periodic else np.minimum(extent - 1.0, 1.0 if edge else 2.0)
        # Only in a row of three can the edge be last.
        most = np.where(edge & (extent != 3), np.minimum(extent - 1.0, 2.0), most)
        return np.where(extent > 1, most, 0.0)

    def before(self, edge: bool) -> FloatOrArray:
        """Messages that the neighbour above sends upwards first."""
        extent = np.asarray(self.extent)
        return np.where(self.periodic | (extent > 3) | (edge & (extent == 3)), self.count, 0.0)


def _rows(
    sizes: Sequence[FloatOrArray],
    grid: Sequence[FloatOrArray],
    periodic: bool,
    p: MessageCosts,
    messages: Sequence[FloatOrArray],
) -> list[_Row]:
    return [
        _Row(_as_slowest(p.message_along(dim, size)), messages[dim], extent, periodic)
        for dim, (size, extent) in enumerate(zip(sizes, grid, strict=True))
    ]


def _as_slowest(message: Message) -> Message:
    """Return a message that holds its receiver, if any along the dimension does.

    It holds its receiver as long as the slowest one holds its sender.
    """
    if not np.any(np.asarray(message.copy_s) != 0):
        return message
    return replace(message, copy_s=np.where(np.asarray(message.copy_s) > 0, message.send_s, 0.0))


def _finish_s(rows: Sequence[_Row], edges: Sequence[bool]) -> FloatOrArray:
    """When a rank that sits at these edges has received everything."""
    begin: FloatOrArray = 0.0
    ready: FloatOrArray = 0.0
    for row, edge in zip(rows, edges, strict=True):
        count = row.neighbours(edge) * row.count
        last = begin + (count - 1.0) * row.message.next_send_s + row.message.send_s
        ready = np.where(count > 0, np.maximum(ready, last), ready)
        begin = begin + count * row.message.next_send_s
    time = next_receive = ready
    begin = 0.0
    for row, edge in zip(rows, edges, strict=True):
        m, neighbours = row.message, row.neighbours(edge)
        apart = m.next_receive_s + m.copy_s
        above = begin + row.before(edge) * m.next_send_s + m.arrival_s  # when the first from above arrives
        later = row.count - 1.0
        paced = above + later * np.maximum(m.next_send_s, apart)
        last = np.maximum(next_receive + m.copy_s + later * apart, paced)
        last = last + (neighbours - 1.0) * row.count * apart  # by then the messages from below have arrived
        some = neighbours * row.count > 0
        time = np.where(some, last + m.receive_s, time)
        next_receive = np.where(some, last + m.next_receive_s, next_receive)
        begin = begin + neighbours * row.count * m.next_send_s
    return np.maximum(time, 0.0)
