"""Formulas and measured times in workload files, in files of their own, and as expressions."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.dimension import dimension_of_unit
from simcodesign.describe.constants import CONSTANTS
from simcodesign.describe.formulas.formula import Formula
from simcodesign.describe.formulas.symbols import SYMBOLS, constant_dimension
from simcodesign.describe.measured.times import MeasuredTimes, MeasuredValue
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.formulas import load_formulas
from tests.builders import workload

PROGRAM = "- phase: a\n  do: [broadcast: {bytes: m}]\n- compute: {flops: m}\n"
HEAD = "parameters: {m: {default: 1024, unit: B}}\n"
FORMULAS = """formulas:
  plain: log2(P)*(t_s + m*t_w)
  parts:
    phases: {a: 2.5 us*log2(P)}
    components: {communication: tau}
    valid: P >= 4
    symbols: {tau: 3 us}
    word: 8 B
    source: a paper
    about: its section
measured:
- {at: {P: 16}, total: 2.5 us, machine: m, source: a log}
- {phases: {a: 1e-6}, components: {communication: 2 us}}
"""


def read(text: str) -> Workload:
    return workload(PROGRAM, HEAD + text)


def test_formulas_of_a_workload() -> None:
    plain, parts = read(FORMULAS).formulas.values()
    assert plain.total is not None
    assert (plain.name, plain.total.text, plain.total.place.line) == ("plain", "log2(P)*(t_s + m*t_w)", 5)
    assert dict(parts.times())["phase a"].evaluate({"P": 4.0}) == 5e-6
    assert parts.json_fields() == {
        "name": "parts",
        "phases": {"a": "2.5 us*log2(P)"},
        "components": {"communication": "tau"},
        "symbols": {"tau": "3 us"},
        "valid": "P >= 4",
        "word": "8 B",
        "source": "a paper",
        "about": "its section",
    }


def test_measured_times_of_a_workload() -> None:
    whole, parts = read(FORMULAS).measured
    assert (whole.total_s, whole.at, whole.machine, whole.source) == (2.5e-6, {"P": 16.0}, "m", "a log")
    assert (parts.total_s, parts.phases_s, parts.components_s) == (None, {"a": 1e-6}, {"communication": 2e-6})
    (one,) = read("measured: {total: 1 ms}\n").measured
    assert one.total_s == 1e-3


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("formulas: {a: {phases: {b: t_s}}}", 4, "no such phase"),
        ("measured: {phases: {b: 1 s}}", 4, "no such phase"),
        ("formulas:\n  a: {valid: P > 1}", 5, "gives no time"),
        ("formulas:\n  a: {components: {compute: t_s}}", 5, "no such component"),
        ("formulas:\n  a: t_s) + 1", 5, "syntax error at column 4"),
        ("formulas:\n  a: 2 usec", 5, "unknown unit 'usec' at column 3"),
        ("formulas:\n  a: {totl: t_s}", 5, "unknown key"),
        ("formulas:\n  a: {total: t_s, symbols: {P: 2}}", 5, "reserved"),
        ("measured: {total: 1 B}", 4, "unit of size"),
        ("measured: {total: -1 s}", 4, "measured time"),
        ("measured: {source: a}", 4, "no time was measured"),
    ],
)
def test_errors_name_their_line(text: str, line: int, word: str) -> None:
    with pytest.raises(InputError, match=word) as error:
        read(text + "\n")
    assert error.value.place is not None
    assert error.value.place.line == line


def test_a_file_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"simcodesign: 1\n{FORMULAS}", encoding="utf-8")
    file = load_formulas(str(path))
    assert [formula.name for formula in file.formulas] == ["plain", "parts"]
    assert file.measured == read(FORMULAS).measured
    assert file.formulas == tuple(read(FORMULAS).formulas.values())
    for wrong in ("formulas: []", "measured: {total: 1}", "simcodesign: 2\nformulas: {a: t_s}", "formula: {a: t_s}"):
        path.write_text(wrong, encoding="utf-8")
        with pytest.raises(InputError):
            load_formulas(path)


@pytest.mark.parametrize(
    ("text", "name", "expression"),
    [("t_s*P", "formula", "t_s*P"), ("mine = t_s*P", "mine", "t_s*P"), ("a == b", "formula", "a == b")],
)
def test_an_expression(text: str, name: str, expression: str) -> None:
    (formula,) = load_formulas(text).formulas
    assert formula.total is not None
    assert (formula.name, formula.total.text) == (name, expression)


def test_in_python() -> None:
    with pytest.raises(InputError, match="gives no time"):
        Formula("empty")
    with pytest.raises(InputError, match="no time was measured"):
        MeasuredTimes()
    with pytest.raises(InputError):
        MeasuredTimes(MeasuredValue(float("nan")))


def test_units_of_symbols_are_those_of_the_constants_behind_them() -> None:
    for name, symbol in SYMBOLS.items():
        constant = constant_dimension(symbol.path)
        assert symbol.path in CONSTANTS
        assert symbol.path in symbol.meaning
        assert symbol.dimension == (constant**-1 if symbol.meaning.endswith(f"1/{symbol.path}") else constant), name
        assert symbol.value({symbol.path: 4.0}) == (0.25 if "1/" in symbol.meaning else 4.0)
        assert (dimension_of_unit(symbol.unit) is None) == (symbol.unit == "")


def test_a_measured_time_with_its_spread(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    spread = "{value: 2 ms, low: 1.5 ms, high: 4 ms, n: 9}"
    text = f"measured: {{total: {spread}, phases: {{a: 1 ms}}, interval: quartiles}}\nformulas: {{a: t_s}}\n"
    path.write_text(text, encoding="utf-8")
    (one,) = load_formulas(path).measured
    assert one.total == MeasuredValue(2e-3, 1.5e-3, 4e-3, 9, "quartiles")
    assert one.phases == {"a": MeasuredValue(1e-3)}
    for wrong in (
        spread.replace("low: 1.5 ms, ", ""),
        spread.replace("4 ms", "1.9 ms"),
        spread.replace("9", "0"),
        spread.replace("1.5 ms", "-1 ms"),
        spread.replace("value: 2 ms, ", ""),
    ):
        path.write_text(text.replace(spread, wrong), encoding="utf-8")
        with pytest.raises(InputError):
            load_formulas(path)
