"""Rings in channels and hierarchical collectives: each closed form is the simulation without effects, in Hockney's model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign import Machine, forecast, simulate
from simcodesign.describe.demands.collective import OF_ACCELERATORS
from simcodesign.describe.network.network import LocalMessages
from simcodesign.describe.workload import Workload
from tests import THOROUGH, builders, examples, numbers_of_ranks
from tests.system.readings.test_two_level import HOCKNEY, NETWORKS, ROUNDING, assert_same, machine

WAYS = sorted(OF_ACCELERATORS)
RANKS = [*numbers_of_ranks(24), 40, 64] if THOROUGH else [1, 3, 6, 8, 13]
GPU_MACHINES = ["a100-cluster", "dgx-h100-cluster", "nvl72-cluster"]


def workload(operation: str, algorithm: str, size: str = "1000", more: str = "") -> Workload:
    head = "groups: {row: rank // 6, column: rank % 4}\n"
    return builders.workload(f"- {operation}: {{bytes: {size}, algorithm: {algorithm}{more}}}", head)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("per_node", [1, 2, 4, 5])
@pytest.mark.parametrize(("operation", "algorithm"), WAYS)
def test_every_number_of_ranks(operation: str, algorithm: str, per_node: int, name: str) -> None:
    """Also of nodes that have fewer ranks than others."""
    on = machine(per_node, **NETWORKS[name])
    for ranks in RANKS:
        for size in ("0", "1000"):
            assert_same(workload(operation, algorithm, size), on, ranks)


@settings(max_examples=examples(60))
@given(st.data())
def test_any_mapping_any_price_and_any_group(data: st.DataObject) -> None:
    node = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=20))
    times, rate = st.sampled_from([0.0, 1e-7, 3e-6, 1e-5]), st.sampled_from([0.0, 1e-10, 1e-8])
    constants: dict[str, Any] = {
        "startup_s": data.draw(times),
        "receive_overhead_s": data.draw(times),
        "per_byte_s": data.draw(rate),
        "hop_latency_s": data.draw(times),
        "reduction_per_byte_s": data.draw(st.none() | rate),
        "rendezvous_above_bytes": data.draw(st.sampled_from([None, 0.0, 5000.0])),
        "sends": data.draw(st.sampled_from(["blocking", "nonblocking"])),
        "node": data.draw(st.none() | st.builds(LocalMessages, times, rate)),
    }
    if constants["node"] is not None:
        socket = data.draw(st.none() | st.builds(LocalMessages, times, rate))
        constants |= {} if socket is None else {"socket": socket, "sockets_per_node": 2}
    on = builders.machine(builders.network(6, **constants), processors_per_node=20, mapping=tuple(node))
    operation, algorithm = data.draw(st.sampled_from(WAYS))
    group = data.draw(st.sampled_from(["", ", group: row", ", group: column"]))
    assert_same(workload(operation, algorithm, more=group), on, len(node))


@pytest.mark.parametrize("name", GPU_MACHINES)
@pytest.mark.parametrize(("operation", "algorithm"), WAYS)
def test_on_machines_with_an_interface_for_each_rank(operation: str, algorithm: str, name: str) -> None:
    """Levels of machines; all ranks, groups within nodes, and groups with a stride, as tensor and data parallelism."""
    on = Machine.load(name)
    for group in ("", ", group: row", ", group: column"):
        work, ranks = workload(operation, algorithm, "1e6", group), 2 * on.processors_per_node
        closed, simulated = forecast(work, on, {"P": ranks}), simulate(work, on, {"P": ranks}, effects="none")
        assert simulated.makespan_s == pytest.approx(closed.makespan_s, rel=ROUNDING)
        assert (simulated.messages, simulated.message_bytes) == pytest.approx((closed.messages, closed.message_bytes))


def test_a_ring_in_channels_by_hand() -> None:
    """16 ranks on 4 nodes of 4: 15 rounds with operators and 15 without; a message of a 64th of the bytes between nodes,
    of three 64ths within, sent one after another; the one between nodes is there last."""
    m, (far, near) = 64_000.0, (3e-6 + 1e-7, 5e-7)
    on, work = machine(4, **NETWORKS["nonblocking"]), workload("allreduce", "ring_channels", str(m))
    arrives_s, overhead_s = max(far + 1000 * 1e-9, 3e-6 + near), 4e-7
    near_s = 3e-6 + near + 3000 * 2e-10
    round_s = max(arrives_s + overhead_s, near_s) + overhead_s
    expected = 30 * round_s + 15 * m / 16 * 3e-10
    assert forecast(work, on, {"P": 16}).makespan_s == pytest.approx(expected, rel=ROUNDING)


def test_channels_use_all_interfaces_of_a_node() -> None:
    """A gigabyte among 4 nodes of 8 GPUs with 25 GB/s each: 2 x 31/32 / (8 x 25 GB/s) of it in place of one interface."""
    on, size = Machine.load("a100-cluster"), 1e9
    ring, channels = (
        simulate(workload("allreduce", way, f"{size}"), on, {"P": 32}).makespan_s for way in ("ring", "ring_channels")
    )
    least_s = 2 * 31 / 32 * size / (8 * 25e9)
    assert least_s < channels < 1.15 * least_s
    assert ring > 0.95 * 8 * least_s


@pytest.mark.parametrize(("operation", "algorithm"), WAYS)
def test_in_loggops_it_is_an_estimate(operation: str, algorithm: str) -> None:
    for ranks, per_node, size in ((8, 4, 300), (12, 4, 2000), (7, 3, 2000), (16, 4, 0)):
        letters = {"latency_s": 2e-6, "overhead_s": 1e-6, "gap_s": 1e-6, "per_byte_s": 1e-9}
        on, work = machine(per_node, model="loggop", **letters), workload(operation, algorithm, str(size))
        ratio = (
            simulate(work, on, {"P": ranks}, effects="none").makespan_s / forecast(work, on, {"P": ranks}).makespan_s
        )
        assert 0.5 <= ratio <= 2.0


def test_design_points_are_single_forecasts() -> None:
    ranks = np.arange(4, 14)
    for operation, algorithm in WAYS:
        every = forecast(workload(operation, algorithm), machine(4, **HOCKNEY), {"P": ranks}).makespan_s
        alone = [
            forecast(workload(operation, algorithm), machine(4, **HOCKNEY), {"P": int(p)}).makespan_s for p in ranks
        ]
        assert every == pytest.approx(alone, rel=1e-13)
