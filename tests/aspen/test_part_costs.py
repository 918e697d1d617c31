"""Rack units, die area and price of an Aspen machine: sums by hand, as limits and as objectives of the planners."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simcodesign.aspen.machine import load_machine
from simcodesign.aspen.part_costs import part_costs, stated_costs
from simcodesign.cli.app import main
from simcodesign.core.errors import InputError
from simcodesign.studies.explore.models.aspen_model import AspenMachineModel
from tests import ROOT

MACHINE = """
param nodes = 3 in 1 .. 20
param cores = 4 in 1 .. 16
param price = 7                      // words of costs are still names
param rack = 1
machine M { node [nodes] N  price [1000] }
node N { socket [2] S  rack units [rack + 1]  price [50 * price]  price [25] }
socket S { core [cores] C  die area [20 * milli * milli]  static power [10] }
core C {
  resource flops(n) [n / giga]
  die area [3 * milli * milli]
  price [30]
  dynamic power [5]
}
"""
STUDY = ROOT / "validation" / "aspen" / "keeneland-rack.yaml"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "machine.aspen"
    path.write_text(MACHINE)
    return path


def by_hand(nodes: float, cores: float) -> dict[str, float]:
    sockets = 2 * nodes
    return {
        "rack_units": 2 * nodes,
        "die_area": sockets * (20e-6 + cores * 3e-6),
        "price": 1000 + nodes * (50 * 7 + 25) + sockets * cores * 30,
    }


@pytest.mark.parametrize(("nodes", "cores"), [(3, 4), (1, 1), (20, 16)])
def test_costs_are_those_of_all_instances(path: Path, nodes: int, cores: int) -> None:
    machine = load_machine(path)
    assert stated_costs(machine) == ("rack_units", "die_area", "price")
    costs = part_costs(machine, {"nodes": nodes, "cores": cores})
    assert costs == pytest.approx(by_hand(nodes, cores), rel=1e-14)


def test_costs_of_many_machines_at_once(path: Path) -> None:
    nodes = np.arange(1.0, 6.0)
    costs = part_costs(load_machine(path), {"nodes": nodes})
    assert np.asarray(costs["price"]).tolist() == [by_hand(n, 4)["price"] for n in nodes]


def test_a_cost_that_nothing_states_is_no_metric(path: Path) -> None:
    path.write_text(MACHINE.replace("die area [20 * milli * milli]", "").replace("die area [3 * milli * milli]", ""))
    model = AspenMachineModel(load_machine(path))
    assert {"rack_units"} <= model.dimensions.keys()
    assert "die_area" not in model.dimensions
    assert "price" not in model.dimensions  # the parameter of this name


def test_components_may_have_words_of_costs_as_kinds(tmp_path: Path) -> None:
    path = tmp_path / "racks.aspen"
    path.write_text("machine M { rack [2] units }\nrack units { die area }\ndie area { price [3] }\n")
    machine = load_machine(path)
    assert part_costs(machine) == {"price": 6}
    assert [element.name for element in machine.below(machine.top)] == ["M", "units", "area"]


@pytest.mark.parametrize("text", ["rack units", "price [1] [2]", "die area [", "rack units []", "price 3"])
def test_what_is_no_cost(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.aspen"
    path.write_text(f"machine M {{ {text} }}\n")
    with pytest.raises(InputError, match=r"bad\.aspen:1"):
        load_machine(path)


def explored(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main(["explore", *options, "--json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_costs_as_limits_and_as_objectives(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Against all 320 machines: the most cores for a price in a rack, and the least die area for so many cores."""
    path.write_text(MACHINE.replace("param price = 7 ", "param unit = 7 ").replace("50 * price", "50 * unit"))
    every = {(n, c): by_hand(n, c) for n, c in itertools.product(range(1, 21), range(1, 17))}
    within = [
        (n * c, -costs["price"])
        for (n, c), costs in every.items()
        if costs["rack_units"] <= 24 and costs["price"] <= 9000
    ]
    vary = ["--vary", "nodes=1:20:whole", "--vary", "cores=1:16:whole"]
    limits = ["--subject-to", "rack_units <= 24", "--subject-to", "price <= 9000"]
    best = explored(capsys, str(path), *vary, *limits, "--maximize", "nodes*cores")["point"]
    assert best["values"]["nodes"] * best["values"]["cores"] == max(within)[0]
    smallest = min(costs["die_area"] for (n, c), costs in every.items() if n * c >= 60)
    best = explored(capsys, str(path), *vary, "--subject-to", "nodes*cores >= 60", "--minimize", "die_area")["point"]
    assert best["metrics"]["die_area"] == pytest.approx(smallest, rel=1e-12)


