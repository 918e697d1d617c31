"""Forecast of a recorded program.

Every rank's operations are priced by their closed forms, and added up for the rank that has most to do. No rank waits
for another one's work in it, as in every sum of closed forms.

A started operation takes, at its wait, the rest of its time when its rank arrives there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.collectives.algorithm_form import algorithm_form_of
from simcodesign.analytic.collectives.on_levels import cost_of_members
from simcodesign.analytic.demands.base import CLOSED_FORMS, Charge, ClosedForm, Count, closed_form, part_draws
from simcodesign.analytic.demands.computation import compute_s
from simcodesign.analytic.demands.disk_access import access_s
from simcodesign.analytic.demands.memory_accesses import accesses_s, limits_s
from simcodesign.analytic.demands.messages import message_charge
from simcodesign.analytic.formulas.formula_prices import Payment, SymbolicPrices
from simcodesign.analytic.messages.message_costs import Cost, price
from simcodesign.analytic.messages.route_links import worst_links
from simcodesign.analytic.one_point import point_at
from simcodesign.analytic.power import all_busy_s
from simcodesign.core.errors import InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import ONE
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.evaluated.co_runners import co_runners_among
from simcodesign.describe.evaluated.served_accesses import OfMemory, memories_of, served_accesses
from simcodesign.describe.evaluation import EvaluatedBlock, EvaluatedStep, Evaluation, StepOfRanks
from simcodesign.describe.machine import Machine
from simcodesign.describe.programs.program import MAIN_PHASE, Block
from simcodesign.describe.python_programs import recorded_operations as kinds
from simcodesign.describe.python_programs.keyword_calls import accelerator_demand
from simcodesign.describe.python_programs.matched import as_demand, collective_calls, message_sizes, segments_of
from simcodesign.describe.python_programs.python_program import PythonProgram
from simcodesign.describe.python_programs.recorded_program import RecordedProgram
from simcodesign.describe.python_programs.recording import NONE, Recording
from simcodesign.describe.recordings.workload import RecordedRun

Floats = NDArray[np.float64]
#: Components that an operation is booked under.
COMPONENTS_OF_ENTRIES = ("computation", "disk", "communication", "memory", "computation", "memory")
_OF_KIND = {kinds.COMPUTE: 0, kinds.ACCESS: 1, kinds.MEMORY: 3, kinds.KERNEL: 4, kinds.COPY: 5}


class RecordedProgramForm(ClosedForm[RecordedProgram]):
    """The busiest rank's sum, or the program's own formula."""

    def charge(self, demand: RecordedProgram, step: EvaluatedStep) -> Charge:
        raise InputError(f"a {demand.words} has several phases", demand.place)

    def charges(self, demand: RecordedProgram, step: EvaluatedStep) -> Iterator[tuple[EvaluatedStep, Charge]]:
        if demand.formula is not None:
            yield step, Charge("computation", self._by_formula(demand, step))
            return
        point = step.evaluation.design_point
        if point.shape:
            yield from self._at_several(demand, step, point)
            return
        yield from _charges(demand, step, point)

    def basis(self, demand: RecordedProgram) -> str:
        what = "busiest rank's sum of closed forms" if demand.formula is None else f"formula of {demand.name}"
        return f"{what} ({demand.words})"

    def message_rows(self, demand: RecordedProgram, ranks: int) -> float:
        """Bounds are made of messages that are alike from one repetition to the next: there are none."""
        return float("inf")

    def requirements(self, demand: RecordedProgram, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        raise InputError(f"a {demand.words} has no closed form of its requirements", demand.place)

    def payments(self, demand: RecordedProgram, prices: SymbolicPrices) -> Iterator[Payment]:
        raise InputError(f"a {demand.words} has no formula in symbols", demand.place, allowed="forecast it")

    @staticmethod
    def _by_formula(demand: RecordedProgram, step: EvaluatedStep) -> FloatOrArray:
        point = step.evaluation.design_point
        assert demand.formula is not None
        values = {name: point.values[name] for name in point.workload.parameters if name != "P"}
        values |= {name: int(values[name]) for name in demand.whole if not np.ndim(values[name])}
        try:
            seconds = np.asarray(demand.formula(step.machine, step.evaluation.ranks, **values), dtype=np.float64)
            np.broadcast_to(seconds, point.shape)
        except Exception as error:
            what = f"the forecast of a program: {type(error).__name__}: {error}"
            raise InputError(what, demand.place) from error
        if not np.all(np.isfinite(seconds)) or np.any(seconds < 0):
            raise InputError("the forecast of a program", demand.place, value=float(seconds.flat[0]), allowed="seconds")
        return seconds if seconds.ndim else float(seconds)

    @staticmethod
    def _at_several(
        demand: RecordedProgram, step: EvaluatedStep, point: DesignPoint
    ) -> Iterator[tuple[EvaluatedStep, Charge]]:
        """Point by point: the program runs for each."""
        if point.has_power:
            raise InputError(f"the energy of a {demand.words} takes one design point", demand.place)
        found: dict[tuple[str, str], list[tuple[tuple[int, ...], Charge]]] = {}
        for index in np.ndindex(point.shape):
            for placed, charge in _charges(demand, step, point_at(point, index)):
                found.setdefault((placed.phase, charge.component), []).append((index, charge))
        for (phase, component), several in found.items():
            time_s, messages, sent_bytes = (np.zeros(point.shape) for _ in range(3))
            counts: dict[tuple[str, str], Floats] = {}
            for index, charge in several:
                time_s[index] += charge.time_s
                messages[index] += charge.messages
                sent_bytes[index] += charge.message_bytes
                for count in charge.counts:
                    counts.setdefault((count.group, count.name), np.zeros(point.shape))[index] += count.each
            every = tuple(Count(*key, each) for key, each in counts.items())
            charge = Charge(component, time_s, every, messages=messages, message_bytes=sent_bytes)
            yield in_phase(step, phase), charge


def in_phase(step: EvaluatedStep, phase: str) -> EvaluatedStep:
    """Return the step where its time is booked."""
    if phase == MAIN_PHASE:
        return step
    return EvaluatedStep(step.demand, EvaluatedBlock(step.evaluation, Block(ONE, (step.demand,), phase), step.block))


def _charges(
    demand: RecordedProgram, step: EvaluatedStep, point: DesignPoint
) -> Iterator[tuple[EvaluatedStep, Charge]]:
    """Work of the busiest rank in every phase; messages and counts are sums over all ranks."""
    recording = demand.recorded(point.ranks, demand.arguments(point.values, point.workload.parameters))
    costs, served = _Costs.of(recording, point.machine), _Served(recording, step, point.machine)
    costs.time_s[served.entry] = served.time_s
    on_accelerators = _OnAccelerators(recording, point)
    costs.time_s[on_accelerators.entry] = on_accelerators.time_s
    component, rank = components_of(recording), recording.rank
    width = len(COMPONENTS_OF_ENTRIES) * recording.ranks
    key = recording.phase.astype(np.int64) * width + component * recording.ranks + rank
    shape = (len(recording.phases), len(COMPONENTS_OF_ENTRIES), recording.ranks)

    def by_place(each: Floats, entry: NDArray[np.int64] | None = None) -> Floats:
        at = key if entry is None else key[entry]
        return np.asarray(np.bincount(at, each, int(np.prod(shape))), dtype=np.float64).reshape(shape)

    time_s = by_place(_with_overlap(recording, costs.time_s))
    busiest = int(np.argmax(time_s.sum(axis=(0, 1))))
    messages, sent, busy = (by_place(each).sum(axis=2) for each in (costs.messages, costs.sent_bytes, costs.busy_s))
    at_work_of_part_s = by_place(costs.time_s)  # whatever overlaps it
    computed_s = at_work_of_part_s[:, 0].sum(axis=1)
    amounts = {unit: by_place(_work(recording, unit)).sum(axis=2) for unit in ("flops", "instructions", "seconds")}
    disk_bytes = by_place(_disk_bytes(recording)).sum(axis=2)
    there, every_count = on_accelerators.entry, on_accelerators.counts
    at_work_s, launch_s = (by_place(each, there)[:, 4, busiest] for each in on_accelerators.by_part_s)
    counted = {name: by_place(each, there).sum(axis=2) / point.ranks for name, each in every_count.items()}
    for place, phase in enumerate(recording.phases):
        placed = in_phase(step, phase)
        computes, disk, sends, stalls, kernels, copies = time_s[place, :, busiest]
        computing_s, on_disk_s, _, in_memory_s, _, _ = at_work_of_part_s[place, :, busiest]
        if computes or any(amount[place, 0] for amount in amounts.values()):
            counts = tuple(Count("work", unit, amount[place, 0] / point.ranks) for unit, amount in amounts.items())
            if point.machine.memory is not None:
                counts = (*counts, Count("processor limits", "computation", computed_s[place] / point.ranks))
            yield placed, Charge("computation", computes, counts, draws=_draws(placed, "processor", computing_s))
        if disk_bytes[place, 1] or disk:
            count = Count("disk", "bytes", disk_bytes[place, 1] / point.ranks)
            yield placed, Charge("disk", disk, (count,), draws=_draws(placed, "disk", on_disk_s))
        every = served.counts(place, point.ranks)
        if every or stalls:
            draws = _draws(placed, "memory", in_memory_s)
            yield placed, Charge("memory", stalls, every, hit_methods=served.methods, draws=draws)
        for number, spent in ((4, kernels), (5, copies)):
            counts = tuple(
                Count(group, name, each[place, number]) for (at, group, name), each in counted.items() if at == number
            )
            if spent or any(count.each for count in counts):
                parts = (("accelerator", at_work_s), ("processor", launch_s)) if number == 4 else ()
                draws = tuple(draw for part, each in parts for draw in _draws(placed, part, each[place]))
                yield placed, Charge(COMPONENTS_OF_ENTRIES[number], spent, counts, draws=draws)
        if messages[place, 2] or sends:
            cost = Cost(sends, messages[place, 2], sent[place, 2])
            yield placed, message_charge(placed, cost, partial(float, busy[place, 2]))


def own_work_s(recording: Recording, step: EvaluatedStep, machine: Machine) -> Floats:
    """(N,) seconds of every entry that is a rank's own work: computation, memory, disk; 0 for others."""
    costs, served = _Costs(*(np.zeros(len(recording.op)) for _ in range(4))), _Served(recording, step, machine)
    costs.plain(recording, machine)
    costs.time_s[served.entry] = served.time_s
    on_accelerators = _OnAccelerators(recording, step.evaluation.design_point)
    costs.time_s[on_accelerators.entry] = on_accelerators.time_s
    return costs.time_s


