"""What messages cost, message by message: durations, gaps, flights, the table of costs, and the routes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import parse
from simcodesign.core.operation_kinds import RECEIVE, SEND
from simcodesign.describe.demands.collective import ALGORITHMS, Collective
from simcodesign.describe.demands.exchange import Exchange
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.design_point import bind
from simcodesign.describe.effects import switched_on
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.network.interfaces import DUPLEXES, Interfaces
from simcodesign.describe.network.message_models.hockney import NONBLOCKING, SENDS, Hockney
from simcodesign.describe.network.network import DISTANCES, SWITCHINGS, Network
from simcodesign.describe.programs.program import MAIN_PHASE, Block, Step
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from simcodesign.engine.reference.run import run as run_loggops
from simcodesign.generate.columns import Column
from simcodesign.generate.messages import route_table
from simcodesign.generate.messages.pricing import MessagePricing
from simcodesign.generate.plan import INTERFACE, LINK, NONE, Plan
from tests import examples
from tests.builders import network_of, plan_of

HERE = Place()
EFFECTS = [
    (),
    ("hops",),
    ("links",),
    ("interfaces",),
    ("hops", "interfaces"),
    ("links", "interfaces"),
    ("hops", "links", "interfaces"),
]
TIMES = st.sampled_from([0.0, 2.0**-6, 2.0**-3, 0.1])


# ---------------------------------------------------------------------------------------------------------------------
# The oracle: the docstring of Network, for one message


@dataclass(frozen=True)
class Message:
    """What one message costs, from the constants of the network and nothing else."""

    network: Network
    size: float
    hops: float

    @property
    def beyond_first(self) -> float:
        return max(self.size - 1, 0.0)

    @property
    def over_hops(self) -> float:
        """Flight of the head over the hops, with the message stored before each but the first."""
        stored = max(self.hops - 1, 0.0) if self.network.is_stored else 0.0
        link = (
            self.network.message_model.per_byte_s
            if self.network.link_per_byte_s is None
            else self.network.link_per_byte_s
        )
        return self.hops * self.network.hop_latency_s + stored * self.size * link

    @property
    def overhead(self) -> float:
        return (
            self.network.message_model.overhead_s + self.beyond_first * self.network.message_model.overhead_per_byte_s
        )

    @property
    def inject(self) -> float:
        if self.network.message_model.name == "loggop":
            return self.network.message_model.overhead_s + self.network.message_model.latency_s - self.first_byte
        return self.network.message_model.startup_s * (
            max(self.hops, 1.0) if self.network.message_model.starts_at_every_hop else 1.0
        )

    @property
    def first_byte(self) -> float:
        """A link is busy for all bytes of a message, the first one included, which LogGOPS counts to o + L."""
        return min(
            min(self.size, 1.0) * self.network.message_model.per_byte_s,
            self.network.message_model.overhead_s + self.network.message_model.latency_s,
        )

    @property
    def tail(self) -> float:
        if self.network.message_model.name == "loggop":
            return self.beyond_first * self.network.message_model.per_byte_s + self.first_byte
        return self.size * self.network.message_model.per_byte_s

    @property
    def arrival(self) -> float:
        """Of the last byte; in LogGOPS of the first."""
        if self.network.message_model.name == "loggop":
            return self.network.message_model.overhead_s + self.network.message_model.latency_s + self.over_hops
        return self.inject + self.over_hops + self.tail

    @property
    def sender(self) -> float:
        if self.network.message_model.name == "hockney" and self.network.message_model.sends == NONBLOCKING:
            return self.network.message_model.startup_s
        if self.network.message_model.name == "hockney" and not self.network.message_model.hops_hold_sender:
            return self.network.message_model.startup_s + self.tail
        return self.overhead if self.network.message_model.name == "loggop" else self.arrival

    @property
    def receiver(self) -> float:
        if self.network.message_model.name == "hockney":
            return self.network.message_model.receive_overhead_s
        each = max(self.network.message_model.overhead_per_byte_s, self.network.message_model.per_byte_s)
        return self.network.message_model.overhead_s + self.beyond_first * each

    @property
    def gap(self) -> float:
        return (
            self.network.message_model.gap_s + self.beyond_first * self.network.message_model.per_byte_s
            if self.network.message_model.name == "loggop"
            else 0.0
        )


def law(network: Network, ranks: int) -> float:
    match network.distance:
        case "none":
            return 0.0
        case "log2":
            return math.log(ranks, 2)
        case "sqrt":
            return ranks**0.5
        case "mean":
            nodes = network.topology.node_count
            pairs = [(a, b) for a in range(nodes) for b in range(nodes) if a != b]
            return float(np.mean([len(network.topology.route(a, b)) for a, b in pairs])) if pairs else 0.0
    return 1.0


def hops_of(machine: Machine, ranks: int, source: int, target: int, effects: tuple[str, ...]) -> float:
    if not {"hops", "links"} & {*effects}:
        return law(machine.network, ranks)
    node = machine.node_of(ranks)
    return float(len(machine.network.topology.route(int(node[source]), int(node[target]))))


# ---------------------------------------------------------------------------------------------------------------------
# Random machines and programs


@st.composite
def networks(draw: st.DrawFn, topology: object, model: str) -> Network:
    per_byte = draw(st.sampled_from([0.0, 2.0**-10, 1e-3]))
    own = {
        "latency_s": draw(TIMES),
        "overhead_s": draw(TIMES),
        "gap_s": draw(TIMES),
        "overhead_per_byte_s": draw(TIMES),
    }
    if model == "hockney":
        own = {
            "startup_s": draw(TIMES),
            "receive_overhead_s": draw(TIMES),
            "startup_per": draw(st.sampled_from(["message", "hop"])),
            "sends": draw(st.sampled_from(SENDS)),
        }
        own["hops_hold_sender"] = own["sends"] == NONBLOCKING or draw(st.booleans())
    return network_of(
        topology,
        per_byte_s=per_byte,
        hop_latency_s=draw(TIMES),
        model=model,
        distance=draw(st.sampled_from(DISTANCES)),
        switching=draw(st.sampled_from(SWITCHINGS)),
        link_per_byte_s=draw(st.sampled_from([None, per_byte / 4])),
        interfaces=Interfaces(1, draw(st.sampled_from(DUPLEXES)), draw(st.sampled_from([None, per_byte / 2]))),
        **own,
    )


@st.composite
def machines(draw: st.DrawFn, models: tuple[str, ...] = ("hockney", "loggop")) -> Machine:
    kind, nodes = (
        draw(st.sampled_from(["bus", "crossbar", "fat_tree", "hypercube", "mesh", "torus", "tree"])),
        draw(st.sampled_from([2, 4, 8])),
    )
    topology = build_topology(kind, nodes, **({"arity": 2} if kind == "fat_tree" else {}))
    per_node = draw(st.integers(1, 3))
    places = draw(st.permutations([node for node in range(nodes) for _ in range(per_node)]))
    mapping = draw(st.one_of(st.sampled_from(["linear", "round_robin", "one_per_node"]), st.just(tuple(places))))
    network = draw(networks(topology, draw(st.sampled_from(models))))
    return Machine("test machine", Processor(1.0), network, processors_per_node=per_node, mapping=mapping)


def pair(tag: int, shift: str, size: str) -> tuple[Step, Step]:
    """Every rank but the last sends to the right, perhaps further; sizes differ by rank."""
    when = parse(f"rank + {shift} < P")
    send = Send(when, HERE, parse(f"rank + {shift}"), parse(size), tag)
    return send, Receive(
        parse(f"rank >= {shift}"), HERE, parse(f"rank - {shift}"), parse(size.replace("rank", f"(rank - {shift})")), tag
    )


@st.composite
def programs(draw: st.DrawFn) -> tuple[Step, ...]:
    steps: list[Step] = []
    for number in range(draw(st.integers(1, 3))):
        which = draw(st.integers(0, 2))
        if which == 0:
            name = draw(st.sampled_from(sorted(ALGORITHMS)))
            algorithm = draw(st.sampled_from(sorted(ALGORITHMS[name])))
            steps.append(Collective(None, HERE, name, algorithm, parse(draw(st.sampled_from([0, 1, 24])))))
        elif which == 1:
            dims = draw(st.integers(1, 2))
            steps.append(Exchange(None, HERE, dims, (parse(24),) * dims, None, draw(st.booleans())))
        else:
            steps += pair(
                number, draw(st.sampled_from(["1", "2"])), draw(st.sampled_from(["0", "8", "64*max(rank, 0)"]))
            )
    return tuple(steps)


# ---------------------------------------------------------------------------------------------------------------------
# Tests


def exact(value: float) -> object:
    """Sums of a few terms in whatever order."""
    return pytest.approx(value, rel=1e-14, abs=0)


def check_message(plan: Plan, op: int, machine: Machine, effects: tuple[str, ...]) -> None:
    """Everything that the Plan says about one send or receive."""
    receives = plan.kind[op] == RECEIVE
    here, there = int(plan.rank[op]), int(plan.peer[op])
    source, target = (there, here) if receives else (here, there)
    message = Message(
        machine.network, float(plan.size_bytes[op]), hops_of(machine, plan.ranks, source, target, effects)
    )
    assert plan.duration_s[op] == exact(message.receiver if receives else message.sender)
    if plan.gap_s is not None:
        assert plan.gap_s[op] == exact(message.gap)
    else:
        assert message.gap == 0
    if not receives:
        check_arrival(plan, op, message, machine, effects)


def check_arrival(plan: Plan, op: int, message: Message, machine: Machine, effects: tuple[str, ...]) -> None:
    arrives = plan.duration_s[op] if plan.flight_s is None else plan.flight_s[op]
    assert arrives == exact(message.arrival)
    routes = plan.routes
    if routes is None or routes.route[op] == NONE:
        return
    row, network, links = routes.cost[op], machine.network, "links" in effects
    assert routes.inject_s[row] == exact(message.inject)
    assert routes.tail_s[row] == exact(message.tail)
    assert routes.link_s[row] == exact(message.size * network.link_occupancy_s_per_byte)
    assert routes.interface_s[row] == exact(message.size * network.interface_occupancy_s_per_byte)
    assert routes.after_interface_s[row] == exact(0.0 if links else message.over_hops)
    assert routes.latency_s[row] == network.hop_latency_s


def check_route(plan: Plan, op: int, machine: Machine, effects: tuple[str, ...]) -> None:
    """Interface, links as the topology lists them for one pair, interface; nothing within a node."""
    node = machine.node_of(plan.ranks)
    a, b = int(node[plan.rank[op]]), int(node[plan.peer[op]])
    shared = bool({"links", "interfaces"} & {*effects})
    expected = []
    if a != b and "links" in effects:
        expected += [(LINK, link) for link in machine.network.topology.route(a, b).tolist()]
    if a != b and "interfaces" in effects:
        full = machine.network.interfaces.duplex == "full"
        expected = [(INTERFACE, a), *expected, (INTERFACE, b + machine.nodes * full)]
    route = NONE if plan.routes is None else plan.routes.route[op]
    assert (route != NONE) == (shared and a != b)
    if route != NONE:
        way = plan.routes.station[plan.routes.start[route] : plan.routes.start[route + 1]]
        stations = plan.stations
        assert [(int(stations.kind[s]), int(stations.unit[s])) for s in way] == expected


def check_all(plan: Plan, machine_of: list[Machine], effects: tuple[str, ...]) -> None:
    for op in np.flatnonzero((plan.kind == SEND) | (plan.kind == RECEIVE)).tolist():
        check_message(plan, op, machine_of[plan.phase[op]], effects)
        if plan.kind[op] == SEND:
            check_route(plan, op, machine_of[plan.phase[op]], effects)
    if plan.routes is not None:
        assert (plan.routes.route[plan.kind != SEND] == NONE).all()
        rows = list(
            zip(
                *(getattr(plan.routes, name).tolist() for name in vars(plan.routes) if name.endswith("_s")), strict=True
            )
        )
        assert len(rows) == len(set(rows))  # a row for each cost, not for each message


@settings(max_examples=examples(200))
@given(machines(), programs(), st.sampled_from(EFFECTS), st.data(), st.booleans())
def test_every_message_has_its_price_and_its_route(
    machine: Machine, program: tuple[Step, ...], effects: tuple[str, ...], data: st.DataObject, sparse: bool
) -> None:
    ranks = data.draw(st.integers(1, min(machine.most_ranks, 10)))
    few, most = (3, 0) if sparse else (route_table.PAIRS_AT_ONCE, route_table.DENSE_STATIONS)
    with patch.multiple(route_table, PAIRS_AT_ONCE=few, DENSE_STATIONS=most):
        plan = plan_of(machine, ranks, sent_as_on(machine, program), effects)
    check_all(plan, [machine], effects)


@pytest.mark.parametrize("effects", [("links",), ("interfaces",)])
def test_columns_of_some_ranks_are_not_taken_for_columns_of_all(effects: tuple[str, ...]) -> None:
    """Two ranks that send to 1 and 0, rank 0 that sends to 1, and rank 1 that sends to 0."""
    machine = Machine("test machine", Processor(1.0), network_of(build_topology("mesh", 2), sends="blocking"))
    swap = Collective(None, HERE, "all_to_all", "pairwise", parse(8))
    back = (
        Send(parse("rank == 1"), HERE, parse(0), parse(8), 1),
        Receive(parse("rank == 0"), HERE, parse(1), parse(8), 1),
    )
    for program in ((swap, *pair(0, "1", "8"), *back), (*back, *pair(0, "1", "8"), swap)):
        check_all(plan_of(machine, 2, program, effects), [machine], effects)


CONSTANTS = {
    "hockney": {"network.startup": 0.75, "network.per_byte": 0.125},
    "loggop": {"network.L": 0.75, "network.o": 0.25, "network.g": 0.5, "network.G": 0.125},
}


def sent_as_on(machine: Machine, program: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the program whose collective operations state the sends of the machine: some have others of their own
    (system/readings/test_sends_by_demand.py)."""
    sends = getattr(machine.network.message_model, "sends", Hockney.sends)
    return tuple(replace(step, sends=sends) if isinstance(step, Collective) else step for step in program)


