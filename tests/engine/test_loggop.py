"""LogGOPS: closed forms and bounds against a small simulator and rank programs that share nothing with the package."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from simcodesign.analytic.collectives.algorithm_form import ALGORITHM_FORMS
from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.halo import halo
from simcodesign.analytic.message_costs import price
from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import parse
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts import Network
from simcodesign.describe.program import Step
from simcodesign.describe.workload import Workload
from simcodesign.report.results.machine_sheet import machine_sheet
from tests import builders, examples
from tests.builders import workload_of_steps

#: Tolerance: at most some thousand sums follow one another, each rounded to 1.1e-16.
RELATIVE = 1e-12
KEYS = sorted(ALGORITHM_FORMS)

# ---------------------------------------------------------------------------------------------------------------------
# The simulator: what a rank does one after another, by the definition of the model


@dataclass(frozen=True)
class Do:
    """``send`` waits for the receive of a large message, ``post`` leaves that to the next ``wait``."""

    what: str  # send, post, receive, wait, work
    peer: int = 0
    size: float = 0.0
    tag: object = None


Program = Iterator[Do]


@dataclass
class Model:
    L: float
    o: float
    g: float
    G: float
    O: float = 0.0  # noqa: E741
    S: float = math.inf

    def busy(self, size: float) -> float:
        return self.o + max(size - 1, 0) * self.O

    def gap(self, size: float) -> float:
        return self.g + max(size - 1, 0) * self.G

    def flight(self, size: float) -> float:
        return self.L + max(size - 1, 0) * self.G


@dataclass
class Rank:
    todo: list[Do]
    ready: float = 0.0
    next_send: float = 0.0
    next_receive: float = 0.0
    posted: list[object] = field(default_factory=list)


class Run:
    """The time at which each of the programs ends."""

    def __init__(self, model: Model, programs: list[list[Do]]) -> None:
        self.model = model
        self.ranks = [Rank(list(reversed(todo))) for todo in programs]
        self.arrived: dict[object, tuple[float, float]] = {}
        self.received: dict[object, float] = {}
        moved = True
        while moved:
            moved = False
            for number, rank in enumerate(self.ranks):
                while rank.todo and self.step(number, rank, rank.todo[-1]):
                    rank.todo.pop()
                    moved = True
        if any(rank.todo for rank in self.ranks):
            raise RuntimeError("ranks wait for each other")
        self.ends = [rank.ready for rank in self.ranks]

    def step(self, number: int, rank: Rank, do: Do) -> bool:
        """Whether it could be done."""
        if do.what == "wait":
            if not all(key in self.received for key in rank.posted):
                return False
            rank.ready = max([rank.ready, *(self.received[key] for key in rank.posted)])
            rank.posted.clear()
        elif do.what == "work":
            rank.ready += do.size
        elif do.what == "receive":
            key = (do.peer, number, do.tag)
            if key not in self.arrived:
                return False
            arrival, size = self.arrived[key]
            begin = max(rank.ready, arrival, rank.next_receive)
            rank.ready = self.received[key] = begin + self.model.busy(size)
            rank.next_receive = begin + self.model.gap(size)
        else:
            self.send(number, rank, do)
        return True

    def send(self, number: int, rank: Rank, do: Do) -> None:
        begin = max(rank.ready, rank.next_send)
        rank.ready = begin + self.model.busy(do.size)
        rank.next_send = begin + self.model.gap(do.size)
        key = (number, do.peer, do.tag)
        assert key not in self.arrived
        self.arrived[key] = (rank.ready + self.model.flight(do.size), do.size)
        if do.size > self.model.S:
            rank.posted.append(key)
            if do.what == "send":
                rank.todo.insert(-1, Do("wait"))


# ---------------------------------------------------------------------------------------------------------------------
# The algorithms as textbooks write them: what one rank does


def sendrecv(to: int, source: int, size: float, tag: object) -> Program:
    yield Do("post", to, size, tag)
    yield Do("receive", source, tag=tag)
    yield Do("wait")


def binomial_broadcast(me: int, count: int, size: float) -> Program:
    mask = 1
    while mask < count:
        if me & mask:
            yield Do("receive", me - mask, tag="down")
            break
        mask <<= 1
    mask >>= 1
    while mask:
        if me + mask < count:
            yield Do("send", me + mask, size, "down")
        mask >>= 1


def binomial_broadcast_nearest_first(me: int, count: int, size: float) -> Program:
    away = 1
    while away <= me:
        away *= 2
    if me:
        yield Do("receive", me - away // 2)
    while me + away < count:
        yield Do("send", me + away, size)
        away *= 2


def binomial_reduce(me: int, count: int, size: float) -> Program:
    mask = 1
    while mask < count:
        if me & mask:
            yield Do("send", me & ~mask, size, "up")
            break
        if me | mask < count:
            yield Do("receive", me | mask, tag="up")
        mask <<= 1


def reduce_broadcast(me: int, count: int, size: float) -> Program:
    yield from binomial_reduce(me, count, size)
    yield from binomial_broadcast(me, count, size)


def linear_broadcast(me: int, count: int, size: float) -> Program:
    if me:
        yield Do("receive", 0)
        return
    for other in range(1, count):
        yield Do("send", other, size)


def recursive_doubling(me: int, count: int, size: float) -> Program:
    power = 1
    while 2 * power <= count:
        power *= 2
    extra = count - power
    if me < 2 * extra and me % 2 == 0:
        yield Do("send", me + 1, size, "in")
        yield Do("receive", me + 1, tag="out")
        return
    if me < 2 * extra:
        yield Do("receive", me - 1, tag="in")
    mine = me // 2 if me < 2 * extra else me - extra
    mask = 1
    while mask < power:
        other = mine ^ mask
        partner = 2 * other + 1 if other < extra else other + extra
        yield from sendrecv(partner, partner, size, mask)
        mask *= 2
    if me < 2 * extra:
        yield Do("send", me - 1, size, "out")


def ring(me: int, count: int, size: float) -> Program:
    for step in range(count - 1):
        yield from sendrecv((me + 1) % count, (me - 1) % count, size, step)


def ring_allreduce(me: int, count: int, size: float) -> Program:
    for step in range(2 * (count - 1)):
        yield from sendrecv((me + 1) % count, (me - 1) % count, size / count, step)


def gather_of_bruck(me: int, count: int, size: float) -> Program:
    have = 1
    while have < count:
        blocks = min(have, count - have)
        yield from sendrecv((me - have) % count, (me + have) % count, blocks * size, have)
        have += blocks


def index_of_bruck(me: int, count: int, size: float) -> Program:
    bit = 1
    while bit < count:
        blocks = sum(1 for block in range(count) if block & bit)
        yield from sendrecv((me + bit) % count, (me - bit) % count, blocks * size, bit)
        bit *= 2


def pairwise(me: int, count: int, size: float) -> Program:
    for away in range(1, count):
        yield from sendrecv((me + away) % count, (me - away) % count, size, away)


def burst(me: int, count: int, size: float) -> Program:
    yield from (Do("post", (me + away) % count, size) for away in range(1, count))
    yield from (Do("receive", (me - away) % count) for away in range(1, count))
    yield Do("wait")


def burst_in_order(me: int, count: int, size: float) -> Program:
    yield from (Do("post", other, size) for other in range(count) if other != me)
    yield from (Do("receive", other) for other in range(count) if other != me)
    yield Do("wait")


def dissemination(me: int, count: int, size: float) -> Program:
    away = 1
    while away < count:
        yield from sendrecv((me + away) % count, (me - away) % count, size, away)
        away *= 2


PROGRAMS: Mapping[tuple[str, str], Callable[[int, int, float], Program]] = {
    ("broadcast", "binomial"): binomial_broadcast,
    ("broadcast", "binomial_nearest_first"): binomial_broadcast_nearest_first,
    ("broadcast", "linear"): linear_broadcast,
    ("allreduce", "recursive_doubling"): recursive_doubling,
    ("allreduce", "ring"): ring_allreduce,
    ("allreduce", "reduce_broadcast"): reduce_broadcast,
    ("allgather", "ring"): ring,
    ("allgather", "bruck"): gather_of_bruck,
    ("allgather", "linear"): burst,
    ("all_to_all", "pairwise"): pairwise,
    ("all_to_all", "linear"): burst,
    ("all_to_all", "bruck"): index_of_bruck,
    ("all_broadcast", "linear"): burst_in_order,
    ("barrier", "dissemination"): dissemination,
}


def halo_exchange(me: int, grid: list[int], sizes: list[float], periodic: bool) -> Program:
    """Neighbours upwards and downwards in every dimension: first all sends, then all receives."""
    places = list(itertools.product(*map(range, grid)))
    here = places[me]
    neighbours = []
    for dim, extent in enumerate(grid):
        for way in (1, -1):
            there = (*here[:dim], here[dim] + way, *here[dim + 1 :])
            if periodic:
                there = (*here[:dim], (here[dim] + way) % extent, *here[dim + 1 :])
            if there in places and there != here:
                neighbours.append((places.index(there), dim, way))
    yield from (Do("post", other, sizes[dim], (dim, way)) for other, dim, way in neighbours)
    yield from (Do("receive", other, tag=(dim, -way)) for other, dim, way in neighbours)
    yield Do("wait")


def collective_s(key: tuple[str, str], model: Model, count: int, size: float) -> float:
    return max(Run(model, [list(PROGRAMS[key](me, count, size)) for me in range(count)]).ends)


# ---------------------------------------------------------------------------------------------------------------------
# Machines of both sides


def network(model: Model, nodes: int = 64) -> Network:
    limit = None if math.isinf(model.S) else model.S
    return builders.network(
        nodes,
        model="loggop",
        latency_s=model.L,
        overhead_s=model.o,
        gap_s=model.g,
        per_byte_s=model.G,
        overhead_per_byte_s=model.O,
        rendezvous_above_bytes=limit,
    )


def close(value: object) -> object:
    return pytest.approx(float(value), rel=RELATIVE, abs=0)


def times(most: float) -> st.SearchStrategy[float]:
    """Values that tie, and values over several orders of magnitude."""
    return st.one_of(st.sampled_from([0.0, most, most / 2]), st.floats(most * 1e-4, most))


SIZES = st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0, 8.0, 100.0, 1e6]), st.floats(0, 1e6))
LIMITS = st.sampled_from([math.inf, math.inf, 0.0, 8.0, 500.0])
MODELS = st.builds(Model, times(1e-5), times(1e-5), times(1e-4), times(1e-8), times(1e-8), LIMITS)
#: The processor is never done before the gap is over.
PATIENT = MODELS.map(lambda m: Model(m.L, m.o, min(m.g, m.o), min(m.G, m.O), m.O, m.S))


def test_every_algorithm_has_a_program() -> None:
    assert PROGRAMS.keys() == ALGORITHM_FORMS.keys()


@pytest.mark.parametrize("ranks", [2**k for k in range(13)])
@pytest.mark.parametrize("size", [1, 8, 1000])
def test_published_time_of_a_binomial_broadcast(ranks: int, size: int) -> None:
    """LogGP without O: ceil(log2 P) (2o + L + (m - 1) G), as long as the gap is no longer than that."""
    model = Model(L=2.5e-6, o=1.5e-6, g=4e-6, G=6e-9)
    rounds = math.ceil(math.log2(ranks))
    expected = rounds * (2 * model.o + model.L + (size - 1) * model.G)
    result = ALGORITHM_FORMS["broadcast", "binomial"].cost(float(size), price(network(model), float(ranks)))
    assert result.time_s == pytest.approx(expected, rel=RELATIVE, abs=0)
    assert collective_s(("broadcast", "binomial"), model, ranks, size) == close(result.time_s)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "model",
    [
        Model(L=2.5e-6, o=1.5e-6, g=1e-6, G=6e-9),  # the processor limits
        Model(L=2.5e-6, o=1.5e-6, g=3e-6, G=6e-9, O=1e-9),  # the gap does
        Model(L=1e-6, o=1e-6, g=2e-5, G=6e-9, S=100.0),  # the gap is longer than a message
        Model(L=2e-5, o=1e-6, g=1e-6, G=0.0, O=6e-9, S=0.0),  # a long way, and large messages only
    ],
    ids=["overhead", "gap", "long gap", "long way"],
)
def test_every_number_of_ranks(key: tuple[str, str], model: Model) -> None:
    for ranks in range(1, 35):
        cost = ALGORITHM_FORMS[key].cost(700.0, price(network(model), float(ranks)))
        assert cost.time_s == close(collective_s(key, model, ranks, 700.0)), ranks


@settings(max_examples=examples(300))
@given(st.sampled_from(KEYS), st.integers(1, 34), SIZES, MODELS)
def test_every_price(key: tuple[str, str], ranks: int, size: float, model: Model) -> None:
    cost = ALGORITHM_FORMS[key].cost(size, price(network(model), float(ranks)))
    assert cost.time_s == close(collective_s(key, model, ranks, size))


def test_a_message_of_the_limit_is_not_waited_for() -> None:
    """Two messages of the root: eager ones are g + x G apart, beyond S bytes the second waits for the first."""
    model = Model(L=100.0, o=1.0, g=2.0, G=0.0, S=64.0)
    for size, expected in ((64.0, 2 + 102), (65.0, 102 + 102)):
        assert ALGORITHM_FORMS["broadcast", "linear"].cost(size, price(network(model), 3.0)).time_s == expected
        assert collective_s(("broadcast", "linear"), model, 3, size) == expected


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(st.integers(1, 5), SIZES), min_size=1, max_size=3), st.booleans(), MODELS)
def test_halo_exchange(dims: list[tuple[int, float]], periodic: bool, model: Model) -> None:
    grid, sizes = [extent for extent, _ in dims], [size for _, size in dims]
    ranks = math.prod(grid)
    programs = [list(halo_exchange(me, grid, sizes, periodic)) for me in range(ranks)]
    extents = [float(extent) for extent in grid]
    assert halo(sizes, extents, periodic, price(network(model), ranks)).time_s == close(max(Run(model, programs).ends))


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("limit", [None, 64.0])
def test_formulas_are_vectorised_over_everything(key: tuple[str, str], limit: float | None) -> None:
    ranks, sizes = np.arange(1.0, 41.0)[:, None, None], np.array([0.0, 8.0, 1e6])[:, None]
    gaps = np.array([1e-7, 1e-4])
    base = network(Model(2e-6, 1e-6, 1e-6, 1e-9, 2e-9, math.inf if limit is None else limit))
    letters = {**vars(base), "gap_s": gaps}
    every = ALGORITHM_FORMS[key].cost(sizes, price(Network(**letters), ranks))
    for place in np.ndindex(40, 3, 2):
        one_network = Network(**{**letters, "gap_s": float(gaps[place[2]])})
        one = ALGORITHM_FORMS[key].cost(float(sizes[place[1], 0]), price(one_network, float(ranks[place[0], 0, 0])))
        for part, single in vars(one).items():
            assert np.broadcast_to(getattr(every, part), (40, 3, 2))[place] == close(single)


def test_hops_and_storing_lengthen_the_flight() -> None:
    model = Model(L=2e-6, o=1e-6, g=1e-6, G=6e-9)
    letters = vars(network(model)) | {"hop_latency_s": 1e-7, "link_per_byte_s": 2e-9}
    assert price(Network(**letters), 8, 3.0).message(1000.0).flight_s == close(2e-6 + 3e-7 + 999 * 6e-9)
    stored = Network(**(letters | {"switching": "store_and_forward"}))
    assert price(stored, 8, 3.0).message(1000.0).flight_s == close(2e-6 + 3e-7 + 999 * 6e-9 + 2 * 1000 * 2e-9)


# ---------------------------------------------------------------------------------------------------------------------
# Programs


def machine(model: Model, ranks: int) -> Machine:
    return builders.machine(network(model, max(ranks, 2)))


def collective(key: tuple[str, str], size: float) -> Collective:
    return Collective(None, Place(), *key, parse(size))


def together(model: Model, ranks: int, steps: list[tuple[tuple[str, str], float] | float]) -> float:
    """Time of collectives and of work of rank 0, one after another on every rank."""
    programs: list[list[Do]] = [[] for _ in range(ranks)]
    for number, step in enumerate(steps):
        for me, program in enumerate(programs):
            if isinstance(step, float):
                program.append(Do("work", size=step if me == 0 else 0.0))
                continue
            for do in PROGRAMS[step[0]](me, ranks, step[1]):
                program.append(Do(do.what, do.peer, do.size, (number, do.tag)))
    return max(Run(model, programs).ends)


def workload(steps: list[tuple[tuple[str, str], float] | float]) -> Workload:
    program: list[Step] = []
    for step in steps:
        lone = isinstance(step, float)
        program.append(Compute(parse("rank == 0"), Place(), "seconds", parse(step)) if lone else collective(*step))
    return workload_of_steps(*program)


#: All ranks leave them together when they come together.
LEVEL = [key for key in KEYS if key[0] != "broadcast" and key[1] not in ("reduce_broadcast", "recursive_doubling")]
STEPS = st.lists(st.one_of(st.tuples(st.sampled_from(KEYS), SIZES), times(1e-4)), min_size=1, max_size=4)


@settings(max_examples=examples(150))
@given(
    st.lists(st.tuples(st.sampled_from([key for key in LEVEL if key[0] != "all_broadcast"]), SIZES), max_size=4),
    st.integers(1, 12),
    PATIENT,
)
def test_sums_are_exact_where_all_leave_together(
    steps: list[tuple[tuple[str, str], float]], ranks: int, model: Model
) -> None:
    result = forecast(workload([*steps]), machine(model, ranks), {"P": ranks})
    assert result.makespan_s == close(together(model, ranks, [*steps]))


@settings(max_examples=examples(200))
@given(STEPS, st.integers(1, 12), PATIENT)
def test_sums_are_never_too_low_where_gaps_are_over(
    steps: list[tuple[tuple[str, str], float] | float], ranks: int, model: Model
) -> None:
    level = [step for step in steps if not isinstance(step, float)]
    result = forecast(workload(level), machine(model, ranks), {"P": ranks})
    assert together(model, ranks, [*level]) <= result.makespan_s * (1 + RELATIVE)


@settings(max_examples=examples(200))
@given(STEPS, st.integers(1, 12), MODELS)
def test_every_simulation_lies_in_its_bounds(
    steps: list[tuple[tuple[str, str], float] | float], ranks: int, model: Model
) -> None:
    bounds = forecast(workload(steps), machine(model, ranks), {"P": ranks}, bounds=True).bounds
    assert bounds is not None
    result = together(model, ranks, steps)
    assert bounds.lower_s["ranks' own work"] <= result * (1 + RELATIVE)
    assert result <= bounds.upper_s * (1 + RELATIVE)


def shift(size: str, received: str | None = None) -> tuple[Demand, Demand]:
    send = Send(None, Place(), parse("(rank + 1) % P"), parse(size))
    return send, Receive(None, Place(), parse("(rank - 1) % P"), None if received is None else parse(received))


@given(SIZES, MODELS.filter(lambda m: math.isinf(m.S)), st.booleans())
def test_a_send_and_its_receive(size: float, model: Model, states_size: bool) -> None:
    """All ranks pass something on: the flight is the send's, and the receive knows the size from the send."""
    program = workload_of_steps(*shift(repr(size), repr(size) if states_size else None))
    expected = Run(model, [list(sendrecv((me + 1) % 5, (me - 1) % 5, size, 0)) for me in range(5)])
    assert forecast(program, machine(model, 5), {"P": 5}).makespan_s == close(max(expected.ends))


