"""Uniform random traffic: link loads by counting routes, empty networks by the simulator, waits by hand and by events."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.queueing.station import mg1
from simcodesign.analytic.queueing.uniform_traffic import saturation_per_s, uniform_latency, uniform_traffic
from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import parse
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.network.interfaces import Interfaces
from simcodesign.describe.network.message_models.loggops import LogGOPS
from simcodesign.describe.network.network import Network
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.topology.grid import MeshTopology, TorusTopology
from simcodesign.describe.topology.hypercube import HypercubeTopology
from simcodesign.describe.topology.one_hop import BusTopology, CrossbarTopology
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from tests import examples
from tests.builders import network_of, network_with


def grid(kind: type[MeshTopology] | type[TorusTopology], *shape: int) -> Topology:
    return kind(math.prod(shape), shape)


TOPOLOGIES = [
    grid(MeshTopology, 7),
    grid(MeshTopology, 3, 4),
    grid(MeshTopology, 2, 3, 4),
    grid(MeshTopology, 5, 1, 2),
    grid(TorusTopology, 2),
    grid(TorusTopology, 3),
    grid(TorusTopology, 4),
    grid(TorusTopology, 6),
    grid(TorusTopology, 9),
    grid(TorusTopology, 10),
    grid(TorusTopology, 6, 4),
    grid(TorusTopology, 3, 4, 2),
    HypercubeTopology(2),
    HypercubeTopology(32),
    BusTopology(5),
    CrossbarTopology(6),
    build_topology("fat_tree", 8, arity=2),
    build_topology("tree", 9),
]


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=lambda it: f"{it.kind} {getattr(it, 'shape', it.node_count)}")
@pytest.mark.parametrize("doors", [False, True])
def test_loads_are_those_of_all_routes(topology: Topology, doors: bool) -> None:
    """Route by route in plain Python: pairs over each link, those over each two in a row, and the last links."""
    hosts = topology.node_count
    over: Counter[int] = Counter()
    turns: Counter[tuple[int, int]] = Counter()
    last: Counter[tuple[int, int]] = Counter()
    lengths = []
    for source, target in itertools.permutations(range(hosts), 2):
        way = topology.route(source, target).tolist()
        lengths.append(len(way))
        over.update(way)
        turns.update(itertools.pairwise([-1 - source, *way] if doors else way))
        last[target, way[-1]] += 1
    merged: Counter[int] = Counter()
    for (_, link), count in turns.items():
        merged[link] += (count / over[link]) ** 2
    traffic = uniform_traffic(topology, doors)
    assert traffic.mean_hops == pytest.approx(np.mean(lengths))
    assert traffic.direct == pytest.approx(lengths.count(1) / len(lengths))
    assert traffic.arriving == pytest.approx(sum((n / (hosts - 1)) ** 2 for n in last.values()) / hosts)
    kinds = Counter(over.values())
    assert traffic.load * (hosts - 1) == pytest.approx(sorted(kinds))
    assert traffic.links == pytest.approx([kinds[pairs] for pairs in sorted(kinds)])
    for place, pairs in enumerate(sorted(kinds)):
        squares = [merged[link] for link, count in over.items() if count == pairs]
        assert traffic.merged[place] == pytest.approx(np.mean(squares))
        assert traffic.merged_square[place] == pytest.approx(np.mean(np.square(squares)))
    assert traffic.load @ traffic.links == pytest.approx(hosts * traffic.mean_hops)


def test_the_bisection_bounds_the_saturation() -> None:
    """A 16 x 16 mesh, 8-ary: half of the messages of 256 hosts cross the middle, half of them each way, on 16 links."""
    traffic = uniform_traffic(grid(MeshTopology, 16, 16))
    assert traffic.highest_load == pytest.approx(256 / 4 / 16 * 256 / 255)
    assert uniform_traffic(HypercubeTopology(1024)).load == pytest.approx(1024 / 2 / 1023)


def test_a_million_hosts() -> None:
    traffic = uniform_traffic(grid(TorusTopology, 100, 100, 100))
    assert traffic.highest_load == pytest.approx(100 / 8, rel=1e-5)
    assert traffic.load @ traffic.links / 10**6 == pytest.approx(traffic.mean_hops)


# An empty network.


def alone_s(network: Network, size: float, effects: tuple[str, ...]) -> float:
    """The mean over all pairs of what the simulator says of a message alone; receives take no time."""
    machine = Machine("test", Processor(1.0), network)
    hosts, times = network.topology.node_count, []
    for source, target in itertools.permutations(range(hosts), 2):
        program = (
            Send(parse(f"rank == {source}"), Place(), parse(target), parse(size)),
            Receive(parse(f"rank == {target}"), Place(), parse(source), None),
        )
        result = simulate(Workload("one", {}, {}, program), machine, {"P": hosts}, effects=effects, engine="simpy")
        assert result.ranks is not None
        times.append(result.ranks.end_s[target])
    return float(np.mean(times))


HOCKNEY = network_of(
    BusTopology(2),
    startup_s=3.0,
    per_byte_s=1.0,
    hop_latency_s=0.25,
    link_per_byte_s=0.5,
    interfaces=Interfaces(per_byte_s=0.75),
    sends="blocking",
)
LOGGOP = network_of(
    BusTopology(2),
    model="loggop",
    per_byte_s=1.0,
    hop_latency_s=0.25,
    latency_s=2.0,
    overhead_s=1.0,
    gap_s=1.5,
    overhead_per_byte_s=0.125,
    link_per_byte_s=0.5,
)
SLOW_LINKS = replace(HOCKNEY, link_per_byte_s=1.0)
SLOW_DOORS = network_with(HOCKNEY, link_per_byte_s=0.25, interfaces=Interfaces(per_byte_s=1.0), startup_per="hop")
PACKETS = network_with(SLOW_LINKS, sharing="round_robin", packet_bytes=3.0)


@pytest.mark.parametrize(
    "network",
    [HOCKNEY, LOGGOP, SLOW_LINKS, SLOW_DOORS, PACKETS],
    ids=["hockney", "loggop", "link", "door", "packets"],
)
@pytest.mark.parametrize("switching", ["cut_through", "store_and_forward"])
@pytest.mark.parametrize(
    "topology", [grid(MeshTopology, 4), build_topology("fat_tree", 4, arity=2)], ids=["mesh", "tree"]
)
@pytest.mark.parametrize(
    "effects", [("hops",), ("hops", "links"), ("hops", "interfaces"), ("hops", "links", "interfaces")]
)
def test_an_empty_network_is_what_the_simulator_says(
    network: Network, switching: str, topology: Topology, effects: tuple[str, ...]
) -> None:
    network = network_with(network, topology=topology, switching=switching)
    shared = {"links": "links" in effects, "interfaces": "interfaces" in effects}
    # What a receiver in LogGOPS has still to do when the last byte is there.
    model, received = network.message_model, 0.0
    if isinstance(model, LogGOPS):
        received = model.overhead_s + 7 * max(model.overhead_per_byte_s - model.per_byte_s, 0.0)
    received = received if network.message_model.name == "loggop" else 0.0
    latency = uniform_latency(network, 0.0, 8.0, **shared)
    assert latency.latency_s == latency.empty_s
    assert latency.waiting_s == 0
    assert latency.empty_s + received == pytest.approx(alone_s(network, 8.0, effects), rel=1e-12)


# Waits.


def plain(
    topology: Topology, link: float = 1.0, interface: float = 0.0, duplex: str = "full", count: int = 1
) -> Network:
    interfaces = Interfaces(count, duplex, interface)
    return network_of(
        topology, per_byte_s=1.0, link_per_byte_s=link, interfaces=interfaces, hop_latency_s=0.5, sends="blocking"
    )


def test_where_messages_meet_once_it_is_the_queue_itself() -> None:
    bus = uniform_latency(plain(BusTopology(5)), 0.1, 1.0, interfaces=False)
    assert bus.waiting_s == pytest.approx(mg1(0.5, 1.0, 0.0).waiting_s)
    assert (bus.utilisation, bus.saturation_per_s) == pytest.approx((0.5, 0.2))
    varied = uniform_latency(plain(CrossbarTopology(4)), 1.5, 1.0, 2.0, interfaces=False)
    assert varied.waiting_s == pytest.approx(mg1(0.5, 1.0, 2.0).waiting_s)
    assert varied.formula == "Kleinrock's independence"
    doors = uniform_latency(plain(CrossbarTopology(4), 0.0, 1.0), 0.2, 1.0, 0.5, links=False)
    assert doors.waiting_s == pytest.approx(2 * mg1(0.2, 1.0, 0.5).waiting_s)
    half = uniform_latency(plain(CrossbarTopology(4), 0.0, 1.0, "half"), 0.2, 1.0, 0.5, links=False)
    assert half.waiting_s == pytest.approx(2 * mg1(0.4, 1.0, 0.5).waiting_s)


def test_two_hops_by_hand() -> None:
    """Three hosts in a row, rate r each: a link has load r, half of it from the link before on the links that leave the
    middle, none on the others; half of the 6 messages from host to host meet one link, a third two."""
    network, load = plain(grid(MeshTopology, 3)), 0.4
    wait = load / (2 * (1 - load))
    onward = wait * (1 - 0.25) * (1 + 0.8 * load * 0.25)
    latency = uniform_latency(network, load, 1.0, interfaces=False)
    assert latency.waiting_s == pytest.approx((2 * wait + 2 * onward) * load / load / 3)
    assert uniform_latency(network, load, 1.0, interfaces=False, independent=True).waiting_s == pytest.approx(
        4 / 3 * wait
    )


def by_events(topology: Topology, rate: float, interface_s: float, duplex: str, count: int, seed: int) -> float:
    """The mean wait of cut-through messages of service 1 at links, latency 1/2: heads that ask for station after
    station, first come first served. The first fifth is left out."""
    draw, hosts, links = np.random.default_rng(seed), topology.node_count, topology.link_count
    arrival = np.cumsum(draw.exponential(1 / rate / hosts, count)).tolist()
    source = draw.integers(0, hosts, count)
    target = (source + draw.integers(1, hosts, count)) % hosts
    routes = topology.routes(source, target)
    doors = [links + source, links + target + (hosts if duplex == "full" else 0)]
    waits, free = np.zeros(count), np.zeros(links + 2 * hosts)
    events = [(time, number, 0) for number, time in enumerate(arrival)]
    heapq.heapify(events)
    while events:
        now, number, place = heapq.heappop(events)
        inner = routes.link[routes.start[number] : routes.start[number + 1]]
        way = [int(doors[0][number]), *inner.tolist(), int(doors[1][number])]
        station = way[place]
        granted = max(now, free[station])
        waits[number] += granted - now
        is_link = station < links
        free[station] = granted + (1.0 if is_link else interface_s)
        if place + 1 < len(way):
            heapq.heappush(events, (granted + 0.5 * is_link, number, place + 1))
    return float(waits[count // 5 :].mean())


@pytest.mark.parametrize(
    "topology",
    [
        HypercubeTopology(16),
        grid(MeshTopology, 4, 4),
        grid(TorusTopology, 4, 4),
        build_topology("fat_tree", 16, arity=4),
    ],
    ids=lambda it: it.kind,
)
@pytest.mark.parametrize(
    ("load", "interface", "duplex"),
    [
        pytest.param(0.3, 0.0, "full", marks=pytest.mark.thorough),
        (0.7, 0.0, "full"),
        pytest.param(0.6, 1.0, "half", marks=pytest.mark.thorough),
        (0.6, 1.0, "full"),
    ],
)
def test_latency_under_load_is_that_of_events(topology: Topology, load: float, interface: float, duplex: str) -> None:
    """Within 4 % of the latency, an approximation; independence is too high by more where messages stay together."""
    network = plain(topology, 1.0, interface, duplex)
    rate = load * float(saturation_per_s(network, 1.0))
    simulated = by_events(topology, rate, interface, duplex, 12_000, 1)
    forecasted = uniform_latency(network, rate, 1.0)
    assert forecasted.utilisation == pytest.approx(load)
    assert forecasted.latency_s == pytest.approx(forecasted.empty_s + simulated, rel=0.04)
    alone = uniform_latency(network, rate, 1.0, independent=True)
    assert abs(alone.waiting_s - simulated) > abs(forecasted.waiting_s - simulated)


@settings(max_examples=examples(40))
@given(st.sampled_from(TOPOLOGIES), st.floats(0.01, 0.98), st.floats(0.01, 0.98), st.booleans())
def test_a_higher_rate_waits_longer(topology: Topology, one: float, other: float, independent: bool) -> None:
    network = plain(topology, 1.0, 0.5)
    rates = np.sort([one, other]) * float(saturation_per_s(network, 100.0))
    latency = uniform_latency(network, rates, 100.0, independent=independent)
    assert latency.waiting_s[0] <= latency.waiting_s[1]
    assert np.all(np.isfinite(latency.latency_s))
    apart = uniform_latency(network, rates, 100.0, independent=True)
    assert np.all(latency.waiting_s <= np.asarray(apart.waiting_s) * (1 + 1e-12))


def test_saturation_and_beyond() -> None:
    network = plain(HypercubeTopology(16))
    most = float(saturation_per_s(network, 4.0, interfaces=False))
    assert most == pytest.approx(15 / 8 / 4)
    latency = uniform_latency(network, np.array([0.0, 0.999, 1.0, 2.0]) * most, 4.0, interfaces=False)
    assert list(np.isfinite(latency.latency_s)) == [True, True, False, False]
    assert latency.utilisation == pytest.approx([0, 0.999, 1, 2])
    doors = plain(HypercubeTopology(16), 1.0, 1.0)
    assert saturation_per_s(doors, 4.0) == pytest.approx(1 / 4)
    half = plain(HypercubeTopology(16), 1.0, 1.0, "half")
    assert saturation_per_s(half, 4.0) == pytest.approx(1 / 8)  # each interface sends and receives
    assert saturation_per_s(doors, 4.0, links=False, interfaces=False) == math.inf


def test_links_that_saturate_early() -> None:
    """A link is busy 8/15 of a message's 4 s for each message per second of every host, on 16 hosts of a hypercube."""
    early = replace(plain(HypercubeTopology(16)), saturation=0.7)
    most = float(saturation_per_s(early, 4.0, interfaces=False))
    assert most == pytest.approx(0.7 * 15 / 8 / 4)
    rates = np.array([0.5, 0.999, 1.001, 1.2]) * most
    latency = uniform_latency(early, rates, 4.0, interfaces=False)
    free = uniform_latency(replace(early, saturation=1.0), rates, 4.0, interfaces=False)
    assert list(np.isfinite(latency.latency_s)) == [True, True, False, False]
    assert np.asarray(latency.latency_s)[:2].tolist() == np.asarray(free.latency_s)[:2].tolist()
    assert latency.link_load == pytest.approx(rates * 4 * 8 / 15)
    assert latency.saturation_per_s == pytest.approx([most] * 4)
    doors = replace(plain(HypercubeTopology(16), 1.0, 1.0), saturation=0.7)
    assert saturation_per_s(doors, 4.0) == pytest.approx(1 / 4)  # interfaces have no such limit


