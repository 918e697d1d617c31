"""From a design point to a Plan: the program lowered demand by demand, priced and numbered."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TypeVar

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.memory_limit import check_memory, give_back_memory
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.effects import Mechanism, ladder, switched_on
from simcodesign.describe.evaluation import Evaluation
from simcodesign.describe.machine_parts.background import USUAL_BYTES
from simcodesign.describe.programs.program import placed_demands
from simcodesign.generate.counter_tally import Tally
from simcodesign.generate.demands.base import Lowering, lowering
from simcodesign.generate.demands.memory_accesses import operations_of
from simcodesign.generate.messages.pricing import MessagePricing
from simcodesign.generate.passes.draft import Draft
from simcodesign.generate.passes.order import drafted, finished, with_sharing
from simcodesign.generate.plan import NONE, Accounts, Plan, Powers
from simcodesign.generate.plan_builder import DrawnBackground, LoweredProgram, PlanBuilder
from simcodesign.generate.plan_size import ProgramSize, check_plan_fits, size_of
from simcodesign.generate.power import PowerTable
from simcodesign.generate.program_lowering import ProgramLowering
from simcodesign.generate.randomness.random_streams import imbalance_shares
from simcodesign.generate.randomness.variations import Variations
from simcodesign.generate.rank_classes import ClassFinder, NotAlikeError
from simcodesign.generate.segment import Segment

#: An expression that differs between ranks, with what it is computed from.
BYTES_PER_RANK = 24
#: Number of operations from which ranks that do the same are looked for; and how many values may be sorted to find
#: them, to
#: the operations: the search then takes a small part of the time of the simulation.
MIN_BY_CLASS, FINDING_WORK = 1e6, 0.125
#: Operations from which memory that was freed is worth a call of the system: they take a tenth of a second or more.
MIN_TRIMMED = 100_000

Made = TypeVar("Made", LoweredProgram, Plan)


def make_plan(
    design_point: DesignPoint,
    effects: Collection[str] = (),
    seed: int = 0,
    counters: bool = False,
    background: int = 0,
) -> Plan:
    """Return the Plan of one design point with the named effects; with ``counters``, it has ``accounts``.

    ``background``: how many messages of other jobs it has, with that effect.

    Raises InputError for repeats that are not whole, ranks that do not exist, sends and receives that do not match;
    CapacityError when the Plan would not fit in memory.
    """
    return Plans(design_point, seed, counters).plan(effects, background)


class Plans:
    """The Plans of one design point with different effects, which have in common what these leave as it is.

    The last program that was lowered is kept: the effects after those on messages and memory, and more messages of
    other jobs, begin after it.
    """

    def __init__(
        self, design_point: DesignPoint, seed: int = 0, counters: bool = False, every_rank: bool = True
    ) -> None:
        design_point.require_one_point("a simulation")
        self.design_point, self.seed, self.counters, self.every_rank = design_point, seed, counters, every_rank
        self._kept: tuple[tuple[frozenset[Mechanism], bool], Draft] | None = None

    def plan(self, effects: Collection[str] = (), background: int = 0, background_bytes: float = USUAL_BYTES) -> Plan:
        """Return the Plan that ``make_plan`` describes.

        ``background_bytes``: size of messages of other jobs, where the machine states none.
        """
        drawn = DrawnBackground(background, self.seed, size_bytes=background_bytes)
        plan = self.unshared(effects, drawn)
        with np.errstate(all="ignore"):
            return with_sharing(plan, self.design_point, effects, self.seed)

    def unshared(self, effects: Collection[str], background: DrawnBackground) -> Plan:
        """Return the Plan before its messages share stations, as Plans of several jobs are put together."""
        on = switched_on(effects)
        with np.errstate(all="ignore"):  # overflow shows as a duration that is not finite
            kept = self._drafted(on, not self.every_rank and self._keeps_alike(effects))
            builder = replace(kept.builder, on=on, background=background)
            plan = _trimmed(finished(kept.again(builder)))
            totals, lowered = builder.totals, kept.lowered
            return replace(
                plan,
                work=totals.work,
                served=totals.served,
                hit_methods=totals.hit_methods,
                prefetched=totals.prefetched,
                used=totals.used,
                limits_s=totals.limits_s,
                processor_limits_s=totals.processor_limits_s if totals.served else {},
                accounts=_accounts(builder, lowered.segment),
                powers=_powers(builder, plan, lowered),
                requests=lowered.requests,
                demands=lowered.demands,
                lines=lowered.lines,
                class_of=None if lowered.classes is None else lowered.classes.of_rank,
            )

    def _keeps_alike(self, effects: Collection[str]) -> bool:
        """Whether ranks that do the same end it at the same times under these effects."""
        workload, machine = self.design_point.workload, self.design_point.machine
        acting = [one for one in ladder() if one.name in effects and one.acts_on(workload, machine)]
        return not self.counters and all(one.keeps_alike(workload, machine) for one in acting)

    def _drafted(self, on: frozenset[Mechanism], by_class: bool) -> Draft:
        """Return the operations of the program, which mechanisms that change them later have not changed yet."""
        workload = self.design_point.workload
        marks = workload.varies or workload.is_open  # whether operations say which demand they are of
        on_program = on - (LATER if marks else LATER | {Mechanism.VARIED_TIMES})
        if self._kept is None or self._kept[0] != (on_program, by_class):
            self._kept = None  # before the next one takes memory
            builder = _builder(self.design_point, on, self.seed, self.counters)
            _check_counted(builder)
            size = size_of(builder, builder.evaluation.program)
            draft = self._by_class(builder, size) if by_class else None
            if draft is None:
                check_plan_fits(size, builder)
                draft = drafted(_trimmed(_lowered(builder)), builder)
            self._kept = (on_program, by_class), draft
        return self._kept[1]

    def _by_class(self, builder: PlanBuilder, size: ProgramSize) -> Draft | None:
        """Return the operations of one rank of each class of ranks that do the same.

        None if that saves nothing, or for a program with an error, which is to name its ranks.
        """
        is_large = size.operations >= MIN_BY_CLASS and builder.ranks > 1
        if not is_large or builder.prices.loggops or not _is_written_step_by_step(builder):
            return None
        apart = _builder(self.design_point, builder.on, self.seed)
        finder = ClassFinder(builder.ranks, size.operations * FINDING_WORK)
        ProgramLowering(apart, finder=finder).lowered()
        classes = finder.classes()
        if classes is None:
            return None
        check_plan_fits(size.of_ranks(len(classes) / builder.ranks), builder)
        own = _builder(self.design_point, builder.on, self.seed)
        try:
            return drafted(ProgramLowering(own, classes).lowered(), own)
        except (NotAlikeError, InputError):
            return None


#: Mechanisms that change what a program has been lowered to.
LATER = frozenset(
    (
        *(Mechanism.DISKS, Mechanism.ACCELERATORS, Mechanism.INTERFERENCE, Mechanism.RECEIVE_QUEUES),
        *(Mechanism.UNEVEN_RANKS, Mechanism.OTHER_JOBS, Mechanism.FAILURES),
    )
)


def _check_counted(builder: PlanBuilder) -> None:
    """InputError where counters are wanted, and ranks do several things at a time or have processors of two kinds."""
    workload, storage = builder.design_point.workload, builder.queues_at_storage
    if builder.tally is None:
        return
    if workload.has_overlap or storage or builder.links_beside:
        what = "counters need ranks that do one thing at a time"
        allowed = "a program without start and overlap, and without the effect storage if it uses that"
        if builder.links_beside:
            allowed = "memory.transfers: in_turn, or a simulation without the effect memory"
        raise InputError(what, workload.place, allowed=allowed)
    builder.machine.processor.needs_one_kind("a simulation with counters", workload.place)


def operations_at_most(design_point: DesignPoint, effects: Collection[str] = ()) -> float:
    """Return the number of operations of all ranks together that ``make_plan`` would make, before any is made.

    Raises as it does.
    """
    design_point.require_one_point("a simulation")
    builder = _builder(design_point, switched_on(effects))
    return size_of(builder, builder.evaluation.program).operations


def check_operations_fit(design_point: DesignPoint) -> None:
    """Raise CapacityError if the operations of a simulation without effects would not fit in memory."""
    builder = _builder(design_point, frozenset())
    check_plan_fits(size_of(builder, builder.evaluation.program), builder)


def _builder(design_point: DesignPoint, on: frozenset[Mechanism], seed: int = 0, counters: bool = False) -> PlanBuilder:
    ranks, workload, machine = design_point.ranks, design_point.workload, design_point.machine
    what = f"simulating {workload.name} with {ranks} ranks takes, to evaluate its program on each"
    check_memory(what, float(ranks) * BYTES_PER_RANK, workload.place, "fewer ranks")
    phases = {name: number for number, name in enumerate(workload.phases())}
    slices = operations_of(machine, on)
    return PlanBuilder(
        Evaluation.at_ranks(design_point),
        phases,
        MessagePricing(design_point, on, seed),
        on,
        seed,
        Variations(slices, Mechanism.VARIED_TIMES in on and workload.varies),
        Tally(design_point.ranks, len(phases), _replaces_clock(design_point)) if counters else None,
        PowerTable() if design_point.has_power else None,
    )


def _replaces_clock(design_point: DesignPoint) -> bool:
    """Whether some phase runs at a clock of its own."""
    demands = placed_demands(design_point.workload.program)
    return any("processor.clock" in placed.constants for placed in demands)


def _is_written_step_by_step(builder: PlanBuilder) -> bool:
    """Whether no demand writes the program as a whole."""
    demands = placed_demands(builder.design_point.workload.program)
    return all(type(lowering(one.demand)).program is Lowering.program for one in demands)


def _lowered(builder: PlanBuilder) -> LoweredProgram:
    """Return the operations of the program."""
    # A program whose first demand writes it as a whole has no loops with an index.
    whole = None
    if not builder.design_point.workload.has_index:
        steps = list(builder.evaluation.program.demands())
        whole = lowering(steps[0].demand).program(steps, builder) if steps else None
    return ProgramLowering(builder).lowered() if whole is None else whole


def _trimmed(made: Made) -> Made:
    """Return the program or Plan; memory freed while a large one was made goes back to the system."""
    operations = len(made) if isinstance(made, Plan) else int(made.segment.first[-1])
    if operations >= MIN_TRIMMED:
        give_back_memory()
    return made


def _accounts(builder: PlanBuilder, segment: Segment) -> Accounts | None:
    """Return data for counters, if they are wanted."""
    if builder.tally is None:
        return None
    shares = imbalance_shares(builder.design_point, builder.on, builder.seed)
    return builder.tally.accounts(segment, builder.machine, shares)


def _powers(builder: PlanBuilder, plan: Plan, lowered: LoweredProgram) -> Powers | None:
    """Power of operations, if the machine states it: by their demands, or by their kinds alone."""
    if builder.powers is None:
        return None
    rows = lowered.segment.fields.get("power")
    if rows is None:
        rows = builder.powers.of_kinds(plan.kind, builder.machine)
        rows[plan.phase == lowered.idle_phase] = NONE
    return builder.powers.built(rows)
