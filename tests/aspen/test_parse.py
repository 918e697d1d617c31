"""The Aspen grammar: expressions against Python's own, every construct, places, includes."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.aspen.nodes import SI_WORDS, aspen_text, native
from simcodesign.aspen.parse import parse_file, parse_text
from simcodesign.aspen.tree import (
    Argument,
    Call,
    Data,
    Enumeration,
    Execute,
    Group,
    If,
    Import,
    Iterate,
    Local,
    Numbers,
    Parameter,
    Part,
    Probability,
    Resource,
    Switch,
)
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression, Number, Operation
from simcodesign.core.expressions.expression_sympy import to_sympy

NAMES = {"a": 3.0, "b": 0.5, "cc": 7.0, "size": 2.0, "inner": 1.5}


def expression(text: str) -> Expression:
    (parameter,) = parse_text(f"param result = {text}").definitions
    assert isinstance(parameter, Parameter)
    return parameter.value


def value(text: str) -> float:
    return float(expression(text).evaluate(NAMES))


# --- expressions ------------------------------------------------------------------------------------------------

LITERAL = re.compile(r"(?<![\w.])(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
ATOMS = st.sampled_from([*NAMES, "1.0", "2.", ".25", "3e0", "1.5E+1", "kilo", "nano"])


def combined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(parts, st.sampled_from(["+", " - ", "*", " /", "^ "]), parts).map("".join),
        parts.map(lambda text: f"-{text}"),
        parts.map(lambda text: f"( {text})"),
        parts.map(lambda text: f"sqrt({text})"),
        st.tuples(parts, parts).map(lambda pair: f"max({pair[0]}, {pair[1]})"),
    )


@given(st.recursive(ATOMS, combined, max_leaves=12))
def test_expressions_are_pythons(text: str) -> None:
    # ^ binds to the right and tighter than the unary minus, like ** in Python.
    names = {name: np.float64(number) for name, number in {**NAMES, **SI_WORDS}.items()}
    python = LITERAL.sub(r"number('\g<0>')", text.replace("^", "**"))
    with np.errstate(all="ignore"):
        expected = eval(python, {"sqrt": np.sqrt, "max": np.maximum, "number": np.float64}, names)
    np.testing.assert_array_equal(expression(text).evaluate(NAMES), float(expected))


@given(st.recursive(ATOMS, combined, max_leaves=12))
def test_expressions_survive_their_text(text: str) -> None:
    once = expression(text)
    again = expression(once.text)
    assert again.tree == once.tree
    assert again.text == once.text == aspen_text(once.tree)
    assert native(once).tree == once.tree


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2^3^2", 512.0),
        ("-2^2", -4.0),
        ("2^-1", 0.5),
        ("2^-2^2", 2.0**-4),
        ("7 - 2 - 1", 4.0),
        ("8 / 4 / 2", 1.0),
        ("2 * -3", -6.0),
        ("--3", 3.0),
        ("20 * nano", 20 * 1e-9),
        ("exa / peta", 1000.0),
        ("log(8) / log(2)", np.log(8) / np.log(2)),
        ("log2(8) + floor(1.5) + ceil(1.5) + min(1, 2, 3)", 3 + 1 + 2 + 1),
        ("1//comment\n+ 2", 3.0),
    ],
)
def test_values(text: str, expected: float) -> None:
    assert value(text) == expected


def test_a_thousand_points_at_once() -> None:
    n = np.linspace(1.0, 9.0, 1000)
    values = expression("5 * a * log2(a) ^ 2").evaluate({"a": n})
    np.testing.assert_array_equal(values, 5 * n * np.log2(n) ** 2)


def test_a_formula_goes_to_sympy() -> None:
    sympy = pytest.importorskip("sympy")
    a, b = sympy.symbols("a b")
    assert to_sympy(native(expression("-a^b + 2*max(a, b)"))).equals(-(a**b) + 2 * sympy.Max(a, b))


@pytest.mark.parametrize("text", ["t[1]", "lookup(t, u, 3)", "uniform(0, 1)", "other.name"])
def test_what_has_no_native_formula(text: str) -> None:
    with pytest.raises(InputError):
        native(expression(text))


def test_a_product_and_its_size() -> None:
    (model,) = parse_text("model m { kernel k { execute { loads [n^2] of size [w + 1] from d as s(2*w), t } } }").models
    (block,) = model.kernels[0].body
    assert isinstance(block, Execute)
    (use,) = block.uses
    assert use.amount.text == "n^2 * (w + 1)"
    assert (use.resource, use.data, [trait.name for trait in use.traits]) == ("loads", "d", ["s", "t"])
    assert use.traits[0].argument is not None
    assert use.traits[0].argument.text == "2 * w"


# --- constructs -------------------------------------------------------------------------------------------------


def test_definitions() -> None:
    definitions = parse_text("""
        param x = 1 in 0 .. 2*kilo      // a range
        param y = B in E
        enum E { A, B }
        param v[] = { 1, 2.5, kilo }
        param t[][] = { {1, 2}, {3} }
        data d as Matrix(n, n, 8)
        data e [3*n]
        import other from "o/other.aspen" with n = x + 1, d = e
    """).definitions
    x, y, enum, v, t, d, e, other = definitions
    assert isinstance(x, Parameter)
    assert (str(x.low and x.low.text), str(x.high and x.high.text)) == ("0", "2 * 1000")
    assert isinstance(y, Parameter)
    assert y.choices == "E"
    assert isinstance(enum, Enumeration)
    assert enum.members == ("A", "B")
    assert isinstance(v, Numbers)
    assert [[number.text for number in row] for row in v.rows] == [["1", "2.5", "1000"]]
    assert isinstance(t, Numbers)
    assert [len(row) for row in t.rows] == [2, 1]
    assert isinstance(d, Data)
    assert isinstance(e, Data)
    assert (d.size_bytes.text, e.size_bytes.text) == ("n * n * 8", "3 * n")
    assert isinstance(other, Import)
    assert [(name, argument.text) for name, argument in other.arguments] == [("n", "x + 1"), ("d", "e")]


def test_statements() -> None:
    (model,) = parse_text("""
        model m {
          kernel k(param x, data d) {
            sample s from normal(0, 1)
            param y = 2
            execute [x] "block" { flops [1] }
            call other.k(1, d)  call plain  call empty()
            iterate i [3] "loop" { } map [4] { call plain }
            par { call a call b } seq "one" { }
            if (x < 1 and y >= 2) { call a } else if (x == 3) { } else { call b }
            switch (x) { [1] { call a } [2] { } else { call b } }
            probability { [0.5] { call a } }
          }
        }
    """).models
    (kernel,) = model.kernels
    assert kernel.arguments == (Argument("x", False), Argument("d", True))
    sample, local, block, other, plain, empty, loop, spread, par, seq, choice, switch, chance = kernel.body
    assert isinstance(sample, Local)
    assert isinstance(local, Local)
    assert isinstance(block, Execute)
    assert block.label == "block"
    assert [call.name for call in (other, plain, empty) if isinstance(call, Call)] == ["other.k", "plain", "empty"]
    assert isinstance(other, Call)
    assert len(other.arguments) == 2
    assert isinstance(loop, Iterate)
    assert (loop.is_map, loop.counter, loop.label) == (False, "i", "loop")
    assert isinstance(spread, Iterate)
    assert (spread.is_map, spread.counter, len(spread.body)) == (True, None, 1)
    assert isinstance(par, Group)
    assert isinstance(seq, Group)
    assert (par.is_parallel, len(par.body), seq.is_parallel, seq.label) == (True, 2, False, "one")
    assert isinstance(choice, If)
    assert isinstance(choice.otherwise[0], If)
    assert len(choice.otherwise[0].otherwise) == 1
    assert isinstance(switch, Switch)
    assert isinstance(chance, Probability)
    assert (len(switch.cases), len(switch.otherwise), len(chance.cases), chance.otherwise) == (2, 1, 1, ())


def test_components() -> None:
    (component,) = parse_text("""
        node N {
          socket [2*n] S  memory M
          property wide  property deep [3]
          resource loads(bytes) [bytes / 4] with far [base*2], copied(k) [k*base]
          conflict loads, flops  static power [10]  dynamic power [20]
        }
    """).components
    assert (component.kind, component.name, len(component.members)) == ("node", "N", 8)
    first, second, *_ = component.members
    assert isinstance(first, Part)
    assert isinstance(second, Part)
    assert (first.count and first.count.text, second.count) == ("2 * n", None)
    resource = component.members[4]
    assert isinstance(resource, Resource)
    assert [(trait.name, trait.argument, trait.time_s.text) for trait in resource.traits] == [
        ("far", None, "base * 2"),
        ("copied", "k", "k * base"),
    ]


def test_keywords_begin_names() -> None:
    definitions = parse_text(
        "param inner = 1 in 0 .. 2 param toto = ifs + order param order = 3 param ofsize = kilos"
    ).definitions
    assert [item.name for item in definitions] == ["inner", "toto", "order", "ofsize"]


def test_numbers_next_to_a_range() -> None:
    (result,) = parse_text("param n = 1 in 1..2").definitions
    assert isinstance(result, Parameter)
    assert (result.low and result.low.tree, result.high and result.high.tree) == (
        Number(np.float64(1)),
        Number(np.float64(2)),
    )


@given(st.text(alphabet="{}()[]param x=1+-*/^.,<>\"'\n//include #", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(InputError):
        parse_text(text)


# --- places and files -------------------------------------------------------------------------------------------


def test_places_are_those_of_the_included_files(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "core.aspen").write_text("// a core\n\ncore C {\n  property p [x y]\n}\n", encoding="utf-8")
    top = tmp_path / "top.aspen"
    top.write_text("param x = 1\n  include parts/core.aspen  // textual\nparam z = 2\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        parse_file(top)
    assert str(error.value).startswith(
        f"{tmp_path / 'parts' / 'core.aspen'}:4: column 17: the model cannot be read: found 'y'"
    )
    (tmp_path / "parts" / "core.aspen").write_text("core C {\n  property p [x]\n}", encoding="utf-8")
    file = parse_file(top)
    assert [(place.file.rsplit("/", 1)[1], place.line) for place in (item.place for item in file.definitions)] == [
        ("top.aspen", 1),
        ("top.aspen", 3),
    ]
    assert len(file.files) == 2


def test_includes_are_relative_to_the_top_file_then_to_their_own(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "one.aspen").write_text("include a/two.aspen\ninclude b/three.aspen\n", encoding="utf-8")
    (tmp_path / "a" / "two.aspen").write_text("param two = 2\r\n", encoding="utf-8")
    (tmp_path / "a" / "b" / "three.aspen").write_text("param three = 3", encoding="utf-8")
    (tmp_path / "top.aspen").write_text("include a/one.aspen", encoding="utf-8")
    assert [item.name for item in parse_file(tmp_path / "top.aspen").definitions] == ["two", "three"]


def test_what_stands_elsewhere_is_the_same() -> None:
    one, other = parse_text("param x = 1 + 2").definitions, parse_text("\n\n  param   x = (1+2)").definitions
    assert one == other
    assert isinstance(one[0], Parameter)
    assert isinstance(one[0].value.tree, Operation)
