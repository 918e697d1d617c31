"""The tables of docs/fugaku.md: what was measured is in the published table, and errors are those of the runs."""

from __future__ import annotations

import re
from statistics import median

import pytest

from simcodesign.core.units import parse_quantity
from tests import ROOT
from validation.measured.fugaku_runs import (
    GEOMETRIES,
    GEOMETRY_ROWS,
    MIB,
    SIDES,
    Row,
    Setting,
    error,
    forecast_s,
    formula_s,
    row,
    rows,
    simulation_s,
)

TEXT = (ROOT / "docs" / "fugaku.md").read_text(encoding="utf-8")
#: Percent with one digit behind the point.
ROUNDING = 0.051
LIBRARY = ("nonoverlapping", "rdbc")
GROUPS = {
    "all": lambda each: True,
    "all but nonoverlapping and rdbc": lambda each: each.algorithm not in LIBRARY,
    "of these, above 1 MiB": lambda each: each.algorithm not in LIBRARY and each.size_bytes > MIB,
    "of these, up to 1 MiB": lambda each: each.algorithm not in LIBRARY and each.size_bytes <= MIB,
    **{name: lambda each, name=name: each.operation == name for name in ("broadcast", "allreduce", "all_to_all")},
}
#: Columns of the table of alternatives.
COLUMNS = [("4x4x4", name) for name in ("binomial", "binary-tree", "recursive_doubling", "modified-bruck", "pairwise")]
COLUMNS += [("8x8x8", name) for name in ("binomial", "binary-tree", "recursive_doubling", "modified-bruck")]
OPERATIONS = {each.algorithm: each.operation for each in rows()}


def cells(first: str) -> list[list[str]]:
    """Rows of tables whose first cell matches."""
    lines = (line for line in TEXT.splitlines() if re.match(rf"\| ({first}) \|", line))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def shown_rows() -> dict[Row, list[str]]:
    """The errors and the role of every row."""
    table = [line for line in cells("broadcast|allreduce|all_to_all") if len(line) == 9]
    return {row(line[0], line[1], line[2], int(parse_quantity(line[3], "size"))): line[4:] for line in table}


SHOWN = shown_rows()
JOBS = sorted({(each.operation, each.algorithm, each.shape) for each in SHOWN})


def test_every_measured_row_is_shown_with_its_spread_and_its_role() -> None:
    assert SHOWN.keys() == {*rows()}
    for each, line in SHOWN.items():
        in_us = [f"{time_s * 1e6:.6g}" for time_s in (each.median_s, each.lower_s, each.upper_s)]
        assert line[0] == "{} ({} to {})".format(*in_us)
        assert line[4] == ("calibration" if each.is_calibration else "evidence")


@pytest.mark.thorough
@pytest.mark.parametrize("job", JOBS, ids="-".join)
def test_errors(job: tuple[str, str, str]) -> None:
    for each, line in SHOWN.items():
        if (each.operation, each.algorithm, each.shape) == job and line[1]:
            for value_s, shown in zip((formula_s(each), forecast_s(each), simulation_s(each)), line[1:4], strict=True):
                assert 100 * error(value_s, each) == pytest.approx(float(shown), abs=ROUNDING), (each, shown)


@pytest.mark.parametrize("name", GROUPS)
def test_the_summary_is_of_the_rows_that_are_shown(name: str) -> None:
    every = [
        [abs(float(shown)) for shown in line[1:4]]
        for each, line in SHOWN.items()
        if line[1] and line[4] == "evidence" and GROUPS[name](each)
    ]
    (line,) = [line for line in cells(name) if len(line) == 6]
    columns = list(zip(*every, strict=True))
    medians = [float(cell.split()[0]) for cell in line[2:5]]
    assert medians == pytest.approx([median(column) for column in columns], abs=2 * ROUNDING)
    within = [sum(size <= 30.0 for size in column) for column in columns]
    assert [int(cell.split("(")[1].strip(")")) for cell in line[2:5]] == pytest.approx(within, abs=1)  # 30.0 is rounded
    assert (int(line[1]), float(line[5])) == (len(every), pytest.approx(max(columns[2]), abs=0.6))


def setting_of(label: str) -> Setting:
    """What a setting is called."""
    geometry, *parts = label.split(", ")
    changes = dict(part.split(": ") for part in parts)
    values = {name: int(value) if value.isdigit() else value for name, value in changes.items()}
    return Setting(geometry, **values)


ALTERNATIVES = {line[0]: line[1:] for line in cells("(?:mesh|torus|folded)(?:,[^|]*)?")}


@pytest.mark.thorough
@pytest.mark.parametrize("label", ALTERNATIVES)
def test_alternatives(label: str) -> None:
    for (shape, algorithm), shown in zip(COLUMNS, ALTERNATIVES[label], strict=True):
        if shown:
            each = row(OPERATIONS[algorithm], algorithm, shape, 64 * MIB)
            simulated = 100 * error(simulation_s(each, setting_of(label)), each)
            assert simulated == pytest.approx(float(shown), abs=ROUNDING), (shape, algorithm)


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [name for name in SIDES if name != "2x2x2"])
def test_the_geometry_of_a_shape_is_the_one_with_the_least_error_on_its_calibration_rows(shape: str) -> None:
    sizes = {}
    for geometry in ("mesh", "torus", "folded"):
        every = [row(*key, shape, 8 * MIB) for key in GEOMETRY_ROWS]
        sizes[geometry] = sum(abs(error(simulation_s(each, Setting(geometry)), each)) for each in every)
    assert min(sizes, key=lambda geometry: sizes[geometry]) == GEOMETRIES[shape]
