"""How much of a machine is in use, and what another mapping would do."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.core.result import MachineUse
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_use import machine_use
from simcodesign.describe.placement import RANKS, RandomMapping, RankMapping
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from tests.builders import machine, network, network_with, workload
from tests.describe.machine.test_levels import GPUS


def on_mesh(shape: tuple[int, ...], per_node: int = 1, mapping: RankMapping = "linear") -> Machine:
    base = machine(network(math.prod(shape), per_byte_s=1e-9), processors_per_node=per_node)
    topology = build_topology("mesh", math.prod(shape), shape=shape)
    return replace(base, network=network_with(base.network, topology=topology), mapping=mapping)


@pytest.mark.parametrize(
    ("per_node", "ranks", "nodes", "hints"),
    [
        (1, 64, 64, []),
        (2, 128, 64, []),
        (2, 64, 32, ["one_per_node", "over 64"]),
        (2, 100, 50, []),
        (1, 16, 16, ["4x4"]),
        (1, 8, 8, ["4x2"]),
        (1, 2, 2, []),
        (1, 1, 1, []),
    ],
)
def test_use_of_a_mesh(per_node: int, ranks: int, nodes: int, hints: list[str]) -> None:
    use = machine_use(on_mesh((8, 8), per_node), ranks)
    assert (use.nodes, use.of_nodes, use.processors, use.of_processors) == (nodes, 64, ranks, 64 * per_node)
    assert use.of_links == 2 * 2 * 8 * 7
    assert all(hint in use.hint for hint in hints)
    assert bool(use.hint) == bool(hints)


@given(st.sampled_from(["one_per_node", "grid"]), st.integers(1, 64))
def test_other_mappings_have_no_hint(mapping: str, ranks: int) -> None:
    assert machine_use(on_mesh((8, 8), 2, mapping), ranks).hint == ""


@pytest.mark.parametrize("mapping", ["random", RandomMapping(3, RANKS)])
def test_a_random_placement_is_one_draw(mapping: str | RandomMapping) -> None:
    use = machine_use(replace(on_mesh((8, 8), 2, "linear"), mapping=mapping), 16)
    assert "one draw" in use.text
    assert f"seed {getattr(mapping, 'seed', 0)}" in use.text


@pytest.mark.parametrize(("target", "links"), [(1, 1), (7, 7), (9, 2), (63, 14)])
def test_links_that_carry_messages_are_counted(target: int, links: int) -> None:
    """From node 0 of a mesh of 8 x 8 to another: as many as rows and columns are apart."""
    steps = f"[send: {{to: {target}, bytes: 8, when: rank == 0}}, receive: {{from: 0, when: rank == {target}}}]"
    result = simulate(workload(steps), on_mesh((8, 8)), {"P": 64}, effects="links")
    assert result.use is not None
    assert (result.use.links, result.use.of_links) == (links, 224)
    without = simulate(workload(steps), on_mesh((8, 8)), {"P": 64}, effects="none")
    assert without.use is not None
    assert without.use.links is None


@pytest.mark.parametrize(
    ("effects", "links", "inside", "text"),
    [
        ("links, node", 12, 32, "12 of 16 links, 32 of 224 links inside nodes"),
        ("links", 12, None, "12 of 16 links"),
        ("node", None, 32, "32 of 224 links inside nodes"),
    ],
)
def test_links_between_and_inside_nodes_are_counted_apart(
    effects: str, links: int | None, inside: int | None, text: str
) -> None:
    """Rings of 8 in each of 4 nodes, which have 8 x 7 links, take 8 of them each. A ring of the nodes in a binary tree of
    two levels takes all 8 links of hosts, and for two of its four messages one up and one down."""
    changes = {"nodes": 4, "network.topology": {"kind": "fat_tree", "arity": 2}}
    load = Workload.load(
        {
            "name": "rings",
            "groups": {"node": "rank // 8", "peers": "rank % 8"},
            "program": [{"allreduce": {"bytes": 8e6, "group": one, "algorithm": "ring"}} for one in ("node", "peers")],
        }
    )
    use = simulate(load, Machine.load(GPUS, changes), {"P": 32}, effects=effects).use
    assert use is not None
    assert (use.links, use.of_links, use.inside_links, use.of_inside_links) == (links, 16, inside, 224)
    assert use.text == f"all 4 nodes, all 32 processors, {text}"
    assert use.json_fields()["inside_links"] == inside


def test_several_numbers_of_ranks_have_none() -> None:
    assert forecast(workload("[barrier: {}]"), on_mesh((8, 8)), {"P": [4, 8]}).use is None


def test_text() -> None:
    assert MachineUse(2, 2, 3, 4, 5).text == "all 2 nodes, 3 of 4 processors"
    assert MachineUse(1, 1, 1, 1, 0, 0, "why").text == "1 of 1 node, 1 of 1 processor, 0 of 0 links; why"
