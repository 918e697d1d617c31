"""Columns: one operation of many ranks at a time, so that a rank program is written once and generated with NumPy.

Collectives are written with ``Ranks``: ``send(to, size)`` appends one column in which every
rank sends. A receive stores how many columns back its sender sent (``match``), so that no message has to be looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.operation_kinds import COMPUTE, HELD, RECEIVE, SEND, WAIT
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.levels import Switches
from simcodesign.generate.plan import NONE

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]


def of_ranks(value: FloatOrArray, who: Int32s | None) -> FloatOrArray:
    """Return the part of an amount that concerns these ranks."""
    return value if who is None or np.ndim(value) == 0 else np.asarray(value)[who]


@dataclass(frozen=True)
class Column:
    """One operation of the ranks ``who`` (ascending), of all of them if that is None; values are one or one per rank.

    ``match``: for a receive, the offset (negative) to the column in which its peer sends; for a wait, to the column of
    its peer that it waits for. ``tag``: for messages that
    are paired by (source, target, tag) in program order instead. ``until``: how many columns later the operation
    follows that waits for it; those before it are posted together with it. The end of its step of the program at most.
    ``extra``: what the prices of the machine add. ``train``: number of messages that travel together; ``size_bytes``
    covers all of them.
    ``alike``: messages of a step with the same number are priced alike where routes are not looked at, as the slowest
    of them. ``held_s``: for how long messages hold their receivers before these receive them, NaN if that is not
    known before messages meet receives. ``in_memory``: whether messages pass through the memory of their node, if they
    are within one; one for all or one for each, the same for all columns of a step that have the same ranks. ``ends``:
    the nodes between which messages go, if these are not the nodes of two ranks.
    """

    kind: int
    who: Int32s | None
    peer: Int32s | int
    size_bytes: FloatOrArray
    duration_s: FloatOrArray = 0.0
    match: NDArray[np.int32] | int | None = None
    tag: int | None = None
    until: int = 1
    extra: Mapping[str, FloatOrArray] = field(default_factory=dict)
    train: int = 1
    alike: int | None = None
    held_s: FloatOrArray = 0.0
    in_memory: NDArray[np.bool_] | bool = False
    ends: tuple[Int64s, Int64s] | None = None

    def costs_as(self, other: Column) -> bool:
        """Whether this is surely a message of the same ranks, peers and sizes: several often follow each other."""
        same = self.kind == other.kind and self.who is other.who and self.peer is other.peer
        same = same and self.alike == other.alike
        return same and self.train == other.train and _same(self.size_bytes, other.size_bytes)


def _same(value: FloatOrArray, other: FloatOrArray) -> bool:
    return value is other or (isinstance(value, float) and isinstance(other, float) and value == other)


class DataCosts(NamedTuple):
    """The seconds of a rank to process data.

    For a byte that the operator of a reduction combines, for a block that is copied, and for each of its bytes.
    ``switches``: the networks whose switches combine messages in its place.
    """

    reduction_s_per_byte: float = 0.0
    packing_s: float = 0.0
    packing_s_per_byte: float = 0.0
    switches: Switches = Switches()

    @classmethod
    def of(cls, machine: Machine) -> DataCosts:
        """Return the data costs of a machine."""
        network = machine.network
        return cls(
            float(network.reduction_s_per_byte),
            float(network.packing_s_per_block),
            float(network.packing_s_per_byte),
            machine.switches,
        )

    def copy_s(self, block_bytes: FloatOrArray) -> FloatOrArray:
        """Seconds for which a rank copies a block of so many bytes."""
        return self.packing_s + block_bytes * self.packing_s_per_byte


NO_COSTS = DataCosts()


class Ranks:
    """All ranks at work on one step of the program: what they do is appended column by column."""

    def __init__(self, ranks: int, data_costs: DataCosts = NO_COSTS) -> None:
        self.count = ranks
        self.data_costs = data_costs
        self.rank = np.arange(ranks, dtype=np.int32)
        self.columns: list[Column] = []

    def send(
        self,
        to: Int32s,
        size_bytes: FloatOrArray,
        who: Int32s | None = None,
        until: int = 1,
        train: int = 1,
        alike: int | None = None,
    ) -> None:
        """Every rank (of ``who``) sends a message; the receive stores its source.

        The columns up to ``until`` columns after this one is posted together with it: in LogGOPS, only what comes after
        them waits for them. ``size_bytes``: of a whole ``train`` of messages.
        """
        self.columns.append(Column(SEND, who, to, size_bytes, until=until, train=train, alike=alike))

    def exchange(self, to: Int32s, source: Int32s, size_bytes: FloatOrArray, who: Int32s | None = None) -> None:
        """Every rank (of ``who``) posts a send and a receive; neither waits for the other."""
        self.send(to, size_bytes, who, until=2)
        self.receive(source, size_bytes, who=who)

    def receive(
        self,
        source: Int32s,
        size_bytes: FloatOrArray,
        match: NDArray[np.int32] | int = -1,
        who: Int32s | None = None,
        train: int = 1,
        alike: int | None = None,
    ) -> None:
        """Let every rank (of ``who``) wait for the message that its source sent.

        With a ``train``, wait for all of it. It was sent ``-match`` columns before this one.
        """
        self.columns.append(Column(RECEIVE, who, source, size_bytes, match=match, train=train, alike=alike))

    def meet(self, lasts_s: FloatOrArray = 0.0) -> None:
        """Let every rank wait until all have come here, each ``lasts_s`` after it came.

        Waits at distance 1, 2, 4, ..., as in a barrier by dissemination, but without messages, for what the network
        does itself. All ranks do the same.
        """
        self.work(WAIT, 0.0, lasts_s)
        for place in range((self.count - 1).bit_length()):
            self.columns.append(Column(WAIT, None, (self.rank - (1 << place)) % self.count, 0.0, match=-1))

    def reduce(self, size_bytes: FloatOrArray, who: Int32s | None = None) -> None:
        """Let every rank (of ``who``) combine ``size_bytes`` that it has received with its own.

        It computes, unless operators take no time.
        """
        if self.data_costs.reduction_s_per_byte > 0:
            self.work(COMPUTE, 0.0, size_bytes * self.data_costs.reduction_s_per_byte, who)

    def copy(self, blocks: int, block_bytes: FloatOrArray) -> None:
        """Every rank copies ``blocks`` blocks of so many bytes within its memory, unless that takes no time."""
        each_s = self.data_costs.copy_s(block_bytes)
        if np.any(each_s > 0):
            self.work(COMPUTE, 0.0, blocks * each_s)

    def message(self, kind: int, peer: Int32s | int, size_bytes: FloatOrArray, tag: int, who: Int32s | None) -> None:
        """Add a send or receive that is paired by its tag; the peer of a receive may be ``ANY``."""
        self.columns.append(Column(kind, who, peer, size_bytes, tag=tag))

    def work(
        self,
        kind: int,
        size_bytes: FloatOrArray,
        duration_s: FloatOrArray,
        who: Int32s | None = None,
        extra: Mapping[str, FloatOrArray] | None = None,
    ) -> None:
        """Every rank (of ``who``) computes, reads or writes for ``duration_s``."""
        self.columns.append(Column(kind, who, NONE, size_bytes, duration_s, extra=extra or {}))


#: Number of columns posted together beyond which an operation of no time waits for them: so dependencies do not
#: multiply.
MOST_WITHOUT_WAIT = 2


def are_many(group: Sequence[Column]) -> bool:
    """Whether the columns posted together are so numerous that one is to wait for them."""
    return len(group) > MOST_WITHOUT_WAIT


def have_rendezvous(group: Sequence[Column]) -> bool:
    """Whether the sender of a message continues only when its receiver takes it."""
    return any(np.any(column.extra.get("rendezvous", False)) for column in group)


def with_waits(columns: Sequence[Column], needs_wait: Callable[[Sequence[Column]], bool] = are_many) -> list[Column]:
    """Return columns that are posted together with one ``until``, and the waits for them.

    After groups of columns that need it comes one that waits for them all.
    """
    ends = _ends_of_groups(columns)
    begins = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    bounds = list(zip(begins.tolist(), ends.tolist(), strict=False))
    several = np.flatnonzero([needs_wait(columns[first:end]) for first, end in bounds])
    place = np.arange(len(columns)) + np.searchsorted(ends[several], np.arange(len(columns)), side="right")
    grouped: list[Column] = []
    for number, (first, end) in enumerate(bounds):
        numbers = range(first, end)
        grouped += [replace(columns[k], until=end - k, match=_moved(columns[k], k, place)) for k in numbers]
        if number in several:
            grouped.append(Column(WAIT, _all_of(columns[first:end]), NONE, 0.0))
    return grouped


def with_holds(columns: Sequence[Column]) -> list[Column]:
    """Return the columns, and before each in which messages hold receivers one of those that are held."""
    held = [_held(column) for column in columns]
    before = np.array([one is not None for one in held], dtype=np.int64)
    if not before.any():
        return list(columns)
    place = np.arange(len(columns)) + np.cumsum(before)
    begin = np.append(place - before, len(columns) + before.sum())
    placed: list[Column] = []
    for number, column in enumerate(columns):
        one = held[number]
        placed += [] if one is None else [one]
        end = min(number + column.until, len(columns))
        until = int(begin[end] - place[number])
        placed.append(replace(column, until=until, match=_moved(column, number, place)))
    return placed


def _held(column: Column) -> Column | None:
    """Return the receivers of a column that their messages hold; None if they hold none."""
    held = np.asarray(column.held_s, dtype=np.float64)
    is_held = held != 0
    if not is_held.any():
        return None
    if not held.ndim or is_held.all():
        return Column(HELD, column.who, NONE, 0.0, column.held_s)
    who = np.flatnonzero(is_held).astype(np.int32) if column.who is None else column.who[is_held]
    return Column(HELD, who, NONE, 0.0, held[is_held])


def _ends_of_groups(columns: Sequence[Column]) -> NDArray[np.int64]:
    """Where each group of columns that are posted together ends."""
    ends, end = [], 0
    for number, column in enumerate(columns):
        if number == end and number:
            ends.append(end)
        end = min(max(end, number + column.until), len(columns))
    return np.array([*ends, end] if columns else [], dtype=np.int64)


def _moved(column: Column, number: int, place: NDArray[np.int64]) -> NDArray[np.int32] | int | None:
    """Return the match of a column when each is at its new place."""
    if column.match is None or not place[-1] > len(place) - 1:
        return column.match
    moved = place[number + np.asarray(column.match)] - place[number]
    return moved.astype(np.int32) if moved.ndim else int(moved)


def _all_of(columns: Sequence[Column]) -> Int32s | None:
    """Return the ranks of all these columns; None for all ranks."""
    several = [column.who for column in columns]
    if any(who is None for who in several):
        return None
    return np.unique(np.concatenate([who for who in several if who is not None])).astype(np.int32)
