"""Messages of other jobs: both engines to the last bit, against the same messages as operations, and against theory."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import CapacityError, DeadlockError, InputError
from simcodesign.core.operation_kinds import COMPUTE, RECEIVE, SEND
from simcodesign.engine import background, simulate
from simcodesign.engine.event_contract import Log
from simcodesign.engine.native import engine as compiled
from simcodesign.engine.reference import run as reference
from simcodesign.generate.plan import NONE, BackgroundMessages, Edges, Plan
from tests import examples
from tests.builders import network_with, read_machine, workload
from tests.oracles.event_contract import (
    ROUNDED,
    TIED,
    Run,
    crowded_plans,
    with_alternative_routes,
    with_fair_sharing,
    with_packets,
    with_slow_stations,
    with_unequal_links,
)

Times = tuple[float, ...]


def messages_of_others(plan: Plan, random: Random, times: Times) -> Plan:
    """The Plan with messages of others over its routes, at its costs."""
    routes = plan.routes
    if routes is None:
        return plan
    count, rows = random.randint(1, 30), len(routes.inject_s) // (1 if routes.packets is None else 2)
    at = np.cumsum(random.choices(times, k=count))
    rest = np.zeros(count, bool)
    more = {
        "route": np.array([random.randrange(len(routes.start) - 1) for _ in range(count)], np.int32),
        "cost": np.array(
            [random.randrange(rows) * (1 if routes.packets is None else 2) for _ in range(count)], np.int32
        ),
    }
    own: dict[str, Any] = {name: np.concatenate([getattr(routes, name), part]) for name, part in more.items()}
    if routes.adaptive is not None:
        none = np.full(count, NONE, np.int32)
        kept = {"route": none, "fork": np.zeros(count, np.int32)}
        own["adaptive"] = extended(routes.adaptive, kept)
        minimal = routes.adaptive.route[routes.adaptive.route != NONE]
        choices = np.arange(len(routes.start) - 1) if not len(minimal) else np.arange(int(minimal.min()))
        own["route"][len(plan) :] = random.choices(choices.tolist() or [0], k=count)
    if routes.packets is not None:
        own["packets"] = extended(
            routes.packets, {"count": np.array(random.choices((1, 2, 5), k=count)), "holds": rest}
        )
    if routes.fair is not None:
        delays = {name: np.array(random.choices(times, k=count)) for name in ("delay_s", "after_s")}
        size = np.array(random.choices((0.0, 1.0, 3.0), k=count))
        whole = {"own_rate": np.zeros(count, np.int64), "weight": np.ones(count, np.int32)}
        own["fair"] = extended(routes.fair, {**delays, **whole, "size_bytes": size, "holds": rest})
    sets_out = BackgroundMessages(at, np.ones(count))
    return replace(plan, routes=replace(routes, **own), background=sets_out)


def extended(part: Any, more: dict[str, Any]) -> Any:
    """A part of the routes with more values at the ends of arrays."""
    arrays = {name: getattr(part, name) for name in more}
    return replace(
        part, **{name: np.concatenate([arrays[name], more[name]]).astype(arrays[name].dtype) for name in more}
    )


def as_operations(plan: Plan) -> Plan:
    """The same messages sent by ranks of their own after a computation, and received by others."""
    assert plan.background is not None
    assert plan.routes is not None
    own, count = len(plan), len(plan.background.sets_out_s)
    place = own + 3 * np.arange(count)
    order = np.full(own + 3 * count, NONE, np.int64)  # the message of each operation
    order[:own], order[place + 1] = np.arange(own), own + np.arange(count)

    def of(values: np.ndarray, default: float) -> np.ndarray:
        return np.where(order == NONE, default, values[order]).astype(values.dtype)

    def padded(values: np.ndarray | None, default: float) -> np.ndarray | None:
        return None if values is None else np.append(values, np.full(3 * count, default)).astype(values.dtype)

    duration = padded(plan.duration_s, 0.0)
    assert duration is not None
    duration[place] = plan.background.sets_out_s
    match, kind, peer = padded(plan.match, NONE), np.tile([COMPUTE, SEND, RECEIVE], count), padded(plan.peer, 0)
    assert match is not None
    match[place + 1], match[place + 2] = place + 2, place + 1
    ranks = plan.ranks + np.repeat(np.arange(2 * count), np.tile([2, 1], count))
    follows = np.append(plan.follows_previous[:-1], np.tile([False, True, False], count))
    routes = replace(plan.routes, route=of(plan.routes.route, NONE), cost=of(plan.routes.cost, 0))
    for name, defaults in (
        ("adaptive", {"route": NONE, "fork": 0}),
        ("packets", {"count": 1, "holds": 0}),
        ("fair", dict.fromkeys(("delay_s", "after_s", "size_bytes", "holds", "own_rate", "weight"), 0)),
    ):
        part = getattr(routes, name)
        if part is not None:
            own_parts = {key: of(getattr(part, key), default) for key, default in defaults.items()}
            routes = replace(routes, **{name: replace(part, **own_parts)})  # type: ignore[arg-type]
    edges = plan.edges
    if edges is not None:
        edges = Edges(np.append(edges.start, np.full(3 * count, edges.start[-1])), edges.target, edges.early)
    return replace(
        plan,
        first=np.append(plan.first, own + np.sort(np.append(3 * np.arange(count) + 2, 3 * np.arange(count) + 3))),
        kind=np.append(plan.kind, kind).astype(np.int8),
        phase=padded(plan.phase, 0),
        rank=np.append(plan.rank, ranks).astype(np.int32),
        peer=peer,
        size_bytes=padded(plan.size_bytes, 1.0),
        duration_s=duration,
        match=match,
        follows_previous=np.append(follows, False),
        station=padded(plan.station, NONE),
        mailbox=padded(plan.mailbox, NONE),
        flight_s=padded(plan.flight_s, 0.0),
        routes=routes,
        edges=edges,
        background=None,
    )


def logged(run: Run, plan: Plan) -> Log | None:
    """What happened; None where ranks wait for each other."""
    try:
        return run(plan)
    except DeadlockError:
        return None


def check(plan: Plan) -> None:
    """Both engines do the same, and what the job does is what it does beside operations of others."""
    expected, got = logged(reference.run, plan), logged(compiled.run, plan)
    assert (expected is None) == (got is None)
    if expected is None or got is None:
        return
    for each in fields(Log):
        one, other = getattr(expected, each.name), getattr(got, each.name)
        assert np.array_equal(one, other, equal_nan=each.name == "arrival_s"), each.name
    if plan.background is None:
        return
    beside = logged(reference.run, as_operations(plan))
    assert beside is not None
    assert np.array_equal(expected.finish_s, beside.finish_s[: len(plan)])
    assert np.array_equal(expected.arrival_s, beside.arrival_s[: len(plan)], equal_nan=True)
    assert (expected.served <= beside.served).all()
    assert (expected.longest_queue <= beside.longest_queue).all()
    assert expected.others_busy_s is not None
    assert (expected.others_busy_s <= expected.busy_s * (1 + 1e-12)).all()


@settings(max_examples=examples(1000, ordinary=20))
@given(plan=crowded_plans(TIED), seed=st.integers(0, 2**64), times=st.sampled_from([TIED, ROUNDED]))
def test_messages_in_turn(plan: Plan, seed: int, times: Times) -> None:
    random = Random(seed)
    unequal = with_unequal_links(with_slow_stations(plan, random), random, times)
    check(messages_of_others(random.choice((plan, unequal)), random, times))


@settings(max_examples=examples(1000, ordinary=20))
@given(plan=crowded_plans(TIED), seed=st.integers(0, 2**64))
def test_beside_messages_that_choose_routes(plan: Plan, seed: int) -> None:
    random = Random(seed)
    check(messages_of_others(with_alternative_routes(plan, random), random, TIED))


@settings(max_examples=examples(1000, ordinary=20))
@given(plan=crowded_plans(TIED), seed=st.integers(0, 2**64), times=st.sampled_from([TIED, ROUNDED]))
def test_flows(plan: Plan, seed: int, times: Times) -> None:
    random = Random(seed)
    check(messages_of_others(with_fair_sharing(plan, random, times), random, times))


@settings(max_examples=examples(1000, ordinary=20))
@given(plan=crowded_plans(TIED), seed=st.integers(0, 2**64), times=st.sampled_from([TIED, ROUNDED]))
def test_packets(plan: Plan, seed: int, times: Times) -> None:
    random = Random(seed)
    check(messages_of_others(with_packets(plan, random, times), random, times))


# ---------------------------------------------------------------------------------------------------------------------
# Descriptions

MACHINE = """
simcodesign: 1
name: m
nodes: NODES
processor: {rate: 1 GFLOP/s}
network: {topology: {TOPOLOGY}, startup: 0 s, bandwidth: 1 GB/s NETWORK}
background: {BACKGROUND}
"""
HALO = "[{repeat: 5, do: [exchange: {pattern: halo2d, bytes: 20000}, allreduce: {bytes: 1000}]}]"


def on(topology: str, nodes: int, others: str, network: str = "") -> Any:
    text = MACHINE.replace("TOPOLOGY", topology).replace("NODES", str(nodes))
    return read_machine(text.replace("BACKGROUND", others).replace(" NETWORK", network))


TORUS = "kind: torus, shape: [6, 6]"
WAYS = {
    "in turn": "",
    "fair": ", sharing: max_min",
    "packets": ", sharing: round_robin",
    "rails": ", rails: 2",
    "ugal": ", routing: ugal",
    "valiant": ", routing: valiant",
}


@pytest.mark.thorough
@pytest.mark.parametrize("network", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("pattern", ["uniform", "permutation"])
def test_engines_agree_and_do_not_depend_on_how_many_are_drawn(
    network: str, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of few messages is repeated with more of them until they last: the answer is that of many."""
    machine = on(TORUS, 36, f"load: 0.4, size: 10 kB, pattern: {pattern}, jobs: 3, mapping: random", network)
    results = {}
    for first, name in ((1.25, "simpy"), (1.25, "compiled"), (0.01, "compiled")):
        monkeypatch.setattr(background, "SPARE", first)
        result = simulate.simulate(workload(HALO), machine, {"P": 9}, effects="all", seed=3, engine=name)
        results[first, name] = replace(result, engine="").to_dict()
    first, *rest = results.values()
    assert rest == [first, first]
    assert first["use"]["background"]["nodes"] == 27
    assert 0.1 < first["use"]["background"]["fraction"] < 0.95


