"""The table docs/tables/stencil-cycles.csv: a stencil on one core of sandy-bridge, in cycles for the update of a line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.core.result import Result
from simcodesign.engine.simulate import simulate
from tests.shipped_pairs import load_machine
from tests.system.documentation import csv_rows

CLOCK_HZ = 2.7e9
#: Title of a row -> points of a row, (rows, sweeps) of less and more work, and the published contributions.
GRIDS = {
    "in L1": (32, (32, 2), (32, 4), (8,)),
    "in L2": (100, (100, 2), (100, 4), (8, 6)),
    "in L3": (250, (300, 2), (300, 4), (8, 6, 6)),
    "in memory, condition met in L1": (600, (6000, 1), (12_000, 1), (8, 6, 6, 13)),
    "in memory, condition met in L2": (4000, (1000, 1), (2000, 1), (8, 10, 6, 13)),
    "in memory, condition met in L3": (50_000, (60, 1), (120, 1), (8, 10, 10, 13)),
    "in memory, condition met nowhere": (800_000, (12, 1), (22, 1), (8, 10, 10, 22)),
}


def cycles(results: list[Result]) -> float:
    less, more = results
    lines = float(more.values["lines"]) - float(less.values["lines"])
    return float(more.makespan_s - less.makespan_s) * CLOCK_HZ / lines


def row(title: str) -> list[str]:
    n, *work, parts = GRIDS[title]
    points = [{"P": 1, "n": n, "rows": rows, "sweeps": sweeps} for rows, sweeps in work]
    machine = load_machine("sandy-bridge")
    assert machine.memory is not None
    one_way = replace(machine, memory=replace(machine.memory, writebacks=False))
    values = [
        cycles([forecast("stencil", machine, point) for point in points]),
        cycles([simulate("stencil", machine, point, effects="caches") for point in points]),
        cycles([forecast("stencil", one_way, point) for point in points]),
    ]
    published = [" + ".join(map(str, parts)), str(sum(parts))]
    return [title, *published, *(f"{value:.2f}" for value in values)]


def shown(title: str) -> list[str]:
    return next([*row.values()] for row in csv_rows("stencil-cycles") if row["grid"] == title)


QUICK = ("in L1", "in L2", "in L3")


@pytest.mark.parametrize(
    "title", [title if title in QUICK else pytest.param(title, marks=pytest.mark.thorough) for title in GRIDS]
)
def test_the_cycles_of_a_grid(title: str) -> None:
    assert shown(title) == row(title)
