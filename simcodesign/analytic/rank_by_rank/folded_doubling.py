"""Allreduce by recursive doubling in LogGOPS where P is no power of two: ranks that fold in come to the rounds later.

Of N = 2^K corners of a hypercube, the first P - N get the message of a rank that folds in, begin their rounds when that
is done, and answer after the last one. With c, a, r, u and v as in ``message_costs``, of a corner:

- The send and the receive of a round are posted when the send of the round before is over (c after it began; above S
  when its message has met its receive, if that is later) and the message of that round has been taken up for r.
- A send begins when it is posted, the processor is free and u of the send before has passed.
- A message, also of a later round, is taken up when it is there (a after its send began), the processor is free and v
  of the message before has passed: of several that wait, the one that came into the queue first.
- Of a send and a message that could begin at the same time, the one goes first that came into the queue first: a
  message when its send begins, a send when it is known when all that it waits for will be over. What came into the
  queue at the same time did so in the order of what it followed from, in the end in that of the ranks.

Each corner's turns follow from when its partners send. These equations are solved by iteration, beginning with nothing
but the first sends, until neither times nor the order in the queue change.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.message_costs import Message
from simcodesign.analytic.posted_together import ROUNDING, times_of
from simcodesign.analytic.rank_by_rank.posted import Floats, Ints, in_whole_units
from simcodesign.core.units import FloatOrArray

#: Ranks up to which the time is that of all corners' turns.
MOST_RANKS = 128
#: Corners and design points that are computed at a time, together.
LANES = 2**14
#: Iterations after which the time is given up. Of 6,000 random ones among up to 63 ranks, none took more than 15.
MOST_ITERATIONS = 100


def folded_doubling_s(message: Message, ranks: FloatOrArray) -> Floats:
    """Seconds of an allreduce where P is no power of two; NaN where it is, and beyond ``MOST_RANKS``."""
    every = np.broadcast_arrays(*times_of(message), message.waits, ranks)
    shape, rows = every[0].shape, np.array([np.ravel(part) for part in every], dtype=np.float64)
    time_s = np.full(rows.shape[1], np.nan)
    for count in np.unique(rows[-1][rows[-1] <= MOST_RANKS]).astype(int).tolist():
        if count & (count - 1):
            places = np.flatnonzero(rows[-1] == count)
            at_once = max(1, LANES // count)
            for some in (places[low : low + at_once] for low in range(0, len(places), at_once)):
                time_s[some] = _solved_s(_Corners(count), rows[:5, some], rows[5, some] > 0)
    return time_s.reshape(shape)


def _solved_s(corners: _Corners, times_s: Floats, waits: NDArray[np.bool_]) -> Floats:
    times, per_second = (part[0] if part.ndim > 1 else part for part in in_whole_units(times_s[np.newaxis]))
    done, unsolved = np.full(times.shape[1], np.nan), np.arange(times.shape[1])
    schedule = _Schedule.nothing_but_first_sends(corners, len(unsolved))
    for _ in range(MOST_ITERATIONS):
        better = _Iteration(corners, times[:, unsolved], waits[unsolved], schedule).better()
        moved = better.differs(schedule)
        done[unsolved[~moved]] = better.finish(times[:, unsolved])[~moved]
        unsolved, schedule = unsolved[moved], better.of_points(moved)
        if not len(unsolved):
            break
    return done / per_second


@dataclass(frozen=True)
class _Corners:
    """Who is who among P ranks."""

    ranks: int

    @cached_property
    def rounds(self) -> int:
        """K."""
        return self.ranks.bit_length() - 1

    @cached_property
    def number(self) -> Ints:
        """(N,), also the order of the corners' ranks."""
        return np.arange(2**self.rounds)

    @cached_property
    def folded(self) -> NDArray[np.bool_]:
        """(N, 1): whether a rank folds in there."""
        return (self.number < self.ranks - len(self.number))[:, np.newaxis]

    @cached_property
    def rank(self) -> Ints:
        """(N,): its number among all ranks. The one that folds in is the one before it."""
        rest = self.ranks - len(self.number)
        return np.where(self.number < rest, 2 * self.number + 1, self.number + rest)

    @cached_property
    def partner(self) -> Ints:
        """(K, N): of each round."""
        return self.number ^ (1 << np.arange(self.rounds))[:, np.newaxis]


