"""The selection: known truths are found, what is fitted agrees with brute force, and what is wrong is said."""

from __future__ import annotations

import itertools
import json
import pickle
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from simcodesign.core.errors import InputError
from simcodesign.fitting import diagnostics
from simcodesign.fitting.fit import Fit, Fits, fit
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.normal_form import Factor, Model, Term
from simcodesign.fitting.readers.formats import read_measurements
from simcodesign.fitting.selection.candidate_fits import Block, grown, pairs, product, singles, solve
from simcodesign.fitting.selection.candidates import Limits, candidates
from simcodesign.fitting.selection.exponent_sets import EXTRAP, exponent_set
from simcodesign.fitting.selection.free_exponents import Powers, fit_free_exponents
from simcodesign.fitting.selection.term_basis import axis_choices, basis_of, product_of
from tests import examples
from tests.oracles import truth_sets

FEW = exponent_set([("1/2", 0), (1, 0), (1, 1), (2, 0)])
rng = np.random.default_rng


def measured(values: np.ndarray, points: np.ndarray = truth_sets.GRID, names: str = "pn") -> Measurements:
    values = np.asarray(values, dtype=np.float64)
    values = values[:, :, None] if values.ndim == 2 else values
    series = len(values)
    return Measurements(tuple(names), points, tuple(f"r{k}" for k in range(series)), ("time",) * series, values)


def line(values: list[float], x: list[float] | None = None, **options: object) -> Fits:
    x = x or [2.0**k for k in range(1, len(values) + 1)]
    return fit(measured(np.array([values]), np.array(x)[:, None], "p"), **options)  # type: ignore[arg-type]


def leads(model: Model) -> list[tuple[float, float]]:
    return [(float(i), float(j)) for i, j in map(model.lead, model.parameters)]


# Against brute force: every model by an independent least squares.


def brute(columns: np.ndarray, scaled: np.ndarray) -> tuple[np.ndarray, float]:
    coefficients, *_ = np.linalg.lstsq(columns.T, scaled, rcond=None)
    return coefficients, float(((scaled - coefficients @ columns) ** 2).sum())


@pytest.fixture(scope="module")
def problem() -> tuple[Block, object]:
    values = 1 + rng(1).random((3, 25)) * np.sqrt(truth_sets.GRID[:, 0])
    root = 1 / values
    root[0, 3] = 0.0
    return Block(root, root * values), basis_of(truth_sets.GRID, product_of([axis_choices(FEW)] * 2))


def models_of(block: Block, columns: np.ndarray, row: int, constant: bool, terms: tuple[int, ...]) -> float:
    own = [np.ones(25)] * constant + [columns[k] for k in terms]
    coefficients, rss = brute(np.array(own) * block.root[row], block.scaled[row])
    return rss if (coefficients >= 0).all() else np.inf


def test_single_terms_agree_with_brute_force(problem: tuple) -> None:
    block, basis = problem
    for constant, result in zip((True, False), singles(block, basis), strict=True):
        for row, k in itertools.product(range(3), range(len(basis.columns))):
            expected = models_of(block, basis.columns, row, constant, (k,))
            assert result[row, k] == pytest.approx(expected, rel=1e-9), (constant, row, k)


def test_pairs_agree_with_brute_force(problem: tuple) -> None:
    block, basis = problem
    every = np.arange(len(basis.columns))
    for constant in (True, False):
        result, below = pairs(block, basis, every, every, constant)
        for row, (a, b) in itertools.product(range(3), itertools.combinations(every, 2)):
            expected = models_of(block, basis.columns, row, constant, (a, b))
            given = np.inf if below[row, a, b] else result[row, a, b]
            assert given == pytest.approx(expected, rel=1e-7), (constant, row, a, b)


def test_grown_models_agree_with_brute_force(problem: tuple) -> None:
    block, basis = problem
    terms = np.array([[0, 5], [3, -1], [7, 2]])
    constant = np.array([True, True, False])
    result = grown(block, basis, terms, constant)
    for row, k in itertools.product(range(3), range(len(basis.columns))):
        own = tuple(int(t) for t in terms[row] if t >= 0)
        if k not in own:
            expected = models_of(block, basis.columns, row, bool(constant[row]), (*own, k))
            assert result[row, k] == pytest.approx(expected, rel=1e-7), (row, k)


