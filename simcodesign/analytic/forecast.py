"""Reading 1: the description as closed forms, for one design point or a million in one call."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.bounds import beyond_interfaces, bounds_of
from simcodesign.analytic.collectives.loaded import is_shared
from simcodesign.analytic.demands.base import Charge, closed_form
from simcodesign.analytic.failures import with_checkpoints, with_failures
from simcodesign.analytic.group_sizes import group_sizes
from simcodesign.analytic.indexed_loops.indexed_sums import in_few_iterations
from simcodesign.analytic.longest_path.ranks_differ import ranks_differ
from simcodesign.analytic.pipelining.lockstep import pipelined_with_gaps
from simcodesign.analytic.pipelining.no_pipeline import why_not_pipelined
from simcodesign.analytic.pipelining.pace import work
from simcodesign.analytic.pipelining.sequences import Chain, pipelined
from simcodesign.analytic.pipelining.succession import Operation
from simcodesign.analytic.power import PowerBook
from simcodesign.analytic.processor_limits import KERNEL_LIMITS, name_in_phase, on_processors
from simcodesign.analytic.queueing.closed_loops import STATIONS, Loop, Visit, visit_factors
from simcodesign.analytic.side_parts import BlockClock
from simcodesign.core.errors import InputError
from simcodesign.core.forecast_parts import ChosenAlgorithm, DemandTime, Pipelined, SharedLinks, SharedTime
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.result import Result
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import ONE
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.evaluated.algorithms_taken import algorithms_taken
from simcodesign.describe.evaluation import EvaluatedBlock, EvaluatedStep, Evaluation
from simcodesign.describe.python_programs.recorded_program import RecordedProgram
from simcodesign.describe.scenario import MachineSource, Scenario, WorkloadSource


def forecast(
    workload: WorkloadSource | Scenario,
    machine: MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    *,
    preset: str | None = None,
    phases: Collection[str] | None = None,
    bounds: bool = False,
    queueing: bool = True,
    longest_path: bool = True,
    bubbles: bool = False,
) -> Result:
    """Forecast one workload, as ``studies.verbs.forecast`` describes.

    ``bubbles``: if there is no ``longest_path``, add the bubble that the workload states to the sum of closed forms.
    """
    design_point = Scenario.of(workload, machine, parameters, preset=preset, phases=phases).bind()
    if design_point.workload.is_open:
        from simcodesign.analytic.queueing.open_streams import open_forecast

        return open_forecast(design_point, queueing)
    account = _Account(Evaluation.at_points(design_point), queueing)
    with np.errstate(all="ignore"):  # overflow shows as a makespan that is not finite
        chain = account.program(account.evaluation.program)
        for (phase, component), time_s in account.clock.times.items():
            account.phases[phase][component] = time_s
        result = account.result()
        _check_finite(result, design_point)
        sum_s, differ = result.makespan_s, ranks_differ(account.evaluation)
        if differ.any():
            from simcodesign.analytic.headline import with_path

            result = with_path(result, account.evaluation, differ, longest_path, bubbles)
        result = replace(
            result,
            pipelined=account.pipelined(chain, sum_s),
            shared_links=account.shared_links(result.makespan_s),
            loaded_s=None if account.loaded_more_s is None else result.makespan_s + account.loaded_more_s,
            loaded=tuple(account.loaded),
            algorithms=_algorithms(account.evaluation.program),
        )
        result = with_failures(result, design_point)
        return _with_bounds(result, design_point) if bounds else result


def _with_bounds(result: Result, design_point: DesignPoint) -> Result:
    """Return the result with its bounds, if there are any."""
    bounded = bounds_of(design_point)
    if bounded is None:
        return result
    notes = beyond_interfaces(result, bounded, design_point)
    return replace(result, bounds=with_checkpoints(bounded, design_point), notes=notes)


def _check_finite(result: Result, design_point: DesignPoint) -> None:
    energy = 0.0 if result.energy_j is None else result.energy_j
    for number in (result.makespan_s, result.messages, result.message_bytes, result.disk_bytes, energy):
        if not np.all(np.isfinite(number)):
            what = "time, bytes or energy of the forecast are too large to be a number"
            raise InputError(what, design_point.workload.place)


@dataclass
class _Account:
    """Sums over the demands of a program; with the ranks as the last axis if demands depend on ``rank``."""

    evaluation: Evaluation
    queueing: bool
    loop: Loop | None = None  # the outermost repeated block while it is read
    formulas: list[str] = field(default_factory=list)
    basis: list[str] = field(default_factory=list)
    phases: dict[str, dict[str, FloatOrArray]] = field(default_factory=dict)
    messages: FloatOrArray = 0.0
    message_bytes: FloatOrArray = 0.0
    counts: dict[str, dict[str, FloatOrArray]] = field(default_factory=dict)  # by group and name
    limits: dict[str, dict[str, FloatOrArray]] = field(default_factory=dict)  # by phase and what limits it
    hit_methods: dict[str, str] = field(default_factory=dict)
    demands: list[tuple[EvaluatedStep, FloatOrArray]] = field(default_factory=list)  # seconds of one point
    shared: list[SharedTime] = field(default_factory=list)
    loaded: list[SharedTime] = field(default_factory=list)
    loaded_more_s: FloatOrArray | None = None
    clock: BlockClock = field(default_factory=BlockClock)  # of the block that is read
    has_overlap: bool = field(init=False)
    has_index: bool = field(init=False)
    no_pipeline: str = field(init=False)  # why successive operations have no closed form
    power: PowerBook | None = field(init=False)

    def __post_init__(self) -> None:
        self.has_overlap = self.evaluation.design_point.workload.has_overlap
        self.has_index = self.evaluation.design_point.workload.has_index
        self.no_pipeline = why_not_pipelined(self.evaluation)
        self.power = PowerBook() if self.evaluation.design_point.has_power else None

    def program(self, block: EvaluatedBlock) -> Chain:
        """Add up the steps of a block; how its operations follow one another, if that is of use."""
        chain, outer, self.clock = Chain(), self.clock, BlockClock()
        for step in block.steps():
            if isinstance(step, EvaluatedBlock):
                chain = chain + self._block(step)
                continue
            form = closed_form(step.demand)
            basis = form.basis(step.demand)
            self.basis += [basis] if basis and basis not in self.basis else []
            for placed, charge in form.charges(step.demand, step):
                self._book(placed, charge)
                operation = None if self.no_pipeline else self._operation(placed, charge)
                chain = chain if operation is None else chain + Chain.of(operation)
        if self.has_overlap:
            outer.ends(self.clock, block)
        self.clock = outer
        return chain

    def _operation(self, step: EvaluatedStep, charge: Charge) -> Operation | None:
        """Properties of a demand beyond its time.

        In LogGOPS nothing cuts a program, as gaps outlast operations, and work is known, in which they go by.
        """
        operation = closed_form(step.demand).operation(step.demand, step, charge)
        if not self.has_gaps:
            return operation
        if operation is not None:
            return replace(operation, waits_for_all=False)
        time_s = float(charge.time_s)
        return Operation(step.phase, step.demand.label, time_s, carry=work(time_s), is_work=True)

    @property
    def has_gaps(self) -> bool:
        """Whether messages have gaps."""
        return self.evaluation.machine.network.message_model.has_gaps

    def _block(self, block: EvaluatedBlock) -> Chain:
        """Forecast a block; the waits of the outermost repeated one, when it has been read."""
        if block.block.index is not None:
            self._indexed(block)
            return Chain()
        repeated = block.block.repeat != ONE
        has_queues = self.queueing and not self.evaluation.by_rank and not (self.has_overlap or self.has_index)
        if not has_queues or self.loop is not None or not repeated:
            return self._repeated(self.program(block), block)
        self.loop = Loop()
        chain = self._repeated(self.program(block), block)
        machine, shape = self.evaluation.machine, self.evaluation.design_point.shape
        formula, waits = self.loop.queues(machine, self.evaluation.ranks, shape)
        self.formulas += [formula] if formula and formula not in self.formulas else []
        for wait in waits:
            phase = self.phases[wait.phase]
            phase[wait.component] = phase[wait.component] + wait.wait_s
        self.loop = None
        return chain

    def _indexed(self, block: EvaluatedBlock) -> None:
        """Add up the iterations of a loop that differ.

        In LogGOPS an operation may be followed rank by rank, at one size: there every iteration is evaluated by itself
        if there is one design point.
        """
        one_by_one = self.has_gaps and not self.evaluation.design_point.shape
        first = len(self.demands)
        count = 0
        whole = None if self.has_overlap else in_few_iterations(block)
        parts = block.iterations() if one_by_one and np.any(block.repeat) else block.parts()
        for part in parts if whole is None else (whole,):
            self.program(part)
            count = count or len(self.demands) - first
        for number in range(count):  # of every part, the demands in the order of the program
            (step, *_), times_s = zip(*self.demands[first + number :: count], strict=True)
            self.demands[first + number] = step, sum(times_s, start=0.0)
        del self.demands[first + count :]

    def _repeated(self, chain: Chain, block: EvaluatedBlock) -> Chain:
        return Chain() if self.no_pipeline else chain.repeated(float(block.repeat))

    def _book(self, step: EvaluatedStep, charge: Charge) -> None:
        """Add the charge of one demand, as often as it is done."""
        self.basis += [text for text in charge.basis if text not in self.basis]
        time_s = self._time_s(step, charge)
        if not self.evaluation.design_point.shape:
            self.demands.append((step, time_s))
            self._share(step, time_s)
        if self._is_alike and is_shared(step.machine):
            self._load(step, charge, time_s)
        self.messages = self.messages + step.total(charge.messages)
        self.message_bytes = self.message_bytes + step.total(charge.message_bytes)
        for count in charge.counts:
            totals = self.counts.setdefault(count.group, {})
            every = step.over_ranks(step.total(count.each * step.present))
            totals[count.name] = totals.get(count.name, 0.0) + every
            if limit := name_in_phase(count.group, count.name):
                of_phase = self.limits.setdefault(step.phase, {})
                of_phase[limit] = of_phase.get(limit, 0.0) + every
        self.hit_methods |= charge.hit_methods or {}
        if self.loop is not None:
            self._loop_over(self.loop, step, charge, time_s)
        if self.power is not None:
            self._draw(self.power, step, charge)

    def _time_s(self, step: EvaluatedStep, charge: Charge) -> FloatOrArray:
        """Time by which a demand lengthens the program, as often as it is done."""
        phase = self.phases.setdefault(step.phase, dict.fromkeys(COMPONENTS, 0.0))
        if self.has_overlap:  # the clock of the program determines its parts in the end
            return step.total(self.clock.reads(step, charge))
        time_s = step.total(charge.time_s * step.present)
        computed_s = step.total(charge.computation_s * step.present)
        phase["computation"] = phase["computation"] + computed_s
        phase[charge.component] = phase[charge.component] + (time_s - computed_s)
        return time_s

    def _share(self, step: EvaluatedStep, time_s: FloatOrArray) -> None:
        """Note a demand whose messages share links evenly, where links are shared fairly."""
        if not step.machine.network.sharing.has_equal_shares or not self._is_alike:
            return
        shared_s = closed_form(step.demand).evenly_shared_s(step.demand, step)
        if shared_s is not None:
            times = float(step.repetitions)
            self.shared.append(SharedTime(step.phase, step.demand.label, times, float(time_s), times * shared_s))

    @property
    def _is_alike(self) -> bool:
        """Whether all ranks do the same, one thing after another, in every iteration."""
        return not (self.evaluation.by_rank or self.has_overlap or self.has_index)

    def _load(self, step: EvaluatedStep, charge: Charge, time_s: FloatOrArray) -> None:
        """Note a demand whose messages share the memory and the interfaces of their nodes."""
        loaded_s = closed_form(step.demand).loaded_s(step.demand, step, charge)
        if loaded_s is None:
            return
        more_s = step.total((loaded_s - charge.time_s) * step.present)
        self.loaded_more_s = more_s if self.loaded_more_s is None else self.loaded_more_s + more_s
        if not self.evaluation.design_point.shape:
            times = float(step.repetitions)
            self.loaded.append(SharedTime(step.phase, step.demand.label, times, float(time_s), float(time_s + more_s)))

    @staticmethod
    def _loop_over(loop: Loop, step: EvaluatedStep, charge: Charge, time_s: FloatOrArray) -> None:
        """Note a demand of a loop, and that a station which ranks may share serves it, by itself."""
        varies = step.demand.variation
        loop.add(charge.component, time_s, varies)
        if charge.station in STATIONS and not np.any(charge.remote):
            factors = visit_factors(step.machine, STATIONS[charge.station][1], varies)
            loop.visits.append(Visit(charge.station, step.phase, charge.service_s, step.repetitions, factors))

    @staticmethod
    def _draw(power: PowerBook, step: EvaluatedStep, charge: Charge) -> None:
        """Add the power and energy of all ranks."""
        for draw in charge.draws:
            energy_j, power_w = draw.energy_j, draw.power_w
            if not draw.of_all:
                energy_j, power_w = step.over_ranks(energy_j * step.present), step.over_ranks(power_w * step.present)
            power.spend(step.total(energy_j))
            power_w = step.block.highest(power_w)
            # Started work draws its power in addition to all else of the phase.
            part = draw.part if not step.demand.started_as else f"{draw.part} of {step.demand.started_as}"
            power.draw(step.phase, part, power_w, draw.is_resource)

    def pipelined(self, chain: Chain, sum_s: FloatOrArray) -> Pipelined | None:
        """Return the time where operations overlap that follow one another; None for several design points."""
        if self.evaluation.design_point.shape:
            return None
        if self.no_pipeline:
            return Pipelined(None, reason=self.no_pipeline)
        return pipelined_with_gaps(chain, float(sum_s)) if self.has_gaps else pipelined(chain, float(sum_s))

    def shared_links(self, sum_s: FloatOrArray) -> SharedLinks | None:
        """Return the time with the operations whose messages share links evenly; None if there are none."""
        more_s = sum(one.shared_s - one.alone_s for one in self.shared)
        return SharedLinks(float(sum_s) + more_s, tuple(self.shared)) if self.shared else None

    def result(self) -> Result:
        """Return the Result: of the busiest rank, where ranks differ."""
        design_point = self.evaluation.design_point
        zero: FloatOrArray = np.zeros(design_point.ranks) if self.evaluation.by_rank else 0.0
        total = sum((time for times in self.phases.values() for time in times.values()), start=zero)
        busiest = np.argmax(total, axis=-1, keepdims=True) if self.evaluation.by_rank else None

        def at_points(value: FloatOrArray) -> FloatOrArray:
            """At every design point, also if some of the arrays change nothing (a read-only view)."""
            return np.broadcast_to(value, design_point.shape) if design_point.shape != np.shape(value) else value

        def whole(value: FloatOrArray) -> FloatOrArray:
            """Value of the busiest rank, at every design point."""
            return at_points(_of_rank(value, total, busiest))

        counts = {group: {name: whole(it) for name, it in totals.items()} for group, totals in self.counts.items()}
        work = counts.get("work", {})
        result = Result(
            reading="forecast",
            **design_point.result_fields(),
            makespan_s=whole(total),
            phases={name: {part: whole(it) for part, it in times.items()} for name, times in self.phases.items()},
            messages=whole(self.messages),
            message_bytes=whole(self.message_bytes),
            disk_bytes=counts["disk"]["bytes"] if "disk" in counts else whole(0.0),
            flops=work["flops"] if "flops" in work else whole(0.0),
            instructions=work["instructions"] if "instructions" in work else whole(0.0),
            served=counts.get("served", {}),
            hit_methods=self.hit_methods,
            prefetched=counts["prefetched"]["memory"] if "prefetched" in counts else None,
            used=counts.get("used", {}),
            limits_s=counts.get(KERNEL_LIMITS, {}),
            phase_limits_s={name: {one: whole(it) for one, it in of.items()} for name, of in self.limits.items()},
            **on_processors(counts, design_point, alike=not self.evaluation.by_rank),
            formulas=tuple(self.formulas),
            basis=tuple(self.basis),
            demands=tuple(_demand_time(step, whole(it)) for step, it in self.demands),
        )
        if self.power is None:
            return result
        stated_w = design_point.machine.totals().static_power_w
        static_w = at_points(0.0 if stated_w is None else stated_w)
        return replace(
            result,
            static_power_w=static_w,
            energy_j=static_w * result.makespan_s + whole(self.power.energy_j),
            peak_power_w=static_w + whole(self.power.highest_w(self.evaluation.machine.custom)),
        )


def _algorithms(program: EvaluatedBlock) -> tuple[ChosenAlgorithm, ...]:
    """Algorithms of collective operations; none if a formula replaces the program."""
    if any(isinstance(step, RecordedProgram) and step.formula is not None for step in program.block.body):
        return ()
    return algorithms_taken(program, _sizes_of_groups)


def _sizes_of_groups(step: EvaluatedStep) -> list[tuple[FloatOrArray, FloatOrArray]]:
    return [(groups.ranks, groups.count) for groups in group_sizes(step)]


def _demand_time(step: EvaluatedStep, time_s: FloatOrArray) -> DemandTime:
    return DemandTime(step.phase, step.demand.label, np.asarray(step.repetitions).item(), float(time_s))


def _of_rank(value: FloatOrArray, total: FloatOrArray, rank: NDArray[np.int64] | None) -> FloatOrArray:
    """Return the value of one rank (last axis), or the value itself where ranks do not differ.

    Plain when it is one number.
    """
    if rank is not None:
        every = np.broadcast_to(value, np.broadcast_shapes(np.shape(value), np.shape(total)))
        value = np.take_along_axis(every, rank, axis=-1)[..., 0]
    return value if np.ndim(value) else float(value)
