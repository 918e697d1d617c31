"""Stations in SimPy against the recursions of queueing theory, and the environment that schedules exactly."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from random import Random

import numpy as np
import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from simcodesign.engine.reference.disciplines import LimitedStation
from simcodesign.engine.reference.environment import ContractEnvironment
from simcodesign.engine.reference.stations import Station
from simcodesign.generate.plan import LIMITED, UNLIMITED, Discipline
from tests import examples

Floats = NDArray[np.float64]


def visit(station: Station, op: int, arrival_s: float, service_s: float, starts: Floats) -> Generator[simpy.Event]:
    """A process: request the station at a time, note when the service starts, be served."""
    env = station.env
    yield env.timeout_at(arrival_s)
    if (yield station.request(op, service_s)):
        starts[op] = env.now
        yield env.timeout(service_s)
        station.release()


def starts_at(station: Station, arrivals: Sequence[float], services: Sequence[float]) -> Floats:
    """When the station takes up each request; nan for those that it blocks."""
    starts = np.full(len(arrivals), np.nan)
    for op, (arrival_s, service_s) in enumerate(zip(arrivals, services, strict=True)):
        station.env.process(visit(station, op, arrival_s, service_s, starts))
    station.env.run()
    return starts


def served_from(arrivals: Sequence[float], services: Sequence[float], servers: int) -> tuple[Floats, Station]:
    """When the station takes up each request; requests are numbered in the order of their arrival."""
    station = Station(ContractEnvironment(), 0, servers, UNLIMITED)
    return starts_at(station, arrivals, services), station


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


@settings(max_examples=examples(200))
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
    station = Station(ContractEnvironment(), 0, servers, UNLIMITED)
    starts = np.full(8, np.nan)
    for op in order:
        station.env.process(visit(station, op, 0.0, 1.0, starts))
    station.env.run()
    assert starts.tolist() == [float(op // servers) for op in range(8)]


# ---------------------------------------------------------------------------------------------------------------------
# Limited capacity


def in_system(arrivals: Sequence[float], services: Sequence[float], servers: int, capacity: int) -> Floats:
    """Starts of service where whoever finds ``capacity`` requests is blocked (nan): a service that ends now is over."""
    starts: list[float] = []
    ends: list[float] = []
    for arrival, service in zip(arrivals, services, strict=True):
        present = sorted(end for end in ends if end > arrival)
        if len(present) >= capacity:
            starts.append(np.nan)
            continue
        starts.append(arrival if len(present) < servers else present[-servers])
        ends.append(starts[-1] + service)
    return np.array(starts)


@settings(max_examples=examples(200))
@given(TRAFFIC, st.integers(1, 3), st.integers(0, 3))
def test_who_finds_a_full_station_is_blocked(
    traffic: tuple[list[float], list[float]], servers: int, waiting: int
) -> None:
    arrivals, services = traffic[0], [service + 0.5 for service in traffic[1]]
    station = LimitedStation(ContractEnvironment(), 0, servers, Discipline(LIMITED, servers + waiting))
    starts = starts_at(station, arrivals, services)
    assert numbers(starts) == numbers(in_system(arrivals, services, servers, servers + waiting))
    assert station.served == np.count_nonzero(~np.isnan(starts))
    assert station.busy_s == pytest.approx(sum(s for s, at in zip(services, starts, strict=True) if at == at))


def numbers(values: Floats) -> list[float | str]:
    return ["never" if value != value else value for value in values.tolist()]


def test_a_full_station_with_fewer_places_than_servers() -> None:
    """One place at three servers: two requests of an instant cannot both be in."""
    station = LimitedStation(ContractEnvironment(), 0, 3, Discipline(LIMITED, 1))
    assert numbers(starts_at(station, [0.0, 0.0, 1.0], [1.0, 1.0, 1.0])) == [0.0, "never", 1.0]


# ---------------------------------------------------------------------------------------------------------------------
# The environment


def reached(times: Sequence[float]) -> list[float]:
    """The clock at each of the times, scheduled one after another from the one before."""
    env = ContractEnvironment()
    readings: list[float] = []

    def clock() -> Generator[simpy.Event]:
        for time_s in times:
            yield env.timeout_at(time_s)
            readings.append(env.now)

    env.process(clock())
    env.run()
    return readings


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=20).map(sorted))
def test_timeout_at_is_exact(times: list[float]) -> None:
    assert reached(times) == times


def test_timeout_at_is_exact_where_a_delay_would_round() -> None:
    now, then = np.random.default_rng(5).random((2, 10_000)) / 3 + [[0.0], [1.0]]
    rounds = np.flatnonzero(now + (then - now) != then)
    assert len(rounds) > 100
    for place in rounds[:100]:
        times = [float(now[place]), float(then[place])]
        assert reached(times) == times


class Arbiter:
    """Notes when it arbitrates, and lets something happen then."""

    def __init__(self, env: ContractEnvironment, number: int, order: list[str]) -> None:
        self.env, self.number, self.order = env, number, order

    def arbitrate(self) -> None:
        self.order.append(f"arbiter {self.number}")
        self.env.timeout(0.0).callbacks.append(lambda event: self.order.append(f"after {self.number}"))


@given(st.integers(0, 2**32))
def test_arbitration_comes_after_the_events_of_an_instant_by_number(seed: int) -> None:
    """And what follows from one arbitration comes before the next."""
    env, order = ContractEnvironment(), []
    entries = [
        lambda event, number=number: env.arbitrate_at_end_of_instant(Arbiter(env, number, order))
        for number in (2, 0, 1)
    ]
    entries += [lambda event: order.append("arrival")] * 3
    Random(seed).shuffle(entries)
    for entry in entries:
        env.timeout_at(5.0).callbacks.append(entry)
    env.timeout_at(6.0).callbacks.append(lambda event: order.append("later"))
    env.run()
    assert order[:3] == ["arrival"] * 3
    assert order[3:] == ["arbiter 0", "after 0", "arbiter 1", "after 1", "arbiter 2", "after 2", "later"]
    assert env.now == 6.0
    assert env.peek() == float("inf")


def test_an_exception_in_a_process_is_raised() -> None:
    env = ContractEnvironment()

    def fails() -> Generator[simpy.Event]:
        yield env.timeout(1.0)
        raise KeyboardInterrupt

    env.process(fails())
    with pytest.raises(KeyboardInterrupt):
        env.run()
    assert env.now == 1.0
