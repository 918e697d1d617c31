"""Halo exchanges of all ranks and of groups by where neighbours lie: the forecast is the simulation without effects, for
every grid, mapping and colouring; where it says that it is an upper bound, it is one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.collectives.on_levels import AT_SLOWEST, BOUND, FOLLOWED
from simcodesign.analytic.demands.exchange import HELD, HELD_BOUND
from simcodesign.analytic.demands.wavefront import BOUND as WAVEFRONT_BOUND
from simcodesign.analytic.headline import SUM
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.network import LocalMessages
from simcodesign.describe.placement import RANKS, RandomMapping
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from tests import builders, examples
from tests.builders import closed_forms
from tests.system.readings.test_group_levels import COLOURS, ROUNDING, machines, mappings
from tests.system.readings.test_links_that_differ import machines as machines_with_links

FAR_S, NEAR_S = 4e-6 + 1000 * 1e-9, 1e-6 + 1000 * 1e-10


@st.composite
def exchanges(draw: st.DrawFn) -> Workload:
    dims, colour = draw(st.integers(1, 3)), draw(st.sampled_from(COLOURS))
    of_size = ["100*group_size"] if colour else []
    sizes = [draw(st.sampled_from(["0", "100", "1000", "5000", *of_size])) for _ in range(dims)]
    messages = [draw(st.sampled_from([0, 1, 1, 2, 3])) for _ in range(dims)]
    more = f", periodic: {draw(st.sampled_from(['true', 'false']))}" + (", group: g" if colour else "")
    more += f", train: {draw(st.sampled_from([1, 1, 2]))}"
    group = f"groups: {{g: '{colour}'}}\n" if colour else ""
    head = f"parameters: {{q: {{default: {draw(st.integers(2, 5))}}}}}\n{group}"
    step = f"pattern: halo{dims}d, bytes: [{', '.join(sizes)}], messages: {messages}{more}"
    return builders.workload(f"- exchange: {{{step}}}", head)


@st.composite
def machines_of_loggops(draw: st.DrawFn) -> Machine:
    times: dict[str, Any] = {
        "model": "loggop",
        "latency_s": 2e-6,
        "overhead_s": 5e-7,
        "gap_s": 1e-7,
        "per_byte_s": 1e-9,
    }
    inner = times | {
        "latency_s": draw(st.sampled_from([1e-7, 5e-6])),
        "overhead_s": draw(st.sampled_from([5e-7, 1e-7, 2e-6])),
        "per_byte_s": draw(st.sampled_from([1e-10, 3e-9])),
    }
    node = builders.network(4, **inner)
    outer = builders.network(24, **times)
    return builders.machine(outer, processors_per_node=4, mapping=draw(mappings(4)), node_network=node)


def both_s(on: Machine, work: Workload, ranks: int) -> tuple[float, float, tuple[str, ...]]:
    closed = closed_forms(work, on, {"P": ranks}, bounds=True)
    simulated = simulate(work, on, {"P": ranks}, effects="none")
    assert closed.bounds is not None
    assert closed.bounds.least_s(()) * (1 - 1e-9) <= simulated.makespan_s <= closed.bounds.upper_s * (1 + 1e-9)
    sent = closed.messages, closed.message_bytes
    assert (simulated.messages, simulated.message_bytes) == pytest.approx(sent, rel=ROUNDING)
    basis = tuple(text for text in closed.basis if not text.startswith(SUM))
    return float(closed.makespan_s), float(simulated.makespan_s), basis


@settings(max_examples=examples(100))
@given(machines(), exchanges(), st.integers(2, 24))
def test_the_forecast_is_the_simulation_without_effects(on: Machine, work: Workload, ranks: int) -> None:
    closed_s, simulated_s, basis = both_s(on, work, ranks)
    assert not any("upper bound" in text for text in basis)
    assert simulated_s == pytest.approx(closed_s, rel=ROUNDING, abs=0)


@settings(max_examples=examples(40))
@given(machines_with_links(), exchanges(), st.integers(2, 16))
def test_groups_over_links_that_differ(on: Machine, work: Workload, ranks: int) -> None:
    """Messages along a dimension are priced alike there, as the slowest of them; those of groups as the slowest of any
    ranks."""
    closed_s, simulated_s, basis = both_s(on, work, ranks)
    if any(text.endswith((BOUND, AT_SLOWEST)) for text in basis):
        assert simulated_s <= closed_s * (1 + ROUNDING)
    else:
        assert simulated_s == pytest.approx(closed_s, rel=ROUNDING, abs=0)


@settings(max_examples=examples(40))
@given(machines_of_loggops(), exchanges(), st.integers(2, 24))
def test_loggops(on: Machine, work: Workload, ranks: int) -> None:
    """Where ranks differ it is a lower bound, of which the simulation takes at most twice as long, chosen by hand."""
    closed_s, simulated_s, _ = both_s(on, work, ranks)
    assert closed_s * (1 - ROUNDING) <= simulated_s <= 2 * closed_s


@st.composite
def wavefronts(draw: st.DrawFn) -> tuple[Workload, int]:
    colour = draw(st.sampled_from(["", "rank // 4", "rank % 3"]))
    of, more = ("group_size", ", group: g") if colour else ("P", "")
    grid = draw(st.sampled_from([f"['{of}', 1]", f"[1, '{of}']", *([] if colour else ["['P/2', 2]", "[3, 'P/3']"])]))
    inside = f"grid: {grid}, planes: {draw(st.integers(1, 4))}, bytes: [800, 3000]{more}"
    corners = draw(st.sampled_from(["1", "4", "[[0, 1], [1, 0]]"]))
    work = draw(st.sampled_from(["", ", compute: {seconds: 2e-6}"]))
    head = f"groups: {{g: '{colour}'}}\n" if colour else ""
    ranks = draw(st.sampled_from([12, 24]))
    return builders.workload(f"- wavefront: {{{inside}, corners: {corners}{work}}}", head), ranks


@settings(max_examples=examples(60))
@given(machines(), wavefronts())
def test_wavefronts_are_bounded(on: Machine, given_case: tuple[Workload, int]) -> None:
    """Where all ranks are on one level, they are exact, unless senders wait or receivers are held."""
    work, ranks = given_case
    closed_s, simulated_s, basis = both_s(on, work, ranks)
    if basis and basis[0].endswith(WAVEFRONT_BOUND):
        assert simulated_s <= closed_s * (1 + ROUNDING)
    elif not basis and on.network.message_model.rendezvous_above_bytes is None:
        assert simulated_s == pytest.approx(closed_s, rel=ROUNDING, abs=0)


def test_a_wavefront_states_its_bound() -> None:
    """Of 8 ranks in a row, each block takes the next rank as long as a message between nodes, or within one."""
    work = builders.workload("- wavefront: {grid: [8, 1], planes: 1, bytes: [1000, 1000]}")
    closed_s, simulated_s, basis = both_s(machine(), work, 8)
    assert simulated_s == pytest.approx(6 * NEAR_S + FAR_S, rel=ROUNDING)
    assert closed_s == pytest.approx(7 * FAR_S, rel=ROUNDING)
    assert basis == (f"wavefront: {WAVEFRONT_BOUND}",)
    assert not both_s(machine(), builders.workload("- wavefront: {grid: [4, 1], planes: 1, bytes: [9, 9]}"), 4)[2]


@pytest.mark.parametrize("mapping", ["round_robin", RandomMapping(1, RANKS)])
def test_slow_sockets_count_wherever_a_node_has_ranks_on_both(mapping: Any) -> None:
    """Also where rank 1 is not on the node of rank 0."""
    parts: dict[str, Any] = {
        "node": LocalMessages(0.0, 2e-10),
        "socket": LocalMessages(8e-6, 2e-10),
        "sockets_per_node": 2,
    }
    network = builders.network(4, startup_s=3e-6, per_byte_s=1e-9, **parts)
    on = builders.machine(network, processors_per_node=4, mapping=mapping)
    work = builders.workload("- wavefront: {grid: ['P/2', 2], planes: 1, bytes: [800, 3000], corners: 4}")
    closed_s, simulated_s, basis = both_s(on, work, 12)
    assert basis == (f"wavefront: {WAVEFRONT_BOUND}",)
    assert simulated_s <= closed_s


def machine(receive_s: float = 0.0, inside_s: float = 0.0, **more: Any) -> Machine:
    """Of 4 ranks on a node. Messages between nodes take 4 us + m ns, within nodes 1 us + 0.1 m ns."""
    node = builders.network(4, startup_s=1e-6, per_byte_s=1e-10, receive_overhead_s=inside_s, **more)
    outer = builders.network(64, startup_s=4e-6, per_byte_s=1e-9, receive_overhead_s=receive_s)
    return builders.machine(outer, processors_per_node=4, node_network=node)


def rows(colour: str = "", size: str = "1000", periodic: bool = False) -> Workload:
    more = f", periodic: {str(periodic).lower()}" + (", group: g" if colour else "")
    group = f"groups: {{g: '{colour}'}}\n" if colour else ""
    return builders.workload(f"- exchange: {{pattern: halo1d, bytes: {size}{more}}}", group)


@pytest.mark.parametrize(
    ("colour", "expected_s"),
    [
        ("rank // 4", 2 * NEAR_S),  # every group within a node
        ("rank % 4", 2 * FAR_S),  # one member on each node
        ("rank // 8", NEAR_S + FAR_S),  # a ring over two nodes: each rank at an end of a node has one neighbour on it
        ("where(rank < 4, 0, 1)", NEAR_S + FAR_S),  # one group within a node and one over three
    ],
)
def test_rings_by_hand(colour: str, expected_s: float) -> None:
    """Two sends of 1,000 bytes, one after another; all messages are there when they are done."""
    both = both_s(machine(), rows(colour, periodic=True), 16)
    basis = (f"exchange (halo1d) in g: {FOLLOWED}",)
    assert both[:2] == pytest.approx((expected_s, expected_s), rel=ROUNDING)
    assert both[2] == basis


@pytest.mark.parametrize(
    ("ranks", "expected_s", "basis"),
    [
        (2, NEAR_S + 1e-7, ()),  # each sends one message and takes up one, which were sent at the same time
        (4, 2 * NEAR_S + 2e-7, ()),  # an inner rank takes up two on its node
        # a rank at the end of a node: one to and from the other node, and one on its own
        (8, NEAR_S + FAR_S + 4e-7 + 1e-7, (f"exchange (halo1d): {FOLLOWED}",)),
    ],
)
def test_receives_of_a_row_by_hand(ranks: int, expected_s: float, basis: tuple[str, ...]) -> None:
    closed_s, simulated_s, found = both_s(machine(4e-7, 1e-7), rows(), ranks)
    assert (closed_s, simulated_s) == pytest.approx((expected_s, expected_s), rel=ROUNDING)
    assert found == basis


def test_a_row_that_holds_its_receivers_by_hand() -> None:
    """In groups on a node: of 4 ranks an inner one is held for two messages that it sends and two that it takes up."""
    closed_s, simulated_s, basis = both_s(machine(holds_receiver=True), rows("rank // 4"), 16)
    assert (closed_s, simulated_s) == pytest.approx((4 * NEAR_S, 4 * NEAR_S), rel=ROUNDING)
    assert basis == (f"exchange (halo1d) in g: {HELD}",)


@pytest.mark.parametrize("inside", ["  node: {%s}", "node: {network: {topology: {kind: crossbar}, %s}}"])
@pytest.mark.parametrize("colour", ["rank // 6", "rank % 3", "where(rank < 4, 0, 1)"])
def test_groups_whose_messages_have_several_segments(inside: str, colour: str) -> None:
    """Groups of different sizes send 600 to 2,400 bytes; up to 1 kB the startup is longer."""
    segments = "[{up_to: 1 kB, startup: 5 us, bandwidth: 1 GB/s}, {startup: 1 us, bandwidth: 10 GB/s}]"
    text = "simcodesign: 1\nname: m\nnodes: 16\nprocessors_per_node: 4\nprocessor: {rate: 1 GFLOP/s}\nnetwork:\n"
    text += (
        f"  topology: {{kind: crossbar}}\n  segments: {segments}\n{inside % 'startup: 0.5 us, bandwidth: 20 GB/s'}\n"
    )
    closed_s, simulated_s, _ = both_s(builders.read_machine(text), rows(colour, "200*group_size"), 16)
    assert simulated_s == pytest.approx(closed_s, rel=ROUNDING, abs=0)


def test_many_points_are_those_of_single_forecasts() -> None:
    head = "parameters: {n: {default: 1}, q: {default: 6}, k: {default: 1}}\n"
    work = builders.workload(
        "- exchange: {pattern: halo2d, bytes: [n, 2*n], messages: [1, k], group: g}",
        head + "groups: {g: 'rank // q'}\n",
    )
    several: dict[str, list[Any]] = {"P": [12, 24], "q": [3.0, 6.0, 12.0], "k": [0.0, 1.0, 1.5, 2.0, 3.0]}
    values = {name: np.resize(value, 300) for name, value in several.items()} | {"n": np.geomspace(1, 1e6, 300)}
    every = np.asarray(closed_forms(work, machine(4e-7, 1e-7), values).makespan_s)
    for point in (*range(31), 299):
        one = closed_forms(work, machine(4e-7, 1e-7), {name: value[point].item() for name, value in values.items()})
        assert every[point] == pytest.approx(one.makespan_s, rel=ROUNDING, abs=0)


@pytest.mark.parametrize(("holds", "text"), [(False, BOUND), (True, HELD_BOUND)])
def test_beyond_the_messages_that_are_followed_it_is_a_bound(
    monkeypatch: pytest.MonkeyPatch, holds: bool, text: str
) -> None:
    monkeypatch.setattr("simcodesign.analytic.rank_by_rank.halo_on_levels.MOST_MESSAGES", 10)
    closed_s, simulated_s, basis = both_s(machine(4e-7, 1e-7, holds_receiver=holds), rows("rank // 8"), 16)
    assert basis == (f"exchange (halo1d) in g: {text}",)
    assert simulated_s < closed_s


def test_beyond_the_ranks_that_are_looked_at_it_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simcodesign.analytic.demands.exchange.MOST_RANKS", 10)
    closed_s, simulated_s, basis = both_s(machine(), rows("rank // 4"), 16)
    assert basis == (f"exchange (halo1d) in g: {BOUND}",)
    assert simulated_s < closed_s


def test_several_points_of_ranks_that_differ_have_the_times_of_each() -> None:
    """A computation that depends on the rank evaluates each point rank by rank."""
    program = "- exchange: {pattern: halo1d, bytes: 1000*n}\n- compute: {flops: 1000*rank}\n"
    load = builders.workload(program, "parameters: {n: {default: 1}}\n")
    on = builders.machine(
        builders.network(4, startup_s=4e-6, per_byte_s=1e-9),
        processors_per_node=4,
        node_network=builders.network(4, startup_s=1e-6, per_byte_s=1e-10),
    )
    several = closed_forms(load, on, {"P": 8, "n": np.array([1, 2, 3])})
    alone = [closed_forms(load, on, {"P": 8, "n": one}).makespan_s for one in (1, 2, 3)]
    assert several.makespan_s == pytest.approx(alone, rel=ROUNDING)
