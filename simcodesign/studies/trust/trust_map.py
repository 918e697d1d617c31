"""Accuracy map of a sweep.

The points at which each formula is within a fraction of the simulation, and the best formula.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simcodesign.comparison.measured.evidence import EvidenceOverPoints, evidence_over
from simcodesign.core.errors import InputError, Place
from simcodesign.core.to_json import PlainResult, attributes_of
from simcodesign.studies.sweep.design.grid import SEED, SweepAxis
from simcodesign.studies.sweep.evaluate import FORECAST, SweepEvaluator
from simcodesign.studies.sweep.sweep import Sweep
from simcodesign.studies.sweep.table import ERROR, NUMBER, read_s
from simcodesign.studies.trust.formula_times import FormulaTimes, signed_errors, simulated_s
from simcodesign.studies.trust.regions import Condition, Coordinate, condition_of

#: Share of the simulation within which a formula is trusted if nothing else is asked.
WITHIN = 0.1
#: Errors that differ by no more are equal, as a fraction of the simulated time.
_SAME = 1e-10
#: So many combinations of words have regions of their own.
_MAX_WORDS = 12
#: Points at which operations are looked up in the machine's evidence.
_MOST_POINTS = 200
Truth = NDArray[np.bool_]


@dataclass(frozen=True)
class Region:
    """Where something holds: at ``points`` of ``of`` points.

    ``condition``: true at exactly those, None if it holds everywhere or nowhere, or where no simple condition fits;
    then ``by_words`` has a region for each value of the axes that are words (``network.topology.kind = mesh``), if
    there are any.
    """

    points: int
    of: int
    condition: Condition | None = None
    by_words: Mapping[str, Region] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """``while m <= 32 KiB and P <= 64``, ``at all 40 points``, ``at 32 of 40 points`` where no condition fits."""
        if not self.points:
            return f"at none of {self.of:,} points"
        if self.points == self.of:
            return f"at all {self.of:,} points"
        counts = f"at {self.points:,} of {self.of:,} points"
        return counts if self.condition is None else f"while {self.condition.text} ({counts})"

    def json_fields(self) -> dict[str, Any]:
        """Its counts, its condition, and the regions of words if there are any."""
        shown = attributes_of(self, "points", "of", "condition")
        return shown | ({"by_words": self.by_words} if self.by_words else {})


@dataclass(frozen=True)
class Trust:
    """One formula, or our forecast (``formula`` is None), over the points that were simulated.

    ``error``: signed, as a fraction of the simulated time, (points,), nan if there is no value. ``within``: whether it
    is within the fraction of the map; ``best``: whether it is the best one.
    """

    name: str
    formula: FormulaTimes | None
    error: NDArray[np.float64]
    within: Region
    best: Region
    too_low: int
    too_high: int

    @property
    def no_value(self) -> int:
        """Number of points without a value."""
        return int(np.count_nonzero(np.isnan(self.error)))

    @property
    def largest_error(self) -> float:
        """The signed error that is furthest from 0; nan without any value."""
        known = self.error[~np.isnan(self.error)]
        return float(known[np.abs(known).argmax()]) if len(known) else float("nan")

    def json_fields(self) -> dict[str, Any]:
        """Return its formula, counts and regions; errors at each point are in the table."""
        shown: dict[str, Any] = {"name": self.name}
        if self.formula is not None:
            shown |= attributes_of(self.formula, "formula", "given", "column", "notes")
        return shown | attributes_of(self, "within", "too_low", "too_high", "no_value", "largest_error", "best")


@dataclass(frozen=True)
class TrustMap(PlainResult):
    """Which formulas are within ``fraction`` of the simulation where, of a sweep over ``axes``.

    ``phases``: the phases of the program that run, None for all; ``effects`` and ``seed``: of the simulations.
    ``values``: of every axis at the points that were simulated, (points,) each. ``formulas``: in the order given; our
    forecast comes last, if there is one. ``best``: the index of the formula of least absolute error at each of the
    points, the first of equal ones, -1 if none has a value. ``nothing``: if none is within the fraction.
    ``evidence``: by operation, the number of points for which the machine's file has evidence from measured times.
    """

    workload: str
    machine: str
    fraction: float
    phases: tuple[str, ...] | None
    effects: tuple[str, ...]
    seed: int
    axes: tuple[SweepAxis, ...]
    zipped: bool
    values: Mapping[str, NDArray[Any]]
    formulas: tuple[Trust, ...]
    best: NDArray[np.int64]
    nothing: Region
    evidence: tuple[EvidenceOverPoints, ...] = ()

    @property
    def points(self) -> int:
        """Number of points that were simulated."""
        return len(self.best)

    def json_fields(self) -> dict[str, Any]:
        """Return the fraction, the axes as far as simulated, and the formulas."""
        axes = []
        for axis in self.axes:
            at = self.values[axis.name]
            ends = [at.min(), at.max()] if axis.numeric and len(at) else list(dict.fromkeys(at.tolist()))
            axes.append({"name": axis.name, "unit": axis.unit, "simulated": ends, "values": len(set(at.tolist()))})
        shown = attributes_of(self, "workload", "machine", "phases", "effects", "seed", "fraction", "points")
        return shown | {"axes": axes, "formulas": self.formulas, "nothing": self.nothing, "evidence": self.evidence}


def check_fraction(fraction: float, place: Place | None = None) -> float:
    """Return the fraction within which formulas are trusted. InputError unless it is finite and above 0."""
    if not 0 < fraction < float("inf"):
        raise InputError("a fraction of the simulated time", place, value=fraction, allowed="above 0, e.g. 10% or 0.1")
    return fraction


def trust_map(sweep: Sweep, table: pd.DataFrame, times: Sequence[FormulaTimes], fraction: float = WITHIN) -> TrustMap:
    """Return the trust map of formulas over the table of a sweep with simulations.

    With our forecast if the table has it.

    Conditions are searched over all axes but seeds: they are exact at the points that were simulated, with every seed.
    InputError if nothing was simulated, and if there is nothing to compare with the simulation.
    """
    of_s = simulated_s(table)
    if of_s is None:
        raise InputError("nothing was simulated to compare formulas with", Place("--simulate"), allowed="with it")
    rows = np.flatnonzero((table[ERROR] == "").to_numpy() & (of_s > 0))
    compared: list[tuple[str, FormulaTimes | None, NDArray[np.float64]]] = [
        (one.name, one, one.time_s[rows]) for one in times
    ]
    if (forecast_s := read_s(table, FORECAST)) is not None:
        compared.append((FORECAST, None, forecast_s[rows]))
    errors = [signed_errors(seconds, of_s[rows]) for _, _, seconds in compared]
    values = {axis.name: _column(axis, table, rows) for axis in sweep.design.axes}
    coordinates = _coordinates(sweep.design.axes, values)
    within = np.abs(np.array(errors)) <= fraction  # False for nan
    best = _best(np.array(errors), within)
    formulas = tuple(
        Trust(
            name,
            formula,
            error,
            _region(coordinates, is_within),
            _region(coordinates, (best == at) & is_within, split=False),
            int(np.count_nonzero(error < -fraction)),
            int(np.count_nonzero(error > fraction)),
        )
        for at, ((name, formula, _), error, is_within) in enumerate(zip(compared, errors, within, strict=True))
    )
    nothing = _region(coordinates, ~np.any(within, axis=0), split=False)
    experiment = sweep.experiment
    phases = experiment.scenario.phases
    return TrustMap(
        sweep.workload.name,
        sweep.source.machine.label,
        fraction,
        None if phases is None else tuple(phases),
        tuple(experiment.effects),
        experiment.seed,
        sweep.design.axes,
        sweep.design.zipped,
        values,
        formulas,
        best,
        nothing,
        _evidence(sweep, table[NUMBER].to_numpy(dtype=np.int64)[rows]),
    )


def _evidence(sweep: Sweep, numbers: NDArray[np.int64]) -> tuple[EvidenceOverPoints, ...]:
    """Return the simulated points; ``_MOST_POINTS`` evenly spaced ones if there are more."""
    evaluator = SweepEvaluator(sweep)
    some = numbers[np.unique(np.linspace(0, len(numbers) - 1, min(len(numbers), _MOST_POINTS)).astype(int))]
    return evidence_over(evaluator.scenario(sweep.point(number)).bind() for number in some.tolist())


def _column(axis: SweepAxis, table: pd.DataFrame, rows: NDArray[np.int64]) -> NDArray[Any]:
    column = table[axis.name].to_numpy()[rows]
    return column.astype(np.float64) if axis.numeric else column.astype(object)


def _coordinates(axes: Iterable[SweepAxis], values: Mapping[str, NDArray[Any]]) -> list[Coordinate]:
    """Return the axes of several values as coordinates of points. A seed is none: no user chooses it to be accurate."""
    return [
        Coordinate(axis.name, values[axis.name], axis.unit)
        for axis in axes
        if axis.known.kind != SEED and len(set(values[axis.name].tolist())) > 1
    ]


def _best(errors: NDArray[np.float64], within: Truth) -> NDArray[np.int64]:
    """Return the index of the least absolute error, (points,) of (formulas, points).

    The first of equal ones, one within the fraction if any is, -1 if all are nan.
    """
    sizes = np.where(np.isnan(errors) | (within.any(axis=0) & ~within), np.inf, np.abs(errors))
    least = sizes.min(axis=0)
    best = np.argmax((sizes <= least * (1 + _SAME) + _SAME) & ~np.isnan(errors), axis=0)
    return np.where(np.isnan(errors).all(axis=0), -1, best).astype(np.int64)


def _region(coordinates: Sequence[Coordinate], holds: Truth, *, split: bool = True) -> Region:
    """Where something holds; ``split``: also for each value of coordinates that are words, where no condition fits."""
    count, of = int(np.count_nonzero(holds)), len(holds)
    if count in (0, of):
        return Region(count, of)
    condition = condition_of(coordinates, holds)
    by_words = _by_words(coordinates, holds) if split and condition is None else {}
    return Region(count, of, condition, by_words)


def _by_words(coordinates: Sequence[Coordinate], holds: Truth) -> dict[str, Region]:
    """Return a region for each combination of words, of the other coordinates."""
    words = [one for one in coordinates if not one.is_numeric]
    combinations = list(product(*(dict.fromkeys(one.values.tolist()) for one in words)))
    if not words or len(combinations) > _MAX_WORDS:
        return {}
    regions = {}
    for chosen in combinations:
        here = np.all([one.values == word for one, word in zip(words, chosen, strict=True)], axis=0)
        rest = [Coordinate(one.name, one.values[here], one.unit) for one in coordinates if one.is_numeric]
        names = ", ".join(f"{one.name} = {word}" for one, word in zip(words, chosen, strict=True))
        regions[names] = _region(rest, holds[here], split=False)
    return regions
