"""Stations against birth-death chains, Lindley's recursion, identities between formulas, and published numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from simcodesign.analytic.queueing.moments import moment, variation
from simcodesign.analytic.queueing.station import (
    Queue,
    allen_cunneen,
    erlang_c,
    mg1,
    mm1,
    mm1k,
    mmc,
    mmck,
    stable,
)
from simcodesign.core.errors import InputError
from simcodesign.describe.randomness.distribution import Distribution

EXACT = 1e-11
LOADS = st.floats(0.01, 0.97)
TIMES = st.floats(1e-6, 1e3)
SERVERS = st.integers(1, 40)


def birth_death(rate: Fraction, service: Fraction, servers: int, places: int) -> list[Fraction]:
    """Chances of 0 .. places requests, by balance of the flows between neighbouring states, in exact arithmetic."""
    weights = [Fraction(1)]
    for state in range(1, places + 1):
        weights.append(weights[-1] * rate * service / min(state, servers))
    return [weight / sum(weights) for weight in weights]


# Limited room: any load.


@given(st.fractions(Fraction(1, 50), 20, max_denominator=50), st.integers(1, 6), st.integers(0, 12))
def test_mmck_is_the_birth_death_chain(offered: Fraction, servers: int, spare: int) -> None:
    places, service = servers + spare, Fraction(1, 4)
    chance = birth_death(offered / service, service, servers, places)
    queue = mmck(float(offered / service), 0.25, servers, places)
    let_in = 1 - chance[-1]
    waiting = sum(max(0, state - servers) * p for state, p in enumerate(chance))
    assert queue.blocked == pytest.approx(float(chance[-1]), rel=EXACT)
    assert queue.queue_length == pytest.approx(float(waiting), rel=EXACT)
    assert queue.in_system == pytest.approx(float(sum(state * p for state, p in enumerate(chance))), rel=EXACT)
    assert queue.delayed == pytest.approx(float(sum(chance[servers:places]) / let_in), rel=EXACT)
    assert queue.waiting_s == pytest.approx(float(waiting / (offered / service * let_in)), rel=EXACT)
    busy = sum(min(state, servers) * p for state, p in enumerate(chance))
    assert queue.utilisation == pytest.approx(float(busy / servers), rel=EXACT)


@pytest.mark.parametrize("load", [1.0, 1 + 1e-13, 1 - 1e-13, 1 + 1e-7, 1 - 1e-7, 2, 0.5])
def test_long_queues_near_a_load_of_one(load: float) -> None:
    chance = np.array([load**state for state in range(1001)])
    chance /= math.fsum(chance) if load <= 1 else chance.sum()
    queue = mm1k(load, 1.0, 1000)
    assert queue.in_system == pytest.approx(math.fsum(np.arange(1001) * chance), rel=1e-9)


def test_a_billion_places_at_a_load_of_one() -> None:
    queue = mm1k([1.0, 3.0, 0.5], 1.0, 10**9)
    assert queue.in_system[0] == pytest.approx(5e8, rel=1e-12)  # all states equally likely
    assert queue.queue_length[1] == pytest.approx(10**9 - 1.5, rel=1e-12)  # free places: as an M/M/1 at 1/3
    assert queue.in_system[2] == pytest.approx(1.0, rel=1e-12)
    assert queue.formula == "M/M/1/K"


@given(LOADS, TIMES, st.integers(1, 10))
def test_much_room_is_unlimited_room(load: float, service: float, servers: int) -> None:
    rate = load * servers / service
    limited, unlimited = mmck(rate, service, servers, servers + 10_000), mmc(rate, service, servers)
    for name in ("throughput_per_s", "utilisation", "waiting_s", "response_s", "queue_length", "in_system", "delayed"):
        assert getattr(limited, name) == pytest.approx(getattr(unlimited, name), rel=1e-9)


@given(st.floats(0.01, 2), st.integers(1, 5), st.integers(0, 12))
def test_more_room_refuses_fewer(load: float, servers: int, spare: int) -> None:
    fewer, more = mmck(load * servers, 1.0, servers, [servers + spare, servers + spare + 1]).blocked
    assert more < fewer


@given(st.floats(0.01, 50), st.integers(1, 30))
def test_no_waiting_room_is_erlangs_loss(offered: float, servers: int) -> None:
    queue = mmck(offered, 1.0, servers, servers)
    terms = [offered**count / math.factorial(count) for count in range(servers + 1)]
    assert queue.blocked == pytest.approx(terms[-1] / math.fsum(terms), rel=1e-12)
    assert queue.waiting_s == 0
    assert queue.delayed == 0


# Many servers.


@pytest.mark.parametrize(("servers", "offered"), [(1, 0.5), (2, 1.9), (10, 7.25), (100, 99.0), (400, 300.0)])
def test_erlang_is_its_definition_in_exact_arithmetic(servers: int, offered: float) -> None:
    load = Fraction(offered)
    terms = [Fraction(1)]
    for state in range(1, servers + 1):
        terms.append(terms[-1] * load / state)
    loss = terms[-1] / sum(terms)
    late = terms[-1] * servers / (servers - load)
    assert mmck(offered, 1.0, servers, servers).blocked == pytest.approx(float(loss), rel=EXACT)
    assert erlang_c(servers, offered) == pytest.approx(float(late / (sum(terms[:-1]) + late)), rel=EXACT)


def test_ten_thousand_servers() -> None:
    """Against the logarithms of the terms, summed from the largest down."""
    servers, offered = 10_000, 9_900.0
    state = np.arange(servers + 1)
    logs = state * math.log(offered) - np.array([math.lgamma(k + 1) for k in state])
    loss = 1 / math.fsum(np.exp(logs - logs[-1]))
    assert mmck(offered, 1.0, servers, servers).blocked == pytest.approx(loss, rel=1e-9)
    assert mmc(offered, 1.0, servers).delayed == pytest.approx(loss / (1 - 0.99 * (1 - loss)), rel=1e-9)


def test_tables_of_traffic_engineering() -> None:
    """Erlang B as it is tabulated: 4.461 erlangs on 10 lines lose 1 %, 84.06 on 100, to the last digit printed."""
    assert mmck(4.4605, 1.0, 10, 10).blocked < 0.01 < mmck(4.4615, 1.0, 10, 10).blocked
    assert mmck(84.055, 1.0, 100, 100).blocked < 0.01 < mmck(84.065, 1.0, 100, 100).blocked


@given(LOADS, TIMES)
def test_one_server_three_ways(load: float, service: float) -> None:
    rate = load / service
    plain, general, several = mm1(rate, service), mg1(rate, service, 1.0, 6.0), mmc(rate, service, 1)
    for name in ("utilisation", "waiting_s", "queue_length", "in_system", "delayed", "waiting_square_s2"):
        assert getattr(several, name) == pytest.approx(getattr(plain, name), rel=1e-9)
        assert getattr(general, name) == pytest.approx(getattr(plain, name), rel=1e-9)
    assert plain.in_system == pytest.approx(load / (1 - load), rel=1e-9)  # Kleinrock I, (3.24)


@given(LOADS, SERVERS)
def test_one_fast_server_responds_sooner_than_slow_ones(load: float, servers: int) -> None:
    assume(servers > 1)
    assert mm1(load, 1.0).response_s < mmc(load, float(servers), servers).response_s


# Any service.


def test_pollaczek_and_khinchine_by_hand() -> None:
    assert mg1(0.5, 1.0, 0.0).waiting_s == 0.5  # half the wait of M/M/1
    assert mg1(0.8, 1.0, 0.0).waiting_s == pytest.approx(2.0)
    assert mg1(0.8, 1.0, 3.0).waiting_s == pytest.approx(20.0)  # (1 + 9) / 2 x 4: and not (1 + 3)
    assert mg1(0.5, 2.0, 1.0).waiting_s == np.inf
    assert math.isnan(mg1(0.8, 1.0, 0.5).waiting_square_s2)


def test_hyperexponential_service_by_its_moments() -> None:
    """Mean 1 with chance 1/4, else 1/2: E[S] = 5/8, E[S^2] = 7/8, v^2 = 31/25; W = E[S^2] / (2 (1 - 5/8)) = 7/6."""
    assert mg1(1.0, 5 / 8, math.sqrt(31 / 25)).waiting_s == pytest.approx(7 / 6, rel=EXACT)


def lindley(between: NDArray[np.float64], service: NDArray[np.float64]) -> NDArray[np.float64]:
    """Waits of one server, W' = max(0, W + S - A), as a walk over its lowest point: (runs, requests)."""
    walk = np.cumsum(service[:, :-1] - between[:, 1:], axis=1)
    walk = np.concatenate([np.zeros((len(walk), 1)), walk], axis=1)
    return walk - np.minimum.accumulate(walk, axis=1)


