"""An operation of several ranks as a piece of a graph of events, message by message.

The piece has a node for every receive: the moment at which the message is taken up. Beyond S bytes it has one for every
send, at which its sender continues; where gaps keep sends apart, one at which each send begins. It is made once,
without a Python loop over messages, and entered into the graph as often as the operation is done.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.longest_path.booked_path import Floats, Ints
from simcodesign.analytic.longest_path.event_graph import NONE, EventGraph, Moments
from simcodesign.analytic.messages.message_order import Ordered
from simcodesign.analytic.messages.posted_together import SHORT

#: Kinds of events, in their order within a turn.
SEND, RECEIVE, WAIT, WORK = range(4)


@dataclass(frozen=True)
class Expansion:
    """``count`` nodes.

    Edges from ``source`` to ``target``, ``weight_s`` long: a source below 0 is the moment at which rank -1 - source
    (its place among those that take part) reaches the operation; ``computed_s`` of it is own work; ``place``: of
    the target. ``end``, ``end_s``, ``end_computed_s``: the moments at which ranks are done; ``work_s``: what their
    processors do meanwhile.
    """

    count: int
    source: Ints
    weight_s: Floats
    computed_s: Floats
    target: Ints
    place: Ints
    end: Ints
    end_s: Floats
    end_computed_s: Floats
    work_s: Floats

    @classmethod
    def of(cls, ordered: Ordered, ranks: int, has_gap: bool) -> Expansion:
        """Return the piece of messages between places 0 to ``ranks`` - 1.

        ``has_gap``: whether gaps keep sends apart.
        """
        return _Maker(ordered, ranks, has_gap).expansion()

    def enter(self, graph: EventGraph, begins: Moments, ends: Ints, label: Ints | int) -> None:
        """Add the piece after ranks come at these moments, up to nodes at which they leave, under the label of each."""
        first = graph.inner(self.count)
        labels = np.broadcast_to(label, ends.shape)
        source, since_s = self._moments(self.source, self.weight_s, begins, first)
        graph.edges(source, first + self.target, since_s, labels[self.place], self.computed_s)
        source, since_s = self._moments(self.end, self.end_s, begins, first)
        graph.edges(source, ends, since_s, labels, self.end_computed_s)

    @staticmethod
    def _moments(node: Ints, offset_s: Floats, begins: Moments, first: int) -> tuple[Moments, Floats]:
        """Return times after nodes of the piece, or after the moments at which ranks reach it.

        Also return the nodes of these times.
        """
        outside = node < 0
        place = np.where(outside, -1 - node, 0)
        since_s = np.where(outside, begins.offset_s[place], 0.0)
        return Moments(np.where(outside, begins.node[place], first + node), offset_s + since_s), since_s


class _Maker:
    """Events of the ranks by place and turn; a place's nodes cut its events into runs, in which times add up."""

    def __init__(self, ordered: Ordered, ranks: int, has_gap: bool) -> None:
        self.ordered, self.ranks = ordered, ranks
        one, count = ordered.message, len(ordered.source)
        self.in_order = one.in_order

        def of_each(value: object) -> Floats:
            return np.broadcast_to(np.asarray(value, dtype=np.float64), (count,))

        self.arrival_s, self.copy_s, send_s = of_each(one.arrival_s), of_each(one.copy_s), of_each(one.send_s)
        receive_s, self.gap_s = of_each(one.receive_s), of_each(one.next_send_s)
        every = np.arange(count)
        waits = every[np.broadcast_to(one.waits, (count,)) & one.in_order]
        reduces = every[ordered.reduced_s > 0]
        self.any_order = not one.in_order and ordered.is_posted and self._most_sends() > SHORT
        self.has_gap = has_gap and not one.in_order and not self.any_order
        taken_s = receive_s if one.in_order else np.zeros(count)
        events = [
            (ordered.source, ordered.sent, SEND, every, send_s),
            (ordered.target, ordered.taken, RECEIVE, every, taken_s),
            (ordered.source[waits], ordered.freed[waits], WAIT, waits, np.zeros(len(waits))),
            (ordered.target[reduces], ordered.freed[reduces] + 1, WORK, reduces, ordered.reduced_s[reduces]),
            (ordered.work.rank, ordered.work.at, WORK, np.full(len(ordered.work.at), NONE), ordered.work.time_s),
        ]
        kind = np.repeat([event[2] for event in events], [len(event[0]) for event in events])
        place, turn, message, time_s = (np.concatenate([event[side] for event in events]) for side in (0, 1, 3, 4))
        order = np.lexsort((kind, turn, place))
        self.place, self.kind, self.message, self.time_s = place[order], kind[order], message[order], time_s[order]
        self.work_s: Floats = np.bincount(place, time_s, ranks).astype(np.float64)
        if not one.in_order:
            self.arrival_s = self.arrival_s + receive_s
            self.work_s += np.bincount(ordered.target, receive_s, ranks)

    def _most_sends(self) -> int:
        return int(np.bincount(self.ordered.source, minlength=1).max())

    def expansion(self) -> Expansion:
        is_node = (self.kind == RECEIVE) | (self.kind == WAIT) | ((self.kind == SEND) & self.has_gap)
        number = np.cumsum(is_node) - 1
        before, before_s, end, end_s = self._clocks(is_node, number, self.time_s)
        computed_s, end_computed_s = np.zeros(len(self.kind)), np.zeros(self.ranks)
        if (self.kind == WORK).any():
            own_work_s = np.where(self.kind == WORK, self.time_s, 0.0)
            _, computed_s, _, end_computed_s = self._clocks(is_node, number, own_work_s)
        at = {kind: np.flatnonzero(self.kind == kind) for kind in (SEND, RECEIVE, WAIT)}
        own_s, receives = before_s.copy(), at[RECEIVE]
        own_s[receives] += self.copy_s[self.message[receives]]
        event = np.zeros((3, len(self.ordered.source)), np.int64)  # of each message
        for kind, here in at.items():
            event[kind, self.message[here]] = here
        sends, receives, waits = event[SEND], number[event[RECEIVE]], at[WAIT]
        sent, sent_s, worked_s, nothing_s = before[sends], before_s[sends], computed_s[sends], np.zeros(len(sends))
        if self.has_gap:
            sent, sent_s, worked_s = number[sends], nothing_s, nothing_s
        elif self.any_order:
            sent, sent_s, worked_s = -1 - self.ordered.source, nothing_s, nothing_s
        edges = [
            (before[is_node], own_s[is_node], computed_s[is_node], number[is_node]),
            (sent, sent_s + self.arrival_s, worked_s, receives),
            (receives[self.message[waits]], *np.zeros((2, len(waits))), number[waits]),
        ]
        if self.has_gap:
            last, after = at[SEND][:-1], at[SEND][1:]
            same = self.place[last] == self.place[after]
            last, after = last[same], after[same]
            edges.append((number[last], self.gap_s[self.message[last]], np.zeros(len(last)), number[after]))
        source, weight_s, of_work_s, target = (np.concatenate(column) for column in zip(*edges, strict=True))
        columns = source, weight_s, of_work_s, target, self.place[is_node][target]
        return Expansion(int(is_node.sum()), *columns, end, end_s, end_computed_s, self.work_s)

    def _clocks(self, is_node: NDArray[np.bool_], number: Ints, time_s: Floats) -> tuple[Ints, Floats, Ints, Floats]:
        """Return the clocks before all events, and the clocks of all places in the end.

        Nodes (or arrivals) and what the times of events add up to after them.
        """
        every = np.arange(len(self.place))
        first = np.searchsorted(self.place, np.arange(self.ranks + 1))
        is_first = np.zeros(len(every), bool)
        is_first[first[:-1][first[:-1] < first[1:]]] = True
        begin = np.maximum.accumulate(np.where(is_node | is_first, every, 0))  # of each event's run
        run = np.where(is_node[begin], number[begin], -1 - self.place[begin]) if len(every) else every
        sums_s = _sums(time_s, every - begin)
        before = np.where(is_first, -1 - self.place, np.roll(run, 1))
        before_s = np.where(is_first, 0.0, np.roll(sums_s, 1))
        some = first[:-1] < first[1:]
        end, end_s = -1 - np.arange(self.ranks), np.zeros(self.ranks)
        end[some], end_s[some] = run[first[1:][some] - 1], sums_s[first[1:][some] - 1]
        return before, before_s, end, end_s


def _sums(time_s: Floats, position: Ints) -> Floats:
    """Return sums of the times up to each event of a run, by positions in runs.

    Sums over all ranks would lose digits.
    """
    sums_s = time_s.copy()
    order = np.argsort(position, kind="stable")
    bounds = np.searchsorted(position[order], np.arange(int(position.max(initial=0)) + 2))
    for low, high in zip(bounds[1:-1].tolist(), bounds[2:].tolist(), strict=True):
        here = order[low:high]
        sums_s[here] += sums_s[here - 1]
    return sums_s
