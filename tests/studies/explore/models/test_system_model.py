"""What a machine is built of as variables of a search: brute force by the public functions finds the same answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.studies.explore.models.native_model import NativeModel
from simcodesign.studies.explore.models.structure import Structural
from simcodesign.studies.explore.models.system_model import SystemModel
from simcodesign.studies.explore.problem import RefusedPointsError
from simcodesign.studies.explore.solvers.solve import Solution
from simcodesign.studies.sweep.machine_source import source_of
from tests.command_line import command

TREE = """
simcodesign: 1
name: tree
nodes: 64
parameters: {thin: {default: 1, range: [1, 16]}}
processor: {rate: 10 GFLOP/s}
network:
  topology: {kind: fat_tree, arity: 4, taper: [1, 1, thin]}
  startup: 1 us
  bandwidth: 10 GB/s
  hop_latency: 100 ns
  sharing: max_min
components:
  node: {count: nodes, price: 5000, static_power: 300 W}
  port: {count: ports, price: 200, static_power: 5 W}
  cable: {count: cables, price: 100}
"""
SWAP = """
simcodesign: 1
name: swap
parameters: {m: {default: 1e6, unit: B}}
program:
  - repeat: 4
    do:
      - compute: {flops: "2e7"}
      - all_to_all: {bytes: "m/P"}
"""
STENCIL = """
simcodesign: 1
name: stencil-3d
parameters: {c: {default: 1e5, unit: B}}
program:
  - repeat: 4
    do:
      - compute: {flops: "2e7"}
      - exchange: {pattern: halo3d, bytes: "c"}
