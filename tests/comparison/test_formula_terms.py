"""What formulas leave out against the derived model: nothing of the derived formula itself, and terms that add up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.formulas.formula import formula
from simcodesign.analytic.given_formulas.values import FormulaValues, formula_values, given_formulas
from simcodesign.comparison.compare import compare
from simcodesign.comparison.formulas.terms import BEYOND_SYMBOLS, LeftOut, left_out
from simcodesign.core.expressions.expression import parse
from simcodesign.describe.formulas.formula import Formula
from simcodesign.describe.scenario import Scenario
from tests import examples
from tests.builders import read_machine, workload

pytest.importorskip("sympy")

MACHINE = read_machine("""
simcodesign: 1
name: hockney
nodes: 1024
processor: {rate: 1 GFLOP/s}
network: {startup: 5 us, bandwidth: 1 GB/s, sends: blocking, topology: {kind: crossbar}}
""")
T_S, T_W = 5e-6, 1e-9
BROADCAST = workload("- broadcast: {bytes: m}\n", "parameters: {m: {default: 1000, unit: B}}\n")
SEVERAL = workload(
    """- broadcast: {bytes: m}
- repeat: n
  do: [all_to_all: {bytes: twice, algorithm: pairwise}, compute: {flops: 2*n**3}]
""",
    "parameters: {m: {default: 1000, unit: B}, n: 3}\nequations: {twice: 2*m}\n",
)


def difference(
    text: Any, work: Any = BROADCAST, machine: Any = MACHINE, **values: Any
) -> tuple[FormulaValues, LeftOut]:
    scenario = Scenario.of(work, machine, values)
    (given_formula,) = given_formulas(text).formulas
    values_here = formula_values(given_formula, scenario.bind())
    return values_here, left_out(values_here, scenario.bind(), forecast(scenario))


def terms_of(*arguments: Any, **values: Any) -> dict[str, float]:
    _, rest = difference(*arguments, **values)
    assert rest.why == ""
    return {term.text: term.time_s for term in rest.terms}


def test_what_is_missing_has_its_symbols_and_its_time() -> None:
    assert terms_of("t_s + m*t_w", P=16) == {
        "t_s*(log2(P) - 1)": pytest.approx(3 * T_S),
        "m*t_w*(log2(P) - 1)": pytest.approx(3 * 1000 * T_W),
    }
    assert terms_of("alpha*log2(p)", P=16) == {"m*t_B*log2(p)": pytest.approx(4000 * T_W)}


def test_hops_are_a_line_of_their_own() -> None:
    """One hop of 2 us for each of the four messages that follow one another, on a crossbar of 16."""
    machine = MACHINE.with_constants({"network.hop_latency": 2e-6})
    assert terms_of("log2(P)*t_s", machine=machine, P=16) == {
        "m*t_B*log2(P)": pytest.approx(4 * 1000 * T_W),
        "hops, by the distance law one": pytest.approx(4 * 2e-6),
    }


def test_what_is_too_much_is_negative() -> None:
    assert terms_of("P*(t_s + m*t_w)", P=16) == {
        "t_s*(P - log2(P))": pytest.approx(-12 * T_S),
        "m*t_w*(P - log2(P))": pytest.approx(-12000 * T_W),
    }


@pytest.mark.parametrize(
    ("work", "machine", "ranks"),
    [
        ("burst", "crossbar-16", 16),
        ("transpose", "crossbar-16", 8),
        ("cg-iteration", "power-challenge", 16),
        ("random-steps", "power-challenge", 8),
        ("collectives", "crossbar-16", 16),
        (SEVERAL, MACHINE, 64),
    ],
)
def test_the_derived_formula_leaves_nothing_out(work: Any, machine: Any, ranks: int) -> None:
    described = Scenario.of(work, machine).workload
    text = " + ".join(f"({phase})" for phase in formula(described).values()).replace("Min(", "min(")
    values_here, rest = difference(Formula("derived", parse(text)), work, machine, P=ranks)
    named = {term.text for term in rest.terms}
    assert named <= {BEYOND_SYMBOLS}, named  # rounding only, where no effect of the machine is beyond the symbols
    assert rest.why == ""
    assert sum(term.time_s for term in rest.terms) == pytest.approx(
        float(forecast(work, machine, {"P": ranks}).headline_s) - float(values_here.total_s or 0), abs=1e-9
    )


@pytest.mark.parametrize(
    "text",
    [
        "log2(P)*t_s + log2(P)*m*t_w + 0",
        "(t_s + t_w*m)*log2(P)",
        "log2(P)*(2*network.startup + 2*m*network.per_byte)/2",
        "alpha*log2(p) + m*beta*log2(p)",
        "tau*(t_s + m*t_w)",
        "sqrt(P)*log2(P)*(t_s + m*t_w)/P**(1/2)",
        "P**3*log2(P)*(t_s + m*t_w)/(P**2)/sqrt(P**2)",
    ],
)
def test_the_same_in_other_words_leaves_nothing_out(text: str) -> None:
    own = Formula("own", parse(text, with_units=True), symbols={"tau": parse("log2(P)", with_units=True)})
    assert terms_of(own, P=16) == {}


def test_equations_are_put_in() -> None:
    pairwise = "n*(P - 1)*(t_s + twice*t_w)"
    assert terms_of(f"log2(P)*(t_s + m*t_w) + {pairwise}", SEVERAL, P=8) == {"2*n**4*t_c": pytest.approx(2 * 81e-9)}


def test_a_word_makes_t_w_a_time_per_value() -> None:
    own = Formula("own", parse("log2(P)*(t_s + m/8*t_w)"), word=parse("8 B", with_units=True))
    assert terms_of(own, workload("- broadcast: {bytes: m}\n", "parameters: {m: 1000}\n"), P=16) == {}
    by_values = workload("- broadcast: {bytes: 8*n}\n", "parameters: {n: 125}\n")
    assert terms_of("log2(P)*(t_s + 8*n*t_w)", by_values, P=16) == {}
    values = workload("- broadcast: {bytes: value_bytes*n}\n", "parameters: {n: 125, value_bytes: 8}\n")
    assert terms_of("log2(P)*(t_s + n*t_w)", values, P=16) == {}


def test_beyond_the_symbols_there_is_a_rest() -> None:
    terms = terms_of("log2(P)*(t_s + m*t_w)", P=12)  # the derived formula is of powers of two
    assert terms == {BEYOND_SYMBOLS: pytest.approx((4 - 3.584962500721156) * (T_S + 1000 * T_W), rel=1e-9)}


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.sampled_from(
            ["t_s", "m*t_w", "2.5 us", "log2(P)*t_s", "n**3*t_c", "n*(P - 1)*(t_s + m*t_w)", "1e-9*m", "twice*t_w/P"]
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([1, 2, 3, 8, 12, 64]),
    st.sampled_from([" + ", " - "]),
)
def test_terms_add_up_to_the_difference(parts: list[str], ranks: int, sign: str) -> None:
    text = sign.join(parts)
    values_here, rest = difference(text, SEVERAL, P=ranks)
    assert rest.why == ""
    whole_s = float(forecast(SEVERAL, MACHINE, {"P": ranks}).headline_s)
    assert values_here.total_s is not None
    assert sum(term.time_s for term in rest.terms) == pytest.approx(
        whole_s - float(values_here.total_s), rel=1e-8, abs=1e-14
    )


def test_why_there_are_no_terms() -> None:
    loggop = read_machine("""
