"""Groups of ranks, as communicators have them: ranks of the same colour, in the order of their numbers.

A workload gives every rank a colour in each of its groups (``groups: {row: rank // q}``), as MPI_Comm_split takes it;
a rank whose colour is negative is in none of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray

Ints = NDArray[np.int64]
#: Names that the amounts of a step in a group may use: number of the rank in its group, and ranks of that group.
GROUP_NAMES = ("group_rank", "group_size")


@dataclass(frozen=True)
class Membership:
    """Who is in which group: ``colour`` (..., P)."""

    colour: Ints

    @classmethod
    def by_colour(
        cls, group: str, colour: FloatOrArray, ranks: int, expression: Expression, indices: Collection[str] = ()
    ) -> Membership:
        """Return the groups of ``ranks`` ranks with these colours, (..., P) or what broadcasts to it.

        ``indices``: of all loops.

        InputError for a colour that is not whole, and if no rank is in any group, unless the colour depends on the
        index of a loop: then the groups of an iteration may be empty.
        """
        given = np.asarray(colour, dtype=np.float64)
        every = np.broadcast_to(given, np.broadcast_shapes(given.shape, (ranks,)))
        wrong = (every != np.floor(every)) | (np.abs(every) > 2.0**53)
        if wrong.any():
            where = np.argwhere(wrong)[0]
            what = f"rank {where[-1]}: its colour in group {group} = {expression.text} is no whole number"
            allowed = "whole numbers, negative for a rank that is in no group"
            raise InputError(what, expression.place, value=float(every[tuple(where)]), allowed=allowed)
        if not expression.names & frozenset(indices) and not (every >= 0).any(axis=-1).all():
            what = f"group {group} = {expression.text} is empty: every rank has a negative colour"
            raise InputError(what, expression.place, allowed="a colour of 0 or above for some rank")
        return cls(every.astype(np.int64))

    @cached_property
    def order(self) -> Ints:
        """(..., P) the ranks, grouped in their order, groups by their colours."""
        return np.argsort(self.colour, axis=-1, kind="stable")

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """(..., P) whether a rank is in a group."""
        return self.colour >= 0

    @cached_property
    def _first(self) -> Ints:
        """(..., P) of every rank, where its group begins in ``order``."""
        return self._by_rank(np.maximum.accumulate(np.where(self._begins, self._places, 0), axis=-1))

    @cached_property
    def group_rank(self) -> Ints:
        """(..., P) number of every rank in its group."""
        return self._by_rank(np.broadcast_to(self._places, self.colour.shape)) - self._first

    @cached_property
    def group_size(self) -> Ints:
        """(..., P) ranks in the group of every rank."""
        ends = np.roll(self._begins, -1, axis=-1)  # the first one begins a group: so does what comes after the last
        last = np.where(ends, self._places, self.colour.shape[-1])[..., ::-1]
        return self._by_rank(np.minimum.accumulate(last, axis=-1)[..., ::-1]) - self._first + 1

    def rank_of(self, number: Ints) -> Ints:
        """(..., P) the rank that has this number, (..., P), in the group of every rank; the number must exist."""
        return np.take_along_axis(self.order, self._first + number, axis=-1)

    def checked_peers(self, number: FloatOrArray, what: str, expression: Expression, here: Ints) -> Ints:
        """Return the peer of each rank in ``here``, which all are in a group, by its ``number`` (P,) there.

        InputError for one that is not another rank of its group.
        """
        given = np.broadcast_to(np.asarray(number, dtype=np.float64), self.colour.shape)[here]
        own, size = self.group_rank[here], self.group_size[here]
        bad = np.flatnonzero((given != np.floor(given)) | (given < 0) | (given >= size) | (given == own))
        if len(bad):
            raise InputError(
                f"rank {here[bad[0]]}: {what} = {expression.text} is not another rank of its group",
                expression.place,
                value=float(given[bad[0]]),
                allowed=f"0 to {size[bad[0]] - 1}, not {own[bad[0]]} itself",
            )
        numbers = np.zeros(self.colour.shape, np.int64)
        numbers[here] = given
        return self.rank_of(numbers)[here]

    def members(self) -> list[Ints]:
        """Return the ranks of the groups of each size that there is, (groups, members), the smallest first.

        The groups are those of one design point.
        """
        begins = np.flatnonzero(self._begins & (self.colour[self.order] >= 0))
        size = self.group_size[self.order[begins]]
        return [self.order[begins[size == one, None] + np.arange(one)] for one in np.unique(size)]

    @property
    def _places(self) -> Ints:
        return np.arange(self.colour.shape[-1])

    @cached_property
    def _begins(self) -> NDArray[np.bool_]:
        """(..., P) whether a group begins here in ``order``."""
        colour = np.take_along_axis(self.colour, self.order, axis=-1)
        first = np.ones((*colour.shape[:-1], 1), bool)
        return np.concatenate([first, colour[..., 1:] != colour[..., :-1]], axis=-1)

    def _by_rank(self, values: Ints) -> Ints:
        """Values in ``order``, by rank."""
        by_rank = np.empty_like(self.order)
        np.put_along_axis(by_rank, self.order, values, axis=-1)
        return by_rank


def check_group(group: str | None, groups: Mapping[str, Expression], place: Place) -> None:
    """InputError for a group that the workload does not have."""
    if group is not None and group not in groups:
        named = "" if group.isidentifier() else f"; to use an expression, name it: groups: {{NAME: {group}}}"
        raise InputError("unknown group", place, value=group, allowed=nearest(group, groups) + named)


def checked_root(root: FloatOrArray, size: FloatOrArray, expression: Expression) -> FloatOrArray:
    """Return the root. InputError unless it is the number of a rank among ``size``."""
    value, members = np.broadcast_arrays(np.asarray(root, dtype=np.float64), np.asarray(size, dtype=np.float64))
    wrong = (value != np.floor(value)) | (value < 0) | (value >= members)
    if wrong.any():
        what = f"root = {expression.text} is no rank of the group"
        allowed = f"a whole number from 0 to {int(members[wrong].flat[0]) - 1}"
        raise InputError(what, expression.place, value=float(value[wrong].flat[0]), allowed=allowed)
    return root
