"""What formulas say at design points: by hand, in many points at once, outside their range, as Python functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.given_formulas.values import FormulaValues, formula_values, given_formulas
from simcodesign.core.errors import InputError
from simcodesign.describe.design_point import DesignPoint, bind
from simcodesign.describe.formulas.formula import Formula
from tests import examples
from tests.builders import read_machine, workload

MACHINE = read_machine("""
simcodesign: 1
name: hockney
nodes: 64
processor: {rate: 2 GFLOP/s, clock: 1 GHz}
network: {startup: 5 us, bandwidth: 1 GB/s, hop_latency: 100 ns, topology: {kind: crossbar}}
parameters: {tau: {default: 3e-6, unit: s}, cores: 4}
""")
LOGGOPS = read_machine("""
simcodesign: 1
name: logp
nodes: 64
processor: {rate: 2 GFLOP/s}
network: {model: loggop, L: 5 us, o: 2 us, g: 3 us, G: 1 ns/B, O: 0.5 ns/B, topology: {kind: crossbar}}
""")
PROGRAM = """- phase: a
  do: [broadcast: {bytes: m}]
- phase: b
  constants: {network.startup: 2e-6}
  do: [broadcast: {bytes: m}]
"""
HEAD = """parameters: {m: {default: 1000, unit: B}, n: 7, P: 16}
equations: {total_bytes: m*P, twice: 2*n}
"""
WORK = workload(PROGRAM, HEAD)
M, P = 1000.0, 16.0
T_S, T_W = 5e-6, 1e-9


def values_of(text: Any, point: DesignPoint | None = None, **how: Any) -> FormulaValues:
    (formula,) = given_formulas(text).formulas
    return formula_values(formula, bind(WORK, MACHINE) if point is None else point, **how)


@pytest.mark.parametrize(
    ("text", "total_s"),
    [
        ("log2(P)*(t_s + m*t_w)", 4 * (T_S + M * T_W)),
        ("log2(p)*(alpha + m*beta)", 4 * (T_S + M * T_W)),
        ("log2(P)*(network.startup + m*network.per_byte)", 4 * (T_S + M * T_W)),
        ("n**2*t_c + 2*n**3*gamma", (49 + 2 * 343) / 2e9),
        ("n*CPI*t_clk", 7e-9),
        ("3*t_h", 3e-7),
        ("total_bytes*t_B", M * P * T_W),
        ("twice*t_s", 14 * T_S),
        ("tau*cores + machine.tau*machine.cores", 2 * 4 * 3e-6),
        ("nodes*t_s", 64 * T_S),
        ("2.5e-6*log2(P) + m/2e9", 1e-5 + M / 2e9),
        ("max(m - 64 KiB, 0)*t_w + 1 us", 1e-6),
    ],
)
def test_by_hand(text: str, total_s: float) -> None:
    values = values_of(text)
    assert values.total_s == pytest.approx(total_s, rel=1e-12)
    assert isinstance(values.total_s, float)
    assert values.reason == ""


def test_loggop() -> None:
    values = values_of("L + 2*o + (m - 1)*G + g*P + m*O", bind(WORK, LOGGOPS))
    assert values.total_s == pytest.approx(5e-6 + 4e-6 + 999e-9 + 48e-6 + 500e-9, rel=1e-12)
    assert values.notes == ("1 taken as 1 B",)


def test_symbols_of_another_network_model() -> None:
    with pytest.raises(InputError, match=r"network\.startup, which logp has not"):
        values_of("t_s*P", bind(WORK, LOGGOPS))
    with pytest.raises(InputError, match=r"hockney has no failures\.mtbf"):
        values_of("failures.mtbf")
    with pytest.raises(InputError, match=r"network\.L, which hockney has not"):
        values_of("L*P")
    segments = "[{up_to: 4 KiB, startup: 1 us, bandwidth: 1 GB/s}, {startup: 2 us, bandwidth: 2 GB/s}]"
    by_size = read_machine(
        f"simcodesign: 1\nname: by-size\nnodes: 16\nprocessor: {{rate: 1 GFLOP/s}}\n"
        f"network: {{topology: {{kind: crossbar}}, distance: none, segments: {segments}}}\n"
    )
    with pytest.raises(InputError, match=r"by-size has no t_s .*'symbols' of the formula.*calibrate --segments 1"):
        values_of("t_s*P", bind(WORK, by_size))
    assert values_of(Formula("f", total=parse_text("L*P"), symbols={"L": parse_text("1 us")})).total_s == 1.6e-5


def parse_text(text: str) -> Any:
    (formula,) = given_formulas(text).formulas
    assert isinstance(formula, Formula)
    return formula.total


def test_names_of_the_workload_win_and_that_is_said() -> None:
    named = workload(PROGRAM, "parameters: {m: 1000, t_s: {default: 2, unit: s}, o: {default: 1, unit: s}}\n")
    values = values_of("t_s + o", bind(named, MACHINE))
    assert values.total_s == 3.0
    assert [note.split(" is ")[0] for note in values.notes] == ["o", "t_s"]


def test_t_w_is_per_value_where_the_size_of_a_value_is_stated() -> None:
    by_workload = workload(PROGRAM, "parameters: {m: 1000, value_bytes: {default: 8, unit: B}}\n")
    assert values_of("4*t_w", bind(by_workload, MACHINE)).total_s == pytest.approx(4 * 8 * T_W)
    formula = Formula("f", total=parse_text("4*t_w"), word=parse_text("4 B"))
    assert values_of(formula).total_s == pytest.approx(16 * T_W)
    with pytest.raises(InputError, match="not s"):
        values_of("4*t_w")
    with pytest.raises(InputError, match="word is no size"):
        values_of(Formula("f", total=parse_text("4*t_w"), word=parse_text("4 us")))


def test_phases_have_their_own_constants() -> None:
    formula = Formula("f", phases={phase: parse_text("log2(P)*(t_s + m*t_w)") for phase in "ab"})
    values = values_of(formula)
    assert values.phases_s == {
        "a": pytest.approx(4 * (T_S + M * T_W)),
        "b": pytest.approx(4 * (2e-6 + M * T_W)),
    }
    assert values.total_s == pytest.approx(sum(values.phases_s.values()))
    assert values_of(Formula("f", phases={"a": parse_text("t_s")})).total_s is None
    assert any("network.startup" in note for note in values_of("P*t_s").notes)


def test_a_phase_with_several_values_of_a_constant() -> None:
    mixed = workload(
        "- phase: a\n  do:\n  - barrier: {}\n  - {constants: {network.startup: 1e-6}, do: [barrier: {}]}\n"
    )
    with pytest.raises(InputError, match="several values in phase a"):
        values_of(Formula("f", phases={"a": parse_text("t_s")}), bind(mixed, MACHINE))


def test_outside_its_range_a_formula_has_no_value() -> None:
    formula = Formula("f", total=parse_text("P*t_s"), valid=parse_text("(P >= 4)*(m <= 65536)"))
    values = values_of(formula, bind(WORK, MACHINE, {"P": [2, 4, 16], "m": [[10.0], [1e6]]}))
    assert np.array_equal(np.isnan(values.total_s), [[True, False, False], [True, True, True]])
    assert np.array_equal(values.valid, [[0, 1, 1], [0, 0, 0]])
    assert "P >= 4" in values.reason
    assert values.notes[0] == "65536 taken as 65536 B"
    assert values_of(formula).reason == ""


def test_what_is_not_finite_is_nan_with_a_reason() -> None:
    values = values_of("t_s/log2(P)", bind(WORK, MACHINE, {"P": [1, 2]}))
    assert np.isnan(values.total_s[0])  # type: ignore[index]
    assert values.total_s[1] == T_S  # type: ignore[index]
    assert "not finite" in values.reason


def test_a_part_of_the_program_has_only_its_phases() -> None:
    part = bind(WORK, MACHINE, phases=["a"])
    formula = Formula("f", total=parse_text("P*t_s"), phases={"a": parse_text("t_s"), "b": parse_text("t_s")})
    values = values_of(formula, part, whole_program=False)
    assert (values.phases_s, values.total_s) == ({"a": T_S}, T_S)
    for whole in ("P*t_s", lambda P: P):
        values = values_of(whole, part, whole_program=False)
        assert values.total_s is None
        assert "whole program" in values.reason


@settings(max_examples=examples(40))
@given(
    st.lists(st.sampled_from([1, 2, 4, 16, 64]), min_size=1, max_size=4),
    st.lists(st.floats(1, 1e6), min_size=1, max_size=4),
    st.sampled_from(["log2(P)*(t_s + m*t_w)", "t_s/log2(P)", "where(m < 64 KiB, t_s, m*t_w)", "3 us", "twice*t_h"]),
)
def test_many_points_at_once_are_the_points_one_by_one(ranks: list[int], sizes: list[float], text: str) -> None:
    together = values_of(text, bind(WORK, MACHINE, {"P": ranks, "m": np.array(sizes)[:, None]})).total_s
    alone = [
        [values_of(text, bind(WORK, MACHINE, {"P": ranks_here, "m": size})).total_s for ranks_here in ranks]
        for size in sizes
    ]
    assert np.array_equal(together, np.array(alone, dtype=float), equal_nan=True)


def test_functions_in_python() -> None:
    def broadcast(P: Any, m: Any, t_s: Any, beta: Any, missing: float = 0.0) -> Any:
        return np.log2(P) * (t_s + m * beta) + missing

    many = bind(WORK, MACHINE, {"P": [2, 4]})
    values = values_of(broadcast, many)
    assert values.name == "broadcast"
    assert np.allclose(values.total_s, [T_S + M * T_W, 2 * (T_S + M * T_W)])
    parts = values_of(lambda t_s: {"phases": {"a": t_s, "b": 2 * t_s}, "components": {"communication": t_s}})
    assert (parts.total_s, parts.components_s) == (pytest.approx(3 * T_S), {"communication": T_S})
    with pytest.raises(InputError, match="no seconds"):
        values_of(lambda P: "soon")
    with pytest.raises(InputError, match="no seconds"):
        values_of(lambda P: [1, 2, 3], many)
    with pytest.raises(InputError, match="unknown key"):
        values_of(lambda P: {"totl": 1})
    with pytest.raises(InputError, match="unknown name 'size'"):
        values_of(lambda size: size)


def test_several_formulas_have_names() -> None:
    by_order = given_formulas(["t_s", "mine = t_s", lambda P: P]).formulas
    assert [formula.name for formula in by_order] == ["formula 1", "mine", "formula 3"]
    assert [formula.name for formula in given_formulas({"a": "t_s", "b": "2*t_s"}).formulas] == ["a", "b"]
    with pytest.raises(InputError, match="one name"):
        given_formulas(["a = t_s", "a = 2*t_s"])
    with pytest.raises(InputError, match="not a formula"):
        given_formulas([3])
    assert given_formulas(None).formulas == ()


def test_a_path_that_is_none_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"did you mean 'network\.startup'"):
        values_of("network.startp*P")


def test_a_negative_time_is_noted() -> None:
    assert any("negative" in note for note in values_of("t_s - 1 s").notes)


def test_own_symbols_cannot_need_each_other() -> None:
    circle = {"a": parse_text("2*b"), "b": parse_text("a")}
    with pytest.raises(InputError, match="need each other"):
        values_of(Formula("f", total=parse_text("a*t_s"), symbols=circle))


def test_unknown_phase_in_a_formula() -> None:
    with pytest.raises(InputError, match="no such phase"):
        values_of(Formula("f", phases={"c": parse_text("t_s")}))
