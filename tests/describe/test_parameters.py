"""Parameters: limits, choices by name, and units."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError, Place
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.yaml.files import load_machine
from simcodesign.describe.yaml.resources import parameters_from
from simcodesign.describe.yaml.tree import parse_yaml
from tests.builders import read_workload

HERE = Place("here")


def parameter(text: str, lowest: bool = False) -> Parameter:
    return parameters_from(parse_yaml(f"x: {text}", "p.yaml"), lowest=lowest)["x"]


def test_units_of_its_dimension() -> None:
    clock = parameter("{default: 1.3 GHz, unit: Hz, range: [100 MHz, 2 GHz]}")
    assert (clock.default, clock.low, clock.high, clock.dimension) == (1.3e9, 1e8, 2e9, "frequency")
    assert clock.parsed("1500 MHz", HERE) == 1.5e9
    assert clock.parsed("1.5e9", HERE) == 1.5e9
    with pytest.raises(InputError, match="Hz"):
        clock.parsed("2 s", HERE)


def test_other_units_are_words() -> None:
    points = parameter("{default: 8, unit: points}")
    assert (points.dimension, points.is_named) == ("count", False)
    with pytest.raises(InputError, match=r"p\.yaml:1.*must be a number"):
        parameter("{default: 8 points, unit: points}")


def test_choices() -> None:
    chosen = parameter("{default: double, choices: {single: 4, double: 8}}")
    assert chosen.default == 8
    assert chosen.parsed("single", HERE) == 4
    assert chosen.parsed("8", HERE) == 8
    chosen.check(np.array([4, 8, 4]), HERE)
    with pytest.raises(InputError, match=r"single \(4\), double \(8\)"):
        chosen.check(6.0, HERE)
    with pytest.raises(InputError, match="did you mean 'double'"):
        chosen.parsed("duble", HERE)
    with pytest.raises(InputError, match="no choice"):
        parameter("{choices: {}}")


def test_a_default_that_is_left_out() -> None:
    assert parameter("{range: [3, 9]}").default is None
    assert parameter("{range: [3, 9]}", lowest=True).default == 3
    assert parameter("{choices: {b: 2, a: 1}}", lowest=True).default == 2
    assert parameter("{unit: s}", lowest=True).default is None


@pytest.mark.parametrize("limits", ["[2, 1]", "[1]", "[1, 2, 3]", "[low, 2]"])
def test_limits(limits: str) -> None:
    with pytest.raises(InputError, match=r"p\.yaml:1: x"):
        parameter(f"{{range: {limits}}}")


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(-1e6, 1e6, allow_subnormal=False))
def test_range(low: float, high: float, value: float) -> None:
    one = Parameter("x", None, low=low, high=high)
    if low <= value <= high:
        one.check(value, HERE)
    else:
        with pytest.raises(InputError):
            one.check(value, HERE)


def test_a_workload_takes_choices_and_units() -> None:
    text = """
simcodesign: 1
name: w
parameters:
  kind: {default: double, choices: {single: 1, double: 2}}
  pause: {default: 3 ms, unit: s}
program: [{compute: {seconds: kind*pause}}]
"""
    machine, workload = load_machine("crossbar-16"), read_workload(text)
    assert forecast(workload, machine).makespan_s == pytest.approx(6e-3)
    assert forecast(workload, machine, {"kind": "single", "pause": "1 s"}).makespan_s == pytest.approx(1.0)
    assert forecast(workload, machine, {"kind": [1, 2]}).makespan_s == pytest.approx([3e-3, 6e-3])
    with pytest.raises(InputError, match="single"):
        forecast(workload, machine, {"kind": 3})
    with pytest.raises(InputError, match="must be a number"):
        forecast(workload, machine, {"P": "two"})


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("[2, 1]", "the lowest value is above the highest, got '[2, 1]'"),
        ("2:1", "range of x, got '2:1'"),
        ("[1, 2, 3]", "range of x, got '[1, 2, 3]'"),
    ],
)
def test_ranges_that_are_none(tmp_path: Path, written: str, says: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        f"simcodesign: 1\nextends: keeneland\nname: own\nparameters: {{x: {{default: 1, range: {written}}}}}\n", "utf-8"
    )
    with pytest.raises(InputError) as caught:
        load_machine(path)
    assert f"{path}:4: parameters.x.range: range of x" in str(caught.value)
    assert says in str(caught.value)
