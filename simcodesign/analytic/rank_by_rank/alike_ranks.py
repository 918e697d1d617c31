"""Collectives whose messages cost more between some ranks than between others, rank by rank in Hockney's model.

A rank does one thing after another. A message that its sender begins at s arrives at s + a; the sender continues at s
+ c, beyond S bytes not before the receiver takes the message up; the receiver takes it up for r when it has arrived and
the receiver is free, and has been for as long as the message holds it. So every moment is the later of two others, each
plus a time: max(m1 + x, m2 + y) + z. Which moments and times these are depends on the order of the messages and on who
shares a node, not on the constants. Ranks (of all groups) whose moments are the same expressions are alike, and are
followed once; the expressions are made once and evaluated at all design points.

Messages of a step may load what several ranks share (``Shared``): the memory of their node, and its interfaces to the
network. The arrival of such a message depends on how many are concurrent, which the order of messages gives. Ranks
that all send and receive in a step then continue together: an early rank shares the more with messages of the next
step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.message_costs import MessageCosts
from simcodesign.analytic.messages.ordered_steps import Burst, Joint, Step
from simcodesign.analytic.rank_by_rank.path_counts import by_paths
from simcodesign.analytic.rank_by_rank.shared_stations import Load, Shared
from simcodesign.core.units import FloatOrArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Messages that are looked at one by one, of all groups that differ; and moments that differ.
MOST_MESSAGES, MOST_MOMENTS = 2**21, 2**16
#: Number of moments at all design points held together.
MOST_TIMES = 2**18
#: Design points from which on paths are counted.
MANY_POINTS = 1024
#: Loads of a node that differ.
_LOADS = 2**20
#: Kinds of terms of an expression; ``HELD``: nothing if a sender waits for its receiver, otherwise minus infinity;
#: ``PACKING``: of blocks; their size and number, in ``Course.copies``, replace the code of a message.
NOTHING, SEND, ARRIVAL, RECEIVE, COPY, HELD, PACKING = range(7)
_SIZES = 2**24
NONE: Ints = np.zeros(0, np.int64)
_LEVELS = 2**4
IntsT = TypeVar("IntsT", int, Ints)


class Expressions(NamedTuple):
    """Moments max(m[own] + x[term], m[other] + x[other_term]) + x[last] + the reduction of ``reduced`` bytes."""

    own: Ints
    term: Ints
    other: Ints
    other_term: Ints
    last: Ints
    reduced: Ints


@dataclass(frozen=True)
class Course:
    """``rows``: of the moments, in order; the first moment of all is 0.

    ``ends``: the moments at which ranks are done. ``sizes``: parts and blocks of a size by its number; ``loads``:
    likewise. ``messages``: their codes (load, level and size), ``counts``: how many there are of each in all
    groups; ``copies``: of every rank, each the parts into which the bytes are divided for a block, and how many
    blocks; ``copied``: how often each is made.
    """

    rows: Sequence[Expressions]
    ends: Ints
    sizes: Sequence[tuple[int, float]]
    messages: Ints
    counts: Floats
    loads: Sequence[Load] = ()
    copies: Sequence[tuple[int, int]] = ()
    copied: Sequence[int] = ()


class TooManyError(Exception):
    """More messages or moments than are followed."""


def course(
    steps: Iterable[Step | Burst | Joint],
    labels: Ints,
    counts: Ints,
    waits: bool,
    by_rank: bool = False,
    copies: bool = False,
    shared: Shared | None = None,
) -> Course | None:
    """Return the moments of ranks in groups (G, n) of which there are ``counts`` (G,).

    ``labels`` (D, G, n): members of a group that have the same first k labels are on level k with each other.
    ``waits``: whether senders may wait for receivers; ``by_rank``: the size of a message depends on its owner;
    ``copies``: whether messages may hold their receivers; ``shared``: what messages load together. None if there
    would be too many.
    """
    maker = _Maker(labels, counts, waits, by_rank, copies, shared)
    try:
        for step in steps:
            maker.add(step)
    except TooManyError:
        return None
    codes, weights = np.concatenate([NONE, *maker.codes]), np.concatenate([NONE, *maker.weights])
    messages, where = np.unique(codes, return_inverse=True)
    counts_of = np.bincount(where.ravel(), weights, len(messages)).astype(np.float64)
    ends, sizes = np.unique(maker.now), list(maker.sizes)
    copied = maker.copied
    return Course(maker.rows, ends, sizes, messages, counts_of, list(maker.loads), [*copied], [*copied.values()])


def levels_of(labels: Ints, source: Ints, target: Ints) -> Ints:
    """(G, m) levels of messages between members of groups, by their ``labels`` (D, G, n)."""
    alike = labels[:, :, source] == labels[:, :, target]
    levels: Ints = np.logical_and.accumulate(alike, axis=0).sum(axis=0)
    return levels


@dataclass
class _Maker:
    labels: Ints
    counts: Ints
    waits: bool
    by_rank: bool
    copies: bool
    shared: Shared | None = None
    rows: list[Expressions] = field(default_factory=list)
    sizes: dict[tuple[int, float], int] = field(default_factory=dict)
    loads: dict[Load, int] = field(default_factory=lambda: {Load(): 0})
    codes: list[Ints] = field(default_factory=list)
    weights: list[Floats] = field(default_factory=list)
    seen: int = 0
    moments: int = 1
    copied: dict[tuple[int, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.now: Ints = np.zeros(self.labels.shape[1:], np.int64)

    def add(self, step: Step | Burst | Joint) -> None:
        """Add the next step of all ranks."""
        if isinstance(step, Burst):
            self.burst(step)
        elif isinstance(step, Joint):
            self.joint(step)
        else:
            self.step(step)

    def step(self, step: Step) -> None:
        """Follow copies of all ranks, messages, and copies."""
        self._copy(step.packed, step.parts)
        if len(step.source):
            self._pass(step)
            if self.shared is not None and np.array_equal(np.sort(step.source), np.sort(step.target)):
                self.now[:, step.source] = self._latest(self.now[:, step.source])
        self._copy(step.unpacked, step.parts)

    def _copy(self, blocks: int, parts: int) -> None:
        """Every rank copies ``blocks`` blocks, each the bytes divided by ``parts``."""
        if blocks:
            self.copied[parts, blocks] = self.copied.get((parts, blocks), 0) + 1
            number = list(self.copied).index((parts, blocks))
            self.now = self._moment(self.now, np.full_like(self.now, _term(PACKING, number)))

    def _pass(self, step: Step) -> None:
        """Let a rank that sends continue; a rank that receives takes up the message after that."""
        source, target, now = step.source, step.target, self.now
        code = self._code(source, target, self._size(step))
        if self.shared is not None:
            code = self._with_loads(code, self.shared.loads(source, target))
        before, after = now[:, source], now.copy()
        goes_on = np.ones(len(source), bool) if self.waits or self.copies else ~np.isin(source, target)
        after[:, source[goes_on]] = self._moment(before[:, goes_on], _term(SEND, code[:, goes_on]))
        receives = np.isin(target, source)
        own, own_term = now[:, target], np.zeros_like(code)
        if self.copies:
            own, own_term = after[:, target], _term(COPY, code)
        elif receives.any():  # in one expression with the send of the receiver
            sends = np.full(now.shape[1], -1)
            sends[source] = np.arange(len(source))
            own_term[:, receives] = _term(SEND, code[:, sends[target[receives]]])
        reduced = self._reduced(step, code)
        if not self.waits:
            after[:, target] = self._moment(own, own_term, before, _term(ARRIVAL, code), _term(RECEIVE, code), reduced)
            self.now = after
            return
        taken = self._moment(own, own_term, before, _term(ARRIVAL, code))
        after[:, target] = self._moment(taken, _term(RECEIVE, code))
        after[:, source] = self._moment(after[:, source], np.zeros_like(code), taken, _term(HELD, code))
        if reduced is not None:
            done = after[:, target]
            after[:, target] = self._moment(done, np.zeros_like(code), reduced=reduced)
        self.now = after

    def joint(self, joint: Joint) -> None:
        """All sends of a rank one after another, then all its receives; it waits for receivers after these."""
        now, begun, codes = self.now.copy(), [], []
        for part in joint.parts:
            code = self._code(part.source, part.target, self._size(part))
            begun.append(now[:, part.source])
            now[:, part.source] = self._moment(begun[-1], _term(SEND, code))
            if self.shared is not None:
                code = self._with_loads(code, self.shared.loads(part.source, part.target))
            codes.append(code)
        waited = []
        for part, before, code in zip(joint.parts, begun, codes, strict=True):
            own, copied = now[:, part.target], _term(COPY, code) if self.copies else np.zeros_like(code)
            taken = self._moment(own, copied, before, _term(ARRIVAL, code))
            now[:, part.target] = self._moment(taken, _term(RECEIVE, code), reduced=self._reduced(part, code))
            waited.append((part.source, taken, _term(HELD, code)))
        for source, taken, held in waited if self.waits else ():
            now[:, source] = self._moment(now[:, source], np.zeros_like(taken), taken, held)
        who = np.unique(np.concatenate([part.target for part in joint.parts]))
        if joint.reduced:
            number = self._number(joint.parts_of_bytes, joint.reduced, 0) + 1
            done = now[:, who]
            now[:, who] = self._moment(done, np.zeros_like(done), reduced=np.full_like(done, number))
        self.now = now
        if self.shared is not None:
            self.now[:, who] = self._latest(self.now[:, who])

    def burst(self, burst: Burst) -> None:
        """All sends one after another, then all receives.

        Nothing follows, so that no rank has to be held. All messages are in flight together: shared stations serve them
        in this order.
        """
        rank, now, begun = np.arange(self.now.shape[1]), self.now, []
        loads, queued = [np.zeros((*now.shape, 2))], []
        number = np.zeros((len(rank), len(rank)), np.int64)  # of the message of a source to a target, by both
        size = np.array([self._number(1, 1.0, each) for each in (rank if self.by_rank else rank[:1])])
        size = np.broadcast_to(size, rank.shape)
        for place, target in enumerate(burst.target):
            begun.append(now)
            number[rank, target] = place
            code = self._code(rank, target, size)
            now = self._moment(now, _term(SEND, code))
            if self.shared is not None:
                loads.append(loads[-1] + self.shared.loads(rank, target))
                queued.append(self._with_loads(code, loads[-1]))
        before = np.array(begun)
        for source in burst.source:
            code, place = self._code(source, rank, size[source], counted=False), number[source, rank]
            if queued:
                there = np.array(queued)[place, :, source].T
                now = self._moment(now, np.zeros_like(code), self.now[:, source], _term(ARRIVAL, there))
            own_term = _term(COPY, code) if self.copies else np.zeros_like(code)
            now = self._moment(now, own_term, before[place, :, source].T, _term(ARRIVAL, code), _term(RECEIVE, code))
        self.now = now

    def _code(self, source: Ints, target: Ints, size: Ints, counted: bool = True) -> Ints:
        """(G, m) level and size of messages."""
        self.seen += len(self.counts) * len(source)
        if self.seen > MOST_MESSAGES:
            raise TooManyError
        code = levels_of(self.labels, source, target) * _SIZES + size
        if counted:
            self.codes.append(code.ravel())
            self.weights.append(np.repeat(self.counts, len(source)).astype(np.float64))
        return code

    def _latest(self, several: Ints) -> Ints:
        """(G, 1) the latest of the moments (G, m) of each group."""
        if len(several) == 1:
            several = np.unique(several)[None, :]
        while several.shape[1] > 1:
            pairs = several.shape[1] // 2
            first, rest = several[:, :pairs], several[:, pairs:]
            nothing = np.zeros_like(first)
            later = self._moment(first, nothing, rest[:, :pairs], nothing)
            several = np.concatenate([later, rest[:, pairs:]], axis=1)
        return several

    def _with_loads(self, code: Ints, loads: Floats) -> Ints:
        """Codes of messages with these loads (G, m, 2)."""
        distinct, which = np.unique(loads.reshape(-1, 2), axis=0, return_inverse=True)
        number = np.array([self.loads.setdefault(Load(*one), len(self.loads)) for one in distinct.tolist()])
        if len(self.loads) > _LOADS:
            raise TooManyError
        more: Ints = number[which.ravel()].reshape(code.shape) * (_SIZES * _LEVELS)
        return code + more

    def _number(self, parts: int, blocks: float, owner: int) -> int:
        key = (1, float(owner)) if self.by_rank else (parts, blocks)
        return self.sizes.setdefault(key, len(self.sizes))

    def _size(self, step: Step) -> Ints:
        """(m,) numbers of the sizes of messages."""
        owner = step.source if step.owner is None else step.owner
        return self._numbers(step.parts, owner if self.by_rank else np.asarray(step.blocks), len(step.source))

    def _numbers(self, parts: int, values: NDArray[np.float64] | Ints, count: int) -> Ints:
        distinct, which = np.unique(values, return_inverse=True)
        number = np.array([self._number(parts, float(one), int(one)) for one in distinct])
        return np.broadcast_to(number[which.ravel()], count)

    def _reduced(self, step: Step, code: Ints) -> Ints | None:
        """(G, m) numbers of the sizes that are reduced, from 1 on; 0 for nothing."""
        if not np.any(step.reduced):
            return None
        number = self._numbers(step.parts, np.asarray(step.reduced, dtype=np.float64), len(step.source)) + 1
        return np.broadcast_to(number, code.shape)

    def _moment(
        self,
        own: Ints,
        term: Ints,
        other: Ints | None = None,
        other_term: Ints | None = None,
        last: Ints | None = None,
        reduced: Ints | None = None,
    ) -> Ints:
        """Numbers of the moments; equal ones get one number."""
        if other is None or other_term is None:
            other, other_term = own, term
        nothing = np.zeros(1, np.int64)
        every = (
            own,
            term,
            other,
            other_term,
            nothing if last is None else last,
            nothing if reduced is None else reduced,
        )
        if not own.size:
            return own
        columns = [np.broadcast_to(column, own.shape).ravel() for column in every]
        first, which = _distinct(columns)
        self.rows.append(Expressions(*(column[first] for column in columns)))
        begin, self.moments = self.moments, self.moments + len(first)
        if self.moments > MOST_MOMENTS:
            raise TooManyError
        return (begin + which).reshape(own.shape)


def _term(kind: int, code: IntsT) -> IntsT:
    return kind * _SIZES * _LEVELS * _LOADS + code


def _distinct(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Return the first place of every distinct row, and which of these each row is."""
    code, distinct = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        if column[0] == column[-1] and (column == column[0]).all():
            continue
        values, which = np.unique(column, return_inverse=True)
        code = code * len(values) + which.ravel()
        distinct *= len(values)
        if distinct > 2**31:
            values, code = np.unique(code, return_inverse=True)
            distinct = len(values)
    _, first, which = np.unique(code, return_index=True, return_inverse=True)
    return first, which.ravel()


