"""Allreduce by recursive doubling in LogGOPS where P is no power of two: ranks that fold in come to the rounds later.

Of N = 2^K corners of a hypercube, the first P - N get the message of a rank that folds in, begin their rounds when that
is done, and answer after the last one. With c, a, r, u and v as in ``message_costs``, of a corner:

- The send and the receive of a round are posted when the send of the round before is over (c after it began; above S
  when its message has met its receive, if that is later) and the message of that round has been taken up for r.
- Where operators take time, they follow, and what is posted next is posted when they are over.
- A send begins when it is posted, the processor is free and u of the send before has passed.
- A message, also of a later round, is taken up when it is there (a after its send began), the processor is free and v
  of the message before has passed: of several that wait, the one that came into the queue first.
- Of a send, or an operator, and a message that could begin at the same time, the one goes first that came into the
  queue first: a message when its send begins, others when it is known when all that they wait for will be over. What
  came into the queue at the same time did so in the order of what it followed from, in the end in that of the ranks.

Each corner's turns follow from when its partners send. These equations are solved by iteration, beginning with nothing
but the first sends, until neither times nor the order in the queue change.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.posted_together import ROUNDING, times_of
from simcodesign.analytic.rank_by_rank.posted import Floats, Ints, in_whole_units
from simcodesign.core.units import FloatOrArray

#: Ranks up to which the time is that of all corners' turns.
MOST_RANKS = 128
#: Corners and design points that are computed at a time, together.
LANES = 2**14
#: Iterations after which the time is given up. Of 6,000 random ones among up to 63 ranks, none took more than 20.
MOST_ITERATIONS = 100


def folded_doubling_s(message: Message, ranks: FloatOrArray, operator_s: FloatOrArray = np.nan) -> Floats:
    """Seconds of an allreduce where P is no power of two; NaN where it is, and beyond ``MOST_RANKS``. ``operator_s``:
    of a message that is reduced; NaN where operators are free."""
    every = np.broadcast_arrays(*times_of(message), operator_s, message.waits, ranks)
    shape, rows = every[0].shape, np.array([np.ravel(part) for part in every], dtype=np.float64)
    time_s = np.full(rows.shape[1], np.nan)
    for count in np.unique(rows[-1][rows[-1] <= MOST_RANKS]).astype(int).tolist():
        if count & (count - 1):
            places = np.flatnonzero(rows[-1] == count)
            at_once = max(1, LANES // count)
            for some in (places[low : low + at_once] for low in range(0, len(places), at_once)):
                time_s[some] = _solved_s(_Corners(count), rows[:6, some], rows[6, some] > 0)
    return time_s.reshape(shape)


def _solved_s(corners: _Corners, times_s: Floats, waits: NDArray[np.bool_]) -> Floats:
    several, per_second = in_whole_units(np.nan_to_num(times_s[np.newaxis]))
    times = np.where(np.isnan(times_s), np.nan, several[0])
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
    begins; when the message of each round, and last the one that folds in, is taken up; when the operator before each
    send begins. Infinity for what is unknown or not there. And the places in the queue."""

    posted: Floats
    begins: Floats
    taken: Floats
    operated: Floats
    queue: Floats  # of 3 K + 5 rows: K + 1 sends, K + 1 messages of these, K + 1 operators, what folds in

    @staticmethod
    def nothing_but_first_sends(corners: _Corners, points: int) -> _Schedule:
        """No send has begun; who is first among those that begin at once is known."""
        unknown = np.full((corners.rounds + 1, len(corners.number), points), np.inf)
        queue = np.full((3 * corners.rounds + 5, *unknown.shape[1:]), np.inf)
        queue[0] = corners.rank[:, np.newaxis]
        queue[-2] = corners.rank[:, np.newaxis] - 1
        return _Schedule(unknown, unknown, unknown, unknown, queue)

    def differs(self, other: _Schedule) -> NDArray[np.bool_]:
        """The design points at which two are not the same."""
        names = ("begins", "taken", "operated", "queue")
        pairs = [(getattr(self, name), getattr(other, name)) for name in names]
        moved: NDArray[np.bool_] = np.any([(one != two).any(axis=(0, 1)) for one, two in pairs], axis=0)
        return moved

    def of_points(self, some: NDArray[np.bool_]) -> _Schedule:
        """That of some design points."""
        every = (self.posted, self.begins, self.taken, self.operated, self.queue)
        return _Schedule(*(part[..., some] for part in every))

    def finish(self, times: Floats) -> Floats:
        """When all is over: the last messages of corners have been taken up and reduced, and the answers taken up."""
        _, arrival, receive, _, _, operator = times
        ends = np.where(np.isfinite(self.taken), self.taken + receive, 0.0).max(axis=(0, 1))
        answers = np.where(np.isfinite(self.begins[-1]), self.begins[-1] + arrival + receive, 0.0).max(axis=0)
        reduced = np.where(np.isfinite(self.operated), self.operated + operator, 0.0).max(axis=(0, 1))
        time: Floats = np.maximum(np.maximum(ends, answers), reduced)
        return time