def test_the_best_pair_of_all_is_found() -> None:
    """Of 24 x 24 / 2 pairs, in data of two terms: none has a shorter description than the first candidate."""
    truth = 1 + 0.5 * truth_sets.GRID[:, 0] + 2e-4 * truth_sets.GRID[:, 1] ** 2 * np.sqrt(truth_sets.GRID[:, 0])
    values = truth * (1 + 0.01 * rng(4).standard_normal((4, 25)))
    block, basis = (
        Block(1 / values, np.ones_like(values)),
        basis_of(truth_sets.GRID, product_of([axis_choices(FEW)] * 2)),
    )
    pool = candidates(block, basis, Limits(2, np.full(4, 6)))
    for row in range(4):
        every = itertools.product((True, False), itertools.combinations(range(len(basis.columns)), 2))
        best = min(models_of(block, basis.columns, row, constant, pair) for constant, pair in every)
        assert pool.rss[row][pool.size[row] == 2].min() == pytest.approx(best, rel=1e-7)


def test_leaving_out_in_closed_form_is_leaving_out() -> None:
    columns = rng(2).random((3, 9))
    scaled = rng(3).random(9)
    left_out = solve(columns, scaled).left_out
    for k in range(9):
        rest = np.delete(np.arange(9), k)
        coefficients, _ = brute(columns[:, rest], scaled[rest])
        assert left_out[k] == pytest.approx(scaled[k] - coefficients @ columns[:, k], rel=1e-9)


def test_zero_and_dependent_columns_get_no_coefficient() -> None:
    columns = np.array([np.ones(5), np.zeros(5), np.ones(5) * 2, np.arange(5.0)])
    solution = solve(columns, 3 + 2 * np.arange(5.0))
    assert solution.coefficients == pytest.approx([3, 0, 0, 2])
    assert solution.residuals == pytest.approx(np.zeros(5), abs=1e-12)


@given(st.integers(1, 70), st.integers(1, 300), st.integers(1, 90))
@settings(max_examples=examples(20))
def test_products_in_blocks_are_products(series: int, terms: int, points: int) -> None:
    rows, columns = rng(series).random((series, points)), rng(terms).random((terms, points))
    assert np.allclose(product(rows, columns), rows @ columns.T, rtol=1e-12)


# Truths that must be found.


@pytest.mark.parametrize("kind", [truth_sets.product, truth_sets.in_space])
@pytest.mark.thorough
def test_lead_exponents_without_noise(kind: object) -> None:
    truths, values = truth_sets.make(kind, 60, 0.0, 1, seed=5)  # type: ignore[arg-type]
    for truth, result in zip(truths, fit(measured(values)), strict=True):
        assert leads(result.model) == [pytest.approx(pair) for pair in truth.lead()], (truth, result.model.text)


def test_exponents_off_the_grid_without_noise() -> None:
    truths, values = truth_sets.make(truth_sets.off_grid, 30, 0.0, 1, seed=6)
    for truth, result in zip(truths, fit(measured(values)), strict=True):
        expected = float(truth(truth_sets.TARGET))
        assert float(result.model.evaluate(truth_sets.TARGET)) == pytest.approx(expected, rel=1e-4)


def test_refinement_reaches_the_exponent() -> None:
    x = 2.0 ** np.arange(1, 10)[:, None]
    values = (3 + 0.7 * x[:, 0] ** 1.37)[None]
    start = Powers(np.array([[[1.0]]]), np.array([[[True]]]), np.array([True]))
    model = fit_free_exponents(Block(1 / values, np.ones_like(values)), x, start)
    assert model.powers.exponents[0, 0, 0] == pytest.approx(1.37, rel=1e-9)
    assert start.exponents[0, 0, 0] == 1.0


@pytest.mark.parametrize("exponents", ["extrap", "paper"])
def test_a_model_of_one_parameter(exponents: str) -> None:
    item = line([3 + 2 * x * np.log2(x) for x in 2.0 ** np.arange(1, 8)], exponents=exponents)[0]
    assert item.model.text == "3 + 2 p log2(p)"
    assert item.r2 == pytest.approx(1)
    assert item.smape < 1e-10
    assert item.warning == ""


