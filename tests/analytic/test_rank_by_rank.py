"""Operations in LogGOPS whose ranks differ: forecast against the simulation without effects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.messages.message_costs import price
from simcodesign.analytic.rank_by_rank.all_broadcast import MOST_RANKS, all_broadcast_s
from simcodesign.analytic.rank_by_rank.folded_doubling import folded_doubling_s
from simcodesign.analytic.rank_by_rank.halo_exchange import halo_exchange_s
from simcodesign.analytic.rank_by_rank.queue_order import order_of_sends
from simcodesign.describe.machine import Machine
from simcodesign.engine.simulate import simulate
from tests import examples
from tests.builders import machine, network, network_with, workload
from tests.oracles.messages.loggopsim import as_std_sort

pytestmark = pytest.mark.usefixtures("quick_engine")

#: Rounding of sums of a few hundred times.
ROUNDING = 1e-12
#: Whole nanoseconds and picoseconds a byte, so that what comes at the same time in theory does so in the simulation.
TIMES_NS = st.one_of(st.sampled_from([0, 1000, 2000, 3000, 5000, 20_000]), st.integers(0, 20_000))
RATES_PS = st.one_of(st.sampled_from([0, 1000, 3000]), st.integers(0, 10_000))
SIZES = st.sampled_from([0, 1, 2, 1000, 20_000])


def loggops(
    times_ns: list[int], rates_ps: list[int], limit_bytes: float | None, reduction_ps: int | None = None
) -> Machine:
    """L, o, g; G, O; S; and what operators take."""
    latency, overhead, gap = (time / 1e9 for time in times_ns)
    each, own = (rate / 1e12 for rate in rates_ps)
    rates = {"per_byte_s": each, "overhead_per_byte_s": own, "rendezvous_above_bytes": limit_bytes}
    rates |= {"reduction_per_byte_s": None if reduction_ps is None else reduction_ps / 1e12}
    times = {"latency_s": latency, "overhead_s": overhead, "gap_s": gap}
    return machine(network(64, model="loggop", distance="none", **times, **rates))


MACHINES = st.builds(
    loggops,
    st.lists(TIMES_NS, min_size=3, max_size=3),
    st.lists(RATES_PS, min_size=2, max_size=2),
    st.sampled_from([None, 0.0, 500.0]),
    st.sampled_from([None, 1000, 2500]),
)


def assert_exact(step: str, where: Machine, ranks: int) -> None:
    """The forecast of one operation is what its simulation takes."""
    one = workload(f"- {step}")
    forecasted = forecast(one, where, {"P": ranks}).makespan_s
    assert simulate(one, where, {"P": ranks}, effects="none").makespan_s == pytest.approx(forecasted, rel=ROUNDING)


@pytest.mark.parametrize("sends", [*range(20), 33, 63, 100, 511])
def test_order_of_sends_is_that_of_std_sort(sends: int) -> None:
    kinds = [0] * sends + [1] * sends
    sorted_items = as_std_sort(list(range(2 * sends)), kinds)
    assert list(order_of_sends(sends)) == sorted_items[:sends]


@pytest.mark.thorough
@settings(max_examples=examples(1000))
@given(where=MACHINES, ranks=st.integers(1, MOST_RANKS), size=SIZES)
def test_all_broadcast(where: Machine, ranks: int, size: int) -> None:
    assert_exact(f"all_broadcast: {{bytes: {size}}}", where, ranks)


@settings(max_examples=examples(2000))
@given(where=MACHINES, ranks=st.integers(1, 63), size=SIZES)
def test_recursive_doubling(where: Machine, ranks: int, size: int) -> None:
    assert_exact(f"allreduce: {{bytes: {size}, algorithm: recursive_doubling}}", where, ranks)


@settings(max_examples=examples(2000))
@given(
    times_ns=st.lists(st.integers(0, 4), min_size=3, max_size=3),
    rates_ps=st.lists(st.sampled_from([0, 1000]), min_size=2, max_size=2),
    limit_bytes=st.sampled_from([None, 0.0]),
    reduction_ps=st.sampled_from([None, 1000]),
    ranks=st.integers(3, 63),
)
def test_recursive_doubling_where_many_come_at_the_same_time(
    times_ns: list[int], rates_ps: list[int], limit_bytes: float | None, reduction_ps: int | None, ranks: int
) -> None:
    step = "allreduce: {bytes: 2, algorithm: recursive_doubling}"
    assert_exact(step, loggops(times_ns, rates_ps, limit_bytes, reduction_ps), ranks)


@pytest.mark.parametrize("ranks", [65, 96, 127, 128])
def test_recursive_doubling_among_more_ranks(ranks: int) -> None:
    where = network(128, model="loggop", overhead_s=1e-6, latency_s=2e-6, gap_s=7e-6, distance="none")
    assert_exact("allreduce: {bytes: 8, algorithm: recursive_doubling}", machine(where), ranks)


def test_many_design_points() -> None:
    """Arrays of ranks and constants are what each point alone is."""
    where = network(64, model="loggop", overhead_s=1e-6, latency_s=1e-6, gap_s=7e-6, distance="none")
    ranks = np.array([1.0, 2.0, 3.0, 12.0, 12.0, 64.0, 65.0])
    sizes = np.array([[0.0], [1000.0]])
    message = price(where, ranks).message(sizes)
    for function in (all_broadcast_s, folded_doubling_s):
        for (row, column), time_s in np.ndenumerate(function(message, ranks)):
            alone = price(where, ranks[column]).message(sizes[row, 0])
            np.testing.assert_equal(time_s, function(alone, ranks[column]))


@st.composite
def exchanges(draw: st.DrawFn) -> tuple[str, int]:
    """Halo exchanges in YAML, of one size or one for each dimension, and their ranks."""
    most = draw(st.sampled_from([(64,), (8, 8), (4, 4, 4), (4, 4, 2, 2)]))
    grid = [draw(st.integers(1, extent)) for extent in most]
    sizes = [draw(SIZES) for _ in grid] if draw(st.booleans()) else [draw(SIZES)] * len(grid)
    counts = [draw(st.sampled_from([0, 1, 1, 2, 5])) for _ in grid] if draw(st.booleans()) else [1] * len(grid)
    periodic = draw(st.sampled_from(["true", "false", "false"]))
    what = f"pattern: halo{len(grid)}d, bytes: {sizes}, grid: {grid}, messages: {counts}, periodic: {periodic}"
    return f"exchange: {{{what}}}", int(np.prod(grid))


@settings(max_examples=examples(2000))
@given(where=MACHINES, one=exchanges(), stored=st.booleans())
def test_halo_exchange(where: Machine, one: tuple[str, int], stored: bool) -> None:
    switching = "store_and_forward" if stored else "cut_through"
    assert_exact(one[0], replace(where, network=network_with(where.network, switching=switching)), one[1])


@pytest.mark.thorough
@pytest.mark.parametrize("grid", [(4000,), (70, 60), (14, 15, 16)])
def test_halo_exchange_on_a_shortened_grid(grid: tuple[int, ...]) -> None:
    """More messages than are followed: gaps that sends of other ranks do not move, and some that they do."""
    ranks = int(np.prod(grid))
    step = f"exchange: {{pattern: halo{len(grid)}d, bytes: 8, grid: {list(grid)}, periodic: false}}"
    for latency_s, overhead_s, gap_s in ((2e-6, 1e-6, 0.0), (0.0, 1e-6, 3e-6), (1e-6, 2e-6, 3e-6)):
        times = {"latency_s": latency_s, "overhead_s": overhead_s, "gap_s": gap_s}
        assert_exact(step, machine(network(ranks, model="loggop", distance="none", **times)), ranks)


def test_a_part_of_a_message_takes_that_part_of_the_time() -> None:
    where = network(64, model="loggop", overhead_s=1e-6, latency_s=1e-6, gap_s=7e-6, distance="none")
    messages = [price(where, 8.0).message(size) for size in (8.0, 1000.0)]
    counts, grid = (np.array([1.0, 1.25, 2.0]), 1.0), (4.0, 2.0)
    time_s = halo_exchange_s(messages, counts, grid, periodic=False)
    assert time_s[1] == pytest.approx(0.75 * time_s[0] + 0.25 * time_s[2], rel=ROUNDING)
    assert time_s[0] < time_s[2]
