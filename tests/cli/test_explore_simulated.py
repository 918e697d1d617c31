"""``explore --simulate`` and ``--metrics``: tables, JSON, trace, plot, and options that exclude each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from simcodesign.cli.app import main
from simcodesign.studies.explore.problem_parser import variable
from simcodesign.studies.explore.simulated.search import default_simulations
from simcodesign.studies.explore.space import Space

FFT = ["pencil-fft", "power-budget-cluster", "-P", "8", "--set", "n=32", "--set", "processors_per_node=4"]
VARIED = ["--vary", "q=1,2,8", "--vary", "machine.link=2 GB/s,10 GB/s"]
LOOP = [*VARIED, "--simulate", "--effects", "links"]


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["explore", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["explore", *arguments]) == 2
    return capsys.readouterr().err


@pytest.mark.thorough
def test_json_trace_and_plot(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    trace, plot = tmp_path / "trace.csv", tmp_path / "plot.png"
    files = ["--write", f"evaluations:{trace}", "--write", str(plot)]
    result = answer(capsys, *FFT, *LOOP, "--subject-to", "peak_power <= 9 kW", "--max-simulations", "5", *files)
    assert result["reading"] == "simulation"
    assert result["simulations"] == 5
    assert not result["exact"]
    frame = pd.read_csv(trace)
    assert len(frame) == 5
    best = frame[frame["feasible"]]["time"].min()
    assert result["point"]["simulated"]["metrics"]["time"] == pytest.approx(best, rel=1e-12)
    assert plot.stat().st_size > 1000


def test_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["explore", *FFT, *LOOP]) == 0
    text = capsys.readouterr().out
    assert "every point of the space was simulated (6 simulations)" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


def test_metrics_have_units(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = {one["metric"]: one["unit"] for one in answer(capsys, *FFT, "--metrics")}
    assert metrics["time"] == "s"
    assert metrics["peak_power"] == "W"
    assert metrics["energy"] == "J"
    assert metrics["price"] == ""
    assert {one["metric"] for one in answer(capsys, "torus-cluster", "--metrics")} >= {"peak_rate"}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--simulate", "--simulate-best", "1"], "--simulate-best"),
        (["--simulate", "--pareto", "--minimize", "time", "--minimize", "energy"], "--pareto"),
        (["--max-simulations", "9"], "--max-simulations"),
        (["--effects", "links"], "--effects"),
    ],
)
def test_options_that_do_not_go_together(capsys: pytest.CaptureFixture[str], options: list[str], named: str) -> None:
    assert named in refusal(capsys, *FFT, *VARIED, *options)


def test_what_was_reached_where_nothing_is_feasible(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The best of a constraint, over all six points and over those that keep the other, by looking at the trace."""
    trace, bounds = tmp_path / "trace.csv", ["--subject-to", "time <= 1 us", "--subject-to", "price <= 100000"]
    result = answer(capsys, *FFT, *LOOP, *bounds, "--write", f"evaluations:{trace}")
    frame = pd.read_csv(trace)
    first, second = result["reached"]
    assert not result["feasible"]
    assert first["value"] == pytest.approx(frame["time"].min(), rel=1e-12)
    assert second["value"] == pytest.approx(frame["price"].min(), rel=1e-12)
    cheap = frame[frame["price"] <= 100000]
    if len(cheap):
        assert first["value_with_others"] == pytest.approx(cheap["time"].min(), rel=1e-12)
    else:
        assert first["value_with_others"] is None
    assert second["value_with_others"] is None  # no point takes 1 us


@pytest.mark.parametrize(("texts", "count"), [(["x=1:2"], 15), (["x=1:2", "y=1:100:whole"], 25), (["x=1,2,3"], 5)])
def test_a_budget_follows_the_variables(texts: list[str], count: int) -> None:
    variables = tuple(variable(text, {}) for text in texts)
    assert default_simulations(Space(variables)) == count


def test_a_refusal_names_what_has_a_part_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(capsys, *FFT, "--vary", "q=2,3", "--vary", "machine.link=2 GB/s,10 GB/s")
    (refused,) = result["refused"]
    assert (refused["count"], refused["values"]) == (2, {"q": 3.0})
    assert "2.66667 x 3" in refused["why"]