def test_fractions_of_the_paper_are_found() -> None:
    x = 2.0 ** np.arange(1, 11)
    item = line([float(v) for v in 1 + 3 * x**0.375 * np.log2(x) ** 1.5], exponents="paper")[0]
    assert item.model.lead("p") == (Fraction(3, 8), Fraction(3, 2))


@pytest.mark.parametrize("parameters", [3, pytest.param(4, marks=pytest.mark.thorough)])
def test_three_and_four_parameters(parameters: int) -> None:
    levels = [2.0, 4.0, 8.0, 16.0, 32.0][: 5 if parameters == 3 else 4]
    points = np.array(list(itertools.product(levels, repeat=parameters)))
    truth = 2 + 0.5 * points[:, 0] * points[:, 1] ** 2 + 3 * np.log2(points[:, 2])
    fits = fit(
        measured(truth[None], points, "abcd"[:parameters]), terms=2, exponents=FEW if parameters == 3 else "extrap"
    )
    assert float(fits[0].model.evaluate([64.0] * parameters)) == pytest.approx(2 + 0.5 * 64**3 + 18, rel=0.02)


def test_four_terms() -> None:
    x = 2.0 ** np.linspace(1, 9, 24)
    own = [(0, 1), (1, 0), (2, 0), (3, 0)]
    values = [float(v) for v in 5 + 40 * np.log2(x) + 8 * x + 0.5 * x**2 + 0.01 * x**3]
    at = [float(v) for v in x]
    model = line(values, at, exponents=own, terms=4)[0].model
    assert [round(term.coefficient, 6) for term in model.terms] == [40, 8, 0.5, 0.01]
    assert line(values, at, exponents=own, terms=1)[0].model.terms[1:] == ()


def test_collective_operations_by_name() -> None:
    values = [10 + 4 * (x - 1) for x in 2.0 ** np.arange(1, 8)]
    model = line(values, collectives=[("Alltoall", "p")])[0].model
    assert model.text == "6 + 4 p" or model.text == "10 + 4 Alltoall(p)"
    model = line([7 * np.log2(x) for x in 2.0 ** np.arange(1, 8)], collectives=[("Allreduce", "p")])[0].model
    assert model.text == "7 Allreduce(p)"


def test_negative_exponents_on_request() -> None:
    values = [1 + 64 / x for x in 2.0 ** np.arange(1, 9)]
    assert line(values, negative_exponents=True)[0].model.text == "1 + 64 p^(-1)"
    assert line(values)[0].model.terms == ()


def test_coefficients_are_not_negative_unless_asked_for() -> None:
    values = [100 - 3 * np.log2(x) for x in 2.0 ** np.arange(1, 9)]
    model = line(values)[0].model
    assert model.constant >= 0
    assert all(term.coefficient >= 0 for term in model.terms)
    assert line(values, negative_coefficients=True)[0].model.text == "100 - 3 log2(p)"


# Scale, weights and repetitions.


@pytest.mark.thorough
@given(st.floats(1e-12, 1e12))
@settings(max_examples=15)
def test_units_change_nothing_but_the_coefficients(unit: float) -> None:
    _, values = truth_sets.make(truth_sets.in_space, 3, 0.02, 1, seed=8)
    for one, other in zip(fit(measured(values)), fit(measured(values * unit)), strict=True):
        assert leads(one.model) == [pytest.approx(pair) for pair in leads(other.model)]
        assert float(other.model.evaluate(truth_sets.TARGET)) == pytest.approx(
            unit * float(one.model.evaluate(truth_sets.TARGET)), rel=1e-6
        )


def test_other_series_change_nothing() -> None:
    _, values = truth_sets.make(truth_sets.in_space, 40, 0.05, 2, seed=9)
    together = fit(measured(values))
    for row in (0, 17, 39):
        assert fit(measured(values[row : row + 1]))[0].model.text == together[row].model.text


