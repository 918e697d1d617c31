"""Persistent requests: messages that are defined once and started repeatedly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simcodesign.mpi.names import NotSimulated
from simcodesign.mpi.objects.status import Status
from simcodesign.mpi.point_to_point import PointToPoint
from simcodesign.mpi.ranks.matching import ANY_SOURCE, ANY_TAG
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.ranks.world import World, mpi_call
from simcodesign.mpi.requests import Request
from simcodesign.mpi.values.errors import MpiError


class Prequest(Request):
    """A persistent request. ``begin`` begins the operation and returns its request."""

    copied_with = "_begin"
    _begin: Callable[[], Request] | None = None  # of REQUEST_NULL, and after Free
    _begun: Request

    def __init__(self, world: World, begin: Callable[[], Request]) -> None:
        super().__init__(world)
        self._begin, self._begun = begin, Request.null(world)

    @mpi_call
    def Start(self) -> None:
        """Begin the operation. Raises MpiError if it continues or is freed."""
        if self._begin is None or self.is_active():
            state = "null or freed" if self._begin is None else "active"
            raise MpiError(
                "a persistent request cannot be started in this state",
                place_of_call(),
                value=state,
                allowed="inactive",
                name="REQUEST",
            )
        self._begun = self._begin()

    @classmethod
    def Startall(cls, requests: Sequence[Prequest]) -> None:
        """Begin all."""
        for request in requests:
            request.Start()

    def is_active(self) -> bool:
        """Return whether it is begun, and not waited for."""
        return self._begin is not None and self._begun.is_active()

    def done_s(self) -> float | None:
        """Return when waiting ends; None while it is not known."""
        return self._begun.done_s()

    def end(self, status: Status | None) -> Any:
        """Wait; the request can be started again."""
        if self._begin is None:
            return super().end(status)
        self._begun.end(status)
        self._begun = Request.null(self.world)
        return None

    def note(self, status: Status) -> None:
        """Fill the status of what is done."""
        self._begun.note(status)

    def Cancel(self) -> None:
        """Give up a receive that has no message yet."""
        self.check()
        self._begun.Cancel()

    def Free(self) -> None:
        """Let the request end by itself, and never start again."""
        self.check()
        self._begun.free()
        self._begin = None

    def __bool__(self) -> bool:
        return self._begin is not None


for name in ("Parrived", "Pready", "Pready_list", "Pready_range"):
    setattr(Prequest, name, NotSimulated(name))


class PersistentMessages(PointToPoint):
    """The part of communicators that makes persistent requests of messages."""

    def Send_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """Return a request that sends a buffer."""
        return Prequest(self.world, lambda: self.Isend(buf, dest, tag))

    def Bsend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """Return a request that sends a copy of a buffer, which the attached buffer keeps."""
        return Prequest(self.world, lambda: self.Ibsend(buf, dest, tag))

    def Ssend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """Return a request that sends a buffer, and is done when it is being received."""
        return Prequest(self.world, lambda: self.Issend(buf, dest, tag))

    Rsend_init = Send_init

    def Recv_init(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Prequest:
        """Return a request that receives into a buffer."""
        return Prequest(self.world, lambda: self.Irecv(buf, source, tag))
