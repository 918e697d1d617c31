"""Output analysis against SciPy, definitions written out, and processes whose means are known."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import signal, stats

from simcodesign.core.errors import InputError
from simcodesign.studies.replication.output_analysis import (
    GROUP,
    LOOKS,
    ROUND,
    batch_means,
    check_level,
    interval,
    known_to,
    mser5,
    neighbours,
    paired,
    ratio_interval,
)
from tests import examples

NUMBERS = st.floats(-1e6, 1e6).map(lambda value: round(value, 6))  # SciPy warns of squares that vanish
SAMPLES = st.lists(NUMBERS, min_size=2, max_size=40)


def lindley(generator: np.random.Generator, count: int, load: float) -> np.ndarray:
    """Response times of an M/M/1 queue of mean service 1 that starts empty, by Lindley's recursion."""
    service, between = generator.exponential(1.0, count), generator.exponential(1 / load, count)
    steps = service[:-1] - between[1:]
    walk = np.concatenate([[0.0], np.cumsum(steps)])
    return walk - np.minimum.accumulate(walk) + service


def ar1(generator: np.random.Generator, count: int, phi: float) -> np.ndarray:
    """Stationary, of mean 0 and innovations of variance 1."""
    noise = generator.normal(size=count)
    noise[0] /= math.sqrt(1 - phi**2)
    return np.asarray(signal.lfilter([1.0], [1.0, -phi], noise))


# --- Intervals -----------------------------------------------------------------------------------------------


@given(SAMPLES, st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_interval_is_that_of_scipy(values: list[float], level: float) -> None:
    mean = interval(values, level)
    if mean.same:
        assert np.ptp(values) <= 1e-12 * np.abs(values).max()
        return
    low, high = stats.t.interval(level, len(values) - 1, np.mean(values), stats.sem(values))
    scale = np.abs(values).max()
    assert (mean.low, mean.high) == pytest.approx((low, high), rel=1e-9, abs=1e-9 * scale)
    assert mean.holds(mean.mean)
    assert mean.half_width == pytest.approx((high - low) / 2, rel=1e-6, abs=1e-9 * scale)


def test_squares_that_overflow_do_not_matter() -> None:
    values = [1.0, 2.5, 4.0]
    small, large = interval(values), interval([value * 2.0**600 for value in values])
    assert (large.low, large.high) == (small.low * 2.0**600, small.high * 2.0**600)


def test_what_does_not_vary_has_no_width_to_claim() -> None:
    same = interval([0.1 + 0.2, 0.3, 0.3])
    assert same.same
    assert same.relative == 0.0
    assert "half_width" not in same.to_dict()
    one = interval([3.0])
    assert not one.same
    assert math.isnan(one.half_width)
    assert interval([-1.0, 1.0]).relative == math.inf


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf]])
def test_bad_values_are_refused(values: list[float]) -> None:
    with pytest.raises(InputError, match="finite numbers"):
        interval(values)


@pytest.mark.parametrize("level", [0, 1, 95, -0.1, "0.95", math.nan])
def test_bad_levels_are_refused(level: Any) -> None:
    with pytest.raises(InputError, match="level"):
        check_level(level)


def test_coverage_of_means_of_queues() -> None:
    """200 experiments of 12 replications of an M/M/1 queue, the warm-up of their mean removed: response 1 / (1 - load)."""
    load, hits = 0.5, 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        runs = np.array([lindley(generator, 2000, load) for _ in range(12)])
        hits += interval(runs[:, mser5(runs.mean(axis=0)).removed :].mean(axis=1)).holds(1 / (1 - load))
    assert 0.90 * 200 <= hits <= 0.99 * 200


def test_coverage_of_one_long_run_of_a_queue() -> None:
    """200 runs of 20,000 requests of an M/M/1 queue: warm-up by MSER-5, 20 batches."""
    hits = 0
    for seed in range(200):
        values = lindley(np.random.default_rng(seed), 20_000, 0.5)
        hits += batch_means(values[mser5(values).removed :]).interval.holds(2.0)
    assert 0.90 * 200 <= hits <= 0.99 * 200


# --- Warm-up -------------------------------------------------------------------------------------------------


