"""Predictions of targets and the simulated truth, seed by seed: errors, their means and confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simcodesign.comparison.attribution import relative_error
from simcodesign.core.to_json import attributes_of, fields_of
from simcodesign.counters.prediction import ANALYTIC, EMPIRICAL
from simcodesign.studies.replication.output_analysis import interval

#: The pipeline without and with further runs, and the two models it is compared with.
PLAIN, REFINED = "counters", "counters, refined"
METHODS = (PLAIN, REFINED, ANALYTIC, EMPIRICAL)
PARTS = ("computation", "memory stalls", "point-to-point", "collective", "others")
LEVEL = 0.95


@dataclass(frozen=True)
class ApplicationRun:
    """A run to profile or to predict. ``preset`` and ``parameters``: of another size than the profiled runs.

    ``volume``: by what the volumes of messages are multiplied for the size (None: by the surface in this many
    dimensions).
    """

    processes: int
    preset: str | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)
    volume: float | None = None

    @property
    def text(self) -> str:
        """As ``P = 128, preset C, n = 64``."""
        preset = [f"preset {self.preset}"] if self.preset is not None else []
        return ", ".join([f"P = {self.processes}", *preset, *(f"{k} = {v}" for k, v in self.parameters.items())])

    def json_fields(self) -> dict[str, Any]:
        """Without the volume of messages."""
        return attributes_of(self, "processes", "preset", "parameters")


@dataclass(frozen=True)
class Summary:
    """Mean over seeds and half the width of its 95 % confidence interval (Student's t), NaN for one seed."""

    mean: float
    half: float

    @property
    def certain(self) -> bool:
        """Whether the interval leaves out 0."""
        return abs(self.mean) > self.half

    def json_fields(self) -> dict[str, Any]:
        """With the probability of the interval in its name."""
        return fields_of(self, half_interval_95="half")


def summary(values: Sequence[float], level: float = LEVEL) -> Summary:
    """Return the mean, with t_{n-1} s/sqrt(n) around it."""
    estimate = interval(values, level)
    return Summary(estimate.mean, estimate.half_width)


@dataclass(frozen=True)
class SeedOutcome:
    """One seed: seconds by each method that gives a prediction, and the truth, each with its parts (``PARTS``).

    ``parts`` has the parts of the pipeline's methods. ``refusal``: why the guard refuses the prediction, which is
    given all the same; empty if it does not.
    """

    seed: int
    truth_s: float
    seconds: Mapping[str, float]
    parts: Mapping[str, Mapping[str, float]]
    truth_parts: Mapping[str, float]
    refusal: str = ""

    def error(self, method: str) -> float:
        """(predicted - truth)/truth."""
        return relative_error(self.seconds[method], self.truth_s)


@dataclass(frozen=True)
class Trial:
    """A target with its outcomes, one for each seed."""

    target: ApplicationRun
    outcomes: tuple[SeedOutcome, ...]

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods with a prediction, in the order of ``METHODS``."""
        return tuple(name for name in METHODS if name in self.outcomes[0].seconds)

    @property
    def pipeline(self) -> str:
        """The last method of the pipeline: refined, if it was."""
        return REFINED if REFINED in self.methods else PLAIN

    @property
    def refusal(self) -> str:
        """Refusal of the first seed that was refused."""
        return next((one.refusal for one in self.outcomes if one.refusal), "")

    @property
    def truth_s(self) -> Summary:
        """The simulated time."""
        return summary([one.truth_s for one in self.outcomes])

    def error(self, method: str) -> Summary:
        """Signed relative error."""
        return summary([one.error(method) for one in self.outcomes])

    def absolute(self, method: str) -> float:
        """Return the mean over the seeds of the error without its sign."""
        return float(np.mean([abs(one.error(method)) for one in self.outcomes]))

    def gain(self, baseline: str) -> Summary:
        """How much smaller the absolute error of the pipeline is than the error of a baseline: seed by seed."""
        mine = self.pipeline
        return summary([abs(one.error(baseline)) - abs(one.error(mine)) for one in self.outcomes])

    def part_s(self, name: str, method: str | None = None) -> tuple[float, float]:
        """Mean seconds of a part, as predicted (by default refined, if it was) and in truth."""
        predicted = [one.parts[method or self.pipeline][name] for one in self.outcomes]
        return float(np.mean(predicted)), float(np.mean([one.truth_parts[name] for one in self.outcomes]))

    def excess(self, method: str | None = None) -> dict[str, float]:
        """Error of each part: (predicted - truth)/T of the truth, mean over the seeds."""
        which = method or self.pipeline
        return {
            name: float(
                np.mean([(one.parts[which][name] - one.truth_parts[name]) / one.truth_s for one in self.outcomes])
            )
            for name in PARTS
        }
