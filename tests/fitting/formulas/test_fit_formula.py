"""Coefficients against those that data were made with, NumPy's least squares, and SciPy's curve_fit."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import curve_fit

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.core.to_json import to_json
from simcodesign.fitting.fit import fit
from simcodesign.fitting.formulas.fit_formula import fit_formula
from simcodesign.fitting.formulas.formula_fit import AT_BOUND, NO_EFFECT, UNDETERMINED, FormulaFit
from simcodesign.fitting.formulas.variable_projection import linear_coefficients
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.readers.formats import read_measurements

GRID = np.array([(p, m) for p in (2.0, 4, 8, 16, 32) for m in (1e2, 1e3, 1e4, 1e5, 1e6)])
Function = Callable[..., Any]


def measured(function: Function, noise: float = 0.0, points: np.ndarray = GRID, seed: int = 1) -> Measurements:
    """Values of a function of P and m, with relative noise."""
    values = function(*points.T) * (1 + noise * np.random.default_rng(seed).standard_normal(len(points)))
    return Measurements(("P", "m")[: points.shape[1]], points, ("r",), ("time",), values[None, :, None])


def one(measurements: Measurements, formula: str, **options: Any) -> FormulaFit:
    (fitted,) = fit_formula(measurements, formula, **options)
    return fitted


# --- Made from known coefficients --------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("formula", "truth"),
    [
        ("c0 + c1*log2(P)*m + c2*P**x", {"c0": 1e-3, "c1": 2e-9, "c2": 3e-5, "x": 1.37}),
        ("c0 + c1*P*m", {"c0": 2.0, "c1": -3e-7}),
        ("a*(1 + b*m) + c*P**x", {"a": 1e-4, "b": 1e-3, "c": 2e-3, "x": -0.5}),
        ("1/(a + b*P*m)", {"a": 3.0, "b": 0.1}),
        ("max(a, b*m) + c*P", {"a": 1e-3, "b": 2e-8, "c": 1e-5}),
        ("a*exp(-m/k) + b*P", {"a": 2.0, "k": 3e4, "b": 0.1}),
        ("a*P**x*m**y", {"a": 7e-6, "x": 0.25, "y": 1.5}),
        ("where(m > 5e3, a + b*m, c*m)", {"a": 1e-3, "b": 2e-8, "c": 3e-7}),
        ("a*m + d*(P - 2)**x", {"a": 1e-6, "d": 3e-2, "x": 2.2}),
        ("sqrt(a*P + b*m)", {"a": 2e-3, "b": 1e-5}),
        ("a*log2(P)**x + b*m", {"a": 1e-3, "x": 2.5, "b": 1e-8}),
    ],
)
def test_known_coefficients(formula: str, truth: dict[str, float]) -> None:
    made = fit_formula(measured(lambda P, m: np.ones_like(P)), formula)[0].form
    values = made.values(GRID, truth)
    fitted = one(Measurements(("P", "m"), GRID, ("r",), ("t",), values[None, :, None]), formula)
    assert {name: fitted.values[name] for name in truth} == pytest.approx(truth, rel=1e-9)
    assert fitted.smape < 1e-8
    assert fitted.cross_validated_smape < 1e-7
    assert fitted.r2 == pytest.approx(1.0)


@pytest.mark.parametrize("weighting", ["relative", "absolute"])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_linear_against_numpy(noise: float, weighting: str) -> None:
    measurements = measured(lambda P, m: 1e-3 + 2e-9 * np.log2(P) * m + 1e-4 * P, noise)
    fitted = one(measurements, "a + b*log2(P)*m + c*P", weighting=weighting)
    processes, size = GRID.T
    matrix, values = np.stack([np.ones(25), np.log2(processes) * size, processes], 1), measurements.means[0]
    root = 1 / values if weighting == "relative" else np.ones(25)
    expected, rest, _, _ = np.linalg.lstsq(matrix * root[:, None], values * root, rcond=None)
    assert list(fitted.values.values()) == pytest.approx(expected, rel=1e-8)
    if noise:
        inverse = np.linalg.inv((matrix * root[:, None]).T @ (matrix * root[:, None]))
        widths = 1.7171443743802424 * np.sqrt(rest[0] / 22 * np.diag(inverse))  # t table: 22 degrees, 95 %
        ours = [(coefficient.high - coefficient.low) / 2 for coefficient in fitted.coefficients]
        assert ours == pytest.approx(widths, rel=1e-6)


@pytest.mark.parametrize(
    ("formula", "function", "start"),
    [
        ("c0 + c1*m + c2*P**x", lambda at, c0, c1, c2, x: c0 + c1 * at[1] + c2 * at[0] ** x, (1e-3, 2e-9, 3e-5, 1.4)),
        ("a/(b + P) + c*m", lambda at, a, c, b: a / (b + at[0]) + c * at[1], (1.0, 1e-8, 3.0)),
        ("a*(1 - exp(-k*P))", lambda at, a, k: a * (1 - np.exp(-k * at[0])), (2.0, 0.1)),
    ],
)
def test_nonlinear_against_curve_fit(formula: str, function: Function, start: tuple[float, ...]) -> None:
    """SciPy begins at the coefficients that the data were made with; we do not know them."""
    measurements = measured(lambda P, m: function((P, m), *start), 0.03)
    values = measurements.means[0]
    options = {"maxfev": 100_000, "ftol": 1e-14, "xtol": 1e-14}
    expected, covariance = curve_fit(function, GRID.T, values, start, sigma=values, **options)
    fitted = one(measurements, formula, level=0.95)
    assert list(fitted.values.values()) == pytest.approx(expected, rel=1e-4)
    spread = [(coefficient.high - coefficient.low) for coefficient in fitted.coefficients]
    ratios = np.array(spread) / np.sqrt(np.diag(covariance))
    assert ratios == pytest.approx(np.full(len(ratios), ratios[0]), rel=1e-2)  # twice the quantile of Student's t
    assert 2 * 2.05 < ratios[0] < 2 * 2.1


def between(rng: np.random.Generator, low: float, high: float) -> float:
    """A size, evenly distributed by its logarithm."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


