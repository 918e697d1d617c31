"""From a design point to a Plan: the program lowered demand by demand, priced and numbered."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.memory_limit import check_memory
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.evaluation import EvaluatedBlock, Evaluation
from simcodesign.describe.program import placed_demands
from simcodesign.generate.assemble import assembled
from simcodesign.generate.counter_tally import BYTES_PER_OPERATION as TALLY_BYTES
from simcodesign.generate.counter_tally import Tally
from simcodesign.generate.demands.base import lowering
from simcodesign.generate.demands.memory_accesses import operations_of, shares_controller
from simcodesign.generate.messages.pricing import MessagePricing
from simcodesign.generate.noise import Variations
from simcodesign.generate.plan import NONE, Accounts, DemandOrder, Int32s, Int64s, Plan, Powers
from simcodesign.generate.plan_builder import LoweredProgram, PlanBuilder, StepWriter
from simcodesign.generate.power import BYTES_PER_OPERATION as POWER_BYTES
from simcodesign.generate.power import PowerTable
from simcodesign.generate.random_streams import imbalance_shares
from simcodesign.generate.segment import Segment, joined
from simcodesign.generate.side_chains import SideChains

#: Memory that one operation takes at most, in the Plan and in the compiled engine, without and with routes; to these
#: come the stations on the routes. Measured on 14 to 96 million operations: 62 bytes, and 80 to 95 bytes.
BYTES_PER_OPERATION, BYTES_WITH_ROUTE = 80, 110
#: What LogGOPSim's rules take besides: times of gaps, queues, who waits for what. Measured on 0.5 and 2.1 million
#: operations: 230 and 262 bytes.
LOGGOPS_BYTES = 280
#: What dependencies and requests of an open stream take besides, while they are written too. Measured: 57 bytes.
OPEN_BYTES = 70


def make_plan(design_point: DesignPoint, effects: Collection[str] = (), seed: int = 0, counters: bool = False) -> Plan:
    """The Plan of one design point with the named effects; with ``counters``, it has ``accounts``.

    Raises InputError for repeats that are not whole, ranks that do not exist, sends and receives that do not match;
    CapacityError when the Plan would not fit in memory.
    """
    design_point.require_one_point("a simulation")
    builder = _builder(design_point, frozenset(effects), seed, counters)
    if counters and design_point.workload.has_overlap:
        what, allowed = "counters are of ranks that do one thing at a time", "a program without start and overlap"
        raise InputError(what, design_point.workload.place, allowed=allowed)
    with np.errstate(all="ignore"):  # overflow shows as a duration that is not finite
        _check_memory(_operations(builder, builder.evaluation.program), builder)
        lowered = _lowered(builder)
        plan = assembled(lowered, builder)
        totals = builder.totals
        return replace(
            plan,
            work=totals.work,
            served=totals.served,
            hit_methods=totals.hit_methods,
            used=totals.used,
            accounts=_accounts(builder, lowered.segment),
            powers=_powers(builder, plan, lowered),
            requests=lowered.requests,
            demands=lowered.demands,
            lines=lowered.lines,
        )


def _builder(design_point: DesignPoint, effects: frozenset[str], seed: int, counters: bool) -> PlanBuilder:
    workload, machine = design_point.workload, design_point.machine
    phases = {name: number for number, name in enumerate(workload.phases())}
    slices = operations_of(shares_controller(machine, effects))
    return PlanBuilder(
        Evaluation.at_ranks(design_point),
        phases,
        MessagePricing(design_point, effects),
        effects,
        seed,
        Variations(slices, "noise" in effects and workload.varies),
        Tally(design_point.ranks, len(phases), _replaces_clock(design_point)) if counters else None,
        PowerTable() if design_point.has_power else None,
    )


def _replaces_clock(design_point: DesignPoint) -> bool:
    """Whether some phase runs at a clock of its own."""
    demands = placed_demands(design_point.workload.program)
    return any("processor.clock" in placed.constants for placed in demands)


def _lowered(builder: PlanBuilder) -> LoweredProgram:
    """The operations of the program."""
    steps = list(builder.evaluation.program.demands())
    whole = lowering(steps[0].demand).program(steps, builder)
    return _lowered_in_order(builder) if whole is None else whole


def _lowered_in_order(builder: PlanBuilder) -> LoweredProgram:
    counts: list[Int64s] = []
    segment, turns = _segment(builder, builder.evaluation.program, counts)
    return LoweredProgram(segment, demands=DemandOrder(turns, tuple(counts)))


def _segment(builder: PlanBuilder, block: EvaluatedBlock, counts: list[Int64s]) -> tuple[Segment, Int32s]:
    """The operations of a block done once, of its own blocks as often as these are repeated, and its demands in turn,
    as places in ``counts``, to which their numbers of operations are added."""
    parts, turns = [], []
    chains = SideChains(builder.ranks) if builder.design_point.workload.has_overlap else None
    for step in block.steps():
        if not isinstance(step, EvaluatedBlock):
            writer, form = StepWriter(builder, step), lowering(step.demand)
            form.write(step.demand, writer)
            written = writer.segment(form.is_collective)
            parts.append(written if chains is None else chains.placed(step.demand, written, writer))
            turns.append(np.array([len(counts)], dtype=np.int32))
            counts.append(parts[-1].counts if parts[-1].width is None else np.array(parts[-1].width))
        elif times := _whole_repeat(step):
            segment, inner = _segment(builder, step, counts)
            parts.append(segment.repeated(times))
            if chains is not None:
                chains.passed(parts[-1])
            turns.append(np.tile(inner, times))
        else:
            counts += [np.array(0) for _ in step.demands()]
    empty = np.zeros(0, np.int32)
    return joined(parts, builder.ranks, builder.extra_fields), np.concatenate([empty, *turns])


def _operations(builder: PlanBuilder, block: EvaluatedBlock) -> float:
    """Operations of all ranks together at most, of a block done once, before any is made."""
    total = 0.0
    for step in block.steps():
        if isinstance(step, EvaluatedBlock):
            times = _whole_repeat(step)
            total += times * _operations(builder, step) if times else 0
        else:
            total += lowering(step.demand).operations(step.demand, StepWriter(builder, step))
            total += builder.ranks if step.demand.started_as else 0
    return total


def _whole_repeat(step: EvaluatedBlock) -> int:
    """How often the block is done. InputError unless that is a whole number."""
    times, block = float(step.repeat), step.block
    if times != int(times):
        raise InputError(
            f"a simulation needs whole repetitions, but repeat = {block.repeat.text} = {times:g} here; choose "
            "parameters that divide evenly (a forecast takes any number)",
            block.repeat.place or block.place,
        )
    return int(times)


def _check_memory(operations: float, builder: PlanBuilder) -> None:
    """CapacityError when so many operations would not fit in memory."""
    workload, tally = builder.design_point.workload, builder.tally
    what = f"simulating {workload.name} with {builder.ranks} ranks takes up to {operations:.3g} operations"
    is_routed = bool({"links", "interfaces"} & builder.effects)
    needed = operations * (BYTES_WITH_ROUTE if is_routed else BYTES_PER_OPERATION)
    if tally is not None:
        needed += operations * TALLY_BYTES + tally.bytes
    if builder.powers is not None:
        needed += operations * POWER_BYTES
    if workload.is_open:
        needed += operations * OPEN_BYTES
    if builder.design_point.has_loggops or builder.prices.has_rendezvous:
        needed += operations * LOGGOPS_BYTES
    check_memory(what, needed, workload.place, "fewer ranks or iterations, or iterations = steady")


def _accounts(builder: PlanBuilder, segment: Segment) -> Accounts | None:
    """What counters need, where they are wanted."""
    if builder.tally is None:
        return None
    shares = imbalance_shares(builder.design_point, builder.effects, builder.seed)
    return builder.tally.accounts(segment, builder.machine, shares)


def _powers(builder: PlanBuilder, plan: Plan, lowered: LoweredProgram) -> Powers | None:
    """What operations draw, where the machine says it: by their demands, or by their kinds alone."""
    if builder.powers is None:
        return None
    rows = lowered.segment.fields.get("power")
    if rows is None:
        rows = builder.powers.of_kinds(plan.kind, builder.machine)
        rows[plan.phase == lowered.idle_phase] = NONE
    return builder.powers.built(rows)
