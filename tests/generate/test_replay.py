"""Schedules replayed: published times, times by hand, and a slow simulator that is written from the description alone.

``tests/engine/loggops/test_loggopsim.py`` compares schedules in LogGOPS with LogGOPSim."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import DeadlockError, InputError, Place
from simcodesign.core.operation_kinds import COMPUTE, RECEIVE, SEND
from simcodesign.describe.design_point import bind
from simcodesign.describe.goal.format import read_goal
from simcodesign.describe.goal.schedule import ANY, ANY_TAG, NONE, Schedule
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.yaml.files import workload_of
from simcodesign.engine.selection import run
from simcodesign.engine.simulate import simulate
from simcodesign.generate.lower import make_plan
from tests import examples
from tests.builders import network_of

ENGINES = ["simpy", "compiled"]
#: Times are multiples of this, so that all sums of them are exact.
TICK = 2.0**-30


@dataclass(frozen=True)
class Model:
    """LogGOPS, or Hockney's model if there is a ``startup``; in ticks."""

    L: int = 0
    o: int = 0
    g: int = 0
    G: int = 0
    O: int = 0  # noqa: E741
    S: float = math.inf
    startup: int | None = None
    overhead: int = 0

    def machine(self, nodes: int, tick: float = TICK) -> Machine:
        topology = build_topology("crossbar", max(nodes, 2))
        limit = None if math.isinf(self.S) else self.S
        if self.startup is not None:
            constants = {"startup_s": self.startup, "receive_overhead_s": self.overhead, "per_byte_s": self.G}
            times = {name: value * tick for name, value in constants.items()}
            network = network_of(topology, sends="blocking", rendezvous_above_bytes=limit, **times)
        else:
            letters = {"latency_s": self.L, "overhead_s": self.o, "gap_s": self.g, "per_byte_s": self.G}
            letters["overhead_per_byte_s"] = self.O
            network = network_of(
                topology,
                model="loggop",
                rendezvous_above_bytes=limit,
                **{name: value * tick for name, value in letters.items()},
            )
        return Machine("test machine", Processor(1e9), network)


def read(folder: Path, text: str) -> Schedule:
    (folder / "a.goal").write_text(text)
    return read_goal(folder / "a.goal")


def schedule_of(ranks: Sequence[Sequence[str]], folder: Path) -> Schedule:
    blocks = [f"rank {rank} {{\n" + "\n".join(lines) + "\n}\n" for rank, lines in enumerate(ranks)]
    return read(folder, f"num_ranks {len(ranks)}\n" + "".join(blocks))


def replay(schedule: Schedule, machine: Machine, engine: str) -> tuple[list[float], list[int]]:
    """When every operation is done, and the send whose message each receive took (NONE for the others).

    Before a receive whose start something waits for stands its posting in the Plan; after a send that waits for its
    receiver, in Hockney's model, stands that wait.
    """
    plan = make_plan(bind(workload_of(schedule), machine))
    log = run(plan, engine)
    source = np.repeat(np.arange(len(schedule)), np.diff(schedule.edge_start))
    started = np.unique(source[schedule.edge_early])
    posted = np.zeros(len(schedule), bool)
    posted[started[schedule.kind[started] == RECEIVE]] = True
    network, waits = machine.network, np.zeros(len(schedule), bool)
    if network.message_model.name == "hockney" and network.message_model.rendezvous_above_bytes is not None:
        waits = (schedule.kind == SEND) & (schedule.size_bytes > network.message_model.rendezvous_above_bytes)
    rows = np.arange(len(schedule)) + np.cumsum(posted) + np.cumsum(waits) - waits
    number = np.full(len(plan), NONE)
    number[rows] = np.arange(len(schedule))
    taken = np.where(schedule.kind == RECEIVE, number[log.match[rows]], NONE)
    return log.finish_s[rows].tolist(), taken.tolist()


def finishes(schedule: Schedule, machine: Machine, engine: str) -> list[float]:
    return replay(schedule, machine, engine)[0]


# ---------------------------------------------------------------------------------------------------------------------
# Published times


