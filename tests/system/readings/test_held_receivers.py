"""Messages that hold their receivers in both readings: halo exchanges, and sends and receives by themselves."""

from __future__ import annotations

import random
from typing import Any

import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.describe.machine import Machine
from simcodesign.engine.simulate import simulate
from tests import builders

ROUNDING = 1e-12
HOLD_S, RECEIVE_S = 1e-6 + 1000 * 1e-9, 4e-7


def machine(seed: int = 0, per_node: int = 4) -> Machine:
    """Whose levels have all kinds of times, and ways of sending; the innermost ones hold receivers."""
    chance = random.Random(seed)
    alike = {"sends": chance.choice(["blocking", "nonblocking"]), "receive_overhead_s": RECEIVE_S}
    times = {"startup_s": chance.choice([2e-7, 3e-6]), "per_byte_s": chance.choice([1e-10, 4e-9])}
    node = builders.network(per_node, startup_s=1e-6, per_byte_s=1e-9, holds_receiver=True, **alike)
    mapping = chance.choice(["linear", "round_robin"])
    outer = builders.network(12, **times, **alike)
    return builders.machine(outer, processors_per_node=per_node, mapping=mapping, node_network=node)


def both(program: str, on: Machine, ranks: int) -> tuple[Any, float]:
    work = builders.workload(program)
    closed = forecast(work, on, {"P": ranks}, bounds=True)
    simulated_s = float(simulate(work, on, {"P": ranks}, effects="none").makespan_s)
    assert closed.bounds is not None
    assert closed.bounds.least_s(()) * (1 - 1e-9) <= simulated_s <= closed.bounds.upper_s * (1 + 1e-9)
    return closed, simulated_s


@pytest.mark.parametrize("seed", range(8))
def test_halo_exchanges(seed: int) -> None:
    """On process grids over several nodes, in which some neighbours are within a node."""
    chance = random.Random(seed)
    dims = chance.choice([1, 2, 3])
    sizes = [chance.choice([100, 1000, 5000]) for _ in range(dims)]
    periodic = chance.choice(["true", "false"])
    step = f"- exchange: {{pattern: halo{dims}d, bytes: {sizes}, periodic: {periodic}}}"
    for ranks in (2, 3, 8, 12, 18):
        closed, simulated_s = both(step, machine(seed), ranks)
        assert simulated_s == pytest.approx(closed.makespan_s, rel=ROUNDING, abs=0)


def test_a_lone_message_is_as_before_and_an_exchange_takes_twice_as_long() -> None:
    lone = "- send: {to: 1, bytes: 1000, when: rank == 0}\n- receive: {from: 0, bytes: 1000, when: rank == 1}\n"
    closed, simulated_s = both(lone, machine(), 2)
    assert simulated_s == pytest.approx(HOLD_S + RECEIVE_S, rel=ROUNDING)
    assert closed.longest_path.time_s == pytest.approx(simulated_s, rel=ROUNDING)
    each = "- send: {to: (rank + 1) % P, bytes: 1000}\n- receive: {from: (rank + P - 1) % P, bytes: 1000}\n"
    closed, simulated_s = both(each, machine(), 4)
    assert simulated_s == pytest.approx(2 * HOLD_S + RECEIVE_S, rel=ROUNDING)
    assert closed.makespan_s == pytest.approx(simulated_s, rel=ROUNDING)
    assert closed.longest_path.time_s == pytest.approx(simulated_s, rel=ROUNDING)


@pytest.mark.parametrize("seed", range(6))
def test_the_longest_path_is_the_simulation(seed: int) -> None:
    """Of sends and receives from ranks that are named, on several nodes."""
    chance = random.Random(seed)
    lines = []
    for _ in range(4):
        size, shift = chance.choice([8, 1000, 20_000]), chance.randint(1, 7)
        lines += [f"- compute: {{seconds: 1e-6*(rank % {chance.randint(1, 5)})}}"]
        lines += [f"- send: {{to: (rank + {shift}) % P, bytes: {size}}}"]
        lines += [f"- receive: {{from: (rank + P - {shift}) % P, bytes: {size}}}"]
    closed, simulated_s = both("\n".join(lines), machine(seed), 8)
    assert closed.longest_path.time_s == pytest.approx(simulated_s, rel=ROUNDING)


def test_a_wavefront_within_a_node() -> None:
    """Exact where all ranks are on one node."""
    step = "- wavefront: {grid: [2, 2], planes: 5, bytes: [1000, 3000], compute: {seconds: 2e-6}}"
    closed, simulated_s = both(step, machine(), 4)
    assert simulated_s == pytest.approx(closed.makespan_s, rel=ROUNDING)
