"""Closed forms of messages against their simulation: with every effect off they are the same to rounding."""

from __future__ import annotations

import itertools
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.collectives.algorithm_form import ALGORITHM_FORMS
from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.messages.halo import halo
from simcodesign.analytic.messages.message_costs import ceil_log2, floor_log2, price
from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import parse
from simcodesign.core.operation_kinds import SEND
from simcodesign.core.result import Result
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.demands.exchange import Exchange
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.network.interfaces import Interfaces
from simcodesign.describe.network.message_models.hockney import NONBLOCKING, SENDS
from simcodesign.describe.network.network import DISTANCES, SWITCHINGS, Network
from simcodesign.describe.programs.program import Step
from simcodesign.describe.topology import base
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.topology.build import build_topology
from simcodesign.engine.reference.run import run as engine
from simcodesign.engine.simulate import simulate
from tests import builders, examples, numbers_of_ranks
from tests.builders import machine, network_of, plan_of, workload_of_steps

#: Tolerance: at most some 80 sums follow one another, each rounded to 1.1e-16.
RELATIVE = 1e-12
MOST_RANKS = 40
KEYS = sorted(ALGORITHM_FORMS)
#: The other half of the constants, which have no pair of values that the first does not have, is tried up to these.
MOST_RANKS_OF_OTHERS = 17


def is_in_half(overhead_s: float, limit_bytes: float | None, sends: str) -> bool:
    """Return whether constants are of the half in which every pair of values of two of them comes."""
    return ((overhead_s > 0) + (limit_bytes is not None) + SENDS.index(sends)) % 2 == 0


#: Receive overhead, limit of the rendezvous, kind of sends; the ordinary suite has the half.
CONSTANTS = [
    pytest.param(*values, marks=() if is_in_half(*values) else pytest.mark.thorough)
    for values in itertools.product((0.0, 0.4e-6), (None, 100.0), SENDS)
]


def crossbar(count: int = MOST_RANKS, **constants: object) -> Network:
    return builders.network(count, **constants)


def run(step: Step | tuple[Step, ...], network: Network, ranks: int, effects: tuple[str, ...] = ()) -> Result:
    """Simulate a step; a collective operation sends as the network says, also where its algorithm has sends of its
    own."""
    if isinstance(step, Collective):
        step = replace(step, sends=getattr(network.message_model, "sends", None))
    program = step if isinstance(step, tuple) else (step,)
    return simulate(workload_of_steps(*program), machine(network), {"P": ranks}, effects=effects)


def collective(name: str, algorithm: str, size: float) -> Collective:
    return Collective(None, Place(), name, algorithm, parse(size))


def close(value: object) -> object:
    return pytest.approx(float(value), rel=RELATIVE, abs=0)


def times(most: float) -> st.SearchStrategy[float]:
    """Zero, and values over several orders of magnitude."""
    return st.one_of(st.just(0.0), st.floats(most * 1e-6, most))


@st.composite
def networks(draw: st.DrawFn) -> Network:
    sends = draw(st.sampled_from(SENDS))
    return crossbar(
        sends=sends,
        rendezvous_above_bytes=draw(st.sampled_from([None, None, 0.0, 1e5])),
        startup_s=draw(times(1e-3)),
        per_byte_s=draw(times(1e-6)),
        receive_overhead_s=draw(times(1e-3)),
        hop_latency_s=draw(times(1e-4)),
        startup_per=draw(st.sampled_from(["message", "hop"])),
        distance=draw(st.sampled_from(DISTANCES)),
        switching=draw(st.sampled_from(SWITCHINGS)),
        sharing=draw(st.sampled_from(["fcfs", "round_robin"])),
        packet_bytes=draw(st.sampled_from([64.0, 1e5])),
        hops_hold_sender=sends == NONBLOCKING or draw(st.booleans()),
    )


