"""A Plan in the making: the table of operations, and what passes find out about it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import Place
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.programs.program import walk
from simcodesign.generate.dependencies import Dependencies, edges_of
from simcodesign.generate.messages.pricing import MessagePricing
from simcodesign.generate.passes.background import BackgroundRoutes
from simcodesign.generate.passes.message_factors import MessageFactors
from simcodesign.generate.plan import Floats, Int32s, Int64s, LogGOPS, Plan, Routes, Stations
from simcodesign.generate.plan_builder import LoweredProgram, PlanBuilder
from simcodesign.generate.segment import Segment


@dataclass
class Draft:
    """N operations of P ranks, as far as the passes have come.

    ``fields``: the table of operations (``operation_columns``). What a pass finds is None until it has run, and where
    there is nothing of the kind; most have the meaning that they have in a Plan.
    """

    builder: PlanBuilder
    prices: MessagePricing
    lowered: LoweredProgram
    place: Place  # where the program has its first message, or begins
    rank: Int32s  # (N,)
    fields: dict[str, NDArray[Any]]
    mailbox: Int32s | None = None
    boxes: int = 0
    tag: Int32s | None = None
    taken_by: Int32s | None = None
    matching_s: float = 0.0
    dependencies: Dependencies | None = None
    loggops: LogGOPS | None = None
    varied: MessageFactors | None = None  # factors of messages whose times vary
    others: BackgroundRoutes | None = None
    served: list[tuple[int, Int64s]] = field(default_factory=list)  # kind and units of stations that serve operations
    station: Int32s | None = None
    routes: Routes | None = None
    visited: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))  # stations on the routes
    stations: Stations | None = None

    @classmethod
    def of(cls, lowered: LoweredProgram, builder: PlanBuilder) -> Draft:
        """Return the operations of a program, before any pass."""
        segment, program = lowered.segment, builder.design_point.workload.program
        messages = (step.place for step in walk(program) if isinstance(step, Send | Receive))
        rank = np.repeat(np.arange(len(segment.first) - 1, dtype=np.int32), segment.counts)
        return cls(builder, builder.prices, lowered, next(messages, program[0].place), rank, dict(segment.fields))

    def again(self, builder: PlanBuilder) -> Draft:
        """Return a draft that continues from here with other effects, and leaves this one as it is."""
        return replace(self, builder=builder, prices=self.prices.again(), fields=dict(self.fields))

    def __len__(self) -> int:
        return len(self.rank)

    @property
    def segment(self) -> Segment:
        """The operations as the demands wrote them."""
        return self.lowered.segment

    @property
    def ranks(self) -> int:
        """P."""
        return self.builder.ranks

    @property
    def program_rank(self) -> Int64s:
        """Numbers in the program of the ranks that have operations here."""
        classes = self.lowered.classes
        return np.arange(self.ranks) if classes is None else classes.first

    @property
    def phases(self) -> tuple[str, ...]:
        """Names of the phases by their numbers."""
        return tuple(self.builder.phases)

    @property
    def kind(self) -> NDArray[np.int8]:
        """(N,) what each operation is."""
        return self.fields["kind"]

    @property
    def phase(self) -> NDArray[np.int16]:
        """(N,) number of its phase."""
        return self.fields["phase"]

    @property
    def peer(self) -> Int32s:
        """(N,) the other end of its message."""
        return self.fields["peer"]

    @property
    def match(self) -> Int32s:
        """(N,) the operation at the other end of its message, once messages are paired."""
        return self.fields["match"]

    @property
    def size_bytes(self) -> Floats:
        """(N,) bytes that it moves."""
        return self.fields["size_bytes"]

    @property
    def duration_s(self) -> Floats:
        """(N,) how long it takes, alone."""
        return self.fields["duration_s"]

    def own(self, name: str) -> NDArray[Any]:
        """Return a column that a pass changes, apart from what drafts before this one have."""
        self.fields[name] = self.fields[name].copy()
        return self.fields[name]

    def as_plan(self) -> Plan:
        """Return the Plan, when all passes have run."""
        fields, dependencies = self.fields, self.dependencies
        assert self.stations is not None
        follows_previous = np.ones(len(self) + 1, bool)
        if dependencies is not None:
            follows_previous[:-1] = dependencies.follows_previous
        follows_previous[self.segment.first] = False
        return Plan(
            first=self.segment.first,
            kind=self.kind,
            phase=self.phase,
            rank=self.rank,
            peer=self.peer,
            size_bytes=self.size_bytes,
            duration_s=self.duration_s,
            match=self.match,
            follows_previous=follows_previous,
            phases=self.phases,
            stations=self.stations,
            station=self.station,
            routes=self.routes,
            edges=None
            if dependencies is None
            else edges_of(len(self), dependencies.source, dependencies.target, dependencies.early),
            polls=None if dependencies is None else dependencies.polls,
            mailbox=self.mailbox,
            tag=self.tag,
            taken_by=self.taken_by,
            matching_s=self.matching_s,
            gap_s=fields.get("gap_s"),
            flight_s=fields.get("flight_s"),
            train=fields.get("train"),
            holds=fields.get("holds"),
            unit=fields.get("unit"),
            loggops=self.loggops,
            background=None if self.others is None else self.others.messages,
        )
