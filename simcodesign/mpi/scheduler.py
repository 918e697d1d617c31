"""Ranks that take turns in one process: each runs until it must wait for another.

A rank is a greenlet. Only one runs at a time, and the next one is the one that has waited for its turn the longest, so
that the same program always runs in the same order.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from greenlet import getcurrent, greenlet

from simcodesign.core.errors import DeadlockError, InputError, Place

_OWN_FOLDER = str(Path(__file__).parent)
#: Ranks that an error names one by one.
_MOST_NAMED = 8


class RankError(InputError):
    """A rank ended by an exception; ``__cause__`` is that exception."""


@dataclass(eq=False)
class Rank:
    """A rank of the program; ``waits_for`` returns the words for its last wait."""

    number: int
    body: greenlet
    waits_for: Callable[[], str] = str
    has_turn: bool = True  # or will have one


class Scheduler:
    """All ranks. ``enter`` and ``leave`` are called with a rank before and after each of its turns."""

    def __init__(self, size: int, enter: Callable[[int], None], leave: Callable[[int], None]) -> None:
        self.size, self.current = size, 0
        self._enter, self._leave = enter, leave
        self._main = getcurrent()
        self._ranks: list[Rank] = []
        self._ready: deque[Rank] = deque()

    def run(self, body: Callable[[int], None]) -> None:
        """Run ``body(rank)`` of every rank to its end.

        Raises DeadlockError if all ranks that are left wait, and RankError for an exception in a rank.
        """
        self._ranks = [Rank(number, greenlet(body)) for number in range(self.size)]
        self._ready.extend(self._ranks)
        left = self.size
        while self._ready:
            rank = self._ready.popleft()
            self.current = rank.number
            self._enter(rank.number)
            try:
                rank.body.switch(*(() if rank.body else (rank.number,)))
            except Exception as error:
                raise self._ended(rank, error) from error
            finally:
                self._leave(rank.number)
            left -= rank.body.dead
        if left:
            raise DeadlockError(self._all_waits())

    def wait(self, what: Callable[[], str], is_done: Callable[[], bool]) -> None:
        """Let others run until ``is_done``; the rank that makes it so calls ``wake``. ``what``: words for an error."""
        if is_done():
            return
        rank = self._ranks[self.current]
        rank.waits_for = what
        while not is_done():
            rank.has_turn = False
            self._main.switch()

    def wake(self, number: int) -> None:
        """Let a rank that waits look again at whether it can go on."""
        rank = self._ranks[number]
        if not rank.has_turn:
            rank.has_turn = True
            self._ready.append(rank)

    def give_turn_away(self) -> None:
        """Let every other rank that can go on have a turn."""
        self._ready.append(self._ranks[self.current])
        self._main.switch()

    def _ended(self, rank: Rank, error: Exception) -> Exception:
        if isinstance(error, InputError | DeadlockError):
            return error
        lines = [(f, n) for f, n in _lines_of(error) if not f.startswith(_OWN_FOLDER)]
        place = Place(*lines[-1]) if lines else None
        return RankError(f"rank {rank.number}: {type(error).__name__}: {error}", place)

    def _all_waits(self) -> str:
        waiting = [rank for rank in self._ranks if not rank.body.dead]
        places = [":".join(map(str, user_line(one.body.gr_frame))) for one in waiting[:_MOST_NAMED]]
        lines = [f"rank {one.number} in {one.waits_for()} ({at})" for one, at in zip(waiting, places, strict=False)]
        more = f"; and {len(waiting) - _MOST_NAMED} more" if len(waiting) > _MOST_NAMED else ""
        ended = f"; {self.size - len(waiting)} of {self.size} ranks have ended" if len(waiting) < self.size else ""
        return f"the ranks wait for each other: {'; '.join(lines)}{more}{ended}"


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


def _lines_of(error: BaseException) -> list[tuple[str, int]]:
    lines, trace = [], error.__traceback__
    while trace is not None:
        lines.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    return lines
