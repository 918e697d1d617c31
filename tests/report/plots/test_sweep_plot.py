"""Plots of sweeps: what is drawn from which rows, checked in the artists."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.core.units import parse_quantity
from simcodesign.report.common import plot_style
from simcodesign.report.sweep.plot import MOST_LINES, check_plot, sweep_plot
from simcodesign.report.sweep.plot_axes import LEVELS, short_text
from simcodesign.studies.sweep.design.grid import Design, Known, SweepAxis, grid, parse_axis
from simcodesign.studies.sweep.design.sampling import sampled

pytest.importorskip("matplotlib")


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that are saved."""
    recorded: list[Any] = []
    saved = plot_style.save
    monkeypatch.setattr(plot_style, "save", lambda figure, path: (recorded.append(figure), saved(figure, path)))
    return recorded


def design(*texts: str) -> Design:
    return grid([parse_axis(text) for text in texts])


@pytest.mark.parametrize(
    ("value", "text"), [(8192.0, "8,192"), (999_999.0, "999,999"), (1234.5, "1,230"), (1_234_567.0, "1.23e+06")]
)
def test_whole_counts_are_written_in_full(value: float, text: str) -> None:
    assert short_text(value, "count") == text


def table(made: Design, both: bool = True) -> pd.DataFrame:
    """A table whose forecast is 1 + the number of the point, and whose simulation is twice that."""
    number = np.arange(made.count)
    results = {"forecast_makespan_s": number + 1.0}
    if both:
        results |= {"simulated_makespan_s": 2 * (number + 1.0), "ratio": np.full(made.count, 0.5)}
    return pd.DataFrame({"point": number, **made.columns(), **results, "error": ""})


def test_one_axis_has_both_readings_in_one_panel(figures: list[Any], tmp_path: Path) -> None:
    made = design("P=1:8:x2")
    sweep_plot(table(made), made.axes, tmp_path / "a.png")
    times, ratio = figures[0].axes
    assert [line.get_ydata().tolist() for line in times.lines] == [[1, 2, 3, 4], [2, 4, 6, 8]]
    assert (times.get_xscale(), ratio.get_title(loc="left")) == ("log", "forecast / simulated")
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_columns_of_one_unit_share_a_panel(figures: list[Any], tmp_path: Path) -> None:
    """By short names of formulas, or by those of columns; titles are words, and errors have their sign and unit."""
    made = design("P=1:8:x2")
    number = np.arange(4) + 1.0
    more = {"formula_logP_s": number, "formula_logP_error": -number / 10, "forecast_messages": 10 * number}
    shown = table(made).assign(**more)
    of = ["forecast", "logP", "simulated", "formula_logP_error", "forecast_messages"]
    sweep_plot(shown, made.axes, tmp_path / "a.png", of)
    titles = [panel.get_title(loc="left") for panel in figures[0].axes]
    assert titles == ["time", "error of logP (formula) against simulated", "forecast messages"]
    words = [text.get_text() for text in figures[0].axes[0].get_legend().get_texts()]
    assert words == ["forecast time", "logP (formula)", "simulated time"]
    assert "-10 %" in [text.get_text() for text in figures[0].axes[1].get_yticklabels()]
    with pytest.raises(InputError) as raised:
        check_plot(shown.columns, made.axes, ["logp"])
    assert str(raised.value).count("ratio") == 1
    assert "did you mean 'logP'?" in str(raised.value)


def test_of_an_open_stream_response_times_are_drawn(figures: list[Any], tmp_path: Path) -> None:
    made = design("rate=1:8:x2")
    responses = {"forecast_response_s": made.columns()["rate"] * 3, "simulated_response_s": made.columns()["rate"] * 4}
    sweep_plot(table(made).assign(**responses), made.axes, tmp_path / "a.png")
    times, _ = figures[0].axes
    assert [line.get_ydata().tolist() for line in times.lines] == [[3, 6, 12, 24], [4, 8, 16, 32]]


def test_lines_are_those_of_the_second_axis(figures: list[Any], tmp_path: Path) -> None:
    made = design("n=1:3:+1", "t=1,2us")
    sweep_plot(table(made, both=False), made.axes, tmp_path / "a.svg", form="lines")
    (panel,) = figures[0].axes
    assert [line.get_ydata().tolist() for line in panel.lines] == [[1, 3, 5], [2, 4, 6]]
    assert [text.get_text() for text in panel.get_legend().get_texts()] == ["1 us", "2 us"]