def rack(nodes: int, sockets: int, gpus: int) -> tuple[float, float, float]:
    """Flop/s in double precision at the highest clocks, watts of all parts at work, and units of the shipped rack."""
    flops = nodes * (sockets * 6 * 4 * 3.6e9 + gpus * 16 * 32 * 2e9)
    return flops, nodes * (90.0 * sockets + 250.0 * gpus), 2.0 * nodes


def test_the_rack_by_hand() -> None:
    model = AspenMachineModel(load_machine(STUDY.with_suffix(".aspen")), "Gpu", {"cpuClock": 3.6e9, "gpuClock": 2e9})
    every = list(itertools.product(range(1, 43), range(1, 5), range(1, 9)))
    columns = dict(zip(("nodes", "sockets", "gpus"), np.array(every, float).T, strict=True))
    metrics = model.evaluate(columns)
    names = ("Rack.flops", "max_power", "rack_units")
    for name, expected in zip(names, np.array([rack(*parts) for parts in every]).T, strict=True):
        assert np.asarray(metrics[name]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.thorough
def test_the_architects_example(capsys: pytest.CaptureFixture[str]) -> None:
    """Flop/s grow with both clocks of cores and power does not, so that all whole numbers at the highest clocks decide."""
    every = [(rack(*parts), parts) for parts in itertools.product(range(1, 43), range(1, 5), range(1, 9))]
    flops, parts = max((one[0], where) for one, where in every if one[1] <= 18e3 and one[2] <= 42)
    best = explored(capsys, "--file", str(STUDY), "--max-evaluations", "4000")["point"]
    values, metrics = best["values"], best["metrics"]
    assert tuple(values[name] for name in ("nodes", "sockets", "gpus")) == parts == (11, 1, 6)
    assert metrics["Rack.flops"] == pytest.approx(flops, rel=1e-9)
    assert (values["cpuClock"], values["gpuClock"]) == pytest.approx((3.6e9, 2e9), rel=1e-6)
    assert metrics["max_power"] == pytest.approx(rack(*parts)[1], rel=1e-12)
    assert metrics["rack_units"] == 22
    assert metrics["price"] == 11 * (2000 + 1000 + 6 * 2500)
    assert metrics["die_area"] == pytest.approx(11 * (240e-6 + 6 * 520e-6), rel=1e-12)


@pytest.mark.thorough
def test_the_architects_example_read_the_other_way(capsys: pytest.CaptureFixture[str]) -> None:
    """With 3 flop a byte as the most, no rack reaches 50 Tflop/s: by hand 3 bytes/s of all memories at most."""
    most = 0.0
    for nodes, sockets, gpus in itertools.product(range(1, 22), range(1, 5), range(1, 9)):
        flops, watts, _ = rack(nodes, sockets, gpus)
        bandwidth = nodes * (sockets * 3 * 8 * 1.6e9 + gpus * 0.75 * 48 * 4e9)
        if watts <= 18e3:
            most = max(most, min(flops, 3 * bandwidth))
    assert most < 50e12
    names = ("nodes=1:42:whole", "sockets=1:4:whole", "gpus=1:8:whole", "gpuClock", "memoryClock")
    limits = ("rack_units <= 42", "max_power <= 18 kW", "Rack.flops >= 50e12", "Rack.flops <= 3*Rack.bandwidth")
    options = [part for name in names for part in ("--vary", name)]
    options += [part for limit in limits for part in ("--subject-to", limit)]
    options += ["--socket", "Gpu", "--maximize", "Rack.flops", "--max-evaluations", "1000"]
    assert explored(capsys, str(STUDY.with_suffix(".aspen")), *options)["feasible"] is False
