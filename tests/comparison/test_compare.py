"""Comparison and ladder: the rungs add up, effects that a description lacks explain nothing, the bounds hold."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.comparison.attribution import QUEUEING, relative_error
from simcodesign.comparison.compare import compare
from simcodesign.comparison.effects import WAITING
from simcodesign.core.errors import InputError
from simcodesign.core.forecast_parts import Bounds
from simcodesign.describe.effects import effect_names
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.programs.program import placed_demands
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.simulate import simulate
from tests import examples
from tests.builders import machine, network, workload
from tests.random_programs import random_case


@pytest.fixture(scope="module")
def comparison():
    return compare("jacobi", "torus-cluster", {"P": 32}, seed=3)


def test_rungs_add_up_to_the_gap(comparison) -> None:
    assert [rung.effect for rung in comparison.rungs] == [WAITING, *effect_names()]
    changes = [rung.change_s for rung in comparison.rungs]
    assert math.fsum(changes) == pytest.approx(comparison.difference_s, rel=1e-9)
    assert math.fsum(rung.fraction for rung in comparison.rungs) == pytest.approx(1.0)


@pytest.mark.parametrize("count", range(len(effect_names()) + 1))
def test_every_rung_is_the_simulation_with_its_effects(comparison, count: int) -> None:
    alone = simulate("jacobi", "torus-cluster", {"P": 32}, effects=effect_names()[:count], seed=3)
    assert comparison.rungs[count].simulation.makespan_s == alone.makespan_s
    assert comparison.rungs[count].simulation.effects == effect_names()[:count]


def test_absent_effects_are_not_simulated_again() -> None:
    rungs = compare("transpose", "crossbar-16", {"P": 8}).rungs
    assert {rung.effect: rung.change_s for rung in rungs if rung.effect in ("imbalance", "noise")} == {
        "imbalance": 0.0,
        "noise": 0.0,
    }


def test_last_rung_keeps_the_timeline_even_if_its_effect_is_absent() -> None:
    kept = compare("transpose", "crossbar-16", {"P": 4}, timeline=True)
    assert kept.simulation.timeline is not None
    assert all(rung.simulation.timeline is None for rung in kept.rungs[:-1])
    assert compare("transpose", "crossbar-16", {"P": 4}, effects="none", timeline=True).simulation.timeline is not None


def test_table_by_hand(comparison) -> None:
    table = comparison.table()
    total = table.loc["total"]
    assert total.forecast_s == comparison.forecast.makespan_s
    assert total.simulated_s == comparison.simulation.makespan_s
    assert total.error == pytest.approx((total.forecast_s - total.simulated_s) / total.simulated_s)
    parts = table.drop("total")
    assert parts.simulated_s.sum() == pytest.approx(total.simulated_s)
    assert parts.difference_s.sum() == pytest.approx(total.difference_s)
    assert comparison.phase_table().simulated_s.sum() == pytest.approx(total.simulated_s)


def test_no_gap_is_said(comparison) -> None:
    none = compare("transpose", "crossbar-16", {"P": 8}, effects="none")
    assert none.rungs[0].change_s == 0.0
    assert math.isnan(none.rungs[0].fraction)
    assert "no gap" in str(none)


@pytest.mark.parametrize(("duplex", "directions"), [("full", 1), ("half", 2)])
def test_a_half_duplex_interface_doubles_the_bytes_of_an_exchange_by_hand(duplex: str, directions: int) -> None:
    """One message each way between two nodes: a half-duplex interface passes what comes after what goes."""
    machine = load_machine("crossbar-16", {"network.interfaces.duplex": duplex})
    comparison = compare("transpose", machine, {"P": 2}, phases=["transpose"], effects=["interfaces"])
    size = 16 * 128**3 / 4
    bytes_s = size * 1e-8
    assert comparison.forecast.makespan_s == pytest.approx(10e-6 + bytes_s)
    assert comparison.simulation.makespan_s == pytest.approx(10e-6 + directions * bytes_s)


def test_shared_disk_by_hand() -> None:
    """Eight equal writes on one spindle: the last rank waits for all others."""
    machine = load_machine("crossbar-16", {"disk.shared_by": "all"})
    comparison = compare("jacobi", machine, {"P": 8}, phases=["checkpoint"], effects=["disks"])
    alone = 5e-3 + 8 * 4096**2 / 8 * 1e-8
    barrier = 3 * 10e-6
    assert comparison.simulation.makespan_s == pytest.approx(8 * alone + barrier)
    assert comparison.rungs[-1].change_s == pytest.approx(7 * alone)
    assert comparison.within_bounds
    assert comparison.forecast.bounds.lower_s["most loaded disk"] == pytest.approx(8 * alone)


def test_bounds_are_for_the_deterministic_part() -> None:
    machine = load_machine("crossbar-16", {"noise": "300 %"})
    comparison = compare("transpose", machine, {"P": 2}, effects=["hops", "noise"], phases=["planes"], seed=5)
    assert comparison.deterministic.effects == ("hops",)
    assert comparison.within_bounds
    shown = comparison.json_fields()
    assert shown["within_bounds"]
    assert shown["bounded_simulation"] == {
        "effects": ("hops",),
        "makespan_s": comparison.rungs[0].simulation.makespan_s + comparison.rungs[1].change_s,
    }


def test_bounds_can_be_left() -> None:
    """The verdict is computed: bounds moved away from the simulation are left."""
    comparison = compare("transpose", "crossbar-16", {"P": 2}, effects="none")
    least = comparison.forecast.bounds.lower_s["ranks' own work"]
    for bounds in (Bounds({"ranks' own work": 2 * least}, 9 * least), Bounds({"ranks' own work": 0.0}, least / 2)):
        assert not replace(comparison, forecast=replace(comparison.forecast, bounds=bounds)).within_bounds
    assert replace(comparison, forecast=replace(comparison.forecast, bounds=None)).within_bounds


def test_relative_error() -> None:
    assert relative_error(0.0, 0.0) == 0.0
    assert math.isnan(relative_error(1.0, 0.0))
    assert relative_error(3.0, 4.0) == -0.25


@pytest.mark.parametrize("effects", ["nothing", ["hops", "lnks"], "hops,linx"])
def test_unknown_effects(effects) -> None:
    with pytest.raises(InputError, match="no such effect"):
        compare("transpose", "crossbar-16", {"P": 2}, effects=effects)


@settings(max_examples=examples(300))
@given(st.integers(0, 2**32), st.sampled_from(("hockney", "loggop")))
def test_what_demands_add_to_the_first_rung_is_all_of_it(seed: int, model: str) -> None:
    """Their forecasts add up to the forecast, and what they add to the simulation to the simulation."""
    program, where, ranks = random_case(seed, model)
    comparison = compare(program, where, {"P": ranks}, effects="none")
    gaps, scale_s = comparison.waiting_by_demand, float(comparison.forecast.makespan_s)
    assert len(gaps) == len(list(placed_demands(program.program)))
    assert math.fsum(gap.change_s for gap in gaps) == pytest.approx(
        comparison.difference_s, rel=1e-9, abs=1e-12 * scale_s
    )
    assert math.fsum(gap.forecast_s for gap in gaps) == pytest.approx(scale_s, rel=1e-12)
    assert math.fsum(gap.simulated_s for gap in gaps) == pytest.approx(comparison.simulation.makespan_s, rel=1e-12)
    assert all(gap.simulated_s >= 0 for gap in gaps)


def test_first_rung_by_demand_by_hand() -> None:
    """Broadcasts of 8 ranks that take 3 (4 + 1) follow one another after 12; the barrier then waits for all of them."""
    where = machine(network(8, startup_s=4.0, receive_overhead_s=1.0))
    steps = "- {phase: loop, repeat: 10, do: [compute: {seconds: 2}, broadcast: {bytes: 8}]}\n- barrier: {}"
    comparison = compare(workload(steps), where, {"P": 8}, effects="none")
    rows = {gap.demand: gap for gap in comparison.waiting_by_demand}
    broadcasts, compute, barrier = rows["broadcast (binomial)"], rows["compute"], rows["barrier (dissemination)"]
    assert (broadcasts.phase, broadcasts.times, broadcasts.forecast_s) == ("loop", 10, 150)
    assert broadcasts.change_s == pytest.approx(9 * (12 - 15))
    assert compute.change_s == pytest.approx(0)
    assert (barrier.phase, barrier.forecast_s, barrier.change_s) == ("main", 15, pytest.approx(0))
    assert comparison.rungs[0].change_s == pytest.approx(-27)
    assert comparison.forecast.pipelined.makespan_s == pytest.approx(comparison.simulation.makespan_s)
    assert [row["demand"] for row in comparison.to_dict()["waiting_by_demand"]] == list(rows)


def test_ranks_that_wait_add_to_a_demand() -> None:
    """Each rank sends on what it receives: the sum has one message, the longest path and the simulation seven."""
    where = machine(network(8, startup_s=4.0, receive_overhead_s=1.0))
    steps = """
