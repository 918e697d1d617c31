"""Straw-man systems: problems and times against their closed forms, and what is excluded."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.studies.requirements.strawman import straw_man_study, straw_man_table
from tests import examples

SYSTEMS = ("strawman-massively-parallel", "strawman-vector", "strawman-hybrid")


def system(nodes: int, memory: float, rate: float) -> sc.Machine:
    return sc.Machine.load("crossbar-16", {"nodes": nodes, "memory": {"capacity": memory}, "processor": {"rate": rate}})


@given(
    nodes=st.lists(st.integers(1, 10**8), min_size=1, max_size=3),
    memory=st.floats(1e7, 1e12),
    rate=st.floats(1e6, 1e13),
)
@settings(max_examples=examples(30), deadline=None)
def test_linear_models(nodes: list[int], memory: float, rate: float) -> None:
    """Kripke: 1e5 n bytes and 1e7 n flop, so that the smallest of the memories is what all hold."""
    study = straw_man_study("kripke", [system(count, memory, rate) for count in nodes])
    assert study.benchmark == pytest.approx(min(nodes) * memory / 1e5)
    for count, one in zip(nodes, study.systems, strict=True):
        assert one.overall == pytest.approx(count * memory / 1e5)
        if one.benchmark_size is not None:
            assert one.wall_time_s == pytest.approx(1e7 * min(nodes) * memory / 1e5 / count / rate)
        else:
            assert study.benchmark / count < 1  # less than the smallest size of a process


@pytest.mark.parametrize("base", [2.0, math.e, 10.0])
def test_lulesh_by_its_own_equation(base: float) -> None:
    """n log n is the memory over 1e5; the smallest overall problem is that of the vector system."""
    study = straw_man_study("lulesh", SYSTEMS, {"n_base": base, "p_base": base})
    for one in study.systems:
        n = one.fit.size
        assert 1e5 * n * math.log(n, base) == pytest.approx(one.memory_bytes, rel=1e-12)
    assert study.benchmark == study.systems[1].overall
    p, full = 5e7, 2e8
    assert study.systems[1].wall_time_s == pytest.approx(full * p**0.25 * math.log(p, base) / 2e10)


def test_added_terms_are_a_preset() -> None:
    study = straw_man_study("lulesh", SYSTEMS, preset="additive")
    times = [one.wall_time_s for one in study.systems]
    assert max(times) < 0.1
    assert min(times) == times[0]
    n = study.benchmark / 2e9
    assert times[0] == pytest.approx((1e5 * n * math.log2(n) + 2e9**0.25 * math.log2(2e9)) / 5e8)


def test_the_term_of_p_excludes_icofoam() -> None:
    study = straw_man_study("icofoam", SYSTEMS)
    assert study.benchmark is None
    assert len(study.excluded) == 3
    for one in study.systems:
        assert (one.overall, one.wall_time_s) == (0, None)
        assert one.fit.terms[0].text == "100 p log2(p)"
        assert one.fit.terms[0].value == pytest.approx(100 * one.processes * math.log2(one.processes))
        assert one.fit.terms[0].value > one.memory_bytes


def test_one_system_may_exclude_it_and_others_not() -> None:
    systems = [system(10**8, 1e9, 1e9), system(1000, 1e9, 1e9)]
    study = straw_man_study("icofoam", systems)
    assert [one.fit.fits for one in study.systems] == [False, True]
    assert (study.benchmark, study.systems[1].wall_time_s) == (None, None)
    given = straw_man_study("icofoam", systems, benchmark=1e7)
    assert given.systems[0].wall_time_s is None
    assert given.systems[1].wall_time_s == pytest.approx(1e8 * 1e4**1.5 * 1000**0.5 / 1e9)


def test_a_problem_of_ones_own_is_timed() -> None:
    study = straw_man_study("kripke", SYSTEMS, benchmark=1e10)
    assert [one.wall_time_s for one in study.systems] == pytest.approx([0.1] * 3)
    assert [one.overall for one in study.systems] == pytest.approx([1e11] * 3)
    assert straw_man_study("kripke", SYSTEMS, benchmark=1e9).systems[0].wall_time_s is None  # half a size for a process


def test_tables_share_the_systems() -> None:
    result = straw_man_table(["kripke", "milc"], SYSTEMS[1:], {"c_flop_p": 0})
    assert [study.workload.name for study in result] == ["kripke", "milc"]
    assert result[1].systems[0].wall_time_s == pytest.approx(100)
    assert result[0].models["flops"] == "1e7 n"


def test_what_cannot_be_studied() -> None:
    with pytest.raises(InputError, match="needs systems"):
        straw_man_study("kripke", [])
    with pytest.raises(InputError, match="does not say how much memory"):
        straw_man_study("kripke", ["crossbar-16"])
    with pytest.raises(InputError, match="overall problem"):
        straw_man_study("kripke", SYSTEMS, benchmark=-1)
    with pytest.raises(InputError, match="no workload has this parameter"):
        straw_man_table(["kripke"], SYSTEMS, {"z": 1})
