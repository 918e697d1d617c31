"""What is wrong with an Aspen model is said in one line: what was found, where, and what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simcodesign.aspen.application import load_application
from simcodesign.aspen.machine import load_machine
from simcodesign.aspen.timing import run_time
from simcodesign.core.errors import InputError
from tests.hanging import no_hang

MACHINE = """param clock = 1 in 1 .. 2
machine M { socket [2] S  socket [1] T }
socket S { core [4] C }
core C { resource flops(n) [n / clock] with dp [base * 2], copied(k) [k * base]  resource lost(n) [n / nowhere] }
socket T { property empty }
"""


def refused(action: Callable[[], object]) -> str:
    with pytest.raises(InputError) as error:
        action()
    text = str(error.value)
    assert "\n" not in text
    assert len(text) < 500
    return text


def run(folder: Path, text: str, parameters: dict[str, Any] | None = None, socket: str = "S", **options: Any) -> object:
    (folder / "m.aspen").write_text(MACHINE, encoding="utf-8")
    (folder / "a.aspen").write_text(text, encoding="utf-8")
    machine = load_machine(folder / "m.aspen")
    return run_time(load_application(folder / "a.aspen"), machine, socket, parameters, **options).seconds


MAIN = "model a {\n%s\nkernel main {\n%s\n}\n}"


@pytest.mark.parametrize(
    ("globals_", "body", "line", "column", "message"),
    [
        # syntax
        ("", "execute { flops 1 }", 4, 17, "the model cannot be read: found '1' (allowed: '[')"),
        ("", "execute { flops [ ] }", 4, 19, "the model cannot be read: found ']' (allowed: an expression)"),
        ("", "execute { flops [1 2] }", 4, 20, "the model cannot be read: found '2' (allowed: an operator or ']')"),
        ("", "while [3] { }", 4, 1, "the model cannot be read: found 'while' (allowed: 'call', "),
        ("", "iterate 3 { }", 4, 9, "the model cannot be read: found '3' (allowed: a name or '[')"),
        ("param x = ?", "", 2, 11, "the model cannot be read: found '?' (allowed: an expression)"),
        ("param x = 3 in 4", "", 2, 16, "a range needs '..' between its ends"),
        ("param kilo = 3", "", 2, 7, "'kilo' is a number, so that no name can be the same"),
        ("param x = 1e999", "", 2, 11, "this number is too large"),
        ("param v[] = {1, x}", "", 2, 17, "this value must be a constant"),
        ("param x = log3(4)", "", 2, 11, "unknown function 'log3': did you mean 'log'?"),
        ("param x = max(4)", "", 2, 11, "max is called with 1 arguments (allowed: 2 or more)"),
        ("param x = lookup(1, v, 2)", "", 2, 18, "this is not the name of an array"),
        # definitions
        ("param x = 1 param x = 2", "", 2, 13, "x is defined twice"),
        ("enum E {a, b} param b = 2", "", 2, 15, "b is defined twice"),
        ("param x = 1 in E", "", 2, 1, "unknown enum 'E'"),
        ("param x = 1 in 3 .. 2", "", 2, 1, "the range of x is empty, got '3 .. 2'"),
        ("param x = y param y = z param z = x", "", 2, 11, "parameters depend on each other: x -> y -> z -> x"),
        ("param x = x + 1", "", 2, 11, "parameters depend on each other: x -> x"),
        ("data d [d]", "", 2, 9, "parameters depend on each other: d -> d"),
        ('import b from "b.aspen"', "", 2, 1, "no such file, got 'b.aspen'"),
        # kernels
        ("kernel b { }", "call c", 4, 1, "unknown kernel 'c' (allowed: b, main)"),
        ("kernel b(param x) { }", "call b", 4, 1, "b is called with 0 arguments (allowed: 1: x)"),
        ("kernel b { }", "call b(1)", 4, 1, "b is called with 1 arguments (allowed: 0)"),
        ("kernel main { }", "", 3, 1, "kernel main is defined twice"),
        ("", "iterate [2] { call main }", 4, 15, "kernels call each other: main -> main"),
        ("", "call b.c", 4, 1, "unknown import 'b'"),
        # values
        ("", "execute { flops [many] }", 4, 18, "unknown name 'many'"),
        ("param bytes = 1", "execute { flops [byte] }", 4, 18, "unknown name 'byte': did you mean 'bytes'?"),
        ("param v[] = {1, 2}", "execute { flops [v[2]] }", 4, 18, "index 2 is outside the array v (allowed: 0 to 1)"),
        ("param v[] = {1, 2}", "execute { flops [v[0 - 1]] }", 4, 18, "index -1 is outside the array v"),
        ("param v[] = {1, 2}", "execute { flops [v] }", 4, 18, "this array needs an index"),
        ("param v[] = {1, 2}", "execute { flops [v[1][1]] }", 4, 18, "v is used with 2 indices"),
        ("param v = 1", "execute { flops [v[1]] }", 4, 18, "v is a number, not an array"),
        (
            "param v[] = {1} param w[] = {1, 2}",
            "execute { flops [lookup(v, w, 1)] }",
            4,
            18,
            "v and w must be arrays of the same length",
        ),
        ("param v[] = {1, 1}", "execute { flops [lookup(v, v, 1)] }", 4, 18, "the numbers of v do not rise"),
        ("", "iterate [-1] { }", 4, 10, "the number of iterations is negative, got '-1 = -1'"),
        ("", "iterate i [1e9] { execute { flops [i] } }", 4, 12, "counter i counts to 1e+09, which is too far"),
        ("", "probability { [0.7] { } [0.6] { } }", 4, 26, "a probability is out of range, got '0.6 = 0.6'"),
        # with the machine
        ("", "execute { flop [1] }", 4, 11, "M (S) has no resource 'flop': did you mean 'flops'?"),
        ("", "execute { flops [1] as copied }", 4, 11, "trait copied lacks its argument (allowed: copied(k))"),
    ],
)
def test_applications(tmp_path: Path, globals_: str, body: str, line: int, column: int, message: str) -> None:
    text = refused(lambda: run(tmp_path, MAIN % (globals_, body)))
    where = f"{tmp_path / 'a.aspen'}:{line}: column {column}: "
    assert text.startswith(where)
    assert message in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "a.aspen: 0 application models (allowed: one"),
        ("model a {} model b {}", "a.aspen: 2 application models"),
        ("machine M { property p }", "a.aspen: 0 application models, but a machine"),
        ("model a { kernel main {", "column 23: the model cannot be read: found the end of the file"),
        ("\ninclude x/y.aspen", "a.aspen:2: no such file, got 'x/y.aspen'"),
        ("include a.aspen", "a.aspen:1: files include each other: a.aspen -> a.aspen"),
        ("param x = 3 + include y.aspen", "column 24: 'include' must begin a line (allowed: include path, alone"),
        ('model a { kernel main { execute "open { } } }', "the model cannot be read: found '\"'"),
        ("model a { kernel other { } }", "unknown kernel 'main' (allowed: other)"),
        ("model a { kernel main(param x) { } }", "kernel main needs arguments: x"),
        ("\x00", "this is not a text file"),
        ("param x = " + "1+" * 300 + "1", "column 11: the expression is nested too deeply"),
        ("param x = " + "2^" * 300 + "1", "the expression is nested too deeply"),
        ("param x = " + "-" * 300 + "1", "the expression is nested too deeply"),
    ],
)
def test_files(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in refused(lambda: run(tmp_path, text))


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"nodes": 2}, "unknown parameter 'nodes': did you mean 'node'?"),
        ({"node": "x"}, "parameter node cannot have this value, got 'x' (allowed: numbers)"),
        ({"way": "c"}, "parameter way cannot have this value, got 'c' (allowed: a, b)"),
        ({"node": 1j}, "parameter node is 1j, which is not a real number"),
        ({"node": [1, 2], "way": [1, 1, 0]}, "arrays of these shapes do not broadcast: node (2,), way (3,)"),
        ({"clock": 2}, "both models have a parameter clock (allowed: application.clock or machine.clock)"),
    ],
)
def test_parameters(tmp_path: Path, parameters: dict[str, Any], expected: str) -> None:
    text = "enum E {a, b} param node = 1 param way = a in E param clock = 1"
    assert expected in refused(lambda: run(tmp_path, MAIN % (text, ""), parameters))


def test_a_search_needs_bounds(tmp_path: Path) -> None:
    path = tmp_path / "a.aspen"
    path.write_text(MAIN % ("param n = 5\nparam m = 5 in n .. 9\nparam k = 5 in 9 .. n", ""), encoding="utf-8")
    application = load_application(path)
    text = refused(lambda: application.search_range("n"))
    assert text.endswith(
        "a.aspen:2: column 1: parameter n has no range to search (allowed: param n = 5 in low .. high)"
    )
    assert application.search_range("m") == (5, 9)
    assert "the range of k is empty, got '9 .. n'" in refused(lambda: application.search_range("k"))
    assert "unknown parameter 'mm'" in refused(lambda: application.search_range("mm"))


def test_sockets_and_resources_of_the_machine(tmp_path: Path) -> None:
    text = MAIN % ("", "execute { flops [1] }")
    assert "M has no such socket, got 'X' (allowed: S, T)" in refused(lambda: run(tmp_path, text, socket="X"))
    assert "M (T) has no resource 'flops' (allowed: none)" in refused(lambda: run(tmp_path, text, socket="T"))
    lost = refused(lambda: run(tmp_path, text.replace("flops", "lost")))
    assert lost.startswith(f"{tmp_path / 'm.aspen'}:4: column ")
    assert "unknown name 'nowhere': did you mean" in lost or "unknown name 'nowhere' (allowed: clock" in lost


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("node N { property p }", "0 components of kind 'machine'"),
        ("model m { }", "0 components of kind 'machine', but an application"),
        ("machine A { property p } machine B { property p }", "2 components of kind 'machine'"),
        ("machine M { node N }", "column 13: unknown component 'N' in M"),
        ("machine M { node N } memory N { property p }", "column 13: N is a memory, got 'node' (allowed: memory)"),
        ("machine M { node N } node N { node N }", "components contain themselves: N -> N"),
        ("machine M { node N } node N { property p } node N { property q }", "column 44: component N is defined twice"),
        ("machine M { resource f(n) [n] resource f(n) [n] }", "f is defined twice in M"),
        (
            "machine M { a A0 }" + "".join(f" a A{i} {{ a A{i + 1} }}" for i in range(99)) + " a A99 { property p }",
            "deep",
        ),
        ("param x = 2 in 1 .. 0 machine M { property p }", "the range of x is empty"),
    ],
)
def test_machines(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "m.aspen"
    path.write_text(text, encoding="utf-8")
    result = refused(lambda: load_machine(path))
    assert result.startswith(str(path))
    assert expected in result


def test_models_that_import_each_other(tmp_path: Path) -> None:
    (tmp_path / "b.aspen").write_text('model b { import a from "a.aspen" kernel k { } }', encoding="utf-8")
    text = refused(lambda: run(tmp_path, MAIN % ('import b from "b.aspen"', "")))
    assert text.startswith(
        f"{tmp_path / 'b.aspen'}:1: column 11: models import each other: a.aspen -> b.aspen -> a.aspen"
    )


def test_imports_and_their_names(tmp_path: Path) -> None:
    (tmp_path / "b.aspen").write_text("model b { param n = 1 kernel k { execute { flops [n] } } }", encoding="utf-8")
    wrong = refused(lambda: run(tmp_path, MAIN % ('import b from "b.aspen" with m = 1', "")))
    assert "b has no 'm' (allowed: n)" in wrong
    cyclic = MAIN % ('param n = b.n import b from "b.aspen" with n = n', "call b.k")
    assert "n depends on itself through an import" in refused(lambda: run(tmp_path, cyclic))


# --- too much ---------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("opening", "place"),
    [("{", ":1: column 65"), ("{\n", ":65: column 1"), ("model a { (", ":1: column 361"), ("[", ":1: column 65")],
)
def test_fifty_megabytes_of_nested_braces(tmp_path: Path, opening: str, place: str) -> None:
    path = tmp_path / "deep.aspen"
    path.write_bytes(opening.encode() * (50_000_000 // len(opening)))
    with no_hang():
        text = refused(lambda: load_application(path))
    assert text == f"{path}{place}: brackets are nested too deeply (allowed: up to 64 levels)"


TOO_LONG = ": the model is too long, got 50000000 (allowed: 500000 bytes with all includes)"
TOO_MANY = "the model has too many words, numbers and signs (allowed: up to 30000 in all)"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("content", "where"),
    [
        (b"{}", f":1: column 30001: {TOO_MANY}"),
        (b"// {", TOO_LONG),
        (b"\n", TOO_LONG),
        (b'"', f":1: column 60001: {TOO_MANY}"),
        (b"\xff", TOO_LONG),
    ],
)
def test_other_files_of_fifty_megabytes(tmp_path: Path, content: bytes, where: str) -> None:
    path = tmp_path / "long.aspen"
    path.write_bytes(content * (50_000_000 // len(content)))
    assert refused(lambda: load_application(path)) == f"{path}{where}"


def test_includes_of_includes(tmp_path: Path) -> None:
    for number in range(20):
        text = f"include b{number + 1}.aspen\n" * 2
        (tmp_path / f"b{number}.aspen").write_text(text, encoding="utf-8")
    (tmp_path / "b20.aspen").write_text("", encoding="utf-8")
    assert "the model has too many includes (allowed: up to 1000)" in refused(
        lambda: load_machine(tmp_path / "b0.aspen")
    )


def test_kernels_that_call_each_other_very_often(tmp_path: Path) -> None:
    same = "".join(f"kernel k{i} {{ call k{i + 1} call k{i + 1} }}\n" for i in range(40))
    assert run(tmp_path, MAIN % (same + "kernel k40 { execute { flops [1] } }", "call k0")) == 2.0**40
    other = "".join(f"kernel k{i}(param x) {{ call k{i + 1}(x + 1) call k{i + 1}(2 * x) }}\n" for i in range(40))
    text = refused(lambda: run(tmp_path, MAIN % (other + "kernel k40(param x) { }", "call k0(1)")))
    assert "kernels call each other too often" in text


@pytest.mark.thorough
def test_long_chains(tmp_path: Path) -> None:
    parameters = "param p0 = 1 " + " ".join(f"param p{i} = p{i - 1} + 1" for i in range(1, 3000))
    assert run(tmp_path, MAIN % (parameters, "execute { flops [p2999] }")) == 3000
    deep = "".join(f"kernel k{i} {{ call k{i + 1} }}\n" for i in range(200)) + "kernel k200 { }"
    assert "calls too deeply" in refused(lambda: run(tmp_path, MAIN % (deep, "call k0")))


def test_as_deep_as_allowed(tmp_path: Path) -> None:
    kernels = "".join(f"kernel k{i} {{ if (1 < 2) {{ call k{i + 1} }} }}\n" for i in range(31))
    formula = "-(" * 55 + "1" + ")" * 55 + " + 1" * 140
    assert run(tmp_path, MAIN % (kernels + f"kernel k31 {{ execute {{ flops [{formula}] }} }}", "call k0")) == 139
