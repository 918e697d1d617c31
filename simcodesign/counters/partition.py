"""Runs with counters by what they are for: fitted, at a second frequency, of communication only, held back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.counters.checks import in_words
from simcodesign.counters.kernels import MEASURED_CLOCK
from simcodesign.counters.table import APPLICATION, OTHERS, CounterTable
from simcodesign.fitting.measurements import FloatArray

Mask = NDArray[np.bool_]
#: How far sizes may be from each other and be the same.
SAME = 1e-9


@dataclass(frozen=True)
class Target:
    """Where to predict. ``size`` None: the size, or the size per process, of the runs."""

    processes: float
    size: float | None = None

    @property
    def text(self) -> str:
        """As ``P = 128, size = 1e6``."""
        return f"P = {self.processes:.12g}" + (f", size = {self.size:.12g}" if self.size is not None else "")


@dataclass
class RunPartition:
    """Runs by what they are for. ``clocks``: those at a second frequency; ``aside``: those left out, in words."""

    fitted: CounterTable
    clocks: CounterTable | None = None
    communication: CounterTable | None = None
    notes: list[str] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)


def default_target(table: CounterTable) -> Target:
    """Four times the largest number of processes."""
    return Target(4.0 * float(table.column("processes").max()))


def points_of(table: CounterTable) -> list[Target]:
    """Return processes and size of each row."""
    pairs = zip(table.column("processes").tolist(), table.column("size").tolist(), strict=True)
    return [Target(processes, None if np.isnan(size) else size) for processes, size in pairs]


def held_back(evidence: CounterTable, targets: Sequence[Target]) -> dict[Target, CounterTable]:
    """Return the runs to compare predictions with, by target."""
    points = points_of(evidence)
    runs = {}
    for point in dict.fromkeys(points):
        if not targets or any(is_at(target, point) for target in targets):
            runs[point] = evidence.rows([one == point for one in points])
    if not runs:
        listed = "; ".join(point.text for point in dict.fromkeys(points))
        wanted = "; ".join(target.text for target in targets)
        raise InputError(
            "there is no run to compare a prediction with", evidence.place(0), value=wanted, allowed=listed
        )
    return runs


def is_at(target: Target, point: Target) -> bool:
    """Whether a run is at a target; one that does not say its size is at any."""
    sizes = (target.size, point.size)
    near = None in sizes or abs(sizes[0] - sizes[1]) <= SAME * sizes[0]  # type: ignore[operator]
    return target.processes == point.processes and near


def without(table: CounterTable, held: Mapping[Target, CounterTable]) -> CounterTable:
    """Return the rows at none of the points that are held back."""
    mask = [not any(is_at(point, one) for point in held) for one in points_of(table)]
    if not any(mask):
        listed = "; ".join(point.text for point in held)
        raise InputError("no run is left to be fitted", value=listed, allowed="targets, or fewer runs held back")
    return table if all(mask) else table.rows(mask)


def partition_runs(table: CounterTable, refined: bool) -> RunPartition:
    """Return runs to fit, runs at another frequency, and runs of communication only."""
    parts = RunPartition(table)
    lone = _communication_only(table)
    if lone.any():
        parts.fitted = table.rows(~lone)
        parts.communication = table.rows(lone)
        if not refined:
            parts.communication = None
            parts.notes.append("Runs that only say how long communication took were left out.")
    groups = _by_clock(parts.fitted)
    if len(groups) > 1:
        whole = parts.fitted
        parts.fitted = whole.rows(groups[0])
        if refined:
            parts.clocks = whole.rows(groups[1])
        parts.aside = [at_clock(whole.rows(mask)) for mask in groups[1:]]
        if left := parts.aside[1 if refined else 0 :]:
            parts.notes.append(f"Runs on {', '.join(left)} were left out.")
    return parts


def at_clock(table: CounterTable) -> str:
    """``P = 4, 8 at 2.5 GHz``."""
    runs = in_words([f"{P:g}" for P in np.unique(table.column("processes")).tolist()])
    return f"P = {runs} at {mean_clock(table) / 1e9:.4g} GHz"


def _communication_only(table: CounterTable) -> Mask:
    """Rows of runs in which no kernel has instructions or cycles, where other runs have them, (rows,)."""
    points = list(zip(points_of(table), table.classes, strict=True))
    counted = ~np.isnan(table.column("instructions")) | ~np.isnan(table.column("cycles"))
    by_point: dict[object, bool] = {}
    for point, has in zip(points, counted.tolist(), strict=True):
        by_point[point] = by_point.get(point, False) or has
    lone = np.array([not by_point[point] for point in points])
    waits = table.communication_s > 0
    with_waits = {point for point, waited in zip(points, waits.tolist(), strict=True) if waited}
    return lone & np.array([point in with_waits for point in points]) if counted.any() else np.zeros(len(points), bool)


def _by_clock(table: CounterTable) -> list[Mask]:
    """Masks of the rows at each frequency: first the frequency with the most numbers of processes, then by distance.

    One mask if a row has no frequency, because the row cannot be assigned.
    """
    clock = table.column("frequency_hz")
    kernels = np.array([name not in (APPLICATION, OTHERS) for name in table.kernels])
    if np.isnan(clock[kernels]).any() or not kernels.any():
        return [np.ones(len(table), bool)]
    levels: list[float] = []
    for hz in np.unique(clock[kernels]).tolist():
        if not levels or hz > (1 + MEASURED_CLOCK) * levels[-1]:
            levels.append(hz)
    low = np.array(levels)
    at = np.where(np.isnan(clock), -1, np.searchsorted(low, np.nan_to_num(clock), side="right") - 1)
    P = table.column("processes")
    order = sorted(range(len(low)), key=lambda k: (-len(np.unique(P[at == k])), -low[k]))
    first = order[0]
    rest = sorted(order[1:], key=lambda k: -abs(low[k] - low[first]))
    return [(at == first) | (at == -1), *(at == k for k in rest)]


def mean_clock(table: CounterTable) -> float:
    """Return the mean of the known clock rates, in Hz; NaN if no rate is known."""
    known: FloatArray = table.column("frequency_hz")
    known = known[~np.isnan(known)]
    return float(known.mean()) if len(known) else float("nan")