def binomial(ranks: int, size: int, folder: Path) -> Schedule:
    """Every rank receives once and passes on, to the farthest first."""
    blocks = []
    for me in range(ranks):
        lowest = me & -me if me else 1 << (ranks - 1).bit_length()
        to = [me + (1 << bit) for bit in reversed(range(lowest.bit_length() - 1)) if me + (1 << bit) < ranks]
        lines = [f"l0: recv {size}b from {me - lowest}"] if me else []
        lines += [f"l{number}: send {size}b to {other}" for number, other in enumerate(to, 1)]
        begin = 0 if me else 1
        lines += [f"l{number} requires l{number - 1}" for number in range(begin + 1, len(to) + 1)]
        blocks.append(lines)
    return schedule_of(blocks, folder)


def makespan(schedule: Schedule, model: Model, engine: str) -> float:
    machine = model.machine(schedule.ranks)
    return simulate(workload_of(schedule), machine, effects="none", engine=engine).makespan_s / TICK


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.thorough
def test_binomial_broadcast_of_a_power_of_two(tmp_path: Path, engine: str) -> None:
    """T = ceil(log2 P) (2 o + L + (s - 1) G), if the gap is no longer than that (LogGP)."""
    for rounds in range(1, 13):
        for size in (1, 1000):
            schedule = binomial(2**rounds, size, tmp_path)
            for model in (Model(L=2500, o=1500, g=1000, G=6), Model(L=1, o=0, g=1, G=1), Model(L=3, o=2, g=6, G=0)):
                expected = rounds * (2 * model.o + model.L + (size - 1) * model.G)
                assert makespan(schedule, model, engine) == expected


SOME = [*range(2, 514), 1000, 1023, 1025, 2047, 2049, 3000, 4095]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.thorough
def test_binomial_broadcast_of_any_number(tmp_path: Path, engine: str) -> None:
    """With g = 2 o + L the formula holds for all P. Let D = g + (s - 1) G = 2 o + L + (s - 1) G and K = ceil(log2 P).

    A rank sends every D, and a message takes D. Rank 0 sends to each power of two below P, which are K: the last one
    arrives at K D. None arrives later: a rank whose lowest bit is 2^m has its message at (K - m) D at the latest (rank
    0, with m = K, at 0), since that of bit j < m is its (m - j)th child or an earlier one: (K - m) D + (m - j) D.
    """
    for ranks in SOME:
        size = 1 + ranks % 3
        expected = (ranks - 1).bit_length() * (2 * 3 + 4 + (size - 1) * 2)
        assert makespan(binomial(ranks, size, tmp_path), Model(L=4, o=3, g=10, G=2), engine) == expected


def truncated(ranks: int, model: Model) -> int:
    """The last arrival in the tree of this many ranks, messages of one byte, from the definition of the tree."""
    done = {0: 0}
    for me in range(ranks):
        bits = range((me & -me).bit_length() - 1 if me else (ranks - 1).bit_length())
        children = sorted((me + 2**bit for bit in bits if me + 2**bit < ranks), reverse=True)
        for turn, child in enumerate(children):
            done[child] = done[me] + turn * max(model.g, model.o) + 2 * model.o + model.L
    return max(done.values())


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ENGINES)
def test_truncated_binomial_broadcast(tmp_path: Path, engine: str) -> None:
    """Any gap: what the tree says."""
    for ranks in [*range(2, 70, 3), 100, 255, 257, 1000]:
        schedule = binomial(ranks, 1, tmp_path)
        for model in (Model(L=7, o=2, g=3), Model(L=7, o=3, g=1), Model(L=1, o=1, g=9), Model(L=0, o=1, g=0)):
            assert makespan(schedule, model, engine) == truncated(ranks, model)


@pytest.mark.parametrize("engine", ENGINES)
def test_published_dissemination(tmp_path: Path, engine: str) -> None:
    """Hoefler et al.'s LogGOPSim says 22000 ns for 16 ranks: 4 (o + L + o) with L = 2500, o = 1500, g = 1000, G = 6."""
    blocks = []
    for me in range(16):
        lines = []
        for turn, away in enumerate((1, 2, 4, 8)):
            lines += [
                f"s{turn}: send 1b to {(me + away) % 16} tag {turn}",
                f"r{turn}: recv 1b from {(me - away) % 16} tag {turn}",
            ]
            lines += [f"s{turn} requires r{turn - 1}"] if turn else []
        blocks.append(lines)
    seconds = simulate(
        workload_of(schedule_of(blocks, tmp_path)),
        Model(L=2500, o=1500, g=1000, G=6, S=65535).machine(16, 1e-9),
        effects="none",
        engine=engine,
    ).makespan_s
    assert round(seconds * 1e9, 6) == 22000


