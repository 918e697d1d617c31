"""Formulas in a comparison: a ladder of each from the formula to the simulation and what was measured."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from simcodesign.comparison.attribution import UNEXPLAINED, relative_error
from simcodesign.comparison.compare import compare
from simcodesign.comparison.effects import WAITING
from simcodesign.comparison.formulas.ladder import LEFT_OUT
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import parse
from simcodesign.core.to_json import to_json
from simcodesign.describe.formulas.formula import Formula
from simcodesign.describe.yaml.files import load_machine
from simcodesign.report.results.formula_tables import _hops_in_one_step
from tests.builders import arrivals, read_machine, workload

HEAD = "parameters: {m: {default: 1000, unit: B}}\n"
PROGRAM = (
    "- phase: a\n  do: [broadcast: {bytes: m}]\n- phase: b\n  do: [allreduce: {bytes: m}, compute: {flops: 1e6}]\n"
)
OWN = """formulas:
  short: log2(P)*t_s
  logp: {total: L + o, source: a paper}
measured:
- {total: 1 ms, at: {P: 4}}
- {total: 3 ms, phases: {a: 20 us}, components: {communication: 2 ms}, at: {P: 8, m: 1000}}
- {total: 4 ms, machine: another}
"""
MACHINE = read_machine("""
simcodesign: 1
name: hockney
nodes: 16
processor: {rate: 1 GFLOP/s}
noise: 0.1
network: {startup: 5 us, bandwidth: 1 GB/s, sends: blocking, topology: {kind: mesh, shape: [4, 4]}}
""")
WORK = workload(PROGRAM, HEAD + OWN)


@pytest.fixture(scope="module")
def comparison() -> Any:
    def mine(P: Any, alpha: Any) -> Any:
        return {"total": 2 * np.log2(P) * alpha, "components": {"communication": np.log2(P) * alpha}}

    return compare(WORK, MACHINE, {"P": 8}, formulas=["phases = 2*log2(P)*(t_s + m*t_w)", mine])


def test_given_formulas_come_first_then_those_of_the_workload(comparison: Any) -> None:
    assert [one.name for one in comparison.formulas] == ["phases", "mine", "short", "logp"]
    assert [one.given for one in comparison.formulas] == [True, True, False, False]


def test_every_ladder_goes_from_its_formula_to_the_measured_time(comparison: Any) -> None:
    assert comparison.measured.total_s == 3e-3
    for one in comparison.formulas[:3]:
        # The machine has no time of a hop, disks, memory, accelerators, storage, imbalance, other jobs and failures.
        assert [rung.step for rung in one.rungs] == [
            LEFT_OUT,
            WAITING,
            "links",
            "interfaces",
            "noise",
            UNEXPLAINED,
        ]
        assert math.fsum(rung.change_s for rung in one.rungs) == pytest.approx(3e-3 - one.total_s, rel=1e-9)
        assert math.fsum(rung.fraction for rung in one.rungs) == pytest.approx(1)
        assert one.rungs[0].change_s == pytest.approx(float(comparison.forecast.makespan_s) - one.total_s)
        assert one.rungs[-2].time_s == float(comparison.simulation.makespan_s)
        assert one.error == relative_error(one.total_s, float(comparison.simulation.makespan_s))
        assert one.measured_error == relative_error(one.total_s, 3e-3)
        assert [rung.change_s for rung in one.rungs[2:-1]] == [
            rung.change_s for rung in comparison.rungs[1:] if rung.applies
        ]


def test_what_is_left_out_is_the_first_rung(comparison: Any) -> None:
    for one in (comparison.formulas[0], comparison.formulas[2]):
        assert math.fsum(term.time_s for term in one.left_out.terms) == pytest.approx(one.rungs[0].change_s, rel=1e-9)
    assert comparison.formulas[1].left_out.why


def test_a_formula_of_the_workload_that_cannot_be_used_says_why(comparison: Any) -> None:
    loggop = comparison.formulas[3]
    assert (loggop.rungs, math.isnan(loggop.error)) == ((), True)
    assert "network.L" in loggop.values.reason
    with pytest.raises(InputError, match=r"network\.L"):
        compare(WORK, MACHINE, {"P": 8}, formulas="L + o")


def test_one_given_replaces_one_of_the_workload() -> None:
    (one, other) = compare(WORK, MACHINE, {"P": 8}, effects="none", formulas={"short": "log2(P)*2*t_s"}).formulas
    assert (one.name, one.given, one.total_s) == ("short", True, pytest.approx(3e-5))
    assert other.name == "logp"


@pytest.mark.parametrize(
    ("values", "total_s"), [({"P": 4}, 1e-3), ({"P": 8}, 3e-3), ({"P": 8, "m": 7}, None), ({"P": 2}, None)]
)
def test_measured_times_hold_where_they_were_measured(values: Any, total_s: float | None) -> None:
    measured = compare(WORK, MACHINE, values, effects="none").measured
    assert (measured and measured.total_s) == total_s


def test_measured_at_an_unknown_name() -> None:
    with pytest.raises(InputError, match="unknown name"):
        compare(workload(PROGRAM, f"{HEAD}measured: {{total: 1 s, at: {{q: 1}}}}\n"), MACHINE, effects="none")


def test_outside_its_range_a_formula_has_no_ladder() -> None:
    formula = Formula("big", parse("P*t_s"), valid=parse("P >= 64"))
    (one, *_) = compare(WORK, MACHINE, {"P": 8}, effects="none", formulas=formula).formulas
    assert (one.rungs, math.isnan(one.total_s), one.left_out.terms) == ((), True, ())
    assert "P >= 64" in one.values.reason


def test_a_total_that_is_given_is_of_the_phases_that_run() -> None:
    """And one of the workload's own is of the whole program."""
    mine = "mine = log2(P)*(t_s + m*t_w)"
    every = compare(WORK, MACHINE, {"P": 8}, phases=["a"], effects="none", formulas=mine).formulas
    assert [one.error for one in every if one.given] == pytest.approx([0.0], abs=1e-12)
    assert {one.name: "whole program" in one.values.reason for one in every if not one.given} == {
        "short": True,
        "logp": True,
    }


