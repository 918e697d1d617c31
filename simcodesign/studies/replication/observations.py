"""Observations: the quantities of one simulated run as numbers by name, and the quantities of many runs together.

For an open stream the start, when its stations are still empty, is left out. If MSER-5 chooses how much, it judges
the mean over all runs of the response of the first, second, third ... request (see ``output_analysis.mser5``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, SimcodesignError
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import RankTimes, Requests
from simcodesign.studies.replication.output_analysis import (
    BATCHES,
    GROUP,
    LEAST_IN_BATCH,
    ROUNDING,
    BatchMeans,
    Interval,
    WarmUp,
    batch_means,
    mser5,
    settled_at,
    spread_interval,
)

Floats = NDArray[np.float64]
#: Name of a number: ``("makespan_s",)``, ``("phases_s", "iterate", "disk")``.
Key = tuple[str, ...]
SomeKey = TypeVar("SomeKey", bound=Key)

MAKESPAN, RESPONSE, BLOCKED = ("makespan_s",), ("response_s",), ("blocked",)
MSER5 = "mser5"
#: Maximum number of spans kept of a run's stream. Spans are of GROUP requests, and longer if these were too many.
MOST_SPANS = 2000
#: The quantities of a station, in this order.
STATION_NUMBERS = ("served", "utilisation", "mean_queue", "longest_queue", "wait_s")
_AMOUNTS = (
    "messages",
    "message_bytes",
    "disk_bytes",
    "flops",
    "instructions",
    "footprint_bytes",
    "energy_j",
    "peak_power_w",
    "static_power_w",
    "events",
)


@dataclass(frozen=True)
class StationNumbers:
    """The stations of a run by name, and their numbers: (numbers, stations), in the order of ``STATION_NUMBERS``."""

    names: tuple[str, ...]
    values: Floats


@dataclass(frozen=True, eq=False)
class Spans:
    """Requests of an open stream in order of arrival, in spans of ``size``; what is left over belongs to the last span.

    For each span ``served``: how many were not blocked, and ``response_s``: the sum of their times.
    """

    size: int
    requests: int
    served: Floats
    response_s: Floats

    def after(self, cut: int) -> tuple[float, float]:
        """Mean response time, and the fraction blocked, without the first ``cut`` spans.

        InputError if none is served.
        """
        served = float(self.served[cut:].sum())
        if not served:
            allowed = f"fewer than the {self.requests} requests, of which some are served"
            raise InputError("no request is served after the warm-up", value=cut * self.size, allowed=allowed)
        return float(self.response_s[cut:].sum()) / served, 1 - served / (self.requests - cut * self.size)


@dataclass(frozen=True)
class SingleRun:
    """The answer of one run of an open stream without any other.

    Its warm-up by MSER-5, the mean response time and share blocked after it, and batch means (None if the stream is too
    short for them).
    """

    warm_up: WarmUp
    response_s: float
    blocked: float
    batches: BatchMeans | None


@dataclass(frozen=True)
class Observation:
    """One run; of an open stream with its requests."""

    seed: int
    values: Mapping[Key, float]
    stations: StationNumbers
    spans: Spans | None = None
    single: SingleRun | None = None


def observation_of(result: Result, warm_up: str | int = MSER5, level: float = 0.95) -> Observation:
    """All quantities that ``simulate`` prints of a run, in SI units.

    ``warm_up``: of an open stream, ``"mser5"`` or the number of requests that are left out. InputError if nothing is
    left.
    """
    values: dict[Key, float] = {MAKESPAN: float(result.makespan_s)}
    values |= {("components_s", part): float(seconds) for part, seconds in result.components.items()}
    for phase, times in result.phases.items():
        values |= {("phases_s", phase, part): float(times[part]) for part in COMPONENTS}
        values["phases_s", phase, "total"] = float(sum(times.values()))
    amounts = {name: getattr(result, name) for name in _AMOUNTS}
    values |= {(name,): float(amount) for name, amount in amounts.items() if amount is not None}
    values |= {("used", name): float(amount) for name, amount in result.used.items()}
    values |= {("served", level): float(accesses) for level, accesses in result.served.items()}
    if result.ranks is not None:
        values |= _of_ranks(result.ranks)
    spans, single = (None, None) if result.requests is None else _of_stream(result.requests, warm_up, level)
    return Observation(result.seed or 0, values, _of_stations(result), spans, single)


def _of_stream(requests: Requests, warm_up: str | int, level: float) -> tuple[Spans, SingleRun]:
    """Return the stream in spans, in order of arrival, and its numbers as a single run."""
    times = (requests.left_s - requests.arrived_s)[check_warm_up(warm_up) :]
    spans = spans_of(times)
    spans.after(0)  # if none is served, nothing below makes sense
    served = np.flatnonzero(~np.isnan(times))
    removed = mser5(times[served]) if warm_up == MSER5 else WarmUp(0)
    start = int(served[removed.removed]) if removed.removed else 0
    left = times[served[removed.removed :]]
    long = len(left) >= BATCHES * LEAST_IN_BATCH
    batches = batch_means(left, level) if long else None
    return spans, SingleRun(
        WarmUp(start + check_warm_up(warm_up), removed.late),
        float(left.mean()),
        1 - len(left) / (len(times) - start),
        batches,
    )


def spans_of(times_s: Floats) -> Spans:
    """Group response times, NaN for blocked requests, into spans of GROUP requests, longer ones for a long stream."""
    count = len(times_s)
    if not count:
        raise InputError("no request is left after the warm-up", allowed="a shorter one")
    size = GROUP * max(1, -(-count // (GROUP * MOST_SPANS)))
    starts = size * np.arange(max(count // size, 1))
    is_served = ~np.isnan(times_s)
    sums = (np.add.reduceat(part, starts) for part in (is_served.astype(np.float64), np.where(is_served, times_s, 0.0)))
    return Spans(size, count, *sums)


def settled_together(runs: Sequence[Spans]) -> WarmUp:
    """Where the mean of several runs has settled, by MSER-5 of it; late if everything possible is left out."""
    served, response_s = (sum(getattr(run, name) for run in runs) for name in ("served", "response_s"))
    some = served > 0  # a span of which all were blocked in all runs has no mean
    cut = settled_at(response_s[some] / served[some])
    cut = int(np.flatnonzero(some)[cut]) if cut else 0
    return WarmUp(runs[0].size * cut, late=0 < len(served) // 2 <= cut)


def _of_ranks(ranks: RankTimes) -> dict[Key, float]:
    """Mean over the ranks of the time of each component and of waiting in it, and when ranks are done."""
    end = ranks.end_s
    values: dict[Key, float] = {}
    for name, times in (("rank_time_s", ranks.busy_s), ("rank_waiting_s", ranks.waiting_s)):
        means = times.sum(axis=1).mean(axis=0).tolist()
        values |= {(name, part): mean for part, mean in zip(COMPONENTS, means, strict=True)}
    ends = {"min": end.min(), "mean": end.mean(), "max": end.max()}
    return values | {("rank_end_s", name): float(time) for name, time in ends.items()}


def _of_stations(result: Result) -> StationNumbers:
    uses = result.stations
    span_s = uses.span_s
    rows = (uses.served, uses.busy_s / (span_s * uses.servers), uses.wait_s / span_s, uses.longest_queue, uses.wait_s)
    names = tuple(uses.name(number) for number in range(len(uses)))
    return StationNumbers(names, np.array(rows, dtype=np.float64).reshape(len(STATION_NUMBERS), len(names)))


def check_warm_up(warm_up: object) -> int:
    """Return the number of requests that are left out, 0 for ``mser5``, which finds it.

    InputError for anything else.
    """
    if warm_up == MSER5:
        return 0
    if isinstance(warm_up, bool) or not isinstance(warm_up, int) or warm_up < 0:
        raise InputError("not a warm-up", value=warm_up, allowed=f"{MSER5}, or a number of requests, 0 or above")
    return warm_up


# ---------------------------------------------------------------------------------------------------------------------
# Many runs


@dataclass(frozen=True)
class StationMeans:
    """Means and standard deviations over ``count`` runs of the numbers of every station, (numbers, stations)."""

    names: tuple[str, ...]
    mean: Floats
    deviation: Floats
    count: int
    level: float

    def __len__(self) -> int:
        return len(self.names)

    def most_used(self, most: int) -> list[int]:
        """Return the stations of the highest mean utilisation, those that come first of equals."""
        return [int(place) for place in np.argsort(-self.mean[1], kind="stable")[:most]]

    def interval(self, number: str, station: int) -> Interval:
        """Interval of one of ``STATION_NUMBERS`` of a station."""
        row = STATION_NUMBERS.index(number)
        mean, deviation = float(self.mean[row, station]), float(self.deviation[row, station])
        if self.count > 1 and deviation <= ROUNDING * abs(mean):
            return Interval(mean, mean, mean, self.count, self.level, same=True)
        return spread_interval(mean, deviation, self.count, self.level)

    def listed(self, most: int) -> list[dict[str, Any]]:
        """Return the most used stations, by name, each with an interval of every number."""
        return [
            {"name": self.names[place]} | {number: self.interval(number, place) for number in STATION_NUMBERS}
            for place in self.most_used(most)
        ]


@dataclass
class StationSums:
    """Means of stations as they grow (Welford, Technometrics 4(3), 1962), for there may be too many to keep each run.

    A station that a run does not visit counts as idle there.
    """

    place: dict[str, int] = field(default_factory=dict)
    mean: Floats = field(default_factory=lambda: np.zeros((len(STATION_NUMBERS), 0)))
    squares: Floats = field(default_factory=lambda: np.zeros((len(STATION_NUMBERS), 0)))
    count: int = 0

    def add(self, stations: StationNumbers) -> None:
        """Add the stations of a run."""
        self._make_room(stations.names)
        values = stations.values
        if len(self.place) > len(stations.names) or tuple(self.place) != stations.names:
            values = np.zeros_like(self.mean)
            values[:, [self.place[name] for name in stations.names]] = stations.values
        self.count += 1
        with np.errstate(over="ignore", invalid="ignore"):
            change = values - self.mean
            self.mean = self.mean + change / self.count
            self.squares = self.squares + change * (values - self.mean)
        if not np.isfinite(self.squares).all():
            raise SimcodesignError("times of replications differ so widely that their variance is too large a number")

    def _make_room(self, names: Sequence[str]) -> None:
        before = len(self.place)
        for name in names:
            self.place.setdefault(name, len(self.place))
        idle = np.zeros((len(STATION_NUMBERS), len(self.place) - before))
        if idle.size:
            self.mean, self.squares = (np.hstack([part, idle]) for part in (self.mean, self.squares))

    def means(self, level: float) -> StationMeans:
        """Means and deviations of the runs so far."""
        freedom = self.count - 1
        deviation = np.sqrt(self.squares / freedom) if freedom > 0 else np.full_like(self.mean, np.nan)
        return StationMeans(tuple(self.place), self.mean, deviation, self.count, level)


class Sample:
    """Observations in the order of their replications.

    ``warm_up``: how many first requests each run leaves out before its spans, or ``"mser5"``.
    """

    def __init__(self, warm_up: str | int = MSER5) -> None:
        self.given_warm_up = check_warm_up(warm_up)
        self.by_mser = warm_up == MSER5
        self.seeds: list[int] = []
        self.stations = StationSums()
        self.single: SingleRun | None = None  # of the last run
        self._keys: tuple[Key, ...] = ()
        self._values: Floats = np.empty((0, 0))  # (quantities, capacity): the values of a quantity are contiguous
        self._spans: list[Spans] = []

    def __len__(self) -> int:
        return len(self.seeds)

    @property
    def keys(self) -> tuple[Key, ...]:
        """Names of all quantities."""
        return (self._keys[0], RESPONSE, BLOCKED, *self._keys[1:]) if self._spans else self._keys

    def add(self, observation: Observation) -> None:
        """Append an observation. Raises SimcodesignError if it has other quantities than the first."""
        of_first = [*self._keys], bool(self._spans)
        if len(self) and of_first != ([*observation.values], observation.spans is not None):
            raise SimcodesignError(f"the run of seed {observation.seed} shows other quantities than the first")
        self._keys = tuple(observation.values)
        self._append([*observation.values.values()])
        self.seeds.append(observation.seed)
        self.stations.add(observation.stations)
        self.single = observation.single
        self._spans += [] if observation.spans is None else [observation.spans]

    def _append(self, values: Sequence[float]) -> None:
        """Append a column, in twice the capacity if it does not fit."""
        count, capacity = len(self), self._values.shape[1]
        if count == capacity:
            larger = np.empty((len(values), max(2 * capacity, 16)))
            if count:
                larger[:, :count] = self._values
            self._values = larger
        self._values[:, count] = values

    @property
    def bytes_per_run(self) -> int:
        """Memory that is kept of a run, two copies of its values included: the capacity is up to twice what is used."""
        return 8 * (2 * len(self._keys) + (2 * len(self._spans[0].served) if self._spans else 0))

    @property
    def warm_up(self) -> WarmUp | None:
        """Requests left out of response times and blocked fractions; None if there is no open stream."""
        if len(self._spans) == 1 and self.single is not None:
            return self.single.warm_up
        if not self._spans:
            return None
        return settled_together(self._spans) if self.by_mser else WarmUp(self.given_warm_up)

    def values(self, key: Key) -> Floats:
        """Return the values of a quantity in every run, (runs,)."""
        if self._spans and key in (RESPONSE, BLOCKED):
            return self._of_streams()[:, 0 if key == RESPONSE else 1]
        return self._values[self._keys.index(key), : len(self)]

    def table(self) -> Floats:
        """Return the values of all quantities in every run, (runs, quantities)."""
        rows = np.ascontiguousarray(self._values[:, : len(self)].T)
        return np.hstack([rows[:, :1], self._of_streams(), rows[:, 1:]]) if self._spans else rows

    def _of_streams(self) -> Floats:
        """Response time and share blocked of every run, (runs, 2)."""
        if len(self._spans) == 1 and self.single is not None:
            return np.array([[self.single.response_s, self.single.blocked]])
        removed = self.warm_up
        cut = 0 if removed is None or not self.by_mser else removed.removed // self._spans[0].size
        return np.array([run.after(cut) for run in self._spans])


def nested(flat: Mapping[SomeKey, object]) -> dict[str, object]:
    """Return nested mappings, one level for each part of a key."""
    whole: dict[str, Any] = {}
    for key, value in flat.items():
        inner = whole
        for part in key[:-1]:
            inner = inner.setdefault(part, {})
        inner[key[-1]] = value
    return whole