def two_phases(program: tuple[Step, ...], constants: dict[str, float]) -> tuple[Step, ...]:
    priced = tuple((path, parse(value)) for path, value in constants.items())
    return (*program, Block(parse(2), program, phase="dear", constants=priced, place=HERE))


@settings(max_examples=examples(60))
@given(st.sampled_from(["hockney", "loggop"]), st.data(), programs(), st.sampled_from(EFFECTS))
def test_constants_of_a_phase_hold_there_only(
    model: str, data: st.DataObject, program: tuple[Step, ...], effects: tuple[str, ...]
) -> None:
    machine = data.draw(machines((model,)))
    ranks = data.draw(st.integers(1, min(machine.most_ranks, 6)))
    plan = plan_of(machine, ranks, two_phases(sent_as_on(machine, program), CONSTANTS[model]), effects)
    assert plan.phases == (MAIN_PHASE, "dear")
    check_all(plan, [machine, machine.with_constants(CONSTANTS[model])], effects)


@settings(max_examples=examples(60))
@given(st.sampled_from(["hockney", "loggop"]), st.data(), programs(), st.sampled_from(EFFECTS))
def test_a_phase_may_bring_the_constants_of_another_model(
    model: str, data: st.DataObject, program: tuple[Step, ...], effects: tuple[str, ...]
) -> None:
    """Hockney's messages have no gap and arrive with the end of their send; those of LogGOPS have both."""
    machine = data.draw(machines((model,)))
    other = CONSTANTS["hockney" if model == "loggop" else "loggop"]
    ranks = data.draw(st.integers(1, min(machine.most_ranks, 6)))
    plan = plan_of(machine, ranks, two_phases(sent_as_on(machine, program), other), effects)
    check_all(plan, [machine, machine.with_constants(other)], effects)


