"""The state that all ranks of a run share: their turns, their log, their clock, and the time that they compute."""

from __future__ import annotations

import sys
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, wraps
from itertools import chain
from math import frexp, ldexp
from threading import get_ident
from types import CodeType, FrameType, FunctionType
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.describe.recordings.rank_log import RankLog
from simcodesign.mpi.ranks.log import Log
from simcodesign.mpi.ranks.matching import Mailbox, Message, Receive
from simcodesign.mpi.ranks.message_times import MessageTimes
from simcodesign.mpi.ranks.scheduler import Scheduler, place_of_call

Given = ParamSpec("Given")
Answer = TypeVar("Answer")
#: A call of MPI, with the parameters of a method.
_CALL = """def call({0}):
    world = given_0.world
    depth, rank = world.depth, world.scheduler.current
    if depth[rank]:  # within another call
        return method({0})
    world.begin_call(getframe(1))
    try:
        return method({0})
    finally:
        depth[rank] = 0
        if world.speed is not None:
            world.begin_computing()
"""
#: Empty gaps that are timed to know what timing itself takes.
_EMPTY_GAPS = 200


@dataclass(frozen=True)
class Sent:
    """A send as the previous run was simulated.

    Its target among all ranks, and when its turn came, its sender was done, and the message was there.
    """

    target: int
    size_bytes: float
    ready_s: float
    finish_s: float
    arrival_s: float


@dataclass
class Clock:
    """Times of a run, by rank.

    ``reads_s``, returned by clocks; ``computed_s``, of computation between calls; and ``sends``.
    """

    reads_s: list[list[float]] = field(default_factory=list)
    computed_s: list[array[float]] = field(default_factory=list)
    sends: list[list[Sent]] = field(default_factory=list)