def test_measured_totals_are_drawn_over_the_curves_with_their_spread(figures: list[Any], tmp_path: Path) -> None:
    made = design("P=1:8:x2")
    seen = {"measured_s": [np.nan, 3.0, np.nan, 9.0], "measured_low_s": [np.nan, 2.5, np.nan, np.nan]}
    seen |= {"measured_high_s": [np.nan, 4.0, np.nan, np.nan]}
    sweep_plot(table(made).assign(**seen), made.axes, tmp_path / "a.png")
    times, ratio = figures[0].axes
    squares = times.lines[-1]
    assert (squares.get_marker(), squares.get_xdata().tolist(), squares.get_ydata().tolist()) == ("s", [2, 8], [3, 9])
    bars, *caps = times.collections
    assert [cap.get_offsets().tolist() for cap in caps] == [[[2, 2.5]], [[2, 4.0]]]  # wider than the squares
    assert [segment.tolist() for segment in bars.get_segments()] == [[[2, 2.5], [2, 4.0]]]
    assert [text.get_text() for text in times.get_legend().get_texts()][-1] == "measured"
    assert not ratio.collections


def test_of_two_axes_lines_carry_measured_totals(figures: list[Any], tmp_path: Path) -> None:
    made = design("P=1,2", "m=1,2,3")
    seen = {"measured_s": [7.0, np.nan, np.nan, np.nan, 5.0, np.nan]}
    seen |= {"measured_low_s": np.full(6, np.nan), "measured_high_s": np.full(6, np.nan)}
    sweep_plot(table(made, both=False).assign(**seen), made.axes, tmp_path / "a.png")
    (panel,) = figures[0].axes
    squares = {line.get_color(): line for line in panel.lines if line.get_marker() == "s"}
    curves = [line for line in panel.lines if line.get_marker() != "s"]
    drawn = [squares[line.get_color()].get_ydata().tolist() if line.get_color() in squares else [] for line in curves]
    assert drawn == [[7.0], [5.0], []]


def test_too_many_lines_are_chosen_evenly(figures: list[Any], tmp_path: Path) -> None:
    made = design("n=1:3:+1", "m=1:100:+1")
    sweep_plot(table(made), made.axes, tmp_path / "a.png", "forecast", "lines")
    (panel,) = figures[0].axes
    assert len(panel.lines) == MOST_LINES
    assert panel.get_legend().get_title().get_text() == "m (91 more)"


def test_a_heat_map_shows_every_value_at_its_place(figures: list[Any], tmp_path: Path) -> None:
    made = design("n=1:3:+1", "m=1,10,100,1000")
    shown = table(made)
    shown.loc[5, ["forecast_makespan_s", "simulated_makespan_s", "ratio"]] = np.nan
    sweep_plot(shown, made.axes, tmp_path / "a.png", form="heat")
    first = figures[0].axes[0]
    cells = first.collections[0].get_array()
    expected = (np.arange(12) + 1.0).reshape(3, 4).T
    assert np.ma.getmaskarray(cells).sum() == 1
    assert bool(np.ma.getmaskarray(cells)[1, 1])
    assert np.ma.allclose(cells, expected)
    assert (first.get_xscale(), first.get_yscale()) == ("linear", "log")
    # Forecast and simulation share their colours.
    norms = [panel.collections[0].norm for panel in figures[0].axes[:2]]
    assert {(norm.vmin, norm.vmax) for norm in norms} == {(1, 24)}


@pytest.mark.thorough
def test_contours_and_samples_are_drawn(figures: list[Any], tmp_path: Path) -> None:
    made = design("n=1:3:+1", "m=1:1000:n=5:log")
    sweep_plot(table(made), made.axes, tmp_path / "a.png", form="contour")
    result = sampled(["n=1:10:log", "m=0:5"], 32, "sobol", 1)
    for form in ("lines", "heat", "contour"):
        sweep_plot(table(result, both=False), result.axes, tmp_path / "b.png", form=form)
    alone = sampled(["n=1:10:log"], 8, "sobol", 1)
    sweep_plot(table(alone, both=False), alone.axes, tmp_path / "c.png", zipped=True)
    assert len(figures) == 5
    assert len(figures[2].axes[0].collections[0].get_offsets()) == 32


def test_words_stand_in_their_order(figures: list[Any], tmp_path: Path) -> None:
    kind = SweepAxis("kind", ("torus", "mesh", "ring"), known=Known("kind", "change"))
    made = grid([kind, parse_axis("P=1,2")])
    sweep_plot(table(made, both=False), made.axes, tmp_path / "a.png", form="heat")
    panel = figures[0].axes[0]
    assert [text.get_text() for text in panel.get_xticklabels()] == ["torus", "mesh", "ring"]
    assert np.allclose(panel.collections[0].get_array(), [[1, 3, 5], [2, 4, 6]])


