"""Messages that were begun and are waited for, and the status of received ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simcodesign.mpi.buffers import Datatype
from simcodesign.mpi.matching import ANY_SOURCE, ANY_TAG, Mailbox, Message, Receive
from simcodesign.mpi.names import Simulated
from simcodesign.mpi.world import World, mpi_call

UNDEFINED = -32766


class Status(Simulated):
    """Source, tag and size of what was received."""

    def __init__(self) -> None:
        self.source, self.tag, self.error, self.count = ANY_SOURCE, ANY_TAG, 0, 0
        self.cancelled = False

    def Get_source(self) -> int:
        """Return the rank of the sender."""
        return self.source

    def Get_tag(self) -> int:
        """Return the tag."""
        return self.tag

    def Get_error(self) -> int:
        """Return 0: errors are exceptions."""
        return self.error

    def Get_count(self, datatype: Datatype | None = None) -> int:
        """Return how many elements of a type came, by default bytes."""
        size = 1 if datatype is None else datatype.size
        return self.count // size if self.count % size == 0 else UNDEFINED

    Get_elements = Get_count

    def Is_cancelled(self) -> bool:
        """Return whether the operation was cancelled."""
        return self.cancelled

    def note(self, message: Message | None) -> None:
        """Keep source, tag and size of a message; None from ``PROC_NULL`` changes nothing."""
        if message is not None:
            self.source, self.tag, self.count = message.source, message.tag, message.size_bytes


class Request(Simulated):
    """A message that was begun. ``place``: of its start in the log; None of one that was never needed."""

    def __init__(
        self,
        world: World,
        place: int | None = None,
        *,
        message: Message | None = None,
        receive: Receive | None = None,
        box: Mailbox | None = None,
        finish: Callable[[Message], Any] | None = None,
    ) -> None:
        self.world, self._place, self._message, self._finish = world, place, message, finish
        self._receive, self._box = receive, box
        self._ended, self._value = place is None, None

    def done_s(self) -> float | None:
        """Return when waiting ends; None while it is not known."""
        if self._receive is not None:
            message = self._receive.message
            return None if message is None else message.arrival_s
        return 0.0 if self._message is None else self._message.taken_s

    def is_done(self) -> bool:
        """Return whether waiting would end now, when no other rank is before this one."""
        done_s = self.done_s()
        return self._ended or (done_s is not None and done_s <= self.world.scheduler.clock_s)

    def test_is_done(self) -> bool:
        """Return whether it is done, when no other rank is before this one. Others have a turn if not."""
        world = self.world
        world.in_time += 1
        world.catch_up()
        if not self.is_done():
            world.scheduler.test_failed(self.done_s())
            return False
        return True

    def wait_for_message(self) -> Message | None:
        """Let others run until it is done; return what was received."""
        world = self.world
        what = (self._receive or self._message).__str__
        if self._receive is not None:
            assert self._box is not None
            return world.wait_for(lambda: f"wait for {what()}", self._receive, self._box)
        world.scheduler.wait(what, lambda: self.done_s() is not None)
        world.scheduler.pass_until(self.done_s() or 0.0)
        return None

    def end(self, status: Status | None) -> Any:
        """Wait; return what was received."""
        if not self._ended:
            assert self._place is not None
            message = self.wait_for_message()
            self._ended = True
            if message is not None and self._finish is not None:
                self._value = self._finish(message)
            self.world.note().wait(self._place)
            if status is not None:
                status.note(message)
        return self._value

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
        return (True, self.end(status)) if self._ended or self.test_is_done() else (False, None)

    def Test(self, status: Status | None = None) -> bool:
        """Return whether it is done. Others have a turn if not."""
        return bool(self.test(status)[0])

    @classmethod
    def waitall(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> list[Any]:
        """Wait until all are done; return what was received."""
        found = []
        for place, request in enumerate(requests):
            found.append(request.wait(statuses[place] if statuses and place < len(statuses) else None))
        return found

    @classmethod
    def Waitall(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> bool:
        """Wait until all are done."""
        cls.waitall(requests, statuses)
        return True

    @classmethod
    def waitany(cls, requests: Sequence[Request], status: Status | None = None) -> tuple[int, Any]:
        """Wait until one is done; return its place and what was received."""
        left = [(place, one) for place, one in enumerate(requests) if not one._ended]
        if not left:
            return UNDEFINED, None
        world = left[0][1].world
        world.begin_call()
        world.in_time += len(left) > 1
        _wait_for_first(world, [one for _, one in left])
        world.end_call()
        place, first = min(((n, one) for n, one in left if one.is_done()), key=lambda each: each[1].done_s() or 0.0)
        return place, first.wait(status)

    @classmethod
    def Waitany(cls, requests: Sequence[Request], status: Status | None = None) -> int:
        """Wait until one is done; return its place."""
        return cls.waitany(requests, status)[0]

    @classmethod
    def testall(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> tuple[bool, Any]:
        """Return whether all are done, and what was received. Others have a turn if not."""
        for request in requests:
            if not request._ended and not request.test_is_done():
                return False, None
        return True, cls.waitall(requests, statuses)

    @classmethod
    def Testall(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> bool:
        """Return whether all are done. Others have a turn if not."""
        return cls.testall(requests, statuses)[0]

    def Free(self) -> None:
        """Do nothing: Python frees it."""

    def __bool__(self) -> bool:
        return not self._ended


def _wait_for_first(world: World, requests: Sequence[Request]) -> None:
    """Let others run until one is done, when no other rank is before this one."""

    def next_s() -> float | None:
        times = [one.done_s() for one in requests]
        times += [box.next_arrival_s() for box in world.boxes[world.current] if box.any_source]
        return min((time_s for time_s in times if time_s is not None), default=None)

    while not any(one.is_done() for one in requests):
        world.scheduler.wait_until(lambda: "waitany", next_s)
        world.catch_up()
