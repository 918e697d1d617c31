"""Communicators of a trace.

Their members, which are determined when all ranks have been read, and the groups of a Recording that they become.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.yaml.demands.messages import MOST_TAG

Int64s = NDArray[np.int64]
#: A number, or another value that distinguishes messages.
Tag = int | tuple[int, ...]
#: The communicator of all ranks.
WORLD = 0
#: Tags of MPI_COMM_WORLD up to this one stay as they are; others are numbered from the other end.
_KEPT_TAGS = MOST_TAG // 2


@dataclass(frozen=True)
class Communicator:
    """``members``: its ranks among all ranks, in its own order."""

    number: int
    members: tuple[int, ...]

    def rank_of(self, member: int, place: Place, what: str) -> int:
        """Return the rank among all ranks of a member. Raises InputError if there is no such member."""
        if not 0 <= member < len(self.members):
            allowed = f"0 to {len(self.members) - 1}"
            what = f"{what}, a rank of a communicator of {len(self.members)}"
            raise InputError(what, place, value=member, allowed=allowed)
        return self.members[member]


@dataclass(frozen=True)
class _Split:
    """One rank's call that makes a communicator of another one. ``colour`` None: the rank is in none."""

    rank: int
    made: int
    colour: int | None
    key: int
    place: Place


class Communicators:
    """The communicators of P ranks, by the numbers that logs use for them.

    A communicator that ranks make by a split has another number in each of them until ``resolve``.
    """

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self._known: list[Communicator | None] = [Communicator(WORLD, tuple(range(ranks)))]
        self._splits: dict[tuple[int, int], list[_Split]] = defaultdict(list)  # by parent and rank
        self._listed: dict[tuple[Hashable, tuple[int, ...]], int] = {}
        self._own: dict[tuple[int, int], int] = {}  # a rank's number for a communicator, by the communicator's number
        self._tags: dict[tuple[int, object], int] = {}

    def listed(self, members: Sequence[int], place: Place, name: Hashable = None) -> int:
        """Return the number of the communicator of these ranks, in this order.

        Different names make different communicators.

        Raises InputError for no such ranks.
        """
        every = tuple(members)
        if (name, every) not in self._listed:
            if not every or len(set(every)) < len(every) or not all(0 <= one < self.ranks for one in every):
                allowed = f"different ranks from 0 to {self.ranks - 1}"
                raise InputError("the members of a communicator", place, value=list(every), allowed=allowed)
            self._listed[name, every] = len(self._known)
            self._known.append(Communicator(len(self._known), every))
        return self._listed[name, every]

    def split(self, parent: int, rank: int, colour: int | None, key: int, place: Place) -> int:
        """Return the number for ``rank`` of what all members of ``parent`` make together: MPI_Comm_split."""
        made = len(self._known)
        self._known.append(None)
        self._splits[parent, rank].append(_Split(rank, made, colour, key, place))
        return made

    def resolve(self) -> None:
        """Find the members of all communicators that were split. Raises InputError if not all members took part."""
        ready = [one for one in self._known if one is not None]
        while ready:
            parent = ready.pop()
            numbers = (self._own.get((parent.number, rank), parent.number) for rank in parent.members)
            calls = [self._splits.pop(key, []) for key in zip(numbers, parent.members, strict=True)]
            most = max(calls, key=len)
            least = min(calls, key=len)
            if len(most) > len(least):
                call, other = most[len(least)], parent.members[calls.index(least)]
                what = f"rank {call.rank} makes a communicator here, which rank {other} does not"
                raise InputError(what, call.place, allowed="all ranks of the parent communicator make it together")
            for several in zip(*calls, strict=True):
                ready.extend(self._made_by(several))

    def _made_by(self, calls: Sequence[_Split]) -> Iterator[Communicator]:
        by_colour: dict[int, list[_Split]] = defaultdict(list)
        for call in calls:  # in the order of the parent, which decides between equal keys
            if call.colour is not None:
                by_colour[call.colour].append(call)
        for several in by_colour.values():
            several.sort(key=lambda call: call.key)
            made = Communicator(several[0].made, tuple(call.rank for call in several))
            for call in several:
                self._known[call.made] = made
                self._own[made.number, call.rank] = call.made
            yield made

    def at(self, number: int, place: Place) -> Communicator:
        """Return the communicator of a number. Raises InputError for one whose members are not known."""
        known = self._known[number]
        if known is None:
            raise InputError("a communicator that this rank does not belong to", place)
        return known

    def tag(self, communicator: Communicator, tag: object) -> int:
        """Return the tag of messages within a communicator: none of two communicators are equal."""
        if communicator.number == WORLD and isinstance(tag, int) and 0 <= tag <= _KEPT_TAGS:
            return tag
        return self._tags.setdefault((communicator.number, tag), MOST_TAG - len(self._tags))


def groups_of(communicators: Sequence[Communicator], ranks: int) -> tuple[list[Int64s], dict[int, int]]:
    """Return the colours of the groups of a Recording, and the group of each communicator by its number.

    All ranks are group 0, and communicators without a common member share a group.
    """
    colours = [np.zeros(ranks, np.int64)]
    taken: list[int] = [1]
    group_of = {WORLD: 0}
    for one in communicators:
        if one.number in group_of:
            continue
        members = np.array(one.members, np.int64)
        group = next((g for g in range(1, len(colours)) if (colours[g][members] < 0).all()), len(colours))
        if group == len(colours):
            colours.append(np.full(ranks, -1, np.int64))
            taken.append(0)
        colours[group][members] = taken[group]
        taken[group] += 1
        group_of[one.number] = group
    return colours, group_of
