"""Feasibility regions: how large two costs may be for a workload to reach a rate, by the forecast or by simulation.

A rate counts the ``useful_flops`` of a workload: the region is where time <= useful flops / rate. Its boundary is
followed along rays from the corner where both costs are least: zero, unless the machine or the workload does not allow
that. Source of the question: Bhatele et al., IPDPS 2011, Figure 9, with the startup t_s and the time per value t_w of
messages as the two costs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.core.units import POSITIVE_RANGE, is_positive
from simcodesign.describe.constants import POSITIVE, dimension_at
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.effects import Mechanism, effect_named, switched_on
from simcodesign.describe.evaluated.useful_flops import useful_flops, useful_phases
from simcodesign.describe.scenario import MachineSource, OfScenario, Scenario, WorkloadSource
from simcodesign.engine.simulate import simulate
from simcodesign.studies.feasibility.boundary import Corner, Counted, Spot, bisected, rays
from simcodesign.studies.feasibility.cost_axes import CostAxis, cost_of

#: Relative accuracy of boundaries: of a forecast, and of a simulation, in which every step costs a run.
FORECAST_ACCURACY, SIMULATION_ACCURACY = 1e-13, 1e-7
#: A simulated boundary is followed until straight lines between its points are right on the ray through their middle,
#: to this part of the intercepts, or until it has this many points.
STRAIGHT, MOST_POINTS = 0.01, 17
#: Effects with which a time stays a longest path of times that never fall with a cost.
NEVER_QUEUE = {"hops", "imbalance"}


class UnboundedError(InputError):
    """A cost with which the time does not grow, so that nothing bounds it."""


@dataclass(frozen=True)
class Region:
    """Where the rate is reached: below the boundary ``x``, ``y`` (one shape, from the y axis to the x axis).

    ``limit_s`` is the time allowed and ``fixed_s`` that with both costs at their least. Where that is above the limit,
    nothing is feasible and the boundary is empty. ``slopes`` of a forecast: seconds per unit of each cost, None unless
    the time is linear in both. ``off``: how far the boundary may be from straight lines between its points if there
    were too few to know better, in parts of the intercepts. ``gaps``: stretches
    before points of the boundary, from one point to another, where the rate is not reached, since queueing may make a
    time fall with a cost. ``runs``: forecasts or simulations that it took.
    """

    reading: str
    effects: tuple[str, ...]
    costs: tuple[CostAxis, CostAxis]
    values: Mapping[str, float | str]
    limit_s: float
    fixed_s: float
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    slopes: tuple[float, float] | None
    runs: int
    off: float = 0.0
    gaps: tuple[tuple[Spot, Spot], ...] = ()

    @property
    def feasible(self) -> bool:
        """Whether there is any point in the region."""
        return self.fixed_s <= self.limit_s

    @property
    def intercepts(self) -> tuple[float, float]:
        """The largest of each cost, the other being at its least; nan if nothing is feasible."""
        return (float(self.x[-1]), float(self.y[0])) if self.feasible else (math.nan, math.nan)

    @property
    def capped(self) -> tuple[bool, bool]:
        """Whether the machine or the workload allows no more of each cost, so that the time does not bound it."""
        return (self.intercepts[0] >= self.costs[0].high, self.intercepts[1] >= self.costs[1].high)

    @property
    def bend(self) -> tuple[float, float] | None:
        """The point of the boundary farthest out beyond the line between the intercepts; None if that is straight."""
        if not self.feasible or len(self.x) < 3:
            return None
        (left, low), (right, high) = ((cost.low, most) for cost, most in zip(self.costs, self.intercepts, strict=True))
        if not (low > left and high > right):
            return None
        out = (self.x - left) / (low - left) + (self.y - right) / (high - right)
        place = int(np.argmax(out))
        return (float(self.x[place]), float(self.y[place])) if out[place] > 1 + 2 * STRAIGHT else None


@dataclass(frozen=True)
class FeasibilityQuestion(OfScenario):
    """Costs for which the workload reaches a rate, or keeps a time, on the machine?

    ``scenario``: both, and all other values.

    Either ``rate_flop_per_s``, of the useful flops, or ``time_limit_s`` is given.
    ``changes``: what was changed in the machine before, by name, to be reported with the region.
    """

    scenario: Scenario
    over: tuple[str, str]
    rate_flop_per_s: float | None = None
    time_limit_s: float | None = None
    changes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rate, time_s = self.rate_flop_per_s, self.time_limit_s
        if time_s is not None and not is_positive(time_s):
            raise InputError("time to be kept", value=time_s, allowed=f"{POSITIVE_RANGE}, in seconds")
        if time_s is None and (rate is None or not is_positive(rate)):
            raise InputError("rate to be reached", value=self.rate_flop_per_s, allowed=f"{POSITIVE_RANGE}, in flop/s")
        if len(self.over) != 2 or self.over[0] == self.over[1]:
            raise InputError("a region lies over two costs", value=list(self.over), allowed="e.g. ts,tw")
        if self.scenario.phases is None and rate is not None:
            phases = useful_phases(self.scenario.workload)
            object.__setattr__(self, "scenario", replace(self.scenario, phases=phases))
        clash = {cost.path for cost in self.costs} & {*self.parameters}
        if clash:
            raise InputError("set, although it is one of the two costs", value=sorted(clash))
        if rate is not None:
            self._check_useful()

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Numbers by name, as the scenario has them."""
        return self.scenario.parameters

    def _check_useful(self) -> None:
        for cost in self.costs:
            if cost.path in self.workload.parameters:
                counts = {self._useful({cost.path: value}) for value in cost.some_values}
                if len(counts) > 1:
                    what = f"the useful flops change with {cost.path}, so that a rate does not bound it"
                    raise InputError(what, value=cost.name, allowed="costs, which change the time alone")

    @cached_property
    def costs(self) -> tuple[CostAxis, CostAxis]:
        """The two axes. InputError for what is no cost of this machine and workload."""
        first, second = (
            cost_of(name, self.over, self.workload, self.machine, self.parameters, self.design_point().values)
            for name in self.over
        )
        if first.path == second.path:
            raise InputError("a region lies over two costs, these are one", value=list(self.over))
        return first, second

    @property
    def least(self) -> Spot:
        """Both costs at the minimum that machine and workload allow."""
        return self.costs[0].low, self.costs[1].low

    def design_point(self, changed: Mapping[str, float] | None = None) -> DesignPoint:
        """All values but constants of the machine, which these do not depend on."""
        plain = {name: value for name, value in self.parameters.items() if dimension_at(name) is None}
        given = {**plain, **(changed or {})}
        return replace(self.scenario, parameters=given).bind()

    def _useful(self, changed: Mapping[str, float] | None = None) -> float:
        return float(useful_flops(self.design_point(changed)))

    @cached_property
    def limit_s(self) -> float:
        """The time that is allowed: useful flops / rate, if a rate is given."""
        if self.rate_flop_per_s is None:
            return float(self.time_limit_s or 0)
        return self._useful() / self.rate_flop_per_s

    @property
    def peak_flop_per_s(self) -> float:
        """Peak rate of all processors of the machine together."""
        rate = self.parameters.get("processor.rate", self.machine.processor.rate_flop_per_s)
        return self.machine.processors * float(np.max(rate))

    def at(self, x: float, y: float) -> Scenario:
        """Return the scenario at one point of the plane."""
        return self.scenario.at({cost.path: _set(cost, value) for cost, value in zip(self.costs, (x, y), strict=True)})

    def forecast_s(self, x: float, y: float) -> float:
        """Return the forecast at one point."""
        return float(forecast(self.at(x, y)).makespan_s)

    def simulated_s(self, x: float, y: float, effects: tuple[str, ...], engine: str = "auto") -> float:
        """Return the simulation at one point."""
        return float(simulate(self.at(x, y), effects=effects, engine=engine).makespan_s)


