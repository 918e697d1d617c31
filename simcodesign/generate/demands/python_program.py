"""From a recorded program to a Plan.

The messages of each collective operation are written once for each number of ranks and size (a template), and laid out
for all calls of it together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPUTE, HELD, MEMORY, READ, RECEIVE, SEND, WAIT, WRITE
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.collective import ALGORITHM_SENDS
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.demands.footprint import collective_footprint_bytes
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.evaluated.co_runners import co_runners_among
from simcodesign.describe.evaluated.served_accesses import OfMemory, ServedAccesses, memories_of
from simcodesign.describe.evaluation import EvaluatedStep, StepOfRanks
from simcodesign.describe.machine import Machine
from simcodesign.describe.python_programs import recorded_operations as kinds
from simcodesign.describe.python_programs.keyword_calls import accelerator_demand
from simcodesign.describe.python_programs.matched import (
    as_demand,
    collective_calls,
    message_sizes,
    segments_of,
)
from simcodesign.describe.python_programs.python_program import PythonProgram
from simcodesign.describe.python_programs.recorded_program import RecordedProgram
from simcodesign.describe.python_programs.recording import Recording
from simcodesign.describe.recordings.workload import RecordedRun
from simcodesign.generate.columns import Column, DataCosts, Ranks, have_rendezvous, with_holds, with_waits
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.demands.computation import duration_of_computation_s
from simcodesign.generate.demands.disk_access import duration_of_access_s
from simcodesign.generate.demands.memory_accesses import (
    Part,
    accesses_of,
    limits_s,
    operations_of,
    parts_of,
    shares_controller,
    together,
)
from simcodesign.generate.messages.collectives.algorithm_messages import messages_of
from simcodesign.generate.messages.constants_by_size import has_rendezvous
from simcodesign.generate.operation_columns import EXTRAS, FIELDS
from simcodesign.generate.plan import ANY, NONE, SourceLines
from simcodesign.generate.plan_builder import LoweredProgram, PlanBuilder, StepWriter
from simcodesign.generate.segment import BY_TAG, Segment, woven
from simcodesign.generate.side_chains import UNITS

Int64s = NDArray[np.int64]
Fields = dict[str, NDArray[Any]]


class RecordedProgramLowering(Lowering[RecordedProgram]):
    """The operations of all ranks as they were recorded."""

    def operations(self, demand: RecordedProgram, writer: StepWriter) -> float:
        recording = recorded(demand, writer.builder.design_point)
        calls = collective_calls(recording)
        firsts = calls.entry[calls.place == 0]
        size, op = calls.size[calls.place == 0], recording.op[firsts]
        total = float(len(recording.op) - len(calls.entry))
        if writer.builder.prices.waits_for_receivers:
            total += len(recording.entries_of(recording.of_kind(kinds.SEND)))
        if writer.builder.prices.holds_receivers:
            total += len(recording.entries_of(recording.of_kind(kinds.RECEIVE)))
        accesses = len(recording.entries_of(recording.of_kind(kinds.MEMORY)))
        total += accesses * (operations_of(writer.builder.machine, writer.builder.on) - 1)
        total += len(recording.entries_of(_on_accelerators(recording)))  # two operations each
        for one, ranks in np.unique(np.stack([op, size], axis=1), axis=0).tolist() if len(op) else ():
            way = as_demand(recording, one, ranks, writer.builder.machine.collectives)
            most, segments = messages_of(way).most(ranks), segments_of(recording, one, way) or (1,)
            total += 3.0 * most * segments[0] * np.count_nonzero((op == one) & (size == ranks))
        return total

    def program(self, steps: Sequence[EvaluatedStep], builder: PlanBuilder) -> LoweredProgram:
        demand = steps[0].demand
        assert isinstance(demand, RecordedProgram)
        if len(steps) > 1 or steps[0].block.outer is not None:
            raise InputError(f"a {demand.words} is the whole of its workload", demand.place)
        if builder.tally is not None:
            raise InputError(f"counters of a {demand.words}", demand.place, allowed="simulate it without counters")
        layout = _Layout(recorded(demand, builder.design_point), builder, steps[0])
        builder.phases.clear()
        builder.phases.update({name: number for number, name in enumerate(layout.recording.phases)})
        segment = Segment(layout.first, layout.fields())
        return LoweredProgram(segment, lines=layout.lines())


def recorded(demand: RecordedProgram, point: DesignPoint) -> Recording:
    """Return the operations of the ranks at one design point."""
    return demand.recorded(point.ranks, demand.arguments(point.values, point.workload.parameters))


@dataclass(frozen=True)
class _Templates:
    """Operations written once.

    Piece k is ``begin[k]:begin[k] + length[k]`` of the fields; a plain operation is one piece, a template of n ranks n
    of them. ``first_piece``: of each template, by its number.
    """

    fields: Fields
    begin: Int64s
    length: Int64s
    first_piece: Int64s


class _Layout:
    """The operations of the Plan, entry by entry of the recording."""

    def __init__(self, recording: Recording, builder: PlanBuilder, step: EvaluatedStep) -> None:
        self.recording, self._builder, self._step = recording, builder, step
        self._calls = collective_calls(recording)
        self._sizes = message_sizes(recording)
        templates, piece = self._pieces()
        length = templates.length[piece]
        self._start = np.cumsum(length) - length  # first operation of every entry, in the whole Plan
        self.first = np.append(self._start, length.sum())[recording.first]
        self._length = length
        self.entry = np.repeat(np.arange(len(length)), length)
        self._of = np.repeat(templates.begin[piece] - self._start, length) + np.arange(int(length.sum()))
        self._templates = templates

    def _pieces(self) -> tuple[_Templates, Int64s]:
        """Return the templates, and the piece of every entry."""
        recording, calls, prices = self.recording, self._calls, self._builder.prices
        piece = np.zeros(len(recording.op), np.int64)  # piece 0: one operation, whatever it is
        if prices.waits_for_receivers:
            sends = recording.entries_of(recording.of_kind(kinds.SEND))
            piece[sends] = has_rendezvous(
                self._builder.machine.network.message_model, self._sizes[sends]
            )  # piece 1: and a wait
        if prices.holds_receivers:
            piece[recording.entries_of(recording.of_kind(kinds.RECEIVE))] = 2  # piece 2: after being held
        op, size = recording.op[calls.entry], calls.size
        keys, number = np.unique(np.stack([op, size], axis=1), axis=0, return_inverse=True)
        shared: dict[tuple[Any, ...], int] = {}
        template_of = np.zeros(len(keys), np.int64)
        segments: list[Segment] = []
        for place, (one, ranks) in enumerate(keys.tolist()):
            _, name, size_bytes, algorithm, _, options, _ = recording.operations[one]
            key = (name, size_bytes, algorithm, options, ranks)
            if key not in shared:
                shared[key] = len(segments)
                segments.append(self._template(one, ranks, size_bytes))
            template_of[place] = shared[key]
        placed = list[tuple[Int64s, int]]()
        for which, write in (
            (recording.of_kind(kinds.MEMORY), self._accesses),
            (_on_accelerators(recording), self._at_accelerator),
        ):
            for one in np.flatnonzero(which).tolist():
                for those, segment in write(one, np.flatnonzero(recording.op == one)):
                    placed.append((those, len(segments)))
                    segments.append(segment)
        templates = _stored(segments, self._names)
        for entry, number_of_one in placed:
            piece[entry] = templates.first_piece[number_of_one]
        root = np.nan_to_num(recording.column(4, (kinds.COLLECTIVE,))).astype(np.int64)[op]
        local = (calls.place - root) % np.maximum(size, 1)
        piece[calls.entry] = templates.first_piece[template_of[number.ravel()]] + local
        return templates, piece

    def _template(self, op: int, ranks: int, size_bytes: float) -> Segment:
        """Return the messages of a collective operation among ranks 0 to n - 1, from rank 0."""
        builder = self._builder
        writer = Ranks(ranks, DataCosts.of(builder.machine))
        way = as_demand(self.recording, op, ranks, builder.machine.collectives)
        messages_of(way).write(writer, size_bytes, *segments_of(self.recording, op, way))
        columns = writer.columns
        if builder.prices.holds_receivers:
            unknown = (replace(one, held_s=np.nan) if one.kind == RECEIVE else one for one in columns)
            columns = with_holds([*unknown])
        if builder.prices.loggops:
            columns = with_waits(columns)
        elif builder.prices.waits_for_receivers:
            columns = with_waits([self._marked(column) for column in columns], have_rendezvous)
        return woven(columns, ranks, 0, self._names)

    def _marked(self, column: Column) -> Column:
        """Return the column with the information whether its senders wait for their receivers."""
        if column.kind != SEND:
            return column
        extra: dict[str, Any] = {
            "rendezvous": has_rendezvous(self._builder.machine.network.message_model, column.size_bytes)
        }
        return replace(column, extra=extra)

    @property
    def _names(self) -> tuple[str, ...]:
        """The extra fields of templates."""
        until = ("until",) if "until" in self._builder.prices.names else ()
        return (*self._builder.fields_of_memory, *until)

    def _accesses(self, op: int, entry: Int64s) -> Iterator[tuple[Int64s, Segment]]:
        """Yield loads and stores, which these entries are.

        The segment of a rank, and the entries of the ranks with equal costs.
        """
        builder, demand, value = self._builder, self.recording.operations[op][2], self._step.amount
        ranks, several = self.recording.rank[entry], memories_of(demand, builder.machine, self.recording.ranks)
        every, sliced = list[list[Part]](), shares_controller(builder.machine, builder.on)
        present = np.isin(np.arange(self.recording.ranks), ranks)
        for of in several:
            runners = co_runners_among(builder.machine, present if of.here is None else present & of.here, of.memory)
            accesses = accesses_of(demand, of.memory, value, builder, runners)
            self._count(accesses, of, ranks)
            for name, each_s in limits_s(demand, accesses, of.memory, value).items():
                _add(builder.totals.processor_limits_s, name, of.each(each_s), ranks)
            every.append(parts_of(demand, accesses, of.memory, value, sliced))
        parts = every[0] if len(every) == 1 else together(every, several)
        columns = [
            Column(MEMORY, None, NONE, part.size_bytes, part.duration_s, tag=None,
                   extra=dict.fromkeys(builder.fields_of_memory, part.controller))
            for part in parts
        ]  # fmt: skip
        yield from self._by_duration(columns, entry)

    def _at_accelerator(self, op: int, entry: Int64s) -> Iterator[tuple[Int64s, Segment]]:
        """Yield the operations of kernels or copies, which these entries are, and the entries that have them."""
        kind, _, text = self.recording.operations[op]
        if not len(entry):
            return
        demand = accelerator_demand(kind, text, self.recording.place_of(int(entry[0])))
        often = np.bincount(self.recording.rank[entry], minlength=self.recording.ranks)
        writer = StepWriter(self._builder, StepOfRanks(demand, self._step.block, often=often))
        LOWERINGS[type(demand)].write(demand, writer)
        yield from self._by_duration(writer.columns.columns, entry, writer.who)

    def _by_duration(
        self, columns: Sequence[Column], entry: Int64s, who: NDArray[Any] | None = None
    ) -> Iterator[tuple[Int64s, Segment]]:
        """Yield the operations of these entries, and the entries of the ranks for which they take as long.

        Sizes and durations are numbers, or of every rank, or of the ranks ``who``.
        """
        count = self.recording.ranks if who is None else len(who)
        ranks = self.recording.rank[entry] if who is None else np.searchsorted(who, self.recording.rank[entry])
        amounts = [amount for column in columns for amount in (column.size_bytes, column.duration_s)]
        by_rank = np.stack([np.broadcast_to(amount, count) for amount in amounts])[:, ranks]
        distinct, number = np.unique(by_rank, axis=1, return_inverse=True)
        for which, row in enumerate(distinct.T.tolist()):
            sized = zip(columns, row[::2], row[1::2], strict=True)
            alike = [replace(one, who=None, size_bytes=size, duration_s=duration) for one, size, duration in sized]
            yield entry[number.ravel() == which], woven(alike, 1, 0, self._names)

    def _count(self, accesses: ServedAccesses, of_memory: OfMemory, ranks: NDArray[Any]) -> None:
        """Note for the Result where the accesses of these ranks are served, and how that was computed."""
        totals, served, memory = self._builder.totals, accesses.served, of_memory.memory
        counts = [(totals.served, level, share) for level, share in zip(memory.level_names, served.shares, strict=True)]
        if memory.prefetch is not None:
            counts.append((totals.prefetched, "memory", served.prefetched))
        for of, name, share in counts:
            _add(of, name, of_memory.each(accesses.accesses * share), ranks)
        methods = zip(memory.level_names, served.methods, strict=False)  # memory itself has none
        totals.hit_methods.update({level: method for level, method in methods if method})

    def fields(self) -> Fields:
        """All fields of the operations, with their prices."""
        recording, builder, of = self.recording, self._builder, self._of
        fields = {name: self._templates.fields[name][of] for name in self._templates.fields}
        names = builder.prices.names
        fields |= {name: np.full(len(of), EXTRAS[name][1], EXTRAS[name][0]) for name in names if name not in fields}
        fields["phase"] = recording.phase[self.entry].astype(FIELDS["phase"])
        self._place_collectives(fields)
        self._write_plain(fields)
        collective = np.zeros(len(recording.op), bool)
        collective[self._calls.entry] = True
        self._price(fields, collective[self.entry])
        if recording.started.any():
            self._chain(fields)
        return fields

    def _place_collectives(self, fields: Fields) -> None:
        """Convert peers and places of collective operations from a template's to the Plan's."""
        recording, calls = self.recording, self._calls
        call_of = np.full(len(recording.op), NONE)
        call_of[calls.entry] = np.arange(len(calls.entry))
        call = call_of[self.entry]
        mine = np.flatnonzero((call != NONE) & (fields["peer"] != NONE))
        call = call[mine]
        root = np.nan_to_num(recording.column(4, (kinds.COLLECTIVE,))).astype(np.int64)[recording.op[calls.entry]]
        number = (fields["peer"][mine] + root[call]) % calls.size[call]
        peer_entry = calls.entry_of[calls.begin[call] + number]
        peer = recording.rank[peer_entry]
        fields["peer"][mine] = peer
        match = fields["match"][mine]
        place = self._start[peer_entry] - self.first[peer]
        fields["match"][mine] = np.where(match == NONE, NONE, match + place)
        if "until" in fields:
            fields["until"] += (self._start - self.first[recording.rank])[self.entry].astype(np.int32)

    def _write_plain(self, fields: Fields) -> None:
        """Write computation, disk accesses, single messages and waits."""
        recording, machine, totals = self.recording, self._builder.machine, self._builder.totals
        amount = recording.column(2, (kinds.COMPUTE, kinds.ACCESS))
        for unit in ("flops", "instructions", "seconds"):
            entry, at = self._named(unit)
            work = amount[recording.op[entry]]
            fields["kind"][at] = COMPUTE
            if len(entry):
                demand = Compute(None, recording.place_of(int(entry[0])), unit, None)
                fields["duration_s"][at] = duration_of_computation_s(
                    demand, machine.processor.of_ranks(recording.rank[entry]), work
                )
                limits = totals.processor_limits_s
                limits["computation"] = limits.get("computation", 0.0) + float(fields["duration_s"][at].sum())
                totals.work[unit] = totals.work.get(unit, 0.0) + float(work.sum())
        times = recording.column(3, (kinds.ACCESS,))
        for name, kind in (("read", READ), ("write", WRITE)):
            entry, at = self._named(name)
            size, often = amount[recording.op[entry]], times[recording.op[entry]]
            fields["kind"][at], fields["size_bytes"][at] = kind, size * often
            if len(entry):
                demand = Compute(None, recording.place_of(int(entry[0])), "", None)
                fields["duration_s"][at] = duration_of_access_s(
                    demand, name, machine, size, often, recording.rank[entry]
                )
        peer = recording.column(3, (kinds.SEND, kinds.RECEIVE))
        tag = recording.column(4, (kinds.SEND, kinds.RECEIVE))
        for name, kind in (("send", SEND), ("receive", RECEIVE)):
            entry, at = self._named(name)
            if kind == RECEIVE:  # the last one, if its rank is held before
                at = at + self._length[entry] - 1
            op = recording.op[entry]
            fields["kind"][at], fields["size_bytes"][at] = kind, self._sizes[entry]
            fields["peer"][at] = np.where(np.isnan(peer[op]), ANY, peer[op])
            fields["match"][at] = BY_TAG - tag[op]
        waits = np.flatnonzero(recording.op == NONE)
        fields["kind"][self._start[waits]] = WAIT

    def _named(self, name: str) -> tuple[Int64s, Int64s]:
        """Entries of plain operations of this name, and their operations in the Plan."""
        recording = self.recording
        which = np.array([one[1] == name and one[0] != kinds.COLLECTIVE for one in recording.operations], dtype=bool)
        entry = recording.entries_of(which)
        return entry, self._start[entry]

    def _price(self, fields: Fields, collective: NDArray[np.bool_]) -> None:
        """Set durations and routes of all messages, in place."""
        prices, machine = self._builder.prices, self._builder.machine
        rank = self.recording.rank[self.entry].astype(np.int32)
        by_machine = list(self._by_machine(collective))
        for kind in (SEND, RECEIVE):
            for sent, here in by_machine:
                mine = np.flatnonzero((fields["kind"] == kind) & here)
                if not len(mine):
                    continue
                whole = Column(kind, rank[mine], fields["peer"][mine], fields["size_bytes"][mine], tag=0)
                is_collective = bool(collective[mine[0]])
                if prices.loads_memory:
                    touched = self._touched_bytes[self.entry[mine]] if is_collective else whole.size_bytes
                    whole = replace(whole, in_memory=touched > machine.message_cache_bytes)
                (column,) = prices.priced([whole], sent, is_collective)
                fields["duration_s"][mine] = column.duration_s
                if kind == RECEIVE and prices.holds_receivers:
                    fields["duration_s"][mine - 1] = column.held_s
                for name in prices.names:
                    if name != "until":
                        fields[name][mine] = column.extra.get(name, EXTRAS[name][1])

    def _by_machine(self, collective: NDArray[np.bool_]) -> Iterator[tuple[Machine, NDArray[np.bool_]]]:
        """Yield the operations of the Plan that are in no ``collective``.

        Then yield operations of collectives, by the machine that sends messages as their algorithms do.
        """
        machine, entry = self._builder.machine, self._calls.entry
        yield machine, ~collective
        keys, number = np.unique(np.stack([self.recording.op[entry], self._calls.size]), axis=1, return_inverse=True)
        named = {operation for operation, _ in (*ALGORITHM_SENDS, *machine.network.tunings)}
        of_key = [
            as_demand(self.recording, op, ranks, machine.collectives).sent_on(machine)
            if self.recording.operations[op][1] in named
            else machine
            for op, ranks in keys.T.tolist()
        ]
        for one in {id(sent): sent for sent in of_key}.values():
            here = np.zeros(len(self.recording.op), bool)
            here[entry[np.array([sent is one for sent in of_key])[number.ravel()]]] = True
            yield one, here[self.entry]

    @property
    def _touched_bytes(self) -> NDArray[np.float64]:
        """Bytes that a rank touches in a collective operation, by entry; 0 for other entries."""
        recording, calls = self.recording, self._calls
        touched, op = np.zeros(len(recording.op)), recording.op[calls.entry]
        keys, number = np.unique(np.stack([op, calls.size], axis=1), axis=0, return_inverse=True)
        every = []
        for one, ranks in keys.tolist():
            _, name, size_bytes, *_ = recording.operations[one]
            every.append(collective_footprint_bytes(name, float(ranks), float(size_bytes)))
        touched[calls.entry] = np.array(every, dtype=np.float64)[number.ravel()]
        return touched

    def _chain(self, fields: Fields) -> None:
        """Set the dependencies of nonblocking operations (``side_chains`` defines their form).

        Such an operation follows what its rank has done before, and what comes after it does not wait for it, until the
        wait does.
        """
        recording, order = self.recording, np.arange(len(self.entry))
        begins = np.zeros(len(order), bool)
        begins[self._start[self._length > 0]] = True
        started = recording.started[self.entry]
        last = np.maximum.accumulate(np.where(started, NONE, order))
        before = np.append(NONE, last[:-1])  # the last operation before each that is not started
        first = self.first[recording.rank[self.entry]]
        back = order - np.maximum(before, first - 1)
        back[started & ~begins] = 1
        awaits = np.zeros(len(order), np.int64)
        waits = np.flatnonzero(recording.waits_for != NONE)
        begun = recording.waits_for[waits]
        ends = self._start[begun] + self._length[begun] - 1
        awaits[self._start[waits]] = np.where(self._length[begun] > 0, self._start[waits] - ends, 0)
        fields["back"], fields["awaits"] = back.astype(np.int32), awaits.astype(np.int32)
        part = [UNITS.index(kinds.PARTS.get(one[0], UNITS[0])) for one in recording.operations]
        unit = np.array([*part, 0], np.int8)[recording.op]  # a wait is the processor's
        fields["unit"] = np.where(started, unit[self.entry], 0).astype(np.int8)

    def lines(self) -> SourceLines:
        """Line of every operation in the file."""
        files = self.recording.files or (self.recording.file,)
        return SourceLines(files, self.recording.line[self.entry].astype(np.int32))


def _add(totals: dict[str, float], name: str, each: FloatOrArray, ranks: NDArray[Any]) -> None:
    """Add what all ranks have, or each of them by itself, of these ranks."""
    every = np.sum(np.asarray(each)[ranks]) if np.ndim(each) else each * len(ranks)
    totals[name] = totals.get(name, 0.0) + float(every)


def _on_accelerators(recording: Recording) -> NDArray[np.bool_]:
    """(D,) which operations are kernels or copies."""
    return recording.of_kind(kinds.KERNEL) | recording.of_kind(kinds.COPY)


def _stored(segments: list[Segment], names: tuple[str, ...]) -> _Templates:
    """Return the templates one behind the other, after three operations.

    One that does nothing, one with a wait after it, and one that follows a hold of its rank.
    """
    nothing, wait, held = (Column(kind, None, NONE, 0.0, tag=None) for kind in (COMPUTE, WAIT, HELD))
    plain, *others = (woven(columns, 1, 0, names) for columns in ([nothing], [nothing, wait], [held, nothing]))
    every = [plain, *others, *segments]
    fields = {name: np.concatenate([one.fields[name] for one in every]) for name in plain.fields}
    length = np.concatenate([one.counts for one in every])
    pieces = np.cumsum([len(one.counts) for one in every])
    return _Templates(fields, np.cumsum(length) - length, length, pieces[len(others) : -1])


for _each in (PythonProgram, RecordedRun):
    LOWERINGS.add(_each, RecordedProgramLowering())
