"""Changes of collective operations: each takes another algorithm, on the machine as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from simcodesign.describe.demands.base import Demand
from simcodesign.describe.demands.collective import Collective, every_algorithm
from simcodesign.describe.evaluation import Evaluation
from simcodesign.describe.programs.other_algorithms import with_algorithm
from simcodesign.describe.scenario import Scenario
from simcodesign.studies.elasticities.changes import Change


def algorithm_changes(scenario: Scenario) -> Iterator[Change]:
    """For the collective operations of each phase that run and are alike, each other algorithm that is registered."""
    known: dict[tuple[str, str, str], list[Demand | None]] = {}
    for step in Evaluation.at_points(scenario.bind(), by_rank=False).program.demands():
        if isinstance(step.demand, Collective) and np.any(np.asarray(step.repetitions) > 0):
            key = step.phase, step.demand.label, step.demand.algorithm
            known.setdefault(key, []).append(step.stated)
    for (phase, label, chosen), demands in known.items():
        first = demands[0]
        assert isinstance(first, Collective)
        for operation, algorithm in every_algorithm():
            if operation == first.name and algorithm != chosen:
                what = f"{phase}: {label}, instead by {algorithm.replace('_', ' ')}"
                yield Change(what, "algorithm", partial(_with_algorithm, demands, algorithm))


def _with_algorithm(demands: list[Demand | None], algorithm: str, scenario: Scenario) -> Scenario:
    workload = scenario.workload
    return replace(scenario, workload=replace(workload, program=with_algorithm(workload.program, demands, algorithm)))
