"""Phases 3 and 4 of SPECseis96 at once: both readings against the equations of the paper, with its constants as numbers."""

from __future__ import annotations

import pytest

import simcodesign as sc

WORKLOAD, MACHINE = "seismic-at-once", "power-challenge"


def phase_4(
    processors: int, samples: int = 256, groups: int = 64, lines: int = 8, seconds_on_16: float = 16.4
) -> float:
    """Equations 2 to 4 with Table 6: computation by shares of the work, an all-to-all broadcast and a disk access a step."""
    plane = 4 * groups * lines / processors
    computation = seconds_on_16 * 16 / processors
    communication = samples * (processors - 1) * (1.04e-4 + 2.17e-6 * plane)
    disk = samples * (1.48e-4 + 7.60e-8 * plane + 0.1875 * 5.25e-3 + 7.60e-8 * plane)
    return computation + communication + disk


@pytest.mark.parametrize(("P", "P_3"), [(16, 1), (16, 4), (4, 1), (16, 15)])
def test_the_longer_phase_decides(P: int, P_3: int) -> None:
    given = {"P": P, "P_3": P_3}
    expected = max(0.283, phase_4(P - P_3))
    assert float(sc.forecast(WORKLOAD, MACHINE, given).makespan_s) == pytest.approx(expected, rel=1e-12)
    assert float(sc.simulate(WORKLOAD, MACHINE, given, effects="none").makespan_s) == pytest.approx(expected, rel=1e-9)


def test_a_phase_3_that_takes_longer_decides() -> None:
    given = {"P": 4, "P_3": 3, "comp_3": 500.0}
    assert phase_4(1) < 500
    assert float(sc.forecast(WORKLOAD, MACHINE, given).makespan_s) == 500
    assert float(sc.simulate(WORKLOAD, MACHINE, given, effects="none").makespan_s) == pytest.approx(500, rel=1e-12)


def test_both_phases_run_at_the_same_time() -> None:
    """The first rank computes 2 s from the start, while the others are in their first steps; nobody waits for it."""
    result = sc.simulate(WORKLOAD, MACHINE, {"P": 4, "P_3": 1, "comp_3": 2.0}, effects="none")
    assert result.ranks is not None
    busy_s = result.ranks.busy_s.sum(axis=(1, 2))
    assert busy_s == pytest.approx([2.0, *[phase_4(3)] * 3], rel=1e-9)
    assert float(result.makespan_s) == pytest.approx(phase_4(3), rel=1e-9)


@pytest.mark.parametrize("preset", ["test", "small"])
def test_one_after_the_other_is_as_in_seismic(preset: str) -> None:
    given = {"P": 8, "at_once": 0}
    alone = sc.forecast("seismic", MACHINE, {"P": 8}, preset=preset, phases=["time-migration", "depth-migration"])
    own = sc.forecast(WORKLOAD, MACHINE, given, preset=preset)
    assert float(own.makespan_s) == pytest.approx(float(alone.makespan_s), rel=1e-12)
    assert int(own.messages) == int(alone.messages)


def test_one_processor_does_both() -> None:
    assert float(sc.forecast(WORKLOAD, MACHINE, {"P": 1}).makespan_s) == pytest.approx(0.283 + phase_4(1), rel=1e-12)
    of_two = float(sc.forecast(WORKLOAD, MACHINE, {"P": 2, "P_3": 5}).makespan_s)
    assert of_two == pytest.approx(phase_4(1), rel=1e-12)  # phase 4 keeps one


def test_it_pays_where_a_processor_saves_less_than_phase_3_takes() -> None:
    """By hand: on 16 processors the one without phase 4 costs 1.06 s, more than the 0.283 s of phase 3; on 30 less."""
    gains = {P: 0.283 + phase_4(P) - phase_4(P - 1) for P in range(2, 64)}
    first = min(P for P, gain in gains.items() if gain > 0)
    assert first == 30  # 262.4 s / (P (P - 1)) of computation, and 0.027 s of broadcasts with one processor fewer
    for P in (first - 1, first):
        times = [float(sc.forecast(WORKLOAD, "exascale-cg", {"P": P, "at_once": one}).makespan_s) for one in (0, 1)]
        assert times[0] - times[1] == pytest.approx(gains[P], rel=1e-6)
