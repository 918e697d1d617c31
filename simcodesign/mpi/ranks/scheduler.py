"""Ranks that take turns in one process: each runs until it must wait for another.

A rank is a greenlet, and has a clock: the time that has passed for it. Only one runs at a time, and the next one is the
rank whose turn is due at the earliest time; of several, the rank that has waited longest. The same program
therefore always runs in the same order. A rank may be ahead of others. What depends on their order in time, as a
receive from any rank does, it does in ``wait_until``, which returns when no other rank can do anything earlier.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path
from types import FrameType

from greenlet import getcurrent, greenlet

from simcodesign.core.errors import DeadlockError, InputError, Place

_OWN_FOLDER = str(Path(__file__).parents[1])
#: No rank has its turn.
_NOBODY = -1
#: Ranks that an error names one by one.
_MOST_NAMED = 8
#: Time of a test that fails, and tests one after another of ranks that wait for nothing else, after which it is taken
#: that they do so for ever.
TEST_S, MOST_TESTS = 1e-6, 100_000


class RankError(InputError):
    """A rank ended by an exception; ``__cause__`` is that exception."""


@dataclass(eq=False, slots=True)
class Rank:
    """A rank of the program; ``waits_for`` returns the words for its last wait.

    ``due``: time, number and rank of its next turn, None while it has none; ``is_done``: without which a turn would
    change nothing, None of other turns.
    """

    number: int
    body: greenlet
    waits_for: Callable[[], str] = str
    clock_s: float = 0.0
    due: tuple[float, int, Rank] | None = None
    is_done: Callable[[], bool] | None = None


class Scheduler:
    """All ranks.

    ``enter`` and ``leave`` are called with a rank before and after each of its turns; ``when_stuck`` when every rank
    waits: whether one can continue now.
    """

    def __init__(self, size: int, when_stuck: Callable[[], bool] = lambda: False) -> None:
        self.size, self.current = size, _NOBODY
        self.enter: Callable[[int], None] = lambda rank: None
        self.leave, self._when_stuck = self.enter, when_stuck
        self._main = getcurrent()
        self.ranks = [Rank(number, self._main) for number in range(size)]
        self._turns: list[tuple[float, int, Rank]] = []  # a heap
        self._number, self._tests = 0, 0
        self._first: Rank | None = None  # that has been chosen for the next turn

    def run(self, body: Callable[[int], None]) -> None:
        """Run ``body(rank)`` of every rank to its end.

        Raises DeadlockError if all ranks that are left wait, and RankError for an exception in a rank.
        """
        for one in self.ranks:
            one.body = greenlet(body)
            self._let(one, 0.0)
        left = self.size
        while (rank := self._next()) is not None or (left and self._when_stuck()):
            if rank is None:
                continue
            self.current = rank.number
            self.enter(rank.number)
            try:  # others may follow before this returns: the last one has ended, or no other can continue
                rank.body.switch(*(() if rank.body else (rank.number,)))
            except Exception as error:
                raise self._ended(self.ranks[self.current], error) from error
            finally:
                self.leave(self.current)
                last, self.current = self.ranks[self.current], _NOBODY
            left -= last.body.dead
        if left:
            raise DeadlockError(f"the ranks wait for each other: {self._all_waits()}")

    @property
    def clock_s(self) -> float:
        """The time of the rank whose turn it is."""
        return self.ranks[self.current].clock_s

    def pass_until(self, time_s: float) -> None:
        """Let the time of the rank whose turn it is pass, unless it is later."""
        rank = self.ranks[self.current]
        rank.clock_s = max(rank.clock_s, time_s)

    def wait(self, what: Callable[[], str], is_done: Callable[[], bool]) -> None:
        """Let others run until ``is_done``; the rank that makes it so calls ``wake``. ``what``: words for an error."""
        if is_done():
            return
        rank = self.ranks[self.current]
        rank.waits_for, rank.is_done = what, is_done
        self._give_turn(rank)
        rank.is_done = None

    def wait_until(self, what: Callable[[], str], time_of: Callable[[], float | None]) -> None:
        """Let others run until ``time_of()``, None while it is not known, and no other rank is before it."""
        rank = self.ranks[self.current]
        rank.waits_for = what
        while True:
            time_s = time_of()
            if time_s is not None:
                time_s = max(time_s, rank.clock_s)
                next_s = self._next_s()
                if next_s is None or next_s >= time_s:
                    rank.clock_s = time_s
                    return
                self._let(rank, time_s)
            self._give_turn(rank)

    def wake(self, number: int) -> None:
        """Let a rank that waits look again at whether it can continue."""
        rank = self.ranks[number]
        self._tests = 0
        if number != self.current and (rank.due is None or rank.due[0] > rank.clock_s):
            self._let(rank, rank.clock_s)

    def test_failed(self, again_s: float | None) -> None:
        """Let others run after a test that failed; nothing changes for this rank before ``again_s``, if it is known.

        Raises DeadlockError if all ranks that do not wait test for ever.
        """
        rank = self.ranks[self.current]
        self._tests += 1
        if self._tests > MOST_TESTS:
            raise DeadlockError(f"the ranks test for ever for what does not come: {self._all_waits()}")
        known = [time_s for time_s in (self._next_s(), again_s) if time_s is not None]
        rank.clock_s = max(rank.clock_s + TEST_S, min(known, default=0.0))
        rank.waits_for = lambda: "a test"
        self._let(rank, rank.clock_s)
        self._give_turn(rank)

    def goes_on(self) -> None:
        """Note that a rank does more than to test."""
        self._tests = 0

    def _let(self, rank: Rank, time_s: float) -> None:
        self._number += 1
        rank.due = time_s, self._number, rank
        heappush(self._turns, rank.due)

    def _give_turn(self, rank: Rank) -> None:
        """End the turn of a rank; return when its next one begins."""
        following = self._next()
        if following is rank:
            return
        if following is None or not following.body:  # one that has not begun must begin on the stack of ``run``
            if following is not None:
                self._first = following
            self._main.switch()
            return
        self.leave(rank.number)
        self.current = following.number
        self.enter(following.number)
        following.body.switch()

    def _next(self) -> Rank | None:
        """Return the rank whose turn is next, None if all wait; turns that would change nothing are dropped."""
        if self._first is not None:
            rank, self._first = self._first, None
            return rank
        while self._turns:
            turn = heappop(self._turns)
            rank = turn[2]
            if rank.due is not turn or rank.body.dead:
                continue
            rank.due = None
            if rank.is_done is None or rank.is_done():
                return rank
        return None

    def _next_s(self) -> float | None:
        """When the next turn is due; turns that were moved to another time are dropped."""
        while self._turns:
            turn = self._turns[0]
            if turn[2].due is turn and not turn[2].body.dead:
                return turn[0]
            heappop(self._turns)
        return None

    def _ended(self, rank: Rank, error: Exception) -> Exception:
        if isinstance(error, InputError | DeadlockError):
            return error
        what = f": {error}" if str(error) else ""
        return RankError(f"rank {rank.number}: {type(error).__name__}{what}", place_of_error(error))

    def _all_waits(self) -> str:
        waiting = [rank for rank in self.ranks if not rank.body.dead]
        frames = [one.body.gr_frame or sys._getframe(1) for one in waiting[:_MOST_NAMED]]  # the running rank has none
        places = [":".join(map(str, user_line(frame))) for frame in frames]
        lines = [f"rank {one.number} in {one.waits_for()} ({at})" for one, at in zip(waiting, places, strict=False)]
        more = f"; and {len(waiting) - _MOST_NAMED} more" if len(waiting) > _MOST_NAMED else ""
        ended = f"; {self.size - len(waiting)} of {self.size} ranks have ended" if len(waiting) < self.size else ""
        return f"{'; '.join(lines)}{more}{ended}"


def is_own_file(name: str) -> bool:
    """Return whether a file is a module of this package."""
    return name.startswith(_OWN_FOLDER)


def user_line(frame: FrameType | None) -> tuple[str, int]:
    """Return file and line of the innermost call that is not in this package."""
    while frame is not None and is_own_file(frame.f_code.co_filename):
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def place_of_call() -> Place:
    """Return the place of the user's call that is under way."""
    return Place(*user_line(sys._getframe(1)))


def place_of_error(error: BaseException) -> Place | None:
    """Return the place of the innermost call that raised an error and is not in this package; None without one."""
    place, trace = None, error.__traceback__
    while trace is not None:
        if not is_own_file(trace.tb_frame.f_code.co_filename):
            place = Place(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    return place