@settings(max_examples=examples(100))
@given(st.lists(st.tuples(SIZES, times(1e-4)), min_size=1, max_size=5), MODELS.filter(lambda m: math.isinf(m.S)))
def test_shifts_lie_in_their_bounds(steps: list[tuple[float, float]], model: Model) -> None:
    """Passing on, with work of rank 0 before the receive."""
    program: list[Step] = []
    ranks: list[list[Do]] = [[] for _ in range(4)]
    for number, (size, work) in enumerate(steps):
        send, receive = shift(repr(size))
        program += [send, Compute(parse("rank == 0"), Place(), "seconds", parse(work)), receive]
        for me, todo in enumerate(ranks):
            todo += [Do("send", (me + 1) % 4, size, number), Do("work", size=work if me == 0 else 0.0)]
            todo += [Do("receive", (me - 1) % 4, tag=number)]
    largest = max(Run(model, ranks).ends)
    bounds = forecast(workload_of_steps(*program), machine(model, 4), {"P": 4}, bounds=True).bounds
    assert bounds is not None
    assert bounds.lower_s["ranks' own work"] <= largest * (1 + RELATIVE)
    assert largest <= bounds.upper_s * (1 + RELATIVE)


def test_a_receive_of_what_the_source_sends() -> None:
    """Sizes that differ among ranks: rank r receives 100 (r - 1) bytes, and rank 0 what the last rank sent."""
    model = Model(L=0.0, o=0.0, g=0.0, G=0.0, O=1.0)
    result = forecast(workload_of_steps(*shift("1 + 100*rank")), machine(model, 4), {"P": 4})
    assert result.makespan_s == 300 + 200  # rank 3; rank 0 sends nothing beyond the first byte, and receives 300
    assert result.messages == 4


def test_the_sheet_shows_every_letter() -> None:
    limited = Model(L=2.5e-6, o=1.5e-6, g=1e-6, G=6e-9, O=1e-9, S=65536.0)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(*machine_sheet(machine(limited, 4)))
    rows = [" ".join(line.split()) for line in console.export_text().split("\n")]
    for row in ("latency L 2.5 us", "overhead o 1.5 us", "overhead per byte O 1 ns/B", "rendezvous above S 65.54 kB"):
        assert row in rows
    assert any(row.startswith("gap g 1 us") for row in rows)
    assert any(row.startswith("time per byte G 6 ns/B") for row in rows)