def test_seeds_are_averaged_and_other_axes_held(figures: list[Any], tmp_path: Path) -> None:
    made = design("P=1,2", "m=1,2", "k=7,8", "seed=1,2,3")
    shown = table(made)
    sweep_plot(shown, made.axes, tmp_path / "a.png", "forecast", title="a title")
    cells = figures[0].axes[0].collections[0].get_array()
    held = shown[shown["k"] == 7].groupby(["m", "P"])["forecast_makespan_s"].mean().to_numpy()
    assert np.allclose(cells.ravel(), held)
    assert figures[0].get_suptitle() == "a title\nk = 7 (the first of 2 values), mean over 3 seeds"


def test_axes_of_a_sample_that_are_not_plotted_are_named(figures: list[Any], tmp_path: Path) -> None:
    """All points of a sample are plotted, whatever its third axis is at each."""
    sample = sampled(["n=1:10", "m=0:5", "t=2:2us", "k=1:4us"], 32, "sobol", 1)
    for form in ("lines", "heat"):
        sweep_plot(table(sample, both=False), sample.axes, tmp_path / "a.png", form=form)
    named = f"not shown: k ({min(sample.axes[3].values) * 1e6:.3g} us to {max(sample.axes[3].values) * 1e6:.3g} us)"
    assert [figure.get_suptitle() for figure in figures] == [named, named]
    assert len(figures[0].axes[0].collections[0].get_offsets()) == 32


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("low", "factor"),
    [(1.0, 1.0 + 1e-9), (3e-7, 1.001), (2.0, 9.0), (0.03, 21.0), (1e-3, 300.0), (7.0, 1e9), (1e-9, 1e40)],
)
def test_contours_and_the_ticks_of_their_bar_are_the_same_round_numbers(
    figures: list[Any], tmp_path: Path, low: float, factor: float
) -> None:
    made = design("n=1:3:+1", "m=1:3:+1")
    times = table(made, both=False).assign(forecast_makespan_s=np.geomspace(low, low * factor, 9))
    sweep_plot(times, made.axes, tmp_path / "a.png", form="contour")
    panel, bar = figures[0].axes
    levels, ticks = panel.collections[0].levels, bar.get_yticks()
    assert levels.tolist() == ticks.tolist()
    assert 2 <= len(levels) <= LEVELS
    assert low <= levels[0] < levels[-1] <= low * factor
    texts = [label.get_text() for label in bar.get_yticklabels()]
    assert len(set(texts)) == len(texts)
    read = [parse_quantity(text, "time") for text in texts]
    assert np.allclose(read, levels, rtol=1e-12)  # round: what is printed is the level, not near it


def test_ticks_of_nearly_equal_values_differ(figures: list[Any], tmp_path: Path) -> None:
    made = design("n=1:1.000000003:n=4")
    nearly = table(made).assign(ratio=1 + 1e-9 * np.arange(4.0))
    sweep_plot(nearly, made.axes, tmp_path / "a.png", "ratio")
    (panel,) = figures[0].axes
    for line in (panel.xaxis, panel.yaxis):
        texts = [label.get_text() for label in line.get_ticklabels()]
        assert len(set(texts)) == len(texts) >= 3
        assert np.allclose([float(text) for text in texts], line.get_ticklocs(), rtol=1e-11, atol=0)


def test_a_panel_without_values_says_so(figures: list[Any], tmp_path: Path) -> None:
    made = design("P=1,2")
    shown = table(made, both=False).assign(forecast_makespan_s=np.nan)
    sweep_plot(shown, made.axes, tmp_path / "a.png")
    assert [text.get_text() for text in figures[0].axes[0].texts] == ["no point has this"]


@pytest.mark.parametrize(
    ("texts", "of", "form", "named"),
    [
        (["P=1,2"], [], "heat", "needs two axes"),
        (["P=1,2"], [], "pie", "form of a plot"),
        (["P=1,2", "m=1,2"], ["times"], None, "nothing to draw of this name"),
        (["P=1,2", "m=1,2"], "P", None, "nothing to draw of this name"),
    ],
)
def test_what_cannot_be_drawn(texts: list[str], of: list[str], form: str | None, named: str) -> None:
    made = design(*texts)
    with pytest.raises(InputError, match=named):
        check_plot(table(made).columns, made.axes, of, form)


def test_contours_need_numbers(tmp_path: Path) -> None:
    made = grid([SweepAxis("kind", ("torus", "mesh"), known=Known("kind", "change")), parse_axis("P=1,2")])
    with pytest.raises(InputError, match="contours need two axes"):
        sweep_plot(table(made), made.axes, tmp_path / "a.png", form="contour")
    assert not (tmp_path / "a.png").exists()