def mser5_by_definition(values: list[float]) -> dict[int, float]:
    """The statistic of every truncation, by White's definition."""
    groups = [float(np.mean(values[at : at + GROUP])) for at in range(0, len(values) - GROUP + 1, GROUP)]
    result = {}
    for cut in range(len(groups) // 2 + 1):
        left = groups[cut:]
        mean = math.fsum(left) / len(left)
        result[cut * GROUP] = math.fsum((one - mean) ** 2 for one in left) / len(left) ** 2
    return result


@given(st.lists(st.floats(-1e3, 1e3, allow_subnormal=False), min_size=2 * GROUP, max_size=120))
@pytest.mark.thorough
def test_mser5_minimizes_by_definition(values: list[float]) -> None:
    every = mser5_by_definition(values)
    warm_up = mser5(values)
    assert warm_up.removed in every
    # Where several are level but for rounding, any of them will do.
    assert every[warm_up.removed] <= min(every.values()) + 1e-9 * max(every.values()) + 1e-18
    assert warm_up.late == (warm_up.removed == max(every))


def test_mser5_takes_the_first_of_several_least() -> None:
    assert mser5([1.0] * 50).removed == 0
    assert mser5([5.0] * 5 + [1.0] * 45).removed == 5


def test_mser5_removes_a_made_up_transient() -> None:
    generator = np.random.default_rng(7)
    values = generator.normal(10, 1, 1000)
    values[:100] += 30 * np.exp(-np.arange(100) / 25)
    warm_up = mser5(values)
    assert 40 <= warm_up.removed <= 200
    assert not warm_up.late


def test_mser5_says_when_a_run_has_not_settled() -> None:
    assert mser5(np.arange(1000.0)).late
    assert not mser5([1.0, 2.0]).late


# --- Batch means ---------------------------------------------------------------------------------------------


def test_batches_by_hand() -> None:
    result = batch_means(np.arange(103.0), batches=20)
    means = np.arange(3.0, 103.0).reshape(20, 5).mean(axis=1)  # the first three are left out
    assert (result.batches, result.size) == (20, 5)
    assert result.interval == interval(means)
    assert result.correlated


def test_too_few_observations_for_batches() -> None:
    with pytest.raises(InputError, match="100 or more"):
        batch_means(np.arange(99.0))


@given(st.lists(NUMBERS, min_size=3, max_size=50))
def test_neighbours_is_von_neumanns_ratio(values: list[float]) -> None:
    mean = math.fsum(values) / len(values)
    total = math.fsum((one - mean) ** 2 for one in values)
    if np.ptp(values) <= 1e-6 * np.abs(values).max() or total < 1e-200:
        return
    ratio = math.fsum((after - before) ** 2 for before, after in pairwise(values)) / total
    assert neighbours(values) == pytest.approx(1 - ratio / 2, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_neighbours_of_any_size(scale: float) -> None:
    """Squares of these would overflow or vanish. By hand: 1 - (1 + 4 + 9)/(2 x 5) = -0.4 for 1, 2, 0, 3."""
    assert neighbours(np.array([1.0, 2.0, 0.0, 3.0]) * scale) == pytest.approx(-0.4)


def test_the_test_of_batches_has_its_level() -> None:
    """Of independent batches it finds about 5 % correlated, of strongly correlated ones nearly all."""
    generator = np.random.default_rng(11)
    false = sum(batch_means(generator.normal(size=100)).correlated for _ in range(1000))
    assert 25 <= false <= 80
    true = sum(batch_means(ar1(generator, 100, 0.98)).correlated for _ in range(50))
    assert true >= 45


def test_batch_means_know_the_variance_of_a_correlated_mean() -> None:
    """AR(1): the variance of the mean of n is about 1 / (n (1 - phi)^2); coverage is that of 95 %."""
    phi, count, hits, squares = 0.5, 4000, 0, []
    generator = np.random.default_rng(3)
    for _ in range(200):
        interval = batch_means(ar1(generator, count, phi)).interval
        hits += interval.holds(0.0)
        squares.append((interval.half_width / stats.t.ppf(0.975, 19)) ** 2)
    assert 0.90 * 200 <= hits <= 0.99 * 200
    assert np.mean(squares) == pytest.approx(1 / (count * (1 - phi) ** 2), rel=0.08)  # 200 chi-squared of 19: 2.3 %


# --- Stopping ------------------------------------------------------------------------------------------------


def stopped(values: np.ndarray, precision: float) -> int:
    """After how many of the values sampling stops."""
    return next(count for count in range(1, len(values) + 1) if known_to(values[:count], precision))


def test_stopping_by_definition() -> None:
    values = np.random.default_rng(5).normal(1, 0.05, 400)
    precision = 0.01
    narrow = [
        2 * precision * abs(values[:n].mean())
        >= np.ptp(stats.t.interval(0.95, n - 1, values[:n].mean(), stats.sem(values[:n])))
        for n in range(ROUND, 401, ROUND)
    ]
    expected = next(at for at in range(1, len(narrow)) if narrow[at] and narrow[at - 1])
    assert stopped(values, precision) == ROUND * (expected + 1) > LOOKS * ROUND


def test_what_does_not_vary_stops_at_the_first_chance() -> None:
    assert stopped(np.full(100, 3.0), 0.001) == LOOKS * ROUND


def test_differences_are_relative_to_a_scale() -> None:
    gaps = np.random.default_rng(1).normal(0, 1, 20)
    assert not known_to(gaps, 0.01)
    assert known_to(gaps, 0.01, scale=np.full(20, 1000.0))


def test_coverage_of_sequential_stopping() -> None:
    """A rule that looks at the data costs coverage; here it stops at about 50 values on average."""
    hits = 0
    for seed in range(200):
        values = np.random.default_rng(seed).normal(1, 0.03, 600)
        hits += interval(values[: stopped(values, 0.01)]).holds(1.0)
    assert 0.90 * 200 <= hits <= 0.99 * 200


# --- Pairs ---------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=30))
def test_paired_difference_is_that_of_scipy(pairs: list[tuple[float, float]]) -> None:
    first, second = np.array(pairs).T
    result = paired(first, second)
    if result.difference.same:
        return
    known = stats.ttest_rel(second, first).confidence_interval(0.95)
    scale = 1e-9 * np.abs(pairs).max()
    assert result.difference.low == pytest.approx(known.low, rel=1e-9, abs=scale)
    assert result.difference.high == pytest.approx(known.high, rel=1e-9, abs=scale)
    assert result.decided == (not known.low <= 0 <= known.high)


def test_narrowing_is_that_against_welch() -> None:
    generator = np.random.default_rng(2)
    shared = generator.normal(size=25)
    first, second = 10 + shared, 11 + 1.5 * shared + 0.1 * generator.normal(size=25)
    welch = stats.ttest_ind(second, first, equal_var=False).confidence_interval(0.95)
    pairs = paired(first, second)
    assert pairs.narrowing == pytest.approx((welch.high - welch.low) / 2 / pairs.difference.half_width)
    assert pairs.narrowing > 2
    assert pairs.correlation == pytest.approx(stats.pearsonr(first, second).statistic)


@settings(max_examples=examples(50))
@given(st.integers(0, 10_000), st.floats(0.5, 2.0))
def test_fieller_holds_what_the_pairs_do_not_refute(seed: int, factor: float) -> None:
    generator = np.random.default_rng(seed)
    first = generator.normal(10, 1, 12)
    second = factor * first + generator.normal(0, 1, 12)
    ratio = ratio_interval(first, second)
    for end in (ratio.low, ratio.high):  # at its ends the t interval of second - r first just touches 0
        known = stats.ttest_1samp(second - end * first, 0).pvalue
        assert known == pytest.approx(0.05, rel=1e-6)
    assert ratio.holds(float(second.mean() / first.mean()))
    assert ratio.holds(1.0) == (not paired(first, second).decided)


def test_ratio_has_no_bounds_where_the_first_may_be_zero() -> None:
    ratio = ratio_interval([-1.0, 1.0, 0.5], [1.0, 2.0, 3.0])
    assert (ratio.low, ratio.high) == (-math.inf, math.inf)


def test_pairs_of_what_does_not_vary() -> None:
    pairs = paired([2.0, 2.0], [3.0, 3.0])
    assert pairs.difference.same
    assert pairs.decided
    assert pairs.ratio.mean == 1.5
    assert math.isnan(pairs.correlation)
    level = paired([2.0, 2.5], [2.0, 2.5])
    assert not level.decided
    assert level.difference.mean == 0.0


def test_unequal_numbers_are_no_pairs() -> None:
    with pytest.raises(InputError, match="as many of each"):
        paired([1.0, 2.0], [1.0])
