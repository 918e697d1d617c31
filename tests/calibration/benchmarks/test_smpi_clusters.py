"""Ping-pongs of three clusters (smpi-network of the shared measurements): where their course changes, beside the changes
that the people who calibrated SMPI on them read off by eye, and the constants that they fitted between these."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simcodesign.calibration.benchmarks.machine_constants import MachineCalibration, calibrate_machine
from simcodesign.calibration.benchmarks.samples import columns, samples
from simcodesign.calibration.segments import Segmentation, segmentation
from simcodesign.fitting.readers.benchmarks.table import read_benchmark

pytestmark = pytest.mark.thorough
#: Files of the clusters, without the operation.
CLUSTERS = {
    "miriel": "miriel_27_06_2016/testplatform",
    "taurus": "taurus_26_07_2016/taurus-2016-06-09--1",
    "graphene": "graphene_eth",
}
#: Where sends are no longer buffered, by testplatform_breakpoints, taurus_breakpoints and, of graphene, breakpoints_eth
#: of the same repository; and the first change, which is that of Ethernet's frames (1,420) in all three.
FIRST, EAGER = 1420, 65536


@pytest.fixture
def clusters(shared_measured: Path) -> dict[str, Path]:
    return {name: shared_measured / "smpi-network" / prefix for name, prefix in CLUSTERS.items()}


def cuts(prefix: Path, kind: str, operation: str) -> Segmentation:
    taken = samples([read_benchmark(prefix.with_name(f"{prefix.name}_{kind}.csv.gz"))], operation)
    size, seconds = columns(taken, "bytes")
    return segmentation(size, seconds)


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_ping_pongs_change_where_the_first_frame_is_full(clusters: dict[str, Path], cluster: str) -> None:
    found = cuts(clusters[cluster], "PingPong", "ping_pong")
    assert any(low <= FIRST <= high for low, high in found.plausible)


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_sends_alone_change_where_they_are_no_longer_buffered(clusters: dict[str, Path], cluster: str) -> None:
    found = cuts(clusters[cluster], "Isend", "isend")
    assert any(low <= EAGER <= high for low, high in found.plausible)


def miriel(clusters: dict[str, Path]) -> MachineCalibration:
    prefix = clusters["miriel"]
    return calibrate_machine(
        "crossbar-16", [prefix.with_name(f"{prefix.name}_{kind}.csv.gz") for kind in ("PingPong", "Recv")]
    )


def test_constants_of_miriel_are_near_those_fitted_for_smpi(clusters: dict[str, Path]) -> None:
    # testplatform_output.xml, with 50 us and 1 GB/s: from 1,420 bytes on a latency of 58.3 us and 0.983 GB/s; receive
    # overhead 3.33 us. Theirs are of all repetitions but a tenth on either side and absolute errors, ours of medians
    # and relative ones, so that a fifth is as near as can be asked of times that scatter by a fifth.
    found = miriel(clusters)
    assert found.messages is not None
    (middle,) = [one for one in found.messages.segments if 1e4 < one.up_to < 2e5]
    assert middle.startup.value == pytest.approx(58.3e-6, rel=0.2)
    assert 1e-9 / middle.per_byte.value == pytest.approx(0.983, rel=0.2)
    (receive,) = [one.value for one in found.messages.constants if one.path == "network.receive_overhead"]
    assert receive == pytest.approx(3.33e-6, rel=0.2)
    assert np.isfinite([one.low for one in found.all_constants]).all()
