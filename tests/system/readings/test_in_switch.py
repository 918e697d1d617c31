"""Collective operations in switches: a closed form by hand, both readings, late ranks, loads of links, both engines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign import Machine, compare, forecast, simulate
from simcodesign.core.errors import DeadlockError, InputError
from simcodesign.describe.demands.collective import IN_SWITCH
from simcodesign.describe.design_point import bind
from simcodesign.describe.network.network import Network
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import schedule_of
from simcodesign.generate.lower import make_plan, operations_at_most
from tests import THOROUGH, builders, examples, numbers_of_ranks

#: At most some hundred sums follow one another, each rounded to 1.1e-16.
ROUNDING = 1e-12
OPERATIONS = sorted(operation for operation, _ in IN_SWITCH)
RANKS = numbers_of_ranks(24) if THOROUGH else [1, 2, 3, 6, 8, 13]
SWITCH = {"switch_latency_s": 7e-7, "switch_per_byte_s": 3e-11}
FAR: dict[str, Any] = {"startup_s": 3e-6, "per_byte_s": 1e-9, "receive_overhead_s": 4e-7, "hop_latency_s": 1e-7}
NEAR: dict[str, Any] = {"startup_s": 1e-6, "per_byte_s": 2e-10, "receive_overhead_s": 2e-7}
SENDS = ["blocking", "nonblocking"]


def far_s(size: float) -> float:
    """A message between nodes, combined: startup, hop, bytes, receive overhead, latency and bytes of switches."""
    return 3e-6 + 1e-7 + size * 1e-9 + 4e-7 + 7e-7 + size * 3e-11


def near_s(size: float) -> float:
    """The same within a node."""
    return 1e-6 + size * 2e-10 + 2e-7 + 7e-7 + size * 3e-11


def workload(operation: str, size: str = "1000", more: str = "") -> Workload:
    amount = "" if operation == "barrier" else f"bytes: {size}, "
    head = "groups: {row: rank // 6, column: rank % 4}\n"
    return builders.workload(f"- {operation}: {{{amount}algorithm: in_switch{more}}}", head)


def flat(**more: Any) -> Machine:
    return builders.machine(builders.network(32, **{**FAR, **SWITCH, **more}))


def nodes_of(
    per_node: int, near: bool, far: bool, sends: str = "blocking", mapping: Any = "linear", **more: Any
) -> Machine:
    """Nodes of some ranks with a network inside, whose switches combine messages or cannot."""
    networks = [
        builders.network(count, **{**own, **(SWITCH if can else {"switch_latency_s": None}), "sends": sends, **more})
        for count, own, can in ((64, FAR, far), (per_node, NEAR, near))
    ]
    return builders.machine(networks[0], processors_per_node=per_node, node_network=networks[1], mapping=mapping)


def assert_same(work: Workload, on: Machine, ranks: int) -> float:
    closed = builders.closed_forms(work, on, {"P": ranks}, bounds=ranks < 14)
    simulated = simulate(work, on, {"P": ranks}, effects="none")
    assert simulated.makespan_s == pytest.approx(closed.makespan_s, rel=ROUNDING, abs=0), ranks
    assert (simulated.messages, simulated.message_bytes) == pytest.approx((closed.messages, closed.message_bytes))
    if closed.bounds is not None:
        least_s, most_s = closed.bounds.least_s(()), closed.bounds.upper_s
        assert least_s * (1 - 1e-9) <= simulated.makespan_s <= most_s * (1 + 1e-9)
    return simulated.makespan_s


@pytest.mark.parametrize("sends", SENDS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_one_message_and_what_switches_take(operation: str, sends: str) -> None:
    """Of n bytes, of an allgather (P - 1) n, whatever the number of ranks."""
    for ranks in RANKS:
        for size in (0.0, 1000.0, 1e6):
            sent = {"barrier": 0.0, "allgather": (ranks - 1) * size}.get(operation, size)
            time_s = assert_same(workload(operation, str(size)), flat(sends=sends), ranks)
            assert time_s == pytest.approx(far_s(sent) if ranks > 1 else 0.0, rel=ROUNDING)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_in_groups(operation: str) -> None:
    """Rows of 6, 6 and 1 ranks; columns of 4, 3, 3 and 3."""
    for group, most in (("row", 6), ("column", 4)):
        time_s = assert_same(workload(operation, more=f", group: {group}"), flat(), 13)
        sent = {"barrier": 0.0, "allgather": (most - 1) * 1000.0}.get(operation, 1000.0)
        assert time_s == pytest.approx(far_s(sent), rel=ROUNDING)


def by_hand_s(operation: str, ranks: int, nodes: int, n: float) -> float:
    """Seconds on nodes with as many ranks each: the parts within and between nodes, one after another."""
    within = near_s if ranks > 1 else lambda _: 0.0
    if nodes == 1:
        return within({"barrier": 0.0, "allgather": (ranks - 1) * n}.get(operation, n))
    return {
        "allreduce": within(n) + far_s(n / ranks) + within((ranks - 1) * n / ranks),
        "reduce_scatter": within(n) + far_s(n / ranks),
        "allgather": far_s((nodes - 1) * n) + within((ranks - 1) * nodes * n),
        "broadcast": far_s(n) + within(n),
        "reduce": within(n) + far_s(n),
        "barrier": 2 * within(0.0) + far_s(0.0),
    }[operation]


@pytest.mark.parametrize("sends", SENDS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_on_both_levels_by_hand(operation: str, sends: str) -> None:
    for per_node, nodes in ((1, 5), (4, 1), (4, 2), (3, 4), (2, 8)):
        on = nodes_of(per_node, True, True, sends)
        time_s = assert_same(workload(operation, "12000"), on, per_node * nodes)
        assert time_s == pytest.approx(by_hand_s(operation, per_node, nodes, 12000.0), rel=ROUNDING)


@pytest.mark.parametrize("sends", SENDS)
@pytest.mark.parametrize(("near", "far"), [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_number_of_ranks_on_nodes(operation: str, near: bool, far: bool, sends: str) -> None:
    """Also of nodes that have fewer ranks than others, and in groups; a level without such switches does it itself."""
    for per_node in (3, 4):
        on = nodes_of(per_node, near, far, sends, reduction_per_byte_s=None)
        for ranks in RANKS:
            for group in ("", ", group: row", ", group: column"):
                work = workload(operation, more=group)
                closed, simulated = (
                    forecast(work, on, {"P": ranks}),
                    simulate(work, on, {"P": ranks}, effects="none"),
                )
                is_bound = any("upper bound" in text for text in closed.basis)
                if is_bound:
                    assert simulated.makespan_s <= closed.makespan_s * (1 + ROUNDING)
                    assert not far
                    assert ranks % per_node or group
                else:
                    assert simulated.makespan_s == pytest.approx(closed.makespan_s, rel=ROUNDING)
                assert (simulated.messages, simulated.message_bytes) == pytest.approx(
                    (closed.messages, closed.message_bytes)
                )


@settings(max_examples=examples(40))
@given(st.data())
def test_no_rank_is_done_before_the_last_has_come(data: st.DataObject) -> None:
    """Ranks come at any times; all are done one message, and what switches take, after the last."""
    late = data.draw(st.lists(st.integers(0, 50), min_size=2, max_size=12))
    operation, sends = data.draw(st.sampled_from(OPERATIONS)), data.draw(st.sampled_from(SENDS))
    size = data.draw(st.sampled_from([0.0, 1000.0, 1e5]))
    times = " + ".join(f"{time}*(rank == {rank})" for rank, time in enumerate(late))
    amount = "" if operation == "barrier" else f"bytes: {size}, "
    work = builders.workload(
        f"- compute: {{seconds: 1e-6*({times})}}\n- {operation}: {{{amount}algorithm: in_switch}}\n"
    )
    on, ranks = flat(sends=sends), len(late)
    sent = {"barrier": 0.0, "allgather": (ranks - 1) * size}.get(operation, size)
    end_s = 1e-6 * max(late) + far_s(sent)
    result = simulate(work, on, {"P": ranks}, effects="none")
    assert result.ranks is not None
    assert result.ranks.end_s == pytest.approx(np.full(ranks, end_s), rel=ROUNDING)
    path = forecast(work, on, {"P": ranks}, longest_path=True).longest_path
    if path is not None:
        assert path.time_s == pytest.approx(end_s, rel=ROUNDING)


@pytest.mark.parametrize("ranks", [2, 5, 8, 13])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_in_loggops(operation: str, ranks: int) -> None:
    """One exchange by the rules of LogGOPSim, by hand: o + L and the hop, o and the bytes, and what switches take."""
    letters = {"latency_s": 2e-6, "overhead_s": 1e-6, "gap_s": 5e-7, "per_byte_s": 1e-9, "overhead_per_byte_s": 2e-10}
    on = builders.machine(builders.network(16, model="loggop", hop_latency_s=1e-7, **letters, **SWITCH))
    for size in (0.0, 8.0, 5000.0):
        sent = {"barrier": 0.0, "allgather": (ranks - 1) * size}.get(operation, size)
        beyond = max(sent - 1, 0)
        arrives_s = max(1e-6 + 2e-6 + 1e-7, 1e-6 + beyond * 2e-10)  # the first byte, and the processor is free
        end_s = arrives_s + 1e-6 + beyond * 1e-9 + 7e-7 + sent * 3e-11
        work = workload(operation, str(size))
        for engine in ("simpy", "compiled"):
            simulated = simulate(work, on, {"P": ranks}, effects="none", engine=engine)
            assert simulated.makespan_s == pytest.approx(end_s, rel=ROUNDING)
        assert forecast(work, on, {"P": ranks}).makespan_s == pytest.approx(end_s, rel=ROUNDING)


def fat_tree(sharing: str = "fcfs", **more: Any) -> Machine:
    topology = build_topology("fat_tree", 16, arity=4)
    return builders.machine(builders.network_of(topology, **{**FAR, **SWITCH, "sharing": sharing, **more}))


def test_links_carry_what_a_tree_of_switches_carries() -> None:
    """Each host link, and one link between a switch and the next level, once per direction: counted on the tree."""
    on, n = fat_tree(), 1e6
    result = simulate(workload("allreduce", str(n)), on, {"P": 16}, effects=["links"])
    used = {one.name: one.served for one in result.stations if one.served}
    hosts = {name: count for name, count in used.items() if "host" in name}
    others = {name: count for name, count in used.items() if "host" not in name}
    assert len(hosts) == 32
    assert set(hosts.values()) == {1}
    assert len(others) == 8  # four switches below, up and down
    assert set(others.values()) == {1}
    assert result.makespan_s == pytest.approx(far_s(n) + 3e-7, rel=0.01)  # up to four links in place of one hop


PROGRAM = """
- compute: {{seconds: 1e-6*(1 + rank % 3)}}
- {operation}: {{{amount}algorithm: in_switch}}
- phase: twice
  repeat: 2
  do:
  - {{start: {{{operation}: {{{amount}algorithm: in_switch, group: row}}}}, as: part}}
  - compute: {{seconds: 3e-6*(1 + rank % 2)}}
  - wait: part
