"""Open streams of requests as operations: arrival, server and service time of each.

The times between the arrivals of a rank are a chain of operations that take no station and draw no power; every request
waits for its own by a dependency, and for no other request. At a disk it is one operation, or one for every disk that
it visits, each in the rank whose disk that is. A message is a send and its receive.

All requests are sampled and written together. The sample for request k of a rank does not depend on their
number, if all ranks have equally many; nor on the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPUTE, RECEIVE, SEND
from simcodesign.describe.demands.arrivals import BETWEEN, DISK, REQUESTS, Arrivals
from simcodesign.describe.demands.base import NETWORK
from simcodesign.describe.effects import Mechanism
from simcodesign.describe.evaluation import EvaluatedStep
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.generate.columns import Column
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.demands.disk_access import KINDS, duration_of_access_s
from simcodesign.generate.dependencies import Dependencies
from simcodesign.generate.operation_columns import EXTRAS, FIELDS
from simcodesign.generate.plan import LIMITED, NONE, UNLIMITED, Discipline, OpenStream
from simcodesign.generate.plan_builder import LoweredProgram, PlanBuilder, StepWriter
from simcodesign.generate.randomness.random_streams import random_factors, stream
from simcodesign.generate.segment import Segment

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Operations of a request and of a message; visits on its route are added to these.
PER_REQUEST, PER_MESSAGE = 2, 3
#: Requests of a rank: more than fit in memory, and few enough for their sum over all ranks to be a 64-bit integer.
MOST_REQUESTS = 1e10


class ArrivalsLowering(Lowering[Arrivals]):
    """A program of streams alone, each step of it one stream of every rank."""

    def operations(self, demand: Arrivals, writer: StepWriter) -> float:
        """On average, where their number is random."""
        builder = writer.builder
        counts = requests_of(demand, builder).astype(np.float64)
        if not counts.sum():
            raise InputError("there are no requests", demand.requests.place or demand.place, value=demand.requests.text)
        if demand.to == NETWORK:
            return float(PER_MESSAGE * counts.sum())
        if not demand.next:
            return float(PER_REQUEST * counts.sum())
        goes_on = next_shares(demand, builder).T
        return float(counts.sum() + np.linalg.solve(np.eye(builder.ranks) - goes_on, counts).sum())

    def program(self, steps: Sequence[EvaluatedStep], builder: PlanBuilder) -> LoweredProgram:
        """Lower the program. Raises InputError for what the machine cannot serve.

        Rates and requests that are none, ranks that do not exist, and if counters are wanted.
        """
        program = [step.demand for step in steps if isinstance(step.demand, Arrivals)]
        if builder.tally is not None:
            raise InputError("counters apply to operations of ranks, not to arrivals", program[0].place)
        writer, first, last, source = _Writer(), [], [], []
        for number, demand in enumerate(program, start=1):
            one = _stream_of(demand, f"arrivals {number}", builder)
            gaps = _between(writer, one, builder)
            first.append(gaps)
            last.append((_at_disks if demand.to == DISK else _messages)(writer, one, gaps, builder))
            source.append(one.source)
        segment, dependencies, place = _numbered(writer, builder, _disk_discipline(program, builder))
        begins, ends = place[np.concatenate(first)], place[np.concatenate(last)]
        requests = OpenStream(begins, ends, np.concatenate(source).astype(np.int32))
        return LoweredProgram(segment, dependencies, requests, idle_phase=builder.phases[BETWEEN])


@dataclass(frozen=True)
class _Stream:
    """One step of the program for all ranks: R requests, requests of rank 0 first."""

    step: Arrivals
    name: str  # of its random numbers
    counts: Ints  # (P,)
    rate_per_s: Floats  # (P,)
    size_bytes: Floats  # (P,)

    @property
    def source(self) -> Ints:
        """(R,) rank of every request."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def factors(self, what: str, law: Distribution | None, seed: int) -> Floats:
        """(R,) factors, of which the first are the same however many requests a rank has, if all have as many."""
        count = int(self.counts.sum())
        if law is None or law.constant:
            return np.ones(count)
        factors = random_factors(law, stream(seed, f"{what} of {self.name}"), count)
        even = len(self.counts) and (self.counts == self.counts[0]).all()
        return factors.reshape(-1, len(self.counts)).T.ravel() if even else factors


@dataclass
class _Writer:
    """Operations in any order, to be numbered rank by rank; and what waits for what."""

    columns: list[dict[str, Any]] = field(default_factory=list)
    waits: list[tuple[Ints, Ints]] = field(default_factory=list)  # sources and targets
    pairs: list[tuple[Ints, Ints]] = field(default_factory=list)  # sends and receives
    count: int = 0

    def add(self, rank: Ints, **fields: Any) -> Ints:
        """Operations, one for each of these ranks; their preliminary numbers."""
        number = np.arange(self.count, self.count + len(rank))
        self.columns.append({"rank": rank, "group": len(self.columns), **fields})
        self.count += len(rank)
        return number

    def field(self, name: str, dtype: Any, default: Any) -> NDArray[Any]:
        """(N,) a field of all operations."""
        parts = [np.broadcast_to(column.get(name, default), len(column["rank"])) for column in self.columns]
        return np.concatenate(parts).astype(dtype)


