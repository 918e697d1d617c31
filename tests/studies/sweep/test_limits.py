"""What limits kernels and copies, as columns of sweeps and metrics of ``explore``: two kernels and a copy by hand."""

from __future__ import annotations

from typing import Any

import pytest

import simcodesign as sc
from tests.builders import read_machine

#: 1 TFLOP/s, 100 GB/s, 10 GB/s to the host, 5 us for a launch.
MACHINE = """\
simcodesign: 1
name: accelerated
nodes: 2
processor: {rate: 1 GFLOP/s}
network: {topology: {kind: crossbar}, startup: 1 us, bandwidth: 1 GB/s}
accelerator:
  count: 1
  rate: 1 TFLOP/s
  launch: 5 us
  memory: {bandwidth: 100 GB/s, capacity: 1 GB}
  link: {bandwidth: 10 GB/s}
"""
WORKLOAD: dict[str, Any] = {
    "simcodesign": 1,
    "name": "two-kernels",
    "parameters": {"n": {"default": 1}},
    "program": [
        {"kernel": {"flops": "n*1e9", "bytes": 1e6}},  # n ms at the rate, 10 us at the memory
        {"kernel": {"flops": 1e6, "bytes": "n*1e8"}},  # 1 us, n ms
        {"copy": {"to": "host", "bytes": 1e7}},  # 1 ms
    ],
}


@pytest.fixture(scope="module")
def workload() -> sc.Workload:
    return sc.Workload.load(WORKLOAD)


@pytest.mark.parametrize("simulate", [False, True])
def test_columns_of_a_sweep(workload: sc.Workload, simulate: bool) -> None:
    table = sc.sweep(workload, read_machine(MACHINE), {"P": 2}, vary={"n": [1, 3]}, simulate=simulate).table
    for reading in ("forecast", "simulated")[: 1 + simulate]:
        for name, expected_s in (("flops", [1e-3, 3e-3]), ("memory", [1e-3, 3e-3]), ("link", 2 * [1e-3])):
            assert list(table[f"{reading}_limited_by_{name}_s"]) == pytest.approx(expected_s, rel=1e-12)
        assert list(table[f"{reading}_limited_by_launch_s"]) == pytest.approx(2 * [1e-5], rel=1e-12)


CACHED: dict[str, Any] = {
    "simcodesign": 1,
    "name": "cached",
    "nodes": 1,
    "processors_per_node": 2,
    "processor": {"rate": "1 GFLOP/s"},
    "caches": {"L1": {"size": "32 KiB", "ways": 8, "latency": "2 ns", "bandwidth": "8 GB/s"}},
    "memory": {"latency": "100 ns", "bandwidth": "4 GB/s", "line": "64 B"},
    "network": {"topology": {"kind": "crossbar"}, "startup": "1 us", "bandwidth": "1 GB/s"},
}
#: 8 MB leave L1 at 8 GB/s: 1 ms; n x 64 KB come from memory at 4 GB/s, n x 16 us, and leave L1 in half of that.
READS = {
    "simcodesign": 1,
    "name": "reads",
    "parameters": {"n": {"default": 1}},
    "program": [
        {"memory": {"accesses": 1e6, "stack_distance": 1, "blocking": 0}},
        {"memory": {"accesses": "n*1e3", "element": "64 B", "stack_distance": 1e12, "blocking": 0}},
        {"compute": {"flops": 2e6}},
    ],
}


@pytest.mark.parametrize("simulate", [False, True])
def test_columns_of_caches_and_memory(simulate: bool) -> None:
    machine = sc.Machine.load(CACHED)
    table = sc.sweep(sc.Workload.load(READS), machine, {"P": 2}, vary={"n": [0, 3]}, simulate=simulate).table
    expected = {"L1": [1e-3, 1e-3], "memory": [0, 48e-6], "computation": 2 * [2e-3], "latency": [0, 0]}
    for reading in ("forecast", "simulated")[: 1 + simulate]:
        for name, expected_s in {**expected, "sockets": [0, 0]}.items():
            found = list(table[f"{reading}_processor_limited_by_{name}_s"])
            assert found == pytest.approx(expected_s, rel=1e-9, abs=1e-15)


def test_a_cache_as_metric_of_a_search() -> None:
    workload, machine = sc.Workload.load(READS), sc.Machine.load(CACHED)
    best = sc.explore(workload, machine, vary={"n": [1, 3]}, subject_to="processor_limited_by_memory >= 40 us")
    assert best.point.values == {"n": 3.0}
    assert best.point.metrics["processor_limited_by_L1"] == pytest.approx(1e-3, rel=1e-9)


def test_metrics_of_a_search(workload: sc.Workload) -> None:
    best = sc.explore(workload, read_machine(MACHINE), vary={"n": [1, 3]}, subject_to="limited_by_memory >= 2 ms")
    assert best.point.values == {"n": 3.0}
    assert best.point.metrics["limited_by_flops"] == pytest.approx(3e-3, rel=1e-12)