def _draws(step: EvaluatedStep, part: str, time_s: float) -> Any:
    return part_draws(step, part, time_s) if step.evaluation.design_point.has_power else ()


class _Served:
    """Loads and stores of a recording: (M,) their entries, the seconds that they take, and which levels serve them."""

    def __init__(self, recording: Recording, step: EvaluatedStep, machine: Machine) -> None:
        self.entry = _named(recording, "memory")
        self._phase = recording.phase[self.entry]
        self.methods: dict[str, str] = {}
        self._rank = recording.rank[self.entry]
        distinct, self._number = np.unique(recording.op[self.entry], return_inverse=True)
        self._levels = list[dict[tuple[str, str], FloatOrArray]]()
        self.time_s = np.zeros(len(self.entry))
        for place, op in enumerate(distinct.tolist()):
            demand, mine = recording.operations[op][2], self._number == place
            self._levels.append({})
            for of in memories_of(demand, machine, recording.ranks):
                self._add(demand, of, mine, machine, step)

    def _add(
        self, demand: MemoryAccesses, of: OfMemory, mine: NDArray[np.bool_], machine: Machine, step: EvaluatedStep
    ) -> None:
        """Add the entries ``mine`` (M,) of ranks that have one memory."""
        memory, ranks, levels = of.memory, self._rank[mine].astype(np.int32), self._levels[-1]
        present = np.isin(np.arange(step.evaluation.design_point.ranks), ranks)
        runners = co_runners_among(machine, present if of.here is None else present & of.here, memory)
        found = served_accesses(demand, memory, step.amount, runners)
        self.time_s[mine] += _of_ranks(of.each(accesses_s(demand, found, memory, step.amount)), ranks)
        shares = zip(memory.level_names, found.served.shares, strict=True)
        amounts = [("served", level, found.accesses * share) for level, share in shares]
        if memory.prefetch is not None:
            amounts.append(("prefetched", "memory", found.accesses * found.served.prefetched))
        limits = limits_s(demand, found, memory, step.amount)
        amounts += [("processor limits", name, each_s) for name, each_s in limits.items()]
        for kind, level, each in amounts:
            levels[kind, level] = levels.get((kind, level), 0.0) + of.each(each)
        methods = zip(memory.level_names, found.served.methods, strict=False)  # memory itself has none
        self.methods |= {level: method for level, method in methods if method}

    def counts(self, phase: int, ranks: int) -> tuple[Count, ...]:
        """Return accesses by level in a phase, each rank's in the mean."""
        totals: dict[tuple[str, str], float] = {}
        for place, levels in enumerate(self._levels):
            doing = self._rank[(self._phase == phase) & (self._number == place)]
            for level, accesses in levels.items() if len(doing) else ():
                each = float(accesses) if np.ndim(accesses) == 0 else float(np.mean(_of_ranks(accesses, doing)))
                totals[level] = totals.get(level, 0.0) + len(doing) * each / ranks
        return tuple(Count(*name, each) for name, each in totals.items())