# ---------------------------------------------------------------------------------------------------------------------
# By hand, in nanoseconds

LOGGOP = Model(L=100, o=10, g=50, G=2, O=1)
LEVEL = Model(startup=30, G=1, overhead=5)
CASES: dict[str, tuple[Model, list[list[str]], list[int]]] = {
    "calcs that wait for nothing share their processor": (LEVEL, [["calc 5", "calc 3", "calc 2"]], [5, 8, 10]),
    "two processors": (LEVEL, [["calc 5", "calc 3 cpu 1", "calc 2", "calc 4 cpu 1"]], [5, 3, 7, 7]),
    "requires": (LEVEL, [["a: calc 5", "b: calc 3 cpu 1", "b requires a"]], [5, 8]),
    "irequires": (
        LEVEL,
        [["a: calc 5", "b: calc 3 cpu 1", "c: calc 1", "b irequires c", "c requires a"]],
        [5, 8, 6],  # b from 5 on, when c starts
    ),
    "a dependency backwards in the file": (LEVEL, [["a: calc 5", "b: calc 3", "a requires b"]], [8, 3]),
    # b is ready at 4, a at 6, both on cpu 0, which c occupies to 10.
    "first come first served": (
        LEVEL,
        [
            [
                "a: calc 1",
                "b: calc 2",
                "c: calc 10",
                "d: calc 6 cpu 1",
                "e: calc 4 cpu 2",
                "a requires d",
                "b requires e",
            ]
        ],
        [13, 12, 10, 6, 4],
    ),
    "a chain on two processors": (LEVEL, [["a: calc 5", "b: calc 3 cpu 1", "b requires a"], ["calc 1"]], [5, 8, 1]),
    "Hockney": (LEVEL, [["send 8b to 1"], ["recv 8b from 0"]], [38, 43]),
    # The second send waits for the gap: 50 + 2*2 after the first; the receives 10 + 2*2 from 110 on, gaps 54.
    "LogGOPS": (
        LOGGOP,
        [
            ["a: send 3b to 1", "b: send 3b to 1", "b requires a"],
            ["a: recv 3b from 0", "b: recv 3b from 0", "b requires a"],
        ],
        [12, 66, 124, 178],
    ),
    # The first byte comes at 10 + 100; 10 + 2*2 for the processor.
    "one message": (LOGGOP, [["send 3b to 1"], ["recv 3b from 0"]], [12, 124]),
    "waiting for the gap leaves the processor free": (
        LOGGOP,
        [["a: send 1b to 1", "b: send 1b to 1", "calc 7"], ["recv 1b from 0", "recv 1b from 0"]],
        [10, 60, 17, 120, 170],
    ),
    "a message occupies its receiver before its receive is posted": (
        LOGGOP,
        [["send 3b to 1"], ["a: calc 111", "b: calc 7", "r: recv 3b from 0", "b requires a", "r requires b"]],
        [12, 111, 132, 132],  # at 111 it goes first, whose send began before the first calc did
    ),
    "a receive occupies its processor only when its message is there": (
        LOGGOP,
        [["send 1b to 1"], ["recv 1b from 0", "calc 105", "calc 20"]],
        [10, 135, 105, 125],  # the calc of 20 is ready at 0, the message at 110
    ),
    "what irequires a receive starts when it is posted": (
        LEVEL,
        [["send 8b to 1"], ["a: calc 7", "r: recv 8b from 0", "c: calc 2 cpu 1", "r requires a", "c irequires r"]],
        [38, 7, 43, 9],
    ),
    # b waits for a's gap at 50, c for that of b; its message comes to processor 1 of rank 1, as its send says.
    "one gap for all processors": (
        LOGGOP,
        [
            ["a: send 1b to 1", "b: send 1b to 1 cpu 1", "c: send 1b to 1"],
            ["recv 1b from 0", "recv 1b from 0", "recv 1b from 0"],
        ],
        [10, 60, 110, 120, 170, 220],
    ),
    "gaps of each interface": (
        LOGGOP,
        [
            ["a: send 1b to 1", "b: send 1b to 1 cpu 1 nic 1", "c: send 1b to 1"],
            ["recv 1b from 0", "recv 1b from 0", "recv 1b from 0"],
        ],
        [10, 10, 60, 120, 120, 170],
    ),
    "gaps of each interface of a chain": (
        LOGGOP,
        [["a: send 1b to 1", "b: send 1b to 1 nic 1", "b requires a"], ["recv 1b from 0", "recv 1b from 0"]],
        [10, 20, 120, 130],
    ),
    # A message above S: what requires the send waits until the message meets its receive, at 10 + 100.
    "rendezvous": (
        Model(L=100, o=10, S=8),
        [["s: send 9b to 1", "c: calc 3", "c requires s", "d: calc 4", "d irequires s"], ["recv 9b from 0"]],
        [110, 113, 14, 120],
    ),
    "no rendezvous": (
        Model(L=100, o=10, S=9),
        [["s: send 9b to 1", "c: calc 3", "c requires s"], ["recv 9b from 0"]],
        [10, 13, 120],
    ),
    "rendezvous with a late receive": (
        Model(L=100, o=10, S=8),
        [["s: send 9b to 1", "c: calc 3", "c requires s"], ["a: calc 500", "r: recv 9b from 0", "r requires a"]],
        [500, 503, 500, 510],
    ),
    # From anyone: the message of rank 2 comes first, at 30 + 1; that of rank 1 at 7 + 30 + 1.
    "from anyone": (
        LEVEL,
        [
            ["r: recv 1b from -1", "s: recv 1b from -1", "s requires r"],
            ["a: calc 7", "b: send 1b to 0", "b requires a"],
            ["send 1b to 0"],
        ],
        [36, 43, 7, 38, 31],
    ),
    "from anyone with a tag": (
        LEVEL,
        [
            ["recv 1b from -1 tag 1", "recv 1b from -1 tag 2 cpu 1"],
            ["a: calc 7", "b: send 1b to 0 tag 2", "b requires a"],
            ["send 1b to 0 tag 1"],
        ],
        [36, 43, 7, 38, 31],
    ),
    "any tag": (
        LEVEL,
        [
            ["recv 1b from -1 tag -1", "recv 1b from -1 tag -1 cpu 1"],
            ["a: calc 7", "b: send 1b to 0 tag 2", "b requires a"],
            ["send 1b to 0 tag 1"],
        ],
        [36, 43, 7, 38, 31],
    ),
    # Rank 2's messages come at 31 and 62, that of rank 1 at 131, for which nobody but the named receive is left.
    "from anyone with any tag, then from one rank": (
        LEVEL,
        [
            [
                *("a: recv 1b from -1 tag -1", "b: recv 1b from -1 tag -1", "c: recv 1b from 1 tag 5"),
                *("b requires a", "c requires b"),
            ],
            ["a: calc 100", "b: send 1b to 0 tag 5", "b requires a"],
            ["a: send 1b to 0 tag 1", "b: send 1b to 0 tag 2", "b requires a"],
        ],
        [36, 67, 136, 100, 131, 31, 62],
    ),
    # By LogGOPSim's rules messages keep the processor for 10, from 110, 160 and 210 on; c meets its message at 210.
    "the same in LogGOPS": (
        LOGGOP,
        [
            [
                *("a: recv 1b from -1 tag -1", "b: recv 1b from -1 tag -1", "c: recv 1b from 1 tag 5"),
                *("b requires a", "c requires b"),
            ],
            ["a: calc 100", "b: send 1b to 0 tag 5", "b requires a"],
            ["a: send 1b to 0 tag 1", "b: send 1b to 0 tag 2", "b requires a"],
        ],
        [120, 170, 220, 100, 110, 10, 60],
    ),
    # Both wait from 0 on. The message of rank 1, with tag 5, comes at 31: it is not from rank 2. That comes at 38.
    "a message passes a receive that it does not suit": (
        LEVEL,
        [
            ["recv 1b from 2 tag -1", "recv 1b from -1 tag 5 cpu 1"],
            ["send 1b to 0 tag 5"],
            ["a: calc 7", "b: send 1b to 0 tag 5", "b requires a"],
        ],
        [43, 36, 31, 7, 38],
    ),
    # Above S, what requires the send begins when the receive, posted at 50, takes the message up; the processor is free.
    "Hockney above S": (
        Model(startup=30, G=1, overhead=5, S=7),
        [
            ["s: send 8b to 1", "c: calc 3", "c requires s", "d: calc 100", "e: calc 1", "e irequires s"],
            ["a: calc 50", "r: recv 8b from 0", "r requires a"],
        ],
        [38, 142, 138, 139, 50, 55],
    ),
    "Hockney at S": (
        Model(startup=30, G=1, overhead=5, S=8),
        [["s: send 8b to 1", "c: calc 3", "c requires s"], ["a: calc 50", "r: recv 8b from 0", "r requires a"]],
        [38, 41, 50, 55],
    ),
    "Hockney above S, to a receive from anyone": (
        Model(startup=30, G=1, overhead=5, S=7),
        [
            ["s: send 8b to 1", "c: calc 3", "c requires s"],
            ["a: calc 50", "r: recv 8b from -1", "r requires a"],
        ],
        [38, 53, 50, 55],
    ),
    "tags pair messages": (
        LEVEL,
        [["send 1b to 1 tag 1", "send 11b to 1 tag 2 cpu 1"], ["recv 11b from 0 tag 2", "recv 1b from 0 tag 1 cpu 1"]],
        [31, 41, 46, 36],
    ),
    "a message to oneself": (LEVEL, [["send 8b to 0", "recv 8b from 0"]], [38, 43]),
    "a message to oneself in LogGOPS": (LOGGOP, [["send 1b to 0", "recv 1b from 0"]], [10, 120]),
    "an empty rank": (LEVEL, [["calc 5"], [], ["calc 3"]], [5, 3]),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CASES)
