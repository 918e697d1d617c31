"""``nodes: P``: machines with as many nodes as the ranks need."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.comparison.compare import compare
from simcodesign.core.errors import InputError
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.engine.simulate import simulate
from tests.builders import read_machine, workload

BURST = "[all_to_all: {bytes: 65536, algorithm: linear}]"


def by_ranks(topology: str = "{kind: mesh}", head: str = "", nodes: str = "P") -> Machine:
    network = f"{{startup: 1 us, bandwidth: 1 GB/s, hop_latency: 0, topology: {topology}}}"
    text = f"simcodesign: 1\nname: any\nnodes: {nodes}\nprocessor: {{rate: 1 GFLOP/s}}\nnetwork: {network}\n{head}"
    return read_machine(text)


def sized(machine: Machine, ranks: int) -> Machine:
    return bind(workload("[barrier: {}]"), machine, {"P": ranks}).machine


@given(st.integers(1, 300), st.integers(1, 9))
def test_nodes_hold_the_ranks_and_one_less_would_not(ranks: int, per_node: int) -> None:
    machine = sized(by_ranks(head=f"processors_per_node: {per_node}\n"), ranks)
    assert (machine.nodes - 1) * per_node < ranks <= machine.nodes * per_node
    assert sized(by_ranks(head=f"processors_per_node: {per_node}\nmapping: one_per_node\n"), ranks).nodes == ranks


@pytest.mark.parametrize(
    ("topology", "fits", "near"),
    [
        ("{kind: hypercube}", 64, (60, "32 or 64")),
        ("{kind: fat_tree, arity: 4}", 60, None),
        ("{kind: torus, dims: 3}", 60, None),
        ("{kind: crossbar}", 7, None),
        ("{kind: dragonfly, terminals: 2, routers: 4, global_links: 2}", 72, (70, "64 or 72")),
        ("{kind: hyperx, shape: [3, 3]}", 18, (20, "18 or 27")),
        ("{kind: slim_fly, q: 5}", 100, (120, "100 or 150")),
    ],
)
def test_kinds_of_networks(topology: str, fits: int, near: tuple[int, str] | None) -> None:
    assert sized(by_ranks(topology), fits).nodes == fits
    if near is not None:
        with pytest.raises(InputError) as caught:
            sized(by_ranks(topology), near[0])
        assert caught.value.allowed == f"{near[1]} nodes"


@pytest.mark.parametrize(
    ("topology", "head"),
    [
        ("{kind: mesh, shape: [16, 16]}", ""),
        ("{kind: torus, shape: [8]}", ""),
        ("{kind: mesh}", "mapping: [0, 0, 1]\n"),
        ("{kind: mesh}", "mapping: ranks.csv\n"),
        ("{kind: nothing}", ""),
    ],
)
def test_what_cannot_follow_ranks_is_refused(topology: str, head: str) -> None:
    with pytest.raises(InputError):
        by_ranks(topology, head)


def test_an_array_of_ranks_and_no_ranks_are_refused() -> None:
    with pytest.raises(InputError, match="array"):
        forecast(workload(BURST), by_ranks(), {"P": np.array([4, 16])})
    with pytest.raises(InputError, match="P"):
        forecast(workload(BURST), by_ranks())


@pytest.mark.parametrize("ranks", [4, 6, 13, 16])
@pytest.mark.parametrize("topology", ["mesh", "torus"])
def test_it_is_the_machine_of_so_many_nodes(topology: str, ranks: int) -> None:
    """In both readings, and in a comparison."""
    written = by_ranks(f"{{kind: {topology}}}", nodes=str(ranks))
    for read in (forecast, simulate):
        reading: Any = read
        assert reading(workload(BURST), by_ranks(f"{{kind: {topology}}}"), {"P": ranks}).makespan_s == (
            reading(workload(BURST), written, {"P": ranks}).makespan_s
        )
    ladders = [
        compare(workload(BURST), one, {"P": ranks}).rungs for one in (by_ranks(f"{{kind: {topology}}}"), written)
    ]
    assert [rung.change_s for rung in ladders[0]] == [rung.change_s for rung in ladders[1]]


@pytest.mark.parametrize("side", [2, 4, 8])
def test_a_burst_takes_at_least_what_must_cross_the_bisection(side: int) -> None:
    """P/2 x P/2 messages over the ``side`` links between the halves of a mesh of P nodes; the first row of a larger
    mesh would take ``side`` times as long. On 2 x 2 nodes it is just that, but for startups."""
    ranks, size_bytes, per_byte_s = side * side, 65536, 1e-9
    crossing_s = (ranks // 2) ** 2 * size_bytes * per_byte_s / side
    result = simulate(workload(BURST), by_ranks(), {"P": ranks})
    assert 1 <= float(result.makespan_s) / crossing_s < 3
    assert result.use is not None
    assert (result.use.nodes, result.use.of_nodes, result.use.of_processors) == (ranks, ranks, ranks)
    assert f"{side}x{side}" in result.use.hint


def test_a_prime_number_of_nodes_is_said_to_be_a_row() -> None:
    use = forecast(workload(BURST), by_ranks(), {"P": 13}).use
    assert use is not None
    assert "13x1" in use.hint
    assert "row" in use.hint


def test_a_disk_of_all_nodes_follows_and_another_does_not() -> None:
    disk = "disk: {{read_startup: 1 ms, write_startup: 1 ms, bandwidth: 1 GB/s, shared_by: {}}}\n"
    for text, nodes in (("all", 12), ("4", 4)):
        found = sized(by_ranks(head=disk.format(text)), 12).disk
        assert found is not None
        assert found.shared_by == nodes


def test_constants_and_slow_nodes_hold_for_every_size() -> None:
    machine = by_ranks(head="noise: {slow_nodes: {nodes: [5], factor: 2}}\n")
    assert sized(machine.with_constants({"network.startup": 3e-6}), 9).network.message_model.startup_s == 3e-6
    with pytest.raises(InputError):
        sized(machine, 4)
