"""Sweeps, their points and keys: equal for equal content, another for any change."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.yaml.files import available, load_machine, load_workload
from simcodesign.locality.profile import StackDistanceProfile
from simcodesign.studies.sweep.content_digest import canonical, digest
from simcodesign.studies.sweep.design.grid import CHANGE, PARAMETER, SEED
from simcodesign.studies.sweep.machine_source import MachineFile, source_of
from simcodesign.studies.sweep.sweep import Sweep, differences, lookup_in, same, sweep_of

WORKLOAD = """
simcodesign: 1
name: small
about: {about}
parameters:
  n: {{default: {n}}}
  mode: {{default: 1, choices: {{fast: 1, exact: 2}}}}
  size: {{default: 8, unit: B}}
  steps: {{default: 2, whole: true}}
equations:
  work: "{work}"
program:
  - repeat: steps
    do:
      - compute: {{flops: "work*mode"}}
      - exchange: {{pattern: halo1d, bytes: size}}
"""


def workload_file(folder: Path, about: str = "a test", n: str = "100", work: str = "n*P") -> Path:
    path = folder / f"w{len(list(folder.iterdir()))}.yaml"
    path.write_text(WORKLOAD.format(about=about, n=n, work=work), encoding="utf-8")
    return path


def machine_file(folder: Path, text: str) -> Path:
    path = folder / f"m{len(list(folder.iterdir()))}.yaml"
    path.write_text(f"simcodesign: 1\nextends: mesh-256\nname: mine\n{text}\n", encoding="utf-8")
    return path


def first_key(*arguments: object, over: list[str] | None = None, **options: object) -> str:
    made = sweep_of(*arguments, vary=over or ["P=2,4"], **{"simulate": True} | options)  # type: ignore[arg-type]
    return made.point(0).key


# Canonical content.


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        (np.float64(2.5), 2.5, True),
        (np.int64(3), 3, True),
        (0.0, -0.0, True),
        ([1, 2], (1, 2), True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        (frozenset({"a", "b"}), frozenset({"b", "a"}), True),
        (1, True, False),
        (1, "1", False),
        (None, 0, False),
        ([1, 2], [2, 1], False),
        ([[1], 2], [1, [2]], False),
        (2**60, 2**60 + 1, False),
        (1.0, np.nextafter(1.0, 2.0), False),
        (np.arange(3), np.arange(3), True),
        (np.arange(3), np.arange(3.0), False),
        (np.arange(4), np.arange(4).reshape(2, 2), False),
        (np.arange(4)[::2], np.array([0, 2]), True),
    ],
)
def test_content_is_equal_as_it_should_be(one: object, other: object, equal: bool) -> None:
    assert (canonical(one) == canonical(other)) is equal
    assert (digest(one) == digest(other)) is equal


def test_what_is_no_content_is_refused() -> None:
    with pytest.raises(InputError, match="no canonical content"):
        canonical(object())


@pytest.mark.parametrize("name", available("workloads"))
def test_shipped_workloads_have_a_content_that_does_not_depend_on_places(name: str) -> None:
    workload = load_workload(name)
    elsewhere = replace(workload, place=Place("other.yaml", 7), about="other", source="other")
    assert digest(workload) == digest(elsewhere) == digest(pickle.loads(pickle.dumps(workload)))
    assert digest(workload) != digest(replace(workload, name="other"))


def test_contents_of_shipped_files_differ() -> None:
    digests = [digest(load_workload(name)) for name in available("workloads")]
    digests += [digest(load_machine(name)) for name in available("machines")]
    assert len(set(digests)) == len(digests)


def test_graphs_and_profiles_have_contents() -> None:
    def machine(extra: tuple[int, int]) -> object:
        graph = nx.cycle_graph(8)
        graph.add_edge(*extra)
        return load_machine("crossbar-16").with_topology(build_topology("graph", 8, graph=graph))

    assert digest(machine((0, 4))) == digest(machine((0, 4)))
    assert digest(machine((0, 4))) != digest(machine((0, 3)))
    profile = StackDistanceProfile.from_counts([1, 5], [3, 4])
    assert digest(profile) == digest(StackDistanceProfile.from_counts([5, 1], [4, 3]))
    assert digest(profile) != digest(StackDistanceProfile.from_counts([1, 5], [3, 5]))


# Keys.


def test_files_of_equal_content_give_equal_keys(tmp_path: Path) -> None:
    one, other = workload_file(tmp_path), workload_file(tmp_path, about="what else is said")
    machine, same_machine = machine_file(tmp_path, "noise: 2 %"), machine_file(tmp_path, "noise: 0.02")
    assert (
        first_key(one, machine)
        == first_key(other, same_machine)
        == first_key(load_workload(one), load_machine(machine))
    )


@pytest.mark.parametrize("changes", [{"n": "101"}, {"work": "n*P+1"}])
def test_a_changed_workload_gives_another_key(tmp_path: Path, changes: dict[str, str]) -> None:
    assert first_key(workload_file(tmp_path), "mesh-256") != first_key(workload_file(tmp_path, **changes), "mesh-256")


@pytest.mark.parametrize("path", ["network.startup", "processor.rate", "network.per_byte", "disk.per_byte"])
def test_a_changed_constant_gives_another_key(path: str) -> None:
    machine = load_machine("mesh-256")
    changed = machine.with_constants({path: float(np.nextafter(machine.constants()[path], np.inf))})
    assert first_key("jacobi", machine) != first_key("jacobi", changed)


@pytest.mark.parametrize(
    "options",
    [
        {"seed": 1},
        {"effects": "none"},
        {"simulate": False},
        {"phases": ["sweep"]},
        {"settings": {"n": "5"}},
        {"settings": {"disk.spindles": "3"}},
        {"over": ["P=3,4"]},
        {"over": ["n=2,4"]},
        {"over": ["P=2,4", "seed=3"]},
        {"over": ["P=2,4", "disk.spindles=1"]},
    ],
)
def test_whatever_is_asked_differently_gives_another_key(options: dict[str, object]) -> None:
    assert first_key("jacobi", "mesh-256") != first_key("jacobi", "mesh-256", **options)


def test_another_preset_gives_another_key() -> None:
    test, small = (first_key("seismic", "power-challenge", preset=preset) for preset in ("test", "small"))
    assert test != small


def test_an_engine_and_what_a_forecast_does_not_know_give_the_same_key() -> None:
    assert first_key("jacobi", "mesh-256") == first_key("jacobi", "mesh-256", engine="simpy")
    forecast = first_key("jacobi", "mesh-256", simulate=False)
    assert forecast == first_key("jacobi", "mesh-256", simulate=False, effects="none")


def test_a_parameter_has_the_same_key_whether_it_is_set_or_varied() -> None:
    varied = sweep_of("jacobi", "mesh-256", ["n=500,600", "P=4,8"])
    fixed = sweep_of("jacobi", "mesh-256", ["P=4,8"], settings={"n": "600"})
    turned = sweep_of("jacobi", "mesh-256", ["P=8,4", "n=600"])
    assert varied.point(3).key == fixed.point(1).key == turned.point(0).key
    assert varied.point(3).parameters == {"n": 600.0, "P": 8.0}
    wide = sweep_of("jacobi", "mesh-256", ["seed=0:9:+1", "P=4,8"], settings={"n": "600"})
    assert wide.point(1).key == fixed.point(1).key
    assert wide.point(3).seed == 1


def test_all_keys_of_a_sweep_differ_and_do_not_depend_on_how_it_is_asked() -> None:
    made = sweep_of("jacobi", "mesh-256", ["n=1:20000:+1", "nodes=64,256"])
    keys = [point.key for point in made.points()]
    assert len(set(keys)) == made.count == 40_000
    again = pickle.loads(pickle.dumps(made))
    assert [again.point(number).key for number in (39_999, 0, 12_345)] == [keys[39_999], keys[0], keys[12_345]]


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_keys_are_equal_when_values_are(one: float, other: float) -> None:
    base = sweep_of("jacobi", "mesh-256", ["P=2"])
    keys = [replace(base, given={"n": value}).point(0).key for value in (one, other)]
    assert (keys[0] == keys[1]) is (one == other)


# What can be varied.


@pytest.mark.parametrize(
    ("name", "kind", "path"),
    [
        ("P", PARAMETER, "P"),
        ("n", PARAMETER, "n"),
        ("seed", SEED, "seed"),
        ("network.startup", PARAMETER, "network.startup"),
        ("network.bandwidth", PARAMETER, "network.per_byte"),
        ("disk.bandwidth", PARAMETER, "disk.per_byte"),
        ("network.link_bandwidth", PARAMETER, "network.link_per_byte"),
        ("nodes", CHANGE, "nodes"),
        ("network.topology.kind", CHANGE, "network.topology.kind"),
        ("disk.spindles", CHANGE, "disk.spindles"),
    ],
)
def test_what_an_axis_sets(name: str, kind: str, path: str) -> None:
    result = lookup_in(load_workload("jacobi"), source_of("mesh-256"))(name)
    assert (result.kind, result.path) == (kind, path)


def test_a_loggop_bandwidth_sets_its_gap_per_byte() -> None:
    names = [name for name in available("machines") if load_machine(name).network.message_model.name == "loggop"]
    machine = load_machine("mesh-256").with_constants(
        {"network.L": 1e-6, "network.o": 1e-6, "network.g": 1e-6, "network.G": 1e-9}
    )
    for one in (machine, *(load_machine(name) for name in names)):
        assert lookup_in(load_workload("jacobi"), MachineFile(one))("network.bandwidth").path == "network.G"


@pytest.mark.parametrize(
    ("over", "named"),
    [
        ("nn=1,2", "did you mean 'n'"),
        ("network.topology.knd=mesh,torus", "unknown key, got 'knd'"),
        ("network.L=1,2us", "has no such constant"),
        ("memory.latency=1,2ns", "has no such constant"),
        ("machine.none=1,2", "no machine parameter of this name"),
        ("disk.spindles=1.5,2.5", "whole number"),
    ],
)
def test_what_cannot_be_varied_is_named_at_once(over: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        sweep_of("jacobi", "mesh-256", [over])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"settings": {"P": "4"}}, "set and varied, got 'P'"),
        ({"seed": -1}, "seed"),
        ({"effects": "magic"}, "no such effect"),
        ({"engine": "steam"}, "engine"),
        ({"settings": {"n": "many"}}, "--set"),
    ],
)
def test_options_are_checked_before_any_work(options: Mapping[str, object], named: str) -> None:
    with pytest.raises(InputError, match=named):
        sweep_of("jacobi", "mesh-256", ["P=2,4"], **options)  # type: ignore[arg-type]


def test_a_machine_object_has_no_file_to_change() -> None:
    machine = load_machine("mesh-256")
    assert sweep_of("jacobi", machine, ["network.startup=1,2us"]).count == 2
    with pytest.raises(InputError, match="read from no file"):
        sweep_of("jacobi", machine, ["nodes=64,256"])


def test_points_say_what_is_set(tmp_path: Path) -> None:
    made = sweep_of(
        workload_file(tmp_path),
        "mesh-256",
        ["mode=fast,exact", "size=1,2KiB", "nodes=64,256"],
        settings={"n": "7"},
        seed=3,
    )
    values = [(point.parameters, point.changes, point.seed) for point in made.points()]
    expected = itertools.product((1.0, 2.0), (1024.0, 2048.0), (64.0, 256.0))
    assert values == [({"n": 7.0, "mode": mode, "size": size}, {"nodes": nodes}, 3) for mode, size, nodes in expected]
    assert made.row(made.point(0)).axes == {"mode": "fast", "size": 1024.0, "nodes": 64.0}
    assert [point.number for point in made.points([3, 1])] == [3, 1]


@pytest.mark.parametrize("nodes", [1, 60, 64, 256])
def test_a_mesh_whose_nodes_are_varied_keeps_its_dimensions(nodes: int) -> None:
    source = source_of("mesh-256")
    shape = source.changed({"nodes": float(nodes)}).network.topology.shape  # type: ignore[attr-defined]
    assert len(shape) == 2
    assert math.prod(shape) == nodes
    assert "of its dimensions" in sweep_of("jacobi", "mesh-256", ["nodes=64,256"]).design.note
    assert source.changed({"nodes": 8.0, "network.topology.shape": "[2, 4]"}).nodes == 8
    for kind in ("mesh", "torus"):
        assert source.changed({"nodes": 8.0, "network.topology.kind": kind}).nodes == 8
    with pytest.raises(InputError, match="shape has 6 hosts"):
        source.changed({"nodes": 8.0, "network.topology.shape": "[2, 3]"})


@pytest.mark.parametrize(
    ("over", "simulate", "noted"),
    [
        (["P=64,256"], True, True),
        (["P=64,256"], False, False),
        (["P=64", "mapping=linear,grid"], True, False),
        (["P=64,256", "nodes=256"], True, False),
        (["P=256"], True, False),
        (["size=1,2"], True, False),
    ],
)
def test_ranks_on_the_first_rows_are_noted(over: list[str], simulate: bool, noted: bool) -> None:
    design = sweep_of("burst", "mesh-256", over, simulate=simulate).design
    assert ("takes a part of 8x8" in design.note) == noted


def test_a_changed_machine_is_that_which_load_machine_gives() -> None:
    source = source_of("mesh-256", {"noise": "1 %"})
    changes = {"nodes": 64.0, "network.topology.kind": "torus"}
    assert source.changed(changes) == load_machine("mesh-256", {"noise": "1 %", **changes})
    assert source.changed({}) == load_machine("mesh-256", {"noise": "1 %"})


# What a store is told.


def test_the_meta_of_a_sweep_is_plain_and_the_same_after_pickling() -> None:
    made = sweep_of("jacobi", "mesh-256", ["network.topology.kind=mesh,torus", "n=1:1000:n=7:log"])
    assert same(made.meta(), pickle.loads(pickle.dumps(made)).meta())
    assert differences(made.meta(), made.meta()) == []
    (result,) = differences(
        made.meta(),
        sweep_of("jacobi", "torus-cluster", ["P=2"]).meta()
        | {key: value for key, value in made.meta().items() if key not in ("machine",)},
    )
    assert result == "machine: 'mesh-256' in the store, 'torus-cluster' now"


def test_a_sweep_has_as_many_points_as_its_design() -> None:
    made: Sweep = sweep_of("jacobi", "mesh-256", ["n=10:1000", "P=1:64:log"], sample=(16, "sobol"))
    assert made.count == made.design.count <= 16
    assert made.names == ("n", "P")
