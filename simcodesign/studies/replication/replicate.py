"""Independent replications of a simulation: means with intervals, and as many runs as a precision takes.

Replication k = 0, 1, ... of a seed is the plain simulation with a seed of its own, ``replication_seed(seed, k)``, so
that ``simulate`` repeats it alone. Observations are taken in the order of the replications, and whether to stop is
looked at after fixed numbers of them: nothing depends on how many processes work, or on which of them is faster.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.memory_limit import check_memory
from simcodesign.core.processes.ordered_map import map_in_order
from simcodesign.core.result import Result
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.core.simulation_parts import MOST_LISTED
from simcodesign.core.stations.uses import NO_STATIONS
from simcodesign.core.to_json import PlainResult, attributes_of, fields_of
from simcodesign.describe.demands.arrivals import Arrivals
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.effects import random_effects
from simcodesign.describe.programs.program import walk
from simcodesign.describe.scenario import MachineSource, Scenario, SimulationKeywords, WorkloadSource
from simcodesign.engine.experiment import Experiment
from simcodesign.engine.simulate import simulate_experiment
from simcodesign.studies.replication.observations import (
    MSER5,
    RESPONSE,
    Floats,
    Key,
    Observation,
    Sample,
    StationMeans,
    nested,
    observation_of,
)
from simcodesign.studies.replication.output_analysis import (
    BatchMeans,
    Interval,
    WarmUp,
    interval,
)
from simcodesign.studies.replication.stopping import MOST, Stopping, StoppingRules, no_such_quantity

#: Called after each replication: how many are done, the most there may be, and the relative half-width when it was
#: last computed (infinite before that).
OnProgress = Callable[[int, int, float], object]


class RepetitionKeywords(TypedDict, total=False):
    """How often a simulation is repeated; see ``replicate``."""

    replications: int | None
    precision: float | None
    precision_of: str | None
    level: float
    at_most: int
    jobs: int


class ReplicationKeywords(SimulationKeywords, RepetitionKeywords, total=False):
    """Keywords of every verb that replicates, in addition to workload, machine and parameters."""

    on_progress: OnProgress | None


class WarmUpKeywords(TypedDict, total=False):
    """Keywords for the part of arrivals to leave out."""

    warm_up: str | int


class StreamReplicationKeywords(ReplicationKeywords, WarmUpKeywords, total=False):
    """Replication keywords for verbs whose runs may have arrivals."""


@dataclass(frozen=True)
class Replications:
    """An experiment, its number of replications, and the maximum number of processes."""

    experiment: Experiment
    rules: StoppingRules
    jobs: int
    on_progress: OnProgress | None

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise InputError("not a number of jobs", value=self.jobs, allowed="1 or more")

    @classmethod
    @shows_keywords(SimulationKeywords, taken_by=Experiment.of)
    def of(
        cls,
        workload: WorkloadSource | Scenario,
        machine: MachineSource | None = None,
        parameters: Mapping[str, object] | None = None,
        *,
        replications: int | None = None,
        precision: float | None = None,
        precision_of: str | None = None,
        level: float = 0.95,
        warm_up: str | int = MSER5,
        at_most: int = MOST,
        jobs: int = 1,
        on_progress: OnProgress | None = None,
        **simulation: Unpack[SimulationKeywords],
    ) -> Replications:
        """Return the replications that ``replicate`` describes. Raises InputError for what cannot be used."""
        rules = StoppingRules(replications, precision, precision_of, level, at_most, warm_up)
        return cls(Experiment.of(workload, machine, parameters, **simulation), rules, jobs, on_progress)


@dataclass(frozen=True)
class Replicated(PlainResult):
    """Replications of one workload on one machine.

    ``first``: the Result of the first one, without its arrays. ``keys``, ``values``: names of all quantities, and their
    values, (replications, quantities). ``random_sources``: what is random with the chosen effects, such as
    ``noise``; if nothing is, there is one run. ``removed``: of an open stream, what was left out of the response
    time and the fraction blocked. ``batches``: of one long run of a stream, from which its response time has an
    interval.
    """

    first: Result
    seed: int
    seeds: tuple[int, ...]
    level: float
    keys: tuple[Key, ...]
    values: Floats
    stations: StationMeans
    random_sources: tuple[str, ...]
    stopping: Stopping
    warm_up: str | int = MSER5
    removed: WarmUp | None = None
    batches: BatchMeans | None = None

    @property
    def count(self) -> int:
        """Number of replications."""
        return len(self.seeds)

    def column(self, key: Key) -> Floats:
        """Return the values of a quantity in all replications. InputError for an unknown one."""
        if key not in self.keys:
            raise no_such_quantity(".".join(key), self.keys)
        return np.asarray(self.values[:, self.keys.index(key)])

    def interval(self, *key: str) -> Interval:
        """Return the mean of a quantity, e.g. ``interval("makespan_s")``.

        Several names lead into parts: ``interval("phases_s", "iterate", "disk")``.
        """
        if key == RESPONSE and self.batches is not None:
            return self.batches.interval
        return interval(self.column(key), self.level)

    def json_fields(self) -> dict[str, Any]:
        """Return the common properties of the runs, means with intervals, the values of each replication."""
        shown: dict[str, Any] = {"reading": "replications"}
        shown |= attributes_of(self.first, "workload", "machine", "preset", "values", "effects")
        shown |= attributes_of(self, "level", "random_sources", "seed", "seeds", "stopping", replications="count")
        if self.removed is not None:
            shown["warm_up"] = {"rule": self.warm_up, **fields_of(self.removed)}
        if self.batches is not None:
            shown["batch_means"] = self.batches
        return shown | {
            "means": nested({key: self.interval(*key) for key in self.keys}),
            "each": {key[0]: self.column(key) for key in self.keys if len(key) == 1},
            "station_count": len(self.stations),
            "stations": self.stations.listed(MOST_LISTED),
        }


@shows_keywords(StreamReplicationKeywords, taken_by=Replications.of)
def replicate(
    workload: WorkloadSource | Scenario,
    machine: MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    **options: Unpack[StreamReplicationKeywords],
) -> Replicated:
    """Simulate with independent random numbers again and again, as ``studies.verbs.simulate`` describes."""
    wanted = Replications.of(workload, machine, parameters, **options)
    began, experiment = time.monotonic(), wanted.experiment
    experiment.point.require_one_point("a simulation")
    task = _Task(experiment, wanted.rules)
    first = task.result(0)  # in this process: an error in the description shows immediately
    random_sources = random_sources_of(experiment.point, experiment.effects)
    spent_s = time.monotonic() - began
    (sample,), stopping = gathered([task.observation(first)], task, wanted, bool(random_sources), spent_s)
    return _summary(wanted, random_sources, first, sample, stopping)


def nth_replication(experiment: Experiment, number: int) -> Experiment:
    """Return the experiment with the seed of replication ``number``."""
    return replace(experiment, seed=replication_seed(experiment.seed, number))


def replication_seed(seed: int, number: int) -> int:
    """Return the seed of replication ``number``, from 0: 63 bits of a stream of its own."""
    state = np.random.SeedSequence(seed, spawn_key=(number,)).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))


def random_sources_of(point: DesignPoint, effects: Collection[str]) -> tuple[str, ...]:
    """Return sources of randomness in a simulation with these effects: arrivals, imbalance, noise."""
    streams = any(isinstance(step, Arrivals) and step.chance for step in walk(point.workload.program))
    return (*(["arrivals"] if streams else []), *random_effects(point.workload, point.machine, effects))


@dataclass(frozen=True)
class _Task:
    """Replication ``number`` of an experiment."""

    experiment: Experiment
    rules: StoppingRules

    def __call__(self, number: int) -> list[Observation]:
        return [self.observation(self.result(number))]

    def result(self, number: int) -> Result:
        """Return the simulation of a replication."""
        return simulate_experiment(nth_replication(self.experiment, number))

    def observation(self, result: Result) -> Observation:
        """Return the observation of a simulation."""
        return observation_of(result, self.rules.warm_up, self.rules.level)


def gathered(
    first: Sequence[Observation],
    task: Callable[[int], Sequence[Observation]],
    wanted: Replications,
    random: bool,
    spent_s: float,
) -> tuple[tuple[Sample, ...], Stopping]:
    """Observations of replications, starting with ``first``, until the rules find enough.

    ``task``: what replication ``number`` shows, a sequence of always the same length; ``random``: whether one differs
    from another; ``spent_s``: what the first took.
    """
    rules, on_progress = wanted.rules.for_random(random), wanted.on_progress
    samples = tuple(Sample(rules.warm_up) for _ in first)
    _add(samples, first)
    key = rules.key([key for key in samples[0].keys if all(key in sample.keys for sample in samples)])
    rules.check_single(samples)
    if not rules.enough(samples, key):
        needed_bytes = rules.last * sum(sample.bytes_per_run for sample in samples)
        check_memory(f"the results of {rules.last} replications take", needed_bytes, Place(), allowed="fewer")
        width = math.inf
        with closing(map_in_order(task, rules.last, wanted.jobs, spent_s, sure=rules.precision is None)) as later:
            for observations in later:
                _add(samples, observations)
                if on_progress is not None:
                    width = rules.width(samples, key) if _is_judged(len(samples[0])) else width
                    on_progress(len(samples[0]), rules.last, width)
                if rules.enough(samples, key):
                    break
    return samples, Stopping(key, rules.precision, rules.last, rules.reached(samples, key))


def _is_judged(count: int) -> bool:
    """Return whether the half-width so far is computed after ``count`` replications.

    Among large numbers, only those with two significant digits, since it takes a time proportional to the number.
    """
    return count % int(10 ** max(len(str(count)) - 2, 0)) == 0


def _add(samples: Sequence[Sample], observations: Sequence[Observation]) -> None:
    for sample, observation in zip(samples, observations, strict=True):
        sample.add(observation)


def _summary(
    wanted: Replications, random_sources: tuple[str, ...], first: Result, sample: Sample, stopping: Stopping
) -> Replicated:
    bare = replace(first, ranks=None, stations=NO_STATIONS, requests=None, power_profile=None, bounds=None)
    return Replicated(
        first=bare,
        seed=wanted.experiment.seed,
        seeds=tuple(sample.seeds),
        level=wanted.rules.level,
        keys=sample.keys,
        values=sample.table(),
        stations=sample.stations.means(wanted.rules.level),
        random_sources=random_sources,
        stopping=stopping,
        warm_up=wanted.rules.warm_up,
        removed=sample.warm_up,
        batches=sample.single.batches if sample.single is not None and len(sample) == 1 else None,
    )