@pytest.mark.parametrize(("name", "algorithm"), KEYS)
@pytest.mark.parametrize(("overhead_s", "limit_bytes", "sends"), CONSTANTS)
def test_every_number_of_ranks(
    name: str, algorithm: str, overhead_s: float, limit_bytes: float | None, sends: str
) -> None:
    """All numbers of ranks up to 17, and for half of the constants some up to 37."""
    network = crossbar(
        sends=sends,
        rendezvous_above_bytes=limit_bytes,
        startup_s=3e-6,
        per_byte_s=1e-9,
        receive_overhead_s=overhead_s,
        hop_latency_s=1e-7,
    )
    for ranks in numbers_of_ranks(MOST_RANKS if is_in_half(overhead_s, limit_bytes, sends) else MOST_RANKS_OF_OTHERS):
        result = run(collective(name, algorithm, 700.0), network, ranks)
        cost = ALGORITHM_FORMS[name, algorithm].cost(700.0, price(network, ranks))
        assert result.makespan_s == close(cost.time_s), ranks
        assert result.messages == cost.messages
        assert result.message_bytes == close(cost.message_bytes)


@pytest.mark.parametrize(("name", "algorithm"), KEYS)
@pytest.mark.parametrize("ranks", [64, 128, 1000])
@pytest.mark.thorough
def test_many_ranks(name: str, algorithm: str, ranks: int) -> None:
    for size in (0.0, 7000.0):
        network = crossbar(ranks, startup_s=3e-6, per_byte_s=1e-9, receive_overhead_s=4e-7, reduction_per_byte_s=1e-10)
        cost = ALGORITHM_FORMS[name, algorithm].cost(size, price(network, float(ranks)))
        assert run(collective(name, algorithm, size), network, ranks).makespan_s == close(cost.time_s)


@settings(max_examples=examples(250))
@given(st.sampled_from(KEYS), st.integers(1, MOST_RANKS), times(1e7), networks())
def test_every_price(key: tuple[str, str], ranks: int, size: float, network: Network) -> None:
    time_s = ALGORITHM_FORMS[key].cost(size, price(network, ranks)).time_s
    assert run(collective(*key, size), network, ranks).makespan_s == close(time_s)


@pytest.mark.parametrize(("name", "algorithm"), KEYS)
def test_formulas_are_vectorised_over_ranks_and_sizes(name: str, algorithm: str) -> None:
    ranks, sizes = np.arange(1.0, 41.0)[:, None], np.array([0.0, 8.0, 1e6])
    network = crossbar(startup_s=3e-6, per_byte_s=1e-9, receive_overhead_s=1e-6, distance="log2", hop_latency_s=1e-7)
    cost = ALGORITHM_FORMS[name, algorithm].cost(sizes, price(network, ranks))
    for row, count in enumerate(ranks[:, 0]):
        for column, size in enumerate(sizes):
            one = ALGORITHM_FORMS[name, algorithm].cost(float(size), price(network, float(count)))
            every = [np.broadcast_to(part, (40, 3))[row, column] for part in vars(cost).values()]
            assert every == [close(part) for part in vars(one).values()]


@st.composite
def halos(draw: st.DrawFn) -> Exchange:
    dims = draw(st.integers(1, 4))
    grid = draw(st.lists(st.integers(1, 5 if dims < 4 else 3), min_size=dims, max_size=dims))
    sizes = draw(st.lists(times(1e6), min_size=dims, max_size=dims))
    several = draw(st.one_of(st.none(), st.lists(st.integers(0, 4), min_size=dims, max_size=dims)))
    messages = None if several is None else tuple(map(parse, several))
    return Exchange(
        None, Place(), dims, tuple(map(parse, sizes)), tuple(map(parse, grid)), draw(st.booleans()), messages
    )


@settings(max_examples=examples(250))
@given(halos(), networks(), st.integers(1, 5))
def test_halo_exchange(step: Exchange, network: Network, train: int) -> None:
    """The closed form knows nothing of trains, and so it is what the simulation with trains takes too."""
    step = replace(step, train=parse(train))
    grid = [float(extent.text) for extent in step.grid or ()]
    ranks = int(np.prod(grid))
    network = network_of(**{**vars(network), "topology": build_topology("crossbar", ranks)})
    cost = halo(
        [float(size.text) for size in step.bytes],
        grid,
        step.periodic,
        price(network, ranks),
        [float(count.text) for count in step.messages_by_dim],
    )
    result = run(step, network, ranks)
    assert result.makespan_s == close(cost.time_s)
    assert (result.messages, result.message_bytes) == (cost.messages, close(cost.message_bytes))


