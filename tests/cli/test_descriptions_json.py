"""``list --json`` and ``show --json``, and the errors that name what there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simcodesign.describe.yaml.files import available
from tests.command_line import command


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Any:
    return command(capfd)


def test_list_names_everything_that_is_shipped(run: Any) -> None:
    listed = run("list", "--json").json
    assert [one["name"] for one in listed["machines"]] == available("machines")
    assert [one["name"] for one in listed["workloads"]] == available("workloads")
    assert all(one["about"] for one in listed["machines"])


def test_constants_are_in_si_units_and_counts_are_those_of_the_file(run: Any, tmp_path: Path) -> None:
    """Against what is written in the file: 5 us, 2 GB/s, 8 GFLOP/s; a ring of 6 has 6 cables and a diameter of 3."""
    file = tmp_path / "ring.yaml"
    file.write_text(
        "simcodesign: 1\nname: ring\nabout: six\nnodes: 6\nprocessors_per_node: 2\n"
        "parameters: {k: {default: 3, about: a number}}\nproperties: {double: 2*k}\n"
        "processor: {rate: 8 GFLOP/s}\n"
        "network: {topology: {kind: torus, shape: [6]}, startup: 5 us, bandwidth: 2 GB/s}\n"
    )
    shown = run("show", file, "--json").json
    assert (shown["kind"], shown["name"], shown["about"]) == ("machine", "ring", "six")
    assert shown["constants"]["network.startup"] == {"value": 5e-6, "unit": "s"}
    assert shown["constants"]["network.per_byte"] == {"value": 0.5e-9, "unit": "s/B"}
    assert shown["constants"]["processor.rate"] == {"value": 8e9, "unit": "FLOP/s"}
    derived = shown["derived"]
    assert (derived["processors"], derived["links"], derived["diameter_hops"]) == (12, 12, 3)
    assert derived["peak_flop_per_s"] == 96e9
    assert derived["half_performance_bytes"] == pytest.approx(10_000, rel=1e-12)
    # Other nodes of a ring of 6 are 1, 1, 2, 2 and 3 hops away.
    assert derived["mean_distance_hops"] == pytest.approx(9 / 5, rel=1e-12)
    assert derived["properties"] == {"double": 6.0}
    assert shown["parameters"][0]["name"] == "k"
    assert shown["properties"] == {"double": "2*k"}


def test_a_workload_is_its_parameters_and_its_program(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "work.yaml"
    file.write_text(
        "simcodesign: 1\nname: work\nparameters: {n: {default: 7, unit: points, range: [1, 9]}}\n"
        "equations: {twice: 2*n}\nprogram:\n- phase: first\n  repeat: n\n  do:\n  - compute: {flops: twice}\n"
        "  - broadcast: {bytes: 8}\n"
    )
    shown = run("show", file, "--json").json
    (parameter,) = shown["parameters"]
    assert [parameter[key] for key in ("name", "default", "unit", "low", "high")] == ["n", 7, "points", 1, 9]
    assert shown["equations"] == {"twice": "2*n"}
    (block,) = shown["program"]
    assert (block["phase"], block["repeat"]) == ("first", "n")
    assert block["body"][0]["amount"] == "twice"
    assert block["body"][1]["name"] == "broadcast"


@pytest.mark.parametrize("kind", ["machines", "workloads"])
def test_everything_shipped_has_json(run: Any, kind: str) -> None:
    for name in available(kind):
        assert run("show", name, "--kind", kind[:-1], "--json").json["name"]


def test_json_and_latex_exclude_each_other(run: Any) -> None:
    assert run("show", "jacobi", "--json", "--write", "equations:-").status == 2


@pytest.mark.parametrize("arguments", [("forecast", "jacobi", "torus-clusters"), ("show", "torus-clusters")])
def test_an_unknown_name_is_answered_with_the_nearest_and_a_count(run: Any, arguments: tuple[str, ...]) -> None:
    refused = run(*arguments)
    assert refused.status == 2
    listed = refused.err.partition("? (allowed: ")[2].replace("\n", " ").split(", ")
    assert listed[0] == "torus-cluster"
    names, count = {one.strip() for one in listed[:-1]}, int(listed[-1].split()[1])
    every = {*available("machines"), *(available("workloads") if arguments[0] == "show" else ())}
    assert names <= every
    assert len(names) + count == len(every)


@pytest.mark.thorough
def test_the_list_is_searched(capfd: pytest.CaptureFixture[str]) -> None:
    run = command(capfd, "list")
    found = {one["name"]: one["demands"] for one in run("halo", "--json").json["workloads"]}
    assert {"jacobi", "milc"} <= found.keys()
    assert "exchange (halo2d)" in found["jacobi"]
    assert "burst" not in found
    assert [one["name"] for one in run("dragonfly", "1,056", "--json").json["machines"]] == ["dragonfly-1056"]
    assert run("no-such-word").status == 2
