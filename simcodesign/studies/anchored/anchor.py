"""``sc.anchored``: predictions for more ranks than were measured, by the ratio at the largest scale that was."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Unpack

from simcodesign.analytic.forecast import forecast
from simcodesign.comparison.measured.anchored import Anchored, Scale, Step
from simcodesign.comparison.measured.sources import MeasuredSources, given_measurements
from simcodesign.core.errors import InputError
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.describe.machine import Machine
from simcodesign.describe.measured.times import MeasuredTimes
from simcodesign.describe.scenario import MachineSource, Scenario, SimulationKeywords, WorkloadSource
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.experiment import Experiment
from simcodesign.engine.simulate import simulate_experiment
from simcodesign.studies.anchored.frozen_algorithms import FrozenAlgorithms
from simcodesign.studies.anchored.rows_nearby import MachineWith, MeasuredRow, RowsRead, rows_nearby, rows_of_phases

#: Seconds that a reading predicts of a scenario.
Predict = Callable[[Scenario], float]


@dataclass(frozen=True)
class Anchors:
    """Measured times at which predictions are anchored; ``machine_with``: the machine with changes in its file."""

    times: tuple[MeasuredTimes, ...]
    machine_with: MachineWith
    #: Seconds predicted where something was measured: many predictions share them.
    known_s: dict[object, float] = field(default_factory=dict, compare=False, repr=False)
    read: RowsRead = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, measured: MeasuredSources, scenario: Scenario, machine: MachineSource | None = None) -> Anchors:
        """Return the anchors of tables for the workload of a scenario.

        ``machine``: a name or path whose file rows may change. Raises InputError as ``given_measurements`` does.
        """

        def machine_with(changes: Mapping[str, object]) -> Machine:
            if machine is None or isinstance(machine, Machine):
                what = "rows have keys of a machine file, but the machine is an object"
                raise InputError(what, value=[*changes], allowed="a shipped name, or the path of a file")
            return load_machine(machine, changes)

        return cls(given_measurements(measured, scenario.workload), machine_with)

    def anchored(self, reading: str, predict: Predict, scenario: Scenario, predicted_s: float) -> Anchored:
        """Return the prediction ``predicted_s`` of a reading for a single design point, anchored.

        It may be refused, with the reason.
        """
        ranks = float(scenario.bind().ranks)
        rows, others = rows_nearby(self.times, scenario, self.machine_with, self.read)
        if not rows:
            reason = f"nothing nearby was measured: {others}" if others else "nothing was measured"
            return Anchored(reading, ranks, predicted_s, refused=reason)
        chain = [min(each, key=lambda row: row.distance) for each in _by_ranks(rows)]
        frozen = FrozenAlgorithms.at(chain[-1].scenario)
        chosen = tuple((id(demand), algorithm) for demand, algorithm in frozen.choices)

        def scale(row: MeasuredRow) -> Scale:
            key = reading, row.key, chosen
            if key not in self.known_s:
                self.known_s[key] = predict(frozen.applied(row.scenario))
            return Scale(row.ranks, row.measured_s, self.known_s[key], row.at)

        words = frozen.differences(scenario)
        frozen_s = predict(frozen.applied(scenario)) if words else predicted_s
        scales = tuple(map(scale, chain))
        of_phases = _series(rows_of_phases(self.times, scenario, self.machine_with, self.read))
        series = [(each[0].phase, [*map(scale, each)]) for each in of_phases or _series(rows)] or [("", [*scales])]
        if not all(one.predicted_s > 0 for one in scales):
            reason = "a time of 0 is predicted where something was measured"
            return Anchored(reading, ranks, predicted_s, refused=reason)
        steps = tuple(step for phase, each in series for step in _steps(phase, each))
        return Anchored(reading, ranks, predicted_s, frozen_s, scales, steps, words)


def _by_ranks(rows: Iterable[MeasuredRow]) -> list[list[MeasuredRow]]:
    """Return the rows of each number of ranks, ascending."""
    ordered = sorted(rows, key=lambda row: row.ranks)
    return [list(group) for _, group in groupby(ordered, key=lambda row: row.ranks)]


def _series(rows: Iterable[MeasuredRow]) -> list[list[MeasuredRow]]:
    """Rows of one phase and equal sizes on several numbers of ranks, ascending."""
    by_sizes: dict[object, dict[float, MeasuredRow]] = {}
    for row in rows:
        by_sizes.setdefault((row.phase, *sorted(row.at.items())), {}).setdefault(row.ranks, row)
    return [[series[ranks] for ranks in sorted(series)] for series in by_sizes.values() if len(series) > 1]


def _steps(phase: str, scales: Sequence[Scale]) -> Iterator[Step]:
    """Yield the changes of the ratio along a series, where something is predicted."""
    for before, after in pairwise(one for one in scales if one.predicted_s > 0):
        yield Step(math.log(after.ratio / before.ratio), before.ranks, after.ranks, phase)


def forecast_s(scenario: Scenario) -> float:
    """Forecast the time of a single design point, in seconds."""
    return float(forecast(scenario).headline_s)


def simulated_s(experiment: Experiment, scenario: Scenario) -> float:
    """Simulate a single design point as an experiment does, in seconds."""
    return float(simulate_experiment(replace(experiment, scenario=scenario)).headline_s)


@shows_keywords(SimulationKeywords, taken_by=Experiment.of)
def anchored(
    workload: WorkloadSource | Scenario,
    machine: MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    *,
    measured: MeasuredSources,
    simulate: bool = False,
    level: float = 0.9,
    **options: Unpack[SimulationKeywords],
) -> Anchored:
    """Anchor the forecast, or the simulation, at measurements on fewer ranks.

    The ratio of measurement to prediction, at the largest measured number of ranks and the nearest sizes,
    is carried on to this design point; collective operations keep the algorithms that they take there.
    ``measured``: tables as ``compare`` takes them. Rows count if they are of this machine and of fewer ranks, if their
    sizes are within a factor of 8, and if they do not use a single node while this point uses several. ``simulate``:
    whether the simulation is anchored. ``level``: of the interval, which comes from how the ratio changes between
    measured numbers of ranks. Other arguments as for ``simulate``.

    Without such a row the answer has ``refused``, the reason. Raises InputError for a ``level`` outside 0 to 1, and as
    ``forecast`` and ``simulate`` do.

    >>> import pandas as pd
    >>> import simcodesign as sc
    >>> twice = [2 * float(sc.forecast("broadcast", "mesh-256", {"P": ranks}).makespan_s) for ranks in (4, 8)]
    >>> runs = pd.DataFrame({"P": [4, 8], "value": twice})
    >>> one = sc.anchored("broadcast", "mesh-256", {"P": 64}, measured=runs)
    >>> round(one.anchored_s / one.predicted_s, 6)
    2.0
    """
    if not 0 < level < 1:
        raise InputError("not a level of an interval", value=level, allowed="between 0 and 1")
    experiment = Experiment.of(workload, machine, parameters, **options)
    anchors = Anchors.of(measured, experiment.scenario, machine)
    predict: Predict = (lambda one: simulated_s(experiment, one)) if simulate else forecast_s
    reading = "simulation" if simulate else "forecast"
    one = anchors.anchored(reading, predict, experiment.scenario, predict(experiment.scenario))
    return replace(one, level=level)