"""
TAPERS = (1, 2, 4, 8)
MAPPINGS = ("linear", "random", "round_robin")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    texts = {"tree": TREE, "swap": SWAP, "stencil": STENCIL}
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return {name: str(tmp_path / f"{name}.yaml") for name in texts}


@pytest.fixture
def explore(capfd: pytest.CaptureFixture[str]) -> Any:
    return command(capfd, "explore")


def slowdowns(files: dict[str, str], reading: Any, changes: dict[str, object]) -> float:
    """The worst slowdown of the two workloads, each alone, against the machine as described."""
    machine, plain = sc.Machine.load(files["tree"], changes), sc.Machine.load(files["tree"])
    return max(
        reading(files[name], machine, {"P": 64}).makespan_s / reading(files[name], plain, {"P": 64}).makespan_s
        for name in ("swap", "stencil")
    )


@pytest.mark.parametrize("simulated", [False, True])
def test_cheapest_network_agrees_with_brute_force(explore: Any, files: dict[str, str], simulated: bool) -> None:
    """The cheapest taper at which a pair of codes loses at most a tenth, by the forecast and by simulation."""
    reading = sc.simulate if simulated else sc.forecast
    found = {}
    for taper in TAPERS:
        changes: dict[str, object] = {"network.topology.taper": taper}
        slowdown = slowdowns(files, reading, changes)
        if slowdown <= 1.1:
            found[taper] = sc.Machine.load(files["tree"], changes).totals().price, slowdown
    best = min(found, key=lambda taper: float(np.asarray(found[taper][0])))
    assert 1 < best < max(TAPERS)  # otherwise nothing is decided here
    answer = explore(
        *(files["swap"], files["stencil"], files["tree"], "-P", "64"),
        *("--vary", "network.topology.taper=1,2,4,8", "--minimize", "price", "--subject-to", "slowdown <= 1.1"),
        *(["--simulate", "-j", "1"] if simulated else []),
        "--json",
    ).json
    point = answer["point"]["simulated"] if simulated else answer["point"]
    assert point["values"] == {"network.topology.taper": best}
    assert (point["metrics"]["price"], point["metrics"]["slowdown"]) == pytest.approx(found[best], rel=1e-12)


def test_mapping_by_simulation_agrees_with_brute_force(explore: Any, files: dict[str, str]) -> None:
    changes = [{"mapping": mapping, "network.topology.taper": taper} for mapping in MAPPINGS for taper in (1, 8)]
    times = [
        sc.simulate(files["stencil"], sc.Machine.load(files["tree"], dict(one)), {"P": 64}).makespan_s
        for one in changes
    ]
    best = changes[int(np.argmin(times))]
    answer = explore(
        *(files["stencil"], files["tree"], "-P", "64", "--minimize", "time", "--simulate", "-j", "1"),
        *("--vary", f"mapping={','.join(MAPPINGS)}", "--vary", "network.topology.taper=1,8"),
        "--json",
    ).json
    point = answer["point"]["simulated"]
    assert point["metrics"]["time"] == min(times)
    assert point["words"] == {"mapping": best["mapping"]}
    assert point["values"]["network.topology.taper"] == best["network.topology.taper"]


def test_parameters_that_shape_the_network(explore: Any, files: dict[str, str]) -> None:
    """A parameter of the machine in a formula of its topology is one of what is built."""
    answer = explore(files["tree"], "--vary", "machine.thin=1,2,4", "--minimize", "price", "--json").json
    price = sc.Machine.load(files["tree"], {"machine.thin": 4}).totals().price
    assert answer["point"]["values"] == {"machine.thin": 4}
    assert answer["point"]["metrics"]["price"] == price
    assert price == 64 * 5000 + (64 + 2 * (64 + 16)) * 200 + (64 + 64 + 16) * 100


def test_slowdown_against_a_named_machine(explore: Any, files: dict[str, str]) -> None:
    answer = explore(
        *(files["swap"], files["tree"], "-P", "16", "--against", "torus-cluster"),
        *("--vary", "network.topology.taper=2,4", "--minimize", "slowdown"),
        "--json",
    ).json
    here = sc.forecast(files["swap"], sc.Machine.load(files["tree"], {"network.topology.taper": 2}), {"P": 16})
    there = sc.forecast(files["swap"], "torus-cluster", {"P": 16})
    assert answer["point"]["metrics"]["slowdown"] == pytest.approx(here.makespan_s / there.makespan_s, rel=1e-12)


def test_constants_and_workload_vary_beside_the_structure(files: dict[str, str]) -> None:
    """Each point is the forecast of its machine; the slowdown takes the size of the problem, not the constant."""
    scenario = sc.Scenario.of(files["swap"], files["tree"], {"P": 64})
    source = source_of(files["tree"])
    structure = (Structural("network.topology.taper", "network.topology.taper"),)
    model = SystemModel((NativeModel(scenario),), source, structure, scenario.machine)
    tapers, sizes, startups = (
        grid.ravel() for grid in np.meshgrid([1.0, 4.0], [1e5, 1e6], [1e-6, 5e-6], indexing="ij")
    )
    found = model.evaluate({"network.topology.taper": tapers, "m": sizes, "network.startup": startups})
    for at, (taper, size, startup) in enumerate(zip(tapers, sizes, startups, strict=True)):
        machine = sc.Machine.load(files["tree"], {"network.topology.taper": taper})
        one = sc.forecast(files["swap"], machine, {"P": 64, "m": size, "network.startup": startup})
        plain = sc.forecast(files["swap"], files["tree"], {"P": 64, "m": size})
        assert np.asarray(found["time"])[at] == pytest.approx(one.makespan_s, rel=1e-12)
        assert np.asarray(found["slowdown"])[at] == pytest.approx(one.makespan_s / plain.makespan_s, rel=1e-12)


def test_networks_that_cannot_be_are_refused_alone(explore: Any, files: dict[str, str]) -> None:
    scenario = sc.Scenario.of(files["swap"], files["tree"], {"P": 64})
    structure = (Structural("network.topology.arity", "network.topology.arity"),)
    model = SystemModel((NativeModel(scenario),), source_of(files["tree"]), structure)
    with pytest.raises(RefusedPointsError) as caught:  # of three levels that the tapers are of, and of two
        model.evaluate({"network.topology.arity": np.array([4.0, 8.0])})
    assert caught.value.refused.tolist() == [False, True]
    answer = explore(files["swap"], files["tree"], "-P", "64", "--vary", "network.topology.arity=4,8", "--json").json
    assert answer["point"]["values"] == {"network.topology.arity": 4}


def test_each_workload_has_its_own_time(explore: Any, files: dict[str, str]) -> None:
    answer = explore(
        *(files["swap"], files["stencil"], files["tree"], "-P", "64", "--set", "c=2e5", "--vary", "m=1e5,1e6"),
        *("--minimize", "stencil_3d.time"),
        "--json",
    ).json
    metrics = answer["point"]["metrics"]
    assert metrics["stencil_3d.time"] == sc.forecast(files["stencil"], files["tree"], {"P": 64, "c": 2e5}).makespan_s
    assert metrics["time"] == max(metrics["stencil_3d.time"], metrics["swap.time"])


def test_values_twice_and_machines_twice_are_refused(explore: Any, files: dict[str, str]) -> None:
    arguments = (files["swap"], files["tree"], "-P", "64", "--minimize", "price")
    assert "each value once" in explore(*arguments, "--vary", "mapping=linear,linear").err
    assert "a second machine" in explore(*arguments, "torus-cluster", "--vary", "m=1:2").err


def test_a_machine_object_has_no_file(files: dict[str, str]) -> None:
    machine = sc.Machine.load(files["tree"])
    with pytest.raises(InputError, match="read from no file"):
        source_of(machine).changed({"mapping": "random"})


def test_in_python(files: dict[str, str]) -> None:
    best = sc.explore(
        [files["swap"], files["stencil"]],
        files["tree"],
        {"P": 64, "m": 2e6},
        vary={"network.topology.taper": TAPERS},
        minimize="price",
        subject_to="slowdown <= 1.2",
        against="torus-cluster",
    )
    assert isinstance(best, Solution)
    machine = sc.Machine.load(files["tree"], best.point.values)
    ratios = [
        sc.forecast(files[name], machine, given).makespan_s
        / sc.forecast(files[name], "torus-cluster", given).makespan_s
        for name, given in (("swap", {"P": 64, "m": 2e6}), ("stencil", {"P": 64}))
    ]
    assert best.point.metrics["slowdown"] == pytest.approx(max(ratios), rel=1e-12)
    assert best.point.metrics["price"] == machine.totals().price


def test_nodes_of_a_machine_whose_price_counts_cables(explore: Any, files: dict[str, str]) -> None:
    """The tree is built anew for each number of nodes: 16 hosts have two levels, and as many cables on each."""
    flat = ("--set", "network.topology.taper=1", "--minimize", "price")
    point = explore(files["tree"], "--vary", "nodes=16,64", *flat, "--json").json["point"]
    assert point["values"] == {"nodes": 16}
    assert point["metrics"]["price"] == 16 * 5000 + (16 + 2 * 16) * 200 + 2 * 16 * 100
    assert point["metrics"]["processors"] == 16


def test_from_a_file(explore: Any, files: dict[str, str], tmp_path: Path) -> None:
    """Several workloads stand in a list; it is said that they run apart, against what, and that forecasts have no
    mapping."""
    (tmp_path / "study.yaml").write_text(
        "simcodesign: 1\nworkload: [swap.yaml, stencil.yaml]\nmachine: tree.yaml\nagainst: torus-cluster\n"
        "set: {P: 64}\nvary: {network.topology.taper: '1, 2', mapping: [linear, random]}\n"
        "minimize: [price]\nsubject_to: [slowdown <= 100]\n"
    )
    ran = explore("--file", tmp_path / "study.yaml")
    assert "swap and stencil-3d run apart, each alone" in ran.err
    assert "slowdown is against torus-cluster as it is" in ran.err
    assert "a forecast hardly depends on mapping" in ran.err
    found = explore("--file", tmp_path / "study.yaml", "--json").json["point"]
    assert found["values"]["network.topology.taper"] == 2
    there = [sc.forecast(files[name], "torus-cluster", {"P": 64}).makespan_s for name in ("swap", "stencil")]
    machine = sc.Machine.load(files["tree"], {"network.topology.taper": 2})
    here = [sc.forecast(files[name], machine, {"P": 64}).makespan_s for name in ("swap", "stencil")]
    worst = max(one / other for one, other in zip(here, there, strict=True))
    assert found["metrics"]["slowdown"] == pytest.approx(worst, rel=1e-12)


def test_ranks_follow_the_nodes(explore: Any, files: dict[str, str]) -> None:
    """More ranks than the machine as described has room for, on the machines that have it."""
    arguments = (files["swap"], files["tree"], "--set", "network.topology.taper=1", "--vary", "nodes=16,64,256")
    found = explore(*arguments, "--vary", "P=16,256", "--maximize", "P", "--json").json["point"]
    assert found["values"] == {"nodes": 256, "P": 256}