LAWS: dict[str, tuple[Distribution, Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]]] = {
    "deterministic": (Distribution("deterministic"), lambda draw, shape: np.ones(shape)),
    "erlang": (Distribution("erlang", {"stages": 3}), lambda draw, shape: draw.gamma(3, 1 / 3, shape)),
    "uniform": (Distribution("uniform", {"spread": 1.0}), lambda draw, shape: draw.uniform(0, 2, shape)),
    "gamma": (Distribution("gamma", {"variation": 2.0}), lambda draw, shape: draw.gamma(0.25, 4, shape)),
}


@pytest.mark.parametrize("law", LAWS)
def test_mg1_is_what_lindleys_recursion_gives(law: str) -> None:
    """40 runs of 20,000 requests at a load of 0.6, the first 2,000 left out: mean and square within 4 standard errors,
    which are small enough to tell (1 + v^2) / 2 from (1 + v) / 2, and either from 1."""
    distribution, result = LAWS[law]
    draw, shape = np.random.default_rng(7), (40, 20_000)
    waits = lindley(draw.exponential(1 / 0.6, shape), result(draw, shape))[:, 2_000:]
    queue = mg1(0.6, 1.0, variation(distribution), moment(distribution, 3))
    for power, expected in ((1, queue.waiting_s), (2, queue.waiting_square_s2)):
        means = (waits**power).mean(axis=1)
        error = means.std(ddof=1) / math.sqrt(len(means))
        assert abs(means.mean() - expected) < 4 * error
        assert error < 0.04 * expected
    first = waits.mean(axis=1)
    wrong = 0.6 / 0.4 * (1 + variation(distribution)) / 2
    assert abs(first.mean() - wrong) > 5 * first.std(ddof=1) / math.sqrt(40) or law == "deterministic"


