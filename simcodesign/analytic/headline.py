"""The headline of a forecast: the longest path of its messages if its ranks differ, and the sum.

The sum of closed forms adds up the steps of the busiest rank, each as if all ranks began it together. If ranks differ,
it leaves out waiting between ranks. The longest path has these waits, and equals the simulation without effects in
Hockney's model. A program of too many operations for a path takes the bubble that its workload states in their place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.failures import checkpointed_s
from simcodesign.analytic.given_formulas.bubbles import bubble_of, bubbles_s_of
from simcodesign.analytic.longest_path.event_graph import MOST_OPERATIONS
from simcodesign.analytic.longest_path.program_path import EVALUATION, ProgramPath, path_of_program
from simcodesign.analytic.one_point import point_at
from simcodesign.core.forecast_parts import Bubble, LongestPath
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.result import Result
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.wait import Poll
from simcodesign.describe.evaluation import Evaluation
from simcodesign.describe.programs.program import placed_demands

#: Operations of ranks that are followed at all points of an array together: a second of CPU time.
MOST_OF_ARRAYS = 1_000_000
#: The basis of a forecast that is the longest path, and of one that is the sum although ranks differ.
PATH = "longest path through the messages of its ranks"
SUM = "sum of closed forms although its ranks differ"
#: The phase of a bubble that is added to the sum.
BUBBLE = "bubble"
#: Seconds by phase and component.
Phases = Mapping[str, Mapping[str, FloatOrArray]]


def with_path(
    result: Result, evaluation: Evaluation, differ: NDArray[np.bool_], is_wanted: bool, bubbles: bool = False
) -> Result:
    """Return the forecast with the longest path as its makespan where its ranks ``differ``.

    If there is no path or none ``is_wanted``, return it as it is, or with ``bubbles``, and the reason in its basis.

    The sum remains the makespan if it has waits by queueing theory, which no path has, and if the path leaves something
    out and is a lower bound below the sum. One design point has its path up to ``MOST_OPERATIONS`` operations of ranks,
    which count every repetition, and otherwise the sum and the bubble of its workload, if one is valid; several have
    their paths up to ``MOST_OF_ARRAYS`` together, and if they would have no more with as many each as the first of
    them; otherwise the sum and the bubble as well.
    """
    point = evaluation.design_point
    if not is_wanted:
        reason = "no longest path was asked for"
        return _with_bubbles(result, evaluation, reason) if bubbles else _as_sum(result, reason)
    if result.formulas:
        return _as_sum(result, "no longest path has the waits of queueing theory")
    if not point.shape:
        return _at_one(result, path_of_program(point), evaluation)
    return _at_several(result, evaluation, differ)


def _as_sum(result: Result, reason: str) -> Result:
    return replace(result, basis=(*result.basis, f"{SUM}: {reason}"))


def _at_one(result: Result, path: ProgramPath, evaluation: Evaluation) -> Result:
    """Return the forecast of one design point."""
    point, time_s = evaluation.design_point, path.time_s
    whole_s = None if time_s is None else float(checkpointed_s(time_s, point))
    bubble = bubble_of(point, _by_phase(result))
    result = replace(result, longest_path=LongestPath(whole_s, path.reason, path.left_out), bubble=bubble)
    if bubble is not None and path.operations > MOST_OPERATIONS:
        return _with_bubble(result, bubble, path.reason, evaluation)
    if reason := _why_sum(path, float(result.makespan_s)):
        return _as_sum(result, reason)
    assert time_s is not None
    phases = _phases(result.phases, path)
    return _as_path(result, time_s, phases, checkpointed_s(result.makespan_s, point), (_path_words(path),))


def _with_bubble(result: Result, bubble: Bubble, reason: str, evaluation: Evaluation) -> Result:
    """Return the sum of closed forms and the bubble of one design point."""
    basis = f"sum of closed forms and the {bubble.title}: no longest path is given for {reason}"
    return _prolonged(result, bubble.time_s, basis, evaluation)


def _with_bubbles(result: Result, evaluation: Evaluation, reason: str) -> Result:
    """Return the sum of closed forms, and at every design point the bubble that is valid there."""
    bubbles_s = bubbles_s_of(evaluation.design_point, _by_phase(result))
    if not np.any(bubbles_s):
        return _as_sum(result, reason)
    return _prolonged(result, bubbles_s, f"sum of closed forms and the bubble of a pipeline: {reason}", evaluation)


def _prolonged(result: Result, bubble_s: FloatOrArray, basis: str, evaluation: Evaluation) -> Result:
    """Return the sum of closed forms and the bubble, which is a phase of its own."""
    phases = {**result.phases, BUBBLE: dict.fromkeys(COMPONENTS, 0.0) | {"communication": bubble_s}}
    sum_s = result.makespan_s
    whole_s = checkpointed_s(sum_s, evaluation.design_point)
    return _as_path(result, sum_s + bubble_s, phases, whole_s, (*result.basis, basis))


def _by_phase(result: Result) -> dict[str, FloatOrArray]:
    return {name: sum(times.values(), 0.0) for name, times in result.phases.items()}


def _path_words(path: ProgramPath) -> str:
    return f"{PATH}, a lower bound, which leaves out {', '.join(path.left_out)}" if path.left_out else PATH


def _why_sum(path: ProgramPath, sum_s: float) -> str:
    """Why the sum is the better forecast; nothing if the path is."""
    if path.time_s is None:
        return f"no longest path is given for {path.reason}"
    if path.left_out and path.time_s < sum_s:
        return f"the longest path is a lower bound, which leaves out {', '.join(path.left_out)}"
    return ""


def _as_path(
    result: Result, time_s: FloatOrArray, phases: Phases, sum_s: FloatOrArray, basis: tuple[str, ...]
) -> Result:
    """Return the forecast with other times, and the energy of what the machine draws meanwhile in any case."""
    energy_j = result.energy_j
    if energy_j is not None and result.static_power_w is not None:
        energy_j = energy_j + result.static_power_w * (time_s - result.makespan_s)
    return replace(result, makespan_s=time_s, phases=phases, energy_j=energy_j, basis=basis, sum_s=sum_s)


def _phases(before: Phases, path: ProgramPath) -> dict[str, dict[str, float]]:
    """Return the seconds of the path in all phases of the sum, and in others if it has any."""
    names = dict.fromkeys([*before, *(phase for phase, _ in path.parts_s)])
    return {name: {part: path.parts_s.get((name, part), 0.0) for part in COMPONENTS} for name in names}


def _at_several(result: Result, evaluation: Evaluation, differ: NDArray[np.bool_]) -> Result:
    """Return the forecast of an array of design points, each with its own path."""
    point, indices = evaluation.design_point, list(zip(*np.nonzero(differ), strict=True))
    over = f"the longest paths of {len(indices):,} design points have more than {MOST_OF_ARRAYS:,} operations of ranks"
    left = MOST_OF_ARRAYS
    steps = sum(1 for placed in placed_demands(point.workload.program) if not isinstance(placed.demand, Poll))
    if len(indices) * EVALUATION * steps > left:
        return _with_bubbles(result, evaluation, over)
    time_s, basis = np.array(result.makespan_s), dict[str, None]()
    phases = {name: {part: np.array(it) for part, it in times.items()} for name, times in result.phases.items()}
    for index in indices:
        path = path_of_program(point_at(point, index), left)
        first = index == indices[0]
        left -= int(path.operations)
        if left < (path.operations * (len(indices) - 1) if first else 0):
            return _with_bubbles(result, evaluation, over)
        if reason := _why_sum(path, float(time_s[index])):
            basis[f"{SUM}, at some points: {reason}"] = None
            continue
        time_s[index], basis[_path_words(path)] = path.time_s, None
        for name, times in _phases(phases, path).items():
            for part, seconds in times.items():
                phases.setdefault(name, {one: np.zeros(point.shape) for one in COMPONENTS})[part][index] = seconds
    if not any(text.startswith(PATH) for text in basis):
        return replace(result, basis=(*result.basis, *basis))
    return _as_path(result, time_s, phases, checkpointed_s(result.makespan_s, point), tuple(basis))
