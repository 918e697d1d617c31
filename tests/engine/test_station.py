"""A station in SimPy against the recursions of queueing theory, and the environment that schedules exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from simpy.core import EventPriority

from simcodesign.engine.reference.station import ContractEnvironment, Station, Tick

Floats = NDArray[np.float64]


def served_from(arrivals: Sequence[float], services: Sequence[float], servers: int) -> tuple[Floats, Station]:
    """When the station takes up each request; requests are numbered in the order of their arrival."""
    env = ContractEnvironment()
    starts = np.full(len(arrivals), np.nan)

    def grant(op: int) -> None:
        starts[op] = env.now

    station = Station(env, 0, servers, list(services), grant)
    for op, time in enumerate(arrivals):
        tick = Tick(env)
        tick.op, tick.callbacks = op, [lambda tick: station.request(tick.op)]
        env.schedule_at(tick, EventPriority(1), time)
    env.run()
    return starts, station


def lindley(arrivals: Sequence[float], services: Sequence[float]) -> Floats:
    """Starts of service with one server: a request starts when it is there and the one before it is done."""
    starts, free = [], 0.0
    for arrival, service in zip(arrivals, services, strict=True):
        starts.append(max(arrival, free))
        free = starts[-1] + service
    return np.array(starts)


def kiefer_wolfowitz(arrivals: Sequence[float], services: Sequence[float], servers: int) -> Floats:
    """Starts of service with several servers: the vector of the times at which they fall free, kept sorted."""
    starts, free = [], [0.0] * servers
    for arrival, service in zip(arrivals, services, strict=True):
        starts.append(max(arrival, free[0]))
        free = sorted([starts[-1] + service, *free[1:]])
    return np.array(starts)


TIMES = st.one_of(st.sampled_from([0.0, 0.0, 1.0, 2.0]), st.floats(0, 10, allow_subnormal=False))
TRAFFIC = st.lists(st.tuples(TIMES, TIMES), max_size=60).map(
    lambda rows: (np.cumsum([gap for gap, _ in rows]).tolist(), [service for _, service in rows])
)


def random_traffic(seed: int, load: float, count: int = 3000) -> tuple[list[float], list[float]]:
    """Poisson arrivals, exponential services of mean 1, ``load`` requests per unit of time."""
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.exponential(1 / load, count)).tolist(), rng.exponential(1.0, count).tolist()


@given(TRAFFIC)
def test_one_server_follows_lindley(traffic: tuple[list[float], list[float]]) -> None:
    starts, _ = served_from(*traffic, servers=1)
    assert starts.tolist() == lindley(*traffic).tolist()


@given(TRAFFIC, st.integers(1, 5))
def test_several_servers_follow_kiefer_and_wolfowitz(traffic: tuple[list[float], list[float]], servers: int) -> None:
    starts, _ = served_from(*traffic, servers=servers)
    assert starts.tolist() == kiefer_wolfowitz(*traffic, servers).tolist()


@pytest.mark.parametrize("servers", [1, 2, 4])
@pytest.mark.parametrize("share", [0.5, 0.95, 1.2])
def test_long_runs(servers: int, share: float) -> None:
    arrivals, services = random_traffic(servers, share * servers)
    starts, station = served_from(arrivals, services, servers)
    assert starts.tolist() == kiefer_wolfowitz(arrivals, services, servers).tolist()
    assert station.wait_s == pytest.approx(np.sum(starts - arrivals), rel=1e-12)


def test_waiting_times_by_lindleys_own_recursion() -> None:
    """W' = max(0, W + S - A), with the time A between two arrivals."""
    arrivals, services = random_traffic(7, 0.9)
    wait, waits = 0.0, [0.0]
    for gap, service in zip(np.diff(arrivals), services[:-1], strict=True):
        wait = max(0.0, wait + service - gap)
        waits.append(wait)
    starts, _ = served_from(arrivals, services, 1)
    # Differences of times up to 3000 s, each rounded to 2e-13 s, some hundred in a busy period.
    assert (starts - arrivals).tolist() == pytest.approx(waits, rel=1e-12, abs=1e-9)


