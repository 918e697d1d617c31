"""Startup and bandwidth of rings, found again in outputs of nccl-tests that closed forms make of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simcodesign import Machine, forecast, simulate
from simcodesign.calibration.benchmarks.machine_constants import (
    MachineCalibration,
    calibrate_machine,
    machine_changes,
)
from simcodesign.core.errors import InputError
from simcodesign.fitting.readers.benchmarks.output.table import read_benchmark
from tests import ROOT
from tests.builders import read_machine, workload
from tests.calibration.benchmarks.full_node_outputs import GB, US, nccl

ALPHA, BETA = 5 * US, 200 * GB
SIZES = [2**power for power in range(10, 31, 2)]
GPUS = """simcodesign: 1
name: gpus
nodes: 4
processors_per_node: 8
processor: {rate: 1 TFLOP/s}
network: {topology: {kind: crossbar}, startup: 2 us, bandwidth: 10 GB/s}
node: {network: {topology: {kind: crossbar}, startup: 1 us, bandwidth: 100 GB/s}}
"""


def allreduce(size: float, ranks: int = 8) -> float:
    """2 (P - 1) steps of an eighth of the vector."""
    return 2 * (ranks - 1) * (ALPHA + size / ranks / BETA)


def gathered(size: float, ranks: int = 8) -> float:
    """P - 1 steps of a block; nccl-tests print the buffer of P blocks."""
    return (ranks - 1) * (ALPHA + size / ranks / BETA)


def calibrated(folder: Path, *outputs: str, machine: str = GPUS) -> MachineCalibration:
    (folder / "gpus.yaml").write_text(machine)
    files = [folder / f"nccl-{number}.log" for number, _ in enumerate(outputs)]
    for file, text in zip(files, outputs, strict=True):
        file.write_text(text)
    return calibrate_machine(folder / "gpus.yaml", files, segments=1)


def constants(found: MachineCalibration) -> dict[str, float]:
    return {one.path: one.value for one in found.all_constants}


@pytest.mark.parametrize(
    ("operation", "seconds"), [("all_reduce", allreduce), ("all_gather", gathered), ("reduce_scatter", gathered)]
)
def test_rings_within_a_node_give_startup_and_bandwidth_of_its_network(tmp_path: Path, operation: str, seconds) -> None:  # type: ignore[no-untyped-def]
    found = calibrated(tmp_path, nccl(operation, 8, seconds, SIZES))
    assert constants(found) == {
        "node.network.startup": pytest.approx(ALPHA, rel=1e-3),
        "node.network.per_byte": pytest.approx(1 / BETA, rel=1e-3),
    }
    assert any("taken to be by rings (NCCL_ALGO=Ring)" in note for note in found.notes)
    assert all("steps of rings" in one.how for one in found.all_constants)


def far_machine(nodes: int, each: int, startup_s: float, bandwidth: float) -> str:
    """GPUs with an interface for each, and messages within nodes of ALPHA and BETA."""
    return f"""simcodesign: 1
