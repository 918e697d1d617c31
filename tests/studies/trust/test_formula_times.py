"""Columns of formulas, against plain Python at each point, and what is refused before anything is simulated."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.given_formulas.values import FormulaSources, given_formulas
from simcodesign.core.errors import InputError
from simcodesign.studies.sweep.evaluate import PointTask, evaluate, forecast_frame, pack
from simcodesign.studies.sweep.sweep import Sweep, sweep_of
from simcodesign.studies.sweep.table import table_of
from simcodesign.studies.trust.formula_times import (
    check_formulas,
    formula_times,
    signed_errors,
    with_formula_columns,
)
from tests import examples

GRAMA = "log2(P)*(t_s + size*t_w)"
#: The constants of mesh-256.
STARTUP_S, PER_BYTE_S = 20e-6, 1e-8


def table_with(sweep: Sweep, formulas: FormulaSources, *, own: bool = False) -> pd.DataFrame:
    """The table of a sweep with the columns of formulas."""
    table = (
        table_of(evaluate(PointTask(pack(sweep), tuple(sweep.points())))) if sweep.simulate else forecast_frame(sweep)
    )
    return with_formula_columns(table, formula_times(sweep, table, given_formulas(formulas), own=own))


def test_times_and_errors_of_every_point() -> None:
    sweep = sweep_of("burst", "mesh-256", ["P=2,4,16", "size=0,100,1e5", "network.bandwidth=1,100MB/s"], simulate=True)
    table = table_with(sweep, ["mine = " + GRAMA, "half = 1e-5 * P"])
    names = [name for name in table.columns if name.startswith("formula")]
    assert names == ["formula_mine_s", "formula_mine_error", "formula_half_s", "formula_half_error"]
    assert table.columns[-1] == "error"
    for _, row in table.iterrows():
        mine_s = math.log2(row["P"]) * (STARTUP_S + row["size"] / row["network.bandwidth"])
        assert row["formula_mine_s"] == pytest.approx(mine_s, rel=1e-12)
        assert row["formula_half_s"] == pytest.approx(1e-5 * row["P"], rel=1e-12)
        simulated_s = row["simulated_makespan_s"]
        assert row["formula_mine_error"] == pytest.approx((mine_s - simulated_s) / simulated_s, rel=1e-9)


def test_points_out_of_range_and_failed_ones_have_no_values() -> None:
    sweep = sweep_of("burst", "mesh-256", ["P=2,4,300"], simulate=True)
    source = {"narrow": lambda P, t_s: np.where(P >= 4, P * t_s, np.nan)}
    table = table_with(sweep, source)
    assert np.isnan(table["formula_narrow_s"][[0, 2]]).all()
    assert table["formula_narrow_s"][1] == pytest.approx(4 * STARTUP_S)
    assert np.isnan(table["formula_narrow_error"][0])


def test_a_note_says_at_how_many_points_there_is_no_value_and_why(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("formulas: {narrow: {total: P*t_s, valid: P >= 8}}\n", encoding="utf-8")
    sweep = sweep_of("burst", "mesh-256", ["P=2:16:x2", "size=1,2"])
    (narrow,) = formula_times(sweep, forecast_frame(sweep), given_formulas(file))
    assert narrow.notes == ("no value at 4 points: outside its range: valid for P >= 8",)
    assert np.isnan(narrow.time_s).tolist() == [True] * 4 + [False] * 4


def test_each_structure_of_the_machine_has_its_own_counts() -> None:
    """``nodes`` is a count of the machine file, so that a formula sees each of its values."""
    sweep = sweep_of("burst", "mesh-256", ["nodes=16,64", "P=4,8", "seed=1,2"], simulate=True)
    table = table_with(sweep, "nodes*1 us + P*1 ms")
    expected = table["nodes"] * 1e-6 + table["P"] * 1e-3
    assert table["formula_s"].to_numpy() == pytest.approx(expected.to_numpy(), rel=1e-12)
    assert table["formula_error"].notna().all()


def test_a_forecast_has_times_and_no_errors() -> None:
    table = table_with(sweep_of("burst", "mesh-256", ["P=2:256:x2"]), GRAMA)
    assert [name for name in table.columns if name.startswith("formula")] == ["formula_s"]


# Subnormal numbers are refused: their inverse is infinite.
@given(
    st.lists(st.integers(1, 256), min_size=1, max_size=4, unique=True),
    st.floats(0, 1e9, allow_subnormal=False),
    st.floats(1e-9, 1),
)
@settings(max_examples=examples(40), deadline=None)
def test_any_point_as_plain_python_has_it(ranks: list[int], size: float, startup_s: float) -> None:
    axes = [f"P={','.join(map(str, ranks))}", f"size={size!r}", f"network.startup={startup_s!r}s"]
    table = table_with(sweep_of("burst", "mesh-256", axes), GRAMA)
    expected = [math.log2(P) * (startup_s + size * PER_BYTE_S) for P in ranks]
    assert table["formula_s"].to_numpy() == pytest.approx(expected, rel=1e-12, abs=0)


def test_a_subnormal_value_is_refused() -> None:
    with pytest.raises(InputError, match=r"size=2.2e-311.*allowed: 0, or numbers from 2.3e-308"):
        sweep_of("burst", "mesh-256", ["size=2.2e-311"])


def test_formulas_of_the_workload_come_where_they_are_wanted() -> None:
    sweep = sweep_of("broadcast", "mesh-256", ["m=4000,8000"])
    assert "formula_grama_s" in table_with(sweep, None, own=True).columns
    assert "formula_grama_s" not in table_with(sweep, None).columns


@pytest.mark.parametrize(
    ("formulas", "word"),
    [
        (["t_z*P"], "unknown name 't_z'"),
        (["t_s*size"], "not s"),
        (["a = t_s", "b = t_z"], "unknown name 't_z'"),
        ({"a b": "t_s", "a_b": "t_s"}, "has the column of formula a b"),
    ],
)
def test_bad_formulas_are_refused_before_anything_runs(formulas: FormulaSources, word: str) -> None:
    sweep = sweep_of("burst", "mesh-256", ["P=300,2"], simulate=True)
    with pytest.raises(InputError, match=word):
        check_formulas(sweep, given_formulas(formulas))


def test_a_formula_without_a_total_is_refused() -> None:
    sweep = sweep_of("collectives", "mesh-256", ["P=2,4"], simulate=True)
    with pytest.raises(InputError, match="cannot be compared at each point"):
        check_formulas(sweep, given_formulas({"part": lambda t_s: {"phases": {"broadcast": t_s}}}))


def test_a_total_that_is_given_is_of_the_phases_that_run() -> None:
    sweep = sweep_of("collectives", "mesh-256", ["P=2,4"], simulate=True, phases=["broadcast"])
    check_formulas(sweep, given_formulas("t_s*P"))


def test_an_error_of_nothing_against_nothing_is_none() -> None:
    errors = signed_errors(np.array([0.0, 1.0, 3.0, np.nan]), np.array([0.0, 0.0, 2.0, 2.0]))
    assert errors[[0, 2]].tolist() == [0.0, 0.5]
    assert np.isnan(errors[[1, 3]]).all()


def test_a_formula_is_evaluated_once_for_all_points() -> None:
    calls = []

    def counted(P: np.ndarray, t_s: float) -> np.ndarray:
        calls.append(np.shape(P))
        return P * t_s

    table_with(sweep_of("burst", "mesh-256", ["P=2:256:x2", "size=1:1e6:n=500:log"]), counted)
    assert calls == [(4000,)]
