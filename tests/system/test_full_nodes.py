"""All-to-all among all cores of a node: the cases and their page, held against rounds in memory counted by hand."""

from __future__ import annotations

import statistics

import pytest

import simcodesign as sc
from tests.system.documentation import csv_rows
from validation.measured import full_nodes

ROWS = {row["node"]: [*row.values()] for row in csv_rows("full-nodes")}


@pytest.mark.parametrize("size", [2**16, 2**20])
def test_rounds_load_the_memory_with_all_messages(size: int) -> None:
    """35 rounds of 36 messages, each read and written 1.4 times, at 320.9 GB/s."""
    rounds_us = 35 * 36 * size * 2 * 1.4 / 320.9e9 * 1e6
    assert full_nodes.simulated_us("optimized3.36", size) == pytest.approx(rounds_us, rel=2e-3)


@pytest.mark.parametrize("size", [2**16, 2**20])
def test_the_loaded_forecast_has_the_same_rounds(size: int) -> None:
    """Each with its startup of 0.5 us."""
    rounds_us = 35 * (0.5 + 36 * size * 2 * 1.4 / 320.9e9 * 1e6)
    assert full_nodes.loaded_us("optimized3.36", size) == pytest.approx(rounds_us, rel=2e-3)


def test_nothing_is_shared_in_the_forecast() -> None:
    """35 rounds of two messages of 0.5 us and 10 GB/s, for both ends are held."""
    assert full_nodes.forecast_us("optimized3.36", 2**20) == pytest.approx(35 * 2 * (0.5 + 2**20 / 1e4), rel=1e-9)


@pytest.mark.parametrize("size", [2**17, 2**21])
def test_the_shipped_machine_with_two_sockets_takes_as_long(size: int) -> None:
    """Each controller has half of STREAM, and half of the bytes; startups are those of each level."""
    at = {"P": 36, "m": size}
    shipped_us = 1e6 * float(sc.simulate(full_nodes.workload(), "ice-lake-cluster", at, effects=("node",)).makespan_s)
    assert shipped_us == pytest.approx(full_nodes.simulated_us("optimized3.36", size), rel=0.02)


def test_the_page_has_all_nodes() -> None:
    assert {*ROWS} == {*full_nodes.NODES}


@pytest.mark.parametrize(
    "name", ["optimized3.36", *(pytest.param(one, marks=pytest.mark.thorough) for one in ("e5.192", "e6.256"))]
)
def test_errors_of_the_page(name: str) -> None:
    _, cores, stream, count, unshared, median, worst = ROWS[name]
    sizes, node = full_nodes.sizes(name), full_nodes.NODES[name]
    assert (int(cores), float(stream), int(count)) == (node.cores, node.stream, len(sizes))

    def errors(of_size):  # type: ignore[no-untyped-def]
        return [100 * (of_size(name, size) / full_nodes.measured_us(name, size) - 1) for size in sizes]

    forecast, simulation = errors(full_nodes.forecast_us), errors(full_nodes.simulated_us)
    least, _, most = unshared.removesuffix(" %").partition(" to ")
    assert (max(forecast), min(forecast)) == pytest.approx((float(least), float(most)), abs=0.6)
    assert statistics.median(simulation) == pytest.approx(float(median.removesuffix(" %")), abs=0.6)
    assert max(simulation, key=abs) == pytest.approx(float(worst.removesuffix(" %")), abs=0.6)