def _set(cost: CostAxis, value: float) -> float:
    """Value of the constant or parameter; if it may not be zero, the smallest positive number replaces zero."""
    inside = min(max(value, cost.low), cost.high) * cost.scale
    return max(inside, sys.float_info.min) if cost.path in POSITIVE else inside


def question(
    workload: WorkloadSource,
    machine: MachineSource,
    over: tuple[str, str],
    rate_flop_per_s: float,
    parameters: Mapping[str, float] | None = None,
    *,
    preset: str | None = None,
    phases: Collection[str] | None = None,
) -> FeasibilityQuestion:
    """Return a question about a workload and a machine, objects or names.

    ``over``: two of ``ts`` (startup), ``tw`` (time per value of the workload's ``value_bytes``, otherwise per byte),
    paths of machine constants and parameters of the workload, which the time must not fall with. ``phases``: by default
    those that state useful flops.

    Raises InputError for what cannot be used.
    """
    scenario = Scenario.of(workload, machine, parameters, preset=preset, phases=phases)
    return FeasibilityQuestion(scenario, over, rate_flop_per_s)


def forecast_region(question: FeasibilityQuestion, points: int = 33) -> Region:
    """Return the region by the forecast, with ``points`` points on its boundary.

    On rays through even parts of the line between the intercepts.

    Raises UnboundedError if the forecast does not grow with a cost.
    """
    _check_points(points)

    def follow(corner: Corner, ends: Spot) -> tuple[list[Spot], float]:
        return rays(corner, ends, np.linspace(0.0, 1.0, points).tolist()), 0.0

    return _region(question, question.forecast_s, FORECAST_ACCURACY, follow, "forecast", ())


