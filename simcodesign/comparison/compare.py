"""One reading compared with the other: how far apart they are, in which component, and which effect explains it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.given_formulas.values import NO_FORMULAS, FormulaSources, GivenFormulas, given_formulas
from simcodesign.comparison.assumptions import collectives_of, message_assumptions
from simcodesign.comparison.attribution import (
    DemandGap,
    LadderStep,
    gaps_by_demand,
    is_farther,
    relative_error,
    steps_to,
)
from simcodesign.comparison.effects import WAITING, Rung, note_long_ladder, rungs_of, simulations_with
from simcodesign.comparison.efficiency import roofline_ladder
from simcodesign.comparison.formulas.ladder import FormulaComparison, compared_formulas
from simcodesign.comparison.measured.anchored import Anchored
from simcodesign.comparison.measured.at_point import ladder_to_measured, measured_at, where_measured
from simcodesign.comparison.measured.evidence import OperationEvidence, evidence_at
from simcodesign.comparison.measured.sources import MeasuredSources, given_measurements
from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.result import Result
from simcodesign.core.shown_answers import Drawn
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.core.to_json import PlainResult, attributes_of
from simcodesign.describe.effects import changing_effects, random_effects
from simcodesign.describe.measured.times import MeasuredTimes
from simcodesign.describe.scenario import MachineSource, Scenario, SimulationKeywords, WorkloadSource
from simcodesign.engine.event_contract import OnProgress
from simcodesign.engine.experiment import Experiment
from simcodesign.engine.simulate import simulate_experiment
from simcodesign.generate.lower import Plans

if TYPE_CHECKING:
    import pandas as pd


#: The forecast with memory and interfaces of nodes shared, among the errors against what was measured.
LOADED = "loaded"
#: Attributes of a Comparison that are among its ``json_fields`` if there are any.
_IF_ANY = (
    "formulas",
    "measured",
    "measured_ladder",
    "evidence",
    "roofline_ladder",
    "path_ladder",
    "anchored",
    "anchor_ladder",
)
#: Steps of the ladder to an anchored simulation.
FROZEN, ANCHOR = "algorithms as at the anchor", "anchor: measured, not explained"


@dataclass(frozen=True)
class Comparison(PlainResult, Drawn):
    """A forecast compared with simulations with the effects switched on one after another.

    If the forecast is a queueing formula (``forecast.formulas``), the first rung takes away the waits of
    the formula, because nothing queues without effects; shares then refer to what the effects put back.

    - ``forecast``: the closed forms. ``rungs``: the simulations, first with no effect, then with one more each.
    - ``assumptions``: what is assumed of messages with every chosen effect on, by subject; empty if there are none.
    - ``formulas``: given ones and the workload's own, each with a ladder of its own.
    - ``measured``: what was measured at this design point; ``measured_elsewhere``: where times were measured, if those
      given are of other points; ``measured_ladder``: the ladder from the simulation on to the measured total.
    - ``anchored``: both readings anchored at measurements on fewer ranks, if some are given for that;
      ``anchor_ladder``: the ladder from the simulation on to the anchored one.
    - ``evidence``: the operations that run, each with the evidence of the machine's file, if the file has any or
      measured times are given.
    - ``random``: the chosen effects that depend on the seed.
    - ``collectives``: the collective operations of the program, each with its algorithm.
    - ``roofline_ladder``: the step to the closed forms from those with kernels at the full rates of their accelerators.
    - ``path_ladder``: the steps from the sum of closed forms to a forecast that is the longest path.

    >>> import simcodesign as sc
    >>> comparison = sc.compare("broadcast", "mesh-256", {"P": 4}, effects="none")
    >>> comparison.forecast.reading, comparison.simulation.reading
    ('forecast', 'simulation')
    >>> bool(abs(comparison.error) < 1e-9)  # with no effect both readings agree on one operation
    True
    """

    forecast: Result
    rungs: tuple[Rung, ...]
    assumptions: Mapping[str, str]
    formulas: tuple[FormulaComparison, ...] = ()
    measured: MeasuredTimes | None = None
    measured_elsewhere: str = ""
    measured_ladder: tuple[LadderStep, ...] = ()
    random: tuple[str, ...] = ()
    collectives: tuple[str, ...] = ()
    roofline_ladder: tuple[LadderStep, ...] = ()
    anchored: tuple[Anchored, ...] = ()
    evidence: tuple[OperationEvidence, ...] = ()

    @property
    def simulation(self) -> Result:
        """The simulation with every chosen effect on."""
        return self.rungs[-1].simulation

    @property
    def error(self) -> float:
        """Signed error of the forecast against the simulation: negative when the forecast is too low.

        The error of the makespan, or of the response time of an open stream.
        """
        return relative_error(float(self.forecast.headline_s), float(self.simulation.headline_s))

    @property
    def measured_errors(self) -> dict[str, float]:
        """Signed errors of both readings, and of the loaded forecast if there is one, against the measured total.

        Empty if no total was measured.
        """
        if self.measured is None or self.measured.total_s is None:
            return {}
        sides = {"forecast": self.forecast.headline_s, LOADED: self.forecast.loaded_s}
        sides |= {"simulation": self.simulation.headline_s}
        total_s = self.measured.total_s
        return {name: relative_error(float(it), total_s) for name, it in sides.items() if it is not None}

    @property
    def farther_from_measured(self) -> bool:
        """Whether the simulation is farther from the measured total than the forecast: then no effect explains it."""
        errors = self.measured_errors
        return bool(errors) and is_farther(errors["simulation"], errors["forecast"])

    @property
    def not_explained(self) -> LadderStep | None:
        """The last step of the ladder to the measured total: what no effect explains; None if there is none."""
        return self.measured_ladder[-1] if self.measured_ladder else None

    @property
    def anchor_ladder(self) -> tuple[LadderStep, ...]:
        """Steps from the simulation to the anchored one. Empty without an anchor.

        They are other algorithms, if it keeps those of the anchor, and the ratio that was measured there, which nothing
        explains.
        """
        of_simulation = [one for one in self.anchored if one.reading == "simulation" and not one.refused]
        if not of_simulation:
            return ()
        (one,) = of_simulation
        times_s = ({FROZEN: one.frozen_s} if one.frozen else {}) | {ANCHOR: one.anchored_s}
        return steps_to(one.predicted_s, times_s, None)

    @property
    def path_ladder(self) -> tuple[LadderStep, ...]:
        """Steps from the sum of closed forms to the forecast, if the two differ.

        They are the bubble of a pipeline if there is a closed form, and the rest: ranks wait for each other, or overlap
        what the sum adds up. The steps are no part of the error, which is the error of the forecast.
        """
        if self.forecast.sum_s is None:
            return ()
        sum_s = float(self.forecast.sum_s)
        closed = self.forecast.bubble
        bubble = {} if closed is None else {closed.title: sum_s + closed.time_s}
        return steps_to(sum_s, {**bubble, WAITING: float(self.forecast.headline_s)}, None)

    @property
    def difference_s(self) -> float:
        """Simulated minus forecast makespan, or response time of an open stream."""
        return float(self.simulation.headline_s) - float(self.forecast.headline_s)

    @property
    def energy_difference_j(self) -> float | None:
        """Simulated minus forecast energy; None if the machine states no power."""
        if self.forecast.energy_j is None or self.simulation.energy_j is None:
            return None
        return float(self.simulation.energy_j) - float(self.forecast.energy_j)

    @property
    def energy_error(self) -> float | None:
        """Signed error of the forecast of energy; None if the machine states no power."""
        if self.forecast.energy_j is None or self.simulation.energy_j is None:
            return None
        return relative_error(float(self.forecast.energy_j), float(self.simulation.energy_j))

    @property
    def deterministic(self) -> Result:
        """The last simulation without effects that change the work itself; bounds hold only without these."""
        return [rung.simulation for rung in self.rungs if not changing_effects(rung.simulation.effects)][-1]

    @property
    def within_bounds(self) -> bool:
        """Whether the deterministic simulation lies within the bounds that hold for its effects (or has none)."""
        bounds = self.forecast.bounds
        if bounds is None:
            return True
        simulated_s = float(self.deterministic.makespan_s)
        least_s = bounds.least_s(self.deterministic.effects)
        return least_s * (1 - 1e-9) <= simulated_s <= bounds.upper_s * (1 + 1e-9)

    def component_rows(self) -> dict[str, dict[str, float]]:
        """Forecast, simulated seconds, difference and signed error per component and in total."""
        rows = {}
        sides = [result.components | {"total": result.makespan_s} for result in (self.forecast, self.simulation)]
        for name in (*COMPONENTS, "total"):
            forecast_s, simulated_s = float(sides[0][name]), float(sides[1][name])
            rows[name] = {
                "forecast_s": forecast_s,
                "simulated_s": simulated_s,
                "difference_s": forecast_s - simulated_s,
                "error": relative_error(forecast_s, simulated_s),
            }
        return rows

    @property
    def overlapped(self) -> tuple[str, ...]:
        """Overlapped components, for which an error would be meaningless.

        Ranks do at least half as much of them as was forecast, but less than half along the critical path: the rest is
        done during other work, or by ranks that do not hold the others up.
        """
        ranks = self.simulation.ranks
        if ranks is None:
            return ()
        busy_s = dict(zip(COMPONENTS, ranks.busy_s.sum(axis=1).mean(axis=0).tolist(), strict=True))
        return _beside(self.component_rows(), busy_s)

    @property
    def overlapped_phases(self) -> tuple[str, ...]:
        """The phases of which ranks do as much, as for components."""
        ranks = self.simulation.ranks
        if ranks is None:
            return ()
        busy_s = dict(zip(ranks.phases, ranks.busy_s.sum(axis=2).mean(axis=0).tolist(), strict=True))
        return _beside(self.phase_rows(), busy_s)

    def phase_rows(self) -> dict[str, dict[str, float]]:
        """Forecast and simulated seconds and signed error per phase."""
        rows = {}
        for phase, times in self.forecast.phases.items():
            forecast_s = float(sum(times.values()))
            simulated_s = float(sum(self.simulation.phases.get(phase, {}).values()))  # it has no bubble of its own
            error = relative_error(forecast_s, simulated_s)
            rows[phase] = {"forecast_s": forecast_s, "simulated_s": simulated_s, "error": error}
        return rows

    def table(self) -> pd.DataFrame:
        """``component_rows`` as a table."""
        import pandas as pd

        return pd.DataFrame.from_dict(self.component_rows(), orient="index")

    def phase_table(self) -> pd.DataFrame:
        """``phase_rows`` as a table."""
        import pandas as pd

        return pd.DataFrame.from_dict(self.phase_rows(), orient="index")

    def ladder(self) -> pd.DataFrame:
        """One row per effect: simulated seconds with it, what it adds, and its fraction of the gap."""
        import pandas as pd

        rows = [(rung.effect, rung.simulation.headline_s, rung.change_s, rung.fraction) for rung in self.rungs]
        return pd.DataFrame(rows, columns=["effect", "simulated_s", "change_s", "fraction"])

    @property
    def waiting_by_demand(self) -> tuple[DemandGap, ...]:
        """Return what the simulation without effects adds to the sum of closed forms, by demand.

        The demands are in the order of the program; they show which of them follow one another early or late. Empty for
        streams.
        """
        return gaps_by_demand(self.forecast, self.rungs[0].simulation)

    def json_fields(self) -> dict[str, Any]:
        """Both readings, and tables of components and of the ladder."""
        energy = () if self.energy_difference_j is None else ("energy_error", "energy_difference_j")
        shown = attributes_of(
            self,
            "forecast",
            "simulation",
            "error",
            "difference_s",
            *energy,
            "within_bounds",
            "assumptions",
            "collectives",
            "overlapped",
            "overlapped_phases",
            "waiting_by_demand",
            ladder="rungs",
        )
        if self.forecast.bounds is not None:
            # Bounds hold without effects that change the work, such as caches, and the total has those too.
            shown["bounded_simulation"] = attributes_of(self.deterministic, "effects", "makespan_s")
        shown |= {name: it for name in _IF_ANY if (it := getattr(self, name))}
        shown |= {"measured_elsewhere": elsewhere} if (elsewhere := self.measured_elsewhere) else {}
        shown |= {"measured_errors": errors} if (errors := self.measured_errors) else {}
        return shown | {"components": self.component_rows()}

    def __str__(self) -> str:
        explained = ", ".join(f"{rung.effect} {rung.change_s:+.4g} s" for rung in self.rungs if rung.change_s)
        error = round(100 * self.error, 1) + 0.0  # no -0.0
        return (
            f"{self.forecast.workload} on {self.forecast.machine}: forecast {self.forecast.headline_s:.4g} s, "
            f"simulated {self.simulation.headline_s:.4g} s, error {error:+.1f}% ({explained or 'no gap'})"
        )


def _beside(rows: Mapping[str, Mapping[str, float]], busy_s: Mapping[str, float]) -> tuple[str, ...]:
    """Return which rows are overlapped.

    Ranks do at least half as much of them as was forecast (``busy_s``, in their mean), but less than half of that is
    simulated along the critical path.
    """
    return tuple(
        name
        for name, one_s in busy_s.items()
        if name in rows and 2 * rows[name]["simulated_s"] < rows[name]["forecast_s"] <= 2 * one_s
    )


@shows_keywords(SimulationKeywords, taken_by=Experiment.of)
def compare(
    workload: WorkloadSource | Scenario,
    machine: MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    *,
    formulas: FormulaSources = None,
    measured: MeasuredSources = None,
    timeline: bool = False,
    on_progress: OnProgress | None = None,
    **options: Unpack[SimulationKeywords],
) -> Comparison:
    """Compare once, as ``studies.verbs.compare`` describes."""
    experiment = Experiment.of(workload, machine, parameters, **options)
    return compare_given(experiment, formulas, measured, timeline=timeline, on_progress=on_progress)


def compare_given(
    experiment: Experiment,
    formulas: FormulaSources = None,
    measured: MeasuredSources = None,
    *,
    timeline: bool = False,
    on_progress: OnProgress | None = None,
) -> Comparison:
    """``compare``, of an experiment, with formulas and measured times as a user gives them."""
    given = given_formulas(formulas)
    times = given_measurements(measured, experiment.scenario.workload)
    given = replace(given, measured=(*times, *given.measured))
    return compare_experiment(experiment, given, timeline=timeline, on_progress=on_progress)


def compare_experiment(
    experiment: Experiment,
    given: GivenFormulas = NO_FORMULAS,
    *,
    timeline: bool = False,
    on_progress: OnProgress | None = None,
) -> Comparison:
    """``compare``, of what is one object already."""
    scenario, chosen = experiment.scenario, experiment.effects
    if any(np.ndim(value) for value in scenario.parameters.values()):  # type: ignore[arg-type] # anything has a shape
        raise InputError("a comparison takes one design point, not arrays", value=dict(scenario.parameters))
    forecasted = forecast(scenario, bounds=True)
    summed = forecasted if forecasted.sum_s is None else forecast(scenario, longest_path=False)
    plans = Plans(experiment.point, experiment.seed, every_rank=timeline)

    def simulated(effects: tuple[str, ...]) -> Result:
        rung, keeps_timeline = replace(experiment, effects=effects), timeline and effects == chosen
        return simulate_experiment(rung, timeline=keeps_timeline, on_progress=on_progress, plans=plans)

    note_long_ladder(forecasted, chosen, experiment.point, experiment.engine)
    simulations = simulations_with(chosen, simulated, experiment.point, last_anew=timeline)
    assumptions = message_assumptions(experiment.point, chosen) if simulations[-1].messages else {}
    point, whole = experiment.point, scenario.phases is None
    measured = measured_at((*given.measured, *point.workload.measured), point, whole)
    elsewhere = where_measured(given.measured, point) if measured is None and given.measured else ""
    rungs = rungs_of(forecasted, simulations, chosen, experiment.point)
    formulas = compared_formulas(given, point, summed, rungs, measured, whole)
    last = ladder_to_measured(forecasted, rungs, measured)
    random = random_effects(point.workload, point.machine, chosen)
    collectives = collectives_of(point, simulations[-1])
    before = roofline_ladder(point, summed)
    evidence = evidence_at(point) if point.machine.evidence or given.measured else ()
    return Comparison(
        *(forecasted, rungs, assumptions, formulas, measured, elsewhere, last, random, collectives, before),
        evidence=evidence,
    )