def test_the_share_delayed_is_the_load() -> None:
    draw, shape = np.random.default_rng(3), (40, 10_000)
    waits = lindley(draw.exponential(1 / 0.7, shape), np.ones(shape))[:, 2_000:]
    delayed = (waits > 0).mean(axis=1)
    assert abs(delayed.mean() - mg1(0.7, 1.0, 0.0).delayed) < 4 * delayed.std(ddof=1) / math.sqrt(40)


# Approximations and bounds.


@given(LOADS, SERVERS)
def test_allen_and_cunneen_are_exact_for_poisson_and_exponential(load: float, servers: int) -> None:
    approximate, exact = allen_cunneen(load * servers, 1.0, servers), mmc(load * servers, 1.0, servers)
    assert approximate.waiting_s == pytest.approx(exact.waiting_s, rel=EXACT)
    assert allen_cunneen(load, 1.0, 1, 1.0, 0.3).waiting_s == pytest.approx(mg1(load, 1.0, 0.3).waiting_s, rel=EXACT)
    assert allen_cunneen(load * servers, 1.0, servers, 0.0, 0.0).waiting_s == 0  # D/D/c


# What holds for all of them.


def stations(load: float, service: float, servers: int) -> list[Queue]:
    rate = load * servers / service
    one = load / service
    return [
        mm1(one, service),
        mmc(rate, service, servers),
        mg1(one, service, 0.0),
        mg1(one, service, 2.5, 30.0),
        mmck(rate, service, servers, servers + 3),
        mm1k(one, service, 4),
        allen_cunneen(rate, service, servers, 0.5, 2.0),
    ]


@given(LOADS, TIMES, SERVERS)
def test_littles_law(load: float, service: float, servers: int) -> None:
    for queue in stations(load, service, servers):
        assert queue.queue_length == pytest.approx(queue.throughput_per_s * queue.waiting_s)
        assert queue.in_system == pytest.approx(queue.throughput_per_s * queue.response_s)
        assert queue.response_s == pytest.approx(queue.waiting_s + service)
        assert queue.utilisation <= load * (1 + 1e-12)


