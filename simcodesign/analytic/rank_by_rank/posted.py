"""Messages that all ranks post together in LogGOPS, not alike on all ranks: when each rank sends and takes up what.

With c, a, r, u and v as in ``message_costs`` of each message: a rank begins its next send when its processor is free
and u of its send before has passed. A message is taken up when it is there, the processor is free, and v of the message
taken up before has passed: of several that wait, the one whose send began first, at the same time that of the lowest
rank. Of what could begin at the same time, sends come first. So each rank's turns follow from when the messages that
come to it were sent, and a send depends on earlier ones only. These equations are solved by iteration: all ranks' turns
are computed anew from the last approximation, beginning with sends that nothing delays, until no send moves. Each
iteration is right for at least one later moment than the one before, so that the solution is the only one.

After k iterations a rank knows of the ranks that its messages reach in k steps, no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.posted_together import ROUNDING

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: In picoseconds most times are whole numbers, of which sums are exact: then it is known who comes at the same time.
PICOSECONDS = 1e12
#: Numbers that an array has at most: so many design points are computed at a time that they fit.
AT_A_TIME = 2**20


@dataclass(frozen=True)
class Posted:
    """Who sends what to whom. Of R ranks, up to N sends and M messages that come to a rank; ranks with fewer have -1.

    ``kind`` (N, R): the kind of each send, in the order of the queue. ``sender``, ``place`` (M, R): the rank from which
    each message comes, ascending, and which of its sends it is.
    """

    kind: Ints
    sender: Ints
    place: Ints

    @staticmethod
    def of_sends(sends: Sequence[Sequence[tuple[int, int]]]) -> Posted:
        """From the target and kind of each send of each rank."""
        coming: list[list[tuple[int, int]]] = [[] for _ in sends]
        for rank, row in enumerate(sends):
            for place, (target, _) in enumerate(row):
                coming[target].append((rank, place))
        kinds = _table([[kind for _, kind in row] for row in sends])
        return Posted(kinds, *(_table([[pair[part] for pair in row] for row in coming]) for part in (0, 1)))


def _table(rows: Sequence[Sequence[int]]) -> Ints:
    """Rows of different length as columns; -1 where they have ended."""
    table = np.full((max(map(len, rows), default=0), len(rows)), -1)
    for number, row in enumerate(rows):
        table[: len(row), number] = row
    return table


def finish_s(posted: Posted, times_s: Floats, most_iterations: int | None = None) -> Floats:
    """Seconds (K,) until everything is received; ``times_s`` (S, 5, K): those of each kind at each design point. NaN
    where more iterations would be needed."""
    if not len(posted.kind):
        return np.zeros(times_s.shape[-1])
    at_once = max(1, AT_A_TIME // posted.sender.size)
    parts = [times_s[..., low : low + at_once] for low in range(0, times_s.shape[-1], at_once)]
    return np.concatenate([_solved_s(posted, part, most_iterations) for part in parts])


def _solved_s(posted: Posted, times_s: Floats, most_iterations: int | None) -> Floats:
    times, per_second = in_whole_units(times_s)
    done, unsolved = np.full(times.shape[-1], np.nan), np.arange(times.shape[-1])
    turns = _Turns(posted, times)
    begins, iterations = turns.undisturbed(), 0
    while len(unsolved) and iterations != most_iterations:
        better, ends = turns.taken(begins)
        moved = (better != begins).any(axis=(0, 1))
        done[unsolved[~moved]] = ends.max(axis=0)[~moved]
        unsolved, begins, iterations = unsolved[moved], better[..., moved], iterations + 1
        turns = _Turns(posted, times[..., unsolved])
    return done / per_second


def in_whole_units(times_s: Floats) -> tuple[Floats, Floats]:
    """Times (S, 5, K) in picoseconds at points where all are whole then, else in seconds; and units per second (K,)."""
    scaled = times_s * PICOSECONDS
    whole = np.rint(scaled)
    near = (np.abs(whole - scaled) <= 1e-13 * whole).all(axis=(0, 1))
    return np.where(near, whole, times_s), np.where(near, PICOSECONDS, 1.0)


class _Turns:
    """The turns of R ranks at K design points; arrays have the axes (send or message, rank, point)."""

    def __init__(self, posted: Posted, times: Floats) -> None:
        self._posted, self._alike = posted, len(times) == 1
        self._rank, self._point = np.ogrid[: posted.kind.shape[1], : times.shape[-1]]
        self._sends = (posted.kind >= 0).sum(axis=0)[:, np.newaxis]
        self._send, _, _, self._next_send, _ = self._of_kinds(times, posted.kind)
        kind_there = np.where(posted.sender < 0, -1, posted.kind[posted.place, posted.sender])
        _, self._arrival, self._receive, _, self._next_receive = self._of_kinds(times, kind_there)

    @staticmethod
    def _of_kinds(times: Floats, kind: Ints) -> Floats:
        """The times (5, N, R, K) of sends or messages, and of one more of each rank, which is nobody's."""
        padded = np.concatenate([kind, np.full((1, kind.shape[1]), -1)])
        if len(times) == 1:
            return np.broadcast_to(times[0][:, np.newaxis, np.newaxis], (5, *padded.shape, times.shape[-1]))
        return np.moveaxis(times[padded], 2, 0)

    def undisturbed(self) -> Floats:
        """When sends begin that nothing delays."""
        later = np.cumsum(self._next_send[:-2], axis=0)
        begins = np.concatenate([np.zeros((1, *later.shape[1:])), later])
        return np.where(self._posted.kind[..., np.newaxis] < 0, np.inf, begins)

    def taken(self, begins: Floats) -> tuple[Floats, Floats]:
        """When sends begin if messages were sent at ``begins``, and when each rank has taken up its last message."""
        there, receive, next_receive = self._coming(begins)
        better = np.full((len(begins) + 1, *begins.shape[1:]), np.inf)
        free, may_send, may_take, done = np.zeros((4, *begins.shape[1:]))
        sent, taken = np.zeros((2, *begins.shape[1:]), int)
        for _ in range(len(self._posted.kind) + len(self._posted.sender)):
            send_at = np.where(sent < self._sends, np.maximum(free, may_send), np.inf)
            number, take_at = self._first(there, taken, np.maximum(free, may_take))
            takes = take_at * (1 + ROUNDING) < send_at
            sends = ~takes & (send_at < np.inf)
            np.put_along_axis(better, sent[np.newaxis], np.where(sends, send_at, np.inf)[np.newaxis], axis=0)
            free = np.where(sends, send_at + self._of(self._send, sent), free)
            free = np.where(takes, take_at + self._of(receive, number), free)
            may_send = np.where(sends, send_at + self._of(self._next_send, sent), may_send)
            may_take = np.where(takes, take_at + self._of(next_receive, number), may_take)
            done = np.where(takes, free, done)
            if not self._alike:
                there[np.where(takes, number, -1), self._rank, self._point] = np.inf
            sent, taken = sent + sends, taken + takes
        return better[:-1], done

    def _of(self, times: Floats, number: Ints) -> Floats:
        """The times of one send or message of each rank."""
        some: Floats = times[0] if self._alike else times[number, self._rank, self._point]
        return some

    def _coming(self, begins: Floats) -> tuple[Floats, Floats, Floats]:
        """When messages are there, in the order in which they were sent, and their r and v. The last never comes."""
        begun = begins[self._posted.place, self._posted.sender]
        sent_at = np.full((len(begun) + 1, *begun.shape[1:]), np.inf)
        sent_at[:-1] = np.where(self._posted.sender[..., np.newaxis] < 0, np.inf, begun)
        if self._alike:
            sent_at.sort(axis=0)
            return sent_at + self._arrival, self._receive, self._next_receive
        order = np.argsort(sent_at, axis=0, kind="stable")
        every = (sent_at + self._arrival, self._receive, self._next_receive)
        there, receive, next_receive = (np.take_along_axis(times, order, axis=0) for times in every)
        return there, receive, next_receive

    def _first(self, there: Floats, taken: Ints, ready: Floats) -> tuple[Ints, Floats]:
        """Which message a rank takes up next if it does so before it sends, and when."""
        if self._alike:
            return taken, np.maximum(ready, there[taken, self._rank, self._point])
        take_at = np.maximum(ready, there.min(axis=0))
        return np.argmax(there <= take_at, axis=0), take_at
