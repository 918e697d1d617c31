"""Plots of trust maps: what is drawn of which points, checked in the artists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from simcodesign.analytic.given_formulas.values import given_formulas
from simcodesign.core.errors import InputError
from simcodesign.report.common import plot_style
from simcodesign.report.trust.plot import MOST_PANELS, check_trust_plot, trust_plot
from simcodesign.studies.sweep.sweep import sweep_of
from simcodesign.studies.trust.formula_times import FormulaTimes
from simcodesign.studies.trust.trust_map import TrustMap, trust_map

pytest.importorskip("matplotlib")


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that are saved."""
    recorded: list[Any] = []
    saved = plot_style.save
    monkeypatch.setattr(plot_style, "save", lambda figure, path: (recorded.append(figure), saved(figure, path)))
    return recorded


def made(
    *over: str, errors: tuple[float, ...] = (0.0, 0.5), failed: int = -1, sample: tuple[int, str] | None = None
) -> TrustMap:
    """The map of a formula whose errors repeat, beside a forecast 30 % too low; one point may have failed."""
    sweep = sweep_of("broadcast", "mesh-256", over, simulate=True, sample=sample)
    count = sweep.count
    error = np.resize(errors, count)
    simulated_s = np.where(np.arange(count) == failed, np.nan, 1.0)
    columns = {"simulated_makespan_s": simulated_s, "forecast_makespan_s": 0.7}
    reasons = np.where(np.isnan(simulated_s), "no", "")
    table = pd.DataFrame({"point": np.arange(count), **sweep.design.columns(), **columns, "error": reasons})
    (formula,) = given_formulas("mine = t_s").formulas
    return trust_map(sweep, table, [FormulaTimes(formula, True, 1.0 + error)], 0.1)


def titles(figure: Any) -> list[str]:
    return [axes.get_title(loc="left").splitlines()[0] for axes in figure.axes]


def entries(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_a_panel_for_each_formula_and_one_of_which_to_use(figures: list[Any], tmp_path: Path) -> None:
    trust_plot(made("P=2,4,8", "m=1,4KiB"), tmp_path / "trust.png")
    (figure,) = figures
    assert titles(figure) == ["formula mine, error in %", "our forecast, error in %", "which to use"]
    mine, forecast, to_use = figure.axes
    assert [text.get_text() for text in mine.texts] == ["0", "0", "0", "+50", "+50", "+50"]
    assert {text.get_text() for text in forecast.texts} == {"\N{MINUS SIGN}30"}
    assert mine.get_title(loc="left").splitlines()[1].startswith("within 10 % while m <= 1 KiB")
    assert [tick.get_text() for tick in mine.get_yticklabels()] == ["1 KiB", "4 KiB"]
    assert (mine.get_xscale(), mine.get_xlabel()) == ("log", "P (ranks)")
    assert sum(patch.get_hatch() == "////" for patch in to_use.patches) == 3  # at 4 KiB none is within
    assert entries(figure) == [
        "within 10 %",
        "too low by 20 to 50 %",
        "too high by 20 to 50 %",
        "nearest: formula mine",
        "nearest: our forecast",
        "hatched: nearest, not within 10 %",
    ]
    assert (tmp_path / "trust.png").stat().st_size > 1000


def test_an_error_just_beyond_the_share_has_a_decimal(figures: list[Any], tmp_path: Path) -> None:
    trust_plot(made("P=2,4", "m=1,4KiB", errors=(0.098, 0.102, 0.2)), tmp_path / "trust.png")
    assert [text.get_text() for text in figures[0].axes[0].texts] == ["+9.8", "+20", "+10.2", "+9.8"]


def test_points_that_were_not_simulated_stay_empty(figures: list[Any], tmp_path: Path) -> None:
    trust_plot(made("P=2,4,8", "m=1,4KiB", failed=2), tmp_path / "trust.png")
    assert len(figures[0].axes[0].texts) == 5


def test_a_third_axis_has_a_row_of_panels_for_each_value(figures: list[Any], tmp_path: Path) -> None:
    trust_plot(made("order=far,near", "P=2,4,8", "m=1,4KiB"), tmp_path / "trust.png")
    assert len(figures[0].axes) == 6
    assert titles(figures[0])[3] == "order = near"


def test_seeds_share_a_cell_with_the_largest_error(figures: list[Any], tmp_path: Path) -> None:
    trust_plot(made("P=2,4", "m=1,4KiB", "seed=1,2", errors=(-0.2, 0.1)), tmp_path / "trust.png")
    assert {text.get_text() for text in figures[0].axes[0].texts} == {"\N{MINUS SIGN}20"}


def test_one_axis_has_lines_with_marks_where_a_formula_is_to_be_used(figures: list[Any], tmp_path: Path) -> None:
    trust_plot(made("m=1,2,4KiB", errors=(0.0, 0.5, 0.05)), tmp_path / "trust.svg")
    (axes,) = figures[0].axes
    mine, used, forecast = (
        line
        for line in axes.lines
        if len(line.get_xdata()) and line.get_linestyle() in ("-", "None") and line.get_marker() == "o"
    )
    assert mine.get_ydata() == pytest.approx([0, 50, 5])
    assert used.get_xdata().tolist() == [1024, 4096]
    assert forecast.get_ydata() == pytest.approx([-30] * 3)
    # At 2 KiB our forecast is the nearest, and not within the share either: nothing draws the eye there.


def test_a_sample_is_drawn_as_its_points(figures: list[Any], tmp_path: Path) -> None:
    trust_plot(made("P=2:256", "m=1:1e6:log", sample=(16, "sobol")), tmp_path / "trust.svg")
    assert [len(axes.collections[0].get_offsets()) for axes in figures[0].axes] == [16, 16, 16]


def test_what_cannot_be_drawn() -> None:
    four = made("order=far,near", "P=2,4", "m=1,2KiB", "network.startup=1,2us")
    with pytest.raises(InputError, match="more than three axes"):
        check_trust_plot(four.axes, 1)
    with pytest.raises(InputError, match="panels"):
        check_trust_plot(made("order=far,near", "P=2,4", "m=1,2KiB").axes, MOST_PANELS // 2)