#: Forms, and the ranges of the sizes of their coefficients.
SEARCHED: dict[str, dict[str, tuple[float, float]]] = {
    "a*P**x + b*P**y + c*m": {"a": (1e-6, 1), "b": (1e-6, 1), "c": (1e-12, 1e-6), "x": (0.1, 2), "y": (0.1, 2)},
    "a/(1 + P/k) + b*m": {"a": (1e-6, 1), "b": (1e-12, 1e-8), "k": (1, 100)},
    "a*exp(-P/k) + b*m + c": {"a": (1e-6, 1), "b": (1e-12, 1e-8), "c": (1e-6, 1e-3), "k": (1, 50)},
    "1/(a + b*P**x) + c*m": {"a": (1, 1e3), "b": (1, 1e3), "c": (1e-10, 1e-7), "x": (0.2, 2)},
    "max(a + b*m, c*m) + d*P": {"a": (1e-6, 1e-3), "b": (1e-11, 1e-8), "c": (1e-10, 1e-7), "d": (1e-7, 1e-4)},
    "min(a*m, b + c*m) + d*P": {"a": (1e-9, 1e-7), "b": (1e-6, 1e-3), "c": (1e-11, 1e-9), "d": (1e-7, 1e-4)},
    "max(a*P**x, b*m) + c": {"a": (1e-6, 1e-3), "b": (1e-9, 1e-7), "c": (1e-7, 1e-4), "x": (0.1, 2)},
}


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("formula", SEARCHED)
def test_the_search_meets_values_without_noise(formula: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = {name: between(rng, *ends) for name, ends in SEARCHED[formula].items()}
    form = one(measured(lambda P, m: P), formula).form
    values = form.values(GRID, truth)
    fitted = one(Measurements(("P", "m"), GRID, ("r",), ("t",), values[None, :, None]), formula)
    assert fitted.smape < 1e-6


# --- Bounds, and what cannot be determined ----------------------------------------------------------------------


def test_nonnegative() -> None:
    measurements = measured(lambda P, m: 1e-3 + 1e-4 * P - 5e-11 * m)
    free, bounded = (one(measurements, "a + b*P + c*m", nonnegative=held) for held in (False, True))
    assert free.values["c"] == pytest.approx(-5e-11)
    assert bounded.values["c"] == 0.0
    # With the third column at zero the others are the least squares of two columns.
    values, root = measurements.means[0], 1 / measurements.means[0]
    two = np.linalg.lstsq(np.stack([root, GRID[:, 0] * root], 1), values * root, rcond=None)[0]
    assert [bounded.values["a"], bounded.values["b"]] == pytest.approx(two, rel=1e-9)
    held = bounded.coefficients[2]
    assert np.isnan([held.low, held.high]).all()


def test_nonnegative_without_linear_coefficients() -> None:
    measurements = measured(lambda P, m: P**0.5 * m**0.25)
    fitted = one(measurements, "P**x*m**y", nonnegative=True)
    assert fitted.values == pytest.approx({"x": 0.5, "y": 0.25}, abs=1e-12)
    assert fitted.form.linear == ()


def test_nonnegative_with_nonlinear_coefficients() -> None:
    fitted = one(measured(lambda P, m: 2e-3 * P**1.5 - 1e-12 * m), "a*P**x + b*m + c", nonnegative=True)
    assert fitted.values["b"] == 0.0
    assert min(fitted.values.values()) >= 0.0


def test_a_matrix_without_columns_has_no_coefficients() -> None:
    assert linear_coefficients(np.empty((3, 0)), np.ones(3), True).shape == (0,)
    assert linear_coefficients(np.empty((3, 0)), np.ones(3), False).shape == (0,)


def test_no_coefficients() -> None:
    fitted = one(measured(lambda P, m: 2.0 * P), "P*k", known={"k": 1.0})
    assert fitted.coefficients == ()
    assert fitted.smape == pytest.approx(200 / 3)
    assert fitted.predict({"P": 64, "m": 1e6}).value == 64.0


@pytest.mark.filterwarnings("error")
def test_forms_that_overflow_far_from_the_values() -> None:
    fitted = one(measured(lambda P, m: 1e-3 * P), "a*exp(k*m) + b*P")
    assert fitted.smape == pytest.approx(0.0, abs=1e-6)
    assert one(measured(lambda P, m: 1e-3 * P), "exp(exp(exp(a*P)))").predict({"P": 1e20, "m": 1}).value > 0


def test_values_beyond_floats_are_refused() -> None:
    with pytest.raises(InputError, match="1e-140"):
        one(measured(lambda P, m: 1e200 * P), "a*P")


@pytest.mark.parametrize(
    ("formula", "kinds", "words"),
    [
        ("a + b*P + c*P*2 + d*m", [UNDETERMINED], ["b and c cannot be distinguished"]),
        ("a + b + c*P + d*log2(P) + e*log2(P)/3", [UNDETERMINED] * 2, ["a and b cannot", "d and e cannot"]),
        ("a*P + b*(P > 100)", [NO_EFFECT], ["b has no effect"]),
        ("a*b*P + c", [UNDETERMINED], ["a and b cannot be distinguished"]),
    ],
)
def test_undetermined(formula: str, kinds: list[str], words: list[str]) -> None:
    fitted = one(measured(lambda P, m: 1e-3 + 1e-4 * P + 1e-9 * m, 0.01), formula)
    assert [kind for kind, _ in fitted.warnings] == kinds
    assert all(word in text for word, (_, text) in zip(words, fitted.warnings, strict=True))


def test_what_is_undetermined_has_no_interval_but_its_sum_has() -> None:
    measurements = measured(lambda P, m: 1e-3 + 1e-4 * P, 0.02)
    both, single = one(measurements, "a + b*P + c*P"), one(measurements, "a + b*P")
    assert [np.isnan(coefficient.low) for coefficient in both.coefficients] == [False, True, True]
    at = {"P": 256, "m": 1e6}
    expected = single.predict(at)
    assert both.predict(at).value == pytest.approx(expected.value)
    assert [both.predict(at).low, both.predict(at).high] == pytest.approx([expected.low, expected.high])


def test_prediction_of_what_no_point_shows_has_no_interval() -> None:
    points = np.array([(p, 10.0 * p) for p in (2.0, 4, 8, 16)])
    fitted = one(measured(lambda P, m: 1e-3 * P + 1e-4 * m, 0.01, points), "a*P + b*m")
    assert np.isfinite(fitted.predict({"P": 32, "m": 320}).low)
    assert np.isnan(fitted.predict({"P": 32, "m": 10}).low)


def test_more_coefficients_than_points() -> None:
    fitted = one(measured(lambda P: 1e-3 * P, points=np.array([[2.0], [4.0]])), "a + b*P + c*P**2")
    assert [kind for kind, _ in fitted.warnings] == [UNDETERMINED]
    assert fitted.smape == pytest.approx(0.0, abs=1e-9)
    assert np.isnan(fitted.predict([8.0]).low)


def test_exponent_at_its_bound() -> None:
    fitted = one(measured(lambda P, m: np.where(P > 30, 1.0, 1e-9)), "a*P**x", weighting="absolute")
    assert [kind for kind, _ in fitted.warnings] == [AT_BOUND]
    assert abs(fitted.values["x"]) == pytest.approx(8.0)


# --- Measures, beside the normal form ------------------------------------------------------------------------------


def test_same_measures_as_the_normal_form() -> None:
    """The model that fit chooses, given as a form, has its errors, its prediction and the width that it has alone."""
    measurements = measured(lambda P, m: 1e-3 + 2e-9 * P * m, 0.05)
    model = fit(measurements, terms=1, refine=False)[0]
    assert [len(model.model.terms), len(model.model.terms[0].factors)] == [1, 2]
    factors = "*".join(
        f"{f.parameter}**({f.exponent})*log2({f.parameter})**{f.log}" for f in model.model.terms[0].factors
    )
    own = one(measurements, f"a + b*{factors}")
    assert own.smape == pytest.approx(model.smape)
    assert own.cross_validated_smape == pytest.approx(model.cross_validated_smape)
    assert own.r2 == pytest.approx(model.r2)
    at = {"P": 128, "m": 1e7}
    assert own.predict(at).value == pytest.approx(model.predict(at).value)


def test_cross_validation_against_refitting() -> None:
    measurements = measured(lambda P, m: 1e-3 + 2e-9 * P * m, 0.1)
    fitted = one(measurements, "a + b*P*m")
    values = measurements.means[0]
    alone = []
    for left in range(25):
        rest = np.arange(25) != left
        part = Measurements(("P", "m"), GRID[rest], ("r",), ("t",), values[None, rest, None])
        alone.append(one(part, "a + b*P*m").predict(GRID[left].tolist()).value)
    expected = 100 * np.mean(2 * np.abs(values - alone) / (np.abs(values) + np.abs(alone)))
    assert fitted.cross_validated_smape == pytest.approx(expected)


def test_series_formulas_and_names() -> None:
    values = np.stack([1e-3 + 1e-4 * GRID[:, 0], 2e-9 * GRID[:, 1]])[:, :, None]
    measurements = Measurements(("P", "m"), GRID, ("x", "y"), ("t", "t"), values)
    fits = sc.fit_formula(measurements, ["one = a + b*P", "two = c*m"])
    assert [(each.region, each.name) for each in fits] == [("x", "one"), ("x", "two"), ("y", "one"), ("y", "two")]
    assert fits.of("two", "y").values == pytest.approx({"c": 2e-9})
    assert [each.name for each in fits.of_series(1)] == ["one", "two"]
    with pytest.raises(InputError, match="2 fits"):
        fits.of("one")
    with pytest.raises(InputError, match="one name"):
        fit_formula(measurements, ["x = a*P", "x = b*m"])


def test_repetitions_and_missing_points() -> None:
    values = np.array([[[1.0, 3.0], [4.0, 4.0], [np.nan, 6.0], [np.nan, np.nan]]])
    measurements = Measurements(("P",), np.array([[1.0], [2.0], [3.0], [4.0]]), ("r",), ("t",), values)
    fitted = one(measurements, "a*P")
    assert fitted.points.tolist() == [[1.0], [2.0], [3.0]]
    assert fitted.values["a"] == pytest.approx(2.0)


def test_range_of_a_formula(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_text("formulas: {large: {total: a*m, valid: m > 5000}, whole: a*m + b*P}\n", encoding="utf-8")
    fits = fit_formula(measured(lambda P, m: np.where(m > 5000, 2e-9 * m, 1.0)), file)
    large = fits.of("large")
    assert large.values["a"] == pytest.approx(2e-9)
    assert large.left_out == 10
    assert np.isnan(large.predict({"P": 2, "m": 100}).value)
    assert large.predict({"P": 2, "m": 1e4}).value == pytest.approx(2e-5)


def test_json() -> None:
    shown = json.loads(json.dumps(to_json(fit_formula(measured(lambda P, m: 1e-3 * P), "mine = a*P + b*P"))))
    (own,) = shown["fits"]
    assert [coefficient["name"] for coefficient in own["coefficients"]] == ["a", "b"]
    assert own["coefficients"][0]["low"] is None
    assert own["warnings"][0]["kind"] == UNDETERMINED
    assert own["residuals"][0]["point"] == {"P": 2.0, "m": 100.0}


@pytest.mark.parametrize(
    ("formula", "options", "word"),
    [
        ("log2(P - 3)*a", {}, "not finite at measured points"),
        ("a*P", {"known": {"P": 3.0}}, "a value for a parameter"),
        ("a*P", {"known": {"k": float("nan")}}, "a finite number"),
        ("a*P", {"level": 1.0}, "level"),
        ("a*P", {"weighting": "none"}, "weighting"),
        ("a*", {}, "syntax error"),
        ("a*1e200*P", {}, "not finite at measured points"),
        ([], {}, "no formula"),
        ([3], {}, "not a formula"),
        ("a*P", {"machine": "no-such-machine"}, "no-such-machine"),
    ],
)
def test_refused(formula: Any, options: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=word):
        fit_formula(measured(lambda P, m: P), formula, **options)


# --- Other programs, and coverage ----------------------------------------------------------------------------------


def test_forms_that_extra_p_found(cases: Path) -> None:
    """Extra-P's example data: given the form that it prints, our coefficients are its own.

    It fits by plain least squares to the means, so only series with as many repetitions at all points are compared. Its
    modeler of sparse points fits to some of the points: there ours must be nearer to the means.
    """
    folder = cases / "extrap"
    expected = json.loads((folder / "expected_models.json").read_text(encoding="utf-8"))
    compared = 0
    for name, entry in expected.items():
        measurements = read_measurements(folder / name, partial=True) if "models" in entry else None
        for model in entry.get("models", ()):
            assert measurements is not None
            metric = [model["metric"]] if model["metric"] in measurements.metrics else None
            series = measurements.select([model["callpath"]], metric)
            if len({*series.counts[series.counts > 0].tolist()}) > 1:
                continue
            theirs, form = parted(model["python"])
            fitted = one(series, form, weighting="absolute")
            printed = fitted.form.values(fitted.points, theirs)
            size = np.abs(fitted.measured).max()
            if "sparse" in name:
                assert (fitted.residuals**2).sum() < ((fitted.measured - printed) ** 2).sum()
                continue
            assert np.abs(printed - fitted.fitted).max() < 1e-12 * size
            # A coefficient is known as well as the values that it makes are known: to rounding of the largest.
            for term, value in theirs.items():
                effect = np.abs(fitted.form.values(fitted.points, dict.fromkeys(theirs, 0.0) | {term: 1.0})).max()
                assert abs(fitted.values[term] - value) * effect < 1e-11 * size
            compared += 1
    assert compared > 40


def parted(text: str) -> tuple[dict[str, float], str]:
    """The coefficients of a model as Extra-P prints it, and the model with names in their places."""
    coefficients, terms = {}, []
    for number, term in enumerate(re.split(r"(?<=[\d)])\+|(?<=[\d)])(?=-)", text)):
        value = re.match(r"-?[\d.]+(?:[eE][+-]?\d+)?", term)
        assert value is not None
        coefficients[f"c{number}"] = float(value.group())
        terms.append(f"c{number}{term[value.end() :]}")
    return coefficients, " + ".join(terms)


@pytest.mark.thorough
@pytest.mark.parametrize(("noise", "level"), [(0.01, 0.95), (0.05, 0.9)])
@pytest.mark.parametrize(
    ("formula", "truth"),
    [
        ("a + b*log2(P)*m + c*P", {"a": 1e-3, "b": 2e-9, "c": 1e-4}),
        ("a + b*log2(P)*m + c*P**x", {"a": 1e-3, "b": 2e-9, "c": 3e-5, "x": 1.37}),
    ],
)
def test_coverage(formula: str, truth: dict[str, float], noise: float, level: float) -> None:
    """Of intervals of coefficients, and of a further measurement at eight times P and a hundred times m, at each noise
    and each level once.

    With 300 series the share that is counted has a standard deviation of 1.7 % (90 %) or 1.3 % (95 %): 4 of these on
    either side, and 2 % for weights that are those of the measured values, not of the true ones.
    """
    count, rng = 300, np.random.default_rng(7)
    form = one(measured(lambda P, m: P), formula).form
    values, at = form.values(GRID, truth), {"P": 256.0, "m": 1e8}
    noisy = values * (1 + noise * rng.standard_normal((count, 25)))
    fits = fit_formula(
        Measurements(("P", "m"), GRID, tuple(map(str, range(count))), ("t",) * count, noisy[:, :, None]),
        formula,
        level=level,
    )
    further = form.values(np.array([[256.0, 1e8]]), truth)[0] * (1 + noise * rng.standard_normal(count))
    predictions = [each.predict(at) for each in fits]
    shares = {
        name: np.mean([each.coefficients[k].low <= truth[name] <= each.coefficients[k].high for each in fits])
        for k, name in enumerate(form.coefficients)
    }
    shares["further"] = np.mean([p.low <= value <= p.high for p, value in zip(predictions, further, strict=True)])
    margin = 4 * np.sqrt(level * (1 - level) / count) + 0.02
    assert min(shares.values()) > level - margin, shares
    assert max(shares.values()) < level + margin, shares
