"""Number and sizes of the groups of a step of a program.

In closed form if the colours are rows or columns of a process grid (``rank // q``, ``rank % q``), otherwise counted,
for each set of values that they depend on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import TypeGuard

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression, Name, Node, Operation, parse
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.design_point import numbered_ranks
from simcodesign.describe.evaluation import EvaluatedStep, Evaluation
from simcodesign.describe.programs.groups import Ints, Membership, checked_root
from simcodesign.describe.workload import Workload


@dataclass(frozen=True)
class GroupSize:
    """``count`` groups of ``ranks`` ranks.

    Numbers, or arrays over the design points (0 groups of 1 rank if there are none).
    """

    ranks: FloatOrArray
    count: FloatOrArray

    @property
    def members(self) -> FloatOrArray:
        """Ranks of all these groups together."""
        return self.ranks * self.count


def group_sizes(step: EvaluatedStep) -> list[GroupSize]:
    """Return the groups of a step; all ranks are one if it names none. InputError for colours that are not whole."""
    evaluation, group = step.evaluation, step.demand.communicator
    if group is None:
        return [GroupSize(evaluation.ranks, 1.0)]
    colour = evaluation.design_point.workload.groups[group]
    return _of_process_grid(colour, evaluation.names) or _counted(group, colour, step)


def size_names(step: EvaluatedStep, groups: GroupSize) -> dict[str, FloatOrArray]:
    """Further names that the amounts of a step in these groups may use."""
    return {} if step.demand.communicator is None else {"group_size": groups.ranks}


def check_roots(step: EvaluatedStep, root: Expression | None, sizes: list[GroupSize]) -> None:
    """InputError for a root that is no rank of the group.

    Roots that differ from rank to rank are looked at for a single design point.
    """
    if root is None:
        return
    if "rank" not in root.names:
        for groups in sizes:
            value = step.evaluation.value(root, "root", size_names(step, groups))
            there = np.asarray(groups.count) > 0
            checked_root(np.where(there, value, 0.0), groups.ranks, root)
    elif not step.evaluation.design_point.shape:
        evaluation = step.evaluation
        for indices in evaluation.iterations():
            own = replace(evaluation, names={**evaluation.names, **indices}, indices=frozenset(), counts=None)
            _check_roots_of_ranks(own, step.demand.communicator, root)


def _check_roots_of_ranks(evaluation: Evaluation, group: str | None, root: Expression) -> None:
    """At a single design point and iteration."""
    design_point = evaluation.design_point
    names: dict[str, FloatOrArray] = {**evaluation.names, "rank": design_point.every_rank()}
    here, size = np.ones(design_point.ranks, bool), np.full(design_point.ranks, float(design_point.ranks))
    first = np.zeros(design_point.ranks, np.int64)
    if group is not None:
        workload = design_point.workload
        colour = workload.groups[group]
        membership = Membership.by_colour(group, colour.evaluate(names), design_point.ranks, colour, workload.indices)
        here, size, first = membership.present, membership.group_size.astype(np.float64), membership.rank_of(first)
        names["group_size"] = size
    value = np.broadcast_to(evaluation.value(root, "root", names), here.shape)
    checked_root(value[here], size[here], root)
    differs = np.flatnonzero(here & (value != value[first]))
    if len(differs):
        rank = int(differs[0])
        what = f"root = {root.text}: ranks {first[rank]} and {rank} of a group name different roots"
        raise InputError(what, root.place, value=[float(value[first[rank]]), float(value[rank])])


def members_of_groups(
    step: EvaluatedStep, root: Expression | None = None
) -> Iterator[tuple[Ints, dict[str, FloatOrArray]]]:
    """Yield the ranks of all groups of each size, (groups, n), and the names that amounts of the step may use.

    Every group from its root on; of one design point.
    """
    ranks, grouped = step.evaluation.design_point.ranks, step.demand.communicator is not None
    several = step.membership.members() if grouped else [np.arange(ranks)[None, :]]
    for members in several:
        names: dict[str, FloatOrArray] = {"group_size": float(members.shape[1])} if grouped else {}
        if root is not None:
            roots = np.broadcast_to(step.evaluation.value(root, "root", names), ranks)[members[:, 0]]
            first = np.asarray(checked_root(roots, members.shape[1], root)).astype(np.int64)
            places = (first[:, None] + np.arange(members.shape[1])) % members.shape[1]
            members = np.take_along_axis(members, places, axis=1)
        yield members, names


def text_of_size(demand: Demand, workload: Workload) -> str | None:
    """Return the ranks of a group, as a text: ``P`` where the demand names no group.

    None unless the groups are the rows or columns of a process grid that they fill.
    """
    if demand.communicator is None:
        return "P"
    colour = workload.groups[demand.communicator]
    tree = colour.tree
    if not _is_process_grid(tree):
        return None
    q = colour.text[colour.text.index(tree.symbol) + len(tree.symbol) :].strip()
    return f"({q})" if tree.symbol == "//" else f"(P/({q}))"


def symbolic_size(demand: Demand, workload: Workload) -> str:
    """Return the formula of the group size. InputError if there is none."""
    text = text_of_size(demand, workload)
    if text is None:
        colour = workload.groups[demand.communicator or ""]
        what = f"group {demand.communicator} = {colour.text} has no size in symbols, so there is no formula"
        raise InputError(what, demand.place, allowed="groups rank // q or rank % q")
    return text


def put_in(expression: Expression, name: str, text: str) -> Expression:
    """Return an expression with the text of another instead of a name."""
    if name == text or name not in expression.names:
        return expression
    return parse(re.sub(rf"\b{name}\b", lambda _: text, expression.text), expression.place)


def _is_process_grid(tree: Node) -> TypeGuard[Operation]:
    """Whether a colour is ``rank // q`` or ``rank % q``, where q is the same for every rank."""
    of_rank = isinstance(tree, Operation) and tree.symbol in ("//", "%") and tree.left == Name("rank")
    return of_rank and isinstance(tree, Operation) and not _names_rank(tree.right)


