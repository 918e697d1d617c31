"""Communicators made of others: by colours, by groups, by nodes, and duplicates."""

from __future__ import annotations

from typing import Any

from simcodesign.mpi.collectives.of_buffers import Collectives
from simcodesign.mpi.communicators.agreements import agree, new_number
from simcodesign.mpi.communicators.kept import Kept
from simcodesign.mpi.objects.groups import Group
from simcodesign.mpi.objects.info import INFO_NULL, Info
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.ranks.world import World, mpi_call
from simcodesign.mpi.requests import Request
from simcodesign.mpi.values.constants import (
    COMM_TYPE_HW_GUIDED,
    COMM_TYPE_HW_UNGUIDED,
    COMM_TYPE_SHARED,
    CONGRUENT,
    IDENT,
    UNDEFINED,
)
from simcodesign.mpi.values.errors import MpiError
from simcodesign.mpi.values.handles import equals_constant

Members = tuple[int, ...]
Found = tuple[int, Members]
#: The hint on what ranks share, and its value for the memory of a node (MPI 4.1, section 7.4.2).
_RESOURCE, _SHARED_MEMORY = "mpi_hw_resource_type", "mpi_shared_memory"
#: The attribute of an object that has the ranks for which it is null: these freed it.
_FREED = "_freed_by"


