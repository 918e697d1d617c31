"""Upgrades: their files, and ratios against closed forms of power laws."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.workload import Workload
from simcodesign.studies.requirements.upgrade import RATIOS, share_of, upgrade_study, upgrade_table
from simcodesign.studies.requirements.upgrade_factors import Upgrade, upgrade_of
from tests import examples
from tests.builders import read_workload

RACKS, MEMORY = Upgrade("racks", nodes=2), Upgrade("memory", memory=2)
LAWS = """
simcodesign: 1
name: laws
parameters:
  n: {default: 1, range: [1e-9, 1e15]}
  a: {default: 1, range: [0, 9]}
  b: {default: 0, range: [-9, 9]}
  c: {default: 1, range: [0, 9]}
  d: {default: 0, range: [-9, 9]}
footprint: 1000*n**a*P**b
program:
  - compute: {flops: 7*n**c*P**d}
  - exchange: {pattern: halo2d, bytes: n/4}
  - memory: {accesses: 5*n, stack_distance: 2*n}
  - read: {bytes: 3*n**c, times: 2}
  - write: {bytes: n**c}
"""


def laws() -> Workload:
    return read_workload(LAWS.lstrip())


def machine(memory: float = 1e9) -> sc.Machine:
    return sc.Machine.load("crossbar-16", {"nodes": 1024, "processors_per_node": 4, "memory": {"capacity": 4 * memory}})


@pytest.mark.parametrize(
    ("changes", "processes", "memory"),
    [
        ({"nodes": "x2"}, 2, 1),
        ({"processors_per_node": "x2"}, 2, 0.5),
        ({"memory.capacity": "x2"}, 1, 2),
        ({"nodes": "x1.5", "processors_per_node": "x4", "network.bandwidth": "x2", "disk.bandwidth": "x0.5"}, 6, 0.25),
    ],
)
def test_upgrades_of_variants(changes: dict[str, str], processes: float, memory: float) -> None:
    """The first three are those of Table III."""
    upgrade = upgrade_of(changes)
    assert (upgrade.processes, upgrade.memory) == (processes, memory)
    assert upgrade.name == ", ".join(f"{key}={text}" for key, text in changes.items())
    rates = {"network.bandwidth": "network", "disk.bandwidth": "disk"}
    assert dict(upgrade.rates) == {rates[key]: float(text[1:]) for key, text in changes.items() if key in rates}


def test_upgrades_are_checked() -> None:
    with pytest.raises(InputError, match="rate of an upgrade"):
        Upgrade("x", rates={"cpu": 2})
    with pytest.raises(InputError, match="factor of nodes"):
        Upgrade("x", nodes=math.nan)
    with pytest.raises(InputError, match=r"not an upgrade, got 'node'.*did you mean 'nodes'"):
        upgrade_of({"node": "x2"})


@given(
    a=st.floats(0.3, 3, allow_subnormal=False),
    b=st.floats(-1, 1, allow_subnormal=False),
    c=st.floats(0, 3, allow_subnormal=False),
    d=st.floats(-1, 1, allow_subnormal=False),
    nodes=st.sampled_from([1, 2, 3, 8]),
    per_node=st.sampled_from([1, 2, 0.5]),
    memory=st.floats(0.2, 5, allow_subnormal=False),
)
@settings(max_examples=examples(60), deadline=None)
def test_ratios_of_power_laws(
    a: float, b: float, c: float, d: float, nodes: float, per_node: float, memory: float
) -> None:
    """m = 1000 n^a P^b, so that n goes with (m'/m)^(1/a) (p'/p)^(-b/a)."""
    p = nodes * per_node
    size = memory ** (1 / a) * p ** (-b / a)
    old = (1e6 * 4096.0**-b) ** (1 / a)
    assume(1e-6 < old < 1e12 and 1e-6 < old * size < 1e12)
    change = Upgrade("x", nodes=nodes, processors_per_node=per_node, memory=memory)
    study = upgrade_study(laws(), machine(), change, {"a": a, "b": b, "c": c, "d": d})
    expected = {
        "size": size,
        "overall": size * p,
        "computation": size**c * p**d,
        "communication": size,
        "memory_access": size**2,
        "io": size**c,
        "loads_stores": size,
    }
    assert study.ratios.keys() == {*RATIOS}
    assert study.ratios == pytest.approx(expected, rel=1e-9)
    assert study.inflated_bytes == pytest.approx(1e9 * p**b, rel=1e-9)
    assert (study.new.processes, study.new.memory_bytes) == (4096 * p, 1e9 * memory)
    assert study.baseline["overall"] == p * memory
    assert study.baseline["communication"] == memory


def test_lulesh_as_table_4_walks_through_it() -> None:
    study = upgrade_study("lulesh", "juqueen", RACKS)
    p = 458752.0
    assert (study.old.processes, study.new.processes, study.old.memory_bytes) == (p, 2 * p, 1e9)
    assert study.ratios["size"] == 1
    assert study.ratios["overall"] == 2
    assert study.ratios["computation"] == pytest.approx(2**0.25 * math.log(2 * p) / math.log(p))
    assert study.ratios["loads_stores"] == pytest.approx(math.log(2 * p) / math.log(p))
    fewer = upgrade_study("lulesh", "juqueen", RACKS, {"P": 1024})
    assert fewer.ratios["computation"] == pytest.approx(2**0.25 * 11 / 10)
    natural = upgrade_study("lulesh", "juqueen", RACKS, {"p_base": math.e})
    assert natural.ratios["computation"] == pytest.approx(study.ratios["computation"])
    assert natural.old.metric("computation") == pytest.approx(study.old.metric("computation") * math.log(2))


def test_nothing_fits_any_more() -> None:
    study = upgrade_study("icofoam", "juqueen", RACKS)
    assert not study.new.fit.fits
    assert study.old.fit.fits
    assert (study.ratios["size"], study.ratios["overall"]) == (0, 0)
    assert all(math.isnan(study.ratios[name]) for name in RATIOS[2:])
    assert study.new.needs is None


def test_nothing_fitted_before() -> None:
    study = upgrade_study("icofoam", "strawman-hybrid", MEMORY)
    assert not study.old.fit.fits
    assert all(math.isnan(ratio) for ratio in study.ratios.values())
    assert math.isnan(study.inflated_bytes)


def test_a_table_gives_every_workload_what_is_its_own() -> None:
    studies = upgrade_table(["kripke", laws()], machine(), [RACKS, MEMORY], {"a": 2, "c_bytes": 10, "P": 16})
    assert [(study.upgrade.name, study.workload.name) for study in studies] == [
        ("racks", "kripke"),
        ("racks", "laws"),
        ("memory", "kripke"),
        ("memory", "laws"),
    ]
    assert studies[0].old.fit.size == pytest.approx(1e8)
    assert studies[1].old.fit.size == pytest.approx(1e3)
    assert {study.old.processes for study in studies} == {16}
    with pytest.raises(InputError, match="no workload has this parameter, got 'z'"):
        upgrade_table(["kripke"], machine(), [RACKS], {"z": 2})


def test_what_cannot_be_studied() -> None:
    with pytest.raises(InputError, match="does not say how much memory"):
        upgrade_study("kripke", "crossbar-16", RACKS)
    with pytest.raises(InputError, match="does not say its footprint"):
        upgrade_study("jacobi", machine(), RACKS)
    with pytest.raises(InputError, match=r"the upgrade x leaves no whole number of processes, got 1\.5"):
        upgrade_study("kripke", machine(), Upgrade("x", nodes=1.5), {"P": 1})
    with pytest.raises(InputError, match="processes on crossbar-16: P"):
        upgrade_study("kripke", machine(), RACKS, {"P": 5000})


def test_the_share_of_a_process() -> None:
    assert share_of(machine()) == (4096, 1e9)
    assert share_of(machine(), {"P": 3}) == (3, 1e9)
    assert share_of(sc.Machine.load("strawman-vector")) == (5e7, 2e8)
