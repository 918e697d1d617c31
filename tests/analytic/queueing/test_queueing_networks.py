"""Networks of stations against their Markov chains, solved state by state, and against the theorems."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import spsolve

from simcodesign.analytic.queueing.networks import ClosedNetwork, jackson, mva
from simcodesign.analytic.queueing.station import mm1, mmc
from simcodesign.core.errors import InputError
from tests import examples

State = tuple[int, ...]


def balanced(states: list[State], flows: Callable[[State], list[tuple[State, float]]]) -> np.ndarray:
    """Chances of the states of a Markov chain, from its global balance."""
    number = {state: place for place, state in enumerate(states)}
    rows = [(number[to], number[state], rate) for state in states for to, rate in flows(state)]
    to, source, rate = (np.array(column) for column in zip(*rows, strict=True))
    count = len(states)
    matrix = sparse.coo_matrix((rate, (to, source)), (count, count)).tolil()
    matrix.setdiag(matrix.diagonal() - np.bincount(source, rate, count))
    matrix[0] = 1.0  # one equation says the same as the others: the chances add up to 1 instead
    return np.asarray(spsolve(matrix.tocsc(), np.eye(count)[0]))


def closed_chain(means: list[float], servers: list[float], population: int) -> tuple[float, np.ndarray, np.ndarray]:
    """A ring of stations: throughput, mean requests and mean busy servers of each."""
    stations = len(means)
    states = [state for state in itertools.product(range(population + 1), repeat=stations) if sum(state) == population]

    def moved(state: State) -> list[tuple[State, float]]:
        out = []
        for here in range(stations):
            if state[here]:
                to = [*state]
                to[here] -= 1
                to[(here + 1) % stations] += 1
                out.append((tuple(to), min(state[here], servers[here]) / means[here]))
        return out

    chance, table = balanced(states, moved), np.array(states)
    busy = np.minimum(table, servers)
    return float(chance @ busy[:, 0] / means[0]), chance @ table, chance @ busy


@pytest.mark.parametrize(
    ("means", "servers", "population"),
    [
        ([1.0, 0.5], [1, 1], 5),
        ([1.0, 0.7, 0.2], [1, 1, 1], 6),
        ([4.0, 1.0], [math.inf, 1], 7),
        ([4.0, 1.0], [math.inf, 2], 7),
        ([0.1, 1.0], [1, 3], 8),
        ([0.3, 1.0, 2.0], [1, 2, 4], 8),
        ([1.0, 2.0, 0.5], [2, 2, math.inf], 7),
        ([0.6, 1.3, 2.0], [2, 3, 4], 9),
        ([1.0, 1.0], [20, 1], 5),
    ],
)
def test_mva_is_the_markov_chain(means: list[float], servers: list[float], population: int) -> None:
    throughput, requests, busy = closed_chain(means, servers, population)
    network = mva(means, population, servers)
    assert network.formula == "exact MVA"
    assert network.throughput_per_s == pytest.approx(throughput, rel=1e-9)
    assert network.queue == pytest.approx(requests, rel=1e-9)
    assert network.residence_s == pytest.approx(requests / throughput, rel=1e-9)
    shared = np.where(np.isfinite(servers), servers, 1.0)
    assert network.utilisation == pytest.approx(busy / shared)


def test_a_saturated_station_of_several_servers_keeps_its_digits() -> None:
    """The textbook recursion p(0) = 1 - p(1) - ... has failed here long before: all 4 servers work, always."""
    network = mva([1.0, 0.01], 400, [4, 1])
    assert network.throughput_per_s == pytest.approx(4.0, rel=1e-12)
    assert network.utilisation == pytest.approx([1.0, 0.04], rel=1e-9)
    rest = mm1(4.0, 0.01)  # at the other one requests arrive at 4 per second, all exponential
    assert network.queue[1] == pytest.approx(rest.in_system, rel=1e-9)


def finite_source(population: int, think: float, service: float, servers: int) -> tuple[float, float]:
    """M/M/c//N: throughput and mean number at the servers, from its birth-death chain."""
    weight, weights = 1.0, [1.0]
    for state in range(1, population + 1):
        weight *= (population - state + 1) / think * service / min(state, servers)
        weights.append(weight)
    chance = np.array(weights) / math.fsum(weights)
    at = np.arange(population + 1)
    return float(chance @ np.minimum(at, servers) / service), float(chance @ at)


