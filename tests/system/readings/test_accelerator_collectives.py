"""Rings in channels and hierarchical collectives: each closed form is the simulation without effects, in Hockney's model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign import Machine, forecast, simulate
from simcodesign.describe.demands.collective import OF_ACCELERATORS
from simcodesign.describe.network.algorithm_choice import NCCL_RULES, chosen_rules
from simcodesign.describe.network.network import LocalMessages
from simcodesign.describe.workload import Workload
from tests import THOROUGH, builders, examples, numbers_of_ranks
from tests.system.readings.test_two_level import HOCKNEY, NETWORKS, ROUNDING, assert_same, machine

WAYS = sorted(OF_ACCELERATORS)
RANKS = [*numbers_of_ranks(24), 40, 64] if THOROUGH else [1, 3, 6, 8, 13]
GPU_MACHINES = ["a100-cluster", "dgx-h100-cluster", "nvl72-cluster"]


def workload(operation: str, algorithm: str, size: str = "1000", more: str = "") -> Workload:
    head = "parameters: {n: {default: 1}}\ngroups: {row: rank // 6, column: rank % 4}\n"
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


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("operation", "algorithm"), [*WAYS, ("allreduce", "nccl")])
def test_the_longest_path_has_its_messages_where_ranks_come_late(operation: str, algorithm: str, name: str) -> None:
    """Ranks begin and go on at different times; the path is the simulation without effects."""
    program = """
