"""The forecast as a formula: equal to the forecast by numbers, and to a published equation by algebra."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.collectives.algorithm_form import ALGORITHM_FORMS
from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.formulas.formula import expanded, formula, formula_latex, phase_formula
from simcodesign.analytic.formulas.formula_prices import SYMBOLS
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import parse
from simcodesign.core.expressions.expression_sympy import to_sympy
from simcodesign.describe.demands.collective import ON_NODES, every_algorithm
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_workload
from simcodesign.report.results.workload_sheet import latex
from tests import examples
from tests.builders import algorithm_entry, network_of, workload
from tests.shipped_pairs import needs_memory, plain_workloads

sympy = pytest.importorskip("sympy")

#: Two sums of the same products in another order.
ROUNDING = 1e-12


def machine(seed: int = 0) -> Machine:
    """A machine of random constants and no hop latency."""
    draw = random.Random(seed)
    return Machine(
        "m",
        Processor(draw.uniform(1e6, 1e9), draw.uniform(1e6, 1e9), draw.uniform(0.5, 3)),
        network_of(
            build_topology("crossbar", 64),
            startup_s=draw.uniform(1e-6, 1e-3),
            per_byte_s=draw.uniform(1e-9, 1e-6),
            sends="blocking",
            packing_s=draw.uniform(1e-8, 1e-6),
            packing_per_byte_s=draw.uniform(1e-10, 1e-8),
        ),
        disk=Disk(draw.uniform(1e-4, 1e-2), draw.uniform(1e-4, 1e-2), draw.uniform(1e-9, 1e-6)),
    )


def constants(of: Machine, value_bytes: float) -> dict[str, float]:
    """The symbols of a formula on a machine."""
    assert of.disk is not None
    network = of.network
    return {
        "t_c": 1 / of.processor.rate_flop_per_s,
        "CPI": of.processor.cycles_per_instruction,
        "t_clk": 1 / of.processor.clock_hz,
        "t_s": network.message_model.startup_s,
        "t_w": value_bytes * network.message_model.per_byte_s,
        "t_B": network.message_model.per_byte_s,
        "t_q": network.packing_s,
        "t_v": network.packing_per_byte_s,
        "t_r": of.disk.read_startup_s,
        "t_x": of.disk.write_startup_s,
        "t_d": of.disk.per_byte_s,
    }


def number(expression: Any, values: dict[str, Any]) -> float:
    """The value by SymPy's printer and Python's mathematics, in which a sum needs whole numbers."""
    symbols = sorted(expression.free_symbols, key=str)
    compute = sympy.lambdify(symbols, expression, modules="math")
    given = [float(values[symbol.name]) for symbol in symbols]
    return float(compute(*[int(value) if value.is_integer() else value for value in given]))


def assert_is_the_forecast(
    described: Workload, ranks: int, given: dict[str, float] | None = None, seed: int = 0
) -> None:
    on = machine(seed)
    result = forecast(described, on, {**(given or {}), "P": ranks})
    values = {**result.values, **constants(on, result.values.get("value_bytes", 1.0))}
    formulas = formula(described)
    assert list(formulas) == list(described.phases())
    for phase, expression in formulas.items():
        time = sum(result.phases[phase].values())
        assert number(expression, values) == pytest.approx(time, rel=ROUNDING), phase
        inside = expanded(expression, described)
        assert {symbol.name for symbol in inside.free_symbols} <= {*described.parameters, "P", *SYMBOLS}
        assert number(inside, values) == pytest.approx(time, rel=ROUNDING), phase


BY_WHEN = ("ping-pong", "pipeline", "seismic-at-once", "serial-fraction")


@pytest.mark.parametrize("name", [name for name in plain_workloads() if not needs_memory(name) and name not in BY_WHEN])
@pytest.mark.parametrize("ranks", [16, 32, 64])
def test_shipped_workloads(name: str, ranks: int) -> None:
    """All but those whose ranks differ by 'when'."""
    described = load_workload(name)
    draw = random.Random(ranks)
    given = {
        key: min(parameter.default * draw.choice([1, 2, 3]), parameter.high)
        for key, parameter in described.parameters.items()
        if key != "P" and parameter.default is not None
    }
    assert_is_the_forecast(described, ranks, given, ranks)


@pytest.mark.parametrize(("name", "algorithm"), [key for key in every_algorithm() if key not in ON_NODES])
@pytest.mark.parametrize("ranks", [1, 2, 4, 64])
def test_every_collective(name: str, algorithm: str, ranks: int) -> None:
    size = "" if name == "barrier" else "bytes: 100, "
    assert_is_the_forecast(workload(f"[{{{name}: {{{size}{algorithm_entry(name, algorithm)}}}}}]"), ranks)


@pytest.mark.parametrize("ranks", [1, 2, 4, 64])
@pytest.mark.parametrize("segment", ["30", "1000", "n"])
def test_chains_in_segments(segment: str, ranks: int) -> None:
    """4 segments, one, and as many as a parameter of the workload makes of it."""
    described = workload(
        f"[{{broadcast: {{bytes: 100, algorithm: chain, segment: {segment}}}}}]", "parameters: {n: {default: 7}}\n"
    )
    assert_is_the_forecast(described, ranks, {"n": 7})


def test_no_collective_is_missing() -> None:
    assert set(ALGORITHM_FORMS) == set(every_algorithm())


@pytest.mark.parametrize(
    "exchange",
    [
        "{pattern: halo3d, bytes: [1, n, 8*n]}",
        "{pattern: halo3d, bytes: [1, n, 8*n], messages: [3, n, 2]}",
        "{pattern: halo3d, bytes: n, messages: n, train: 2}",
        "{pattern: halo2d, bytes: n, grid: [1, 64]}",
        "{pattern: halo2d, bytes: [5, n], grid: [2, 32], periodic: false, messages: 4}",
        "{pattern: halo2d, bytes: [5, n], grid: [2, 32]}",
        "{pattern: halo2d, bytes: n, grid: [1, 64], periodic: false}",
    ],
)
def test_exchanges(exchange: str) -> None:
    assert_is_the_forecast(workload(f"[{{exchange: {exchange}}}]", "parameters: {n: {default: 7}}\n"), 64)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("compute: {flops: 2*n}", "2*n*t_c"),
        ("compute: {seconds: n}", "n"),
        ("compute: {instructions: n}", "n*CPI*t_clk"),
        ("compute: {loops: [{range: n, operations: 3}, {range: 2, operations: k}]}", "(3*n + 2*k)*t_c"),
        ("read: {bytes: n, times: k}", "k*t_r + k*n*t_d"),
        ("write: {bytes: n}", "t_x + n*t_d"),
        ("send: {to: (rank + 1) % P, bytes: n}", "t_s + n*t_B"),
        ("receive: {from: (rank - 1) % P}", "0"),
        ("exchange: {pattern: halo2d, bytes: n, messages: k}", "4*k*(t_s + n*t_B)"),
        ("exchange: {pattern: halo2d, bytes: [n, 3*value_bytes]}", "4*t_s + 2*n*t_B + 6*t_w"),
        ("allreduce: {bytes: n, algorithm: reduce_broadcast}", "2*log2(P)*(t_s + n*t_B)"),
        ("allreduce: {bytes: n, algorithm: ring}", "2*(P - 1)*(t_s + n/P*t_B)"),
        ("broadcast: {bytes: 2*value_bytes*n + value_bytes}", "log2(P)*(t_s + (2*n + 1)*t_w)"),
        ("broadcast: {bytes: value_bytes/n}", "log2(P)*(t_s + t_w/n)"),
        ("broadcast: {bytes: n/value_bytes}", "log2(P)*(t_s + n/value_bytes*t_B)"),
        ("broadcast: {bytes: value_bytes + 1}", "log2(P)*(t_s + (value_bytes + 1)*t_B)"),
    ],
)
def test_by_hand(step: str, expected: str) -> None:
    head = "parameters: {n: {default: 7}, k: {default: 3}, value_bytes: {default: 8}}\n"
    formulas = formula(workload(f"[{{{step}}}]", head))
    assert sympy.simplify(formulas["main"] - to_sympy(parse(expected))) == 0


PAPER = """\
parameters:
  s_i: {default: 18}
  n_i: {default: 4913}
  N: {default: 4e12}
  cores: {default: 1024}
  eta: {default: 0.5}
  S: {default: 520}
  nt: {default: 1538}
  value_bytes: {default: 8}
