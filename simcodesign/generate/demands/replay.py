"""From a schedule to a Plan: its own operations and dependencies, at the prices of the machine.

In LogGOPS a schedule runs by the rules of LogGOPSim (``generate/loggopsim``). In Hockney's model operations of a rank
that may overlap queue for their processors, in the order in which they are ready, and messages are paired in the order
of the schedule, if they do not come from any source.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPUTE, HELD, RECEIVE, SEND, WAIT
from simcodesign.describe.demands.replay import Replay
from simcodesign.describe.evaluation import EvaluatedStep
from simcodesign.describe.goal.schedule import ANY_TAG, Schedule
from simcodesign.describe.machine import Machine
from simcodesign.describe.yaml.demands.messages import MOST_TAG
from simcodesign.generate.columns import Column
from simcodesign.generate.counter_tally import Tally, retired
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.dependencies import Dependencies
from simcodesign.generate.loggopsim import as_in_loggopsim
from simcodesign.generate.messages.constants_by_size import has_rendezvous
from simcodesign.generate.messages.pricing import MessagePricing
from simcodesign.generate.operation_columns import EXTRAS, FIELDS
from simcodesign.generate.plan import ANY, NONE
from simcodesign.generate.plan_builder import LoweredProgram, PlanBuilder, StepWriter
from simcodesign.generate.segment import BY_TAG, Segment

Ints = NDArray[np.int64]


class ReplayLowering(Lowering[Replay]):
    """A program of one schedule: its operations, in its own order."""

    def operations(self, demand: Replay, writer: StepWriter) -> float:
        return len(demand.schedule)

    def program(self, steps: Sequence[EvaluatedStep], builder: PlanBuilder) -> LoweredProgram:
        demand = steps[0].demand
        assert isinstance(demand, Replay)
        if len(steps) > 1 or steps[0].block.outer is not None:
            raise InputError("a schedule is the whole of its program", demand.place)
        segment, dependencies = replayed(demand.schedule, builder.prices, builder.machine)
        if builder.tally is not None:
            _count_instructions(builder.tally, segment, builder.machine)
        return LoweredProgram(segment, dependencies)


def _count_instructions(tally: Tally, segment: Segment, machine: Machine) -> None:
    """Note the instructions of the calcs of a schedule, which are times, before random effects change these."""
    rank, kind = np.repeat(np.arange(tally.ranks), segment.counts), segment.fields["kind"]
    weights = np.where(kind == COMPUTE, segment.fields["duration_s"], 0.0)
    calc_s = np.asarray(np.bincount(rank, weights, tally.ranks), dtype=np.float64)
    tally.note("instructions", 0, retired("seconds", calc_s, calc_s, machine.processor))


def replayed(schedule: Schedule, prices: MessagePricing, machine: Machine) -> tuple[Segment, Dependencies]:
    """Return the operations of a schedule and their dependencies."""
    waits = np.zeros(len(schedule), bool)
    if prices.waits_for_receivers:
        waits = (schedule.kind == SEND) & has_rendezvous(machine.network.message_model, schedule.size_bytes)
    held = (schedule.kind == RECEIVE) & prices.holds_receivers
    graph = _Graph(schedule, with_postings=not prices.loggops, waits=waits, held=held)
    rank = np.repeat(np.arange(schedule.ranks), np.diff(graph.first))
    fields = {name: np.full(len(graph.of), 0, dtype) for name, dtype in FIELDS.items()}
    fields |= {name: np.full(len(graph.of), EXTRAS[name][1], EXTRAS[name][0]) for name in prices.names}
    real = graph.of != NONE
    taken = graph.of[real]
    fields["kind"][real], fields["peer"][real] = schedule.kind[taken], schedule.peer[taken]
    fields["duration_s"][real] = schedule.calc_s[taken]
    fields["size_bytes"][real] = schedule.size_bytes[taken]
    fields["kind"][graph.waits], fields["kind"][graph.held], fields["peer"][~real] = WAIT, HELD, NONE
    fields["match"][:] = NONE
    tag, any_tag, box = _tags(schedule)
    messages = real.copy()
    messages[real] = schedule.kind[taken] != COMPUTE
    fields["match"][messages] = BY_TAG - tag[graph.of[messages]]
    if any_tag.any():
        fields["any_tag"] = real.copy()
        fields["any_tag"][real] = any_tag[taken]
    # A receive has the size of its message, if it is known which message that is.
    is_known = np.zeros(len(graph.of), bool)
    is_known[real] = ((schedule.kind == RECEIVE) & (box == NONE))[taken]
    fields["size_bytes"][is_known] = np.nan
    _price(fields, rank, prices, machine)
    segment = Segment(graph.first, fields)
    if prices.loggops:
        return segment, as_in_loggopsim(schedule, tag, box, segment)
    if prices.waits_for_receivers:
        fields["until"][graph.waits - 1] = graph.waits - graph.first[rank[graph.waits]]
    return segment, graph.dependencies(rank)


def _price(fields: dict[str, NDArray[Any]], rank: Ints, prices: MessagePricing, machine: Machine) -> None:
    """Set durations and routes of the messages, in place."""
    for kind in (SEND, RECEIVE):
        mine = np.flatnonzero(fields["kind"] == kind)
        peer, size = fields["peer"][mine], fields["size_bytes"][mine]
        who = rank[mine].astype(np.int32)
        message = Column(kind, who, peer.astype(np.int32), size, tag=0, in_memory=size > machine.message_cache_bytes)
        (column,) = prices.priced([message], machine)
        fields["duration_s"][mine] = column.duration_s
        if kind == RECEIVE and prices.holds_receivers:
            fields["duration_s"][mine - 1] = column.held_s
        for name in prices.names:
            fields[name][mine] = column.extra.get(name, EXTRAS[name][1])


def _tags(schedule: Schedule) -> tuple[Ints, NDArray[np.bool_], Ints]:
    """Tags, as small numbers if they are none.

    Receives of any tag at ranks that also receive others; and the number of the place where messages meet receives of
    several kinds, NONE for all others.

    A rank all of whose receives are from anyone and of any tag has one tag for all its messages.
    """
    tag = schedule.tag.astype(np.int64)
    if tag.min(initial=0) < ANY_TAG or tag.max(initial=0) > MOST_TAG:
        tag = np.unique(tag, return_inverse=True)[1].astype(np.int64)
    rank = np.repeat(np.arange(schedule.ranks), np.diff(schedule.first))
    receives, sends = schedule.kind == RECEIVE, schedule.kind == SEND
    target = np.where(sends, schedule.peer, rank)
    any_tag = receives & (schedule.tag == ANY_TAG)
    of_any_tag = np.zeros(schedule.ranks, bool)
    of_any_tag[rank[any_tag]] = True
    tag[(receives | sends) & of_any_tag[target] & ~_several_kinds(schedule, rank, any_tag)[target]] = 0
    tag[any_tag] = 0
    any_tag &= _several_kinds(schedule, rank, any_tag)[rank]
    key = target << 32 | np.where(of_any_tag[target], 0, tag)
    boxes = np.unique(key[receives & ((schedule.peer == ANY) | of_any_tag[rank])])
    inside = (receives | sends) & np.isin(key, boxes)
    return tag, any_tag, np.where(inside, np.searchsorted(boxes, key), NONE)


def _several_kinds(schedule: Schedule, rank: Ints, any_tag: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(P,) ranks with a receive that does not take whatever comes first."""
    some = np.zeros(schedule.ranks, bool)
    some[rank[(schedule.kind == RECEIVE) & ~(any_tag & (schedule.peer == ANY))]] = True
    return some


