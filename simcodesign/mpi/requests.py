"""Messages that were begun and are waited for, and the status of received ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.mpi.log import WAIT
from simcodesign.mpi.matching import ANY_SOURCE, ANY_TAG, Message, Receive
from simcodesign.mpi.names import Simulated
from simcodesign.mpi.objects.constants import PROC_NULL, UNDEFINED
from simcodesign.mpi.objects.datatypes import BYTE, MIXED, Datatype
from simcodesign.mpi.scheduler import place_of_call
from simcodesign.mpi.world import World, mpi_call

Statuses = list["Status"] | None


class Status(Simulated):
    """Source, tag and size of what was received."""

    def __init__(self, status: Status | None = None) -> None:
        self.clear()
        if status is not None:
            self.__dict__.update(status.__dict__)

    def clear(self, source: int = ANY_SOURCE, *, cancelled: bool = False) -> None:
        """Become the status of a message that is empty: of a null request, or from ``PROC_NULL``."""
        self.source, self.tag, self.error, self.count, self.cancelled = source, ANY_TAG, 0, 0, cancelled

    def note(self, message: Message) -> None:
        """Keep source, tag and size of a message."""
        self.clear()
        self.source, self.tag, self.count = message.source, message.tag, message.size_bytes

    def Get_source(self) -> int:
        """Return the rank of the sender."""
        return self.source

    def Set_source(self, source: int) -> None:
        """Set the rank of the sender."""
        self.source = source

    def Get_tag(self) -> int:
        """Return the tag."""
        return self.tag

    def Set_tag(self, tag: int) -> None:
        """Set the tag."""
        self.tag = tag

    def Get_error(self) -> int:
        """Return 0: errors are exceptions."""
        return self.error

    def Set_error(self, error: int) -> None:
        """Set the error."""
        self.error = error

    def Get_count(self, datatype: Datatype = BYTE) -> int:
        """Return how many items of a datatype came, by default bytes; UNDEFINED if the last one is incomplete."""
        size = datatype.layout.size
        return (self.count // size if self.count % size == 0 else UNDEFINED) if size else 0

    def Get_elements(self, datatype: Datatype) -> int:
        """Return how many basic elements of a datatype came. Raises InputError for one of several basic types."""
        if datatype.dtype == MIXED:
            raise InputError("Get_elements of a datatype", place_of_call(), value="a struct", allowed="one basic type")
        return self.count // datatype.dtype.itemsize

    def Set_elements(self, datatype: Datatype, count: int) -> None:
        """Set how many items of a datatype came."""
        self.count = count * datatype.layout.size

    def Is_cancelled(self) -> bool:
        """Return whether the operation was cancelled."""
        return self.cancelled

    def Set_cancelled(self, flag: bool) -> None:
        """Set whether the operation was cancelled."""
        self.cancelled = flag

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Status) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]


class Completion(Simulated):
    """What can be done with one request."""

    world: World

    def is_active(self) -> bool:
        """Return whether it is begun, and not waited for."""
        raise NotImplementedError

    def is_done(self) -> bool:
        """Return whether waiting would end at once."""
        raise NotImplementedError

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
        if not self.is_done():
            self.world.scheduler.give_turn_away()
            return False, None
        return True, self.end(status)

    def Test(self, status: Status | None = None) -> bool:
        """Return whether it is done. Others have a turn if not."""
        return self.test(status)[0]

    @mpi_call
    def Get_status(self, status: Status | None = None) -> bool:
        """Return whether it is done; it stays to be waited for. Others have a turn if not."""
        if not self.is_done():
            self.world.scheduler.give_turn_away()
            return False
        if status is not None:
            self.note(status)
        return True

    get_status = Get_status


class OfSeveral(Completion):
    """What is done with several requests."""

    @classmethod
    def waitall(cls, requests: Sequence[Completion], statuses: Statuses = None) -> list[Any]:
        """Wait until all are done; return what was received."""
        own = _extended(statuses, len(requests))
        return [request.wait(status) for request, status in zip(requests, own, strict=False)]

    @classmethod
    def waitany(cls, requests: Sequence[Completion], status: Status | None = None) -> tuple[int, Any]:
        """Wait until one is done; return its place and what was received; UNDEFINED if none is active."""
        if not _first_done(requests):
            return _none_active(status), None
        place = _done(requests)[0]
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
        for request in requests:
            if not request.is_done():
                request.test()
                return False, None
        return True, cls.waitall(requests, statuses)

    @classmethod
    def testany(cls, requests: Sequence[Completion], status: Status | None = None) -> tuple[int, bool, Any]:
        """Return the place of one that is done, whether there is one, and what was received."""
        active = _active(requests)
        if not active:
            return _none_active(status), True, None
        done = _done(requests)
        if not done:
            active[0].test()
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
        if not _done(requests):
            active[0].test()
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

    ``message``: one that must be taken before the send is done; ``receive``: a receive, whose message ``finish`` uses;
    ``cancel`` removes a receive that has no message, and returns whether it could.
    """

    under_way: World | None = None  # the run, for a program's ``MPI.Request()``

    def __init__(
        self,
        world: World | None = None,
        place: int | None = None,
        *,
        message: Message | None = None,
        receive: Receive | None = None,
        finish: Callable[[Message], Any] | None = None,
        cancel: Callable[[], bool] | None = None,
    ) -> None:
        self.world: Any = self.under_way if world is None else world
        self._place, self._message, self._receive, self._finish = place, message, receive, finish
        self._cancel, self._cancelled, self._value = cancel, False, None
        self._ended = world is None
        self._empty_source = ANY_SOURCE

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

    def is_done(self) -> bool:
        """Return whether waiting would end at once."""
        if self._ended or self._cancelled:
            return True
        if self._receive is not None:
            return self._receive.message is not None
        return self._message is None or self._message.taken

    def end(self, status: Status | None) -> Any:
        """Wait; return what was received."""
        if self._ended:
            if status is not None:
                status.clear(self._empty_source)
            return self._value
        self.world.scheduler.wait(lambda: f"wait for {self._receive or self._message}", self.is_done)
        self._ended = True
        received = None if self._receive is None else self._receive.message
        if received is not None and self._finish is not None:
            self._value = self._finish(received)
        is_own = received is not None and received.sender == received.receiver
        if self._place is not None and not self._cancelled and not is_own:
            self.world.add(WAIT, self._place)
        if status is not None:
            self.note(status)
        return self._value

    def note(self, status: Status) -> None:
        """Fill the status of what is done."""
        received = None if self._receive is None else self._receive.message
        if received is None:
            status.clear(self._empty_source, cancelled=self._cancelled)
        else:
            status.note(received)

    def Cancel(self) -> None:
        """Give up a receive that has no message yet. A send goes on, as in Open MPI."""
        if self._cancel is not None and not self._ended and self._receive is not None and not self._receive.message:
            self._cancelled = self._cancel()

    def Free(self) -> None:
        """Let the request end by itself."""
        receive, finish = self._receive, self._finish
        if receive is not None and finish is not None and not self._ended:
            receive.when_matched(finish)
        self._ended = True

    cancel, free = Cancel, Free

    def __bool__(self) -> bool:
        return not self._ended

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Request) and not self and not other)

    __hash__ = object.__hash__


