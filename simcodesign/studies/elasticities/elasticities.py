"""Elasticities: the time of both readings when one property after another improves, all else and all draws equal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.core.result import Result
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.core.to_json import PlainResult, attributes_of
from simcodesign.describe.design_point import is_of_machine
from simcodesign.describe.scenario import MachineSource, Scenario, SimulationKeywords, WorkloadSource
from simcodesign.engine.event_contract import OnProgress
from simcodesign.engine.experiment import Experiment
from simcodesign.engine.simulate import simulate_experiment
from simcodesign.studies.elasticities.algorithms import algorithm_changes
from simcodesign.studies.elasticities.changes import Change, machine_changes
from simcodesign.studies.elasticities.reasons import bottleneck_lines, reason_for_nothing
from simcodesign.studies.elasticities.spreads import spread_changes

#: Relative improvement of every property, unless another one is requested.
IMPROVEMENT = 0.1
#: Shares of the time that are no change but rounding.
ROUNDING = 1e-12

#: Called with the number of simulations to come.
OnCost = Callable[[int], None]


@dataclass(frozen=True)
class Improvement:
    """``what`` gets better, of which ``part``.

    The fractions of the time before by which forecast and simulation get longer (negative: shorter); ``reason``: why
    the simulation does not change.
    """

    what: str
    part: str
    forecast: float
    simulated: float
    reason: str = ""

    @property
    def is_algorithm(self) -> bool:
        """Whether it is another algorithm rather than a better machine."""
        return self.part == "algorithm"


@dataclass(frozen=True)
class Elasticities(PlainResult):
    """``improvements``: what helps the simulation most first.

    Everything is better by the fraction ``improvement``, and algorithms are others. ``bottleneck``: sentences on the
    critical path and on waits. ``impossible``: changes that there cannot be, with the reason.
    """

    forecast: Result
    simulation: Result
    improvement: float
    improvements: tuple[Improvement, ...]
    bottleneck: tuple[str, ...]
    impossible: tuple[tuple[str, str], ...] = ()

    def json_fields(self) -> dict[str, Any]:
        """Return the table, and the times before."""
        return attributes_of(
            self,
            "improvement",
            "improvements",
            "bottleneck",
            "impossible",
            forecast_s="forecast.headline_s",
            simulated_s="simulation.headline_s",
        )


@shows_keywords(SimulationKeywords, taken_by=Experiment.of)
def elasticities(
    workload: WorkloadSource | Scenario,
    machine: MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    *,
    improvement: float = IMPROVEMENT,
    on_cost: OnCost | None = None,
    on_progress: OnProgress | None = None,
    **options: Unpack[SimulationKeywords],
) -> Elasticities:
    """Measure how much the forecast and simulated times fall when one property improves by ``improvement``.

    Tried are each constant, links, interfaces, each group of links, each cache, imbalance and noise, and each other
    algorithm of each collective operation. The random numbers are the same in all simulations (common random numbers),
    so that differences are caused by the change alone. ``on_cost`` is called before they begin.

    Other arguments as for ``simulate``. Raises InputError as ``simulate`` does, and for an ``improvement`` that is not
    above 0.

    >>> from simcodesign.studies.elasticities.elasticities import elasticities
    >>> found = elasticities("broadcast", "crossbar-16", {"P": 2}, improvement=0.5, effects="none")
    >>> len(found.improvements) > 0
    True
    """
    experiment = Experiment.of(workload, machine, parameters, **options)
    return elasticities_of(experiment, improvement, on_cost=on_cost, on_progress=on_progress)


def elasticities_of(
    experiment: Experiment,
    improvement: float = IMPROVEMENT,
    *,
    simulation: Result | None = None,
    on_cost: OnCost | None = None,
    on_progress: OnProgress | None = None,
) -> Elasticities:
    """Evaluate ``elasticities`` for an experiment; ``simulation``: its Result, if it exists."""
    if not 0 < improvement < float("inf"):
        raise InputError("not an improvement", value=improvement, allowed="a fraction above 0, as 0.1 for 10 %")
    scenario = _with_own_constants(experiment.scenario)
    base = simulation or simulate_experiment(experiment, on_progress=on_progress)
    forecasted = forecast(experiment.scenario)
    factor = 1 + improvement
    changes = [
        *machine_changes(scenario.machine, factor),
        *spread_changes(scenario, factor),
        *algorithm_changes(scenario),
    ]
    if on_cost is not None:
        on_cost(sum(_is_looked_at(one, experiment) for one in changes))
    found: list[Improvement] = []
    impossible: list[tuple[str, str]] = []
    for change in changes:
        try:
            found.append(_improvement(change, experiment, scenario, forecasted, base, on_progress))
        except InputError as error:
            impossible.append((change.what, str(error)))
    order = sorted(found, key=lambda one: one.simulated)
    return Elasticities(forecasted, base, improvement, tuple(order), tuple(bottleneck_lines(base)), tuple(impossible))


def _with_own_constants(scenario: Scenario) -> Scenario:
    """Return the scenario whose machine has the constants that the scenario sets, and which sets none."""
    parameters = {name: value for name, value in scenario.parameters.items() if not is_of_machine(name)}
    return replace(scenario, machine=scenario.bind().machine, parameters=parameters)


def _is_looked_at(change: Change, experiment: Experiment) -> bool:
    return not change.effects or bool(set(change.effects) & set(experiment.effects))


def _improvement(
    change: Change,
    experiment: Experiment,
    scenario: Scenario,
    forecasted: Result,
    base: Result,
    on_progress: OnProgress | None,
) -> Improvement:
    changed = change.to(scenario)
    forecast_change = _change(forecast(changed), forecasted)
    simulated, result = 0.0, None
    if _is_looked_at(change, experiment):
        result = simulate_experiment(replace(experiment, scenario=changed), on_progress=on_progress)
        simulated = _change(result, base)
    reason = "" if simulated else reason_for_nothing(change, scenario, base, result)
    return Improvement(change.what, change.part, forecast_change, simulated, reason)


def _change(after: Result, before: Result) -> float:
    """Return the fraction by which the time is longer than before; 0 for rounding."""
    before_s = float(before.headline_s)
    share = (float(after.headline_s) - before_s) / before_s if before_s else 0.0
    return 0.0 if abs(share) < ROUNDING else share
