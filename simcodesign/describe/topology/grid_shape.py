"""Extents of grids.

The most cube-like one for a number of hosts or ranks, one like another grid, boxes within a grid.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.topology.base import MAX_HOSTS, checked_whole

#: Ranks of a process grid, which has no links: forecasts go beyond the hosts of any network.
MAX_RANKS = 10**12
MAX_DIMS = 6
DEFAULT_DIMS = 2
#: Relative rounding error of roots and quotients; much more than they have.
ROUNDING = 1e-9


def balanced_shape(count: int, dims: int) -> tuple[int, ...]:
    """Return the most cube-like grid of ``count`` hosts: ``dims`` factors of ``count`` in non-increasing order.

    The result has the smallest surface of all such factorisations, that is the smallest sum of count /
    extent over the dimensions (the neighbours that a block of the grid exchanges data with); among equal
    surfaces, the smallest first, then second ... extent. Raises InputError unless 1 <= count <=
    10^12, 1 <= dims <= 6.
    """
    total = checked_whole(count, "count", MAX_RANKS)
    return _balanced(total, checked_whole(dims, "dims", MAX_DIMS))


@lru_cache(maxsize=1024)
def _balanced(count: int, dims: int) -> tuple[int, ...]:
    best = _best_factors(count, dims, count, _divisors(count), count, math.inf)
    assert best is not None  # the count itself and ones
    return best[1]


def _divisors(count: int) -> list[int]:
    small = [divisor for divisor in range(1, math.isqrt(count) + 1) if count % divisor == 0]
    return sorted({*small, *(count // divisor for divisor in small)})


def _best_factors(
    rest: int, dims: int, largest: int, divisors: list[int], volume: int, most: float
) -> tuple[int, tuple[int, ...]] | None:
    """Return the least surface of all ways to write ``rest`` as a product of ``dims`` factors, and the factors.

    The surface is the sum of volume / factor; factors do not increase, and are at most ``largest``. None if it is more
    than ``most``.

    Factors are tried from the smallest one on that can be the largest of this many. The others then add at least what
    equal ones would, which only grows: once the sum is more than the best one so far, no further factor helps.
    """
    if dims == 1:
        return (volume // rest, (rest,)) if rest <= largest and volume // rest <= most else None
    best, others = None, dims - 1
    first = bisect_left(divisors, True, key=lambda factor: factor**dims >= rest)
    for factor in divisors[first:]:
        own = volume // factor
        least = own + others * volume / (rest / factor) ** (1 / others)
        if factor > min(largest, rest) or least * (1 - ROUNDING) > most:
            break
        if rest % factor == 0:
            found = _best_factors(rest // factor, others, factor, divisors, volume, most - own)
            if found is not None:
                whole = (found[0] + own, (factor, *found[1]))
                best, most = (whole if best is None else min(best, whole)), whole[0]
    return best


def checked_shape(count: int, shape: Sequence[int] | None, dims: int | None, place: Place | None) -> tuple[int, ...]:
    """Return the extents of a grid of ``count`` hosts: those given, or the balanced ones of ``dims`` dimensions.

    Raises InputError for extents that are not whole, do not hold the hosts, or are not ``dims`` in number.
    """
    wanted = None if dims is None else checked_whole(dims, "dims", MAX_DIMS, place)
    if shape is None:
        return balanced_shape(count, wanted or DEFAULT_DIMS)
    if isinstance(shape, str) or not hasattr(shape, "__len__") or not 1 <= len(shape) <= MAX_DIMS:
        raise InputError("not a shape", place, value=shape, allowed=f"1 to {MAX_DIMS} whole numbers")
    extents = tuple(checked_whole(extent, f"shape[{axis}]", MAX_HOSTS, place) for axis, extent in enumerate(shape))
    if wanted not in (None, len(extents)):
        raise InputError("shape and dims differ", place, value=extents, allowed=f"{wanted} dimensions")
    if math.prod(extents) != count:
        what = f"the shape has {math.prod(extents)} hosts, but {count} are needed"
        suggestion = f"numbers whose product is {count}, e.g. {list(balanced_shape(count, len(extents)))}"
        raise InputError(what, place, value=list(extents), allowed=suggestion)
    return extents


def similar_shape(shape: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return a grid of ``count`` hosts with a similar shape.

    The prime factors, the largest first, each go to the dimension that is shortest relative to its old extent. Doubled
    hosts double one dimension of the same grid.
    """
    extents = [1] * len(shape)
    for prime in sorted(prime_factors(count), reverse=True):
        axis = min(range(len(shape)), key=lambda index: (extents[index] / shape[index], index))
        extents[axis] *= prime
    return tuple(extents)


def prime_factors(number: int) -> list[int]:
    """In increasing order, as often as each divides."""
    factors, divisor = [], 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            factors.append(divisor)
            number //= divisor
        divisor += 1
    return [*factors, number] if number > 1 else factors


def surface(box: tuple[int, ...]) -> float:
    """Half of the faces of a box of cubes: the sum of its cubes over each of its extents."""
    return sum(math.prod(box) / extent for extent in box)


@lru_cache(maxsize=1024)
def smallest_box(whole: tuple[int, ...], nodes: int) -> tuple[int, ...]:
    """Return the box within a grid of these extents that holds ``nodes`` nodes.

    With as few more as possible, and among these the box with the smallest surface.
    """

    def rank(box: tuple[int, ...]) -> tuple[int, float, tuple[int, ...]]:
        return math.prod(box), surface(box), tuple(-extent for extent in box)

    return min(_boxes(whole, nodes), key=rank)


def _boxes(whole: tuple[int, ...], nodes: int) -> Iterator[tuple[int, ...]]:
    """All boxes that would not hold ``nodes`` nodes with a last extent that is any smaller."""
    for first in itertools.product(*(range(1, extent + 1) for extent in whole[:-1])):
        last = -(-nodes // math.prod(first))
        if last <= whole[-1]:
            yield (*first, last)