def test_a_point_measured_more_often_weighs_more() -> None:
    values = np.full((1, 4, 9), np.nan)
    values[0, :3, 0] = 10.0
    values[0, 3, :] = 13.0
    points = np.array([[1.0], [2.0], [3.0], [4.0]])
    item = fit(measured(values, points, "p"), terms=0, weighting="absolute")[0]
    assert item.model.constant == pytest.approx((3 * 10 + 9 * 13) / 12)


def test_missing_points_are_left_out() -> None:
    truths, values = truth_sets.make(truth_sets.product, 6, 0.0, 1, seed=10)
    values[::2, 3] = np.nan
    values[1, 20:22] = np.nan
    for truth, result in zip(truths, fit(measured(values)), strict=True):
        assert leads(result.model) == [pytest.approx(pair) for pair in truth.lead()]


# What the reader is told.


def test_an_outlier_is_reported_and_used() -> None:
    _, values = truth_sets.make(truth_sets.product, 1, 0.01, 1, seed=12)
    values[0, 12] *= 1.5
    item = fit(measured(values))[0]
    (outlier,) = [o for o in item.outliers if o.deviations > 0][:1]
    assert (outlier.point["p"], outlier.point["n"]) == tuple(truth_sets.GRID[12])
    assert outlier.measured == pytest.approx(values[0, 12, 0])
    assert "it was used" in item.warning


def test_models_that_cannot_be_told_apart_are_named() -> None:
    _, values = truth_sets.make(truth_sets.two_terms, 20, 0.05, 1, seed=13)
    diagnostics = [result for result in fit(measured(values)) if "cannot tell" in result.warning]
    assert diagnostics
    for result in diagnostics:
        assert result.model.text in result.warning
        assert any(rival.text in result.warning for rival in result.rivals)
        assert "p=1024, n=4096" in result.warning  # four times the largest


def test_the_target_of_the_comparison_is_the_users() -> None:
    _, values = truth_sets.make(truth_sets.two_terms, 20, 0.05, 1, seed=13)
    diagnostics = [result.warning for result in fit(measured(values), target={"n": 1e5, "p": 3e4})]
    assert any("p=30000, n=100000" in warning for warning in diagnostics)


@pytest.mark.parametrize(
    ("values", "constant"), [([5.0], 5.0), ([5.0, 5.0, 5.0, 5.0, 5.0], 5.0), ([0.0] * 6, 0.0), ([3.0, 3.0], 3.0)]
)
def test_constant_data_and_few_points(values: list[float], constant: float) -> None:
    item = line(values)[0]
    assert item.model.terms == ()
    assert item.model.constant == pytest.approx(constant)
    assert item.r2 == 1
    assert bool(item.warning) == (len(values) < 5)


def test_negative_values_are_a_constant_and_a_warning_or_free() -> None:
    values = [-3.0 * x for x in (2, 4, 8, 16, 32)]
    item = line(values)[0]
    assert item.model.terms == ()
    assert "allow negative coefficients" in item.warning
    assert line(values, negative_coefficients=True)[0].model.text == "-3 p"


def test_zero_at_one_process() -> None:
    item = line([7 * float(np.log2(x)) for x in (1, 2, 4, 8, 16, 32)], [1.0, 2.0, 4.0, 8.0, 16.0, 32.0])[0]
    assert item.model.text == "7 log2(p)"


def test_progress_counts_the_series() -> None:
    recorded: list[int] = []
    _, values = truth_sets.make(truth_sets.product, 300, 0.0, 1, seed=14)
    made = fit(measured(values), on_progress=recorded.append, refine=False, terms=1)
    assert sum(recorded) == len(made) == 300


