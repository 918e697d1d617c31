"""Checkpoints and failures in closed form: what they add to a forecast.

Young, "A First Order Approximation to the Optimum Checkpoint Interval", CACM 17(9), 1974; Daly, "A Higher Order
Estimate of the Optimum Checkpoint Interval for Restart Dumps", FGCS 22, 2006. With T seconds of work, a
checkpoint of d seconds after every t of them but the last, restarts of R seconds, and M seconds between failures:

    Young   T (1 + (t / 2 + R) / M) and the checkpoints; the best t is sqrt(2 d M)
    Daly    M e^(R / M) (e^(s / M) - 1) for every s = t + d seconds up to a checkpoint, and for the last without one;
            the best t is sqrt(2 d M) (1 + sqrt(d / 2 M) / 3 + d / 18 M) - d, or M for d >= 2 M

Daly's makespan is exact for exponential times between failures, which may also come during a restart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simcodesign.core.forecast_parts import Bounds, FailureForecast
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.result import CHECKPOINTS, FAILURES, Result
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.randomness.node_failures import CheckpointTimes

#: Relative: by so little more than a whole number of intervals, work needs no further checkpoint.
ROUNDING = 1e-12


def with_failures(result: Result, design_point: DesignPoint) -> Result:
    """Return the forecast with its checkpoints, and with what failures would add to it."""
    machine, times = design_point.machine, design_point.checkpoint_times
    work_s, phases, count = result.makespan_s, dict(result.phases), _checkpoints(result.makespan_s, times)
    if design_point.workload.checkpoints is not None:
        written_s = count * times.write_s
        phases[CHECKPOINTS] = dict.fromkeys(COMPONENTS, 0.0) | {"disk": written_s}
        result = replace(
            result,
            makespan_s=work_s + written_s,
            checkpoints=count,
            energy_j=None if result.energy_j is None else _at_mean_power(result.energy_j, work_s, written_s),
        )
    failures = None
    if machine.failures is not None:
        phases[FAILURES] = dict.fromkeys(COMPONENTS, 0.0)
        mtbf_s = machine.failures.mtbf_s / machine.placement.nodes_used(design_point.values["P"])
        failures = _forecast(work_s, count, times, mtbf_s)
    return replace(result, phases=phases, failures=failures)


def _at_mean_power(energy_j: FloatOrArray, work_s: FloatOrArray, written_s: FloatOrArray) -> FloatOrArray:
    """Return the energy of longer work at the same mean power."""
    some = np.where(np.asarray(work_s) > 0, work_s, 1.0)
    return _plain(energy_j * (1.0 + written_s / some))


def with_checkpoints(bounds: Bounds, design_point: DesignPoint) -> Bounds:
    """Return the bounds of a program with its checkpoints, of which a longer run writes more."""
    lower_s = {name: float(checkpointed_s(bound_s, design_point)) for name, bound_s in bounds.lower_s.items()}
    return replace(bounds, lower_s=lower_s, upper_s=float(checkpointed_s(bounds.upper_s, design_point)))


def checkpointed_s(work_s: FloatOrArray, design_point: DesignPoint) -> FloatOrArray:
    """Return the seconds of ``work_s`` and its checkpoints, at every design point."""
    times = design_point.checkpoint_times
    return work_s + _checkpoints(work_s, times) * times.write_s


def _checkpoints(work_s: FloatOrArray, times: CheckpointTimes) -> FloatOrArray:
    """Return the number of checkpoints written in ``work_s``."""
    return _plain(np.maximum(np.ceil(work_s / times.interval_s * (1 - ROUNDING)) - 1.0, 0.0))


def _forecast(
    work_s: FloatOrArray, count: FloatOrArray, times: CheckpointTimes, mtbf_s: FloatOrArray
) -> FailureForecast:
    part_s = np.minimum(times.interval_s, work_s)
    last_s = work_s - count * part_s
    young = work_s * (1.0 + (part_s / 2 + times.restart_s) / mtbf_s) + count * times.write_s
    tries = count * np.expm1((part_s + times.write_s) / mtbf_s) + np.expm1(last_s / mtbf_s)
    daly = mtbf_s * np.exp(times.restart_s / mtbf_s) * tries
    intervals: list[FloatOrArray | None] = [None, None]
    if np.any(np.asarray(times.write_s) > 0):
        first = np.sqrt(2 * times.write_s * mtbf_s)
        ratio = times.write_s / (2 * mtbf_s)
        higher = first * (1 + np.sqrt(ratio) / 3 + ratio / 9) - times.write_s
        intervals = [_plain(first), _plain(np.where(ratio < 1, higher, mtbf_s))]
    return FailureForecast(_plain(mtbf_s), _plain(young), _plain(daly), *intervals)


def _plain(value: FloatOrArray) -> FloatOrArray:
    return value if np.ndim(value) else float(value)
