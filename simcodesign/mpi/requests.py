"""Messages that were begun and are waited for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simcodesign.mpi.buffers import Flat, Scattered, fill
from simcodesign.mpi.names import NotSimulated, Quick
from simcodesign.mpi.objects.status import Status
from simcodesign.mpi.ranks.matching import ANY_SOURCE, Message, Receive
from simcodesign.mpi.ranks.world import World, mpi_call
from simcodesign.mpi.values.constants import PROC_NULL, UNDEFINED

Statuses = Sequence[Status] | None


class Completion(Quick):
    """Methods to complete one request."""

    world: World

    def is_active(self) -> bool:
        """Return whether it is begun, and not waited for."""
        raise NotImplementedError

    def done_s(self) -> float | None:
        """Return when waiting ends; None while it is not known."""
        raise NotImplementedError

    def is_done(self) -> bool:
        """Return whether waiting would end now, when no other rank is before this one."""
        done_s = self.done_s()
        return done_s is not None and done_s <= self.world.scheduler.clock_s

    def test_is_done(self) -> bool:
        """Return whether it is done, when no other rank is before this one. Others have a turn if not."""
        if not self.is_active():
            return True
        self.world.in_time += 1
        self.world.catch_up()
        if not self.is_done():
            self.world.scheduler.test_failed(self.done_s())
            return False
        return True

    def end(self, status: Status | None) -> Any:
        """Wait; return what was received."""
        raise NotImplementedError

    def note(self, status: Status) -> None:
        """Fill the status of what is done and not waited for."""
        raise NotImplementedError

    @mpi_call
    def wait(self, status: Status | None = None) -> Any:
        """Wait until it is done; return the object that was received, if any."""
        return self.end(status)

    @mpi_call
    def Wait(self, status: Status | None = None) -> bool:
        """Wait until it is done."""
        self.end(status)
        return True

    @mpi_call
    def test(self, status: Status | None = None) -> tuple[bool, Any]:
        """Return whether it is done, and what was received. Others have a turn if not."""
        return (True, self.end(status)) if self.test_is_done() else (False, None)

    @mpi_call
    def Test(self, status: Status | None = None) -> bool:
        """Return whether it is done. Others have a turn if not."""
        is_done = self.test_is_done()
        if is_done:
            self.end(status)
        return is_done

    @mpi_call
    def Get_status(self, status: Status | None = None) -> bool:
        """Return whether it is done; it stays to be waited for. Others have a turn if not."""
        if not self.test_is_done():
            return False
        if status is not None:
            self.note(status)
        return True

    get_status = Get_status


class OfSeveral(Completion):
    """Methods to complete several requests."""

    @classmethod
    def waitall(cls, requests: Sequence[Completion], statuses: Statuses = None) -> list[Any]:
        """Wait until all are done; return what was received."""
        own = _extended(statuses, len(requests))
        if not requests:
            return []
        world = requests[0].world
        world.begin_call()
        try:
            return [request.end(status) for request, status in zip(requests, own, strict=False)]
        finally:
            world.end_call()

    @classmethod
    def waitany(cls, requests: Sequence[Completion], status: Status | None = None) -> tuple[int, Any]:
        """Wait until one is done; return its place and what was received; UNDEFINED if none is active."""
        if not _first_done(requests):
            return _none_active(status), None
        place = min(_done(requests), key=lambda one: requests[one].done_s() or 0.0)
        return place, requests[place].wait(status)

    @classmethod
    def waitsome(
        cls, requests: Sequence[Completion], statuses: Statuses = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """Wait until one is done; return the places of all that are, and what was received; None if none is active."""
        return _ended(requests, statuses) if _first_done(requests) else (None, None)

    @classmethod
    def testall(cls, requests: Sequence[Completion], statuses: Statuses = None) -> tuple[bool, list[Any] | None]:
        """Return whether all are done, and what was received. Others have a turn if not."""
        if not all(request.test_is_done() for request in requests):
            return False, None
        return True, cls.waitall(requests, statuses)

    @classmethod
    def testany(cls, requests: Sequence[Completion], status: Status | None = None) -> tuple[int, bool, Any]:
        """Return the place of one that is done, whether there is one, and what was received."""
        active = _active(requests)
        if not active:
            return _none_active(status), True, None
        done = _tested(active[0].world, requests)
        if not done:
            return UNDEFINED, False, None
        return done[0], True, requests[done[0]].wait(status)

    @classmethod
    def testsome(
        cls, requests: Sequence[Completion], statuses: Statuses = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """Return the places of all that are done, and what was received; None if none is active."""
        active = _active(requests)
        if not active:
            return None, None
        if not _tested(active[0].world, requests):
            return [], []
        return _ended(requests, statuses)

    @classmethod
    def Waitall(cls, requests: Sequence[Completion], statuses: Statuses = None) -> bool:
        """Wait until all are done."""
        cls.waitall(requests, statuses)
        return True

    @classmethod
    def Waitany(cls, requests: Sequence[Completion], status: Status | None = None) -> int:
        """Wait until one is done; return its place, UNDEFINED if none is active."""
        return cls.waitany(requests, status)[0]

    @classmethod
    def Waitsome(cls, requests: Sequence[Completion], statuses: Statuses = None) -> list[int] | None:
        """Wait until one is done; return the places of all that are, None if none is active."""
        return cls.waitsome(requests, statuses)[0]

    @classmethod
    def Testall(cls, requests: Sequence[Completion], statuses: Statuses = None) -> bool:
        """Return whether all are done. Others have a turn if not."""
        return cls.testall(requests, statuses)[0]

    @classmethod
    def Testany(cls, requests: Sequence[Completion], status: Status | None = None) -> tuple[int, bool]:
        """Return the place of one that is done, and whether there is one. Others have a turn if not."""
        return cls.testany(requests, status)[:2]

    @classmethod
    def Testsome(cls, requests: Sequence[Completion], statuses: Statuses = None) -> list[int] | None:
        """Return the places of all that are done, None if none is active. Others have a turn if none is done."""
        return cls.testsome(requests, statuses)[0]


class Request(OfSeveral):
    """A message that was begun. ``place``: of its start in the log; None of one that takes no time.

    ``message``: one that must be taken before the send is done; ``receive``: a receive, the data of whose message go to
    ``room``, or to ``finish``, which returns what was received.
    """

    under_way: World | None = None  # the run, for a program's ``MPI.Request()``
    _cancelled, _ended, _value, _empty_source = False, False, None, ANY_SOURCE
    _message: Message | None = None
    _receive: Receive | None = None
    _room: Flat | Scattered | None = None
    _finish: Callable[[Any], Any] | None = None

    def __init__(self, world: World | None = None, place: int | None = None) -> None:
        self.world: Any = world
        self._place = place
        if world is None:
            self.world, self._ended = self.under_way, True

    @classmethod
    def begun(
        cls,
        world: World,
        place: int | None,
        message: Message | None = None,
        receive: Receive | None = None,
        room: Flat | Scattered | None = None,
        finish: Callable[[Any], Any] | None = None,
    ) -> Request:
        """Return a request of the run; faster than a call of the class, which may be a program's that wants a copy."""
        made: Request = object.__new__(cls)
        made.world, made._place = world, place
        if receive is not None:
            made._receive, made._room, made._finish = receive, room, finish
        elif message is not None:
            made._message = message
        return made

    @classmethod
    def null(cls, world: World) -> Request:
        """Return REQUEST_NULL."""
        made = cls(world)
        made._ended = True
        return made

    @classmethod
    def of_nobody(cls, world: World) -> Request:
        """Return the request of a message from or to ``PROC_NULL``."""
        made = cls(world)
        made._empty_source = PROC_NULL
        return made

    def is_active(self) -> bool:
        """Return whether it is begun, and not waited for."""
        return not self._ended

    def done_s(self) -> float | None:
        """Return when waiting ends; None while it is not known."""
        if self._receive is not None and not (self._ended or self._cancelled):
            message = self._receive.message
            return None if message is None else message.arrival_s
        return 0.0 if self._message is None else self._message.taken_s

    def wait_for_message(self) -> Message | None:
        """Let others run until it is done; return what was received."""
        receive, message = self._receive, self._message
        if receive is not None and not self._cancelled:
            world: World = self.world
            if receive.message is not None:
                world.arrives(receive.message)
                return receive.message
            return world.wait_for(self._words, receive)
        if message is not None:
            world = self.world
            world.scheduler.wait(message.__str__, lambda: self.done_s() is not None)
            world.scheduler.pass_until(self.done_s() or 0.0)
        return None

    def _words(self) -> str:
        return f"wait for {self._receive}"

    def end(self, status: Status | None) -> Any:
        """Wait; return what was received."""
        if self._ended:
            if status is not None:
                status.clear(self._empty_source)
            return self._value
        received = self.wait_for_message()
        self._ended = True
        if received is not None:
            self._use(received)
        place = self._place
        if place is not None and not self._cancelled:
            world: World = self.world
            world.log.of_rank[world.scheduler.current].wait(place)
        if status is not None:
            self.note(status)
        return self._value

    def _use(self, message: Message) -> None:
        if self._room is not None:
            fill(self._room, message.data)
        elif self._finish is not None:
            self._value = self._finish(message.data)

    def note(self, status: Status) -> None:
        """Fill the status of what is done."""
        received = None if self._receive is None else self._receive.message
        if received is None:
            status.clear(self._empty_source, cancelled=self._cancelled)
        else:
            status.note(received)

    def Cancel(self) -> None:
        """Give up a receive that has no message yet. A send continues, as in Open MPI."""
        self.check()
        receive = self._receive
        if receive is not None and receive.box is not None and not self._ended and receive.message is None:
            self._cancelled = receive.box.cancel(receive)

    def Free(self) -> None:
        """Let the request end by itself."""
        self.check()
        if self._receive is not None and not self._ended:
            self._receive.when_matched(self._use)
        self._ended = True

    def cancel(self) -> None:
        """Give up a receive that has no message yet."""
        self.Cancel()

    def __bool__(self) -> bool:
        return not self._ended

    def __eq__(self, other: object) -> bool:
        return self.is_same(other)

    __hash__ = None  # type: ignore[assignment]


