"""Samples: within their ranges, evenly spread, the same for the same seed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.studies.sweep.design.grid import Known
from simcodesign.studies.sweep.design.sampling import METHODS, sampled
from tests import examples

WORDS = Known("solver", choices={"cg": 1.0, "gmres": 2.0})


def column(over: str, count: int, method: str, seed: int = 0) -> np.ndarray:
    return sampled([over], count, method, seed).axes[0].column


@pytest.mark.parametrize("method", METHODS)
def test_each_of_n_equal_parts_of_a_range_has_one_point(method: str) -> None:
    """The defining property of a Latin hypercube, and of each dimension of a Sobol sequence of 2^k points."""
    design = sampled(["x=2:4", "y=1:1e6:log", "z=-1:1"], 64, method, 3)
    x, y, z = (design.columns()[name] for name in "xyz")
    assert sorted(np.floor((x - 2) / 2 * 64)) == list(range(64))
    assert sorted(np.floor(np.log10(y) / 6 * 64)) == list(range(64))
    assert sorted(np.floor((z + 1) / 2 * 64)) == list(range(64))
    assert [axis.log for axis in design.axes] == [False, True, False]
    assert (design.note, design.count) == ("", 64)


@pytest.mark.parametrize("method", METHODS)
def test_a_seed_gives_one_sample(method: str) -> None:
    assert column("x=0:1", 10, method, 1).tolist() == column("x=0:1", 10, method, 1).tolist()
    assert column("x=0:1", 10, method, 1).tolist() != column("x=0:1", 10, method, 2).tolist()


@settings(deadline=None, max_examples=examples(50))
@given(
    st.floats(-1e9, 1e9, allow_subnormal=False),
    st.floats(0, 1e9, allow_subnormal=False),
    st.integers(1, 40),
    st.sampled_from(METHODS),
    st.integers(0, 9),
)
def test_values_stay_within_their_ranges(low: float, width: float, count: int, method: str, seed: int) -> None:
    high = low + width
    result = column(f"x={low!r}:{high!r}", count, method, seed)
    assert low <= result.min() <= result.max() <= high


@pytest.mark.parametrize("method", METHODS)
def test_whole_numbers_come_equally_often(method: str) -> None:
    over = ["P=1:8", "y=0:1"]
    item = sampled(over, 64, method, 5).columns()["P"]
    assert np.unique(item, return_counts=True)[1].tolist() == [8] * 8
    logarithmic = sampled(["P=1:1000:log", "y=0:1"], 512, method, 5).columns()["P"]
    assert (logarithmic == np.rint(logarithmic)).all()
    share = math.log(31.5 / 0.5) / math.log(1000.5 / 0.5)  # of 1 to 31, each from half below to half above
    assert abs((logarithmic <= 31).mean() - share) < 2 / 512


@pytest.mark.parametrize("method", METHODS)
def test_written_values_are_drawn_in_equal_shares(method: str) -> None:
    design = sampled(
        ["solver=cg,gmres", "y=0:1"], 32, method, 1, lambda name: WORDS if name == "solver" else Known(name)
    )
    words = design.columns()["solver"].tolist()
    assert (words.count("cg"), words.count("gmres")) == (16, 16)
    assert set(design.axes[0].given) == {1.0, 2.0}


def test_points_that_come_twice_are_left_out_and_told() -> None:
    design = sampled(["P=1:4"], 16, "sobol")
    assert sorted(design.axes[0].values) == [1, 2, 3, 4]
    assert design.note == "12 of 16 points came twice and are left out"


def test_a_sobol_sequence_that_is_cut_is_told() -> None:
    assert "64 or 128 points, rather than 100" in sampled(["x=0:1"], 100, "sobol").note
    assert sampled(["x=0:1"], 100, "lhs").note == ""
    assert sampled(["x=0:1"], 1, "sobol").count == 1


@pytest.mark.parametrize(
    ("over", "count", "method", "named"),
    [
        (["x=0:1"], 10, "random", "allowed: .*lhs, sobol"),
        (["x=0:1"], 0, "lhs", "points of a sample"),
        (["x=0:1"], 10**9, "lhs", "points of a sample"),
        ([], 10, "lhs", "nothing is varied"),
        (["x=0:1:log"], 10, "lhs", "begins above 0"),
        (["x=1:0"], 10, "lhs", "not in order"),
        (["P=1.2:1.8"], 10, "lhs", "no whole number"),
        (["x=0:1", "x=0:2"], 10, "lhs", "varied twice"),
        (["x=a:b"], 10, "lhs", "ends of a range"),
    ],
)
def test_what_is_no_sample(over: list[str], count: int, method: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        sampled(over, count, method)


def test_the_star_discrepancy_of_two_dimensions_is_below_that_of_chance() -> None:
    """Brute force over all boxes at the origin with corners at points of the sample."""

    def discrepancy(points: np.ndarray) -> float:
        corners = np.array([[x, y] for x in points[:, 0] for y in points[:, 1]])
        inside = (points[None] <= corners[:, None]).all(axis=2).mean(axis=1)
        return float(np.abs(inside - corners.prod(axis=1)).max())

    columns = sampled(["x=0:1", "y=0:1"], 64, "sobol", 1).columns()
    chance = np.random.default_rng(1).random((64, 2))
    assert discrepancy(np.stack([columns["x"], columns["y"]], axis=1)) < discrepancy(chance) / 2
