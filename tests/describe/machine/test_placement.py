"""Ranks on nodes: at random, on a part of a grid, as a file lists them; counts against counting."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from simcodesign.describe.placement import MAPPINGS, GridMapping, RandomMapping, RankMapping
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.topology.grid_shape import smallest_box
from simcodesign.describe.yaml.files import load_machine
from tests.builders import machine, network, network_with

SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)


def on_grid(shape: tuple[int, ...], mapping: RankMapping, per_node: int = 1, kind: str = "torus") -> Machine:
    base = machine(network(math.prod(shape)), processors_per_node=per_node)
    topology = build_topology(kind, math.prod(shape), shape=shape)
    return replace(base, network=network_with(base.network, topology=topology), mapping=mapping)


@given(SHAPES, st.data())
def test_the_smallest_box(whole: tuple[int, ...], data: st.DataObject) -> None:
    """Against all boxes there are."""
    nodes = data.draw(st.integers(1, math.prod(whole)))
    every = itertools.product(*(range(1, extent + 1) for extent in whole))
    large = [box for box in every if math.prod(box) >= nodes]
    found = smallest_box(whole, nodes)
    assert found in large
    assert math.prod(found) == min(map(math.prod, large))
    surfaces = [surface(box) for box in large if math.prod(box) == math.prod(found)]
    assert surface(found) == pytest.approx(min(surfaces))


def surface(box: tuple[int, ...]) -> float:
    """Half of the faces of a box of cubes."""
    return sum(math.prod(box) / extent for extent in box)


@pytest.mark.parametrize(
    ("ranks", "nodes"),
    [
        (1, [0]),
        (4, [0, 1, 8, 9]),
        (6, [0, 1, 8, 9, 16, 17]),
        (16, [8 * row + column for row in range(4) for column in range(4)]),
    ],
)
def test_ranks_on_a_part_of_a_grid(ranks: int, nodes: list[int]) -> None:
    assert on_grid((8, 8), "grid").node_of(ranks).tolist() == nodes
    assert on_grid((8, 8), "grid", 3).node_of(3 * ranks).tolist() == [node for node in nodes for _ in range(3)]


def test_a_part_of_a_given_shape() -> None:
    placed = on_grid((4, 8), GridMapping((2, 3)), 2)
    assert placed.most_ranks == 12
    assert placed.node_of(12)[::2].tolist() == [0, 1, 2, 8, 9, 10]
    assert placed.node_of(5).tolist() == [0, 0, 1, 1, 2]


@pytest.mark.parametrize(
    ("shape", "mapping", "words"),
    [
        ((4, 4), GridMapping((5, 1)), "at most 4x4"),
        ((4, 4), GridMapping((4,)), "2 extents"),
        ((4, 4), RandomMapping(-1), "0 or above"),
        ((4, 4), RandomMapping(0, "sockets"), "nodes or ranks"),
    ],
)
def test_mappings_that_there_are_not(shape: tuple[int, ...], mapping: RankMapping, words: str) -> None:
    with pytest.raises(InputError, match=words):
        on_grid(shape, mapping)


def test_a_crossbar_has_no_grid() -> None:
    with pytest.raises(InputError, match="mesh or torus"):
        machine(network(4), mapping="grid")


@given(st.integers(1, 20), st.integers(1, 4), st.integers(0, 5), st.sampled_from(["nodes", "ranks"]))
def test_at_random(nodes: int, per_node: int, seed: int, of: str) -> None:
    """Every processor has one rank, fewer ranks are on the same nodes, and another seed gives another order."""
    placed = machine(network(nodes), processors_per_node=per_node, mapping=RandomMapping(seed, of))
    every = placed.node_of(placed.most_ranks)
    assert Counter(every.tolist()) == dict.fromkeys(range(nodes), per_node)
    half = placed.most_ranks // 2
    assert placed.node_of(half).tolist() == every[:half].tolist()
    if of == "nodes":
        assert (every.reshape(nodes, per_node) == every[::per_node, None]).all()
    if nodes >= 10:
        other = replace(placed, mapping=RandomMapping(seed + 1, of))
        assert other.node_of(placed.most_ranks).tolist() != every.tolist()


def test_random_ranks_are_spread_evenly() -> None:
    """Over many seeds rank 0 is on each of 8 nodes equally often: chi-square with 7 degrees of freedom, 99.9 %."""
    first = [machine(network(8), mapping=RandomMapping(seed)).node_of(1)[0] for seed in range(800)]
    counts = np.bincount(first, minlength=8)
    assert ((counts - 100) ** 2 / 100).sum() < 24.32


@given(
    st.sampled_from([*MAPPINGS, RandomMapping(2, "ranks"), "listed"]),
    SHAPES,
    st.integers(1, 4),
    st.integers(1, 6),
    st.integers(0, 1000),
)
def test_counts_of_ranks_on_nodes(
    mapping: RankMapping, shape: tuple[int, ...], per_node: int, shared_by: int, seed: int
) -> None:
    """Nodes in use, the most ranks on a node and on neighbouring ones, and the ranks that share the first one: counted."""
    listed = np.random.default_rng(seed).permutation(np.repeat(np.arange(math.prod(shape)), per_node))
    placed = on_grid(shape, tuple(listed.tolist()) if mapping == "listed" else mapping, per_node)
    ranks = np.arange(1, placed.most_ranks + 1)
    nodes = [placed.node_of(int(count)).tolist() for count in ranks]
    placement = placed.placement
    assert np.asarray(placement.nodes_used(ranks)).tolist() == [len({*node}) for node in nodes]
    assert np.asarray(placement.most_on_a_node(ranks)).tolist() == [max(Counter(node).values()) for node in nodes]
    shared = [max(Counter(one // shared_by for one in node).values()) for node in nodes]
    assert placement.most_on_nodes(ranks, shared_by).tolist() == shared
    together = [count for count, node in zip(ranks, nodes, strict=True) if len({*node}) == 1]
    if len(together) < len(ranks):
        assert placement.ranks_on_first_node == max(together)


def load(mapping: object, tmp_path: Path, listed: str = "") -> Machine:
    """The machine torus-cluster, of 64 nodes with 4 processors each, with this mapping."""
    (tmp_path / "ranks.csv").write_text(listed)
    path = tmp_path / "m.yaml"
    path.write_text(f"extends: torus-cluster\nname: m\nmapping: {mapping}\n")
    return load_machine(path)


def test_in_a_file(tmp_path: Path) -> None:
    assert load("random", tmp_path).node_of(5).tolist() == load("{kind: random, seed: 0}", tmp_path).node_of(5).tolist()
    assert load("{kind: random, of: ranks, seed: 3}", tmp_path).mapping == RandomMapping(3, "ranks")
    assert load("{kind: grid, shape: [1, 2, 2]}", tmp_path).most_ranks == 16
    assert load("grid", tmp_path).node_of(32)[::4].tolist() == [0, 1, 4, 5, 16, 17, 20, 21]


@pytest.mark.parametrize("listed", ["3\n1\n\n2\n", "# ranks\nrank,node\n1, 1\n0, 3\n2,2\n", "0,3\n2,2\n1,1"])
def test_a_file_of_ranks(tmp_path: Path, listed: str) -> None:
    assert load("ranks.csv", tmp_path, listed).mapping == (3, 1, 2)


@pytest.mark.parametrize(
    ("mapping", "listed", "words"),
    [
        ("ranks.csv", "", "no rank is placed"),
        ("ranks.csv", "3\n64\n", "0 to 63"),
        ("ranks.csv", "3\n" * 5, "5 ranks on node 3"),
        ("ranks.csv", "0,1\n0,2\n", "ranks.csv:2: a rank that is placed twice"),
        ("ranks.csv", "0,1\n2,2\n", "not placed"),
        ("ranks.csv", "0,1\n2\n", "ranks.csv:2"),
        ("ranks.csv", "0,1,2\n", "RANK,NODE"),
        ("ranks.csv", "one\n", "whole number"),
        ("ranks.csv", "-1\n", "whole number"),
        ("other.csv", "", "cannot be read"),
        ("ranks.yaml", "", "round_robin"),
        ("{kind: randon}", "", "random"),
        ("{kind: random, seed: -1}", "", "seed"),
        ("{kind: random, of: cores}", "", "ranks"),
        ("{kind: grid, shape: [9, 1, 1]}", "", "4x4x4"),
        ("{kind: grid, seed: 1}", "", "seed"),
        ("{seed: 1}", "", "kind"),
    ],
)
def test_bad_mappings_in_a_file(tmp_path: Path, mapping: str, listed: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        load(mapping, tmp_path, listed)
