"""Sessions: MPI that a part of a program begins and ends by itself, and communicators made of groups alone."""

from __future__ import annotations

from typing import Any

from simcodesign.mpi.communicators.agreements import agree, new_number
from simcodesign.mpi.communicators.kept import HandlesErrors
from simcodesign.mpi.objects.attached import attach, detach, flush
from simcodesign.mpi.objects.groups import Group
from simcodesign.mpi.objects.info import INFO_NULL, Errhandler, Info
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.ranks.world import World
from simcodesign.mpi.requests import Request
from simcodesign.mpi.values.errors import MpiError

#: The sets of processes that MPI has by itself.
_SETS = _WORLD, _SELF = "mpi://WORLD", "mpi://SELF"


class Session(HandlesErrors):
    """A session. All of them see the same ranks."""

    empty_is_null = True

    ended_by = "Finalize"

    def __init__(self, world: World, errhandler: Errhandler | None = None) -> None:
        self.world = world
        if errhandler:
            self.Set_errhandler(errhandler)

    @classmethod
    def Init(cls, info: Info = INFO_NULL, errhandler: Errhandler | None = None) -> Session:
        """Return a new session."""
        assert Request.under_way is not None
        made: Session = cls(Request.under_way, errhandler)
        return made

    def Finalize(self) -> None:
        """Become SESSION_NULL."""
        self.check()
        self.__dict__.clear()

    def Get_num_psets(self, info: Info = INFO_NULL) -> int:
        """Return how many sets of processes there are."""
        self.check()
        return len(_SETS)

    def Get_nth_pset(self, n: int, info: Info = INFO_NULL) -> str:
        """Return the name of a set of processes, from 0. Raises MpiError for another number."""
        self.check()
        if not 0 <= n < len(_SETS):
            what = "no set of processes has this number"
            raise MpiError(what, place_of_call(), value=n, allowed=f"0 to {len(_SETS) - 1}")
        return _SETS[n]

    def Get_info(self) -> Info:
        """Return hints: none."""
        self.check()
        return Info.Create()

    def Get_pset_info(self, pset_name: str) -> Info:
        """Return the size of a set of processes as a hint, ``mpi_size``."""
        return Info.Create({"mpi_size": str(self.Create_group(pset_name).size)})

    def Create_group(self, pset_name: str) -> Group:
        """Return the group of a set of processes. Raises MpiError for a set that there is not."""
        self.check()
        if pset_name not in _SETS:
            what = "no set of processes has this name"
            raise MpiError(what, place_of_call(), value=pset_name, allowed=f"{_WORLD}, {_SELF}")
        return Group(self.world, range(self.world.size) if pset_name == _WORLD else (self.world.current,))

    def Attach_buffer(self, buf: Any) -> None:
        """Attach the one buffer of this rank for buffered sends."""
        attach(self.world, buf)

    def Detach_buffer(self) -> Any:
        """Wait until the messages in the buffer are received, and return it."""
        return detach(self.world)

    def Flush_buffer(self) -> None:
        """Wait until the messages in the buffer are received."""
        flush(self.world)

    def Iflush_buffer(self) -> Request:
        """Flush the buffer; return a request that is done."""
        self.Flush_buffer()
        return Request.null(self.world)

    def __bool__(self) -> bool:
        return bool(self.__dict__)

    def __eq__(self, other: object) -> bool:
        return self.is_same(other)

    __hash__ = None  # type: ignore[assignment]


def communicator_of_group(kind: Any, group: Group, stringtag: str) -> Any:
    """Return the communicator of a group, which its members ask for with the same tag."""
    world, members = group.world, group.members
    key = (stringtag, members)
    number = agree(world, "create_from_group", key, members, None, lambda values: new_number(world, members))
    if number not in world.communicators:
        world.communicators[number] = kind(world, number, members)
    return world.communicators[number]
