"""Recording of a program in Python: every rank's generator is run once, before anything is priced.

A run sees neither time nor data, so that all ranks run one after another. The members of a group are known when all
ranks have called ``sc.rank.group``: where a program asks for them earlier (``row.rank``), all ranks begin again, and
then know them.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from types import GeneratorType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.memory_limit import check_memory
from simcodesign.describe.python_programs.checks import checked, is_whole, overlapping, shown
from simcodesign.describe.python_programs.recorded_operations import (
    COMPUTE,
    MEMORY,
    OVERLAP,
    PHASE,
    START,
    WAIT,
    Handle,
    Operation,
    current,
)
from simcodesign.describe.python_programs.source_lines import line_within, lines_of, with_line

Int64s = NDArray[np.int64]
Integers = NDArray[np.int32] | NDArray[np.int64]
#: A generator function, whose yields of starts are answered by a handle.
Program = Callable[..., Any]
#: Nothing: no entry that is waited for, no group.
NONE = -1
#: Memory of one operation of a rank: what is stored of it, and what the checks and lowering of all of them take.
#: Measured on 0.8 million operations: 101 bytes.
BYTES_PER_ENTRY = 100
#: Entries that are looked at together.
BLOCK = 1 << 16
#: Operations, waits and phases of all ranks together after which a program is taken not to end, and the environment
#: variable that sets another limit.
MOST_YIELDED, MOST_YIELDED_NAME = 20_000_000, "SIMCODESIGN_MOST_OPERATIONS"
#: Groups that may depend on each other's members: the ranks begin again for each.
MOST_PASSES = 100


@dataclass(frozen=True)
class Recording:
    """N entries of P ranks, rank by rank.

    Each an operation of D distinct ones, or one of no time (``op`` is NONE): a wait, or where a rank continues after a
    start.

    The columns ``op``, ``phase``, ``line`` and ``waits_for`` may have 32 or 64 bits: sums and products of what is in
    them need more. ``colours[g]``: (P,) the colour of each rank in group g, NONE for ranks without one; group 0 holds
    all ranks.
    """

    operations: tuple[Operation, ...]  # (D,)
    phases: tuple[str, ...]
    colours: tuple[Int64s, ...]
    first: Int64s  # (P + 1,) first entry of each rank
    op: Integers  # (N,)
    phase: Integers  # (N,) place in ``phases``
    line: Integers  # (N,) of the Python file
    started: NDArray[np.bool_]  # (N,) not waited for before the next entry
    waits_for: Integers  # (N,) of a wait: the entry of its start; otherwise NONE
    file: str
    files: tuple[str, ...] = ()  # (P,) if every rank has a file of its own

    @property
    def ranks(self) -> int:
        """P."""
        return len(self.first) - 1

    @property
    def yielded(self) -> int:
        """Operations of all ranks, without waits and phases."""
        return int(np.count_nonzero(self.op != NONE))

    @cached_property
    def rank(self) -> Int64s:
        """(N,) of every entry."""
        return np.repeat(np.arange(self.ranks), np.diff(self.first))

    def column(self, place: int, kinds: tuple[str, ...]) -> NDArray[np.float64]:
        """(D,) the value at a position of the operations of these kinds; NaN for None, and for other kinds."""
        values = (one[place] if one[0] in kinds else None for one in self.operations)
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)

    def of_kind(self, kind: str) -> NDArray[np.bool_]:
        """(D,) which operations have this kind."""
        return np.array([one[0] == kind for one in self.operations], dtype=bool)

    def entries_of(self, which: NDArray[np.bool_]) -> Int64s:
        """Return the entries whose operation is one of these (D,)."""
        if not len(self.operations):
            return np.zeros(0, np.int64)
        chosen = np.append(which, False)  # the last one: NONE
        blocks = range(0, len(self.op), BLOCK)  # as an index of any other width takes 8 bytes an entry for a while
        parts = [begin + np.flatnonzero(chosen[self.op[begin : begin + BLOCK]]) for begin in blocks]
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def rank_of(self, entry: Int64s | int) -> Int64s:
        """Return the ranks of some entries, without the column of all."""
        return np.searchsorted(self.first, entry, side="right") - 1

    def place_of(self, entry: int) -> Place:
        """Position of an entry in its file."""
        file = self.files[int(self.rank_of(entry))] if self.files else self.file
        return Place(file, int(self.line[entry]))

    def json_fields(self) -> dict[str, int]:
        """Return what the description of a workload in JSON contains."""
        return {"ranks": self.ranks, "operations": self.yielded, "distinct_operations": len(self.operations)}


def same_operations(one: Recording, other: Recording) -> bool:
    """Return whether all ranks do the same in two recordings, whatever the lines and phases."""
    if (one.ranks, one.operations) != (other.ranks, other.operations) or len(one.colours) != len(other.colours):
        return False
    names = ("first", "op", "started", "waits_for")
    pairs = [
        *((getattr(one, name), getattr(other, name)) for name in names),
        *zip(one.colours, other.colours, strict=True),
    ]
    return all(np.array_equal(*pair) for pair in pairs)


class _UnknownMembers(BaseException):
    """A program asks for the members of a group that not all ranks have called yet."""


class _Run:
    """The run of one rank's generator."""

    def __init__(self, rank: int, recorder: _Recorder) -> None:
        self.rank, self.size = rank, recorder.ranks
        self._recorder = recorder
        self.op, self.at = array("q"), array("q")
        self.phase_changes = [(0, 0)]
        self.started: list[int] = []
        self.waits: list[tuple[int, int]] = []
        self.handles: list[Handle] = []
        self.colours: list[int] = []
        self.colour_lines: list[int] = []
        self.yielded = 0
        self.stopped = False  # for want of the members of a group

    def join(self, colour: object, line: int) -> int | None:
        """Note a call of ``sc.rank.group``; the number of the group, None of a rank that is in none."""
        if colour is not None and (isinstance(colour, bool | str) or not is_whole(colour)):
            place = Place(self._recorder.file, line)
            raise InputError(
                f"rank {self.rank}: the colour of a group",
                place,
                value=colour,
                allowed="an int; None or below 0: in no group",
            )
        whole = NONE if colour is None else int(colour)  # type: ignore[call-overload]
        self.colours.append(NONE if whole < 0 else self._recorder.colour_number(len(self.colours), whole))
        self.colour_lines.append(line)
        return None if whole < 0 else len(self.colours)

    def place_in(self, number: int) -> tuple[int, int]:
        """Rank in a group, and how many ranks this has."""
        if number == 0:
            return self.rank, self.size
        known = self._recorder.members
        if number > len(known):
            raise _UnknownMembers
        return int(known[number - 1][0][self.rank]), int(known[number - 1][1][self.rank])

    def member(self, number: int, rank: int) -> int:
        """Rank among all ranks of a rank of a group whose members are known."""
        if number == 0:
            return rank
        return int(self._recorder.in_colour_order[number - 1][self._recorder.begins[number - 1][self.rank] + rank])

    def record(self, program: Program, values: dict[str, object]) -> None:
        """Run the generator to its end, or until it needs the members of a group that are not known."""
        current[0] = self
        try:
            self._record(program(self.rank, self.size, **values))
        except _UnknownMembers:
            self.stopped = True
        finally:
            current[0] = None

    def _record(self, generator: GeneratorType[Operation, Handle | None, None]) -> None:
        frame, send, numbers = generator.gi_frame, generator.send, self._recorder.numbers
        assert frame is not None
        add, add_place, answer = self.op.append, self.at.append, None
        most = self._recorder.most_left
        for self.yielded in count():
            if self.yielded > most:
                raise self._recorder.too_many(self.rank, line_within(generator, self._recorder.file))
            try:
                operation = send(answer)
            except StopIteration:
                return
            answer = None
            try:
                number = numbers.get(operation)
            except TypeError:  # not hashable
                number = None
            at = frame.f_lasti if generator.gi_yieldfrom is None else -line_within(generator, self._recorder.file)
            if number is None:
                number, answer = self._new(operation, line_within(generator, self._recorder.file), at)
                if number is None:
                    continue
            add(number)
            add_place(at)
            if answer is not None:  # from here on the rank runs concurrently with the started operation
                add(NONE)
                add_place(at)

    def _new(self, operation: object, line: int, at: int) -> tuple[int | None, Handle | None]:
        """Return the number of an operation that is yielded for the first time, or of a start, phase or wait."""
        place = Place(self._recorder.file, line)
        if not isinstance(operation, Operation):
            allowed = (
                "sc.rank.compute, memory, kernel, copy, read, write, send, receive, overlap, phase, start, wait, "
                "operation of a group"
            )
            what = f"rank {self.rank} yields {shown(operation)}, which is no operation"
            raise InputError(what, place, allowed=allowed)
        if operation[0] == PHASE:
            self.phase_changes.append((len(self.op), self._recorder.phase_number(operation[1], place)))
            return None, None
        if operation[0] == WAIT:
            for number, handle in enumerate(operation[1]):
                if number:  # each has an entry of its own
                    self.op.append(NONE)
                    self.at.append(at)
                self._wait(handle, place)
            return (NONE if operation[1] else None), None
        if operation[0] == OVERLAP:
            self._overlap(overlapping(operation[1], place), place, at)
            return None, None
        if operation[0] == START:
            inner = operation[1]
            if not isinstance(inner, Operation) or inner[0] in (COMPUTE, MEMORY, OVERLAP, PHASE, START, WAIT):
                allowed = "sc.rank.send, receive, read, write, kernel, copy, or an operation of a group"
                raise InputError("sc.rank.start cannot begin this", place, value=inner, allowed=allowed)
            self.started.append(len(self.op))
            handle = Handle(self.rank, len(self.op))
            self.handles.append(handle)
            return self._recorder.number_of(inner, place), handle
        return self._recorder.number_of(operation, place), None

    def _overlap(self, parts: list[Operation], place: Place, at: int) -> None:
        """All parts but the last are started, and waited for at the end."""
        *others, last = parts
        begun = range(len(self.op), len(self.op) + 2 * len(others), 2)
        self.started += begun
        for part in others:
            self.op.extend((self._recorder.number_of(part, place), NONE))
        self.op.append(self._recorder.number_of(last, place))
        for entry in begun:
            self.waits.append((len(self.op), entry))
            self.op.append(NONE)
        self.at.extend([at] * (len(self.op) - len(self.at)))

    def _wait(self, handle: object, place: Place) -> None:
        if not isinstance(handle, Handle) or handle not in self.handles:
            what = f"rank {self.rank} waits for what it has not started"
            raise InputError(
                f"{what}: {shown(handle)}", place, allowed="what `handle = yield sc.rank.start(...)` gives"
            )
        if handle.waited:
            raise InputError(f"rank {self.rank} waits for the same operation again", place, allowed="one wait for each")
        handle.waited = True
        self.handles.remove(handle)
        self.waits.append((len(self.op), handle.entry))