def steps_on_accelerators(recording: Recording, point: DesignPoint) -> Iterator[tuple[NDArray[np.int64], StepOfRanks]]:
    """Yield the distinct kernels and copies of a recording: the entries of each, and the demand of the ranks."""
    block = Evaluation.at_ranks(point).program
    for op in np.flatnonzero(recording.of_kind(kinds.KERNEL) | recording.of_kind(kinds.COPY)).tolist():
        entries = np.flatnonzero(recording.op == op)
        if len(entries):
            kind, _, text = recording.operations[op]
            demand = accelerator_demand(kind, text, recording.place_of(int(entries[0])))
            often = np.bincount(recording.rank_of(entries), minlength=recording.ranks)
            yield entries, StepOfRanks(demand, block, often=often)


class _OnAccelerators:
    """Kernels and copies of a recording at one design point, (M,) of each ``entry``: ``time_s``.

    ``by_part_s``, seconds of kernels on the accelerator and on the processor that launches them; ``counts`` by the
    place of their component, their group and name.
    """

    def __init__(self, recording: Recording, point: DesignPoint) -> None:
        self.entry = recording.entries_of(recording.of_kind(kinds.KERNEL) | recording.of_kind(kinds.COPY))
        self.time_s, at_work_s, launch_s = (np.zeros(len(self.entry)) for _ in range(3))
        self.by_part_s, self.counts = (at_work_s, launch_s), dict[tuple[int, str, str], Floats]()
        for entries, step in steps_on_accelerators(recording, point):
            mine, ranks = np.searchsorted(self.entry, entries), recording.rank_of(entries)
            kind = recording.operations[int(recording.op[entries[0]])][0]
            charge = closed_form(step.demand).charge(step.demand, step)
            self.time_s[mine] = _of_ranks(charge.time_s, ranks)
            if kind == kinds.KERNEL:
                at_work_s[mine] = _of_ranks(charge.service_s, ranks)
                launch_s[mine] = self.time_s[mine] - at_work_s[mine]
            for count in charge.counts:
                of_all = self.counts.setdefault((_OF_KIND[kind], count.group, count.name), np.zeros(len(self.entry)))
                of_all[mine] = _of_ranks(count.each, ranks)


