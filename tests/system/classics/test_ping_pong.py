"""The formulas of ping-pong, against times by hand and the simulation."""

from __future__ import annotations

import math

import pytest

from simcodesign.comparison.compare import compare
from simcodesign.comparison.formulas.ladder import LEFT_OUT
from simcodesign.engine.simulate import simulate
from simcodesign.report.results.formula_tables import formula_verdict
from tests.shipped_pairs import load_machine, load_workload

#: Machine, last rank + 1, links to it, startup, per hop and per byte.
FAR = [
    ("crossbar-16", 16, 1, 10e-6, 0.0, 1e-8),
    ("hypercube-256", 256, 8, 20e-6, 1e-6, 1e-8),
    ("mesh-256", 256, 30, 20e-6, 1e-6, 1e-8),
]


@pytest.mark.parametrize("size", [0, 2000, 10**6])
@pytest.mark.parametrize("far", FAR, ids=lambda far: far[0])
def test_hockney_and_hops(far: tuple[str, int, int, float, float, float], size: int) -> None:
    machine, ranks, hops, startup_s, hop_s, byte_s = far
    given = {"P": ranks, "m": size, "hops": hops, "turns": 3}
    comparison = compare(load_workload("ping-pong"), load_machine(machine), given, effects="all")
    formulas = {one.name: one for one in comparison.formulas}
    whole_s = 6 * (startup_s + size * byte_s)
    assert formulas["hockney"].total_s == pytest.approx(whole_s, rel=1e-12)
    assert formulas["half_performance"].total_s == pytest.approx(whole_s, rel=1e-12)
    assert formulas["cut_through"].total_s == pytest.approx(whole_s + 6 * hops * hop_s, rel=1e-12)
    assert formulas["cut_through"].simulated_s == pytest.approx(whole_s + 6 * hops * hop_s, rel=1e-12)
    assert math.isnan(formulas["loggp"].total_s)


def test_half_of_the_bandwidth_at_the_half_performance_size() -> None:
    """n_1/2 = t_s/t_w = 1000 bytes: a message of so many takes twice as long as its bytes at r_inf."""
    simulated = simulate(load_workload("ping-pong"), load_machine("crossbar-16"), {"P": 2, "m": 1000, "turns": 1})
    assert 2 * 1000 / simulated.makespan_s == pytest.approx(100e6 / 2, rel=1e-12)


@pytest.mark.parametrize("size", [1, 4096])
def test_loggp(size: int) -> None:
    comparison = compare(load_workload("ping-pong"), load_machine("loggop-64"), {"m": size, "turns": 3}, effects="all")
    formula = next(one for one in comparison.formulas if one.name == "loggp")
    assert formula.total_s == pytest.approx(6 * (2 * 1.5e-6 + 2.5e-6 + (size - 1) * 6e-9), rel=1e-12)
    assert formula.simulated_s == pytest.approx(formula.total_s, rel=1e-12)


def test_steps_that_cancel_are_no_gap() -> None:
    """The forecast of the busiest rank has one way; waiting for the other adds as much, and rounding is no gap."""
    comparison = compare(load_workload("ping-pong"), load_machine("crossbar-16"), effects="none")
    for formula in comparison.formulas:
        if formula.rungs:
            assert formula.rungs[0].step == LEFT_OUT
            assert formula.rungs[0].change_s == pytest.approx(-formula.total_s / 2)
            assert all(math.isnan(rung.fraction) for rung in formula.rungs)
    (verdict,) = formula_verdict(comparison)
    assert "agree" in str(verdict.renderable if hasattr(verdict, "renderable") else verdict)
