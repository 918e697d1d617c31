"""Predictions: more processes, larger problems behind the guard, and the two models fitted to the same runs."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.counters.forms import NormalForm
from simcodesign.counters.models import Breakdown, KernelTime, fit_application
from simcodesign.counters.prediction import (
    ANALYTIC,
    EMPIRICAL,
    fit_amdahl_variation,
    fit_size_over_processes,
    miss_fractions,
    optimization_advice,
    predict,
    volume_ratio,
)
from simcodesign.counters.table import counter_table
from tests import examples
from tests.oracles import counter_runs as made_up

MODEL = fit_application(made_up.runs(), latencies=made_up.LATENCIES)


def test_strong_scaling() -> None:
    prediction = predict(MODEL, 128)
    assert prediction.seconds == pytest.approx(made_up.seconds(128), rel=1e-9)
    assert prediction.volume_ratio == 1
    assert prediction.breakdown.size == made_up.SIZE
    assert prediction.baselines.keys() == {ANALYTIC, EMPIRICAL}


def test_a_larger_problem_by_the_work_of_a_process() -> None:
    """Computation is that of the larger size; communication is that of the smaller, its volume times the ratio."""
    prediction = predict(MODEL, 64, 8 * made_up.SIZE, dimensions=3)
    assert prediction.volume_ratio == pytest.approx(4)
    a, b = made_up.P2P
    p2p_s = a * 4 * made_up.p2p_bytes(64) + b
    assert prediction.breakdown.p2p_s == pytest.approx(p2p_s, rel=1e-9)
    c = made_up.COLLECTIVE
    assert prediction.breakdown.collective_s == pytest.approx(
        c[0] * 6 + c[1] * 4 * made_up.collective_bytes(64) + c[2], rel=1e-8
    )
    work = prediction.breakdown.compute_s + prediction.breakdown.memory_s
    assert work == pytest.approx(made_up.compute_s(64, 8 * made_up.SIZE), rel=1e-9)
    assert prediction.breakdown.others_s == pytest.approx(made_up.others_s(64), rel=1e-9)
    assert any("assemble" in note for note in prediction.notes)
    assert not any("outside" in note for note in prediction.notes)
    assert any("outside" in note for note in predict(MODEL, 1024, 8 * made_up.SIZE).notes)
    assert predict(MODEL, 64, 8 * made_up.SIZE, volume=2.5).volume_ratio == 2.5


def test_beyond_the_guard() -> None:
    rows = [
        row | ({"memory_accesses": 1e-3 * row["l1_hits"]} if row["kernel"] == "solve" else {})  # type: ignore[operator]
        for P in (2, 4, 8)
        for row in made_up.rows(P)
    ]
    model = fit_application(counter_table(rows))
    with pytest.raises(InputError, match=r"kernel 'solve' missed .*on \d+ processes, so that memory contention"):
        predict(model, 64, 8 * made_up.SIZE)
    assert predict(model, 64, 8 * made_up.SIZE, guard=None).seconds > 0
    assert predict(model, 64, 8 * made_up.SIZE, guard=0.01).seconds > 0
    assert any("misses the last-level cache" in note for note in predict(model, 64).notes)
    assert predict(model, 64, made_up.SIZE).seconds == predict(model, 64).seconds


def counted(P: float, **more: object) -> dict[str, object]:
    return {
        "kernel": "solve",
        "processes": P,
        "size": 1e6,
        "frequency_hz": 2e9,
        "instructions": 8e9 / P,
        "cycles": 16e9 / P,
        "time_s": 8 / P,
    } | more


def test_every_kernel_that_misses_the_cache_is_named() -> None:
    """All alike, and one whose accesses hit."""
    levels = {"l1_hits": 9e8, "l2_hits": 0.0, "llc_hits": 0.0}
    rows = [
        counted(P, kernel=f"k{k}", memory_accesses=1e8 if k else 0.0, **levels) for P in (2, 4, 8) for k in range(6)
    ]
    model = fit_application(counter_table(rows))
    (note,) = [note for note in predict(model, 64).notes if "last-level" in note]
    assert note.startswith("Kernels 'k1' (E = 0.1), 'k2' (E = 0.1), 'k3' (E = 0.1), 'k4' (E = 0.1) and 1 more miss the")
    with pytest.raises(InputError, match=r"of kernel 'k1' \(and of 4 more\) missed E = 0.1"):
        predict(model, 64, 8e6)


def test_a_form_below_zero_at_the_target_is_told() -> None:
    """1e9/P - 5e7 instructions, a line of the work that is below zero beyond 20 processes."""
    rows = [counted(P, instructions=1e9 / P - 5e7, cycles=2e9 / P - 1e8, time_s=1 / P - 0.05) for P in (2, 4, 8, 16)]
    model = fit_application(counter_table(rows))
    law = model.kernels[0].counters["instructions"]
    assert predict(model, 18).notes == ()
    (note,) = [note for note in predict(model, 64).notes if "instructions" in note]
    used = law.chosen(64, 1e6 / 64)
    assert note.startswith(f"P = 64: kernel 'solve', instructions: {law.text}, the best, is {1e9 / 64 - 5e7:.3g} there")
    assert note.endswith(f"used is {used.text}.")
    assert used.text != law.text
    assert predict(model, 64).breakdown.compute_s == pytest.approx(law.at(64, 1e6 / 64) * 2 / 2e9)


def test_a_normal_form_below_zero_is_told() -> None:
    """10 - P, put in the place of a law."""
    below: Any = SimpleNamespace(
        model=SimpleNamespace(parameters=("processes",), text="10 - processes"),
        r2=1.0,
        predict=lambda at: SimpleNamespace(value=10 - at["processes"]),
    )
    first = replace(MODEL.kernels[0], counters={**MODEL.kernels[0].counters, "instructions": NormalForm(below)})
    model = replace(MODEL, kernels=(first, *MODEL.kernels[1:]))
    assert predict(model, 8).breakdown.kernels[0].compute_s == pytest.approx(2 * first.cpi / made_up.HZ)
    assert predict(model, 64).breakdown.kernels[0].compute_s == 0
    assert (
        "P = 64: kernel 'solve', instructions: 10 - processes is -54 there, and is taken as 0."
        in predict(model, 64).notes
    )
    assert not any("taken as 0" in note for note in predict(model, 8).notes)


@pytest.mark.parametrize("name", ["instructions", "cycles"])
@pytest.mark.parametrize(
    ("gone", "words"),
    [
        ((4,), "{} are missing in the runs on P = 4;"),
        ((2, 4, 8), "no {} were counted;"),
        ((2, 8), "{} are missing in the runs on P = 2, 8;"),
    ],
)
def test_what_is_missing_is_said_and_where(name: str, gone: tuple[int, ...], words: str) -> None:
    rows = [counted(P, **({name: float("nan")} if P in gone else {})) for P in (2, 4, 8)]
    notes = predict(fit_application(counter_table(rows)), 64).notes
    assert any(note.startswith(f"Kernel 'solve': {words.format(name)}") for note in notes)


def test_no_instructions_in_a_run_is_not_missing() -> None:
    rows = [counted(P, **({"instructions": 0.0} if P == 4 else {})) for P in (2, 4, 8)]
    assert any(
        "instructions are 0 in the runs on P = 4" in note
        for note in predict(fit_application(counter_table(rows)), 64).notes
    )


def test_as_many_unknowns_as_runs_are_told() -> None:
    three, four = (
        fit_application(counter_table([counted(P) for P in counts])) for counts in ((2, 4, 8), (2, 4, 8, 16))
    )
    assert any("as many unknowns as there are runs, 3" in note for note in predict(three, 64).notes)
    assert not any("unknowns" in note for note in predict(four, 64).notes)
    assert not any("unknowns" in note for note in predict(three, 64, 8e6, guard=None).notes)


def test_a_baseline_below_zero_is_told() -> None:
    """T = 1/P - 0.05 over three runs, met by both: below zero from 20 processes on."""
    model = fit_application(counter_table([counted(P, time_s=1 / P - 0.05) for P in (2, 4, 8)]))
    prediction = predict(model, 64)
    assert prediction.baselines[ANALYTIC] == pytest.approx(1 / 64 - 0.05)
    assert any(note.startswith(f"T = {ANALYTIC} is below zero on P = 64 (-0.0344 s)") for note in prediction.notes)
    assert not any("below zero" in note for note in predict(model, 16).notes)


def test_a_model_without_a_size_says_nothing_of_another() -> None:
    assert predict(MODEL, 64, 8 * made_up.SIZE).baselines.keys() == {ANALYTIC}
    assert predict(MODEL, 64, made_up.SIZE).baselines.keys() == {ANALYTIC, EMPIRICAL}


def test_nothing_counted_is_no_pass() -> None:
    rows = [{"kernel": "main", "processes": P, "size": 8.0, "time_s": 8 / P} for P in (2, 4, 8)]
    model = fit_application(counter_table(rows))
    with pytest.raises(InputError, match="no run counted its accesses"):
        predict(model, 8, 16)
    assert any("as a whole" in note for note in predict(model, 16).notes)


def test_shares_of_misses() -> None:
    worst = miss_fractions(made_up.runs())[0]
    assert worst.fraction == pytest.approx(1e-5 / (0.33 + 1e-5))
    assert worst.kernel in ("solve", "exchange_ghosts")


def test_ratios_of_volumes() -> None:
    assert volume_ratio(64, 2) == pytest.approx(8)
    assert volume_ratio(64, 3) == pytest.approx(16)
    assert volume_ratio(64, 1) == 1
    for bad in ((64, 0.5), (0, 2)):
        with pytest.raises(InputError):
            volume_ratio(*bad)


@given(st.floats(1e-6, 1e3), st.floats(0, 1e3))
def test_size_over_processes(a: float, b: float) -> None:
    P, size = np.array([2.0, 4, 8, 8]), np.array([100.0, 100, 100, 700])
    result = fit_size_over_processes(P, size, a * size / P + b)
    assert result.at(64, 1e5) == pytest.approx(a * 1e5 / 64 + b, rel=1e-9, abs=1e-12 * b)


@settings(max_examples=examples(20), deadline=None)
@given(st.floats(1, 1e3), st.floats(0.01, 1), st.floats(0.3, 1.5), st.floats(0.1, 10))
def test_variation_of_amdahls_law(a: float, b: float, c: float, d: float) -> None:
    P = np.array([1.0, 2, 4, 8, 16, 32, 64])
    model = fit_amdahl_variation(P, a / P + b * P**c + d)
    assert model.at(32) == pytest.approx(a / 32 + b * 32**c + d, rel=1e-9)
    # Beyond the runs, b P^c against d costs digits.
    assert model.at(256) == pytest.approx(a / 256 + b * 256**c + d, rel=1e-6)


def test_an_exponent_that_runs_away_is_no_answer() -> None:
    """One run far from all others: the least squares with a free exponent go beyond every number."""
    model = fit_amdahl_variation(np.array([2.0, 4, 8, 16, 2500]), np.array([0.004, 0.2135, 0.113, 0.063, 0.41]))
    assert 0.05 <= model.c <= 3
    assert model.at(2500.0) == pytest.approx(0.41, rel=0.01)


def test_three_runs_leave_the_exponent_open() -> None:
    P = np.array([2.0, 4, 8])
    model = fit_amdahl_variation(P, 10 / P + 0.1 * P + 3)
    assert (model.a, model.b, model.c, model.d) == pytest.approx((10, 0.1, 1, 3))
    with pytest.raises(InputError, match="numbers of processes"):
        fit_amdahl_variation(P[:2], P[:2])


def test_baselines_are_fitted_to_the_same_runs() -> None:
    rows = [{"kernel": "main", "processes": P, "size": 100.0, "time_s": 800 / P + 2} for P in (2, 4, 8, 16)]
    baselines = predict(fit_application(counter_table(rows)), 128).baselines
    assert baselines[ANALYTIC] == pytest.approx(800 / 128 + 2, rel=1e-9)
    assert baselines[EMPIRICAL] == pytest.approx(800 / 128 + 2, rel=1e-9)


def test_advice_names_the_largest_part_first() -> None:
    solve, serial = KernelTime("solve", 2.0, 4.0, 8.0, True), KernelTime("serial", 1.5, 0.0, 0.0, False)
    lines = optimization_advice(Breakdown(16, 100.0, (solve, serial), 3.0, 0.5, 0.5, 0.75))
    assert [line.partition(" of the time is ")[0] for line in lines] == ["40 %", "15 %", "15 %"]
    assert "memory stalls of kernel 'solve'" in lines[0]
    assert {"point-to-point", "'serial', which does not scale"} <= {
        words for line in lines for words in ("point-to-point", "'serial', which does not scale") if words in line
    }
    assert len(optimization_advice(Breakdown(16, 100.0, (solve, serial), 3.0, 0.5, 0.5, 0.75), least=0.0)) == 5
    assert optimization_advice(Breakdown(16, 100.0, (), 0.0, 0.0, 1.0, 0.0)) == ()
