"""Costs of statements, and how they combine: in sequence, in parallel, and weighted."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simcodesign.aspen.machine import linked_by_conflicts
from simcodesign.core.expressions.expression import Value

ZERO = np.float64(0.0)


@dataclass(frozen=True, slots=True)
class UseTotal:
    """One use of a resource: the number of items, their amount, its seconds, and the seconds of all instances."""

    items: Value
    amount: Value
    seconds: Value
    busy_s: Value


@dataclass(frozen=True, slots=True)
class Entry:
    """One block or kernel: how often it ran, for how long in total, and what it used."""

    times: Value
    seconds: Value
    uses: tuple[UseTotal, ...] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds; the busy seconds of each resource per instance; and, if wanted, an entry for each block."""

    seconds: Value = ZERO
    work: dict[str, Value] = field(default_factory=dict)
    entries: dict[Hashable, Entry] = field(default_factory=dict)

    def mapped(self, change: Callable[[Value], Value]) -> Cost:
        """Return the cost with one linear change of every number."""
        entries = {key: _map_entry(entry, change) for key, entry in self.entries.items()}
        return Cost(change(self.seconds), {name: change(work) for name, work in self.work.items()}, entries)


def _map_entry(entry: Entry, change: Callable[[Value], Value]) -> Entry:
    uses = tuple([UseTotal(change(u.items), change(u.amount), change(u.seconds), change(u.busy_s)) for u in entry.uses])
    return Entry(change(entry.times), change(entry.seconds), uses)


def in_turn(costs: Iterable[Cost]) -> Cost:
    """One after another: everything adds."""
    listed = list(costs)
    if len(listed) == 1:
        return listed[0]
    work: dict[str, Value] = {}
    entries: dict[Hashable, Entry] = {}
    for cost in listed:
        for name, seconds in cost.work.items():
            work[name] = work[name] + seconds if name in work else seconds
        for key, entry in cost.entries.items():
            entries[key] = _sum(entries[key], entry) if key in entries else entry
    seconds = functools.reduce(lambda a, b: a + b, [cost.seconds for cost in listed]) if listed else ZERO
    return Cost(seconds, work, entries)


def _sum(a: Entry, b: Entry) -> Entry:
    uses = tuple(
        [
            UseTotal(x.items + y.items, x.amount + y.amount, x.seconds + y.seconds, x.busy_s + y.busy_s)
            for x, y in zip(a.uses, b.uses, strict=True)
        ]
    )
    return Entry(a.times + b.times, a.seconds + b.seconds, uses)


def side_by_side(costs: list[Cost], conflicts: frozenset[frozenset[str]]) -> Cost:
    """Concurrent execution: as long as the longest cost, and no shorter than the total work of any group of resources.

    Two branches that both keep every core busy take as long together as one after the other.
    """
    summed = in_turn(costs)
    bounds = [cost.seconds for cost in costs]
    groups = linked_by_conflicts(summed.work, conflicts)
    bounds += [functools.reduce(lambda a, b: a + b, [summed.work[name] for name in group]) for group in groups]
    if not bounds:
        return summed
    longest: Value = functools.reduce(np.maximum, bounds)
    return Cost(np.minimum(longest, summed.seconds), summed.work, summed.entries)


def weighted(cost: Cost, weight: Value) -> Cost:
    """Return the cost times ``weight``; 0 where the weight is 0, even if the cost is not finite there."""
    if np.ndim(weight) == 0 and weight != 0:
        return cost.mapped(lambda value: value * weight)

    def change(value: Value) -> Value:
        product: Any = np.where(weight == 0, 0.0, value * weight)
        return product[()]  # type: ignore[no-any-return]

    return cost.mapped(change)


def over_counter(cost: Cost, holds: Any, mean: bool) -> Cost:
    """Return the sum (or mean) over the leading axis, the counter's, of the elements where ``holds``."""
    number: Any = np.sum(holds, axis=0)
    share: Any = np.where(number > 0, 1.0 / np.maximum(number, 1), 0.0) if mean else 1.0

    def change(value: Value) -> Value:
        if np.ndim(value) < np.ndim(holds):  # the same for each count
            return np.where(number > 0, value, 0.0)[()] if mean else np.where(number > 0, value * number, 0.0)[()]
        return (np.sum(np.where(holds, value, 0.0), axis=0) * share)[()]  # type: ignore[no-any-return]

    return cost.mapped(change)
