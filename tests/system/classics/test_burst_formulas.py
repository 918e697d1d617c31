"""The formulas of burst-loggp, each against the burst followed message by message under the model that it is of."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simcodesign.analytic.given_formulas.values import formula_values
from simcodesign.comparison.compare import compare
from simcodesign.comparison.formulas.ladder import LEFT_OUT
from simcodesign.describe.scenario import Scenario
from simcodesign.engine.simulate import simulate
from tests.oracles.messages.burst import BurstMachine, burst_s
from tests.shipped_pairs import load_machine, load_workload

WORKLOAD, MACHINE = "burst-loggp", "loggop-64"
#: Models of LogGP under which a formula is right: a second processor for receives, one for both, and LogGOPSim's.
MODELS = {"overlapped": (2, False), "one_processor": (1, False), "in_turn": (1, True)}
#: Defaults of LogGOPSim: L, o, g in seconds and G in seconds per byte.
LOGGOPSIM = (2.5e-6, 1.5e-6, 1e-6, 6e-9)
PATHS = ("network.L", "network.o", "network.g", "network.G")


def value_s(formula: str, ranks: int, size: float, constants: tuple[float, ...] = LOGGOPSIM) -> float | None:
    """What a formula says; None outside its range."""
    given_values = dict(zip(PATHS, constants, strict=True)) | {"P": ranks, "size": size}
    point = Scenario.of(load_workload(WORKLOAD), load_machine(MACHINE), given_values).bind()
    values = formula_values(point.workload.formulas[formula], point)
    return float(values.total_s) if values.valid and values.total_s is not None else None


def followed_s(formula: str, ranks: int, size: float, constants: tuple[float, ...] = LOGGOPSIM) -> float:
    """The burst message by message, under the model of a formula."""
    return burst_s(BurstMachine(*constants, *MODELS[formula]), ranks, size)


@st.composite
def bursts(draw: st.DrawFn, most_gap: int, most_latency: int) -> tuple[int, int, tuple[float, ...]]:
    """Ranks, bytes and constants, gap and latency in overheads."""
    overhead_s = draw(st.integers(100, 10_000)) * 1e-9
    latency_s, gap_s = (draw(st.integers(0, 1000 * most)) * overhead_s / 1000 for most in (most_latency, most_gap))
    per_byte_s = draw(st.sampled_from([1e-10, 1e-9, 3e-8]))
    return draw(st.integers(2, 64)), draw(st.integers(1, 60000)), (latency_s, overhead_s, gap_s, per_byte_s)


@given(bursts(most_gap=5, most_latency=10))
def test_receives_that_overlap_sends(burst: tuple[int, int, tuple[float, ...]]) -> None:
    assert value_s("overlapped", *burst) == pytest.approx(followed_s("overlapped", *burst), rel=1e-12)


@given(bursts(most_gap=5, most_latency=10))
@settings(deadline=None)
def test_one_processor_for_both(burst: tuple[int, int, tuple[float, ...]]) -> None:
    """Within its range a receive delays no send, and the last send delays no receive by more than its overhead."""
    formula_s = value_s("one_processor", *burst)
    assume(formula_s is not None)
    _, _, (_, overhead_s, _, _) = burst
    assert 0 <= followed_s("one_processor", *burst) - formula_s * (1 - 1e-12) <= overhead_s * (1 + 1e-9)


@given(bursts(most_gap=1, most_latency=2))
def test_in_turn(burst: tuple[int, int, tuple[float, ...]]) -> None:
    """Where a rank is at times idle though the next message is on its way, the formula is low by less than 5 %."""
    formula_s = value_s("in_turn", *burst)
    assume(formula_s is not None)
    followed = followed_s("in_turn", *burst)
    assert 0.95 * followed <= formula_s <= followed * (1 + 1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("size", [1, 100, 501, 502, 4096])
@pytest.mark.parametrize("ranks", [16, 64])
def test_the_simulation_is_that_of_in_turn(ranks: int, size: int) -> None:
    simulated = simulate(load_workload(WORKLOAD), load_machine(MACHINE), {"P": ranks, "size": size}, effects="none")
    assert simulated.makespan_s == pytest.approx(followed_s("in_turn", ranks, size), rel=1e-12)


@pytest.mark.thorough
def test_what_the_documentation_says() -> None:
    """64 ranks and 4096 bytes: x G = 24.57 us. Sends g + x G = 25.57 us apart: 62 of them, and a whole message,
    2 o + L + x G = 30.07 us, which is also a turn of LogGOPSim's rules."""
    by_hand = {"overlapped": 62 * 25.57 + 30.07, "one_processor": 62 * 25.57 + 30.07, "in_turn": 63 * 30.07}
    comparison = compare(load_workload(WORKLOAD), load_machine(MACHINE), {"P": 64}, effects="all")
    for formula in comparison.formulas:
        assert formula.total_s == pytest.approx(by_hand[formula.name] * 1e-6, rel=1e-12)
        assert formula.simulated_s == pytest.approx(63 * 30.07e-6, rel=1e-12)
        assert [rung.step for rung in formula.rungs if abs(rung.change_s) > 1e-12][:1] == (
            [] if formula.name == "in_turn" else [LEFT_OUT]
        )
    assert value_s("overlapped", 64, 1) == pytest.approx((62 * 1.5 + 5.5) * 1e-6, rel=1e-12)
    assert value_s("one_processor", 64, 1) is None
    assert value_s("in_turn", 64, 1) == pytest.approx(63 * 3e-6, rel=1e-12)
    last, first = (value_s("in_turn", 64, size) for size in (501, 502))
    assert (last, first) == (pytest.approx(63 * 6e-6), pytest.approx(63 * (3 + 2.5 + 3.006) * 1e-6))
