"""Closed forms of the busiest link against routes that are counted one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.queueing.busiest_links import busiest_link
from simcodesign.analytic.queueing.uniform_traffic import saturation_per_s, uniform_traffic
from simcodesign.core.errors import InputError
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.topology.routing import routes_through
from tests import examples
from tests.builders import network_of

#: Routes of so many pairs are counted.
MOST_HOSTS = 700


def counted(topology: Topology) -> float:
    """Messages over the busiest link when every host sends one, to any other alike."""
    hosts = topology.node_count
    _, loads = topology.traffic_loads(1 - np.eye(hosts))
    return float(loads.max()) / (hosts - 1)


def shifted(topology: Topology, by: Callable[[np.ndarray], np.ndarray]) -> float:
    """The same when they send to the hosts that ``by`` says."""
    host = np.arange(topology.node_count)
    return float(topology.link_loads(host, by(host), 1.0)[1].max(initial=0.0))


def next_group(hosts_of_group: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda host: (host + hosts_of_group) % len(host)


@st.composite
def dragonflies(draw: st.DrawFn) -> tuple[Topology, int]:
    p, a, h = draw(st.integers(1, 4)), draw(st.integers(1, 6)), draw(st.integers(1, 4))
    groups = draw(st.integers(a * h // 2 + 2, a * h + 1)) if a * h > 1 else 2
    arrangement = draw(st.sampled_from(["consecutive", "palmtree"]))
    sizes = {"terminals": p, "routers": a, "global_links": h}
    return build_topology("dragonfly", p * a * groups, **sizes, arrangement=arrangement), p * a


@st.composite
def dragonflies_plus(draw: st.DrawFn) -> tuple[Topology, int]:
    spines, h, leaves = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    groups = draw(st.integers(2, spines * h + 1))
    p = math.lcm(spines, spines * h // (groups - 1)) * draw(st.integers(1, 2))
    arrangement = draw(st.sampled_from(["consecutive", "palmtree"]))
    sizes = {"terminals": p, "leaves": leaves, "spines": spines, "global_links": h}
    return build_topology("dragonfly_plus", p * leaves * groups, **sizes, arrangement=arrangement), p * leaves


@pytest.mark.thorough
@settings(max_examples=examples(60), deadline=None)
@given(st.one_of(dragonflies(), dragonflies_plus()).filter(lambda drawn: drawn[0].node_count <= MOST_HOSTS))
def test_groups(drawn: tuple[Topology, int]) -> None:
    topology, hosts_of_group = drawn
    law = busiest_link(topology)
    assert law is not None
    assert law.uniform == pytest.approx(counted(topology), rel=1e-12)
    assert law.adverse == shifted(topology, next_group(hosts_of_group))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(1, 6), st.data())
def test_hyperx(shape: list[int], p: int, data: st.DataObject) -> None:
    routers = math.prod(shape)
    cables = [data.draw(st.integers(1, 4)) for _ in shape]
    topology = build_topology("hyperx", p * routers, shape, cables=cables)
    law = busiest_link(topology)
    if routers == 1:
        assert law is None
    elif topology.node_count <= MOST_HOSTS:
        assert law is not None
        assert law.uniform == pytest.approx(counted(topology), rel=1e-12)
        grid = np.arange(topology.node_count).reshape(*shape, p)
        each = [shifted(topology, lambda _, axis=axis: np.roll(grid, -1, axis).ravel()) for axis in range(len(shape))]
        assert law.adverse == max(each)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.integers(1, 7), st.booleans()), min_size=1, max_size=4))
def test_grids(dims: list[tuple[int, bool]]) -> None:
    shape, wrap = zip(*dims, strict=True)
    hosts = math.prod(shape)
    topology = build_topology("torus", hosts, shape, wrap=wrap)
    law = busiest_link(topology)
    if hosts == 1:
        assert law is None
    elif hosts <= MOST_HOSTS:
        assert law is not None
        assert law.uniform == pytest.approx(counted(topology), rel=1e-12)
        grid = np.arange(hosts).reshape(shape)
        loads = []
        for axis, (extent, closed) in enumerate(dims):
            mirrored = grid.take(range(extent - 1, -1, -1), axis).ravel()
            tornado = np.roll(grid, -((extent - 1) // 2), axis).ravel()
            loads.append(shifted(topology, lambda _, to=tornado if closed and extent > 2 else mirrored: to))
        assert law.adverse == max(loads)


@pytest.mark.parametrize("dimension", [2, 3, 4, 6, 7])
def test_hypercubes(dimension: int) -> None:
    topology = build_topology("hypercube", 2**dimension)
    law = busiest_link(topology)
    assert law is not None
    assert law.uniform == pytest.approx(counted(topology), rel=1e-12)
    reverse = np.array([int(f"{host:0{dimension}b}"[::-1], 2) for host in range(2**dimension)])
    assert law.adverse == shifted(topology, lambda _: reverse)


@pytest.mark.parametrize(
    ("q", "p"), [(4, 2), (4, 6), (5, 2), (5, 3), (5, 4), (7, 2), (8, 4), (9, 1), (9, 2), (9, 3), (13, 1)]
)
def test_slim_fly(q: int, p: int) -> None:
    topology = build_topology("slim_fly", 2 * q * q * p, q=q)
    law = busiest_link(topology)
    assert law is not None
    assert law.uniform == pytest.approx(counted(topology), rel=1e-12)
    # Group 0 of the first set, to the routers of the second one with which it is joined: y = 0 x + y.
    host = np.arange(topology.node_count).reshape(q, 2, q, p)
    assert topology.link_loads(host[0, 0].ravel(), host[0, 1].ravel(), 1.0)[1].max() == law.adverse == p


def test_no_law() -> None:
    for topology in (
        build_topology("torus", 1),
        build_topology("tree", 16),
        build_topology("dragonfly", 16, terminals=2, routers=4, global_links=2),  # cables that are chosen by the hops
        build_topology("dragonfly", 8, terminals=2, routers=4, global_links=2),
        build_topology("dragonfly_plus", 9, terminals=3, leaves=1, spines=2, global_links=1),
        build_topology("slim_fly", 98, q=7),
    ):
        assert busiest_link(topology) is None


@pytest.mark.parametrize(
    ("kind", "hosts", "options"),
    [
        ("dragonfly", 72, {"terminals": 2, "routers": 4, "global_links": 2}),
        ("hyperx", 64, {"shape": (4, 4)}),
        ("slim_fly", 200, {"q": 5}),
    ],
)
def test_saturation_is_that_of_all_routes(kind: str, hosts: int, options: dict[str, object]) -> None:
    network = network_of(build_topology(kind, hosts, **options), per_byte_s=1e-9)  # type: ignore[arg-type] # options by name
    highest = uniform_traffic(network.topology).highest_load
    assert saturation_per_s(network, 1000.0, interfaces=False) == pytest.approx(1e6 / highest, rel=1e-12)


def test_saturation_of_networks_whose_routes_are_too_many_to_count() -> None:
    """A dragonfly of 1,056 hosts with p = h = a / 2: the links of hosts, and within groups, are loaded about alike."""
    topology = build_topology("dragonfly", 1056, terminals=4, routers=8, global_links=4)
    with pytest.raises(InputError, match="routes must be counted"):
        uniform_traffic(topology)
    network = network_of(topology, per_byte_s=1e-9)
    assert saturation_per_s(network, 1000.0, interfaces=False) == pytest.approx(1e6, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "hosts", "options"),
    [
        ("torus", 30, {"shape": [5, 6]}),
        ("torus", 64, {"shape": [4, 4, 4]}),
        ("mesh", 12, {"shape": [3, 4]}),
        ("hypercube", 16, {}),
        ("hyperx", 64, {"shape": [4, 4]}),
        ("slim_fly", 100, {"q": 5}),
    ],
)
def test_through_random_hosts_every_pattern_loads_links_alike(kind: str, hosts: int, options: dict[str, Any]) -> None:
    """Counted over all hosts in the middle, for random patterns and a shift."""
    topology, draw = build_topology(kind, hosts, **options), np.random.default_rng(4)
    source = np.arange(hosts)
    for target in (np.roll(source, 1), draw.permutation(hosts), draw.permutation(hosts)):
        passed = np.zeros(topology.link_count)
        for middle in range(hosts):
            routes = routes_through(topology, source, target, np.full(hosts, middle))
            passed += np.bincount(routes.link, minlength=topology.link_count) / hosts
        law = busiest_link(topology)
        assert law is not None
        assert law.valiant is not None
        resting = np.count_nonzero(source == target)  # who sends to himself sends nothing
        assert passed.max() <= law.valiant * (1 + 1e-12)
        assert resting or passed.max() == pytest.approx(law.valiant, rel=1e-12)
