"""Operations in LogGOPS whose ranks differ: forecast against the simulation without effects."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.message_costs import price
from simcodesign.analytic.rank_by_rank.all_broadcast import MOST_RANKS, all_broadcast_s
from simcodesign.analytic.rank_by_rank.queue_order import order_of_sends
from simcodesign.describe.machine import Machine
from simcodesign.engine.simulate import simulate
from tests import examples
from tests.builders import machine, network, workload
from tests.oracles.loggopsim import as_std_sort

#: Rounding of sums of a few hundred times.
ROUNDING = 1e-12
#: Times that come together, and any others.
TIMES_US = st.one_of(st.sampled_from([0.0, 1.0, 2.0, 3.0, 5.0, 20.0]), st.floats(0.001, 20.0))
RATES_NS = st.one_of(st.sampled_from([0.0, 1.0, 3.0]), st.floats(0.01, 10.0))
SIZES = st.sampled_from([0, 1, 2, 1000, 20_000])


def loggops(times_us: list[float], rates_ns: list[float], limit_bytes: float | None) -> Machine:
    """L, o, g; G, O; S."""
    latency, overhead, gap = (time * 1e-6 for time in times_us)
    each, own = (rate * 1e-9 for rate in rates_ns)
    rates = {"per_byte_s": each, "overhead_per_byte_s": own, "rendezvous_above_bytes": limit_bytes}
    times = {"latency_s": latency, "overhead_s": overhead, "gap_s": gap}
    return machine(network(64, model="loggop", distance="none", **times, **rates))


MACHINES = st.builds(
    loggops,
    st.lists(TIMES_US, min_size=3, max_size=3),
    st.lists(RATES_NS, min_size=2, max_size=2),
    st.sampled_from([None, 0.0, 500.0]),
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


@settings(max_examples=examples(1000))
@given(where=MACHINES, ranks=st.integers(1, MOST_RANKS), size=SIZES)
def test_all_broadcast(where: Machine, ranks: int, size: int) -> None:
    assert_exact(f"all_broadcast: {{bytes: {size}}}", where, ranks)


def test_all_broadcast_at_many_design_points() -> None:
    """Arrays of ranks and constants are what each point alone is."""
    where = network(64, model="loggop", overhead_s=1e-6, latency_s=1e-6, gap_s=7e-6, distance="none")
    ranks = np.array([1.0, 2.0, 3.0, 12.0, 12.0, 64.0, 65.0])
    sizes = np.array([[0.0], [1000.0]])
    message = price(where, ranks).message(sizes)
    every = all_broadcast_s(message, ranks)
    for (row, column), time_s in np.ndenumerate(every):
        alone = price(where, ranks[column]).message(sizes[row, 0])
        assert time_s == all_broadcast_s(alone, ranks[column])