def requests_of(step: Arrivals, builder: PlanBuilder) -> Ints:
    """(P,) how many requests each rank sends. InputError unless these are whole, and few enough to be counted."""
    every = np.broadcast_to(
        np.asarray(builder.evaluation.amount(step.requests, "requests"), dtype=float), builder.ranks
    )
    wrong = (every != np.floor(every)) | (every > MOST_REQUESTS)
    if np.any(wrong):
        allowed = f"a whole number, up to {MOST_REQUESTS:g}"
        raise InputError(
            "requests of a rank", step.requests.place or step.place, value=float(every[wrong][0]), allowed=allowed
        )
    here = builder.evaluation.when(step)
    return np.asarray(every if here is None else np.where(here, every, 0.0)).astype(np.int64)


def _stream_of(step: Arrivals, name: str, builder: PlanBuilder) -> _Stream:
    counts = requests_of(step, builder)
    rate, size = (
        np.broadcast_to(np.asarray(builder.evaluation.amount(expression, what), dtype=float), builder.ranks)
        for expression, what in ((step.rate, "rate"), (step.bytes, "bytes"))
    )
    if np.any(rate[counts > 0] <= 0):
        raise InputError("rate of arrivals", step.rate.place or step.place, value=0, allowed="above 0 per second")
    return _Stream(step, name, counts, rate, size)


def _between(writer: _Writer, one: _Stream, builder: PlanBuilder) -> Ints:
    """Return the times between arrivals, a chain in every rank."""
    source = one.source
    times = one.factors("times between", one.step.between, builder.seed) / one.rate_per_s[source]
    follows_previous = np.ones(len(source), bool)
    starts = np.cumsum(one.counts) - one.counts
    follows_previous[starts[one.counts > 0]] = False
    return writer.add(
        source, kind=COMPUTE, phase=builder.phases[BETWEEN], duration_s=times, follows_previous=follows_previous
    )


# --- At disks ---------------------------------------------------------------------------------------------------------


def _at_disks(writer: _Writer, one: _Stream, gaps: Ints, builder: PlanBuilder) -> Ints:
    """Every request at the disk of its rank, and at those to which it continues; the last operation of each."""
    step, law = one.step, one.step.varies if Mechanism.VARIED_TIMES in builder.on else None
    each_s = duration_of_access_s(step, step.kind, builder.machine, one.size_bytes, 1.0)
    service = np.broadcast_to(each_s, builder.ranks)
    kind, phase = KINDS[step.kind], builder.phases[REQUESTS]

    def visits(where: Ints, factor: Floats) -> Ints:
        size, time = one.size_bytes[where], service[where] * factor
        return writer.add(where, kind=kind, phase=phase, size_bytes=size, duration_s=time)

    last = visits(one.source, one.factors("services", law, builder.seed))
    writer.waits.append((gaps, last))
    if not step.next:
        return last
    last = last.copy()
    shares = next_shares(step, builder)
    ways, more = stream(builder.seed, f"ways of {one.name}"), stream(builder.seed, f"later services of {one.name}")
    going, where = np.arange(len(last)), one.source
    while len(going):
        where = _next(shares, where, ways.random(len(going)))
        stays = where < builder.ranks
        going, where = going[stays], where[stays]
        factor = np.ones(len(going)) if law is None else random_factors(law, more, len(going))
        visit = visits(where, factor)
        writer.waits.append((last[going], visit))  # a copy
        last[going] = visit
    return last


def next_shares(step: Arrivals, builder: PlanBuilder) -> Floats:
    """(P, P) where requests continue to. InputError unless they can."""
    rows = np.array([[float(builder.evaluation.amount(share, "next")) for share in row] for row in step.next])
    step.check_next(rows, builder.ranks)
    return rows


def _next(shares: Floats, where: Ints, uniform: Floats) -> Ints:
    """Return the rank to which each continues, P if it leaves."""
    ranks = len(shares)
    ends = np.cumsum(shares, axis=1) + np.arange(ranks)[:, None]  # ascending from row to row
    next_rank = np.searchsorted(ends.ravel(), where + uniform, side="right") - where * ranks
    return np.asarray(np.minimum(next_rank, ranks))


def _disk_discipline(program: Sequence[Arrivals], builder: PlanBuilder) -> Discipline:
    """Return the discipline of every disk. InputError unless all steps say the same."""
    capacities = {NONE if step.capacity is None else _capacity(step, builder) for step in program if step.to == DISK}
    if len(capacities) > 1:
        last = program[-1]
        raise InputError(
            "capacity of disks", last.place, value=sorted(capacities), allowed="the same in all arrivals to disks"
        )
    capacity = capacities.pop() if capacities else NONE
    return UNLIMITED if capacity == NONE else Discipline(LIMITED, capacity)