simcodesign: 1
name: logp
nodes: 64
processor: {rate: 2 GFLOP/s}
network: {model: loggop, L: 5 us, o: 2 us, g: 3 us, G: 1 ns/B, topology: {kind: crossbar}}
""")
    assert "Hockney" in difference("L + 2*o", BROADCAST, loggop, P=8)[1].why
    assert "Python" in difference(lambda P: P, P=8)[1].why
    assert "no formula" in difference("P*t_s", "kripke", "torus-cluster", P=8)[1].why
    assert "no total" in difference(Formula("f", components={"communication": parse("t_s")}), P=8)[1].why


def test_constants_that_a_phase_replaces_stand_for_themselves() -> None:
    program = "- {phase: a, constants: {network.startup: 2e-6}, do: [broadcast: {bytes: m}]}\n- broadcast: {bytes: m}\n"
    replaced = workload(program, "parameters: {m: {default: 1000, unit: B}}\n")
    assert terms_of("2*log2(P)*(t_s + m*t_w)", replaced, P=8) == {
        "t_s*log2(P)": pytest.approx(-3 * T_S),
        "2.0e-6*log2(P)": pytest.approx(6e-6),
    }


def test_checkpoints_are_a_term_of_their_own() -> None:
    head = "parameters: {m: 1000}\ncheckpoints: {interval: 1e-6, write: 1e-6}\n"
    terms = terms_of("log2(P)*(t_s + m*t_w)", workload("- broadcast: {bytes: m}\n", head), P=8)
    assert [*terms] == ["phase checkpoints"]
    assert terms["phase checkpoints"] > 0


def test_a_phase_without_a_formula_is_a_term_of_its_own() -> None:
    mixed = workload(
        "- broadcast: {bytes: m}\n- phase: ranks\n  do: [compute: {flops: 1e3*rank}]\n", "parameters: {m: 1000}\n"
    )
    terms = terms_of("log2(P)*(t_s + m*t_w)", mixed, P=8)
    assert [*terms.values()] == [pytest.approx(7e-6)]
    assert next(iter(terms)).startswith("phase ranks")


PHASES = workload(
    """- {phase: spread, do: [broadcast: {bytes: m}]}
