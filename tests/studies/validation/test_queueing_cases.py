"""The cases of queueing theory: how long their runs are, their formulas against global balance, and what they notice."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.generate.randomness.random_streams import random_factors
from simcodesign.studies.validation.case import Case, Readings
from simcodesign.studies.validation.registry import PACKAGE, load_cases
from simcodesign.studies.validation.run import measured
from simcodesign.studies.validation.verdict import Verdict, points_of
from tests import examples

GROUPS = ("queueing", "uniform-traffic")
CASES = [case for case in load_cases() if case.group in GROUPS]
long_runs = sys.modules[f"{PACKAGE}.theory.queueing.long_runs"]
stations = sys.modules[f"{PACKAGE}.theory.queueing.stations"]
jackson = sys.modules[f"{PACKAGE}.theory.queueing.jackson"]
repairman = sys.modules[f"{PACKAGE}.theory.queueing.machine_repairman"]
formulas = sys.modules[f"{PACKAGE}.theory.queueing.one_station.formulas"]
simulations = sys.modules[f"{PACKAGE}.theory.queueing.one_station.simulations"]
traffic = sys.modules[f"{PACKAGE}.theory.uniform_traffic.networks"]

LOADS = st.floats(0.05, 0.9)


# --- How long a run must be ---------------------------------------------------------------------------------------


@given(LOADS)
def test_waits_of_mm1_have_the_variance_that_was_published(load: float) -> None:
    """Blomqvist (1967), Daley (1968)."""
    waits, responses = long_runs.waits_spread(load, [1, 2, 6, 24])
    blomqvist = load * (2 + 5 * load - 4 * load**2 + load**3) / (1 - load) ** 4
    assert waits == pytest.approx(math.sqrt(blomqvist) / (load / (1 - load)), rel=1e-9)
    assert responses == pytest.approx((1 + load) / (1 - load), rel=1e-9)


@settings(max_examples=examples(20))
@given(load=st.floats(0.1, 0.8), servers=st.integers(1, 8))
def test_queues_have_the_variance_of_birth_and_death(load: float, servers: int) -> None:
    """Whitt (1992), eq. for birth and death processes: 2 sum over j of (sum over i <= j of (f_i - f) p_i)^2 / (l p_j)."""
    chain = simulations.queue_chain(load, servers)
    rate, f = load * servers, np.arange(len(chain.states), dtype=float)
    ratios = rate / np.minimum(np.maximum(f[1:], 1), servers)
    p = np.r_[1.0, np.cumprod(ratios)]
    p /= p.sum()
    below = np.cumsum((f - p @ f) * p)[:-1]
    variance = 2 * np.sum(below**2 / (rate * p[:-1]))
    spread = chain.spread_of_time_average(float)
    assert spread == pytest.approx(math.sqrt(variance * rate) / (p @ f), rel=1e-6)


def test_a_mean_of_waits_is_as_uncertain_as_theory_says() -> None:
    """M/D/1 by Lindley's recursion, 600 runs: their standard deviation is known to 3 %."""
    load, count, runs = 0.5, 4000, 600
    draw = np.random.default_rng(5)
    steps = np.cumsum(1.0 - draw.exponential(1 / load, (runs, count)), axis=1)
    waits = steps - np.minimum(np.minimum.accumulate(steps, axis=1), 0.0)
    spread, _ = long_runs.waits_spread(load, [1, 1, 1, 1])
    assert waits.mean(axis=1).std(ddof=1) == pytest.approx(0.5 * spread / math.sqrt(count), rel=0.12)


def test_a_count_of_poisson_arrivals_has_the_spread_of_a_poisson_count() -> None:
    assert simulations.queue_chain(0.5).spread_of_rate() == pytest.approx(1.0, rel=1e-9)


def test_a_margin_is_four_deviations() -> None:
    assert long_runs.requests_for(spread=2.0, margin=0.01) == 640_000


# --- Formulas of the cases, by global balance ---------------------------------------------------------------------


@pytest.mark.parametrize("servers", [1, 2, 4, 16])
@pytest.mark.parametrize("load", [0.3, 0.7])
def test_erlang_formula(servers: int, load: float) -> None:
    chain = simulations.queue_chain(load, servers)
    assert formulas.erlang_c(servers, load).value == pytest.approx(chain.mean(lambda n: n >= servers), rel=1e-9)


@given(load=st.floats(0.1, 3.0).filter(lambda x: abs(x - 1) > 0.01), capacity=st.integers(1, 12))
@settings(max_examples=examples(20))
def test_lost_requests(load: float, capacity: int) -> None:
    blocked, response = formulas.blocked_and_response(load, capacity)
    chain = simulations.queue_chain(load, 1, capacity)
    share = chain.mean(lambda n: n >= capacity)
    assert blocked.value == pytest.approx(share, rel=1e-9)
    assert response.value == pytest.approx(chain.mean(float) / (load * (1 - share)), rel=1e-8)


