"""What runs show, each and together, compared with sums written out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError, SimcodesignError
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import Requests
from simcodesign.engine.simulate import simulate
from simcodesign.studies.replication.observations import (
    BLOCKED,
    GROUP,
    MAKESPAN,
    MOST_SPANS,
    MSER5,
    RESPONSE,
    STATION_NUMBERS,
    Observation,
    Sample,
    StationNumbers,
    StationSums,
    check_warm_up,
    observation_of,
    settled_together,
    spans_of,
)
from simcodesign.studies.replication.output_analysis import mser5

NO_STATIONS = StationNumbers((), np.zeros((len(STATION_NUMBERS), 0)))


@pytest.fixture(scope="module")
def result() -> Result:
    return simulate("jacobi", "torus-cluster", {"P": 8}, seed=1)


def stream(result: Result, times: list[float]) -> Result:
    """A result of these response times; NaN is blocked."""
    arrived = np.arange(len(times), dtype=float)
    return replace(result, requests=Requests(arrived, arrived + np.array(times), np.zeros(len(times), np.int32)))


def observed(number: int, times: list[float]) -> Observation:
    """A run of nothing but these response times."""
    return Observation(number, {MAKESPAN: 1.0}, NO_STATIONS, spans_of(np.array(times)), None)


def test_all_that_is_printed_is_seen(result: Result) -> None:
    values = observation_of(result).values
    assert values[MAKESPAN] == result.makespan_s
    for part, seconds in result.components.items():
        assert values["components_s", part] == seconds
    for phase, times in result.phases.items():
        assert values["phases_s", phase, "total"] == pytest.approx(sum(times.values()))
    assert values["messages",] == result.messages
    assert ("energy_j",) not in values  # the machine says nothing of power
    assert result.ranks is not None
    for place, part in enumerate(COMPONENTS):
        assert values["rank_time_s", part] == pytest.approx(result.ranks.busy_s[:, :, place].sum(axis=1).mean())
    assert values["rank_end_s", "mean"] == pytest.approx(result.ranks.end_s.mean())


def test_a_variance_that_is_no_number_is_an_error() -> None:
    sums = StationSums()
    sums.add(StationNumbers(("disk 0",), np.zeros((len(STATION_NUMBERS), 1))))
    with pytest.raises(SimcodesignError, match="variance"):
        sums.add(StationNumbers(("disk 0",), np.full((len(STATION_NUMBERS), 1), 1e200)))


def test_stations_are_those_of_the_result(result: Result) -> None:
    stations = observation_of(result).stations
    assert len(stations.names) == len(result.stations) > 0
    for place, use in enumerate(result.stations):
        assert stations.names[place] == use.name
        row = [getattr(use, name) for name in STATION_NUMBERS]
        assert stations.values[:, place].tolist() == pytest.approx(row)


@given(st.lists(st.one_of(st.floats(0, 100), st.just(math.nan)), min_size=1, max_size=60), st.integers(0, 20))
def test_means_after_a_cut_are_those_of_the_rest(times: list[float], cut: int) -> None:
    spans = spans_of(np.array(times))
    rest = times[cut * GROUP :]
    served = [one for one in rest if not math.isnan(one)]
    if cut >= len(spans.served) or not served:
        return
    mean, blocked = spans.after(cut)
    assert mean == pytest.approx(math.fsum(served) / len(served), rel=1e-9, abs=1e-12)
    assert blocked == pytest.approx(1 - len(served) / len(rest), abs=1e-12)


def test_long_streams_have_longer_spans() -> None:
    times = np.random.default_rng(0).exponential(size=GROUP * MOST_SPANS * 3 + 7)
    spans = spans_of(times)
    assert len(spans.served) <= MOST_SPANS
    assert spans.size % GROUP == 0
    assert spans.served.sum() == len(times)
    assert spans.after(10)[0] == pytest.approx(times[10 * spans.size :].mean())


@given(st.integers(0, 1000), st.integers(2, 6))
def test_runs_settle_where_their_mean_does(seed: int, runs: int) -> None:
    """Whole spans, none blocked: MSER-5 of the mean, request by request."""
    times = np.random.default_rng(seed).exponential(size=(runs, 30 * GROUP)) + np.exp(-np.arange(30 * GROUP) / 20)
    result = settled_together([spans_of(run) for run in times])
    assert result.removed == mser5(times.mean(axis=0)).removed


def test_blocked_requests_have_no_say_in_response_times(result: Result) -> None:
    times = [9.0, math.nan, 1.0, 2.0, math.nan, 3.0]
    single = observation_of(stream(result, times), warm_up=1).single
    assert single is not None
    assert single.response_s == 2.0
    assert single.blocked == pytest.approx(2 / 5)
    assert single.warm_up.removed == 1
    assert single.batches is None


def test_one_long_run_has_batches(result: Result) -> None:
    times = np.random.default_rng(0).exponential(size=1000).tolist()
    single = observation_of(stream(result, times), warm_up=0).single
    assert single is not None
    assert single.batches is not None
    assert single.batches.size == 50
    assert single.batches.interval.mean == pytest.approx(np.mean(times))


def test_samples_remove_the_warm_up_of_the_mean_run() -> None:
    generator = np.random.default_rng(4)
    runs = generator.normal(5, 0.1, (6, 200)) + 50 * (np.arange(200) < 20)
    sample = Sample(MSER5)
    for number, run in enumerate(runs):
        sample.add(observed(number, run.tolist()))
    assert sample.keys == (MAKESPAN, RESPONSE, BLOCKED)
    assert sample.warm_up is not None
    cut = sample.warm_up.removed
    assert cut >= 20
    assert sample.values(RESPONSE) == pytest.approx(runs[:, cut:].mean(axis=1))
    assert sample.table() == pytest.approx(np.column_stack([np.ones(6), runs[:, cut:].mean(axis=1), np.zeros(6)]))


def test_samples_of_different_quantities_are_refused() -> None:
    sample = Sample()
    sample.add(Observation(0, {MAKESPAN: 1.0}, NO_STATIONS))
    for other in (Observation(1, {("x",): 1.0}, NO_STATIONS), observed(2, [1.0])):
        with pytest.raises(SimcodesignError, match="other quantities"):
            sample.add(other)


def test_nothing_left_after_the_warm_up(result: Result) -> None:
    with pytest.raises(InputError, match="after the warm-up"):
        observation_of(stream(result, [1.0, 2.0]), warm_up=2)
    with pytest.raises(InputError, match="after the warm-up"):
        observation_of(stream(result, [1.0, math.nan]), warm_up=1)


@pytest.mark.parametrize("warm_up", [-1, 1.5, True, "mser", "10"])
def test_bad_warm_ups_are_refused(warm_up: object) -> None:
    with pytest.raises(InputError, match="mser5, or a number"):
        check_warm_up(warm_up)


# --- Stations of many runs -----------------------------------------------------------------------------------


@given(st.lists(st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1e6), max_size=4), min_size=2, max_size=12))
def test_station_means_are_those_of_all_runs(runs: list[dict[str, float]]) -> None:
    """A station that a run does not visit is idle there."""
    sums = StationSums()
    for run in runs:
        values = np.array([[*run.values()]] * len(STATION_NUMBERS)).reshape(len(STATION_NUMBERS), len(run))
        sums.add(StationNumbers(tuple(run), values))
    result = sums.means(0.95)
    assert set(result.names) == {name for run in runs for name in run}
    for place, name in enumerate(result.names):
        column = np.array([run.get(name, 0.0) for run in runs])
        assert result.mean[:, place] == pytest.approx(column.mean(), rel=1e-9, abs=1e-9)
        assert result.deviation[:, place] == pytest.approx(column.std(ddof=1), rel=1e-7, abs=1e-6)
        if np.ptp(column) == 0:
            assert result.interval("served", place).same


def test_the_most_used_stations_come_first() -> None:
    sums = StationSums()
    sums.add(StationNumbers(("a", "b", "c"), np.array([[1.0] * 3, [0.1, 0.9, 0.9], *[[0.0] * 3] * 3])))
    assert sums.means(0.95).most_used(2) == [1, 2]
    assert math.isnan(sums.means(0.95).interval("served", 0).low)
