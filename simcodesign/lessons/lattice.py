"""The lattice of a run: forecasts at every stop of its sliders, the simulations of its ladder on a coarser lattice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.given_formulas.values import formula_values
from simcodesign.core.errors import InputError, nearest
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.scenario import Scenario
from simcodesign.engine.simulate import simulate
from simcodesign.lessons.description import Run, Stops
from simcodesign.lessons.scenarios import every_stop, scenario_at, simulated_stops, within
from simcodesign.studies.replication.output_analysis import interval
from simcodesign.studies.replication.replicate import random_sources_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Lattice:
    """``formula_s``: the forecast, or a formula of the workload, by stop of every slider of the run.

    ``simulated_s``: by stop that is simulated, of every slider; then by rung, from no effect to all effects of the run;
    then mean, low and high end (95 %), which are all the same if nothing is random.
    """

    formula_s: Floats
    simulated_s: Floats


def formula_times(run: Run) -> Floats:
    """Return seconds of the run's formula, (stops of the first slider, of the second ...).

    Sliders of one number each are evaluated together.
    """
    shape = [len(slider.stops) for slider in run.sliders]
    times_s = np.empty(shape)
    together = [number for number, slider in enumerate(run.sliders) if slider.simple is not None]
    apart = tuple(slider for slider in run.sliders if slider.simple is None)
    arrays = {}
    for place, number in enumerate(together):
        slider = run.sliders[number]
        values = np.array([_single(stop.parameters) for stop in slider.stops])
        arrays[str(slider.simple)] = values.reshape([-1 if axis == place else 1 for axis in range(len(together))])
    for stops in every_stop(apart):
        at = {slider.name: stops.get(slider.name, slider.start) for slider in run.sliders}
        scenario = scenario_at(run, at, arrays)
        try:
            found = np.asarray(_formula(run, scenario), dtype=np.float64)
        except InputError as error:
            raise within(run, at, error) from error
        index = tuple(slice(None) if slider.simple is not None else at[slider.name] for slider in run.sliders)
        times_s[index] = np.broadcast_to(found, [shape[number] for number in together])
    return run.scale * times_s


def _formula(run: Run, scenario: Scenario) -> FloatOrArray:
    """Return the sum of closed forms in s, or what the formula of the run gives."""
    if run.formula is None:
        return forecast(scenario, longest_path=False).headline_s
    known = scenario.workload.formulas
    if run.formula not in known:
        raise InputError("no such formula of the workload", value=run.formula, allowed=nearest(run.formula, known))
    values = formula_values(known[run.formula], scenario.bind())
    if values.total_s is None or values.reason:
        raise InputError(f"the formula {run.formula} has no total: {values.reason}")
    return values.total_s


def _single(parameters: object) -> float:
    """Return the one number that a stop of a simple slider sets."""
    assert isinstance(parameters, dict)
    (value,) = parameters.values()
    return float(value)


def ladder_at(run: Run, stops: Stops) -> Floats:
    """(rungs, 3) seconds of one point: mean, low and high of every rung of the ladder."""
    scenario = scenario_at(run, stops)
    point = scenario.bind()
    rows = []
    try:
        for count in range(len(run.effects) + 1):
            effects = run.effects[:count]
            seeds = range(run.seeds if random_sources_of(point, effects) else 1)
            runs = (simulate(scenario, effects=effects, seed=seed) for seed in seeds)
            times_s = [float(one.headline_s) for one in runs]
            if len(times_s) > 1:
                one = interval(times_s)
                rows.append([one.mean, one.mean - one.half_width, one.mean + one.half_width])
            else:
                rows.append(times_s * 3)
    except InputError as error:
        raise within(run, stops, error) from error
    return run.scale * np.array(rows)


def assembled(run: Run, formula_s: Floats, ladders: list[Floats]) -> Lattice:
    """Return the lattice of the ladders of all points, in the order of ``simulated_stops``."""
    shape = [len(run.simulated[slider.name]) for slider in run.sliders]
    assert len(ladders) == sum(1 for _ in simulated_stops(run))
    return Lattice(formula_s, np.array(ladders).reshape([*shape, len(run.effects) + 1, 3]))