def _of_ranks(each: FloatOrArray, ranks: NDArray[np.integer[Any]]) -> FloatOrArray:
    """Select the values of these ranks; a value for all ranks is returned as it is."""
    return each if np.ndim(each) == 0 else np.asarray(each)[ranks]


@dataclass(frozen=True)
class _Costs:
    """Costs of every entry, (N,): seconds of its rank.

    Messages, bytes and seconds at work on them, of all ranks together.
    """

    time_s: Floats
    messages: Floats
    sent_bytes: Floats
    busy_s: Floats

    @classmethod
    def of(cls, recording: Recording, machine: Machine) -> _Costs:
        costs = cls(*(np.zeros(len(recording.op)) for _ in range(4)))
        costs.plain(recording, machine)
        costs._single_messages(recording, machine)
        costs._collectives(recording, machine)
        return costs

    def plain(self, recording: Recording, machine: Machine) -> None:
        """Price the work of ranks by themselves: computation and disk accesses."""
        amount, times = recording.column(2, (kinds.COMPUTE, kinds.ACCESS)), recording.column(3, (kinds.ACCESS,))
        for name in ("flops", "instructions", "seconds", "read", "write"):
            entry = _named(recording, name)
            if not len(entry):
                continue
            demand = Compute(None, recording.place_of(int(entry[0])), name, None)
            each, often = amount[recording.op[entry]], times[recording.op[entry]]
            is_access = name in ("read", "write")
            if is_access:
                disk = None if machine.disk is None else machine.disk.of_ranks(recording.rank[entry])
                self.time_s[entry] = access_s(demand, name, disk, each, often)
            else:
                self.time_s[entry] = compute_s(demand, machine.processor.of_ranks(recording.rank[entry]), each)

    def _single_messages(self, recording: Recording, machine: Machine) -> None:
        """Price a send until its message arrives, as everywhere; a receive of an arrived message."""
        sizes = np.nan_to_num(message_sizes(recording))
        prices = price(machine.network, recording.ranks, links=worst_links(machine, recording.ranks))
        sends, receives = _named(recording, "send"), _named(recording, "receive")
        if not len(sends) + len(receives):
            return
        one = prices.message(sizes[sends])
        self.time_s[sends] = np.maximum(one.arrival_s, one.send_s)
        self.messages[sends], self.sent_bytes[sends], self.busy_s[sends] = 1.0, sizes[sends], one.send_s
        self.time_s[receives] = self.busy_s[receives] = prices.message(sizes[receives]).held_s

    def _collectives(self, recording: Recording, machine: Machine) -> None:
        """Price each collective by its algorithm's closed form, at the size of the group, or at its location."""
        calls = collective_calls(recording)
        op = recording.op[calls.entry]
        keys, number = np.unique(np.stack([op, calls.size], axis=1), axis=0, return_inverse=True)
        found = np.zeros((len(calls.entry), 4))
        looks_at_ranks = machine.has_levels or machine.network.node is not None
        known: dict[tuple[Any, ...], tuple[float, ...]] = {}
        for row, (one, ranks) in enumerate(keys.tolist()):
            here = np.flatnonzero(number.ravel() == row)
            if not looks_at_ranks:
                found[here] = _cost_alike(recording, one, ranks, machine, known)
                continue
            entries = calls.entry_of[calls.begin[here, None] + np.arange(ranks)]
            distinct, which = np.unique(recording.rank[entries], axis=0, return_inverse=True)
            found[here] = np.array([_cost_there(recording, one, members, machine) for members in distinct])[
                which.ravel()
            ]
        for place, array in enumerate((self.time_s, self.messages, self.sent_bytes, self.busy_s)):
            array[calls.entry] = found[:, place]


