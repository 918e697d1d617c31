"""Loaded forecasts of collectives on full nodes, against simulations in which messages share memory and interfaces."""

from __future__ import annotations

from typing import Any

import pytest

import simcodesign as sc
from tests.analytic.test_loaded import MACHINE


@pytest.mark.parametrize("ranks", [8, 16, 32])
@pytest.mark.parametrize(
    ("operation", "algorithm"),
    [("all_to_all", "pairwise"), ("allgather", "ring"), ("allreduce", "recursive_doubling")],
)
def test_full_nodes(operation: str, algorithm: str, ranks: int) -> None:
    """Ranks slip in the simulation: 5 %, as with other simulations of the model. Footprints are above the cache."""
    network = MACHINE["network"] | {"sharing": "max_min"}
    on = sc.Machine.load(MACHINE | {"network": network})
    step: dict[str, Any] = {operation: {"bytes": 1e6, "algorithm": algorithm}}
    work = sc.Workload.load({"name": "one", "program": [step]})
    closed = sc.forecast(work, on, {"P": ranks})
    simulated = sc.simulate(work, on, {"P": ranks}, effects=["node", "interfaces"])
    assert closed.loaded_s == pytest.approx(simulated.makespan_s, rel=0.05)
