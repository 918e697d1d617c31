"""Fitted models as tables, JSON, LaTeX, Python and plots."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from simcodesign.fitting.batch_predictions import batch_predictions, default_target
from simcodesign.fitting.fit import Fits, fit
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.normal_form import Model
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.fits import names as fit_names
from simcodesign.report.fits import tables as report
from simcodesign.report.fits.output import WRITERS, JsonWriter, made
from simcodesign.report.fits.plot import MOST_SERIES, fits_plot
from simcodesign.report.fits.tables import MOST_METRICS, MOST_ROWS, Digest, Heading, percent, short

P = np.array([4.0, 8.0, 16.0, 32.0, 64.0])
needs_matplotlib = pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="needs Matplotlib")


def linear(slopes: list[float], metrics: list[str] | None = None, names: list[str] | None = None) -> Measurements:
    """3 + slope p, without noise; a slope of 0 is a constant."""
    values = 3 + np.array(slopes)[:, None, None] * P[:, None]
    regions = names or [f"r{number}" for number in range(len(slopes))]
    return Measurements(("p",), P[:, None], tuple(regions), tuple(metrics or ["time"] * len(slopes)), values)


def heading_of(measurements: Measurements, target: tuple[float, ...] = (128.0,), level: float = 0.9) -> Heading:
    return Heading(measurements.parameters, target, True, level, {"terms": 3})


def digest_of(fits: Fits, blocks: int = 1) -> Digest:
    digest = Digest()
    for _ in range(blocks):
        digest.add(fits, batch_predictions(fits))
    return digest


def shown(measurements: Measurements, **options: Any) -> str:
    console = Console(width=120, file=None, record=True, quiet=False)
    fits = fit(measurements, target=(128.0,), **options)
    with console.capture() as capture:
        for part in report.fit_tables(digest_of(fits), heading_of(measurements)):
            console.print(part)
    return capture.get()


def output(kind: str, measurements: Measurements, target: tuple[float, ...] = (128.0,)) -> str:
    """As the command writes it, in blocks of two series."""
    writer = (WRITERS | {".json": JsonWriter})[kind](heading_of(measurements, target), measurements)
    fits = fit(measurements, target=target)
    (parts,) = made([writer.make], False, fits)[2]
    text = "".join("".join(writer.texts(parts[start : start + 2])) for start in range(0, max(len(parts), 1), 2))
    return text + writer.end()


# --- Tables --------------------------------------------------------------------------------------------------


def test_a_row_has_model_errors_and_prediction() -> None:
    row = next(line for line in shown(linear([2.0, 0.0])).splitlines() if line.strip().startswith("r0"))
    assert re.split(r"\s{2,}", row.strip()) == ["r0", "3 + 2 p", "0 %", "0 %", "1.0000", "259", "259"]


def test_many_regions_are_cut_to_the_largest_and_counted() -> None:
    count = MOST_ROWS + 13
    text = shown(linear([float(k) for k in range(count)]))
    rows = [line.split()[0] for line in text.splitlines() if re.match(r"\s*r\d+\s", line)]
    assert rows == [f"r{count - 1 - k}" for k in range(MOST_ROWS)]
    assert "And 13 more" in text
    assert f"{count} series: SMAPE" in text
    assert "1 constant" in text


def test_few_regions_stay_in_the_order_of_the_file() -> None:
    rows = [line.split()[0] for line in shown(linear([1.0, 5.0, 2.0])).splitlines() if re.match(r"\s*r\d+\s", line)]
    assert rows == ["r0", "r1", "r2"]


def test_each_metric_has_a_table_up_to_a_limit() -> None:
    count = MOST_METRICS + 2
    text = shown(linear([1.0] * count, [f"metric{k}" for k in range(count)], ["main"] * count))
    assert [f"metric{k}" in text for k in range(count)] == [True] * MOST_METRICS + [False] * 2
    assert "And 2 more metrics" in text


def test_what_all_regions_share_is_said_once_and_rivals_are_named() -> None:
    noisy = linear([1.0, 2.0])
    values = noisy.values[:, :3] * np.array([1.0, 1.1, 0.95])[:, None]
    text = shown(Measurements(("p",), P[:3, None], noisy.regions, noisy.metrics, values))
    plain = " ".join(text.split())
    assert plain.count("Fewer than five values of p") == 1
    first = fit(Measurements(("p",), P[:3, None], noisy.regions, noisy.metrics, values), target=(128.0,))[0]
    assert first.rivals
    assert f"r0: The data cannot tell {first.model.text} from" in plain


def test_an_outlier_is_told() -> None:
    base = linear([2.0])
    x = np.arange(4.0, 20.0)
    values = (3 + 2 * x) * (1 + 1e-4 * np.random.default_rng(1).standard_normal(len(x)))
    values[7] *= 1.5
    text = shown(Measurements(("p",), x[:, None], base.regions, base.metrics, values[None, :, None]))
    assert "r0: An outlier at p=11: measured" in " ".join(text.split())


def test_a_digest_of_blocks_is_that_of_all() -> None:
    measurements = linear([float(k % 7) for k in range(60)])
    whole = digest_of(fit(measurements, target=(128.0,)))
    blocks = Digest()
    for start in range(0, 60, 7):
        rows = slice(start, start + 7)
        part = Measurements(
            ("p",), P[:, None], measurements.regions[rows], measurements.metrics[rows], measurements.values[rows]
        )
        fits = fit(part, target=(128.0,))
        blocks.add(fits, batch_predictions(fits))
    names = [[fits.measurements.regions for fits in one.by_metric["time"].ordered] for one in (whole, blocks)]
    assert names[0] == names[1]
    # the largest slope first, of equals the first of the file
    assert names[0][:9] == [*((f"r{k}",) for k in range(6, 60, 7)), ("r5",)]
    assert (blocks.by_metric["time"].series, blocks.by_metric["time"].constant) == (60, 9)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0 %"),
        (1e-13, "0 %"),
        (0.341, "0.34 %"),
        (0.9, "0.90 %"),
        (9.96, "10 %"),
        (12.3, "12 %"),
        (123.4, "123 %"),
        (float("nan"), "-"),
    ],
)
def test_percent(number: float, text: str) -> None:
    assert percent(number) == text


def test_short_numbers() -> None:
    assert [short(x) for x in (1234567.0, 12.3456, float("nan"))] == ["1.235e+06", "12.35", "-"]


# --- JSON ----------------------------------------------------------------------------------------------------


def test_json_holds_everything() -> None:
    measurements = linear([2.0, 0.0, 1.0])
    answer = json.loads(output(".json", measurements))
    assert (answer["parameters"], answer["points"], answer["series"]) == (["p"], 5, 3)
    assert answer["target"] == {"p": 128.0}
    assert [one["region"] for one in answer["fits"]] == ["r0", "r1", "r2"]
    first = answer["fits"][0]
    assert first["model"]["text"] == "3 + 2 p"
    (term,) = first["model"]["terms"]
    assert term["factors"] == [{"parameter": "p", "exponent": "1", "log2_exponent": "0", "collective": None}]
    assert term["coefficient"] == pytest.approx(2)
    assert first["prediction"]["value"] == pytest.approx(259)
    assert first["prediction"]["level"] == 0.9
    assert answer["fits"][1]["model"]["terms"] == []


def test_json_has_null_for_what_is_not_known() -> None:
    one = Measurements(("p",), np.array([[4.0]]), ("a",), ("t",), np.full((1, 1, 1), 2.0))
    (result,) = json.loads(output(".json", one))["fits"]
    assert (result["cross_validated_smape_percent"], result["prediction"]["low"]) == (None, None)


# --- Python --------------------------------------------------------------------------------------------------

AWKWARD = [
    "main",
    "main",
    "for",
    "log2",
    "a b",
    "a-b",
    "1st",
    "'''\"\\",
    "MODELS",
    "\N{LATIN SMALL LIGATURE FI}",
    "",
    "\n",
]


def test_python_is_a_module_that_gives_the_values_of_the_models() -> None:
    metrics = ["time", "bytes", *["time"] * (len(AWKWARD) - 2)]
    base = linear([float(k) for k in range(len(AWKWARD))], metrics, AWKWARD)
    measurements = Measurements(("problem size",), base.points, base.regions, base.metrics, base.values)
    text = output(".py", measurements)
    module: dict[str, Any] = {}
    exec(text, module)
    assert "problem_size is 'problem size'" in module["__doc__"]
    fits = fit(measurements, target=(128.0,))
    assert len(module["MODELS"]) == len({result.__name__ for result in module["MODELS"].values()}) == len(fits)
    for one in fits:
        function = module["MODELS"][one.region, one.metric]
        assert module[function.__name__] is function
        assert repr(one.region) in function.__doc__
        assert function(problem_size=100.0) == pytest.approx(float(one.model.evaluate([100.0])), rel=1e-14)


@given(st.lists(st.text(max_size=12), max_size=12))
def test_identifiers_are_valid_and_all_different(names: list[str]) -> None:
    taken: set[str] = set()
    made = [fit_names.identifier(name, taken) for name in names]
    assert len(set(made)) == len(made)
    for name in made:
        ast.parse(f"def {name}({name}): return {name}")
        assert name.isascii()


@cache
def oddly_named() -> Model:
    points = np.array([(a, b) for a in P for b in P])
    values = (2 + 0.5 * points[:, 0] ** 0.5 * points[:, 1] * np.log2(points[:, 1]))[None, :, None]
    return fit(Measurements(("x y", "log2"), points, ("a",), ("t",), values))[0].model


@given(st.floats(1, 1e6), st.floats(2, 1e6))
def test_renamed_models_have_the_same_values(p: float, n: float) -> None:
    model = oddly_named()
    names = fit_names.python_names(model.parameters)
    other = fit_names.renamed(model, names)
    assert list(names.values()) == ["x_y", "log2_2"]
    assert float(other.evaluate([p, n])) == float(model.evaluate([p, n]))


# --- LaTeX ---------------------------------------------------------------------------------------------------


def test_latex_is_a_table_with_a_row_for_each_series() -> None:
    text = output(".tex", linear([2.0, 0.0], names=["a & b_{c}", "50 % #"]))
    rows = [line for line in text.splitlines() if "\\hline" not in line and line.endswith("\\\\")]
    assert len(rows) == 3
    assert rows[1].startswith(r"a \& b\_\{c\} & time & $3 + 2 \, p$ & 0 & $259$ & ")
    assert rows[2].startswith(r"50 \% \# & time & $3$ & ")
    assert text.startswith(r"\begin{tabular}{lllrrr}")
    assert text.endswith("\\end{tabular}\n")


def test_a_long_table_says_what_it_needs() -> None:
    text = output(".tex", linear([2.0] * 41))
    assert text.startswith("% needs \\usepackage{longtable}\n\\begin{longtable}")


@pytest.mark.parametrize(
    ("name", "expected"), [("problem size", r"problem\ size"), ("n_a_b", r"n_a\_b"), ("a%", r"a\%"), ("p", "p")]
)
def test_names_in_formulas(name: str, expected: str) -> None:
    assert fit_names.latex_name(name) == expected


# --- Plots ---------------------------------------------------------------------------------------------------


@needs_matplotlib
@pytest.mark.parametrize(
    "suffix",
    [pytest.param(".png", marks=pytest.mark.thorough), ".svg", pytest.param(".pdf", marks=pytest.mark.thorough)],
)
def test_a_plot_is_written(tmp_path: Path, suffix: str) -> None:
    measurements = linear([2.0, 0.0], names=["a $ b_", "_c"])
    path = tmp_path / f"plot{suffix}"
    assert fits_plot(digest_of(fit(measurements)), heading_of(measurements), path) == 2
    assert path.stat().st_size > 5000


@needs_matplotlib
@pytest.mark.thorough
def test_a_plot_shows_so_many_series_and_names_interval_and_axes(tmp_path: Path) -> None:
    measurements = linear([float(k) for k in range(MOST_SERIES + 3)])
    path = tmp_path / "plot.svg"
    digest = digest_of(fit(measurements))
    assert fits_plot(digest, heading_of(measurements, level=0.8), path) == MOST_SERIES
    text = path.read_text()
    for words in (
        f"{MOST_SERIES} of {MOST_SERIES + 3} series",
        "80 % prediction interval",
        "<!-- time -->",
        "<!-- p -->",
    ):
        assert words in text


@pytest.mark.thorough
@needs_matplotlib
def test_points_that_are_no_grid_and_a_single_point_are_drawn(tmp_path: Path) -> None:
    cross = np.array([(4.0, 10.0), (8.0, 10.0), (16.0, 10.0), (4.0, 20.0), (4.0, 40.0)])
    one = Measurements(("p", "n"), cross, ("a",), ("t",), (cross[:, 0] * cross[:, 1])[None, :, None])
    assert fits_plot(digest_of(fit(one)), heading_of(one, (32.0, 80.0)), tmp_path / "cross.svg") == 1
    # n = 10 is where most points of other p are
    assert "n=10" in (tmp_path / "cross.svg").read_text()
    point = Measurements(("p",), np.array([[4.0]]), ("a",), ("t",), np.full((1, 1, 1), 2.0))
    assert fits_plot(digest_of(fit(point)), heading_of(point), tmp_path / "point.png") == 1


# --- Progress ------------------------------------------------------------------------------------------------


def test_progress_counts_series(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for terminal in (True, False):
        monkeypatch.setattr("sys.stderr.isatty", lambda on=terminal: on)
        console = Console(stderr=True, width=100, force_terminal=terminal)
        options = {"console": console, "patience_s": None}
        with ProgressBar("fitting", total=5000, unit="series", steps=True, **options) as on_progress:
            on_progress(256)
            on_progress(1000)
        assert ("1,256 of 5,000 series" in capsys.readouterr().err) == terminal


def test_the_default_target_is_that_of_fit() -> None:
    measurements = linear([2.0])
    assert default_target(measurements).tolist() == fit(measurements).target.tolist()


def test_the_default_target_keeps_a_parameter_that_was_not_varied() -> None:
    """Nothing was measured of its growth: runs on 4 to 64 processes at n = 1000 are predicted at p = 256, n = 1000."""
    points = np.column_stack([P, np.full_like(P, 1000)])
    measurements = Measurements(("p", "n"), points, ("main",), ("time",), 3 + P[None, :, None])
    assert default_target(measurements).tolist() == [256, 1000]


def test_names_in_json_can_be_pasted() -> None:
    points = np.array([(a, b) for a in P for b in P])
    values = (3 * points[:, 0] * points[:, 1])[None, :, None]
    model = fit(Measurements(("problem size", "p"), points, ("a",), ("t",), values))[0].model
    texts = report.model_dict(model)
    assert eval(texts["python"], {"problem_size": 2.0, "p": 5.0}) == pytest.approx(30, rel=1e-9)
    assert r"problem\ size" in texts["latex"]
