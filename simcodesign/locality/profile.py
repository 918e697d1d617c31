"""How often each stack distance occurs: a profile that gives the hits of every cache size.

A stack distance is the number of distinct other keys accessed strictly between two uses of a key; 0: touched again at
once. A first touch has none: it is cold and counted apart. A fully associative LRU cache of C lines hits an access if
and only if its distance is below C (Mattson, Gecsei, Slutz, Traiger, "Evaluation techniques for storage hierarchies",
IBM Systems Journal 9, 1970), so that one histogram holds the hits of all sizes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simcodesign.core.errors import InputError
from simcodesign.locality.cache import line_size

#: Stands for the distance of a first touch.
COLD = -1
#: No distance may be above this.
FARTHEST = 2**62
#: Lines of a cache that hits all distances; larger ones are taken as this.
_EVERYTHING = 2**62 + 2**61
#: Distances below this multiple of their number are counted in a table, others sorted.
_DENSE = 4
#: Number of sizes that are looked up in order, among as many distances.
_MANY = 10_000


class MissRatioCurve(NamedTuple):
    """Miss ratios of fully associative LRU caches: ``miss_ratio[i]`` holds from ``lines[i]`` to ``lines[i+1] - 1``."""

    lines: NDArray[np.int64]  # (k + 1,) ascending, the first 0
    miss_ratio: NDArray[np.float64]  # (k + 1,) falling, the first 1


@dataclass(frozen=True, eq=False)
class StackDistanceProfile:
    """``count[i]`` accesses have the stack distance ``distance[i]``, and ``cold`` have none, as first touches.

    Both arrays have shape (k,); ``distance`` is int64, strictly ascending from 0 or more, ``count`` float64, so that
    profiles may be scaled and averaged. ``line_bytes`` is the size of the keys that distances were counted in, a power
    of two. The arrays are read-only copies. InputError for anything else.
    """

    distance: NDArray[np.int64]
    count: NDArray[np.float64]
    cold: float = 0.0
    line_bytes: int = 64

    def __post_init__(self) -> None:
        object.__setattr__(self, "distance", _read_only(_whole(self.distance)))
        object.__setattr__(self, "count", _read_only(_numbers("count of a profile", self.count)))
        object.__setattr__(self, "cold", float(_numbers("cold of a profile", self.cold)))
        object.__setattr__(self, "line_bytes", line_size(self.line_bytes))
        if self.cold > sys.float_info.max / self.line_bytes:
            raise InputError(
                "a profile has too many cold accesses",
                value=self.cold,
                allowed="as many lines as have a finite size in bytes",
            )
        if self.distance.ndim != 1 or self.distance.shape != self.count.shape:
            shapes = (self.distance.shape, self.count.shape)
            raise InputError(
                "distance and count have different shapes", value=shapes, allowed="two lists of equal length"
            )
        falls = np.flatnonzero(np.diff(self.distance) <= 0)
        if len(falls):
            pair = tuple(int(value) for value in self.distance[falls[0] : falls[0] + 2])
            what = "two distances of a profile are not in order"
            raise InputError(what, value=pair, allowed="ascending, each once")

    @classmethod
    def from_distances(cls, distances: ArrayLike, line_bytes: int = 64) -> StackDistanceProfile:
        """Return the profile of distances of single accesses, integers of any shape.

        ``COLD`` (-1) for first touches.
        """
        each = _integers(distances).ravel()
        cold = each < 0
        lowest = each.min(initial=0)
        if lowest < COLD:
            raise InputError(
                "a stack distance is too small", value=int(lowest), allowed="0 or more, or -1 for a first touch"
            )
        distance, count = _counted(each[~cold])
        return cls(_sealed(distance), _sealed(count.astype(np.float64)), float(np.count_nonzero(cold)), line_bytes)

    @classmethod
    def from_counts(
        cls, distances: ArrayLike, counts: ArrayLike, cold: float = 0.0, line_bytes: int = 64
    ) -> StackDistanceProfile:
        """Return the profile of distances in any order with their counts.

        Equal distances are added, counts of 0 left out.
        """
        distance, count = _whole(distances), _numbers("count of a profile", counts)
        if distance.ndim != 1 or distance.shape != count.shape:
            shapes = (distance.shape, count.shape)
            raise InputError(
                "distances and counts have different shapes", value=shapes, allowed="two lists of equal length"
            )
        merged, total = _added(distance[count > 0], count[count > 0])
        return cls(_sealed(merged), _sealed(total), cold, line_bytes)

    @classmethod
    def merged(cls, profiles: Iterable[StackDistanceProfile]) -> StackDistanceProfile:
        """All accesses of several profiles of the same ``line_bytes`` together. InputError for none or other sizes."""
        several = list(profiles)
        if not several:
            raise InputError("there is no profile to merge", value=[], allowed="one profile or more")
        sizes = sorted({profile.line_bytes for profile in several})
        if len(sizes) > 1:
            raise InputError(
                "profiles of different line_bytes cannot be merged", value=sizes, allowed="the same in all"
            )
        distances = np.concatenate([profile.distance for profile in several])
        counts = np.concatenate([profile.count for profile in several])
        return cls.from_counts(distances, counts, math.fsum(profile.cold for profile in several), sizes[0])

    @cached_property
    def _below(self) -> NDArray[np.float64]:
        """(k + 1,) accesses with a distance below the i-th one; the last: all reuses."""
        return _sealed(np.concatenate([np.zeros(1), np.cumsum(self.count)]))

    @property
    def reuses(self) -> float:
        """Accesses that are not first touches."""
        return float(self._below[-1])

    @property
    def accesses(self) -> float:
        """All accesses: reuses and first touches."""
        return self.reuses + self.cold

    @property
    def median(self) -> float:
        """Return the smallest distance that at least half of the reuses do not exceed.

        The lower median: always one that occurs. First touches do not count. NaN without reuses.
        """
        if self.reuses == 0:
            return math.nan
        return float(self.distance[np.searchsorted(self._below[1:], self.reuses / 2)])

    @property
    def mode(self) -> float:
        """The most frequent distance of reuses, the smallest of several; NaN without reuses."""
        return float(self.distance[np.argmax(self.count)]) if self.reuses > 0 else math.nan

    def hits_below(self, lines: ArrayLike) -> NDArray[np.float64]:
        """Return accesses with a distance below ``lines``, of any shape.

        Hits of fully associative LRU caches of that size.

        A cache of 10.5 lines holds 10, so that fractions are cut off; infinity is every distance. A single size gives a
        NumPy scalar. InputError for negative sizes and NaN.
        """
        return self._below[self._position(lines)]

    def misses_above(self, lines: ArrayLike) -> NDArray[np.float64]:
        """Return accesses that such caches miss: those with a distance of ``lines`` or more, and the cold ones."""
        return (self.reuses - self.hits_below(lines)) + self.cold

    def miss_ratio(self, lines: ArrayLike) -> NDArray[np.float64]:
        """Misses of fully associative LRU caches of ``lines`` lines (any shape, see ``hits_below``) per access.

        InputError where the profile has no accesses.
        """
        if self.accesses == 0:
            raise InputError("a profile without accesses has no miss ratio")
        return self.misses_above(lines) / self.accesses

    def miss_ratio_curve(self) -> MissRatioCurve:
        """Return the miss ratio at every size at which it changes."""
        lines = np.concatenate([np.zeros(1, np.int64), self.distance + 1])
        return MissRatioCurve(lines, self.miss_ratio(lines))

    def scaled(self, accesses: float | None = None, factor: float | None = None) -> StackDistanceProfile:
        """All counts times ``factor``, or times what gives this number of ``accesses``: exactly one of the two."""
        if (accesses is None) == (factor is None):
            raise InputError(
                "a profile is scaled by exactly one of accesses and factor",
                value=(accesses, factor),
                allowed="either accesses or factor",
            )
        if factor is None:
            if self.accesses == 0:
                raise InputError("a profile without accesses cannot be scaled to a number of accesses", value=accesses)
            factor = float(_numbers("accesses of a profile", accesses)) / float(self.accesses)
            if factor == math.inf:  # so small a number that they are to be made some first
                return self.scaled(factor=2.0**1000).scaled(accesses=accesses)
        factor = float(_numbers("factor of a profile", factor))
        return StackDistanceProfile(self.distance, _sealed(self.count * factor), self.cold * factor, self.line_bytes)

    def save(self, path: str | Path) -> None:
        """Written to a ``.json``, ``.csv`` or ``.npz`` file that ``load_profile`` reads back exactly.

        The file appears whole or not at all. InputError for other suffixes and if it cannot be written.
        """
        from simcodesign.locality.profile_files import write_histogram

        write_histogram(Path(path), self.distance, self.count, self.cold, self.line_bytes)

    def _position(self, lines: ArrayLike) -> NDArray[np.intp]:
        """How many of the distances are below ``lines``."""
        size = np.asarray(lines)
        checked = _numbers("lines of a cache", lines, finite=False)
        if size.dtype.kind == "u":  # whole numbers stay what they are, also where float64 cannot tell them apart
            size = np.minimum(size, np.uint64(_EVERYTHING))
        elif size.dtype.kind != "i":
            size = np.minimum(checked, float(_EVERYTHING))
        whole = size.astype(np.int64)
        if whole.size < _MANY or len(self.distance) < _MANY:
            return np.searchsorted(self.distance, whole)
        # Searched in order they take a fifth of the time: neighbours are in the caches.
        order = np.argsort(whole, axis=None)
        position = np.empty(whole.shape, np.intp)
        position.ravel()[order] = np.searchsorted(self.distance, whole.ravel()[order])
        return position

    def __eq__(self, other: object) -> bool:
        """Equal in every count, to the last bit."""
        if not isinstance(other, StackDistanceProfile):
            return NotImplemented
        return (
            (self.cold, self.line_bytes) == (other.cold, other.line_bytes)
            and np.array_equal(self.distance, other.distance)
            and np.array_equal(self.count, other.count)
        )

    def __hash__(self) -> int:
        return hash((self.cold, self.line_bytes, len(self.distance), self.reuses))


def load_profile(path: str | Path) -> StackDistanceProfile:
    """Return the profile of a file that ``StackDistanceProfile.save`` wrote.

    InputError names file and place of an error.
    """
    from simcodesign.locality.profile_files import read_histogram

    return StackDistanceProfile(*read_histogram(Path(path)))


def _counted(distance: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct distances, ascending, and how often each occurs."""
    if not len(distance) or distance.max() > _DENSE * len(distance):
        return np.unique(distance, return_counts=True)
    table = np.bincount(distance)
    distances = np.flatnonzero(table)
    return distances, table[distances]