def test_fits_by_place_and_name() -> None:
    _, values = truth_sets.make(truth_sets.product, 3, 0.0, 1, seed=15)
    made = fit(measured(values))
    assert made[-1].region == made[2].region == made.of("r2", "time").region == "r2"
    assert [result.region for result in made[1:]] == ["r1", "r2"]
    with pytest.raises(IndexError):
        made[3]
    with pytest.raises(InputError, match="0 series of this name"):
        made.of("r9")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"terms": 9}, "0 to 8"),
        ({"terms": -1}, "0 to 8"),
        ({"weighting": "none"}, "relative, absolute"),
        ({"exponents": "extra"}, "did you mean 'extrap'"),
        ({"collectives": [("Allreduce", "q")]}, "unknown parameter"),
        ({"collectives": [("Gather", "p")]}, "unknown collective"),
        ({"target": {"p": 1}}, "without a parameter"),
        ({"target": {"p": 1, "n": 1, "q": 1}}, "unknown parameter"),
        ({"target": [1, 0]}, "positive finite"),
        ({"target": ["a", 0]}, "not numbers"),
        ({"target": [1]}, "one number for each of p, n"),
    ],
)
def test_what_is_refused(options: dict[str, object], message: str) -> None:
    _, values = truth_sets.make(truth_sets.product, 1, 0.0, 1, seed=16)
    with pytest.raises(InputError, match=message):
        fit(measured(values), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [1e308, 1e200, 1e-320, 1e-200])
def test_values_of_sizes_that_cannot_be_squared_are_refused(size: float) -> None:
    for values in ([size, -size, 0.5 * size, size, size], [size * (k / 16) for k in range(1, 9)]):
        with pytest.raises(InputError, match="another unit"):
            line(values)
    assert line([1e139 * k for k in range(1, 7)])[0].model.terms[0].coefficient == pytest.approx(1e139)
    assert line([1e-139 * k for k in range(1, 7)])[0].model.terms[0].coefficient == pytest.approx(1e-139)


@pytest.mark.parametrize("level", [0, 1, -0.5])
def test_levels_of_intervals_are_between_0_and_1(level: float) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        line([1.0, 2.0, 3.0, 4.0, 5.0])[0].predict([7.0], level)


# Extra-P's published example data, with its own hypothesis set.

#: Symmetric error of Extra-P's model, in percent, under which its data are taken for free of noise.
_EXACT = 1e-4


def extrap_models(cases: Path) -> Iterator[tuple[str, dict, dict]]:
    expected = json.loads((cases / "extrap" / "expected_models.json").read_text(encoding="utf-8"))
    for name, entry in expected.items():
        for model in entry.get("models", []):
            if model["SMAPE"] < _EXACT:
                yield name, entry, model


def read_example(path: Path, parameters: list[str]) -> dict[str, dict[tuple[float, ...], list[float]]]:
    """Values by region and point, of the three formats in which noise-free examples come."""
    text = path.read_text(encoding="utf-8")
    result: dict[str, dict[tuple[float, ...], list[float]]] = {}
    if path.suffix == ".jsonl":
        for row in map(json.loads, filter(None, text.splitlines())):
            point = tuple(float(row["params"][name]) for name in parameters)
            values = row["value"] if isinstance(row["value"], list) else [row["value"]]
            result.setdefault(row.get("callpath", "<root>"), {}).setdefault(point, []).extend(values)
        return result
    if path.suffix == ".JSON":
        data = json.loads(text)
        if "callpaths" not in data:
            for region, metrics in data["measurements"].items():
                for row in next(iter(metrics.values())):
                    result.setdefault(region, {})[tuple(np.atleast_1d(row["point"]).astype(float))] = row["values"]
            return result
        regions = {row["id"]: row["name"] for row in data["callpaths"]}
        points = {
            row["id"]: tuple(float(pair["parameter_value"]) for pair in row["parameter_value_pairs"])
            for row in data["coordinates"]
        }
        for row in data["measurements"]:
            series = result.setdefault(regions[row["callpath_id"]], {})
            series.setdefault(points[row["coordinate_id"]], []).append(float(row["value"]))
        return result
    points_: list[tuple[float, ...]] = []
    region, place = "", 0
    for words in (line.split() for line in text.splitlines() if line.strip()):
        if words[0] == "POINTS":
            numbers = [float(word.strip("()")) for word in words[1:] if word.strip("()")]
            points_ = list(zip(*[iter(numbers)] * len(parameters), strict=True))
        elif words[0] in ("REGION", "METRIC"):
            region, place = words[1] if words[0] == "REGION" else region, 0
        elif words[0] == "DATA":
            result.setdefault(region, {})[points_[place]] = [float(word) for word in words[1:]]
            place += 1
    return result


