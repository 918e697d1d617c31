"""docs/tables/routing-bursts.csv of docs/networks.md, simulated again; minimal routes against what is counted."""

from __future__ import annotations

import pytest

from simcodesign.engine.simulate import simulate
from tests.builders import read_machine, workload
from tests.system.documentation import csv_rows

MACHINE = """
simcodesign: 1
name: m
nodes: NODES
processor: {rate: 1 GFLOP/s}
network:
  topology: {TOPOLOGY}
  routing: ROUTING
  startup: 0 s
  bandwidth: 4 GB/s
  hop_latency: 100 ns
  sends: blocking
  hops_hold_sender: false
"""
MESSAGES, BYTES, BANDWIDTH = 60, 4096, 4e9
#: Row of the table -> topology, nodes, the peers of a rank in the adverse pattern, and what passes the busiest link.
NETWORKS = {
    "dragonfly of 72 (p = h = 2, a = 4)": (
        "kind: dragonfly, terminals: 2, routers: 4, global_links: 2",
        72,
        ("(rank + 8) % P", "(rank - 8) % P"),
        8,
    ),
    "torus 8x8": (
        "kind: torus, shape: [8, 8]",
        64,
        ("rank//8*8 + (rank + 3) % 8", "rank//8*8 + (rank - 3) % 8"),
        3,
    ),
    "HyperX 4x4 with 4 hosts each": (
        "kind: hyperx, shape: [4, 4]",
        64,
        ("rank//16*16 + (rank + 4) % 16", "rank//16*16 + (rank - 4) % 16"),
        4,
    ),
}
ROUTINGS = ("minimal", "ecmp", "valiant", "ugal", "{ugal: {queues: along_route}}")
TABLE = csv_rows("routing-bursts")
ROWS = [[*row.values()] for row in TABLE]


def throughput(name: str, is_adverse: bool, routing: str) -> float:
    """The share of what the hosts can send."""
    topology, nodes, (to, source), _ = NETWORKS[name]
    machine = read_machine(
        MACHINE.replace("TOPOLOGY", topology).replace("NODES", str(nodes)).replace("ROUTING", routing)
    )
    sends = f"{{repeat: {MESSAGES}, do: [send: {{to: '{to}', bytes: {BYTES}}}]}}"
    receives = f"{{repeat: {MESSAGES}, do: [receive: {{from: '{source}', bytes: {BYTES}}}]}}"
    adverse, uniform = f"[{sends}, {receives}]", f"[all_to_all: {{bytes: {BYTES}, algorithm: linear}}]"
    result = simulate(workload(adverse if is_adverse else uniform), machine, {"P": nodes}, effects="links,interfaces")
    return (MESSAGES if is_adverse else nodes - 1) * BYTES / BANDWIDTH / float(result.makespan_s)


def test_the_table_has_all_rows() -> None:
    assert [*TABLE[0]] == ["network", "traffic", "minimal", "ecmp", "valiant", "ugal", "ugal, along_route"]
    assert [row[0] for row in ROWS] == [name for name in NETWORKS for _ in range(2)]


@pytest.mark.thorough
@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(row[:2]))
def test_throughput(row: list[str]) -> None:
    is_adverse = row[1] != "to all others"
    for routing, cell in zip(ROUTINGS, row[2:], strict=True):
        assert throughput(row[0], is_adverse, routing) == pytest.approx(float(cell), abs=5.1e-4), routing
    minimal, _, valiant, ugal, along = (float(cell) for cell in row[2:])
    if is_adverse:  # against the count, to which the first message's way of a few hops is added
        assert minimal == pytest.approx(1 / NETWORKS[row[0]][3], rel=0.01)
        assert min(ugal, along) > 1.15 * minimal
    else:
        assert minimal >= ugal > valiant
        assert along > ugal
