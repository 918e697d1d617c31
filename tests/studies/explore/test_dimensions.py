"""Units of expressions: compared with powers added by hand, and what a user writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import parse
from simcodesign.core.units import DIMENSIONS
from simcodesign.studies.explore.dimensions import measured
from simcodesign.studies.explore.problem_parser import constraint, objective
from tests.oracles.design_problems import problem

NAMES = {
    "time": "time",
    "energy": "energy",
    "power": "power",
    "footprint": "size",
    "speed": "bandwidth",
    "each": "per_byte",
    "flops": "count",
    "x": "",
}
#: Powers of s, B and J, by hand.
VECTORS = {
    "time": (1, 0, 0),
    "energy": (0, 0, 1),
    "power": (-1, 0, 1),
    "footprint": (0, 1, 0),
    "speed": (-1, 1, 0),
    "each": (1, -1, 0),
    "flops": (0, 0, 0),
}


@given(st.lists(st.tuples(st.sampled_from(sorted(VECTORS)), st.integers(-2, 2)), min_size=1, max_size=5))
def test_products_add_powers(factors: list[tuple[str, int]]) -> None:
    text = "*".join(f"{name}**{power}" if power >= 0 else f"{name}**-{-power}" for name, power in factors)
    result = dict(measured(parse(text), NAMES)[0].powers or ())
    for base, at in (("s", 0), ("B", 1), ("J", 2)):
        assert result.get(base, 0) == sum(power * VECTORS[name][at] for name, power in factors)


@pytest.mark.parametrize(
    ("text", "dimension", "unit"),
    [
        ("energy/time", "power", "J/s"),
        ("power*time", "energy", "J"),
        ("footprint/speed", "time", "s"),
        ("footprint*each", "time", "s"),
        ("max(time, energy/power)", "time", "s"),
        ("energy*time", "", "J s"),
        ("flops/time", "", "1/s"),
        ("sqrt(time*time)", "time", "s"),
        ("-time + 2*time", "time", "s"),
        ("time < 3", "", ""),
        ("log(flops)", "", ""),
        ("time + 1", "time", "s"),
        ("x*time", "", ""),
        ("energy/(time*footprint)", "", "J/(B s)"),
    ],
)
def test_dimensions_of_expressions(text: str, dimension: str, unit: str) -> None:
    result, notes = measured(parse(text), NAMES)
    assert (result.dimension, result.unit, notes) == (dimension, unit, ())
    assert result.dimension in {"", *DIMENSIONS}


@pytest.mark.parametrize("text", ["time + energy", "time - footprint", "max(time, power)", "flops*time + energy/speed"])
def test_mixed_sums_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="adds or compares"):
        objective(text, False, NAMES)
    with pytest.raises(InputError, match="adds or compares"):
        constraint(f"{text} <= 10", NAMES)


@pytest.mark.parametrize("text", ["time + price", "price - energy", "run_cost + carbon", "max(ownership_cost, time)"])
def test_money_is_no_time(text: str) -> None:
    costs = NAMES | dict.fromkeys(("price", "run_cost", "ownership_cost", "carbon"), "")
    with pytest.raises(InputError, match=r"adds or compares.*allowed: terms of one unit"):
        objective(text, False, costs)
    assert objective("price + run_cost", False, costs).unit == ""
    assert objective("time*price", False, costs).unit == ""
    with pytest.raises(InputError, match="compares money with s"):
        constraint("price <= 5 s", costs)
    assert constraint("price <= 5", costs).bound == 5


def test_a_factor_may_have_a_unit() -> None:
    _, notes = measured(parse("time + 1e-6*energy"), NAMES)
    assert notes == ("'time + 1e-6*energy' adds or compares s and J: as numbers of SI units",)
    assert objective("time + 1e-6*energy", False, NAMES).text == "time + 1e-6*energy"
    assert measured(parse("time + x"), NAMES)[1] == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("energy/time <= 10 J", "'J' is a unit of energy, not of power"),
        ("energy*time <= 10 J", "compares J s with J"),
        ("time <= energy", "compares s with J"),
    ],
)
def test_bounds_of_other_units_are_refused(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        constraint(text, NAMES)


def test_bounds_have_the_unit_of_their_expression() -> None:
    assert constraint("energy/time <= 2 kW", NAMES).bound == 2000
    assert constraint("flops/time >= 3 GFLOP/s", NAMES).bound == 3e9
    assert constraint("energy/time <= 2 kW", NAMES).dimension == "power"
    design_problem = problem(
        ["x=1:2"], {"time": "x", "energy": "x"}, ["energy*time"], units={"time": "time", "energy": "energy"}
    )
    assert (design_problem.objectives[0].dimension, design_problem.objectives[0].unit) == ("", "J s")
