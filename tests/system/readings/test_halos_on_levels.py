"""Halo exchanges of all ranks and of groups by where the ranks lie: the forecast is the simulation without effects, for
every grid, mapping and colouring; where it says that it is an upper bound, it is one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.collectives.on_levels import BOUND, FOLLOWED
from simcodesign.analytic.demands.exchange import HELD_BOUND
from simcodesign.analytic.forecast import forecast
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.network import LocalMessages
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from tests import builders, examples
from tests.system.readings.test_group_levels import COLOURS, ROUNDING, machines

FAR_S, NEAR_S = 4e-6 + 1000 * 1e-9, 1e-6 + 1000 * 1e-10


@st.composite
def exchanges(draw: st.DrawFn) -> Workload:
    dims, colour = draw(st.integers(1, 3)), draw(st.sampled_from(COLOURS))
    sizes = [draw(st.sampled_from([100, 1000, 5000])) for _ in range(dims)]
    messages = [draw(st.sampled_from([1, 1, 2])) for _ in range(dims)]
    periodic = draw(st.sampled_from(["true", "false"]))
    more = ", group: g" if colour else ""
    group = f"groups: {{g: '{colour}'}}\n" if colour else ""
    head = f"parameters: {{q: {{default: {draw(st.integers(2, 5))}}}}}\n{group}"
    step = f"pattern: halo{dims}d, bytes: {sizes}, messages: {messages}, periodic: {periodic}{more}"
    return builders.workload(f"- exchange: {{{step}}}", head)


@settings(max_examples=examples(100))
@given(machines(), exchanges(), st.integers(2, 24))
def test_the_forecast_is_the_simulation_without_effects(on: Machine, work: Workload, ranks: int) -> None:
    closed = forecast(work, on, {"P": ranks})
    simulated = simulate(work, on, {"P": ranks}, effects="none")
    waits = on.network.message_model.rendezvous_above_bytes is not None
    if waits:  # for its receiver, which the forecast does not follow
        assert simulated.makespan_s <= closed.makespan_s * (1 + ROUNDING)
        return
    assert not any(text.endswith((BOUND, HELD_BOUND)) for text in closed.basis)
    assert simulated.makespan_s == pytest.approx(closed.makespan_s, rel=ROUNDING, abs=0)


def machine(per_node: int) -> Machine:
    """With messages between nodes that take 4 us + m ns, and within nodes 1 us + 0.1 m ns."""
    network = builders.network(64, startup_s=4e-6, per_byte_s=1e-9, sends="blocking", node=LocalMessages(1e-6, 1e-10))
    return builders.machine(network, processors_per_node=per_node)


def halo(group: str = "", head: str = "", size: str = "1000") -> Workload:
    more = f", group: {group}" if group else ""
    return builders.workload(f"- exchange: {{pattern: halo1d, bytes: {size}, periodic: true{more}}}", head)


@pytest.mark.parametrize(
    ("colour", "expected_s"),
    [
        ("rank // 4", 2 * NEAR_S),  # within a node
        ("rank % 4", 2 * FAR_S),  # one member on each of 4 nodes
        ("rank // 8", NEAR_S + FAR_S),  # a ring over two nodes: each rank at an end of a node has one neighbour in it
    ],
)
def test_rings_by_hand(colour: str, expected_s: float) -> None:
    """Two sends of 1,000 bytes, one after another; all is there when they are done."""
    work = halo("g", f"groups: {{g: '{colour}'}}\n")
    closed = forecast(work, machine(4), {"P": 16})
    assert closed.makespan_s == pytest.approx(expected_s, rel=ROUNDING)
    assert closed.basis == (f"exchange (halo1d) in g: {FOLLOWED}",) or closed.basis == ()


def test_many_points_are_those_of_single_forecasts() -> None:
    head = "parameters: {n: {default: 1}, q: {default: 6}}\ngroups: {g: 'rank // q'}\n"
    work, on = halo("g", head, "n"), machine(4)
    n, q, ranks = np.geomspace(1, 1e6, 3000), np.resize([3.0, 6.0, 12.0], 3000), np.resize([12, 24], 3000)
    every = forecast(work, on, {"P": ranks, "n": n, "q": q})
    for point in (0, 1, 2, 3, 1500, 2998, 2999):
        one = forecast(work, on, {"P": int(ranks[point]), "n": float(n[point]), "q": float(q[point])})
        assert every.makespan_s[point] == pytest.approx(one.makespan_s, rel=ROUNDING)


def test_beyond_the_messages_that_are_followed_it_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simcodesign.analytic.demands.exchange.MOST_MESSAGES", 10)
    work = halo("g", "groups: {g: 'rank // 8'}\n")
    closed = forecast(work, machine(4), {"P": 16})
    assert closed.makespan_s == pytest.approx(2 * FAR_S, rel=ROUNDING)
    assert closed.basis[0].endswith(BOUND)