def test_only_the_job_counts() -> None:
    """Messages and times of a result are those of the job; without others, or a load, it is as if they were not."""
    machine = replace(on(TORUS, 36, "load: 0.4, size: 10 kB"), mapping=tuple(range(0, 36, 4)))
    alone = simulate.simulate(workload(HALO), replace(machine, background=None), {"P": 9}, effects="all")
    beside = simulate.simulate(workload(HALO), machine, {"P": 9}, effects="all")
    assert (beside.messages, beside.message_bytes) == (alone.messages, alone.message_bytes)
    assert float(beside.makespan_s) > float(alone.makespan_s)
    none = replace(on(TORUS, 36, "load: 0, size: 10 kB"), mapping=machine.mapping)
    left_out = [
        simulate.simulate(workload(HALO), none, {"P": 9}, effects="all"),
        simulate.simulate(workload(HALO), machine, {"P": 9}, effects="links,interfaces"),
    ]
    assert [result.makespan_s for result in left_out] == [alone.makespan_s] * 2
    whole = simulate.simulate(workload(HALO), replace(machine, mapping="linear"), {"P": 36}, effects="all")
    assert whole.use is not None
    assert whole.use.background is not None
    assert whole.use.background.nodes == 0
    assert float(forecast(workload(HALO), machine, {"P": 9}).makespan_s) == pytest.approx(
        float(forecast(workload(HALO), none, {"P": 9}).makespan_s), rel=0
    )


