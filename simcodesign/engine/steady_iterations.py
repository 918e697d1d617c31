"""Loops cut short: iterations are simulated until they take the same time, and the rest is extrapolated.

A loop is simulated with n iterations, with one more and with some more. It has settled when the last iterations of the
run with n and all that comes after them are the same in the longer runs, operation by operation, but for the time of
the iterations that these have more, the same for every rank. Ends of ranks alone would not do: behind a barrier they
hide a rank that is still about to catch up with the others. All ranks must be in these iterations at one time, and
receive there only what was sent there, so that nothing from before is still on its way. The next iteration then begins
where this one began, only later: each adds the same again to whatever a Result counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import DeadlockError, InputError, Place
from simcodesign.core.expressions.expression import parse
from simcodesign.core.result import RECEIVE, Result, SettledLoop, SteadyState, Timeline
from simcodesign.core.units import parse_quantity
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.effects import ladder
from simcodesign.describe.program import MAIN_PHASE, Block, Step, phase_name, with_phase

ALL, STEADY = "all", "steady"
#: Least number of iterations in a row that must take the same time.
TIMES = 3
#: Iterations of the first run; twice as many each time that they have not settled.
FIRST = 4
#: Relative difference of times that are the same but for rounding: of an iteration, and of the makespan.
ROUNDING, LAST_BITS = 1e-9, 1e-12
#: Iterations above which the whole is not even extrapolated, since counts would not fit in 64 bits.
MOST = 10**9

Floats = NDArray[np.float64]


class Simulate(Protocol):
    """Simulates a setting."""

    def __call__(self, point: DesignPoint, timeline: bool = ...) -> Result: ...


def check_iterations(iterations: object) -> str:
    """``all`` or ``steady``, perhaps with a tolerance. InputError unless it is one of these."""
    if not isinstance(iterations, str) or (iterations != ALL and iterations.partition(":")[0] != STEADY):
        raise InputError("iterations", value=iterations, allowed="all, steady, or with a tolerance, e.g. steady:1%")
    return iterations


def tolerance_of(iterations: str) -> float:
    """The tolerance of ``steady:1%``. InputError unless it is a share."""
    _, _, text = iterations.partition(":")
    value = parse_quantity(text, "count", Place("iterations")) if text else ROUNDING
    if not 0 <= value < 1:
        raise InputError("a tolerance", Place("iterations"), value=text, allowed="a share, e.g. steady:1%")
    return value


def steady(point: DesignPoint, simulated: Simulate, effects: Sequence[str], tolerance: float) -> Result:
    """The Result of all iterations, of which only some are simulated; ``Result.steady`` says which."""
    program, loops = _prepared(point)
    never_same = [effect for effect in ladder() if effect.name in effects and not effect.repeats]
    for effect in never_same:
        if effect.acts_on(point.workload, point.machine):
            return _whole(point, simulated, loops, tolerance, f"with {effect.name} no two iterations are the same")
    count, reason = FIRST, "no block is repeated often enough"
    while cut := [loop for loop in loops if loop.repeat > _simulated(count, len(loops))]:
        try:
            runs = _Runs(point, program, simulated, cut, count)
            if all(runs.settled(loop, tolerance) for loop in cut):
                return runs.extrapolated(tolerance)
        except (InputError, DeadlockError):  # if it is not the cut, the whole program has the same error
            return _whole(point, simulated, loops, tolerance, "messages of a loop are received outside of it")
        count, reason = 2 * count, "the iterations did not settle"
    return _whole(point, simulated, loops, tolerance, reason)


def _simulated(count: int, loops: int) -> int:
    """Iterations of a loop in all runs together: it is worth to be cut only if it has more."""
    return (1 + 2 * loops) * count + 1 + TIMES


def _whole(point: DesignPoint, simulated: Simulate, loops: Sequence[_Loop], tolerance: float, reason: str) -> Result:
    result = simulated(point)
    same = tuple(SettledLoop(loop.phase, loop.repeat, loop.repeat, float("nan")) for loop in loops)
    return replace(result, steady=SteadyState(same, TIMES, tolerance, reason))


# ---------------------------------------------------------------------------------------------------------------------
# Programs


@dataclass(frozen=True)
class _Loop:
    """A block that is repeated so often that it is worth cutting: where it stands, and how often."""

    path: tuple[int, ...]
    phase: str
    repeat: int


def _prepared(point: DesignPoint) -> tuple[tuple[Step, ...], list[_Loop]]:
    """The program with every loop in one place only, and its loops."""
    program = tuple(_unrolled(point.workload.program, point))
    return program, list(_loops(program, point, (), MAIN_PHASE))


def _repeat(block: Block, point: DesignPoint) -> float:
    return float(np.asarray(block.repeat.evaluate(point.values)))


def _is_loop(block: Block, point: DesignPoint) -> bool:
    times = _repeat(block, point)
    return times == np.floor(times) and _simulated(FIRST, 1) < times <= MOST


def _unrolled(program: Sequence[Step], point: DesignPoint) -> Iterator[Step]:
    """The program with blocks written out that are repeated a few times and have a loop in them."""
    for step in program:
        if not isinstance(step, Block) or _is_loop(step, point):
            yield step
            continue
        body, times = tuple(_unrolled(step.body, point)), _repeat(step, point)
        if 1 < times == np.floor(times) and any(_loops(body, point, (), MAIN_PHASE)):
            yield from [replace(step, repeat=parse(1), body=body)] * int(times)
        else:
            yield replace(step, body=body)


def _loops(program: Sequence[Step], point: DesignPoint, path: tuple[int, ...], phase: str) -> Iterator[_Loop]:
    """The outermost loops."""
    for place, step in enumerate(program):
        if isinstance(step, Block):
            inside = phase_name(phase, step.phase)
            if _is_loop(step, point):
                yield _Loop((*path, place), inside, int(_repeat(step, point)))
            elif _repeat(step, point) == 1:
                yield from _loops(step.body, point, (*path, place), inside)


def _changed(program: tuple[Step, ...], path: tuple[int, ...], **changes: Any) -> tuple[Step, ...]:
    """The program with another block at this place."""
    block = program[path[0]]
    assert isinstance(block, Block)
    inner = changes if len(path) == 1 else {"body": _changed(block.body, path[1:], **changes)}
    return (*program[: path[0]], replace(block, **inner), *program[path[0] + 1 :])


def _block(program: tuple[Step, ...], path: tuple[int, ...]) -> Block:
    block = program[path[0]]
    assert isinstance(block, Block)
    return block if len(path) == 1 else _block(block.body, path[1:])


# ---------------------------------------------------------------------------------------------------------------------
# Runs


class _Runs:
    """Runs in which all loops are cut to ``count`` iterations, but for one that has some more.

    The operations of a loop are distinguished from others by their phase: in these runs it has a phase of its own.
    """

    def __init__(
        self,
        point: DesignPoint,
        program: tuple[Step, ...],
        simulated: Simulate,
        loops: Sequence[_Loop],
        count: int,
    ) -> None:
        self._setting, self._simulate, self._loops, self._count = point, simulated, loops, count
        self._marks = {loop: f"\0{number}\0" for number, loop in enumerate(loops)}
        self._program = program
        for loop, mark in self._marks.items():
            name = mark + (_block(program, loop.path).phase or "")
            self._program = _changed(self._program, loop.path, phase=name)
        pairs = zip(with_phase(self._program), with_phase(program), strict=True)
        self._real = {marked: phase for (marked, _), (phase, _) in pairs}
        self._base = self._run()
        self._longest: dict[_Loop, Result] = {}

    def _run(self, longer: _Loop | None = None, more: int = 0) -> _Run:
        program = self._program
        for loop in self._loops:
            program = _changed(program, loop.path, repeat=parse(self._count + (more if loop == longer else 0)))
        workload = replace(self._setting.workload, program=program)
        result = self._simulate(replace(self._setting, workload=workload), timeline=True)
        assert result.timeline is not None
        return _Run(self._renamed(result), result.timeline)

    def _renamed(self, result: Result) -> Result:
        """The Result with the phases of the workload."""
        names = self._setting.workload.phases()
        phases = {name: dict.fromkeys(next(iter(result.phases.values())), 0.0) for name in names}
        for marked, times in result.phases.items():
            for part, time in times.items():
                phases[self._real[marked]][part] += float(time)
        ranks = result.ranks
        assert ranks is not None
        place = [names.index(self._real[marked]) for marked in ranks.phases]
        sums = {}
        for part in ("busy_s", "waiting_s"):
            times = getattr(ranks, part)
            sums[part] = np.zeros((len(times), len(names), times.shape[2]))
            for number, real in enumerate(place):
                sums[part][:, real] += times[:, number]
        return replace(result, phases=phases, ranks=replace(ranks, phases=names, **sums), timeline=None)

    def settled(self, loop: _Loop, tolerance: float) -> bool:
        """Whether every further iteration of the loop is as the last ones."""
        base, one = self._base, self._run(loop, 1)
        tail = _Tail(base, one, self._marks[loop], max(TIMES, self._count // 2))
        if not tail.all_at_once() or not tail.later_in(one, tolerance):
            return False
        several = self._run(loop, TIMES)
        self._longest[loop] = several.result
        return tail.later_in(several, tolerance) and _linear(base.result, one.result, several.result, tolerance)

    def extrapolated(self, tolerance: float) -> Result:
        """The base, and for every loop as often as is missing what one of its iterations adds."""
        base = result = self._base.result
        for loop, longest in self._longest.items():
            result = _plus(result, loop.repeat - self._count, base, longest)
        loops = []
        for loop, longest in self._longest.items():
            iteration_s = (_makespan(longest) - _makespan(base)) / TIMES
            loops.append(SettledLoop(loop.phase, loop.repeat, self._count + TIMES, iteration_s))
        return replace(result, steady=SteadyState(tuple(loops), TIMES, tolerance))


@dataclass(frozen=True)
class _Run:
    result: Result
    line: Timeline

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """(P + 1,) the first operation of each rank."""
        assert self.result.ranks is not None
        counts = np.bincount(self.line.rank, minlength=len(self.result.ranks.end_s))
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


class _Tail:
    """The last ``keep`` iterations of a loop in a run, and all that comes after them in each rank."""

    def __init__(self, base: _Run, one_more: _Run, mark: str, keep: int) -> None:
        self._base, line = base, base.line
        self._per_iteration = np.diff(one_more.first) - np.diff(base.first)
        in_loop = np.array([mark in phase for phase in line.phases])[line.phase]
        self._last = np.zeros(len(self._per_iteration), np.int64)  # operation of the loop in each rank
        np.maximum.at(self._last, line.rank[in_loop], np.flatnonzero(in_loop))
        self._begin = self._last + 1 - keep * self._per_iteration
        ops = np.arange(len(line.rank))
        self._ops = np.flatnonzero(ops >= self._begin[line.rank])
        receives = self._ops[in_loop[self._ops] & (line.kind[self._ops] == RECEIVE)]
        self._receives, self._sends = receives, line.match[receives]

    def all_at_once(self) -> bool:
        """Whether there is a time at which every rank is in these iterations, and all that it receives is from them."""
        line = self._base.line
        if not self._per_iteration.all():
            return False
        together = line.ready_s[self._begin].max() <= line.finish_s[self._last].min()
        return bool(together and (self._sends >= self._begin[line.rank[self._sends]]).all())

    def later_in(self, longer: _Run, tolerance: float) -> bool:
        """Whether all this is the same in a longer run, but for a time that it is later."""
        line = self._base.line
        moved = np.arange(len(line.rank)) + (longer.first[1:] - self._base.first[1:])[line.rank]
        if (longer.line.match[moved[self._receives]] != moved[self._sends]).any():
            return False
        added = _makespan(longer.result) - _makespan(self._base.result)
        later = longer.line.finish_s[moved[self._ops]] - line.finish_s[self._ops]
        allowed = tolerance * added + LAST_BITS * _makespan(longer.result)
        return bool((np.abs(later - added) <= allowed).all())


def _linear(base: Result, one: Result, several: Result, tolerance: float) -> bool:
    """Whether one iteration adds a share of what several add to each component, and to the use of each station."""
    last_bits = LAST_BITS * _makespan(several)
    parts = [np.array([list(times.values()) for times in run.phases.values()]) for run in (base, one, several)]
    added = tolerance * (_makespan(several) - _makespan(base))
    if (np.abs(parts[2] - parts[0] - TIMES * (parts[1] - parts[0])) > added + last_bits).any():
        return False
    for name in ("busy_s", "wait_s"):
        start, step, end = (getattr(run.stations, name) for run in (base, one, several))
        off = np.abs(end - start - TIMES * (step - start))
        if (off > tolerance * (end - start) + last_bits).any():
            return False
    return True


# ---------------------------------------------------------------------------------------------------------------------
# Extrapolation


def _makespan(result: Result) -> float:
    return float(result.makespan_s)


def _more(part: object, missing: int, base: object, longer: object, names: Sequence[str]) -> dict[str, Any]:
    """These arrays of a part, and what the ``missing`` iterations add, TIMES of which the longer run has more."""
    return {
        name: getattr(part, name) + missing * (getattr(longer, name) - getattr(base, name)) / TIMES for name in names
    }


def _plus(result: Result, missing: int, base: Result, longer: Result) -> Result:
    """``result`` and what the ``missing`` iterations add, TIMES of which ``longer`` has more than ``base``."""

    def grown(name: str) -> float:
        return float(getattr(result, name) + missing * (getattr(longer, name) - getattr(base, name)) / TIMES)

    phases = {
        name: {
            part: time + missing * (longer.phases[name][part] - base.phases[name][part]) / TIMES
            for part, time in times.items()
        }
        for name, times in result.phases.items()
    }
    ranks, stations = result.ranks, result.stations
    if ranks is not None and base.ranks is not None and longer.ranks is not None:
        ranks = replace(ranks, **_more(ranks, missing, base.ranks, longer.ranks, ("busy_s", "waiting_s", "end_s")))
    if len(stations):
        more = _more(stations, missing, base.stations, longer.stations, ("served", "busy_s", "wait_s"))
        more["served"] = np.rint(more["served"]).astype(np.int64)
        longest = np.maximum(stations.longest_queue, longer.stations.longest_queue)
        stations = replace(stations, **more, longest_queue=longest, span_s=grown("makespan_s") or 1.0)
    return replace(
        result,
        makespan_s=grown("makespan_s"),
        phases=phases,
        messages=round(grown("messages")),
        message_bytes=grown("message_bytes"),
        disk_bytes=grown("disk_bytes"),
        flops=grown("flops"),
        instructions=grown("instructions"),
        served={
            level: accesses + missing * (longer.served[level] - base.served[level]) / TIMES
            for level, accesses in result.served.items()
        },
        events=round(grown("events")),
        used={
            name: amount + missing * (longer.used[name] - base.used[name]) / TIMES
            for name, amount in result.used.items()
        },
        energy_j=None if result.energy_j is None else grown("energy_j"),
        power_profile=None,
        demands=(),
        ranks=ranks,
        stations=stations,
    )
