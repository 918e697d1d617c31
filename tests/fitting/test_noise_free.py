"""Sums that nearly cancel, found in data without noise: counts follow exact formulas."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.fitting.fit import Fit, fit
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.selection.exponent_sets import EXTRAP
from simcodesign.fitting.selection.noise_free import _best_triples, _units
from simcodesign.fitting.selection.term_basis import axis_choices, basis_of, product_of
from simcodesign.fitting.weights import block_of
from tests import examples

RANKS, SIZES = (2.0, 4.0, 8.0, 16.0, 32.0), (64.0, 256.0, 1024.0, 4096.0, 16384.0)
POINTS = np.array(list(itertools.product(RANKS, SIZES)))
TARGET = (512.0, 131072.0)
#: All pairs of Extra-P's set take seconds for each series.
FEW = [
    (power, log)
    for power in ("0", "1/3", "1/2", "2/3", "1", "2", "3")
    for log in ("0", "1")
    if (power, log) != ("0", "0")
]


def fitted(count: Callable, repetitions: int = 1, noise: float = 0.0, exponents: Any = FEW) -> Fit:
    values = np.broadcast_to(count(*POINTS.T)[:, None], (len(POINTS), repetitions))
    values = values * (1 + noise * np.random.default_rng(5).normal(size=values.shape))
    data = Measurements(("p", "n"), POINTS, ("main",), ("bytes",), values[None])
    return fit(data, exponents=exponents, negative_exponents=True, negative_coefficients=True, target=TARGET)[0]


COUNTS: dict[str, tuple[Callable, int]] = {
    "all to all": (lambda p, n: (p - 1) * n, 2),
    "in slabs": (lambda p, n: 32 * n**3 * (p - 1) / p**2, 2),
    "pairwise and Bruck": (lambda p, n: (2 * (p - 1) + p / 2 * np.log2(p)) * n, 3),
    "three broadcasts": (lambda p, n: (4 * (p - 1) / p + np.log2(p)) * n, 3),
    "surface of a cube": (lambda p, n: 480 * n ** (2 / 3) - 960 * n ** (1 / 3) + 640 + 160 * np.log2(p), 3),
    "messages": (lambda p, n: 4 * np.log2(p) + 2 * (p - 1) + 2 * (p - 1) / p, 3),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_of_communication(name: str) -> None:
    """Their formulas hold 16 times the ranks and 8 times the size away, and no term too many is found."""
    count, terms = COUNTS[name]
    fits = fitted(count, repetitions=2)
    assert len(fits.model.terms) == terms
    assert fits.predict(TARGET).value == pytest.approx(float(count(*np.array(TARGET))), rel=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("name", COUNTS)
def test_counts_of_communication_among_all_exponents(name: str) -> None:
    count, terms = COUNTS[name]
    fits = fitted(count, repetitions=2, exponents="extrap")
    assert len(fits.model.terms) == terms
    assert fits.predict(TARGET).value == pytest.approx(float(count(*np.array(TARGET))), rel=1e-9)


def test_repeated_measurements_that_are_all_equal() -> None:
    """A halo in two dimensions: nothing is sent by one rank alone, so that what is left is not small everywhere."""
    ranks, edges = (1.0, 4.0, 16.0, 64.0, 256.0), (256.0, 512.0, 1024.0, 2048.0, 4096.0)
    points = np.array(list(itertools.product(ranks, edges)))
    count = lambda p, n: 320 * n * (np.sqrt(p) - 1) / p + 80 * np.log2(p)  # noqa: E731
    values = np.repeat(count(*points.T)[None, :, None], 2, 2)
    data = Measurements(("p", "n"), points, ("main",), ("bytes",), values)
    model = fit(data, exponents=FEW, negative_exponents=True, negative_coefficients=True)[0].model
    assert sorted(term.coefficient for term in model.terms) == pytest.approx([-320, 80, 320], rel=1e-9)
    assert model.constant == 0


def test_told_that_there_is_no_noise() -> None:
    """A curve that is met to 0.6 % might be noise; unless somebody knows better."""
    count, _ = COUNTS["surface of a cube"]
    data = Measurements(("p", "n"), POINTS, ("main",), ("bytes",), count(*POINTS.T)[None, :, None])
    item = fit(data, exponents=FEW, negative_exponents=True, negative_coefficients=True, exact=True, target=TARGET)[0]
    assert item.predict(TARGET).value == pytest.approx(float(count(*np.array(TARGET))), rel=1e-9)


def test_noise_is_left_alone() -> None:
    """One per mille of noise is no clean curve: what is found is the sum of two terms, and not one of three."""
    fits = fitted(lambda p, n: (p + np.log2(p)) * n, repetitions=5, noise=1e-3)
    assert len(fits.model.terms) <= 2


@settings(deadline=None, max_examples=examples(20))
@given(seed=st.integers(0, 2**32 - 1), constant=st.booleans())
def test_triples_are_those_of_brute_force(seed: int, constant: bool) -> None:
    """The three columns that leave least, against least squares of every three."""
    random = np.random.default_rng(seed)
    points = np.array([[2.0], [3.0], [5.0], [8.0], [13.0], [20.0]])
    basis = basis_of(points, product_of([axis_choices(EXTRAP)]))
    terms = np.sort(random.choice(len(basis.columns), 9, replace=False))
    values = random.uniform(1, 2, (1, len(points)))
    block = block_of(values, np.ones(values.shape, dtype=np.int64), "absolute", True)
    best = terms[_best_triples(_units(block, basis, terms, constant), block.scaled[0])[0]]

    def left(three: tuple[int, ...]) -> float:
        columns = [basis.columns[list(three)], np.ones((int(constant), len(points)))]
        matrix = np.concatenate(columns).T
        return float(((values[0] - matrix @ np.linalg.lstsq(matrix, values[0], rcond=None)[0]) ** 2).sum())

    least = min(left(three) for three in itertools.combinations(terms, 3))
    assert left(tuple(best)) == pytest.approx(least, rel=1e-5, abs=1e-9)