@dataclass(frozen=True)
class Followed:
    """When the last rank of all groups is done, and the work up to then.

    For how long operators are at work on the longest path to it (None if that is not followed), and for how long all
    ranks of all groups are at work on messages; at some design points (n,).
    """

    time_s: Floats
    reduction_s: Floats | None
    busy_s: Floats


class Prices:
    """The times of a course at some design points, as ``where`` picks them from arrays.

    The arrays are broadcast to a shape: ``prices`` by level, for bytes ``size_bytes``, which have the ranks as the last
    axis where ``by_rank``; ``under_load(level, size, message, load)``: the message as it is if others share what it
    passes.
    """

    def __init__(
        self,
        one: Course,
        prices: Callable[[int], MessageCosts],
        size_bytes: FloatOrArray,
        by_rank: bool,
        pick: Callable[[FloatOrArray], Floats],
        under_load: Callable[[int, FloatOrArray, Message, Load], Message] | None = None,
    ) -> None:
        self._course, self._prices, self._pick = one, prices, pick
        self._size_bytes, self._by_rank, self._under_load = size_bytes, by_rank, under_load
        self._messages: dict[int, Message] = {}
        self._levels: dict[int, MessageCosts] = {}

    def _bytes(self, number: int) -> FloatOrArray:
        parts, blocks = self._course.sizes[number]
        if self._by_rank:
            rank = int(blocks)
            return np.asarray(self._size_bytes)[..., rank : rank + 1]
        return self._size_bytes / parts * blocks

    def _message(self, code: int) -> Message:
        load, alone = divmod(code, _SIZES * _LEVELS)
        level, number = divmod(alone, _SIZES)
        if code not in self._messages:
            size = self._bytes(number)
            one = self._of_level(level).message(size) if not load else self._message(alone)
            if load and self._under_load is not None:
                one = self._under_load(level, size, one, self._course.loads[load])
            self._messages[code] = one
        return self._messages[code]

    def _of_level(self, level: int) -> MessageCosts:
        if level not in self._levels:
            self._levels[level] = self._prices(level)
        return self._levels[level]

    def of_term(self, term: int) -> Floats:
        """(n,) seconds of a term."""
        kind, code = divmod(term, _SIZES * _LEVELS * _LOADS)
        if kind == NOTHING:
            return self._pick(0.0)
        if kind == PACKING:
            return self.of_copies(code)
        message = self._message(code)
        if kind == HELD:
            return self._pick(np.where(message.waits, 0.0, -np.inf))
        return self._pick((message.send_s, message.arrival_s, message.receive_s, message.copy_s)[kind - SEND])

    def of_copies(self, number: int) -> Floats:
        """(n,) seconds of one of the copies of a rank, whatever the level of its messages."""
        parts, blocks = self._course.copies[number]
        return self._pick(blocks * np.asarray(self._of_level(0).copy_s(self._size_bytes / parts)))

    def of_all_copies(self) -> Floats:
        """(n,) seconds of all copies of a rank."""
        total = self._pick(0.0)
        for number, count in enumerate(self._course.copied):
            total = total + count * self.of_copies(number)
        return total

    def of_reduction(self, number: int, rate: FloatOrArray) -> Floats:
        """(n,) seconds of the operator on a size, from 1 on; 0 of nothing."""
        return self._pick(self._bytes(number - 1) * rate if number else 0.0)

    def busy_s(self) -> Floats:
        """(n,) seconds for which senders and receivers are at work, waiting apart."""
        total = self._pick(0.0)
        for code, count in zip(self._course.messages.tolist(), self._course.counts.tolist(), strict=True):
            message = self._message(code)
            total = total + count * self._pick(message.send_s + message.held_s)
        return total