name: gpus
nodes: {nodes}
processors_per_node: {each}
processor: {{rate: 1 TFLOP/s}}
network: {{topology: {{kind: crossbar}}, startup: {startup_s} s, bandwidth: {bandwidth} B/s, rails: {each}}}
node: {{network: {{topology: {{kind: crossbar}}, startup: {ALPHA} s, bandwidth: {BETA} B/s}}}}
"""


def far_output(operation: str, nodes: int, each: int, algorithm: str) -> str:
    """Forecasts of a machine with 20 us and 15 GB/s for each GPU between nodes."""
    machine = read_machine(far_machine(nodes, each, 20 * US, 15 * GB))
    ranks, ours = nodes * each, operation.replace("all_", "all")
    work = workload(f"- {ours}: {{bytes: n, algorithm: {algorithm}}}", "parameters: {n: {default: 1}}\n")

    def seconds(size: float) -> float:
        size = size / ranks if ours == "allgather" else size
        return float(forecast(work, machine, {"P": ranks, "n": size}).makespan_s)

    return nccl(operation, ranks, seconds, SIZES, nodes=nodes)


@pytest.mark.parametrize(("nodes", "each"), [(2, 8), (4, 8), (4, 4), (3, 2)])
@pytest.mark.parametrize(
    ("operation", "algorithm"),
    [
        ("all_reduce", "ring_channels"),
        ("all_reduce", "nccl"),
        ("all_gather", "nccl"),
    ],
)
@pytest.mark.parametrize(("startup_s", "bandwidth"), [(2 * US, 100 * GB), (90 * US, 1 * GB)])
def test_forecasts_of_rings_across_nodes_give_their_constants_back(
    tmp_path: Path, nodes: int, each: int, operation: str, algorithm: str, startup_s: float, bandwidth: float
) -> None:
    """Whatever constants the machine states between its nodes; the ones within them are given."""
    text = far_output(operation, nodes, each, algorithm)
    found = calibrated(tmp_path, text, machine=far_machine(nodes, each, startup_s, bandwidth))
    assert constants(found) == {
        "network.startup": pytest.approx(20 * US, rel=1e-3),
        "network.per_byte": pytest.approx(1 / (15 * GB), rel=1e-3),
    }
    assert set(found.roles) == {"calibration"}


def test_rings_within_and_across_nodes_give_both_levels(tmp_path: Path) -> None:
    """Times across nodes by hand: a step sends an eighth of a block on, the rest within the node, both started first."""

    def across(size: float) -> float:
        block, start = size / 32, 20 * US
        return 62 * (start + max(block / 8 / (15 * GB), ALPHA + block * 7 / 8 / BETA))

    outputs = nccl("all_reduce", 8, allreduce, SIZES), nccl("all_reduce", 32, across, SIZES, nodes=4)
    machine = GPUS.replace("10 GB/s}", "10 GB/s, rails: 8}")
    found = calibrated(tmp_path, *outputs, machine=machine)
    assert constants(found) == {
        "network.startup": pytest.approx(20 * US, rel=1e-3),
        "network.per_byte": pytest.approx(1 / (15 * GB), rel=1e-3),
        "node.network.startup": pytest.approx(ALPHA, rel=1e-3),
        "node.network.per_byte": pytest.approx(1 / BETA, rel=1e-3),
    }  # and no rate of operators: nothing of a row counts twice
    assert any("allreduce across nodes of nccl-tests is taken to be by ring_channels" in one for one in found.notes)


def test_a_bandwidth_that_messages_within_nodes_hide_is_kept(tmp_path: Path) -> None:
    """An eighth of a block between nodes at 300 GB/s is over before seven eighths within them at 200 GB/s."""

    def across(size: float) -> float:
        return 30 * (20 * US + ALPHA + size / 16 * 7 / 8 / BETA)

    output = nccl("all_reduce", 16, across, SIZES, nodes=2)
    found = calibrated(tmp_path, output, machine=far_machine(2, 8, 5 * US, 300 * GB))
    assert constants(found)["network.startup"] == pytest.approx(20 * US, rel=1e-3)
    assert constants(found)["network.per_byte"] == pytest.approx(1 / (300 * GB))
    assert any("network.per_byte is hidden, because" in one and "is kept" in one for one in found.notes)
    slow = calibrated(tmp_path, output, machine=far_machine(2, 8, 5 * US, 10 * GB))
    block = SIZES[-1] / 16  # at most as long between nodes as within them: slower ones would show
    longest = (ALPHA + block * 7 / 8 / BETA) / (block / 8)
    assert constants(slow)["network.per_byte"] == pytest.approx(longest, rel=2e-3)
    assert any("is hidden" in one and "the most that fits" in one for one in slow.notes)


def test_rings_across_nodes_replace_the_segments_of_a_machine(tmp_path: Path) -> None:
    """Rings determine one segment, which is then of all sizes."""
    output = far_output("all_gather", 4, 4, "nccl")
    stated = far_machine(4, 4, 2 * US, 100 * GB)
    one = f"startup: {2 * US} s, bandwidth: {100 * GB} B/s"
    two = "segments: [{up_to: 64 KiB, startup: 2 us, bandwidth: 10 GB/s}, {startup: 5 us, bandwidth: 90 GB/s}]"
    found = calibrated(tmp_path, output, machine=stated.replace(one, two))
    assert found.machine.network.has_segments
    machine = Machine.load(tmp_path / "gpus.yaml", machine_changes(found))
    work = workload("- allgather: {bytes: n, algorithm: nccl}", "parameters: {n: {default: 1}}\n")
    known = read_machine(far_machine(4, 4, 20 * US, 15 * GB))
    for size in (100.0, 1e4, 1e8):
        at = {"P": 16, "n": size}
        assert forecast(work, machine, at).makespan_s == pytest.approx(forecast(work, known, at).makespan_s, rel=1e-3)


def test_interfaces_are_no_slower_than_rings_through_them(tmp_path: Path) -> None:
    machine = far_machine(2, 8, 2 * US, 10 * GB).replace("rails: 8}", "rails: 8, interfaces: {bandwidth: 12 GB/s}}")
    found = constants(calibrated(tmp_path, far_output("all_reduce", 2, 8, "nccl"), machine=machine))
    assert found["network.per_byte"] == pytest.approx(1 / (15 * GB), rel=1e-3)
    assert found["network.interfaces.per_byte"] == found["network.per_byte"]


def test_the_operator_of_the_machine_is_no_part_of_a_step(tmp_path: Path) -> None:
    """In half of the steps of an allreduce, a block of n/P bytes is reduced at 400 GB/s."""
    machine = GPUS.replace("bandwidth: 10 GB/s}", "bandwidth: 10 GB/s, reduction: 400 GB/s}")
    text = nccl("all_reduce", 8, lambda size: allreduce(size) + 7 * size / 8 / (400 * GB), SIZES)
    assert 1 / constants(calibrated(tmp_path, text, machine=machine))["node.network.per_byte"] == pytest.approx(
        BETA, rel=1e-3
    )


def test_a_step_of_messages_that_hold_both_ends_is_two(tmp_path: Path) -> None:
    machine = GPUS.replace("bandwidth: 100 GB/s}}", "bandwidth: 100 GB/s, holds_receiver: true}}")
    found = constants(calibrated(tmp_path, nccl("all_reduce", 8, allreduce, SIZES), machine=machine))
    assert found["node.network.startup"] == pytest.approx(ALPHA / 2, rel=1e-3)
    assert 1 / found["node.network.per_byte"] == pytest.approx(2 * BETA, rel=1e-3)


def test_rings_whose_devices_are_not_listed_must_state_nodes(tmp_path: Path) -> None:
    whole = nccl("all_gather", 8, gathered, SIZES)
    text = "".join(line for line in whole.splitlines(keepends=True) if not line.startswith("#  Rank"))
    with pytest.raises(InputError, match=r"nccl-0.log:6: allgather within a node or between nodes"):
        calibrated(tmp_path, text)


# Types and operators


def test_reductions_of_other_types_and_operators_are_not_pooled(tmp_path: Path) -> None:
    first = nccl("all_reduce", 8, allreduce, SIZES)
    half = nccl("all_reduce", 8, lambda size: 3 * allreduce(size), SIZES, element=("half", 2))
    greatest = nccl("all_reduce", 8, lambda size: 5 * allreduce(size), SIZES).replace(" sum ", " max ")
    found = calibrated(tmp_path, first, half, greatest)
    assert constants(found)["node.network.startup"] == pytest.approx(ALPHA, rel=1e-3)
    (note,) = [one for one in found.notes if one.startswith("Rows are not used")]
    assert "22 of allreduce of half sum; 22 of allreduce of float max" in note
    assert found.roles == ["calibration"] * 22 + ["evidence"] * 44


def test_messages_of_other_types_are_samples_of_their_own(tmp_path: Path) -> None:
    """A byte of a half is a byte of a float: both count, neither as a repetition of the other."""
    half = nccl("all_gather", 8, gathered, SIZES, element=("half", 2))
    found = calibrated(tmp_path, nccl("all_gather", 8, gathered, SIZES), half)
    assert constants(found)["node.network.per_byte"] == pytest.approx(1 / BETA, rel=1e-3)
    assert found.roles == ["calibration"] * 44


# Measured


@pytest.mark.parametrize("ranks", [4, 8])
def test_allreduce_of_a100s_gives_the_line_through_its_times(tmp_path: Path, shared_measured: Path, ranks: int) -> None:
    """vTrain's rows of 64 MiB and more (MIT; Bang et al., MICRO 2024), as nccl-tests print them.

    The line through t = 2 (P - 1) alpha + 2 (P - 1) / P n / beta by NumPy, weighted by relative errors, gives beta.
    """
    at = {size: time for size, time in measured_allreduce(shared_measured, ranks).items() if size >= 2**26}
    size, seconds = np.array([*at.items()]).T
    found = constants(calibrated(tmp_path, nccl("all_reduce", ranks, at.__getitem__, [int(one) for one in size])))
    slope, start = np.polyfit(size, seconds, 1, w=1 / seconds)
    beta, alpha = 2 * (ranks - 1) / ranks / slope, start / (2 * (ranks - 1))
    assert 1 / found["node.network.per_byte"] == pytest.approx(beta, rel=1e-3)
    assert found["node.network.startup"] == pytest.approx(alpha, rel=0.05)  # weighted by running medians
    assert 1 / found["node.network.per_byte"] == pytest.approx(215 * GB, rel=0.1)  # the bus bandwidth of the table


def test_three_rows_of_eight_gpus_predict_the_others(tmp_path: Path, shared_measured: Path) -> None:
    """docs/measured-machines.md has the errors as they come out here."""
    times = {ranks: measured_allreduce(shared_measured, ranks) for ranks in (4, 8)}
    used = [2**20, 2**25, 2**30]
    (tmp_path / "nccl.log").write_text(nccl("all_reduce", 8, times[8].__getitem__, used))
    found = constants(calibrate_machine("a100-cluster", [tmp_path / "nccl.log"], segments=1))
    on = Machine.load("a100-cluster").with_constants(found)
    work = workload("- allreduce: {bytes: n, algorithm: nccl}", "parameters: {n: {default: 1}}\n")
    text = (ROOT / "docs" / "measured-machines.md").read_text(encoding="utf-8")
    for ranks, every in times.items():
        size = np.array([one for one in every if ranks != 8 or one not in used])
        measured = np.array([every[one] for one in size])
        error = forecast(work, on, {"P": ranks, "n": size}).makespan_s / measured - 1
        alone = simulate(work, on, {"P": ranks, "n": float(size[0])}).makespan_s
        assert alone == pytest.approx((1 + error[0]) * measured[0], rel=1e-9)
        for words, here in (("below 64 MiB", size < 2**26), ("64 MiB and more", size >= 2**26)):
            worst = error[here][np.abs(error[here]).argmax()]
            median = np.median(np.abs(error[here]))
            line = f"- {ranks} GPUs, {words}: {median:.1%} in the median, at worst {worst:+.1%} ({here.sum()} rows)"
            assert line.replace("%", " %") in text


def measured_allreduce(folder: Path, ranks: int) -> dict[float, float]:
    """Seconds by bytes, out of place (vTrain, MIT; Bang et al., MICRO 2024)."""
    rows = (folder / "ai-clusters" / f"vtrain_AR_GPU{ranks}_1M_1024M_LUT").read_text().splitlines()[1:]
    return {float(row.split(",")[0]): float(row.split(",")[3]) * 1e-9 for row in rows}


def test_rows_of_the_reader_state_type_and_operator(tmp_path: Path) -> None:
    path = tmp_path / "nccl.log"
    path.write_text(nccl("all_reduce", 8, allreduce, SIZES[:1]) + nccl("all_gather", 8, gathered, SIZES[:1]))
    assert [row.data for row in read_benchmark(path).rows] == ["float sum", "float sum", "float", "float"]