def test_loads_are_what_they_say() -> None:
    """Each of S nodes sends load x bandwidth: the links of a ring to the next node carry just that, within four
    standard deviations of a Poisson count."""
    machine = on("kind: torus, shape: [12]", 12, "load: 0.5, size: 1 kB, pattern: neighbour, nodes: all")
    result = simulate.simulate(workload("[compute: {flops: 20e6}]"), machine, {"P": 1}, effects="all")
    uses = [station for station in result.stations if station.kind == "link" and station.served]
    assert len(uses) == 12
    expected = 0.5 * 20e-3 / 1e-6  # messages in 20 ms
    for use in uses:
        assert use.served == pytest.approx(expected, abs=4 * expected**0.5)
        assert use.background_s == use.busy_s == pytest.approx(use.served * 1e-6)


WAIT = "[arrivals: {to: network, rate: 2000, requests: 20000, bytes: 1000, destination: '1 - rank', when: 'rank == 0'}]"


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:background. some")
@pytest.mark.parametrize("load", [0.3, 0.6])
@pytest.mark.parametrize("is_fresh", [True, False])
def test_waits_of_theory(load: float, is_fresh: bool) -> None:
    """Rare messages of the job meet a Poisson stream of others on one link of two nodes: by PASTA they wait as those of
    M/D/1 do, rho s / (2 (1 - rho)) (Pollaczek and Khinchine). Where the stream has passed a link like it before, its
    messages are s apart and never wait again, so that the job's wait for the rest of one in service alone: rho s / 2.

    The job's own load, 0.002, adds as much to rho. 20,000 waits of a standard deviation of about s, some correlated: a
    mean within 4 %.
    """
    s = 1e-6
    if is_fresh:  # 0 -> 1 is the job's link and that of others, 1 -> 0 goes back
        machine = on("kind: mesh, shape: [2]", 2, f"load: {load}, size: 1 kB, pattern: neighbour, nodes: all")
        wait = (load + 0.002) * s / (2 * (1 - load - 0.002))
    else:  # others send from 0 to 3 and back, over the link 1 -> 2 between
        machine = replace(
            on("kind: mesh, shape: [4]", 4, f"load: {load}, size: 1 kB, pattern: neighbour"), mapping=(1, 2)
        )
        wait = load * s / 2
    result = simulate.simulate(workload(WAIT), machine, {"P": 2}, effects="links,background", engine="compiled")
    assert float(result.headline_s) - s == pytest.approx(wait, rel=0.04)


