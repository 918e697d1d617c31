"""Segments woven, joined and repeated, against plain lists of what every rank does one thing after another."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field, replace
from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import Place
from simcodesign.core.operation_kinds import COMPUTE, READ, RECEIVE, SEND
from simcodesign.generate import segment
from simcodesign.generate.columns import Column, Ranks
from simcodesign.generate.messages import matching
from simcodesign.generate.messages.matching import matches
from simcodesign.generate.operation_columns import EXTRAS, FIELDS
from simcodesign.generate.plan import NONE
from simcodesign.generate.segment import Segment, joined, woven
from tests import examples

EXTRA_NAMES = ("route", "cost", "gap_s", "flight_s", "variant")
NAMES = (*EXTRA_NAMES, "until")

# ---------------------------------------------------------------------------------------------------------------------
# The oracle: programs as trees, unrolled into lists


@dataclass
class Step:
    """One operation of one rank; ``message`` names its message within its piece, ``tag`` where pairs are in order.

    Column ``until`` of its piece and later ones, and what stands after the piece, wait for it.
    """

    rank: int
    kind: int
    phase: int
    peer: int
    size: float
    duration: float
    extra: dict[str, float]
    message: object = None
    tag: int | None = None
    column: int = 0
    until: int = 1
    turn: int = 0


@dataclass
class Piece:
    """Columns, and the same as steps of each rank."""

    columns: list[Column]
    steps: list[Step]
    phase: int


@dataclass
class Repeat:
    """Parts one after another, several times."""

    times: int
    parts: list[Piece | Repeat] = field(default_factory=list)


def build(tree: Piece | Repeat, ranks: int) -> Segment:
    """With the code under test."""
    if isinstance(tree, Piece):
        return woven(tree.columns, ranks, tree.phase, NAMES)
    return joined([build(part, ranks) for part in tree.parts], ranks, NAMES).repeated(tree.times)


def unroll(tree: Piece | Repeat, rows: list[list[Step]], turn: list[int]) -> None:
    """Append what every rank does; the messages of every turn of a piece are its own."""
    if isinstance(tree, Piece):
        turn[0] += 1
        for step in tree.steps:
            named = None if step.message is None else (turn[0], step.message)
            rows[step.rank].append(replace(step, message=named, turn=turn[0]))
        return
    for _ in range(tree.times):
        for part in tree.parts:
            unroll(part, rows, turn)


def partners(steps: list[Step]) -> list[int]:
    """The other end of every message: the one of the same name, or the n-th of the same ends and tag."""
    match = [NONE] * len(steps)
    ends: dict[object, deque[int]] = defaultdict(deque)
    for kind in (SEND, RECEIVE):
        for op, step in enumerate(steps):
            if step.kind != kind or (step.message is None and step.tag is None):
                continue
            pair = (step.rank, step.peer) if kind == SEND else (step.peer, step.rank)
            name = step.message if step.tag is None else (*pair, step.tag)
            if kind == SEND:
                ends[name].append(op)
            else:
                match[op] = ends[name].popleft()
                match[match[op]] = op
    return match


def awaited(row: list[Step]) -> list[int]:
    """Of a rank: the place of the first operation that waits for each."""
    recorded = []
    for place, step in enumerate(row):
        later = [
            other
            for other in range(place + 1, len(row))
            if row[other].turn != step.turn or row[other].column >= step.until
        ]
        recorded.append(min(later, default=len(row)))
    return recorded


# ---------------------------------------------------------------------------------------------------------------------
# Random programs


class Author:
    """Writes random pieces; ``even``: every rank takes part in every column."""

    def __init__(self, random: Random, ranks: int, even: bool) -> None:
        self.random, self.ranks, self.even = random, ranks, even

    def tree(self, depth: int) -> Piece | Repeat:
        if depth == 0 or self.random.random() < 0.3:
            return self.piece()
        parts = [self.tree(depth - 1) for _ in range(self.random.randint(0, 3))]
        return Repeat(self.random.randint(1, 3), parts)

    def piece(self) -> Piece:
        self.columns, self.steps, self.phase = [], [], self.random.randrange(5)
        self.even_now = self.even or self.random.random() < 0.5
        for _ in range(self.random.randint(0, 3)):
            self.random.choice([self.work, self.by_place, self.by_place, self.by_tag])()
        self.place_waits()
        return Piece(self.columns, self.steps, self.phase)

    def place_waits(self) -> None:
        """Say of every column what waits for it: something later in the piece, or what follows the piece."""
        for number, column in enumerate(self.columns):
            ahead = self.random.randint(1, len(self.columns) - number)
            self.columns[number] = replace(column, until=ahead)
            for step in self.steps:
                if step.column == number:
                    step.until = number + ahead

    def who(self) -> list[int]:
        everyone = list(range(self.ranks))
        return everyone if self.even_now else [rank for rank in everyone if self.random.random() < 0.6]

    def add(self, kind: int, who: list[int], peers: list[int], sizes: list[float], names: list[object], **more) -> None:
        """One column, its values as arrays or, where they are all the same and by chance, as a number."""
        durations = [self.random.choice([0.0, 0.1, 2.0]) for _ in who]
        extra = {name: [self.random.randint(0, 9) for _ in who] for name in EXTRA_NAMES if self.random.random() < 0.5}
        spread = {name: self.short(values) for name, values in extra.items()}
        everyone = who == list(range(self.ranks)) and self.random.random() < 0.8
        column = Column(
            kind,
            None if everyone else np.array(who, np.int32),
            NONE if peers is None else np.array(peers, np.int32),
            self.short(sizes),
            self.short(durations),
            extra=spread,
            **more,
        )
        self.columns.append(column)
        for place, rank in enumerate(who):
            values = {name: float(extra[name][place]) if name in extra else EXTRAS[name][1] for name in EXTRA_NAMES}
            peer = NONE if peers is None else peers[place]
            step = Step(
                rank, kind, self.phase, peer, sizes[place], durations[place], values, names[place], more.get("tag")
            )
            step.column = len(self.columns) - 1
            self.steps.append(step)

    def short(self, values: list[float]) -> object:
        same = len(set(values)) == 1 and self.random.random() < 0.7
        return values[0] if same else np.array(values)

    def work(self) -> None:
        who = self.who()
        self.add(
            self.random.choice([COMPUTE, READ]),
            who,
            None,
            [float(self.random.randint(0, 9)) for _ in who],
            [None] * len(who),
        )

    def by_place(self) -> None:
        """Some columns of sends, then the receives of their messages in a random order."""
        waiting: list[tuple[int, int, int, float]] = []  # (target, source, column, size)
        for _ in range(self.random.randint(1, 2)):
            who, number = self.who(), len(self.columns)
            around = self.random.randrange(self.ranks)
            targets = [(rank + around) % self.ranks for rank in who]
            if not self.even_now:
                targets = [self.random.randrange(self.ranks) for _ in who]
            sizes = [float(self.random.randint(0, 99)) for _ in who]
            self.add(SEND, who, targets, sizes, [(number, rank) for rank in who])
            waiting += [(target, rank, number, size) for target, rank, size in zip(targets, who, sizes, strict=True)]
            if self.random.random() < 0.5:
                self.work()
        self.random.shuffle(waiting)
        while waiting:
            row = {}
            for one in list(waiting):
                if one[0] not in row:
                    row[one[0]] = one
                    waiting.remove(one)
            self.receive([row[target] for target in sorted(row)])

    def receive(self, row: list[tuple[int, int, int, float]]) -> None:
        who, sources = [target for target, *_ in row], [source for _, source, *_ in row]
        back = [number - len(self.columns) for _, _, number, _ in row]
        match = back[0] if len(set(back)) == 1 and self.random.random() < 0.7 else np.array(back)
        names = [(number, source) for _, source, number, _ in row]
        self.add(RECEIVE, who, sources, [size for *_, size in row], names, match=match)

    def by_tag(self) -> None:
        """A ring of sends and receives that are paired in program order, in either order."""
        tag, around, size = (
            self.random.choice([0, 3, 2**31 - 2]),
            self.random.randrange(self.ranks),
            float(len(self.columns)),
        )
        who = self.who()
        there = sorted((rank + around) % self.ranks for rank in who)

        def send() -> None:
            self.add(
                SEND, who, [(rank + around) % self.ranks for rank in who], [size] * len(who), [None] * len(who), tag=tag
            )

        def receive() -> None:
            sources = [(rank - around) % self.ranks for rank in there]
            self.add(RECEIVE, there, sources, [size] * len(there), [None] * len(there), tag=tag)

        for write in self.random.choice([(send, receive), (receive, send), (send, send, receive, receive)]):
            write()


@st.composite
def programs(draw: st.DrawFn) -> tuple[int, Piece | Repeat]:
    random = draw(st.randoms(use_true_random=False)) if draw(st.booleans()) else Random(draw(st.integers(0, 2**64)))
    ranks = draw(st.integers(1, 6))
    return ranks, Author(random, ranks, draw(st.booleans())).tree(draw(st.integers(0, 3)))


# ---------------------------------------------------------------------------------------------------------------------
# Tests


def check(ranks: int, tree: Piece | Repeat) -> None:
    rows: list[list[Step]] = [[] for _ in range(ranks)]
    unroll(tree, rows, [0])
    steps = [step for row in rows for step in row]
    got = build(tree, ranks)
    assert got.first.tolist() == [0, *np.cumsum([len(row) for row in rows]).tolist()]
    assert set(got.fields) == {*FIELDS, *NAMES}
    for name, expected in {
        "kind": [step.kind for step in steps],
        "phase": [step.phase for step in steps],
        "peer": [step.peer for step in steps],
        "size_bytes": [step.size for step in steps],
        "duration_s": [step.duration for step in steps],
        "until": [place for row in rows for place in awaited(row)],
        **{name: [step.extra[name] for step in steps] for name in EXTRA_NAMES},
    }.items():
        assert got.fields[name].tolist() == expected, name
        assert got.fields[name].dtype == (FIELDS | {key: kind for key, (kind, _) in EXTRAS.items()})[name]
    rank = np.repeat(np.arange(ranks, dtype=np.int32), got.counts)
    found = matches(got, rank, Place())
    match, mailbox, boxes = found.match, found.mailbox, found.boxes
    assert match.tolist() == partners(steps)
    assert (mailbox, boxes) == (None, 0)


@settings(max_examples=examples(400))
@given(programs(), st.sampled_from([1, 2, 4096]))
def test_programs_become_what_their_ranks_do(program: tuple[int, Piece | Repeat], at_once: int) -> None:
    with patch.object(segment, "RANKS_AT_ONCE", at_once), patch.object(matching, "AT_ONCE", at_once):
        check(*program)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.thorough
def test_many_ranks(seed: int) -> None:
    """More than are written at once."""
    ranks = 5000
    check(ranks, Repeat(2, [Author(Random(seed), ranks, True).piece(), Author(Random(seed), ranks, False).piece()]))


@given(programs(), st.integers(1, 4), st.integers(1, 3))
def test_repeating_twice_is_repeating_the_product(program: tuple[int, Piece | Repeat], one: int, other: int) -> None:
    ranks, tree = program
    twice, once = build(tree, ranks).repeated(one).repeated(other), build(tree, ranks).repeated(one * other)
    assert twice.first.tolist() == once.first.tolist()
    for name, array in once.fields.items():
        assert np.array_equal(twice.fields[name], array)


@given(programs(), st.integers(2, 4))
def test_repeating_is_joining_with_itself(program: tuple[int, Piece | Repeat], times: int) -> None:
    ranks, tree = program
    whole, parts = build(tree, ranks).repeated(times), joined([build(tree, ranks) for _ in range(times)], ranks, NAMES)
    assert whole.first.tolist() == parts.first.tolist()
    for name, array in parts.fields.items():
        assert np.array_equal(whole.fields[name], array)


def test_nothing_at_all() -> None:
    for empty in (joined([], 3), woven([], 3, 0), joined([], 3).repeated(4), joined([woven([], 3, 0)] * 2, 3)):
        assert empty.first.tolist() == [0] * 4
        assert set(empty.fields) == set(FIELDS)
        assert all(len(array) == 0 for array in empty.fields.values())
        assert empty.width == 0


def test_widths() -> None:
    program_writer = Ranks(3)
    program_writer.work(COMPUTE, 0.0, 1.0)
    assert woven(program_writer.columns, 3, 0).width == 1
    program_writer.work(COMPUTE, 0.0, 1.0, np.array([0, 2], np.int32))
    uneven = woven(program_writer.columns, 3, 0)
    assert uneven.width is None
    assert uneven.counts.tolist() == [2, 1, 2]


def test_columns_of_nobody() -> None:
    program_writer = Ranks(2)
    nobody = np.zeros(0, np.int32)
    program_writer.work(COMPUTE, 0.0, 1.0, nobody)
    program_writer.send(nobody, 8.0, nobody)
    program_writer.receive(nobody, 8.0, who=nobody)
    assert woven(program_writer.columns, 2, 0).first.tolist() == [0, 0, 0]
