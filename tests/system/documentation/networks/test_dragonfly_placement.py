"""The table of docs/placement.md: a halo on a dragonfly+, where mapping decides; bounded by the fullest cable."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.describe.yaml.files import machine_of_text, workload_of_text
from tests import ROOT
from tests.command_line import command

PAGE = (ROOT / "docs" / "placement.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```\{file\} (\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
ROWS = re.findall(r"^\| (\d+) \| (\d+) \| `(\w+)` \| ([0-9.]+) \| ([0-9.]+) \|$", PAGE, re.MULTILINE)
FACE_BYTES, BYTES_PER_S, COMPUTE_MS = 4e6, 12.5e9, 4 * 10.0
GRIDS = {2048: (16, 16, 8), 512: (8, 8, 8)}


def machine_with(nodes: int, cables: int, mapping: str) -> sc.Machine:
    groups = nodes // 64
    text = FILES["dragonfly-plus.yaml"].replace("nodes: 2048", f"nodes: {nodes}\nmapping: {mapping}")
    ports = -(-cables * (groups - 1) // 8)
    return machine_of_text(text.replace("global_links: 4", f"global_links: {max(ports, 4)}"), "dragonfly-plus.yaml")


def fullest_link_bytes(machine: sc.Machine) -> float:
    """Bytes of one exchange over the fullest link: a face to each neighbour in the grid of ranks, and back."""
    shape = GRIDS[machine.nodes]
    rank, pairs = np.arange(machine.nodes).reshape(shape), []
    for axis, extent in enumerate(shape):
        low, high = (np.take(rank, range(*ends), axis).ravel() for ends in ((extent - 1,), (1, extent)))
        pairs += [(low, high), (high, low)]
    source, target = (machine.node_of(machine.nodes)[np.concatenate(side)] for side in zip(*pairs, strict=True))
    return float(machine.network.topology.link_loads(source, target, FACE_BYTES)[1].max())


@pytest.mark.thorough
def test_a_search_by_simulation_finds_the_placement(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """It says that contention for links turns the order, in which the forecast sees no difference."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    ran = command(capfd, "explore")(
        *(tmp_path / "halo.yaml", tmp_path / "dragonfly-plus.yaml", "-P", 2048, "--minimize", "time"),
        *("--vary", "mapping=linear,random", "--simulate", "-j", 1),
    )
    assert ran.cells("mapping") == ["mapping", "linear", "random"]
    assert ran.cells("links")[-1] == "here the order turns"


def test_all_rows_are_found() -> None:
    assert [(row[0], row[2]) for row in ROWS] == [(n, m) for n in ("2048", "512") for m in ("linear", "random")]


@pytest.mark.thorough
@pytest.mark.parametrize(("nodes", "cables", "mapping", "time_ms", "exchanges_ms"), ROWS)
def test_table(nodes: str, cables: str, mapping: str, time_ms: str, exchanges_ms: str) -> None:
    machine: Any = machine_with(int(nodes), int(cables), mapping)
    assert machine.network.topology.between_groups.cables_per_pair == int(cables)
    workload = workload_of_text(FILES["halo.yaml"], "halo.yaml")
    found_ms = 1e3 * float(sc.simulate(workload, machine, {"P": int(nodes)}).makespan_s)
    assert f"{found_ms:.1f}" == time_ms
    assert f"{found_ms - COMPUTE_MS:.1f}" == exchanges_ms
    busy_ms = 4e3 * fullest_link_bytes(machine) / BYTES_PER_S
    assert COMPUTE_MS / 4 + busy_ms <= found_ms  # a link is not used before the first computation ends
    if nodes == "2048":  # its ranks wait for the fullest cable at each exchange
        assert found_ms == pytest.approx(COMPUTE_MS + busy_ms, rel=0.05)
    if (nodes, mapping) == ("2048", "linear"):  # the 64 ranks of a group over one cable
        assert fullest_link_bytes(machine) == 64 * FACE_BYTES
        assert found_ms == pytest.approx(COMPUTE_MS + 4e3 * 64 * FACE_BYTES / BYTES_PER_S, rel=1e-3)