def test_by_hand(tmp_path: Path, name: str, engine: str) -> None:
    model, ranks, expected = CASES[name]
    schedule = schedule_of(ranks, tmp_path)
    result = finishes(schedule, model.machine(len(ranks), 1e-9), engine)
    assert [round(time * 1e9, 6) for time in result] == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_anyone_takes_the_message_that_came_first(tmp_path: Path, engine: str) -> None:
    """Of several that lie there when it is posted; of two that came together, that of the lower rank."""
    ranks = [["a: calc 100", *(f"r{turn}: recv 1b from -1" for turn in range(3)), "r0 requires a"]]
    ranks[0] += ["r1 requires r0", "r2 requires r1"]
    ranks += [["a: calc 7", "s: send 1b to 0", "s requires a"], ["send 1b to 0"], ["send 1b to 0"]]
    schedule = schedule_of(ranks, tmp_path)
    assert replay(schedule, LEVEL.machine(4), engine)[1] == [NONE, 6, 7, 5, NONE, NONE, NONE, NONE]


# ---------------------------------------------------------------------------------------------------------------------
# A slow simulator of schedules in Hockney's model


@dataclass
class Item:
    """An operation; ``waits`` and ``starts`` are what it requires and irequires."""

    rank: int
    kind: int
    size: int = 0
    calc: int = 0
    peer: int = NONE
    tag: int = 0
    cpu: int = 0
    waits: set[int] = field(default_factory=set)
    starts: set[int] = field(default_factory=set)
    ready: int | None = None
    started: int | None = None
    done: int | None = None
    arrived: int | None = None  # its message
    partner: int = NONE
    taker: int = NONE  # the receive that its message met in a mailbox