@pytest.mark.parametrize("model", ["hockney", "loggop"])
def test_a_receive_that_states_no_size_costs_as_much(model: str) -> None:
    """The size is that of its message."""
    constants = (
        {"overhead_s": 1.0, "overhead_per_byte_s": 0.5, "gap_s": 2.0, "latency_s": 4.0}
        if model == "loggop"
        else {"startup_s": 1.0}
    )
    machine = Machine(
        "test machine",
        Processor(1.0),
        network_of(build_topology("crossbar", 2), model=model, per_byte_s=0.25, **constants),
    )
    send, receive = pair(0, "1", "5")
    silent = Receive(receive.when, HERE, receive.source, None, 0)
    for effects in EFFECTS:
        plan, other = (plan_of(machine, 2, (send, end), effects) for end in (receive, silent))
        for name in ("size_bytes", "duration_s", "gap_s", "flight_s"):
            assert np.array_equal(getattr(plan, name), getattr(other, name)), name


def test_a_receive_from_anyone_needs_a_size_where_that_is_not_clear() -> None:
    network = network_of(
        build_topology("crossbar", 3), model="loggop", overhead_s=1.0, overhead_per_byte_s=0.5, gap_s=2.0
    )
    machine = Machine("test machine", Processor(1.0), network)
    silent, stated = (Receive(parse("rank == 0"), HERE, None, size, 0) for size in (None, parse(9)))

    def sent(size: str) -> Send:
        return Send(parse("rank > 0"), HERE, parse(0), parse(size), 0)

    for program in ((sent("9"), silent, silent), (sent("rank"), stated, stated)):
        assert plan_of(machine, 3, program, ()).duration_s[:2].tolist() == [5.0, 5.0]
    with pytest.raises(InputError, match="states no size"):
        plan_of(machine, 3, (sent("rank"), silent, silent), ())