@dataclass(frozen=True)
class _Schedule:
    """Of K + 1 sends of a corner, the last to who folded in, N corners and some design points: when each is posted and
    begins; when the message of each round, and last the one that folds in, is taken up. Infinity for what is unknown or
    not there. And the place in the queue of sends, of their messages, of the send that folds in and of its message."""

    posted: Floats
    begins: Floats
    taken: Floats
    queue: Floats  # of 2 K + 4 rows: K + 1 sends, K + 1 messages of these, what folds in

    @staticmethod
    def nothing_but_first_sends(corners: _Corners, points: int) -> _Schedule:
        """No send has begun; who is first among those that begin at once is known."""
        unknown = np.full((corners.rounds + 1, len(corners.number), points), np.inf)
        queue = np.full((2 * corners.rounds + 4, *unknown.shape[1:]), np.inf)
        queue[0] = corners.rank[:, np.newaxis]
        queue[-2] = corners.rank[:, np.newaxis] - 1
        return _Schedule(unknown, unknown, unknown, queue)

    def differs(self, other: _Schedule) -> NDArray[np.bool_]:
        """The design points at which two are not the same."""
        pairs = ((self.begins, other.begins), (self.taken, other.taken), (self.queue, other.queue))
        moved: NDArray[np.bool_] = np.any([(one != two).any(axis=(0, 1)) for one, two in pairs], axis=0)
        return moved

    def of_points(self, some: NDArray[np.bool_]) -> _Schedule:
        """That of some design points."""
        return _Schedule(*(part[..., some] for part in (self.posted, self.begins, self.taken, self.queue)))

    def finish(self, times: Floats) -> Floats:
        """When all is over: the last messages of corners have been taken up, and the answers."""
        _, arrival, receive, _, _ = times
        ends = np.where(np.isfinite(self.taken), self.taken + receive, 0.0).max(axis=(0, 1))
        answers = np.where(np.isfinite(self.begins[-1]), self.begins[-1] + arrival + receive, 0.0).max(axis=0)
        time: Floats = np.maximum(ends, answers)
        return time


