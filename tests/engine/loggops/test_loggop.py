"""LogGOPS: closed forms, programs and bounds against rank programs of textbooks, run as LogGOPSim runs schedules."""

from __future__ import annotations

import functools
import io
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rich.console import Console

from simcodesign.analytic.collectives.algorithm_form import ALGORITHM_FORMS
from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.messages.halo import halo, is_least_halo
from simcodesign.analytic.messages.message_costs import price
from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import parse
from simcodesign.core.operation_kinds import COMPUTE, RECEIVE, SEND
from simcodesign.describe.demands.collective import IN_SWITCH, Collective
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.demands.exchange import Exchange
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.goal.format import read_goal, write_goal
from simcodesign.describe.goal.schedule import NONE, Schedule
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.network import Network
from simcodesign.describe.programs.program import Step
from simcodesign.describe.yaml.files import workload_of
from simcodesign.engine.simulate import schedule_of, simulate
from simcodesign.report.machines.machine_sheet import machine_sheet
from tests import THOROUGH, builders, examples, numbers_of_ranks
from tests.builders import network_of, workload_of_steps
from tests.oracles.messages.collective_rounds import bine_edges
from tests.oracles.messages.loggopsim import LogGOPS, LogGOPSim
from tests.random_programs import random_program

#: Tolerance: at most some thousand sums follow one another, each rounded to 1.1e-16.
RELATIVE = 1e-12
#: Estimates in LogGOPS: many messages of a round are posted together; and what ``test_in_switch`` tests.
ESTIMATES = {
    ("allreduce", "double_tree"),
    ("allreduce", "hierarchical_chunks"),
    ("broadcast", "split_binary_tree"),
    *IN_SWITCH,
}
KEYS = sorted(ALGORITHM_FORMS.keys() - ESTIMATES)
NEVER = 2**32 - 1
HERE = Place()

# ---------------------------------------------------------------------------------------------------------------------
# Rank programs as schedules


@dataclass(frozen=True)
class Do:
    """``send`` and ``receive`` wait by themselves, but what comes from a ``post`` on is posted together, to ``wait``."""

    what: str  # send, post, receive, wait
    peer: int = 0
    size: int = 0
    tag: object = None


Program = Iterator[Do]


def schedule(programs: list[list[Do]]) -> Schedule:
    """The programs of ranks: what is posted together requires all that was posted before, through a calc of no time
    where it was more than two."""
    numbers = {key: place for place, key in enumerate(sorted({str(do.tag) for todo in programs for do in todo}))}
    rows: list[tuple[int, int, int, int]] = []  # kind, peer, size, tag
    edges: list[tuple[int, int]] = []
    first = [0]
    for todo in programs:
        before: list[int] = []
        for group in groups(todo):
            now = list(range(len(rows), len(rows) + len(group)))
            rows += [
                (SEND if do.what != "receive" else RECEIVE, do.peer, do.size, numbers[str(do.tag)]) for do in group
            ]
            edges += [(source, target) for source in before for target in now]
            if len(now) > 2:
                edges += [(op, len(rows)) for op in now]
                now = [len(rows)]
                rows.append((COMPUTE, NONE, 0, 0))
            before = now
        first.append(len(rows))
    kind, peer, size, tag = np.array(rows, np.int64).reshape(-1, 4).T
    edges.sort()
    source = np.array([source for source, _ in edges], np.int64)
    return Schedule(
        name="textbook",
        first=np.array(first, np.int64),
        kind=kind.astype(np.int8),
        peer=peer.astype(np.int32),
        size_bytes=size.astype(float),
        calc_s=np.zeros(len(rows)),
        tag=tag.astype(np.int32),
        cpu=np.zeros(len(rows), np.int32),
        edge_start=np.concatenate([[0], np.cumsum(np.bincount(source, minlength=len(rows)))]).astype(np.int64),
        edge_target=np.array([target for _, target in edges], np.int32),
        edge_early=np.zeros(len(edges), bool),
        place=HERE,
    )


def groups(todo: list[Do]) -> Iterator[list[Do]]:
    group: list[Do] = []
    for do in todo:
        if do.what == "post" or group:
            if do.what != "wait":
                group.append(do)
                continue
            yield group
            group = []
        elif do.what != "wait":
            yield [do]


def makespan_ns(what: Schedule, model: LogGOPS) -> int:
    """The last end, by the rules of LogGOPSim."""
    ends = LogGOPSim(what, model).end
    assert None not in ends
    return max([0, *ends])  # type: ignore[type-var, return-value]


# ---------------------------------------------------------------------------------------------------------------------
# The algorithms as textbooks write them: what one rank does


