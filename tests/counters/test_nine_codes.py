"""The interval of a median: its coverage by the binomial distribution, and by trial on a heavy-tailed one."""

from __future__ import annotations

import numpy as np
import pytest

from validation.papers.counters.nine_codes import median_interval


@pytest.mark.parametrize(
    ("count", "rank", "coverage"), [(6, 1, 0.96875), (8, 1, 0.9921875), (9, 2, 0.9609375), (20, 6, 0.9586105)]
)
def test_ranks_and_coverage(count: int, rank: int, coverage: float) -> None:
    """By hand: 1 - 2 sum C(n, j)/2^n over j < rank."""
    interval = median_interval(list(range(1, count + 1)))
    assert (interval.low, interval.high) == (rank, count + 1 - rank)
    assert interval.coverage == pytest.approx(coverage, rel=1e-6)


def test_too_few_values_say_nothing() -> None:
    assert median_interval([1, 2, 3, 4, 5]).high == np.inf


@pytest.mark.thorough
def test_coverage_where_means_have_none() -> None:
    draws = np.random.default_rng(0).standard_cauchy((4000, 20))
    values = [median_interval(row) for row in draws]
    assert np.mean([one.low <= 0 <= one.high for one in values]) == pytest.approx(0.9586, abs=0.012)
