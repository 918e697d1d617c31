"""Forecast times as a linear function of startup and per-byte times: one constant at a time at one unit.

Equations 3 and 4 of SPECseis96 (Armstrong and Eigenmann) are linear in their constants, and so are most costs of
messages and accesses. Whether a forecast is, is checked, and a constant in which it is not is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from simcodesign.analytic.forecast import forecast
from simcodesign.calibration.timings import Timing
from simcodesign.core.errors import InputError, Place
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import CONSTANTS, MODELS_OF
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.message_models.hockney import BLOCKING
from simcodesign.describe.programs.program import Block, Step
from simcodesign.describe.workload import Workload
from simcodesign.fitting.measurements import FloatArray

#: A factor of the forecast's computation time, fitted like a constant: for times that hold computation too.
COMPUTATION = "computation"
#: Times, but of no part in the forecast, or only together with others.
LEFT_OUT = (
    *("network.link_per_byte", "network.interfaces.per_byte", "network.interfaces.loaded_per_byte"),
    *("failures.mtbf",),
)
#: Constants that can be determined: times.
POSSIBLE = tuple(
    path for path, (_, _, kind) in CONSTANTS.items() if kind in ("time", "per_byte") and path not in LEFT_OUT
)
#: How far the forecast may be from linear: rounding of sums of many products.
LINEAR = 1e-9


class LinearTimes:
    """Times of phases and components as a linear function of the constants at ``paths``."""

    def __init__(self, workload: Workload, machine: Machine, paths: Sequence[str]) -> None:
        self.workload, self.machine, self.paths = workload, machine, tuple(paths)
        self.constants = [path for path in self.paths if path != COMPUTATION]
        self.phases = workload.phases()
        self.stripped = replace(workload, program=tuple(_without(workload.program, set(self.constants))))
        self.base = self._base()

    def _base(self) -> dict[str, float]:
        """As near to 0 as the machine lets its constants be: no message may be faster than its links."""
        network = self.machine.network
        stated = (network.link_per_byte_s, network.interfaces.per_byte_s)
        faster = [value for value in stated if value is not None]
        least = max((float(np.max(value)) for value in faster), default=0.0)
        return {path: least if path in ("network.per_byte", "network.G") else 0.0 for path in self.constants}

    def terms(self, timings: Sequence[Timing]) -> FloatArray:
        """Return the contribution of each constant at one unit, and last what is left without them.

        (K + 1, N, phases, components).

        Raises InputError if the forecast is not linear in the constants.
        """
        groups: dict[tuple[object, ...], list[int]] = {}
        for place, timing in enumerate(timings):
            key = timing.preset, timing.values.get("P"), tuple(sorted(timing.values))
            groups.setdefault(key, []).append(place)
        terms = np.empty((len(self.paths) + 1, len(timings), len(self.phases), len(COMPONENTS)))
        for places in groups.values():
            terms[:, places] = self._of_points([timings[place] for place in places])
        return terms

    def _of_points(self, timings: Sequence[Timing]) -> FloatArray:
        """Return the terms of points that differ only in parameters other than P."""
        points = [timing.values for timing in timings]
        # P is one number: where ranks differ, a forecast looks at each of them.
        values: dict[str, FloatOrArray] = {
            name: points[0][name] if name == "P" else np.array([point[name] for point in points]) for name in points[0]
        }
        shape = len(points), len(self.phases), len(COMPONENTS)

        def read(constants: Sequence[Mapping[str, float]]) -> FloatArray:
            """Return times (sets, points, phases, components) with these sets of constants, in one forecast."""
            columns = {path: np.array([[one[path]] for one in constants]) for path in self.constants}
            try:
                given = {**values, **columns}  # the sum is linear in constants; a longest path is not
                result = forecast(self.stripped, self.machine, given, preset=timings[0].preset, longest_path=False)
            except InputError as error:
                for timing in timings if len(timings) > 1 else ():
                    self._of_points([timing])  # to find the timing that it is about
                raise InputError(f"forecast of {timings[0]}: {error}", timings[0].place) from None
            times = np.zeros((len(constants), *shape))
            for (row, phase), (column, part) in _pairs(self.phases, COMPONENTS):
                times[:, :, row, column] = result.phases[phase][part]
            return times

        start, *raised = read([self.base, *({**self.base, path: low + 1.0} for path, low in self.base.items())])
        slopes = {path: one - start for path, one in zip(self.base, raised, strict=True)}
        rest = start - sum((slopes[path] * low for path, low in self.base.items()), np.zeros(shape))
        rest[np.abs(rest) <= 1e-13 * start] = 0.0  # what the subtraction leaves
        self._check(slopes, rest, read, timings[0])
        if COMPUTATION in self.paths:
            slopes[COMPUTATION] = np.zeros(shape)
            slopes[COMPUTATION][..., 0], rest[..., 0] = rest[..., 0], 0.0
        return np.stack([*(slopes[path] for path in self.paths), rest])

    def _check(
        self,
        slopes: Mapping[str, FloatArray],
        rest: FloatArray,
        read: Callable[[Sequence[Mapping[str, float]]], FloatArray],
        timing: Timing,
    ) -> None:
        """InputError naming the constants where a combination of them, of like parts, takes other than its sum."""
        draw = np.random.default_rng(0).uniform(0.5, 2.0, len(slopes))
        largest = {path: float(slope.max(initial=0.0)) for path, slope in slopes.items()}
        size = max(float(rest.max(initial=0.0)), 1e-6)
        at = {
            path: self.base[path] + (factor * size / largest[path] if largest[path] else 0.0)
            for (path, factor) in zip(slopes, draw, strict=True)
        }
        linear = rest + sum((slopes[path] * value for path, value in at.items()), np.zeros_like(rest))
        (evaluated,) = read([at])
        off = np.abs(linear - evaluated) > LINEAR * np.maximum(np.abs(linear), np.abs(evaluated))
        if off.any():
            guilty = [path for path, slope in slopes.items() if np.any(slope[off])]
            raise self._not_linear(guilty, timing.place)

    def _not_linear(self, guilty: Sequence[str], place: Place) -> InputError:
        """Return the error of a forecast that is not linear in these constants."""
        causes = "rates, largest of two, or another rank becomes the slowest"
        allowed = "unknowns without these, which then keep the values of machine and workload"
        network = self.machine.network
        if network.message_model.bytes_flow_together and any(path in MODELS_OF for path in guilty):
            causes += "; or messages of a rank that leave side by side, network.sends: nonblocking"
            allowed += f"; or network.sends: {BLOCKING}, if that is how the machine sends"
        what = f"the forecast of {self.workload.name} is not linear in {' and '.join(guilty)} ({causes})"
        return InputError(f"{what}, so that least squares cannot determine them", place, allowed=allowed)


def _pairs(phases: Sequence[str], parts: Sequence[str]) -> Iterable[tuple[tuple[int, str], tuple[int, str]]]:
    return ((phase, part) for phase in enumerate(phases) for part in enumerate(parts))


def _without(program: Iterable[Step], paths: Collection[str]) -> Iterable[Step]:
    """Return the program whose phases replace none of these constants."""
    for step in program:
        if isinstance(step, Block):
            constants = tuple(item for item in step.constants if item[0] not in paths)
            yield replace(step, constants=constants, body=tuple(_without(step.body, paths)))
        else:
            yield step
