"""Groups: ordered sets of ranks, of which communicators are made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from simcodesign.mpi.names import Simulated
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.ranks.world import World
from simcodesign.mpi.values.constants import IDENT, PROC_NULL, SIMILAR, UNDEFINED, UNEQUAL
from simcodesign.mpi.values.errors import MpiError

Ranges = Sequence[tuple[int, int, int]]


class Group(Simulated):
    """A group. ``members``: its ranks, of all ranks of the program, in its order."""

    empty_is_null = True

    def __init__(self, world: World, members: Iterable[int] = ()) -> None:
        self.world, self.members = world, tuple(members)

    @property
    def size(self) -> int:
        """How many ranks the group has."""
        return len(self.members)

    @property
    def rank(self) -> int:
        """The rank in the group of the rank whose turn it is, UNDEFINED if it is not in it."""
        current = self.world.current
        return self.members.index(current) if current in self.members else UNDEFINED

    def Get_size(self) -> int:
        """Return how many ranks the group has."""
        return self.size

    def Get_rank(self) -> int:
        """Return the rank in the group of the rank whose turn it is, UNDEFINED if it is not in it."""
        return self.rank

    def Translate_ranks(self, ranks: Sequence[int] | None = None, group: Group | None = None) -> list[int]:
        """Return the ranks in another group (by default all ranks) of ranks of this one (by default all of it).

        UNDEFINED of ranks that are not in the other group.
        """
        others = range(self.world.size) if group is None else group.members
        place = {member: rank for rank, member in enumerate(others)} | {PROC_NULL: PROC_NULL}
        if ranks is None:
            return [place.get(member, UNDEFINED) for member in self.members]
        chosen = [PROC_NULL if rank == PROC_NULL else self._members([rank])[0] for rank in ranks]
        return [place.get(member, UNDEFINED) for member in chosen]

    def Compare(self, group: Group) -> int:
        """Return IDENT, SIMILAR (the same ranks in another order) or UNEQUAL."""
        if self.members == group.members:
            return IDENT
        return SIMILAR if sorted(self.members) == sorted(group.members) else UNEQUAL

    def Dup(self) -> Group:
        """Return the same group."""
        return Group(self.world, self.members)

    @classmethod
    def Union(cls, group1: Group, group2: Group) -> Group:
        """Return the ranks of the first group, then the ranks of the second that are not in it."""
        return cls(group1.world, dict.fromkeys(group1.members + group2.members))

    @classmethod
    def Intersection(cls, group1: Group, group2: Group) -> Group:
        """Return the ranks of the first group that are in the second."""
        return cls(group1.world, (member for member in group1.members if member in group2.members))

    @classmethod
    def Difference(cls, group1: Group, group2: Group) -> Group:
        """Return the ranks of the first group that are not in the second."""
        return cls(group1.world, (member for member in group1.members if member not in group2.members))

    Intersect = Intersection

    def Incl(self, ranks: Sequence[int]) -> Group:
        """Return the group of these ranks in their order."""
        return Group(self.world, self._members(ranks))

    def Excl(self, ranks: Sequence[int]) -> Group:
        """Return the group without these ranks."""
        left_out = self._members(ranks)
        return Group(self.world, (member for member in self.members if member not in left_out))

    def Range_incl(self, ranks: Ranges) -> Group:
        """Return the group of ranges ``(first, last, stride)``, in their order."""
        return self.Incl(_of_ranges(ranks))

    def Range_excl(self, ranks: Ranges) -> Group:
        """Return the group without ranges ``(first, last, stride)``."""
        return self.Excl(_of_ranges(ranks))

    @classmethod
    def Create_from_session_pset(cls, session: Any, pset_name: str) -> Group:
        """Return the group of a set of processes of a session."""
        made: Group = session.Create_group(pset_name)
        return made

    def Free(self) -> None:
        """Become GROUP_NULL."""
        self.check()
        self.__dict__.clear()

    def _members(self, ranks: Sequence[int]) -> list[int]:
        """Return ranks of the program. Raises MpiError for a rank that is not in the group, and for one twice."""
        if len(set(ranks)) < len(ranks) or not all(0 <= rank < self.size for rank in ranks):
            allowed = f"different ranks, 0 to {self.size - 1}"
            raise MpiError(
                "a rank is listed twice, or is not in the group", place_of_call(), value=list(ranks), allowed=allowed
            )
        return [self.members[rank] for rank in ranks]

    def __bool__(self) -> bool:
        return bool(self.__dict__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Group) and (self.members == other.members if self and other else not (self or other))

    __hash__ = None  # type: ignore[assignment]


def _of_ranges(ranks: Ranges) -> list[int]:
    found: list[int] = []
    for first, last, stride in ranks:
        if not stride:
            raise MpiError(
                "a range of ranks needs a stride that is not 0", place_of_call(), value=stride, allowed="not 0"
            )
        found += range(first, last + (1 if stride > 0 else -1), stride)
    return found
