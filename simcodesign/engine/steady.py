"""Loops cut short: iterations are simulated until they take the same time, and the rest is extrapolated.

A loop has settled when TIMES iterations in a row add the same to the makespan and to the end of every rank, within a
tolerance. Every further iteration then adds the same again to whatever a Result counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.setting import Setting
from simcodesign.describe.workload import MAIN_PHASE, Block, Step, phase_name
from simcodesign.errors import InputError, Place
from simcodesign.expression import parse
from simcodesign.result import Result, SettledLoop, SteadyState
from simcodesign.units import parse_quantity

ALL, STEADY = "all", "steady"
#: Iterations in a row that must take the same time.
TIMES = 3
#: Iterations before the first ones that are looked at; twice as many each time that these have not settled.
FIRST = 2
#: Relative difference of times that are the same but for rounding.
ROUNDING = 1e-9

Simulate = Callable[[Setting], Result]


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


@dataclass(frozen=True)
class _Loop:
    """A block that is repeated so often that it is worth cutting: where it stands, and how often."""

    path: tuple[int, ...]
    phase: str
    repeat: int


def steady(setting: Setting, simulated: Simulate, effects: Sequence[str], tolerance: float) -> Result:
    """The Result of all iterations, of which only some are simulated; ``Result.steady`` says which."""
    loops = list(_loops(setting.workload.program, setting, (), MAIN_PHASE))
    if "noise" in effects and setting.machine.noise:
        return _whole(setting, simulated, loops, tolerance, "with noise no two iterations are the same")
    count = FIRST
    while True:
        cut = [loop for loop in loops if loop.repeat > count + TIMES]
        if not cut:
            reason = "the iterations did not settle" if loops else "no block is repeated often enough"
            return _whole(setting, simulated, loops, tolerance, reason)
        runs = _Runs(setting, simulated, cut, count)
        if all(runs.settled(loop, tolerance) for loop in cut):
            return runs.extrapolated(tolerance)
        count *= 2


def _whole(setting: Setting, simulated: Simulate, loops: Sequence[_Loop], tolerance: float, reason: str) -> Result:
    result = simulated(setting)
    same = tuple(SettledLoop(loop.phase, loop.repeat, loop.repeat, float("nan")) for loop in loops)
    return replace(result, steady=SteadyState(same, TIMES, tolerance, reason))


def _loops(program: Sequence[Step], setting: Setting, path: tuple[int, ...], phase: str) -> Iterator[_Loop]:
    """The outermost blocks that are repeated more than FIRST + TIMES times."""
    for place, step in enumerate(program):
        if isinstance(step, Block):
            times = float(np.asarray(step.repeat.evaluate(setting.values)))
            inside = phase_name(phase, step.phase)
            if times == int(times) and times > FIRST + TIMES:
                yield _Loop((*path, place), inside, int(times))
            elif times:
                yield from _loops(step.body, setting, (*path, place), inside)


class _Runs:
    """Runs in which all loops are cut to ``count`` iterations, but for one that has some more."""

    def __init__(self, setting: Setting, simulated: Simulate, loops: Sequence[_Loop], count: int) -> None:
        self._loops, self._count = loops, count
        self.base = simulated(_cut(setting, dict.fromkeys(loops, count)))
        self.longer = {
            loop: [
                simulated(_cut(setting, {**dict.fromkeys(loops, count), loop: count + more}))
                for more in range(1, TIMES + 1)
            ]
            for loop in loops
        }

    def settled(self, loop: _Loop, tolerance: float) -> bool:
        """Whether every further iteration of the loop adds the same time, for every rank."""
        ends = np.array([_times(run) for run in (self.base, *self.longer[loop])])
        steps = np.diff(ends, axis=0)
        allowed = np.maximum(tolerance * np.abs(steps[0]), ROUNDING * ends[-1])
        return bool((np.abs(steps - steps[0]) <= allowed).all())

    def extrapolated(self, tolerance: float) -> Result:
        """The base, and for every loop as often as is missing what one of its iterations adds."""
        result = self.base
        for loop in self._loops:
            share = (loop.repeat - self._count) / TIMES
            result = _plus(result, share, self.base, self.longer[loop][-1])
        loops = tuple(
            SettledLoop(
                loop.phase,
                loop.repeat,
                self._count + TIMES,
                (_makespan(self.longer[loop][-1]) - _makespan(self.base)) / TIMES,
            )
            for loop in self._loops
        )
        return replace(result, steady=SteadyState(loops, TIMES, tolerance))


def _cut(setting: Setting, counts: dict[_Loop, int]) -> Setting:
    program = setting.workload.program
    for loop, count in counts.items():
        program = _with_repeat(program, loop.path, count)
    return replace(setting, workload=replace(setting.workload, program=program))


def _with_repeat(program: tuple[Step, ...], path: tuple[int, ...], count: int) -> tuple[Step, ...]:
    block = program[path[0]]
    assert isinstance(block, Block)
    inner = {"repeat": parse(count)} if len(path) == 1 else {"body": _with_repeat(block.body, path[1:], count)}
    return (*program[: path[0]], replace(block, **inner), *program[path[0] + 1 :])


def _makespan(result: Result) -> float:
    return float(result.makespan_s)


def _times(result: Result) -> NDArray[np.float64]:
    """The times that must settle: the makespan and the end of every rank."""
    ends = np.zeros(0) if result.ranks is None else result.ranks.end_s
    return np.concatenate([[_makespan(result)], ends])


def _more(part: object, share: float, base: object, longer: object, names: Sequence[str]) -> dict[str, Any]:
    """These arrays of a part of the Result, and what the longer run has more, as often as ``share`` says."""
    return {name: getattr(part, name) + share * (getattr(longer, name) - getattr(base, name)) for name in names}


def _plus(result: Result, share: float, base: Result, longer: Result) -> Result:
    """``result`` and ``share`` times what ``longer`` has more than ``base``."""

    def grown(name: str) -> float:
        return float(getattr(result, name) + share * (getattr(longer, name) - getattr(base, name)))

    phases = {
        name: {
            part: time + share * (longer.phases[name][part] - base.phases[name][part]) for part, time in times.items()
        }
        for name, times in result.phases.items()
    }
    ranks, stations = result.ranks, result.stations
    if ranks is not None and base.ranks is not None and longer.ranks is not None:
        ranks = replace(ranks, **_more(ranks, share, base.ranks, longer.ranks, ("busy_s", "waiting_s", "end_s")))
    if len(stations):
        more = _more(stations, share, base.stations, longer.stations, ("served", "busy_s", "wait_s"))
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
        events=round(grown("events")),
        ranks=ranks,
        stations=stations,
    )