def _cost_alike(
    recording: Recording, op: int, ranks: int, machine: Machine, known: dict[tuple[Any, ...], tuple[float, ...]]
) -> tuple[float, ...]:
    """Seconds of a collective operation; and messages, bytes and seconds at work of each rank."""
    _, name, size_bytes, algorithm, _, stated, _ = recording.operations[op]
    key = (name, size_bytes, algorithm, stated, ranks)
    if key not in known:
        demand = as_demand(recording, op, ranks, machine.collectives)
        options = segments_of(recording, op, demand)
        prices, form = price(demand.sent_on(machine).network, float(ranks)), algorithm_form_of(demand)
        cost = (form.segmented or form.cost)(size_bytes, prices, *options) if options else form.cost(size_bytes, prices)
        known[key] = _of_each(cost, all_busy_s(cost, prices), ranks)
    return known[key]


def _cost_there(recording: Recording, op: int, members: NDArray[np.int64], machine: Machine) -> tuple[float, ...]:
    """Cost of these ranks, if messages cost what the level of their pair states."""
    _, _, size_bytes, _, root, _, _ = recording.operations[op]
    demand, count = as_demand(recording, op, len(members), machine.collectives), len(members)
    options = segments_of(recording, op, demand)
    segments = float(options[0]) if options else None
    from_root = np.roll(members, -int(root))
    sent = demand.sent_on(machine)
    there = cost_of_members(demand, float(size_bytes), sent, recording.ranks, from_root, segments)
    return _of_each(there.cost, there.busy_s, count)