def queue_area(arrivals: Sequence[float], starts: Floats) -> tuple[float, int]:
    """Integral over time of the number waiting, and the most that wait at a time, from a walk over all changes."""
    changes = sorted([(time, 0, 1) for time in arrivals] + [(time, 1, -1) for time in starts.tolist()])
    area, waiting, most, last = 0.0, 0, 0, 0.0
    for time, _, change in changes:
        area += waiting * (time - last)
        waiting += change
        most, last = max(most, waiting), time
    assert waiting == 0
    return area, most


@settings(max_examples=200)
@given(TRAFFIC, st.integers(1, 4))
def test_littles_law_and_conservation(traffic: tuple[list[float], list[float]], servers: int) -> None:
    """Mean queue times time is the sum of all waits; what comes in is served; no server does two things at a time."""
    arrivals, services = traffic
    starts, station = served_from(arrivals, services, servers)
    area, _ = queue_area(arrivals, starts)
    assert area == pytest.approx(station.wait_s, rel=1e-9, abs=1e-9)
    assert station.served == len(arrivals)
    assert station.busy_s == pytest.approx(sum(services), rel=1e-12)
    end = float(np.max(starts + services, initial=0.0))
    assert station.busy_s <= end * servers * (1 + 1e-12)
    running = [np.count_nonzero((starts <= time) & (time < starts + services)) for time in starts]
    assert max(running, default=0) <= servers


@given(TRAFFIC, st.integers(1, 4))
def test_longest_queue_counts_all_of_one_instant(traffic: tuple[list[float], list[float]], servers: int) -> None:
    arrivals, services = traffic
    starts, station = served_from(arrivals, services, servers)
    assert station.longest_queue == queue_area(arrivals, starts)[1]


def test_an_idle_station_has_done_nothing() -> None:
    _, station = served_from([], [], 2)
    assert (station.served, station.busy_s, station.wait_s, station.longest_queue) == (0, 0.0, 0.0, 0)


@given(st.permutations(range(8)), st.integers(1, 3))
def test_requests_of_one_instant_are_served_by_number(order: list[int], servers: int) -> None:
    """Whatever the order of the calls."""
    env = ContractEnvironment()
    granted: list[int] = []
    station = Station(env, 0, servers, [1.0] * 8, granted.append)
    for op in order:
        station.request(op)
    env.run()
    assert granted == list(range(8))


def reached(times: Sequence[float]) -> list[float]:
    """The clock at each of the times, scheduled one after another from the one before."""
    env = ContractEnvironment()
    seen: list[float] = []

    def go_on(tick: Tick) -> None:
        seen.append(env.now)
        if len(seen) < len(times):
            tick.callbacks = [go_on]
            env.schedule_at(tick, EventPriority(1), times[len(seen)])

    tick = Tick(env)
    tick.callbacks = [go_on]
    env.schedule_at(tick, EventPriority(1), times[0])
    env.run()
    return seen


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=20).map(sorted))
def test_schedule_at_is_exact(times: list[float]) -> None:
    assert reached(times) == times


def test_schedule_at_is_exact_where_a_delay_would_round() -> None:
    now, then = np.random.default_rng(5).random((2, 10_000)) / 3 + [[0.0], [1.0]]
    rounds = np.flatnonzero(now + (then - now) != then)
    assert len(rounds) > 100
    for place in rounds[:100]:
        times = [float(now[place]), float(then[place])]
        assert reached(times) == times


def test_events_of_one_instant_go_by_priority_then_in_turn() -> None:
    env = ContractEnvironment()
    seen: list[str] = []
    for name, priority in (("station 1", 3), ("station 0", 2), ("first", 1), ("second", 1)):
        tick = Tick(env)
        tick.callbacks = [lambda tick, name=name: seen.append(name)]
        env.schedule_at(tick, EventPriority(priority), 5.0)
    env.run()
    assert seen == ["first", "second", "station 0", "station 1"]
