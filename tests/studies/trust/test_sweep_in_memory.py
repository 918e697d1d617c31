"""``sc.sweep``: the same table for axes as texts and as values, and for any number of processes."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

import simcodesign as sc

TEXTS = ["P=2,4", "m=64B,1KiB"]
VALUES = {"P": [2, 4], "m": [64, 1024.0]}


def test_the_table_and_the_map() -> None:
    swept = sc.sweep("broadcast", "mesh-256", vary=TEXTS, formulas={"mine": lambda P, t_s: P * t_s}, simulate=True)
    table = swept.table
    assert table["formula_mine_s"].to_numpy() == pytest.approx([40e-6, 40e-6, 80e-6, 80e-6])
    for at, (P, m) in enumerate((P, m) for P in VALUES["P"] for m in VALUES["m"]):
        assert table["simulated_makespan_s"][at] == sc.simulate("broadcast", "mesh-256", {"P": P, "m": m}).makespan_s
        assert table["formula_grama_s"][at] == pytest.approx(math.log2(P) * (20e-6 + m * 1e-8))
    assert [one.name for one in swept.trust.formulas] == ["mine", "grama", "forecast"]
    assert swept.to_dict()["trust"]["points"] == 4


def test_values_in_place_of_texts() -> None:
    by_text, by_value = (sc.sweep("broadcast", "mesh-256", vary=over) for over in (TEXTS, VALUES))
    assert by_text.trust is None
    pd.testing.assert_frame_equal(by_text.table, by_value.table)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"within": 0.1}, "within needs simulations"),
        ({"within": 0.0, "simulate": True}, "above 0"),
        ({"formulas": "t_z", "simulate": True}, "unknown name"),
        ({"formulas": 3.0}, "not a formula"),
    ],
)
def test_bad_input(options: dict[str, Any], word: str) -> None:
    with pytest.raises(sc.InputError, match=word):
        sc.sweep("broadcast", "mesh-256", vary=TEXTS, **options)
