"""Where the groups of a step lie: on which levels of the machine its messages are, and which groups lie alike.

Two ranks are on level 0 with each other if their nodes differ, on level 1 if they share a node, and further inwards
where messages within sockets cost something else. Groups of one size whose members share nodes and sockets in the same
pattern take the same time, and are one entry here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.group_sizes import GroupSize
from simcodesign.analytic.messages.route_links import shared_parts
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.design_point import numbered_ranks
from simcodesign.describe.evaluation import EvaluatedStep
from simcodesign.describe.machine import Machine
from simcodesign.describe.programs.groups import GROUP_NAMES, Membership, checked_root

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
#: Ranks of all values of P and of the colours together that are looked at.
MOST_RANKS = 2**24


@dataclass(frozen=True)
class Pattern:
    """Groups that differ in how their members share nodes.

    ``node`` (G, n) and ``parts`` (D, G, n), ``counts`` (G,) of each. They exist at the design points ``where``;
    everywhere if that is None.
    """

    node: Ints
    parts: Ints
    counts: Ints
    where: Bools | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the design points."""
        return () if self.where is None else self.where.shape


@dataclass(frozen=True)
class LevelGroups(GroupSize):
    """Groups of one size at each design point, whose pairs of members are on these ``levels``."""

    levels: tuple[int, ...] = (0,)
    patterns: tuple[Pattern, ...] = field(default=(), repr=False)


def level_groups(step: EvaluatedStep, root: Expression | None, by_nodes: bool) -> list[LevelGroups] | None:
    """Return the groups of a step, each from its root on; None if there are more ranks than are looked at.

    ``by_nodes``: only those are together whose members share nodes in the same way.
    """
    settings: dict[tuple[int, tuple[bytes, ...]], tuple[list[Ints], Bools | None]] = {}
    shape: tuple[int, ...] = ()
    looked_at = 0
    for own, where in _settings(step, root):
        looked_at += int(own["P"])
        if looked_at > MOST_RANKS:
            return None
        shape = shape if where is None else where.shape
        members = list(_members(step, root, own))
        # Most iterations of a loop have the groups of another one: their members differ in few.
        key = int(own["P"]), tuple(one.shape[1].to_bytes(8) + one.tobytes() for one in members)
        before = settings.get(key, (members, where))[1]
        settings[key] = members, where if where is None or before is None else where | before
    found = [
        [one for members in several for one in patterns_of(step.machine, ranks, members, by_nodes, where)]
        for (ranks, _), (several, where) in settings.items()
    ]
    slots: dict[tuple[tuple[int, ...], int, bytes], list[Pattern]] = {}
    for several in found:
        number: dict[tuple[int, ...], int] = {}
        for levels, pattern in several:
            number[levels] = number.get(levels, -1) + 1
            node = pattern.node.tobytes() if by_nodes else b""
            slots.setdefault((levels, number[levels], node), []).append(pattern)
    return [_slot(levels, patterns, shape) for (levels, *_), patterns in slots.items()]