for name in (
    "Get_status_all",
    "Get_status_any",
    "Get_status_some",
    "get_status_all",
    "get_status_any",
    "get_status_some",
):
    setattr(Request, name, NotSimulated(name))


def _active(requests: Sequence[Completion]) -> list[Completion]:
    return [one for one in requests if one.is_active()]


def _done(requests: Sequence[Completion]) -> list[int]:
    return [place for place, one in enumerate(requests) if one.is_active() and one.is_done()]


def _tested(world: World, requests: Sequence[Completion]) -> list[int]:
    """Return the places of those that are done, when no other rank is before this one. Others have a turn if not."""
    world.in_time += 1
    world.catch_up()
    done = _done(requests)
    if not done:
        times = [time_s for one in _active(requests) if (time_s := one.done_s()) is not None]
        world.scheduler.test_failed(min(times, default=None))
    return done


def _first_done(requests: Sequence[Completion]) -> bool:
    """Wait until one is done, when no other rank is before this one; return whether any is active."""
    active = _active(requests)
    if not active:
        return False
    world = active[0].world

    def next_s() -> float | None:
        times = [one.done_s() for one in active]
        times += [box.next_arrival_s() for box in world.boxes[world.current] if box.any_source]
        return min((time_s for time_s in times if time_s is not None), default=None)

    world.begin_call()
    world.in_time += len(active) > 1
    while not any(one.is_done() for one in active):
        world.scheduler.wait_until(lambda: f"wait for any of {len(active)}", next_s)
        world.catch_up()
    world.end_call()
    return True


def _ended(requests: Sequence[Completion], statuses: Statuses) -> tuple[list[int], list[Any]]:
    done = _done(requests)
    own = _extended(statuses, len(done))
    return done, [requests[place].wait(status) for place, status in zip(done, own, strict=False)]


def _extended(statuses: Statuses, count: int) -> Sequence[Status | None]:
    """Return a status for each, or None; mpi4py adds to a list that is too short."""
    if statuses is None:
        return [None] * count
    if isinstance(statuses, list):
        statuses += [Status() for _ in range(count - len(statuses))]
    return [*statuses, *[None] * (count - len(statuses))]


def _none_active(status: Status | None) -> int:
    if status is not None:
        status.clear()
    return UNDEFINED
