"""Numbers beyond what a double has digits for, and what is not finite, in tables and JSON."""

from __future__ import annotations

import math

import pytest
from click.testing import CliRunner

from simcodesign.cli import app
from simcodesign.core.to_json import to_json
from simcodesign.report.common.numbers import Seconds, grouped
from simcodesign.report.common.plot_style import seconds_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (999_999_999_999_999.0, "999,999,999,999,999"),
        (1e15, "1e+15"),
        (-2.5e300, "-2.5e+300"),
    ],
)
def test_whole_numbers(value: float, text: str) -> None:
    assert grouped(value) == text


def test_times_of_a_table() -> None:
    show = Seconds([1e300])
    assert (show(1e300), show(-1e300), show(0.0)) == ("1e+300", "-1e+300", "0")
    assert seconds_text(1e300) == "1e+300 s"


@pytest.mark.parametrize("command", ["forecast", "simulate", "compare"])
def test_no_answer_has_hundreds_of_digits(command: str, tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "long.yaml").write_text("simcodesign: 1\nname: long\nprogram: [compute: {flops: 1e300}]\n")
    result = CliRunner().invoke(app, [command, str(tmp_path / "long.yaml"), "crossbar-16"])
    assert result.exit_code == 0
    assert max(len(word) for word in result.output.replace("─", " ").split()) < 40
    assert "1e+291" in result.output  # 10^300 operations at 10^9 a second


def test_an_aspen_answer_that_is_not_finite_has_no_percentage(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "a.aspen").write_text("model a { param n = 1e200 kernel main { execute [n] { flops [n*n] } } }")
    result = CliRunner().invoke(app, ["forecast", str(tmp_path / "a.aspen"), "validation/aspen/gpu-cluster.aspen"])
    assert result.exit_code == 0, result.output
    assert "nan" not in result.output
    assert "inf " not in result.output
    assert "not finite" in result.output


def test_json_has_no_negative_zero() -> None:
    (value,) = to_json([-0.0])
    assert math.copysign(1.0, value) == 1.0
    assert to_json({"a": [math.nan, -1.5]}) == {"a": [None, -1.5]}
