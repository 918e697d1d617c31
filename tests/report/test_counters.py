"""Studies of counters as tables, JSON and plots: every number shown is one that was computed, none is cut off."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from rich.console import Console

from simcodesign.core.to_json import to_json
from simcodesign.counters.fit_and_predict import CounterPredictions, fit_and_predict
from simcodesign.counters.forms import LINEAR, PROCESSES, WORK, BestForm, Form
from simcodesign.counters.partition import Target
from simcodesign.counters.prediction import ANALYTIC, EMPIRICAL
from simcodesign.counters.table import CounterTable, Latencies, counter_table, joined
from simcodesign.report.counters.model_tables import MOST_KERNELS, law_text
from simcodesign.report.counters.plot import PARTS, counters_plot, measured_bars, predicted_bar
from simcodesign.report.counters.tables import counter_tables, part_rows
from simcodesign.report.counters.to_json import study_dict
from tests.counters.test_fit_and_predict import communication_only, two_clocks
from tests.oracles import counter_runs as made_up

HELD = made_up.runs((128,))
PLAIN = fit_and_predict(made_up.runs(), [Target(128), Target(64, 8 * made_up.SIZE)], evidence=None, guard=None)
COMPARED = fit_and_predict(made_up.runs(), [Target(128)], evidence=HELD)
REFINED = fit_and_predict(joined([two_clocks(), communication_only((64, 128))]), [Target(256)])


def shown(result: CounterPredictions, width: int = 80) -> str:
    console = Console(width=width, markup=False, highlight=False, emoji=False, color_system=None)
    with console.capture() as capture:
        for renderable in counter_tables(result):
            console.print(renderable)
    return capture.get()


def rows_of(text: str) -> list[list[str]]:
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("expected", [PLAIN, COMPARED, REFINED])
def test_nothing_is_cut_off(expected: CounterPredictions, width: int) -> None:
    text = shown(expected, width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for name in ("solve", "exchange_ghosts", "assemble", "point-to-point", "collective"):
        assert any(row[0] == name for row in rows_of(text)), name


def test_parts_add_up_to_the_total() -> None:
    for forecast in PLAIN.forecasts:
        breakdown = forecast.prediction.breakdown
        assert math.fsum(sum(row[1:]) for row in part_rows(breakdown)) == pytest.approx(breakdown.seconds, rel=1e-12)
        assert sum(predicted_bar(forecast).parts) == pytest.approx(breakdown.seconds, rel=1e-12)


def test_a_comparison_shows_what_was_measured() -> None:
    text = shown(COMPARED, 120)
    total = next(row for row in rows_of(text) if row[0] == "total")
    assert total[-2:] == [f"{made_up.seconds(128):.4f}", "+0.0%"]
    assert "error, measured" in text
    assert "error, measured" not in shown(PLAIN)


def test_both_other_models_and_by_how_much_they_differ() -> None:
    prediction = PLAIN.forecasts[0].prediction
    text = shown(PLAIN)
    for name in (ANALYTIC, EMPIRICAL):
        row = next(row for row in rows_of(text) if row[0] == f"T = {name}")
        assert row[2] == f"{prediction.baselines[name] / prediction.seconds - 1:+.1%}"


def test_refinements_are_told() -> None:
    text = " ".join(shown(REFINED).split())
    assert "Refined with runs at 2.5 GHz and 1.6 GHz, P = 8" in text
    assert "fitted again with further runs on P = 64. On P = 128, kept for validation" in text
    assert "Refined" not in shown(PLAIN)


def test_what_is_not_known_has_no_column() -> None:
    rows = [{"kernel": "main", "processes": P, "time_s": 8 / P + 1} for P in (2, 4, 8)]
    text = shown(fit_and_predict(counter_table(rows), [Target(16)]))
    assert "CPI " not in text
    assert "latencies" not in text
    assert "E is not known" in text
    assert "the runs do not say their" in text
    assert "its time is modelled as a whole" in " ".join(text.split())


def test_many_kernels_are_cut_and_counted() -> None:
    rows = [
        {"kernel": f"k{number}", "processes": P, "instructions": 1e9 / P, "cycles": 2e9 / P, "frequency_hz": 2e9}
        for P in (2, 4, 8)
        for number in range(MOST_KERNELS + 3)
    ]
    prediction = fit_and_predict(counter_table(rows), [Target(16)])
    assert "and 3 more" in shown(prediction)
    assert len(study_dict(prediction)["kernels"]) == MOST_KERNELS + 3


def test_stalls_that_many_kernels_share_are_told_together() -> None:
    """Twelve kernels of which each stalls for a fortieth of the time: three tenths, and none is worth a line."""
    rows = [
        {
            "kernel": f"k{number}",
            "processes": P,
            "instructions": 7e8 / P,
            "cycles": 1e9 / P,
            "stall_cycles": 3e8 / P,
            "frequency_hz": 1e9,
        }
        for P in (2, 4, 8)
        for number in range(12)
    ]
    text = " ".join(shown(fit_and_predict(counter_table(rows), [Target(16)])).split())
    assert "30 % of the time is memory stalls, spread over several kernels" in text
    assert "memory stalls of kernel" not in text


def test_poor_models_are_named() -> None:
    values = {2: 1.0, 4: 3.0, 8: 1.2, 16: 2.0, 32: 0.9, 64: 2.9}
    rows = [
        {
            "kernel": "odd",
            "processes": P,
            "instructions": 1e9 / P,
            "cycles": 2e9 / P,
            "frequency_hz": 2e9,
            "stall_cycles": 1e7 * values[P],
        }
        for P in values
    ]
    prediction = fit_and_predict(counter_table(rows), [Target(128)])
    law = prediction.model.kernels[0].counters["stall_cycles"]
    named = any("odd (stall cycles)" in note for note in study_dict(prediction)["notes"])
    assert named == (law.r2 < 0.9 and isinstance(law, BestForm) and law.forms[0].kind != "constant")


def test_a_baseline_below_zero_is_no_time() -> None:
    """1/P - 0.05 s, below zero from 20 processes on."""
    rows = [{"kernel": "k", "processes": P, "size": 8.0, "time_s": 1 / P - 0.05} for P in (2, 4, 8, 16)]
    table = [
        row for row in rows_of(shown(fit_and_predict(counter_table(rows), [Target(64)]))) if row[0] == f"T = {ANALYTIC}"
    ]
    assert [row[1:] for row in table] == [["-", "-"]]


def test_latencies_that_nobody_gave_are_assumed() -> None:
    given = fit_and_predict(made_up.runs(), [Target(128)], latencies=Latencies())
    assert ("assumed: 4, 12, 40" in shown(PLAIN), "assumed" in shown(given)) == (True, False)
    assert [study_dict(result)["latencies_assumed"] for result in (PLAIN, given)] == [True, False]


def test_kernels_of_the_same_misses_are_counted() -> None:
    levels = {"l1_hits": 9.0, "l2_hits": 0.0, "llc_hits": 0.0, "memory_accesses": 1.0}
    rows = [
        {"kernel": name, "processes": P, "time_s": 8 / P} | levels
        for P in (2, 4, 8)
        for name in ("one", "two", "three")
    ]
    assert "E up to 0.1 (kernel one and 2 more, P = 2)" in shown(
        fit_and_predict(counter_table(rows), [Target(64)]), 120
    )


def test_an_intercept_of_rounding_is_left_out() -> None:
    def text(b: float) -> str:
        return law_text(BestForm((Form(LINEAR, WORK, 60.0, b, 1.0),)), {WORK: 5e9, PROCESSES: 8.0})

    assert text(-3.8e-6) == "60 (size/P)"
    assert text(-4.0) == "60 (size/P) - 4"


@pytest.mark.parametrize("expected", [PLAIN, COMPARED, REFINED])
def test_json_has_the_numbers_in_full(expected: CounterPredictions) -> None:
    answer = json.loads(json.dumps(to_json(study_dict(expected)), allow_nan=False))
    for one, forecast in zip(answer["predictions"], expected.forecasts, strict=True):
        assert one["seconds"] == forecast.prediction.seconds
        parts = [kernel["seconds"] for kernel in one["kernels"]] + [one["communication_s"], one["others_s"]]
        assert math.fsum(parts) == pytest.approx(one["seconds"], rel=1e-12)
    assert [kernel["name"] for kernel in answer["kernels"]] == [kernel.name for kernel in expected.model.kernels]
    assert (answer["refined_by_frequencies"] is None) == (expected.clocks is None)
    assert (answer["refined_by_further_runs"] is None) == (expected.communication is None)


def test_measured_bars_are_the_times_of_the_runs() -> None:
    bars = measured_bars(PLAIN.model)
    assert [bar.label for bar in bars] == ["2", "4", "8", "16"]
    assert [sum(bar.parts) for bar in bars] == pytest.approx([made_up.seconds(P) for P in (2, 4, 8, 16)], rel=1e-12)
    stalls = sum(truth.stalls * truth.instructions(made_up.SIZE / 4, 4) for truth in made_up.KERNELS.values())
    assert bars[1].parts[PARTS.index("memory stalls")] == pytest.approx(stalls / made_up.HZ)


def heights(path: Path, result: CounterPredictions, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Of all bars of the lower panel, from the figure that is saved."""
    plot_style = pytest.importorskip("simcodesign.report.counters.plot").plot_style
    figures = []
    save = plot_style.save
    monkeypatch.setattr(plot_style, "save", lambda figure, where: (figures.append(figure), save(figure, where)))
    counters_plot(result, path)
    return [patch.get_height() for patch in figures[0].axes[1].patches]


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_plots_are_written(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    counters_plot(COMPARED, tmp_path / f"plot{suffix}")
    assert (tmp_path / f"plot{suffix}").stat().st_size > 1000


@pytest.mark.thorough
def test_bars_are_seconds_or_shares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    seconds = heights(tmp_path / "a.svg", COMPARED, monkeypatch)
    times = [*(made_up.seconds(P) for P in (2, 4, 8, 16)), COMPARED.forecasts[0].prediction.seconds]
    assert sum(seconds) == pytest.approx(sum(times), rel=1e-9)
    rows = [{"kernel": "main", "processes": P, "time_s": 800 / P + 0.01} for P in (2, 4, 8)]
    steep = fit_and_predict(counter_table(rows), [Target(64)])
    monkeypatch.undo()
    assert sum(heights(tmp_path / "b.svg", steep, monkeypatch)) == pytest.approx(400)


def weak() -> CounterTable:
    return counter_table(
        [
            {
                "kernel": "main",
                "processes": P,
                "size": 10.0 * P,
                "instructions": 1e9,
                "cycles": 2e9,
                "frequency_hz": 2e9,
            }
            for P in (2, 4, 8)
        ]
    )


def test_weak_scaling(tmp_path: Path) -> None:
    prediction = fit_and_predict(weak(), [Target(64)])
    assert "weak scaling, 10 of the size to a process" in " ".join(shown(prediction).split())
    assert "Predicted for P = 64, size 640" in shown(prediction)
    pytest.importorskip("matplotlib")
    counters_plot(prediction, tmp_path / "weak.png")