def _of_process_grid(colour: Expression, names: Mapping[str, FloatOrArray]) -> list[GroupSize] | None:
    """Return the groups of colours ``rank // q`` or ``rank % q`` where q is a whole number; None for others."""
    tree = colour.tree
    if not _is_process_grid(tree):
        return None
    q = Expression(colour.text, colour.names - {"rank"}, tree.right, colour.place).evaluate(names)
    ranks = np.asarray(names["P"])
    if not np.all((np.asarray(q) >= 1) & (q == np.floor(q)) & np.isfinite(q)):
        return None
    whole, rest = np.floor(ranks / q), ranks % q
    if tree.symbol == "//":
        return [_groups(q + 0.0 * ranks, whole), _groups(rest, np.where(rest > 0, 1.0, 0.0))]
    return [_groups(whole + 1.0, rest), _groups(whole, q - rest)]


def _groups(ranks: FloatOrArray, count: FloatOrArray) -> GroupSize:
    """So many groups; of 1 rank if there are none."""
    there = (np.asarray(ranks) > 0) & (np.asarray(count) > 0)
    return GroupSize(_plain(np.where(there, ranks, 1.0)), _plain(np.where(there, count, 0.0)))


def _plain(value: FloatOrArray) -> FloatOrArray:
    return value if np.ndim(value) else float(value)


def _counted(group: str, colour: Expression, step: EvaluatedStep) -> list[GroupSize]:
    """Every rank looked at, once for each set of values on which the colours depend."""
    names = step.evaluation.names
    several = sorted((colour.names - {"rank"}) | {"P"})
    values = np.broadcast_arrays(*(np.asarray(names[name], dtype=np.float64) for name in several))
    here = np.broadcast_to(True if step.evaluation.counts is None else step.evaluation.counts, values[0].shape)
    if here.any():  # where no iteration counts, the groups of one that does
        values = tuple(np.where(here, value, value[here][0]) for value in values)
    distinct, which = np.unique([value.ravel() for value in values], axis=1, return_inverse=True)
    counts: list[dict[int, int]] = []
    for column in distinct.T:
        own: dict[str, FloatOrArray] = dict(zip(several, (float(value) for value in column), strict=True))
        ranks = int(column[several.index("P")])
        own["rank"] = numbered_ranks(ranks, colour.place or step.demand.place)
        value = step.evaluation.value(colour, f"group {group}", own)
        indices = step.evaluation.design_point.workload.indices
        membership = Membership.by_colour(group, value, ranks, colour, indices)
        counts.append({members.shape[1]: len(members) for members in membership.members()})
    where, shape = which.ravel(), values[0].shape
    sizes = sorted(set().union(*counts), reverse=True) or [1]
    found = [np.array([one.get(size, 0.0) for one in counts])[where].reshape(shape) for size in sizes]
    return [_groups(np.full(shape, float(size)), count) for size, count in zip(sizes, found, strict=True)]


def _names_rank(node: Node) -> bool:
    """Whether a part of an expression has the name ``rank``."""
    if isinstance(node, Name):
        return node.name == "rank"
    values = [getattr(node, item.name) for item in fields(node)]  # type: ignore[arg-type]
    parts = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
    return any(_names_rank(part) for part in parts if not isinstance(part, str | float))
