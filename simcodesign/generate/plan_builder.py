"""The builder that lowering writes to: operations demand by demand, and their totals for the Result."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.demands.footprint import MessageDemand
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.effects import Mechanism
from simcodesign.describe.evaluation import EvaluatedStep, Evaluation, StepOfRanks
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.background import USUAL_BYTES
from simcodesign.describe.machine_parts.memory import OVERLAP
from simcodesign.describe.programs.program import walk
from simcodesign.generate.columns import (
    Column,
    DataCosts,
    Int32s,
    Ranks,
    have_rendezvous,
    of_ranks,
    with_holds,
    with_waits,
)
from simcodesign.generate.counter_tally import Tally, retired
from simcodesign.generate.dependencies import Dependencies
from simcodesign.generate.messages.group_columns import equal_groups
from simcodesign.generate.messages.pricing import MessagePricing
from simcodesign.generate.operation_columns import OF_CHAINS
from simcodesign.generate.plan import NONE, DemandOrder, OpenStream, SourceLines
from simcodesign.generate.power import PowerTable
from simcodesign.generate.randomness.variations import Variations
from simcodesign.generate.rank_classes import RankClasses
from simcodesign.generate.segment import Segment, woven

#: A dictionary of ``Totals``, a name in it, and the amount that is added there.
Added = tuple[dict[str, float], str, float]


@dataclass
class Totals:
    """Totals of all ranks.

    ``work`` (flops, instructions), accesses ``served`` by level of the caches and by memory, accesses to memory that
    were ``prefetched``, amounts ``used`` of the machine's resources; how the hits of each level were counted; and
    seconds on accelerators, and on processors, by what limits them. ``noted``: if not None, also lists all that is
    added.
    """

    work: dict[str, float] = field(default_factory=dict)
    served: dict[str, float] = field(default_factory=dict)
    prefetched: dict[str, float] = field(default_factory=dict)
    used: dict[str, float] = field(default_factory=dict)
    hit_methods: dict[str, str] = field(default_factory=dict)
    limits_s: dict[str, float] = field(default_factory=dict)
    processor_limits_s: dict[str, float] = field(default_factory=dict)
    noted: list[Added] | None = None

    def add(self, totals: dict[str, float], name: str, amount: float) -> None:
        """Add to one of these totals."""
        totals[name] = totals.get(name, 0.0) + amount
        if self.noted is not None:
            self.noted.append((totals, name, amount))


@dataclass(frozen=True)
class DrawnBackground:
    """How many messages of others are drawn, and the seed of them.

    ``used``: the nodes that others do not have; None: those with ranks. ``size_bytes``: of each, where the machine
    states none.
    """

    count: int = 0
    seed: int = 0
    used: NDArray[np.int64] | None = None
    size_bytes: float = USUAL_BYTES


@dataclass(frozen=True)
class PlanBuilder:
    """All that the demands of one Plan share.

    ``tally``: if counters are wanted; ``powers``: if the machine states powers. ``background``: which messages of
    others are drawn.
    """

    evaluation: Evaluation
    phases: dict[str, int]  # number of every phase
    prices: MessagePricing
    on: frozenset[Mechanism]  # what effects switch on
    seed: int
    variations: Variations
    tally: Tally | None = None
    powers: PowerTable | None = None
    totals: Totals = field(default_factory=Totals)
    files: Counter[str] = field(default_factory=Counter)  # accesses to files allocated at random, by phase
    background: DrawnBackground = DrawnBackground()
    polling: dict[str, Int32s] = field(default_factory=dict)  # by name of a part under way: the ranks that poll it

    @property
    def design_point(self) -> DesignPoint:
        """The design point to simulate."""
        return self.evaluation.design_point

    @property
    def machine(self) -> Machine:
        """The machine outside blocks that replace its constants."""
        return self.evaluation.machine

    @cached_property
    def ranks(self) -> int:
        """P."""
        return self.design_point.ranks

    @cached_property
    def queues_at_storage(self) -> bool:
        """Whether accesses queue at the servers of the storage, several of them at a time."""
        return Mechanism.STORAGE_SERVERS in self.on and self.design_point.workload.uses_storage

    @cached_property
    def polled_names(self) -> tuple[str, ...]:
        """Names of the parts that may be polled: all but those of which that is 0 for all ranks and iterations."""
        workload, names = self.design_point.workload, dict[str, None]()
        for step in walk(workload.program):
            if isinstance(step, Demand) and step.polled is not None:
                is_open = "rank" in step.polled.names or not workload.indices.isdisjoint(step.polled.names)
                if is_open or np.any(self.evaluation.value(step.polled, "polled")):
                    names[step.started_as] = None
        return tuple(names)

    @property
    def has_controllers(self) -> bool:
        """Whether memory demands meet at several controllers of a node."""
        memory, shared = self.machine.memory, not self.machine.placement.has_one_each
        return Mechanism.CONTROLLERS in self.on and shared and memory is not None and memory.controllers > 1

    @property
    def links_beside(self) -> bool:
        """Whether lines pass between the sockets of a node while others pass its controllers.

        Under LogGOPSim's rules they cannot: an operation has its processor.
        """
        memory = self.machine.memory
        overlap = memory is not None and memory.remote is not None and memory.transfers == OVERLAP
        return overlap and self.has_controllers and not self.prices.loggops

    @property
    def fields_of_memory(self) -> tuple[str, ...]:
        """The field of memory operations with the number of their controller, if there are several."""
        return ("controller",) if self.has_controllers else ()

    @property
    def extra_fields(self) -> tuple[str, ...]:
        """The fields of operations beyond those that all have."""
        names = self.prices.names + (() if self.tally is None else self.tally.names)
        names = names if self.powers is None else (*names, "power")
        has_chains = self.design_point.workload.has_overlap or self.queues_at_storage or self.links_beside
        names = (*names, *self.fields_of_memory)
        names = (*names, *OF_CHAINS) if has_chains else names
        names = (*names, "server") if self.queues_at_storage else names
        names = (*names, "polled") if self.polled_names else names
        return (*names, "varies") if self.variations.marked else names


@dataclass(frozen=True)
class LoweredProgram:
    """The operations of a whole program.

    ``dependencies``: what they wait for; None if each waits for the previous one in its rank. ``requests``: of a
    program of arrivals; nothing draws power in its ``idle_phase``. ``classes``: of the ranks, if the segment has
    one rank of each.
    """

    segment: Segment
    dependencies: Dependencies | None = None
    requests: OpenStream | None = None
    idle_phase: int = NONE
    demands: DemandOrder | None = None
    lines: SourceLines | None = None
    classes: RankClasses | None = None


@dataclass(frozen=True)
class StepWriter:
    """One demand of a program as operations of all ranks, written column by column."""

    builder: PlanBuilder
    step: EvaluatedStep

    @cached_property
    def columns(self) -> Ranks:
        """The columns written so far."""
        return Ranks(self.builder.ranks, DataCosts.of(self.machine))

    @property
    def machine(self) -> Machine:
        """The machine with the constants of the phase."""
        return self.step.machine

    @property
    def phase(self) -> int:
        """Number of the phase."""
        return self.builder.phases[self.step.phase]

    def amount(
        self, expression: Expression, what: str, changed: Mapping[str, FloatOrArray] | None = None
    ) -> FloatOrArray:
        """Return an amount: a number, or one for every rank; some names may be ``changed``.

        InputError unless it is finite and not negative.
        """
        return self.step.amount(expression, what, changed)

    @cached_property
    def applies(self) -> NDArray[np.bool_] | None:
        """(P,) whether the demand applies to a rank; None if it applies to all."""
        applies = self.step.applies
        return None if applies is None else np.broadcast_to(applies, self.builder.ranks)

    @cached_property
    def who(self) -> Int32s | None:
        """The ranks to which the demand applies; None for all of them."""
        applies = self.applies
        return None if applies is None or applies.all() else np.flatnonzero(applies).astype(np.int32)

    @property
    def present(self) -> NDArray[Any]:
        """(P,) 1 for ranks to which the demand applies, 0 for others; how often each does it, of a recording."""
        if isinstance(self.step, StepOfRanks):
            return self.step.often
        return np.ones(self.builder.ranks) if self.applies is None else self.applies

    def work(
        self,
        kind: int,
        size_bytes: FloatOrArray,
        duration_s: FloatOrArray,
        extra: dict[str, FloatOrArray] | None = None,
    ) -> None:
        """Add an operation of every rank that does the demand.

        It takes ``duration_s`` of its processor, disk or memory. Amounts are numbers, or one for each of the P ranks.
        """
        who = self.who
        fields = {name: of_ranks(value, who) for name, value in (extra or {}).items()}
        self.columns.work(kind, of_ranks(size_bytes, who), of_ranks(duration_s, who), who, fields)

    def varying(self, width: int = 1) -> dict[str, FloatOrArray]:
        """Return the field by which operations of a demand whose times vary get their factor.

        One for each ``width`` of them.
        """
        variations, law = self.builder.variations, self.step.demand.variation
        if not variations.marked or law is None or law.constant:
            return {}
        return {"varies": variations.add(self.step.phase, law, width)}

    def count(self, totals: dict[str, float], name: str, each: FloatOrArray) -> None:
        """Add for the Result what each rank does."""
        every = float(np.sum(self.present * each)) * float(self.step.repetitions)
        self.builder.totals.add(totals, name, every)

    def count_instructions(self, unit: str, work: FloatOrArray, duration_s: FloatOrArray) -> None:
        """Note for the counters the instructions of a computation."""
        tally = self.builder.tally
        if tally is None:
            return
        tally.at_work(self.phase, self.machine.processor)
        instructions = retired(unit, work, duration_s, self.machine.processor)
        tally.note("instructions", self.phase, np.where(self.present, instructions, 0.0) * self.step.repetitions)

    def _through_memory(self) -> list[Column]:
        """Return the written columns, with what passes through the memory of nodes.

        Messages of operations that touch more than a rank's share of the cache.
        """
        demand, ranks, columns = self.step.demand, self.builder.ranks, self.columns.columns
        if not isinstance(demand, MessageDemand):
            return columns
        in_memory, cache_bytes = np.zeros(ranks, bool), self.machine.message_cache_bytes
        if demand.communicator is None or not demand.alike_on_all_ranks:
            in_memory[:] = np.asarray(demand.footprint_bytes(float(ranks), self.amount)) > cache_bytes
        else:
            for several in equal_groups(self.step):
                amount = functools.partial(self.amount, changed=several.names)
                touched = np.broadcast_to(demand.footprint_bytes(float(several.size), amount), ranks)
                in_memory[several.members] = touched[several.members] > cache_bytes
        return [replace(one, in_memory=in_memory if one.who is None else in_memory[one.who]) for one in columns]

    def segment(self, is_collective: bool) -> Segment:
        """Return the written operations, with their prices, rank by rank."""
        builder = self.builder
        columns = self._through_memory() if builder.prices.loads_memory else self.columns.columns
        columns = [one for one in columns if one.who is None or len(one.who)]  # a `when` may hold for no rank
        columns = builder.prices.priced(columns, self.machine, is_collective)
        if builder.prices.holds_receivers:
            columns = with_holds(columns)
        if builder.prices.loggops:
            columns = with_waits(columns)
        elif builder.prices.has_rendezvous:
            columns = with_waits(columns, have_rendezvous)
        if builder.powers is not None:
            columns = [builder.powers.marked(column, self.machine) for column in columns]
        segment = woven(columns, builder.ranks, self.phase, builder.extra_fields)
        if builder.tally is None:
            return segment
        return builder.tally.marked(segment, is_collective, self.machine.processor)
