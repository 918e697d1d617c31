"""Hops that take time, which the compiled engine does without arbitrations: equal to SimPy, to the last bit."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.engine.native.state import every_hop_takes_time
from simcodesign.generate.plan import LINK, NONE, Plan
from tests import examples
from tests.engine.test_engines_agree import agree, engine
from tests.oracles.event_contract import (
    ROUNDED,
    TIED,
    Writer,
    crowded_plans,
    with_slow_stations,
    with_time_on_the_way,
    with_unequal_links,
)

compiled = engine("compiled")


@pytest.mark.thorough
@settings(max_examples=examples(4000, ordinary=400))
@given(plan=crowded_plans(TIED), seed=st.integers(0, 2**64), times=st.sampled_from([TIED, ROUNDED]))
def test_random_plans(plan: Plan, seed: int, times: tuple[float, ...]) -> None:
    random = Random(seed)
    unequal = with_unequal_links(with_slow_stations(plan, random), random, times)
    plan = with_time_on_the_way(random.choice((plan, unequal)), random, times)
    if plan.routes is not None:
        plan = replace(plan, routes=replace(plan.routes, store_and_forward=random.random() < 0.3))
    agree(compiled, plan)


def test_many_of_these_have_no_arbitrations_and_wait() -> None:
    random = Random(17)
    every = [Writer(random, TIED, 60, hoarding=False, most_ranks=20).plan() for _ in range(200)]
    plans = [with_time_on_the_way(plan, random, TIED) for plan in every]
    plans = [plan for plan in plans if every_hop_takes_time(plan)]
    assert len(plans) > 60
    longest = [int(compiled(plan).longest_queue[plan.stations.kind == LINK].max(initial=0)) for plan in plans]
    assert sum(count > 2 for count in longest) > 10


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e5])
def test_days_of_any_length(scale: float) -> None:
    """Times far apart: days without messages, years without messages, and days that become longer."""
    random = Random(5)
    for _ in range(40):
        plan = Writer(random, (0.0, 1.0, 7.0, 1e6), 60, hoarding=False).plan()
        plan = with_time_on_the_way(plan, random, (0.0, scale, 3 * scale))
        agree(compiled, plan)


def test_a_hop_of_no_time_is_arbitrated() -> None:
    """One latency of 0 is enough; and a route on which an interface follows another at once."""
    random, found = Random(3), 0
    for _ in range(100):
        plan = with_time_on_the_way(Writer(random, TIED, 60, hoarding=False).plan(), random, TIED)
        if plan.routes is None or not every_hop_takes_time(plan) or not (plan.stations.kind == LINK).any():
            continue
        found += 1
        latency_s = plan.routes.latency_s.copy()
        latency_s.flat[0] = 0.0
        assert not every_hop_takes_time(replace(plan, routes=replace(plan.routes, latency_s=latency_s)))
    assert found > 20


def test_times_lost_to_rounding() -> None:
    """A latency too short to be seen on the clock: the run is repeated with arbitrations."""
    random = Random(5)
    for _ in range(60):
        plan = Writer(random, TIED, 60, hoarding=False).plan()
        agree(compiled, with_time_on_the_way(plan, random, (0.0, 2.0**-60)))


@pytest.mark.thorough
def test_many_wait_at_one_link() -> None:
    """More grants to come than there was room for at first."""
    random = Random(9)
    plan = Writer(random, (1.0,), 4000, hoarding=False, most_ranks=4).plan()
    while plan.routes is None or not (plan.routes.route != NONE).any():
        plan = Writer(random, (1.0,), 4000, hoarding=False, most_ranks=4).plan()
    plan = with_time_on_the_way(plan, random, (0.5, 1.0))
    slow = np.full(len(plan.stations), 1000.0)
    plan = replace(plan, stations=replace(plan.stations, service_factor=slow))
    agree(compiled, plan)
