"""``explore --simulate`` and ``--metrics``: tables, JSON, trace, plot, and options that exclude each other."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from simcodesign.cli.app import main
from simcodesign.studies.explore.problem_parser import variable
from simcodesign.studies.explore.simulated.search import default_simulations
from simcodesign.studies.explore.space import Space
from tests.oracles.pipeline_schedules import makespan, one_f_one_b

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


PIPELINE = ["pipeline", "crossbar-16", "-P", "4", "--set", "activation=0", "--set", "network.startup=0"]
SIZES = [*PIPELINE, "--vary", "micro_batches=4,6,8,16", "--minimize", "time/micro_batches"]


def test_the_best_points_are_simulated_by_default_where_ranks_differ(capsys: pytest.CaptureFixture[str]) -> None:
    """Three of four, each by a list scheduler; messages cost nothing, so that the sum and the bubble are exact."""
    points = answer(capsys, *SIZES)["confirmed"]["points"]
    assert len(points) == 3
    for one in points:
        count = int(one["forecast"]["values"]["micro_batches"])
        expected_s = makespan(one_f_one_b(4, count), 1, {"F": 0.01, "B": 0.02})
        assert one["simulated"]["objectives"] == pytest.approx([expected_s / count], rel=1e-12)
        assert one["forecast"]["objectives"] == pytest.approx([expected_s / count], rel=1e-12)
    assert answer(capsys, *SIZES, "--simulate-best", "0").get("confirmed") is None
    assert answer(capsys, "broadcast", "mesh-256", "--vary", "P=4,16").get("confirmed") is None


def test_another_point_that_is_better_when_simulated_is_stated_without_a_ladder(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By the sums one micro-batch needs least time each: so few of a zero bubble have no closed form of waits."""
    chosen = ["--set", "schedule=zero_bubble", "--vary", "micro_batches=1,3"]
    varied = [*chosen, "--minimize", "time/micro_batches + micro_batches/1e6"]
    confirmed = answer(capsys, *PIPELINE, *varied)["confirmed"]
    assert [one["forecast"]["values"]["micro_batches"] for one in confirmed["points"]] == [1, 3]
    assert not confirmed["best_stays"]
    assert confirmed["overtakings"] == []
    assert main(["explore", *PIPELINE, *varied]) == 0
    assert "Not confirmed: another point is better when simulated" in capsys.readouterr().out


def test_failures_of_a_run_are_a_metric(capsys: pytest.CaptureFixture[str]) -> None:
    """Without checkpoints, a run of T between failures of M seconds meets e^(T/M) - 1 of them on average (a renewal
    argument: each failure begins it anew)."""
    values = ["-P", "1024", "--set", "work=86400", "--set", "restart=0", "--vary", "interval=1e11,1e12"]
    result = answer(capsys, "checkpointed", "failing-torus", *values, "--minimize", "failures")
    assert result["objective"] == pytest.approx(math.e - 1, rel=1e-12)  # a day of work, and of time between failures
