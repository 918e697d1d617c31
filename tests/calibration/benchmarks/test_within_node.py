"""Constants of messages within a node from ping-pongs whose ranks are on one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simcodesign.calibration.benchmarks.machine_constants import MachineCalibration, calibrate_machine, machine_changes
from simcodesign.core.errors import InputError
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.simulate import simulate
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkTable
from simcodesign.report.calibration.machine_file import machine_file_text
from tests.calibration.benchmarks.test_machine_constants import (
    GB,
    LOGGOP,
    MACHINE,
    US,
    by_size,
    table,
    two_protocols,
)

DUAL = MACHINE.replace("nodes: 16\n", "nodes: 16\nprocessors_per_node: 2\n")
#: The same ping-pong between nodes and within one.
FAR = by_size("ping_pong", lambda size: 1.223 * US + size / (10 * GB), nodes=2.0)
NEAR = by_size("ping_pong", lambda size: 0.3 * US + size / (20 * GB), nodes=1.0)


def calibrated(folder: Path, text: str, *tables: BenchmarkTable, **options: object) -> MachineCalibration:
    path = folder / "made.yaml"
    path.write_text(text)
    return calibrate_machine(path, tables, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("order", [(FAR, NEAR), (NEAR, FAR)])
def test_they_are_not_merged_with_those_between_nodes(
    tmp_path: Path, order: tuple[BenchmarkTable, BenchmarkTable]
) -> None:
    found = calibrated(tmp_path, DUAL, *order, segments=1)
    values = {one.path: one.value for one in found.all_constants}
    assert values["network.startup"] == pytest.approx(1.223 * US, rel=1e-9)
    assert values["network.node.startup"] == pytest.approx(0.3 * US, rel=1e-9)
    assert values["network.node.per_byte"] == pytest.approx(1 / (20 * GB), rel=1e-9)


@pytest.mark.parametrize(
    ("ranks", "one_way_s"), [("0, 0", 0.3 * US + 4096 / (20 * GB)), ("0, 1", 1.223 * US + 4096 / (10 * GB))]
)
def test_the_written_machine_takes_as_long(tmp_path: Path, ranks: str, one_way_s: float) -> None:
    """A simulated ping-pong, both ranks on one node or on two: there and back."""
    found = calibrated(tmp_path, DUAL, FAR, NEAR, segments=1)
    mine = tmp_path / "mine.yaml"
    mine.write_text(f"{machine_file_text(found, 'mine')}mapping: [{ranks}]\n")
    result = simulate("ping-pong", str(mine), {"P": 2, "m": 4096, "turns": 1}, effects="none")
    assert result.makespan_s == pytest.approx(2 * one_way_s, rel=1e-5)  # six digits in the file


def test_segments_within_a_node(tmp_path: Path) -> None:
    found = calibrated(tmp_path, DUAL, FAR, by_size("ping_pong", two_protocols, nodes=1.0))
    (near,) = found.within_node
    assert [one.up_to for one in near.segments] == [4096, float("inf")]
    path = tmp_path / "mine.yaml"
    path.write_text(machine_file_text(found, "mine"))
    assert load_machine(path).network.node is not None
    for size in (1.0, 4096.0, 8192.0):
        result = simulate("ping-pong", f"{path}", {"P": 2, "m": size, "turns": 1}, effects="none")
        assert result.makespan_s == pytest.approx(2 * two_protocols(size), rel=1e-5)
    assert machine_changes(found)["network.node"]["segments"][0]["startup"] == pytest.approx(1.5 * US)  # type: ignore[index]


def test_alone_they_make_only_constants_within_a_node(tmp_path: Path) -> None:
    found = calibrated(tmp_path, DUAL, NEAR, segments=1)
    assert [one.path for one in found.all_constants] == ["network.node.startup", "network.node.per_byte"]


def test_what_the_model_has_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ping_pong.txt: ping-pongs within a node: made has the network model loggop"):
        calibrated(tmp_path, LOGGOP, FAR, NEAR)


def test_a_machine_with_one_processor_a_node_is_named(tmp_path: Path) -> None:
    found = calibrated(tmp_path, MACHINE, FAR, NEAR, segments=1)
    assert any("one processor in each node" in note for note in found.notes)


def test_windows_within_a_node_are_no_interface(tmp_path: Path) -> None:
    windows = [(20 * GB, {"bytes": size, "P": 2.0, "nodes": 1.0}) for size in (1e4, 1e5, 1e6)]
    found = calibrated(tmp_path, DUAL, FAR, table("window", windows, "bandwidth"), segments=1)
    assert "network.interfaces.per_byte" not in {one.path for one in found.constants if "windows" in one.how}
    assert any("Not used are window within a node" in note for note in found.notes)


REDUCTIONS = {"P": 4.0, "bytes": 1e6}


def test_reductions_alone_use_the_machines_messages(tmp_path: Path) -> None:
    """Recursive doubling of 4 ranks: 2 rounds of 1 us + m / (1 GB/s), and the operator on m bytes in each."""
    operator = 0.5 / GB
    rows = [(2 * (US + size / GB + size * operator), {"P": 4.0, "bytes": size}) for size in (1e5, 1e6, 1e7)]
    found = calibrated(tmp_path, MACHINE, table("allreduce", rows))
    (one,) = found.constants
    assert (one.path, one.value) == ("network.reduction_per_byte", pytest.approx(operator, rel=1e-9))
    assert any(note.startswith("No ping-pongs") for note in found.notes)


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ({}, "allreduce is not used: no file states the number of ranks.*--given P=8"),
        ({"P": 64.0}, "made cannot have .* among 64 ranks"),
        ({"P": 4.0, "nodes": 1.0}, "made cannot have .* among 4 ranks on 1 node"),
    ],
)
def test_reductions_that_cannot_be_used_say_why(tmp_path: Path, at: dict[str, float], words: str) -> None:
    rows = [(1.0, {"bytes": size, **at}) for size in (1e5, 1e6, 1e7)]
    with pytest.raises(InputError, match=f"allreduce.txt: no constant.*{words}.*calibrate WORKLOAD MACHINE rows.csv"):
        calibrated(tmp_path, MACHINE, table("allreduce", rows))


@pytest.mark.parametrize(("jump", "bent", "is_change"), [(1.1e-6, 1.0, True), (0.0, 1.6, False)])
def test_an_outlier_may_be_a_change_of_protocol(tmp_path: Path, jump: float, bent: float, is_change: bool) -> None:
    """A startup of 1.7 us, 2.8 us above 16 KiB, which cross-validation takes for one segment; or a long time of 512 bytes."""
    rng = np.random.default_rng(4)
    rows = []
    for power in range(23):
        size = 2.0**power
        noise = 1 + 0.005 * rng.standard_normal()
        rows.append(
            ((1.7e-6 + size / 11.3e9 + jump * (size > 16384)) * noise * (bent if power == 9 else 1), {"bytes": size})
        )
    found = calibrated(tmp_path, MACHINE, table("ping_pong", rows))
    (outlier,) = [note for note in found.notes if note.startswith("An outlier")]
    assert f"of {32768 if is_change else 512} bytes" in outlier
    changes = [note for note in found.notes if note.startswith("With --segments 2 (up to 16384 bytes)")]
    assert len(changes) == sum(note.startswith("With --segments") for note in found.notes) == is_change


def test_outliers_among_ping_pongs_are_named_and_left_out(tmp_path: Path) -> None:
    rows = [(one.value * (3 if one.parameters["bytes"] == 1024 else 1), {**one.parameters}) for one in NOISY.rows]
    bent, robust = (
        calibrated(tmp_path, MACHINE, table("ping_pong", rows), segments=1, robust=it) for it in (False, True)
    )
    (said,) = [note for note in bent.notes if note.startswith("An outlier")]
    assert "ping-pong of 1024 bytes (ping_pong.txt:11)" in said
    assert said.endswith("it was used; --robust leaves it out.")
    alone = calibrated(
        tmp_path, MACHINE, table("ping_pong", [row for row in rows if row[1]["bytes"] != 1024]), segments=1
    )
    for one, other in zip(robust.all_constants, alone.all_constants, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-9)
    assert any(note.endswith("it was left out (--robust).") for note in robust.notes)


NOISY = by_size("ping_pong", lambda size: 1.223 * US + size / (10 * GB), noise=0.02)
