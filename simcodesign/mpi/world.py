"""The state that all ranks of a run share: their turns, their log, their clock, and the time that they compute."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.mpi.log import CLOCK, COMPUTE, FLOPS, PHASE, Log
from simcodesign.mpi.matching import Mailbox
from simcodesign.mpi.scheduler import Scheduler

Given = ParamSpec("Given")
Answer = TypeVar("Answer")
#: Seconds between two looks at a clock of which nothing is known yet: it must rise.
_TICK_S = 1e-6
#: Empty gaps that are timed to know what timing itself takes.
_EMPTY_GAPS = 200


@dataclass
class Clock:
    """Times of a run: ``reads_s[rank]``, returned by clocks, and ``computed_s[rank]``, of computation between calls."""

    reads_s: list[list[float]] = field(default_factory=list)
    computed_s: list[list[float]] = field(default_factory=list)


class World:
    """A run of a program on ``size`` ranks.

    ``speed``: of a processor of the machine over this one's, None to leave computation out; ``eager_bytes``: longest
    message that is sent without its receiver; ``known``: times of the run before; ``declared``: whether declared
    computation counts.
    """

    def __init__(
        self, size: int, speed: float | None, eager_bytes: float, known: Clock, *, declared: bool = True
    ) -> None:
        self.size, self.speed, self.eager_bytes, self._declared = size, speed, eager_bytes, declared
        self.log = Log(size)
        self.scheduler = Scheduler(size, self._enter_turn, self._leave_turn)
        self.on_turn: list[tuple[Callable[[int], None], Callable[[int], None]]] = []
        self.boxes: list[tuple[Mailbox, tuple[int, ...], int]] = []  # with the members of the communicator and the rank
        self.communicators: dict[int, Any] = {}  # by their numbers
        self.on_call: list[Callable[[int], None]] = []  # called with the rank before a call of MPI is noted
        self._phases = ["main"] * size
        self._known, self.clock = known, Clock([[] for _ in range(size)], [[] for _ in range(size)])
        self._since_s, self._depth, self._gap_s = 0.0, [0] * size, _empty_gap_s()

    def check_received(self) -> None:
        """Raise InputError for a message that no rank has received."""
        for box, members, rank in self.boxes:
            for message in box.messages:
                what = f"rank {message.sender} sends to rank {members[rank]} (tag {message.tag}) what is never received"
                raise InputError(what, value=f"{message.size_bytes} B")

    @property
    def current(self) -> int:
        """The rank whose turn it is."""
        return self.scheduler.current

    def add(self, *entry: Any) -> int:
        """Note an operation of the current rank; return its place."""
        own = self.log.entries[self.current]
        own.append(entry)
        return len(own) - 1

    def begin_call(self) -> None:
        """A call of MPI begins: the time since the last one was computation."""
        rank = self.current
        if not self._depth[rank]:
            seconds = self._computed_s(rank)
            for called in self.on_call:
                called(rank)
            if seconds > 0:
                self.add(COMPUTE, seconds)
        self._depth[rank] += 1

    def end_call(self) -> None:
        """A call of MPI ends."""
        rank = self.current
        self._depth[rank] -= 1
        if self.speed is not None and not self._depth[rank]:
            self._since_s = time.process_time()

    def begin_phase(self, name: str) -> str:
        """Begin a phase of the current rank; return the name of the one before."""
        self.begin_call()
        before, self._phases[self.current] = self._phases[self.current], name
        self.log.has_phases = True
        self.add(PHASE, name, False)
        self.end_call()
        return before

    def declare(self, flops: float) -> None:
        """Note floating-point operations in place of the CPU time since the last call."""
        if self._declared:
            for called in self.on_call:
                called(self.current)
            self.add(FLOPS, flops)
            self._since_s = time.process_time()

    def begin_computing(self) -> None:
        """A rank begins to compute."""
        self._since_s = time.process_time()

    @contextmanager
    def not_computing(self) -> Iterator[None]:
        """Leave the time out of the computation, unless calls of MPI are made meanwhile."""
        since_s, began_s = self._since_s, time.process_time()
        try:
            yield
        finally:
            if self._since_s == since_s:
                self._since_s += time.process_time() - began_s

    def now(self) -> float:
        """Return the simulated time, in s; in the first run any that rises."""
        self.begin_call()
        rank = self.current
        reads = self.clock.reads_s[rank]
        known = self._known.reads_s[rank] if self._known.reads_s else ()
        place, last = len(reads), reads[-1] if reads else 0.0
        now_s = known[place] if place < len(known) else last + _TICK_S
        reads.append(now_s)
        self.add(CLOCK)
        self.end_call()
        return now_s

    def sleep(self, seconds: float) -> None:
        """Let the rank's time pass."""
        self.begin_call()
        self.add(COMPUTE, float(seconds))
        self.end_call()

    def _computed_s(self, rank: int) -> float:
        """Return the seconds of computation since the last call."""
        if self.speed is None:
            return 0.0
        computed, known = self.clock.computed_s[rank], self._known.computed_s
        place = len(computed)
        if known and place < len(known[rank]):
            seconds = known[rank][place]
        else:
            seconds = max(time.process_time() - self._since_s - self._gap_s, 0.0) / self.speed
        computed.append(seconds)
        return seconds

    def _enter_turn(self, rank: int) -> None:
        for enter, _ in self.on_turn:
            enter(rank)

    def _leave_turn(self, rank: int) -> None:
        for _, leave in reversed(self.on_turn):
            leave(rank)


def mpi_call(method: Callable[Concatenate[Any, Given], Answer]) -> Callable[Concatenate[Any, Given], Answer]:
    """Make a method of an object that has a ``world`` a call of MPI, whose time is no computation."""

    @wraps(method)
    def call(self: Any, /, *given: Given.args, **named: Given.kwargs) -> Answer:
        world = self.world
        world.begin_call()
        try:
            return method(self, *given, **named)
        finally:
            world.end_call()

    return call


def _empty_gap_s() -> float:
    times = [time.process_time() for _ in range(_EMPTY_GAPS)]
    return float(np.median(np.diff(times)))
