"""What a machine is built of over an axis of a comparison: each value is a variant, with what it costs."""

from pathlib import Path
from typing import Any

import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from tests.command_line import command

TREE = """
simcodesign: 1
name: tree
nodes: 16
processor: {rate: 10 GFLOP/s}
network: {topology: {kind: fat_tree, arity: 4}, startup: 1 us, bandwidth: 10 GB/s, hop_latency: 100 ns}
components:
  node: {count: nodes, price: 5000, static_power: 300 W}
  cable: {count: cables, price: 100}
ownership: {years: 5, energy_price: 0.3, carbon_intensity: 350}
"""


@pytest.fixture
def tree(tmp_path: Path) -> str:
    (tmp_path / "tree.yaml").write_text(TREE)
    return str(tmp_path / "tree.yaml")


@pytest.fixture
def compare(capfd: pytest.CaptureFixture[str]) -> Any:
    return command(capfd, "compare")


def test_mappings_are_variants(compare: Any, tree: str) -> None:
    """Each simulated time is of that mapping alone; in Python the same."""
    answer = compare("burst", tree, "-P", 16, "--vary", "mapping=linear,random", "--json").json
    several = sc.compare("burst", tree, {"P": 16}, vary={"mapping": ["linear", "random"]})
    for at, mapping in enumerate(("linear", "random")):
        alone = sc.simulate("burst", sc.Machine.load(tree, {"mapping": mapping}), {"P": 16}).makespan_s
        assert answer["comparisons"][at]["simulated_s"] == alone == several.comparisons[at].simulated.mean
        assert several.comparisons[at].machine == f"tree with mapping={mapping}"
    assert answer["axis"] == ""


def test_costs_of_each_variant(compare: Any, tree: str) -> None:
    """Of a two-level tree of 16 hosts, tapered above: 16 + 16 or 16 + 8 cables; energy is 16 x 300 W for the run."""
    candidates = compare("burst", tree, "-P", 16, "--vary", "network.topology.taper=1,2", "--json").json["comparisons"]
    for one, cables in zip(candidates, (32, 24), strict=True):
        costs, time_s = one["costs"], one["simulated_s"]
        assert costs["price"] == 16 * 5000 + 100 * cables
        assert costs["simulated_energy_j"] == pytest.approx(4800 * time_s)
        per_year = 4.8 * 24 * 365.25 * 0.3
        assert costs["simulated_ownership_cost"] == pytest.approx(costs["price"] + 5 * per_year)
        assert costs["forecast_carbon_kg"] == pytest.approx(4800 * one["forecast_s"] / 3.6e6 * 0.35)
    table = compare("burst", tree, "-P", 16, "--vary", "network.topology.taper=1,2").out
    assert "Costs, of the run as simulated" in table
    assert "Costs" not in compare("burst", "torus-cluster", "mesh-256", "-P", 16).out


def test_beside_a_variant_and_an_axis(compare: Any, tree: str) -> None:
    arguments = ("burst", f"{tree} with network.startup=2 us", "--vary", "mapping=linear,random", "--vary", "P=4,16")
    answer = compare(*arguments, "--json").json
    assert answer["axis"] == "P"
    assert [one["machine"] for one in answer["comparisons"]] == [
        f"tree with network.startup=2 us, mapping={mapping}" for _ in (4, 16) for mapping in ("linear", "random")
    ]


def test_what_cannot_be_varied(compare: Any, tree: str) -> None:
    refused = compare("burst", tree, "-P", 16, "--vary", "mapping=linear,random", "--set", "mapping=linear")
    assert "set and varied" in refused.err
    with pytest.raises(InputError, match="machine object"):
        sc.compare("burst", sc.Machine.load(tree), vary={"mapping": ["linear", "random"]})