def follow(one: Course, prices: Prices, reduction_s_per_byte: FloatOrArray) -> Followed:
    """Return a course at all design points that ``prices`` picks."""
    terms = np.unique(np.concatenate([np.concatenate([row.term, row.other_term, row.last]) for row in one.rows]))
    reduced = np.unique(np.concatenate([row.reduced for row in one.rows]))
    numbered = [
        row._replace(
            term=np.searchsorted(terms, row.term),
            other_term=np.searchsorted(terms, row.other_term),
            last=np.searchsorted(terms, row.last),
            reduced=np.searchsorted(reduced, row.reduced),
        )
        for row in one.rows
    ]
    seconds = [prices.of_term(term) for term in terms.tolist()]
    operators = [prices.of_reduction(number, reduction_s_per_byte) for number in reduced.tolist()]
    few = None if len(seconds[0]) < MANY_POINTS else by_paths(numbered, one.ends, seconds, operators)
    time_s, reduction_s = few or _by_moments(numbered, one.ends, seconds, operators)
    return Followed(time_s, reduction_s + prices.of_all_copies(), prices.busy_s())


def _by_moments(
    rows: Sequence[Expressions], ends: Ints, seconds: Sequence[Floats], operators: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """Follow the course moment by moment."""
    reduces = any(np.any(operator) for operator in operators)
    at_once = max(1, MOST_TIMES // (1 + sum(len(row.own) for row in rows)))
    times, reductions = [], []
    for low in range(0, len(seconds[0]), at_once):
        some = slice(low, low + at_once)
        table, operator = (np.array([each[some] for each in several]) for several in (seconds, operators))
        time_s, reduction_s = _evaluated(rows, ends, table, operator, reduces)
        times.append(time_s)
        reductions.append(reduction_s)
    return np.concatenate(times), np.concatenate(reductions)


def _evaluated(
    rows: Sequence[Expressions], ends: Ints, table: Floats, operator: Floats, reduces: bool
) -> tuple[Floats, Floats]:
    """Seconds of the whole, and of its operators, (n,)."""
    moments = 1 + sum(len(row.own) for row in rows)
    at = np.zeros((moments, table.shape[1]))
    operated = np.zeros_like(at) if reduces else at[:0]
    begin = 1
    for row in rows:
        here = slice(begin, begin + len(row.own))
        begin += len(row.own)
        own = at[row.own] + table[row.term]
        other = at[row.other] + table[row.other_term]
        at[here] = np.maximum(own, other)
        at[here] += table[row.last]
        if reduces:
            at[here] += operator[row.reduced]
            on_path = np.where(other > own, operated[row.other], operated[row.own])
            operated[here] = on_path + operator[row.reduced]
    done = at[ends]
    time_s: Floats = done.max(axis=0)
    if not reduces:
        return time_s, np.zeros_like(time_s)
    last = done.argmax(axis=0)
    return time_s, operated[ends][last, np.arange(len(last))]
