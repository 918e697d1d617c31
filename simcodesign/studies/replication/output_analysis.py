"""Output analysis: how precise a mean of simulated values is, when it is precise enough, and where a run has settled.

Sources: Student's t intervals, batch means and replications as in Law, Simulation Modeling and Analysis (5th ed. 2015),
ch. 9; the warm-up by MSER-5, White, Simulation 69(6), 1997; the test of batches by von Neumann's ratio, Fishman,
Management Science 24(5), 1978; the ratio of two means by Fieller, J. R. Statist. Soc. B 16(2), 1954; stopping at a
precision by Chow and Robbins, Ann. Math. Statist. 36(2), 1965.

All intervals take the values to be independent draws of one distribution and their mean to be nearly normal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.to_json import PlainResult, attributes_of, fields_of

Floats = NDArray[np.float64]
Values = Sequence[float] | Floats

#: Values that differ by less than this fraction of the largest differ by rounding.
ROUNDING = 1e-12
#: Observations that MSER-5 takes together.
GROUP = 5
#: Batches of one long run: few and long ones are less correlated, and more narrow the interval little (Schmeiser,
#: Operations Research 30(3), 1982). Each must hold at least this many observations.
BATCHES, LEAST_IN_BATCH = 20, 5
#: Level of the one-sided test whether batches are correlated.
TEST_LEVEL = 0.05
#: Values after which an interval is looked at for the first time, and between one look and the next; and how many looks
#: in a row must find it narrow enough. One look would stop where the spread happens to look small: of intervals for
#: 95 % then 93 to 95 % hold the mean of normal values and 87 to 94 % the mean of exponential ones; of two looks 94 to
#: 95.5 % and 89 to 93 % do.
ROUND, LOOKS = 10, 2


@dataclass(frozen=True)
class Interval(PlainResult):
    """The mean of ``count`` values and the interval in which the true mean lies with probability ``level``.

    ``low`` and ``high`` are NaN of a single value; ``same``: two or more values are the same except for rounding, so
    that there is nothing to be uncertain of, and no width that could be a measure of it.
    """

    mean: float
    low: float
    high: float
    count: int
    level: float
    same: bool = False

    @property
    def half_width(self) -> float:
        """Half the width of the interval, in the unit of the mean."""
        return (self.high - self.low) / 2

    @property
    def relative(self) -> float:
        """Half-width over the absolute mean: 0 if all values are the same, infinite of a mean of 0."""
        if self.same:
            return 0.0
        return self.half_width / abs(self.mean) if self.mean else math.inf

    def holds(self, value: float) -> bool:
        """Whether the value lies in the interval."""
        return self.low <= value <= self.high

    def json_fields(self) -> dict[str, float | bool]:
        """Return the fields; without an interval if all values are the same."""
        return attributes_of(self, "mean", *(("same",) if self.same else ("half_width", "low", "high")))


def check_level(level: float) -> float:
    """Return the probability. InputError unless it lies above 0 and below 1."""
    if not isinstance(level, int | float) or not 0 < level < 1:
        raise InputError("not a level of confidence", value=level, allowed="above 0 and below 1, e.g. 0.95")
    return float(level)


def t_quantile(level: float, freedom: float) -> float:
    """Value that a t-distributed number exceeds in absolute value with probability 1 - ``level``."""
    from scipy import special

    return float(special.stdtrit(freedom, (1 + level) / 2))


def interval(values: Values, level: float = 0.95) -> Interval:
    """Student's t interval of the mean (Law, eq. 4.12). InputError without values, or if one is not finite."""
    array = _finite(values)
    if _all_same(array):
        first = float(array[0])
        return Interval(first, first, first, len(array), level, same=True)
    deviation = math.nan
    if len(array) > 1:
        scale = 2.0 ** np.frexp(np.abs(array).max())[1]  # a power of two changes no digit, and no square overflows
        deviation = float((array / scale).std(ddof=1) * scale)
    return spread_interval(float(array.mean()), deviation, len(array), level)


def spread_interval(mean: float, deviation: float, count: int, level: float) -> Interval:
    """Interval from the mean and the standard deviation of ``count`` values."""
    if count < 2:
        return Interval(mean, math.nan, math.nan, count, level)
    half = t_quantile(level, count - 1) * deviation / math.sqrt(count)
    return Interval(mean, mean - half, mean + half, count, level)


