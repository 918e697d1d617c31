"""Intercommunicators: two groups whose ranks send to and receive from the other group.

Collective operations of two groups go, as in MPICH, through rank 0 of each group: operations within a group, and
messages between the two ranks 0, or of one with the root.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simcodesign.mpi.buffers import Buffer, Flat, Scattered, by_stride, fill
from simcodesign.mpi.collectives.of_buffers import Collectives, typed_parts
from simcodesign.mpi.communicators.agreements import agree
from simcodesign.mpi.communicators.communicators import Comm, Intracomm
from simcodesign.mpi.communicators.splitting import Splitting, between_groups
from simcodesign.mpi.names import NotSimulated
from simcodesign.mpi.objects.groups import Group
from simcodesign.mpi.objects.info import INFO_NULL, Errhandler, Info
from simcodesign.mpi.operators import OPERATORS, Op
from simcodesign.mpi.point_to_point import PointToPoint
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.ranks.world import World, mpi_call
from simcodesign.mpi.values.constants import CONGRUENT, IDENT, PROC_NULL, ROOT, UNDEFINED, UNEQUAL
from simcodesign.mpi.values.errors import MpiError

Members = tuple[int, ...]
AnyOp = Op | Callable[[Any, Any], Any]
SUM = OPERATORS["SUM"]
Parts = Flat | Scattered


class Intercomm(Comm):
    """Two groups. ``both``: all their ranks, the first group first; ``own``: a communicator of each group."""

    copied_with = "groups"

    def __init__(self, world: World, number: int, groups: tuple[Members, Members], more: tuple[int, int, int]) -> None:
        super().__init__(world, number, groups[0] + groups[1])
        self._place = {member: place for group in groups for place, member in enumerate(group)}
        self.groups = groups
        self.both = Intracomm(world, more[0], groups[0] + groups[1])
        self._of_groups = [Intracomm(world, number, members) for number, members in zip(more[1:], groups, strict=True)]

    @classmethod
    def Create_from_groups(
        cls,
        local_group: Group,
        local_leader: int,
        remote_group: Group,
        remote_leader: int,
        stringtag: str = "org.mpi4py",
        info: Info = INFO_NULL,
        errhandler: Errhandler | None = None,
    ) -> Any:
        """Return the communicator of two groups. Only their ranks call this."""
        return between_groups(local_group.world, local_group.members, remote_group.members)

    @property
    def side(self) -> int:
        """Whether the rank whose turn it is is in group 0 or 1."""
        return 0 if self.world.current in self.groups[0] else 1

    @property
    def size(self) -> int:
        """How many ranks the own group has."""
        return len(self.groups[self.side])

    @property
    def peers(self) -> Members:
        """The ranks of the other group."""
        return self.groups[1 - self.side]

    @property
    def group(self) -> Group:
        """The own group."""
        return Group(self.world, self.groups[self.side])

    def Get_remote_size(self) -> int:
        """Return how many ranks the other group has."""
        return len(self.peers)

    def Get_remote_group(self) -> Group:
        """Return the other group."""
        return Group(self.world, self.peers)

    remote_size, remote_group = property(Get_remote_size), property(Get_remote_group)

    def Is_inter(self) -> bool:
        """Return True: the ranks are of two groups."""
        return True

    def Compare(self, comm: Any) -> int:
        """Return IDENT, CONGRUENT (the same groups) or UNEQUAL."""
        if comm.number == self.number:
            return IDENT
        return CONGRUENT if isinstance(comm, Intercomm) and self.groups == comm.groups else UNEQUAL

    # --- Communicators of this one ---------------------------------------------------------------------------

    @mpi_call
    def Merge(self, high: bool = False) -> Any:
        """Return the communicator of both groups, first the group that gives False for ``high``."""
        highs = self._agreed("merge", bool(high))
        is_second = bool(high) if len(set(highs.values())) > 1 else self.side == 1
        return self.both.Split(0, is_second * self.world.size + self.rank)

    @mpi_call
    def Dup(self, info: Info | None = None) -> Any:
        """Return an intercommunicator of the same groups, whose messages are apart."""
        made = between_groups(self.world, *self.groups)
        self.copy_kept(made)
        if info is not None:
            made.Set_info(info)
        return made

    @mpi_call
    def Split(self, color: int = 0, key: int = 0) -> Any:
        """Return the intercommunicator of the ranks of both groups with this colour; COMM_NULL if a group has none."""
        given = self._agreed("split", (color, key))
        chosen = [
            tuple(sorted((member for member in group if given[member][0] == color), key=lambda one: given[one][1]))
            for group in self.groups
        ]
        return (
            Intercomm.__new__(Intercomm)
            if color == UNDEFINED or not all(chosen)
            else between_groups(self.world, *chosen)
        )

    @mpi_call
    def Create(self, group: Group) -> Any:
        """Return the intercommunicator of a part of each group; COMM_NULL for ranks outside."""
        given = self._agreed("create", group.members)
        chosen = [next((given[member] for member in own if member in given[member]), ()) for own in self.groups]
        is_in = self.world.current in group.members
        return between_groups(self.world, *chosen) if is_in and all(chosen) else Intercomm.__new__(Intercomm)

    def _agreed(self, what: str, value: Any) -> dict[int, Any]:
        """Return what each of all ranks gives."""
        found: dict[int, Any] = agree(self.world, what, self.number, self.both.members, value, dict)
        return found

    # --- Collective operations -------------------------------------------------------------------------------

    @property
    def own(self) -> Intracomm:
        """The communicator of the own group."""
        return self._of_groups[self.side]

    def _other(self, rank: int = 0) -> int:
        """Return the rank in ``both`` of a rank of the other group."""
        return rank + (0 if self.side else len(self.groups[0]))

    def _crossed(self, value: Any) -> Any:
        """Give a value of rank 0 to the other group; return the other's."""
        got = self.both.sendrecv(value, self._other(), source=self._other()) if self.rank == 0 else None
        return self.own.bcast(got)

    def _swapped(self, data: Any, recvbuf: Any) -> None:
        """Give a buffer of rank 0 to the other group; receive the other's."""
        room = Buffer(recvbuf)
        got = room.flat.copy()
        if self.rank == 0:
            self.both.Sendrecv(data, self._other(), 0, got, self._other())
        self.own.Bcast(got)
        room.take(got)

    @mpi_call
    def Barrier(self) -> None:
        """Wait for all ranks of both groups."""
        self.both.Barrier()

    barrier = Barrier

    @mpi_call
    def bcast(self, obj: Any, root: int = 0) -> Any:
        """Send the object of the rank that gives ROOT to all of the other group."""
        if root == ROOT:
            self.both.send(obj, self._other())
        if root in (ROOT, PROC_NULL):
            return None
        return self.own.bcast(self.both.recv(source=self._other(root)) if self.rank == 0 else None)

    @mpi_call
    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None:
        """Return the objects of the other group at the rank that gives ROOT."""
        found: list[Any] | None = self._at_root(lambda: self.own.gather(sendobj), root)
        return found

    @mpi_call
    def reduce(self, sendobj: Any, op: AnyOp = SUM, root: int = 0) -> Any:
        """Return the objects of the other group combined at the rank that gives ROOT."""
        return self._at_root(lambda: self.own.reduce(sendobj, op), root)

    def _at_root(self, found: Any, root: int) -> Any:
        if root == ROOT:
            return self.both.recv(source=self._other())
        if root != PROC_NULL and not 0 <= root < len(self.peers):
            allowed = f"0 to {len(self.peers) - 1}, ROOT, PROC_NULL"
            raise MpiError(
                "the root is not a rank of the other group", place_of_call(), value=root, allowed=allowed, name="ROOT"
            )
        if root != PROC_NULL:
            value = found()
            if self.rank == 0:
                self.both.send(value, self._other(root))
        return None

    @mpi_call
    def scatter(self, sendobj: Sequence[Any] | None, root: int = 0) -> Any:
        """Return this rank's object of the list of the rank of the other group that gives ROOT."""
        if root == ROOT:
            self.both.send(sendobj, self._other())
        if root in (ROOT, PROC_NULL):
            return None
        return self.own.scatter(self.both.recv(source=self._other(root)) if self.rank == 0 else None)

    @mpi_call
    def allgather(self, sendobj: Any) -> list[Any]:
        """Return the objects of the other group."""
        found: list[Any] = self._crossed(self.own.gather(sendobj))
        return found

    @mpi_call
    def allreduce(self, sendobj: Any, op: AnyOp = SUM) -> Any:
        """Return the objects of the other group combined."""
        return self._crossed(self.own.reduce(sendobj, op))

    @mpi_call
    def alltoall(self, sendobj: Sequence[Any]) -> list[Any]:
        """Return the object that each rank of the other group has for this one."""
        return [row[self.rank] for row in self._crossed(self.own.gather(sendobj))]

    @mpi_call
    def Bcast(self, buf: Any, root: int = 0) -> None:
        """Send the buffer of the rank that gives ROOT to all of the other group."""
        if root == ROOT:
            self.both.Send(buf, self._other())
        elif root != PROC_NULL:
            if self.rank == 0:
                self.both.Recv(buf, self._other(root))
            self.own.Bcast(buf)

    @mpi_call
    def Reduce(self, sendbuf: Any, recvbuf: Any, op: Op = SUM, root: int = 0) -> None:
        """Combine the buffers of the other group in the buffer of the rank that gives ROOT."""
        if root == ROOT:
            self.both.Recv(recvbuf, self._other())
        elif root != PROC_NULL:
            data = Buffer(sendbuf).flat.copy()
            self.own.Reduce(sendbuf, data, op)
            if self.rank == 0:
                self.both.Send(data, self._other(root))

    @mpi_call
    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> None:
        """Combine the buffers of the other group in every one."""
        data = Buffer(sendbuf).flat.copy()
        self.own.Reduce(sendbuf, data, op)
        self._swapped(data, recvbuf)

    @mpi_call
    def Gather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Put the buffers of the other group one after another into the buffer of the rank that gives ROOT."""
        if root == ROOT:
            self.both.Recv(recvbuf, self._other())
        elif root != PROC_NULL:
            data = self._gathered(sendbuf)
            if self.rank == 0:
                self.both.Send(data, self._other(root))

    @mpi_call
    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """Put the buffers of the other group one after another into every one."""
        self._swapped(self._gathered(sendbuf), recvbuf)

    @mpi_call
    def Scatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Give each rank its part of the buffer of the rank of the other group that gives ROOT."""
        if root == ROOT:
            self.both.Send(sendbuf, self._other())
        elif root != PROC_NULL:
            data = np.tile(Buffer(recvbuf).flat, self.size)
            if self.rank == 0:
                self.both.Recv(data, self._other(root))
            self.own.Scatter(data, recvbuf)

    # --- Parts that differ: pairs of messages, without rank 0 between them -----------------------------------

    def _received(self, room: Parts, rank: int) -> None:
        """Receive what a rank of the other group sends."""
        got = np.empty(room.nbytes, np.uint8)
        self.both.Recv(got, self._other(rank))
        fill(room, got)

    def _in_pairs(self, given: Sequence[Parts], rooms: Sequence[Parts]) -> None:
        """Exchange parts with each rank of the other group, each rank with another one in each step."""
        others = len(self.peers)
        steps = max(self.size, others)
        for step in range(steps):
            to, source = (self.rank + step) % steps, (self.rank - step) % steps
            sent = self.both.Isend(given[to].copy(), self._other(to)) if to < others else None
            if source < others:
                self._received(rooms[source], source)
            if sent is not None:
                sent.Wait()

    @mpi_call
    def Alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        """Exchange parts with each rank of the other group."""
        others = len(self.peers)
        self._in_pairs(Buffer(sendbuf).parts(others), Buffer(recvbuf).parts(others))

    def Alltoallv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Exchange parts of any length with each rank of the other group."""
        others = len(self.peers)
        self.Alltoall(by_stride(sendbuf, others), by_stride(recvbuf, others))

    @mpi_call
    def Alltoallw(self, sendbuf: Any, recvbuf: Any) -> None:
        """Exchange parts of any length and type with each rank of the other group."""
        self._in_pairs(typed_parts(sendbuf), typed_parts(recvbuf))

    @mpi_call
    def Gatherv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Put parts of any length of the other group into the buffer of the rank that gives ROOT."""
        if root == ROOT:
            others = len(self.peers)
            for rank, room in enumerate(Buffer(by_stride(recvbuf, others)).parts(others)):
                self._received(room, rank)
        elif root != PROC_NULL:
            self.both.Send(sendbuf, self._other(root))

    @mpi_call
    def Scatterv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Give each rank its part, of any length, of the buffer of the rank of the other group that gives ROOT."""
        if root == ROOT:
            others = len(self.peers)
            for rank, part in enumerate(Buffer(by_stride(sendbuf, others)).parts(others)):
                self.both.Send(part.copy(), self._other(rank))
        elif root != PROC_NULL:
            self.both.Recv(recvbuf, self._other(root))

    @mpi_call
    def Allgatherv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Put parts of any length of the other group into every buffer."""
        others = len(self.peers)
        rooms = Buffer(by_stride(recvbuf, others)).parts(others)
        sent = self.both.Isend(sendbuf, self._other())
        if self.rank == 0:
            for rank, room in enumerate(rooms):
                self._received(room, rank)
        whole = np.concatenate([room.copy().view(np.uint8) for room in rooms])
        self.own.Bcast(whole)
        for room, data in zip(rooms, np.split(whole, np.cumsum([one.nbytes for one in rooms])[:-1]), strict=True):
            fill(room, data)
        sent.Wait()

    def _gathered(self, sendbuf: Any) -> Any:
        data = np.tile(Buffer(sendbuf).flat, self.size)
        self.own.Gather(sendbuf, data)
        return data


def _refuse_others() -> None:
    """Let operations of one group that are not written for two be refused."""
    of_one = {name for kind in Collectives.__mro__ if not issubclass(PointToPoint, kind) for name in vars(kind)}
    others = {name for name in of_one if not name.startswith("_")} - set(vars(Intercomm))
    for name in others | {"Create_cart", "Create_group", "Create_intercomm", "Split_type"}:
        setattr(Intercomm, name, NotSimulated(name))


_refuse_others()
Splitting.of_two_groups = Intercomm
