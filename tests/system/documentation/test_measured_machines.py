"""The tables of docs/measured-machines.md: measured times are those of the published tables, forecasts and simulations new runs."""

from __future__ import annotations

import csv
import statistics

import numpy as np
import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.simulate import simulate
from tests import ROOT
from tests.system.documentation import csv_rows
from validation.measured import hpl, hpl_grids, hpl_polls, lulesh, osu_clusters, ping_pongs

LINES = (ROOT / "docs" / "measured-machines.md").read_text(encoding="utf-8").splitlines()
ROWS = [
    [cell.strip(" *") for cell in line.strip("|").split("|")]
    for line in LINES
    if line.startswith("|") and line.strip("| ")[:1].isdigit()
]
OF_HPL = [row for row in ROWS if "," in row[0]]
OF_LULESH = [row for row in ROWS if "," not in row[0]]


def seconds(cell: str) -> float:
    return float(cell.replace(",", ""))


def half_a_digit(cell: str) -> float:
    """By how much a number may differ from the one that is printed."""
    decimals = len(cell.partition(".")[2])
    return 0.51 * 10.0**-decimals


def percent(cell: str) -> float:
    return float(cell.removesuffix(" %")) / 100


def test_the_page_has_all_rows() -> None:
    assert len(OF_HPL) == 6
    assert [row[0] for row in OF_LULESH] == ["64", "125", "216", "343"]


@pytest.mark.thorough
@pytest.mark.parametrize("row", OF_HPL, ids=lambda row: " ".join(row[:2]))
def test_linpack_measured_and_forecast(row: list[str]) -> None:
    n, hot = int(seconds(row[0])), row[1] == "four hot"
    run = next(month for month, state in hpl.RUNS.items() if state == hot)
    assert float(hpl.measured(run, n)) == pytest.approx(seconds(row[2]), abs=half_a_digit(row[2]))
    assert hpl.forecast_s(n, hot) == pytest.approx(seconds(row[3]), abs=half_a_digit(row[3]))
    for value, error in ((row[3], row[4]), (row[5], row[6])):
        assert seconds(value) / seconds(row[2]) - 1 == pytest.approx(percent(error), abs=0.006)


@pytest.mark.thorough
def test_linpack_simulated() -> None:
    for row in OF_HPL[:1]:  # the others take minutes
        simulated_s = hpl.simulated_s(int(seconds(row[0])), row[1] == "four hot")
        assert simulated_s == pytest.approx(seconds(row[5]), abs=half_a_digit(row[5]))


@pytest.mark.parametrize("row", OF_LULESH, ids=lambda row: row[0])
def test_lulesh_measured_and_errors(row: list[str]) -> None:
    assert float(lulesh._total(int(row[0]))) == pytest.approx(seconds(row[1]), abs=half_a_digit(row[1]))
    for value, error in ((row[2], row[3]), (row[4], row[5])):
        assert seconds(value) / seconds(row[1]) - 1 == pytest.approx(percent(error), abs=0.006)


@pytest.mark.thorough
@pytest.mark.parametrize("row", OF_LULESH[:2], ids=lambda row: row[0])
def test_lulesh_simulated(row: list[str]) -> None:
    assert lulesh.simulated_s(int(row[0])) == pytest.approx(seconds(row[4]), abs=half_a_digit(row[4]))


@pytest.mark.thorough
@pytest.mark.parametrize("cluster", ping_pongs.CLUSTERS)
def test_ping_pongs_between_the_sizes_that_were_fitted(cluster: str) -> None:
    (row,) = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in LINES if line.startswith(f"| {cluster} ")
    )
    seen = {size: float(one) for size, one in ping_pongs._measured(cluster).items()}
    assert int(row[1]) == len(seen)
    for cell, segments in ((row[2], 1), (row[3], None)):
        errors = [
            abs(1e6 * ping_pongs.one_way_s(cluster, size, simulated=False, segments=segments) / us - 1)
            for size, us in seen.items()
        ]
        assert statistics.median(errors) == pytest.approx(percent(cell), abs=0.006)


MAPS = [[*row.values()] for row in csv_rows("seismic-maps")]


@pytest.mark.parametrize("row", MAPS, ids=lambda row: f"{row[0]} {row[1]}")
def test_cells_of_maps_forecast(row: list[str]) -> None:
    phase = row[0].removeprefix("large, ").replace(" ", "-")
    result = forecast("seismic", load_machine("power-challenge", {"nodes": 2048}), {"P": int(row[1])}, preset="large")
    forecasted_s = sum(float(time_s) for time_s in result.phases[phase].values())
    assert forecasted_s == pytest.approx(seconds(row[2]), abs=half_a_digit(row[2]))


@pytest.mark.thorough
@pytest.mark.parametrize("row", [row for row in MAPS if row[1] == "64"], ids=lambda row: f"{row[0]} {row[1]}")
def test_cells_of_maps_simulated(row: list[str]) -> None:
    phase = row[0].removeprefix("large, ").replace(" ", "-")
    machine = load_machine("power-challenge", {"nodes": 64})
    result = simulate("seismic", machine, {"P": 64}, preset="large", phases=[phase])
    assert float(result.makespan_s) == pytest.approx(seconds(row[3]), abs=half_a_digit(row[3]))


OF_CLUSTERS = csv_rows("osu-clusters")


