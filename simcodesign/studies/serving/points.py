"""A server of a language model at many points: rates, parallelisations, machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simcodesign.core.errors import SimcodesignError
from simcodesign.core.to_json import PlainResult, fields_of
from simcodesign.studies.serving.serve import REPLICATIONS, ServingComparison, serve
from simcodesign.studies.sweep.design.grid import SweepAxis
from simcodesign.studies.sweep.evaluate import SweepEvaluator
from simcodesign.studies.sweep.points import Value
from simcodesign.studies.sweep.sweep import Sweep


@dataclass(frozen=True)
class ServedPoint(PlainResult):
    """A server at one point.

    ``values``: what is varied, in SI units or words; ``served``: both readings, None if it cannot be evaluated, for the
    ``reason``.
    """

    values: Mapping[str, Value]
    served: ServingComparison | None
    reason: str = ""


@dataclass(frozen=True)
class ServedPoints(PlainResult):
    """A server at every point of a grid, whose ``axes`` are what is varied."""

    workload: str
    machine: str
    axes: tuple[SweepAxis, ...]
    points: tuple[ServedPoint, ...]

    def json_fields(self) -> dict[str, Any]:
        """Without the axes, whose values the points have."""
        return {"reading": "serving"} | {key: one for key, one in fields_of(self).items() if key != "axes"}


def serve_points(
    sweep: Sweep,
    *,
    replications: int = REPLICATIONS,
    level: float = 0.95,
    on_progress: Callable[..., object] | None = None,
) -> ServedPoints:
    """Forecast and simulate a server at every point of a sweep, with its effects and seed.

    ``replications`` and ``level`` are as for ``serve``; ``on_progress``: called with 1 after each point. A point that
    cannot be evaluated has a reason in place of an answer. Raises InputError for ``replications`` or ``level`` out of
    range, at the first point.
    """
    evaluator = SweepEvaluator(sweep)
    points = []
    for point in sweep.points():
        try:
            scenario = evaluator.scenario(point)
            options: Mapping[str, Any] = {"effects": sweep.experiment.effects, "seed": point.seed}
            served = serve(scenario, replications=replications, level=level, **options)
            points.append(ServedPoint(point.axes, served))
        except SimcodesignError as error:
            points.append(ServedPoint(point.axes, None, str(error)))
        if on_progress is not None:
            on_progress(1)
    axes = tuple(sweep.design.settings)
    return ServedPoints(sweep.workload.name, sweep.source.machine.label, axes, tuple(points))