@given(st.integers(1, 60), st.floats(0.1, 50), st.floats(0.1, 5), st.integers(1, 6))
def test_machines_and_repairmen(population: int, think: float, service: float, servers: int) -> None:
    throughput, requests = finite_source(population, think, service, servers)
    network = mva([think, service], population, [math.inf, servers])
    assert network.throughput_per_s == pytest.approx(throughput, rel=1e-9)
    assert network.queue[1] == pytest.approx(requests, rel=1e-9)


@pytest.mark.parametrize("servers", [1, 3])
def test_large_populations_need_no_recursion(servers: int) -> None:
    """Once the servers always work: against the birth-death chain in logarithms, and a million requests at once."""
    population, think = 2_000, 40.0
    state = np.arange(1, population + 1)
    steps = np.log((population - state + 1) / think / np.minimum(state, servers))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    chance = np.exp(logs - logs.max())
    chance /= math.fsum(chance)
    many = mva([think, 1.0], [population, 50, 10**6, 10**6 - 1], [math.inf, servers])
    few = mva([think, 1.0], 50, [math.inf, servers]).throughput_per_s
    assert many.queue[0, 1] == pytest.approx(float(chance @ np.arange(population + 1)), rel=1e-9)
    assert many.throughput_per_s == pytest.approx([servers, few, servers, servers])
    assert many.queue[2:, 1] == pytest.approx([10**6 - think * servers, 10**6 - 1 - think * servers], rel=1e-12)
    fixed = mva([think, 1.0], 10**6, [math.inf, servers], 0.0)
    assert fixed.queue[1] == pytest.approx(10**6 - think * servers)


DEMANDS = st.lists(st.floats(0.01, 10), min_size=1, max_size=4)


@given(DEMANDS, st.floats(0, 20), st.integers(1, 40), st.sampled_from([0.0, 0.5, 1.0]))
def test_asymptotic_bounds(demands: list[float], think: float, population: int, spread: float) -> None:
    """Lazowska et al., Sec. 5.2: N / (N D + Z) <= X <= min(1 / Dmax, N / (D + Z)); Little's law at every station."""
    network = mva([*demands, think], population, [1.0] * len(demands) + [math.inf], spread)
    throughput, total = network.throughput_per_s, sum(demands)
    assert throughput <= population / (total + think) * (1 + 1e-12)
    assert throughput >= population / (population * total + think) * (1 - 1e-12)
    assert throughput <= 1 / max(demands) * (1 + 1e-12)
    assert network.queue.sum() == pytest.approx(population)
    assert network.queue == pytest.approx(throughput * network.residence_s)
    assert throughput * network.cycle_s == pytest.approx(population)


@given(DEMANDS, st.integers(2, 20))
def test_equal_stations_have_a_closed_form(demands: list[float], population: int) -> None:
    """A balanced network: X = N / (D (N + M - 1)) (Lazowska et al., Sec. 5.4)."""
    stations, demand = len(demands), demands[0]
    network = mva([demand] * stations, population)
    assert network.throughput_per_s == pytest.approx(population / demand / (population + stations - 1), rel=1e-9)


def test_less_variation_waits_less_and_one_is_exact() -> None:
    waits = mva([[9.0, 1.0]] * 4, 5, [math.inf, 1], [[1, 0], [1, 0.5], [1, 1], [1, 2]]).residence_s[:, 1]
    assert np.all(np.diff(waits) > 0)
    assert waits[2] == mva([9.0, 1.0], 5, [math.inf, 1]).residence_s[1]
    assert mva([2.0, 1.0], 5, [math.inf, 1], 0.5).formula == "MVA with residual lives"
    assert mva([2.0, 1.0], 5, [math.inf, 1], [0.5, 1.0]).formula == "exact MVA"  # of a delay only the mean counts


