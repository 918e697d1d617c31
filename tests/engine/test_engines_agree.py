"""All engines walk a Plan to the same Log, to the last bit: random Plans full of ties, and everything that is shipped.

No tolerance: the event contract leaves nothing open, so a difference of one bit is an error in one of the engines.
"""

from __future__ import annotations

import pickle
from dataclasses import fields, replace
from functools import partial
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import DeadlockError
from simcodesign.core.native.shared_library import library
from simcodesign.describe.design_point import bind
from simcodesign.describe.effects import effect_names
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.network.interfaces import DUPLEXES, Interfaces
from simcodesign.describe.network.message_models.hockney import NONBLOCKING, SENDS
from simcodesign.describe.network.network import DISTANCES, SWITCHINGS
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.engine import selection
from simcodesign.engine.event_contract import Log
from simcodesign.generate.lower import make_plan
from simcodesign.generate.plan import LINK, Plan
from tests import THOROUGH, examples
from tests.builders import network_of
from tests.oracles.event_contract import (
    ROUNDED,
    TIED,
    Oracle,
    Run,
    Writer,
    check,
    crowded_plans,
    plan_of,
    plans,
    shuffled,
    with_alternative_routes,
    with_fair_sharing,
    with_limited_capacity,
    with_packets,
    with_slow_stations,
    with_unequal_links,
)
from tests.shipped_pairs import load_machine, load_workload, pair_parameters, ranks_of

ENGINES = tuple(selection.ENGINES)
OTHERS = [name for name in ENGINES if name != "simpy"]


def engine(name: str) -> Run:
    """The engine's ``run``; skips the test where the library of C functions cannot be had."""
    if name == "compiled" and library() is None:
        pytest.skip("there is no C compiler")
    return partial(selection.run, engine=name)


@pytest.fixture(params=OTHERS, scope="module")
def other(request: pytest.FixtureRequest) -> Run:
    return engine(request.param)


Outcome = dict[str, object] | str


def outcome(run: Run, plan: Plan) -> Outcome:
    """The fields of the Log as types and bits, or the message of a run that cannot end."""
    try:
        log = run(plan)
    except DeadlockError as error:
        return str(error)
    assert log.events == int(log.events)
    arrays = {item.name: getattr(log, item.name) for item in fields(Log) if item.name != "events"}
    return {name: bits(values) for name, values in arrays.items() if values is not None} | {"events": log.events}


def bits(values: np.ndarray) -> tuple[str, tuple[int, ...], bytes]:
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), np.nan, values)  # a nan is a nan, whatever its payload
    return str(values.dtype), values.shape, values.tobytes()


def agree(other: Run, plan: Plan) -> Outcome:
    """Asserts that both engines do the same, and says what."""
    expected, got = outcome(engine("simpy"), plan), outcome(other, plan)
    if expected != got and isinstance(expected, dict) and isinstance(got, dict):
        differ = [name for name in expected if expected[name] != got[name]]
        logs = [{name: getattr(run(plan), name) for name in differ} for run in (engine("simpy"), other)]
        pytest.fail(f"SimPy: {logs[0]}\nnot {logs[1]}")
    assert expected == got
    return got


# ---------------------------------------------------------------------------------------------------------------------
# Random Plans


@settings(max_examples=examples(300, ordinary=60))
@given(plan=plans(TIED))
def test_small_plans(other: Run, plan: Plan) -> None:
    agree(other, plan)


@settings(max_examples=examples(1500, ordinary=150))
@given(plan=crowded_plans(TIED))
def test_ties_at_every_step(other: Run, plan: Plan) -> None:
    agree(other, plan)


@settings(max_examples=examples(800, ordinary=75))
@given(plan=crowded_plans(ROUNDED))
def test_sums_that_round(other: Run, plan: Plan) -> None:
    agree(other, plan)


@settings(max_examples=examples(500, ordinary=60))
@given(plan=crowded_plans(TIED), seed=st.integers(0, 2**64))
def test_plans_that_may_not_end(other: Run, plan: Plan, seed: int) -> None:
    """The message of a deadlock too."""
    agree(other, shuffled(plan, Random(seed)))


def test_many_of_these_do_not_end(other: Run) -> None:
    random = Random(2)
    shuffled_plans = (shuffled(Writer(random, TIED, random.randint(5, 60)).plan(), random) for _ in range(100))
    stuck = sum(isinstance(agree(other, plan), str) for plan in shuffled_plans)
    assert 20 <= stuck <= 80


