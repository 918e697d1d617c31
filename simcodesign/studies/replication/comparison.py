"""A forecast compared with many simulations: its error, and what each effect adds, with intervals.

Each replication climbs the whole ladder under one seed, so that what an effect adds is a paired difference. Steps at
which nothing is random yet are simulated once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from simcodesign.comparison.attribution import changes_of, relative_error
from simcodesign.comparison.compare import Comparison, compare_experiment
from simcodesign.comparison.effects import Rung
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.result import Result
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.core.to_json import PlainResult, fields_of
from simcodesign.describe.scenario import MachineSource, Scenario, WorkloadSource
from simcodesign.engine.experiment import Experiment
from simcodesign.engine.simulate import simulate_experiment
from simcodesign.studies.replication.observations import (
    MAKESPAN,
    RESPONSE,
    STATION_NUMBERS,
    Floats,
    Key,
    Observation,
    StationNumbers,
    nested,
)
from simcodesign.studies.replication.output_analysis import Interval, interval
from simcodesign.studies.replication.replicate import (
    ReplicationKeywords,
    Replications,
    gathered,
    nth_replication,
    random_sources_of,
)
from simcodesign.studies.replication.stopping import Stopping

_NO_STATIONS = StationNumbers((), np.zeros((len(STATION_NUMBERS), 0)))


@dataclass(frozen=True)
class ReplicatedComparison(PlainResult):
    """``first``: the comparison of the first replication.

    ``keys``, ``values``: (replications, quantities), of the simulation with every effect, the makespan (or response
    time) first, and of ``("simulated_s", effect)`` and ``("change_s", effect)``.

    The response time of an open stream covers all its requests here, including the start.
    """

    first: Comparison
    seed: int
    seeds: tuple[int, ...]
    level: float
    keys: tuple[Key, ...]
    values: Floats
    random_sources: tuple[str, ...]
    stopping: Stopping

    @property
    def count(self) -> int:
        """Number of replications."""
        return len(self.seeds)

    @property
    def error(self) -> Interval:
        """Signed error of the forecast against the mean simulation; its ends come from the interval of the mean."""
        forecast_s, simulated = float(self.first.forecast.headline_s), self.interval(*self.keys[0])
        ends_s = (simulated.mean, simulated.high, simulated.low)
        mean, low, high = (relative_error(forecast_s, end_s) for end_s in ends_s)
        return Interval(mean, low, high, self.count, self.level, simulated.same)

    def interval(self, *key: str) -> Interval:
        """Return the mean of a quantity."""
        return interval(self.values[:, self.keys.index(key)], self.level)

    def json_fields(self) -> dict[str, Any]:
        """Without the values of each replication."""
        shown = fields_of(self, "error", without=("keys", "values"))
        means = nested({key: self.interval(*key) for key in self.keys})
        return {"reading": "replicated comparison"} | shown | {"means": means}


@shows_keywords(ReplicationKeywords, taken_by=Replications.of)
def replicate_comparison(
    workload: WorkloadSource | Scenario,
    machine: MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    **options: Unpack[ReplicationKeywords],
) -> ReplicatedComparison:
    """Compare again and again with independent random numbers. Arguments, and what is raised, as for ``replicate``."""
    wanted = Replications.of(workload, machine, parameters, **options)
    (replicated,) = replicate_comparisons(wanted, (wanted.experiment,))
    return replicated


def replicate_comparisons(wanted: Replications, experiments: Sequence[Experiment]) -> tuple[ReplicatedComparison, ...]:
    """Replicate the comparisons of experiments side by side, with common random numbers."""
    began = time.monotonic()
    firsts: list[Comparison] = []
    for experiment in experiments:
        experiment.point.require_one_point("a simulation")
        firsts.append(compare_experiment(nth_replication(experiment, 0)))
    ladders = [_ladder(experiment, first) for experiment, first in zip(experiments, firsts, strict=True)]
    observations = [ladder.first_observation() for ladder in ladders]
    sources = [random_sources_of(experiment.point, experiment.effects) for experiment in experiments]
    task = _Ladders(tuple(ladders))
    samples, stopping = gathered(observations, task, wanted, any(sources), time.monotonic() - began)
    return tuple(
        ReplicatedComparison(
            first=first,
            seed=experiment.seed,
            seeds=tuple(sample.seeds),
            level=wanted.rules.level,
            keys=sample.keys,
            values=sample.table(),
            random_sources=random_sources,
            stopping=stopping,
        )
        for experiment, first, random_sources, sample in zip(experiments, firsts, sources, samples, strict=True)
    )


@dataclass(frozen=True)
class _Step:
    """One step of the ladder.

    How long it took in the first replication, whether anything in it is random, and whether its effect has anything to
    do.
    """

    effect: str
    effects: tuple[str, ...]
    first_s: float
    random: bool
    acts: bool


def _step(rung: Rung, experiment: Experiment) -> _Step:
    """Return the step of the rung, as the first replication has it."""
    return _Step(
        effect=rung.effect,
        effects=rung.simulation.effects,
        first_s=float(rung.simulation.headline_s),
        random=bool(random_sources_of(experiment.point, rung.simulation.effects)),
        acts=rung.applies,
    )


def _ladder(experiment: Experiment, first: Comparison) -> _Ladder:
    """Return the ladder of an experiment, with the times of the first replication."""
    steps = tuple(_step(rung, experiment) for rung in first.rungs)
    return _Ladder(experiment, float(first.forecast.headline_s), steps, _parts(first.simulation))


def _parts(result: Result) -> dict[Key, float]:
    """Return times of the simulation with every effect."""
    answer = MAKESPAN if result.response_s is None else RESPONSE
    parts: dict[Key, float] = {answer: float(result.headline_s)}
    return parts | {("components_s", part): float(result.components[part]) for part in COMPONENTS}


@dataclass(frozen=True)
class _Ladder:
    """All steps under the seed of a replication; picklable."""

    experiment: Experiment
    forecast_s: float
    steps: tuple[_Step, ...]
    parts: Mapping[Key, float]

    def first_observation(self) -> Observation:
        """Return the observation of the first replication."""
        return self.observation(
            nth_replication(self.experiment, 0).seed, [one.first_s for one in self.steps], self.parts
        )

    def __call__(self, number: int) -> Observation:
        replication, times_s, parts = nth_replication(self.experiment, number), list[float](), self.parts
        for step in self.steps:
            if not step.random:
                times_s.append(step.first_s)
            elif not step.acts and times_s:
                times_s.append(times_s[-1])
            else:
                result = simulate_experiment(replace(replication, effects=step.effects))
                times_s.append(float(result.headline_s))
                parts = _parts(result)
        return self.observation(replication.seed, times_s, parts)

    def observation(self, seed: int, times_s: list[float], parts: Mapping[Key, float]) -> Observation:
        """Return the observation of these times of all steps."""
        values: dict[Key, float] = dict(parts)
        changes = changes_of([self.forecast_s, *times_s])
        for step, time_s, (change_s, _) in zip(self.steps, times_s, changes, strict=True):
            values |= {("simulated_s", step.effect): time_s, ("change_s", step.effect): change_s}
        return Observation(seed, values, _NO_STATIONS)


@dataclass(frozen=True)
class _Ladders:
    """The ladders of multiple experiments under the seed of a replication; picklable."""

    ladders: tuple[_Ladder, ...]

    def __call__(self, number: int) -> list[Observation]:
        return [ladder(number) for ladder in self.ladders]
