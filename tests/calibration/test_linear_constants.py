"""Constants from times: against brute force, known truths, Student's t, and designs whose degeneracy is known."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from simcodesign.calibration.common_direction import common_direction
from simcodesign.calibration.linear_algebra import echelon, nonnegative
from simcodesign.calibration.linear_constants import ConstantsProblem, fit_constants
from simcodesign.core.errors import InputError
from tests import examples

NAMES = ("startup", "per_byte", "third", "fourth")
SIZES = np.array([1e2, 1e3, 5e3, 2e4, 1e5, 5e5])


def problem(design, times, known=None, **options) -> ConstantsProblem:
    design, times = np.asarray(design, float), np.asarray(times, float)
    known = np.zeros(len(times)) if known is None else np.asarray(known, float)
    return ConstantsProblem(NAMES[: design.shape[1]], design, times, known, **options)


def brute_force(design, target) -> float:
    """The least sum of squares with nothing below 0: every set of constants that are not 0 is tried."""
    best = float(target @ target)
    for count in range(1, design.shape[1] + 1):
        for chosen in combinations(range(design.shape[1]), count):
            part = design[:, chosen]
            x = np.linalg.lstsq(part, target, rcond=None)[0]
            if np.all(x >= 0):
                best = min(best, float(np.sum((target - part @ x) ** 2)))
    return best


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 7))
def test_nonnegative_is_the_best_of_all_choices(seed: int, columns: int, rows: int) -> None:
    draw = np.random.default_rng(seed)
    design, target = draw.uniform(0, 1, (rows, columns)), draw.normal(size=rows)
    x = nonnegative(design, target)
    assert np.all(x >= 0)
    assert np.sum((target - design @ x) ** 2) == pytest.approx(brute_force(design, target), rel=1e-9, abs=1e-12)


@given(st.floats(1e-7, 1e-2), st.floats(1e-10, 1e-6), st.floats(0, 1), st.sampled_from(["relative", "absolute"]))
def test_constants_come_back_from_exact_times(startup, per_byte, known, weighting) -> None:
    design = np.stack([np.arange(1.0, 7), SIZES], axis=1)
    parts = known * SIZES / SIZES.max()
    fit = fit_constants(problem(design, design @ [startup, per_byte] + parts, parts, weighting=weighting))
    # What is known may be larger than what is looked for, and its digits are then lost to it.
    lost = 1e-10 * (1 + parts.max() / min(startup, per_byte * SIZES.max()) * 1e-2)
    assert [one.value for one in fit.estimates] == pytest.approx([startup, per_byte], rel=max(lost, 1e-9), abs=1e-13)
    assert not any(group.missing for group in fit.groups)


def test_intervals_are_those_of_students_t_away_from_the_bound() -> None:
    draw = np.random.default_rng(1)
    design = np.stack([np.ones(6), SIZES], axis=1)
    times = design @ [1.0, 1e-5] + draw.normal(0, 0.05, 6)
    fit = fit_constants(problem(design, times, weighting="absolute"), 0.9)
    inverse = np.linalg.inv(design.T @ design)
    x = inverse @ design.T @ times
    error = np.sqrt(np.sum((times - design @ x) ** 2) / 4 * np.diag(inverse))
    for place, one in enumerate(fit.estimates):
        assert one.value == pytest.approx(x[place], rel=1e-9)
        assert one.standard_error == pytest.approx(error[place], rel=1e-9)
        assert (one.low, one.high) == pytest.approx(
            (x[place] - t.ppf(0.95, 4) * error[place], x[place] + t.ppf(0.95, 4) * error[place]), rel=1e-7
        )


def test_a_known_error_needs_no_residuals() -> None:
    fit = fit_constants(problem([[2.0]], [3.0], error=0.1), 0.9)
    assert fit["startup"].value == 1.5
    assert (fit["startup"].low, fit["startup"].high) == pytest.approx(
        (1.5 * (1 - 0.1 * 1.6448536269514722), 1.5 * (1 + 0.1 * 1.6448536269514722)), rel=1e-9
    )


def test_without_spare_times_there_is_no_interval() -> None:
    fit = fit_constants(problem([[2.0]], [3.0]))
    assert np.isnan(fit["startup"].low)
    assert np.isnan(fit.groups[0].error)


@pytest.mark.thorough
@pytest.mark.parametrize("truth", [(2e-4, 3e-8), (2e-4, 0.0), (0.0, 3e-8)])
def test_intervals_cover_the_truth_as_often_as_they_say(truth: tuple[float, float]) -> None:
    """90 % intervals over 150 made-up runs. A constant that is 0 is covered in 95 % of them, for errors below cannot
    occur; a binomial count of 150 is off by 5 % at three standard deviations."""
    draw = np.random.default_rng(20)
    design = np.tile(np.stack([np.array([1.0, 2, 4, 8, 16, 32]), SIZES], axis=1), (2, 1))
    exact = design @ truth
    covered = np.zeros(2)
    runs = 150
    for _ in range(runs):
        fit = fit_constants(problem(design, exact * (1 + 0.05 * draw.standard_normal(12))), 0.9)
        covered += [one.low <= value <= one.high for one, value in zip(fit.estimates, truth, strict=True)]
    for share, value in zip(covered / runs, truth, strict=True):
        assert 0.80 <= share <= (0.97 if value else 1.0), covered / runs


def test_leaving_one_out_agrees_with_the_standard_errors() -> None:
    """The jackknife, which knows nothing of the formula: within a factor of two for 60 times."""
    draw = np.random.default_rng(4)
    design = np.tile(np.stack([np.array([1.0, 2, 4, 8, 16, 32]), SIZES], axis=1), (10, 1))
    times = design @ [2e-4, 3e-8] * (1 + 0.05 * draw.standard_normal(60))
    fit = fit_constants(problem(design, times))
    left = np.array(
        [
            fit_constants(problem(np.delete(design, row, axis=0), np.delete(times, row))).solution
            for row in range(len(times))
        ]
    )
    jackknife = np.sqrt((len(times) - 1) * left.var(axis=0))
    ratio = jackknife / [one.standard_error for one in fit.estimates]
    assert np.all((ratio > 0.5) & (ratio < 2))


def test_a_constant_is_held_at_zero_and_says_so() -> None:
    design = np.stack([np.ones(6), SIZES], axis=1)
    fit = fit_constants(problem(design, design @ [0.2, 0] + np.array([3, 2, 1, -1, -2, -3]) * 1e-3))
    held = fit["per_byte"]
    assert (held.value, held.low, held.at_bound) == (0.0, 0.0, True)
    assert np.isnan(held.standard_error)
    assert not fit["startup"].at_bound


# What cannot be told apart.


def test_one_size_determines_one_sum() -> None:
    """All messages of 4096 B: startup + 4096 B per_byte is determined, and each lies between 0 and all of it."""
    counts = np.array([15.0, 30, 60, 120])
    fit = fit_constants(problem(np.stack([counts, 4096 * counts], axis=1), counts * 3e-3))
    (group,) = fit.groups
    (sum_,) = group.combinations
    assert (group.undetermined, group.missing) == (("startup", "per_byte"), 1)
    assert dict(sum_.weights) == pytest.approx({"startup": 1, "per_byte": 4096})
    assert sum_.value == pytest.approx(3e-3)
    for one, most in zip(fit.estimates, (3e-3, 3e-3 / 4096), strict=True):
        assert not one.determined
        assert (one.least, one.most) == pytest.approx((0, most))
    assert fit.fitted_s == pytest.approx(counts * 3e-3)


def test_a_combination_has_the_interval_of_the_sum() -> None:
    draw = np.random.default_rng(3)
    counts = np.array([15.0, 30, 60, 120, 240])
    times = counts * 3e-3 * (1 + 0.05 * draw.standard_normal(5))
    both = fit_constants(problem(np.stack([counts, 4096 * counts], axis=1), times)).groups[0].combinations[0]
    alone = fit_constants(problem(counts[:, None], times))["startup"]
    assert (both.value, both.low, both.high) == pytest.approx((alone.value, alone.low, alone.high), rel=1e-7)


def test_other_sizes_tell_them_apart() -> None:
    design = np.array([[15.0, 15 * 4096], [15, 15 * 8192]])
    assert fit_constants(problem(design, design @ [1e-4, 1e-7])).groups[0].missing == 0


def test_constants_of_different_rows_are_fitted_apart() -> None:
    design = np.array([[1.0, 0, 0], [2, 0, 0], [0, 1, 100], [0, 2, 200]])
    fit = fit_constants(problem(design, [3.0, 6, 5, 10]))
    assert [group.names for group in fit.groups] == [("startup",), ("per_byte", "third")]
    assert fit["startup"].value == pytest.approx(3)
    assert not fit["third"].determined


def test_a_constant_without_a_row_is_not_determined() -> None:
    fit = fit_constants(problem([[1.0, 0], [2, 0]], [3.0, 6]))
    none = fit["per_byte"]
    assert (none.determined, none.rows, none.low, none.high, none.least, none.most) == (False, 0, 0, np.inf, 0, np.inf)


def test_three_constants_two_of_them_together() -> None:
    """Reads and writes in one proportion, sizes that vary: the time per byte is determined, the startups together."""
    size = np.array([1e3, 2e3, 4e3])
    design = np.stack([np.ones(3), 0.1875 * np.ones(3), 2 * size], axis=1)
    fit = fit_constants(problem(design, design @ [148e-6, 5.25e-3, 76e-9]))
    assert fit["third"].value == pytest.approx(76e-9)
    assert fit.groups[0].undetermined == ("startup", "per_byte")
    (sum_,) = fit.groups[0].combinations
    assert (sum_.weights["per_byte"], sum_.value) == pytest.approx((0.1875, 148e-6 + 0.1875 * 5.25e-3))


@settings(max_examples=examples(25))
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_the_ranges_hold_every_solution_that_fits_equally_well(seed: int, rank: int) -> None:
    """Random designs of a rank below 4; the truth that made the times is one of the solutions."""
    draw = np.random.default_rng(seed)
    design = draw.uniform(0.1, 1, (6, rank)) @ draw.uniform(0.1, 1, (rank, 4))
    truth = draw.uniform(0, 1, 4)
    fit = fit_constants(problem(design, design @ truth))
    assert sum(group.missing for group in fit.groups) == 4 - rank
    for one, value in zip(fit.estimates, truth, strict=True):
        if one.determined:
            assert one.value == pytest.approx(value, rel=1e-5)
        else:
            assert one.least <= value * (1 + 1e-5) + 1e-6
            assert one.most >= value * (1 - 1e-5) - 1e-6
    for group in fit.groups:
        for sum_ in group.combinations:
            by_truth = sum(weight * truth[NAMES.index(name)] for name, weight in sum_.weights.items())
            scale = sum(abs(weight) * truth[NAMES.index(name)] for name, weight in sum_.weights.items())
            assert sum_.value == pytest.approx(by_truth, abs=1e-5 * scale + 1e-9)


def test_noise_hides_what_is_determined_in_exact_arithmetic() -> None:
    """Sizes that differ by 1 part in 1000 under noise of 5 %."""
    draw = np.random.default_rng(0)
    size = 4096 * (1 + 1e-3 * np.linspace(-1, 1, 8))
    design = np.stack([np.ones(8), size], axis=1)
    exact = design @ [1e-3, 1e-6]
    noisy = fit_constants(problem(design, exact * (1 + 0.05 * draw.standard_normal(8))))
    assert noisy.groups[0].missing == 0
    assert noisy.groups[0].hidden == (("startup", "per_byte"),)
    assert fit_constants(problem(design, exact)).groups[0].hidden == ()


@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_echelon_spans_the_same_space(seed: int, rank: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(rank, 4))
    reduced = echelon(rows)
    assert np.linalg.matrix_rank(np.vstack([rows, reduced]), tol=1e-6) == rank
    for row in reduced:
        leading = np.flatnonzero(row)[0]
        assert row[leading] == 1
        assert np.count_nonzero(reduced[:, leading]) == 1


# One vector times a factor.


@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=4), st.lists(st.floats(1e-2, 1e2), min_size=1, max_size=4))
def test_a_product_is_one_vector(vector: list[float], factors: list[float]) -> None:
    direction = common_direction(np.outer(vector, factors))
    assert direction.relative_misfit < 1e-6
    assert direction.factors == pytest.approx(np.array(factors) / factors[0], rel=1e-5)
    assert direction.vector == pytest.approx(np.array(vector) * factors[0], rel=1e-5)


def test_the_misfit_is_the_least_possible() -> None:
    """[[1, 1], [1, 2]]: logarithms are off by log(2)/4 in each of four entries, and no less is possible."""
    direction = common_direction([[1.0, 1.0], [1.0, 2.0]])
    assert direction.relative_misfit == pytest.approx(2**0.25 - 1)


def test_rounding_decides_whether_it_is_one_vector() -> None:
    table = np.round(np.outer([1.23, 4.56], [1, 2.345]), 2)
    good = common_direction(table, np.full((2, 2), 0.005))
    assert good.rounding_misfit is not None
    assert np.all(good.rounding_misfit <= 1)
    table[0, 1] *= 1.1
    bad = common_direction(table, np.full((2, 2), 0.005))
    assert bad.rounding_misfit is not None
    assert bad.rounding_misfit.max() > 1


@pytest.mark.parametrize("table", [[], [[0.0, 1.0]], [[-1.0]], [[np.nan]], [1.0, 2.0]])
def test_tables_without_logarithms_are_refused(table) -> None:
    with pytest.raises(InputError, match="table of constants"):
        common_direction(table)


def test_rounding_must_have_the_shape_of_the_table() -> None:
    with pytest.raises(InputError, match="rounding"):
        common_direction([[1.0, 2.0]], [[0.1]])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"design": [[1.0], [2.0]]}, "shapes"),
        ({"design": [[-1.0]]}, "design"),
        ({"design": [[np.inf]]}, "design"),
        ({"times": [-1.0]}, "times"),
        ({"times": [0.0]}, "no relative error"),
        ({"known": [np.nan]}, "known"),
        ({"weighting": "none"}, "weights"),
        ({"error": 0.0}, "error"),
        ({"design": np.zeros((0, 1)), "times": []}, "at least one"),
    ],
)
def test_problems_that_cannot_be(changes: dict, words: str) -> None:
    given_ = {"design": [[1.0]], "times": [1.0]} | changes
    with pytest.raises(InputError, match=words):
        problem(**given_)


def test_names_stand_once_and_levels_are_shares() -> None:
    with pytest.raises(InputError, match="two constants"):
        ConstantsProblem(("a", "a"), np.ones((1, 2)), np.ones(1), np.zeros(1))
    with pytest.raises(InputError, match="level"):
        fit_constants(problem([[1.0]], [1.0]), 90)
