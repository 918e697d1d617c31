"""Trust maps: which points are within the share and which formula is best, against plain Python."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.given_formulas.values import given_formulas
from simcodesign.core.errors import InputError
from simcodesign.core.to_json import to_json
from simcodesign.studies.sweep.sweep import sweep_of
from simcodesign.studies.trust.formula_times import FormulaTimes
from simcodesign.studies.trust.trust_map import TrustMap, check_fraction, trust_map
from tests import examples

#: Seconds, few of which are alike, and no value.
SECONDS = st.sampled_from([1.0, 1.1, 0.9, 2.0, 1.0 + 1e-13, math.nan])


def map_of(
    simulated_s: list[float], forecast_s: list[float], formulas: list[list[float]], share: float, over: list[str]
) -> TrustMap:
    """The map of a table with these times."""
    sweep = sweep_of("broadcast", "mesh-256", over, simulate=True)
    count = len(simulated_s)
    failed = ["" if math.isfinite(one) else "no" for one in simulated_s]
    table = pd.DataFrame(
        {
            "point": np.arange(count),
            **sweep.design.columns(),
            "forecast_makespan_s": forecast_s,
            "simulated_makespan_s": simulated_s,
            "error": failed,
        }
    )
    own = given_formulas([f"f{number} = t_s" for number in range(len(formulas))]).formulas
    times = [FormulaTimes(formula, True, np.array(one)) for formula, one in zip(own, formulas, strict=True)]
    return trust_map(sweep, table, times, share)


@given(st.lists(st.tuples(SECONDS, SECONDS, SECONDS, SECONDS), min_size=6, max_size=6), st.sampled_from([0.1, 0.5]))
@settings(max_examples=examples(200), deadline=None)
def test_counts_and_the_best_as_plain_python_has_them(rows: list[tuple[float, ...]], share: float) -> None:
    simulated_s, forecast_s, first, second = (list(column) for column in zip(*rows, strict=True))
    trust = map_of(simulated_s, forecast_s, [first, second], share, ["P=2,4", "m=1,2,3KiB"])
    simulated = [row for row in rows if math.isfinite(row[0])]
    assert trust.points == len(simulated)
    assert [one.name for one in trust.formulas] == ["f0", "f1", "forecast"]
    best = []
    for row in simulated:
        errors = [abs(row[at] - row[0]) / row[0] for at in (2, 3, 1)]
        known = [error for error in errors if not math.isnan(error)]
        trusted = [error <= share for error in errors]
        best.append(
            next(
                at
                for at, error in enumerate(errors)
                if error <= min(known) + 1e-9 and (trusted[at] or not any(trusted))
            )
            if known
            else -1
        )
    assert trust.best.tolist() == best
    for number, column in enumerate((2, 3, 1)):
        errors = [(row[column] - row[0]) / row[0] for row in simulated]
        one = trust.formulas[number]
        assert one.within.points == sum(abs(error) <= share for error in errors)
        assert (one.too_low, one.too_high) == (sum(e < -share for e in errors), sum(e > share for e in errors))
        assert one.no_value == sum(math.isnan(error) for error in errors)
        assert one.best.points == sum(
            at == number and abs(error) <= share for at, error in zip(best, errors, strict=True)
        )
    assert trust.nothing.points + sum(one.best.points for one in trust.formulas) == trust.points


def test_words_of_where_each_is_trusted() -> None:
    """A formula that is right up to 2 KiB, and a forecast that is right from there on."""
    right, wrong = 1.0, 1.5
    trust = map_of([right] * 6, [wrong, right, right] * 2, [[right, right, wrong] * 2], 0.1, ["P=2,4", "m=1,2,3KiB"])
    formula, forecast = trust.formulas
    assert formula.within.text == "while m <= 2 KiB (at 4 of 6 points)"
    assert forecast.within.text == "while m >= 2 KiB (at 4 of 6 points)"
    assert formula.best.text == "while m <= 2 KiB (at 4 of 6 points)"
    assert forecast.best.text == "while m >= 3 KiB (at 2 of 6 points)"
    assert trust.nothing.text == "at none of 6 points"
    shown = to_json(trust)
    (side,) = shown["formulas"][0]["within"]["condition"]["any_of"][0]
    assert (side["name"], side["sign"], side["value"], side["beyond"]) == ("m", "<=", 2048, 3072)
    assert [axis["simulated"] for axis in shown["axes"]] == [[2, 4], [1024, 3072]]


def test_words_of_axes_have_regions_of_their_own() -> None:
    """Up to 2 KiB on tori and from there on on meshes: no box has both."""
    over = ["network.topology.kind=mesh,torus", "m=1,2,3KiB"]
    trust = map_of([1.0] * 6, [2.0] * 6, [[2.0, 1.0, 1.0, 1.0, 1.0, 2.0]], 0.1, over)
    formula, _ = trust.formulas
    assert formula.within.text == "at 4 of 6 points"
    assert {name: region.text for name, region in formula.within.by_words.items()} == {
        "network.topology.kind = mesh": "while m >= 2 KiB (at 2 of 3 points)",
        "network.topology.kind = torus": "while m <= 2 KiB (at 2 of 3 points)",
    }


def test_a_seed_is_no_condition() -> None:
    """One of two seeds is within at 1 KiB: no size alone says where, and a seed is not chosen."""
    trust = map_of([1.0] * 4, [1.0, 2.0, 1.0, 1.0], [], 0.1, ["m=1,2KiB", "seed=1,2"])
    (forecast,) = trust.formulas
    assert forecast.within.condition is None
    assert forecast.within.text == "at 3 of 4 points"


def test_nothing_simulated_or_all_failed() -> None:
    sweep = sweep_of("burst", "mesh-256", ["P=2,4"], simulate=True)
    table = pd.DataFrame({"point": [0, 1], "P": [2.0, 4.0], "error": ["", ""]})
    with pytest.raises(InputError, match="nothing was simulated"):
        trust_map(sweep, table, ())
    trust = trust_map(sweep, table.assign(simulated_makespan_s=np.nan, forecast_makespan_s=1.0, error="no"), ())
    assert (trust.points, trust.formulas[0].within.text) == (0, "at none of 0 points")


@pytest.mark.parametrize("fraction", [0.0, -0.1, math.inf, math.nan])
def test_a_fraction_is_above_0(fraction: float) -> None:
    with pytest.raises(InputError, match="a fraction of the simulated time"):
        check_fraction(fraction)