def _active(requests: Sequence[Completion]) -> list[Completion]:
    return [one for one in requests if one.is_active()]


def _done(requests: Sequence[Completion]) -> list[int]:
    return [place for place, one in enumerate(requests) if one.is_active() and one.is_done()]


def _first_done(requests: Sequence[Completion]) -> bool:
    """Wait until one is done; return whether any is active."""
    active = _active(requests)
    if active:
        world = active[0].world
        world.begin_call()
        world.log.wildcards += len(active) > 1
        world.scheduler.wait(lambda: f"wait for any of {len(active)}", lambda: any(one.is_done() for one in active))
        world.end_call()
    return bool(active)


def _ended(requests: Sequence[Completion], statuses: Statuses) -> tuple[list[int], list[Any]]:
    done = _done(requests)
    own = _extended(statuses, len(done))
    return done, [requests[place].wait(status) for place, status in zip(done, own, strict=False)]


def _extended(statuses: Statuses, count: int) -> Sequence[Status | None]:
    """Return a status for each; mpi4py adds to a list that is too short."""
    if statuses is None:
        return [None] * count
    statuses += [Status() for _ in range(count - len(statuses))]
    return statuses


def _none_active(status: Status | None) -> int:
    if status is not None:
        status.clear()
    return UNDEFINED
