"""Models from hardware counters: runs made up from the equations with known constants are recovered to rounding."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.counters.kernels import REST
from simcodesign.counters.models import fit_application
from simcodesign.counters.runs import MIXED, STRONG, WEAK, run_times, scaling_of
from simcodesign.counters.table import APPLICATION, counter_table, joined, means
from tests.oracles import counter_runs as made_up


def test_equation_2_is_met_at_the_runs_and_beyond() -> None:
    model = fit_application(made_up.runs(), latencies=made_up.LATENCIES)
    for processes in (2, 4, 8, 16, 128, 1000):
        assert model.at(processes).seconds == pytest.approx(made_up.seconds(processes), rel=1e-9)


def test_constants_are_recovered() -> None:
    model = fit_application(made_up.runs(), latencies=made_up.LATENCIES)
    assert {kernel.name for kernel in model.kernels} == {"solve", "exchange_ghosts", "assemble", REST}
    solve = next(kernel for kernel in model.kernels if kernel.name == "solve")
    assert solve.cpi == pytest.approx(0.8, rel=1e-12)
    assert solve.cpi_variance == pytest.approx(0, abs=1e-20)
    communication = model.communication
    assert (communication.p2p.a_s_per_byte, communication.p2p.b_s) == pytest.approx(made_up.P2P, rel=1e-9)
    collective = (communication.collective.a_s, communication.collective.b_s_per_byte, communication.collective.c_s)
    assert collective == pytest.approx(made_up.COLLECTIVE, rel=1e-8)
    assert communication.blocking_factor == pytest.approx(1, rel=1e-9)


def test_parts_of_a_kernel() -> None:
    model = fit_application(made_up.runs(), latencies=made_up.LATENCIES)
    part = next(kernel for kernel in model.at(64).kernels if kernel.name == "exchange_ghosts")
    count = 60 * made_up.SIZE / 64
    accesses_s = count * ((0.3 * 4 + 0.02 * 12 + 0.01 * 40) / made_up.HZ + 1e-5 * 80e-9)
    assert part.compute_s == pytest.approx(1.1 * count / made_up.HZ, rel=1e-9)
    assert part.memory_s == pytest.approx(0.3 * count / made_up.HZ, rel=1e-9)
    assert part.access_s == pytest.approx(accesses_s, rel=1e-9)
    assert part.blocking_factor == pytest.approx(0.3 * count / made_up.HZ / accesses_s, rel=1e-9)


@pytest.mark.thorough
@settings(max_examples=10, deadline=None)
@given(st.floats(0.0, 1.0))
def test_overlapped_communication_is_the_blocking_factor(exposed: float) -> None:
    model = fit_application(made_up.runs(exposed=exposed))
    assert model.communication.blocking_factor == pytest.approx(exposed, abs=1e-9)
    assert model.at(64).seconds == pytest.approx(made_up.seconds(64, exposed=exposed), rel=1e-9)


def test_the_application_row_is_the_total() -> None:
    table = made_up.runs()
    whole = [
        {"kernel": APPLICATION, "processes": P, "size": made_up.SIZE, "time_s": made_up.seconds(P, exposed=0.25)}
        for P in (2, 4, 8, 16)
    ]
    runs = means(joined([table, counter_table(whole)]))
    times = run_times(runs, scaling_of(runs))
    assert times.blocking_factor == pytest.approx([0.25] * 4, rel=1e-9)


def test_weak_scaling() -> None:
    table = joined([made_up.runs([P], size=P * 1e5) for P in (2, 4, 8)])
    model = fit_application(table)
    assert model.scaling.kind == WEAK
    assert model.at(64).seconds == pytest.approx(made_up.seconds(64, 64e5), rel=1e-9)
    assert model.at(64, 64e5).seconds == model.at(64).seconds
    with pytest.raises(InputError, match="work of a process"):
        model.at(64, 1e5)


def test_kinds_of_scaling() -> None:
    assert scaling_of(made_up.runs()).kind == STRONG
    mixed = joined([made_up.runs([2], 1e6), made_up.runs([4], 1e6), made_up.runs([4], 2e6)])
    assert scaling_of(mixed).kind == MIXED
    with pytest.raises(InputError, match="need a size"):
        scaling_of(mixed).coordinates(8)
    assert scaling_of(made_up.runs()).coordinates(1536, 64 * made_up.SIZE) == (24, 64 * made_up.SIZE / 1536)


def test_without_instructions_the_time_is_modelled() -> None:
    rows = [
        {"kernel": "main", "processes": P, "time_s": 8 / P + 1, "p2p_wait_s": 0.5, "message_bytes": 10.0}
        for P in (2, 4, 8)
    ]
    model = fit_application(counter_table(rows))
    assert model.at(64).seconds == pytest.approx(8 / 64 + 1, rel=1e-12)
    with pytest.raises(InputError, match="from runs without a size"):
        model.at(64, 1e6)


def test_the_clock_follows_from_cycles_and_time() -> None:
    rows = [
        {"kernel": "main", "processes": P, "time_s": 8 / P, "cycles": 16e9 / P, "instructions": 8e9 / P}
        for P in (2, 4, 8)
    ]
    model = fit_application(counter_table(rows))
    assert model.kernels[0].frequency_hz == pytest.approx(2e9)
    assert model.at(32).seconds == pytest.approx(8 / 32, rel=1e-12)


def test_the_normal_form_is_an_alternative() -> None:
    counts = (2, 4, 8, 16, 32, 64)
    model = fit_application(made_up.runs(counts), normal_form=True)
    assert model.at(256).seconds == pytest.approx(made_up.seconds(256), rel=1e-6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: rows[:2], "too few different numbers"),
        (lambda rows: [row | ({"size": 5.0} if row["processes"] == 2 else {}) for row in rows], "of one size"),
        (lambda rows: [row | ({"frequency_hz": 1e9} if row["processes"] == 2 else {}) for row in rows], "frequency_hz"),
        (lambda rows: [{k: v for k, v in row.items() if k not in ("cycles", "time_s")} for row in rows], "neither"),
    ],
)
def test_bad_runs(change: object, words: str) -> None:
    rows = [
        {
            "kernel": "main",
            "processes": P,
            "size": 8.0,
            "frequency_hz": 2e9,
            "time_s": 1.0,
            "cycles": 1e9,
            "instructions": 1.0,
        }
        for P in (2, 4, 8)
    ]
    with pytest.raises(InputError, match=words):
        fit_application(counter_table(change(rows)))  # type: ignore[operator]


def test_rounding_of_a_large_prediction_is_finite() -> None:
    assert math.isfinite(fit_application(made_up.runs()).at(1e6).seconds)
    assert np.isfinite([kernel.access_s for kernel in fit_application(made_up.runs()).at(4).kernels]).all()
