"""Stack-distance profiles from a sample of the keys of a trace, for traces too long to be taken whole.

SHARDS with a fixed sample size: Waldspurger, Park, Garthwaite, Ahmad, "Efficient MRC construction with SHARDS", FAST
2015. Which keys are sampled is in ``spatial_sampling``, samples in bursts of time in ``bursts``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from simcodesign.core.errors import InputError
from simcodesign.core.to_json import fields_of
from simcodesign.locality.profile import StackDistanceProfile
from simcodesign.locality.sampling.bursts import BurstProfiles, burst_profiles
from simcodesign.locality.sampling.spatial import sampled_chunks
from simcodesign.locality.traces.trace import Trace, as_trace, at_least, line_shift

__all__ = ["BurstProfiles", "SampledProfile", "burst_profiles", "sampled_profile"]

#: Keys in the sample, as in the paper.
MOST_KEYS = 8192
#: The most keys of a sample; its histograms take up to 1.5 GB then.
LARGEST_SAMPLE_KEYS = 2**22
#: Parts of the sample, from whose spread the error is estimated, and the fewest keys that one of them may expect.
PARTS, LEAST_KEYS = 16, 8
#: Distances of parts are distinguished to 1 in 128; of the whole sample to 1 in half of ``most_keys``.
_PART_BITS = 8
#: Scaled distances are cut off at 2 to this power.
_FARTHEST_BITS = 52


@dataclass(frozen=True, eq=False)
class SampledProfile:
    """The profile that a sample of keys gives for all accesses of a trace, and how far it may be off.

    ``rate`` is the fraction of keys in the sample at the end; 1: all were, and the profile is exact. Sizes below
    ``resolution_lines`` cannot be distinguished: whether a distance is 0 or that many is chance. ``correction`` is the
    number of accesses put at distance 0 so that there are as many as in the trace (SHARDS-adj, of the same
    paper; below zero: taken off the smallest distances). ``parts`` are profiles from equal, disjoint parts of the
    sample, split by hash: each as if it was the sample, of a rate as many times lower.

    Three things make the error, and what is stated covers them so:
    - which keys were drawn (a frequent one counts much): ``standard_error``, from the spread of the parts;
    - a distance D appears as a binomial number of sampled keys, so that steps of the curve are moved or smeared over
      ``size_error``: sqrt(D (1 - R) / R) lines at rate R, exactly;
    - what depends on the rate itself, as the correction cut off at no accesses: estimated from the distance between
      the mean curve of the parts and the curve of the whole. ``interval`` puts the three together.
    """

    profile: StackDistanceProfile
    rate: float
    keys: int
    sampled_accesses: int
    correction: float
    parts: tuple[StackDistanceProfile, ...]

    @property
    def resolution_lines(self) -> float:
        """Keys of the trace for each one in the sample."""
        return 1 / self.rate

    @property
    def exact(self) -> bool:
        """Whether all keys were in the sample."""
        return self.rate == 1

    def miss_ratio(self, lines: ArrayLike) -> NDArray[np.float64]:
        """Misses per access of fully associative LRU caches of ``lines`` lines, of any shape."""
        return self.profile.miss_ratio(lines)

    def standard_error(self, lines: ArrayLike) -> NDArray[np.float64]:
        """Return the standard error of the miss ratio at these sizes from the choice of keys.

        The standard deviation of the curves of the k parts over sqrt(k). It covers neither steps that are moved nor
        sizes below ``resolution_lines``.
        """
        if self.exact:
            return np.zeros(np.shape(lines))[()]
        spread: NDArray[np.float64] = np.std(self._part_curves(lines), axis=0, ddof=1)
        return spread / math.sqrt(len(self.parts))

    def size_error(self, lines: ArrayLike) -> NDArray[np.float64]:
        """Return standard error of a distance of ``lines``, in lines: sqrt(D (1 - R) / R).

        A step of the curve may be as far from its plotted position.
        """
        return np.sqrt(np.asarray(lines, np.float64) * (1 - self.rate) / self.rate)

    def interval(self, lines: ArrayLike, level: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lowest and highest miss ratio at these sizes, each of the shape of ``lines``, from 0 to 1.

        With m the curve, s the standard error, h the size error, b the difference between the mean curve of the parts
        and m, and t the quantile of Student's distribution with k - 1 degrees of freedom: from m(C + t h) - (t s + b)
        to m(C - t h) + (t s + b). Cautious: smooth curves have both s and h for the same cause.

        Measured on synthetic traces (Zipf, uniform, stencil, loops, a hot set; 128 to 8192 keys, 30 to 100 seeds each,
        60 sizes from ``resolution_lines`` up): 97 to 100 % of the exact curve was inside the 95 % interval, and 78 to
        100 % within t standard errors alone. A step of the curve makes it as wide as the step.
        """
        if not 0 < level < 1:
            raise InputError("the level of an interval must be a probability", value=level, allowed="between 0 and 1")
        size, middle = np.asarray(lines, np.float64), self.miss_ratio(lines)
        if self.exact:
            return middle, middle
        quantile = float(stdtrit(len(self.parts) - 1, (1 + level) / 2))
        aside = quantile * self.size_error(size)
        error = quantile * self.standard_error(size) + np.abs(self._part_curves(size).mean(axis=0) - middle)
        low = self.miss_ratio(size + aside) - error
        high = self.miss_ratio(np.maximum(size - aside, 0)) + error
        return np.maximum(low, 0.0), np.minimum(high, 1.0)

    def _part_curves(self, lines: ArrayLike) -> NDArray[np.float64]:
        return np.stack([part.miss_ratio(lines) for part in self.parts])

    def json_fields(self) -> dict[str, Any]:
        """Return how the sample was drawn; ``level`` is the level of ``interval``."""
        return fields_of(self, "resolution_lines", "exact", without=("profile", "parts")) | {"level": 0.95}