def test_several_interfaces_saturate_later_and_have_no_closed_form_of_waits() -> None:
    several = plain(CrossbarTopology(4), 0.0, 1.0, count=2)
    assert saturation_per_s(several, 4.0) == pytest.approx(2 / 4)
    with pytest.raises(InputError, match="several interfaces that each rank takes"):
        uniform_latency(several, 0.1, 4.0)
    free = uniform_latency(several, 0.1, 4.0, interfaces=False)
    assert free.waiting_s == 0


def test_rates_sizes_and_constants_broadcast() -> None:
    per_byte = np.array([1.0, 2.0, 4.0])
    network = network_of(grid(MeshTopology, 3, 3), per_byte_s=per_byte, startup_s=1.0, sends="blocking")
    many = uniform_latency(network, np.array([[0.001], [0.01]]), 5.0)
    assert many.latency_s.shape == many.saturation_per_s.shape == many.utilisation.shape == (2, 3)
    for row, column in itertools.product(range(2), range(3)):
        one = uniform_latency(network_with(network, per_byte_s=float(per_byte[column])), (0.001, 0.01)[row], 5.0)
        assert many.latency_s[row, column] == pytest.approx(one.latency_s, rel=1e-13)


@pytest.mark.parametrize(
    ("topology", "what"),
    [
        (BusTopology(1), "uniform traffic needs other hosts, got 1"),
        (build_topology("fat_tree", 4096, arity=2), "routes must be counted, got 4096"),
    ],
    ids=["one host", "too many"],
)
def test_bad_topologies(topology: Topology, what: str) -> None:
    with pytest.raises(InputError, match=what):
        uniform_traffic(topology)


