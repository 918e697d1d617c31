"""What limits processors that use caches and memory, in both readings: by hand, and the bandwidth that cores share by
simulation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

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
    """The forecast; what limits a simulation, whose formulas are its own, is the same to rounding."""
    workload, on = sc.Workload.load({"name": "work", "program": list(steps)}), sc.Machine.load(machine)
    found = sc.forecast(workload, on, {"P": ranks})
    simulated = sc.simulate(workload, on, {"P": ranks}, effects="none")
    assert simulated.processor_limits_s == pytest.approx(found.processor_limits_s, rel=1e-12)
    return found


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


def test_a_cache() -> None:
    """8 MB leave L1 at 64 GB/s, with stack distances of one line, and no byte comes from memory."""
    found = limits(NODE, {"memory": {"accesses": 1e6, "stack_distance": 1, "blocking": 0}}, {"compute": {"flops": 1e5}})
    assert found.processor_limits_s == pytest.approx({"L1": 8e6 / 64e9, "computation": 1e-5})
    assert found.processor_limited_by == "L1"
    assert limits(NODE, {"compute": {"flops": 1e6}}).processor_limited_by is None


def test_programs_in_python() -> None:
    """Rank 0 reads 64 MB at 32 GB/s, which takes 2 ms; both ranks compute for 0.5 ms each."""

    @sc.program
    def program(rank: int, size: int) -> Iterator[Any]:
        yield sc.rank.compute(flops=5e6)
        if rank == 0:
            yield sc.rank.memory(**FAR, blocking=0)

    on = sc.Machine.load(NODE)
    for found in (sc.forecast(program, on, {"P": 2}), sc.simulate(program, on, {"P": 2}, effects="none")):
        assert found.processor_limits_s == pytest.approx({"memory": 2e-3, "computation": 1e-3}, rel=1e-12)
        assert found.controller_busy_s is None


PHASES = {
    "far": [{"memory": FAR | {"blocking": 0}}, {"compute": {"flops": 5e6}}],
    "near": [{"memory": {"accesses": 1e6, "stack_distance": 1, "blocking": 0}}, {"compute": {"flops": 1e5}}],
    "waits": [{"memory": {"accesses": 1e6, "stack_distance": 1, "blocking": 1}}],
    "computes": [{"memory": FAR | {"blocking": 0}}, {"compute": {"flops": 5e7}}],
    "sends": [{"allreduce": {"bytes": 1e8}}, {"memory": FAR | {"blocking": 0}}],
    "kernels": [{"kernel": {"flops": 1e9, "bytes": 4e9}}, {"compute": {"flops": 1e6}}],
    "nothing": [{"compute": {"flops": 0}}],
}


def test_what_limits_each_phase(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """2 ms of memory beside 0.5 ms of computation; 0.125 ms of L1 beside 0.01 ms; 2 ms of latencies; 5 ms of computation
    beside 2 ms of memory; 0.1 s of messages; 2 s of the memory of an accelerator and 1 s of its flops."""
    accelerator = {"count": 8, "rate": "1 GFLOP/s", "memory": {"bandwidth": "2 GB/s"}}
    load = {"name": "work", "program": [{"phase": name, "do": steps} for name, steps in PHASES.items()]}
    machine = NODE | {"accelerator": accelerator}
    expected = ["memory", "L1", "latency", "computation", "communication", "accelerator memory", ""]
    found = sc.forecast(sc.Workload.load(load), sc.Machine.load(machine), {"P": 2})
    assert list(found.limited_phases.items()) == list(zip(PHASES, expected, strict=True))
    assert found.phase_limits_s["far"] == pytest.approx(
        {"memory": 4e-3, "computation": 1e-3, "latency": 0, "L1": 0}, abs=1e-15
    )
    files = [tmp_path / name for name in ("w.yaml", "m.yaml")]
    for file, content in zip(files, (load, machine), strict=True):
        file.write_text(yaml.safe_dump({"simcodesign": 1, **content}))
    for name in ("forecast", "compare"):
        lines = command(capfd, name)(*map(str, files), "-P", 2).out.splitlines()
        for phase, limit in zip(PHASES, expected, strict=True):
            row = next(line for line in lines if line.split()[:1] == [phase])
            assert not limit or limit.split()[0] in row.split()  # one table is too narrow for both words


def test_phases_without_memory_and_accelerators_have_no_column() -> None:
    assert limits(NODE, {"compute": {"flops": 1e6}}).limited_phases == {}


def test_the_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    forecast = command(capfd, "forecast")
    shown = " ".join(forecast("stencil", "sandy-bridge", "-P", 8).out.split())
    assert "Memory bound: what limits the time of each rank on its processor is the bandwidth of memory" in shown
    assert "The 8 ranks of a memory controller keep it busy for" in shown
    assert "it limits them (effect memory)" in shown
    assert "emory bound" not in forecast("jacobi", "torus-cluster", "-P", 8).out


def test_rows_of_compare(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """2 ms of memory and 0.5 ms of computation of each rank, in both readings; a kernel of 1 s on an accelerator."""
    load = {"name": "work", "program": [{"memory": FAR | {"blocking": 0}}, {"compute": {"flops": 5e6}}]}
    load["program"].append({"kernel": {"flops": 1e9}})  # type: ignore[attr-defined]
    files = [tmp_path / name for name in ("w.yaml", "m.yaml")]
    for file, content in zip(files, (load, NODE | {"accelerator": {"count": 8, "rate": "1 GFLOP/s"}}), strict=True):
        file.write_text(yaml.safe_dump({"simcodesign": 1, **content}))
    lines = command(capfd, "compare")(*map(str, files), "-P", 2, "--effects", "none").out.splitlines()
    rows = [line.split() for line in lines]
    assert ["flops:", "the", "rate", "of", "the", "accelerator", "1.0000", "1.0000", "+0.0%"] in rows
    assert ["the", "bandwidth", "of", "memory", "2.0000", "2.0000", "+0.0%"] in rows
