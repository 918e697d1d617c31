"""Looking at messages before they are received: probes, and matched probes, which take a message out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simcodesign.mpi.buffers import Flat, Scattered, fill, items_of
from simcodesign.mpi.names import Simulated
from simcodesign.mpi.objects.status import Status
from simcodesign.mpi.point_to_point import PointToPoint, unpickled
from simcodesign.mpi.ranks import matching
from simcodesign.mpi.ranks.matching import ANY_SOURCE, ANY_TAG
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.ranks.world import World, mpi_call
from simcodesign.mpi.requests import Request
from simcodesign.mpi.values.constants import PROC_NULL
from simcodesign.mpi.values.errors import MpiError
from simcodesign.mpi.values.handles import is_constant


class Message(Simulated):
    """A message that a matched probe took out, None from ``PROC_NULL``; it can be received once."""

    def __init__(self, comm: PointToPoint | None = None, message: matching.Message | None = None) -> None:
        self._comm, self._message, self._is_null = comm, message, comm is None

    @classmethod
    def constants(cls, comm: PointToPoint) -> dict[str, Message]:
        """Return MESSAGE_NULL, and MESSAGE_NO_PROC, the message from ``PROC_NULL``."""
        return {"MESSAGE_NULL": cls(), "MESSAGE_NO_PROC": cls(comm, None)}

    @property
    def world(self) -> World:
        """The run. Raises MpiError for a message that is null or was received."""
        if self._is_null or self._comm is None:
            what = "this message is null, or was received already"
            raise MpiError(what, place_of_call(), allowed="a message of Mprobe or Improbe")
        return self._comm.world

    @classmethod
    def Probe(cls, comm: Probes, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Message:
        """Wait until a message has arrived, and take it out."""
        return comm.Mprobe(source, tag, status)

    @classmethod
    def Iprobe(
        cls, comm: Probes, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> Message | None:
        """Take a message out; return None if there is none."""
        return comm.Improbe(source, tag, status)

    probe, iprobe = Probe, Iprobe

    @mpi_call
    def Recv(self, buf: Any, status: Status | None = None) -> None:
        """Receive into a buffer."""
        message = self._received(status)
        if message is not None:
            fill(items_of(buf), message.data)

    @mpi_call
    def recv(self, status: Status | None = None) -> Any:
        """Receive the object."""
        message = self._received(status)
        return None if message is None else unpickled(message.data)

    @mpi_call
    def Irecv(self, buf: Any) -> Request:
        """Begin to receive into a buffer."""
        return self._begun(None, items_of(buf))

    @mpi_call
    def irecv(self) -> Request:
        """Begin to receive the object."""
        return self._begun(unpickled)

    def _taken(self) -> matching.Message | None:
        """Let the sender continue, and let this be null."""
        world, message = self.world, self._message
        self._is_null = message is not None or not is_constant(self)
        if message is not None and self._comm is not None:
            message.taken_s = max(message.arrival_s, world.scheduler.clock_s)
            self._comm.own_box.probed.remove(message)
            if message.is_held:
                world.scheduler.wake(message.sender)
        return message

    def _received(self, status: Status | None) -> matching.Message | None:
        message, comm = self._taken(), self._comm
        assert comm is not None
        if message is not None:
            comm.note_received(message, status)
        elif status is not None:
            status.clear(PROC_NULL)
        return message

    def _begun(self, use: Callable[[Any], Any] | None, room: Flat | Scattered | None = None) -> Request:
        world, message, comm = self.world, self._taken(), self._comm
        if message is None or comm is None:
            return Request.of_nobody(world)
        place = world.note().start_receive(message.sender, None, comm.tag_of(message.tag))
        receive = matching.Receive(message.source, message.tag, message=message)
        return Request.begun(world, place, None, receive, room, use)

    def _state(self) -> str | None:
        """Return whether it is null or from ``PROC_NULL``; None of a message that can be received."""
        return "null" if self._is_null else None if self._message is not None else "of nobody"

    def __bool__(self) -> bool:
        return not self._is_null

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Message):
            return self is other
        return self._state() == other._state() is not None

    __hash__ = None  # type: ignore[assignment]

    def free(self) -> None:
        """Let this be null; the message can no longer be received."""
        self._is_null = self._is_null or not is_constant(self)


class Probes(PointToPoint):
    """The part of communicators that looks at messages."""

    @mpi_call
    def Probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Wait until a message has arrived; it stays."""
        self._awaited(source, tag, status)
        return True

    @mpi_call
    def Iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Return whether a message has arrived; it stays. Others have a turn if not."""
        return self._there(source, tag, status)

    @mpi_call
    def Mprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Message:
        """Wait until a message has arrived, and take it out, so that only the one returned can be received."""
        self._awaited(source, tag, status)
        return Message(self, None if source == PROC_NULL else self.own_box.take_out(source, tag))

    @mpi_call
    def Improbe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Message | None:
        """Take a message out; return None if there is none, after the others have had a turn."""
        if not self._there(source, tag, status):
            return None
        return Message(self, None if source == PROC_NULL else self.own_box.take_out(source, tag))

    probe, iprobe, mprobe, improbe = Probe, Iprobe, Mprobe, Improbe

    def _awaited(self, source: int, tag: int, status: Status | None) -> None:
        box = self.own_box
        if source == PROC_NULL:
            self._there(source, tag, status)
            return
        self.check_peer(source, tag, any_is_allowed=True)
        self.world.in_time += 1

        def arrival_s() -> float | None:
            message = box.first(source, tag)
            return None if message is None else message.arrival_s

        self.world.catch_up()
        self.world.scheduler.wait_until(lambda: f"probe of {source}, tag {tag}", arrival_s)
        message = box.first(source, tag)
        assert message is not None
        if status is not None:
            status.note(message)

    def _there(self, source: int, tag: int, status: Status | None) -> bool:
        """Return whether a message has arrived. Others have a turn if not."""
        if source == PROC_NULL:
            if status is not None:
                status.clear(PROC_NULL)
            return True
        self.check_peer(source, tag, any_is_allowed=True)
        world, box = self.world, self.own_box
        world.in_time += 1
        world.catch_up()
        message = box.first(source, tag, world.scheduler.clock_s)
        if message is None:
            later = box.first(source, tag)
            world.scheduler.test_failed(None if later is None else later.arrival_s)
        elif status is not None:
            status.note(message)
        return message is not None