@pytest.mark.parametrize("dims", [1, 2, 3, 4])
@pytest.mark.parametrize("periodic", [True, False])
def test_halo_exchange_on_the_balanced_grid(dims: int, periodic: bool) -> None:
    network = crossbar(startup_s=3e-6, per_byte_s=1e-9, receive_overhead_s=1e-6)
    step = Exchange(None, Place(), dims, (parse(512),) * dims, None, periodic)
    workload = workload_of_steps(step)
    for ranks in numbers_of_ranks(MOST_RANKS):
        result = forecast(workload, machine(network), {"P": ranks})
        assert run(step, network, ranks).makespan_s == close(result.makespan_s)


def test_whole_logarithms_are_exact() -> None:
    counts = np.arange(1, 5000)
    assert floor_log2(counts.astype(float)).tolist() == [int(count).bit_length() - 1 for count in counts]
    assert ceil_log2(counts.astype(float)).tolist() == [int(count - 1).bit_length() for count in counts]


def some_graph() -> nx.Graph:
    graph = nx.random_labeled_tree(9, seed=3)
    graph.add_edges_from([(0, 7), (2, 8)])
    for switch in (4, 6):
        graph.nodes[switch]["host"] = False
    return graph


TOPOLOGIES = {
    "bus": build_topology("bus", 5),
    "crossbar": build_topology("crossbar", 5),
    # Of two groups, so that minimal routes are shortest paths.
    "dragonfly": build_topology("dragonfly", 6, terminals=1, routers=3, global_links=1),
    "dragonfly_plus": build_topology("dragonfly_plus", 8, terminals=1, leaves=2, spines=2, global_links=2),
    "fat_tree": build_topology("fat_tree", 9, arity=3),
    "graph": build_topology("graph", 7, graph=some_graph()),
    "hypercube": build_topology("hypercube", 16),
    "hyperx": build_topology("hyperx", 12, (3, 2), cables=(2, 1)),
    "mesh": build_topology("mesh", 12, (4, 3)),
    "slim_fly": build_topology("slim_fly", 18, q=3),
    "torus": build_topology("torus", 15, (5, 3)),
    "tree": build_topology("tree", 11),
}
PAIRS = [(0, 1), (1, 0), (0, 4), (4, 2), (3, 1)]
PRICES = {
    "startup_s": 5e-6,
    "per_byte_s": 3e-9,
    "receive_overhead_s": 7e-7,
    "hop_latency_s": 2e-7,
    "link_per_byte_s": 1e-9,
    "interfaces": Interfaces(per_byte_s=2e-9),
}


def alone(network: Network, source: int, target: int, size: float, effects: tuple[str, ...]) -> float:
    """Time of one message on an idle network."""
    send = Send(parse(f"rank == {source}"), Place(), parse(target), parse(size))
    receive = Receive(parse(f"rank == {target}"), Place(), parse(source), None)
    return float(run((send, receive), network, network.topology.node_count, effects).makespan_s)


def textbook(network: Network, hops: float, size: float) -> float:
    """Startup, latency of the hops, bytes; a store-and-forward network repeats the bytes on every further link."""
    startups = hops if network.message_model.starts_at_every_hop else 1
    again = max(hops - 1, 0) * size * network.link_per_byte_s if network.is_stored else 0.0
    latency = startups * network.message_model.startup_s + hops * network.hop_latency_s
    return latency + again + size * network.message_model.per_byte_s + network.message_model.receive_overhead_s


def in_a_row(network: Network, effects: tuple[str, ...], train: int = 1) -> tuple[list[float], list[float]]:
    """When rank 0 is free of three messages of 1000 bytes to a neighbour four hops away, and when these are there."""
    there = {2: 0, 7: 1}  # two ranks of a ring of nine nodes
    chosen = machine(network, mapping=tuple(there))
    step = Exchange(None, Place(), 1, (parse(1000),), None, False, (parse(3),), parse(train))
    plan = plan_of(chosen, 2, (step,), effects)
    log = engine(plan)
    sends = np.flatnonzero((plan.kind == SEND) & (plan.rank == 0))
    return log.finish_s[sends].tolist(), log.arrival_s[sends].tolist()