def test_no_station_serves_more_than_it_can() -> None:
    """Residual lives alone would say less than 6 s for a cycle in which each of 6 requests is served for 1 s."""
    network = mva([1.0, 1.0], 6, [math.inf, 1], 0.0)
    assert network.cycle_s == pytest.approx(6.0)
    assert network.utilisation[1] == pytest.approx(1.0)
    assert network.queue == pytest.approx([1, 5])


def test_residual_lives_by_hand() -> None:
    """Two requests, service 1 always, thinking 1 in the mean: one alone cycles in 2, is in service half of the time,
    and who then comes waits 1/2: 1 + 1/4 in the place of 1 + 1/2."""
    assert mva([1.0, 1.0], 2, [math.inf, 1], [1.0, 0.0]).residence_s[1] == pytest.approx(1.25)
    assert mva([1.0, 1.0], 2, [math.inf, 1]).residence_s[1] == pytest.approx(1.5)
    assert mva([1.0, 1.0], 2, [math.inf, 1], [1.0, 3.0]).residence_s[1] == pytest.approx(1 + 0.5 * 5)


@pytest.mark.thorough
@pytest.mark.parametrize("share", [0.0, 0.5, 2.0])
def test_many_thinkers_are_an_open_stream(share: float) -> None:
    """Thinking ever longer, the residual-life recursion becomes Pollaczek and Khinchine's formula."""
    population, load = 4_000, 0.3
    think = population / load
    network = mva([think, 1.0], population, [math.inf, 1], share)
    wait = load / (1 - load) * (1 + share**2) / 2
    assert network.residence_s[1] - 1 == pytest.approx(wait, rel=5e-3)


def test_populations_and_design_points_broadcast() -> None:
    demands = np.array([[1.0, 0.5, 3.0], [2.0, 2.0, 0.0]])
    population = np.array([[4], [0], [1], [4], [9]])
    many = mva(demands, population, [1, 2, math.inf])
    assert np.shape(many.throughput_per_s) == (5, 2)
    assert many.queue.shape == (5, 2, 3)
    for row, column in itertools.product(range(5), range(2)):
        alone = mva(demands[column], int(population[row, 0]), [1, 2, math.inf])
        assert many.throughput_per_s[row, column] == pytest.approx(alone.throughput_per_s, rel=1e-13)
        assert many.residence_s[row, column] == pytest.approx(alone.residence_s, rel=1e-13)
    assert np.all(many.throughput_per_s[1] == 0)


def test_stations_that_ask_for_nothing() -> None:
    network = mva([0.0, 0.0], 3)
    assert network.throughput_per_s == math.inf
    assert list(network.queue) == [0, 0]
    partly = mva([0.0, 1.0], 3, [2, 1])
    assert list(partly.queue) == [0, 3]
    assert partly.throughput_per_s == 1


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: mva([1.0, -1.0], 2), "demands of a closed network, got -1"),
        (lambda: mva(1.0, 2), "demands of a closed network"),
        (lambda: mva([1.0], 1.5), r"population, got 1\.5"),
        (lambda: mva([1.0], -1), "population"),
        (lambda: mva([1.0], 10**9), "population"),
        (lambda: mva([1.0, 1.0], 3, [1, 0]), "servers of a station"),
        (lambda: mva([1.0, 1.0], 3, [1, 2, 3]), "servers of a closed network"),
        (lambda: mva([1.0] * 11, 3, 2), "stations of several servers"),
        (lambda: mva([1.0], 3, 1, -1.0), "variation"),
    ],
)
def test_bad_closed_networks(call: Callable[[], ClosedNetwork], what: str) -> None:
    with pytest.raises(InputError, match=what):
        call()


# Open networks.


def test_jacksons_theorem_by_the_markov_chain() -> None:
    """Two stations with feedback, of which the chain is cut off where hardly anyone ever is."""
    arrivals, routing = [0.3, 0.1], [[0.1, 0.5], [0.3, 0.0]]
    service, servers, most = [0.5, 1.2], [1, 2], 45
    states = list(itertools.product(range(most + 1), repeat=2))

    def moved(state: State) -> list[tuple[State, float]]:
        out = [((state[0] + 1 - here, state[1] + here), arrivals[here]) for here in (0, 1) if state[here] < most]
        for here in (0, 1):
            rate = min(state[here], servers[here]) / service[here]
            if not rate:
                continue
            less = tuple(count - (place == here) for place, count in enumerate(state))
            out.append((less, rate * (1 - sum(routing[here]))))
            for to in (0, 1):
                more = tuple(count + (place == to) for place, count in enumerate(less))
                if more[to] <= most and to != here:
                    out.append((more, rate * routing[here][to]))
        return out

    chance = balanced(states, moved)
    network = jackson(arrivals, routing, service, servers)
    assert network.stations.in_system == pytest.approx(chance @ np.array(states), rel=1e-6)
    assert network.response_s == pytest.approx(float(chance @ np.array(states).sum(axis=1)) / 0.4, rel=1e-6)