- receive: {from: rank - 1, when: rank > 0}
- send: {to: rank + 1, bytes: 8, when: rank < P - 1}
"""
    comparison = compare(workload(steps), where, {"P": 8}, effects="none")
    assert comparison.forecast.sum_s == 5
    assert comparison.forecast.makespan_s == comparison.simulation.makespan_s == 7 * 5
    assert comparison.error == 0
    (step,) = comparison.path_ladder
    assert (step.step, step.time_s, step.change_s) == ("dependencies and waiting", 35, 30)
    assert [rung.change_s for rung in comparison.rungs] == [0]
    received, sent = comparison.waiting_by_demand
    assert (received.demand, received.forecast_s, received.change_s) == ("receive", 1, 34)
    assert (sent.demand, sent.forecast_s, sent.change_s) == ("send", 4, -4)


def test_what_queueing_adds_to_the_forecast_is_a_row_of_its_own() -> None:
    """With no effect nobody queues, so that these waits are all of the first rung."""
    where = machine(network(4), disk=Disk(1.0, 1.0, 0.0, shared_by=4))
    steps = "- repeat: 10\n  do: [compute: {seconds: 5}, read: {bytes: 0, varies: exponential}]"
    comparison = compare(workload(steps), where, {"P": 4}, effects="none")
    assert comparison.forecast.formulas
    *demands, waits = comparison.waiting_by_demand
    assert [gap.change_s for gap in demands] == pytest.approx([0, 0])
    assert (waits.demand, waits.simulated_s) == (QUEUEING, 0)
    assert waits.change_s == pytest.approx(comparison.rungs[0].change_s)
    assert waits.change_s < -1


def test_no_demands_of_streams() -> None:
    stream = compare("disk-queue", "power-challenge", {"P": 4, "requests": 100})
    assert stream.waiting_by_demand == ()
