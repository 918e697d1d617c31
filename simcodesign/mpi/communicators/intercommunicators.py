"""Intercommunicators: two groups whose ranks send to and receive from the other group.

Collective operations of two groups go, as in MPICH, through rank 0 of each group: operations within a group, and
messages between the two ranks 0, or of one with the root.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simcodesign.mpi.buffers import Buffer
from simcodesign.mpi.collectives.of_buffers import Collectives
from simcodesign.mpi.communicators.agreements import agree
from simcodesign.mpi.communicators.communicators import Comm, Intracomm
from simcodesign.mpi.communicators.splitting import COMM_NULL, Splitting, between_groups
from simcodesign.mpi.names import NotSimulated
from simcodesign.mpi.objects.groups import Group
from simcodesign.mpi.objects.info import Info
from simcodesign.mpi.operators import OPERATORS, Op
from simcodesign.mpi.point_to_point import PointToPoint
from simcodesign.mpi.ranks.world import World, mpi_call
from simcodesign.mpi.values.constants import CONGRUENT, IDENT, PROC_NULL, ROOT, UNDEFINED, UNEQUAL

Members = tuple[int, ...]
AnyOp = Op | Callable[[Any, Any], Any]
SUM = OPERATORS["SUM"]


class Intercomm(Comm):
    """Two groups. ``both``: all their ranks, the first group first; ``own``: a communicator of each group."""

    def __init__(self, world: World, number: int, groups: tuple[Members, Members], more: tuple[int, int, int]) -> None:
        super().__init__(world, number, groups[0] + groups[1])
        self._place = {member: place for group in groups for place, member in enumerate(group)}
        self.groups = groups
        self.both = Intracomm(world, more[0], groups[0] + groups[1])
        self._of_groups = [Intracomm(world, number, members) for number, members in zip(more[1:], groups, strict=True)]

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
        """Return the communicator of both groups, first the one that gives False for ``high``."""
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
        return COMM_NULL if color == UNDEFINED or not all(chosen) else between_groups(self.world, *chosen)

    @mpi_call
    def Create(self, group: Group) -> Any:
        """Return the intercommunicator of a part of each group; COMM_NULL for ranks outside."""
        given = self._agreed("create", group.members)
        chosen = [next((given[member] for member in own if member in given[member]), ()) for own in self.groups]
        is_in = self.world.current in group.members
        return between_groups(self.world, *chosen) if is_in and all(chosen) else COMM_NULL

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
        """Combine the buffers of the other group in the one of the rank that gives ROOT."""
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
        """Put the buffers of the other group one after another into the one of the rank that gives ROOT."""
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
