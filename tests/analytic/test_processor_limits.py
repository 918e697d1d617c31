"""What limits processors that use caches and memory: by hand, and the bandwidth that cores share by simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import simcodesign as sc
from tests.command_line import command

NODE: dict[str, Any] = {
    "name": "node",
    "nodes": 1,
    "processors_per_node": 8,
    "processor": {"rate": "10 GFLOP/s", "clock": "2 GHz"},
    "caches": {"L1": {"size": "32 KiB", "ways": 8, "latency": "2 ns", "bandwidth": "64 GB/s"}},
    "memory": {"latency": "100 ns", "bandwidth": "32 GB/s", "line": "64 B"},
    "network": {"topology": {"kind": "crossbar"}, "startup": "1 us", "bandwidth": "1 GB/s"},
}
FAR = {"accesses": 1e6, "element": "64 B", "stack_distance": 1e12}


def limits(machine: dict[str, Any], *steps: dict[str, Any], ranks: int = 1) -> Any:
    workload = sc.Workload.load({"name": "work", "program": list(steps)})
    return sc.forecast(workload, sc.Machine.load(machine), {"P": ranks})


def test_bandwidth_of_memory() -> None:
    """64 MB at 32 GB/s are 2 ms; their loads leave L1 in 1 ms meanwhile; 5e6 operations take 0.5 ms."""
    found = limits(NODE, {"memory": FAR | {"blocking": 0}}, {"compute": {"flops": 5e6}})
    assert found.processor_limits_s == pytest.approx({"memory": 2e-3, "computation": 0.5e-3})
    assert found.memory_bound is True
    assert found.makespan_s == pytest.approx(sum(found.processor_limits_s.values()))


def test_latency() -> None:
    """A million accesses one after another, of 100 ns each, against 2 ms of bytes."""
    found = limits(NODE, {"memory": FAR | {"blocking": 1}})
    assert found.processor_limits_s == pytest.approx({"latency": 0.1})


def test_transfers_in_turn_have_each_their_part() -> None:
    machine = {**NODE, "memory": {**NODE["memory"], "transfers": "in_turn"}}
    found = limits(machine, {"memory": FAR | {"blocking": 0}})
    assert found.processor_limits_s == pytest.approx({"memory": 2e-3, "L1": 8e6 / 64e9})
    assert found.makespan_s == pytest.approx(sum(found.processor_limits_s.values()))


def test_between_sockets() -> None:
    """Half of the lines pass what lies between two sockets, at 8 GB/s: 4 ms for 32 MB."""
    memory = {**NODE["memory"], "controllers": 2, "policy": "interleaved", "remote": {"bandwidth": "8 GB/s"}}
    found = limits({**NODE, "memory": memory}, {"memory": FAR | {"blocking": 0}}, ranks=8)
    assert found.processor_limits_s == pytest.approx({"sockets": 8 * 4e-3})
    assert (found.controller_ranks, found.controller_busy_s) == (4, pytest.approx(4 * 2e-3))


@pytest.mark.parametrize("ranks", [2, 8])
def test_cores_that_share_memory(ranks: int) -> None:
    """Computation bound alone (2 ms of bytes beside 4 ms), memory bound from three cores on: the simulation with the
    effect memory takes no less than the controller is busy, and hardly more than that or a rank alone."""
    steps = [{"compute": {"flops": 4e7}}, {"memory": FAR | {"blocking": 0}}]
    found = limits(NODE, *steps, ranks=ranks)
    assert found.controller_busy_s == pytest.approx(ranks * 2e-3)
    assert found.memory_bound is (ranks == 8)
    workload = sc.Workload.load({"name": "work", "program": steps})
    simulated = sc.simulate(workload, sc.Machine.load(NODE), {"P": ranks}, effects="memory")
    assert simulated.makespan_s == pytest.approx(4e-3 + ranks * 2e-3)
    assert simulated.makespan_s >= found.controller_busy_s


def test_arrays_and_programs_without_memory() -> None:
    workload = sc.Workload.load(
        {"name": "work", "parameters": {"f": 1e6}, "program": [{"compute": {"flops": "f"}}, {"memory": FAR}]}
    )
    found = sc.forecast(workload, sc.Machine.load(NODE), {"P": 1, "f": np.array([1e6, 1e12])})
    assert np.asarray(found.memory_bound).tolist() == [True, False]
    assert found.controller_busy_s is None
    assert limits(NODE, {"compute": {"flops": 1e6}}).memory_bound is None


def test_the_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    forecast = command(capfd, "forecast")
    shown = " ".join(forecast("stencil", "sandy-bridge", "-P", 8).out.split())
    assert "Memory bound: what limits the time of each rank on its processor is the bandwidth of memory" in shown
    assert "The 8 ranks of a memory controller keep it busy for" in shown
    assert "it limits them (effect memory)" in shown
    assert "emory bound" not in forecast("jacobi", "torus-cluster", "-P", 8).out
