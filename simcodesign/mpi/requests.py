"""Requests: operations that were begun, and what tells how a receive ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simcodesign.mpi.buffers import Datatype
from simcodesign.mpi.log import WAIT
from simcodesign.mpi.matching import ANY_SOURCE, ANY_TAG, Message, Receive
from simcodesign.mpi.world import World, mpi_call

UNDEFINED = -32766


class Status:
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
        """Keep what is known of a message; of none if it came from ``PROC_NULL``."""
        if message is not None:
            self.source, self.tag, self.count = message.source, message.tag, message.size_bytes


class Request:
    """A message that was begun. ``place``: of its start in the log; None of one that was never needed."""

    def __init__(
        self,
        world: World,
        place: int | None = None,
        *,
        message: Message | None = None,
        receive: Receive | None = None,
        finish: Callable[[Message], Any] | None = None,
    ) -> None:
        self.world, self._place, self._message, self._receive, self._finish = world, place, message, receive, finish
        self._ended, self._value = place is None, None

    def is_done(self) -> bool:
        """Return whether waiting would end at once."""
        if self._ended:
            return True
        if self._receive is not None:
            return self._receive.message is not None
        return self._message is None or self._message.taken

    def end(self, status: Status | None) -> Any:
        """Wait; return what was received."""
        if not self._ended:
            self.world.scheduler.wait(lambda: "wait", self.is_done)
            self._ended = True
            message = self._receive.message if self._receive is not None else None
            if message is not None and self._finish is not None:
                self._value = self._finish(message)
            self.world.add(WAIT, self._place)
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
        if not self.is_done():
            self.world.scheduler.give_turn_away()
            return False, None
        return True, self.end(status)

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
        world.log.wildcards += len(left) > 1
        world.scheduler.wait(lambda: "waitany", lambda: any(one.is_done() for _, one in left))
        world.end_call()
        place, first = next((place, one) for place, one in left if one.is_done())
        return place, first.wait(status)

    @classmethod
    def Waitany(cls, requests: Sequence[Request], status: Status | None = None) -> int:
        """Wait until one is done; return its place."""
        return cls.waitany(requests, status)[0]

    @classmethod
    def testall(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> tuple[bool, Any]:
        """Return whether all are done, and what was received. Others have a turn if not."""
        for request in requests:
            if not request.is_done():
                request.test()
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