def test_the_noise_free_examples_of_extrap(cases: Path) -> None:
    """The lead exponents that Extra-P prints, wherever its model meets the data."""
    result = 0
    for name, entry, model in extrap_models(cases):
        series = read_example(cases / "extrap" / name, entry["parameters"])[model["callpath"]]
        points = np.array(list(series))
        values = np.array([[np.mean(v) for v in series.values()]])
        data = measured(values, points, entry["parameters"])  # type: ignore[arg-type]
        value = fit(data, exponents=EXTRAP, terms=2, refine=False, negative_coefficients=True)[0].model
        assert leads(value) == extrap_leads(model["python"], entry["parameters"]), (name, value.text, model["python"])
        result += 1
    assert result >= 5


def extrap_leads(text: str, parameters: list[str]) -> list[tuple[float, float]]:
    """The fastest growing factor of each parameter in what Extra-P prints, e.g. ``2+3*p**(1/2)*log2(p)**(1)``."""
    leads = dict.fromkeys(parameters, (0.0, 0.0))
    for term in text.replace("e-", "e~").replace("+-", "+").split("+"):
        own = {name: [0.0, 0.0] for name in parameters}
        for factor in term.replace("**", "^").split("*")[1:]:
            base, _, exponent = factor.partition("^")
            is_log = base.startswith("log2(")
            name = base[5:-1] if is_log else base
            own[name][is_log] = float(Fraction(exponent.strip("()") or "1"))
        leads = {name: max(leads[name], tuple(pair)) for name, pair in own.items()}  # type: ignore[type-var]
    return [leads[name] for name in parameters]


def test_a_model_keeps_its_terms_in_the_order_of_growth() -> None:
    grid = truth_sets.GRID
    model = fit(measured((4 + 2 * grid[:, 0] ** 2 + 3 * grid[:, 1])[None]))[0].model
    assert model.text == "4 + 3 n + 2 p^2"
    assert model.terms[0] == Term(model.terms[0].coefficient, (Factor("n", Fraction(1)),))


def test_a_second_term_that_matters_at_one_end_is_found() -> None:
    """It leaves a residual that no polynomial of low degree promises to remove."""
    grid = truth_sets.GRID
    truth = 2 + 0.01 * grid[:, 0] ** 0.25 * np.sqrt(grid[:, 1]) + 1e-10 * grid[:, 0] ** 2.75 * grid[:, 1] ** 2
    item = fit(measured(truth[None]))[0]
    assert item.smape < 1e-6
    assert leads(item.model) == [(2.75, 0.0), (2.0, 0.0)]


def test_errors_of_refined_exponents_are_those_of_nonlinear_regression() -> None:
    """Against the covariance of an independent routine."""
    x = 2.0 ** np.arange(1, 10)[:, None]
    values = (3 + 0.7 * x[:, 0] ** 1.37) * (1 + 0.02 * rng(17).standard_normal(9))
    start = Powers(np.array([[[1.3]]]), np.array([[[True]]]), np.array([True]))
    model = fit_free_exponents(Block(1 / values[None], np.ones((1, 9))), x, start)
    _, covariance = optimize.curve_fit(lambda x, a, b, i: a + b * x**i, x[:, 0], values, (3, 0.7, 1.37), sigma=values)
    assert model.errors[0, 0, 0] == pytest.approx(float(np.sqrt(covariance[2, 2])), rel=1e-3)


def test_many_products_have_the_values_of_few() -> None:
    """From some number of products on, equal factors are computed once."""
    shapes = product_of([axis_choices(EXTRAP, ["Allreduce"]), axis_choices(EXTRAP)])
    every = shapes.values(truth_sets.GRID)
    some = np.arange(0, len(every), 97)
    assert np.array_equal(every[some], shapes.take(some).values(truth_sets.GRID))


@pytest.mark.thorough
def test_what_is_kept_of_a_series_is_small() -> None:
    """A million series of five points must fit into memory: less than 2 kB for each."""
    _, values = truth_sets.make(truth_sets.two_terms, 300, 0.05, 1, seed=18)
    for made in (fit(measured(values)), fit(measured(values[:, :5], truth_sets.GRID[:5, 1:], "n"))):
        assert sum(ranked.bytes for _, ranked in made.blocks) < 2000 * len(made)


