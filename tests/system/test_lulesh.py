"""LULESH's leapfrog steps: messages counted by hand, both readings, both engines."""

from __future__ import annotations

import pytest

import simcodesign as sc

WORKLOAD, MACHINE = "lulesh-leapfrog", "opal"
#: Seconds of an element in a step, and elements of a rank.
ELEMENT_S, ELEMENTS = 807e-9 + 34.9e-9 + 238e-9 + 233e-9 + 7.4e-9, 30**3


def faces(n: int) -> int:
    """Messages over faces between the n^3 cubes of processes, both ways."""
    return 2 * 3 * n**2 * (n - 1)


@pytest.mark.parametrize("n", [2, 4])
def test_messages_of_a_step(n: int) -> None:
    ranks = n**3
    rounds = ranks.bit_length() - 1  # recursive doubling of powers of two
    result = sc.simulate(WORKLOAD, MACHINE, {"P": ranks, "iterations": 2})
    assert result.messages == 2 * (3 * faces(n) + ranks * rounds)
    sizes = 3 * 8 * 31**2 + 6 * 8 * 31**2 + 3 * 8 * 30**2
    assert result.message_bytes == 2 * (faces(n) * sizes + ranks * rounds * 8)


@pytest.mark.parametrize("ranks", [8, 27])
def test_the_work_of_a_rank_is_that_of_its_elements(ranks: int) -> None:
    point = {"P": ranks, "iterations": 3}
    work_s = 3 * ELEMENT_S * ELEMENTS
    forecasted = sc.forecast(WORKLOAD, MACHINE, point)
    assert sum(parts["computation"] for parts in forecasted.phases.values()) == pytest.approx(work_s)
    simulated = sc.simulate(WORKLOAD, MACHINE, point, effects=()).makespan_s
    assert work_s < simulated <= forecasted.makespan_s * (1 + 1e-12)


def test_both_engines_agree() -> None:
    times = {
        engine: sc.simulate(WORKLOAD, MACHINE, {"P": 27, "iterations": 2}, effects="all", engine=engine).makespan_s
        for engine in ("simpy", "compiled")
    }
    assert times["simpy"] == times["compiled"]
