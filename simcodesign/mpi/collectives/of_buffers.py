"""Operations of all ranks on buffers: ``Bcast``, ``Allgatherv`` and others, each with its nonblocking form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from simcodesign.mpi.buffers import Buffer, Flat, Scattered, by_stride, fill, items_at_address, items_of
from simcodesign.mpi.collectives.meetings import Combine, Meetings, nonblocking, persistent
from simcodesign.mpi.collectives.of_objects import SUM, CollectivesOfObjects
from simcodesign.mpi.operators import Op
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.ranks.world import mpi_call
from simcodesign.mpi.values.errors import MpiError
from simcodesign.mpi.values.markers import BottomType, InPlaceType

#: Result of an operation on buffers: nothing, or, for its nonblocking form, a request.
NoneOrRequest = Any


def is_in_place(buffer: Any) -> bool:
    """Return whether a buffer is ``MPI.IN_PLACE``, or None as mpi4py allows."""
    return buffer is None or isinstance(buffer, InPlaceType)


class Collectives(CollectivesOfObjects):
    """The part of communicators for operations of all ranks on buffers."""

    @mpi_call
    def Bcast(self, buf: Any, root: int = 0) -> NoneOrRequest:
        """Send the root's buffer to all ranks."""
        buffer, is_root = Buffer(buf), self.rank == root
        data = buffer.flat.copy() if is_root else None
        size = buffer.size_bytes if is_root else 0

        def use(got: Flat) -> None:
            if not is_root:
                buffer.take(got)

        return self._together("broadcast", data, size, lambda given: [given[root]] * len(given), root, use=use)

    # --- Reductions ------------------------------------------------------------------------------------------

    def _folded(self, name: str, sendbuf: Any, recvbuf: Any, combine: Combine, root: int | None = None) -> Any:
        source = items_of(recvbuf if is_in_place(sendbuf) else sendbuf)
        room = items_of(recvbuf) if root is None or self.rank == root else None

        def use(got: Flat | None) -> None:
            if room is not None and got is not None:
                fill(room, got)

        def checked(given: list[Flat]) -> Sequence[Flat | None]:
            if len({len(one) for one in given}) > 1:
                lengths = [len(one) for one in given]
                what = "the ranks reduce different numbers of elements"
                raise MpiError(what, place_of_call(), value=lengths, allowed="the same number on all ranks")
            return combine(given)

        return self._together(name, source.copy(), source.nbytes, checked, root, use=use)

    @mpi_call
    def Reduce(self, sendbuf: Any, recvbuf: Any, op: Op = SUM, root: int = 0) -> NoneOrRequest:
        """Combine the buffers of all ranks in the root's."""
        return self._folded("reduce", sendbuf, recvbuf, lambda all_: [op.fold(all_)] * len(all_), root)

    @mpi_call
    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> NoneOrRequest:
        """Combine the buffers of all ranks in every one."""
        return self._folded("allreduce", sendbuf, recvbuf, lambda all_: [op.fold(all_)] * len(all_))

    @mpi_call
    def Scan(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> NoneOrRequest:
        """Combine the buffers of the ranks up to this one."""
        return self._folded("scan", sendbuf, recvbuf, lambda all_: [*accumulate(all_, op.buffers)])

    @mpi_call
    def Exscan(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> NoneOrRequest:
        """Combine the buffers of the ranks before this one; rank 0's stays as it is."""
        return self._folded("exscan", sendbuf, recvbuf, lambda all_: [None, *accumulate(all_[:-1], op.buffers)])

    @mpi_call
    def Reduce_scatter_block(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> NoneOrRequest:
        """Combine the buffers of all ranks, and give each rank one of the equal parts."""

        def combine(given: list[Flat]) -> list[Flat]:
            return np.split(op.fold(given), len(given))

        return self._folded("reduce_scatter", sendbuf, recvbuf, combine)

    @mpi_call
    def Reduce_scatter(
        self, sendbuf: Any, recvbuf: Any, recvcounts: Sequence[int] | None = None, op: Op = SUM
    ) -> NoneOrRequest:
        """Combine the buffers of all ranks, and give rank r the next ``recvcounts[r]`` elements of them.

        Without counts each rank gets as many as its ``recvbuf`` has.
        """
        source = Buffer(recvbuf if is_in_place(sendbuf) else sendbuf)
        room = Buffer(recvbuf)
        mine = len(room.flat) if recvcounts is None else int(recvcounts[self.rank])

        def combine(given: list[tuple[Flat, int]]) -> list[Flat]:
            ends = [*accumulate(count for _, count in given)]
            if any(len(data) != ends[-1] for data, _ in given):
                what = "the ranks reduce and scatter other numbers of elements than their counts state"
                lengths = [len(data) for data, _ in given]
                raise MpiError(what, place_of_call(), value=lengths, allowed=f"{ends[-1]}, the sum of the counts")
            return np.split(op.fold([data for data, _ in given]), ends[:-1])

        data = source.flat.copy()
        return self._together("reduce_scatter", (data, mine), data.nbytes, combine, use=room.take)

    # --- Parts of each rank ----------------------------------------------------------------------------------

    def _parts(self, buf: Any) -> list[Flat | Scattered]:
        return Buffer(buf).parts(self.size)

    @mpi_call
    def Gather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> NoneOrRequest:
        """Put the buffers of all ranks one after another into the root's."""
        is_root = self.rank == root
        rooms = self._parts(recvbuf) if is_root else []
        data = (rooms[root] if is_root and is_in_place(sendbuf) else Buffer(sendbuf).flat).copy()

        def use(got: Sequence[Flat]) -> None:
            if is_root:
                fill_all(rooms, got)

        parts = (data.nbytes,)
        return self._together(
            "gather", data, data.nbytes, lambda given: [given] * len(given), root, use=use, parts=parts
        )

    @mpi_call
    def Scatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> NoneOrRequest:
        """Give each rank its part of the root's buffer."""
        is_root = self.rank == root
        parts = [one.copy() for one in self._parts(sendbuf)] if is_root else []
        size = sum(one.nbytes for one in parts) / self.size
        room = None if is_root and is_in_place(recvbuf) else Buffer(recvbuf)

        def use(got: Flat) -> None:
            if room is not None:
                room.take(got)

        sizes = [one.nbytes for one in parts] if is_root else None
        return self._together("scatter", parts, size, lambda given: given[root], root, use=use, parts=sizes)

    @mpi_call
    def Allgather(self, sendbuf: Any, recvbuf: Any) -> NoneOrRequest:
        """Put the buffers of all ranks one after another into every one."""
        rooms = self._parts(recvbuf)
        data = (rooms[self.rank] if is_in_place(sendbuf) else Buffer(sendbuf).flat).copy()
        use = filling(rooms)
        parts = (data.nbytes,)
        return self._together("allgather", data, data.nbytes, lambda given: [given] * len(given), use=use, parts=parts)

    def _exchanged(self, sources: Sequence[Flat | Scattered], rooms: Sequence[Flat | Scattered]) -> Any:
        data = [one.copy() for one in sources]
        sizes, use = [one.nbytes for one in data], filling(rooms)
        mean = sum(sizes) / self.size
        return self._together("all_to_all", data, mean, lambda given: [*zip(*given, strict=True)], use=use, parts=sizes)

    @mpi_call
    def Alltoall(self, sendbuf: Any, recvbuf: Any) -> NoneOrRequest:
        """Give each rank its part of every buffer."""
        return self._exchanged(self._parts(recvbuf if is_in_place(sendbuf) else sendbuf), self._parts(recvbuf))

    @mpi_call
    def Alltoallw(self, sendbuf: Any, recvbuf: Any) -> NoneOrRequest:
        """Give each rank its part of every buffer; each part has its own type, and its place in bytes."""
        rooms = typed_parts(recvbuf)
        return self._exchanged(rooms if is_in_place(sendbuf) else typed_parts(sendbuf), rooms)

    def Gatherv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> NoneOrRequest:
        """Gather parts of any length."""
        return self.Gather(sendbuf, by_stride(recvbuf, self.size), root)

    def Scatterv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> NoneOrRequest:
        """Scatter parts of any length."""
        return self.Scatter(by_stride(sendbuf, self.size), recvbuf, root)

    def Allgatherv(self, sendbuf: Any, recvbuf: Any) -> NoneOrRequest:
        """Gather parts of any length into every buffer."""
        return self.Allgather(sendbuf, by_stride(recvbuf, self.size))

    def Alltoallv(self, sendbuf: Any, recvbuf: Any) -> NoneOrRequest:
        """Give each rank its part, of any length, of every buffer."""
        return self.Alltoall(by_stride(sendbuf, self.size), by_stride(recvbuf, self.size))

    # --- Begun, and waited for later -------------------------------------------------------------------------

    Ibarrier, Ibcast = nonblocking(Meetings.Barrier), nonblocking(Bcast)
    Ireduce, Iallreduce = nonblocking(Reduce), nonblocking(Allreduce)
    Iscan, Iexscan = nonblocking(Scan), nonblocking(Exscan)
    Ireduce_scatter, Ireduce_scatter_block = nonblocking(Reduce_scatter), nonblocking(Reduce_scatter_block)
    Igather, Iscatter, Iallgather = nonblocking(Gather), nonblocking(Scatter), nonblocking(Allgather)
    Ialltoall, Ialltoallw = nonblocking(Alltoall), nonblocking(Alltoallw)
    Igatherv, Iscatterv = nonblocking(Gatherv), nonblocking(Scatterv)
    Iallgatherv, Ialltoallv = nonblocking(Allgatherv), nonblocking(Alltoallv)

    Barrier_init, Bcast_init = persistent(Meetings.Barrier), persistent(Bcast)
    Reduce_init, Allreduce_init, Scan_init, Exscan_init = map(persistent, (Reduce, Allreduce, Scan, Exscan))
    Reduce_scatter_init, Reduce_scatter_block_init = persistent(Reduce_scatter), persistent(Reduce_scatter_block)
    Gather_init, Scatter_init, Allgather_init = map(persistent, (Gather, Scatter, Allgather))
    Alltoall_init, Alltoallw_init = persistent(Alltoall), persistent(Alltoallw)
    Gatherv_init, Scatterv_init, Allgatherv_init, Alltoallv_init = map(
        persistent, (Gatherv, Scatterv, Allgatherv, Alltoallv)
    )


def filling(rooms: Sequence[Flat | Scattered]) -> Callable[[Sequence[Flat]], None]:
    """Return a function that fills rooms with what the ranks give."""
    return lambda got: fill_all(rooms, got)


def fill_all(rooms: Sequence[Flat | Scattered], got: Sequence[Flat]) -> None:
    """Copy to the beginning of each room what one rank gives."""
    for room, data in zip(rooms, got, strict=True):
        fill(room, data)


def typed_parts(buf: Any) -> list[Flat | Scattered]:
    """Return the parts of ``[buffer, counts, places in bytes, types]`` or ``[buffer, types]``, as of Alltoallw."""
    array, *places, types = list(buf)
    if len(places) == 1:
        places = list(places[0])
    counts, displs = places if places else ([1] * len(types), [0] * len(types))
    is_absolute = isinstance(array, BottomType)
    memory = array if is_absolute else Buffer(array).flat.view(np.uint8)
    if not len(counts) == len(displs) == len(types):
        value = f"{len(counts)} counts, {len(displs)} places, {len(types)} types"
        what = "the description of a buffer has lists of different lengths"
        raise MpiError(what, place_of_call(), value=value, allowed="equal lengths")
    each = zip(counts, displs, types, strict=True)
    if is_absolute:
        return [items_at_address(int(at), datatype, int(count)) for count, at, datatype in each]
    return [Buffer([memory[int(at) :], int(count), datatype]).items for count, at, datatype in each]