def simulated_region(
    question: FeasibilityQuestion,
    effects: tuple[str, ...],
    points: int = MOST_POINTS,
    engine: str = "auto",
    accuracy: float = SIMULATION_ACCURACY,
) -> Region:
    """Return the region by simulation with these effects, with a maximum number of points on its boundary.

    The first lies on the ray through the middle of the line between the intercepts. Where it is off that line by more
    than ``STRAIGHT``, the parts are halved repeatedly, so that points gather where the boundary bends. A point takes
    one run where the boundary is straight, otherwise some five. If anything may wait (for links, interfaces, ...), some
    twenty more look for gaps.

    Raises UnboundedError if the simulation does not grow with a cost.
    """
    _check_points(points)

    def time_s(x: float, y: float) -> float:
        return question.simulated_s(x, y, effects, engine)

    def follow(corner: Corner, ends: Spot) -> tuple[list[Spot], float]:
        return bisected(corner, ends, points, STRAIGHT)

    return _region(question, time_s, accuracy, follow, "simulation", effects)


def threshold(question: FeasibilityQuestion, name: str, low: float, high: float) -> float | None:
    """Return the value of a parameter between these at which the region begins to be empty, by the forecast.

    None if it is empty, or not, at both ends.
    """

    def excess_s(value: float) -> float:
        changed = replace(question, scenario=question.scenario.at({name: value}))
        return changed.forecast_s(*changed.least) - changed.limit_s

    if (excess_s(low) > 0) == (excess_s(high) > 0):
        return None
    return float(brentq(excess_s, low, high, xtol=1e-300, rtol=FORECAST_ACCURACY))


def _check_points(points: int) -> None:
    if points < 2:
        raise InputError("not a number of points of a boundary", value=points, allowed="2 or more")


def _region(
    question: FeasibilityQuestion,
    time_s: Callable[[float, float], float],
    accuracy: float,
    follow: Callable[[Corner, Spot], tuple[list[Spot], float]],
    reading: str,
    effects: tuple[str, ...],
) -> Region:
    limit_s, (left, bottom) = question.limit_s, question.least
    excess_s = Counted(lambda x, y: time_s(left + x, bottom + y) - limit_s)
    at_least = excess_s(0.0, 0.0)
    spots: list[Spot] = []
    slopes, off = None, 0.0
    gaps: list[tuple[Spot, Spot]] = []
    if at_least <= 0:
        spans = question.costs[0].span, question.costs[1].span
        corner = Corner(excess_s, spans, accuracy, steady=not _may_queue(question, effects), gaps=gaps)
        ends = corner.intercepts()
        for cost, end in zip(question.costs, ends, strict=True):
            _check_bounded(question, cost, end, reading, effects)
        spots, off = follow(corner, ends)
        slopes = _slopes(excess_s, *ends) if reading == "forecast" else None
    x, y = np.array(spots).reshape(-1, 2).T
    given: dict[str, float | str] = {**question.changes, **question.parameters}
    return Region(
        reading,
        effects,
        question.costs,
        given,
        limit_s,
        at_least + limit_s,
        left + x,
        bottom + y,
        slopes,
        excess_s.runs,
        off,
        tuple(((left + x, bottom + y), (left + u, bottom + v)) for (x, y), (u, v) in gaps),
    )


def _may_queue(question: FeasibilityQuestion, effects: tuple[str, ...]) -> bool:
    """Whether anything may wait for a resource, so that a time may fall where a cost rises."""
    others = {*effects} - NEVER_QUEUE
    return any(effect_named(name).acts_on(question.workload, question.machine) for name in others)


def _check_bounded(
    question: FeasibilityQuestion, cost: CostAxis, end: float, reading: str, effects: tuple[str, ...]
) -> None:
    if math.isfinite(end):
        return
    why = ""
    if cost.path == "network.hop_latency":
        if reading == "forecast" and question.machine.network.distance == "none":
            why = " (the forecast for this machine leaves hops out, network.distance: none; a simulation has them)"
        elif reading == "simulation" and Mechanism.OWN_ROUTES not in switched_on(effects):
            why = " (the effect hops is off)"
    raise UnboundedError(
        f"{reading}: the time does not grow with this cost, so that nothing bounds it{why}", value=cost.name
    )


def _slopes(excess_s: Callable[[float, float], float], first: float, second: float) -> tuple[float, float] | None:
    """Seconds per unit of each cost, None if the time is not linear in both: at the far corner of the rectangle."""
    if not (first > 0 and second > 0):
        return None
    at_least = excess_s(0.0, 0.0)
    rises = excess_s(first, 0.0) - at_least, excess_s(0.0, second) - at_least
    times = [excess_s(first / 2, 0.0), excess_s(0.0, second / 2), excess_s(first, second)]
    linear = [at_least + rises[0] / 2, at_least + rises[1] / 2, at_least + sum(rises)]
    close = all(abs(a - b) <= 1e-9 * max(rises) for a, b in zip(times, linear, strict=True))
    return (rises[0] / first, rises[1] / second) if close else None
