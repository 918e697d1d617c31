"""Links that differ in both readings: times by hand, the forecast against the simulation, one engine against the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign import forecast, simulate
from simcodesign.core.errors import InputError
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.network import DISTANCES, SWITCHINGS, LocalMessages
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from simcodesign.generate.lower import make_plan
from simcodesign.generate.messages.all_stations import link_bandwidths
from simcodesign.generate.plan import LINK
from tests import examples
from tests.builders import machine, network_of, workload

US, GB = 1e-6, 1e9
#: Sums of some thousand terms, none of them negative.
ROUNDING = 1e-12
#: Every rank sends one message, and receives one.
PING = "- send: {{to: (rank + {far}) % P, bytes: {size}}}\n- receive: {{from: (rank - {far}) % P, bytes: {size}}}\n"


def hockney(topology: Topology, **more: Any) -> Machine:
    return machine(network_of(topology, startup_s=1 * US, per_byte_s=0.25e-9, **{"sends": "blocking", **more}))


def torus(**more: Any) -> Machine:
    """16 hosts: 4 GB/s and 0.1 us along columns, 1 GB/s and 0.5 us along rows."""
    return hockney(
        build_topology("torus", 16, (4, 4), bandwidth=[4 * GB, 1 * GB], latency=[0.1 * US, 0.5 * US]), **more
    )


def one(source: int, target: int, size: int = 8000) -> Workload:
    """One message."""
    return workload(
        f"- send: {{when: rank == {source}, to: {target}, bytes: {size}}}\n"
        f"- receive: {{when: rank == {target}, from: {source}, bytes: {size}}}\n"
    )


def simulated_s(work: Workload, made: Machine, effects: str = "none", **more: Any) -> float:
    """Equal in both engines."""
    times = {
        simulate(work, made, effects=effects, engine=engine, **more).makespan_s for engine in ("simpy", "compiled")
    }
    assert len(times) == 1
    return times.pop()


@pytest.mark.parametrize(
    ("target", "route_us"),  # startup, latencies, bytes over the slowest link
    [(4, 1 + 0.1 + 2), (1, 1 + 0.5 + 8), (5, 1 + 0.1 + 0.5 + 8), (8, 1 + 2 * 0.1 + 2), (10, 1 + 2 * 0.1 + 2 * 0.5 + 8)],
)
def test_a_message_takes_its_latencies_and_the_slowest_link(target: int, route_us: float) -> None:
    for effects in ("hops", "links", "interfaces,links"):
        assert simulated_s(one(0, target), torus(), effects) == pytest.approx(route_us * US, rel=ROUNDING)


@pytest.mark.parametrize(("far", "time_us"), [(4, 1 + 0.1 + 2), (1, 1 + 0.5 + 8)])
def test_a_ping_between_neighbours_is_forecast_by_the_dimension(far: int, time_us: float) -> None:
    work = workload(PING.format(far=far, size=8000))
    assert forecast(work, torus()).makespan_s == pytest.approx(time_us * US, rel=ROUNDING)
    assert simulated_s(work, torus()) == pytest.approx(time_us * US, rel=ROUNDING)


def test_a_halo_exchange_is_forecast_by_dimensions() -> None:
    work = workload("- exchange: {pattern: halo2d, bytes: [8000, 4000]}")
    expected = 2 * (1 + 0.1 + 2) + 2 * (1 + 0.5 + 4)  # the sends of a rank follow one another
    assert forecast(work, torus()).makespan_s == pytest.approx(expected * US, rel=ROUNDING)
    assert simulated_s(work, torus(), "links") == pytest.approx(expected * US, rel=ROUNDING)


def test_collectives_are_forecast_by_the_worst_link_and_the_rung_of_hops_is_the_rest() -> None:
    """Recursive doubling on 4 x 4: to distance 1 and 2 along rows, then along columns."""
    work = workload("- allreduce: {bytes: 8000}")
    assert forecast(work, torus()).makespan_s == pytest.approx(4 * 9.5 * US, rel=ROUNDING)
    assert simulated_s(work, torus(), "hops") == pytest.approx((9.5 + 10 + 3.1 + 3.2) * US, rel=ROUNDING)


def test_what_a_slow_link_adds_does_not_hold_a_sender_whom_hops_do_not_hold() -> None:
    made = torus(hops_hold_sender=False)
    result = simulate(one(0, 1), made, effects="hops", engine="simpy")
    assert result.makespan_s == pytest.approx(9.5 * US, rel=ROUNDING)
    plan = make_plan(bind(one(0, 1), made, {"P": 16}), ["hops"])
    assert plan.duration_s[0] == pytest.approx(3 * US, rel=ROUNDING)


def test_a_link_is_occupied_for_the_bytes_over_its_own_bandwidth() -> None:
    """Host 0 to 5 and host 4 to 5 at once: the second message takes the last link first (0.1 us earlier)."""
    work = workload(
        "- send: {when: 'max(rank == 0, rank == 4)', to: 5, bytes: 8000}\n"
        "- receive: {when: rank == 5, from: anyone, bytes: 8000}\n"
        "- receive: {when: rank == 5, from: anyone, bytes: 8000}\n"
    )
    assert simulated_s(work, torus(), "links") == pytest.approx((1 + 8 + 8 + 0.5) * US, rel=ROUNDING)
    plan = make_plan(bind(work, torus(), {"P": 16}), ["links"])
    links = plan.stations.kind == LINK
    assert sorted(link_bandwidths(torus(), plan.stations)[links]) == pytest.approx([1 * GB, 4 * GB], rel=ROUNDING)
    assert not link_bandwidths(torus(), plan.stations)[~links].any()


@pytest.mark.parametrize(("target", "busy_us"), [(1, 8), (4, 2)])
def test_the_bound_of_the_most_loaded_link_is_by_its_own_bandwidth(target: int, busy_us: float) -> None:
    bounds = forecast(one(0, target), torus(), bounds=True).bounds
    assert bounds.lower_s["most loaded link"] == pytest.approx(busy_us * US, rel=ROUNDING)


def test_stored_messages_are_stored_at_the_bandwidth_of_each_link() -> None:
    made = torus(switching="store_and_forward")
    for effects in ("hops", "links"):
        assert simulated_s(one(0, 5), made, effects) == pytest.approx((1 + 0.1 + 2 + 0.5 + 8) * US, rel=ROUNDING)
        assert simulated_s(one(5, 0), made, effects) == pytest.approx((1 + 0.1 + 2 + 0.5 + 8) * US, rel=ROUNDING)


def test_a_slow_link_adds_to_the_flight_of_loggops() -> None:
    """o + L + 0.1 us + 8000 bytes at 1 GB/s, the first byte of which passes within o + L at G; then o again."""
    topology = build_topology("mesh", 4, (4,), bandwidth=[1 * GB], latency=[0.1 * US])
    constants = {"latency_s": 2 * US, "overhead_s": 1 * US, "gap_s": 0.5 * US, "per_byte_s": 0.25e-9}
    made = machine(network_of(topology, model="loggop", **constants))
    expected = (1 + 2 + 0.1 + 8 + 1) * US - 0.25e-9
    for effects in ("none", "hops", "links"):
        assert simulated_s(one(0, 1), made, effects) == pytest.approx(expected, rel=ROUNDING)
    work = workload(PING.format(far=1, size=8000))
    ring = made.with_topology(build_topology("torus", 4, (4,), bandwidth=[1 * GB], latency=[0.1 * US]))
    assert forecast(work, ring).makespan_s == pytest.approx(expected, rel=ROUNDING)


def test_uplinks_of_a_tapered_tree_are_slower_by_the_factor() -> None:
    made = hockney(build_topology("fat_tree", 8, arity=2, taper=[1, 2, 4]), hop_latency_s=0.1 * US)
    for target, hops, factor in ((1, 2, 1), (2, 4, 2), (4, 6, 4)):
        expected = (1 + hops * 0.1 + 2 * factor) * US
        assert simulated_s(one(0, target), made, "links") == pytest.approx(expected, rel=ROUNDING)


def test_an_edge_of_a_graph_is_as_fast_as_it_says() -> None:
    graph = nx.path_graph(3)
    graph.edges[1, 2].update(bandwidth="500 MB/s", latency="2 us")
    made = hockney(build_topology("graph", 3, graph=graph), hop_latency_s=0.1 * US)
    for effects in ("hops", "links"):
        assert simulated_s(one(0, 1), made, effects, parameters={"P": 3}) == pytest.approx(3.1 * US, rel=ROUNDING)
        assert simulated_s(one(2, 0), made, effects, parameters={"P": 3}) == pytest.approx(19.1 * US, rel=ROUNDING)


def test_messages_within_a_node_pass_no_link() -> None:
    made = replace(torus(), processors_per_node=2)
    assert simulated_s(one(0, 1), made, "hops") == pytest.approx(3 * US, rel=ROUNDING)
    assert simulated_s(one(0, 2), made, "hops") == pytest.approx(9.5 * US, rel=ROUNDING)


def sockets(**more: Any) -> Machine:
    """4 nodes of 2 sockets of 2 processors: 0.2 us and 16 GB/s within a socket, 0.5 us and 8 GB/s between sockets."""
    local = {"node": LocalMessages(0.2 * US, 1 / (16 * GB)), "socket": LocalMessages(0.5 * US, 1 / (8 * GB))}
    crossbar = build_topology("crossbar", 4)
    network = network_of(
        crossbar,
        startup_s=1 * US,
        per_byte_s=0.25e-9,
        **local,
        sockets_per_node=2,
        hop_latency_s=0.1 * US,
        sends="blocking",
    )
    return machine(network, processors_per_node=4, **more)


@pytest.mark.parametrize(("target", "time_us"), [(1, 0.2 + 0.5), (2, 0.5 + 1), (3, 0.5 + 1), (4, 1 + 0.1 + 2)])
def test_messages_within_a_socket_and_between_sockets_have_times_of_their_own(target: int, time_us: float) -> None:
    for effects in ("none", "hops", "links,interfaces"):
        assert simulated_s(one(0, target), sockets(), effects) == pytest.approx(time_us * US, rel=ROUNDING)
    ring = workload(PING.format(far=4, size=8000))
    assert forecast(ring, sockets()).makespan_s == pytest.approx(3.1 * US, rel=ROUNDING)


def test_ranks_fill_socket_after_socket_of_their_node() -> None:
    assert sockets().socket_of(9).tolist() == [0, 0, 1, 1, 0, 0, 1, 1, 0]
    assert sockets(mapping="round_robin").socket_of(9).tolist() == [0] * 6 + [1] * 3
    assert sockets(mapping=(1, 0, 1, 1, 0, 1)).socket_of(6).tolist() == [0, 0, 0, 1, 0, 1]
    assert sockets(mapping="one_per_node").socket_of(4).tolist() == [0] * 4


@pytest.mark.parametrize(("ranks", "time_us"), [(2, 0.7), (4, 0.7 + 1.5), (8, 0.7 + 1.5 + 3.1)])
def test_rounds_of_collectives_are_forecast_by_their_pairs(ranks: int, time_us: float) -> None:
    """Within sockets 0.2 + 0.5 us, between the sockets of a node 0.5 + 1, between nodes 1 + 0.1 + 2."""
    work = workload("- allreduce: {bytes: 8000}")
    assert forecast(work, sockets(), {"P": ranks}).makespan_s == pytest.approx(time_us * US, rel=ROUNDING)
    assert simulated_s(work, sockets(), parameters={"P": ranks}) == pytest.approx(time_us * US, rel=ROUNDING)
    assert simulated_s(work, sockets(), "hops", parameters={"P": ranks}) == pytest.approx(time_us * US, rel=ROUNDING)
    every = forecast(work, sockets(), {"P": np.array([2, 4, 8])}).makespan_s
    assert every[[2, 4, 8].index(ranks)] == forecast(work, sockets(), {"P": ranks}).makespan_s


def test_many_design_points_are_those_one_by_one() -> None:
    made, sizes = torus(), np.array([8.0, 8000.0])
    head = "parameters: {size: {default: 8}, far: {default: 1}}\n"
    ping = workload(PING.format(far="far", size="size"), head)
    startups = np.array([1e-6, 3e-6])
    points = {"size": sizes[:, None], "far": np.array([1.0, 4.0, 5.0]), "P": 16}
    every = forecast(ping, made, points).makespan_s
    for row, size in enumerate(sizes):
        for column, far in enumerate((1, 4, 5)):
            assert every[row, column] == forecast(ping, made, {"size": size, "far": far, "P": 16}).makespan_s
    halo = workload("- exchange: {pattern: halo2d, bytes: size}\n", "parameters: {size: {default: 8}}\n")
    every = forecast(halo, made, {"P": np.array([4, 8, 16])[:, None], "network.startup": startups}).makespan_s
    for row, ranks in enumerate((4, 8, 16)):
        for column, startup in enumerate(startups):
            assert every[row, column] == forecast(halo, made, {"P": ranks, "network.startup": startup}).makespan_s
    with pytest.raises(InputError, match="P must be one number"):
        forecast(ping, made, {"P": np.array([4, 16])})


# ---------------------------------------------------------------------------------------------------------------------
# Random machines

SPEEDS = st.sampled_from([0.5 * GB, 1 * GB, 2.5 * GB, 4 * GB, 30 * GB])
LATENCIES = st.sampled_from([0.0, 0.1 * US, 0.3 * US, 2 * US])
OPERATIONS = [
    *(PING.format(far=far, size=size) for far in (1, 3, 4) for size in (0, 3000)),
    *(
        f"- exchange: {{pattern: halo{dims}d, bytes: 3000, periodic: {way}}}"
        for dims in (1, 2, 3)
        for way in ("true", "false")
    ),
    *(f"- allreduce: {{bytes: 3000, algorithm: {name}}}" for name in ("ring", "recursive_doubling")),
    "- all_to_all: {bytes: 3000, algorithm: linear}",
    "- broadcast: {bytes: 3000}",
    "- barrier: {}",
    "- exchange: {pattern: halo2d, bytes: 3000, messages: 4, train: 2}",
]


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    kind = draw(st.sampled_from(["mesh", "torus", "fat_tree", "taper", "graph"]))
    if kind in ("mesh", "torus"):
        shape = draw(st.sampled_from([(16,), (4, 4), (2, 8), (4, 2, 2), (16, 1)]))
        every = {
            "bandwidth": draw(st.lists(SPEEDS, min_size=len(shape), max_size=len(shape))),
            "latency": draw(st.lists(LATENCIES, min_size=len(shape), max_size=len(shape))),
        }
        return build_topology(
            kind, 16, shape, **{name: every[name] for name in draw(st.sets(st.sampled_from([*every])))}
        )
    if kind == "graph":
        graph = nx.circulant_graph(16, [1, 5])
        for edge in graph.edges:
            for name, values in (("bandwidth", SPEEDS), ("latency", LATENCIES)):
                if draw(st.booleans()):
                    graph.edges[edge][name] = draw(values)
        return build_topology("graph", 16, graph=graph)
    if kind == "taper":
        taper = draw(st.lists(st.sampled_from([1.0, 1.5, 4.0]), min_size=2, max_size=2))
        return build_topology("fat_tree", 16, arity=4, taper=taper)
    return build_topology("fat_tree", 16, arity=4, bandwidth=draw(st.lists(SPEEDS, min_size=2, max_size=2)))


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    topology = draw(topologies())
    more: dict[str, Any] = {
        "distance": draw(st.sampled_from(DISTANCES)),
        "switching": draw(st.sampled_from(SWITCHINGS)),
        **draw(
            st.sampled_from(
                [{"sends": "blocking"}, {"sends": "blocking", "hops_hold_sender": False}, {"sends": "nonblocking"}]
            )
        ),
        "startup_per": draw(st.sampled_from(["message", "hop"])),
    }
    groups = [group for group in topology.link_groups if group.links]
    if None in [group.latency_s for group in groups]:
        more["hop_latency_s"] = draw(LATENCIES)
    per_node = draw(st.sampled_from([1, 2, 4]))
    if draw(st.booleans()):
        more["node"] = LocalMessages(draw(st.sampled_from([0.0, 0.4 * US, 3 * US])), 1 / draw(SPEEDS))
        if per_node > 1 and draw(st.booleans()):
            more |= {"socket": LocalMessages(0.7 * US, 1 / draw(SPEEDS)), "sockets_per_node": 2}
    mappings: list[Any] = ["linear", "round_robin", "one_per_node"]
    mappings += [tuple(5 * rank % 16 // 2 for rank in range(16))] if per_node > 1 else []
    network = network_of(topology, startup_s=1 * US, per_byte_s=0.25e-9, **more)
    return machine(network, processors_per_node=per_node, mapping=draw(st.sampled_from(mappings)))


@pytest.mark.thorough
@settings(max_examples=examples(600, ordinary=40))
@given(machines(), st.sampled_from(OPERATIONS), st.sampled_from([8, 16]))
def test_the_forecast_of_an_operation_is_its_simulation_without_effects(made: Machine, text: str, ranks: int) -> None:
    work = workload(text)
    expected = forecast(work, made, {"P": ranks}).makespan_s
    assert simulate(work, made, {"P": ranks}, effects="none").makespan_s == pytest.approx(expected, rel=ROUNDING)


@pytest.mark.thorough
@settings(max_examples=examples(600, ordinary=40))
@given(machines(), st.sampled_from(OPERATIONS), st.sampled_from(["hops", "links", "interfaces", "links,interfaces"]))
def test_both_engines_and_the_bounds_agree(made: Machine, text: str, effects: str) -> None:
    work = workload(text)
    result = simulate(work, made, {"P": 16}, effects=effects, engine="simpy")
    assert simulate(work, made, {"P": 16}, effects=effects, engine="compiled").makespan_s == result.makespan_s
    bounds = forecast(work, made, {"P": 16}, bounds=True).bounds
    lower = bounds.lower_with(effects.split(",")).values()
    assert max(lower) * (1 - ROUNDING) <= result.makespan_s <= bounds.upper_s * (1 + ROUNDING)


@pytest.mark.thorough
@settings(max_examples=examples(600, ordinary=40))
@given(machines(), st.integers(0, 15), st.integers(1, 15), st.sampled_from([0, 1, 3000]))
def test_links_add_nothing_to_a_message_that_is_alone(made: Machine, source: int, far: int, size: int) -> None:
    work = one(source, (source + far) % 16, size)
    expected = simulate(work, made, {"P": 16}, effects="hops").makespan_s
    assert simulate(work, made, {"P": 16}, effects="links").makespan_s == pytest.approx(expected, rel=ROUNDING)


@pytest.mark.thorough
@settings(max_examples=examples(400, ordinary=25))
@given(
    st.sampled_from(["torus", "mesh", "fat_tree", "graph"]),
    st.sampled_from(OPERATIONS),
    st.sampled_from(["none", "hops", "links", "links,interfaces"]),
    st.sampled_from(DISTANCES),
    st.sampled_from(SWITCHINGS),
    st.booleans(),
)
def test_links_that_are_alike_are_links_of_the_network_to_the_last_bit(
    kind: str, text: str, effects: str, distance: str, switching: str, holds: bool
) -> None:
    bandwidth, latency, work = 7 * GB, 0.3 * US, workload(text)
    options: dict[str, Any] = {"torus": {"shape": (4, 4)}, "mesh": {"shape": (4, 4)}, "fat_tree": {"arity": 4}}.get(
        kind, {}
    )
    graph = nx.circulant_graph(16, [1, 5])
    plain = build_topology(kind, 16, **options, **({"graph": graph} if kind == "graph" else {}))
    if kind == "graph":
        graph = graph.copy()
        nx.set_edge_attributes(graph, {edge: {"bandwidth": bandwidth, "latency": latency} for edge in graph.edges})
        own = build_topology(kind, 16, graph=graph)
    else:
        own = build_topology(kind, 16, **options, bandwidth=[bandwidth] * 2, latency=[latency] * 2)
    more = {"distance": distance, "switching": switching, "hops_hold_sender": holds}
    first = hockney(plain, link_per_byte_s=1 / bandwidth, hop_latency_s=latency, **more)
    second = hockney(own, **more)
    expected, result = (simulate(work, made, {"P": 16}, effects=effects) for made in (first, second))
    assert result.makespan_s == expected.makespan_s
    assert forecast(work, first, {"P": 16}).makespan_s == forecast(work, second, {"P": 16}).makespan_s