class World:
    """A run of a program on ``size`` ranks.

    ``speed``: of a processor of the machine over this one's, None to leave computation out; ``eager_bytes``: longest
    message sent without its receiver; ``times``: of messages; ``known``: of the run before; ``is_late``: a
    receive from any rank takes the last message that can come, as MPI allows; ``declared``: whether declared
    computation counts.
    """

    def __init__(
        self,
        size: int,
        script: str,
        speed: float | None,
        eager_bytes: float,
        times: MessageTimes,
        known: Clock,
        is_late: bool = False,
        declared: bool = True,
    ) -> None:
        self.size, self.speed, self.eager_bytes, self.times = size, speed, eager_bytes, times
        self.log = Log(size, script)
        self.scheduler = Scheduler(size, self._deliver_one)
        self.boxes: list[list[Mailbox]] = [[] for _ in range(size)]  # of each rank
        self.communicators: dict[int, Any] = {}  # by their numbers
        self.nodes: Sequence[int] = range(size)  # of the machine, on which the ranks are
        self.agreements: dict[Any, Any] = {}
        self.written: Any = None  # files that the program writes
        self.attached: dict[int, Any] = {}  # buffers of the ranks for buffered sends
        self.is_late, self._declared = is_late, declared
        self.on_call: list[Callable[[int], None]] = []  # called with the rank when a call of MPI begins
        self._phases = ["main"] * size
        self.in_time = 0  # receives, probes and tests that depend on the order of messages in time
        self._known, self.clock = known, Clock([[] for _ in range(size)], [array("d") for _ in range(size)])
        self._free_s, self._sent, self._repeats = [0.0] * size, [0] * size, [bool(known.sends)] * size
        self.depth = [0] * size  # of calls of MPI within calls, by rank
        self._since_s, self._gap_s = 0.0, _empty_gap_s()
        self._thread = get_ident()
        self.thread_error: InputError | None = None  # raised at the end of the run

    def end(self) -> None:
        """Take back receives that never had a message. Raises InputError for a message that no rank has received."""
        for box in chain(*self.boxes):
            for receive in box.receives:
                receive.withdraw()
            for message in (*box.messages, *box.probed):
                what = f"rank {box.owner} never receives this message of rank {message.sender} (tag {message.tag})"
                place = self.log.place_of(message.sender, message.entry)
                raise InputError(what, place, value=f"{message.size_bytes} B")

    @property
    def current(self) -> int:
        """The rank whose turn it is."""
        return self.scheduler.current

    def note(self) -> RankLog:
        """Return what the current rank notes its operation in."""
        return self.log.of_rank[self.scheduler.current]

    def departs(self, target: int, size_bytes: int, blocking: bool) -> float:
        """Begin a send of the current rank, and return when the message is there.

        Its time passes if it is ``blocking``.
        """
        rank, scheduler = self.scheduler.current, self.scheduler
        if self._repeats[rank]:
            known = self._known_send(rank, target, size_bytes)
            if known is not None:
                scheduler.pass_until(known.finish_s if blocking else known.ready_s)
                return known.arrival_s
        times = self.times[size_bytes]
        clock_s, begin_s = scheduler.ranks[rank].clock_s, self._free_s[rank]
        if clock_s > begin_s:
            begin_s = clock_s
        self._free_s[rank] = begin_s + times.next_send_s
        if blocking:
            scheduler.pass_until(begin_s + times.send_s)
        return begin_s + times.arrival_s

    def _known_send(self, rank: int, target: int, size_bytes: int) -> Sent | None:
        """Return the corresponding send in the previous run, as long as the rank sends the same messages."""
        if target == rank:
            return None
        number, sends = self._sent[rank], self._known.sends[rank]
        self._sent[rank] += 1
        if number < len(sends) and (sends[number].target, sends[number].size_bytes) == (target, size_bytes):
            return sends[number]
        self._repeats[rank] = False
        return None

    def arrives(self, message: Message) -> None:
        """Let the time of the current rank pass until it has received a message."""
        rank, arrival_s = self.scheduler.ranks[self.scheduler.current], message.arrival_s
        begin_s = arrival_s if arrival_s > rank.clock_s else rank.clock_s
        rank.clock_s = begin_s + self.times[message.size_bytes].receive_s

    def wait_for(self, what: Callable[[], str], receive: Receive) -> Message:
        """Let others run until a receive of the current rank has its message, and return it."""
        message, box = receive.message, receive.box
        if message is not None:
            self.arrives(message)
            return message
        while box is not None and receive.message is None and box.any_source and not self.is_late:
            self.scheduler.wait_until(what, box.next_arrival_s)
            box.deliver(self.scheduler.clock_s)
        if receive.message is None:
            self.scheduler.wait(what, receive.has_message)
        assert receive.message is not None
        self.arrives(receive.message)
        return receive.message

    def catch_up(self) -> None:
        """Let others run until none is before the current rank, and give it what has arrived."""
        self.scheduler.wait_until(lambda: "a test", lambda: 0.0)
        for box in self.boxes[self.current]:
            box.deliver(self.scheduler.clock_s)

    def _deliver_one(self) -> bool:
        """Give one of the waiting ranks the next message to arrive that a receive from any rank takes.

        It is the last one if messages ``is_late``. All ranks wait when this is called.
        """
        waiting = [(time_s, box) for box in chain(*self.boxes) if (time_s := box.next_arrival_s()) is not None]
        if waiting:
            time_s, box = min(waiting, key=lambda one: one[0])
            if self.is_late:
                box.deliver_last()
            else:
                box.deliver(time_s)
        return bool(waiting)

    def begin_call(self, caller: FrameType | None = None) -> None:
        """Begin a call of MPI: the time since the last one was computation. Ends any thread but the main one.

        ``caller``: the frame that makes the call, or one that it has called; None: of the caller of this method.
        """
        if get_ident() != self._thread:
            what = "a thread of the program calls MPI or reads the clock"
            self.thread_error = InputError(what, place_of_call(), allowed="the main thread")
            raise SystemExit
        rank = self.scheduler.current
        if not self.depth[rank]:
            frame, log = caller or sys._getframe(1), self.log
            known = log.lines.get((id(frame.f_code), frame.f_lasti))
            log.of_rank[rank].line = log.line_of(frame) if known is None else known[0]
            if self.speed is not None:
                self._note_computation(rank, self.speed)
            for called in self.on_call:
                called(rank)
        self.depth[rank] += 1

    def end_call(self) -> None:
        """End a call of MPI."""
        rank = self.scheduler.current
        self.depth[rank] -= 1
        if self.speed is not None and not self.depth[rank]:
            self.begin_computing()

    def begin_phase(self, name: str) -> str:
        """Begin a phase of the current rank; return the name of the previous one."""
        self.begin_call()
        before, self._phases[self.current] = self._phases[self.current], name
        self.log.has_phases = True
        self.note().phase(name)
        self.end_call()
        return before

    def declare(self, flops: float) -> None:
        """Note floating-point operations instead of the CPU time since the last call."""
        if self._declared:
            self._begin_declaring(sys._getframe(1))
            self.note().compute(flops, "flops")
            self._pass_declared(self.times.of_flops(flops))

    def declare_kernel(self, text: str) -> None:
        """Note kernels, by their keywords in JSON, instead of the CPU time since the last call."""
        if self._declared:
            self._begin_declaring(sys._getframe(1))
            self.note().kernel(text)
            self._pass_declared(self.times.of_kernel(text, self.note().place))

    def _begin_declaring(self, frame: FrameType) -> None:
        self.note().line = self.log.line_of(frame)
        for called in self.on_call:
            called(self.current)

    def _pass_declared(self, seconds: float) -> None:
        self.scheduler.pass_until(self.scheduler.clock_s + seconds)
        self._since_s = time.process_time()

    def begin_computing(self) -> None:
        """Begin to compute on a rank."""
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
        """Return the simulated time, in s; in the first run the scheduler's."""
        self.begin_call()
        rank = self.current
        self.scheduler.goes_on()
        reads, known = self.clock.reads_s[rank], self._known.reads_s
        if known and len(reads) < len(known[rank]):
            self.scheduler.pass_until(known[rank][len(reads)])
            reads.append(known[rank][len(reads)])
        else:
            reads.append(max(self.scheduler.clock_s, reads[-1] if reads else 0.0))
        self.log.read_clock(rank)
        self.end_call()
        return reads[-1]

    def sleep(self, seconds: float) -> None:
        """Let the rank's time pass."""
        self.begin_call()
        self._compute(self.current, float(seconds))
        self.end_call()

    def _note_computation(self, rank: int, speed: float) -> None:
        computed, known = self.clock.computed_s[rank], self._known.computed_s
        place = len(computed)
        if known and place < len(known[rank]):
            seconds = known[rank][place]
        else:
            seconds = _rounded((time.process_time() - self._since_s - self._gap_s) / speed)
        computed.append(seconds)
        if seconds > 0:
            self._compute(rank, seconds)

    def _compute(self, rank: int, seconds: float) -> None:
        self.log.of_rank[rank].compute(seconds)
        self.scheduler.ranks[rank].clock_s += seconds