# ---------------------------------------------------------------------------------------------------------------------
# LogGOPS by hand: o = 1, g = 5, G = 1/4, L = 8, O = 1/2, messages of 5 bytes


def by_hand(program: tuple[Step, ...], ranks: int, effects: tuple[str, ...] = ()) -> list[list[float]]:
    """When every rank is done with each of its operations."""
    network = network_of(
        build_topology("crossbar", ranks),
        model="loggop",
        latency_s=8.0,
        overhead_s=1.0,
        gap_s=5.0,
        per_byte_s=0.25,
        overhead_per_byte_s=0.5,
    )
    plan = plan_of(Machine("test machine", Processor(1.0), network), ranks, program, effects)
    return [part.tolist() for part in np.split(run_loggops(plan).finish_s, plan.first[1:-1])]


def test_one_message() -> None:
    """Sender o + 4 O = 3; its first byte is there o + L = 9 after the beginning; receiver o + 4 max(O, G) = 3."""
    assert by_hand(pair(0, "1", "5"), 2) == [[3.0], [12.0]]


def test_messages_in_a_row() -> None:
    """The second send begins g + 4 G = 6 after the first, since 6 > o + 4 O; so is the second message taken up."""
    send, receive = pair(0, "1", "5")
    assert by_hand((send, send, receive, receive), 2) == [[3.0, 9.0], [12.0, 18.0]]