@pytest.mark.thorough
@settings(max_examples=60)
@given(seed=st.integers(0, 2**64), times=st.sampled_from([TIED, ROUNDED]))
def test_large_plans(other: Run, seed: int, times: tuple[float, ...]) -> None:
    random = Random(seed)
    agree(other, Writer(random, times, random.randint(100, 500), most_ranks=20).plan())


@settings(max_examples=40)
@given(seed=st.integers(0, 2**64))
def test_times_that_never_tie(other: Run, seed: int) -> None:
    random = Random(seed)
    times = tuple(random.random() * 10.0 ** random.randint(-9, 3) for _ in range(50))
    agree(other, Writer(random, times, random.randint(20, 200), most_ranks=12).plan())


@pytest.mark.parametrize("spread", [0, 3, 12, 300])
@pytest.mark.thorough
def test_long_runs(other: Run, spread: int) -> None:
    """Thousands of events, of which a few lie ``spread`` powers of ten beyond the others."""
    random = Random(spread)
    times = (*(random.random() for _ in range(30)), *(10.0 ** random.uniform(0, spread) for _ in range(3)), 0.0)
    for most_ranks in (5, 60):
        agree(other, Writer(random, times, 6000, hoarding=False, most_ranks=most_ranks).plan())


@pytest.mark.parametrize("name", OTHERS)
@settings(max_examples=examples(400, ordinary=50))
@given(plan=st.one_of(plans(TIED), crowded_plans(TIED), crowded_plans(ROUNDED)))
def test_the_oracle_says_the_same(name: str, plan: Plan) -> None:
    check(plan, engine(name))


@pytest.mark.parametrize("name", ENGINES)
@settings(max_examples=examples(100, ordinary=25))
@given(plan=crowded_plans(TIED))
def test_a_plan_can_be_walked_again(name: str, plan: Plan) -> None:
    """Engines leave it as it was."""
    run = engine(name)
    before = {key: value.copy() for key, value in vars(plan).items() if isinstance(value, np.ndarray)}
    assert outcome(run, plan) == outcome(run, plan)
    for key, value in before.items():
        assert value.tobytes() == getattr(plan, key).tobytes()


@pytest.mark.parametrize("name", ENGINES)
@settings(max_examples=examples(100, ordinary=25))
@given(plan=crowded_plans(TIED))
def test_what_a_plan_lacks_and_what_it_does_not_use_are_the_same(name: str, plan: Plan) -> None:
    """No station, no mailbox and no edge may be None or an array that says so for every operation."""
    run, nobody = engine(name), np.full(len(plan), -1, np.int32)
    given_all = replace(
        plan,
        station=nobody if plan.station is None else plan.station,
        mailbox=nobody if plan.mailbox is None else plan.mailbox,
    )
    assert outcome(run, given_all) == outcome(run, plan)


@pytest.mark.thorough
@settings(max_examples=examples(600, ordinary=200))
@given(plan=st.one_of(crowded_plans(TIED), crowded_plans(ROUNDED)), seed=st.integers(0, 2**64))
def test_disks_with_limited_capacity_for_a_few(other: Run, plan: Plan, seed: int) -> None:
    agree(other, with_limited_capacity(plan, Random(seed)))


@pytest.mark.parametrize("name", ENGINES)
@settings(max_examples=examples(400, ordinary=50))
@given(plan=st.one_of(plans(TIED), crowded_plans(TIED), crowded_plans(ROUNDED)), seed=st.integers(0, 2**64))
def test_the_oracle_blocks_the_same(name: str, plan: Plan, seed: int) -> None:
    check(with_limited_capacity(plan, Random(seed)), engine(name))


@pytest.mark.parametrize("name", ENGINES)
@settings(max_examples=examples(200, ordinary=50))
@given(plan=st.one_of(plans(TIED), crowded_plans(TIED), crowded_plans(ROUNDED)), seed=st.integers(0, 2**64))
def test_stations_that_are_slower_than_others(name: str, plan: Plan, seed: int) -> None:
    check(with_slow_stations(plan, Random(seed)), engine(name))


@pytest.mark.thorough
@settings(max_examples=examples(600, ordinary=200))
@given(plan=crowded_plans(TIED), seed=st.integers(0, 2**64), times=st.sampled_from([TIED, ROUNDED]))
def test_links_that_differ(other: Run, plan: Plan, seed: int, times: tuple[float, ...]) -> None:
    agree(other, with_unequal_links(plan, Random(seed), times))


