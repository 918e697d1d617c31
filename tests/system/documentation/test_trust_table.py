"""The table of docs/trust-maps.md, docs/tables/trust-broadcast.csv: where the textbook's formula of a broadcast can be trusted on four networks."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.studies.trust.trust_map import TrustMap
from tests import ROOT
from tests.system.documentation import csv_rows

TEXT = " ".join((ROOT / "docs" / "trust-maps.md").read_text(encoding="utf-8").split())
TOPOLOGIES = {
    "mesh 16 x 16": "{kind: mesh, shape: [16, 16]}",
    "torus 16 x 16": "{kind: torus, shape: [16, 16]}",
    "hypercube": "{kind: hypercube}",
    "fat tree, 4-ary": "{kind: fat_tree, arity: 4}",
}
ORDERS, SHARINGS = ("far", "near"), ("fcfs", "max_min")
#: Of mesh-256.
STARTUP_S, PER_BYTE_S, HOP_S = 20e-6, 1e-8, 1e-6


def rows() -> list[list[str]]:
    return [[*row.values()] for row in csv_rows("trust-broadcast")]


def variants(row: list[str]) -> list[tuple[str, str, str]]:
    """The networks, orders and sharings of a row."""
    orders, sharings = (
        every if cell == "any" else (cell,) for cell, every in zip(row[1:3], (ORDERS, SHARINGS), strict=True)
    )
    return [(row[0], order, sharing) for order, sharing in product(orders, sharings)]


@cache
def trust(network: str, order: str, sharing: str) -> TrustMap:
    settings = {"order": order, "network.sharing": sharing, "network.topology": TOPOLOGIES[network]}
    over = ["P=2:256:x2", "m=64B:1MiB:x4"]
    made = sc.sweep("broadcast", "mesh-256", vary=over, simulate=True, within=0.1, parameters=settings).trust
    assert made is not None
    return made


def hops(network: str, distance: int) -> int:
    """Links between ranks 0 and ``distance``, a power of two: along a row of 16 or a column; one of the hypercube; up
    and down as many levels of the tree as have 4, 16, 64, 256 nodes below them."""
    if network == "hypercube":
        return 1
    if network.startswith("fat tree"):
        return 2 * next(level for level in range(1, 5) if distance < 4**level)
    return distance if distance < 16 else distance // 16


def simulated_s(network: str, P: float, m: float, times_bytes: bool) -> float:
    """All rounds: a startup, the hops, and the bytes, as many times as messages share a link, which in the middle of
    a mesh are as many as there are hops."""
    distances = [2**step for step in range(round(math.log2(P)))]
    return sum(
        STARTUP_S + hops(network, d) * HOP_S + m * PER_BYTE_S * (hops(network, d) if times_bytes else 1)
        for d in distances
    )


def test_every_network_order_and_sharing_is_in_the_table_once() -> None:
    shown = [variant for row in rows() for variant in variants(row)]
    assert sorted(shown) == sorted(product(TOPOLOGIES, ORDERS, SHARINGS))


@pytest.mark.thorough
@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0]}-{row[1]}-{row[2]}")
def test_a_row(row: list[str]) -> None:
    for variant in variants(row):
        formula, forecast = trust(*variant).formulas
        shown = [text for one in (formula, forecast) for text in (one.within.text, f"{one.largest_error:+.1%}")]
        assert shown == row[3:], variant


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("network", "order", "sharing", "times_bytes"),
    [
        *((network, "far", sharing, False) for network in TOPOLOGIES for sharing in SHARINGS),
        *((network, "near", sharing, False) for network in ("hypercube", "fat tree, 4-ary") for sharing in SHARINGS),
        ("mesh 16 x 16", "near", "max_min", True),
    ],
)
def test_errors_of_the_formula_by_hops_and_shares_counted_by_hand(
    network: str, order: str, sharing: str, times_bytes: bool
) -> None:
    made = trust(network, order, sharing)
    points = list(zip(made.values["P"].tolist(), made.values["m"].tolist(), strict=True))
    assert len(points) == 64
    expected = [
        math.log2(P) * (STARTUP_S + m * PER_BYTE_S) / simulated_s(network, P, m, times_bytes) - 1 for P, m in points
    ]
    assert made.formulas[0].error == pytest.approx(np.array(expected), rel=1e-9, abs=1e-12)


def test_numbers_in_the_text() -> None:
    """Those that follow from hops alone."""
    for ranks, count in ((16, 15), (32, 16)):
        assert sum(hops("mesh 16 x 16", 2**step) for step in range(round(math.log2(ranks)))) == count
        error = math.log2(ranks) * (STARTUP_S + 1024 * PER_BYTE_S) / simulated_s("mesh 16 x 16", ranks, 1024, False) - 1
        assert f"({100 * error:.1f} %)" in TEXT
    assert sum(hops("mesh 16 x 16", 2**step) for step in range(8)) == 30
    assert max(hops("fat tree, 4-ary", 2**step) for step in range(8)) == 8
    apart = [abs(a - b) for a, b in product(range(16), repeat=2)]  # along one dimension
    mean = 2 * sum(apart) / len(apart) * 256 / 255  # of both, between two nodes that are not one
    assert f"({mean:.1f} on the mesh)" in TEXT
    charged_s = sc.forecast("broadcast", "mesh-256", {"P": 2, "m": 0}).makespan_s
    assert charged_s == pytest.approx(STARTUP_S + mean * HOP_S)


@pytest.mark.thorough
def test_the_formula_is_nearer_than_the_forecast_everywhere_where_the_page_says_so() -> None:
    for network in ("mesh 16 x 16", "hypercube"):
        formula, forecast = trust(network, "far", "fcfs").formulas
        assert np.all(np.abs(formula.error) <= np.abs(forecast.error))
