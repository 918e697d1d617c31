"""Plans of one design point with several effects, made with what they have in common, against each made alone."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from simcodesign.describe.design_point import DesignPoint, bind
from simcodesign.describe.effects import effect_names
from simcodesign.describe.yaml.files import load_machine, load_workload
from simcodesign.generate.lower import Plans, make_plan
from simcodesign.generate.operation_columns import COLUMNS
from tests.builders import machine, network, workload

#: One after another: back to fewer effects, the same again, and those that come after what is kept.
ORDER = [
    *("", "hops", "hops links", "hops links interfaces", "hops links", "hops links noise", "hops links"),
    *("imbalance noise", "", "imbalance", "noise", "disks", "disks memory", "memory caches noise", "all", "all", ""),
]
PAIRS = [
    ("transpose", "torus-cluster"),
    ("stencil", "xeon-cluster"),
    ("seismic", "power-challenge"),
    ("cg-iteration", "nvl72-cluster"),
    ("jacobi", "loggop-64"),
    ("sweep3d", "packet-torus"),
]


def point(pair: tuple[str, str]) -> DesignPoint:
    """Of 16 ranks."""
    return bind(load_workload(pair[0]), load_machine(pair[1]), {"P": 16})


def assert_equal(one: Any, other: Any, where: str = "plan") -> None:
    """Every array to the last bit."""
    assert type(one) is type(other), where
    if is_dataclass(one):
        for field in fields(one):
            assert_equal(getattr(one, field.name), getattr(other, field.name), f"{where}.{field.name}")
    elif isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other, where)
    elif isinstance(one, tuple | list):
        assert len(one) == len(other), where
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            assert_equal(left, right, f"{where}[{number}]")
    elif isinstance(one, dict):
        assert_equal(list(one.items()), list(other.items()), where)
    else:
        assert one == other or (one != one and other != other), where


def assert_as_if_made_alone(at: DesignPoint, counters: bool) -> None:
    plans = Plans(at, 3, counters)
    for names in ORDER:
        effects = effect_names() if names == "all" else tuple(names.split())
        for background in (20, 40) if "all" in names else (0,):
            assert_equal(plans.plan(effects, background), make_plan(at, effects, 3, counters, background))


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_each_is_as_if_made_alone(pair: tuple[str, str]) -> None:
    assert_as_if_made_alone(point(pair), counters=False)


@pytest.mark.parametrize("pair", [PAIRS[0], PAIRS[2]], ids="-".join)
def test_counters_are_as_if_made_alone(pair: tuple[str, str]) -> None:
    assert_as_if_made_alone(point(pair), counters=True)


def test_a_plan_stays_as_it_is_when_the_next_is_made() -> None:
    noisy = machine(network(4, startup_s=1e-6), noise=0.2)
    plans = Plans(bind(workload("- compute: {seconds: 1}\n- barrier: {}"), noisy, {"P": 4}))
    calm = plans.plan()
    before = calm.duration_s.copy()
    other = plans.plan(("noise",))
    assert (other.duration_s != before).any()
    np.testing.assert_array_equal(calm.duration_s, before)


def test_columns_are_declared_with_their_meaning() -> None:
    for name, column in COLUMNS.items():
        assert column.meaning, name
        assert name.endswith("_s") == (column.unit == "s"), name
        assert name.endswith("_bytes") == (column.unit == "B"), name