def sampled_profile(
    trace: Trace | ArrayLike, line_bytes: int = 64, most_keys: int = MOST_KEYS, seed: int = 0, parts: int = PARTS
) -> SampledProfile:
    """Return the profile of a trace from a sample of at most ``most_keys`` of its keys.

    The keys are drawn by a hash that ``seed`` chooses.

    Reads the trace once, chunk by chunk; memory for a chunk and in proportion to ``most_keys``. A trace with no more
    keys gives its exact profile. Each sampled access counts 1 / R and each distance is scaled by 1 / R, where R is the
    rate at that time: an access counted before the rate fell keeps its weight, which is the same as the scaling down of
    earlier counts in the paper. InputError for a line that is no power of two, fewer than 2 parts, fewer than 8 keys
    for each part, or more than ``LARGEST_SAMPLE_KEYS``.
    """
    source = as_trace(trace)
    line_shift(line_bytes)
    number = at_least("parts of a sample", parts, 2)
    most = at_least("keys of a sample", most_keys, LEAST_KEYS * number)
    if most > LARGEST_SAMPLE_KEYS:
        raise InputError("a sample has too many keys", value=most, allowed=f"up to {LARGEST_SAMPLE_KEYS}")
    whole = _Histogram(max((most - 1).bit_length(), _PART_BITS))
    split = [_Histogram(_PART_BITS) for _ in range(number)]
    accesses, sampled, keys, rate = 0, 0, 0, 1.0
    for chunk in sampled_chunks(source, line_bytes, most, at_least("seed of a sample", seed, 0), number):
        keys, rate = chunk.keys, chunk.rate
        accesses, sampled = accesses + chunk.accesses, sampled + len(chunk.distance)
        whole.add(chunk.distance, rate)
        for one, histogram in enumerate(split):
            histogram.add(chunk.part_distance[chunk.part == one], rate / number)
    profile, correction = whole.profile(accesses, line_bytes)
    parted = tuple(histogram.profile(accesses, line_bytes)[0] for histogram in split)
    return SampledProfile(profile, rate, keys, sampled, correction, parted)


class _Histogram:
    """Weights of distances in bins: single distances below 2**bits, above that 2**(bits - 1) bins for each doubling.

    There are as many bins as the largest distance so far needs.
    """

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.weight, self.moment, self.cold = np.zeros(0), np.zeros(0), 0.0

    def _bin(self, distance: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the bin of each distance below 2**52."""
        power = np.maximum(np.frexp(distance)[1].astype(np.int64) - self.bits, 0)
        return (power << (self.bits - 1)) + (distance >> power)

    def add(self, distance: NDArray[np.int64], rate: float) -> None:
        """Distances among sampled keys, -1 for first touches, each standing for 1 / ``rate`` accesses and keys."""
        reused = distance[distance >= 0]
        self.cold += (len(distance) - len(reused)) / rate
        count = np.bincount(reused)
        single = np.flatnonzero(count)
        count = count[single]
        scaled = np.rint(np.minimum(single / rate, 2.0**_FARTHEST_BITS - 1)).astype(np.int64)
        bins = self._bin(scaled)
        self.weight = _sum(self.weight, np.bincount(bins, count / rate))
        self.moment = _sum(self.moment, np.bincount(bins, count / rate * scaled))

    def profile(self, accesses: int, line_bytes: int) -> tuple[StackDistanceProfile, float]:
        """Return the profile with as many accesses as the trace has, and how many had to be put at distance 0 for that.

        Frequently used keys make most of what is missing or too much, and these are used again soon.
        """
        used = np.flatnonzero(self.weight)
        distance = np.rint(self.moment[used] / self.weight[used]).astype(np.int64)
        distance, weight = np.append(0, distance), np.append(0.0, self.weight[used])
        missing = accesses - (float(weight.sum()) + self.cold)
        below = np.maximum(np.cumsum(weight) + missing, 0.0)
        cold = max(accesses - float(below[-1]), 0.0)
        count = np.diff(below, prepend=0.0)
        return StackDistanceProfile.from_counts(distance, count, cold, line_bytes), missing


def _sum(left: NDArray[np.float64], right: NDArray[Any]) -> NDArray[np.float64]:
    """Return the sum of two arrays, the shorter one with zeros at its end."""
    total = np.zeros(max(len(left), len(right)))
    total[: len(left)] = left
    total[: len(right)] += right
    return total
