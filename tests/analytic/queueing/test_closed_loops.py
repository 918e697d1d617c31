"""Loops of random demands at shared disks and memories: who shares, what is waited for, and what the simulator says."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.queueing.closed_loops import is_exponential, sharing_ranks
from simcodesign.analytic.queueing.networks import mva
from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import parse
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.demands.disk_access import DiskAccess
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.memory import Memory
from simcodesign.describe.programs.program import Block, Step
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.randomness.noise import Noise
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from tests import builders
from tests.builders import network

EXPONENTIAL, FIXED = Distribution("exponential"), Distribution("deterministic")
CYCLES, THINK_S, SERVICE_S = 1000, 4.0, 1.0


def machine(nodes: int, shared_by: int = 1, spindles: int = 1, **more: object) -> Machine:
    disk = Disk(SERVICE_S, SERVICE_S, 0.0, shared_by=shared_by, spindles=spindles)
    return builders.machine(network(nodes, startup_s=1e-6, per_byte_s=1e-9), disk=disk, **more)


def think(varies: Distribution | None = EXPONENTIAL, seconds: str = "4") -> Compute:
    return Compute(None, Place(), "seconds", parse(seconds), (), varies)


def read(varies: Distribution | None = EXPONENTIAL, times: str = "1") -> DiskAccess:
    return DiskAccess(None, Place(), "read", parse("0"), parse(times), varies)


def loop(*body: Step, repeat: int = CYCLES) -> Workload:
    return Workload("test", {}, {}, (Block(parse(repeat), body, "work"),))


def finite_source(population: int, servers: int) -> float:
    """Mean cycle of M/M/c//N, from its birth-death chain."""
    weights = [1.0]
    for state in range(1, population + 1):
        weights.append(weights[-1] * (population - state + 1) / THINK_S * SERVICE_S / min(state, servers))
    busy = sum(min(state, servers) * weight for state, weight in enumerate(weights)) / math.fsum(weights)
    return population / (busy / SERVICE_S)


# Who shares a station.