- {operation}: {{{amount}algorithm: in_switch}}
"""


@pytest.mark.parametrize("effects", ["none", "all", ("links", "interfaces"), ("hops",)])
@pytest.mark.parametrize("kind", ["fcfs", "max_min", "loggop", "nodes"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_both_engines_agree(operation: str, kind: str, effects: Any) -> None:
    """To the last bit: also of started operations, repeated ones and groups, with links that messages share."""
    letters = {"latency_s": 2e-6, "overhead_s": 1e-6, "gap_s": 5e-7, "per_byte_s": 1e-9}
    on = {
        "fcfs": fat_tree,
        "max_min": lambda: fat_tree("max_min"),
        "loggop": lambda: builders.machine(builders.network(16, model="loggop", **letters, **SWITCH)),
        "nodes": lambda: nodes_of(4, True, True, "nonblocking"),
    }[kind]()
    amount = "" if operation == "barrier" else "bytes: 20000, "
    work = builders.workload(
        PROGRAM.format(operation=operation, amount=amount).strip() + "\n", "groups: {row: rank // 4}\n"
    )
    one, other = (simulate(work, on, {"P": 14}, effects=effects, engine=name) for name in ("simpy", "compiled"))
    assert one.makespan_s == other.makespan_s
    assert one.events == other.events
    assert one.phases == other.phases
    assert sum(sum(parts.values()) for parts in one.phases.values()) == pytest.approx(one.makespan_s, rel=1e-9)


def test_started_operations_meet_while_ranks_compute() -> None:
    """Ranks start it at times of their own, and compute meanwhile: it ends a message after the last start."""
    work = builders.workload(
        """
