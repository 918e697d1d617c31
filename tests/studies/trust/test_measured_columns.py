"""Measured times in a sweep: at which points they stand, and errors against them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.fitting.readers.formats import read_measurements
from simcodesign.studies.sweep.table import write_table

TABLE = """# interval: min-max
P,m,value,low,high,n
2,64,30 us,25 us,40 us,7
4,1 KiB,60 us,,,
16,64,1 ms,,,
"""
OVER = ["P=2,4", "m=64B,1KiB"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


def test_points_of_the_grid_that_have_one(file: Path) -> None:
    swept = sc.sweep("broadcast", "mesh-256", vary=OVER, simulate=True, measured=file, formulas="mine = P*t_s")
    table = swept.table
    assert table["measured_s"].to_numpy() == pytest.approx([30e-6, np.nan, np.nan, 60e-6], nan_ok=True)
    assert table["measured_low_s"].to_numpy() == pytest.approx([25e-6, np.nan, np.nan, np.nan], nan_ok=True)
    assert table["measured_high_s"][0] == pytest.approx(40e-6)
    assert table["measured_n"].to_numpy() == pytest.approx([7, np.nan, np.nan, np.nan], nan_ok=True)
    assert table["measured_interval"].tolist() == ["min-max", "", "", ""]
    for name, column in (("forecast", "forecast_makespan_s"), ("simulated", "simulated_makespan_s")):
        errors = table[f"measured_{name}_error"]
        assert errors[0] == pytest.approx(table[column][0] / 30e-6 - 1)
        assert np.isnan(errors[1])
    assert table["measured_formula_mine_error"][0] == pytest.approx(40e-6 / 30e-6 - 1)  # P startups of 20 us
    assert table.columns[-1] == "error"
    assert swept.notes == ("measured at 1 point that the sweep has not: P=16, m=64 B",)
    assert sc.sweep("broadcast", "mesh-256", vary=OVER).table.columns.tolist() == [
        name for name in table.columns if name in ("point", "P", "m", "error") or name.startswith("forecast_")
    ]


def test_axes_of_the_machine_file() -> None:
    frame = pd.DataFrame(
        {
            "P": 8,
            "network.topology.kind": ["mesh", "hypercube"],
            "network.startup": ["20 us", "5 us"],
            "value": [1.0, 2.0],
        }
    )
    over = ["network.topology.kind=mesh,hypercube", "network.startup=5us,20us"]
    swept = sc.sweep("broadcast", "mesh-256", vary=over, parameters={"P": "8"}, measured=frame)
    assert swept.table["measured_s"].to_numpy() == pytest.approx([np.nan, 1.0, 2.0, np.nan], nan_ok=True)
    assert swept.notes == ()


def test_a_table_of_a_sweep_is_read_without_spreads_and_errors(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "sweep.csv"
    write_table(sc.sweep("broadcast", "mesh-256", vary=OVER, measured=file).table, path)
    metrics = read_measurements(path).metrics
    assert "measured_s" in metrics
    assert not any(name.startswith("measured_") for name in metrics if name != "measured_s")


def test_what_cannot_be_used(file: Path) -> None:
    program = sc.Workload.load("broadcast")
    with pytest.raises(InputError, match="unknown column"):
        sc.sweep(program, "mesh-256", vary=OVER, measured=pd.DataFrame({"size": [1], "value": [1.0]}))
    file.write_text("P,value\n2,fast\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"m\.csv"):
        sc.sweep(program, "mesh-256", vary=OVER, measured=file)
