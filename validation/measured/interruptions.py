"""Interruptions of a training job on 16,384 GPUs in 54 days, from the failure rates of nodes of two other clusters.

A job of N nodes is interrupted N times as often as a node fails, if nodes fail independently. The rates are of nodes of 8 A100 and
were published by the same company for two research clusters, which differ by a factor of 2.8; nothing is from the job itself.

Sources: Llama Team, The Llama 3 Herd of Models, arXiv 2407.21783 (2024), Sec. 3.3.4: 466 interruptions in 54 days, 419 of them
unexpected, on 16,384 H100. Kokolis et al., Revisiting Reliability in Large-Scale Machine Learning Research Clusters, arXiv 2410.21680
(2024): 6.50 and 2.34 failures in a thousand node-days, read in quotations, not in the original.
"""

from __future__ import annotations

from functools import cache

import numpy as np

import simcodesign as sc
from simcodesign.core.forecast_parts import FailureForecast
from simcodesign.core.simulation_parts import Failures
from simcodesign.studies.validation.case import Case, Readings, Tolerance

DAY_S = 86400.0
DAYS, GPUS, GPUS_OF_A_NODE, UNEXPECTED = 54, 16_384, 8, 419
#: Failures of a node in a thousand days, by cluster.
RATES = {"RSC-1": 6.50, "RSC-2": 2.34}
#: A checkpoint every 20 minutes in a minute, and a restart of 5 minutes: made up, and of no effect on failures in a given time.
CHECKPOINTS = {"interval": 1200, "write": 60, "restart": 300}
#: Simulations of each cluster.
RUNS = 10


@cache
def machine(cluster: str) -> sc.Machine:
    """As many nodes of 8 GPUs as the job had, which fail as often as the nodes of a cluster."""
    nodes = GPUS // GPUS_OF_A_NODE
    failures = {"mtbf": f"{1000 / RATES[cluster]} day"}
    changes = {"nodes": nodes, "network.topology.arity": 16, "failures": failures}
    return sc.Machine.load("dgx-h100-cluster", changes=changes)


def predicted(cluster: str) -> float:
    """Failures in 54 days by the forecast."""
    found = sc.forecast("checkpointed", machine(cluster), _at()).failures
    assert isinstance(found, FailureForecast)
    return DAYS * DAY_S / float(found.mtbf_s)


def simulated(cluster: str) -> float:
    """Failures in 54 days, in the mean of runs that take longer."""
    rates = []
    for seed in range(RUNS):
        run = sc.simulate("checkpointed", machine(cluster), _at(), effects="failures", seed=seed)
        assert isinstance(run.failures, Failures)
        rates.append(run.failures.count / float(run.makespan_s))
    return DAYS * DAY_S * float(np.mean(rates))


def _at() -> dict[str, float]:
    return {"P": GPUS, "work": DAYS * DAY_S, **CHECKPOINTS}


def _case() -> Case:
    def measure() -> Readings:
        return Readings({name: predicted(name) for name in RATES}, {name: simulated(name) for name in RATES})

    return Case(
        name="interruptions/llama-3",
        claim="Interruptions of 16,384 GPUs lie between those that the failure rates of nodes of two other clusters give.",
        source="Llama Team, arXiv 2407.21783 (2024), Sec. 3.3.4; failure rates: Kokolis et al., arXiv 2410.21680 (2024)",
        unit="",
        expected=dict.fromkeys(RATES, float(UNEXPECTED)),
        axis="rate of",
        reading="both",
        tolerance=Tolerance(
            "the failure rates of the two clusters differ by this much", relative=RATES["RSC-1"] / RATES["RSC-2"] - 1
        ),
        measure=measure,
        inputs={"failure rates": "public", "checkpoints": "assumed"},
        printed=True,
    )


CASES = (_case(),)
