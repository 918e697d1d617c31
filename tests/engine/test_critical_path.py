"""What a makespan consists of: the path back from the last event through whatever each step waited for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from simcodesign.core.errors import DeadlockError
from simcodesign.core.operation_kinds import COMPONENT_OF_KIND, RECEIVE
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.critical_path import critical_path_s
from simcodesign.engine.event_contract import Log
from simcodesign.engine.reference.run import run
from simcodesign.engine.simulate import simulate
from simcodesign.generate.plan import Plan
from tests import examples
from tests.builders import workload
from tests.oracles.event_contract import ROUNDED, crowded_plans, plans

STARTUP_S = 10e-6  # crossbar-16


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


# ---------------------------------------------------------------------------------------------------------------------
# Plans with edges, early edges, mailboxes, gaps and routes


def steps_back(plan: Plan, log: Log) -> list[tuple[int, float, float]]:
    """(operation, from, to) along the path, by looking at every dependency of each operation in turn."""
    sources = [[] for _ in range(len(plan))]
    for source in range(len(plan) if plan.edges is not None else 0):
        for place in range(plan.edges.start[source], plan.edges.start[source + 1]):
            begin = log.finish_s[source] - (plan.duration_s[source] if plan.edges.early[place] else 0.0)
            sources[plan.edges.target[place]].append((float(begin), source))
    path, op, until = [], int(log.finish_s.argmax()), float(log.finish_s.max())
    while op is not None:
        causes = list(sources[op])
        if plan.follows_previous[op]:
            causes.append((float(log.finish_s[op - 1]), op - 1))
        if plan.kind[op] == RECEIVE:
            causes.append((float(log.arrival_s[log.match[op]]), int(log.match[op])))
        since = max((time for time, _ in causes), default=0.0)
        path.append((op, since, until))
        nexts = {cause for time, cause in causes if time == since}
        if len(nexts) > 1:
            return path  # a tie: any of them is right
        op, until = (nexts.pop() if nexts else None), since
    return path


@settings(max_examples=examples(200))
@given(st.one_of(plans((0.1, 0.3, 0.7, 1 / 3)), crowded_plans(ROUNDED)))
def test_paths_through_any_plan(plan: Plan) -> None:
    try:
        log = run(plan)
    except DeadlockError:  # a message may meet a receive that waits for another
        reject()
    times = critical_path_s(plan, log)
    makespan = max(log.finish_s, default=0.0)
    assert times.sum() == pytest.approx(makespan, rel=1e-12)
    assert (times >= -1e-12).all()
    path = steps_back(plan, log) if len(plan) else []
    if path and path[-1][1] == 0.0:  # no ties on the way
        expected = np.zeros_like(times)
        for op, since, until in path:
            expected[plan.phase[op], COMPONENT_OF_KIND[plan.kind[op]]] += until - since
        assert times == pytest.approx(expected, abs=1e-12)
