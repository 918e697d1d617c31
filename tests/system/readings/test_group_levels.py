"""Collectives of groups by where their members lie: the forecast is the simulation without effects, for every algorithm,
mapping and colouring; where it says that it is an upper bound, it is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.analytic.collectives.on_levels import BOUND, COPIED_ABOVE_S, FOLLOWED
from simcodesign.analytic.group_levels import patterns_of
from simcodesign.describe.demands.collective import (
    ROOTED,
    SEGMENTED,
    SIGNALS,
    SIZED_BY_RANK,
    TWO_LEVEL,
    every_algorithm,
)
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.message_models.hockney import SENDS
from simcodesign.describe.network.network import LocalMessages
from simcodesign.describe.placement import RANKS, RandomMapping
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from tests import builders, examples
from tests.builders import closed_forms

#: At most some thousand sums follow one another, each rounded to 1.1e-16.
ROUNDING = 1e-12
HOCKNEY = {"startup_s": 3e-6, "per_byte_s": 1e-9, "receive_overhead_s": 4e-7, "hop_latency_s": 1e-7}
COLOURS = (
    "",
    "rank // q",
    "rank % q",
    "floor(rank*rank/5) % q",
    "floor(sqrt(rank))",
    "where(rank % 7 == 3, -1, floor(rank / 2) % q)",
)


def mappings(per_node: int) -> st.SearchStrategy[Any]:
    """Of up to 24 ranks on 24 nodes."""
    slots = [node for node in range(24) for _ in range(per_node)]
    some_nodes = st.permutations(slots[:24]).map(tuple)
    return st.one_of(
        st.sampled_from(["linear", "round_robin"]),
        st.builds(RandomMapping, st.integers(0, 99), st.just(RANKS)),
        some_nodes,
    )


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    per_node = draw(st.sampled_from([2, 3, 4, 6]))
    local = st.builds(LocalMessages, st.sampled_from([0.0, 5e-7, 8e-6]), st.sampled_from([2e-10, 3e-9]))
    constants: dict[str, Any] = HOCKNEY | {
        "node": draw(local),
        "sends": draw(st.sampled_from(SENDS)),
        "reduction_per_byte_s": draw(st.sampled_from([None, 3e-10])),
        "packing_s": draw(st.sampled_from([None, 2e-7])),
        "packing_per_byte_s": draw(st.sampled_from([None, 3e-10])),
        "rendezvous_above_bytes": draw(st.sampled_from([None, None, 0.0, 2500.0])),
    }
    on_sockets = per_node % 2 == 0 and draw(st.booleans())
    inner: dict[str, Any] = {}
    if draw(st.booleans()):  # networks inside nodes in place of constants
        part = constants.pop("node")
        alike = {"sends": constants["sends"], "startup_s": part.startup_s, "per_byte_s": part.per_byte_s}
        more = {"receive_overhead_s": 1e-7, "hop_latency_s": 2e-7, "holds_receiver": draw(st.booleans())}
        node = builders.network(2 if on_sockets else per_node, **more, **alike)
        alike |= {"startup_s": draw(st.sampled_from([1e-7, 5e-6])), "holds_receiver": draw(st.booleans())}
        socket = builders.network(per_node // 2, **alike)
        inner = {"node_network": node} | ({"socket_network": socket} if on_sockets else {})
    elif on_sockets:
        constants |= {"socket": draw(local), "sockets_per_node": 2}
    network, mapping = builders.network(24, **constants), draw(mappings(per_node))
    return builders.machine(network, processors_per_node=per_node, mapping=mapping, **inner)


@st.composite
def collectives(draw: st.DrawFn) -> Workload:
    operation, algorithm = draw(st.sampled_from(every_algorithm()))
    colour = draw(st.sampled_from(COLOURS))
    sizes = ["1000", "3000*group_size"] if colour else ["1000"]
    sizes += ["100*(1 + rank % 3)"] if (operation, algorithm) in SIZED_BY_RANK and not colour else []
    amount = "" if operation in SIGNALS else f"bytes: {draw(st.sampled_from(sizes))}, "
    more = ", group: g" if colour else ""
    more += f", root: {draw(st.sampled_from([0, 1]))}" if operation in ROOTED and not colour else ""
    is_chain = (operation, algorithm) in SEGMENTED and algorithm == "chain"  # a tree is a bound, see below
    more += ", segment: 300" if is_chain and draw(st.booleans()) else ""
    group = f"groups: {{g: '{colour}'}}\n" if colour else ""
    head = f"parameters: {{q: {{default: {draw(st.integers(2, 5))}}}}}\n{group}"
    return builders.workload(f"- {operation}: {{{amount}{builders.algorithm_entry(operation, algorithm)}{more}}}", head)


@settings(max_examples=examples(60))
@given(machines(), collectives(), st.integers(2, 24))
def test_the_forecast_is_the_simulation_without_effects(on: Machine, work: Workload, ranks: int) -> None:
    closed = closed_forms(work, on, {"P": ranks}, bounds=True)
    simulated = simulate(work, on, {"P": ranks}, effects="none")
    assert closed.bounds is not None
    assert closed.bounds.least_s(()) * (1 - 1e-9) <= simulated.makespan_s <= closed.bounds.upper_s * (1 + 1e-9)
    sent = closed.messages, closed.message_bytes
    assert (simulated.messages, simulated.message_bytes) == pytest.approx(sent, rel=ROUNDING)
    is_bound = any(BOUND in text or COPIED_ABOVE_S in text for text in closed.basis)
    in_segments = any(demand.segment is not None for demand in work.program)
    waits = on.network.message_model.rendezvous_above_bytes is not None
    assert not is_bound or (in_segments and waits)
    if is_bound and not any(COPIED_ABOVE_S in text for text in closed.basis):
        assert simulated.makespan_s <= closed.makespan_s * (1 + ROUNDING)
    elif not (in_segments and waits):  # of three ranks an estimate, wherever they are
        assert simulated.makespan_s == pytest.approx(closed.makespan_s, rel=ROUNDING, abs=0)


def machine(per_node: int, nodes: int = 16, **more: Any) -> Machine:
    """With messages between nodes that take 4 us + m ns, and within nodes 1 us + 0.1 m ns."""
    network = builders.network(nodes, startup_s=4e-6, per_byte_s=1e-9, sends=SENDS[0], node=LocalMessages(1e-6, 1e-10))
    return builders.machine(network, processors_per_node=per_node, **more)


@pytest.mark.parametrize("ranks", [2, 5, 16])
@pytest.mark.parametrize("key", sorted(key for key in SEGMENTED if key[1] != "chain"), ids="-".join)
def test_a_tree_in_segments_is_followed(key: tuple[str, str], ranks: int) -> None:
    """On one level by its closed form, on several rank by rank; of more numbers of segments than are followed, it is
    bounded by the slowest level."""
    entry = f"bytes: m, {builders.algorithm_entry(*key)}, segment: 300"
    work = builders.workload(f"- {key[0]}: {{{entry}}}", "parameters: {m: {default: 3000}}\n")
    for per_node, is_mixed in ((4, ranks > 4), (1, False)):
        on = machine(per_node)
        closed, simulated = closed_forms(work, on, {"P": ranks}), simulate(work, on, {"P": ranks}, effects="none")
        assert any(FOLLOWED in text for text in closed.basis) == is_mixed
        assert simulated.makespan_s == pytest.approx(closed.makespan_s, rel=ROUNDING, abs=0)
        assert simulated.messages == closed.messages
        sizes = 300.0 * np.arange(1, 80)
        many = closed_forms(work, on, {"P": ranks, "m": sizes})
        assert any(BOUND in text for text in many.basis) == is_mixed
        assert closed.makespan_s <= many.makespan_s[9] * (1 + ROUNDING)
        few = closed_forms(work, on, {"P": ranks, "m": sizes[5:12]})
        assert few.makespan_s[4] == pytest.approx(closed.makespan_s, rel=ROUNDING, abs=0)


def grouped(step: str, colour: str, head: str = "") -> Workload:
    return builders.workload(step, f"{head}groups: {{g: '{colour}'}}\n")


@pytest.mark.parametrize(
    ("colour", "expected_s", "basis"),
    [
        ("rank // 4", 6 * (1e-6 + 250 * 1e-10), ""),  # within nodes: 6 rounds of a quarter
        ("rank % 4", 6 * (4e-6 + 250 * 1e-9), ""),  # one member on each node
        ("rank // 8", 14 * (4e-6 + 125 * 1e-9), FOLLOWED),  # a ring over two nodes waits for them in every round
    ],
)
def test_a_ring_by_hand(colour: str, expected_s: float, basis: str) -> None:
    """16 ranks on 4 nodes, 1,000 bytes."""
    work = grouped("- allreduce: {bytes: 1000, algorithm: ring, group: g}", colour)
    closed = closed_forms(work, machine(4), {"P": 16})
    assert closed.makespan_s == pytest.approx(expected_s, rel=ROUNDING)
    assert closed.basis == ((f"allreduce (ring) in g: {basis}",) if basis else ())


def test_rounds_on_different_levels_by_hand() -> None:
    """Recursive doubling among 16 ranks on 4 nodes: two rounds within nodes, two between."""
    work = builders.workload("- allreduce: {bytes: 1000, algorithm: recursive_doubling}")
    expected_s = 2 * (1e-6 + 1e-7) + 2 * (4e-6 + 1e-6)
    assert closed_forms(work, machine(4), {"P": 16}).makespan_s == pytest.approx(expected_s, rel=ROUNDING)


def test_tensor_parallel_groups_within_a_data_parallel_program() -> None:
    """8 accelerators of a node reduce among themselves, then each with its likes on the other nodes: both by hand."""
    head = "parameters: {tp: {default: 8}}\n"
    steps = """- allreduce: {bytes: 8e6, algorithm: ring, group: tensor}