# Links that differ.


@pytest.mark.parametrize("duplex", ["full", "half"])
@pytest.mark.parametrize(
    "topology",
    [
        TorusTopology(12, (4, 3), bandwidth=(2.0**30, 2.0**26)),
        TorusTopology(12, (4, 3), bandwidth=(2.0**26, 2.0**30)),
        MeshTopology(12, (3, 1, 4), bandwidth=(2.0**30, 2.0**20, 2.0**29)),
        HypercubeTopology(8),
        build_topology("fat_tree", 8, arity=2, taper=(1, 4, 2)),
    ],
)
def test_saturation_is_that_of_the_busiest_station(topology: Topology, duplex: str) -> None:
    """One message of every host to every other, simulated: the station that is busy longest."""
    network = network_of(
        topology, per_byte_s=2.0**-30, interfaces=Interfaces(duplex=duplex, per_byte_s=2.0**-31), sends="blocking"
    )
    machine, hosts = Machine("test", Processor(1.0), network), topology.node_count
    program = (Collective(None, Place(), "all_to_all", "pairwise", parse(1024)),)
    result = simulate(
        Workload("all", {}, {}, program), machine, {"P": hosts}, effects="links,interfaces", engine="simpy"
    )
    busiest_s = result.station_table()["busy_s"].max()
    assert saturation_per_s(network, 1024.0) == pytest.approx((hosts - 1) / busiest_s, rel=1e-12)
    assert saturation_per_s(network, 1024.0, interfaces=False) >= saturation_per_s(network, 1024.0)
    sizes = np.array([1024.0, 4096.0])
    assert saturation_per_s(network, sizes) == pytest.approx((hosts - 1) / busiest_s * np.array([1, 1 / 4]), rel=1e-12)