def patterns_of(
    machine: Machine, ranks: int, members: Ints, by_nodes: bool = False, where: Bools | None = None
) -> Iterator[tuple[tuple[int, ...], Pattern]]:
    """Yield groups (G, n) among ``ranks`` ranks, by the levels that their pairs are on."""
    parts = first_alike(shared_parts(machine, ranks)[:, members])
    node = first_alike(machine.node_of(ranks)[members])
    pairs = [_pairs(row) for row in parts]
    most = np.full(len(members), members.shape[1] * (members.shape[1] - 1) // 2)
    on_level = np.array([one > inner for one, inner in zip([most, *pairs], [*pairs, 0 * most], strict=True)])
    kinds, which = np.unique(np.concatenate([on_level, node.T]) if by_nodes else on_level, axis=1, return_inverse=True)
    for number, kind in enumerate(kinds[: len(on_level)].T):
        here = np.flatnonzero(which.ravel() == number)
        rows = np.concatenate([node[None, here], parts[:, here]]).transpose(1, 0, 2)
        distinct, counts = np.unique(rows.reshape(len(here), -1), axis=0, return_counts=True)
        every = distinct.reshape(len(counts), -1, members.shape[1]).transpose(1, 0, 2)
        levels = tuple(np.flatnonzero(kind).tolist()) or (0,)
        yield levels, Pattern(every[0], every[1:], counts, where)


def members_at_points(step: EvaluatedStep, root: Expression | None) -> Iterator[tuple[int, Ints, Bools | None]]:
    """All ranks, and members (G, n) of the groups of each size, for each set of values on which they depend.

    Also return the design points that have these.
    """
    for own, where in _settings(step, root):
        for members in _members(step, root, own):
            yield int(own["P"]), members, where


def _settings(step: EvaluatedStep, root: Expression | None) -> Iterator[tuple[dict[str, FloatOrArray], Bools | None]]:
    """Yield the sets of values on which the members of groups depend, and the design points that have them."""
    evaluation, group = step.evaluation, step.demand.communicator
    names = {"P"} if group is None else {"P"} | evaluation.design_point.workload.groups[group].names
    names = (names | (set() if root is None else root.names)) - {"rank", *GROUP_NAMES}
    values = {name: np.asarray(evaluation.names[name], dtype=np.float64) for name in sorted(names)}
    alike = {name: float(value.flat[0]) for name, value in values.items() if value.size == 1}
    differ = {name: value for name, value in values.items() if value.size > 1}
    if not differ:
        yield dict[str, FloatOrArray](alike), None
        return
    several = np.broadcast_arrays(*differ.values(), *(() if evaluation.counts is None else (evaluation.counts,)))
    shape, code = several[0].shape, np.zeros(several[0].size, np.int64)
    for value in several[: len(differ)]:
        distinct, which = np.unique(value, return_inverse=True)
        _, code = np.unique(code * len(distinct) + which.ravel(), return_inverse=True)
    counts = np.ones(shape, bool) if evaluation.counts is None else several[-1] > 0
    code = np.where(counts.ravel(), code.ravel(), -1)
    for number in np.unique(code[code >= 0]):
        where = code == number
        first = int(np.argmax(where))
        own = {name: float(value.flat[first]) for name, value in zip(differ, several, strict=False)}
        yield {**alike, **own}, where.reshape(shape)


def _members(step: EvaluatedStep, root: Expression | None, own: dict[str, FloatOrArray]) -> Iterator[Ints]:
    """(G, n) members of the groups of each size, each group from its root on."""
    evaluation, group, ranks = step.evaluation, step.demand.communicator, int(own["P"])
    own = {**own, "rank": numbered_ranks(ranks, step.demand.place)}
    several: Sequence[Ints] = [np.arange(ranks)[None, :]]
    if group is not None:
        workload = evaluation.design_point.workload
        colour = workload.groups[group]
        value = evaluation.value(colour, f"group {group}", own)
        several = Membership.by_colour(group, value, ranks, colour, workload.indices).members()
    for members in several:
        count = members.shape[1]
        if root is not None:
            names = own if group is None else {**own, "group_size": float(count)}
            roots = np.broadcast_to(evaluation.value(root, "root", names), ranks)[members[:, 0]]
            first = np.asarray(checked_root(roots, count, root)).astype(np.int64)
            members = np.take_along_axis(members, (first[:, None] + np.arange(count)) % count, axis=1)
        yield members


def _slot(levels: tuple[int, ...], patterns: Sequence[Pattern], shape: tuple[int, ...]) -> LevelGroups:
    if patterns[0].where is None:
        (one,) = patterns
        return LevelGroups(float(one.node.shape[1]), float(one.counts.sum()), levels, (one,))
    ranks, count = np.ones(shape), np.zeros(shape)
    for pattern in patterns:
        ranks[pattern.where], count[pattern.where] = pattern.node.shape[1], pattern.counts.sum()
    return LevelGroups(ranks, count, levels, tuple(patterns))


def first_alike(values: Ints) -> Ints:
    """(..., n) the first place in its row that has the same value."""
    if not values.size:
        return values
    count = values.shape[-1]
    row = np.arange(values.size // count)[:, None]
    keys = values.reshape(-1, count) + row * (values.max() + 1)
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    places: Ints = first[which.ravel()].reshape(-1, count) - row * count
    return places.reshape(values.shape)


def _pairs(first: Ints) -> Ints:
    """(G,) pairs of members in a common part, by ``first_alike``."""
    groups, count = first.shape
    sharing = np.bincount((first + count * np.arange(groups)[:, None]).ravel(), minlength=groups * count)
    pairs: Ints = (sharing * (sharing - 1) // 2).reshape(groups, count).sum(axis=1)
    return pairs