def _of_each(cost: Cost, busy_s: FloatOrArray, ranks: int) -> tuple[float, ...]:
    every = (cost.messages, cost.message_bytes, busy_s)
    return (float(cost.time_s), *(float(value) / ranks for value in every))


def _named(recording: Recording, name: str) -> NDArray[np.int64]:
    """Entries of plain operations of this name."""
    plain = [one[0] != kinds.COLLECTIVE and one[1] == name for one in recording.operations]
    return recording.entries_of(np.array(plain, dtype=bool))


def components_of(recording: Recording) -> NDArray[np.int64]:
    """(N,) what each entry is booked under; a wait as what is waited for."""
    of = np.array([_OF_KIND.get(one[0], 2) for one in recording.operations] + [2], dtype=np.int64)
    component = of[recording.op]
    waits = np.flatnonzero(recording.waits_for != NONE)
    component[waits] = component[recording.waits_for[waits]]
    return component


def _work(recording: Recording, unit: str) -> Floats:
    amount = np.zeros(len(recording.op))
    entry = _named(recording, unit)
    amount[entry] = recording.column(2, (kinds.COMPUTE,))[recording.op[entry]]
    return amount


def _disk_bytes(recording: Recording) -> Floats:
    size, times = (recording.column(place, (kinds.ACCESS,)) for place in (2, 3))
    moved = np.zeros(len(recording.op))
    for name in ("read", "write"):
        entry = _named(recording, name)
        moved[entry] = (size * times)[recording.op[entry]]
    return moved


def _with_overlap(recording: Recording, time_s: Floats) -> Floats:
    """Seconds of every entry where what was started costs, at its wait, what is left of it then."""
    if not recording.started.any():
        return time_s
    own = np.where(recording.started, 0.0, time_s)
    clock = np.cumsum(own)
    late = 0.0  # what the waits so far have cost; of the ranks before as well, which cancels
    begun_s: dict[int, float] = {}
    for entry in np.flatnonzero(recording.started | (recording.waits_for != NONE)).tolist():
        start = int(recording.waits_for[entry])
        if start == NONE:
            begun_s[entry] = clock[entry] + late
        else:
            own[entry] = max(0.0, begun_s.pop(start) + time_s[start] - clock[entry] - late)
            late += own[entry]
    return own


for _each in (PythonProgram, RecordedRun):
    CLOSED_FORMS.add(_each, RecordedProgramForm())
