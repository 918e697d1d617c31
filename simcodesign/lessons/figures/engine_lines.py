"""Which lines of the reference engine run when: recorded while it simulates, by the trace function of Python."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

import simcodesign.engine.reference as reference_engine

FOLDER = Path(reference_engine.__file__).resolve().parent
#: Clock and calendar, which run between all others: where a step begins, but not what is shown.
CALENDAR = "environment.py"
#: Functions with which something happens to an operation, or to the message of a send.
BEGIN, END, ARRIVE, REQUEST, GRANT = MARKS = ("begin", "end", "arrive", "request", "grant")
#: Names in the engine of the operation, or the send of the message, that a function is about.
_OPERATION = ("op", "send")

Returned = TypeVar("Returned")


@dataclass
class Passage:
    """Lines that run one after another for one operation.

    ``step``: of the calendar; ``mark``: the function that marks what happens, empty if there is none; ``station``: at
    which, or -1; ``lines``: code and line, in order.
    """

    step: int
    time_s: float
    op: int
    mark: str
    station: int
    lines: list[tuple[CodeType, int]] = field(default_factory=list)


@dataclass
class LineRecorder:
    """Records the passages of one run of the reference engine."""

    passages: list[Passage] = field(default_factory=list)
    _step: int = -1
    _env: Any = None
    _open: Passage | None = None
    _unclaimed: list[tuple[CodeType, int]] = field(default_factory=list)

    def record(self, run: Callable[[], Returned]) -> Returned:
        """Call ``run``, and record; what was traced before (coverage, a debugger) continues afterwards."""
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            return run()
        finally:
            sys.settrace(before)

    def _called(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        """Return the trace function of every call, also when a process continues."""
        name = _file(frame.f_code)
        if name is None:
            return None
        if name == CALENDAR:
            if frame.f_code.co_name == "step":
                self._step, self._env = self._step + 1, frame.f_locals["self"]
                self._open, self._unclaimed = None, []
            return None
        if self._env is None:  # the engine is being built
            return None
        mark = frame.f_code.co_name if frame.f_code.co_name in MARKS else ""
        if mark and mark != GRANT and frame.f_locals.get("op", frame.f_locals.get("send")) is not None:
            self._begin(_operation(frame), mark, _station(frame))
        return self._line

    def _line(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        """Return the trace function of the lines of the engine."""
        if event != "line":
            return self._line
        op, line = _operation(frame), (frame.f_code, frame.f_lineno)
        if op is None:
            self._unclaimed.append(line)
            return self._line
        grants = frame.f_code.co_name == GRANT
        if self._open is None or self._open.op != op:
            self._begin(op, GRANT if grants else "", _station(frame) if grants else -1)
        assert self._open is not None
        self._open.lines.append(line)
        return self._line

    def _begin(self, op: int | None, mark: str, station: int) -> None:
        """Begin a passage; one without a mark of the same operation, just before, is its beginning."""
        assert op is not None
        one, unclaimed = self._open, self._unclaimed
        self._unclaimed = []
        if one is not None and one.op == op and not one.mark:
            one.mark, one.station = mark, station
            one.lines += unclaimed
            return
        self._open = Passage(self._step, float(self._env.now), op, mark, station, unclaimed)
        self.passages.append(self._open)


def _operation(frame: FrameType) -> int | None:
    """Return the operation that a function of the engine is about, or the function that called it."""
    one: FrameType | None = frame
    while one is not None and one.f_code.co_name != "step":
        for name in _OPERATION:
            if isinstance(number := one.f_locals.get(name), int):
                return number
        one = one.f_back
    return None


def _station(frame: FrameType) -> int:
    return int(getattr(frame.f_locals.get("self"), "number", -1))


@cache
def _file(code: CodeType) -> str | None:
    """Return the name of a file of the reference engine, or None for other code."""
    path = Path(code.co_filename)
    return path.name if path.parent == FOLDER else None


@dataclass
class Sources:
    """The functions of the engine of which lines ran, each with its text, as they are in the files."""

    functions: list[dict[str, Any]] = field(default_factory=list)
    _numbers: dict[CodeType, int] = field(default_factory=dict)

    def number(self, code: CodeType) -> int:
        """Return the place of a function among ``functions``."""
        if code not in self._numbers:
            self._numbers[code] = len(self.functions)
            lines, first = inspect.getsourcelines(code)
            text = inspect.cleandoc("\n" + "".join(lines)).splitlines()
            name = getattr(code, "co_qualname", code.co_name)
            self.functions.append({"name": name, "file": Path(code.co_filename).name, "first": first, "text": text})
        return self._numbers[code]

    def of(self, lines: list[tuple[CodeType, int]]) -> list[list[int]]:
        """For each function, in the order in which it first ran: its number, then its lines that ran, from 0 on."""
        found: dict[int, list[int]] = {}
        for code, line in lines:
            number = self.number(code)
            place = line - int(self.functions[number]["first"])
            ran = found.setdefault(number, [])
            if place not in ran:
                ran.append(place)
        return [[number, *ran] for number, ran in found.items()]


def together(passages: list[Passage]) -> Iterator[Passage]:
    """Passages that only continue with what has happened to the same operation in the same instant, joined to that."""
    last: dict[int, Passage] = {}
    kept: list[Passage] = []
    for one in passages:
        before = last.get(one.op)
        if not one.mark and before is not None and before.time_s == one.time_s and before.mark:
            before.lines += one.lines
            continue
        last[one.op] = one
        kept.append(one)
    yield from kept
