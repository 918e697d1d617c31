"""Topologies by formulas of parameters, and components that count switches, ports, cables and links."""

import pickle
from typing import Any

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError

TREE: dict[str, Any] = {
    "name": "tapered",
    "nodes": 64,
    "parameters": {"t": {"default": 1, "range": [1, 8]}, "planes": {"default": 1, "range": [1, 4], "whole": True}},
    "properties": {"twice": "2*t", "per_switch": "ports/switches"},
    "processor": {"rate": "10 GFLOP/s"},
    "network": {
        "topology": {"kind": "fat_tree", "arity": 4, "taper": ["1", "t", "twice"]},
        "rails": "planes",
        "startup": "1 us",
        "bandwidth": "10 GB/s",
    },
    "components": {
        "node": {"count": "nodes", "price": 5000, "static_power": "300 W"},
        "port": {"count": "ports", "price": 200, "static_power": "5 W"},
        "cable": {"count": "cables", "price": 100},
    },
}


def tree(**changes: object) -> sc.Machine:
    return sc.Machine.load(TREE, changes)


def test_price_and_power_follow_the_topology() -> None:
    """A 4-ary 3-tree has 3 x 64 cables and 5 x 64 ends at switches; with tapers 2 and 4, 64 + 32 + 16 cables."""
    plain, tapered = tree(), tree(**{"machine.t": 2})
    assert tapered.network.topology.taper == (1.0, 2.0, 4.0)  # type: ignore[attr-defined]
    assert tree(**{"network.topology.taper": "[1, 1, 1]"}).totals().price == 64 * 5000 + 320 * 200 + 192 * 100
    cables = 64 + 32 + 16
    ports = 2 * cables - 64
    assert tapered.totals().price == 64 * 5000 + ports * 200 + cables * 100
    assert tapered.totals().static_power_w == 64 * 300 + ports * 5
    assert plain.properties()["per_switch"] == (2 * (64 + 64 + 32) - 64) / 48


@pytest.mark.parametrize("value", [1.0, 2.0, 3.5])
def test_values_set_in_the_file_and_in_python_give_one_machine(value: float) -> None:
    of_file = tree(**{"machine.t": value, "machine.planes": 2})
    in_python = tree().with_constants({"machine.t": value, "machine.planes": 2.0})
    assert in_python.network == of_file.network
    assert in_python.totals() == of_file.totals()
    assert pickle.loads(pickle.dumps(in_python)).with_constants({"machine.t": 1.0}).network.rails == 2


def test_what_was_replaced_before_stays() -> None:
    machine = tree().with_constants({"network.startup": 5e-6}).with_constants({"machine.t": 2.0})
    assert machine.network.message_model.startup_s == 5e-6  # type: ignore[attr-defined]
    assert machine.network.topology.taper == (1.0, 2.0, 4.0)  # type: ignore[attr-defined]


def test_arrays_cannot_shape_a_network() -> None:
    with pytest.raises(InputError, match=r"machine\.t shapes the network"):
        tree().with_constants({"machine.t": np.array([1.0, 2.0])})


def test_a_network_does_not_depend_on_itself() -> None:
    with pytest.raises(InputError, match="follows from the network"):
        tree(**{"network.topology.taper": "[1, per_switch, 2]"})
    with pytest.raises(InputError, match="unknown name"):
        tree(**{"network.topology.taper": "[1, 2*per_switch, 2]"})


def test_nodes_by_ranks_with_a_formula() -> None:
    machine = tree(nodes="P", **{"network.topology.taper": "t"}).with_constants({"machine.t": 2.0})
    assert machine.for_ranks(64).network.topology.taper == (1.0, 2.0, 2.0)  # type: ignore[attr-defined]
    assert machine.for_ranks(16).totals().price == 16 * 5000 + (16 + 2 * 8) * 200 + (16 + 8) * 100


def test_a_parameter_with_the_name_of_a_count() -> None:
    """A file of before these counts keeps its meaning."""
    machine = tree(**{"parameters.links": 7, "components.cable.count": "links"})
    assert machine.totals().price == 64 * 5000 + 256 * 200 + 7 * 100


@pytest.mark.parametrize(
    ("topology", "value", "expected", "cables"),
    [
        # Rings of 4 and 16 in a torus: one cable for each node and dimension; a mesh has one fewer in each line.
        ({"kind": "torus", "shape": ["a", "nodes/a"]}, 4, {"shape": (4, 16)}, 2 * 64),
        ({"kind": "mesh", "shape": ["a", "nodes/a"]}, 4, {"shape": (4, 16)}, 3 * 16 + 4 * 15),
        # A HyperX of 4 x 4 routers, with a cables in the first dimension: complete graphs of 4 in each line.
        ({"kind": "hyperx", "shape": [4, 4], "cables": ["a", 1]}, 3, {"cables": (3, 1)}, 64 + (3 + 1) * 4 * 6),
        # A dragonfly+ of 4 groups of 2 leaves and a spines.
        (
            {"kind": "dragonfly_plus", "terminals": 8, "leaves": 2, "spines": "a", "global_links": "6/a"},
            2,
            {"spines": 2, "global_links": 3},
            64 + 4 * 2 * 2 + 6 * 2,
        ),
    ],
)
def test_keys_of_each_kind(topology: dict[str, Any], value: int, expected: dict[str, Any], cables: int) -> None:
    parameters = {"a": {"default": 1, "range": [1, 64]}}
    components = {"cable": {"count": "cables", "price": 1}}
    network = {**TREE["network"], "topology": topology}
    own = {
        **TREE,
        "properties": {},
        "network": network,
        "parameters": {**TREE["parameters"], **parameters},
        "components": components,
    }
    machine = sc.Machine.load(own, {"machine.a": value})
    assert {name: getattr(machine.network.topology, name) for name in expected} == expected
    assert machine.totals().price == cables
