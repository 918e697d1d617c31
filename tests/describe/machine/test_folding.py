"""Jobs that are folded into a torus: by hand, and neighbours that stay neighbours whatever the job."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.folding import FoldedMapping, folded_line
from simcodesign.describe.topology.build import build_topology
from tests.builders import machine, network, network_with

#: As in Tofu D: b is a ring of three, X and Z are rings across the machine.
SHAPE, WRAP = [24, 23, 24, 2, 3, 2], [True, False, True, False, True, False]
PAIRS = [["X", "a"], ["Y", "b"], ["Z", "c"]]


def folded(mapping: FoldedMapping, shape: list[int] = SHAPE, per_node: int = 1, kind: str = "torus") -> Machine:
    base = machine(network(math.prod(shape)), processors_per_node=per_node)
    topology = build_topology(kind, math.prod(shape), shape=shape)
    return replace(base, network=network_with(base.network, topology=topology), mapping=mapping)


def described(**mapping: object) -> Machine:
    """A machine of the keys of a file."""
    topology = {"kind": "torus", "shape": SHAPE, "wrap": WRAP}
    return sc.Machine.load(
        {
            "name": "tofu",
            "nodes": math.prod(SHAPE),
            "processor": {"rate": "1 GFLOP/s"},
            "network": {"topology": topology, "startup": "1 us", "bandwidth": "1 GB/s"},
            "mapping": {"kind": "folded", **mapping},
        }
    )


def coordinates(placed: Machine, ranks: int) -> list[tuple[int, ...]]:
    """X, Y, Z, a, b, c of every rank."""
    shape = placed.network.topology.shape  # type: ignore[attr-defined] # a grid
    return [tuple(int(one) for one in np.unravel_index(node, shape)) for node in placed.node_of(ranks)]


def test_a_job_of_eight_nodes_is_inside_a_unit() -> None:
    """Rank 1 is the next along Y, hence along b; 2 along Z and c; 4 along X and a."""
    assert coordinates(described(job=[2, 2, 2]), 8) == [
        (0, 0, 0, a, b, c) for a in (0, 1) for c in (0, 1) for b in (0, 1)
    ]


def test_each_line_of_four_is_a_fold_of_two_by_two() -> None:
    """Up the first row, back down the second: (long, short) of the four nodes of a line."""
    fold = [(0, 0), (1, 0), (1, 1), (0, 1)]
    expected = [
        (fold[x][0], fold[y][0], fold[z][0], fold[x][1], fold[y][1], fold[z][1])
        for x in range(4)
        for z in range(4)
        for y in range(4)
    ]
    assert coordinates(described(job=[4, 4, 4], axes=PAIRS, order="YZX"), 64) == expected
    assert coordinates(described(job=[4, 4, 4]), 64) == expected


def test_a_line_of_eight_is_a_fold_of_four_by_two() -> None:
    """Ranks along Y first: the line of the first eight is in Y and b, the next one is one step along Z."""
    placed = coordinates(described(job=[8, 8, 8]), 512)
    up_and_back = [(0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (2, 1), (1, 1), (0, 1)]
    assert placed[:8] == [(0, y, 0, 0, b, 0) for y, b in up_and_back]
    assert placed[8:16] == [(0, y, 1, 0, b, 0) for y, b in up_and_back]
    assert placed[64] == (1, 0, 0, 0, 0, 0)
    assert placed[511] == (0, 0, 0, 1, 1, 1)


def test_an_odd_line_leaves_a_node_of_its_second_row_out() -> None:
    placed = coordinates(described(job=[5], axes=[["Y", "b"]]), 5)
    assert placed == [(0, y, 0, 0, b, 0) for y, b in [(0, 0), (1, 0), (2, 0), (2, 1), (1, 1)]]


def test_the_order_says_which_axis_is_fastest() -> None:
    placed = coordinates(described(job=[2, 4, 2], order="XZY"), 16)
    assert placed[:5] == [
        (0, 0, 0, 0, 0, 0),
        (0, 0, 0, 1, 0, 0),
        (0, 0, 0, 0, 0, 1),
        (0, 0, 0, 1, 0, 1),
        (0, 1, 0, 0, 0, 0),
    ]


def test_jobs_of_two_axes_lie_over_three_dimensions_each() -> None:
    """64 = 8 of Y x 2 of a x 4 of X, and 2 of c x 16 of Z x 2 of b; of 32 x 256 the longer axis has two long dimensions."""
    square = np.array(coordinates(described(job=[64, 64]), 4096))
    assert (square.max(axis=0) + 1).tolist() == [4, 8, 16, 2, 2, 2]
    first = [(0, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 1), (0, 0, 1, 0, 0, 1), (0, 0, 1, 0, 0, 0), (0, 0, 2, 0, 0, 0)]
    assert [tuple(one) for one in square[:5].tolist()] == first
    long = np.array(coordinates(described(job=[32, 256]), 8192))
    assert (long.max(axis=0) + 1).tolist() == [8, 16, 8, 2, 2, 2]


def test_a_node_has_as_many_ranks_as_processors() -> None:
    placed = folded(FoldedMapping((2, 2)), [2, 2, 2, 2, 3, 2], 3)
    assert placed.most_ranks == 12
    assert placed.node_of(7).tolist() == [0, 0, 0, *[placed.node_of(12)[3]] * 3, placed.node_of(12)[6]]
    assert placed.placement.nodes_used(7) == 3


LETTERS = st.permutations("XYZabc")
#: By the order of the letters.
SMALL = [5, 4, 6, 2, 3, 2]


def fits(nodes: int, names: tuple[str, ...]) -> bool:
    """Whether a line of so many nodes has room: two rows of short dimensions, but all of them where it has no long one."""
    extents = {name: extent for name, extent in zip("XYZabc", SMALL, strict=True) if name in names}
    has_long = any(name.isupper() for name in names)
    return nodes <= math.prod(min(2, n) if has_long and name.islower() else n for name, n in extents.items())


@given(st.lists(st.integers(1, 9), min_size=1, max_size=3), LETTERS, st.data())
def test_lines_of_neighbours(job: list[int], letters: list[str], data: st.DataObject) -> None:
    """Whatever job, order and axes fit: no node is taken twice, and neighbours along an axis are one hop apart."""
    cuts = sorted(data.draw(st.lists(st.integers(1, 5), min_size=len(job) - 1, max_size=len(job) - 1, unique=True)))
    axes = tuple(tuple(letters[low:high]) for low, high in zip([0, *cuts], [*cuts, 6], strict=True))
    order = "".join(data.draw(st.permutations("XYZ"[: len(job)])))
    mapping = FoldedMapping(tuple(job), order, axes)
    if not all(fits(nodes, names) for nodes, names in zip(job, axes, strict=True)):
        with pytest.raises(InputError, match="too small"):
            folded(mapping, SMALL, kind="mesh")
        return
    placed = folded(mapping, SMALL, kind="mesh")
    nodes = placed.node_of(math.prod(job))
    assert len({*nodes.tolist()}) == math.prod(job)
    extents = [job["XYZ".index(axis)] for axis in order]
    grid = nodes.reshape(extents, order="F")
    for axis in range(len(job)):
        ends = (np.delete(grid, end, axis).ravel() for end in (-1, 0))
        assert {*placed.network.topology.hops(*ends).tolist()} <= {1}


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_a_line_fills_its_box(extents: list[int]) -> None:
    places = [*zip(*(one.tolist() for one in folded_line(math.prod(extents), extents)), strict=True)]
    assert len({*places}) == math.prod(extents)
    assert all(sum(abs(a - b) for a, b in zip(*two, strict=True)) == 1 for two in itertools.pairwise(places))


@pytest.mark.parametrize("even", [2, 4, 6, 8])
def test_an_even_line_closes(even: int) -> None:
    """Its last node is a neighbour of its first one, so that a ring of ranks is one of nodes."""
    nodes: NDArray[np.int64] = described(job=[even], axes=[["X", "a"]]).node_of(even)
    assert int(described(job=[1]).network.topology.hops(nodes[-1], nodes[0])) == 1


@pytest.mark.parametrize(
    ("mapping", "place", "words"),
    [
        ({"job": [4, 4], "axes": PAIRS}, "axes", "2 lists"),
        ({"job": [4, 4, 4], "axes": PAIRS[:2]}, "axes", "3 lists"),
        ({"job": [50, 2, 2]}, "job", "at most 48 nodes"),
        ({"job": [4, 4, 4], "axes": [["X", "a"], ["Y", "b"], ["Q"]]}, "axes", "X, Y, Z, a, b, c"),
        ({"job": [4, 4], "axes": [["X", "a"], ["Y", "a"]]}, "axes", "duplicate dimension"),
        ({"job": [4, 4], "axes": [["X"], []]}, "axes", "without a dimension"),
        ({"job": [4, 4], "order": "YZX"}, "order", "X, Y once"),
        ({"job": [4, 4, 4], "order": "XXY"}, "order", "X, Y, Z once"),
        ({"job": [2, 2, 2, 2]}, "job", "1 to 3 axes"),
        ({"job": []}, "job", "1 to 3 axes"),
        ({"job": [0, 2]}, "job[0]", "out of range"),
        ({}, "", "'job'"),
    ],
)
def test_jobs_that_cannot_be_folded(mapping: dict[str, Any], place: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        described(**mapping)
    assert words in str(caught.value)
    assert caught.value.place.path == (f"mapping.{place}" if place else "mapping")


@pytest.mark.parametrize(
    ("shape", "kind", "words"),
    [([4, 4, 4], "torus", "has only X, Y, Z"), ([2, 2, 2, 2, 3, 2], "torus", "too small")],
)
def test_networks_that_hold_no_such_job(shape: list[int], kind: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        folded(FoldedMapping((8, 8, 8)), shape, kind=kind)


def test_networks_without_dimensions() -> None:
    with pytest.raises(InputError, match="no dimensions"):
        machine(network(16, "crossbar"), mapping=FoldedMapping((2, 2, 2)))


@pytest.mark.parametrize(
    "changes", [{"nodes": 64}, {"network.topology.shape": [4, 4, 4]}, {"network.topology.shape": SHAPE[:5]}]
)
def test_another_network_is_refused_with_a_pointer_to_the_job(changes: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"mapping\.job"):
        sc.Machine.load("fugaku", changes)


def test_nodes_as_many_as_ranks_have_no_folded_job() -> None:
    with pytest.raises(InputError, match="certain nodes"):
        sc.Machine.load("fugaku", {"nodes": "P"})


@pytest.mark.parametrize(
    ("job", "nodes"), [([2, 2, 2], 8), ([4, 4, 4], 64), ([8, 8, 8], 512), ([64, 64], 4096), ([32, 256], 8192)]
)
def test_jobs_of_fugaku_are_one_setting(job: list[int], nodes: int) -> None:
    assert sc.Machine.load("fugaku", {"mapping.job": job}).most_ranks == nodes