def _added(distance: NDArray[np.int64], count: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Distances ascending and once each, counts of equal ones added in order."""
    if np.any(np.diff(distance) < 0):
        order = np.argsort(distance, kind="stable")
        distance, count = distance[order], count[order]
    first = np.flatnonzero(np.diff(distance, prepend=-1))
    return distance[first], np.add.reduceat(count, first) if len(first) else np.zeros(0)


def _integers(values: ArrayLike) -> NDArray[np.int64]:
    """As int64. InputError unless whole numbers that fit."""
    array = np.asarray(values)
    if array.size == 0:
        return array.astype(np.int64)
    with np.errstate(invalid="ignore"):
        whole = array.astype(np.int64) if array.dtype.kind in "iuf" else np.zeros(0, np.int64)
    fractional = np.flatnonzero(whole != array) if whole.shape == array.shape else np.zeros(1, np.intp)
    if len(fractional) or (array.dtype.kind == "u" and array.max() > FARTHEST):
        value = array.ravel()[fractional[0]].item() if len(fractional) else int(array.max())
        raise InputError(
            "stack distances must be whole numbers in range", value=value, allowed="whole numbers up to 2**62"
        )
    return whole


def _whole(values: ArrayLike) -> NDArray[np.int64]:
    """Distances of reuses as int64, the same array if possible. InputError unless from 0 to 2**62."""
    array = _integers(values)
    low, high = int(array.min(initial=0)), int(array.max(initial=0))
    if low < 0 or high > FARTHEST:
        value = low if low < 0 else high
        raise InputError("a stack distance of a reuse is out of range", value=value, allowed="0 to 2**62")
    return values if isinstance(values, np.ndarray) and values.dtype == np.int64 else array


def _numbers(what: str, values: Any, finite: bool = True) -> NDArray[np.float64]:
    """Convert to float64, the same array if possible. InputError unless 0 or more, and finite if demanded."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} must be numbers", value=values, allowed="numbers of 0 or more") from None
    bad = ~(array >= 0) | (np.isinf(array) if finite else False)
    if np.any(bad):
        value = array.ravel()[np.flatnonzero(bad)[0]].item()
        allowed = "finite numbers of 0 or more" if finite else "numbers of 0 or more"
        raise InputError(f"{what} is out of range", value=value, allowed=allowed)
    return array


def _sealed(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array itself, read-only from now on: for arrays without other references."""
    array.flags.writeable = False
    return array


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array itself if no code can write to it, otherwise a read-only copy."""
    free = array.flags.writeable or array.base is not None
    return _sealed(array.copy()) if free else array
