"""Memory fits against inverses that are known in closed form, and what must hold for any footprint that grows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_workload
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.studies.requirements.memory_capacity import ALWAYS, FITS, NEVER, fit_memory
from tests import examples

APPS = ("kripke", "lulesh", "milc", "relearn", "icofoam")


def sized(footprint: str, n: str = "{default: 1, range: [1, 1e15]}", more: str = "") -> Workload:
    text = (
        f"simcodesign: 1\nname: sized\nparameters: {{n: {n}{more}}}\nfootprint: {footprint}\nprogram: [barrier: {{}}]\n"
    )
    return workload_from(parse_yaml(text, "w.yaml"))


def footprint(name: str, n: float, p: float) -> float:
    """Table II, typed here again."""
    match name:
        case "kripke":
            return 1e5 * n
        case "lulesh":
            return 1e5 * n * math.log2(n)
        case "milc":
            return 1e6 * n
        case "relearn":
            return 1e6 * math.sqrt(n)
    return 1e3 * n + 100 * p * math.log2(p)


@pytest.mark.parametrize("name", APPS)
@given(capacity=st.floats(1e3, 1e14), log_p=st.floats(0, 31))
@settings(max_examples=examples(40), deadline=None)
def test_what_is_found_fills_the_memory_and_one_more_does_not_fit(name: str, capacity: float, log_p: float) -> None:
    p = float(round(2**log_p))
    fit = fit_memory(name, p, capacity)
    if fit.answer == NEVER:
        assert footprint(name, 1.0, p) > capacity
        assert (fit.size, fit.whole, fit.overall, fit.fits) == (0.0, None, 0.0, False)
        assert sum(term.value for term in fit.terms) == pytest.approx(fit.smallest_bytes)
        return
    assume(fit.answer == FITS)
    assert footprint(name, fit.size, p) == pytest.approx(capacity, rel=1e-12)
    assert fit.overall == fit.size * p
    assert fit.whole is not None
    assert footprint(name, fit.whole, p) <= capacity * (1 + 1e-12)
    assert footprint(name, fit.whole + 1, p) > capacity * (1 - 1e-12)
    assert fit.left_bytes == pytest.approx(capacity - footprint(name, fit.whole, p), abs=1e-9 * capacity)


@pytest.mark.parametrize("name", APPS)
@given(capacity=st.floats(1e3, 1e14), factor=st.floats(1.0001, 1e3), p=st.integers(1, 2**31))
@settings(max_examples=examples(25), deadline=None)
def test_more_memory_holds_more(name: str, capacity: float, factor: float, p: int) -> None:
    small, large = fit_memory(name, p, capacity), fit_memory(name, p, factor * capacity)
    assert large.size >= small.size
    assert large.size > small.size or small.answer in (NEVER, ALWAYS)


@given(capacity=st.floats(1e3, 1e12), exponent=st.floats(0.2, 4), coefficient=st.floats(1e-3, 1e2))
@settings(deadline=None)
def test_powers_are_inverted(capacity: float, exponent: float, coefficient: float) -> None:
    described = sized("c*n**a", more=", c: {default: 1, range: [0, 1e9]}, a: {default: 1, range: [0, 9]}")
    fit = fit_memory(described, 4, capacity, {"c": coefficient, "a": exponent})
    expected = (capacity / coefficient) ** (1 / exponent)
    assume(expected < 1e15)
    assert fit.size == pytest.approx(max(expected, 1.0), rel=1e-11)


@given(
    slopes=st.lists(st.floats(0, 1e3, allow_subnormal=False), min_size=3, max_size=3),
    p=st.integers(1, 10**6),
    n=st.floats(1, 1e9),
)
@settings(deadline=None)
def test_what_was_put_in_comes_out(slopes: list[float], p: int, n: float) -> None:
    """Sums of terms that grow, with equations between, at a capacity that is the footprint of a size."""
    text = "a*n*log2(n + 1)"
    described = workload_from(
        parse_yaml(
            "simcodesign: 1\nname: sized\nparameters: {n: {default: 1, range: [1, 1e15]}, a: {default: 1}, b: {default: 1}, "
            f"c: {{default: 1}}}}\nequations: {{e: f + 8, f: {text}}}\nfootprint: e + b*sqrt(n) + c*P\nprogram: [barrier: {{}}]\n",
            "w.yaml",
        )
    )
    a, b, c = slopes
    assume(a * n > 1e-3 * (c * p + 8))  # else the size is lost in the rounding of the other terms
    capacity = a * n * math.log2(n + 1) + 8 + b * math.sqrt(n) + c * p
    fit = fit_memory(described, p, capacity, {"a": a, "b": b, "c": c})
    assert fit.size == pytest.approx(n, rel=1e-9)


def test_a_footprint_that_does_not_grow_bounds_nothing() -> None:
    fit = fit_memory(sized("8*P"), 10, 100)
    assert (fit.answer, fit.size, fit.left_bytes) == (ALWAYS, 1e15, 20)
    assert fit_memory(sized("8*P"), 100, 100).answer == NEVER
    assert fit_memory(sized("n", "{default: 1, range: [1, 50]}"), 1, 100).size == 50


def test_a_whole_parameter_may_be_a_fraction_on_the_way() -> None:
    fit = fit_memory(sized("8*n", "{default: 3, whole: true, range: [1, 1e9]}"), 1, 100)
    assert (fit.size, fit.whole, fit.left_bytes) == (pytest.approx(12.5), 12.0, 4.0)


def test_a_parameter_without_limits() -> None:
    assert fit_memory(sized("8*n", "{default: 3}"), 1, 1e30).size == pytest.approx(1.25e29)
    assert fit_memory(sized("exp(n)", "{default: 3}"), 1, 1e30).size == pytest.approx(30 * math.log(10), rel=1e-11)


def test_an_exact_fit_of_the_smallest_size() -> None:
    fit = fit_memory("kripke", 8, 1e5)
    assert (fit.answer, fit.size, fit.whole, fit.left_bytes) == (FITS, 1.0, 1.0, 0.0)
    assert fit_memory("lulesh", 8, 1e-3).whole == 1.0  # n log n is 0 at 1


@pytest.mark.parametrize(
    ("footprint", "what"),
    [
        ("1000 - n", "falls|no number"),
        ("1/n", "falls"),
        ("100*(2 + cos)", "unknown"),
        ("log2(0 - n)", "not finite|no number"),
    ],
)
def test_footprints_that_cannot_be_fitted(footprint: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        fit_memory(sized(footprint), 4, 1e6)


@pytest.mark.parametrize("capacity", [0, -1, math.nan, math.inf])
def test_capacities_that_are_none(capacity: float) -> None:
    with pytest.raises(InputError, match="memory of a process"):
        fit_memory("milc", 4, capacity)


def test_workloads_that_cannot_be_fitted() -> None:
    with pytest.raises(InputError, match="does not say its footprint"):
        fit_memory("jacobi", 4, 1e6)
    with pytest.raises(InputError, match="no parameter 'size'"):
        fit_memory("milc", 4, 1e6, size="size")
    with pytest.raises(InputError, match="no parameter 'x'"):
        fit_memory("milc", 4, 1e6, {"x": 1})
    with pytest.raises(InputError, match="one design point"):
        fit_memory("milc", 4, 1e6, {"c_bytes": np.array([1.0, 2.0])})
    assert load_workload("milc").footprint is not None