def known_to(values: Values, precision: float, level: float = 0.95, scale: Values | None = None) -> bool:
    """Whether sampling may stop: the half-width is at most ``precision`` x the mean, now and at the look before.

    Looks are taken after ROUND, 2 ROUND, 3 ROUND ... values. ``scale``: values whose mean the half-width is relative
    to, as for a difference, which may well be about 0; by default the values themselves.
    """
    array = _finite(values)
    scales = array if scale is None else _finite(scale)
    count = len(array)
    if count % ROUND or count < LOOKS * ROUND:
        return False
    return all(
        _narrow(array[:looked_at], scales[:looked_at], precision, level)
        for looked_at in range(count, count - LOOKS * ROUND, -ROUND)
    )


def _narrow(values: Floats, scale: Floats, precision: float, level: float) -> bool:
    mean = interval(values, level)
    return mean.same or mean.half_width <= precision * abs(float(scale.mean()))


# ---------------------------------------------------------------------------------------------------------------------
# Within one run


@dataclass(frozen=True)
class WarmUp:
    """So many first observations of a run are left out.

    ``late``: MSER-5 would leave out all that it may, half of them: the run may not have settled at all.
    """

    removed: int
    late: bool = False


def mser5(values: Values) -> WarmUp:
    """Where a run has settled, by MSER-5: ``settled_at`` of the means of GROUP observations in a row.

    An incomplete group at the end is left out of this.

    For one run the choice may be caused by a low mean as well as by a settled one: runs that are correlated over a good
    part of their length come out too low (by 7 % for 2000 requests of an M/M/1 queue of load 0.8). For several runs
    their mean, observation by observation, should be judged, which has no such bias.
    """
    array = _finite(values)
    groups = len(array) // GROUP
    if groups < 2:
        return WarmUp(0)
    cut = settled_at(array[: groups * GROUP].reshape(groups, GROUP).mean(axis=1))
    return WarmUp(GROUP * cut, late=cut == groups // 2)


def settled_at(means: Values) -> int:
    """How many of the means Z_1 ...

    Z_k of groups of observations to leave out, so that the mean of the rest looks most certain: the least d of 0 ... k
    / 2 that minimizes sum over i > d of (Z_i - mean of these)^2 / (k - d)^2.
    """
    array = _finite(means)
    count = len(array)
    array = array - array[count // 2 :].mean()  # so that sums of squares keep their digits
    left = np.arange(count, 0, -1)
    sums, squares = (np.cumsum(part[::-1])[::-1] for part in (array, array**2))
    errors = np.maximum(squares - sums**2 / left, 0.0) / left.astype(np.float64) ** 2
    return int(np.argmin(errors[: count // 2 + 1]))


@dataclass(frozen=True)
class BatchMeans:
    """The interval of the mean of one long run, from the means of ``batches`` spans of ``size`` observations each.

    ``correlation``: of neighbouring batches, 1 - von Neumann's ratio / 2; if it is above ``threshold`` they are not
    independent and the interval is too narrow.
    """

    interval: Interval
    batches: int
    size: int
    correlation: float
    threshold: float

    @property
    def correlated(self) -> bool:
        """Whether the batches are too short."""
        return self.correlation > self.threshold


def batch_means(values: Values, level: float = 0.95, batches: int = BATCHES) -> BatchMeans:
    """Batch means of observations of a run that has settled; what does not fill the batches is left out at the front.

    InputError for fewer than LEAST_IN_BATCH observations in a batch.
    """
    from scipy import special

    array = _finite(values)
    size = len(array) // batches
    if size < LEAST_IN_BATCH:
        what = f"too few observations for {batches} batches"
        raise InputError(what, value=len(array), allowed=f"{batches * LEAST_IN_BATCH} or more after the warm-up")
    means = array[len(array) - batches * size :].reshape(batches, size).mean(axis=1)
    # Under independence 1 - ratio / 2 is nearly normal about 0, with this variance (Fishman 1978, eq. 2.3).
    deviation = math.sqrt((batches - 2) / (batches**2 - 1))
    threshold = float(special.ndtri(1 - TEST_LEVEL)) * deviation
    return BatchMeans(interval(means, level), batches, size, neighbours(means), threshold)


def neighbours(values: Values) -> float:
    """Correlation of each value with the next, 1 - von Neumann's ratio / 2; 0 if all are the same."""
    array = _finite(values)
    if _all_same(array):
        return 0.0
    array = np.ldexp(array, -int(np.frexp(np.abs(array).max())[1]))  # of any size: squares neither overflow nor vanish
    total = float(((array - array.mean()) ** 2).sum())
    return 1.0 - float((np.diff(array) ** 2).sum()) / (2 * total)


# ---------------------------------------------------------------------------------------------------------------------
# Two systems


@dataclass(frozen=True)
class PairedIntervals(PlainResult):
    """Two systems under the same random numbers: ``difference`` and ``ratio`` are second against first.

    ``correlation``: of the pairs, NaN if one of the two does not vary; ``narrowing``: how many times wider the
    interval of the difference would be from independent runs, as many of each; infinite where the difference is always
    the same, NaN if nothing varies.
    """

    first: Interval
    second: Interval
    difference: Interval
    ratio: Interval
    correlation: float
    narrowing: float

    @property
    def decided(self) -> bool:
        """Whether the interval of the difference excludes 0."""
        return not self.difference.holds(0.0) and not math.isnan(self.difference.low)

    def json_fields(self) -> dict[str, Any]:
        """With what is decided."""
        return fields_of(self, "decided")


def paired(first: Values, second: Values, level: float = 0.95) -> PairedIntervals:
    """Paired t interval of the difference of the means, Fieller's of their ratio. InputError for unequal numbers."""
    one, other = _finite(first), _finite(second)
    if len(one) != len(other):
        raise InputError("pairs of values", value=(len(one), len(other)), allowed="as many of each")
    sides = interval(one, level), interval(other, level)
    difference = interval(other - one, level)
    if all(side.same for side in sides):
        gap = sides[1].mean - sides[0].mean
        difference = Interval(gap, gap, gap, len(one), level, same=True)
    varies = len(one) > 1 and not any(side.same for side in sides)
    correlation = _correlation(one, other) if varies else math.nan
    return PairedIntervals(
        *sides,
        difference,
        ratio_interval(one, other, level),
        correlation,
        _narrowing(one, other, difference, level),
    )


def ratio_interval(first: Values, second: Values, level: float = 0.95) -> Interval:
    """Fieller's interval of mean of ``second`` / mean of ``first``, from pairs.

    It holds every ratio r that the t interval of the pairs second - r x first does not refute, and so holds 1 where
    the paired interval of the difference holds 0. Without bounds where the mean of ``first`` may be 0.
    """
    one, other = _finite(first), _finite(second)
    count, below = len(one), float(one.mean())
    ratio = float(other.mean()) / below if below else math.nan
    if _all_same(one) and _all_same(other):
        ratio = float(other[0] / one[0]) if one[0] else math.nan
        return Interval(ratio, ratio, ratio, count, level, same=True)
    if count < 2:
        return Interval(ratio, math.nan, math.nan, count, level)
    spreads = np.cov(one, other) * t_quantile(level, count - 1) ** 2 / count
    a, b, c = below**2 - spreads[0, 0], below * other.mean() - spreads[0, 1], other.mean() ** 2 - spreads[1, 1]
    if a <= 0:
        return Interval(ratio, -math.inf, math.inf, count, level)
    root = math.sqrt(max(float(b * b - a * c), 0.0))
    return Interval(ratio, float(b - root) / float(a), float(b + root) / float(a), count, level)


def _narrowing(one: Floats, other: Floats, difference: Interval, level: float) -> float:
    """Half-width of Welch's interval over the half-width of the pairs."""
    count = len(one)
    if count < 2 or (_all_same(one) and _all_same(other)):
        return math.nan
    if difference.same or not difference.half_width:
        return math.inf
    parts = np.array([one.var(ddof=1), other.var(ddof=1)]) / count
    shares = parts / parts.max()  # whose squares do not vanish, however small they are
    freedom = float(shares.sum() ** 2 * (count - 1) / (shares**2).sum())
    return t_quantile(level, freedom) * math.sqrt(float(parts.sum())) / difference.half_width


def _correlation(one: Floats, other: Floats) -> float:
    """Correlation of pairs of values that vary, however large or small they are."""
    scaled = [(side - side.mean()) / np.ptp(side) for side in (one, other)]
    return float(scaled[0] @ scaled[1] / math.sqrt(float(scaled[0] @ scaled[0]) * float(scaled[1] @ scaled[1])))


def _finite(values: Values) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if not array.size or not np.isfinite(array).all():
        raise InputError("values of a sample", value=array.tolist()[:3], allowed="one or more finite numbers")
    return array


def _all_same(array: Floats) -> bool:
    """Whether two or more values are the same except for rounding."""
    low, high = float(array.min()), float(array.max())
    return len(array) > 1 and high - low <= ROUNDING * max(abs(low), abs(high))
