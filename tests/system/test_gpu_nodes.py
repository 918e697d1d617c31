"""All-reduce among GPUs: the cases and their page, held against rings by hand."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import pytest

from tests.system.documentation import csv_rows
from validation.measured import gpu_nodes
from validation.measured.gpu_nodes import GROUPS, Group

ROWS = {(row["GPUs"], row["inside of a node"]): [*row.values()] for row in csv_rows("gpu-all-reduce")}
KINDS = [
    (name, kind) for name in GROUPS for kind in ("data sheet", "calibrated") if kind == "data sheet" or "a100" in name
]


def ring_us(gpus: int, size: float, startup_us: float, gb_per_s: float) -> float:
    """2 (P - 1) messages of a part each."""
    return 2 * (gpus - 1) * (startup_us + size / gpus / gb_per_s / 1e3)


@pytest.mark.parametrize("gpus", [4, 8])
def test_the_data_sheet_by_hand(gpus: int) -> None:
    """NVLink of 300 GB/s, and 2 us of each message."""
    group = Group("a100", gpus)
    assert gpu_nodes.forecast_us("data sheet", group, 2**26) == pytest.approx(ring_us(gpus, 2**26, 2, 300), rel=1e-9)
    assert gpu_nodes.simulated_us("data sheet", group, 2**26) == pytest.approx(ring_us(gpus, 2**26, 2, 300), rel=1e-9)


def test_a_node_without_an_inside_by_hand() -> None:
    """An interface of 25 GB/s, and 5 us."""
    assert gpu_nodes.forecast_us("point", Group("a100", 8), 2**26) == pytest.approx(ring_us(8, 2**26, 5, 25), rel=1e-9)


def test_two_rows_are_met_exactly() -> None:
    """1 MiB in 92.79 us, 1 GiB in 8,193 us."""
    for size, time_us in ((2**20, 92.79), (2**30, 8193.0)):
        assert gpu_nodes.forecast_us("calibrated", Group("a100", 8), size) == pytest.approx(time_us, rel=1e-9)


def test_two_racks_by_hand() -> None:
    """Rings of 72 within racks for the parts, and 72 pairs of GPUs between them, 50 GB/s each."""
    within_us = ring_us(72, 2**34, 2, 900)
    between_us = ring_us(2, 2**34 / 72, 5 + 0.3, 50)
    assert gpu_nodes.forecast_us("data sheet", Group("gb200", 144), 2**34) == pytest.approx(
        within_us + between_us, rel=1e-3
    )


def test_the_page_has_all_groups() -> None:
    assert {*ROWS} == {*KINDS}


def _errors(of_size: Callable[[str, Group, int], float], kind: str, group: Group) -> dict[int, float]:
    times = gpu_nodes.measured_us(group)
    sizes = [size for size in times if not (kind == "calibrated" and size in group.calibrates)]
    return {size: 100 * (of_size(kind, group, size) / times[size] - 1) for size in sizes}


@pytest.mark.parametrize(
    ("name", "kind"),
    [pytest.param(*one, marks=pytest.mark.thorough if "1440" in one[0] else ()) for one in KINDS],
)
def test_errors_of_the_page(name: str, kind: str) -> None:
    """Median sizes of the errors: nodes without an inside, forecast, simulation; and of small and of large sizes."""
    _, _, rows, calibration, before, forecast, simulation, small, large = ROWS[name, kind]
    group = GROUPS[name]
    errors = {
        "before": _errors(gpu_nodes.forecast_us, "point", group),
        "forecast": _errors(gpu_nodes.forecast_us, kind, group),
        "simulation": _errors(gpu_nodes.simulated_us, kind, group),
    }
    assert (int(rows), int(calibration)) == (len(errors["simulation"]), 2 if kind == "calibrated" else 0)
    printed = {"before": before, "forecast": forecast, "simulation": simulation}
    for reading, text in printed.items():
        taken = [abs(one) for size, one in errors[reading].items() if size in errors["simulation"]]
        assert statistics.median(taken) == pytest.approx(float(text.removesuffix(" %").replace(",", "")), abs=0.6)
    for text, wanted in ((small, lambda size: size < 2**26), (large, lambda size: size >= 2**26)):
        taken = [abs(one) for size, one in errors["simulation"].items() if wanted(size)]
        assert (text == "") == (not taken)
        if taken:
            assert statistics.median(taken) == pytest.approx(float(text.removesuffix(" %")), abs=0.6)
