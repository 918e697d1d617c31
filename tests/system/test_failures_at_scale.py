"""Failures of a job on 2,048 nodes and 16,384 ranks: their number in 54 days, and what checkpoints leave of the time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.core.forecast_parts import FailureForecast

DAY_S, NODES, RANKS = 86400.0, 2048, 16_384
#: As reported of a training of 54 days (arXiv 2407.21783): unexpected interruptions.
DAYS, INTERRUPTIONS = 54, 419
RUNS = 12
AT: dict[str, Any] = {"P": RANKS, "work": DAYS * DAY_S, "interval": 1200, "write": 60, "restart": 300}


@pytest.fixture(scope="module")
def machine() -> sc.Machine:
    mtbf_days = DAYS * NODES / INTERRUPTIONS
    changes = {"nodes": NODES, "network.topology.arity": 16, "failures": {"mtbf": f"{mtbf_days!r} day"}}
    return sc.Machine.load("dgx-h100-cluster", changes=changes)


def test_a_job_fails_as_often_as_its_nodes_together(machine: sc.Machine) -> None:
    found = sc.forecast("checkpointed", machine, AT).failures
    assert isinstance(found, FailureForecast)
    assert found.mtbf_s == pytest.approx(DAYS * DAY_S / INTERRUPTIONS, rel=1e-12)
    assert found.young_interval_s == pytest.approx(math.sqrt(2 * 60 * DAYS * DAY_S / INTERRUPTIONS), rel=1e-12)
    # Half as many nodes fail half as often: ranks fill the nodes one after another.
    half = sc.forecast("checkpointed", machine, AT | {"P": RANKS // 2}).failures
    assert isinstance(half, FailureForecast)
    assert half.mtbf_s == pytest.approx(2 * found.mtbf_s, rel=1e-12)


def test_simulations_are_interrupted_at_that_rate_and_take_as_long_as_daly_says(machine: sc.Machine) -> None:
    """Failures are a Poisson process; a run of mean length D has D / M of them, and its length varies by less than as many
    losses of a whole interval, a checkpoint and a restart each."""
    runs = [sc.simulate("checkpointed", machine, AT, effects="failures", seed=seed) for seed in range(RUNS)]
    times_s = np.array([float(run.makespan_s) for run in runs])
    mtbf_s = DAYS * DAY_S / INTERRUPTIONS
    each = [math.exp(1260 / mtbf_s) - 1] * (DAYS * 72 - 1) + [math.exp(1200 / mtbf_s) - 1]
    daly_s = mtbf_s * math.exp(300 / mtbf_s) * math.fsum(each)
    deviation = math.sqrt(daly_s / mtbf_s / RUNS)
    assert times_s.mean() == pytest.approx(daly_s, abs=4 * deviation * (1200 + 60 + 300))
    counts = [run.failures.count for run in runs if run.failures is not None]
    assert np.mean(counts) == pytest.approx(daly_s / mtbf_s, abs=4 * deviation)