def test_a_part_of_the_program_compares_its_phases() -> None:
    formula = Formula("f", parse("P*t_s"), phases={"a": parse("log2(P)*(t_s + m*t_w)")})
    (one, *_) = compare(WORK, MACHINE, {"P": 8}, phases=["a"], effects="none", formulas=formula).formulas
    assert one.total_s == pytest.approx(3 * 6e-6)
    assert one.error == pytest.approx(0, abs=1e-9)


def test_an_open_stream_is_compared_by_its_response_time() -> None:
    """The mean response of M/D/1 by Pollaczek and Khinchine: s + r s^2 / (2 (1 - r s))."""
    disk = read_machine("""
simcodesign: 1
name: disks
nodes: 1
processor: {rate: 1 GFLOP/s}
network: {startup: 5 us, bandwidth: 1 GB/s, topology: {kind: crossbar}}
disk: {read_startup: 10 ms, write_startup: 10 ms, per_byte: 0}
""")
    stream = arrivals("to: disk, rate: 50, requests: 500, bytes: 0")
    by_hand = "10 ms + 50*(10 ms)**2/(1 s)/(2*(1 - 50*10 ms/(1 s)))"
    (one,) = compare(stream, disk, {"P": 1}, formulas=by_hand).formulas
    assert one.total_s == pytest.approx(0.015)
    assert math.fsum(rung.change_s for rung in one.rungs) == pytest.approx(one.simulated_s - one.total_s, rel=1e-9)
    assert one.rungs[0].change_s == 0  # our forecast is M/D/1, too


def test_json_of_formulas(comparison: Any) -> None:
    shown = to_json(comparison)
    first = shown["formulas"][0]
    assert first["formula"] == {"name": "phases", "total": "2*log2(P)*(t_s + m*t_w)"}
    assert {*first} == {
        *("formula", "given", "total_s", "phases_s", "components_s", "reason", "notes", "valid", "error"),
        *("left_out", "ladder", "measured_error"),
    }
    assert {*first["ladder"][0]} == {"step", "time_s", "change_s", "fraction"}
    assert {*first["left_out"]["terms"][0]} == {"text", "time_s"}
    assert shown["formulas"][3]["total_s"] is None
    assert shown["measured"]["phases_s"] == {"a": 2e-5}
    assert "formulas" not in to_json(compare(workload(PROGRAM, HEAD), MACHINE, {"P": 2}, effects="none"))


def test_slow_links_of_a_tapered_tree_belong_to_the_hops() -> None:
    """What the distance law has for hops and slow links, and what routes make of it, is one step: by hand."""
    machine = load_machine("fat-tree-cluster", {"network.topology.taper": "[1, 2, 4]"})
    compared = compare("burst", machine, {"P": 64}, effects="hops", formulas="(P - 1)*(t_s + size*t_w)")
    (formula,) = compared.formulas
    # Startup 2 us, 2 GB/s, 0.1 us a hop: 15 messages stay in the node or below its switch, 48 cross links of half the
    # bandwidth; 12 have 2 hops, 48 have 4.
    by_hand_s = 63 * 2e-6 + (15 + 48 * 2) * 4096 / 2e9 + (12 * 2 + 48 * 4) * 0.1e-6
    assert formula.total_s == pytest.approx(63 * (2e-6 + 4096 / 2e9))
    assert compared.simulation.makespan_s == pytest.approx(by_hand_s)
    (term,) = formula.left_out.terms
    assert term.text.startswith("hops, by the distance law")
    hops = next(step for step in _hops_in_one_step(formula) if step.step == "hops")
    assert hops.change_s == pytest.approx(by_hand_s - formula.total_s)
