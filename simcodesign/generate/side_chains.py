"""Side chains: the operations of a part that runs concurrently with the rest of its rank, from its start to its wait.

The operations of a started part are inserted at the point where it starts, and each depends on the previous one. Next
comes a zero-time operation that depends on the operation before the part, so that the rest of the rank continues from
there. The wait is a zero-time operation that depends on the previous operation and on the last operation of the part.
Segments store a dependency as a distance back within the rank, which remains valid at any place and repetition.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.expressions.expression import Expression
from simcodesign.core.operation_kinds import WAIT
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.demands.wait import Wait
from simcodesign.generate.columns import Column, Int32s, of_ranks
from simcodesign.generate.dependencies import Dependencies
from simcodesign.generate.plan import NONE
from simcodesign.generate.plan_builder import StepWriter
from simcodesign.generate.polled_parts import BEGINS, ENDS, WAITS, polls_of, role
from simcodesign.generate.segment import Segment, joined, woven

Int64s = NDArray[np.int64]
#: Parts of a rank that work by themselves, by their place: ``Plan.unit``.
UNITS = ("processor", "memory", "disk", "accelerator", "link", "storage")


class SideChains:
    """The parts started in a block, and their ends in it, rank by rank."""

    def __init__(self, ranks: int) -> None:
        self._done = np.zeros(ranks, np.int64)  # operations of every rank so far
        self._last: dict[str, Int64s] = {}  # place of the last one of a part, NONE in ranks whose part is empty
        self._polls: dict[str, NDArray[np.bool_]] = {}  # the ranks that poll a part
        self._who: dict[str, Int32s | None] = {}  # the ranks that have started a part; None: all

    def placed(self, demand: Demand, written: Segment, writer: StepWriter) -> Segment:
        """Return the operations of a demand, as placed in the block."""
        if isinstance(demand, Wait):
            written = self._wait(demand, writer)
        elif demand.started_as:
            written = self._started(demand, written, writer)
        self.passed(written.counts)
        return written

    def passed(self, counts: Int64s) -> None:
        """Count the operations of every rank in a block within this one."""
        self._done = self._done + counts

    def _started(self, demand: Demand, part: Segment, writer: StepWriter) -> Segment:
        if demand.polled is not None and demand.started_as in writer.builder.polled_names:
            part = self._polled(demand, demand.polled, part, writer)
        self._last[demand.started_as] = np.where(part.counts > 0, self._done + part.counts - 1, NONE)
        unit = part.fields["unit"]
        unit[unit == 0] = UNITS.index(demand.works_on) if demand.works_on else 0
        self._who[demand.started_as] = writer.who
        onward = _column(writer.who, back=part.counts + 1)
        return joined([part, _woven([onward], writer)], writer.builder.ranks, writer.builder.extra_fields)

    def _polled(self, demand: Demand, polled: Expression, part: Segment, writer: StepWriter) -> Segment:
        """Return a part with the operations that begin and end it, in ranks that poll it."""
        name, names = demand.started_as, writer.builder.polled_names
        self._polls[name] = (part.counts > 0) & (np.asarray(writer.amount(polled, "polled")) != 0)
        who = writer.builder.polling[name] = np.flatnonzero(self._polls[name]).astype(np.int32)
        begins, ends = (_woven([_column(who, polled=role(names, name, which))], writer) for which in (BEGINS, ENDS))
        return joined([begins, part, ends], writer.builder.ranks, writer.builder.extra_fields)

    def _wait(self, wait: Wait, writer: StepWriter) -> Segment:
        columns, here = [], self._done.copy()
        for name in wait.names:
            last, who = self._last.pop(name), self._who.pop(name)
            polls = self._polls.pop(name, None)
            writer.builder.polling.pop(name, None)
            fields = {"awaits": np.where(last == NONE, 0, here - last)}
            if polls is not None:
                fields["awaits"][polls] = 0
                fields["polled"] = role(writer.builder.polled_names, name, WAITS) * polls
            columns.append(_column(who, **fields))
            here[slice(None) if who is None else who] += 1
        return _woven(columns, writer)


def _column(who: Int32s | None, **fields: Int64s | int) -> Column:
    """Return an operation of no time of the ranks ``who``; fields have a value for every rank, or one for all."""
    extra = {name: of_ranks(np.asarray(value, np.int32), who) for name, value in fields.items()}
    return Column(WAIT, who, NONE, 0.0, extra=extra)


def _woven(columns: list[Column], writer: StepWriter) -> Segment:
    return woven(columns, writer.builder.ranks, writer.phase, writer.builder.extra_fields)


def dependencies_of_chains(segment: Segment, rank: NDArray[np.int32]) -> Dependencies:
    """Dependencies of operations of a program in Hockney's model with parts that run concurrently."""
    fields: dict[str, NDArray[Any]] = dict(segment.fields)
    number = np.arange(len(rank))
    before = number - fields["back"]
    apart = np.flatnonzero((fields["back"] != 1) & (before >= segment.first[rank]))
    waits = np.flatnonzero(fields["awaits"])
    source = np.concatenate([before[apart], waits - fields["awaits"][waits]])
    return Dependencies(
        follows_previous=fields["back"] == 1,
        source=source.astype(np.int64),
        target=np.concatenate([apart, waits]),
        early=np.zeros(len(source), bool),
        processor=np.full(len(rank), NONE, np.int32),
        processors=0,
        polls=polls_of(segment, rank),
    )
