"""Collective operations that keep the algorithm of a smaller scale, where rules choose it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.evaluation import Evaluation
from simcodesign.describe.programs.other_algorithms import with_algorithm
from simcodesign.describe.scenario import Scenario


@dataclass(frozen=True)
class FrozenAlgorithms:
    """The algorithm that rules choose for each operation of a program at one design point.

    An operation that takes several there, as its bytes differ by iteration, is left to the rules.
    """

    choices: tuple[tuple[Collective, str], ...]

    @classmethod
    def at(cls, anchor: Scenario) -> FrozenAlgorithms:
        """Return the algorithms of a scenario."""
        every = _open_choices(anchor).values()
        return cls(tuple((demand, *algorithms) for demand, algorithms in every if len(algorithms) == 1))  # type: ignore[misc]

    def applied(self, scenario: Scenario) -> Scenario:
        """Return a scenario of the same workload whose operations take these."""
        program = scenario.workload.program
        for demand, algorithm in self.choices:
            program = with_algorithm(program, [demand], algorithm)
        return replace(scenario, workload=replace(scenario.workload, program=program)) if self.choices else scenario

    def differences(self, scenario: Scenario) -> tuple[str, ...]:
        """Return in words which operations of a scenario would take other algorithms."""
        here = _open_choices(scenario)
        words = []
        for demand, algorithm in self.choices:
            if others := here.get(id(demand), (demand, set()))[1] - {algorithm}:
                what = f"{demand.name} by {algorithm} as at the anchor, not by {' or '.join(sorted(others))}"
                words.append(what.replace("_", " "))
        return tuple(dict.fromkeys(words))


def _open_choices(scenario: Scenario) -> dict[int, tuple[Collective, set[str]]]:
    """Map the identity of each demand that runs to the demand and its algorithms, if rules choose it.

    Demands whose algorithm is left to rules.
    """
    chosen: dict[int, tuple[Collective, set[str]]] = {}
    for step in Evaluation.at_points(scenario.bind(), by_rank=False).program.demands():
        if isinstance(step.demand, Collective) and step.demand.chosen_by and np.any(np.asarray(step.repetitions) > 0):
            assert isinstance(step.stated, Collective)
            chosen.setdefault(id(step.stated), (step.stated, set()))[1].add(step.demand.algorithm)
    return chosen
