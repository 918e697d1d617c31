"""The plot of a search by simulation: its unit, and what the legend names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from simcodesign.cli import app
from simcodesign.report.common import plot_style

pytest.importorskip("matplotlib")


def test_times_have_a_unit_and_only_what_there_is_a_label(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    figures: list[Any] = []
    monkeypatch.setattr(plot_style, "save", lambda figure, path: figures.append(figure))
    words = "explore jacobi mesh-256 --vary P=4,16 --set sweeps=1 --simulate --effects links"
    done = CliRunner().invoke(app, [*words.split(), "--write", str(tmp_path / "a.png")])
    assert done.exit_code == 0, done.output
    (axes,) = figures[-1].axes
    assert axes.get_ylabel() in ("time (s)", "time (ms)")
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["optimum of the forecast, by the forecast", "best simulated so far", "simulated"]
    (line,) = [each for each in axes.lines if each.get_label() == "simulated"]
    assert len(line.get_ydata()) == 2


def test_constraints_on_what_is_simulated_have_a_panel_with_their_limit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    figures: list[Any] = []
    monkeypatch.setattr(plot_style, "save", lambda figure, path: figures.append(figure))
    trace = tmp_path / "t.csv"
    words = "explore jacobi mesh-256 --vary P=4,16 --set sweeps=1 --simulate --effects links --minimize P"
    limits = ["--subject-to", "time <= 2 s", "--subject-to", "P >= 2"]
    plot = ["--write", str(tmp_path / "a.png"), "--write", f"evaluations:{trace}"]
    done = CliRunner().invoke(app, [*words.split(), *limits, *plot])
    assert done.exit_code == 0, done.output
    axes = figures[-1].axes[1:]
    assert [axis.get_ylabel() for axis in axes] in (["time (s)"], ["time (ms)"])
    scale = 1.0 if axes[0].get_ylabel() == "time (s)" else 1e3
    limit, *points = axes[0].lines
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == ["time <= 2 s"]
    assert set(limit.get_ydata()) == {2.0 * scale}
    drawn = sorted(value for line in points for value in line.get_ydata())
    assert drawn == pytest.approx(sorted(pd.read_csv(trace)["time"] * scale))