class Splitting(Kept, Collectives):
    """The part of communicators that makes others. Setting one up takes messages that are not counted."""

    #: The class of communicators of one group without a topology.
    plain: type[Splitting]
    #: The class of communicators of two groups.
    of_two_groups: type[Splitting]

    @property
    def group(self) -> Group:
        """The group of this rank."""
        return Group(self.world, self.members)

    def Get_group(self) -> Group:
        """Return the group of this rank."""
        return self.group

    def Compare(self, comm: Splitting) -> int:
        """Return IDENT, CONGRUENT (other messages), SIMILAR (another order, too) or UNEQUAL."""
        self.check()
        if comm.number == self.number:
            return IDENT
        return self.group.Compare(comm.group) or CONGRUENT

    @mpi_call
    def Split(self, color: int = 0, key: int = 0) -> Any:
        """Return the communicator of the ranks with this colour, in the order of their keys.

        COMM_NULL for UNDEFINED.
        """
        return self._made(self.plain, self._split(color, key))

    @mpi_call
    def Split_type(self, split_type: int, key: int = 0, info: Info = INFO_NULL) -> Any:
        """Return the communicator of the ranks on one node of the machine (``COMM_TYPE_SHARED``).

        ``COMM_TYPE_HW_UNGUIDED``: the same, but COMM_NULL if all ranks are on one node; the hint
        ``mpi_hw_resource_type`` is set. ``COMM_TYPE_HW_GUIDED``: the same if the hint is ``mpi_shared_memory``,
        otherwise COMM_NULL. COMM_NULL for UNDEFINED. Raises MpiError for other types.
        """
        nodes, known = self.world.nodes, (COMM_TYPE_SHARED, COMM_TYPE_HW_UNGUIDED, COMM_TYPE_HW_GUIDED, UNDEFINED)
        if split_type not in known:
            allowed = "COMM_TYPE_SHARED, COMM_TYPE_HW_UNGUIDED, COMM_TYPE_HW_GUIDED, UNDEFINED"
            raise MpiError(
                "Split_type does not support this split_type", place_of_call(), value=split_type, allowed=allowed
            )
        is_left_out = split_type == UNDEFINED
        if split_type == COMM_TYPE_HW_UNGUIDED:
            is_left_out = len({nodes[one] for one in self.members}) == 1
        elif split_type == COMM_TYPE_HW_GUIDED:
            is_left_out = info.get(_RESOURCE) != _SHARED_MEMORY
        made = self._made(self.plain, self._split(UNDEFINED if is_left_out else nodes[self.world.current], key))
        if split_type == COMM_TYPE_HW_UNGUIDED and made and info:
            info[_RESOURCE] = _SHARED_MEMORY
        return made

    @mpi_call
    def Create(self, group: Group) -> Any:
        """Return the communicator of a group, COMM_NULL for the ranks that are not in it. All ranks call this."""
        is_in = self.world.current in group.members
        return self._made(self.plain, self._split(group.members if is_in else UNDEFINED, group.rank))

    @mpi_call
    def Create_group(self, group: Group, tag: int = 0) -> Any:
        """Return the communicator of a group. Only the ranks of the group call this."""
        if self.world.current not in group.members:
            value = f"rank {self.world.current}"
            what = "Create_group is called by a rank outside the group"
            raise MpiError(what, place_of_call(), value=value, allowed="ranks of the group only")
        key, members = (self.number, tag, group.members), group.members
        number = agree(self.world, "create_group", key, members, None, lambda values: new_number(self.world, members))
        return self._made(self.plain, (number, members))

    @mpi_call
    def Create_intercomm(self, local_leader: int, peer_comm: Any, remote_leader: int, tag: int = 0) -> Any:
        """Return the communicator of this group and another, whose leaders know each other by ``peer_comm``."""
        world, leader, others = self.world, self.members[local_leader], None
        if world.current == leader:
            remote = peer_comm.peers[remote_leader]
            if remote in self.members:
                what = "the leader of the other group is in this group"
                raise MpiError(what, place_of_call(), value=remote_leader, allowed="a rank that is not in this group")
            ends = sorted((leader, remote))
            key = (peer_comm.number, tag, *ends)
            others = agree(world, "create_intercomm", key, ends, self.members, dict)[remote]
        known = agree(world, "create_intercomm", (self.number, local_leader), self.members, others, dict)
        return between_groups(world, self.members, known[leader])

    @mpi_call
    def Dup(self, info: Info | None = None) -> Any:
        """Return a communicator of the same ranks, with the same topology and attributes, whose messages are apart."""
        found = self._split(0, self.rank)
        assert found is not None
        number, members = found
        shared = self.world.communicators
        if number not in shared:
            shared[number] = object.__new__(_own_class(type(self)))
            shared[number].__dict__.update({name: own for name, own in self.state().items() if name != "_kept"})
            Collectives.__init__(shared[number], self.world, number, members)
        made: Splitting = shared[number]
        if type(made) is not type(self):  # a class of the program, which may be another one on each rank
            made = object.__new__(type(self))
            made.__dict__.update(shared[number].__dict__)
        self.copy_kept(made)
        if info is not None:
            made.Set_info(info)
        return made

    def Clone(self) -> Any:
        """Return a duplicate."""
        return self.Dup()

    def Dup_with_info(self, info: Info) -> Any:
        """Return a duplicate with hints."""
        return self.Dup(info)

    def Idup(self, info: Info | None = None) -> tuple[Any, Request]:
        """Return a duplicate, and a request that is done."""
        return self.Dup(info), Request.null(self.world)

    def Idup_with_info(self, info: Info) -> tuple[Any, Request]:
        """Return a duplicate with hints, and a request that is done."""
        return self.Idup(info)

    def Free(self) -> None:
        """Remove the attributes; the communicator equals COMM_NULL afterwards. Raises MpiError for one of MPI's own."""
        self.check()
        if equals_constant(self):
            raise MpiError(
                "a predefined communicator of MPI cannot be freed", place_of_call(), value=self.Get_name(), name="COMM"
            )
        self.delete_attributes()
        self._become_null()

    Disconnect = Free

    def _become_null(self) -> None:
        self.__dict__.setdefault(_FREED, set()).add(self.world.current)

    def state(self) -> dict[str, Any]:
        """Return the attributes that a copy has; empty of a null object."""
        return {name: value for name, value in self.__dict__.items() if name != _FREED} if self else {}

    def __bool__(self) -> bool:
        return bool(self.__dict__) and self.world.current not in self.__dict__.get(_FREED, ())

    def __eq__(self, other: object) -> bool:
        if self is other or not (self and other):
            return self is other or (isinstance(other, Splitting) and not (self or other))
        return isinstance(other, Splitting) and self.number == other.number

    __hash__ = None  # type: ignore[assignment]

    def _split(self, color: Any, key: int) -> Found | None:
        """Return number and members of the new communicator, None for UNDEFINED."""

        def combine(given: list[tuple[Any, int, int]]) -> list[Found | None]:
            found: list[Found | None] = [None] * len(given)
            for colour in sorted({one[0] for one in given if one[0] != UNDEFINED}):
                ordered = sorted((key, place) for place, (own, key, _) in enumerate(given) if own == colour)
                places = [place for _, place in ordered]
                members = tuple(given[place][2] for place in places)
                number = new_number(self.world, members)
                for place in places:
                    found[place] = number, members
            return found

        found: Found | None = self._together("split", (color, key, self.world.current), 0, combine, record=False)
        return found

    def _made(self, kind: type[Any], found: Found | None, *more: Any) -> Any:
        """Return the one object that all members share, made for the first of them; COMM_NULL for None."""
        if found is None:
            return kind()
        number, members = found
        shared = self.world.communicators
        if number not in shared:
            shared[number] = kind(self.world, number, members, *more)
        return shared[number]


def _own_class(kind: type[Any]) -> type[Any]:
    """Return the class itself, or, of a program's, the class of mpi4py from which it is made."""
    return next(one for one in kind.__mro__ if one.__module__.startswith(__name__.split(".")[0]))


def between_groups(world: World, one: Members, other: Members) -> Any:
    """Return the communicator of two groups of all ranks; the group with the smallest rank is the first."""
    groups, members = sorted((tuple(one), tuple(other)), key=min), (*one, *other)

    def numbered(_: dict[int, Any]) -> list[int]:
        return [new_number(world, some) for some in (members, members, *groups)]

    number, *more = agree(world, "intercommunicator", tuple(groups), members, None, numbered)
    if number not in world.communicators:
        kind: Any = Splitting.of_two_groups
        world.communicators[number] = kind(world, number, tuple(groups), tuple(more))
    return world.communicators[number]