@pytest.mark.thorough
def test_by_the_rules_of_loggopsim() -> None:
    """Both engines alike, messages in turn and as flows."""
    text = MACHINE.replace(
        "startup: 0 s, bandwidth: 1 GB/s NETWORK", "model: loggop, L: 1 us, o: 1 us, g: 1 us, G: 1 ns/B MORE"
    )
    for more in ("", ", sharing: max_min"):
        machine = read_machine(
            text.replace("TOPOLOGY", TORUS)
            .replace("NODES", "36")
            .replace("BACKGROUND", "load: 0.5, size: 10 kB")
            .replace(" MORE", more)
        )
        runs = [
            simulate.simulate(workload(HALO), machine, {"P": 9}, effects="links,background", engine=name)
            for name in ("simpy", "compiled")
        ]
        one, other = (replace(result, engine="").to_dict() for result in runs)
        assert one == other
        alone = simulate.simulate(workload(HALO), machine, {"P": 9}, effects="links")
        assert runs[0].makespan_s != alone.makespan_s


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ("load: 1.5", "0 to 1"),
        ("load: -0.1", "0 to 1"),
        ("size: 1 kB", "load"),
        ("load: 0.3, pattern: all_to_all", "permutation"),
        ("load: 0.3, nodes: some", "others"),
        ("load: 0.3, jobs: 0", "1 to"),
        ("load: 0.3, size: 0 B", "1 B"),
        ("load: 0.3, mapping: grid", "linear"),
        ("load: 0.3, rate: 3", "unknown key"),
    ],
)
def test_what_cannot_be_is_refused(others: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        on(TORUS, 36, others)


def test_messages_without_a_bandwidth_have_no_load() -> None:
    machine = on(TORUS, 36, "load: 0.3")
    endless = replace(machine, network=network_with(machine.network, per_byte_s=0.0))
    with pytest.raises(InputError, match="bandwidth"):
        simulate.simulate(workload(HALO), endless, {"P": 9}, effects="all")


@pytest.mark.filterwarnings("ignore:background. some")
def test_more_messages_than_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long job in a busy machine."""
    monkeypatch.setattr("simcodesign.core.memory_limit.memory_bytes", lambda: 2e7)
    machine = on(TORUS, 36, "load: 0.5, size: 1 B")
    with pytest.raises(CapacityError, match="background"):
        simulate.simulate(workload("[compute: {flops: 1e15}]"), machine, {"P": 1}, effects="all")


@given(
    nodes=st.integers(2, 60),
    jobs=st.integers(1, 8),
    pattern=st.sampled_from(["uniform", "neighbour", "opposite", "permutation"]),
    mapping=st.sampled_from(["linear", "random"]),
    seed=st.integers(0, 5),
)
@settings(max_examples=examples(500, ordinary=50))
def test_others_stay_in_their_jobs(nodes: int, jobs: int, pattern: str, mapping: str, seed: int) -> None:
    """Messages go from a node of others to another of the same job; every node that can sends, and by a pattern that is
    not uniform always to one and the same, which gets them from nobody else."""
    from simcodesign.generate.passes.background import _drawn, _jobs

    described = on(TORUS, 36, f"load: 0.3, jobs: {jobs}, pattern: {pattern}, mapping: {mapping}").background
    given_nodes = np.arange(100, 100 + 3 * nodes, 3)
    member, sends_to = _jobs(described, given_nodes, seed)
    if not len(member):
        assert nodes < 2 * jobs
        return
    which = _drawn("x", seed, 4000, len(member))
    source, target = member[which], sends_to.targets(which, seed)
    assert (source != target).all()
    assert set(target) <= set(source) == set(member) <= set(given_nodes)
    parts = {
        int(node): number
        for number, part in enumerate(pairwise([*np.unique(sends_to.first), len(member)]))
        for node in member[slice(*part)]
    }
    assert all(parts[a] == parts[b] for a, b in zip(source.tolist(), target.tolist(), strict=True))
    if pattern != "uniform":
        pairs = set(zip(source.tolist(), target.tolist(), strict=True))
        assert len(pairs) == len({b for _, b in pairs}) == len(member)
