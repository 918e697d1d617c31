"""From a setting to a Plan: the program walked once, its demands written out as columns, priced and numbered."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.expression import Expression
from simcodesign.core.memory_limit import check_room
from simcodesign.core.result import COMPUTE, READ, RECEIVE, SEND, WRITE
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.arrivals import BETWEEN, Arrivals
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.demands.disk_access import DiskAccess
from simcodesign.describe.demands.exchange import Exchange, check_train
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.demands.replay import Replay
from simcodesign.describe.demands.resource_uses import Execute, item_uses
from simcodesign.describe.demands.served_accesses import ServedAccesses, memory_of, served_accesses
from simcodesign.describe.design_point import DesignPoint, finite
from simcodesign.describe.machine import Machine
from simcodesign.describe.program import MAIN_PHASE, Block, Step, phase_name, walk
from simcodesign.describe.topology.grid_shape import balanced_shape
from simcodesign.generate.assemble import assembled
from simcodesign.generate.columns import Int32s, Ranks, of_ranks
from simcodesign.generate.counter_tally import BYTES_PER_OPERATION as TALLY_BYTES
from simcodesign.generate.counter_tally import Tally, retired
from simcodesign.generate.demands.disk import duration_of_access_s
from simcodesign.generate.demands.memory import operations_of, reference_memory
from simcodesign.generate.demands.open_streams import arrivals_as_operations, operations_of_arrivals
from simcodesign.generate.demands.processor import duration_of_computation_s, work_of_computation
from simcodesign.generate.demands.replay import replayed
from simcodesign.generate.demands.resources import times_of_block
from simcodesign.generate.messages.collectives import messages_of
from simcodesign.generate.messages.halo import halo_exchange
from simcodesign.generate.messages.pricing import Prices
from simcodesign.generate.noise import Variations
from simcodesign.generate.plan import ANY, NONE, Accounts, Plan
from simcodesign.generate.power import BYTES_PER_OPERATION as POWER_BYTES
from simcodesign.generate.power import PowerTable
from simcodesign.generate.random_streams import imbalance_shares
from simcodesign.generate.segment import Segment, joined, woven
from simcodesign.locality.hits_by_level import SETS

#: Memory that one operation takes at most, in the Plan and in the compiled engine, without and with routes; to these
#: come the stations on the routes. Measured on 14 to 96 million operations: 62 bytes, and 80 to 95 bytes.
BYTES_PER_OPERATION, BYTES_WITH_ROUTE = 80, 110
#: What dependencies and requests of an open stream take besides, while they are written too. Measured: 57 bytes.
OPEN_BYTES = 70


@dataclass(frozen=True)
class _Context:
    """Where the walk stands: names, machine variants met so far, and the number of every phase."""

    design_point: DesignPoint
    names: dict[str, FloatOrArray]
    parts: list[Machine]
    phases: dict[str, int]
    ranks: int
    prices: Prices
    effects: frozenset[str]
    seed: int
    phase: str = MAIN_PHASE
    part: int = 0
    times: int = 1  # repetitions of this place of the program
    work: dict[str, float] = field(default_factory=dict)  # flops and instructions of all ranks
    served: dict[str, float] = field(default_factory=dict)  # accesses by level of the caches, and by memory
    hit_methods: dict[str, str] = field(default_factory=dict)
    tally: Tally | None = None  # for counters
    used: dict[str, float] = field(default_factory=dict)  # amounts of the machine's resources, of all ranks
    powers: PowerTable | None = None  # where the machine says what it draws
    variations: Variations = field(default_factory=Variations)

    @property
    def machine(self) -> Machine:
        """The machine with the constants of this place."""
        return self.parts[self.part]

    @property
    def sliced(self) -> bool:
        """Whether memory demands meet at the controller of a node."""
        machine = self.design_point.machine
        return "memory" in self.effects and machine.processors_per_node > 1 and machine.mapping != "one_per_node"

    @property
    def extras(self) -> tuple[str, ...]:
        """The extra fields of operations."""
        names = self.prices.names + (() if self.tally is None else self.tally.names)
        names = names if self.powers is None else (*names, "power")
        return (*names, "varies") if self.variations.marked else names

    def varying(self, step: DiskAccess | Compute | MemoryAccesses) -> dict[str, FloatOrArray]:
        """The extra field of operations whose times vary."""
        if not self.variations.marked or step.varies is None or step.varies.constant:
            return {}
        width = self.variations.slices if isinstance(step, MemoryAccesses) else 1
        return {"varies": self.variations.add(self.phase, step.varies, width)}

    def worked_s(self, step: Compute) -> FloatOrArray:
        """How long a demand computes, which is noted for the Result."""
        work, applies = work_of_computation(step, self.amount), self.when(step)
        here = np.ones(self.ranks) if applies is None else applies
        self.work[step.unit] = self.work.get(step.unit, 0.0) + float(np.sum(here * work)) * self.times
        duration_s = duration_of_computation_s(step, self.machine, work)
        if self.tally is not None:
            phase, processor = self.phases[self.phase], self.machine.processor
            self.tally.at_work(phase, processor)
            instructions = retired(step.unit, work, duration_s, processor)
            self.tally.note("instructions", phase, np.where(here, instructions, 0.0) * self.times)
        return duration_s

    def execute(self, step: Execute, program_writer: Ranks) -> None:
        """Write a block of uses, and note for the Result what it uses."""
        parallelism = self.amount(step.parallelism, "parallelism")
        uses, applies, who = item_uses(step, self.machine, self.amount), self.when(step), self.who(step)
        here = np.ones(self.ranks) if applies is None else applies
        for use in uses:
            every = float(np.sum(here * use.amount * parallelism)) * self.times
            self.used[use.resource] = self.used.get(use.resource, 0.0) + every
            if use.resource == "flops":
                self.work["flops"] = self.work.get("flops", 0.0) + every
        times = times_of_block(uses, parallelism, self.machine.custom, "conflicts" in self.effects)
        if self.tally is not None:
            phase, processor = self.phases[self.phase], self.machine.processor
            self.tally.at_work(phase, processor)
            instructions = retired("seconds", times.duration_s, times.duration_s, processor)
            self.tally.note("instructions", phase, np.where(here, instructions, 0.0) * self.times)
        extra: dict[str, FloatOrArray] = {}
        if self.powers is not None:
            rows: Any = self.powers.of_block(times.pieces, self.ranks)
            extra = {"power": of_ranks(rows, who)}
        program_writer.work(COMPUTE, 0.0, of_ranks(times.duration_s, who), who, extra)

    def collective_bytes(self, step: Collective) -> float:
        """What every rank contributes, which is noted with the call."""
        size = self.one(step.bytes, "bytes")
        if self.tally is not None:
            self.tally.note("collectives", self.phases[self.phase], self.times)
            self.tally.note("collective_bytes", self.phases[self.phase], size * self.times)
        return size

    def served_accesses(self, step: MemoryAccesses) -> ServedAccesses:
        """Where the accesses of a demand are served, which is noted for the Result."""
        memory = memory_of(step, self.machine)
        seen = served_accesses(step, memory, self.amount, SETS if "caches" in self.effects else None, self.seed)
        applies = self.when(step)
        here = np.ones(self.ranks) if applies is None else applies
        for level, share, method in zip(
            memory.level_names, seen.served.shares, (*seen.served.methods, ""), strict=True
        ):
            every = np.sum(here * seen.accesses * share) * self.times
            self.served[level] = self.served.get(level, 0.0) + float(every)
            if method:
                self.hit_methods[level] = method
        if self.tally is not None:
            self.tally.at_work(self.phases[self.phase], self.machine.processor)
            self.tally.served(self.phases[self.phase], seen, np.multiply(here, self.times, dtype=np.float64))
        return seen

    def segment(self, program_writer: Ranks, collective: bool) -> Segment:
        """What was written, with its prices, rank by rank."""
        columns = self.prices.priced(program_writer.columns, self.machine)
        if self.powers is not None:
            columns = [self.powers.marked(column, self.machine) for column in columns]
        made = woven(columns, self.ranks, self.phases[self.phase], self.extras)
        return made if self.tally is None else self.tally.marked(made, collective, self.machine.processor)

    def joined(self, parts: list[Segment]) -> Segment:
        return joined(parts, self.ranks, self.extras)

    def value(self, expression: Expression, what: str) -> FloatOrArray:
        return finite(
            expression.evaluate(self.names), f"{what} = {expression.text}", self.design_point.workload, expression
        )

    def amount(self, expression: Expression, what: str) -> FloatOrArray:
        """A demand: finite and not negative."""
        value = self.value(expression, what)
        if np.any(np.asarray(value) < 0):
            place = expression.place or self.design_point.workload.place
            raise InputError(f"{what} = {expression.text} is negative", place, value=float(np.min(value)))
        return value

    def who(self, demand: Demand) -> Int32s | None:
        """The ranks that a demand applies to, None for all of them."""
        here = self.when(demand)
        return None if here is None or here.all() else np.flatnonzero(here).astype(np.int32)

    def when(self, demand: Demand) -> NDArray[np.bool_] | None:
        """(P,) whether a demand applies to a rank; None if it says nothing about it."""
        if demand.when is None:
            return None
        return np.broadcast_to(np.asarray(self.value(demand.when, "when")) != 0, self.ranks)

    def one(self, expression: Expression, what: str) -> float:
        """An amount that is the same for all ranks."""
        value = self.amount(expression, what)
        if np.ndim(value):
            raise InputError(f"{what} must be the same for every rank", expression.place, value=expression.text)
        return float(value)


def make_plan(design_point: DesignPoint, effects: Collection[str] = (), seed: int = 0, counters: bool = False) -> Plan:
    """The Plan of one design point with the named effects; with ``counters``, it has ``accounts``.

    Raises InputError for repeats that are not whole, ranks that do not exist, sends and receives that do not match;
    CapacityError when the Plan would not fit in memory.
    """
    design_point.require_one_point("a simulation")
    ranks = design_point.ranks
    phases = {name: number for number, name in enumerate(design_point.workload.phases())}
    prices = Prices(design_point, frozenset(effects))
    tally = Tally(ranks, len(phases), _replaces_clock(design_point.workload.program)) if counters else None
    powers = PowerTable() if design_point.has_power else None
    context = _Context(
        design_point,
        {**design_point.values},
        [design_point.machine],
        phases,
        ranks,
        prices,
        frozenset(effects),
        seed,
        tally=tally,
        powers=powers,
    )
    marked = "noise" in effects and design_point.workload.varies
    context = replace(context, variations=Variations(operations_of(context.sliced), marked))
    routed = bool({"links", "interfaces"} & {*effects})
    context.names["rank"] = design_point.every_rank()
    with np.errstate(all="ignore"):
        _check_memory(_count(design_point.workload.program, context), routed, design_point, tally, powers)
    if isinstance(first := design_point.workload.program[0], Replay):
        segment, order = replayed(first.schedule, prices, design_point.machine)
        if tally is not None:
            _note_calcs(tally, segment, design_point.machine)
        accounts = _accounts(tally, segment, design_point, effects, seed)
        plan = assembled(segment, design_point, prices, tuple(phases), frozenset(effects), seed, order)
        drawn = None if powers is None else powers.built(powers.of_kinds(plan.kind, design_point.machine))
        return replace(plan, accounts=accounts, powers=drawn)
    if design_point.workload.is_open:
        return _open_plan(context, powers, counters)
    with np.errstate(all="ignore"):  # overflow is found as a duration that is not finite
        segment = context.joined(_lower(design_point.workload.program, context))
        plan = assembled(
            segment, design_point, prices, tuple(phases), frozenset(effects), seed, variations=context.variations
        )
        accounts = _accounts(tally, segment, design_point, effects, seed)
        return replace(
            plan,
            work=context.work,
            served=context.served,
            hit_methods=context.hit_methods,
            accounts=accounts,
            used=context.used,
            powers=None if powers is None else powers.built(segment.fields["power"]),
        )


def _open_plan(context: _Context, powers: PowerTable | None, counters: bool) -> Plan:
    """The Plan of a program of arrivals."""
    design_point = context.design_point
    program = [step for step in design_point.workload.program if isinstance(step, Arrivals)]
    if counters:
        raise InputError("counters are of what ranks do, not of arrivals", program[0].place)
    with np.errstate(all="ignore"):
        segment, order, requests = arrivals_as_operations(program, context)
        plan = assembled(
            segment, design_point, context.prices, tuple(context.phases), context.effects, context.seed, order
        )
    if powers is None:
        return replace(plan, requests=requests)
    rows = powers.of_kinds(plan.kind, design_point.machine)
    rows[plan.phase == context.phases[BETWEEN]] = NONE
    return replace(plan, requests=requests, powers=powers.built(rows))


def _accounts(
    tally: Tally | None, segment: Segment, design_point: DesignPoint, effects: Collection[str], seed: int
) -> Accounts | None:
    """What counters need, where they are asked for."""
    if tally is None:
        return None
    return tally.accounts(segment, design_point.machine, imbalance_shares(design_point, effects, seed))


def _replaces_clock(program: tuple[Step, ...]) -> bool:
    """Whether some phase runs at a clock of its own."""
    blocks = (step for step in walk(program) if isinstance(step, Block))
    return any(path == "processor.clock" for block in blocks for path, _ in block.constants)


def _note_calcs(tally: Tally, segment: Segment, machine: Machine) -> None:
    """Instructions of the calcs of a schedule, which are times, before chance changes these."""
    rank, kind = np.repeat(np.arange(tally.ranks), segment.counts), segment.fields["kind"]
    weights = np.where(kind == COMPUTE, segment.fields["duration_s"], 0.0)
    calc_s = np.asarray(np.bincount(rank, weights, tally.ranks), dtype=np.float64)
    tally.note("instructions", 0, retired("seconds", calc_s, calc_s, machine.processor))


def _check_memory(
    operations: float, routed: bool, design_point: DesignPoint, tally: Tally | None, powers: PowerTable | None
) -> None:
    name, ranks = design_point.workload.name, design_point.ranks
    what = f"simulating {name} with {ranks} ranks takes up to {operations:.3g} operations"
    needed = operations * (BYTES_WITH_ROUTE if routed else BYTES_PER_OPERATION)
    if tally is not None:
        needed += operations * TALLY_BYTES + tally.bytes
    if powers is not None:
        needed += operations * POWER_BYTES
    if design_point.workload.is_open:
        needed += operations * OPEN_BYTES
    check_room(what, needed, design_point.workload.place, "fewer ranks or iterations, or iterations = steady")


def _repeats(block: Block, context: _Context) -> int:
    times = context.one(block.repeat, "repeat")
    if times != int(times):
        raise InputError(
            f"a simulation needs whole repetitions, but repeat = {block.repeat.text} = {times:g} here; choose "
            "parameters that divide evenly (a forecast takes any number)",
            block.repeat.place or block.place,
        )
    return int(times)


def _count(program: tuple[Step, ...], context: _Context) -> float:
    """Operations of all ranks together at most, before any is made."""
    total = 0.0
    for step in program:
        if isinstance(step, Block):
            times = _repeats(step, context)
            total += times * _count(step.body, context) if times else 0
        elif isinstance(step, Replay):
            total += len(step.schedule)
        elif isinstance(step, Arrivals):
            total += operations_of_arrivals(step, context)
        elif isinstance(step, Collective):
            total += 2 * messages_of(step).most(context.ranks)
        elif isinstance(step, Exchange):
            messages, train = _messages(step, context)
            total += sum(4 * float(np.ceil(count / train)) * context.ranks for count in messages)
        else:
            who = context.who(step)
            several = operations_of(context.sliced) if isinstance(step, MemoryAccesses) else 1
            total += several * (context.ranks if who is None else len(who))
    return total


def _lower(program: tuple[Step, ...], context: _Context) -> list[Segment]:
    return [
        _lower_block(step, context) if isinstance(step, Block) else _lower_demand(step, context) for step in program
    ]


def _lower_block(block: Block, context: _Context) -> Segment:
    inner = replace(context, phase=phase_name(context.phase, block.phase))
    if block.constants:
        values = {path: context.value(expression, path) for path, expression in block.constants}
        context.parts.append(context.machine.with_constants(values, block.place))
        inner = replace(inner, part=len(context.parts) - 1)
    times = _repeats(block, inner)
    inner = replace(inner, times=context.times * times)
    return context.joined(_lower(block.body, inner) if times else []).repeated(times or 1)


def _lower_demand(step: Step, context: _Context) -> Segment:
    program_writer = Ranks(context.ranks)
    match step:
        case Compute():
            who, duration = context.who(step), context.worked_s(step)
            program_writer.work(COMPUTE, 0.0, of_ranks(duration, who), who, context.varying(step))
        case Execute():
            context.execute(step, program_writer)
        case DiskAccess():
            who, size = context.who(step), context.amount(step.bytes, "bytes")
            times = context.amount(step.times, "times")
            kind = READ if step.kind == "read" else WRITE
            duration = duration_of_access_s(step, context.machine, size, times)
            amount_bytes = of_ranks(np.multiply(size, times), who)
            program_writer.work(kind, amount_bytes, of_ranks(duration, who), who, context.varying(step))
        case MemoryAccesses():
            who, seen = context.who(step), context.served_accesses(step)
            machine, extra = context.machine, context.varying(step)
            reference_memory(program_writer, step, seen, machine, context.amount, who, context.sliced, extra)
        case Send():
            who = context.who(step)
            size = context.amount(step.bytes, "bytes")
            program_writer.message(SEND, _peer(step.to, "to", who, context), of_ranks(size, who), step.tag, who)
        case Receive():
            who = context.who(step)
            size = np.nan if step.bytes is None else context.amount(step.bytes, "bytes")
            peer = ANY if step.source is None else _peer(step.source, "from", who, context)
            program_writer.message(RECEIVE, peer, of_ranks(size, who), step.tag, who)
        case Exchange():
            sizes = [context.one(size, "bytes") for size in step.bytes]
            messages, train = _messages(step, context)
            whole = [int(count) for count in messages]
            halo_exchange(
                program_writer, _grid(step, context), sizes, step.periodic, whole, int(min(train, max(whole) or 1))
            )
        case Collective():
            messages_of(step).write(program_writer, context.collective_bytes(step))
    return context.segment(program_writer, isinstance(step, Collective))


def _messages(step: Exchange, context: _Context) -> tuple[list[float], float]:
    """Messages to each neighbour by dimension, and how many of them go together. InputError unless they are whole."""
    messages = [context.one(count, "messages") for count in step.messages_by_dim]
    for count, expression in zip(messages, step.messages_by_dim, strict=True):
        if count != np.floor(count):
            what = (
                f"a simulation needs whole messages, but messages = {expression.text} = {count:g} here; choose "
                "parameters that divide evenly (a forecast takes any number)"
            )
            raise InputError(what, expression.place or step.place)
    train = context.one(step.train, "train")
    check_train(step, train, context.machine.network)
    return messages, train


def _peer(expression: Expression, what: str, who: Int32s | None, context: _Context) -> Int32s:
    here = np.arange(context.ranks) if who is None else who
    peer = np.broadcast_to(of_ranks(context.value(expression, what), who), here.shape)
    bad = (peer != np.floor(peer)) | (peer < 0) | (peer >= context.ranks) | (peer == here)
    if bad.any():
        rank = int(here[bad][0])
        raise InputError(
            f"rank {rank}: {what} = {expression.text} is no other rank",
            expression.place,
            value=float(peer[bad][0]),
            allowed=f"0 to {context.ranks - 1}, not {rank} itself",
        )
    return peer.astype(np.int32)


def _grid(step: Exchange, context: _Context) -> tuple[int, ...]:
    if step.grid is None:
        return balanced_shape(context.ranks, step.dims)
    grid = [context.one(extent, "grid") for extent in step.grid]
    if any(extent != int(extent) or extent < 1 for extent in grid) or np.prod(grid) != context.ranks:
        raise InputError(f"the process grid does not hold P = {context.ranks} ranks", step.place, value=grid)
    return tuple(int(extent) for extent in grid)