- compute: {seconds: 1e-6*rank}
- {start: {allreduce: {bytes: 1e5, algorithm: in_switch}}, as: part}
- compute: {seconds: 5e-5}
- wait: part
""".strip()
    )
    result = simulate(work, flat(sends="nonblocking"), {"P": 8}, effects="none")
    assert result.makespan_s == pytest.approx(max(7e-6 + far_s(1e5), 7e-6 + 5e-5), rel=ROUNDING)


def test_it_is_faster_than_a_ring_by_the_bytes_and_by_the_rounds() -> None:
    """2 (P - 1)/P times for many bytes, 2 (P - 1) for few, with switches that take no time themselves."""
    on = builders.machine(builders.network(64, startup_s=1e-6, per_byte_s=1e-9, switch_latency_s=0.0))
    for size, times in ((1e12, 2 * 31 / 32), (1e-6, 62.0)):
        ring, switch = (
            forecast(builders.workload(f"- allreduce: {{bytes: {size}, algorithm: {way}}}"), on, {"P": 32}).makespan_s
            for way in ("ring", "in_switch")
        )
        assert ring / switch == pytest.approx(times, rel=1e-3)


def test_ranks_that_do_the_same_are_simulated_once() -> None:
    work = builders.workload("- repeat: 400\n  do:\n  - allreduce: {bytes: 1000, algorithm: in_switch}\n")
    on = builders.machine(builders.network(256, **{**FAR, **SWITCH}))
    result = simulate(work, on, {"P": 256}, effects="none")
    assert any("rank" in note and "simulated" in note for note in result.notes), result.notes
    assert result.makespan_s == pytest.approx(400 * far_s(1000.0), rel=ROUNDING)


def test_the_ladder_is_empty_where_nothing_is_shared() -> None:
    comparison = compare(workload("allreduce", "1e6"), flat(), {"P": 8}, effects="none")
    assert comparison.simulation.makespan_s == pytest.approx(comparison.forecast.makespan_s, rel=ROUNDING)


def test_machines_without_such_switches() -> None:
    plain, work = builders.machine(builders.network(8, switch_latency_s=None, **FAR)), workload("allreduce")
    for read in (forecast, simulate):
        with pytest.raises(InputError, match=r"needs switches that combine.*network\.in_switch or node\.network"):
            read(work, plain, {"P": 8})
    result = forecast(work, plain.with_constants({"network.in_switch.latency": 7e-7}), {"P": 8})
    assert result.makespan_s == pytest.approx(far_s(1000.0) - 1000 * 3e-11, rel=ROUNDING)


def test_what_switches_cannot_be() -> None:
    network: Network = builders.network(8, switch_latency_s=None, **FAR)
    with pytest.raises(InputError, match=r"in_switch.bandwidth without a latency"):
        builders.machine(replace(network, switch_per_byte_s=1e-9))
    with pytest.raises(InputError, match=r"network\.in_switch\.latency"):
        builders.machine(replace(network, switch_latency_s=-1.0))


FILE = """
simcodesign: 1
name: m
nodes: 8
processors_per_node: 1
processor: {rate: 1 GFLOP/s}
network:
  topology: {kind: crossbar}
  startup: 3 us
  bandwidth: 1 GB/s
  in_switch: {SWITCH}