@pytest.mark.parametrize("stages", [1, 2, 10])
def test_response_of_gim1(stages: int) -> None:
    chain = simulations.erlang_arrivals(stages, 0.7)
    _, response = formulas.gim1_response(stages, 0.7)
    assert response.value == pytest.approx(chain.mean(lambda state: state[0]) / chain.counted_per_s, rel=1e-9)


@pytest.mark.parametrize("net", jackson.OPEN, ids=lambda net: net.name)
def test_jackson(net: object) -> None:
    """What is less likely than 10^-5 is cut off."""
    chain = jackson.open_chain(net)
    assert net.response.value == pytest.approx(chain.mean(sum) / chain.counted_per_s, rel=1e-3)  # type: ignore[attr-defined]


@pytest.mark.parametrize("net", [*jackson.OPEN, *jackson.ANYWHERE], ids=lambda net: net.name)
def test_traffic_equations(net: object) -> None:
    loads = [line.value for line in net.check]  # type: ignore[attr-defined]
    assert loads == pytest.approx(net.loads, rel=1e-12)  # type: ignore[attr-defined]


@settings(max_examples=examples(20))
@given(
    own=st.floats(0.5, 20), spindles=st.integers(1, 4), memory=st.sampled_from([0.0, 0.5, 2.0]), ranks=st.integers(1, 9)
)
def test_closed_networks(own: float, spindles: int, memory: float, ranks: int) -> None:
    loop = repairman.Loop(own, 1 if memory else spindles, memory)
    assert loop.cycle(ranks)[-1].value == pytest.approx(ranks / loop.chain(ranks).counted_per_s, rel=1e-9)


@pytest.mark.parametrize("service", formulas.SERVICES, ids=lambda service: service.name)
def test_moments_of_services(service: object) -> None:
    """The second is 1 + the squared variation; of all, Lyapunov's inequality holds. Simulated services have them."""
    raw = service.raw  # type: ignore[attr-defined]
    assert raw[0] == 1
    assert eval(service.variation) == pytest.approx(raw[1] - 1)  # type: ignore[attr-defined]
    norms = [moment ** (1 / power) for power, moment in enumerate(raw, start=1)]
    assert norms == sorted(norms)
    factors = random_factors(service.law, np.random.default_rng(7), 400_000)  # type: ignore[attr-defined]
    assert np.mean(factors) == pytest.approx(1, abs=0.02)
    assert np.mean(factors**2) == pytest.approx(raw[1], rel=0.05)


# --- What cases notice --------------------------------------------------------------------------------------------


@given(expected=st.floats(0.1, 10), off=st.floats(-0.02, 0.02), error=st.floats(-0.2, 0.2))
def test_smallest_error_that_is_noticed(expected: float, off: float, error: float) -> None:
    value, margin = expected * (1 + off), 0.03
    limit = stations.noticed(expected, value, margin)
    if abs(error) > limit + 1e-9:
        assert not stations.margin_tolerance(margin).holds(value, expected * (1 + error))


@pytest.mark.parametrize("case", [case for case in CASES if case.quick], ids=lambda case: case.name)
@pytest.mark.thorough
def test_quick_cases_notice_formulas_that_are_wrong_by_five_percent(case: Case) -> None:
    if case.tolerance.relative > 0.04:
        pytest.skip("an approximation")
    outcome = measured(case)
    assert outcome.verdict is Verdict.CONSISTENT, outcome.error
    readings = Readings(
        {point.label: point.forecast for point in outcome.points},
        {point.label: point.simulation for point in outcome.points},
    )
    for factor in (0.95, 1.05):
        wrong = {label: value * factor for label, value in case.expected.items()}
        points = points_of(replace(case, expected=wrong, own={}), readings)
        assert {point.verdict for point in points} == {Verdict.DIFFERS}


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.name.endswith("/simulation")], ids=lambda case: case.name
)
def test_margins_are_narrow(case: Case) -> None:
    """So that an error of 5 % lies two standard deviations, or half the margin, beyond it; but for one approximation."""
    assert case.tolerance.relative * 1.5 < 0.05 or case.name == "queueing/closed/memory-and-disk/simulation"


def test_share_delayed_is_that_of_arrivals_who_find_all_servers_at_work() -> None:
    result = stations.observe(lambda requests: stations.stream(150, requests), stations.disks(spindles=2), 400)
    requests = result.runs[0].requests
    values = [
        int(np.sum((requests.arrived_s[:k] <= t) & (requests.left_s[:k] > t))) for k, t in enumerate(requests.arrived_s)
    ]
    assert result.delayed(2) == np.mean(np.array(values) >= 2)


@pytest.mark.parametrize("net", traffic.NETS[:5], ids=lambda net: net.name)
def test_shares_by_link_add_up(net: object) -> None:
    """Squares of shares lie between 0 and 1, and messages over all links are the hops of all routes."""
    assert all(0 <= m <= 1 for m in net.merged.values())  # type: ignore[attr-defined]
    hops = sum(net.passed.values()) / len(net.routes)  # type: ignore[attr-defined]
    assert hops == pytest.approx(net.hops_line.value, rel=1e-12)  # type: ignore[attr-defined]