class _Iteration:
    """All corners' turns, from an approximate schedule of their partners."""

    def __init__(self, corners: _Corners, times: Floats, waits: NDArray[np.bool_], before: _Schedule) -> None:
        self._corners, self._times, self._waits, self._before = corners, times, waits, before
        self._operates = ~np.isnan(times[5])
        rounds, partner = corners.rounds, corners.partner
        of_round = np.arange(rounds)[:, np.newaxis]
        self._of_partner = of_round, partner
        folds_in = np.where(corners.folded, 0.0, np.inf) + np.zeros((1, *before.begins.shape[1:]))
        self._there = np.concatenate([before.begins[self._of_partner], folds_in]) + times[1]
        self._in_queue = np.concatenate([before.queue[rounds + 1 + of_round, partner], before.queue[-1:]])
        self._lane = np.ogrid[: len(corners.number), : times.shape[1]]

    def better(self) -> _Schedule:
        """The schedule as it follows."""
        posted, begins, taken, operated = self._turns()
        return _Schedule(posted, begins, taken, operated, self._queue(posted, begins, taken, operated))

    def _turns(self) -> tuple[Floats, Floats, Floats, Floats]:
        """When sends are posted, when they begin, when messages are taken up, and when operators begin.

        A corner's own steps are those with an even number, operators, and those with an odd one, sends."""
        send, _, receive, next_send, next_receive, operator = self._times
        rounds, before = self._corners.rounds, self._before
        there, unknown = self._there.copy(), np.full((rounds + 2, *before.begins.shape[1:]), np.inf)
        posted, begins, taken, operated = (unknown.copy() for _ in range(4))
        met = self._met()
        free, may_send, may_take, over = np.zeros((4, *unknown.shape[1:]))
        folded, operates = self._corners.folded, self._operates
        step = np.where(folded & operates, 0, 1)
        end = 2 * rounds + np.where(folded, 2, operates)
        queue_of_own = np.stack([before.queue[2 * rounds + 2 : -2], before.queue[: rounds + 1]], axis=1)
        queue_of_own = np.concatenate([queue_of_own.reshape(-1, *unknown.shape[1:]), unknown[:2]])
        for _ in range(3 * (rounds + 1)):
            sent, is_send = step // 2, step % 2 == 1
            waits_for = taken[:-1][(sent - 1, *self._lane)] + receive  # of a first send: what folds in
            ready = np.maximum(np.maximum(over, met[(sent - 1, *self._lane)]), waits_for)
            ready = np.where(is_send & (operates | (sent == 0) & ~folded), over, ready)
            own_at = np.where(step < end, np.maximum(np.maximum(ready, free), np.where(is_send, may_send, 0.0)), np.inf)
            take_at = np.maximum(np.maximum(free, may_take), there.min(axis=0))
            waiting = np.where(there <= take_at, self._in_queue, np.inf)
            message = np.argmin(waiting, axis=0)
            earlier = waiting.min(axis=0) < queue_of_own[(step, *self._lane)]
            takes = np.where(earlier, take_at <= own_at * (1 + ROUNDING), take_at * (1 + ROUNDING) < own_at)
            takes &= take_at < np.inf
            goes_on = ~takes & (own_at < np.inf)
            sends, reduces = goes_on & is_send, goes_on & ~is_send
            begins[(np.where(sends, sent, -1), *self._lane)] = own_at
            operated[(np.where(reduces, sent, -1), *self._lane)] = own_at
            posted[(np.where(sends, sent, -1), *self._lane)] = ready
            taken[(np.where(takes, message, -1), *self._lane)] = take_at
            there[(message, *self._lane)] = np.where(takes, np.inf, there[(message, *self._lane)])
            free = np.where(sends, own_at + send, np.where(takes, take_at + receive, free))
            free = np.where(reduces, own_at + operator, free)
            over = np.where(goes_on, free, over)
            may_send = np.where(sends, own_at + next_send, may_send)
            may_take = np.where(takes, take_at + next_receive, may_take)
            step = step + goes_on + (sends & ~operates)
        return posted[:-1], begins[:-1], taken[:-1], operated[:-1]

    def _met(self) -> Floats:
        """When the messages of own sends have met their receives, above S; else no time."""
        before, rounds = self._before, self._corners.rounds
        met = np.maximum(before.taken[:rounds], before.posted[:rounds])[self._of_partner]
        return np.concatenate([np.where(self._waits, met, 0.0), np.zeros((1, *met.shape[1:]))])

    def _queue(self, posted: Floats, begins: Floats, taken: Floats, operated: Floats) -> Floats:
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
        received_all = tuple(np.concatenate([one, more]) for one, more in zip(first_send, follows, strict=True))
        reduced = operated, before.queue[2 * rounds + 2 : -2]
        is_reduced = np.broadcast_to(self._operates, begins.shape).copy()
        is_reduced[:1] &= folded  # the first sends of other corners wait for nothing
        sends = tuple(np.where(is_reduced, one, other) for one, other in zip(reduced, received_all, strict=True))
        operators = np.where(is_reduced, received_all[0], np.inf), received_all[1]
        parts = (sends, begun, operators, folds_in, message_in)
        time, after = (np.concatenate([part[axis] for part in parts]) for axis in (0, 1))
        several = np.zeros_like(time)
        several[: rounds + 1] = several[2 * rounds + 2 : -2] = rank + 1.0  # after the messages of the same send
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