- {phase: shift, do: [all_to_all: {bytes: m, algorithm: pairwise}]}
""",
    "parameters: {m: {default: 1000, unit: B}}\n"
    "formulas: {short: {phases: {spread: log2(P)*m*t_w, shift: (P - 1)*t_s}}, whole: {total: P*t_s, phases: {spread: t_s}}}\n",
)


@pytest.mark.parametrize("phase", ["spread", "shift"])
def test_terms_are_those_of_the_phases_that_run(phase: str) -> None:
    """By hand: a broadcast among 16 has four messages, a pairwise exchange fifteen; the total of ``whole``, which is of
    both phases, is no formula of one."""
    short, whole = compare(PHASES, MACHINE, {"P": 16}, phases=[phase], effects=()).formulas
    terms = {term.text: term.time_s for term in short.left_out.terms}
    if phase == "spread":
        assert terms == {"t_s*log2(P)": pytest.approx(4 * T_S)}
        assert {term.text for term in whole.left_out.terms} == {"t_s*(log2(P) - 1)", "m*t_B*log2(P)"}
    else:
        assert terms == {"m*t_w*(P - 1)": pytest.approx(15 * 1000 * T_W)}
        assert whole.left_out.terms == ()


def test_branches_that_are_not_taken_have_no_part() -> None:
    """An ``auto`` branch, which has no formula, is not done where algo is 0."""
    branches = workload(
        """- repeat: algo == 0
  do: [broadcast: {bytes: m}]
- repeat: algo == 4
  do: [allreduce: {bytes: 2*m, algorithm: auto}]
""",
        "parameters: {m: {default: 1000, unit: B}, algo: 0}\n",
    )
    _, rest = difference("log2(P)*(t_s + m*t_w)", branches, P=16)
    assert rest.why == ""
    assert rest.terms == ()
    assert forecast(Scenario.of(branches, MACHINE, {"P": 16})).algorithms == ()
    _, rest = difference("log2(P)*(t_s + m*t_w)", branches, P=16, algo=4)
    assert "auto" in rest.why
