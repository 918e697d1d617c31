"""A program in which collective operations take other algorithms."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from simcodesign.describe.demands.base import Demand
from simcodesign.describe.demands.collective import SEGMENTED, Collective
from simcodesign.describe.programs.program import Block, Step


def with_algorithm(program: tuple[Step, ...], demands: Collection[Demand | None], algorithm: str) -> tuple[Step, ...]:
    """Return the program in which these demands, the very objects, take another algorithm."""
    steps: list[Step] = []
    for step in program:
        if isinstance(step, Block):
            steps.append(replace(step, body=with_algorithm(step.body, demands, algorithm)))
        elif isinstance(step, Collective) and any(step is one for one in demands):
            segment = step.segment if (step.name, algorithm) in SEGMENTED else None
            steps.append(replace(step, algorithm=algorithm, segment=segment, chosen_by=""))
        else:
            steps.append(step)
    return tuple(steps)
