"""Feasibility regions: how large two costs may be for a workload to reach a rate, by the forecast or by simulation.

A rate counts the ``useful_flops`` of a workload: the region is where time <= useful flops / rate. Its boundary is
followed along rays from the origin, where both costs are zero. Source of the question: Bhatele et al., IPDPS 2011,
Figure 9, with the startup t_s and the time per value t_w of messages as the two costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from simcodesign.analytic.forecast import forecast
from simcodesign.describe.files import load_machine, load_workload
from simcodesign.describe.machine import CONSTANTS, Machine
from simcodesign.describe.setting import set_up
from simcodesign.describe.useful import useful_flops, useful_phases
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from simcodesign.errors import InputError, nearest

#: Symbols of the literature for the costs of Hockney's model.
SYMBOLS = {"ts": "network.startup", "tw": "network.per_byte"}
#: A workload with this parameter counts t_w per value of so many bytes.
VALUE = "value_bytes"
#: Where the search for a boundary begins, and where it gives up: seconds.
FIRST, LAST = 1e-9, 1e12
#: Relative accuracy of boundaries: of a forecast, and of a simulation, where every step costs a run.
FORECAST_ACCURACY, SIMULATION_ACCURACY = 1e-13, 1e-7


@dataclass(frozen=True)
class Cost:
    """One axis of a region. ``path`` is what is set, to the cost times ``scale``."""

    name: str
    path: str
    scale: float = 1.0
    unit: str = "s"


@dataclass(frozen=True)
class Region:
    """Where the rate is reached: below the boundary ``x``, ``y`` (one shape, from the axis of y to that of x).

    ``limit_s`` is the time allowed and ``fixed_s`` that with both costs zero. Where that is above the limit, nothing
    is feasible and the boundary is empty. ``slopes`` of a forecast: seconds per unit of each cost, None unless the time
    is linear in both. ``runs``: forecasts or simulations that it took.
    """

    reading: str
    effects: tuple[str, ...]
    costs: tuple[Cost, Cost]
    values: Mapping[str, float]
    limit_s: float
    fixed_s: float
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    slopes: tuple[float, float] | None
    runs: int

    @property
    def feasible(self) -> bool:
        """Whether there is any point in the region."""
        return self.fixed_s <= self.limit_s

    @property
    def intercepts(self) -> tuple[float, float]:
        """The largest cost on each axis, the other being zero; nan where nothing is feasible."""
        return (float(self.x[-1]), float(self.y[0])) if self.feasible else (math.nan, math.nan)


@dataclass(frozen=True)
class Question:
    """For which two costs does the workload reach the rate on the machine? ``parameters``: all other values."""

    workload: Workload
    machine: Machine
    over: tuple[str, str]
    rate_flop_per_s: float
    parameters: Mapping[str, float] = field(default_factory=dict)
    preset: str | None = None
    phases: Collection[str] | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.rate_flop_per_s) and self.rate_flop_per_s > 0):
            raise InputError("rate to be reached", value=self.rate_flop_per_s, allowed="a number above 0, in flop/s")
        if len(self.over) != 2 or self.over[0] == self.over[1]:
            raise InputError("a region lies over two costs", value=list(self.over), allowed="e.g. ts,tw")
        if self.phases is None:
            object.__setattr__(self, "phases", useful_phases(self.workload))
        clash = {cost.path for cost in self.costs} & {*self.parameters}
        if clash:
            raise InputError("set, and at the same time a cost to be found", value=sorted(clash))

    @property
    def costs(self) -> tuple[Cost, Cost]:
        """The two axes. InputError for what is neither a constant nor a parameter."""
        return self._cost(self.over[0]), self._cost(self.over[1])

    def _cost(self, name: str) -> Cost:
        path = SYMBOLS.get(name, name)
        known = {*CONSTANTS, *self.workload.parameters}
        if path not in known:
            raise InputError("a cost that does not exist", value=name, allowed=nearest(name, {*known, *SYMBOLS}))
        if name == "tw" and VALUE in self.workload.parameters:
            value_bytes = float(self._values()[VALUE])  # type: ignore[arg-type] # one design point
            return Cost(name, path, 1 / value_bytes, f"s per value of {value_bytes:g} B")
        constant = CONSTANTS.get(path)
        unit = {"time": "s", "per_byte": "s/B"}.get(constant[2], "") if constant else ""
        return Cost(name, path, unit=unit or (self.workload.parameters[path].unit if not constant else ""))

    def _values(self) -> Mapping[str, object]:
        return set_up(self.workload, self.machine, self.parameters, preset=self.preset).values

    @property
    def limit_s(self) -> float:
        """Useful flops / rate."""
        setting = set_up(self.workload, self.machine, self.parameters, preset=self.preset, phases=self.phases)
        return float(useful_flops(setting)) / self.rate_flop_per_s

    def at(self, x: float, y: float) -> dict[str, float]:
        """All parameters at one point of the plane."""
        first, second = self.costs
        return {**self.parameters, first.path: x * first.scale, second.path: y * second.scale}

    def forecast_s(self, x: float, y: float) -> float:
        """The forecast at one point."""
        said = forecast(self.workload, self.machine, self.at(x, y), preset=self.preset, phases=self.phases)
        return float(said.makespan_s)

    def simulated_s(self, x: float, y: float, effects: tuple[str, ...], engine: str = "auto") -> float:
        """The simulation at one point."""
        seen = simulate(
            self.workload, self.machine, self.at(x, y), preset=self.preset, phases=self.phases, effects=effects,
            engine=engine,
        )  # fmt: skip
        return float(seen.makespan_s)


def question(
    workload: Workload | str | Path,
    machine: Machine | str | Path,
    over: tuple[str, str],
    rate_flop_per_s: float,
    parameters: Mapping[str, float] | None = None,
    *,
    preset: str | None = None,
    phases: Collection[str] | None = None,
) -> Question:
    """A question about a workload and a machine, objects or names.

    ``over``: two of ``ts`` (startup), ``tw`` (time per value of the workload's ``value_bytes``, else per byte), paths
    of machine constants and parameters of the workload, which the time must not fall with. ``phases``: by default
    those that state useful flops.

    Raises InputError for what cannot be used.
    """
    loaded = workload if isinstance(workload, Workload) else load_workload(workload)
    built = machine if isinstance(machine, Machine) else load_machine(machine)
    return Question(loaded, built, over, rate_flop_per_s, dict(parameters or {}), preset, phases)


def forecast_region(asked: Question, points: int = 33) -> Region:
    """The region by the forecast, with so many points on its boundary."""
    return _region(asked, asked.forecast_s, FORECAST_ACCURACY, _shares(points), "forecast", ())


def simulated_region(
    asked: Question,
    effects: tuple[str, ...],
    points: int = 5,
    engine: str = "auto",
    accuracy: float = SIMULATION_ACCURACY,
) -> Region:
    """The region by simulation with these effects; every point takes some three or four runs."""

    def time_s(x: float, y: float) -> float:
        return asked.simulated_s(x, y, effects, engine)

    return _region(asked, time_s, accuracy, _shares(points), "simulation", effects)


def threshold(asked: Question, name: str, low: float, high: float) -> float | None:
    """The value of a parameter between these at which the region begins to be empty, by the forecast.

    None if it is empty, or not, at both ends.
    """

    def excess_s(value: float) -> float:
        changed = replace(asked, parameters={**asked.parameters, name: value})
        return changed.forecast_s(0.0, 0.0) - changed.limit_s

    if (excess_s(low) > 0) == (excess_s(high) > 0):
        return None
    return float(brentq(excess_s, low, high, xtol=1e-300, rtol=FORECAST_ACCURACY))


def _shares(points: int) -> NDArray[np.float64]:
    """Where the rays cross the line between the intercepts: 0 on the axis of y, 1 on that of x."""
    if points < 2:
        raise InputError("points of a boundary", value=points, allowed="2 or more")
    return np.linspace(0.0, 1.0, points)


def _region(
    asked: Question,
    time_s: Callable[[float, float], float],
    accuracy: float,
    shares: NDArray[np.float64],
    reading: str,
    effects: tuple[str, ...],
) -> Region:
    runs = 0

    def excess_s(x: float, y: float) -> float:
        nonlocal runs
        runs += 1
        return time_s(x, y) - limit_s

    limit_s = asked.limit_s
    at_origin = excess_s(0.0, 0.0)
    points: list[tuple[float, float]] = []
    slopes = None
    if at_origin <= 0:
        first = _along(lambda far: excess_s(far, 0.0), at_origin, FIRST, accuracy, asked.costs[0])
        second = _along(lambda far: excess_s(0.0, far), at_origin, FIRST, accuracy, asked.costs[1])
        points = [_on_ray(excess_s, at_origin, first, second, share, accuracy) for share in shares]
        slopes = _slopes(excess_s, at_origin, first, second) if reading == "forecast" else None
    x, y = np.array(points).reshape(-1, 2).T
    given = {**asked.parameters}
    return Region(reading, effects, asked.costs, given, limit_s, at_origin + limit_s, x, y, slopes, runs)


def _on_ray(
    excess_s: Callable[[float, float], float], at_origin: float, first: float, second: float, share: float,
    accuracy: float,
) -> tuple[float, float]:  # fmt: skip
    """The point of the boundary on the ray through a point between the intercepts."""
    if share in (0.0, 1.0):
        return (0.0, second) if share == 0.0 else (first, 0.0)
    x, y = share * first, (1.0 - share) * second
    far = _along(lambda far: excess_s(far * x, far * y), at_origin, 1.0, accuracy, None)
    return far * x, far * y


def _along(
    excess_s: Callable[[float], float], at_zero: float, guess: float, accuracy: float, cost: Cost | None
) -> float:
    """The largest number whose excess is not positive: bracketed by growing steps in proportion to what is missing."""
    low, below, high = 0.0, at_zero, guess
    above = excess_s(high)
    while above < -accuracy * abs(at_zero):
        if high > LAST:
            name = cost.name if cost else ""
            raise InputError("the time does not grow with this cost, so that nothing bounds it", value=name)
        rise = (above - below) / (high - low)
        step = -above / rise if rise > 0 else math.inf
        low, below, high = high, above, high + min(max(step * (1 + 1e-6), high * 1e-9), 1e6 * high)
        above = excess_s(high)
    if abs(above) <= accuracy * abs(at_zero):
        return high
    known = {low: below, high: above}  # brentq asks for both ends again, and a simulation is dear
    return float(
        brentq(lambda far: known[far] if far in known else excess_s(far), low, high, xtol=1e-300, rtol=accuracy)
    )


def _slopes(
    excess_s: Callable[[float, float], float], at_origin: float, first: float, second: float
) -> tuple[float, float] | None:
    """Seconds per unit of each cost, None if the time is not linear in both: at the far corner of the rectangle."""
    if not (first > 0 and second > 0):
        return None
    slopes = -at_origin / first, -at_origin / second
    halves = [excess_s(first / 2, 0.0), excess_s(0.0, second / 2), excess_s(first, second)]
    linear = [at_origin / 2, at_origin / 2, -at_origin]
    close = all(abs(a - b) <= 1e-9 * abs(at_origin) for a, b in zip(halves, linear, strict=True))
    return slopes if close else None
