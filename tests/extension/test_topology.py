"""A topology of another package: registered by its own module, or found by an entry point of what is installed."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from simcodesign import Machine, Workload, forecast, simulate
from simcodesign.core.errors import InputError
from simcodesign.core.registry import Registry
from simcodesign.describe.topology.base import TOPOLOGIES, register_topology
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.topology.one_hop import BusTopology
from tests import ROOT
from tests.extension.installation import install, run
from tests.extension.stride_ring import StrideRing

MACHINE = """
simcodesign: 1
name: ring-cluster
nodes: 7
processor: {rate: 1 GFLOP/s}
network:
  topology: {kind: stride_ring, stride: 3}
  sends: blocking
  startup: 10 us
  bandwidth: 100 MB/s
  hop_latency: 1 us
  distance: mean
"""
WORKLOAD = """
simcodesign: 1
name: messages
parameters: {P: {default: 7}}
program:
  - broadcast: {bytes: 1000, algorithm: linear}
"""


@pytest.fixture
def registered() -> Iterator[None]:
    """The topology, registered for one test only."""
    TOPOLOGIES.add("stride_ring", StrideRing)
    yield
    TOPOLOGIES.remove("stride_ring")


# Importing the module registered it; other tests see the shipped kinds alone.
TOPOLOGIES.remove("stride_ring")


def files(folder: Path, machine: str = MACHINE) -> tuple[Path, Path]:
    (folder / "machine.yaml").write_text(machine)
    (folder / "workload.yaml").write_text(WORKLOAD)
    return folder / "workload.yaml", folder / "machine.yaml"


@pytest.mark.usefixtures("registered")
def test_routes_are_shortest_paths() -> None:
    topology = build_topology("stride_ring", 7, stride=3)
    graph = nx.DiGraph((host, (host + 3) % 7) for host in range(7))
    assert set(topology.to_networkx().edges) == set(graph.edges)
    ends = {link: (a, b) for a, b, link in topology.to_networkx().edges(data="link")}
    for source, target in itertools.permutations(range(7), 2):
        path = nx.shortest_path(graph, source, target)
        assert [ends[link] for link in topology.route(source, target).tolist()] == [*itertools.pairwise(path)]
        assert topology.hops(source, target) == len(path) - 1
    assert topology.mean_hops() == nx.average_shortest_path_length(graph)


@pytest.mark.usefixtures("registered")
def test_both_readings_take_it_from_a_machine_file(tmp_path: Path) -> None:
    workload, machine = (load(path) for load, path in zip((Workload.load, Machine.load), files(tmp_path), strict=True))
    lengths = nx.single_source_shortest_path_length(nx.DiGraph((i, (i + 3) % 7) for i in range(7)), 0)
    message_s = 10e-6 + 1000 / 100e6
    assert forecast(workload, machine).makespan_s == pytest.approx(6 * (message_s + 3.5e-6), rel=1e-12)
    hops_s = sum(lengths.values()) * 1e-6  # the root sends to every other host in turn
    assert simulate(workload, machine, effects=["hops"]).makespan_s == pytest.approx(6 * message_s + hops_s, rel=1e-12)
    contended = simulate(workload, machine, effects=["hops", "links"])
    assert contended.makespan_s >= 6 * message_s + hops_s - 1e-12


@pytest.mark.usefixtures("registered")
def test_links_are_shared(tmp_path: Path) -> None:
    """Every rank sends to every other: each link carries 1 + 2 + ... + 6 messages in turn."""
    _, machine = files(tmp_path)
    path = tmp_path / "exchange.yaml"
    path.write_text(WORKLOAD.replace("broadcast", "all_to_all"))
    topology = Machine.load(machine).network.topology
    links, loads = topology.traffic_loads(1000 * (1 - np.eye(7)))
    assert (links.tolist(), loads.tolist()) == ([*range(7)], [21_000.0] * 7)
    result = simulate(Workload.load(path), Machine.load(machine), effects=["hops", "links"])
    assert result.makespan_s >= 21_000 / 100e6
    assert result.makespan_s > simulate(Workload.load(path), Machine.load(machine), effects=["hops"]).makespan_s


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("stride: 3", "stride: 14", "topology: stride does not reach every host, got 14"),
        ("stride: 3", "stride: x", "topology.stride: must be a number"),
        ("stride: 3", "strid: 3", "topology.strid: unknown key.*did you mean 'stride'"),
        ("stride: 3", "arity: 3", "kind stride_ring has no option arity.*stride"),
        ("stride_ring", "stride_rng", "kind: not one of the choices.*did you mean 'stride_ring'"),
    ],
)
def test_bad_machine_files(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Machine.load(files(tmp_path, MACHINE.replace(old, new))[1])


def test_unregistered_it_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"kind.*'stride_ring'.*torus"):
        Machine.load(files(tmp_path, MACHINE.replace(", stride: 3", ""))[1])


def test_a_kind_is_registered_once() -> None:
    register_topology(BusTopology)
    with pytest.raises(InputError, match="registered already, got 'bus'"):
        TOPOLOGIES.add("bus", StrideRing)


@pytest.mark.thorough
def test_an_entry_point_of_an_installed_package_is_found(tmp_path: Path) -> None:
    shutil.copy(Path(__file__).with_name("stride_ring.py"), tmp_path / "ring_network.py")
    install(tmp_path, "ring_network", "[simcodesign.topologies]\nring = ring_network:StrideRing\n")
    workload, machine = map(str, files(tmp_path))
    shown = run(tmp_path, "show", machine)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert [line.split() for line in shown.stdout.splitlines() if "stride" in line] == [
        ["kind", "stride_ring"],
        ["stride", "3"],
    ]
    simulated = run(tmp_path, "simulate", workload, machine, "--effects", "hops,links")
    assert (simulated.returncode, simulated.stderr) == (0, "")


@pytest.mark.thorough
def test_an_entry_point_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    install(tmp_path, "broken_network", "[simcodesign.topologies]\nbroken = no_such_module:Ring\n")
    shown = run(tmp_path, "show", "torus-cluster")
    assert shown.returncode == 2
    assert "'broken'" in shown.stderr
    assert "broken_network" in shown.stderr
    assert "Traceback" not in shown.stderr


def test_a_registry_keeps_the_order_and_takes_back() -> None:
    registry: Registry[str, int] = Registry("number", "simcodesign.core.registry", "simcodesign.no_such_group")
    registry.add("two", 2)
    registry.register("one")(1)
    assert dict(registry) == {"two": 2, "one": 1}
    registry.remove("two")
    assert [*registry] == ["one"]


def test_the_documentation_names_every_shipped_kind_and_option() -> None:
    text = "".join(
        (ROOT / "docs" / page).read_text() for page in ("what-is-modelled.md", "describe-machines.md", "networks.md")
    )
    assert all(f"`{kind}`" in text for kind in TOPOLOGIES)
    assert all(f"`{option.name}`" in text for kind in TOPOLOGIES.values() for option in kind.options)
