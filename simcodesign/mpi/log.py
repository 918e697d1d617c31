"""The operations of every rank, and a workload of them: a program in Python that yields them again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.describe.demands.collective import ROOTED, SIGNALS
from simcodesign.describe.python_programs import rank as words
from simcodesign.describe.python_programs.recorded_operations import Operation
from simcodesign.describe.python_programs.workload import program
from simcodesign.describe.workload import Workload

COMPUTE, SEND, RECEIVE, START, WAIT, COLLECTIVE, CLOCK, FLOPS, PHASE = range(9)
Entry = tuple[Any, ...]
_OPERATIONS = (COMPUTE, FLOPS, SEND, RECEIVE, START, COLLECTIVE)


class Log:
    """The operations of P ranks in their order. ``members[g]``: the ranks of communicator g, in its order.

    An entry is ``(COMPUTE, seconds)``, ``(FLOPS, number)``, ``(SEND, to, bytes, tag)``, ``(RECEIVE, [source, tag])``,
    ``(START, entry)``, ``(WAIT, place of the start)``, ``(COLLECTIVE, operation, communicator, [bytes], root)``,
    ``(CLOCK,)``, where a rank has asked for the time, or ``(PHASE, name, whether it is a line)``. Lists are filled
    later, when messages are matched and sizes known.
    """

    def __init__(self, size: int) -> None:
        self.entries: list[list[Entry]] = [[] for _ in range(size)]
        self.members: list[tuple[int, ...]] = [tuple(range(size))]
        self._tags: dict[tuple[int, int], int] = {}
        self.wildcards = 0
        self.has_phases = False  # which the program marks itself: lines are then no phases

    def tag(self, communicator: int, tag: int) -> int:
        """Return the number of a tag of a communicator, so that messages of other communicators never fit."""
        return self._tags.setdefault((communicator, tag), len(self._tags))

    @property
    def operations(self) -> int:
        """How many operations all ranks did, without waits and looks at the clock."""
        return sum(entry[0] in _OPERATIONS for own in self.entries for entry in own)

    @property
    def clock_reads(self) -> int:
        """How often all ranks asked for the time."""
        return sum(entry[0] == CLOCK for own in self.entries for entry in own)

    def comparable(self) -> list[list[Entry]]:
        """Return the operations without their computation times, which two runs never have in common."""
        return [[entry[:1] if entry[0] == COMPUTE else entry for entry in own] for own in self.entries]

    def workload(self, name: str, *, with_clock: bool = False) -> Workload:
        """Return the recorded program; ``with_clock``: each look at the clock begins another phase, c1, c2 ..."""

        def recorded(rank: int, size: int) -> Iterator[Operation]:
            if size != len(self.entries):
                raise InputError("ranks of a recording", value=size, allowed=f"P = {len(self.entries)}")
            yield from self._operations(rank, with_clock)

        return replace(program(recorded), name=name)

    def _operations(self, rank: int, with_clock: bool) -> Iterator[Any]:
        groups = [words.world, *(words.group(0 if rank in members else None) for members in self.members[1:])]
        handles: dict[int, Any] = {}
        reads = 0
        if with_clock:
            yield words.phase("c0")
        for place, entry in enumerate(self.entries[rank]):
            if entry[0] == CLOCK:
                reads += 1
                if with_clock:
                    yield words.phase(f"c{reads}")
            elif entry[0] == PHASE:
                if not with_clock and not (entry[2] and self.has_phases):
                    yield words.phase(entry[1])
            elif entry[0] == WAIT:
                yield words.wait(handles.pop(entry[1]))
            elif entry[0] == START:
                if entry[1][0] != RECEIVE or entry[1][1][0] is not None:  # else it never received anything
                    handles[place] = yield words.start(self._operation(entry[1], groups))
            else:
                yield self._operation(entry, groups)
        if handles:
            yield words.wait(*handles.values())

    def _operation(self, entry: Entry, groups: list[Any]) -> Operation:
        if entry[0] == COMPUTE:
            return words.compute(seconds=entry[1])
        if entry[0] == FLOPS:
            return words.compute(flops=entry[1])
        if entry[0] == SEND:
            return words.send(entry[1], bytes=entry[2], tag=entry[3])
        if entry[0] == RECEIVE:
            return words.receive(entry[1][0], tag=entry[1][1])
        _, operation, communicator, sizes, root = entry
        options: dict[str, int] = {}
        if operation in ROOTED:
            # Groups have their members in the order of all ranks.
            options["root"] = sorted(self.members[communicator]).index(self.members[communicator][root])
        size = () if operation in SIGNALS else (sizes[0],)
        made: Operation = getattr(groups[communicator], operation)(*size, **options)
        return made