@given(LOADS, LOADS, SERVERS)
def test_a_higher_load_waits_longer(one: float, other: float, servers: int) -> None:
    assume(one < other * (1 - 1e-9))
    for low, high in zip(stations(one, 1.0, servers), stations(other, 1.0, servers), strict=True):
        assert low.waiting_s <= high.waiting_s * (1 + 1e-12), low.formula
        assert low.utilisation < high.utilisation


@given(LOADS, TIMES, SERVERS, st.floats(1e-3, 1e3))
def test_another_unit_of_time_changes_nothing_else(load: float, service: float, servers: int, unit: float) -> None:
    for one, other in zip(stations(load, service, servers), stations(load, service * unit, servers), strict=True):
        assert other.waiting_s == pytest.approx(one.waiting_s * unit, rel=1e-9)
        assert other.in_system == pytest.approx(one.in_system, rel=1e-9)


def test_everything_broadcasts() -> None:
    rates, servers = np.array([0.0, 0.5, 1.0, 3.0])[:, None], np.array([1, 2])
    many = mmc(rates, 1.0, servers)
    assert many.waiting_s.shape == (4, 2)
    for (row, rate), (column, count) in itertools.product(enumerate(rates[:, 0]), enumerate(servers)):
        alone = mmc(rate, 1.0, count)
        assert isinstance(alone.waiting_s, float)
        assert many.waiting_s[row, column] == alone.waiting_s
        assert many.in_system[row, column] == alone.in_system
    assert mmck(rates, 1.0, 1, [3, 5]).blocked.shape == (4, 2)
    assert mg1(0.5, 1.0, [0.0, 1.0, 2.0]).waiting_s == pytest.approx([0.5, 1.0, 2.5])


def test_overload_is_infinite_and_nothing_is_nothing() -> None:
    for queue in (mm1(1.0, 1.0), mmc(5.0, 1.0, 2), mg1(1.5, 1.0, 0.0), allen_cunneen(3.0, 1.0, 2)):
        assert queue.waiting_s == queue.response_s == queue.in_system == np.inf
    for queue in (mm1(0.0, 1.0), mmc(0.0, 1.0, 3), mg1(0.0, 1.0, 0.0), mm1k(0.0, 1.0, 2), mm1(3.0, 0.0)):
        assert queue.waiting_s == queue.queue_length == queue.in_system == 0
    assert mmc(3.0, 1.0, 2).delayed == 1
    assert mm1(3.0, 1.0).utilisation == 3


def test_stable_names_station_and_load() -> None:
    stable("disk 0", 0.999)
    with pytest.raises(InputError, match=r"disk 3 has a load of 1\.25.*allowed: a load below 1"):
        stable("disk 3", np.array([0.5, 1.25]))
    with pytest.raises(InputError, match="link has a load of 1,"):
        stable("link", 1.0)


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: mm1(-1.0, 1.0), "rate, got -1"),
        (lambda: mm1([1.0, math.nan], 1.0), "rate, got nan"),
        (lambda: mm1(1.0, math.inf), "service time, got inf"),
        (lambda: mmc(1.0, 1.0, 0), "servers of a station, got 0"),
        (lambda: mmc(1.0, 1.0, [1, 2.5]), r"servers of a station, got 2\.5"),
        (lambda: mmc(1.0, 1.0, math.nan), "servers of a station, got nan"),
        (lambda: mmc(1.0, 1.0, 10**9), "servers of a station"),
        (lambda: mmck(1.0, 1.0, 3, 2), "capacity of a station, got 2"),
        (lambda: mmck(1.0, 1.0, 1, 2.5), "capacity of a station"),
        (lambda: mg1(0.5, 1.0, -0.1), "variation, got"),
        (lambda: allen_cunneen(0.5, 1.0, 1, -1.0), "variation of arrivals"),
    ],
)
def test_bad_input(call: Callable[[], object], what: str) -> None:
    with pytest.raises(InputError, match=what):
        call()
