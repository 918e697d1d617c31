"""Exchanges between neighbours: a message for each edge of the topology, all of them begun together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simcodesign.mpi.buffers import Buffer, Flat, Scattered, by_stride, fill
from simcodesign.mpi.collectives.meetings import nonblocking, persistent
from simcodesign.mpi.collectives.of_buffers import NoneOrRequest, typed_parts
from simcodesign.mpi.communicators.communicators import Intracomm
from simcodesign.mpi.objects.status import Status
from simcodesign.mpi.pickles import PICKLE
from simcodesign.mpi.point_to_point import PointToPoint
from simcodesign.mpi.ranks.matching import Message
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.ranks.world import World, mpi_call
from simcodesign.mpi.requests import Request
from simcodesign.mpi.values.errors import MpiError


class _Exchange(Request):
    """Messages with all neighbours, which are waited for together."""

    def __init__(self, world: World, messages: list[Request]) -> None:
        super().__init__(world)
        self._ended, self._messages = False, messages

    def done_s(self) -> float | None:
        """Return when waiting ends; None while it is not known."""
        times = [one.done_s() for one in self._messages if one]
        return None if None in times else max((time_s for time_s in times if time_s is not None), default=0.0)

    def wait_for_message(self) -> Message | None:
        """Let others run until it is done."""
        for one in self._messages:
            one.end(None)
        return None

    def end(self, status: Status | None) -> Any:
        """Wait for all messages."""
        if not self._ended:
            self.wait_for_message()
            self._ended = True
        return None


class Topocomm(Intracomm):
    """A communicator whose ranks have neighbours."""

    copied_with = "_edges_apart"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._edges_apart = PointToPoint(self.world, self.world.log.communicator(self.members), self.members)

    @property
    def inoutedges(self) -> tuple[list[int], list[int]]:
        """From which ranks this one receives, and to which it sends."""
        raise NotImplementedError

    inedges = property(lambda self: self.inoutedges[0])
    outedges = property(lambda self: self.inoutedges[1])
    indegree = property(lambda self: len(self.inoutedges[0]))
    outdegree = property(lambda self: len(self.inoutedges[1]))
    degrees = property(lambda self: (self.indegree, self.outdegree))

    def _tags(self) -> tuple[list[int], list[int]]:
        """Return tags of what is received and sent: of several edges between two ranks, the first fits the first."""
        return [0] * self.indegree, [0] * self.outdegree

    def _exchange(self, given: Sequence[Any], uses: Sequence[Callable[[Any], Any]]) -> _Exchange:
        """Begin to send ``given`` to the neighbours; ``uses`` are called with what comes from each."""
        sources, destinations = self.inoutedges
        apart, (expected, tags) = self._edges_apart, self._tags()
        for what, number, degree in (("sent", len(given), len(tags)), ("received", len(uses), len(expected))):
            if number != degree:
                text = f"the number of parts {what} differs from the number of neighbours"
                raise MpiError(text, place_of_call(), value=number, allowed=f"{degree}")
        edges = zip(sources, expected, uses, strict=True)
        receives = [apart._begin_receive(source, tag, use) for source, tag, use in edges]
        sends = [
            apart._post(data, len(data) if isinstance(data, bytes) else data.nbytes, other, tag, waits=None, start=True)
            for other, tag, data in zip(destinations, tags, given, strict=True)
        ]
        return _Exchange(self.world, receives + sends)

    def _of_buffers(self, given: Sequence[Flat | Scattered], rooms: Sequence[Flat | Scattered]) -> NoneOrRequest:
        begins, self._is_nonblocking = self._is_nonblocking, False
        exchange = self._exchange([one.copy() for one in given], [_filling(room) for room in rooms])
        return exchange if begins else exchange.end(None)

    def _of_objects(self, given: list[bytes]) -> list[Any]:
        got: list[Any] = [None] * self.indegree
        uses = [_keeping(got, place) for place in range(self.indegree)]
        self._exchange(given, uses).end(None)
        return got

    @mpi_call
    def neighbor_allgather(self, sendobj: Any) -> list[Any]:
        """Send an object to all neighbours; return theirs, None for PROC_NULL."""
        return self._of_objects([PICKLE.dumps(sendobj)] * self.outdegree)

    @mpi_call
    def neighbor_alltoall(self, sendobj: Sequence[Any]) -> list[Any]:
        """Send each neighbour its object; return theirs, None for PROC_NULL."""
        return self._of_objects([PICKLE.dumps(one) for one in sendobj])

    @mpi_call
    def Neighbor_allgather(self, sendbuf: Any, recvbuf: Any) -> NoneOrRequest:
        """Send a buffer to all neighbours, and put theirs one after another."""
        return self._of_buffers([Buffer(sendbuf).flat] * self.outdegree, _parts(recvbuf, self.indegree))

    @mpi_call
    def Neighbor_alltoall(self, sendbuf: Any, recvbuf: Any) -> NoneOrRequest:
        """Send each neighbour its part of a buffer, and put theirs one after another."""
        return self._of_buffers(_parts(sendbuf, self.outdegree), _parts(recvbuf, self.indegree))

    @mpi_call
    def Neighbor_alltoallw(self, sendbuf: Any, recvbuf: Any) -> NoneOrRequest:
        """Send each neighbour its part of a buffer; each part has its own type, and its place in bytes."""
        return self._of_buffers(typed_parts(sendbuf), typed_parts(recvbuf))

    def Neighbor_allgatherv(self, sendbuf: Any, recvbuf: Any) -> NoneOrRequest:
        """Send a buffer to all neighbours, and put theirs, of any length, one after another."""
        return self.Neighbor_allgather(sendbuf, by_stride(recvbuf, self.indegree))

    def Neighbor_alltoallv(self, sendbuf: Any, recvbuf: Any) -> NoneOrRequest:
        """Send each neighbour its part, of any length, of a buffer, and put theirs one after another."""
        return self.Neighbor_alltoall(by_stride(sendbuf, self.outdegree), by_stride(recvbuf, self.indegree))

    Ineighbor_allgather, Ineighbor_alltoall = nonblocking(Neighbor_allgather), nonblocking(Neighbor_alltoall)
    Ineighbor_alltoallw = nonblocking(Neighbor_alltoallw)
    Ineighbor_allgatherv, Ineighbor_alltoallv = nonblocking(Neighbor_allgatherv), nonblocking(Neighbor_alltoallv)
    Neighbor_allgather_init, Neighbor_alltoall_init = persistent(Neighbor_allgather), persistent(Neighbor_alltoall)
    Neighbor_alltoallw_init = persistent(Neighbor_alltoallw)
    Neighbor_allgatherv_init, Neighbor_alltoallv_init = persistent(Neighbor_allgatherv), persistent(Neighbor_alltoallv)


def _parts(buf: Any, neighbours: int) -> list[Flat | Scattered]:
    return Buffer(buf).parts(neighbours) if neighbours else []


def _filling(room: Flat | Scattered) -> Callable[[Flat], None]:
    return lambda data: fill(room, data)


def _keeping(got: list[Any], place: int) -> Callable[[bytes], None]:
    def keep(data: bytes) -> None:
        got[place] = PICKLE.loads(data)

    return keep