@pytest.mark.parametrize("name", ENGINES)
@settings(max_examples=examples(400, ordinary=60))
@given(plan=crowded_plans(TIED), seed=st.integers(0, 2**64), times=st.sampled_from([TIED, ROUNDED]))
def test_the_oracle_says_the_same_of_links_that_differ(
    name: str, plan: Plan, seed: int, times: tuple[float, ...]
) -> None:
    check(with_unequal_links(plan, Random(seed), times), engine(name))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ENGINES)
@settings(max_examples=examples(1500, ordinary=120))
@given(plan=crowded_plans(TIED), seed=st.integers(0, 2**64))
def test_the_oracle_chooses_the_same_routes(name: str, plan: Plan, seed: int) -> None:
    check(with_alternative_routes(plan, Random(seed)), engine(name))


@pytest.mark.thorough
@settings(max_examples=examples(3000, ordinary=200))
@given(plan=crowded_plans(ROUNDED), seed=st.integers(0, 2**64), times=st.sampled_from([TIED, ROUNDED]))
def test_messages_that_choose_routes(other: Run, plan: Plan, seed: int, times: tuple[float, ...]) -> None:
    random = Random(seed)
    unequal = with_unequal_links(with_slow_stations(plan, random), random, times)
    agree(other, with_alternative_routes(random.choice((plan, unequal)), random))


def test_many_of_these_take_the_other_route() -> None:
    random = Random(11)
    elsewhere = 0
    for _ in range(100):
        plan = with_alternative_routes(Writer(random, TIED, 60, hoarding=False).plan(), random)
        oracle = Oracle(plan).run()
        elsewhere += sum(
            row != first
            for row, first in zip(oracle.route, () if plan.routes is None else plan.routes.route, strict=True)
        )
    assert elsewhere > 100


@settings(max_examples=examples(3000, ordinary=250))
@given(plan=crowded_plans(TIED), seed=st.integers(0, 2**64), times=st.sampled_from([TIED, ROUNDED]))
def test_links_that_are_shared_fairly(other: Run, plan: Plan, seed: int, times: tuple[float, ...]) -> None:
    random = Random(seed)
    agree(other, with_fair_sharing(with_slow_stations(plan, random), random, times))


@settings(max_examples=examples(3000, ordinary=200))
@given(plan=crowded_plans(TIED), seed=st.integers(0, 2**64), times=st.sampled_from([TIED, ROUNDED]))
def test_messages_in_packets(other: Run, plan: Plan, seed: int, times: tuple[float, ...]) -> None:
    random = Random(seed)
    unequal = with_unequal_links(with_slow_stations(plan, random), random, times)
    agree(other, with_packets(random.choice((plan, unequal)), random, times))


def test_many_packets_of_these_wait(other: Run) -> None:
    random = Random(7)
    plans_ = [with_packets(Writer(random, TIED, 60, hoarding=False).plan(), random, TIED) for _ in range(100)]
    waited = [float(other(plan).wait_s[plan.stations.kind == LINK].sum()) for plan in plans_]
    assert sum(wait_s > 0 for wait_s in waited) > 40


@pytest.mark.thorough
def test_many_of_these_share_a_link(other: Run) -> None:
    random = Random(3)
    plans_ = [with_fair_sharing(Writer(random, TIED, 60, hoarding=False).plan(), random, TIED) for _ in range(200)]
    together = [int(other(plan).longest_queue[plan.stations.kind == LINK].max(initial=0)) for plan in plans_]
    assert sum(count > 2 for count in together) > 40


@pytest.mark.thorough
def test_many_of_these_are_blocked(other: Run) -> None:
    random = Random(5)
    plans_ = [with_limited_capacity(Writer(random, TIED, 60, hoarding=False).plan(), random) for _ in range(200)]
    blocked = [len(other(plan).blocked_operations) for plan in plans_]
    assert sum(count > 0 for count in blocked) > 40


def test_an_empty_plan(other: Run) -> None:
    for ranks in (1, 3):
        agree(other, plan_of([], ranks))


# ---------------------------------------------------------------------------------------------------------------------
# What is shipped