class Slow:
    """In whole ticks. Of an instant, first all that happens by itself, over and over until nothing more does; then one
    processor takes one operation, the first of them in order of rank and number; then one mailbox; then all again."""

    def __init__(self, model: Model, items: list[Item]) -> None:
        self.model, self.items, self.now = model, items, 0
        self.free: dict[tuple[int, int], int] = defaultdict(int)
        self.at_processor: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        self.posted: dict[object, list[tuple[int, int]]] = defaultdict(list)
        self.landed: dict[object, list[tuple[int, int]]] = defaultdict(list)
        self.queued: set[int] = set()
        self.open = {item.rank for item in items if item.tag == ANY_TAG}
        self.boxes = {(item.rank, item.tag) for item in items if item.kind == RECEIVE and item.peer == ANY}
        self.boxes |= {(rank, ANY_TAG) for rank in self.open}
        self.pair()
        while self.settle() or self.grant() or self.meet() or self.go_on():
            pass

    def box(self, number: int) -> tuple[int, int] | None:
        """The mailbox of a message."""
        item = self.items[number]
        owner = item.rank if item.kind == RECEIVE else item.peer
        key = (owner, ANY_TAG if owner in self.open else item.tag)
        return key if item.kind != COMPUTE and key in self.boxes else None

    def pair(self) -> None:
        """The n-th send from a to b with a tag and the n-th such receive."""
        ends: dict[object, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for number, item in enumerate(self.items):
            if item.kind != COMPUTE and self.box(number) is None:
                sends = item.kind == SEND
                source, target = (item.rank, item.peer) if sends else (item.peer, item.rank)
                ends[source, target, item.tag][not sends].append(number)
        for sends, receives in ends.values():
            for send, receive in zip(sends, receives, strict=True):
                self.items[send].partner, self.items[receive].partner = receive, send

    def is_over(self, number: int) -> bool:
        """Whether what requires this operation may begin."""
        item = self.items[number]
        if item.kind == SEND and item.size > self.model.S:  # its receiver must have taken the message up
            taker = item.taker if item.partner == NONE else item.partner
            taken = None if taker == NONE else self.items[taker].started
            if taken is None or taken > self.now:
                return False
        return item.done is not None and item.done <= self.now

    def has_begun(self, number: int) -> bool:
        item = self.items[number]
        begun = item.ready if item.kind == RECEIVE else item.started
        return begun is not None and begun <= self.now

    def settle(self) -> bool:
        """One thing that happens by itself."""
        for number, item in enumerate(self.items):
            if item.ready is None and all(map(self.is_over, item.waits)) and all(map(self.has_begun, item.starts)):
                item.ready = self.now
                if item.kind == RECEIVE and item.partner == NONE:
                    self.posted[self.box(number)].append((self.now, number))
                return True
            if item.ready is not None and number not in self.queued and self.has_message(item):
                self.queue(number)
                return True
            boxed = item.kind == SEND and item.partner == NONE
            if boxed and item.arrived is not None and item.arrived <= self.now and ("put", number) not in self.queued:
                self.queued.add(("put", number))
                self.landed[self.box(number)].append((item.arrived, number))
                return True
        return False

    def has_message(self, item: Item) -> bool:
        if item.kind != RECEIVE:
            return True
        arrived = None if item.partner == NONE else self.items[item.partner].arrived
        return arrived is not None and arrived <= self.now

    def queue(self, number: int) -> None:
        item = self.items[number]
        self.queued.add(number)
        self.at_processor[item.rank, item.cpu].append((self.now, number))

    def grant(self) -> bool:
        for key in sorted(self.at_processor):
            if self.at_processor[key] and self.free[key] <= self.now:
                turn = min(self.at_processor[key])
                self.at_processor[key].remove(turn)
                self.begin(self.items[turn[1]], key)
                return True
        return False

    def begin(self, item: Item, key: tuple[int, int]) -> None:
        model, begin, busy = self.model, self.now, item.calc
        if item.kind != COMPUTE:
            busy = model.startup + item.size * model.G if item.kind == SEND else model.overhead
            item.arrived = begin + busy if item.kind == SEND else None
        item.started, item.done = begin, begin + busy
        self.free[key] = item.done

    def meet(self) -> bool:
        """The message that came first of those for which a receive is posted, to the one that was posted first."""
        for box in sorted(self.boxes):
            for send, receive in product(sorted(self.landed[box]), sorted(self.posted[box])):
                if self.suits(self.items[send[1]], self.items[receive[1]]):
                    self.posted[box].remove(receive)
                    self.landed[box].remove(send)
                    self.items[receive[1]].partner, self.items[send[1]].taker = send[1], receive[1]
                    return True
        return False

    def suits(self, send: Item, receive: Item) -> bool:
        return receive.peer in (ANY, send.rank) and receive.tag in (ANY_TAG, send.tag)

    def go_on(self) -> bool:
        """To the next instant."""
        times = [time for item in self.items for time in (item.started, item.done, item.arrived) if time is not None]
        later = [time for time in [*times, *self.free.values()] if time > self.now]
        if later:
            self.now = min(later)
        return bool(later)


def written(random: Random) -> list[list[Item]]:
    """Items by rank, numbered through. Each send is written before its receive, and most waits are backwards."""
    ranks, cpus, boxed = random.randint(1, 4), random.randint(1, 2), random.random() < 0.3
    some_from_anyone = random.choice([0.0, 0.0, 0.3])  # and of any tag, beside others
    blocks: list[list[Item]] = [[] for _ in range(ranks)]
    open_ = {rank for rank in range(ranks) if random.random() < 0.1}
    owed: list[Item] = []

    def put(item: Item, density: float) -> None:
        block = blocks[item.rank]
        if block and random.random() < density:
            chosen = block[-1] if random.random() < 0.6 else random.choice(block)
            getattr(item, random.choice(["waits", "waits", "waits", "starts"])).add(id(chosen))
        block.append(item)

    density = random.choice([0.3, 0.8, 1.0])
    for _ in range(random.randint(1, 18)):
        if owed and random.random() < 0.5:
            put(owed.pop(random.randrange(len(owed))), density)
            continue
        rank, cpu = random.randrange(ranks), random.randrange(cpus)
        if random.random() < 0.5:
            put(Item(rank, COMPUTE, calc=random.choice([0, 1, 1, 2, 3]), cpu=cpu), density)
            continue
        target, size, tag = random.randrange(ranks), random.choice([0, 1, 2, 5]), random.choice([0, 0, 1])
        put(Item(rank, SEND, size, peer=target, tag=tag, cpu=cpu), density)
        receive = Item(target, RECEIVE, size, peer=rank, tag=tag, cpu=random.randrange(cpus))
        if target in open_:
            receive.peer, receive.tag = ANY, ANY_TAG
        elif boxed and tag:
            receive.peer = ANY
        if random.random() < some_from_anyone:
            receive.peer, receive.tag = random.choice([(ANY, ANY_TAG), (ANY, tag), (rank, ANY_TAG), (rank, tag)])
        owed.append(receive)
    for receive in owed:
        put(receive, density)
    if random.random() < 0.3:  # numbers that do not go with the dependencies
        for block in blocks:
            random.shuffle(block)
    return blocks


def numbered(blocks: list[list[Item]]) -> list[Item]:
    items = [item for block in blocks for item in block]
    number = {id(item): place for place, item in enumerate(items)}
    for item in items:
        item.waits = {number[other] for other in item.waits}
        item.starts = {number[other] for other in item.starts}
    return items


def as_schedule(items: list[Item], ranks: int) -> Schedule:
    waits = [(other, number, False) for number, item in enumerate(items) for other in item.waits]
    waits += [(other, number, True) for number, item in enumerate(items) for other in item.starts]
    waits.sort()
    counts = np.bincount([wait[0] for wait in waits], minlength=len(items))
    return Schedule(
        name="random",
        first=np.searchsorted([item.rank for item in items], np.arange(ranks + 1)).astype(np.int64),
        kind=np.array([item.kind for item in items], np.int8),
        peer=np.array([item.peer for item in items], np.int32),
        size_bytes=np.array([item.size for item in items], np.float64),
        calc_s=np.array([item.calc * TICK for item in items]),
        tag=np.array([item.tag for item in items], np.int32),
        cpu=np.array([item.cpu for item in items], np.int32),
        edge_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        edge_target=np.array([wait[1] for wait in waits], np.int32),
        edge_early=np.array([wait[2] for wait in waits], np.bool_),
        place=Place(),
    )


FEW = st.integers(0, 3)
#: No message takes no time, so that what happens in an instant stays in its rank.
MODELS = st.builds(
    Model, G=FEW, startup=st.integers(1, 4), overhead=FEW, S=st.sampled_from([math.inf, math.inf, 0.0, 1.0])
)


@settings(max_examples=examples(300))
@given(st.integers(0, 2**64), MODELS)
def test_random_schedules(seed: int, model: Model) -> None:
    """Hockney's model: both engines, to the last bit, against the slow simulator. Where that stands still, they say so."""
    blocks = written(Random(seed))
    items = numbered(blocks)
    schedule = as_schedule(items, len(blocks))
    slow = Slow(model, items).items
    expected = [item.done for item in slow]
    taken = [item.partner if item.kind == RECEIVE else NONE for item in slow]
    machine = model.machine(len(blocks))
    for engine in ENGINES:
        if None in expected:
            with pytest.raises(DeadlockError):
                finishes(schedule, machine, engine)
        else:
            times = [done * TICK for done in expected if done is not None]
            assert replay(schedule, machine, engine) == (times, taken)


# ---------------------------------------------------------------------------------------------------------------------
# What cannot be replayed

PAIR = [["send 8b to 1"], ["recv 8b from 0"]]


def test_a_machine_that_is_too_small(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="P"):
        simulate(workload_of(schedule_of([["calc 1"]] * 3, tmp_path)), LEVEL.machine(2))


@pytest.mark.parametrize("ranks", [1, 3])
def test_another_number_of_ranks(tmp_path: Path, ranks: int) -> None:
    with pytest.raises(InputError, match="P"):
        simulate(workload_of(schedule_of(PAIR, tmp_path)), LEVEL.machine(4), {"P": ranks})


def test_more_nodes_than_ranks(tmp_path: Path) -> None:
    assert simulate(workload_of(schedule_of(PAIR, tmp_path)), LEVEL.machine(64), {"P": 2}).ranks is not None


UNMATCHED = [
    ([["send 8b to 1"], []], "rank 0 sends 1 message with tag 0 to rank 1, which receives 0 of them"),
    ([[], ["recv 8b from 0"]], "rank 0 sends 0 messages"),
    ([["send 8b to 1 tag 1"], ["recv 8b from 0 tag 2"]], "sends and receives do not match"),
    ([["send 8b to 1"], ["recv 8b from -1", "recv 8b from -1"]], "which receives 2 from anyone"),
    ([["send 8b to 1"], ["recv 8b from -1", "recv 8b from 0"]], "which receives 2 from anyone or from named ranks"),
    (
        [["send 8b to 1"], ["recv 8b from -1 tag -1", "recv 8b from 0"]],
        "1 messages are sent to rank 1, which receives 2",
    ),
    ([["send 8b to 1"] * 2, ["recv 8b from -1 tag -1", "recv 8b from 0 tag 7"]], "rank 0 sends 0 messages with tag 7"),
]


@pytest.mark.parametrize(("ranks", "what"), UNMATCHED)
def test_messages_that_do_not_match(tmp_path: Path, ranks: list[list[str]], what: str) -> None:
    with pytest.raises(InputError) as caught:
        simulate(workload_of(schedule_of(ranks, tmp_path)), LEVEL.machine(2))
    assert what in str(caught.value)
    assert "a.goal" in str(caught.value)


CIRCLES = [
    [["a: calc 1", "b: calc 1", "a requires b", "b requires a"]],
    [
        ["r: recv 1b from 1", "s: send 1b to 1", "s requires r"],
        ["r: recv 1b from 0", "s: send 1b to 0", "s requires r"],
    ],
    [["r: recv 1b from 0", "s: send 1b to 0", "s requires r"]],
    # The receive from anyone takes the message that the other one names.
    [
        ["r: recv 1b from -1 tag -1", "s: recv 1b from 1 tag 5", "s requires r"],
        ["a: send 1b to 0 tag 5", "b: calc 100", "c: send 1b to 0 tag 6", "b requires a", "c requires b"],
    ],
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ranks", CIRCLES)
def test_circles(tmp_path: Path, ranks: list[list[str]], engine: str) -> None:
    with pytest.raises(DeadlockError, match="rank 0 waits in"):
        finishes(schedule_of(ranks, tmp_path), LEVEL.machine(2), engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_rendezvous_of_both_sides(tmp_path: Path, engine: str) -> None:
    """Each waits with its receive until the other has received: so it is with MPI's synchronous sends."""
    lines = ["s: send 9b to {0}", "r: recv 9b from {0}", "r requires s"]
    schedule = schedule_of([[line.format(other) for line in lines] for other in (1, 0)], tmp_path)
    assert finishes(schedule, Model(L=1, o=1, S=9).machine(2), engine) == [TICK, 3 * TICK] * 2
    with pytest.raises(DeadlockError):
        finishes(schedule, Model(L=1, o=1, S=8).machine(2), engine)
