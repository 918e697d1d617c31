"""Tables of docs/isoefficiency.md: docs/tables/isoefficiency.csv and isoefficiency-exponents.csv. Every number is what formulas and simulations give."""

from __future__ import annotations

from functools import cache
from math import log, log2, sqrt

import pytest

from simcodesign.describe.machine import Machine
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.simulate import simulate
from simcodesign.studies.scaling.isoefficiency import isoefficiency
from tests.system.documentation import csv_rows

#: Columns of the file, by their names in `sizes_and_work`.
COLUMNS = {
    "formula": "formula",
    "formula of a mesh": "mesh",
    "hypercube, simulated": "hypercube simulated",
    "mesh, simulated": "mesh simulated",
}
ROWS = [(row["workload"], int(row["P"]), [row[name] for name in COLUMNS]) for row in csv_rows("isoefficiency")]
EXPONENTS = [[*row.values()] for row in csv_rows("isoefficiency-exponents")]
#: Digits of the table.
SHOWN = 5e-4
#: The constants of the book's examples: 2 us for a point in a step of 5 flops, 25 us for a message, 4 us for a word of 16 B.
FFT = {"processor.rate": 2.5e6, "network.startup": 25e-6, "network.per_byte": 0.25e-6}
#: More ranks than these take seconds.
QUICK = 64


@cache
def hypercube(ranks: int) -> Machine:
    return load_machine("hypercube-256", {"nodes": ranks})


@cache
def mesh(ranks: int) -> Machine:
    rows = 2 ** (int(log2(ranks)) // 2)
    shape = [rows, ranks // rows]
    return load_machine("mesh-256", {"nodes": ranks, "network.topology": {"kind": "mesh", "shape": shape}})


@cache
def sizes_and_work(workload: str, ranks: int) -> dict[str, tuple[float, float]]:
    """Least size and its work by column of the table."""
    fft = workload.startswith("fft")
    given, efficiency = (FFT, 0.2) if fft else ({}, 0.5)
    formula = "hypercube" if workload == "fft-binary-exchange" else "textbook"
    readings = [formula, "simulation", *(["mesh"] if workload == "fft-binary-exchange" else [])]
    found = {}
    for name, machine in (("hypercube", hypercube), ("mesh", mesh)):
        result = isoefficiency(workload, machine, [ranks], given, efficiency=efficiency, readings=readings)
        for curve in result.curves:
            column = f"{name} simulated" if curve.reading == "simulation" else curve.reading
            found[column] = (curve.points[0].size, curve.points[0].serial_s)
    return {"formula": found.pop(formula), **found}


def test_the_table_is_there() -> None:
    assert {workload for workload, *_ in ROWS} == {
        *("simple-matmul", "cannon", "dns-matmul", "fft-binary-exchange", "fft-transpose")
    }
    assert len(ROWS) == 22
    assert len(EXPONENTS) == 5


@pytest.mark.parametrize(
    ("workload", "ranks", "cells"),
    [pytest.param(*row, marks=pytest.mark.thorough if row[1] > QUICK else ()) for row in ROWS],
)
def test_sizes(workload: str, ranks: int, cells: list[str]) -> None:
    found = sizes_and_work(workload, ranks)
    for column, cell in zip(COLUMNS.values(), cells, strict=True):
        if not cell:
            assert column not in found or found[column][0] != found[column][0]
        else:
            assert float(cell) == pytest.approx(found[column][0], rel=SHOWN)


@pytest.mark.thorough
@pytest.mark.parametrize("row", EXPONENTS, ids=lambda row: row[0])
def test_exponents(row: list[str]) -> None:
    workload, over, _, *cells = row
    few, many = (int(ranks.replace(",", "")) for ranks in over.split(" to "))
    workload = workload.strip("`")
    before, after = sizes_and_work(workload, few), sizes_and_work(workload, many)
    for column, cell in zip(("formula", "hypercube simulated", "mesh simulated"), cells, strict=True):
        if cell != "-":
            exponent = log(after[column][1] / before[column][1]) / log(many / few)
            assert float(cell) == pytest.approx(exponent, abs=0.006)


@pytest.mark.parametrize(
    ("ranks", "messages"), [(4, 2), (16, 6), (64, 14), pytest.param(1024, 52, marks=pytest.mark.thorough)]
)
def test_exchanges_on_a_mesh(ranks: int, messages: int) -> None:
    """Up to 64 processes all steps take as long as the most loaded link is busy in each: sqrt(P) - 1 messages along rows,
    and as many along columns. The document says what more processes take."""
    free = {"network.startup": 0.0, "network.hop_latency": 0.0, "processor.rate": 1e15}
    n = 1e6 * ranks
    result = simulate("fft-binary-exchange", mesh(ranks), {**free, "P": ranks, "n": n})
    assert result.makespan_s / (16 * n / ranks / 100e6) == pytest.approx(messages, rel=1e-4)
    assert messages <= 2 * (sqrt(ranks) - 1)