# What is computed when it is asked for.

PARTS = ("rivals", "smape", "cross_validated_smape", "r2", "outliers", "warnings", "warning", "model")


@pytest.mark.thorough
def test_the_order_of_asking_changes_nothing() -> None:
    """Each part alone, forwards and backwards, and of fits that were asked for twice; they are equal and can be sent."""
    _, values = truth_sets.make(truth_sets.two_terms, 20, 0.05, 1, seed=13)
    values[3, 4:] = np.nan  # few points: no error by cross-validation
    made = fit(measured(values))
    first = [[getattr(one, name) for name in PARTS] for one in made]
    again = fit(measured(values))
    for name in reversed(PARTS):
        for row in reversed(range(20)):
            assert (
                getattr(again[row], name) is getattr(again[row], name)
                or getattr(again[row], name) == first[row][PARTS.index(name)]
            )
    for one, other in zip(made, again, strict=True):
        assert one == other
        assert pickle.loads(pickle.dumps(one)) == one
        assert repr(one.model) in repr(one)
        assert one.predict(truth_sets.TARGET) == pickle.loads(pickle.dumps(other)).predict(truth_sets.TARGET)
    sent = pickle.loads(pickle.dumps(made))
    assert list(sent) == list(made)


def test_a_fit_that_is_sent_does_not_take_the_others_along() -> None:
    _, values = truth_sets.make(truth_sets.product, 60, 0.0, 1, seed=14)
    made = fit(measured(values), refine=False, terms=1)
    assert len(pickle.dumps(made[7])) < len(pickle.dumps(made)) / 4


def test_warnings_have_kinds() -> None:
    item = line([1.0, 2.1, 3.9])[0]
    assert item.warnings[0][0] == diagnostics.FEW_POINTS
    assert " ".join(text for _, text in item.warnings) == item.warning
    assert line([3.0, 5.0, 9.0, 17.0, 33.0])[0].warnings == ()


def test_values_that_fall_where_no_term_may_shrink() -> None:
    """Runtimes of a parallel part and a serial one, by ranks alone, and by ranks and size."""
    falls = [100.0, 52.0, 29.0, 18.5, 14.2]
    assert diagnostics.FALLING in dict(line(falls)[0].warnings)
    assert "--negative-exponents" in line(falls)[0].warning
    for values, options in ((falls, {"negative_exponents": True}), (falls[::-1], {}), ([9.0, 9.1, 8.9, 9.0, 9.05], {})):
        assert diagnostics.FALLING not in dict(line(values, **options)[0].warnings)  # type: ignore[arg-type]
    grid = np.array(list(itertools.product([2.0, 4, 8, 16, 32], [64.0, 256, 1024, 4096, 16384])))
    values = grid[:, 1] / grid[:, 0] * (1 + 0.01 * rng(3).standard_normal(len(grid)))
    (text,) = [text for kind, text in fit(measured(values[None], grid))[0].warnings if kind == diagnostics.FALLING]
    assert "fall with p," in text


def communicated(noise: float = 0.0, repetitions: int = 2, **options: object) -> Fit:
    """(p - 1) n bytes, counted twice unless told otherwise."""
    grid = np.array(list(itertools.product([2.0, 4, 8, 16, 32], [64.0, 256, 1024, 4096, 16384])))
    values = np.repeat(((grid[:, 0] - 1) * grid[:, 1])[None, :, None], repetitions, 2)
    values = values * (1 + noise * rng(3).standard_normal(values.shape))
    return fit(measured(values, grid), **options)[0]  # type: ignore[arg-type]


@pytest.mark.thorough
def test_values_without_noise_that_no_sum_meets() -> None:
    """Terms would have to be subtracted."""
    (text,) = [text for kind, text in communicated().warnings if kind == diagnostics.NOT_MET]
    assert "up to 3 terms that were tried" in text  # not all of them are
    assert "negative coefficients" in text
    assert "up to 2 terms that were tried" in communicated(terms=2).warning
    assert "no model of one term meets" in communicated(terms=1).warning
    assert "other exponents or more terms may be needed" in communicated(terms=1, negative_coefficients=True).warning
    met = communicated(negative_coefficients=True)
    assert met.model.text == "-1 n + 1 p n"
    for one in (met, communicated(noise=0.01), communicated(noise=1e-4), communicated(repetitions=1)):
        assert diagnostics.NOT_MET not in dict(one.warnings)


