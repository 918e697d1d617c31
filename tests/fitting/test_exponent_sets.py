"""Sets of exponents: counted and compared with what is printed about them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from simcodesign.core.errors import InputError
from simcodesign.fitting.selection.exponent_sets import EXTRAP, PAPER, exponent_set
from tests.oracles import truth_sets


def test_extrap_has_42_pairs() -> None:
    assert len(EXTRAP.pairs) == 42
    assert [(float(i), int(j)) for i, j in EXTRAP.pairs] == truth_sets.PAIRS


def test_the_paper_has_155_with_the_constant() -> None:
    powers = {Fraction(i, 8) for i in range(25)} | {Fraction(i, 3) for i in range(10)}
    assert len(powers) == 31
    expected = {(power, Fraction(log, 2)) for power in powers for log in range(5)} - {(0, 0)}
    assert len(PAPER.pairs) == 154
    assert set(PAPER.pairs) == expected


def test_own_pairs_as_texts_floats_and_numbers() -> None:
    assert exponent_set([("3/8", 1), (0.3333333333333333, 0), (2, 0.5), (0, 0), ("3/8", 1)]).pairs == (
        (Fraction(3, 8), 1),
        (Fraction(1, 3), 0),
        (2, Fraction(1, 2)),
    )


def test_negative_exponents_on_request() -> None:
    pairs = exponent_set([(1, 0), (0, 1), ("1/2", 1)]).with_negative().pairs
    assert set(pairs) == {(1, 0), (0, 1), (Fraction(1, 2), 1), (-1, 0), (Fraction(-1, 2), 1)}


def test_sets_by_name() -> None:
    assert exponent_set("extrap") is EXTRAP
    assert exponent_set("paper") is PAPER
    assert exponent_set(PAPER) is PAPER


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("extrab", "did you mean 'extrap'"),
        ([], "without any pair"),
        ([(0, 0)], "without any pair"),
        ([(1, 2, 3)], "not a pair"),
        ([("a", 1)], "not a pair"),
        ([(float("nan"), 1)], "not a pair"),
        ([(float("inf"), 1)], "not a pair"),
        ([("1/0", 1)], "not a pair"),
        ([(None, 1)], "not a pair"),
        ([7], "not a pair"),
        ([(11, 0)], "-10 to 10"),
    ],
)
def test_what_is_refused(chosen: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        exponent_set(chosen)  # type: ignore[arg-type]
