"""Answers to what a page asks: what may be set, forecasts, and simulated points.

Plain functions that can be sent to other processes; what they give is JSON.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError, Place, SimcodesignError
from simcodesign.core.files.input_files import without_files
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.effects import ladder, random_effects
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.scenario import Scenario
from simcodesign.engine.simulate import simulate
from simcodesign.generate.lower import make_plan, operations_at_most
from simcodesign.lab.asked import MACHINE, MOST_RANKS, PARAMETERS, WORKLOAD, Asked
from simcodesign.lessons.figures.stations import OF_STATIONS
from simcodesign.lessons.packing import pack
from simcodesign.lessons.traces import trace_of
from simcodesign.studies.replication.output_analysis import interval

#: Operations of one simulation: a few seconds.
MOST_OPERATIONS = 2_000_000
#: Maximum number of operations of a run shown from begin to end.
MOST_SHOWN = 20_000
#: Ranks to begin with, if there would be too many.
FEWER_RANKS = 4096.0
Answer = dict[str, Any]


def described(asked: Asked) -> Answer:
    """Names, parameters with their limits, the effects that act, and the forecast at the values given."""
    with without_files():
        scenario = asked.scenario()
        point = scenario.bind()
        if "P" not in asked.parameters and float(np.max(point.values["P"])) > MOST_RANKS:
            scenario = asked.scenario({"P": FEWER_RANKS})  # all processors of a large machine
            point = scenario.bind()
        check_size(point)
        result = forecast(scenario)
        parameters = {"P": point.values["P"], **{name: point.values[name] for name in point.workload.parameters}}
        acting = [one for one in ladder() if one.acts_on(point.workload, point.machine)]
        return {
            "machine": scenario.machine.name,
            "workload": scenario.workload.name,
            "about": scenario.workload.about,
            "parameters": [
                _parameter(name, float(value), point.workload.parameters.get(name))
                for name, value in parameters.items()
            ],
            "most_ranks": min(int(point.machine.most_ranks), MOST_RANKS),
            "phases": list(scenario.workload.phases()),
            "effects": [{"name": one.name, "adds": one.adds, "random": one.random_on is not None} for one in acting],
            "forecast_s": float(result.headline_s),
            "operations": operations_at_most(point, asked.effects),
        }


def forecast_over(asked: Asked) -> Answer:
    """Return the forecasts at every value of the axis, in s; and how long that took."""
    began = time.perf_counter()
    with without_files():
        scenario = asked.scenario({asked.axis: np.array(asked.values)} if asked.axis is not None else None)
        check_size(scenario.bind())
        found = np.asarray(forecast(scenario).headline_s, dtype=np.float64)
    total_s = np.broadcast_to(found, max(len(asked.values), 1)).tolist()
    shown = [value if np.isfinite(value) else None for value in total_s]
    return {"values": list(asked.values), "total_s": shown, "took_ms": 1e3 * (time.perf_counter() - began)}


def simulated_at(asked: Asked, place: int) -> Answer:
    """Simulate at one value of the axis; if it is random, return the mean of several seeds with its interval."""
    began = time.perf_counter()
    with without_files():
        scenario, point = _at(asked, place)
        times_s = _times_s(asked, scenario, point)
    took_ms = 1e3 * (time.perf_counter() - began)
    return {"place": place, "value": _value(asked, place), **_interval(times_s), "took_ms": took_ms}


def rung_at(asked: Asked, place: int) -> Answer:
    """Rung ``place`` of the ladder at the first value: with so many of the effects, and everything that one run does.

    ``block``: the arrays of that run (``lessons.traces``), or None; then ``reason`` says why."""
    prefix = replace(asked, effects=asked.effects[:place])
    with without_files():
        scenario, point = _at(prefix, 0)
        times_s = _times_s(prefix, scenario, point)
        block, reason = _run_at(scenario, point, prefix.effects)
        forecast_s = float(forecast(scenario).headline_s)
    return {"place": place, **_interval(times_s), "forecast_s": forecast_s, "block": block, "reason": reason}


def _run_at(scenario: Scenario, point: DesignPoint, effects: tuple[str, ...]) -> tuple[str | None, str]:
    """One run as a block of arrays, or why there is none."""
    if operations_at_most(point, effects) > MOST_SHOWN:
        return None, f"a run of more than {MOST_SHOWN} operations"
    try:
        trace = trace_of(make_plan(point, effects, 0), point)
    except InputError as error:
        return None, str(error)
    if float(np.max(trace["op_times"][:, 2], initial=0.0)) != simulate(scenario, effects=effects, seed=0).makespan_s:
        return None, "failures or messages of other jobs change the run"
    node = np.asarray(point.machine.placement.node_of(point.ranks))
    return pack({}, {"node": node, **{name: one for name, one in trace.items() if name not in OF_STATIONS}}), ""


def _value(asked: Asked, place: int) -> float | None:
    return asked.values[place] if asked.axis is not None else None


def _at(asked: Asked, place: int) -> tuple[Scenario, DesignPoint]:
    """Scenario at one value of the axis."""
    scenario = asked.scenario({} if asked.axis is None else {asked.axis: _value(asked, place)})
    point = scenario.bind()
    check_size(point)
    return scenario, point


def _times_s(asked: Asked, scenario: Scenario, point: DesignPoint) -> list[float]:
    """Simulate, with several seeds if times are random; return the times. InputError for too large a simulation."""
    operations = operations_at_most(point, asked.effects)
    if operations > MOST_OPERATIONS:
        what = f"a simulation of up to {operations:.3g} operations at {asked.axis or 'this point'}"
        allowed = f"up to {MOST_OPERATIONS:.0e} here; more with simcodesign simulate"
        value = float(np.max(point.values[asked.axis])) if asked.axis and asked.axis in point.values else None
        raise InputError(what, Place(PARAMETERS), value=value, allowed=allowed)
    is_random = random_effects(scenario.workload, scenario.machine, asked.effects)
    seeds = range(asked.seeds if is_random else 1)
    return [float(simulate(scenario, effects=asked.effects, seed=seed).headline_s) for seed in seeds]


def _interval(times_s: list[float]) -> Answer:
    """Return the mean, and the ends of its interval of 95 %."""
    mean = float(np.mean(times_s))
    half = interval(times_s).half_width if len(times_s) > 1 else 0.0
    return {"mean": mean, "low": mean - half, "high": mean + half}


def check_size(point: DesignPoint) -> None:
    """InputError for more ranks than are taken here."""
    most = float(np.max(point.values["P"]))
    if most > MOST_RANKS:
        raise InputError("ranks", Place(PARAMETERS, None, "P"), value=most, allowed=f"up to {MOST_RANKS} here")


def error_rows(error: Exception) -> list[Answer]:
    """Return an error as a page shows it: in which text, at which line, and what is wrong."""
    place = getattr(error, "place", None)
    if not isinstance(error, SimcodesignError):
        words = f"this cannot be computed ({type(error).__name__})"
        return [{"where": "", "line": None, "path": "", "message": words}]
    where = place.file if isinstance(place, Place) and place.file in (MACHINE, WORKLOAD, PARAMETERS) else ""
    message = str(error).removeprefix(f"{place}: ") if where else str(error)
    row = {"where": where, "line": None, "path": "", "message": message}
    return [row | {"line": place.line, "path": place.path[:200]} if where and isinstance(place, Place) else row]


def _parameter(name: str, value: float, known: Parameter | None) -> Answer:
    """Return a parameter as a page offers it; infinite limits are None."""
    one = known or Parameter(name, value, about="ranks", low=1.0, whole=True)
    limits = [limit if np.isfinite(limit) else None for limit in (one.low, one.high)]
    return {
        "name": name,
        "about": one.about,
        "unit": one.unit,
        "value": value,
        "low": limits[0],
        "high": limits[1],
        "whole": one.whole,
        "choices": dict(one.choices),
    }