- allreduce: {bytes: 8e5, algorithm: ring, group: data}
"""
    work = builders.workload(steps, head + "groups: {tensor: rank // tp, data: rank % tp}\n")
    closed, simulated = (
        closed_forms(work, machine(8), {"P": 64}),
        simulate(work, machine(8), {"P": 64}, effects="none"),
    )
    expected_s = 14 * (1e-6 + 1e6 * 1e-10) + 14 * (4e-6 + 1e5 * 1e-9)
    assert closed.makespan_s == pytest.approx(expected_s, rel=ROUNDING)
    assert simulated.makespan_s == pytest.approx(expected_s, rel=ROUNDING)


def test_two_levels_in_groups_by_hand() -> None:
    """Groups of 8 on two nodes each: two messages within a node, one between leaders, two within."""
    work = grouped("- allreduce: {bytes: 1000, algorithm: two_level, group: g}", "rank // 8")
    closed, simulated = (
        closed_forms(work, machine(4), {"P": 16}),
        simulate(work, machine(4), {"P": 16}, effects="none"),
    )
    assert closed.makespan_s == pytest.approx(4 * (1e-6 + 1e-7) + 4e-6 + 1e-6, rel=ROUNDING)
    assert simulated.makespan_s == pytest.approx(closed.makespan_s, rel=ROUNDING)


def test_many_points_are_those_of_single_forecasts() -> None:
    """Also where paths are counted, for many points, several P and several colours."""
    steps = """- allreduce: {bytes: n, algorithm: recursive_doubling, group: g}
