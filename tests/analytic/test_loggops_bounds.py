"""Operations in LogGOPS whose ranks differ: the forecast is a lower bound of the simulation without effects."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.demands.base import LEAST_IN_LOGGOPS
from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.messages.halo import halo
from simcodesign.analytic.messages.message_costs import price
from simcodesign.describe.machine import Machine
from simcodesign.engine.simulate import simulate
from tests import examples
from tests.builders import machine, network, network_with, workload

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


def assert_bounded(step: str, where: Machine, ranks: int, is_exact: bool = False) -> None:
    """The simulation of one operation takes as long as its forecast unless that is said to be a lower bound; then no
    less, and no more than twice as long, which is chosen by hand from what random operations showed
    (``docs/messages.md``): up to 1.46."""
    one = workload(f"- {step}")
    result = forecast(one, where, {"P": ranks})
    forecasted, is_stated = result.makespan_s, any(LEAST_IN_LOGGOPS in text for text in result.basis)
    simulated = simulate(one, where, {"P": ranks}, effects="none").makespan_s
    if is_exact or not is_stated:
        assert simulated == pytest.approx(forecasted, rel=ROUNDING)
    assert forecasted * (1 - ROUNDING) <= simulated <= 2 * forecasted * (1 + ROUNDING)


@settings(max_examples=examples(1000))
@given(where=MACHINES, ranks=st.integers(1, 40), size=SIZES)
def test_all_broadcast(where: Machine, ranks: int, size: int) -> None:
    assert_bounded(f"all_broadcast: {{bytes: {size}}}", where, ranks, ranks <= 2)


@settings(max_examples=examples(2000))
@given(where=MACHINES, ranks=st.integers(1, 63), size=SIZES)
def test_recursive_doubling(where: Machine, ranks: int, size: int) -> None:
    step = f"allreduce: {{bytes: {size}, algorithm: recursive_doubling}}"
    assert_bounded(step, where, ranks, ranks & (ranks - 1) == 0)


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
    assert_bounded(step, loggops(times_ns, rates_ps, limit_bytes, reduction_ps), ranks)


class Halo(NamedTuple):
    """An exchange in YAML, its ranks, and whether all of them do alike and send in the order in which they post."""

    step: str
    ranks: int
    is_alike: bool


@st.composite
def exchanges(draw: st.DrawFn) -> Halo:
    """Halo exchanges of one size or one for each dimension."""
    most = draw(st.sampled_from([(64,), (8, 8), (4, 4, 4), (4, 4, 2, 2)]))
    grid = [draw(st.integers(1, extent)) for extent in most]
    sizes = [draw(SIZES) for _ in grid] if draw(st.booleans()) else [draw(SIZES)] * len(grid)
    counts = [draw(st.sampled_from([0, 1, 1, 2, 5])) for _ in grid] if draw(st.booleans()) else [1] * len(grid)
    periodic = draw(st.sampled_from(["true", "false", "false"]))
    what = f"pattern: halo{len(grid)}d, bytes: {sizes}, grid: {grid}, messages: {counts}, periodic: {periodic}"
    sent = sum(2 * count for count, extent in zip(counts, grid, strict=True) if extent > 1)
    is_alike = (periodic == "true" or max(grid) <= 2) and (sent <= 8 or len(set(sizes)) == 1)
    return Halo(f"exchange: {{{what}}}", int(np.prod(grid)), is_alike)


@settings(max_examples=examples(2000))
@given(where=MACHINES, one=exchanges(), stored=st.booleans())
def test_halo_exchange(where: Machine, one: Halo, stored: bool) -> None:
    switching = "store_and_forward" if stored else "cut_through"
    changed = replace(where, network=network_with(where.network, switching=switching))
    assert_bounded(one.step, changed, one.ranks, one.is_alike)


def test_many_design_points() -> None:
    """Arrays of ranks, extents and sizes are what each point alone is."""
    where = network(64, model="loggop", overhead_s=1e-6, latency_s=1e-6, gap_s=7e-6, distance="none")
    sizes, extents = np.array([[0.0], [1000.0]]), np.array([1.0, 3.0, 12.0])
    several = halo([sizes, 8.0], [extents, 2.0], False, price(where, 2 * extents), [1.0, 1.25]).time_s
    for (row, column), time_s in np.ndenumerate(several):
        ranks = 2 * extents[column]
        alone = halo([sizes[row, 0], 8.0], [extents[column], 2.0], False, price(where, ranks), [1.0, 1.25]).time_s
        assert time_s == alone