def mpi_call(method: Callable[Concatenate[Any, Given], Answer]) -> Callable[Concatenate[Any, Given], Answer]:
    """Make a method of an object that has a ``world`` a call of MPI, whose time is no computation.

    The generated function has the method's own parameters: to pass on ``*given, **named`` takes 0.3 us, and in each
    rank that waits more of the stack.
    """
    code: CodeType = method.__code__
    names = code.co_varnames[: code.co_argcount]
    assert not code.co_kwonlyargcount
    plain = _call_of(len(names))
    own = plain.replace(co_varnames=(*names, *plain.co_varnames[len(names) :]))
    call: Any = FunctionType(own, {"method": method, "getframe": sys._getframe})
    call.__defaults__ = method.__defaults__
    return wraps(method)(call)


@cache
def _call_of(parameters: int) -> CodeType:
    """Return the code of a function with this number of parameters."""
    made: dict[str, Any] = {}
    text = _CALL.format(", ".join(f"given_{place}" for place in range(parameters)))
    exec(compile(text, __file__, "exec"), made)
    found: CodeType = made["call"].__code__
    return found


def _empty_gap_s() -> float:
    times = [time.process_time() for _ in range(_EMPTY_GAPS)]
    return float(np.median(np.diff(times)))


def _rounded(seconds: float) -> float:
    """Nine binary digits: more are noise, and equal times are stored once. 0 for what is below."""
    if seconds <= 0:
        return 0.0
    fraction, exponent = frexp(seconds)
    return ldexp(round(fraction * 512), exponent - 9)
