"""Events of a program's ranks, what each waits for, and when the last one is over.

A node is a moment at which a rank may have to wait for others: the taking up of a message, the end of an operation of
several ranks, a wait for what was started. An edge means that its target is no earlier than its source plus its weight
in seconds. Between two nodes a rank does nothing but its own work, so that its clock is a node and an offset: arrays
over ranks. The longest path is found in an order in which every node comes after all that it waits for. Every edge has
a label, the phase and component under which its seconds are booked if it is on the path (``booked_path``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.longest_path.booked_path import Begun, Edges, Floats, Ints, Labels, Times, booked

#: Source of receives from any rank, and receiver of sends that wait for none.
NONE = -1
#: Operations of ranks that are followed; two million take two seconds and 300 MB.
MOST_OPERATIONS = 2_000_000
#: Cost of a step of a few ranks, in operations of ranks.
LEAST_OF_STEP = 20
#: Nodes that are ready together on average, after some rounds, below which they are followed one by one.
WIDTH, FREE_ROUNDS = 40, 100


class NoPathError(Exception):
    """There is no longest path, for the reason given."""


class Moments(NamedTuple):
    """Moments of ranks: ``offset_s`` after a node each."""

    node: Ints
    offset_s: Floats

    def later(self, time_s: Floats | float) -> Moments:
        """So much later."""
        return Moments(self.node, self.offset_s + time_s)

    def of(self, which: NDArray[np.bool_ | np.integer[Any]]) -> Moments:
        """Select some of the moments."""
        return Moments(self.node[which], self.offset_s[which])


class Sends(NamedTuple):
    """Messages, an entry each.

    Sent ``offset_s`` after ``node``, there ``arrival_s`` later, and then ``receive_s`` to take up (0 if it counts with
    the receive). ``copy_s``: for how long it holds its receiver before. ``goes_on``: the node at which a sender
    continues that waits for its receiver; otherwise NONE. ``label``: what they are booked under.
    """

    source: Ints
    target: Ints
    tag: Ints
    node: Ints
    offset_s: Floats
    arrival_s: Floats
    receive_s: Floats
    copy_s: Floats
    goes_on: Ints
    label: Ints


class Receives(NamedTuple):
    """Receives, an entry each, whose turn is ``offset_s`` after ``begin``; ``source`` is NONE for any source.

    ``is_priced``: whether the message determines their time; ``is_in_turn``: whether the following operations wait for
    them.
    """

    source: Ints
    target: Ints
    tag: Ints
    node: Ints
    begin: Ints
    offset_s: Floats
    is_priced: NDArray[np.bool_]
    is_in_turn: NDArray[np.bool_]
    label: Ints


#: Action of ranks, started (True) or before they continue: when they are done with it.
Act = Callable[["EventGraph", bool], Moments]


@dataclass
class EventGraph:
    """The events of ``ranks`` ranks so far; ``left_out``: what of the program is not in them.

    ``now``: the clock of each, (P + 1,), of which the last belongs to no rank; ``work_s``, likewise: what its processor
    has done, before which no rank can be at the same place either.
    """

    ranks: int
    max_operations: float = MOST_OPERATIONS

    def __post_init__(self) -> None:
        every = np.arange(self.ranks + 1)
        self.now = Moments(every.copy(), np.zeros(len(every)))
        self.work_s = np.zeros(len(every))
        self._gap = Moments(np.full(len(every), NONE), np.zeros(len(every)))  # before which no rank sends again
        self._count, self.spent = len(every), 0
        self._owners, self._floors_s = [every], [np.zeros(len(every))]
        self._edges: list[Edges] = []
        self._begun: list[Begun] = []
        self._labels = Labels()
        self.label: Ints | int = 0  # of what is done now, of each rank that does it or of all
        self._label_of_nodes: list[Ints] = [np.zeros(len(every), np.int64)]
        self._sends: list[Sends] = []
        self._receives: list[Receives] = []
        self.left_out = dict[str, None]()

    def spend(self, operations: float) -> None:
        """Count operations before they are looked at. NoPathError if they are too many."""
        self.spent += max(int(min(operations, 2 * MOST_OPERATIONS)), LEAST_OF_STEP)
        self.check(0.0)

    def check(self, more: float) -> None:
        """NoPathError if ``more`` operations would be too many."""
        if self.spent + more > self.max_operations:
            self.spent = int(max(self.spent, self.max_operations + 1))
            raise NoPathError(f"more than {self.max_operations:,.0f} operations of ranks")

    def label_of(self, phase: str, component: str) -> int:
        """Return the label of what is booked there."""
        return self._labels.number(phase, component)

    def do(self, who: Ints, label: Ints | int, act: Act, is_started: bool) -> Moments:
        """Let these ranks do something under a label, and return when they are done with it.

        What is started begins at a node of its own, and leaves the clocks as they are.
        """
        before, self.label = self.now.of(who), label
        if is_started:
            self.go_to(who, Moments(self.nodes(who, before), np.zeros(len(who))))
        self._begun.append(Begun(*self.now.of(who), np.broadcast_to(label, who.shape)))
        ends = act(self, is_started)
        if is_started:
            self.go_to(who, before)
        return ends

    def works(self, who: Ints, time_s: Floats, is_started: bool) -> Moments:
        """Let these ranks work for ``time_s``, started or before they continue; return when they are done."""
        ends = self.now.of(who).later(time_s)
        if not is_started:
            self.go_to(who, ends)
            self.work_s[who] += time_s
        return ends

    def waits(self, who: Ints, until: Moments) -> None:
        """Let these ranks continue no earlier than that."""
        node = self.nodes(who, self.now.of(who))
        self.edges(until, node)
        self.go_to(who, Moments(node, np.zeros(len(who))))

    def nodes(self, who: Ints, after: Moments) -> Ints:
        """Return new nodes of these ranks, each no earlier than a moment."""
        numbers = np.arange(self._count, self._count + len(who))
        self._count += len(who)
        self._owners.append(who)
        self._floors_s.append(self.work_s[who])
        self._label_of_nodes.append(np.broadcast_to(self.label, who.shape))
        self.edges(after, numbers)
        return numbers

    def inner(self, count: int) -> int:
        """Return the number of the first of new nodes that belong to no rank."""
        first = self._count
        self._count += count
        self._owners.append(np.full(count, self.ranks))
        self._floors_s.append(np.zeros(count))
        self._label_of_nodes.append(np.zeros(count, np.int64))
        return first

    def edges(
        self,
        source: Moments,
        target: Ints,
        since_s: Floats | None = None,
        label: Ints | int = 0,
        computed_s: Floats | None = None,
    ) -> None:
        """Each target is no earlier than a moment.

        From ``since_s`` after the node on, its offset is booked under a label, ``computed_s`` of it as computation;
        before, and without it, as what the rank of the node did then.
        """
        self._edges.append(Edges(source.node, source.offset_s, target, since_s, label, computed_s))

    def go_to(self, who: Ints, at: Moments) -> None:
        """Set the clocks of these ranks."""
        self.now.node[who], self.now.offset_s[who] = at

    def after_gap(self, who: Ints, gap_s: Floats) -> None:
        """Let these ranks send now, or when the gap since their last send is over, then not again for ``gap_s``.

        A gap that began before the rank's latest node is left out.
        """
        last, now = self._gap.of(who), self.now.of(who)
        begins_s = np.where(last.node == now.node, np.maximum(last.offset_s, now.offset_s), now.offset_s)
        self.now.offset_s[who] = begins_s
        self._gap.node[who], self._gap.offset_s[who] = now.node, begins_s + gap_s

    def add_sends(self, sends: Sends) -> None:
        """Messages, in the order of each rank."""
        self._sends.append(sends)

    def add_receives(self, receives: Receives) -> None:
        """Receives, in the order of each rank."""
        self._receives.append(receives)

    def end(self) -> Times:
        """When the last rank is done, and what the longest path to there consists of.

        NoPathError for messages that do not match, and for ranks that wait for each other.
        """
        taken_s = self._match()
        owner, floor_s = np.concatenate(self._owners), np.concatenate(self._floors_s)
        order = np.argsort(owner, kind="stable")
        first = np.searchsorted(owner[order], np.arange(self.ranks + 1))
        sums_s = np.concatenate([[0.0], np.cumsum(taken_s[order])])
        floor_s[order] += sums_s[1:] - sums_s[first][owner[order]]
        edges = Edges.together(self._edges)
        begin_s = _longest(edges, floor_s)
        of_messages_s = sums_s[np.append(first[1:], len(order))] - sums_s[first]
        ends_s = np.maximum(begin_s[self.now.node] + self.now.offset_s, self.work_s + of_messages_s)
        last = int(np.argmax(ends_s))
        end = int(self.now.node[last]), float(self.now.offset_s[last]), float(ends_s[last])
        parts = edges, Begun.together(self._begun), np.concatenate(self._label_of_nodes), owner
        return booked(begin_s, end, *parts, self._labels)

    def _match(self) -> Floats:
        """Return the seconds (nodes,) for which the processor takes up messages, and add edges to their receives.

        Edges go from every message to its receive: the n-th from a source to a target with a tag to the n-th receive of
        it. Seconds that are counted already are left out.
        """
        taken_s = np.zeros(self._count)
        if not self._sends and not self._receives:
            return taken_s
        sends = _joined(Sends, self._sends)
        receives = _joined(Receives, self._receives)
        here, there = _pairs(sends, receives)
        receive_s = np.where(receives.is_priced[there], sends.receive_s[here], 0.0)
        node = receives.node[there]
        taken_s[node] = np.where(receives.is_in_turn[there], receive_s, 0.0)
        begins_s = sends.offset_s[here]
        arrives = Moments(sends.node[here], begins_s + sends.arrival_s[here] + receive_s)
        self.edges(arrives, node, begins_s, sends.label[here])
        copied = receives.is_priced[there] & (sends.copy_s[here] > 0)
        turn = Moments(receives.begin[there], receives.offset_s[there] + (sends.copy_s[here] + receive_s)).of(copied)
        self.edges(turn, node[copied], receives.offset_s[there][copied], receives.label[there][copied])
        waits = sends.goes_on[here] != NONE
        self.edges(Moments(node[waits], np.zeros(int(waits.sum()))), sends.goes_on[here][waits])
        return taken_s


T = TypeVar("T", Sends, Receives)


def _joined(kind: type[T], parts: list[T]) -> T:
    """All of them, in their order."""
    empty: Any = (np.zeros(0, np.int64) for _ in kind._fields)
    columns: Any = (np.concatenate(column) for column in zip(*parts, strict=True)) if parts else empty
    return kind(*columns)


def _pairs(sends: Sends, receives: Receives) -> tuple[Ints, Ints]:
    """Return the messages that are received from named ranks, and their receives.

    A message whose target receives from anyone with its tag has no pair. NoPathError if one is missing.
    """
    several, tag = np.unique(np.concatenate([sends.tag, receives.tag]), return_inverse=True)
    box = np.concatenate([sends.target, receives.target]) * len(several) + tag
    sent_to, received_at = box[: len(sends.tag)], box[len(sends.tag) :]
    anyone = received_at[receives.source == NONE]
    here = _in_order(sends.source, sent_to, anyone)
    there = _in_order(receives.source, received_at, anyone)
    sent = np.stack([sends.source[here], sent_to[here]])
    if not np.array_equal(sent, np.stack([receives.source[there], received_at[there]])):
        raise NoPathError("sends and receives that do not match")
    return here, there


def _in_order(source: Ints, box: Ints, anyone: Ints) -> Ints:
    """Places by source and box, and else in their order, of those in no box of ``anyone``."""
    named = np.flatnonzero(~np.isin(box, anyone))
    order: Ints = named[np.lexsort((box[named], source[named]))]
    return order


def _longest(edges: Edges, begin_s: Floats) -> Floats:
    """(nodes,) the earliest time of each that all edges allow, not before ``begin_s``. NoPathError for a circle."""
    source, weight_s, target = edges.source, edges.weight_s, edges.target
    order = np.argsort(source, kind="stable")
    count = len(begin_s)
    first = np.searchsorted(source[order], np.arange(count + 1))
    targets, weights_s = target[order], weight_s[order]
    missing, times_s, place = np.bincount(target, minlength=count), begin_s.copy(), np.zeros(count, np.int64)
    ready, done, rounds = np.flatnonzero(missing == 0), 0, 0
    while len(ready) and done >= WIDTH * (rounds - FREE_ROUNDS):
        done, rounds = done + len(ready), rounds + 1
        counts = first[ready + 1] - first[ready]
        edge = np.arange(counts.sum()) + np.repeat(first[ready] - np.cumsum(counts) + counts, counts)
        after = targets[edge]
        np.maximum.at(times_s, after, np.repeat(times_s[ready], counts) + weights_s[edge])
        np.subtract.at(missing, after, 1)
        ready = after[missing[after] == 0]
        place[ready] = np.arange(len(ready))
        ready = ready[place[ready] == np.arange(len(ready))]  # each once
    if len(ready):
        done += _one_by_one(ready, first, targets, weights_s, missing, times_s)
    if done < count:
        raise NoPathError("ranks that wait for each other")
    return times_s


def _one_by_one(ready: Ints, first: Ints, targets: Ints, weights_s: Floats, missing: Ints, times_s: Floats) -> int:
    """Go on node by node where few are ready at a time. How many there were; their times in place."""
    waiting, times, left, begins = ready.tolist(), times_s.tolist(), missing.tolist(), first.tolist()
    target, weight_s = targets.tolist(), weights_s.tolist()
    done = 0
    while waiting:
        node = waiting.pop()
        done += 1
        time_s = times[node]
        for edge in range(begins[node], begins[node + 1]):
            after = target[edge]
            if time_s + weight_s[edge] > times[after]:
                times[after] = time_s + weight_s[edge]
            left[after] -= 1
            if not left[after]:
                waiting.append(after)
    times_s[:] = times
    return done
