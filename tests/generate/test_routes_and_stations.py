"""Which stations operations and messages visit, and that these carry exactly the bytes that the traffic says."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.collectives.algorithm_form import ALGORITHM_FORMS
from simcodesign.analytic.messages.collective_traffic import Traffic, collective_traffic, halo_traffic
from simcodesign.core import memory_limit
from simcodesign.core.errors import CapacityError, Place
from simcodesign.core.expressions.expression import parse
from simcodesign.core.operation_kinds import READ, SEND
from simcodesign.describe.demands.collective import ALGORITHMS, Collective
from simcodesign.describe.demands.disk_access import DiskAccess
from simcodesign.describe.demands.exchange import Exchange
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.design_point import bind
from simcodesign.describe.goal.format import read_goal
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.network.interfaces import DUPLEXES, Interfaces
from simcodesign.describe.network.network import SWITCHINGS
from simcodesign.describe.programs.program import Step
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.topology.grid_shape import balanced_shape
from simcodesign.describe.yaml.files import workload_of
from simcodesign.engine.reference.run import run
from simcodesign.generate.lower import make_plan
from simcodesign.generate.messages.cost_table import BYTES_PER_COST
from simcodesign.generate.plan import DISK, INTERFACE, LINK, NONE, Plan
from tests import examples
from tests.builders import ANYWHERE, network_of, plan_of, workload

KEYS = [(name, algorithm) for name, algorithms in ALGORITHMS.items() for algorithm in algorithms]
#: Powers of two, so that bytes times seconds per byte is exact.
PER_BYTE, LINK_PER_BYTE, INTERFACE_PER_BYTE = 2.0**-10, 2.0**-12, 2.0**-11
SIZE = 64.0


def machine(
    kind: str,
    nodes: int,
    per_node: int = 1,
    mapping: str | tuple[int, ...] = "linear",
    count: int = 1,
    duplex: str = "full",
    **more: object,
) -> Machine:
    options = {
        "fat_tree": {"arity": 2},
        "dragonfly": {"terminals": 1, "routers": 2, "global_links": 4},
        "dragonfly_plus": {"terminals": 2, "leaves": 1, "spines": 2, "global_links": 4},
        "hyperx": {"shape": (2,), "cables": (2,)},
    }.get(kind, {})
    network = network_of(
        build_topology(kind, nodes, **options),
        sends="blocking",
        startup_s=2.0**-6,
        per_byte_s=PER_BYTE,
        hop_latency_s=2.0**-8,
        link_per_byte_s=LINK_PER_BYTE,
        interfaces=Interfaces(count, duplex, INTERFACE_PER_BYTE),
        **more,
    )
    disk = Disk(1.0, 2.0, PER_BYTE, shared_by=2, spindles=3)
    return Machine("test machine", Processor(1.0), network, disk, processors_per_node=per_node, mapping=mapping)


MACHINES = st.builds(
    machine,
    st.sampled_from(
        ["bus", "crossbar", "fat_tree", "hypercube", "mesh", "torus", "tree", "dragonfly", "dragonfly_plus", "hyperx"]
    ),
    st.sampled_from([2, 4, 8, 16]),
    st.integers(1, 3),
    st.sampled_from(ANYWHERE),
    st.integers(1, 3),
    st.sampled_from(DUPLEXES),
    switching=st.sampled_from(SWITCHINGS),
)


def exchange(dims: int, periodic: bool) -> Exchange:
    return Exchange(None, Place(), dims, (parse(SIZE),) * dims, None, periodic)


def carried(plan: Plan, kind: int, per_byte_s: float) -> tuple[dict[int, float], dict[int, int]]:
    """Bytes and messages that the stations of one kind served, by their unit."""
    log = run(plan)
    mine = np.flatnonzero(plan.stations.kind == kind)
    bytes_served = {int(plan.stations.unit[s]): log.busy_s[s] / per_byte_s for s in mine}
    return bytes_served, {int(plan.stations.unit[s]): int(log.served[s]) for s in mine}


@st.composite
def communications(draw: st.DrawFn) -> tuple[Machine, int, Step, Traffic]:
    """A machine, ranks, and one communication with its messages."""
    chosen = draw(MACHINES)
    ranks = draw(st.integers(1, min(chosen.most_ranks, 20)))
    if draw(st.booleans()):
        name, algorithm = draw(st.sampled_from(KEYS))
        step: Step = Collective(None, Place(), name, algorithm, parse(SIZE))
        form = ALGORITHM_FORMS[name, algorithm]
        steps = form.steps(ranks) if form.on_nodes is None else form.on_nodes.steps_on(chosen.node_of(ranks), chosen)
        return chosen, ranks, step, collective_traffic(steps, SIZE)
    dims, periodic = draw(st.integers(1, 3)), draw(st.booleans())
    traffic = halo_traffic(balanced_shape(ranks, dims), [SIZE] * dims, periodic)
    return chosen, ranks, exchange(dims, periodic), traffic


@settings(max_examples=examples(150))
@given(communications(), st.booleans())
def test_links_carry_the_bytes_of_the_traffic(case: tuple[Machine, int, Step, Traffic], with_interfaces: bool) -> None:
    machine, ranks, step, traffic = case
    effects = ("links", "interfaces") if with_interfaces else ("links",)
    plan = plan_of(machine, ranks, (step,), effects)
    node = machine.node_of(ranks)
    source, target = node[traffic.source], node[traffic.target]
    links, loads = machine.network.topology.link_loads(source, target, traffic.size_bytes)
    passed = Counter(
        link
        for a, b in zip(source, target, strict=True)
        if a != b
        for link in machine.network.topology.route(int(a), int(b)).tolist()
    )
    result, served = carried(plan, LINK, LINK_PER_BYTE)
    assert served == passed
    expected = dict(zip(links.tolist(), loads.tolist(), strict=True))
    assert {link: load for link, load in result.items() if load} == pytest.approx(expected, rel=1e-12)


@settings(max_examples=examples(100))
@given(communications(), st.booleans())
def test_interfaces_carry_what_comes_and_what_goes(case: tuple[Machine, int, Step, Traffic], with_links: bool) -> None:
    machine, ranks, step, traffic = case
    effects = ("links", "interfaces") if with_links else ("interfaces",)
    plan = plan_of(machine, ranks, (step,), effects)
    node = machine.node_of(ranks)
    interfaces = machine.network.interfaces
    bytes_passed: dict[str, float] = defaultdict(float)
    passed: Counter[str] = Counter()
    sides = ("interface", "interface") if interfaces.duplex == "half" else ("injection", "ejection")
    for a, b, size in zip(node[traffic.source], node[traffic.target], traffic.size_bytes, strict=True):
        for side in (f"{sides[0]} {a}", f"{sides[1]} {b}") if a != b else ():
            bytes_passed[side] += size
            passed[side] += 1
    carried_bytes, served = carried(plan, INTERFACE, INTERFACE_PER_BYTE)
    name_of = {unit: interfaces.station_name(unit, machine.nodes).partition(".")[0] for unit in served}
    found, count = Counter[str](), Counter[str]()
    for unit, name in name_of.items():
        found[name] += carried_bytes[unit]
        count[name] += served[unit]
    assert count == passed
    assert found == pytest.approx(dict(bytes_passed), rel=1e-12)


@settings(max_examples=examples(60))
@given(communications())
def test_the_messages_of_a_rank_take_the_interfaces_in_turn(case: tuple[Machine, int, Step, Traffic]) -> None:
    """Each interface of a rank's node has as many of its messages as any other, or one more, the first from its place
    on; and so for those that it receives."""
    machine, ranks, step, _ = case
    plan = plan_of(machine, ranks, (step,), ("interfaces",))
    interfaces, node = machine.network.interfaces, machine.node_of(ranks).tolist()
    sent, received = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for source, target, way in ways(plan):
        (_, out), (_, into) = way
        sent[source].append(out % interfaces.count)
        received[target].append(into % interfaces.count)
    for by_rank in (sent, received):
        for rank, taken in by_rank.items():
            place = [other for other in range(ranks) if node[other] == node[rank]].index(rank)
            expected = [(place + turn) % interfaces.count for turn in range(len(taken))]
            assert (taken if by_rank is sent else sorted(taken)) == (expected if by_rank is sent else sorted(expected))


@pytest.mark.parametrize(("kind", "shape"), [("torus", (3, 4)), ("mesh", (4, 2)), ("torus", (2, 2, 3))])
@pytest.mark.parametrize("effects", [("interfaces",), ("links", "interfaces")])
def test_with_an_interface_for_each_direction_messages_take_that_of_their_links(
    kind: str, shape: tuple[int, ...], effects: tuple[str, ...]
) -> None:
    """Both ends of a cable have one interface each for it, whatever the message."""
    nodes, count = math.prod(shape), 2 * len(shape)
    grid = build_topology(kind, nodes, shape=shape)
    network = network_of(grid, per_byte_s=1.0, interfaces=Interfaces(count), sends="blocking")
    step = Collective(None, Place(), "all_to_all", "linear", parse(SIZE))
    on = Machine("grid", Processor(1.0), network)
    ports: dict[tuple[int, int], set[int]] = defaultdict(set)  # by node and neighbour
    for source, target, way in ways(plan_of(on, nodes, (step,), effects)):
        links = grid.route(source, target)
        tails, heads = grid.link_ends(links)
        ports[source, int(heads[0])].add(way[0][1])
        ports[target, int(tails[-1])].add(way[-1][1] - nodes * count)
    assert all(len(port) == 1 for port in ports.values())
    each = {end: next(iter(port)) for end, port in ports.items()}
    assert len(set(each.values())) == len(each)
    assert all(port // count == node for (node, _), port in each.items())


def test_messages_to_anyone_take_interfaces_in_the_order_of_their_sends() -> None:
    """What is received is known only while the program runs."""
    on = machine("crossbar", 4, count=2)
    send = Send(parse("rank > 0"), Place(), parse(0), parse(SIZE))
    receives = [Receive(parse("rank == 0"), Place(), None, None)] * 3
    found = {source: way[-1][1] for source, _, way in ways(plan_of(on, 4, (send, *receives), ("interfaces",)))}
    assert found == {1: 8, 2: 9, 3: 8}


def test_messages_come_by_interfaces_in_the_order_of_their_receives() -> None:
    """Node 0 asks for the message of node 2 before that of node 1."""
    on = machine("crossbar", 4, count=2)
    send = Send(parse("rank > 0"), Place(), parse(0), parse(SIZE))
    receives = [Receive(parse("rank == 0"), Place(), parse(source), None) for source in (2, 1, 3)]
    found = {source: way[-1][1] for source, _, way in ways(plan_of(on, 4, (send, *receives), ("interfaces",)))}
    assert found == {2: 8, 1: 9, 3: 8}


def test_the_interfaces_of_a_schedule_are_those_that_it_names(tmp_path: Path) -> None:
    """In LogGOPS, both ends of a message go by the number of its network interface: of node 0 stations 0 and 1, of node
    1 behind them and those of its injection stations 6 and 7."""
    sends = "".join(f"l{number}: send 8b to 1 nic {nic}\n" for number, nic in enumerate((1, 0, 1)))
    receives = "".join(f"l{number}: recv 8b from 0\n" for number in range(3))
    (tmp_path / "nics.goal").write_text(f"num_ranks 2\nrank 0 {{\n{sends}}}\nrank 1 {{\n{receives}}}\n")
    workload = workload_of(read_goal(tmp_path / "nics.goal"))
    crossbar = network_of(build_topology("crossbar", 2), model="loggop", per_byte_s=1.0, interfaces=Interfaces(2))
    plan = make_plan(bind(workload, Machine("two", Processor(1.0), crossbar)), ("interfaces",))
    assert [(way[0][1], way[-1][1]) for _, _, way in ways(plan)] == [(1, 7), (0, 6), (1, 7)]


def ways(plan: Plan) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """(source rank, target rank, stations as (kind, unit)) of every message that travels."""
    routes, stations = plan.routes, plan.stations
    for op in np.flatnonzero(plan.kind == SEND) if routes is not None else ():
        route = routes.route[op]
        if route != NONE:
            visited = routes.station[routes.start[route] : routes.start[route + 1]]
            yield (
                int(plan.rank[op]),
                int(plan.peer[op]),
                [(int(stations.kind[s]), int(stations.unit[s])) for s in visited],
            )


@given(communications(), st.sampled_from([("links",), ("interfaces",), ("links", "interfaces")]))
def test_messages_visit_interface_links_and_interface_in_turn(
    case: tuple[Machine, int, Step, Traffic], effects: tuple[str, ...]
) -> None:
    machine, ranks, step, traffic = case
    plan = plan_of(machine, ranks, (step,), effects)
    node = machine.node_of(ranks)
    far = 0
    for source, target, way in ways(plan):
        a, b = int(node[source]), int(node[target])
        links = [(LINK, link) for link in machine.network.topology.route(a, b).tolist()] if "links" in effects else []
        if "interfaces" in effects:
            interfaces = machine.network.interfaces
            first, *way, last = way
            assert (first[0], first[1] // interfaces.count) == (INTERFACE, a)
            into = b + machine.nodes if interfaces.duplex == "full" else b
            assert (last[0], last[1] // interfaces.count) == (INTERFACE, into)
        assert way == links
        far += 1
    assert far == np.count_nonzero(node[traffic.source] != node[traffic.target])


@given(communications(), st.sets(st.sampled_from(["hops", "imbalance", "noise"])))
def test_nothing_is_shared_without_an_effect_that_shares_it(
    case: tuple[Machine, int, Step, Traffic], effects: set[str]
) -> None:
    machine, ranks, step, _ = case
    plan = plan_of(machine, ranks, (step, read(parse("rank"))), tuple(effects))
    assert plan.routes is None
    assert len(plan.stations) == 0
    assert plan.station is None


def read(size: object, when: str | None = None) -> DiskAccess:
    return DiskAccess(None if when is None else parse(when), Place(), "read", size, parse(2))


@settings(max_examples=examples(60))
@given(MACHINES, st.data())
def test_disks_serve_the_accesses_of_their_nodes(machine: Machine, data: st.DataObject) -> None:
    ranks = data.draw(st.integers(1, min(machine.most_ranks, 20)))
    program = (read(parse("64*rank")), read(parse(64), "rank % 2 == 0"))
    plan = plan_of(machine, ranks, program, ("disks",))
    expected: dict[int, float] = defaultdict(float)
    served: Counter[int] = Counter()
    for rank, node in enumerate(machine.node_of(ranks).tolist()):
        for size in (64.0 * rank, *([64.0] if rank % 2 == 0 else [])):
            expected[node // 2] += 2 * (1.0 + size * PER_BYTE)
            served[node // 2] += 1
    assert carried(plan, DISK, 1.0) == (dict(expected), served)
    assert plan.stations.servers.tolist() == [3] * len(plan.stations)


@given(communications())
def test_stations_are_disks_then_interfaces_then_links_by_number(case: tuple[Machine, int, Step, Traffic]) -> None:
    machine, ranks, step, _ = case
    plan = plan_of(machine, ranks, (read(parse(1)), step), ("links", "interfaces", "disks"))
    names = list(zip(plan.stations.kind.tolist(), plan.stations.unit.tolist(), strict=True))
    assert names == sorted(set(names))
    assert DISK < INTERFACE < LINK
    visited = {station for _, _, way in ways(plan) for station in way}
    assert visited == {name for name in names if name[0] != DISK}
    assert (plan.stations.servers[plan.stations.kind != DISK] == 1).all()


def pair(source: int, target: int) -> tuple[Step, Step]:
    send = Send(parse(f"rank == {source}"), Place(), parse(target), parse(SIZE))
    return send, Receive(parse(f"rank == {target}"), Place(), parse(source), None)


@pytest.mark.parametrize(("mapping", "far"), [("linear", False), ("round_robin", True), ((1, 0, 0, 1), True)])
def test_the_mapping_says_which_messages_leave_their_node(mapping: str | tuple[int, ...], far: bool) -> None:
    """Ranks 0 and 1 of four on two nodes; the ranks that do nothing have their place too."""
    plan = plan_of(machine("crossbar", 2, 2, mapping), 4, pair(0, 1), ("links", "interfaces"))
    assert (plan.routes is not None) == far


def test_disks_of_ranks_are_found_though_the_last_ones_are_idle() -> None:
    plan = plan_of(machine("crossbar", 4, 2, "round_robin"), 8, (read(parse(1), "rank == 3"),), ("disks",))
    assert plan.stations.unit.tolist() == [1]  # rank 3 is on node 3, whose disk is the second of two
    assert plan.station[plan.kind == READ].tolist() == [0]


def test_messages_of_one_pair_share_their_route() -> None:
    ring = Collective(None, Place(), "allgather", "ring", parse(SIZE))
    plan = plan_of(machine("torus", 16), 16, (ring,), ("links",))
    assert np.count_nonzero(plan.kind == SEND) == 16 * 15
    assert len(plan.routes.start) - 1 == 16  # one for every neighbour to the right


def test_a_table_of_costs_that_memory_cannot_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many kinds of messages (sizes) as ranks, and as many of links as edges, each with a bandwidth of its own."""
    nodes = 200
    graph = nx.path_graph(nodes)
    for number, edge in enumerate(graph.edges.values()):
        edge["bandwidth"] = 1e9 + number
    where = Machine(
        "path",
        Processor(1.0),
        network_of(build_topology("graph", nodes, graph=graph), per_byte_s=1e-9, sends="blocking"),
    )
    program = workload("- send: {to: (rank + 1) % P, bytes: 1000 + rank}\n- receive: {from: (rank - 1) % P}")
    needed_bytes = BYTES_PER_COST * (4 + 2 * (nodes - 1)) * nodes

    monkeypatch.setattr(memory_limit, "memory_bytes", lambda: needed_bytes - 1)
    with pytest.raises(CapacityError, match="the costs of 200 kinds of messages, each on 199 kinds of links"):
        make_plan(bind(program, where), ("links",))
    monkeypatch.setattr(memory_limit, "memory_bytes", lambda: needed_bytes)
    routes = make_plan(bind(program, where), ("links",)).routes
    assert routes is not None
    assert routes.link_s.shape == (nodes, nodes - 1)
