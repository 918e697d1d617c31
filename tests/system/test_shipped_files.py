"""Every shipped description loads, says where it comes from, runs both ways and stays within its bounds."""

from __future__ import annotations

import tomllib
import zipfile
from pathlib import Path

import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.comparison.compare import compare
from simcodesign.describe.yaml.files import available, load_machine, load_workload, shipped
from tests import ROOT, shipped_pairs
from tests.oracles.laws import check_laws
from tests.shipped_pairs import (
    CUBES,
    formats_of,
    kind_of_machine,
    kind_of_workload,
    needs_parts,
    pair_parameters,
    pairs,
    pairs_of_kinds,
    resources_of,
)

MACHINES, WORKLOADS = available("topologies"), available("workloads")


def test_there_are_some() -> None:
    assert {"power-challenge", "power-challenge-mesh", "power-challenge-tree", "power-challenge-hypercube"} <= {
        *MACHINES
    }
    assert "seismic" in WORKLOADS


@pytest.mark.parametrize("folder", ["topologies", "workloads"])
def test_files_are_named_after_what_they_describe(folder: str) -> None:
    load = load_machine if folder == "topologies" else load_workload
    for path in shipped(folder):
        described = load(path)
        assert described.name == path.stem
        assert described.about
        assert described.source


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_preset_is_forecast(name: str) -> None:
    workload = load_workload(name)
    with_formats = "selene" if formats_of(name) else "frontier-cabinet"
    with_parts = with_formats if needs_parts(name) else "torus-cluster"
    machine = load_machine("keeneland" if resources_of(name) else with_parts)
    for preset in [None, *workload.presets]:
        result = forecast(workload, machine, {"P": 64 if name in CUBES else 16}, preset=preset)
        assert result.makespan_s > 0


@pytest.mark.parametrize("name", WORKLOADS)
def test_parameters_say_what_they_are(name: str) -> None:
    for parameter in load_workload(name).parameters.values():
        assert parameter.low > float("-inf"), parameter.name
        assert parameter.high < float("inf"), parameter.name


def test_pairs_that_are_tried_are_of_all_kinds() -> None:
    """Every workload with every kind of machine, and every machine with every kind of workload, that fit."""
    for kinds in (lambda of, on: (of, kind_of_machine(on)), lambda of, on: (kind_of_workload(of), on)):
        assert {kinds(*pair) for pair in pairs_of_kinds()} == {kinds(*pair) for pair in pairs()}


@pytest.mark.parametrize(("workload", "machine"), pair_parameters())
def test_simulation_stays_in_its_bounds(workload: str, machine: str) -> None:
    phases = ["stacking"] if workload == "seismic" else None  # the other phases only repeat the same steps
    described = shipped_pairs.load_workload(workload), shipped_pairs.load_machine(machine)
    comparison = compare(
        *described, {"P": 8}, phases=phases, effects=["hops", "links", "interfaces", "disks", "memory"]
    )
    assert comparison.within_bounds
    check_laws(comparison.simulation)


def test_origin_of_every_seismic_number_is_said() -> None:
    parameters = load_workload("seismic").parameters
    for name in ("samples", "traces", "groups", "lines"):
        assert parameters[name].origin == "reconstructed"
    for name in ("comp_1", "comp_2", "comp_3", "comp_4", "writes_per_step"):
        assert parameters[name].origin == "calibrated"


def test_descriptions_are_in_the_wheel() -> None:
    """The build must map both folders into the package; tests of the wheel itself would need the network."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    text = str(build)
    assert "topologies" in text
    assert "workloads" in text


def test_wheel(tmp_path: Path) -> None:
    """Where the build backend is installed, build the wheel and look inside."""
    builder = pytest.importorskip("hatchling.builders.wheel", reason="hatchling is not installed")
    path = next(iter(builder.WheelBuilder(str(ROOT)).build(directory=str(tmp_path))))
    names = zipfile.ZipFile(path).namelist()
    assert {f"simcodesign/topologies/{name}.yaml" for name in MACHINES} <= {*names}
    assert {f"simcodesign/workloads/{name}.yaml" for name in WORKLOADS} <= {*names}
    assert "simcodesign/workloads/seismic-measured.csv" in names