#: Interfaces take no time, so that what comes does not wait for what goes.
RING = {"startup_s": 5e-6, "per_byte_s": 3e-9, "hop_latency_s": 2e-7, "interfaces": Interfaces(per_byte_s=0.0)}


@pytest.mark.parametrize("effects", [("hops",), ("links",), ("hops", "interfaces"), ("links", "interfaces")])
@pytest.mark.parametrize("distance", ["none", "log2"])
@pytest.mark.parametrize("holds", [True, False])
def test_hops_hold_the_sender_or_not(holds: bool, distance: str, effects: tuple[str, ...]) -> None:
    """Four hops on a ring of nine: they delay each arrival, but the next send only if they hold the sender."""
    network = network_of(
        build_topology("torus", 9, (9,)), hops_hold_sender=holds, distance=distance, **RING, sends="blocking"
    )
    own, way = 5e-6 + 1000 * 3e-9, 4 * 2e-7
    each = own + way if holds else own
    free, there = in_a_row(network, effects)
    assert free == [close(each), close(2 * each), close(3 * each)]
    assert there == [close(number * each + own + way) for number in range(3)]
    assert in_a_row(network, effects, train=3) == ([close(3 * each)], [close(2 * each + own + way)])
    assert in_a_row(network, effects, train=2) == (
        [close(2 * each), close(3 * each)],
        [close(there[1]), close(there[2])],
    )


def test_no_hops_by_law() -> None:
    """Nothing is charged for hops, and a message starts once, stored or not."""
    for holds, switching, per in itertools.product((True, False), SWITCHINGS, ("message", "hop")):
        network = network_of(
            build_topology("torus", 9, (9,)),
            distance="none",
            switching=switching,
            startup_per=per,
            hops_hold_sender=holds,
            **RING,
            sends="blocking",
        )
        for effects in ((), ("interfaces",)):
            free, there = in_a_row(network, effects)
            assert there == [close(time) for time in free]
            assert free == [close(number * (5e-6 + 1000 * 3e-9)) for number in (1, 2, 3)]


def test_a_stored_train_alone_on_the_network() -> None:
    """Where hops hold the sender, the last byte arrives when the sender is done, as with single messages."""
    network = network_of(build_topology("torus", 9, (9,)), switching="store_and_forward", **RING, sends="blocking")
    each = 5e-6 + 4 * 2e-7 + (1 + 3) * 1000 * 3e-9
    for effects in (("hops",), ("links",), ("hops", "interfaces")):
        assert in_a_row(network, effects, train=3) == ([close(3 * each)], [close(3 * each)])


@settings(max_examples=examples(100))
@given(st.integers(1, 3), networks(), st.booleans())
def test_fractions_of_messages_lie_between(dims: int, network: Network, periodic: bool) -> None:
    """More messages never take less time, also where they are no whole number."""
    few = np.linspace(0, 4, 33)
    sizes, grid = [10.0] * dims, [3.0] * dims
    times = halo(sizes, grid, periodic, price(network, 3.0**dims), [few] * dims).time_s
    assert times.shape == (33,)
    assert (times >= 0).all()
    assert (np.diff(times) >= -1e-12 * times[-1]).all()


def test_every_kind_of_topology_is_tried() -> None:
    assert {topology.kind for topology in TOPOLOGIES.values()} == set(TOPOLOGIES) == set(base.TOPOLOGIES)


