"""The published numbers of validation/: every file says what it holds, and holds what was typed off the papers."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from validation.published import tables

SEISMIC = {
    f"seismic-table-{number}": f"003_table{number}{rest}.csv"
    for number, rest in ((1, ""), (2, "_P16"), (3, "_test_P16"), (5, "_loops"), (6, ""))
}
COPIES = SEISMIC | {
    "seismic-datasets": "003_datasets_reconstructed.csv",
    "conjugate-gradient-intercepts": "002_intercepts.csv",
}
OURS = [name for name in tables.names() if name.startswith(("seismic", "conjugate-gradient"))]
TEXTS = {"published", "reconstructed", "infeasible"}


def header(name: str) -> str:
    lines = (tables.FOLDER / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if line.startswith("#"))


def test_there_are_tables() -> None:
    assert COPIES.keys() | {"conjugate-gradient-parameters"} <= set(OURS)


@pytest.mark.parametrize("name", OURS)
def test_header_names_paper_table_units_and_status(name: str) -> None:
    text = header(name)
    for words in ("# Paper: ", "# Venue: ", "# Units: ", "# Status: "):
        assert words in text
    assert re.search("^# (Table|Equation): ", text, re.MULTILINE)
    for column in tables.table(name).columns:
        stem = "phase" if re.fullmatch(r"phase\d", column) else column
        assert re.search(rf"\b{re.escape(stem)}", text.partition("# Units: ")[2]), column


@pytest.mark.parametrize("name", tables.names())
def test_every_table_parses(name: str) -> None:
    frame = tables.table(name)
    assert len(frame)
    assert not any(str(column).startswith(("Unnamed", "#")) for column in frame.columns)
    for column in frame.select_dtypes("number"):
        numbers = frame[column].dropna()
        assert len(numbers)
        assert all(math.isfinite(number) for number in numbers)


@pytest.mark.parametrize("name", OURS)
def test_no_cell_is_damaged(name: str) -> None:
    """As many cells in every row as in the first, none with spaces around it, each empty, a number or words."""
    lines = [line for line in (tables.FOLDER / f"{name}.csv").read_text().splitlines() if not line.startswith("#")]
    assert {line.count(",") for line in lines} == {lines[0].count(",")}
    assert not any(cell != cell.strip() for line in lines for cell in line.split(","))


@pytest.mark.parametrize(("name", "file"), COPIES.items())
def test_tables_are_those_typed_off_the_papers(name: str, file: str, papers: Path) -> None:
    theirs = pd.read_csv(papers / file, dtype=str, keep_default_na=False)
    ours = pd.read_csv(tables.FOLDER / f"{name}.csv", comment="#", dtype=str, keep_default_na=False)
    assert list(ours.columns) == list(theirs.columns)
    assert len(ours) == len(theirs)
    for column in theirs.columns:
        for mine, other in zip(ours[column], theirs[column], strict=True):
            assert mine == other or float(mine) == float(other), (column, mine, other)


def test_parameters_are_those_typed_off_the_paper(papers: Path) -> None:
    typed = json.loads((papers / "002_params.json").read_text())
    theirs = {}
    for status in ("published", "reconstructed"):
        for name, value in typed[status].items():
            several = isinstance(value, list)
            theirs |= (
                {f"{name}_{axis}": (one, status) for axis, one in zip("xyz", value, strict=True)}
                if several
                else {name: (value, status)}
            )
    ours = tables.table("conjugate-gradient-parameters").set_index("name")
    assert set(ours.index) == set(theirs)
    for name, (value, status) in theirs.items():
        assert ours.value[name] == value, name
        assert ours.status[name].startswith(status), name


@pytest.mark.parametrize(
    ("kind", "a", "b"),
    [
        ("printed", 2.26e-4, 2.10e-5),
        ("exact(2s+6)", (2**30 * 42 * 4913 + 16385**3 + 40) / 1e18, (42 * 4913 + 16385**3 / 2**30 + 40) * 1e-10),
        ("exact(2s+1) lhs", (2**30 * 37 * 4913 + 16385**3 + 40) / 1e18, (42 * 4913 + 16385**3 / 2**30 + 40) * 1e-10),
    ],
)
def test_intercepts_follow_from_the_constants(kind: str, a: float, b: float) -> None:
    """Nobody published them: every cell is computed from a - b/eta >= 1120 ts + 1599600 tw, to five or three digits."""
    rows = tables.table("conjugate-gradient-intercepts")
    rows = rows[rows.constants == kind]
    assert len(rows) == 7
    for row in rows.itertuples():
        rest = a - b / row.eta
        assert row.rhs_s == pytest.approx(rest, rel=6e-5)
        if rest < 0:
            assert row.ts_max_s_at_tw0 == "infeasible"
            continue
        assert float(row.ts_max_s_at_tw0) == pytest.approx(rest / 1120, rel=6e-5)
        assert float(row.tw_max_s_per_value_at_ts0) == pytest.approx(rest / 1599600, rel=6e-5)
        assert float(row.min_node_bw_GBs_8B) == pytest.approx(8e-9 * 1599600 / rest, abs=0.051)
        assert float(row.min_node_bw_GBs_4B) == pytest.approx(4e-9 * 1599600 / rest, abs=0.051)


@pytest.mark.parametrize(
    ("phase", "count", "value"),
    [(1, "message_bytes", 0), (2, "message_bytes", "4*samples*groups/P"), (4, "message_bytes", "4*groups*lines/P")],
)
def test_structure_is_the_one_reconstructed(phase: int, count: str, value: object, papers: Path) -> None:
    typed = json.loads((papers / "003_phase_structure_reconstructed.json").read_text())
    assert tables.text("seismic-structure", count, phase=phase) == str(typed.get(f"phase{phase}", {}).get(count, value))
    assert tables.text("seismic-structure", count, phase=phase) == str(value)


def test_cells() -> None:
    assert tables.text("seismic-table-1", "phase3", P=4) == "0.640"
    assert tables.value("seismic-table-1", "phase3", P=4) == 0.64
    assert tables.half_unit("seismic-table-1", "phase3", P=4) == pytest.approx(0.0005)
    assert tables.value("seismic-datasets", "published_bytes", dataset="xlarge") is None
    assert math.isnan(tables.table("seismic-datasets").set_index("dataset").published_bytes["xlarge"])


def test_what_is_not_there() -> None:
    with pytest.raises(InputError, match="seismic-table-9"):
        tables.table("seismic-table-9")
    with pytest.raises(InputError, match="phase5"):
        tables.text("seismic-table-1", "phase5", P=4)
    with pytest.raises(InputError, match="rows in which"):
        tables.text("seismic-table-1", "phase1", P=5)
    with pytest.raises(InputError, match="nothing is published"):
        tables.number("seismic-datasets", "published_bytes", dataset="xlarge")


@given(st.integers(1, 10**6), st.integers(0, 6), st.integers(-9, 9))
def test_half_digit(digits: int, decimals: int, exponent: int) -> None:
    """The next number that can be printed alike is two half digits away."""

    def printed(number: int) -> str:
        whole, part = divmod(number, 10**decimals)
        return f"{whole}" + (f".{part:0{decimals}d}" if decimals else "") + (f"e{exponent}" if exponent else "")

    step = float(printed(digits + 1)) - float(printed(digits))
    assert 2 * tables.half_digit(printed(digits)) == pytest.approx(step, rel=1e-6)