def test_nothing_is_drawn_of_nothing() -> None:
    with pytest.raises(InputError, match="no point has a result"):
        check_plot(["point", "P", "error"], design("P=1,2").axes)


def words(name: str, *values: str) -> SweepAxis:
    return SweepAxis(name, values, known=Known(name, "change"))


def test_words_are_lines_or_bars_and_no_map(figures: list[Any], tmp_path: Path) -> None:
    kinds, ranks = words("kind", "torus", "mesh"), parse_axis("P=1,2,4")
    mixed = grid([kinds, ranks])
    sweep_plot(table(mixed, both=False), mixed.axes, tmp_path / "a.png")
    (panel,) = figures[-1].axes  # a line for each word along the numbers, in whatever order the axes are
    assert [line.get_ydata().tolist() for line in panel.lines] == [[1, 2, 3], [4, 5, 6]]
    assert panel.get_xlabel() == "P (ranks)"
    both = grid([kinds, words("mapping", "linear", "grid", "random")])
    sweep_plot(table(both, both=False), both.axes, tmp_path / "b.png")
    (panel,) = figures[-1].axes
    heights = [[bar.get_height() for bar in bars] for bars in panel.containers]
    assert heights == [[1, 4], [2, 5], [3, 6]]
    alone = grid([kinds])
    sweep_plot(table(alone), alone.axes, tmp_path / "c.png")
    times, ratio = figures[-1].axes
    assert [[bar.get_height() for bar in bars] for bars in times.containers] == [[1, 2], [2, 4]]
    assert [(bar.get_y(), bar.get_height()) for bar in ratio.patches] == [(1, -0.5), (1, -0.5)]


def test_ratios_are_logarithmic(figures: list[Any], tmp_path: Path) -> None:
    """Twice and half are as far from 1."""
    made = design("n=1,2", "m=1,2")
    shown = table(made).assign(ratio=[0.25, 1.0, 2.0, 1.0])
    sweep_plot(shown, made.axes, tmp_path / "a.png", "ratio", "lines")
    (panel,) = figures[-1].axes
    assert panel.get_yscale() == "log"
    assert {0.5, 1.0, 2.0} <= {float(tick) for tick in panel.get_yticks()}
    sweep_plot(shown, made.axes, tmp_path / "b.png", "ratio", "heat")
    norm = figures[-1].axes[0].collections[0].norm
    assert [float(norm(value)) for value in (0.25, 0.5, 1, 2, 4)] == pytest.approx([0, 0.25, 0.5, 0.75, 1])


@pytest.mark.parametrize("ends", [(0.99, 1.002), (0.2, 0.9), (0.5, 30), (0.001, 1000), (1.0, 1.0)])
def test_ticks_of_ratios_have_1_and_are_few(ends: tuple[float, float]) -> None:
    ticks = plot_style.ratio_ticks(min(*ends, 1) / 1.02, max(*ends, 1) * 1.02)
    assert 1.0 in ticks
    assert 3 <= len(ticks) <= 10
    assert ticks == sorted(ticks)


def test_ticks_of_ratios_are_round_on_both_sides_of_1() -> None:
    assert plot_style.ratio_ticks(0.8, 1.32) == [0.8, 0.9, 1.0, 1.1, 1.2, 1.3]
    assert plot_style.ratio_ticks(0.99, 1.32) == [1.0, 1.1, 1.2, 1.3]


@given(st.floats(1e-9, 1e9), st.floats(1.05, 1e12), st.sampled_from([2.0, 10.0]))
def test_logarithmic_axes_have_some_ticks(low: float, factor: float, base: float) -> None:
    """However short: at least two, at most so many that they can be read, all of them within the ends."""
    high = low * factor
    ticks = plot_style.round_ticks(low, high, base)
    assert 2 <= len(ticks) <= 10
    assert ticks == sorted(set(ticks))
    assert all(low * (1 - 1e-6) <= tick <= high * (1 + 1e-6) for tick in ticks)


@given(st.lists(st.text("abc-.=", min_size=1, max_size=30), min_size=1, max_size=6), st.floats(0.2, 4.0))
def test_lines_of_labels_end_between_words(words: list[str], inches: float) -> None:
    """Only words that are longer than a line are broken, and then behind a sign; nothing is lost."""
    text = " ".join([*words, "10 us"])
    lines = plot_style.wrapped(text, inches).splitlines()
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    width = max(12, int(inches * 72 / (0.56 * 9)))
    for before, after in pairwise(lines):
        ended = before.split(" ")[-1]
        assert any(word.endswith(ended) for word in words) or ended[-1] in "-.="
        if ended not in words:
            assert any(len(word) > width and ended in word for word in words), (before, after)
    assert lines[-1].endswith("10 us")