def test_the_table_has_all_cases_of_the_two_clusters() -> None:
    names = [f"osu/{row['cluster'].lower()}/{row['operation']}-{row['nodes']}" for row in OF_CLUSTERS]
    assert names == [case.name for case in osu_clusters.CASES]


@pytest.mark.parametrize(
    "row", OF_CLUSTERS[:1] + [pytest.param(row, marks=pytest.mark.thorough) for row in OF_CLUSTERS[1:]]
)
def test_errors_of_the_two_clusters(row: dict[str, str]) -> None:
    name = f"osu/{row['cluster'].lower()}/{row['operation']}-{row['nodes']}"
    (case,) = (one for one in osu_clusters.CASES if one.name == name)
    assert case.measure is not None
    simulated = case.measure().simulation
    errors = [float(simulated[size]) / float(one) - 1 for size, one in case.measured.items()]
    assert int(row["sizes"]) == len(errors)
    assert statistics.median(map(abs, errors)) == pytest.approx(percent(row["median size of the error"]), abs=0.006)
    assert max(errors, key=abs) == pytest.approx(percent(row["worst"]), abs=0.006)


OF_GRIDS = csv_rows("linpack-grids")
CHOICES = [*hpl_grids.choices()]
AS_RUN = dict(zip(hpl_grids.CHOICES, ("32", "32", "256", "two_rings", "binary_exchange", "1"), strict=True))


def test_the_table_has_every_process_grid_and_option() -> None:
    """Choices, measured times and SMPI's are the published ones, and errors those of the simulation."""
    published = [name for name in hpl_grids.COLUMNS if name not in ("forecast, s", "simulation, s", "error")]
    lines = [dict(zip(hpl_grids.COLUMNS, hpl_grids.cells(one, 1.0, 1.0), strict=True)) for one in CHOICES]
    assert [[row[name] for name in published] for row in OF_GRIDS] == [
        [row[name] for name in published] for row in lines
    ]
    grids = {(p, q) for row in OF_GRIDS if (p := int(row["rows"])) * (q := int(row["columns"])) == hpl_grids.GRID_RANKS}
    assert grids == {(p, 960 // p) for p in range(8, 121) if 960 % p == 0}
    for row in OF_GRIDS:
        error = seconds(row["simulation, s"]) / seconds(row["measured, s"]) - 1
        assert error == pytest.approx(percent(row["error"]), abs=1e-3)


def test_swaps_and_look_ahead_with_polls() -> None:
    """Measured times are the published ones, and the page has the differences; with polls both have the runs' signs."""
    rows = {(row["swap"], row["look-ahead"]): row for row in csv_rows("linpack-polls")}
    assert [*rows] == [(swap.replace("_", " "), str(lookahead)) for swap, lookahead in hpl_polls.OPTIONS]
    for (swap, lookahead), row in rows.items():
        options = ("32", "32", "128", "two_rings", swap.replace(" ", "_"), lookahead)
        measured_s = hpl_grids.measured_s(dict(zip(hpl_grids.CHOICES, options, strict=True)))
        assert [row["measured, s"], row["SMPI, s"]] == [f"{one:.1f}" for one in measured_s]
    columns = [hpl_polls.COLUMNS[number] for number in (2, 4, 5, 6, 3)]
    times = {key: np.array([seconds(row[name]) for name in columns]) for key, row in rows.items()}
    roll, exchange = (("spread roll", "1"), ("spread roll", "0")), (("binary exchange", "1"), ("binary exchange", "0"))
    pairs = ((roll[0], exchange[0]), roll, exchange)
    differences = np.array([times[one] / times[other] - 1 for one, other in pairs])
    page = (ROOT / "docs" / "process-grids.md").read_text(encoding="utf-8").splitlines()
    lines = [line.strip("|").split("|")[1:] for line in page if line.startswith(("| spread-roll", "| binary exchange"))]
    shown = np.array([[percent(cell.strip()) for cell in line] for line in lines])
    assert shown == pytest.approx(differences, abs=6e-4)
    assert (differences[:2, 2:4] > 0).all()


def test_the_variation_of_dgemm_is_that_of_the_calibration() -> None:
    """Standard deviations of repeated calls, from the data of the thesis where these are there."""
    path = ROOT.parent / "shared/measured/hpl-dahu/prediction_modeling_kernels_generative_dgemm_calibration.csv"
    if not path.exists():
        pytest.skip(f"no data of the thesis in {path.parent}")
    with path.open(encoding="utf-8") as file:
        found = [float(row["mnk_residual"]) / float(row["mnk"]) for row in csv.DictReader(file)]
    assert round(statistics.median(found), 3) == hpl_polls.VARIATION


@pytest.mark.thorough
def test_binary_exchange_with_polls() -> None:
    """A line of the table alone; spread-roll takes 6 GB."""
    (line,) = (row for row in csv_rows("linpack-polls") if (row["swap"], row["look-ahead"]) == ("binary exchange", "1"))
    assert f"{hpl_polls.simulated_s('binary_exchange', 1, hpl_polls.PIECES, 0.0):.1f}" == line["with polls, s"]


@pytest.mark.thorough
def test_predictions_of_grids() -> None:
    """One line alone, which takes a minute: 32 x 32 processes and blocks of 256, as the other runs."""
    (line,) = (n for n, one in enumerate(CHOICES) if one == AS_RUN)
    assert hpl_grids.cells(AS_RUN, *hpl_grids.predicted_s(AS_RUN)) == tuple(OF_GRIDS[line].values())