def test_a_tandem_and_a_loop_by_hand() -> None:
    tandem = jackson([0.5, 0.0], [[0, 1], [0, 0]], [1.0, 1.5])
    assert tandem.response_s == pytest.approx(mm1(0.5, 1.0).response_s + mm1(0.5, 1.5).response_s)
    assert list(tandem.visits) == [1, 1]
    loop = jackson([0.25], [[0.5]], [1.0])  # every second request comes again: two visits
    assert loop.visits == pytest.approx([2.0])
    assert loop.response_s == pytest.approx(2 * mm1(0.5, 1.0).response_s)


@settings(max_examples=examples(50))
@given(st.integers(1, 5), st.integers(0, 10**6), st.integers(1, 4))
def test_flows_balance(stations: int, seed: int, servers: int) -> None:
    draw = np.random.default_rng(seed)
    routing = draw.dirichlet(np.ones(stations + 1), stations)[:, :-1]
    arrivals = draw.uniform(0, 1, stations)
    flow = np.asarray(jackson(arrivals, routing, 0.0, servers).stations.throughput_per_s)
    service = 0.9 * servers / flow
    network = jackson(arrivals, routing, service, servers)
    assert flow == pytest.approx(arrivals + flow @ routing)
    assert flow @ (1 - routing.sum(axis=1)) == pytest.approx(arrivals.sum())  # what comes in goes out
    assert network.in_system == pytest.approx(network.throughput_per_s * network.response_s)
    assert network.stations.waiting_s == pytest.approx(np.asarray(mmc(flow, service, servers).waiting_s))


def test_design_points_come_first() -> None:
    arrivals = np.array([[0.1, 0.0], [0.2, 0.1], [0.0, 0.0]])
    many = jackson(arrivals, [[0, 0.5], [0.2, 0]], [1.0, 2.0])
    assert np.shape(many.response_s) == (3,)
    for row in range(2):
        assert many.response_s[row] == pytest.approx(
            jackson(arrivals[row], [[0, 0.5], [0.2, 0]], [1.0, 2.0]).response_s
        )
    assert math.isnan(many.response_s[2])
    assert many.in_system[2] == 0


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (
            lambda: jackson([0.5, 0.0], [[0, 1], [0, 0]], [1.0, 3.0], names=["disk a", "disk b"]),
            r"disk b has a load of 1\.5",
        ),
        (lambda: jackson([0.5, 0.0], [[0, 1], [0, 0]], [1.0, 3.0]), "station 1 has a load"),
        (lambda: jackson([0.1, 0.1], [[0, 1], [1, 0]], [1.0, 1.0]), "never leave the network from station 0"),
        (
            lambda: jackson([0.1, 0.1, 0.0], [[0, 0, 0], [0, 0, 1], [0, 1, 0]], 1.0),
            "never leave the network from station 1",
        ),
        (lambda: jackson([0.1], [[1.2]], [1.0]), r"each row at most 1 in sum, got 1\.2"),
        (lambda: jackson([0.1, 0.1], [[0, -0.5], [0, 0]], [1.0, 1.0]), "none negative"),
        (lambda: jackson([0.1], [[0.0, 0.5]], [1.0]), "a square table"),
        (lambda: jackson([0.1], [[0, 0.5], [0, 0]], [1.0]), "rates of arrival"),
        (lambda: jackson([-0.1], [[0]], [1.0]), "rate"),
    ],
)
def test_bad_open_networks(call: Callable[[], object], what: str) -> None:
    with pytest.raises(InputError, match=what):
        call()
