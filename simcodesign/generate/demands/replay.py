"""From a schedule to a Plan: its own operations and dependencies, at the prices of the machine.

In LogGOPS a schedule runs by the rules of LogGOPSim (``generate/loggopsim``). In Hockney's model operations of a rank
that may overlap queue for their processors, in the order in which they are ready, and messages are paired in the order
of the schedule, where they do not come from anyone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPUTE, RECEIVE, SEND
from simcodesign.describe.demands.replay import Replay
from simcodesign.describe.evaluation import EvaluatedStep
from simcodesign.describe.goal.schedule import ANY_TAG, Schedule
from simcodesign.describe.machine import Machine
from simcodesign.describe.yaml.demands import MOST_TAG
from simcodesign.generate.columns import Column
from simcodesign.generate.counter_tally import Tally, retired
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.dependencies import Dependencies
from simcodesign.generate.loggopsim import as_in_loggopsim
from simcodesign.generate.messages.pricing import MessagePricing
from simcodesign.generate.plan import ANY, NONE
from simcodesign.generate.plan_builder import LoweredProgram, PlanBuilder, StepWriter
from simcodesign.generate.programs.segment import BY_TAG, EXTRAS, FIELDS, Segment

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
    """Note those of the calcs of a schedule, which are times, before chance changes these."""
    rank, kind = np.repeat(np.arange(tally.ranks), segment.counts), segment.fields["kind"]
    weights = np.where(kind == COMPUTE, segment.fields["duration_s"], 0.0)
    calc_s = np.asarray(np.bincount(rank, weights, tally.ranks), dtype=np.float64)
    tally.note("instructions", 0, retired("seconds", calc_s, calc_s, machine.processor))


def replayed(schedule: Schedule, prices: MessagePricing, machine: Machine) -> tuple[Segment, Dependencies]:
    """The operations of a schedule and their dependencies. InputError for tags that cannot be told apart."""
    if prices.has_rendezvous and not prices.loggops:
        what = "in a schedule, senders wait for their receivers (network.S) only in LogGOPS"
        raise InputError(
            what, schedule.place, value=f"model: {machine.network.model}", allowed="model: loggop, or no S"
        )
    graph = _Graph(schedule, with_postings=not prices.loggops)
    rank = np.repeat(np.arange(schedule.ranks), np.diff(graph.first))
    fields = {name: np.full(len(graph.of), 0, dtype) for name, dtype in FIELDS.items()}
    fields |= {name: np.full(len(graph.of), EXTRAS[name][1], EXTRAS[name][0]) for name in prices.names}
    real = graph.of != NONE
    taken = graph.of[real]
    fields["kind"][real], fields["peer"][real] = schedule.kind[taken], schedule.peer[taken]
    fields["duration_s"][real] = schedule.calc_s[taken]
    fields["size_bytes"][real] = schedule.size_bytes[taken]
    fields["peer"][~real] = NONE
    fields["match"][:] = NONE
    tag = _tags(schedule)
    messages = real.copy()
    messages[real] = schedule.kind[taken] != COMPUTE
    fields["match"][messages] = BY_TAG - tag[graph.of[messages]]
    _price(fields, rank, prices, machine)
    segment = Segment(graph.first, fields)
    if prices.loggops:
        return segment, as_in_loggopsim(schedule, tag, segment)
    return segment, graph.dependencies(rank)


def _price(fields: dict[str, NDArray[Any]], rank: Ints, prices: MessagePricing, machine: Machine) -> None:
    """Durations and ways of the messages, in place."""
    for kind in (SEND, RECEIVE):
        mine = np.flatnonzero(fields["kind"] == kind)
        peer, size = fields["peer"][mine], fields["size_bytes"][mine]
        # A receive has the size of its message, where it is known which one that is.
        size = np.where((kind == RECEIVE) & (peer != ANY), np.nan, size)
        fields["size_bytes"][mine] = size
        who = rank[mine].astype(np.int32)
        (column,) = prices.priced([Column(kind, who, peer.astype(np.int32), size, tag=0)], machine)
        fields["duration_s"][mine] = column.duration_s
        for name in prices.names:
            fields[name][mine] = column.extra.get(name, EXTRAS[name][1])


def _tags(schedule: Schedule) -> Ints:
    """Tags, as small numbers if they are none. A rank that receives any tag has one tag for all that comes to it."""
    tag = schedule.tag.astype(np.int64)
    if tag.min(initial=0) < ANY_TAG or tag.max(initial=0) > MOST_TAG:
        tag = np.unique(tag, return_inverse=True)[1].astype(np.int64)
    any_tag = (schedule.kind == RECEIVE) & (schedule.tag == ANY_TAG)
    if not any_tag.any():
        return tag
    rank = np.repeat(np.arange(schedule.ranks), np.diff(schedule.first))
    open_ = np.zeros(schedule.ranks, bool)
    open_[rank[any_tag]] = True
    receives = (schedule.kind == RECEIVE) & open_[rank]
    wrong = np.flatnonzero(receives & ~(any_tag & (schedule.peer == ANY)))
    if len(wrong):
        raise InputError(
            f"rank {rank[wrong[0]]} receives messages of any tag, but not all from anyone and of any tag",
            schedule.place,
            value=schedule.label(int(wrong[0])),
            allowed="recv ... from -1 tag -1 for all receives of the rank, or for none",
        )
    to_open = (schedule.kind == SEND) & open_[np.maximum(schedule.peer, 0)]
    tag[receives | to_open] = 0
    return tag


class _Graph:
    """Operations and dependencies; ``with_postings``: and an operation of no time for each receive whose posting others
    wait for."""

    def __init__(self, schedule: Schedule, with_postings: bool) -> None:
        self._schedule = schedule
        count = len(schedule)
        source = np.repeat(np.arange(count), np.diff(schedule.edge_start))
        target, early = schedule.edge_target.astype(np.int64), schedule.edge_early
        posted = np.zeros(count, bool)
        posted[source[early & (schedule.kind[source] == RECEIVE)]] = with_postings
        new = np.arange(count) + np.cumsum(posted)  # where every operation stands now: after its posting
        begin = new - posted
        self.of = np.full(count + int(posted.sum()), NONE, np.int64)  # operation of the schedule, NONE for postings
        self.of[new] = np.arange(count)
        self.first = np.append(begin, len(self.of))[schedule.first]
        from_posting = early & posted[source]
        self._source = np.concatenate([np.where(from_posting, begin[source], new[source]), begin[posted]])
        self._target = np.concatenate([begin[target], new[posted]])
        self._early = np.concatenate([early & ~posted[source], np.zeros(int(posted.sum()), bool)])

    def dependencies(self, rank: Ints) -> Dependencies:
        """What waits for what."""
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