@pytest.mark.parametrize("switching", SWITCHINGS)
@pytest.mark.parametrize("startup_per", ["message", "hop"])
@pytest.mark.parametrize("topology", TOPOLOGIES.values(), ids=TOPOLOGIES.keys())
def test_one_message_on_its_route(topology: Topology, startup_per: str, switching: str) -> None:
    network = network_of(topology, startup_per=startup_per, switching=switching, **PRICES, sends="blocking")
    graph = topology.to_networkx()
    for source, target in PAIRS:
        hops = nx.shortest_path_length(graph, source, target)
        expected = textbook(network, hops, 4000.0)
        for effects in (("hops",), ("links",), ("hops", "links"), ("hops", "interfaces")):
            assert alone(network, source, target, 4000.0, effects) == close(expected), (source, target, effects)
        # A stored message leaves the last link at the link's rate, which is more than the interface takes here.
        stored = switching == "store_and_forward" and hops > 1
        expected += stored * 4000 * (network.interface_occupancy_s_per_byte - network.link_per_byte_s)
        assert alone(network, source, target, 4000.0, ("links", "interfaces")) == close(expected), (source, target)


@pytest.mark.parametrize("switching", SWITCHINGS)
@pytest.mark.parametrize("distance", DISTANCES)
def test_one_message_through_interfaces_takes_the_lawful_hops(distance: str, switching: str) -> None:
    network = network_of(TOPOLOGIES["torus"], distance=distance, switching=switching, **PRICES, sends="blocking")
    mean = nx.average_shortest_path_length(TOPOLOGIES["torus"].to_networkx())
    hops = {"none": 0.0, "one": 1.0, "log2": np.log2(15), "sqrt": np.sqrt(15), "mean": mean}[distance]
    for effects in ((), ("interfaces",)):
        assert alone(network, 2, 9, 1e5, effects) == close(textbook(network, hops, 1e5))


@pytest.mark.parametrize("startup_per", ["message", "hop"])
def test_one_message_within_a_node_takes_no_hop(startup_per: str) -> None:
    network = network_of(TOPOLOGIES["tree"], startup_per=startup_per, **PRICES, sends="blocking")
    whole = machine(network, processors_per_node=2)
    send = Send(parse("rank == 2"), Place(), parse(3), parse(100))
    receive = Receive(parse("rank == 3"), Place(), parse(2), None)
    workload = workload_of_steps(send, receive)
    for effects in (("hops",), ("links", "interfaces")):
        result = simulate(workload, whole, effects=effects)
        expected = (
            network.message_model.startup_s
            + 100 * network.message_model.per_byte_s
            + network.message_model.receive_overhead_s
        )
        assert result.makespan_s == close(expected)
        assert not result.stations


#: Operations that combine what comes in with what is there.
REDUCING = [key for key in KEYS if key[0] in {"allreduce", "reduce_scatter", "scan", "reduce"}]


def copied_blocks(operation: str, algorithm: str, ranks: int) -> int:
    """Count the blocks that a rank copies, place by place, as the algorithms describe it."""
    bits = [2**k for k in range(20) if 2**k < ranks]
    power_of_two = ranks & (ranks - 1) == 0
    if ranks == 1:
        return 0
    if (operation, algorithm) == ("all_to_all", "bruck"):
        turned = sum(1 for _ in range(ranks))  # every block changes its place before the rounds, and after them
        packed = sum(1 for bit in bits for distance in range(ranks) if distance & bit)
        return 2 * turned + 2 * packed
    if (operation, algorithm) == ("allgather", "bruck"):
        return ranks
    falls_back = {("allgather", "recursive_doubling"), ("reduce_scatter", "recursive_halving")}
    return ranks if (operation, algorithm) in falls_back and not power_of_two else 0


@pytest.mark.parametrize("ranks", [2, 4, 16, 64])
def test_bruck_copies_the_blocks_of_the_literature(ranks: int) -> None:
    """P log2 P + 2 P of an all-to-all: half of P packed and unpacked in each round, and all before and after."""
    assert copied_blocks("all_to_all", "bruck", ranks) == ranks * np.log2(ranks) + 2 * ranks