- broadcast: {bytes: n, algorithm: binomial}
- allgather: {bytes: n, algorithm: ring}
"""
    work = grouped(steps, "rank // q", "parameters: {n: {default: 1}, q: {default: 6}}\n")
    on = machine(4)
    n, q, ranks = np.geomspace(1, 1e6, 3000), np.resize([3.0, 6.0, 12.0], 3000), np.resize([12, 24], 3000)
    every = closed_forms(work, on, {"P": ranks, "n": n, "q": q})
    for point in (0, 1, 2, 3, 1500, 2998, 2999):
        one = closed_forms(work, on, {"P": int(ranks[point]), "n": float(n[point]), "q": float(q[point])})
        for name in ("makespan_s", "messages", "message_bytes"):
            assert getattr(every, name)[point] == pytest.approx(getattr(one, name), rel=ROUNDING), name


def test_beyond_the_messages_that_are_followed_it_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simcodesign.analytic.rank_by_rank.alike_ranks.MOST_MESSAGES", 10)
    work = builders.workload("- allreduce: {bytes: 1234, algorithm: recursive_doubling}")
    closed = closed_forms(work, machine(3), {"P": 17})
    assert closed.makespan_s >= simulate(work, machine(3), {"P": 17}, effects="none").makespan_s
    assert closed.basis == (f"allreduce (recursive doubling): {BOUND}",)


def test_groups_that_lie_alike_are_followed_once() -> None:
    """1,000 groups of 8 over two nodes each have the messages of one."""
    on, members = machine(4, 2000), np.arange(8000).reshape(1000, 8)
    ((levels, pattern),) = patterns_of(on, 8000, members)
    assert levels == (0, 1)
    assert pattern.counts.tolist() == [1000]
    assert pattern.node.tolist() == [[0, 0, 0, 0, 4, 4, 4, 4]]


@pytest.mark.parametrize("width", [4, 6, 16])
@pytest.mark.parametrize("name", ["allreduce", "broadcast", "segments", "gather"])
def test_groups_of_programs_in_python(name: str, width: int) -> None:
    """In a node of four, in two nodes, and all ranks; a chain in segments, and from a root."""

    def program(rank: int, size: int) -> Iterator[Any]:
        group = sc.rank.group(rank // width)
        if name == "segments":
            yield group.broadcast(1e4, algorithm="chain", segment=300)
        elif name == "gather":
            yield group.gather(1000, root=1)
        else:
            yield getattr(group, name)(1e4)

    closed = closed_forms(sc.program(program), machine(4), {"P": 16})
    simulated = simulate(sc.program(program), machine(4), {"P": 16}, effects="none")
    assert simulated.makespan_s == pytest.approx(closed.makespan_s, rel=ROUNDING)


@pytest.mark.parametrize("operation", sorted(operation for operation, _ in TWO_LEVEL))
def test_two_levels_of_groups_in_loggops(operation: str) -> None:
    """Groups on full nodes, and on nodes of which they have some ranks: what is exact for all ranks is exact there."""
    letters = {"model": "loggop", "latency_s": 2e-6, "overhead_s": 1e-6, "gap_s": 5e-7, "per_byte_s": 1e-9}
    on = builders.machine(builders.network(16, **letters), processors_per_node=4)
    amount = "" if operation in SIGNALS else "bytes: 100, "
    for colour in ("rank // 8", "rank % 3"):
        work = grouped(f"- {operation}: {{{amount}algorithm: two_level, group: g}}", colour)
        closed, simulated = closed_forms(work, on, {"P": 32}), simulate(work, on, {"P": 32}, effects="none")
        assert (simulated.messages, simulated.message_bytes) == (closed.messages, closed.message_bytes)
        assert 0.5 <= simulated.makespan_s / closed.makespan_s <= 2.5  # an estimate, as for all ranks
        if operation == "broadcast" and colour == "rank // 8":
            assert simulated.makespan_s == pytest.approx(closed.makespan_s, rel=ROUNDING)