"""


def test_in_machine_files() -> None:
    on = builders.read_machine(FILE.replace("SWITCH", "latency: 1 us, bandwidth: 10 GB/s"))
    assert (on.network.switch_latency_s, on.network.switch_per_byte_s) == (1e-6, 1e-10)
    assert on.constants()["network.in_switch.latency"] == 1e-6
    with pytest.raises(InputError, match="'latency' is missing"):
        builders.read_machine(FILE.replace("SWITCH", "bandwidth: 10 GB/s"))


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize("model", ["hockney", "loggop"])
def test_a_meeting_that_never_happens(model: str, engine: str) -> None:
    """Rank 0 waits for a message that rank 1 sends only after they have met."""
    constants = {"model": "loggop", "latency_s": 1e-6, "overhead_s": 1e-6} if model == "loggop" else FAR
    on = builders.machine(builders.network(4, **constants, **SWITCH))
    work = builders.workload(
        """
- receive: {from: 1, when: rank == 0}
- allreduce: {bytes: 8, algorithm: in_switch}
- send: {to: 0, bytes: 8, when: rank == 1}
""".strip()
    )
    with pytest.raises(DeadlockError, match=r"rank 0 waits in receive.*rank 1 waits in wait"):
        simulate(work, on, {"P": 3}, effects="none", engine=engine)


def test_the_estimate_of_operations_holds() -> None:
    """At least as many as there are, and not those of a ring where switches do its work."""
    for per_node, near, far in ((1, True, True), (3, True, False), (3, False, True), (4, True, True)):
        on = nodes_of(per_node, near, far)
        for operation in OPERATIONS:
            for ranks in (1, 2, 3, 7, 12, 20):
                point = bind(workload(operation), on, {"P": ranks})
                assert len(make_plan(point)) <= operations_at_most(point)
    many = builders.machine(builders.network(16384, **FAR, **SWITCH))
    assert operations_at_most(bind(workload("allreduce"), many, {"P": 16384})) < 200 * 16384


def test_it_cannot_be_exported() -> None:
    with pytest.raises(InputError, match="cannot be exported"):
        schedule_of(workload("allreduce"), flat(), {"P": 4})


def test_a_machine_prefers_it_for_auto() -> None:
    """For all ranks and for groups, by the number of bytes; also where nodes share interfaces."""
    text = FILE.replace("SWITCH", "latency: 1 us").replace("processors_per_node: 1", "processors_per_node: 2")
    rules = "collectives: {allreduce: [{up_to: 1 KiB, algorithm: ring}, {algorithm: in_switch}]}\n"
    on = builders.read_machine(text + rules)
    for size, algorithm in ((1000, "ring"), (2000, "in_switch")):
        for group in ("", ", group: row"):
            auto, stated = (
                builders.workload(
                    f"- allreduce: {{bytes: {size}, algorithm: {way}{group}}}", "groups: {row: rank // 4}\n"
                )
                for way in ("auto", algorithm)
            )
            for read in (forecast, simulate):
                values = [read(one, on, {"P": 8}).makespan_s for one in (auto, stated)]
                assert values[0] == pytest.approx(values[1], rel=ROUNDING)
            assert forecast(auto, on, {"P": 8}).loaded_s is None or algorithm == "ring"
