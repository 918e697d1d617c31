"""Maps of SPECseis96 for all data sets up to 2,048 processors, forecast and simulated.

A phase is a loop of up to 2,048 iterations with up to four million messages each. The simulation takes 1, 2, 4, ... of
them, until each of the last ones adds as much as those before did, within ``TOLERANCE``; all others are taken to add
the same. Where processors have a part of an iteration, or one and a half, that part is taken of what an iteration adds,
as the forecast takes it. What has not settled with ``MOST_MESSAGES`` messages takes the last iterations for all others,
and is marked: many processors meet at the disks less and less, iteration after iteration, and get faster by it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.forecast import forecast
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.describe.scenario import Scenario
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.simulate import simulate
from simcodesign.report.results.heat_maps import TimeMap

WORKLOAD, MACHINE = "seismic", "power-challenge"
DATASETS = ("test", "small", "medium", "large", "xlarge", "ultra")
RANKS = tuple(2**k for k in range(12))
SHOWN = COMPONENTS[:3]
#: The phases that are shown, and what says how often each is repeated.
REPEATS = {"stacking": "iterations", "depth-migration": "samples"}
#: By how much the time of an iteration may differ from the one before it; maps show powers of ten.
TOLERANCE = 0.01
#: In one simulation: eight iterations among 2,048 processors, some 6 GB.
MOST_MESSAGES = 34_000_000

Floats = NDArray[np.float64]


class Extrapolated(NamedTuple):
    """``seconds``: (3,) by component. ``change``: how much longer or shorter the last iterations took than those before
    them, as a part of these; within ``TOLERANCE`` if they have settled, 0 if all iterations were simulated."""

    seconds: Floats
    change: float

    @property
    def has_settled(self) -> bool:
        return abs(self.change) <= TOLERANCE


def maps(ranks: Sequence[int] = RANKS, datasets: Sequence[str] = DATASETS) -> list[TimeMap]:
    """Figure 4 of the paper: seconds over P and data set, forecast and simulated, of phases 2 and 4."""
    found = []
    for phase in REPEATS:
        forecasts = np.stack([_forecast_s(name, ranks, phase) for name in datasets])
        cells = [[simulated(name, count, phase) for count in ranks] for name in datasets]
        simulated_s = np.array([[cell.seconds for cell in row] for row in cells])
        unsettled = np.array([[not cell.has_settled for cell in row] for row in cells])
        for place, part in enumerate(SHOWN):
            found += [
                TimeMap(f"{phase}: {part}, forecast", ranks, datasets, forecasts[:, :, place]),
                TimeMap(f"{phase}: {part}, simulated", ranks, datasets, simulated_s[:, :, place], unsettled),
            ]
    return found


def _forecast_s(preset: str, ranks: Sequence[int], phase: str) -> Floats:
    """(R, 3) seconds by number of processors and component."""
    machine = load_machine(MACHINE, {"nodes": max(ranks)})
    times = forecast(WORKLOAD, machine, {"P": np.array(ranks)}, preset=preset).phases[phase]
    return np.stack([np.broadcast_to(times[part], len(ranks)) for part in SHOWN], axis=-1)


def simulated(preset: str, ranks: int, phase: str) -> Extrapolated:
    """The time of a phase, of as many iterations as it takes until they are settled, or of as many as fit."""
    machine = load_machine(MACHINE, {"nodes": max(ranks, 16)})
    whole = Scenario.of(WORKLOAD, machine, {"P": ranks}, preset=preset)
    count = float(whole.bind().values[REPEATS[phase]])
    before, rate_before, done = np.zeros(len(SHOWN)), np.zeros(len(SHOWN)), 0
    iterations = 1
    while True:
        values = {"P": ranks, **_repeated(phase, iterations, ranks)}
        result = simulate(WORKLOAD, machine, values, preset=preset, phases=[phase])
        seconds = np.array([float(result.phases[phase][part]) for part in SHOWN])
        rate = (seconds - before) / (iterations - done)
        change = float(rate.sum() / rate_before.sum()) - 1 if done else math.inf
        several = min(2 * iterations, math.ceil(count))
        is_all = iterations >= count
        if is_all or abs(change) <= TOLERANCE or several * ranks * (ranks - 1) > MOST_MESSAGES:
            extrapolated = np.maximum(seconds + (count - iterations) * rate, 0.0)
            return Extrapolated(np.asarray(extrapolated), 0.0 if is_all else change)
        before, rate_before, done, iterations = seconds, rate, iterations, several


def _repeated(phase: str, iterations: int, ranks: int) -> Mapping[str, object]:
    """Values with which a phase has so many iterations, each as before: a trace of each group and line is one iteration
    of stacking on one processor; a depth step, of which there is one for each sample, one of depth migration."""
    if phase == "stacking":
        return {"lines": 1, "traces": iterations * ranks}
    return {"samples": iterations}