def test_told_that_there_is_no_noise_a_model_that_meets_the_values_is_asked_for() -> None:
    values = [100 - 3 * float(np.log2(x)) for x in 2.0 ** np.arange(1, 9)]
    assert diagnostics.NOT_MET in dict(line(values, exact=True)[0].warnings)
    assert diagnostics.NOT_MET not in dict(line([2 + 3 * x for x in range(1, 9)], exact=True)[0].warnings)


def test_a_model_takes_no_solution_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models of a block are solved together, and nothing else is computed for them."""
    _, values = truth_sets.make(truth_sets.product, 30, 0.01, 1, seed=14)
    made = fit(measured(values))
    calls: list[int] = []
    whole = Fits.best
    monkeypatch.setattr(Fits, "best", lambda fits, place: calls.append(place) or whole(fits, place))
    monkeypatch.setattr(Fits, "family", None)  # calling it would fail
    assert len({one.model.text for one in made}) > 20
    assert calls == [0]


def test_parameters_that_vary_together() -> None:
    """p = 100 q at all points: p q, p^2 and q^2 are one."""
    q = np.array([1.0, 2, 4, 8, 16, 32])
    tied = fit(measured((q**2)[None], np.stack([100 * q, q], 1)))[0]
    assert [text for kind, text in tied.warnings if kind == diagnostics.TOGETHER] == [
        "p and n vary together at all points: the effect of each one is unknown, and away from such points the model "
        "and its interval are meaningless."
    ]
    apart = np.array([(100 * x, x) for x in q] + [(100.0, 32.0)])
    for points in (apart, truth_sets.GRID):
        assert diagnostics.TOGETHER not in dict(fit(measured((points[:, 0] * points[:, 1])[None], points))[0].warnings)


def test_what_is_never_below_zero_is_not_predicted_there() -> None:
    _, values = truth_sets.make(truth_sets.in_space, 20, 0.3, 1, seed=21)
    fits = fit(measured(values))
    every = fits.predictions(truth_sets.TARGET, 0.99)
    assert (every.low >= 0).all()
    assert (every.low == 0).any()
    assert [one.predict(truth_sets.TARGET, 0.99).low for one in fits] == pytest.approx(every.low.tolist())


def test_a_coordinate_whose_powers_are_no_numbers() -> None:
    points = np.array([[2.0], [4.0], [8.0], [1e300], [32.0]])
    with pytest.raises(InputError, match="a point"):
        fit(measured(np.array([[1.0, 2.0, 3.0, 4.0, 5.0]]), points, "p"))


def test_terms_that_overflow_are_left_out() -> None:
    points = np.array([[2.0, 1e20], [4.0, 1e21], [8.0, 1e22], [16.0, 1e23], [32.0, 1e24]])
    (one,) = fit(Measurements(("p", "n"), points, ("main",), ("time",), 3.0 * points[None, :, :1]))
    assert one.predict((64.0, 1e24)).value == pytest.approx(192.0, rel=1e-6)


def test_a_series_of_zeros_beside_others_is_predicted_after_a_pickle(tmp_path: Path) -> None:
    """It has constants alone, so that no term of the others is left in its table."""
    rows = [
        f"{p},{m},{name},{value}"
        for p in (2, 4, 8, 16, 32)
        for m in (2, 4, 8, 16, 32)
        for name, value in (("a", 0), ("b", p * m))
    ]
    file = tmp_path / "runs.csv"
    file.write_text("\n".join(["p,m,metric,value", *rows]), encoding="utf-8")
    zero, product = (pickle.loads(pickle.dumps(one)) for one in fit(read_measurements(file)))
    assert (zero.metric, zero.predict({"p": 64, "m": 64}).value) == ("a", 0.0)
    assert product.predict({"p": 64, "m": 64}).value == pytest.approx(4096)
