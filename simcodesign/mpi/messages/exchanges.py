"""Exchanges that are begun: a message is sent while another is received, and both are one request."""

from __future__ import annotations

from typing import Any

from simcodesign.mpi.objects.attached import attach, detach, flush
from simcodesign.mpi.objects.status import Status
from simcodesign.mpi.point_to_point import PointToPoint
from simcodesign.mpi.ranks.matching import ANY_SOURCE, ANY_TAG, Message
from simcodesign.mpi.ranks.world import mpi_call
from simcodesign.mpi.requests import Request


class Exchange(Request):
    """A send and a receive that were begun together."""

    def __init__(self, sent: Request, received: Request) -> None:
        super().__init__(sent.world)
        self._sent, self._received = sent, received

    def done_s(self) -> float | None:
        """Return when both are done; None while it is not known."""
        sent_s, received_s = self._sent.done_s(), self._received.done_s()
        return None if sent_s is None or received_s is None else max(sent_s, received_s)

    def wait_for_message(self) -> Message | None:
        """Let others run until both are done."""
        self._received.end(None)
        self._sent.end(None)
        return None

    def note(self, status: Status) -> None:
        """Fill the status of the message that was received."""
        self._received.note(status)


class Exchanges(PointToPoint):
    """The part of communicators that begins exchanges, and attaches buffers."""

    @mpi_call
    def Isendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
    ) -> Request:
        """Begin to send a buffer and to receive into another."""
        received = self.Irecv(recvbuf, source, recvtag)
        return Exchange(self.Isend(sendbuf, dest, sendtag), received)

    @mpi_call
    def Isendrecv_replace(
        self, buf: Any, dest: int, sendtag: int = 0, source: int = ANY_SOURCE, recvtag: int = ANY_TAG
    ) -> Request:
        """Begin to send a buffer and to receive into it."""
        sent = self.Isend(buf, dest, sendtag)
        return Exchange(sent, self.Irecv(buf, source, recvtag))

    def Attach_buffer(self, buf: Any) -> None:
        """Attach the one buffer of this rank for buffered sends, of all communicators."""
        attach(self.world, buf)

    @mpi_call
    def Detach_buffer(self) -> Any:
        """Wait until the messages in the buffer are received, and return it; None without one."""
        return detach(self.world)

    @mpi_call
    def Flush_buffer(self) -> None:
        """Wait until the messages in the buffer are received."""
        flush(self.world)

    def Iflush_buffer(self) -> Request:
        """Flush the buffer; return a request that is done."""
        self.Flush_buffer()
        return Request.null(self.world)
