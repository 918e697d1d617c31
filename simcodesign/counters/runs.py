"""Properties of a set of runs: how size and processes went together, and where the time of each run went.

Source: Ding et al., APMT, tables 1 and 2 (T_mapp, T_mcomp, T_mcomm, BF_comm) and section 4.2 (a larger problem is read
where the profiled one has the same work of a process).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.units import POSITIVE_RANGE, is_positive
from simcodesign.counters.table import APPLICATION, OTHERS, CounterTable
from simcodesign.fitting.measurements import FloatArray

STRONG, WEAK, MIXED = "strong", "weak", "mixed"
#: How far two sizes or works may be from each other and be the same.
_SAME = 1e-9
#: Counters that are added up over the kernels of a run.
_COMMUNICATION = ("p2p_wait_s", "collective_wait_s", "message_bytes", "collective_bytes")


@dataclass(frozen=True)
class Scaling:
    """How size and processes went together in the runs: one size (strong), one size per process (weak), or neither.

    ``size``: the size of the runs if all have one, ``work``: the work of a process if all have one, otherwise NaN.
    ``known``: whether the runs have a size; if not, it is taken as 1.
    """

    kind: str
    size: float
    work: float
    known: bool

    def coordinates(self, processes: float, size: float | None = None) -> tuple[float, float]:
        """Return the number of processes and the work of a process at which the models are read for a target.

        After strong scaling a larger problem is read where the profiled one has the same work of a process: at
        P (size of the runs) / size processes (section 4.2). InputError for a size that the runs do not cover.
        """
        if not (np.isfinite(processes) and processes >= 1):
            raise InputError(
                "the number of processes to predict is out of range", value=processes, allowed="a number of 1 or above"
            )
        if size is not None and not is_positive(size):
            raise InputError("the size to predict is out of range", value=size, allowed=POSITIVE_RANGE)
        if size is not None and not self.known:
            raise InputError("a size cannot be predicted from runs without a size", value=size, allowed="none")
        if self.kind == STRONG:
            size = self.size if size is None else size
            return processes * self.size / size, size / processes
        if self.kind == WEAK:
            work = self.work if size is None else size / processes
            if abs(work - self.work) > _SAME * self.work:
                what = "runs of weak scaling predict only their own work of a process"
                raise InputError(what, value=work, allowed=f"{self.work:g}")
            return processes, self.work
        if size is None:
            raise InputError("runs of several sizes need a size to predict", allowed="a size")
        return processes, size / processes

    def size_at(self, processes: float, size: float | None = None) -> float:
        """Return the size itself; NaN if it is not known."""
        if not self.known:
            return float("nan")
        if size is None:
            return self.work * processes if self.kind == WEAK else self.size
        return size


def scaling_of(runs: CounterTable) -> Scaling:
    """How size and processes go together. InputError if some runs say their size and others do not."""
    size, processes = runs.column("size"), runs.column("processes")
    if np.isnan(size).all():
        return Scaling(STRONG, 1.0, float("nan"), known=False)
    if np.isnan(size).any():
        raise InputError(
            "a run has no size, but others have one",
            runs.place(int(np.argmax(np.isnan(size)))),
            allowed="a size in all or none",
        )
    work = size / processes
    if np.ptp(size) <= _SAME * size.max():
        return Scaling(STRONG, float(size[0]), float("nan"), known=True)
    if np.ptp(work) <= _SAME * work.max():
        return Scaling(WEAK, float("nan"), float(work[0]), known=True)
    return Scaling(MIXED, float("nan"), float("nan"), known=True)


def works(runs: CounterTable, scaling: Scaling) -> tuple[FloatArray, FloatArray]:
    """Numbers of processes and works of a process, (rows,)."""
    processes = runs.column("processes")
    return processes, (runs.column("size") if scaling.known else np.ones(len(runs))) / processes


def clock_hz(rows: CounterTable) -> float:
    """Return the frequency of the runs, otherwise cycles over the time outside communication.

    NaN where neither is known.
    """
    given = rows.column("frequency_hz")
    if not np.isnan(given).all():
        return float(np.nanmean(given))
    seconds = float((rows.column("time_s") - rows.communication_s).sum())
    return float(rows.column("cycles").sum()) / seconds if seconds > 0 else float("nan")


def busy_s(rows: CounterTable) -> FloatArray:
    """Time outside communication: cycles over frequency, otherwise wall-clock time without the waits.

    InputError for rows with neither.
    """
    seconds = rows.compute_s
    seconds = np.where(np.isnan(seconds), np.maximum(rows.column("time_s") - rows.communication_s, 0.0), seconds)
    if np.isnan(seconds).any():
        row = int(np.argmax(np.isnan(seconds)))
        raise InputError("a run has neither cycles with a frequency nor a time", rows.place(row), allowed="one of them")
    return np.asarray(seconds)


@dataclass(frozen=True)
class RunTimes:
    """The parts of each run, (runs,): processes, works, T_mapp, T_mcomp, T_others and communication of a process.

    ``blocking_factor``: BF_comm = (T_mapp - T_others - T_mcomp) / T_mcomm, NaN in a run without communication.
    """

    processes: FloatArray
    work: FloatArray
    total_s: FloatArray
    compute_s: FloatArray
    others_s: FloatArray
    p2p_s: FloatArray
    collective_s: FloatArray
    p2p_bytes: FloatArray
    collective_bytes: FloatArray

    @property
    def blocking_factor(self) -> FloatArray:
        """Return the exposed fraction of the waits: time that neither computation nor anything else explains."""
        waits = self.p2p_s + self.collective_s
        exposed = np.maximum(self.total_s - self.others_s - self.compute_s, 0.0)
        return np.asarray(np.where(waits > 0, exposed / np.where(waits > 0, waits, 1.0), np.nan))


def run_times(runs: CounterTable, scaling: Scaling) -> RunTimes:
    """Return the parts of runs, by numbers of processes and works in ascending order.

    The total is the time of the row ``APPLICATION``; without one, the time of all kernels, or (if a kernel has no time)
    computation and communication added up. Communication is taken from the kernels, or if none of them has any, from
    the row ``APPLICATION``.
    """
    processes, work = works(runs, scaling)
    parts = []
    for point in sorted(set(zip(processes.tolist(), work.tolist(), strict=True))):
        here = runs.rows((processes == point[0]) & (work == point[1]))
        parts.append((*point, *_parts(here)))
    return RunTimes(*np.array(parts).T)


def total_time_s(run: CounterTable) -> float:
    """T_mapp of one run, of which each kernel has one row."""
    return _parts(run)[0]


def _parts(here: CounterTable) -> tuple[float, ...]:
    """T_mapp, T_mcomp (NaN in a run without kernels), T_others and the four sums of communication of one run."""
    names = np.array(here.kernels)
    whole, others = names == APPLICATION, names == OTHERS
    sums = np.array([np.nan_to_num(here.column(name)) for name in _COMMUNICATION])
    inside, reported = sums[:, ~whole].sum(1), sums[:, whole].sum(1)
    communication = inside if inside.any() else reported
    kernels = ~whole & ~others
    compute_s = float(busy_s(here.rows(kernels)).sum()) if kernels.any() else float("nan")
    others_s = float(busy_s(here.rows(others)).sum()) if others.any() else 0.0
    times = here.column("time_s")
    if whole.any() and not np.isnan(times[whole]).any():
        total_s = float(times[whole].sum())
    elif whole.any() or np.isnan(times).any():
        total_s = compute_s + others_s + float(communication[:2].sum())
    else:
        total_s = float(times.sum())
    return total_s, compute_s, others_s, *map(float, communication)
