"""The inner schedule of an execute block, which is one operation: its duration, and when each use draws power.

A rank goes through the uses as they are written. With the effect ``conflicts`` a use begins when all earlier ones are
done that it conflicts with, and the block ends with the last: a list schedule. Without, the block takes as long as its
heaviest clique (``describe.resources.Custom.conflicting`` states the rule); its uses keep the order of the schedule,
compressed to that time (their energy stays what it is). Items go to the instances of a resource in turns, the last of
which may leave some idle.

The block is an operation of kind COMPUTE: it is the rank's own work, so that imbalance and noise act on
it as on any computation, and power over time follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.resource_uses import ItemUse
from simcodesign.describe.resources import Custom

#: Relative: so little above a whole number of turns is rounding.
ROUNDING = 4e-15


@dataclass(frozen=True)
class Piece:
    """Power within an operation: ``watts`` between two shares of its time."""

    since: FloatOrArray
    until: FloatOrArray
    watts: FloatOrArray


@dataclass(frozen=True)
class BlockTimes:
    """Seconds of a block, and its power."""

    duration_s: FloatOrArray
    pieces: tuple[Piece, ...]


def times_of_block(uses: Sequence[ItemUse], parallelism: FloatOrArray, custom: Custom, in_order: bool) -> BlockTimes:
    """Return the block for every rank: numbers, or (P,) where ranks differ.

    ``in_order`` with the effect ``conflicts``.
    """
    lasts = [_turns(parallelism / use.instances) * use.time_s for use in uses]
    starts: list[FloatOrArray] = []
    for place, use in enumerate(uses):
        begin: FloatOrArray = 0.0
        for other in range(place):
            if custom.conflicting(uses[other].resource, use.resource):
                begin = np.maximum(begin, starts[other] + lasts[other])
        starts.append(begin)
    end: FloatOrArray = 0.0
    for start, last in zip(starts, lasts, strict=True):
        end = np.maximum(end, start + last)
    duration = end if in_order else _heaviest_clique_s(uses, lasts, custom)
    pieces: list[Piece] = []
    for use, start, last in zip(uses, starts, lasts, strict=True):
        pieces += _pieces(use, parallelism, start, last, end, duration)
    return BlockTimes(duration, tuple(pieces))


def _turns(quotient: FloatOrArray) -> FloatOrArray:
    """Items of the busiest instance."""
    whole = np.floor(quotient)
    turns: FloatOrArray = np.where(quotient - whole > ROUNDING * np.abs(quotient), whole + 1.0, whole)
    return turns


def _heaviest_clique_s(uses: Sequence[ItemUse], lasts: Sequence[FloatOrArray], custom: Custom) -> FloatOrArray:
    """Return the largest total of resources of which every two conflict."""
    total: dict[str, FloatOrArray] = {}
    for use, last in zip(uses, lasts, strict=True):
        total[use.resource] = total.get(use.resource, 0.0) + last
    return _heaviest_among(tuple(total), total, custom)


def _heaviest_among(names: tuple[str, ...], total: Mapping[str, FloatOrArray], custom: Custom) -> FloatOrArray:
    """Return the heaviest clique of these.

    The first is in it with some of those that it conflicts with, or it is not.
    """
    if not names:
        return 0.0
    first, *rest = names
    conflicting = tuple(name for name in rest if custom.conflicting(first, name))
    with_first = total[first] + _heaviest_among(conflicting, total, custom)
    if len(conflicting) == len(rest):
        return with_first  # it conflicts with all others, and no time is negative
    return np.maximum(with_first, _heaviest_among(tuple(rest), total, custom))


def _pieces(
    use: ItemUse,
    parallelism: FloatOrArray,
    start: FloatOrArray,
    last: FloatOrArray,
    end: FloatOrArray,
    duration: FloatOrArray,
) -> list[Piece]:
    """Return the power of one use: while all instances are at work, and in the last turn.

    In the last turn, the instances that are left are at work.
    """
    if not np.any(use.power_w) and not np.any(use.energy_j):
        return []
    squeeze = _over(end, duration)
    besides = _over(parallelism * use.energy_j, last)
    full = np.maximum(_turns(parallelism / use.instances) - 1.0, 0.0)
    left = parallelism - full * use.instances
    middle = start + full * use.time_s
    busy = ((start, middle, np.minimum(parallelism, use.instances)), (middle, start + last, left))
    return [
        Piece(_over(since, end), _over(until, end), (count * use.power_w + besides) * squeeze)
        for since, until, count in busy
    ]


def _over(part: FloatOrArray, whole: FloatOrArray) -> FloatOrArray:
    """Return the quotient, 0 if there is no whole."""
    some = np.asarray(whole) > 0
    quotient: FloatOrArray = np.where(some, part / np.where(some, whole, 1.0), 0.0)
    return quotient
