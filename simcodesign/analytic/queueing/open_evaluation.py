"""Shared parts of the closed forms of open streams: expressions for every point and rank, and results of a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.arrivals import Arrivals
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.evaluation import Evaluation
from simcodesign.describe.machine import Machine

Floats = NDArray[np.float64]


class OpenEvaluation:
    """Expressions for every design point and rank: arrays (..., P); and the names of the formulas applied."""

    def __init__(self, design_point: DesignPoint, queueing: bool) -> None:
        self.design_point, self.queueing = design_point, queueing
        self.ranks = design_point.ranks
        self._evaluation = Evaluation.at_points(design_point, by_rank=True)
        self.machine: Machine = self._evaluation.machine
        self.formulas: list[str] = []

    def value(self, expression: Expression, what: str) -> Floats:
        """(..., P), finite and not negative."""
        value = np.asarray(self._evaluation.amount(expression, what), dtype=np.float64)
        return np.broadcast_to(value, np.broadcast_shapes(value.shape, (self.ranks,)))

    def stream(self, step: Arrivals) -> tuple[Floats, Floats]:
        """Return requests and rates of every rank: both 0 where a rank sends nothing."""
        here = 1.0 if step.when is None else np.where(self.value(step.when, "when") != 0, 1.0, 0.0)
        count = self.value(step.requests, "requests") * here
        rate = np.where(count > 0, self.value(step.rate, "rate"), 0.0)
        if np.any((count > 0) & (rate <= 0)):
            raise InputError("rate of arrivals", step.rate.place or step.place, value=0, allowed="above 0 per second")
        if not np.all(count.sum(axis=-1) > 0):
            raise InputError("there are no requests", step.requests.place or step.place, value=step.requests.text)
        return count, rate

    def note(self, formula: str) -> None:
        """Note the name of a formula, once."""
        self.formulas += [] if formula in self.formulas else [formula]

    def check_load(self, load: Floats, names: Sequence[str], rate: Floats, place: Place) -> None:
        """InputError at a single design point with a load (..., S) of 1 or more; ``rate`` (..., P)."""
        if self.design_point.shape or not np.any(load >= 1):
            return
        worst = int(np.argmax(load))
        highest = float(load.ravel()[worst])
        what = f"{names[worst]} has a load of {highest:.4g}, and its queue would grow for ever"
        most = float(rate.max()) / highest
        raise InputError(what, place, allowed=f"a load below 1: a rate of a rank below {most:.6g} per second")

    def check_links(self, load: FloatOrArray, rate: Floats, place: Place) -> None:
        """InputError at a single design point where the busiest link has a load of ``network.saturation`` or more."""
        most = self.design_point.machine.network.saturation
        if self.design_point.shape or load < most:
            return
        what = f"the busiest link has a load of {float(load):.4g}, and saturates at {most:g} (network.saturation)"
        below = float(rate.max()) * most / float(load)
        raise InputError(what, place, allowed=f"a rate of a rank below {below:.6g} per second")

    def at_every_point(self, value: FloatOrArray) -> FloatOrArray:
        """One number for a single design point, otherwise an array of their shape."""
        shape = self.design_point.shape
        return np.broadcast_to(np.asarray(value, dtype=float), shape) if shape else float(value)


@dataclass(frozen=True)
class StreamForecast:
    """Forecast of one step: arrays (...), one number for each design point."""

    component: str
    served: FloatOrArray  # requests that are
    blocked: FloatOrArray
    response_s: FloatOrArray  # mean of those served
    last_s: FloatOrArray  # the last arrival, in the mean
    link_load: FloatOrArray = 0.0
    messages: FloatOrArray = 0.0
    message_bytes: FloatOrArray = 0.0
    disk_bytes: FloatOrArray = 0.0
    busy_j: FloatOrArray = 0.0


def last_s(count: Floats, rate_per_s: Floats) -> FloatOrArray:
    """When the last request arrives, in the mean of the rank that takes longest."""
    return np.asarray(np.max(np.where(count > 0, count / np.where(count > 0, rate_per_s, 1.0), 0.0), axis=-1))