class _Iteration:
    """All corners' turns, from an approximate schedule of their partners."""

    def __init__(self, corners: _Corners, times: Floats, waits: NDArray[np.bool_], before: _Schedule) -> None:
        self._corners, self._times, self._waits, self._before = corners, times, waits, before
        rounds, partner = corners.rounds, corners.partner
        of_round = np.arange(rounds)[:, np.newaxis]
        self._of_partner = of_round, partner
        folds_in = np.where(corners.folded, 0.0, np.inf) + np.zeros((1, *before.begins.shape[1:]))
        self._there = np.concatenate([before.begins[self._of_partner], folds_in]) + times[1]
        self._in_queue = np.concatenate([before.queue[rounds + 1 + of_round, partner], before.queue[-1:]])
        self._lane = np.ogrid[: len(corners.number), : times.shape[1]]

    def better(self) -> _Schedule:
        """The schedule as it follows."""
        posted, begins, taken = self._turns()
        return _Schedule(posted, begins, taken, self._queue(posted, begins, taken))

    def _turns(self) -> tuple[Floats, Floats, Floats]:
        """When sends are posted, when they begin, and when messages are taken up."""
        send, _, receive, next_send, next_receive = self._times
        rounds, before = self._corners.rounds, self._before
        there, unknown = self._there.copy(), np.full((rounds + 2, *before.begins.shape[1:]), np.inf)
        posted, begins, taken = unknown.copy(), unknown.copy(), unknown.copy()
        met = self._met()
        free, may_send, may_take, over = np.zeros((4, *unknown.shape[1:]))
        sent = np.zeros(unknown.shape[1:], int)
        sends_of_corner = rounds + self._corners.folded
        queue_of_send = np.concatenate([before.queue[: rounds + 1], unknown[:1]])
        for _ in range(2 * (rounds + 1)):
            waits_for = taken[:-1][(sent - 1, *self._lane)] + receive  # of a first send: what folds in
            ready = np.maximum(np.maximum(over, met[(sent - 1, *self._lane)]), waits_for)
            ready = np.where((sent > 0) | self._corners.folded, ready, 0.0)
            send_at = np.where(sent < sends_of_corner, np.maximum(np.maximum(ready, free), may_send), np.inf)
            take_at = np.maximum(np.maximum(free, may_take), there.min(axis=0))
            waiting = np.where(there <= take_at, self._in_queue, np.inf)
            message = np.argmin(waiting, axis=0)
            earlier = waiting.min(axis=0) < queue_of_send[(sent, *self._lane)]
            takes = np.where(earlier, take_at <= send_at * (1 + ROUNDING), take_at * (1 + ROUNDING) < send_at)
            takes &= take_at < np.inf
            sends = ~takes & (send_at < np.inf)
            begins[(np.where(sends, sent, -1), *self._lane)] = send_at
            posted[(np.where(sends, sent, -1), *self._lane)] = ready
            taken[(np.where(takes, message, -1), *self._lane)] = take_at
            there[(message, *self._lane)] = np.where(takes, np.inf, there[(message, *self._lane)])
            free = np.where(sends, send_at + send, np.where(takes, take_at + receive, free))
            over = np.where(sends, free, over)
            may_send = np.where(sends, send_at + next_send, may_send)
            may_take = np.where(takes, take_at + next_receive, may_take)
            sent = sent + sends
        return posted[:-1], begins[:-1], taken[:-1]

    def _met(self) -> Floats:
        """When the messages of own sends have met their receives, above S; else no time."""
        before, rounds = self._before, self._corners.rounds
        met = np.maximum(before.taken[:rounds], before.posted[:rounds])[self._of_partner]
        return np.concatenate([np.where(self._waits, met, 0.0), np.zeros((1, *met.shape[1:]))])

    def _queue(self, posted: Floats, begins: Floats, taken: Floats) -> Floats:
        """The places in the queue, by what each thing followed from: when that was, and its own place."""
        rounds, corners, before = self._corners.rounds, self._corners, self._before
        place = before.queue[: rounds + 1]
        begun, received = (begins, place), _later((posted[:-1], place[:-1] + 0.5), (taken[:-1], self._in_queue[:-1]))
        met = tuple(part[self._of_partner] for part in received)
        known = tuple(np.where(self._waits, one, other[:-1]) for one, other in zip(met, begun, strict=True))
        follows = _later(received, (known[0], known[1]))
        first = np.full((1, *begins.shape[1:]), -1.0)
        rank = corners.rank[:, np.newaxis] + np.zeros_like(first)
        folded = np.broadcast_to(corners.folded, first.shape)
        first_send = np.where(folded, taken[-1:], first), np.where(folded, self._in_queue[-1:], rank)
        folds_in = np.where(folded, first, np.inf), rank - 1
        message_in = np.where(folded, 0.0, np.inf), before.queue[-2:-1]
        parts = (first_send, follows, begun, folds_in, message_in)
        time, after = (np.concatenate([part[axis] for part in parts]) for axis in (0, 1))
        several = np.zeros_like(time)
        several[: rounds + 1] = rank + 1.0  # messages come before what follows from their sends
        return _places(time, np.where(np.isfinite(time), after, 0.0), several)


def _later(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """The later of two: time, and place in the queue."""
    is_one = (one[0] > other[0]) | ((one[0] == other[0]) & (one[1] > other[1]))
    return np.where(is_one, one[0], other[0]), np.where(is_one, one[1], other[1])


def _places(*keys: Floats) -> Floats:
    """The places (T, N, K) by the first key, then by the second, and so on."""
    flat = [key.reshape(-1, key.shape[-1]).T for key in reversed(keys)]
    order = np.lexsort(flat, axis=-1)
    places = np.empty(order.shape)
    np.put_along_axis(places, order, np.broadcast_to(np.arange(order.shape[1], dtype=float), order.shape), axis=-1)
    return places.T.reshape(keys[0].shape)
