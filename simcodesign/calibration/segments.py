"""Piecewise linear times of messages: where the protocol changes, and how often.

A time is ``startup + bytes x per_byte`` with other constants in each segment of sizes (none below 0). Among all ways to
cut the sizes into K segments, the cut with the least sum of squared relative errors is found by dynamic programming
(Bellman and Roth, JASA 64, 1969). Errors are relative to the running median of five sizes, so that no time weighs more
because it came out low. K is chosen by cross-validation: the fewest segments whose mean squared logarithmic error on
sizes that were left out is within one standard error of the least (Breiman, Friedman, Olshen, Stone, 1984, section
3.4.3). Sizes left out between two segments belong to the lower one up to the geometric mean of the sizes that are left
on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import median_filter
from scipy.stats import f as f_distribution

from simcodesign.core.errors import InputError
from simcodesign.core.units import NOT_NEGATIVE_RANGE, POSITIVE_RANGE
from simcodesign.fitting.measurements import FloatArray, IntArray

#: The fewest sizes of a segment: two would be met by any two constants.
LEAST_SIZES = 3
#: The most segments that are tried.
MOST_SEGMENTS = 8
#: Number of sizes up to which each is left out once; of more, a tenth at a time, in this many random partitions.
LEAVE_ONE_OUT, FOLDS, PARTITIONS = 60, 10, 3
#: An error on a size that was left out counts as this factor at most.
MOST_RATIO = 1000.0
#: Squared errors below this are rounding: no number of segments is better than another.
ROUNDING = 1e-24
#: The most alternative places of one change.
MOST_ALTERNATIVES = 30
#: Sizes of the running median.
SMOOTHED = 5
#: The most different sizes, and numbers of one array while they are cut: of 8 bytes, with some twenty others.
MOST_SIZES, BLOCK = 4000, 1 << 20


@dataclass(frozen=True, eq=False)
class Segmentation:
    """Sizes (N,) cut into K segments.

    ``starts``: (K,) the first size of each by its place; ``startup_s``, ``per_byte_s``: (K,). ``errors`` and
    ``standard_errors``: mean squared logarithmic error on sizes left out, by the number of segments from 1 on, and its
    standard error; empty where the number was given. ``plausible``: for each of the K - 1 changes the sizes (least,
    most) after which it may be, at the level of the fit; ``alternatives``: other ``starts`` that are as plausible.
    """

    sizes: FloatArray
    times_s: FloatArray
    starts: IntArray
    startup_s: FloatArray
    per_byte_s: FloatArray
    errors: FloatArray
    standard_errors: FloatArray
    plausible: tuple[tuple[float, float], ...]
    alternatives: tuple[IntArray, ...] = ()

    @property
    def count(self) -> int:
        """Number of segments."""
        return len(self.starts)

    @property
    def up_to(self) -> FloatArray:
        """The last size of every segment but the last one, (K - 1,)."""
        return self.ends_of(self.starts)

    def ends_of(self, starts: IntArray) -> FloatArray:
        """Return the last size of every segment but the last one, for these starts."""
        return np.asarray(self.sizes[starts[1:] - 1])

    @property
    def segment_of(self) -> IntArray:
        """The segment of each size, (N,)."""
        return np.searchsorted(self.starts, np.arange(len(self.sizes)), side="right") - 1

    @property
    def fitted_s(self) -> FloatArray:
        """Times by the segments, (N,)."""
        segment = self.segment_of
        return np.asarray(self.startup_s[segment] + self.sizes * self.per_byte_s[segment])


def segmentation(
    sizes: FloatArray, times_s: FloatArray, segments: int | None = None, level: float = 0.9, seed: int = 0
) -> Segmentation:
    """Return the sizes, all different, cut where the least squares are.

    ``segments``: how many, None to choose by cross-validation (``seed``: of its partitions).

    Raises InputError for fewer sizes than the segments need, and for sizes and times that are not finite and above 0
    (a size may be 0).
    """
    order = np.argsort(sizes, kind="stable")
    x, y = np.asarray(sizes, dtype=np.float64)[order], np.asarray(times_s, dtype=np.float64)[order]
    _check(x, y, segments)
    errors = standard_errors = np.empty(0)
    if segments is None:
        errors, standard_errors = cross_validated(x, y, seed)
        segments = fewest_within_one_error(errors, standard_errors)
    cuts = _Cuts(x, y, segments)
    starts = cuts.best(segments)
    startup, per_byte = cuts.lines(starts)
    plausible, others = cuts.plausible(segments, level), cuts.alternatives(segments, level)
    return Segmentation(x, y, starts, startup, per_byte, errors, standard_errors, plausible, others)


def _check(x: FloatArray, y: FloatArray, segments: int | None) -> None:
    if len(x) != len(y) or len(np.unique(x)) < len(x):
        raise InputError("sizes and times of messages", value=(len(x), len(y)), allowed="one time of each size")
    if len(x) > MOST_SIZES:
        raise InputError("different sizes of messages", value=len(x), allowed=f"up to {MOST_SIZES}")
    if not np.all(np.isfinite(x) & (x >= 0)):
        raise InputError("sizes of messages", allowed=NOT_NEGATIVE_RANGE)
    if not np.all(np.isfinite(y) & (y > 0)):
        raise InputError("times of messages", allowed=POSITIVE_RANGE)
    most = len(x) // LEAST_SIZES
    if not most or not 1 <= (1 if segments is None else segments) <= most:
        allowed = f"1 to {most} of {len(x)} sizes: {LEAST_SIZES} or more each" if most else f"{LEAST_SIZES} sizes"
        raise InputError("segments", value=segments, allowed=allowed)


def fewest_within_one_error(errors: FloatArray, standard_errors: FloatArray) -> int:
    """Return the fewest segments whose error is within one standard error of the least."""
    best = int(np.argmin(errors))
    return int(np.argmax(errors <= max(errors[best] + standard_errors[best], ROUNDING))) + 1


def cross_validated(x: FloatArray, y: FloatArray, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Mean squared logarithmic error on sizes left out, for 1, 2, ... segments, and its standard error."""
    most = max(1, min(MOST_SEGMENTS, (len(x) - max(1, len(x) // FOLDS)) // LEAST_SIZES))
    squares = np.zeros((most, len(x)))
    rounds = 0
    for folds in _partitions(len(x), seed):
        rounds += 1
        for left_out in folds:
            kept = np.ones(len(x), dtype=np.bool_)
            kept[left_out] = False
            cuts = _Cuts(x[kept], y[kept], most)
            for count in range(1, most + 1):
                predicted = _predicted(cuts, count, x[left_out])
                ratio = np.clip(predicted / y[left_out], 1 / MOST_RATIO, MOST_RATIO)
                squares[count - 1, left_out] += np.log(ratio) ** 2
    squares /= rounds
    return squares.mean(axis=1), squares.std(axis=1, ddof=1) / np.sqrt(len(x)) if len(x) > 1 else np.zeros(most)


def _partitions(count: int, seed: int) -> Iterator[list[IntArray]]:
    if count <= LEAVE_ONE_OUT:
        yield [np.array([one]) for one in range(count)]
        return
    random = np.random.default_rng(seed)
    for _ in range(PARTITIONS):
        yield [np.sort(part) for part in np.array_split(random.permutation(count), FOLDS)]


def _predicted(cuts: _Cuts, count: int, at: FloatArray) -> FloatArray:
    """Return times of other sizes by ``count`` segments; one ends at the geometric mean of the sizes around its end."""
    starts = cuts.best(count)
    startup, per_byte = cuts.lines(starts)
    ends = np.sqrt(cuts.x[starts[1:]] * cuts.x[starts[1:] - 1])
    segment = np.searchsorted(ends, at, side="left")
    return np.asarray(startup[segment] + at * per_byte[segment])


def _lines(
    x: FloatArray, y: FloatArray, scale: FloatArray, first: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Startup, time per byte and sum of squares of the points from each of ``first`` (F,) to each other: (F, N) each.

    Sums are running ones, of weights 1/scale^2 and of products of x and y less the first point's, by which
    rounding stays small.
    """
    x0, y0 = x[first][:, None], y[first][:, None]
    there = np.arange(len(x)) >= first[:, None]
    # In units of the first point, so that weights of sizes that are decades apart are of like size.
    weights = np.where(there, (y0 / scale) ** 2, 0.0)
    dx, dy = np.where(there, x - x0, 0.0), np.where(there, (y - y0) / y0, 0.0)
    w, wx, wy, wxx, wxy, wyy = (np.cumsum(weights * one, axis=1) for one in (1.0, dx, dy, dx * dx, dx * dy, dy * dy))
    return _solved(w, wx, wy, wxx, wxy, wyy, x0, y0)


def _solved(
    w: FloatArray,
    wx: FloatArray,
    wy: FloatArray,
    wxx: FloatArray,
    wxy: FloatArray,
    wyy: FloatArray,
    x0: FloatArray,
    y0: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Startup, time per byte and sum of squares by the sums of ``_lines``, times as shares of ``y0`` less 1.

    The best on the boundary if one of the two would be below 0: the sum of squares is convex.
    """
    w = np.where(w > 0, w, 1.0)
    sxx, sxy, syy = wxx - wx * wx / w, wxy - wx * wy / w, wyy - wy * wy / w
    slope = np.divide(sxy, sxx, out=np.zeros_like(sxy), where=sxx > 0)
    mean = 1.0 + wy / w
    startup = mean - slope * (x0 + wx / w)
    # Through the origin, of x and y themselves.
    xx, xy = wxx + 2 * x0 * wx + x0 * x0 * w, wxy + wx + x0 * (wy + w)
    through = np.divide(xy, xx, out=np.zeros_like(xy), where=xx > 0)
    of_line, of_mean = np.maximum(syy - slope * sxy, 0.0), np.maximum(syy, 0.0)
    of_origin = np.maximum(wyy + 2 * wy + w - through * xy, 0.0)
    is_bad = (slope < 0) | (startup < 0)
    is_flat = is_bad & (of_mean <= of_origin)
    choices = [is_flat, is_bad]
    return (
        y0 * np.select(choices, [mean, np.zeros_like(mean)], startup),
        y0 * np.select(choices, [np.zeros_like(slope), through], slope),
        np.select(choices, [of_mean, of_origin], of_line),
    )


class _Cuts:
    """The best sums of squares of the first j sizes in k segments, and of those from j on."""

    def __init__(self, x: FloatArray, y: FloatArray, most: int) -> None:
        self.x, self.count = x, len(x)
        cost = np.full((self.count + 1, self.count + 1), np.inf)
        self._startup, self._per_byte = np.empty_like(cost[1:, 1:]), np.empty_like(cost[1:, 1:])
        scale = median_filter(y, SMOOTHED, mode="nearest")
        block = max(1, BLOCK // self.count)
        for begin in range(0, self.count, block):
            first = np.arange(begin, min(begin + block, self.count))
            self._startup[first], self._per_byte[first], squares = _lines(x, y, scale, first)
            long_enough = np.arange(1, self.count + 1) - first[:, None] >= LEAST_SIZES
            cost[first, 1:] = np.where(long_enough, squares, np.inf)
        self.cost = cost
        self.least = np.full((most + 1, self.count + 1), np.inf)
        self.least[0, 0] = 0.0
        self.before = np.zeros((most + 1, self.count + 1), dtype=np.int64)
        for k in range(1, most + 1):
            total = self.least[k - 1][:, None] + cost
            self.before[k] = np.argmin(total, axis=0)
            self.least[k] = np.min(total, axis=0)

    def best(self, count: int, end: int | None = None) -> IntArray:
        """Begin of each of ``count`` segments, of all sizes or of the sizes before ``end``."""
        starts, end = [], self.count if end is None else end
        for k in range(count, 0, -1):
            end = int(self.before[k, end])
            starts.append(end)
        return np.array(starts[::-1], dtype=np.int64)

    def lines(self, starts: IntArray) -> tuple[FloatArray, FloatArray]:
        """Startup and time per byte of each segment, (K,) each."""
        last = np.append(starts[1:], self.count) - 1
        return self._startup[starts, last], self._per_byte[starts, last]

    def plausible(self, count: int, level: float) -> tuple[tuple[float, float], ...]:
        """For each change the sizes between which it is.

        By the profile of the sum of squares: ends of the lower segment with which the others can be placed so
        that the sum is within the F quantile of the least.
        """
        return tuple((float(self.x[ends[0] - 1]), float(self.x[ends[-1]])) for ends in self._ends(count, level)[0])

    def alternatives(self, count: int, level: float) -> tuple[IntArray, ...]:
        """Return starts of segments if one change is at another of its plausible places.

        The others are at their best.
        """
        ends, following = self._ends(count, level)
        best = self.best(count)
        found: list[IntArray] = []
        for change, places in enumerate(ends, 1):
            others = places[places != best[change]]
            few = others[:: max(1, -(-len(others) // MOST_ALTERNATIVES))]
            for place in few.tolist():
                starts = [*self.best(change, place).tolist(), place]
                while len(starts) < count:
                    starts.append(int(following[count - len(starts) + 1, starts[-1]]))
                found.append(np.array(starts, dtype=np.int64))
        return tuple(found)

    def _ends(self, count: int, level: float) -> tuple[list[IntArray], IntArray]:
        """Return the plausible places of each change.

        Also, by the number of segments from a size on, where the second begins.
        """
        freedom = self.count - 3 * count + 1
        reach = f_distribution.ppf(level, 1, freedom) / freedom if freedom > 0 else np.inf
        most = float(self.least[count, self.count]) * (1 + reach) * (1 + 1e-9)
        after = np.full((count + 1, self.count + 1), np.inf)
        following = np.full((count + 1, self.count + 1), self.count, dtype=np.int64)
        after[0, self.count] = 0.0
        for k in range(1, count + 1):
            total = self.cost + after[k - 1][None, :]
            following[k], after[k] = np.argmin(total, axis=1), np.min(total, axis=1)
        ends = [np.flatnonzero(self.least[k] + after[count - k] <= most) for k in range(1, count)]
        return ends, following