- compute: {{seconds: 1e-5*rank}}
- send: {{to: rank+1, bytes: 500, when: rank < P-1}}
- receive: {{from: rank-1, when: rank > 0}}
- {operation}: {{bytes: 1000, algorithm: {algorithm}}}
- compute: {{seconds: 1e-6*(P-rank)}}
- {operation}: {{bytes: 3000, algorithm: {algorithm}, group: row}}
"""
    work = builders.workload(
        program.format(operation=operation, algorithm=algorithm).strip() + "\n", "groups: {row: rank // 3}\n"
    )
    for per_node, ranks in ((2, 8), (4, 7), (4, 12)):
        on = machine(per_node, **NETWORKS[name])
        path = forecast(work, on, {"P": ranks}, longest_path=True).longest_path
        assert path is not None
        simulated = simulate(work, on, {"P": ranks}, effects="none").makespan_s
        assert path.time_s == pytest.approx(simulated, rel=ROUNDING)


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


@pytest.mark.parametrize("operation", ["allreduce", "reduce_scatter", "allgather", "all_to_all"])
def test_nccl_takes_what_its_table_says(operation: str) -> None:
    """In both readings, of all ranks and of groups, at one design point and at many."""
    tables = {
        "allreduce": lambda p, n: (
            "double_tree"
            if p > 8 and n <= (32 * 1024 if p <= 16 else (2**17 if p < 128 else 2**18) * p)
            else "ring_channels"
        ),
        "all_to_all": lambda p, n: "linear",
    }
    table, on = tables.get(operation, lambda p, n: "ring_channels"), machine(8, nodes=16, **HOCKNEY)
    sizes = np.array([1000.0, 32768.0, 40000.0, 5e6])
    for ranks, group in ((8, ""), (16, ""), (24, ""), (40, ""), (24, ", group: row"), (24, ", group: column")):
        members = {"": ranks, ", group: row": 6, ", group: column": 6}[group]
        taken = [table(members, size) for size in sizes]
        every = forecast(workload(operation, "nccl", "1000*n", group), on, {"P": ranks, "n": sizes / 1000})
        alone = [
            forecast(workload(operation, way, str(size), group), on, {"P": ranks}).makespan_s
            for way, size in zip(taken, sizes, strict=True)
        ]
        assert every.makespan_s == pytest.approx(alone, rel=1e-13)
        result = simulate(workload(operation, "nccl", "32768", group), on, {"P": ranks}, effects="none")
        assert {one.algorithm for one in result.algorithms} == {taken[1]}
        assert result.makespan_s == pytest.approx(alone[1], rel=ROUNDING)


def test_the_table_is_where_the_model_of_nccl_crosses() -> None:
    """Its formulas with its constants for 8 A100 of a node (tuning.cc): at every power of two, the faster algorithm is the
    one that the table has, but for a step of two at most."""
    for nodes in (1, 2, 4, 8, 16, 32, 64, 128):
        for power in range(8, 34):
            size = 2.0**power
            tree, ring = nccl_model_us(8 * nodes, nodes, size)
            (taken, _), *_ = chosen_rules(NCCL_RULES["allreduce"], 8.0 * nodes, size)
            if not 0.8 < tree / ring < 1.25:
                assert taken.algorithm == ("double_tree" if tree < ring else "ring_channels"), (
                    nodes,
                    power,
                    tree,
                    ring,
                )


def nccl_model_us(ranks: int, nodes: int, size: float) -> tuple[float, float]:
    """Microseconds of the fastest protocol (LL, LL128, Simple) of a tree and of a ring, for sizes at which the correction
    for trees is stated."""
    correction = (
        (1, 1, 1, 1, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1, 1),
        (1, 1, 1, 1, 1, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.5, 0.6, 0.6, 0.7, 0.7, 0.8, 0.9, 0.9, 1),
        (0.9,) * 7 + (0.8, 0.7, 0.6, 0.6) + (0.5,) * 6 + (0.6, 0.6, 0.7, 0.8, 0.9),
    )
    base = {"tree": (4.4, 4.4, 0), "ring": (3.6, 10.0, 8.4)}
    inside = {"tree": (0.52, 1.2, 28), "ring": (0.47, 1.9, 3.4)}
    between = {"tree": (5.0, 8.5, 50), "ring": (2.7, 4.0, 9.6)}
    speed, channels, step = (235.0 if nodes <= 2 else 192.0), 16, int(np.log2(size / 64))
    least = {"tree": np.inf, "ring": np.inf}
    for protocol in range(3):
        near = {way: inside[way][protocol] * (1.8 if nodes > 1 and protocol == 0 else 1) for way in inside}
        ring = (speed / 4, min(0.92 * speed, 16.7 * channels), speed)[protocol] * ranks / (2 * (ranks - 1))
        latency = (
            base["ring"][protocol] + 2 * (ranks - nodes) * near["ring"] + 2 * (nodes - 1) * between["ring"][protocol]
        )
        plateau = 1.9 if protocol == 2 and nodes > 1 and size >= ranks / 16 * 65536 else 1.0
        least["ring"] = min(least["ring"], plateau * latency + size / (1000 * ring))
        most = ((80.0, 105.0, 80.0) if nodes > 2 else (110.0, 130.0, 110.0))[protocol]
        tree = min(0.9 * speed, most)
        tree = (tree / 3.8, min(tree * (7 / 9 if nodes == 1 else 0.915), 16.7 * channels * 7 / 9), tree)[protocol]
        tree *= 0.5 * (correction[protocol][step] if step < 22 else 1)
        latency = base["tree"][protocol] + 2 * (ranks // nodes - 1) * near["tree"]
        latency += 2 * int(np.log2(nodes)) * between["tree"][protocol]
        least["tree"] = min(least["tree"], latency + size / (1000 * tree))
    return least["tree"], least["ring"]


def test_design_points_are_single_forecasts() -> None:
    ranks = np.arange(4, 14)
    for operation, algorithm in WAYS:
        every = forecast(workload(operation, algorithm), machine(4, **HOCKNEY), {"P": ranks}).makespan_s
        alone = [
            forecast(workload(operation, algorithm), machine(4, **HOCKNEY), {"P": int(p)}).makespan_s for p in ranks
        ]
        assert every == pytest.approx(alone, rel=1e-13)