"""


def test_published_iteration_of_conjugate_gradients() -> None:
    """Bhatele et al., IPDPS 2011: T_iter with P nodes of ``cores`` cores and S messages of nt values."""
    described = workload(
        "[{compute: {flops: ((2*s_i + 6)*n_i + N/(P*cores) + 2*log2(P))/eta}},"
        " {exchange: {pattern: halo3d, bytes: value_bytes*nt, messages: S/6}},"
        " {allreduce: {bytes: value_bytes, algorithm: reduce_broadcast}},"
        " {exchange: {pattern: halo3d, bytes: value_bytes*nt, messages: S/6}},"
        " {allreduce: {bytes: value_bytes, algorithm: reduce_broadcast}}]",
        PAPER,
    )
    s, n, N, cores, eta, S, nt, P, t_c, t_s, t_w = sympy.symbols("s_i n_i N cores eta S nt P t_c t_s t_w")
    lg = sympy.log(P) / sympy.log(2)
    flops = (2 * s + 6) * n + N / (P * cores) + 2 * lg
    published = flops / eta * t_c + 2 * (S + 2 * lg) * t_s + 2 * (S * nt + 2 * lg) * t_w
    main = formula(described)["main"]
    assert sympy.simplify(main.doit().rewrite(sympy.log) - published) == 0
    assert formula_latex(main) == (
        r"\frac{\left(\left(2 s_{i} + 6\right) n_{i} + \frac{N}{P cores} + 2 \operatorname{log}_{2}{\left(P \right)}\right)"
        r" t_{c}}{\eta} + 2 \left(S + 2 \operatorname{log}_{2}{\left(P \right)}\right) t_{s}"
        r" + 2 \left(S nt + 2 \operatorname{log}_{2}{\left(P \right)}\right) t_{w}"
    )


STEP = st.sampled_from(
    [
        "compute: {flops: a*b + 3*a}",
        "compute: {flops: 0.5*(a + b)}",
        "compute: {flops: 0}",
        "compute: {seconds: e}",
        "compute: {instructions: a/3 - b/9}",
        "compute: {loops: [{range: a, operations: 3*e}, {range: b, operations: a}]}",
        "read: {bytes: e, times: a/b}",
        "write: {bytes: value_bytes*a}",
        "send: {to: (rank + 1) % P, bytes: b*(value_bytes*a + value_bytes)}",
        "receive: {from: (rank - 1) % P}",
        "exchange: {pattern: halo1d, bytes: value_bytes*e}",
        "exchange: {pattern: halo2d, bytes: [e, a*value_bytes/6], messages: [a, 2]}",
        "exchange: {pattern: halo1d, bytes: sqrt(b), periodic: false, messages: e}",
        "barrier: {}",
        "all_to_all: {bytes: 'where(a < b, max(a, 3), ceil(e))', algorithm: bruck}",
        "all_to_all: {bytes: b//2 + a % 3}",
        "allreduce: {bytes: value_bytes, algorithm: reduce_broadcast}",
        "allreduce: {bytes: value_bytes*P, algorithm: ring}",
        "broadcast: {bytes: a/(b*P)}",
    ]
).map("{{{}}}".format)
BLOCK = st.tuples(
    st.sampled_from(["", "phase: x, ", "phase: y, "]),
    st.sampled_from(["1", "a", "a + 1", "3", "e*b", "0"]),
    st.sampled_from(
        [
            "",
            "network.per_byte: 0.3 us/B",
            "network.per_byte: e/1e9, network.startup: 0",
            "processor.rate: 1e6*e",
            "disk.read_startup: 2 ms, processor.clock: 1 GHz",
            "processor.rate: 2 GFLOP/s",
        ]
    ),
)
STEPS = st.recursive(
    STEP,
    lambda inner: st.tuples(BLOCK, st.lists(inner, min_size=1, max_size=4)).map(
        lambda it: f"{{{it[0][0]}repeat: {it[0][1]}, constants: {{{it[0][2]}}}, do: [{', '.join(it[1])}]}}"
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(STEPS, min_size=1, max_size=4), st.sampled_from([16, 32, 64]), *[st.integers(1, 9)] * 3)
def test_any_program(steps: list[str], ranks: int, a: int, b: int, seed: int) -> None:
    head = (
        "parameters: {a: {default: 1}, b: {default: 2}, value_bytes: {default: 8}}\nequations: {e: c + b/P, c: a*a}\n"
    )
    if a < b / 3 or any("instructions" in step for step in steps):
        a, b = 9, b  # the instructions above must not be negative
    assert_is_the_forecast(workload(f"[{', '.join(steps)}]", head), ranks, {"a": a, "b": b}, seed)


def test_phases_and_their_repetitions() -> None:
    described = workload(
        "[{compute: {flops: 1}}, {phase: a, repeat: n, do: [{compute: {flops: 2}},"
        " {phase: b, repeat: 3, do: [{compute: {flops: n}}]}]}]",
        "parameters: {n: {default: 1}}\n",
    )
    texts = {"main": "t_c", "a": "2*n*t_c", "a/b": "3*n*n*t_c"}
    formulas = formula(described)
    assert list(formulas) == list(texts)
    for phase, text in texts.items():
        assert sympy.simplify(formulas[phase] - to_sympy(parse(text))) == 0


@pytest.mark.parametrize(
    ("step", "what"),
    [
        ("compute: {flops: 1, when: rank == 0}", "'when' makes ranks differ"),
        ("compute: {flops: rank}", "ranks differ"),
        ("send: {to: 0, bytes: 8*rank}", "ranks differ"),
        ("{repeat: 2, constants: {network.receive_overhead: 1 us}, do: [{barrier: {}}]}", "network.receive_overhead"),
        ("{repeat: 2, constants: {network.hop_latency: n}, do: [{barrier: {}}]}", "network.hop_latency"),
        (
            "{repeat: 2, constants: {network.L: 1, network.o: 1, network.g: 1, network.G: 0}, do: [{barrier: {}}]}",
            "network.L",
        ),
    ],
)
def test_where_there_is_no_formula(step: str, what: str) -> None:
    program = (
        f"[{{phase: bad, do: [{step if step[0] == '{' else f'{{{step}}}'}]}}, {{phase: good, do: [{{barrier: {{}}}}]}}]"
    )
    described = workload(program, "parameters: {n: {default: 1}}\n")
    with pytest.raises(InputError, match=what) as error:
        formula(described)
    assert error.value.place is not None
    assert error.value.place.line is not None
    assert phase_formula(described, "good") is not None
    words = [line for line in latex(described).splitlines() if "no formula of phase bad" in line]
    assert len(words) == 1
    assert words[0].startswith("%")
    assert what in words[0]
    assert r"T_{\text{good}} = \operatorname{log}_{2}{\left(P \right)} t_{s}" in latex(described)


def test_zero_constants_of_what_is_left_out_are_fine() -> None:
    program = "[{repeat: 2, constants: {network.receive_overhead: 0, network.hop_latency: 0}, do: [{barrier: {}}]}]"
    assert_is_the_forecast(workload(program), 16)


def test_a_name_of_the_workload_that_is_a_symbol() -> None:
    head = "parameters: {t_c: {default: 1}}\n"
    with pytest.raises(InputError, match="the name t_c of the workload"):
        formula(workload("[{compute: {flops: 1}}]", head))
    own = workload("[{constants: {processor.rate: 1/t_c}, do: [{compute: {flops: 3}}]}]", head)
    assert formula_latex(formula(own)["main"]) == "3 t_{c}"
    assert "% t_c" not in latex(own)


@pytest.mark.parametrize("huge", ["9**9**9**9", "(9*n)**9**9**9", "-9**9**9**9", "exp(9**9**9)", "log2(9**9**9**9)"])
def test_nothing_is_computed_on_the_way(huge: str) -> None:
    head = f"parameters: {{n: {{default: 1}}, value_bytes: {{default: 8}}}}\nequations: {{e: {huge}, f: 2*e*n + e}}\n"
    steps = f"{{compute: {{flops: {huge}*n + {huge}}}}}, {{compute: {{flops: e/f}}}}, {{barrier: {{}}}}"
    steps += f", {{broadcast: {{bytes: value_bytes*{huge} + value_bytes/({huge})}}}}"
    described = workload(f"[{{repeat: {huge}, constants: {{network.startup: f*{huge}}}, do: [{steps}]}}]", head)
    main = formula(described)["main"]
    assert formula_latex(main)
    assert formula_latex(expanded(main, described))


def test_every_function_takes_equations() -> None:
    parts = "log2(e) + log(e) + log10(e) + exp(e/99) + sqrt(e) + ceil(e) + floor(e) + abs(e) + min(e, 3) + max(e, n, 5)"
    parts += " + where(e < n, e, 2*e) + where((e < 9)*(1 < e), e, 1) + (e > 3) + e // 3 + e % 3 - e**0.5 + -e*-e"
    described = workload(
        f"[{{compute: {{flops: '{parts}'}}}}]", "parameters: {n: {default: 7.3}}\nequations: {e: 2*n + 1}\n"
    )
    assert_is_the_forecast(described, 1)


def test_equations_that_become_literals_and_conditions() -> None:
    head = "parameters: {n: {default: 7}}\nequations: {two: 2, c: 'where(n < 3, 1, 2)'}\n"
    assert_is_the_forecast(workload("[{compute: {flops: 'where(two < 9, n, 1)'}}]", head), 1)
    nested = workload("[{compute: {flops: 'where(c < 2, n, 1)'}}]", head)
    with pytest.raises(InputError, match="a condition within a condition"):
        expanded(formula(nested)["main"], nested)


@pytest.mark.thorough
def test_equations_are_not_put_in_without_limit() -> None:
    doubled = "".join(f"  e{i + 1}: e{i} + e{i}\n" for i in range(300))
    described = workload(
        "[{compute: {flops: e300}}]", f"parameters: {{n: {{default: 1}}}}\nequations:\n  e0: n\n{doubled}"
    )
    main = formula(described)["main"]
    assert formula_latex(main) == "e_{300} t_{c}"
    with pytest.raises(InputError, match="more than 20,000 parts"):
        expanded(main, described)
    small = workload("[{compute: {flops: e9}}]", f"parameters: {{n: {{default: 1}}}}\nequations:\n  e0: n\n{doubled}")
    assert math.isclose(number(expanded(formula(small)["main"], small), {"n": 1, "t_c": 1}), 512)
    chain = "".join(f"  e{i + 1}: sqrt(e{i})\n" for i in range(3000))
    deep = workload("[{compute: {flops: e3000}}]", f"parameters: {{n: {{default: 1}}}}\nequations:\n  e0: n\n{chain}")
    with pytest.raises(InputError, match="nested too deeply"):
        formula_latex(expanded(formula(deep)["main"], deep))


def test_latex_names_phases_and_symbols() -> None:
    text = latex(workload('[{phase: "a_b & c", do: [{read: {bytes: 5}}]}]'))
    assert r"T_{\text{a\_b \& c}} = t_{r} + 5 t_{d}" in text.splitlines()
    assert "% t_r: startup of a read, disk.read_startup" in text.splitlines()
    assert "% t_s" not in text


def test_what_caches_serve_has_no_formula() -> None:
    with pytest.raises(InputError, match="no formula"):
        formula(load_workload("matmul"))
