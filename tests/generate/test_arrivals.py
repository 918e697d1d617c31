"""Open streams of requests: read, generated, simulated on both engines; hand-made cases exactly, queues in intervals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from simcodesign.core.errors import InputError
from simcodesign.core.result import Result
from simcodesign.describe.demands.arrivals import BETWEEN, REQUESTS
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.randomness.noise import Bursts, Noise
from simcodesign.describe.topology.build import build_topology
from simcodesign.engine.simulate import schedule_of, simulate
from simcodesign.generate.lower import make_plan
from tests import builders, examples
from tests.builders import arrivals, network, network_of, workload
from tests.oracles.laws import check_laws

SERVICE_S = 0.01


def machine(nodes: int = 4, spindles: int = 1, shared_by: int = 1, **more: object) -> Machine:
    torus = network(nodes, "torus", startup_s=1e-6, per_byte_s=1e-9, hop_latency_s=1e-7)
    return builders.machine(torus, 1e9, Disk(SERVICE_S, 2 * SERVICE_S, 0.0, shared_by, spindles), **more)


def run(step: str, on: Machine | None = None, ranks: int = 1, **more: object) -> Result:
    """Both engines, which must say the same; and all laws hold."""
    on = machine() if on is None else on
    one, other = (
        simulate(arrivals(step), on, {"P": ranks}, engine=engine, **more)  # type: ignore[arg-type]
        for engine in ("simpy", "compiled")
    )
    assert one.requests is not None
    assert other.requests is not None
    for name in ("arrived_s", "left_s", "source"):
        assert np.array_equal(getattr(one.requests, name), getattr(other.requests, name), equal_nan=name == "left_s")
    assert (one.makespan_s, one.blocked, one.events) == (other.makespan_s, other.blocked, other.events)
    check_laws(one)
    return one


def left_s(result: Result) -> list[float]:
    assert result.requests is not None
    return result.requests.left_s.tolist()


# ---------------------------------------------------------------------------------------------------------------------
# By hand

REGULAR = "to: disk, between: deterministic, bytes: 0"


def test_regular_arrivals_and_services_never_meet() -> None:
    """D/D/1 with a gap of two services."""
    result = run(f"{REGULAR}, rate: 50, requests: 100")
    assert result.requests is not None
    assert result.requests.arrived_s == pytest.approx(0.02 * np.arange(1, 101))
    assert result.requests.response_s == pytest.approx(np.full(100, SERVICE_S))
    assert result.stations[0].wait_s == 0


def test_regular_arrivals_that_are_too_many_queue_up() -> None:
    """A gap of half a service: request k waits for k halves."""
    result = run(f"{REGULAR}, rate: 200, requests: 5")
    assert left_s(result) == pytest.approx([0.015, 0.025, 0.035, 0.045, 0.055])
    assert result.response_s == pytest.approx(SERVICE_S + 0.005 * 2)


def test_a_burst_of_three_finds_two_places() -> None:
    """Three ranks share a disk and arrive at once: the first is served, the second waits, the third is refused."""
    result = run(f"{REGULAR}, rate: 10, requests: 2, capacity: 2", machine(4, shared_by=4), 3)
    assert result.requests is not None
    assert result.requests.source.tolist() == [0, 1, 2, 0, 1, 2]
    assert left_s(result)[:2] == pytest.approx([0.11, 0.12])
    assert np.isnan(result.requests.left_s[2])
    assert left_s(result)[3:5] == pytest.approx([0.21, 0.22])
    assert result.blocked == 1 / 3
    assert result.stations[0].blocked == 2
    assert result.disk_bytes == 0
    assert result.response_s == pytest.approx(0.015)


def test_a_place_is_free_in_the_instant_in_which_a_service_ends() -> None:
    """Times that are exact in binary: the next one comes when the one before is done."""
    on = Machine("exact", Processor(1e9), network_of(build_topology("bus", 1)), Disk(0.25, 0.25, 0.0))
    assert run(f"{REGULAR}, rate: 4, requests: 9, capacity: 1", on).blocked == 0
    assert run(f"{REGULAR}, rate: 8, requests: 8, capacity: 1", on).blocked == 0.5


def test_all_servers_are_in_the_places() -> None:
    result = run(f"{REGULAR}, rate: 10, requests: 1, capacity: 3", machine(8, spindles=2, shared_by=8), 5)
    assert result.blocked == 2 / 5
    assert result.requests is not None
    assert result.requests.response_s == pytest.approx([0.01, 0.01, 0.02])


def test_two_streams_meet_at_a_disk() -> None:
    both = arrivals(f"{REGULAR}, rate: 10, requests: 1", f"{REGULAR}, rate: 10, requests: 1, kind: write")
    result = simulate(both, machine(), {"P": 1})
    assert result.requests is not None
    assert result.requests.response_s == pytest.approx([0.01, 0.03])


def test_requests_go_on_to_the_next_disk() -> None:
    """From rank 0 to rank 1 for certain, and out."""
    result = run(f"{REGULAR}, rate: 10, requests: 3*(rank == 0), next: [[0, 1], [0, 0]]", ranks=2)
    assert result.requests is not None
    assert result.requests.response_s == pytest.approx(np.full(3, 0.02))
    assert [station.served for station in result.stations] == [3, 3]


def test_messages_take_their_latency() -> None:
    """One hop on a torus of two by two: startup, bytes, hop; the sender does not wait for the message before."""
    step = "to: network, between: deterministic, rate: 1e6, requests: 3, bytes: 1000, destination: (rank+2)%P"
    result = run(step, ranks=4, effects="hops")
    assert result.response_s == pytest.approx(1e-6 + 1e-6 + 1e-7)
    assert result.messages == 12


def test_nobody_queues_without_the_effect() -> None:
    result = run("to: disk, rate: 1e6, requests: 50, bytes: 0, capacity: 1", effects="none")
    assert result.response_s == pytest.approx(SERVICE_S)
    assert result.blocked == 0


# ---------------------------------------------------------------------------------------------------------------------
# What is drawn


def test_arrivals_are_drawn_whatever_the_effects() -> None:
    step = "to: disk, rate: 10, requests: 50, bytes: 0, varies: exponential"
    arrived = [run(step, effects=effects).requests.arrived_s for effects in ("none", "all")]  # type: ignore[union-attr]
    assert np.array_equal(*arrived)
    assert not np.array_equal(arrived[0], run(step, seed=1).requests.arrived_s)  # type: ignore[union-attr]


def test_services_vary_under_noise_alone() -> None:
    step = "to: disk, rate: 0.01, requests: 50, bytes: 0, varies: exponential"
    without, with_noise = run(step, effects="disks").requests, run(step, effects=["disks", "noise"]).requests
    assert without is not None
    assert with_noise is not None
    assert np.ptp(without.response_s) < 1e-9
    assert np.ptp(with_noise.response_s) > SERVICE_S


def test_noise_of_the_machine_leaves_the_arrivals_alone() -> None:
    step = "to: disk, rate: 10, requests: 50, bytes: 0"
    noise = Noise(compute=Distribution("exponential"), disk=Distribution("exponential"), bursts=Bursts(0.1, 0.01))
    quiet, noisy = run(step), run(step, machine(noise=noise))
    assert quiet.requests is not None
    assert noisy.requests is not None
    assert np.array_equal(quiet.requests.arrived_s, noisy.requests.arrived_s)
    assert quiet.response_s != noisy.response_s


def test_more_requests_begin_with_the_same() -> None:
    few, many = (
        run(f"to: disk, rate: 10, requests: {count}, bytes: 0, varies: exponential", ranks=3) for count in (20, 40)
    )
    assert few.requests is not None
    assert many.requests is not None
    for rank in range(3):
        first, more = (one.requests.arrived_s[one.requests.source == rank] for one in (few, many))  # type: ignore[union-attr]
        assert np.array_equal(first, more[:20])


def test_gaps_and_destinations_have_their_distributions() -> None:
    step = "to: network, rate: 100, requests: 4000, bytes: 0"
    plan = make_plan(bind(arrivals(step), machine(8), {"P": 8}), (), 3)
    gaps = plan.duration_s[plan.phase == plan.phases.index(BETWEEN)]
    assert stats.kstest(gaps * 100, "expon").pvalue > 0.001
    sends = plan.kind == 1
    pairs = np.bincount(plan.rank[sends] * 8 + plan.peer[sends], minlength=64).reshape(8, 8)
    assert (np.diagonal(pairs) == 0).all()
    assert stats.chisquare(pairs[~np.eye(8, dtype=bool)]).pvalue > 0.001


def test_ways_have_their_shares() -> None:
    step = f"{REGULAR}, rate: 1, requests: 20000, next: [[0.1, 0.2, 0.3], [0, 0, 0.5], [0, 0.25, 0]]"
    result = simulate(arrivals(step), machine(), {"P": 3})
    shares = np.array([[0.1, 0.2, 0.3], [0, 0, 0.5], [0, 0.25, 0]])
    expected = np.linalg.solve(np.eye(3) - shares.T, np.full(3, 20000.0))
    assert [station.served for station in result.stations] == pytest.approx(expected, rel=0.03)


# ---------------------------------------------------------------------------------------------------------------------
# In intervals: batch means of a long run, which contain the truth


def batch_interval(result: Result, batches: int = 30, warm_up: int = 2000) -> tuple[float, float]:
    """The mean response and the half width of its 99.9 % interval."""
    assert result.requests is not None
    response = result.requests.response_s[warm_up:]
    means = response[: len(response) // batches * batches].reshape(batches, -1).mean(axis=1)
    half = stats.t.ppf(0.9995, batches - 1) * means.std(ddof=1) / np.sqrt(batches)
    return float(means.mean()), float(half)


def long_run(step: str, on: Machine, ranks: int = 1) -> Result:
    result = simulate(arrivals(step), on, {"P": ranks}, engine="compiled", seed=11)
    check_laws(result)
    return result


LOAD = 0.7
QUEUES = {
    "M/M/1": ("varies: exponential", 1, SERVICE_S / (1 - LOAD)),
    "M/D/1": ("kind: read", 1, SERVICE_S * (1 + LOAD / (2 * (1 - LOAD)))),
    "M/E2/1": ("varies: {distribution: erlang, stages: 2}", 1, SERVICE_S * (1 + 1.5 * LOAD / (2 * (1 - LOAD)))),
    # Erlang's C of two servers is 2 rho^2 / (1 + rho).
    "M/M/2": ("varies: exponential", 2, SERVICE_S * (1 + LOAD**2 / (1 - LOAD**2))),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", QUEUES)
def test_queues(name: str) -> None:
    law, spindles, expected = QUEUES[name]
    step = f"to: disk, rate: {LOAD * spindles / SERVICE_S}, requests: 200000, bytes: 0, {law}"
    mean, half = batch_interval(long_run(step, machine(1, spindles)))
    assert abs(mean - expected) < half < 0.1 * expected


@pytest.mark.thorough
def test_losses() -> None:
    """M/M/1/K: p_n is a geometric series up to K."""
    capacity, load = 4, 0.9
    p = load ** np.arange(capacity + 1)
    p /= p.sum()
    step = f"to: disk, rate: {load / SERVICE_S}, requests: 200000, bytes: 0, varies: exponential, capacity: {capacity}"
    result = long_run(step, machine(1))
    mean, half = batch_interval(result)
    assert abs(mean - p @ np.arange(capacity + 1) / (load / SERVICE_S * (1 - p[-1]))) < half
    assert result.blocked == pytest.approx(p[-1], abs=4 * np.sqrt(p[-1] / 200000 * 3))


def test_a_jackson_network() -> None:
    """Each disk is an M/M/1 of its own, at the rate that comes of the traffic equations: 40 and 50 per second."""
    step = "to: disk, rate: 30, requests: 100000, bytes: 0, varies: exponential, next: [[0, 0.5], [0.2, 0]]"
    mean, half = batch_interval(long_run(step, machine(2), 2))
    assert abs(mean - (40 / 60 + 50 / 50) / 60) < half


# ---------------------------------------------------------------------------------------------------------------------
# What cannot be

WRONG = {
    "to: tape, rate: 1, requests: 1, bytes: 0": "allowed: disk, network",
    "to: disk, rate: 1, requests: 1": "bytes",
    "to: disk, rate: 1, requests: 1, bytes: 0, kind: move": "read",
    "to: disk, rate: 1, requests: 1, bytes: 0, between: poison": "no such distribution",
    "to: disk, rate: 1, requests: 1, bytes: 0, destination: 0": "belongs to arrivals to the network",
    "to: network, rate: 1, requests: 1, bytes: 0, capacity: 3": "belongs to arrivals to the disk",
    "to: disk, rate: 1, requests: 1, bytes: 0, next: [[0, 1]]": "square",
    "to: disk, rate: 1, requests: 1, bytes: 0, next: [[0]], capacity: 2": "capacity or next",
    "to: disk, rate: 1, requests: 1, bytes: 0, capacity: rank": "rank",
    "to: disk, rate: nobody, requests: 1, bytes: 0": "unknown name",
}


@pytest.mark.parametrize("step", WRONG)
def test_what_cannot_be_read(step: str) -> None:
    with pytest.raises(InputError, match=r"w\.yaml:4") as caught:
        arrivals(step)
    assert WRONG[step] in str(caught.value)


IMPOSSIBLE = {
    "to: disk, rate: 0, requests: 1, bytes: 0": "rate of arrivals",
    "to: disk, rate: -1, requests: 1, bytes: 0": "negative",
    "to: disk, rate: 1, requests: 1.5, bytes: 0": "whole",
    "to: disk, rate: 1, requests: 1e25, bytes: 0": "up to 1e+10",
    "to: disk, rate: 1, requests: 0, bytes: 0": "no requests",
    "to: disk, rate: 1, requests: 1, bytes: 0, capacity: 0": "capacity of a disk",
    "to: disk, rate: 1, requests: 1, bytes: 0, next: [[0.5]]": "rows of next",
    "to: disk, rate: 1, requests: 1, bytes: 0, next: [[0.5, 0.6], [0, 0]]": "more than 1",
    "to: disk, rate: 1, requests: 1, bytes: 0, next: [[0, 1], [1, 0]]": "never leave",
    "to: network, rate: 1, requests: 1, bytes: 0, destination: rank": "not another rank",
    "to: network, rate: 1, requests: 1, bytes: 0, destination: P": "not another rank",
}


@pytest.mark.parametrize("step", IMPOSSIBLE)
def test_what_cannot_be_simulated(step: str) -> None:
    with pytest.raises(InputError) as caught:
        simulate(arrivals(step), machine(), {"P": 2})
    assert IMPOSSIBLE[step] in str(caught.value)


def test_arrivals_stand_alone() -> None:
    step = "arrivals: {to: disk, rate: 1, requests: 1, bytes: 0}"
    for program in (f"- {step}\n- compute: {{flops: 1}}", f"- do:\n    - {step}"):
        with pytest.raises(InputError, match="no other steps"):
            workload(program)
    with pytest.raises(InputError, match="imbalance"):
        workload(f"- {step}", "imbalance: 5 %\n")


def test_places_of_a_disk_are_one_number() -> None:
    steps = [f"{REGULAR}, rate: 1, requests: 1, capacity: {capacity}" for capacity in (2, 3)]
    with pytest.raises(InputError, match="the same in all"):
        simulate(arrivals(*steps), machine(), {"P": 1})


def test_what_an_open_stream_has_not(tmp_path: Path) -> None:
    one = arrivals(f"{REGULAR}, rate: 1, requests: 1")
    with pytest.raises(InputError, match="counters"):
        simulate(one, machine(), {"P": 1}, counters=True)
    with pytest.raises(InputError, match="GOAL"):
        schedule_of(one, machine(), {"P": 1})
    with pytest.raises(InputError, match="disk"):
        simulate(one, Machine("none", Processor(1e9), network_of(build_topology("bus", 2))), {"P": 1})
    with pytest.raises(InputError, match="together"):
        simulate(one, machine(), {"P": 1}, phases=[REQUESTS])
    assert simulate(one, machine(), {"P": 1}, phases=[BETWEEN, REQUESTS]).events


def test_logs_of_messages_need_hockneys_model() -> None:
    network = network_of(build_topology("bus", 2), model="loggop", latency_s=1e-6, overhead_s=1e-6)
    with pytest.raises(InputError, match="hockney"):
        simulate(
            arrivals("to: network, rate: 1, requests: 1, bytes: 0"), Machine("l", Processor(1e9), network), {"P": 2}
        )


# ---------------------------------------------------------------------------------------------------------------------
# Any of them


@st.composite
def steps(draw: st.DrawFn) -> str:
    """Loads from a few percent to three times what a disk can serve, with ties."""
    between = draw(st.sampled_from(["exponential", "deterministic", "{distribution: erlang, stages: 3}"]))
    varies = draw(st.sampled_from(["", ", varies: exponential", ", varies: {distribution: uniform, spread: 0.5}"]))
    common = f"rate: {draw(st.sampled_from([10, 50, 100, 300]))}, requests: {draw(st.integers(1, 30))}+rank"
    if draw(st.booleans()):
        return f"to: network, {common}, between: {between}, bytes: {draw(st.sampled_from([0, 1e7]))}{varies}"
    more = draw(
        st.sampled_from(
            ["", ", capacity: 1", ", capacity: 3", ", kind: write", ", next: [[0, 0.5, 0], [0, 0, 0.9], [0.2, 0, 0]]"]
        )
    )
    return f"to: disk, {common}, between: {between}, bytes: 0{varies}{more}"


@settings(max_examples=examples(60), deadline=None)
@given(step=steps(), spindles=st.integers(1, 3), shared_by=st.integers(1, 4), seed=st.integers(0, 2**32))
def test_laws_hold_for_any_stream(step: str, spindles: int, shared_by: int, seed: int) -> None:
    run(step, machine(4, spindles, shared_by), 3, seed=seed)