@given(
    st.sampled_from(["linear", "round_robin", "one_per_node", "random", "listed"]),
    st.integers(1, 12),
    st.integers(1, 5),
    st.integers(1, 12),
    st.integers(0, 10**6),
)
def test_the_busiest_station_is_counted(mapping: str, nodes: int, each: int, shared_by: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    listed = tuple(draw.permutation(np.repeat(np.arange(nodes), each)).tolist())
    tested = machine(nodes, shared_by, processors_per_node=each, mapping=listed if mapping == "listed" else mapping)
    most = nodes if mapping == "one_per_node" else nodes * each
    ranks = np.arange(1, most + 1)
    for station, share in (("disk", shared_by), ("memory", 1)):
        expected = [max(Counter((tested.node_of(int(count)) // share).tolist()).values()) for count in ranks]
        assert sharing_ranks(tested, ranks, station) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        ((EXPONENTIAL,), True),
        ((EXPONENTIAL, FIXED), True),
        ((Distribution("gamma", {"variation": 1.0}),), True),
        ((Distribution("erlang", {"stages": 1}),), True),
        ((Distribution("weibull", {"shape": 1}),), True),
        ((Distribution("lognormal", {"variation": 1.0}),), False),
        ((Distribution("gamma", {"variation": 0.5}),), False),
        ((EXPONENTIAL, EXPONENTIAL), False),
        ((), False),
    ],
)
def test_what_is_exponential(factors: tuple[Distribution, ...], expected: bool) -> None:
    assert is_exponential(factors) == expected


# What is waited for.


@pytest.mark.parametrize("spindles", [1, 3])
def test_a_shared_disk_is_the_finite_source_queue(spindles: int) -> None:
    ranks = np.arange(1, 9)
    result = forecast(loop(think(FIXED), read()), machine(8, 8, spindles), {"P": ranks})
    expected = [CYCLES * finite_source(int(count), spindles) for count in ranks]
    assert result.makespan_s == pytest.approx(expected, rel=1e-10)
    assert result.formulas == ("exact MVA: disk",)
    assert result.components["computation"] == pytest.approx(CYCLES * THINK_S)
    assert result.components["disk"] == pytest.approx(np.array(expected) - CYCLES * THINK_S)
    assert forecast(loop(think(), read()), machine(8, 8, spindles), {"P": 8}).makespan_s == pytest.approx(expected[-1])


def test_without_queueing_demands_take_their_mean() -> None:
    result = forecast(loop(think(), read()), machine(8, 8), {"P": 8}, queueing=False)
    assert result.makespan_s == CYCLES * (THINK_S + SERVICE_S)
    assert result.formulas == ()


def test_service_times_may_be_arrays_too() -> None:
    startup = np.array([0.5, 1.0, 2.0])
    many = forecast(loop(think(), read()), machine(4, 4), {"P": np.array([[2], [4]]), "disk.read_startup": startup})
    assert many.makespan_s.shape == (2, 3)
    assert many.makespan_s[1, 1] == pytest.approx(CYCLES * finite_source(4, 1))
    for place, time in enumerate(startup):
        one = forecast(loop(think(), read()), machine(4, 4), {"P": 2, "disk.read_startup": float(time)})
        assert many.makespan_s[0, place] == pytest.approx(one.makespan_s, rel=1e-12)


@pytest.mark.parametrize(
    ("workload", "where"),
    [
        (loop(think(None), read(None)), machine(4, 4)),  # nothing varies
        (loop(think(FIXED), read(Distribution("gamma", {"variation": 0}))), machine(4, 4)),
        (loop(think(), read()), machine(4, 1)),  # nobody shares
        (loop(think()), machine(4, 4)),  # no disk is used
        (loop(think(), read(), Collective(None, Place(), "barrier", "dissemination", parse("0"))), machine(4, 4)),
        (Workload("once", {}, {}, (think(), read())), machine(4, 4)),  # no loop
        (loop(think(seconds="1 + rank"), read()), machine(4, 4)),  # ranks differ
    ],
    ids=["fixed", "still", "alone", "no disk", "messages", "once", "ranks"],
)
def test_where_no_formula_holds_it_is_the_forecast_of_the_means(workload: Workload, where: Machine) -> None:
    result, means = (forecast(workload, where, {"P": 4}, queueing=queueing) for queueing in (True, False))
    assert result.formulas == ()
    assert result.makespan_s == means.makespan_s


def test_waits_are_booked_where_they_arise_by_visits() -> None:
    """Two visits of 0.5 s and one of 1 s in the mean: all wait alike."""
    inner = (
        Block(parse("2"), (read(times="1/2"),), "short"),
        Block(parse("1"), (read(),), "long"),
    )
    result = forecast(loop(think(), *inner), machine(6, 6), {"P": 6})
    short, long = (result.phases[name]["disk"] for name in ("work/short", "work/long"))
    assert result.formulas == ("MVA with residual lives: disk",)  # two means: no product form
    assert short - CYCLES == pytest.approx(2 * (long - CYCLES))
    assert long > CYCLES
    assert result.makespan_s == pytest.approx(short + long + CYCLES * THINK_S)


def test_services_of_all_demands_are_one_mixture() -> None:
    """Services of mean 1/2 (v = 1/2) twice and of 1 (v = 2) once: E[S] = 2/3, E[S^2] = (2 x 5/16 + 5) / 3 = 15/8."""
    half, double = (Distribution("gamma", {"variation": share}) for share in (0.5, 2.0))
    workload = loop(think(), Block(parse("2"), (read(half, "1/2"),)), read(double))
    solved = mva([THINK_S, 2.0], 5, [math.inf, 1], [1.0, math.sqrt(15 / 8 / (2 / 3) ** 2 - 1)])
    assert forecast(workload, machine(5, 5), {"P": 5}).makespan_s == pytest.approx(CYCLES * solved.cycle_s)


def test_every_loop_is_a_network_of_its_own() -> None:
    one = forecast(loop(think(), read()), machine(4, 4), {"P": 4})
    block = loop(think(), read()).program[0]
    both = Workload(
        "two", {}, {}, (Block(parse("1"), (block, replace(block, repeat=parse(3 * CYCLES))), "all"), read())
    )
    assert forecast(both, machine(4, 4), {"P": 4}).makespan_s == pytest.approx(4 * one.makespan_s + SERVICE_S)


def test_noise_of_the_machine_counts_where_demands_vary() -> None:
    noisy = machine(4, 4, noise=Noise(disk=EXPONENTIAL))
    result = forecast(loop(think(), read(None)), noisy, {"P": 4})
    assert result.formulas == ("exact MVA: disk",)
    assert result.makespan_s == pytest.approx(CYCLES * finite_source(4, 1))


def test_disks_of_nodes_that_share_memory_have_no_formula() -> None:
    program = loop(think(), read(), memory())
    several = replace(machine(2, 2, processors_per_node=2), memory=Memory(0.0, 1.0 / 64))
    assert forecast(program, several, {"P": 4}).formulas == ()
    own = replace(machine(2, 1, processors_per_node=2), memory=Memory(0.0, 1.0 / 64))
    assert forecast(program, own, {"P": 4}).formulas == ("MVA with residual lives: disk, memory",)


def memory(varies: Distribution | None = EXPONENTIAL) -> MemoryAccesses:
    """One access that no cache serves: 64 bytes."""
    return MemoryAccesses(None, Place(), distances=((parse("1"), parse("1e9")),), accesses=parse("1"), varies=varies)


# Against the simulator, which draws every demand.


def simulated(workload: Workload, where: Machine, ranks: int, runs: int = 6) -> tuple[float, float]:
    """Mean time of the ranks, and its standard error, over independent runs. Ranks that are done first leave the others
    more room, and all begin at once: effects of the order of one cycle's spread in hundreds."""
    ends = []
    for seed in range(runs):
        result = simulate(workload, where, {"P": ranks}, effects=("disks", "memory", "noise"), seed=seed)
        assert result.ranks is not None
        ends.append(float(result.ranks.end_s.mean()))
    return float(np.mean(ends)), float(np.std(ends, ddof=1) / math.sqrt(runs))


@pytest.mark.parametrize(
    ("thinking", "service", "spindles", "share"),
    [
        (EXPONENTIAL, EXPONENTIAL, 1, 0.02),
        (FIXED, EXPONENTIAL, 1, 0.02),  # of a delay only the mean counts
        (EXPONENTIAL, EXPONENTIAL, 2, 0.02),
        (EXPONENTIAL, FIXED, 1, 0.06),  # the approximation is furthest off where the disk becomes the bottleneck
        (EXPONENTIAL, Distribution("uniform", {"spread": 1.0}), 1, 0.03),
        (EXPONENTIAL, Distribution("erlang", {"stages": 4}), 2, 0.03),
    ],
    ids=lambda it: getattr(it, "text", str(it)),
)
@pytest.mark.parametrize("ranks", [3, pytest.param(6, marks=pytest.mark.thorough)])
def test_the_simulator_agrees(
    thinking: Distribution, service: Distribution, spindles: int, share: float, ranks: int
) -> None:
    """Within ``share`` and 4 standard errors; exact formulas need the share for the end of the run alone."""
    workload, where = loop(think(thinking), read(service)), machine(6, 6, spindles)
    result, error = simulated(workload, where, ranks)
    forecasted = float(forecast(workload, where, {"P": ranks}).makespan_s)
    assert abs(forecasted - result) < share * result + 4 * error
    assert error < 0.015 * result


@pytest.mark.thorough
def test_the_simulator_agrees_about_memory() -> None:
    where = replace(machine(1, 1, processors_per_node=4), memory=Memory(0.0, SERVICE_S / 64))
    workload = loop(think(), memory(), repeat=200)
    result, error = simulated(workload, where, 4, 4)
    forecasted = forecast(workload, where, {"P": 4})
    assert forecasted.formulas == ("MVA with residual lives: memory",)
    assert abs(float(forecasted.makespan_s) - result) < 0.06 * result + 4 * error
    assert float(forecasted.components["memory"]) > 200 * SERVICE_S