class _Recorder:
    """Shared state of the runs of all ranks."""

    def __init__(self, ranks: int, file: str) -> None:
        self.ranks, self.file = ranks, file
        self.most = self.most_left = _most_yielded()
        self.numbers: dict[Operation, int] = {}  # also of operations as they were written, before they were checked
        self.distinct: dict[Operation, int] = {}
        self.phases: dict[str, int] = {"main": 0}
        self.members: list[tuple[Int64s, Int64s]] = []  # (rank in it, its size) of every rank, of each group known
        self.in_colour_order: list[Int64s] = []  # all ranks of each of these groups, group by group
        self.begins: list[Int64s] = []  # the place there of the first one of the group of every rank
        self._colours: list[dict[int, int]] = []

    def number_of(self, operation: Operation, place: Place) -> int:
        """Return the number of an operation. InputError for one that cannot be."""
        try:
            known = self.numbers.get(operation)
        except TypeError:
            known = None
        if known is None:
            good = checked(operation, self.ranks, place)
            known = self.distinct.setdefault(good, len(self.distinct))
            self.numbers[operation] = known
        return known

    def too_many(self, rank: int, line: int) -> InputError:
        """Return the error for a program that does not end."""
        what = f"rank {rank} has not ended after {self.most:,} operations of all ranks"
        allowed = f"fewer, or a higher limit in the environment variable {MOST_YIELDED_NAME}"
        return InputError(what, Place(self.file, line), allowed=allowed)

    def phase_number(self, name: object, place: Place) -> int:
        if not isinstance(name, str) or not name:
            raise InputError("the name of a phase", place, value=name, allowed="a text")
        return self.phases.setdefault(name, len(self.phases))

    def colour_number(self, call: int, colour: int) -> int:
        """Colours are numbered from 0, group by group."""
        while len(self._colours) <= call:
            self._colours.append({})
        return self._colours[call].setdefault(colour, len(self._colours[call]))

    def learn(self, runs: list[_Run]) -> None:
        """Learn the members of the groups that all ranks have called."""
        for call in range(len(self.members), min(len(run.colours) for run in runs)):
            colour = np.array([run.colours[call] for run in runs], dtype=np.int64)
            self.members.append(places_in_groups(colour))
            order = np.argsort(colour, kind="stable")
            self.in_colour_order.append(order)
            self.begins.append(np.searchsorted(colour[order], colour, side="left"))

    def check_groups(self, runs: list[_Run]) -> None:
        """InputError unless all ranks have called ``sc.rank.group`` equally often."""
        most = max(runs, key=lambda run: len(run.colours))
        least = min(runs, key=lambda run: len(run.colours))
        if len(most.colours) != len(least.colours):
            line = most.colour_lines[len(least.colours)]
            what = f"rank {most.rank} calls sc.rank.group here, which rank {least.rank} does not"
            raise InputError(what, Place(self.file, line), allowed="all ranks call it, in the same order")


