"""Resource-usage constants of a machine from measured times of a workload.

Forecast times are linear in startup and per-byte times (Armstrong and Eigenmann, SPECseis96, equations 3 and 4: their
Table 6 was made so). The design matrix is read off the forecast: one constant at a time at one unit. That the forecast
is linear in them is checked, and a constant in which it is not is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from simcodesign.calibration.design_matrix import COMPUTATION, POSSIBLE, LinearTimes
from simcodesign.calibration.estimates import Group
from simcodesign.calibration.linear_constants import ConstantsFit, ConstantsProblem, fit_constants
from simcodesign.calibration.timings import Timing, read_timings
from simcodesign.core.errors import InputError, nearest
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.result import Result
from simcodesign.core.units import NOT_NEGATIVE_RANGE, POSITIVE_RANGE, is_positive
from simcodesign.describe.constants import cache_of, required_paths
from simcodesign.describe.machine import Machine
from simcodesign.describe.measured_tables.rows import TOTAL
from simcodesign.describe.scenario import MachineSource, WorkloadSource, machine_of, workload_of
from simcodesign.describe.workload import Workload
from simcodesign.fitting.measurements import FloatArray


@dataclass(frozen=True, order=True)
class Unknown:
    """One number to be determined: a constant by its path, in one phase or (phase empty) in all of them.

    With ``ratio`` it is the factor of a vector of constants, in SI units by path.
    """

    path: str
    phase: str = ""
    ratio: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        return f"{self.path} ({self.phase})" if self.phase else self.path


@dataclass(frozen=True)
class CalibrationOptions:
    """How the constants are to be determined; see ``calibrate``."""

    unknown: Sequence[str] | None = None
    per_phase: bool | None = None
    fixed: Mapping[str, float] = field(default_factory=dict)
    ratios: Sequence[Mapping[str, float]] = ()
    weighting: str = "relative"
    error: float | None = None
    level: float = 0.9
    robust: bool = False


@dataclass(frozen=True, eq=False)
class Calibration:
    """Constants of ``machine`` from times of ``workload``.

    ``unknowns``: in the order of the fit's columns; ``timings``: in the order of its rows; ``unused``: times in which
    no unknown has a part. ``advice``: for each group of the fit, what further measurement would tell its constants
    apart.
    """

    workload: Workload
    machine: Machine
    unknowns: tuple[Unknown, ...]
    timings: tuple[Timing, ...]
    unused: tuple[Timing, ...]
    fit: ConstantsFit
    advice: tuple[tuple[str, ...], ...]
    fixed: Mapping[str, float] = field(default_factory=dict)


def calibrate(
    workload: WorkloadSource,
    machine: MachineSource,
    timings: Iterable[Timing] | Path | str | Sequence[Path | str],
    parameters: Mapping[str, float] | None = None,
    *,
    preset: str | None = None,
    unknown: Sequence[str] | None = None,
    per_phase: bool | None = None,
    fixed: Mapping[str, float] | None = None,
    ratios: Sequence[Mapping[str, float]] = (),
    weighting: str = "relative",
    error: float | None = None,
    level: float = 0.9,
    value: str | None = None,
    robust: bool = False,
) -> Calibration:
    """Determine constants by least squares, none below 0, as ``studies.verbs.calibrate`` describes.

    ``fixed`` is its ``known``, and ``timings`` its ``files``.
    """
    workload = workload_of(workload)
    machine = machine_of(machine)
    options = CalibrationOptions(unknown, per_phase, fixed or {}, ratios, weighting, error, level, robust)
    measured = [
        replace(timing, values={**(parameters or {}), **timing.values}, preset=timing.preset or preset)
        for timing in _timings(timings, workload, value)
    ]
    model = LinearTimes(workload, machine, _paths(options, machine))
    return _Fit(model, measured, options).calibration()


def timings_of(result: Result, values: Mapping[str, float], preset: str | None = None) -> pd.DataFrame:
    """Return a Result of one design point as rows of a table of times.

    A row for each phase and component that took time.

    ``values``: values of the parameters, and ``preset``, as the rows shall list them.

    >>> from simcodesign.calibration.calibrate import timings_of
    >>> import simcodesign as sc
    >>> result = sc.simulate("jacobi", "torus-cluster", {"P": 4}, effects="none")
    >>> rows = timings_of(result, {"P": 4})
    >>> bool(abs(rows["seconds"].sum() - result.makespan_s) < 1e-12)
    True
    """
    point = ({"preset": preset} if preset else {}) | dict(values)
    rows = [
        {**point, "phase": phase, "component": part, "seconds": float(times[part])}
        for phase, times in result.phases.items()
        for part in COMPONENTS
        if np.any(times[part])
    ]
    return pd.DataFrame(rows)


def _timings(
    given: Iterable[Timing] | Path | str | Sequence[Path | str], workload: Workload, value: str | None
) -> tuple[Timing, ...]:
    if isinstance(given, Path | str):
        given = [given]
    every = list(given)
    paths = [item for item in every if isinstance(item, Path | str)]
    if paths:
        return read_timings(paths, workload, value)
    if not every:
        raise InputError("no measured times")
    return tuple(item for item in every if isinstance(item, Timing))


def _paths(options: CalibrationOptions, machine: Machine) -> tuple[str, ...]:
    """Return the varied constants: unknown, fixed, or in a ratio."""
    own = machine.constants()
    possible = [path for path in own if path in POSSIBLE or cache_of(path)]
    network = required_paths(machine.network.message_model)
    # Latency and bandwidth of memory are left out: of the two, forecasts take what is slower.
    usual = [path for path in possible if path in network or path.startswith("disk.")]
    chosen = usual if options.unknown is None else list(options.unknown)
    more = [name.rpartition(":")[2] for name in options.fixed] + [path for ratio in options.ratios for path in ratio]
    for path in (*chosen, *more):
        if path not in (*possible, COMPUTATION):
            what = f"not a time constant of {machine.name}"
            raise InputError(what, machine.place, value=path, allowed=nearest(path, [*possible, COMPUTATION]))
    for path in {path for path in chosen if chosen.count(path) > 1}:
        raise InputError("an unknown named twice", value=path)
    return tuple(dict.fromkeys([*chosen, *more]))


class _Fit:
    """From measured times to the problem of least squares, and back to named constants."""

    def __init__(self, model: LinearTimes, timings: Sequence[Timing], options: CalibrationOptions) -> None:
        self.model, self.options = model, options
        distinct: dict[object, Timing] = {}
        for timing in timings:
            distinct.setdefault(timing.point, timing)
        self.points = list(distinct.values())
        self.index: dict[object, int] = {timing.point: place for place, timing in enumerate(self.points)}
        self.terms = model.terms(self.points)
        self.elsewhere: dict[object, FloatArray | None] = {}
        self.fixed = self._fixed()
        self.unknowns = self._unknowns(timings)
        whole, known = self.rows(timings, self.terms, self.index)
        used = np.asarray(whole.any(axis=1))
        self.timings = tuple(timing for timing, yes in zip(timings, used, strict=True) if yes)
        self.unused = tuple(timing for timing, yes in zip(timings, used, strict=True) if not yes)
        if not self.timings:
            paths = ", ".join(map(str, self.unknowns)) or "no constant"
            raise InputError(f"no measured time has a part of {paths}", timings[0].place)
        self._check_zeros()
        seconds = np.array([timing.seconds for timing in self.timings])
        names = tuple(str(unknown) for unknown in self.unknowns)
        problem = ConstantsProblem(names, whole[used], seconds, known[used], options.weighting, options.error)
        self.fit = fit_constants(problem, options.level, options.robust)

    def _check_zeros(self) -> None:
        for timing in self.timings:
            if timing.seconds == 0 and self.options.weighting == "relative":
                what = f"a time of 0 ({timing}) has no relative error"
                raise InputError(what, timing.place, allowed="times above 0, or absolute weights")

    def _fixed(self) -> dict[tuple[str, str], float]:
        """Known values by path and phase."""
        fixed: dict[tuple[str, str], float] = {}
        for name, value in self.options.fixed.items():
            phase, _, path = name.rpartition(":")
            if phase and phase not in self.model.phases:
                raise InputError("no such phase", value=phase, allowed=nearest(phase, self.model.phases))
            if value != 0 and not is_positive(value):
                raise InputError(f"fixed {name}", value=value, allowed=NOT_NEGATIVE_RANGE)
            for one in [phase] if phase else self.model.phases:
                fixed[path, one] = float(value)
        return fixed

    def _unknowns(self, timings: Sequence[Timing]) -> tuple[Unknown, ...]:
        """Unknowns to determine: constants in which some time has a part, and constants that the caller names."""
        bundles = [Unknown(":".join(ratio), ratio=tuple(ratio.items())) for ratio in self.options.ratios]
        bundled = [path for bundle in bundles for path, _ in bundle.ratio]
        for path in {path for path in bundled if bundled.count(path) > 1}:
            raise InputError("a constant in two ratios", value=path)
        for bundle in bundles:
            if len(bundle.ratio) < 2 or not all(is_positive(part) for _, part in bundle.ratio):
                raise InputError(
                    "a ratio", value=dict(bundle.ratio), allowed=f"two or more constants, each {POSITIVE_RANGE}"
                )
        everywhere = {path for path in self.model.paths if all((path, phase) in self.fixed for phase in self.phases)}
        single = [Unknown(path) for path in self.model.paths if path not in bundled and path not in everywhere]
        by_phase = self.options.per_phase
        if by_phase is None:
            by_phase = len(self.phases) > 1 and all(timing.phase for timing in timings)
        unknowns = []
        for one in (*single, *bundles):
            every = [replace(one, phase=phase) for phase in self.phases] if by_phase else [one]
            touched = [unknown for unknown in every if self._touches(unknown, timings)]
            named = self.options.unknown is not None or bool(one.ratio)
            unknowns += touched or ([one] if named else [])
        if not unknowns:
            raise InputError("nothing is left to be determined", value=", ".join(self.options.fixed) or None)
        return tuple(sorted(unknowns, key=lambda one: self.phases.index(one.phase) if one.phase else -1))

    @property
    def phases(self) -> tuple[str, ...]:
        return self.model.phases

    def _touches(self, unknown: Unknown, timings: Sequence[Timing]) -> bool:
        return any(self._column(unknown, timing, self.terms[:, self.index[timing.point]]) > 0 for timing in timings)

    def _column(self, unknown: Unknown, timing: Timing, terms: FloatArray) -> float:
        """Seconds of this time that one unit of the unknown makes."""
        total = 0.0
        for path, part in unknown.ratio or ((unknown.path, 1.0),):
            seconds = terms[self.model.paths.index(path)]
            for row, column in self._cells(timing):
                phase = self.phases[row]
                if unknown.phase in ("", phase) and (path, phase) not in self.fixed:
                    total += part * float(seconds[row, column])
        return total

    def _cells(self, timing: Timing) -> list[tuple[int, int]]:
        """Phases and components that a time is the sum of."""
        rows = [self.phases.index(timing.phase)] if timing.phase else range(len(self.phases))
        columns = range(len(COMPONENTS)) if timing.component == TOTAL else [COMPONENTS.index(timing.component)]
        return [(row, column) for row in rows for column in columns]

    def _known(self, timing: Timing, terms: FloatArray) -> float:
        """Seconds of this time in which no unknown has a part."""
        total = sum(float(terms[-1, row, column]) for row, column in self._cells(timing))
        for (path, phase), value in self.fixed.items():
            seconds = terms[self.model.paths.index(path)]
            total += sum(value * float(seconds[cell]) for cell in self._cells(timing) if self.phases[cell[0]] == phase)
        return total

    def rows(
        self, timings: Sequence[Timing], terms: FloatArray, index: Mapping[object, int]
    ) -> tuple[FloatArray, FloatArray]:
        """Design matrix (N, K) and known seconds (N,) of these times."""
        of = [terms[:, index[timing.point]] for timing in timings]
        design = [
            [self._column(unknown, timing, part) for unknown in self.unknowns]
            for timing, part in zip(timings, of, strict=True)
        ]
        known = [self._known(timing, part) for timing, part in zip(timings, of, strict=True)]
        return np.array(design), np.array(known)

    def calibration(self) -> Calibration:
        """All results."""
        advice = tuple(self._advice(group) if group.missing else () for group in self.fit.groups)
        return Calibration(
            self.model.workload,
            self.model.machine,
            self.unknowns,
            self.timings,
            self.unused,
            self.fit,
            advice,
            self.options.fixed,
        )

    def _advice(self, group: Group) -> tuple[str, ...]:
        """Return changes of one parameter, or other presets, at which the first time of a group would tell more."""
        if not len(group.rows):
            return ()
        here = self.timings[int(group.rows[0])]
        places = [self.fit.problem.names.index(name) for name in group.names]
        changes = []
        for words, there in self._elsewhere(here):
            terms = self._tried(there)
            if terms is None:
                continue
            design, _ = self.rows([there], terms, {there.point: 0})
            scaled = design[0, places] / group.norms
            if np.linalg.norm(scaled @ group.null) > 1e-6 * np.linalg.norm(scaled):
                changes.append(words)
        return tuple(changes)

    def _tried(self, there: Timing) -> FloatArray | None:
        """Return the terms of another point, kept for other groups.

        None for what is none: out of a range, too many ranks.
        """
        if there.point not in self.elsewhere:
            try:
                self.elsewhere[there.point] = self.model.terms([there])
            except InputError:
                self.elsewhere[there.point] = None
        return self.elsewhere[there.point]

    def _elsewhere(self, here: Timing) -> Iterable[tuple[str, Timing]]:
        preset = dict(self.model.workload.presets.get(here.preset or "", {}))
        for name, parameter in self.model.workload.parameters.items():
            value = here.values.get(name, preset.get(name, parameter.default))
            for factor in (2.0, 0.5):
                if value and parameter.low <= value * factor <= parameter.high:
                    words = f"{name} = {value * factor:g} instead of {value:g}"
                    yield words, replace(here, values={**here.values, name: value * factor})
                    break
        if "P" in here.values and "P" not in self.model.workload.parameters:
            ranks = here.values["P"]
            other = ranks * 2 if ranks * 2 <= self.model.machine.most_ranks else ranks // 2
            yield f"P = {other:g} instead of {ranks:g}", replace(here, values={**here.values, "P": other})
        for name in self.model.workload.presets:
            if here.preset and name != here.preset:
                yield f"preset {name}", replace(here, preset=name)