@pytest.mark.parametrize(("name", "algorithm"), KEYS)
@pytest.mark.parametrize("model", ["blocking", "nonblocking", "loggop"])
@pytest.mark.parametrize("packing_per_byte_s", [0.0, 5e-11])
def test_copies_of_blocks_take_time_in_both_readings(
    name: str, algorithm: str, model: str, packing_per_byte_s: float
) -> None:
    """The time without copies and that of the blocks of one rank and their bytes, since all ranks copy alike; in LogGOPS
    a gap that is over when blocks have been copied is not waited for."""
    constants = {"startup_s": 3e-6, "receive_overhead_s": 4e-7, "sends": model}
    if model == "loggop":
        constants = {"model": model, "latency_s": 3e-6, "overhead_s": 1e-6, "gap_s": 2e-6}
    plain, packing_s = crossbar(per_byte_s=1e-9, **constants), 7e-7
    network = replace(plain, packing_s=packing_s, packing_per_byte_s=packing_per_byte_s)
    copies = any(copied_blocks(name, algorithm, ranks) for ranks in (5, 8))
    for ranks in numbers_of_ranks(MOST_RANKS) if copies else (5, 8):
        result = run(collective(name, algorithm, 3e4), network, ranks)
        costs = [ALGORITHM_FORMS[name, algorithm].cost(3e4, price(one, float(ranks))) for one in (plain, network)]
        block_bytes = 3e4 / ranks if name == "reduce_scatter" else 3e4
        copies_s = copied_blocks(name, algorithm, ranks) * (packing_s + block_bytes * packing_per_byte_s)
        assert float(costs[1].packed_blocks) == ranks * copied_blocks(name, algorithm, ranks)
        assert float(costs[1].packed_bytes) == close(costs[1].packed_blocks * block_bytes)
        assert costs[1].reduction_s == close(copies_s)
        if copies_s and model == "loggop":
            assert result.makespan_s == close(costs[1].time_s)
        if copies_s and model != "loggop":
            assert result.makespan_s == close(costs[0].time_s + copies_s)
        assert result.phases["main"].get("computation", 0.0) == close(copies_s)
        assert costs[1].time_s >= costs[0].time_s
        if not copies_s:
            assert float(costs[1].time_s) == float(costs[0].time_s)


#: Trees whose ranks may take up messages of LogGOPS in another order than that in which they reduce them.
MIXED = {"binomial", "binomial_far", "binary_tree", "interleaved_binary_tree", "reduce_broadcast", "double_tree"}
#: An estimate in LogGOPS, with its range (docs/collectives.md, "Libraries of GPUs").
ESTIMATED, RANGE = "hierarchical_chunks", (0.5, 2.0)


@pytest.mark.parametrize(("name", "algorithm"), REDUCING)
@pytest.mark.parametrize("model", ["hockney", "nonblocking", "loggop"])
def test_operators_take_time_in_both_readings(name: str, algorithm: str, model: str) -> None:
    constants = {
        "startup_s": 3e-6,
        "receive_overhead_s": 4e-7,
        "sends": NONBLOCKING if model == "nonblocking" else SENDS[0],
    }
    if model == "loggop":
        constants = {"model": model, "latency_s": 3e-6, "overhead_s": 1e-6, "gap_s": 2e-6}
    network = crossbar(per_byte_s=1e-9, reduction_per_byte_s=1e-9 / 3, **constants)
    for ranks in numbers_of_ranks(MOST_RANKS):
        result = run(collective(name, algorithm, 3e4), network, ranks)
        cost = ALGORITHM_FORMS[name, algorithm].cost(3e4, price(network, float(ranks)))
        differs = (name == "scan" and algorithm == "recursive_doubling") or (
            ALGORITHM_FORMS[name, algorithm].folds and ranks & (ranks - 1)
        )
        if model == "loggop" and algorithm == ESTIMATED:
            assert RANGE[0] * float(cost.time_s) <= result.makespan_s <= RANGE[1] * float(cost.time_s)
        elif model == "loggop" and (
            algorithm in MIXED
            or (name, algorithm) == ("reduce", "two_level")
            or ((name, algorithm) == ("reduce", "bine") and ranks & (ranks - 1))  # binomial
        ):
            assert float(cost.time_s) * (1 - 1e-12) <= result.makespan_s <= float(cost.time_s) * 1.5
        elif model != "loggop" or not differs:
            assert result.makespan_s == close(cost.time_s), ranks
        if model == "hockney":
            assert float(cost.reduced_bytes) * network.reduction_s_per_byte == close(result.ranks.busy_s[:, :, 0].sum())
            assert result.phases["main"]["computation"] == close(cost.reduction_s), ranks