def _most_yielded() -> int:
    """Return the limit on what programs yield. InputError for one that is no whole number above 0."""
    text = os.environ.get(MOST_YIELDED_NAME, str(MOST_YIELDED))
    if not text.isdecimal() or int(text) == 0:
        raise InputError(MOST_YIELDED_NAME, value=text, allowed="a whole number of operations, 1 or above")
    return int(text)


def places_in_groups(colour: Int64s) -> tuple[Int64s, Int64s]:
    """Rank of each rank in the group of its colour, and the size of that: members in rank order."""
    order = np.argsort(colour, kind="stable")
    ordered = colour[order]
    begin = np.searchsorted(ordered, ordered, side="left")
    place, size = np.empty_like(colour), np.empty_like(colour)
    place[order] = np.arange(len(colour)) - begin
    size[order] = np.searchsorted(ordered, ordered, side="right") - begin
    return place, size


def record(program: Program, ranks: int, values: dict[str, object], file: str) -> Recording:
    """Return what ``ranks`` ranks do.

    InputError, with its line, for what cannot be, and for errors within the program.
    """
    recorder = _Recorder(ranks, file)
    for _ in range(MOST_PASSES):
        runs = list(_runs(recorder, program, values))
        known = len(recorder.members)
        recorder.learn(runs)
        if not any(run.stopped for run in runs):
            recorder.check_groups(runs)
            return _recording(recorder, runs, program)
        if len(recorder.members) == known:
            recorder.check_groups(runs)
            raise InputError("the program requests the members of a group that cannot be determined", Place(file))
    raise InputError("groups depend on the members of too many others", Place(file), allowed=f"{MOST_PASSES}")


