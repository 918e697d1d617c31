"""Operations of all ranks of a communicator. The last rank to come computes the results of all."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.mpi.buffers import Buffer, Flat, fill
from simcodesign.mpi.log import COLLECTIVE
from simcodesign.mpi.operators import OPERATORS, Op
from simcodesign.mpi.point_to_point import PointToPoint
from simcodesign.mpi.scheduler import place_of_call
from simcodesign.mpi.world import mpi_call

Combine = Callable[[list[Any]], Sequence[Any]]
SUM = OPERATORS["SUM"]


class _InPlace:
    """``MPI.IN_PLACE``: the buffer that receives has the data to be sent."""

    def __repr__(self) -> str:
        return "MPI.IN_PLACE"


IN_PLACE = _InPlace()


class _Meeting:
    """One operation of all ranks: ``given`` by each, and ``got`` by each."""

    def __init__(self, name: str, root: int | None) -> None:
        self.name, self.root = name, root
        self.given: dict[int, Any] = {}
        self.sizes: list[float] = []
        self.got: Sequence[Any] | None = None
        self.recorded: list[float] = [0.0]  # the bytes, known when all have come
        self.fetched = 0


class Collectives(PointToPoint):
    """The part of communicators for operations of all ranks."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._meetings: dict[int, _Meeting] = {}
        self._count = dict.fromkeys(self.members, 0)

    def _together(
        self, name: str, given: Any, size_bytes: float, combine: Combine, root: int | None = None, record: bool = True
    ) -> Any:
        """Meet the other ranks in the operation ``name``; return what this rank gets of ``combine``.

        ``size_bytes``: what this rank gives; the mean of all is recorded, or, of a broadcast and a scatter, the root's.
        """
        world, me = self.world, self.rank
        number = self._count[world.current]
        self._count[world.current] += 1
        meeting = self._meetings.setdefault(number, _Meeting(name, root))
        if (meeting.name, meeting.root) != (name, root):
            other = meeting.name if meeting.root is None else f"{meeting.name} with root {meeting.root}"
            mine = name if root is None else f"{name} with root {root}"
            raise InputError(f"rank {world.current} calls {mine}, another calls {other}", place_of_call())
        if root is not None and not 0 <= root < self.size:
            raise InputError(f"root of {name}", place_of_call(), value=root, allowed=f"0 to {self.size - 1}")
        meeting.given[me] = given
        meeting.sizes.append(size_bytes)
        if record:
            world.add(COLLECTIVE, name, self.number, meeting.recorded, root)
        if len(meeting.given) == self.size:
            at_root = name in ("broadcast", "scatter")
            meeting.recorded[0] = max(meeting.sizes) if at_root else sum(meeting.sizes) / self.size
            meeting.got = combine([meeting.given[place] for place in range(self.size)])
            for member in self.members:
                world.scheduler.wake(member)
        world.scheduler.wait(lambda: name, lambda: meeting.got is not None)
        meeting.fetched += 1
        if meeting.fetched == self.size:
            del self._meetings[number]
        assert meeting.got is not None
        return meeting.got[me]

    @mpi_call
    def Barrier(self) -> None:
        """Wait for all ranks."""
        self._together("barrier", None, 0.0, lambda given: given)

    barrier = Barrier

    # --- Objects ---------------------------------------------------------------------------------------------

    @mpi_call
    def bcast(self, obj: Any, root: int = 0) -> Any:
        """Send the root's object to all ranks."""
        data = pickle.dumps(obj) if self.rank == root else b""
        got = self._together("broadcast", data, len(data), lambda given: [given[root]] * len(given), root)
        return obj if self.rank == root else pickle.loads(got)

    @mpi_call
    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None:
        """Return the objects of all ranks at the root, None elsewhere."""
        data = pickle.dumps(sendobj)
        got = self._together("gather", data, len(data), lambda given: [given] * len(given), root)
        return [pickle.loads(one) for one in got] if self.rank == root else None

    @mpi_call
    def scatter(self, sendobj: Sequence[Any] | None, root: int = 0) -> Any:
        """Return this rank's object of the root's list."""
        data = self._pickled(sendobj) if self.rank == root else []
        size_bytes = sum(map(len, data)) / self.size
        return pickle.loads(self._together("scatter", data, size_bytes, lambda given: given[root], root))

    @mpi_call
    def allgather(self, sendobj: Any) -> list[Any]:
        """Return the objects of all ranks."""
        data = pickle.dumps(sendobj)
        got = self._together("allgather", data, len(data), lambda given: [given] * len(given))
        return [pickle.loads(one) for one in got]

    @mpi_call
    def alltoall(self, sendobj: Sequence[Any]) -> list[Any]:
        """Return the object that each rank has for this one."""
        data = [pickle.dumps(one) for one in sendobj]
        got = self._together(
            "all_to_all", data, sum(map(len, data)) / self.size, lambda given: [*zip(*given, strict=True)]
        )
        return [pickle.loads(one) for one in got]

    def _pickled(self, objects: Iterable[Any] | None) -> list[bytes]:
        """Return one object for each rank. Raises InputError for fewer or more."""
        data = [pickle.dumps(one) for one in objects or ()]
        if len(data) != self.size:
            raise InputError("objects for the ranks", place_of_call(), value=len(data), allowed=f"{self.size}")
        return data

    def _reduced(self, name: str, obj: Any, combine: Callable[[list[Any]], list[Any]], root: int | None = None) -> Any:
        data = pickle.dumps(obj)

        def together(given: list[bytes]) -> list[bytes]:
            return [pickle.dumps(one) for one in combine([pickle.loads(one) for one in given])]

        return pickle.loads(self._together(name, data, len(data), together, root))

    @mpi_call
    def reduce(self, sendobj: Any, op: Op = SUM, root: int = 0) -> Any:
        """Return the objects of all ranks combined at the root, None elsewhere."""
        got = self._reduced("reduce", sendobj, lambda all_: [op.fold(all_, arrays=False)] * len(all_), root)
        return got if self.rank == root else None

    @mpi_call
    def allreduce(self, sendobj: Any, op: Op = SUM) -> Any:
        """Return the objects of all ranks combined."""
        return self._reduced("allreduce", sendobj, lambda all_: [op.fold(all_, arrays=False)] * len(all_))

    @mpi_call
    def scan(self, sendobj: Any, op: Op = SUM) -> Any:
        """Return the objects of the ranks up to this one combined."""
        return self._reduced(
            "scan", sendobj, lambda all_: [op.fold(all_[: n + 1], arrays=False) for n in range(len(all_))]
        )

    # --- Buffers ---------------------------------------------------------------------------------------------

    @mpi_call
    def Bcast(self, buf: Any, root: int = 0) -> None:
        """Send the root's buffer to all ranks."""
        buffer, is_root = Buffer(buf), self.rank == root
        data = buffer.flat.copy() if is_root else None
        size = buffer.size_bytes if is_root else 0
        got = self._together("broadcast", data, size, lambda given: [given[root]] * len(given), root)
        if not is_root:
            buffer.take(got)

    def _folded(self, name: str, sendbuf: Any, recvbuf: Any, combine: Combine, root: int | None = None) -> None:
        source = Buffer(recvbuf if sendbuf is IN_PLACE else sendbuf)
        got = self._together(name, source.flat.copy(), source.size_bytes, combine, root)
        if root is None or self.rank == root:
            Buffer(recvbuf).take(got)

    @mpi_call
    def Reduce(self, sendbuf: Any, recvbuf: Any, op: Op = SUM, root: int = 0) -> None:
        """Combine the buffers of all ranks in the root's."""
        self._folded("reduce", sendbuf, recvbuf, lambda all_: [op.fold(all_, arrays=True)] * len(all_), root)

    @mpi_call
    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> None:
        """Combine the buffers of all ranks in every one."""
        self._folded("allreduce", sendbuf, recvbuf, lambda all_: [op.fold(all_, arrays=True)] * len(all_))

    @mpi_call
    def Scan(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> None:
        """Combine the buffers of the ranks up to this one."""
        self._folded(
            "scan", sendbuf, recvbuf, lambda all_: [op.fold(all_[: n + 1], arrays=True) for n in range(len(all_))]
        )

    @mpi_call
    def Reduce_scatter_block(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> None:
        """Combine the buffers of all ranks, and give each rank one of the equal parts."""
        source = Buffer(recvbuf if sendbuf is IN_PLACE else sendbuf)

        def combine(given: list[Flat]) -> list[Flat]:
            return np.split(op.fold(given, arrays=True), len(given))

        got = self._together("reduce_scatter", source.flat.copy(), source.size_bytes, combine)
        Buffer(recvbuf).take(got)

    @mpi_call
    def Gather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Put the buffers of all ranks one after another into the root's."""
        is_root = self.rank == root
        parts = Buffer(recvbuf).parts(self.size) if is_root else []
        data = parts[root].copy() if sendbuf is IN_PLACE else Buffer(sendbuf).flat.copy()
        got = self._together("gather", data, data.nbytes, lambda given: [given] * len(given), root)
        for room, one in zip(parts, got if is_root else (), strict=True):
            fill(room, one)

    @mpi_call
    def Scatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Give each rank its part of the root's buffer."""
        is_root = self.rank == root
        parts = [one.copy() for one in Buffer(sendbuf).parts(self.size)] if is_root else []
        size = sum(one.nbytes for one in parts) / self.size
        got = self._together("scatter", parts, size, lambda given: given[root], root)
        if recvbuf is not IN_PLACE:
            Buffer(recvbuf).take(got)

    @mpi_call
    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """Put the buffers of all ranks one after another into every one."""
        parts = Buffer(recvbuf).parts(self.size)
        data = parts[self.rank].copy() if sendbuf is IN_PLACE else Buffer(sendbuf).flat.copy()
        got = self._together("allgather", data, data.nbytes, lambda given: [given] * len(given))
        for room, one in zip(parts, got, strict=True):
            fill(room, one)

    @mpi_call
    def Alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        """Give each rank its part of every buffer."""
        source = Buffer(recvbuf if sendbuf is IN_PLACE else sendbuf).parts(self.size)
        data = [one.copy() for one in source]
        size = sum(one.nbytes for one in data) / self.size
        got = self._together("all_to_all", data, size, lambda given: [*zip(*given, strict=True)])
        for room, one in zip(Buffer(recvbuf).parts(self.size), got, strict=True):
            fill(room, one)

    Gatherv, Scatterv, Allgatherv, Alltoallv = Gather, Scatter, Allgather, Alltoall
