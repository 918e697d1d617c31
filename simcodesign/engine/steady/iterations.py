"""``iterations``: all of them, or loops cut short where their iterations repeat, the rest extrapolated.

A loop is simulated with a few iterations, and with one period more. ``recurrence`` says when all that is missing then
repeats exactly: each period adds the same again to whatever a Result counts. If it does not yet, twice as many are
simulated; in the end all.

That is exact for durations that are whole numbers of a small quantum, as those of these runs are (``quantum``). A
whole run in floating point rounds more coarsely the longer it lasts. Where requests come at the same time but for
rounding, it may serve them in another order from then on. So the first iterations are simulated again, rounded as later
ones are, and if anything differs by more than rounding, nothing is extrapolated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import DeadlockError, InputError, Place
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import SettledLoop, SteadyState
from simcodesign.core.units import parse_quantity
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.effects import ladder
from simcodesign.describe.programs.program import Step
from simcodesign.engine.selection import work
from simcodesign.engine.steady.extrapolation import plus
from simcodesign.engine.steady.loops import Loop, indexed_loops, program_with_loops, with_counts
from simcodesign.engine.steady.quantum import is_multiple, quantum_below
from simcodesign.engine.steady.recurrence import TIMES, Run, Window

Floats = NDArray[np.float64]
ALL, STEADY = "all", "steady"
#: Iterations of the first run; twice as many each time that they do not repeat.
FIRST = 4


class Simulate(Protocol):
    """Simulates a design point; with a quantum, all durations are rounded to multiples of it."""

    def __call__(self, point: DesignPoint, quantum_s: float = ...) -> Run: ...


def check_iterations(iterations: object) -> str:
    """``all`` or ``steady``, perhaps with a tolerance. InputError unless it is one of these."""
    if not isinstance(iterations, str) or (iterations != ALL and iterations.partition(":")[0] != STEADY):
        raise InputError("iterations", value=iterations, allowed="all, steady, or with a tolerance, e.g. steady:1%")
    return iterations


def tolerance_of(iterations: str) -> float:
    """The tolerance of ``steady:1%``. InputError unless it is a share."""
    _, _, text = iterations.partition(":")
    value = parse_quantity(text, "count", Place("iterations")) if text else 0.0
    if not 0 <= value < 1:
        raise InputError("a tolerance", Place("iterations"), value=text, allowed="a share, e.g. steady:1%")
    return value


def steady(point: DesignPoint, simulated: Simulate, effects: Sequence[str], tolerance: float) -> Result:
    """The Result of all iterations, of which only some are simulated; ``Result.steady`` says which."""
    program, loops = program_with_loops(point, _simulated(FIRST, 1))
    never_same = [effect for effect in ladder() if effect.name in effects and not effect.repeats]
    for effect in never_same:
        if effect.acts_on(point.workload, point.machine):
            return _whole(point, simulated, loops, tolerance, f"with {effect.name} no two iterations are the same")
    if not point.machine.network.sharing.has_whole_messages and {"links", "interfaces"} & {*effects}:
        why = "where links are shared fairly or by packets, iterations are not compared"
        return _whole(point, simulated, loops, tolerance, why)
    own = point.machine.interfaces_of(point.ranks)
    if own is not None and not own.is_fixed and "interfaces" in effects:
        why = "where messages take the interfaces of a node in turn, iterations are not compared"
        return _whole(point, simulated, loops, tolerance, why)
    if point.has_loggops and not point.workload.is_open:
        why = "in LogGOPS, who comes first depends on what happened before"
        return _whole(point, simulated, loops, tolerance, why)
    count, reason = FIRST, "no block without an index is repeated often enough"
    if not any(indexed_loops(point.workload.program)):
        reason = "no block is repeated often enough"
    while cut := [loop for loop in loops if loop.repeat > _simulated(count, len(loops))]:
        try:
            runs = _Runs(point, program, simulated, tolerance, dict.fromkeys(cut, count))
            if runs.repeat():
                result = runs.extrapolated()
                if runs.are_the_same_until(float(result.makespan_s)):
                    return result
                return _whole(point, simulated, loops, tolerance, "what comes first at one time depends on rounding")
        except (InputError, DeadlockError):  # if it is not the cut, the whole program has the same error
            return _whole(point, simulated, loops, tolerance, "messages of a loop are received outside of it")
        count, reason = 2 * count, "the iterations did not settle"
    return _whole(point, simulated, loops, tolerance, reason)


def _simulated(count: int, loops: int) -> int:
    """Iterations of a loop in all runs together, with two for rounding: it is worth to be cut only if it has more."""
    return (3 + loops) * count


def _whole(point: DesignPoint, simulated: Simulate, loops: Sequence[Loop], tolerance: float, reason: str) -> Result:
    result = simulated(point).result
    same = tuple(SettledLoop(loop.phase, loop.repeat, loop.repeat, float("nan")) for loop in loops)
    return replace(
        result, steady=SteadyState(same, TIMES, tolerance, reason, tuple(indexed_loops(point.workload.program)))
    )


class _Runs:
    """Runs in which loops are cut."""

    def __init__(
        self,
        point: DesignPoint,
        program: tuple[Step, ...],
        simulated: Simulate,
        tolerance: float,
        counts: Mapping[Loop, int],
    ) -> None:
        self._point, self._program, self._simulated, self._tolerance = point, program, simulated, tolerance
        self._counts, self._longer = dict(counts), dict[Loop, Run]()
        first = self._run()
        self._unrounded = first.plan
        self._quantum_s = quantum_below(8 * first.makespan_s)  # so that longer runs are exact, too
        is_exact = is_multiple(first.plan, self._quantum_s)
        self._base = first if is_exact else self._run(quantum_s=self._quantum_s)
        differ_s = np.abs(self._base.log.finish_s - first.log.finish_s)
        self._begins_the_same = bool((differ_s <= self._quantum_s * work(first.plan)).all())
        self._periods = self._found_periods()

    def _run(self, more: Mapping[Loop, int] | None = None, quantum_s: float = 0.0) -> Run:
        """A run with the counts of the base, and with ``more`` iterations."""
        counts = {loop: count + (more or {}).get(loop, 0) for loop, count in self._counts.items()}
        workload = replace(self._point.workload, program=with_counts(self._program, counts))
        return self._simulated(replace(self._point, workload=workload), quantum_s)

    def _window(self, loop: Loop) -> Window:
        return Window(self._base, loop, self._counts[loop], self._tolerance)

    def _found_periods(self) -> dict[Loop, int]:
        """After how many iterations each loop seems to repeat; 0 if it does not, or if its operations have no order."""
        if self._base.plan.demands is None:
            return dict.fromkeys(self._counts, 0)
        return {loop: self._window(loop).period() for loop in self._counts}

    def repeat(self) -> bool:
        """Whether all loops repeat, and what each lacks is a number of periods."""
        if not all(self._periods.values()):
            return False
        if lacking := self._part_of_a_period():
            self._counts = {loop: count + lacking.get(loop, 0) for loop, count in self._counts.items()}
            self._base = self._run(quantum_s=self._quantum_s)
            self._periods = self._found_periods()
            if not all(self._periods.values()) or self._part_of_a_period():
                return False
        for loop, period in self._periods.items():
            self._longer[loop] = self._run({loop: period}, self._quantum_s)
            if not self._window(loop).repeats_in(self._longer[loop]):
                return False
        return True

    def _part_of_a_period(self) -> dict[Loop, int]:
        """Iterations that a loop lacks besides whole periods."""
        lacking = {loop: (loop.repeat - self._counts[loop]) % period for loop, period in self._periods.items()}
        return {loop: count for loop, count in lacking.items() if count}

    def extrapolated(self) -> Result:
        """The base, and for every loop as often as is missing what one of its periods adds."""
        base = result = self._base.result
        loops, whole = [], tuple(indexed_loops(self._point.workload.program))
        for loop, period in self._periods.items():
            count, longer = self._counts[loop], self._longer[loop]
            result = plus(result, (loop.repeat - count) // period, base, longer.result)
            iteration_s = (longer.makespan_s - self._base.makespan_s) / period
            loops.append(SettledLoop(loop.phase, loop.repeat, count + period, iteration_s))
        return replace(result, steady=SteadyState(tuple(loops), TIMES, self._tolerance, whole=whole))

    def are_the_same_until(self, makespan_s: float) -> bool:
        """Whether the loops and what comes after them are the same, and add the same, but for rounding, with times
        rounded as they are anywhere up to the makespan; and what comes before, with times rounded as they are there."""
        if not self._begins_the_same:
            return False
        added = self._added(self._base, list(self._longer.values()))
        quantum_s = quantum_below(self._base.makespan_s)
        while quantum_s <= quantum_below(makespan_s):
            if not is_multiple(self._unrounded, quantum_s):
                base, longer = self._run(quantum_s=quantum_s), self._run(self._periods, quantum_s)
                allowed_s = quantum_s * work(longer.plan)
                later_s = (base.log.finish_s - self._base.log.finish_s)[self._from_first_loop_on()]
                others = self._added(base, [longer])
                if np.ptp(later_s) > allowed_s or (np.abs(others - added) > allowed_s).any():
                    return False
            quantum_s *= 2
        return True

    def _added(self, base: Run, longer: Sequence[Run]) -> Floats:
        """What longer runs have more: of the makespan, of its phases, and of the times of ranks."""
        return np.asarray(sum(_times(run.result) - _times(base.result) for run in longer))

    def _from_first_loop_on(self) -> NDArray[np.bool_]:
        """(N,) the operations of the base from its first loop on."""
        loop, count = next(iter(self._counts.items()))
        begin = self._base.operations_of(loop, count).begin
        return np.asarray(np.arange(len(self._base.plan)) >= begin[self._base.plan.rank])


def _times(result: Result) -> Floats:
    """The makespan, its phases, and the times of ranks."""
    assert result.ranks is not None
    phases = [float(time) for times in result.phases.values() for time in times.values()]
    ranks = (result.ranks.busy_s.ravel(), result.ranks.waiting_s.ravel())
    return np.concatenate([[float(result.makespan_s)], phases, *ranks])
