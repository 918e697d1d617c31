"""Forms of a counter: each is recovered from points on it, and chosen over the others."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.counters.forms import (
    CONSTANT,
    EXPONENTIAL,
    LINEAR,
    LOGARITHMIC,
    POWER,
    PROCESSES,
    WORK,
    BestForm,
    Form,
    fit_forms,
    fit_normal_form,
    r_squared,
    ranked,
)

P = np.array([2.0, 4.0, 8.0, 16.0])
FIXED = 1e4 / P


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (LINEAR, lambda P: 3 * P + 7),
        (LOGARITHMIC, lambda P: 3 * np.log(P) + 7),
        (POWER, lambda P: 3 * P**1.7),
        (EXPONENTIAL, lambda P: 3 * np.exp(0.11 * P)),
        (CONSTANT, lambda P: 0 * P + 5),
    ],
)
def test_the_form_is_found(kind: str, values: object) -> None:
    best = fit_forms(P, np.full(4, 100.0), values(P))  # type: ignore[operator]
    assert best.forms[0].kind == kind
    assert best.forms[0].axis == PROCESSES
    assert best.r2 == pytest.approx(1, abs=1e-12)
    assert best.at(64, 100) == pytest.approx(values(np.array(64.0)), rel=1e-9)  # type: ignore[operator]


@given(st.floats(1e-3, 1e12), st.floats(0, 1e12), st.floats(1, 1e9))
def test_work_divided_evenly_and_a_constant(slope: float, constant: float, size: float) -> None:
    """a size/P + b, which no form in P alone is."""
    values = slope * size / P + constant
    best = fit_forms(P, size / P, values)
    expected = slope * size / 1024 + constant
    # Of what varies between the runs, the constant leaves only these digits.
    assert best.at(1024, size / 1024) == pytest.approx(expected, rel=1e-9, abs=1e-12 * values.max())


@given(st.floats(1e-6, 1e12), st.floats(-2.5, 2.5))
@example(1.0, 1.0)
@example(1.0, -1.0)
def test_powers(factor: float, exponent: float) -> None:
    # Next to these, a line (over P, over 1/P) or a logarithm meets all points to rounding, and is taken before a power.
    assume(all(exponent == simple or abs(exponent - simple) > 1e-3 for simple in (-1.0, 0.0, 1.0)))
    best = fit_forms(P, FIXED, factor * P**exponent)
    assert best.at(64, 1e4 / 64) == pytest.approx(factor * 64**exponent, rel=1e-9)


@given(st.lists(st.floats(1e-3, 1e3), min_size=4, max_size=4))
def test_least_squares_is_not_beaten_nearby(values: list[float]) -> None:
    """No form that was fitted is improved by changing one of its two numbers a little."""
    y = np.array(values)
    for form in fit_forms(P, FIXED, y).forms:
        x = FIXED if form.axis == WORK else P
        for da, db in ((1e-3, 0), (-1e-3, 0), (0, 1e-3), (0, -1e-3)):
            other = type(form)(form.kind, form.axis, form.a * (1 + da), form.b * (1 + db), 0)
            nearby = r_squared(y, np.array([other.evaluate(float(one)) for one in x]))
            assert form.r2 >= nearby - 1e-9


def test_a_form_that_turns_negative_is_passed_over() -> None:
    best = fit_forms(P, np.full(4, 9.0), np.array([100.0, 80.0, 40.0, 1.0]))
    assert best.forms[0].evaluate(64) < 0
    assert best.chosen(64, 9).evaluate(64) >= 0


def test_a_form_that_no_number_holds_is_passed_over() -> None:
    best = BestForm((Form(EXPONENTIAL, PROCESSES, 1.0, 1.0, 1.0), Form(POWER, PROCESSES, 2.0, 1.0, 0.9)))
    assert best.at(1e6, 1) == 2e6
    with pytest.raises(InputError, match="no form"):
        BestForm(best.forms[:1]).at(1e6, 1)


def test_forms_that_noise_could_swap_are_level() -> None:
    """Best by R squared, but the line before an exponential that is hardly better, and a constant before no law."""
    forms = {kind: Form(kind, PROCESSES, 1.0, 1.0, 0.0) for kind in (CONSTANT, LINEAR, EXPONENTIAL)}

    def first(constant: float, line: float, exponential: float) -> str:
        r2 = {CONSTANT: constant, LINEAR: line, EXPONENTIAL: exponential}
        return ranked([replace(forms[kind], r2=r2[kind]) for kind in forms])[0].kind

    assert first(0, 0.98, 0.99) == LINEAR
    assert first(0, 0.95, 0.99) == EXPONENTIAL
    assert first(0, 0.5, 0.8) == CONSTANT
    assert first(0, 1 - 1e-14, 1.0) == LINEAR
    assert first(0, 0.95, -math.inf) == LINEAR


@pytest.mark.parametrize("values", [[], [1.0, -1.0], [1.0, math.nan]])
def test_bad_values(values: list[float]) -> None:
    with pytest.raises(InputError, match="the values of a counter are out of range"):
        fit_forms(P[: len(values)], FIXED[: len(values)], np.array(values))


def test_repetitions_of_one_run_cannot_make_a_law() -> None:
    with pytest.raises(InputError, match="several numbers"):
        fit_forms(np.full(3, 4.0), np.full(3, 9.0), np.array([1.0, 2.0, 3.0]))


def test_the_normal_form() -> None:
    P = 2.0 ** np.arange(1, 8)
    law = fit_normal_form(P, np.full(7, 9.0), 5 + 3 * P)
    assert law.at(1024, 9) == pytest.approx(5 + 3 * 1024, rel=1e-6)
    work = fit_normal_form(P, 1e6 / P, 5 + 3e6 / P)
    assert work.at(1024, 1e6 / 1024) == pytest.approx(5 + 3e6 / 1024, rel=1e-6)
    assert work.r2 == pytest.approx(1)
    assert "work" in work.text
