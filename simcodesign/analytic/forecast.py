"""Reading 1: the description as closed forms, for one design point or a million in one call."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.bounds import bounds_of
from simcodesign.analytic.collective_traffic import checked_peers
from simcodesign.analytic.disk import access_s
from simcodesign.analytic.halo import halo
from simcodesign.analytic.memory import memory_s, transfer_s
from simcodesign.analytic.message_costs import FORMULAS, Cost, price, process_grid
from simcodesign.analytic.power import PowerBook, all_busy_s, byte_power_w
from simcodesign.analytic.processor import compute_s, operations
from simcodesign.analytic.queueing.closed_loops import Loop, Visit, visit_factors
from simcodesign.analytic.queueing.open_streams import open_forecast
from simcodesign.analytic.resources import block_s, use_s
from simcodesign.core.errors import InputError
from simcodesign.core.expression import Expression
from simcodesign.core.result import COMPONENTS, Result
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import CAPACITY
from simcodesign.describe.demands.base import ONE, Demand
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.demands.disk_access import DiskAccess
from simcodesign.describe.demands.exchange import Exchange, check_train
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.demands.replay import Replay
from simcodesign.describe.demands.resource_uses import Execute, ItemUse, item_uses
from simcodesign.describe.demands.served_accesses import ServedAccesses, memory_of, served_accesses
from simcodesign.describe.design_point import DesignPoint, bind, finite
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts import Memory
from simcodesign.describe.program import MAIN_PHASE, Block, Step, phase_name, walk
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_machine, load_workload


def forecast(
    workload: Workload | str | Path,
    machine: Machine | str | Path,
    parameters: Mapping[str, object] | None = None,
    *,
    preset: str | None = None,
    phases: Collection[str] | None = None,
    bounds: bool = False,
    queueing: bool = True,
) -> Result:
    """Forecast the workload on the machine in closed form (equations 1 to 4 of SPECseis96, generalised).

    ``workload`` and ``machine`` are objects, shipped names or paths of files. ``parameters`` sets workload parameters,
    ``P``, machine constants (``network.startup``, SI units) and its parameters (``machine.NAME``); arrays broadcast and
    give arrays of that shape.
    ``bounds`` adds bounds of the simulated time: for one design point, and unless an operation has more messages
    than could be looked at one by one (``bounds.MOST_MESSAGES``).
    ``queueing``: loops without messages whose ranks share disks or memory, and whose demands vary, take what
    queueing theory says (``Result.formulas`` names it); without it, random demands take their mean, and nobody waits.

    Raises InputError for anything that cannot be used.
    """
    workload = workload if isinstance(workload, Workload) else load_workload(workload)
    machine = machine if isinstance(machine, Machine) else load_machine(machine)
    design_point = bind(workload, machine, parameters, preset=preset, phases=phases)
    if design_point.workload.is_open:
        return open_forecast(design_point, queueing)
    reading = _Reading(design_point, queueing)
    with np.errstate(all="ignore"):  # overflow is found as a makespan that is not finite
        reading.program(design_point.workload.program, _Where(MAIN_PHASE, reading.machine, 1.0))
        result = reading.result()
        energy = 0.0 if result.energy_j is None else result.energy_j
        for number in (result.makespan_s, result.messages, result.message_bytes, result.disk_bytes, energy):
            if not np.all(np.isfinite(number)):
                what = "time, bytes or energy of the forecast are too large to be a number"
                raise InputError(what, design_point.workload.place)
        return replace(result, bounds=bounds_of(design_point)) if bounds else result


@dataclass(frozen=True)
class _Where:
    """Phase, machine (with the constants of the phase) and number of repetitions at one place of the program."""

    phase: str
    machine: Machine
    times: FloatOrArray


@dataclass
class _Reading:
    """The walk over the program. Where demands depend on ``rank``, numbers get the ranks as their last axis."""

    design_point: DesignPoint
    queueing: bool = True
    loop: Loop | None = None  # the outermost repeated block while it is read
    formulas: list[str] = field(default_factory=list)
    machine: Machine = field(init=False)
    names: dict[str, FloatOrArray] = field(init=False)
    phases: dict[str, dict[str, FloatOrArray]] = field(default_factory=dict)
    messages: FloatOrArray = 0.0
    message_bytes: FloatOrArray = 0.0
    disk_bytes: FloatOrArray = 0.0
    work: dict[str, FloatOrArray] = field(default_factory=dict)
    used: dict[str, FloatOrArray] = field(default_factory=dict)
    power: PowerBook | None = field(init=False)
    served: dict[str, FloatOrArray] = field(default_factory=dict)
    hit_methods: dict[str, str] = field(default_factory=dict)
    by_rank: bool = field(init=False)
    zero: FloatOrArray = 0.0

    def __post_init__(self) -> None:
        self.by_rank = any(depends_on_rank(step) for step in walk(self.design_point.workload.program))
        self.machine, self.names = self.design_point.machine, dict(self.design_point.values)
        self.power = PowerBook() if self.design_point.has_power else None
        if self.by_rank:
            ranks = self.design_point.every_rank()
            self.zero = np.zeros(len(ranks))
            self.names = {name: np.asarray(value)[..., None] for name, value in self.design_point.values.items()}
            self.names["rank"] = ranks
            everything = self.machine.varying()
            constants = {path: np.asarray(value)[..., None] for path, value in everything.items() if path != CAPACITY}
            self.machine = self.machine.with_constants(constants)

    def value(
        self, expression: Expression, what: str, changed: Mapping[str, FloatOrArray] = MappingProxyType({})
    ) -> FloatOrArray:
        """An amount, finite and not negative; of the names, some may be ``changed``."""
        text = f"{what} = {expression.text}"
        value = finite(expression.evaluate({**self.names, **changed}), text, self.design_point.workload, expression)
        if np.any(np.asarray(value) < 0):
            raise InputError(f"{text} is negative", expression.place, value=float(np.min(value)))
        return value

    def program(self, steps: tuple[Step, ...], where: _Where) -> None:
        """Add up the steps."""
        for step in steps:
            if isinstance(step, Block):
                self._block(step, self._inside(step, where))
            else:
                self._demand(step, where)

    def _block(self, block: Block, inside: _Where) -> None:
        """What is in a block; the waits of the outermost one that is repeated, when it has been read."""
        outermost = self.queueing and not self.by_rank and self.loop is None and block.repeat != ONE
        if outermost:
            self.loop = Loop()
        self.program(block.body, inside)
        if outermost and self.loop is not None:
            formula, waits = self.loop.queues(self.machine, self.names["P"], self.design_point.shape)
            self.formulas += [formula] if formula and formula not in self.formulas else []
            for wait in waits:
                phase = self.phases[wait.phase]
                phase[wait.station] = phase[wait.station] + wait.wait_s
            self.loop = None

    def _visit(self, step: DiskAccess | MemoryAccesses, where: _Where, station: str, service_s: FloatOrArray) -> None:
        """Note that a station which ranks may share serves the demand."""
        if self.loop is not None:
            factors = visit_factors(where.machine, station, step.varies)
            self.loop.visits.append(Visit(station, where.phase, service_s, where.times, factors))

    def _inside(self, block: Block, where: _Where) -> _Where:
        values = {path: self.value(expression, path) for path, expression in block.constants}
        machine = where.machine.with_constants(values, block.place)
        return _Where(phase_name(where.phase, block.phase), machine, where.times * self.value(block.repeat, "repeat"))

    def _demand(self, step: Demand, where: _Where) -> None:
        match step:
            case Compute():
                amount = operations(step, lambda part: self.value(part, step.unit))
                every = amount * where.times * self._present(step)
                self.work[step.unit] = self.work.get(step.unit, 0.0) + self._over_ranks(every)
                time_s = compute_s(step, where.machine.processor, amount)
                self._book(step, where, "computation", time_s)
                self._draw(step, where, "processor", time_s)
            case Execute():
                self._execute(step, where)
            case DiskAccess():
                size, times = self.value(step.bytes, "bytes"), self.value(step.times, "times")
                time_s = access_s(step, where.machine.disk, size, times)
                self._book(step, where, "disk", time_s)
                self._visit(step, where, "disk", time_s)
                self._draw(step, where, "disk", time_s)
                every = size * times * where.times * self._present(step)
                self.disk_bytes = self.disk_bytes + self._over_ranks(every)
            case MemoryAccesses():
                memory = memory_of(step, where.machine)
                seen = served_accesses(step, memory, self.value)
                time_s = memory_s(seen, self.value(step.blocking, "blocking"), memory)
                self._book(step, where, "memory", time_s)
                self._visit(step, where, "memory", transfer_s(seen, memory))
                self._draw(step, where, "memory", time_s)
                self._serve(step, seen, memory, where)
            case Replay():
                what = "a schedule has no closed form, so that it cannot be forecast"
                raise InputError(what, step.place, allowed="simulate it")
            case _:
                self._check_peers(step)
                self._communication(step, where)

    def _execute(self, step: Execute, where: _Where) -> None:
        parallelism = self.value(step.parallelism, "parallelism")
        uses = item_uses(step, where.machine, self.value)
        self._book(step, where, "computation", block_s(uses, parallelism, where.machine.custom))
        for use in uses:
            every = self._over_ranks(use.amount * parallelism * where.times * self._present(step))
            self.used[use.resource] = self.used.get(use.resource, 0.0) + every
            if use.resource == "flops":
                self.work["flops"] = self.work.get("flops", 0.0) + every
            if self.power is not None:
                self._draw_use(step, where, use, parallelism)

    def _draw_use(self, step: Execute, where: _Where, use: ItemUse, parallelism: FloatOrArray) -> None:
        """The power and energy of a use: idle instances draw nothing, and what takes no time nothing either."""
        assert self.power is not None
        total_s, here = use_s(use, parallelism), self._present(step)
        lasts = np.asarray(total_s) > 0
        besides = np.where(lasts, parallelism * use.energy_j, 0.0)
        energy_j = parallelism * use.time_s * use.power_w + besides
        self.power.spend(self._over_ranks(energy_j * where.times * here))
        at_once_w = np.minimum(parallelism, use.instances) * use.power_w + besides / np.where(lasts, total_s, 1.0)
        self.power.draw(where.phase, use.resource, self._over_ranks(np.where(lasts, at_once_w, 0.0) * here), True)

    def _draw(self, step: Demand, where: _Where, part: str, time_s: FloatOrArray) -> None:
        """The power and energy of a built-in part, of all ranks."""
        watts = getattr(getattr(where.machine, part), "dynamic_power_w", None)
        if self.power is None or watts is None:
            return
        here = self._present(step)
        self.power.spend(self._over_ranks(time_s * watts * where.times * here))
        self.power.draw(where.phase, part, self._over_ranks(np.where(np.asarray(time_s) > 0, watts, 0.0) * here))

    def _draw_messages(self, step: Demand, where: _Where, cost: Cost) -> None:
        """The power and energy of sends and receives, while they are at work, and of bytes."""
        network = where.machine.network
        if self.power is None:
            return
        watts = 0.0 if network.dynamic_power_w is None else network.dynamic_power_w
        prices, here = price(network, self.names["P"]), self._present(step)
        match step:
            case Send():
                size = self.value(step.bytes, "bytes")
                busy = self._over_ranks(prices.message(size).send_s * here)
            case Receive():
                busy = self._over_ranks(prices.message(self._received_bytes(step)).receive_s * here)
            case _:
                busy = all_busy_s(cost, prices)
        per_byte = 0.0 if network.energy_per_byte_j is None else network.energy_per_byte_j
        self.power.spend((busy * watts + cost.message_bytes * per_byte) * where.times)
        self.power.draw(where.phase, "network", self._over_ranks(np.where(busy > 0, watts, 0.0) * here))
        self.power.draw(where.phase, "bytes", byte_power_w(network, cost))

    def _serve(self, step: MemoryAccesses, seen: ServedAccesses, memory: Memory, where: _Where) -> None:
        """Note which level serves the accesses."""
        for level, share, method in zip(
            memory.level_names, seen.served.shares, (*seen.served.methods, ""), strict=True
        ):
            every = self._over_ranks(seen.accesses * share * where.times * self._present(step))
            self.served[level] = self.served.get(level, 0.0) + every
            if method:
                self.hit_methods[level] = method

    def _check_peers(self, step: Demand) -> None:
        """InputError for messages to or from nobody; only for a single P can all ranks be asked."""
        if (
            isinstance(step, Send | Receive)
            and np.ndim(self.design_point.values["P"]) == 0
            and not self.design_point.shape
        ):
            names = {**self.design_point.values, "rank": self.design_point.every_rank()}
            here = np.ones(self.design_point.ranks) if step.when is None else np.asarray(step.when.evaluate(names))
            what, peer = ("to", step.to) if isinstance(step, Send) else ("from", step.source)
            if peer is None:
                return
            if peer is not None:
                checked_peers(what, peer, names, np.flatnonzero(np.broadcast_to(here, self.design_point.ranks)))

    def _communication(self, step: Demand, where: _Where) -> None:
        cost = self._cost(step, where)
        self._book(step, where, "communication", cost.time_s)
        self._draw_messages(step, where, cost)
        self.messages = self.messages + cost.messages * where.times
        self.message_bytes = self.message_bytes + cost.message_bytes * where.times

    def _cost(self, step: Demand, where: _Where) -> Cost:
        prices = price(where.machine.network, self.names["P"])
        match step:
            case Collective():
                return FORMULAS[step.name, step.algorithm](self.value(step.bytes, "bytes"), prices)
            case Exchange():
                sizes = [self.value(size, "bytes") for size in step.bytes]
                messages = [self.value(count, "messages") for count in step.messages_by_dim]
                check_train(step, self.value(step.train, "train"), where.machine.network)
                return halo(sizes, self._grid(step), step.periodic, prices, messages)
            case Send():
                size, here = self.value(step.bytes, "bytes"), self._present(step)
                sent = self._over_ranks(here * np.ones_like(size)), self._over_ranks(here * size)
                return Cost(prices.message(size).charged_s, *sent)
            case Receive():
                return Cost(prices.message(self._received_bytes(step)).receive_s, 0.0, 0.0)
        raise AssertionError(step)

    def _received_bytes(self, receive: Receive) -> FloatOrArray:
        """Its own number, or that of the send with its tag which stands nearest before it, or after it if none does."""
        if receive.bytes is not None:
            return self.value(receive.bytes, "bytes")
        steps = [step for step in walk(self.design_point.workload.program) if isinstance(step, Send | Receive)]
        here = next(place for place, step in enumerate(steps) if step is receive)
        sends = [step for step in (*reversed(steps[:here]), *steps[here:]) if isinstance(step, Send)]
        send = next((step for step in sends if step.tag == receive.tag), None)
        if send is None:
            return 0.0
        if "rank" not in send.bytes.names:
            return self.value(send.bytes, "bytes")
        if receive.source is None:
            most: FloatOrArray = np.max(self.value(send.bytes, "bytes"), axis=-1, keepdims=True)
            return most  # from anyone: the largest counts
        return self.value(send.bytes, "bytes", {"rank": receive.source.evaluate(self.names)})

    def _grid(self, step: Exchange) -> list[FloatOrArray]:
        if step.grid is None:
            return process_grid(self.names["P"], step.dims)
        grid = [self.value(extent, "grid") for extent in step.grid]
        held = functools.reduce(np.multiply, grid)
        whole = all(np.all(extent == np.floor(extent)) for extent in grid)
        if not (whole and np.all(held == self.names["P"])):
            raise InputError("the process grid does not hold P ranks", step.place, value=[e.text for e in step.grid])
        return grid

    def _present(self, demand: Demand) -> FloatOrArray:
        """1 for ranks that the demand applies to, 0 for others."""
        if demand.when is None:
            return 1.0
        when = demand.when.evaluate(self.names)
        return np.where(finite(when, f"when = {demand.when.text}", self.design_point.workload, demand.when), 1.0, 0.0)

    def _over_ranks(self, each: FloatOrArray) -> FloatOrArray:
        """The sum over all ranks of what each does."""
        if not self.by_rank:
            return each * self.names["P"]
        total: FloatOrArray = np.sum(each + self.zero, axis=-1, keepdims=True)
        return total

    def _book(self, demand: Demand, where: _Where, component: str, time_s: FloatOrArray) -> None:
        phase = self.phases.setdefault(where.phase, dict.fromkeys(COMPONENTS, 0.0))
        time_s = time_s * where.times * self._present(demand)
        phase[component] = phase[component] + time_s
        if self.loop is not None:
            varies = demand.varies if isinstance(demand, Compute | DiskAccess | MemoryAccesses) else None
            self.loop.add(component, time_s, varies)

    def result(self) -> Result:
        """The Result: of the busiest rank, where ranks differ."""
        total = sum((time for times in self.phases.values() for time in times.values()), start=self.zero)
        busiest = np.argmax(total, axis=-1, keepdims=True) if self.by_rank else None
        phases = {
            name: {part: self._for_every_point(_of_rank(time, total, busiest)) for part, time in times.items()}
            for name, times in self.phases.items()
        }
        result = Result(
            reading="forecast",
            workload=self.design_point.workload.name,
            machine=self.design_point.machine.name,
            values=dict(self.design_point.values),
            preset=self.design_point.preset,
            makespan_s=self._for_every_point(_of_rank(total, total, busiest)),
            phases=phases,
            messages=self._for_every_point(_of_rank(self.messages, total, busiest)),
            message_bytes=self._for_every_point(_of_rank(self.message_bytes, total, busiest)),
            disk_bytes=self._for_every_point(_of_rank(self.disk_bytes, total, busiest)),
            flops=self._for_every_point(_of_rank(self.work.get("flops", 0.0), total, busiest)),
            instructions=self._for_every_point(_of_rank(self.work.get("instructions", 0.0), total, busiest)),
            served={
                level: self._for_every_point(_of_rank(accesses, total, busiest))
                for level, accesses in self.served.items()
            },
            hit_methods=self.hit_methods,
            used={name: self._for_every_point(_of_rank(it, total, busiest)) for name, it in self.used.items()},
            size=self.design_point.size,
            footprint_bytes=self.design_point.footprint_bytes,
            capacity_bytes=self.design_point.capacity_bytes,
            formulas=tuple(self.formulas),
        )
        return self._with_power(result, total, busiest)

    def _with_power(self, result: Result, total: FloatOrArray, busiest: NDArray[np.int64] | None) -> Result:
        """The Result with power and energy, where the machine says anything of them."""
        if self.power is None:
            return result
        said = self.design_point.machine.totals().static_power_w
        static = self._for_every_point(0.0 if said is None else said)
        energy_j, highest_w = (
            self._for_every_point(_of_rank(value, total, busiest))
            for value in (self.power.energy_j, self.power.highest_w(self.machine.custom))
        )
        return replace(
            result,
            static_power_w=static,
            energy_j=static * result.makespan_s + energy_j,
            peak_power_w=static + highest_w,
        )

    def _for_every_point(self, value: FloatOrArray) -> FloatOrArray:
        """The value at every design point, also where some of the arrays change nothing (a read-only view)."""
        shape = self.design_point.shape
        return np.broadcast_to(value, shape) if shape != np.shape(value) else value


def depends_on_rank(step: Step) -> bool:
    """Whether ranks differ in this demand. Peers of messages differ, but not what they cost."""
    if isinstance(step, Block):
        return False
    peer = step.to if isinstance(step, Send) else step.source if isinstance(step, Receive) else None
    amounts = [amount for amount in step.expressions() if amount is not peer]
    return step.when is not None or any("rank" in amount.names for amount in amounts)


def _of_rank(value: FloatOrArray, total: FloatOrArray, rank: NDArray[np.int64] | None) -> FloatOrArray:
    """The value of one rank (last axis), or the value itself where ranks do not differ; plain when it is one number."""
    if rank is not None:
        every = np.broadcast_to(value, np.broadcast_shapes(np.shape(value), np.shape(total)))
        value = np.take_along_axis(every, rank, axis=-1)[..., 0]
    return value if np.ndim(value) else float(value)
