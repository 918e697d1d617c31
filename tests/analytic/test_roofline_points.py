"""Where kernels and phases are in a roofline picture: operations per byte and per second by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import simcodesign as sc
from simcodesign.analytic.roofline_points import RooflinePoint, roofline_points
from simcodesign.core.errors import InputError

#: A processor of 10 GFLOP/s with 20 GB/s of memory; 150 TFLOP/s of an accelerator in bf16 with 2 TB/s.
MACHINE: dict[str, Any] = {
    "simcodesign": 1,
    "name": "m",
    "nodes": 4,
    "processor": {"rate": "10 GFLOP/s"},
    "caches": {"L1": {"size": "32 KiB", "ways": 8, "latency": "2 ns", "bandwidth": "80 GB/s"}},
    "memory": {"latency": "100 ns", "bandwidth": "20 GB/s", "line": "64 B"},
    "accelerator": {
        "count": 1,
        "rate": "10 TFLOP/s",
        "launch": "1 ms",
        "rates": {"bf16": "300 TFLOP/s"},
        "memory": {"bandwidth": "2 TB/s"},
        "efficiency": 0.5,
    },
    "network": {"topology": {"kind": "crossbar"}, "startup": "1 us", "bandwidth": "1 GB/s"},
}
GEMM = {"kernel": {"gemm": [4096, 4096, 4096], "type": "bf16", "times": 3}}
FLOPS, BYTES = 2 * 4096**3, 3 * 4096**2 * 2
GEMM_S = 1e-3 + FLOPS / 150e12
FAR = {"memory": {"accesses": 1e6, "element": "64 B", "stack_distance": 1e12, "blocking": 0}}


def points(*steps: Any, ranks: int = 4) -> list[RooflinePoint]:
    workload = sc.Workload.load({"name": "work", "program": list(steps)})
    return roofline_points(sc.Scenario.of(workload, sc.Machine.load(MACHINE), {"P": ranks}))


def test_kernels() -> None:
    """A shape at two places is one point; a kernel without operations, or without bytes, is none."""
    bare: list[dict[str, Any]] = [{"kernel": {"bytes": 1e9}}, {"kernel": {"flops": 1e9}}]
    found = points({"phase": "a", "do": [GEMM, *bare]}, GEMM, {"kernel": {"flops": 1e9, "bytes": 4e9}})
    assert [(one.name, one.roof) for one in found] == [
        ("gemm 4096 x 4096 x 4096", "bf16"),
        ("kernel of main", "accelerator"),
    ]
    assert found[0].flops_per_byte == pytest.approx(FLOPS / BYTES)
    assert found[0].flop_per_s == pytest.approx(FLOPS / GEMM_S)
    assert found[0].time_s == pytest.approx(4 * 6 * GEMM_S)
    assert (found[1].flops_per_byte, found[1].flop_per_s) == pytest.approx((0.25, 1e9 / (1e-3 + 2e-3)))


def test_kernels_of_some_ranks_and_iterations() -> None:
    """Iteration i of 3 does i x 1e9 operations on rank 1 alone, and as many bytes: half a second each per 1e12."""
    body = [{"kernel": {"flops": "i*1e9", "bytes": "i*1e9", "when": "rank == 1"}}]
    (found,) = points({"repeat": 3, "index": "i", "do": body})
    assert (found.flops, found.size_bytes) == pytest.approx((3e9, 3e9))
    assert found.time_s == pytest.approx(3e9 / 2e12 + 3e-3)


def test_phases_on_processors() -> None:
    """64 MB of memory take 3.2 ms, 8 MB leave L1 beside them; 1e8 operations take 10 ms. A phase with a kernel and one
    without memory have no point."""
    work = [{"compute": {"flops": 1e8}}, FAR]
    mixed = {"phase": "mixed", "do": [*work, GEMM]}
    found = points({"phase": "a", "do": work}, mixed, {"phase": "b", "do": [{"compute": {"flops": 1e9}}]})
    own = {one.roof: one for one in found if one.name == "a"}
    assert {one.name for one in found} == {"a", "gemm 4096 x 4096 x 4096"}
    assert own.keys() == {"processor", "processor, from L1"}
    assert own["processor"].flops_per_byte == pytest.approx(1e8 / 64e6)
    assert own["processor, from L1"].flops_per_byte == pytest.approx(1e8 / 8e6)
    for one in own.values():
        assert one.flop_per_s == pytest.approx(1e8 / 13.2e-3)
        assert one.time_s == pytest.approx(4 * 13.2e-3)


def test_kernels_of_programs_in_python() -> None:
    @sc.program
    def program(rank: int, size: int) -> Iterator[Any]:
        for _ in range(rank):
            yield sc.rank.kernel(gemm=(4096, 4096, 4096), type="bf16", times=3)

    (found,) = roofline_points(sc.Scenario.of(program, sc.Machine.load(MACHINE), {"P": 4}))
    assert (found.name, found.roof) == ("gemm 4096 x 4096 x 4096", "bf16")
    assert found.flops_per_byte == pytest.approx(FLOPS / BYTES)
    assert found.time_s == pytest.approx((1 + 2 + 3) * 3 * GEMM_S)


def test_several_design_points_are_refused() -> None:
    workload = sc.Workload.load({"name": "work", "program": [GEMM]})
    with pytest.raises(InputError, match="a roofline"):
        roofline_points(sc.Scenario.of(workload, sc.Machine.load(MACHINE), {"P": [1, 2]}))