def test_senders_of_one_receiver() -> None:
    """Both messages are there at 9; the second is taken up 6 after the first, not 3."""
    send = Send(parse("rank > 0"), HERE, parse(0), parse(5), 0)
    receives = tuple(Receive(parse("rank == 0"), HERE, parse(source), parse(5), 0) for source in (1, 2))
    assert by_hand((send, *receives), 3)[0] == [12.0, 18.0]


@pytest.mark.parametrize("model", ["hockney", "loggop"])
def test_columns_in_a_row_are_priced_as_each_of_them_alone(model: str) -> None:
    """What is the same as in the column before is not computed again; what differs in anything is."""
    constants = (
        {"startup_s": 1e-6}
        if model == "hockney"
        else {"latency_s": 1e-6, "overhead_s": 1e-6, "gap_s": 2e-6, "rendezvous_above_bytes": 64.0}
    )
    network = network_of(build_topology("torus", 8), model=model, per_byte_s=1e-9, hop_latency_s=1e-7, **constants)
    workload = Workload("w", {}, {}, (Collective(None, Place(), "barrier", "dissemination", parse(0)),))
    machine = Machine("m", Processor(1e9), network)
    prices = MessagePricing(bind(workload, machine, {"P": 8}), switched_on(("hops", "links", "interfaces")), seed=0)
    ring, back, some = (
        np.roll(np.arange(8, dtype=np.int32), 1),
        np.arange(8, dtype=np.int32)[::-1],
        np.arange(4, dtype=np.int32),
    )
    sizes = np.arange(8) * 50.0
    columns = [
        Column(SEND, None, ring, 8.0),
        Column(SEND, None, ring, 8.0),
        Column(SEND, None, ring, 100.0),
        Column(SEND, None, back, 100.0),
        Column(SEND, None, back, sizes),
        Column(SEND, None, back, sizes),
        Column(SEND, some, back[:4], 100.0),
        Column(SEND, None, back, 100.0),
        Column(RECEIVE, None, back, 100.0, match=-1),
        Column(RECEIVE, None, back, 100.0, match=-2),
        Column(RECEIVE, None, back, 8.0, match=-3),
        *([Column(SEND, None, ring, 8.0), Column(SEND, None, ring, 8.0, train=2)] if model == "hockney" else []),
    ]
    together = prices.priced(columns, machine)
    for column, priced in zip(columns, together, strict=True):
        (alone,) = prices.priced([column], machine)
        assert (priced.match, priced.size_bytes is column.size_bytes) == (column.match, True)
        np.testing.assert_array_equal(priced.duration_s, alone.duration_s)
        assert priced.extra.keys() == alone.extra.keys()
        for name, value in alone.extra.items():
            np.testing.assert_array_equal(priced.extra[name], value)