def sendrecv(to: int, source: int, size: int, tag: object) -> Program:
    yield Do("post", to, size, tag)
    yield Do("receive", source, tag=tag)
    yield Do("wait")


def binomial_broadcast(me: int, count: int, size: int) -> Program:
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


def binomial_broadcast_near(me: int, count: int, size: int) -> Program:
    away = 1
    while away <= me:
        away *= 2
    if me:
        yield Do("receive", me - away // 2)
    while me + away < count:
        yield Do("send", me + away, size)
        away *= 2


def binomial_reduce(me: int, count: int, size: int) -> Program:
    mask = 1
    while mask < count:
        if me & mask:
            yield Do("send", me & ~mask, size, "up")
            break
        if me | mask < count:
            yield Do("receive", me | mask, tag="up")
        mask <<= 1


def reduce_broadcast(me: int, count: int, size: int) -> Program:
    yield from binomial_reduce(me, count, size)
    yield from binomial_broadcast(me, count, size)


def linear_broadcast(me: int, count: int, size: int) -> Program:
    if me:
        yield Do("receive", 0)
        return
    for other in range(1, count):
        yield Do("send", other, size)


def linear_gather(me: int, count: int, size: int) -> Program:
    if me:
        yield Do("send", 0, size)
        return
    for other in range(1, count):
        yield Do("receive", other)


def binary_broadcast(me: int, count: int, size: int) -> Program:
    if me:
        yield Do("receive", (me - 1) // 2)
    for child in (2 * me + 1, 2 * me + 2):
        if child < count:
            yield Do("send", child, size)


def interleaved_broadcast(me: int, count: int, size: int) -> Program:
    """Ranks 2^l - 1 + i of level l have the children i and i + 2^l of the next level."""
    level = (me + 1).bit_length() - 1
    place = me + 1 - 2**level
    if me:
        yield Do("receive", 2 ** (level - 1) - 1 + place % 2 ** (level - 1))
    for below in (place, place + 2**level):
        if 2 ** (level + 1) - 1 + below < count:
            yield Do("send", 2 ** (level + 1) - 1 + below, size)


def chains_from_the_root(me: int, count: int, size: int, chains: int) -> Program:
    """Rows of ranks of even lengths, the longer ones first."""
    rows: list[list[int]] = []
    for row in range(chains):
        start = 1 + sum(map(len, rows))
        rows.append([*range(start, start + (count - 2 + chains - row) // chains)])
    if me == 0:
        yield from (Do("send", row[0], size) for row in rows if row)
        return
    own = next(row for row in rows if me in row)
    yield Do("receive", 0 if me == own[0] else me - 1)
    if me != own[-1]:
        yield Do("send", me + 1, size)


def binary_reduce(me: int, count: int, size: int) -> Program:
    for child in (2 * me + 2, 2 * me + 1):
        if child < count:
            yield Do("receive", child)
    if me:
        yield Do("send", (me - 1) // 2, size)


def interleaved_reduce(me: int, count: int, size: int) -> Program:
    """The same tree upwards, from the nearer child first."""
    level = (me + 1).bit_length() - 1
    place = me + 1 - 2**level
    for below in (place, place + 2**level):
        if 2 ** (level + 1) - 1 + below < count:
            yield Do("receive", 2 ** (level + 1) - 1 + below)
    if me:
        yield Do("send", 2 ** (level - 1) - 1 + place % 2 ** (level - 1), size)


def asked_gather(me: int, count: int, size: int) -> Program:
    """The root asks each rank, and waits for its answer."""
    if me:
        yield Do("receive", 0)
        yield Do("send", 0, size)
    for other in range(1, count if me == 0 else 1):
        yield Do("send", other, 0)
        yield Do("receive", other)


def chain(me: int, count: int, size: int) -> Program:
    if me:
        yield Do("receive", me - 1)
    if me + 1 < count:
        yield Do("send", me + 1, size)


def reversed_chain(me: int, count: int, size: int) -> Program:
    if me + 1 < count:
        yield Do("receive", me + 1)
    if me:
        yield Do("send", me - 1, size)


def binomial_scatter(me: int, count: int, size: int) -> Program:
    """As MPICH has it: a rank has the blocks of all ranks up to the next one with its lowest bit or a higher one."""
    mask, blocks = 1, count
    while mask < count:
        if me & mask:
            yield Do("receive", me - mask)
            blocks = min(mask, count - me)
            break
        mask <<= 1
    mask >>= 1
    while mask:
        if me + mask < count:
            yield Do("send", me + mask, (blocks - mask) * size)
            blocks = mask
        mask >>= 1


def binomial_gather(me: int, count: int, size: int) -> Program:
    mask, blocks = 1, 1
    while mask < count:
        if me & mask:
            yield Do("send", me - mask, blocks * size)
            break
        if me + mask < count:
            yield Do("receive", me + mask)
            blocks += min(mask, count - me - mask)
        mask <<= 1


def recursive_halving_gather(me: int, count: int, size: int, blocks: bool = False) -> Program:
    """The upper half of those that are left sends to the lower half, all that it has or a block of it."""
    have, left = 1, 1
    while left < count:
        left *= 2
    while left > 1:
        left //= 2
        if left <= me:
            yield Do("send", me - left, (have if blocks else 1) * size)
            return
        if me + left < count:
            yield Do("receive", me + left)
            have += sum(1 for rank in range(count) if rank % (2 * left) == me + left)


def recursive_doubling_scatter(me: int, count: int, size: int) -> Program:
    away = 1
    while away <= me:
        away *= 2
    if me:
        yield Do("receive", me - away // 2)
    while me + away < count:
        yield Do("send", me + away, sum(1 for rank in range(count) if rank % (2 * away) == me + away) * size)
        away *= 2


def scatter_ring(me: int, count: int, size: int) -> Program:
    yield from binomial_scatter(me, count, size // count)
    yield from ring(me, count, size // count)


def recursive_doubling(me: int, count: int, size: int) -> Program:
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


def bine_broadcast(me: int, count: int, size: int) -> Program:
    if count & (count - 1):
        yield from binomial_broadcast(me, count, size)
        return
    for parent, child in itertools.chain(*bine_edges(count)):
        if me == child:
            yield Do("receive", parent, tag="down")
        if me == parent:
            yield Do("send", child, size, "down")


def bine_reduce(me: int, count: int, size: int) -> Program:
    if count & (count - 1):
        yield from binomial_reduce(me, count, size)
        return
    for parent, child in itertools.chain(*reversed(bine_edges(count))):
        if me == child:
            yield Do("send", parent, size, "up")
        if me == parent:
            yield Do("receive", child, tag="up")


def bine_allreduce(me: int, count: int, size: int) -> Program:
    if count & (count - 1):
        yield from recursive_doubling(me, count, size)
        return
    for step in range(count.bit_length() - 1):
        apart = sum((-2) ** place for place in range(step + 1))
        partner = (me + (-apart if me % 2 else apart)) % count
        yield from sendrecv(partner, partner, size, step)


def ring(me: int, count: int, size: int) -> Program:
    for step in range(count - 1):
        yield from sendrecv((me + 1) % count, (me - 1) % count, size, step)


def ring_allreduce(me: int, count: int, size: int) -> Program:
    for step in range(2 * (count - 1)):
        yield from sendrecv((me + 1) % count, (me - 1) % count, size // count, step)


def gather_of_bruck(me: int, count: int, size: int) -> Program:
    have = 1
    while have < count:
        blocks = min(have, count - have)
        yield from sendrecv((me - have) % count, (me + have) % count, blocks * size, have)
        have += blocks


def index_of_bruck(me: int, count: int, size: int) -> Program:
    bit = 1
    while bit < count:
        blocks = sum(1 for block in range(count) if block & bit)
        yield from sendrecv((me + bit) % count, (me - bit) % count, blocks * size, bit)
        bit *= 2


def pairwise(me: int, count: int, size: int) -> Program:
    for away in range(1, count):
        yield from sendrecv((me + away) % count, (me - away) % count, size, away)


def burst(me: int, count: int, size: int) -> Program:
    yield from (Do("post", (me + away) % count, size) for away in range(1, count))
    yield from (Do("receive", (me - away) % count) for away in range(1, count))
    yield Do("wait")


def burst_in_order(me: int, count: int, size: int) -> Program:
    yield from (Do("post", other, size) for other in range(count) if other != me)
    yield from (Do("receive", other) for other in range(count) if other != me)
    yield Do("wait")


def dissemination(me: int, count: int, size: int) -> Program:
    away = 1
    while away < count:
        yield from sendrecv((me + away) % count, (me - away) % count, size, away)
        away *= 2


def halves(me: int, count: int, size: int) -> Program:
    """Rabenseifner's allreduce of ``size`` times the largest power of two up to P bytes."""
    power = 1
    while 2 * power <= count:
        power *= 2
    extra = count - power
    if me < 2 * extra and me % 2 == 0:
        yield Do("send", me + 1, power * size, "in")
        yield Do("receive", me + 1, tag="out")
        return
    if me < 2 * extra:
        yield Do("receive", me - 1, tag="in")
    mine = me // 2 if me < 2 * extra else me - extra
    distances = [2**k for k in range(power.bit_length() - 1)]
    for number, mask in enumerate([*distances, *distances[::-1]]):
        other = mine ^ mask
        partner = 2 * other + 1 if other < extra else other + extra
        yield from sendrecv(partner, partner, power * size // (2 * mask), number)
    if me < 2 * extra:
        yield Do("send", me - 1, power * size, "out")


def halving_scatter(me: int, count: int, size: int) -> Program:
    left = count
    while left > 1:
        away = 1
        while 2 * away < left:
            away *= 2
        to, source = (me ^ away,) * 2 if 2 * away == left else ((me + away) % count, (me - away) % count)
        if count & (count - 1):
            to, source = (me + away) % count, (me - away) % count
        yield from sendrecv(to, source, (left - away) * size, away)
        left = away


def doubling_gather(me: int, count: int, size: int) -> Program:
    if count & (count - 1):
        yield from gather_of_bruck(me, count, size)
        return
    away = 1
    while away < count:
        yield from sendrecv(me ^ away, me ^ away, away * size, away)
        away *= 2


def neighbours_in_turn(me: int, count: int, size: int) -> Program:
    if count % 2:
        yield from ring(me, count, size)
        return
    for step in range(count // 2):
        other = (me + (-1) ** (me + step)) % count
        yield from sendrecv(other, other, size if step == 0 else 2 * size, step)


def doubling_scan(me: int, count: int, size: int) -> Program:
    away = 1
    while away < count:
        if me ^ away < count:
            yield from sendrecv(me ^ away, me ^ away, size, away)
        away *= 2


#: What sends a P-th of the bytes around a ring.
RINGS = {
    ("allreduce", "ring"),
    ("allreduce", "ring_channels"),
    ("allreduce", "hierarchical"),
    ("broadcast", "scatter_allgather"),
}
PROGRAMS: Mapping[tuple[str, str], Callable[[int, int, int], Program]] = {
    ("broadcast", "binomial"): binomial_broadcast,
    ("broadcast", "binomial_near"): binomial_broadcast_near,
    ("broadcast", "binary_tree"): binary_broadcast,
    ("broadcast", "interleaved_binary_tree"): interleaved_broadcast,
    ("broadcast", "chain"): chain,
    ("broadcast", "three_chains"): functools.partial(chains_from_the_root, chains=3),
    ("broadcast", "four_chains"): functools.partial(chains_from_the_root, chains=4),
    ("broadcast", "scatter_allgather"): scatter_ring,
    ("broadcast", "linear"): linear_broadcast,
    ("reduce", "binomial"): binomial_reduce,
    ("reduce", "binomial_far"): recursive_halving_gather,
    ("reduce", "binary_tree"): binary_reduce,
    ("reduce", "interleaved_binary_tree"): interleaved_reduce,
    ("reduce", "chain"): reversed_chain,
    ("reduce", "linear"): linear_gather,
    ("scatter", "binomial"): binomial_scatter,
    ("scatter", "binomial_near"): recursive_doubling_scatter,
    ("scatter", "linear"): linear_broadcast,
    ("gather", "binomial"): binomial_gather,
    ("gather", "binomial_far"): functools.partial(recursive_halving_gather, blocks=True),
    ("gather", "linear"): linear_gather,
    ("gather", "linear_synchronised"): asked_gather,
    ("broadcast", "bine"): bine_broadcast,
    ("reduce", "bine"): bine_reduce,
    ("allreduce", "bine"): bine_allreduce,
    ("allreduce", "recursive_doubling"): recursive_doubling,
    ("allreduce", "ring"): ring_allreduce,
    ("allreduce", "reduce_broadcast"): reduce_broadcast,
    ("allreduce", "rabenseifner"): halves,
    ("reduce_scatter", "recursive_halving"): halving_scatter,
    ("reduce_scatter", "ring"): ring,
    ("reduce_scatter", "pairwise"): pairwise,
    ("scan", "recursive_doubling"): doubling_scan,
    ("scan", "linear"): chain,
    ("allgather", "recursive_doubling"): doubling_gather,
    ("allgather", "neighbour_exchange"): neighbours_in_turn,
    ("allgather", "ring"): ring,
    ("allgather", "bruck"): gather_of_bruck,
    ("allgather", "linear"): burst,
    ("all_to_all", "pairwise"): pairwise,
    ("all_to_all", "linear"): burst,
    ("all_to_all", "bruck"): index_of_bruck,
    ("all_broadcast", "linear"): burst_in_order,
    ("barrier", "dissemination"): dissemination,
    # Where every rank has a node for itself:
    ("broadcast", "two_level"): binomial_broadcast,
    ("reduce", "two_level"): binomial_reduce,
    ("allreduce", "two_level"): recursive_doubling,
    ("allgather", "two_level"): ring,
    ("barrier", "two_level"): dissemination,
}
for _operation, _flat in (
    ("allreduce", "ring"),
    ("reduce_scatter", "ring"),
    ("allgather", "ring"),
    ("all_to_all", "pairwise"),
):
    PROGRAMS[_operation, "hierarchical"] = PROGRAMS[_operation, _flat]
    if _flat == "ring":
        PROGRAMS[_operation, "ring_channels"] = PROGRAMS[_operation, _flat]


def halo_exchange(me: int, grid: list[int], sizes: list[int], periodic: bool) -> Program:
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


def collective_ns(key: tuple[str, str], model: LogGOPS, count: int, size: int) -> int:
    """``size``: of a message around the ring, which takes a P-th of all."""
    size = size * count if key in RINGS else size
    return makespan_ns(schedule([list(PROGRAMS[key](me, count, size)) for me in range(count)]), model)


# ---------------------------------------------------------------------------------------------------------------------
# Machines of both sides


def network(model: LogGOPS, nodes: int = 64, **more: object) -> Network:
    return builders.network(
        nodes,
        model="loggop",
        latency_s=model.L / 1e9,
        overhead_s=model.o / 1e9,
        gap_s=model.g / 1e9,
        per_byte_s=model.G / 1e9,
        overhead_per_byte_s=model.O / 1e9,
        rendezvous_above_bytes=None if model.S >= NEVER else float(model.S),
        **more,
    )


def machine(model: LogGOPS, ranks: int, **more: object) -> Machine:
    return builders.machine(network(model, max(ranks, 2), **more))


def close(value_ns: float) -> object:
    return pytest.approx(value_ns / 1e9, rel=RELATIVE, abs=0)


def times(most: int) -> st.SearchStrategy[int]:
    """Values that tie, and values over several orders of magnitude."""
    return st.one_of(st.sampled_from([0, most, most // 2]), st.integers(0, most))


SIZES = st.one_of(st.sampled_from([0, 1, 2, 8, 100, 4096]), st.integers(0, 10**5))
LIMITS = st.sampled_from([NEVER, NEVER, 0, 8, 500])
MODELS = st.builds(LogGOPS, times(10**4), times(10**4), times(10**5), times(10), times(10), LIMITS)


def is_exact(key: tuple[str, str], ranks: int) -> bool:
    """Ranks that scatter before they gather come to the ring later than others; where P is no power of two, so do those
    that fold in, and some have no partner in a round of a scan."""
    if is_bound(key, ranks):
        return False
    differs = key in {("allreduce", "rabenseifner"), ("scan", "recursive_doubling")}
    return key[1] != "scatter_allgather" and not (differs and ranks & (ranks - 1))


def is_bound(key: tuple[str, str], ranks: int) -> bool:
    """Whether the closed form is a lower bound."""
    least = ALGORITHM_FORMS[key].least_in_loggops
    return least is not None and bool(least(float(ranks)))


def sent_bytes(key: tuple[str, str], ranks: int, size: int) -> float:
    if key == ("allreduce", "rabenseifner"):
        return float(size * 2 ** (ranks.bit_length() - 1))
    return float(size * ranks if key in RINGS or key[0] == "reduce_scatter" else size)


def test_every_algorithm_has_a_program() -> None:
    assert PROGRAMS.keys() == ALGORITHM_FORMS.keys() - ESTIMATES


@pytest.mark.parametrize("ranks", [2**k for k in range(9)])
@pytest.mark.parametrize("size", [1, 8, 1000])
def test_published_time_of_a_binomial_broadcast(ranks: int, size: int) -> None:
    """LogGP without O: ceil(log2 P) (2o + L + (m - 1) G), as long as the gap is no longer than that."""
    model = LogGOPS(L=2500, o=1500, g=4000, G=6, O=0, S=NEVER)
    expected = math.ceil(math.log2(ranks)) * (2 * model.o + model.L + (size - 1) * model.G)
    result = ALGORITHM_FORMS["broadcast", "binomial"].cost(float(size), price(network(model), float(ranks)))
    assert result.time_s == close(expected)
    assert collective_ns(("broadcast", "binomial"), model, ranks, size) == expected


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "model",
    [
        LogGOPS(L=2500, o=1500, g=1000, G=6, O=0, S=NEVER),  # the processor limits
        LogGOPS(L=2500, o=1500, g=1000, G=6, O=6, S=NEVER),  # for each byte
        LogGOPS(L=0, o=1500, g=3000, G=6, O=1, S=NEVER),  # the gap does
        LogGOPS(L=1000, o=1000, g=20000, G=6, O=0, S=100),  # the gap is longer than a message
        LogGOPS(L=20000, o=1000, g=1000, G=0, O=6, S=0),  # a long way, and large messages only
        LogGOPS(L=20000, o=300, g=2000, G=1, O=0, S=NEVER),  # several messages on their way at a time
    ],
    ids=["overhead", "per byte", "gap", "long gap", "long way", "pipe"],
)
def test_every_number_of_ranks(key: tuple[str, str], model: LogGOPS) -> None:
    for ranks in (*numbers_of_ranks(17), *((31, 64) if THOROUGH else ())):
        if is_exact(key, ranks):
            cost = ALGORITHM_FORMS[key].cost(sent_bytes(key, ranks, 700), price(network(model), float(ranks)))
            assert cost.time_s == close(collective_ns(key, model, ranks, 700)), ranks
        elif is_bound(key, ranks):
            cost = ALGORITHM_FORMS[key].cost(sent_bytes(key, ranks, 700), price(network(model), float(ranks)))
            assert cost.time_s <= collective_ns(key, model, ranks, 700) / 1e9 * (1 + RELATIVE), ranks


@settings(max_examples=examples(200))
@given(st.sampled_from(KEYS), st.integers(1, 34), SIZES, MODELS)
def test_every_price(key: tuple[str, str], ranks: int, size: int, model: LogGOPS) -> None:
    expected = collective_ns(key, model, ranks, size)
    if is_exact(key, ranks):
        cost = ALGORITHM_FORMS[key].cost(sent_bytes(key, ranks, size), price(network(model), float(ranks)))
        assert cost.time_s == close(expected)
    step = Collective(None, HERE, *key, parse(sent_bytes(key, ranks, size)))
    simulated = simulate(workload_of_steps(step), machine(model, ranks), {"P": ranks}, effects="none")
    assert simulated.makespan_s == close(expected)


def test_a_message_of_the_limit_is_not_waited_for() -> None:
    """Two messages of the root: eager ones are g apart, beyond S bytes the second waits until the first is there."""
    model = LogGOPS(L=100, o=1, g=2, G=0, O=0, S=64)
    for size, expected in ((64, 2 + 102), (65, 101 + 102)):
        cost = ALGORITHM_FORMS["broadcast", "linear"].cost(float(size), price(network(model), 3.0))
        assert cost.time_s == close(expected)
        assert collective_ns(("broadcast", "linear"), model, 3, size) == expected


@settings(max_examples=examples(100))
@given(st.lists(st.tuples(st.integers(1, 5), SIZES), min_size=1, max_size=3), MODELS, st.booleans())
def test_halo_exchange(dims: list[tuple[int, int]], model: LogGOPS, periodic: bool) -> None:
    grid, sizes = [extent for extent, _ in dims], [size for _, size in dims]
    ranks = math.prod(grid)
    programs = [list(halo_exchange(me, grid, sizes, periodic)) for me in range(ranks)]
    extents, floats = [float(extent) for extent in grid], [float(size) for size in sizes]
    expected = makespan_ns(schedule(programs), model)
    prices = price(network(model), ranks)
    if is_least_halo(floats, extents, periodic, prices, [1.0] * len(floats)):
        assert halo(floats, extents, periodic, prices).time_s <= expected / 1e9 * (1 + 1e-12)
    else:
        assert halo(floats, extents, periodic, prices).time_s == close(expected)


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.integers(1, 5), SIZES), min_size=1, max_size=3), MODELS, st.booleans())
def test_halo_exchange_simulated(dims: list[tuple[int, int]], model: LogGOPS, periodic: bool) -> None:
    grid, sizes = [extent for extent, _ in dims], [size for _, size in dims]
    ranks = math.prod(grid)
    expected = makespan_ns(schedule([list(halo_exchange(me, grid, sizes, periodic)) for me in range(ranks)]), model)
    step = Exchange(
        None, HERE, len(grid), tuple(parse(size) for size in sizes), tuple(parse(extent) for extent in grid), periodic
    )
    result = simulate(workload_of_steps(step), machine(model, ranks), {"P": ranks}, effects="none")
    assert result.makespan_s == close(expected)


@pytest.mark.parametrize(
    ("program", "ranks", "O", "expected_ns"),
    [
        # o + x max(O, G) = 26,070 for each message, and as long for 4,000 of o + L as for the message before.
        ("all_to_all: {bytes: 4096, algorithm: linear}", 64, 0, 63 * 30_070),
        ("broadcast: {bytes: 4096}", 8, 0, 90_210),
        ("broadcast: {bytes: 4096}", 8, 3, 90_210),
        ("broadcast: {bytes: 4096}", 64, 6, 6 * 30_070),
        ("barrier: {}", 8, 3, 3 * 5500),
        ("allgather: {bytes: 4096, algorithm: linear}", 8, 3, 278_985),
        ("all_to_all: {bytes: 4096, algorithm: linear}", 8, 3, 278_985),
    ],
)
@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_makespans_of_loggopsim(program: str, ranks: int, O: int, expected_ns: int, engine: str) -> None:  # noqa: E741
    """Patterns of its schedules that a program can state."""
    on = machine(LogGOPS(L=2500, o=1500, g=1000, G=6, O=O, S=NEVER), ranks)
    result = simulate(builders.workload(f"- {program}"), on, {"P": ranks}, effects="none", engine=engine)
    assert result.makespan_s == close(expected_ns)


# ---------------------------------------------------------------------------------------------------------------------
# Programs


@settings(max_examples=examples(60))
@given(st.randoms(use_true_random=False), MODELS, st.integers(1, 12))
def test_a_program_takes_the_time_of_the_schedule_it_is_exported_as(
    tmp_path_factory: pytest.TempPathFactory, rng: object, model: LogGOPS, ranks: int
) -> None:
    text = random_program(rng)  # type: ignore[arg-type]
    assume("in_switch" not in text)  # GOAL cannot express it
    program, on = builders.workload(text), machine(model, ranks)
    runs = [
        simulate(program, on, {"P": ranks}, effects="none", engine=engine, timeline=True)
        for engine in ("simpy", "compiled")
    ]
    assert runs[0].timeline is not None
    assert runs[1].timeline is not None
    assert np.array_equal(runs[0].timeline.finish_s, runs[1].timeline.finish_s)
    exported = schedule_of(program, on, {"P": ranks})
    if not len(exported) or (exported.size_bytes != np.rint(exported.size_bytes)).any():
        return  # GOAL has whole bytes only
    path = tmp_path_factory.mktemp("goal") / "a.goal"
    write_goal(exported, path)
    read = read_goal(path)
    replayed = simulate(workload_of(read), on, effects="none", timeline=True)
    assert replayed.timeline is not None
    assert np.array_equal(replayed.timeline.finish_s, runs[0].timeline.finish_s)
    assert [end / 1e9 for end in LogGOPSim(read, model).end] == runs[0].timeline.finish_s.tolist()  # type: ignore[operator]


def test_a_send_that_waits_for_its_gap_does_not_hold_the_processor() -> None:
    """The second send begins at 50; the computation of the same rank, which has another message to wait for, does not
    wait for that."""
    model = LogGOPS(L=100, o=10, g=50, G=0, O=0, S=NEVER)
    sends = [Send(parse("rank == 0"), HERE, parse(1), parse(1), tag) for tag in (0, 1)]
    receives = [Receive(parse("rank == 1"), HERE, parse(0), parse(1), tag) for tag in (0, 1)]
    back = Send(parse("rank == 1"), HERE, parse(0), parse(1), 2), Receive(parse("rank == 0"), HERE, parse(1), None, 2)
    program = workload_of_steps(back[0], *sends, *receives, back[1])
    result = simulate(program, machine(model, 2), {"P": 2}, effects="none", timeline=True)
    assert result.timeline is not None
    # Rank 0: sends at 0 and 50; the message of rank 1 is there at 110. Rank 1: messages at 110 and 160.
    assert [round(end * 1e9, 6) for end in result.timeline.finish_s.tolist()] == [10, 60, 120, 10, 120, 170]


def collective(key: tuple[str, str], size: int) -> Collective:
    return Collective(None, HERE, *key, parse(size))


STEPS = st.lists(st.one_of(st.tuples(st.sampled_from(KEYS), SIZES), times(10**5)), min_size=1, max_size=4)


@settings(max_examples=examples(150))
@given(STEPS, st.integers(1, 12), MODELS, st.sampled_from(["none", "links", "interfaces"]))
def test_every_simulation_lies_in_its_bounds(
    steps: list[tuple[tuple[str, str], int] | int], ranks: int, model: LogGOPS, effects: str
) -> None:
    program: list[Step] = [
        Compute(parse("rank == 0"), HERE, "seconds", parse(step / 1e9)) if isinstance(step, int) else collective(*step)
        for step in steps
    ]
    check_bounds(program, machine(model, ranks), ranks, effects)


def check_bounds(program: list[Step], on: Machine, ranks: int, effects: str = "none") -> None:
    work = workload_of_steps(*program)
    bounds = forecast(work, on, {"P": ranks}, bounds=True).bounds
    assert bounds is not None
    makespan_s = simulate(work, on, {"P": ranks}, effects=effects).makespan_s
    assert bounds.lower_s["ranks' own work"] <= makespan_s * (1 + RELATIVE)
    assert makespan_s <= bounds.upper_s * (1 + RELATIVE)


def shift(size: str, received: str | None = None) -> tuple[Send, Receive]:
    send = Send(None, HERE, parse("(rank + 1) % P"), parse(size))
    return send, Receive(None, HERE, parse("(rank - 1) % P"), None if received is None else parse(received))


@settings(max_examples=examples(100))
@given(SIZES, MODELS.filter(lambda m: m.S == NEVER and m.O <= m.G and m.o >= 1), st.booleans())
def test_a_send_and_its_receive(size: int, model: LogGOPS, states_size: bool) -> None:
    """All ranks pass something on: the way is the send's, and the receive knows the size from the send. A message that
    is there before its receiver has sent its own waits for that."""
    rest = max(size - 1, 0)
    program = workload_of_steps(*shift(str(size), str(size) if states_size else None))
    result = simulate(program, machine(model, 5), {"P": 5}, effects="none")
    arrival, send = model.o + model.L, model.o + rest * model.O
    assert result.makespan_s == close(max(arrival, send) + model.o + rest * model.G)
    assert forecast(program, machine(model, 5), {"P": 5}).makespan_s == close(result.makespan_s * 1e9)


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(SIZES, times(10**5)), min_size=1, max_size=5), MODELS.filter(lambda m: m.S == NEVER))
def test_shifts_lie_in_their_bounds(steps: list[tuple[int, int]], model: LogGOPS) -> None:
    """Passing on, with work of rank 0 before the receive."""
    program: list[Step] = []
    for size, work in steps:
        send, receive = shift(str(size))
        program += [send, Compute(parse("rank == 0"), HERE, "seconds", parse(work / 1e9)), receive]
    check_bounds(program, machine(model, 4), 4)


def test_a_receive_of_what_the_source_sends() -> None:
    """Sizes that differ among ranks: rank r receives 100 (r - 1) bytes, and rank 0 what the last rank sent."""
    model = LogGOPS(L=0, o=0, g=0, G=0, O=1, S=NEVER)
    result = forecast(workload_of_steps(*shift("1 + 100*rank")), machine(model, 4), {"P": 4})
    assert result.makespan_s == close(300 + 200)  # rank 3; rank 0 sends nothing beyond the first byte
    assert result.messages == 4


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("limit", [NEVER, 64])
def test_formulas_are_vectorised_over_everything(key: tuple[str, str], limit: int) -> None:
    ranks, sizes = np.arange(1.0, 41.0)[:, None, None], np.array([0.0, 8.0, 1e6])[:, None]
    gaps = np.array([1e-7, 1e-4])
    letters = {**vars(network(LogGOPS(2000, 1000, 1000, 1, 2, limit))), "gap_s": gaps}
    every = ALGORITHM_FORMS[key].cost(sizes, price(network_of(**letters), ranks))
    for place in np.ndindex(40, 3, 2):
        one_network = network_of(**{**letters, "gap_s": float(gaps[place[2]])})
        one = ALGORITHM_FORMS[key].cost(float(sizes[place[1], 0]), price(one_network, float(ranks[place[0], 0, 0])))
        for part, single in vars(one).items():
            value = np.broadcast_to(getattr(every, part), (40, 3, 2))[place]
            assert value == pytest.approx(float(single), rel=RELATIVE, abs=0)


def test_hops_and_storing_delay_the_arrival() -> None:
    """o + L and the hops; bytes that are stored again."""
    letters = vars(network(LogGOPS(2000, 1000, 1000, 6, 0, NEVER))) | {"hop_latency_s": 1e-7, "link_per_byte_s": 2e-9}
    assert price(network_of(**letters), 8, 3.0).message(1000.0).arrival_s == close(3000 + 300)
    stored = network_of(**(letters | {"switching": "store_and_forward"}))
    assert price(stored, 8, 3.0).message(1000.0).arrival_s == close(3000 + 300 + 2 * 1000 * 2)


def test_the_sheet_shows_every_letter() -> None:
    limited = LogGOPS(L=2500, o=1500, g=1000, G=6, O=1, S=65536)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(*machine_sheet(machine(limited, 4)))
    rows = [" ".join(line.split()) for line in console.export_text().split("\n")]
    for row in ("latency L 2.5 us", "overhead o 1.5 us", "overhead per byte O 1 ns/B", "rendezvous above S 64 KiB"):
        assert row in rows
    assert any(row.startswith("gap g 1 us") for row in rows)
    assert any(row.startswith("time per byte G 6 ns/B") for row in rows)
