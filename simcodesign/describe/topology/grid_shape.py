"""Extents of grids: the most cube-like one of so many hosts or ranks, and one like another grid."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.topology.options import MAX_HOSTS, checked_whole

#: Ranks of a process grid, which has no links: forecasts go beyond the hosts of any network.
MAX_RANKS = 10**12
MAX_DIMS = 4
DEFAULT_DIMS = 2


def balanced_shape(count: int, dims: int) -> tuple[int, ...]:
    """The most cube-like grid of ``count`` hosts: ``dims`` factors of ``count`` in non-increasing order.

    Of all such factorisations it is the one with the smallest surface, that is the smallest sum of count /
    extent over the dimensions (the neighbours that a block of the grid exchanges data with); of equal
    surfaces the one with the smaller first, then second ... extent. Raises InputError unless 1 <= count <=
    10^12, 1 <= dims <= 4.
    """
    total = checked_whole(count, "count", MAX_RANKS)
    return _balanced(total, checked_whole(dims, "dims", MAX_DIMS))


@lru_cache(maxsize=1024)
def _balanced(count: int, dims: int) -> tuple[int, ...]:
    shapes = _factorisations(count, dims, count, _divisors(count))
    return min(shapes, key=lambda shape: (sum(count // extent for extent in shape), shape))


def _divisors(count: int) -> list[int]:
    small = [divisor for divisor in range(1, math.isqrt(count) + 1) if count % divisor == 0]
    return sorted({*small, *(count // divisor for divisor in small)})


def _factorisations(count: int, dims: int, largest: int, divisors: list[int]) -> Iterator[tuple[int, ...]]:
    """All ways to write ``count`` as a product of ``dims`` non-increasing factors up to ``largest``."""
    if dims == 1:
        if count <= largest:
            yield (count,)
        return
    for factor in divisors:
        if factor > min(largest, count):
            break
        if factor**dims >= count and count % factor == 0:
            for rest in _factorisations(count // factor, dims - 1, factor, divisors):
                yield (factor, *rest)


def checked_shape(count: int, shape: Sequence[int] | None, dims: int | None, place: Place | None) -> tuple[int, ...]:
    """The extents of a grid of ``count`` hosts: those given, or the balanced ones of ``dims`` dimensions.

    Raises InputError for extents that are not whole, do not hold the hosts, or are not ``dims`` in number.
    """
    wanted = None if dims is None else checked_whole(dims, "dims", MAX_DIMS, place)
    if shape is None:
        return balanced_shape(count, wanted or DEFAULT_DIMS)
    if isinstance(shape, str) or not hasattr(shape, "__len__") or not 1 <= len(shape) <= MAX_DIMS:
        raise InputError("shape", place, value=shape, allowed=f"1 to {MAX_DIMS} whole numbers")
    extents = tuple(checked_whole(extent, f"shape[{axis}]", MAX_HOSTS, place) for axis, extent in enumerate(shape))
    if wanted not in (None, len(extents)):
        raise InputError("shape and dims differ", place, value=extents, allowed=f"{wanted} dimensions")
    if math.prod(extents) != count:
        what = f"shape has {math.prod(extents)} hosts, but node_count is {count}"
        suggestion = f"a product of {count}, e.g. {list(balanced_shape(count, len(extents)))}"
        raise InputError(what, place, value=list(extents), allowed=suggestion)
    return extents


def similar_shape(shape: tuple[int, ...], count: int) -> tuple[int, ...]:
    """A grid of so many hosts that is near in shape: the prime factors, the largest first, each go to the dimension
    that is shortest beside its old one. Doubled hosts double one dimension of the same grid."""
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
