"""Variants: names ``with`` other values, of machines and workloads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.variants import MOST_SHOWN, change_texts, split_variant, variant_label

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,6}(\.[a-z]{1,5})?", fullmatch=True)
VALUES = st.from_regex(r"[a-z0-9]{1,4}( us|/s)?|\[[0-9], [0-9]\]", fullmatch=True)


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=MOST_SHOWN))
def test_a_label_is_read_back(changes: dict[str, str]) -> None:
    assert split_variant(variant_label("any-name", change_texts(changes))) == ("any-name", changes)


@pytest.mark.parametrize("name", ["fugaku", "a/file with spaces.yaml", "prog.py:halo", "with"])
def test_a_plain_name_is_no_variant(name: str) -> None:
    assert split_variant(name) == (name, {})


@pytest.mark.parametrize("text", ["m with a=", "m with a=1, a=2"])
def test_what_is_no_variant(text: str) -> None:
    with pytest.raises(InputError):
        split_variant(text)


def test_a_machine_says_what_was_set() -> None:
    machine = sc.Machine.load("mesh-256", {"network.startup": "1 us"})
    assert (machine.name, machine.label) == ("mesh-256", "mesh-256 with network.startup=1 us")
    assert sc.Machine.load(machine.label) == machine
    assert sc.Machine.load("mesh-256 with network.startup=1 us", {"network.startup": "2 us"}) == machine  # its own wins
    assert sc.forecast("burst", machine, {"P": 4}).machine == machine.label
    many = sc.Machine.load(
        "mesh-256", {f"network.{key}": "1 us" for key in ("startup", "hop_latency")} | {"nodes": 256}
    )
    assert many.full_label == "mesh-256 with network.startup=1 us, network.hop_latency=1 us, nodes=256"


def test_a_parameter_of_a_machine_is_set_too() -> None:
    variant = sc.Machine.load("power-budget-cluster with machine.clock=2 GHz")
    assert variant.processor.clock_hz == 2e9
    assert variant.processor.rate_flop_per_s == 32e9  # 16*clock in its file


def test_a_workload_has_other_defaults() -> None:
    variant = sc.Workload.load("jacobi with sweeps=3, n=2048")
    direct = sc.forecast("jacobi", "torus-cluster", {"sweeps": 3, "n": 2048, "P": 16})
    assert sc.forecast(variant, "torus-cluster", {"P": 16}).makespan_s == direct.makespan_s
    assert variant.name == "jacobi with sweeps=3, n=2048"
    assert sc.forecast("jacobi with P=8", "torus-cluster").values["P"] == 8
    small = sc.forecast("seismic with preset=test, phase=stacking", "power-challenge", {"P": 2})
    given_so = sc.forecast("seismic", "power-challenge", {"P": 2}, preset="test", phases=["stacking"])
    assert (small.makespan_s, [*small.phases]) == (given_so.makespan_s, ["stacking"])


@pytest.mark.parametrize("text", ["jacobi with colour=3", "seismic with preset=none", "jacobi with phase=none"])
def test_unknown_names_of_a_workload(text: str) -> None:
    with pytest.raises(InputError):
        sc.Workload.load(text)


@pytest.mark.parametrize(
    ("change", "meaning", "unit"),
    [
        ("network.startup=20", "20 s", "20 us"),
        ("network.bandwidth=10", "10 B/s", "10 GB/s"),
        ("network.per_byte=0.1", "0.1 s/B", "0.1 ns/B"),
        ("processor.clock=2", "2 Hz", "2 GHz"),
    ],
)
def test_a_number_that_lacks_its_unit_is_noted(change: str, meaning: str, unit: str) -> None:
    with pytest.warns(UserWarning, match=f"^{change} is {meaning}, .* '{unit}'$"):
        sc.Machine.load(f"torus-cluster with {change}")


@pytest.mark.parametrize(
    "change",
    [
        "network.startup=20 s",
        "network.startup=2e-5",
        "network.startup=0",
        "network.bandwidth=1e9",
        "disk.read_startup=0.001",
    ],
)
def test_a_usual_number_or_one_with_a_unit_is_not_noted(change: str) -> None:
    sc.Machine.load(f"torus-cluster with {change}")  # a warning is an error


def test_a_time_between_failures_may_be_long() -> None:
    assert "86400" in sc.Machine.load("failing-torus with failures.mtbf=86400").label