def _capacity(step: Arrivals, builder: PlanBuilder) -> int:
    assert step.capacity is not None
    value = float(builder.evaluation.amount(step.capacity, "capacity"))
    if value < 1 or value != np.floor(value) or value >= 2**31:
        allowed = f"a whole number, 1 to {2**31 - 1}"
        raise InputError("capacity of a disk", step.capacity.place or step.place, value=value, allowed=allowed)
    return int(value)


# --- Messages ---------------------------------------------------------------------------------------------------------


def _messages(writer: _Writer, one: _Stream, gaps: Ints, builder: PlanBuilder) -> Ints:
    """Return a send and a receive for every request; the sends."""
    step, machine = one.step, builder.machine
    if not machine.network.message_model.ranks_work_in_order:
        what = "arrivals to the network take Hockney's model of a message: in LogGOPS processors are shared, too"
        raise InputError(what, step.place, value=machine.name, allowed="network.model: hockney")
    law = step.varies if Mechanism.VARIED_TIMES in builder.on else None
    source, target = one.source, _targets(one, builder)
    size = one.size_bytes[source] * one.factors("sizes", law, builder.seed)
    columns = [
        Column(
            kind, who.astype(np.int32), peer.astype(np.int32), size, tag=0, in_memory=size > machine.message_cache_bytes
        )
        for kind, who, peer in ((SEND, source, target), (RECEIVE, target, source))
    ]
    sends, receives = (
        writer.add(
            who,
            kind=column.kind,
            phase=builder.phases[REQUESTS],
            peer=column.peer,
            size_bytes=size,
            duration_s=column.duration_s,
            **column.extra,
        )
        for who, column in zip((source, target), builder.prices.priced(columns, machine), strict=True)
    )
    writer.waits += [(gaps, sends), (gaps, receives)]
    writer.pairs.append((sends, receives))
    return sends


def _targets(one: _Stream, builder: PlanBuilder) -> Ints:
    """(R,) the target of each message. InputError unless that is another rank."""
    step, source, ranks = one.step, one.source, builder.ranks
    if ranks < 2:
        raise InputError("messages need two ranks", step.place, value=f"P = {ranks}")
    if step.destination is None:
        count = int(one.counts.sum())
        other: Floats = stream(builder.seed, f"destinations of {one.name}").random(count)
        even = (one.counts == one.counts[0]).all()
        other = other.reshape(-1, ranks).T.ravel() if even else other
        other_rank = np.minimum((other * (ranks - 1)).astype(np.int64), ranks - 2)
        return np.asarray(other_rank + (other_rank >= source))
    every = np.broadcast_to(np.asarray(builder.evaluation.value(step.destination, "destination"), dtype=float), ranks)
    here = np.arange(ranks)
    bad = (one.counts > 0) & ((every != np.floor(every)) | (every < 0) | (every >= ranks) | (every == here))
    if bad.any():
        rank = int(np.argmax(bad))
        raise InputError(
            f"rank {rank}: destination = {step.destination.text} is not another rank",
            step.destination.place or step.place,
            value=float(every[rank]),
            allowed=f"0 to {ranks - 1}, not {rank} itself",
        )
    return every.astype(np.int64)[source]


# --- Numbers ----------------------------------------------------------------------------------------------------------


def _numbered(writer: _Writer, builder: PlanBuilder, disk_discipline: Discipline) -> tuple[Segment, Dependencies, Ints]:
    """Return the operations rank by rank, and the place of each by its preliminary number."""
    rank = writer.field("rank", np.int64, 0)
    order = np.argsort(rank, kind="stable")  # within a rank as they were written
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    first = np.concatenate([[0], np.cumsum(np.bincount(rank, minlength=builder.ranks))]).astype(np.int64)
    names = builder.prices.names
    kinds: dict[str, Any] = {**FIELDS, **{name: EXTRAS[name][0] for name in names}}
    defaults: dict[str, Any] = {"peer": NONE, "match": NONE, **{name: EXTRAS[name][1] for name in names}}
    fields = {name: writer.field(name, dtype, defaults.get(name, 0))[order] for name, dtype in kinds.items()}
    for sends, receives in writer.pairs:
        fields["match"][place[receives]] = place[sends] - first[rank[sends]]
        fields["match"][place[sends]] = place[receives] - first[rank[receives]]
    source, target = (place[np.concatenate(ends)] for ends in zip(*writer.waits, strict=True))
    fixed = np.flatnonzero(fields["phase"] == builder.phases[BETWEEN])
    return (
        Segment(first, fields),
        Dependencies(
            follows_previous=writer.field("follows_previous", bool, False)[order],
            source=source,
            target=target,
            early=np.zeros(len(source), bool),
            processor=np.full(len(order), NONE, np.int32),
            processors=0,
            without_noise=fixed,
            disk_discipline=disk_discipline,
        ),
        place,
    )


LOWERINGS.add(Arrivals, ArrivalsLowering())
