"""What a makespan consists of: the path back from the last event through whatever each step waited for."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.describe.files import load_machine
from simcodesign.describe.read_workload import workload_from
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml_tree import parse_yaml
from simcodesign.engine.simulate import simulate

STARTUP_S = 10e-6  # crossbar-16


def workload(program: str) -> Workload:
    return workload_from(parse_yaml(f"simcodesign: 1\nname: test\nprogram:\n{program}", "test.yaml"))


@pytest.mark.parametrize("busy", [0, 1, 2, 3])
def test_work_of_the_rank_that_all_others_wait_for(busy: int) -> None:
    """Whichever rank computes, its computation is on the path, and only the barrier's two rounds beside it."""
    described = workload(f"  - compute: {{seconds: 10, when: rank == {busy}}}\n  - barrier: {{}}\n")
    parts = simulate(described, "crossbar-16", {"P": 4}, effects="none").components
    assert parts["computation"] == 10
    assert parts["communication"] == pytest.approx(2 * STARTUP_S)


def test_chain_over_three_ranks() -> None:
    """Each rank computes once its predecessor's message is there: all computations and two messages in a row."""
    program = """
  - phase: chain
    do:
      - receive: {from: rank - 1, when: rank > 0}
      - compute: {seconds: 1 + rank}
      - send: {to: rank + 1, bytes: 0, when: rank < P - 1}
"""
    result = simulate(workload(program), "crossbar-16", {"P": 3})
    assert result.phases["chain"]["computation"] == 1 + 2 + 3
    assert result.phases["chain"]["communication"] == pytest.approx(2 * STARTUP_S)


def test_waiting_for_a_disk_is_disk_time() -> None:
    """Sixteen writes queue for one spindle; the last to be served has waited for all others."""
    machine = load_machine("crossbar-16", {"disk.shared_by": "all"})
    result = simulate(workload("  - write: {bytes: 0}\n  - barrier: {}\n"), machine, effects="disks")
    assert result.components["disk"] == pytest.approx(16 * 5e-3)
    assert result.components["communication"] == pytest.approx(4 * STARTUP_S)


@pytest.mark.parametrize("seed", range(5))
def test_components_do_not_hang_on_ties(seed: int) -> None:
    """After the barrier all ranks end together; the disk time is that of the queue, whichever rank is looked at."""
    result = simulate("jacobi", "torus-cluster", {"P": 64}, phases=["checkpoint"], seed=seed)
    one_write = 6e-3 + 8 * 4096**2 / 64 / 400e6
    assert result.components["disk"] == pytest.approx(64 / 4 * one_write)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=12))
def test_components_add_up_to_the_makespan(steps: list[tuple[int, int]]) -> None:
    lines = []
    for rank, seconds in steps:
        lines.append(f"  - compute: {{seconds: {seconds}, when: rank == {rank}}}")
        lines.append(("  - allreduce: {bytes: 8}", "  - broadcast: {bytes: 100}", "  - write: {bytes: 5}")[seconds % 3])
    result = simulate(workload("\n".join(lines) + "\n"), "crossbar-16", {"P": 4})
    assert math.fsum(result.components.values()) == pytest.approx(result.makespan_s, rel=1e-12)


def test_nothing_to_do() -> None:
    assert simulate(workload("  - barrier: {}\n"), "crossbar-16", {"P": 1}).makespan_s == 0
