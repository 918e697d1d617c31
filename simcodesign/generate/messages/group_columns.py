"""Messages of groups and of operations with a root: what is written for ranks 0 to n - 1 with root 0, for true ranks.

Writers of messages know neither groups nor roots. They write the columns of one group of n ranks; here the numbers of
its ranks become the numbers of the members of all groups of that size, whose ranks are disjoint. If an operation has a
root, a rank's number is counted from it, around the group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.evaluation import EvaluatedStep
from simcodesign.describe.programs.groups import checked_root
from simcodesign.generate.columns import NO_COSTS, Column, DataCosts, Int32s, Ranks


@dataclass(frozen=True)
class EqualGroups:
    """All groups of n ranks in one step of the program.

    ``members`` (groups, n), in the order in which a writer numbers them; ``names``: further names that the amounts of
    the step may use; ``data_costs``: what a rank takes to process data.
    """

    members: Int32s
    names: dict[str, FloatOrArray]
    data_costs: DataCosts = NO_COSTS

    @property
    def size(self) -> int:
        """Ranks of a group."""
        return int(self.members.shape[1])

    @cached_property
    def ranks(self) -> Ranks:
        """Ranks of one of the groups, to be written for ranks 0 to n - 1."""
        return Ranks(self.size, self.data_costs)

    def columns(self, of_all: int) -> Iterator[Column]:
        """Yield the written columns for the ranks of all these groups, of ``of_all`` ranks."""
        everybody = self._places(None, of_all)
        for column in self.ranks.columns:
            who, order = everybody if column.who is None else self._places(column.who, of_all)
            yield replace(
                column,
                who=who,
                peer=self._peers(column, order),
                size_bytes=self._of_all(column.size_bytes, order),
                duration_s=self._of_all(column.duration_s, order),
                match=self._of_all(column.match, order),
                extra={name: self._of_all(value, order) for name, value in column.extra.items()},
            )

    def _places(self, who: Int32s | None, of_all: int) -> tuple[Int32s | None, NDArray[np.int64]]:
        """Return the ranks of a column, and the order that makes them ascend; None if they are all ranks."""
        ranks = (self.members if who is None else self.members[:, who]).ravel()
        order = np.argsort(ranks, kind="stable")
        return (None if len(ranks) == of_all else ranks[order]), order

    def _peers(self, column: Column, order: NDArray[np.int64]) -> Int32s | int:
        peer = np.asarray(column.peer)
        if not peer.ndim and peer < 0:
            return column.peer  # none, or any source
        count = self.size if column.who is None else len(column.who)
        return self.members[:, np.broadcast_to(peer, count)].ravel()[order]

    def _of_all(self, value: Any, order: NDArray[np.int64]) -> Any:
        """Return a value of a column: one for all, or one for each of its ranks."""
        return np.tile(value, len(self.members))[order] if np.ndim(value) else value


def equal_groups(step: EvaluatedStep, root: Expression | None = None) -> list[EqualGroups]:
    """Return the groups of a step by their sizes, each numbered from its root.

    InputError for a root that is no rank of the group, and where ranks of a group name different roots.
    """
    ranks = step.evaluation.design_point.ranks
    names: dict[str, FloatOrArray] = {}
    if step.demand.communicator is None:
        members = [np.arange(ranks)[None, :]]
    else:
        members = step.membership.members()
        names = {"group_size": step.membership.group_size.astype(np.float64)}
    groups = []
    for several in members:
        if root is not None:
            several = _from_root(several, np.broadcast_to(step.evaluation.value(root, "root", names), ranks), root)
        own: dict[str, FloatOrArray] = {name: float(several.shape[1]) for name in names}
        groups.append(EqualGroups(several.astype(np.int32), own, DataCosts.of(step.machine)))
    return groups


def _from_root(members: NDArray[np.int64], root: NDArray[np.float64], expression: Expression) -> NDArray[np.int64]:
    """Return the members of each group, its root first and the others round robin behind it."""
    count = members.shape[1]
    roots = np.asarray(checked_root(root[members], count, expression))
    differs = np.argwhere(roots != roots[:, :1])
    if len(differs):
        group, number = differs[0]
        one, other = members[group, 0], members[group, number]
        what = f"root = {expression.text}: ranks {one} and {other} of a group name different roots"
        raise InputError(what, expression.place, value=roots[group, [0, number]].tolist())
    turned = (np.arange(count) + roots[:, :1].astype(np.int64)) % count
    return np.take_along_axis(members, turned, axis=1)