class _Graph:
    """Operations and dependencies, with operations of no time.

    ``with_postings``, one before each receive whose posting others wait for; one before each receive whose rank is
    ``held``; and after each send that ``waits`` for its receiver, one that what requires the send requires.
    """

    def __init__(
        self, schedule: Schedule, with_postings: bool, waits: NDArray[np.bool_], held: NDArray[np.bool_]
    ) -> None:
        self._schedule = schedule
        count = len(schedule)
        source = np.repeat(np.arange(count), np.diff(schedule.edge_start))
        target, early = schedule.edge_target.astype(np.int64), schedule.edge_early
        posted = np.zeros(count, bool)
        posted[source[early & (schedule.kind[source] == RECEIVE)]] = with_postings
        before = posted.astype(np.int64) + held
        new = np.arange(count) + np.cumsum(before) + np.cumsum(waits) - waits  # present position of every operation
        begin, end = new - before, new + waits
        more = int(before.sum() + waits.sum())
        self.of = np.full(count + more, NONE, np.int64)  # of the schedule, or NONE
        self.of[new] = np.arange(count)
        self.waits, self.held = end[waits], new[held] - 1
        self.first = np.append(begin, len(self.of))[schedule.first]
        begins = np.where(posted[source], begin[source], new[source])
        added = np.zeros(more, bool)
        self._source = np.concatenate([np.where(early, begins, end[source]), begin[posted], self.held, new[waits]])
        self._target = np.concatenate([begin[target], begin[posted] + 1, new[held], end[waits]])
        self._early = np.concatenate([early & ~posted[source], added])

    def dependencies(self, rank: Ints) -> Dependencies:
        """Dependencies between operations."""
        following = (self._target == self._source + 1) & ~self._early
        follows_previous = np.zeros(len(self.of), bool)
        follows_previous[self._target[following]] = True
        source, target, early = (part[~following] for part in (self._source, self._target, self._early))
        free = ~follows_previous
        free[self.first[:-1][np.diff(self.first) > 0]] = False
        overlaps = np.zeros(len(self.first) - 1, bool)
        overlaps[rank[free]] = True
        real, cpu = self.of != NONE, self._schedule.cpu[self.of]
        overlaps[rank[real & (cpu != self._schedule.cpu[self._schedule.first[rank]])]] = True
        queues = overlaps[rank] & real
        key = rank[queues] << 32 | cpu[queues]
        units, number = np.unique(key, return_inverse=True)
        processor = np.full(len(self.of), NONE, np.int32)
        processor[queues] = number
        return Dependencies(follows_previous, source, target, early, processor, len(units))


LOWERINGS.add(Replay, ReplayLowering())