def _runs(recorder: _Recorder, program: Program, values: dict[str, object]) -> Iterator[_Run]:
    """Yield the runs of all ranks."""
    entries = 0
    recorder.most_left = recorder.most
    for rank in range(recorder.ranks):
        run = _Run(rank, recorder)
        try:
            run.record(program, values)
        except InputError as error:
            raise with_line(error, error, recorder.file) from None
        except (Exception, SystemExit) as error:
            shown = InputError(f"rank {rank}: {type(error).__name__}: {error}")
            raise with_line(error, shown, recorder.file) from error
        if run.handles and not run.stopped:
            line = lines_of(program, np.array(run.at, np.int64))[run.handles[0].entry]
            what = f"rank {rank} starts an operation here for which it never waits"
            raise InputError(what, Place(recorder.file, int(line)), allowed="yield sc.rank.wait(handle)")
        entries += len(run.op)
        recorder.most_left -= run.yielded
        check_memory(f"the program's {entries:.3g} operations take", entries * BYTES_PER_ENTRY, Place(recorder.file))
        yield run


def _recording(recorder: _Recorder, runs: list[_Run], program: Program) -> Recording:
    first = np.concatenate([[0], np.cumsum([len(run.op) for run in runs])]).astype(np.int64)
    op = np.concatenate([np.array(run.op, np.int64) for run in runs])
    phase, started = np.zeros(len(op), np.int64), np.zeros(len(op), bool)
    waits_for = np.full(len(op), NONE)
    for run, begin in zip(runs, first.tolist(), strict=False):
        changes = np.array([*run.phase_changes, (len(run.op), 0)], np.int64)
        phase[begin : begin + len(run.op)] = np.repeat(changes[:-1, 1], np.diff(changes[:, 0]))
        started[begin + np.array(run.started, np.int64)] = True
        if run.waits:
            waiting = begin + np.array(run.waits, np.int64)
            waits_for[waiting[:, 0]] = waiting[:, 1]
    used = np.unique(phase)
    phases = np.array(list(recorder.phases), dtype=object)[used]
    colours = [np.zeros(recorder.ranks, np.int64)]
    colours += [np.array(column, np.int64) for column in zip(*(run.colours for run in runs), strict=True)]
    line = lines_of(program, np.concatenate([np.array(run.at, np.int64) for run in runs]))
    return Recording(
        tuple(recorder.distinct),
        tuple(phases) or ("main",),
        tuple(colours),
        first,
        op,
        np.searchsorted(used, phase),
        line,
        started,
        waits_for,
        recorder.file,
    )