SETS = [(), *((effect,) for effect in effect_names()), effect_names(), ("interfaces", "links", "disks")]
#: Small versions of workloads whose usual size takes too long, and numbers of ranks that they can be run with.
SMALL = {
    "disk-queue": {"requests": 20},
    "uniform-traffic": {"requests": 20},
    "seismic": {"samples": 24, "traces": 8, "lines": 2},
    "seismic-at-once": {"samples": 24, "groups": 8, "lines": 2},
    "cg": {"cores": 8, "train": 3},
}
RANKS = {"seismic": (8, 16), "seismic-at-once": (8, 16), "uniform-traffic": (2, 8, 13)}


PROGRAM = """
simcodesign: 1
name: exchanges
program:
  - do:
      - exchange: {pattern: halo%ad, bytes: 8, messages: %a, train: %a, periodic: %s}
      - compute: {seconds: rank*1e-6}
      - allreduce: {bytes: 8}
    repeat: 2
"""


#: Networks of nine hosts, or a few more.
NINE = [
    *(build_topology(kind, 9) for kind in ("torus", "mesh", "bus", "tree")),
    build_topology("torus", 12, (3, 1, 2, 1, 1, 2), wrap=(True, False, False, True, True, False)),
    build_topology("dragonfly", 9, terminals=1, routers=3, global_links=1),
    build_topology("dragonfly", 12, terminals=3, routers=2, global_links=2, arrangement="palmtree"),
    build_topology("dragonfly_plus", 9, terminals=1, leaves=3, spines=2, global_links=2),
    build_topology("hyperx", 9, (3, 3), cables=(2, 1)),
    build_topology("slim_fly", 18, q=3),
]


@st.composite
def exchanges_on_machines(draw: st.DrawFn) -> tuple[Workload, Machine, int]:
    """Times with few digits, so that many events tie."""
    times = st.sampled_from([0.0, 2.0**-20, 2.0**-18])
    dims = draw(st.integers(1, 2))
    counts = draw(st.lists(st.integers(0, 5), min_size=dims, max_size=dims))
    text = PROGRAM % (dims, counts, draw(st.integers(1, 3)), draw(st.sampled_from(["true", "false"])))
    switching = draw(st.sampled_from(SWITCHINGS))
    sends = draw(st.sampled_from(SENDS))
    rails = draw(st.integers(1, 2))
    network = network_of(
        draw(st.sampled_from(NINE)),
        startup_s=draw(times),
        per_byte_s=draw(times),
        interfaces=Interfaces(rails * draw(st.integers(1, 3)), draw(st.sampled_from(DUPLEXES))),
        rails=rails,
        hop_latency_s=draw(times),
        distance=draw(st.sampled_from(DISTANCES)),
        switching=switching,
        sharing=draw(st.sampled_from(["fcfs", "round_robin"])) if switching == "cut_through" else "fcfs",
        packet_bytes=draw(st.sampled_from([1.0, 3.0, 1000.0])),
        hops_hold_sender=sends == NONBLOCKING or draw(st.booleans()),
        sends=sends,
        rendezvous_above_bytes=draw(st.sampled_from([None, 2.0])),
        startup_per=draw(st.sampled_from(["message", "hop"])),
    )
    machine = Machine("nine", Processor(1e9), network, mapping=draw(st.sampled_from(["linear", "one_per_node"])))
    return workload_from(parse_yaml(text, "exchanges.yaml")), machine, draw(st.integers(1, 9))


@pytest.mark.thorough
@settings(max_examples=100)
@given(case=exchanges_on_machines(), effects=st.sampled_from(SETS))
def test_exchanges_in_trains_and_hops_that_do_not_hold_the_sender(
    other: Run, case: tuple[Workload, Machine, int], effects: tuple[str, ...]
) -> None:
    workload, machine, ranks = case
    assert not isinstance(agree(other, make_plan(bind(workload, machine, {"P": ranks}), effects)), str)


@pytest.mark.parametrize(("workload", "machine"), pair_parameters())
def test_shipped_workloads_on_shipped_machines(other: Run, workload: str, machine: str) -> None:
    described = load_workload(workload), load_machine(machine)
    ranks_to_try = ranks_of(workload, RANKS.get(workload, (1, 8, 13)))
    for ranks in ranks_to_try if THOROUGH else ranks_to_try[-1:]:
        point = bind(*described, {"P": ranks, **SMALL.get(workload, {})})
        # Effects that do nothing to a workload give the same Plan: one is enough.
        for plan in {
            pickle.dumps(plan): plan for plan in (make_plan(point, effects, seed=3) for effects in SETS)
        }.values():
            assert not isinstance(agree(other, plan), str)
