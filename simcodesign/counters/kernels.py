"""Which functions are worth a model of their own: kernels chosen from runs on different numbers of processes.

Source: Ding et al., APMT, section 3.2: functions with a large share of the execution cycles, functions whose run time
does not fall with the processes, and all others as one; equation 1 for the error of sampled shares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.counters.table import APPLICATION, OTHERS, CounterTable, means, summed
from simcodesign.fitting.measurements import FloatArray

#: A fraction of the execution cycles above which a function is a kernel (the default of the source).
THRESHOLD = 0.05
#: The least number of runs, on different numbers of processes each (section 3.2).
LEAST_RUNS = 3
#: Exponent of P from which on a run time counts as not falling: twice the processes, and less than 7 % faster.
FLAT = -0.1
#: Clocks that a tool measured itself differ by less than this fraction, and are one frequency.
MEASURED_CLOCK = 0.01
#: The name of all the functions that are no kernel.
REST = "(rest)"


@dataclass(frozen=True)
class Kernel:
    """A function with a model of its own. ``fractions``: of the execution cycles, for each of ``Kernels.processes``.

    ``exponent``: the slope of log time over log P by least squares. ``key``: its fraction is above the threshold in
    some run; ``scales``: its time falls.
    """

    name: str
    fractions: tuple[float, ...]
    exponent: float
    key: bool
    scales: bool


@dataclass(frozen=True)
class Kernels:
    """The kernels, largest fraction first, and the names of the functions that each combines."""

    processes: tuple[float, ...]
    kernels: tuple[Kernel, ...]
    rest: tuple[str, ...]
    rest_fractions: tuple[float, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Kernels with a model: the chosen ones, and the rest as one if there is any."""
        return tuple(kernel.name for kernel in self.kernels) + ((REST,) if self.rest else ())

    @property
    def non_scaling(self) -> tuple[str, ...]:
        """Kernels whose time does not fall with the processes."""
        return tuple(kernel.name for kernel in self.kernels if not kernel.scales)


def identify(table: CounterTable, threshold: float = THRESHOLD, flat: float = FLAT) -> Kernels:
    """Find the kernels of runs on three or more numbers of processes.

    The runs have one size (or one size per process), frequency and class.

    Time is cycles over frequency, or ``time_s`` without communication where cycles are missing. A function that a run
    lacks took no time in it. Raises InputError for fewer runs, for a threshold outside [0, 1), and where neither cycles
    nor times were recorded.
    """
    if not 0 <= threshold < 1:
        raise InputError(
            "the threshold of a kernel's fraction is out of range", value=threshold, allowed="0 or above, below 1"
        )
    processes, names, times, weak = execution_times(table)
    if len(processes) < LEAST_RUNS:
        given = f"{len(processes)}: P = {', '.join(f'{p:g}' for p in processes)}"
        raise InputError(
            "too few different numbers of processes were run", value=given, allowed=f"{LEAST_RUNS} or more"
        )
    total = times.sum(0)
    if not (total > 0).all():
        raise InputError("a run has no execution time", value=f"P = {processes[int(np.argmin(total))]:g}")
    shares = times / total
    # With a size that grows with P, a time that stays the same has fallen for every piece of work.
    limit = flat + 1 if weak else flat
    kernels, rest = [], []
    for row, name in enumerate(names):
        exponent = log_slope(processes, times[row])
        key = bool(shares[row].max() > threshold)
        kernel = Kernel(name, tuple(map(float, shares[row])), exponent, key, exponent < limit)
        if kernel.key or not kernel.scales:
            kernels.append(kernel)
        else:
            rest.append(row)
    kernels.sort(key=lambda kernel: -max(kernel.fractions))
    return Kernels(
        tuple(map(float, processes)),
        tuple(kernels),
        tuple(names[row] for row in rest),
        tuple(map(float, shares[rest].sum(0))),
    )


def execution_times(table: CounterTable) -> tuple[FloatArray, tuple[str, ...], FloatArray, bool]:
    """Return numbers of processes, names of functions, their times, and whether the size grows with the processes.

    Processes (K,) are in ascending order; names are (S,), and times on a process (S, K) in s.

    InputError for runs of different sizes (in all and per process), frequencies or classes, for two runs on one number
    of processes that are no repetitions, and for rows with neither cycles nor time.
    """
    runs = means(table)
    size, processes = runs.column("size"), runs.column("processes")
    weak = _varies(size) and not _varies(size / processes)
    for name, tolerance in (("frequency_hz", MEASURED_CLOCK), *(() if weak else (("size", 1e-9),))):
        if _varies(runs.column(name), tolerance):
            given = np.unique(runs.column(name)).tolist()
            raise InputError(f"kernels must be chosen from runs of one {name}", value=given, allowed="one")
    if len(set(runs.classes)) > 1:
        raise InputError("kernels must be chosen from runs of one problem class", value=sorted(set(runs.classes)))
    names = tuple(dict.fromkeys(name for name in runs.kernels if name not in (APPLICATION, OTHERS)))
    counts = np.unique(processes)
    measured = runs.compute_s
    measured = np.where(np.isnan(measured), runs.column("time_s") - runs.communication_s, measured)
    times = np.zeros((len(names), len(counts)))
    known: set[tuple[str, float]] = set()
    for row, name in enumerate(runs.kernels):
        if name not in names:
            continue
        if np.isnan(measured[row]):
            raise InputError(
                "a run has neither cycles with a frequency nor a time", runs.place(row), allowed="one of them"
            )
        if (name, float(processes[row])) in known:
            what = f"two runs of kernel {name!r} on {processes[row]:g} processes differ in size or frequency"
            raise InputError(what, runs.place(row), allowed="repetitions of one size and frequency_hz")
        known.add((name, float(processes[row])))
        column = int(np.searchsorted(counts, processes[row]))
        times[names.index(name), column] = max(measured[row], 0.0)
    return counts, names, times, weak


def _varies(column: FloatArray, tolerance: float = 1e-9) -> bool:
    """Whether the present numbers differ by more than ``tolerance`` (default: more than rounding)."""
    there = column[~np.isnan(column)]
    return bool(len(there) and there.max() - there.min() > tolerance * there.max())


def log_slope(processes: FloatArray, times: FloatArray) -> float:
    """Return the least-squares slope of log time over log P.

    Infinite for a function that only runs on more processes.
    """
    there = times > 0
    if not there.all():
        # Functions that became too small to be listed fell; those that appear on many processes only did not.
        return math.inf if there[-1] else -math.inf
    return float(np.polyfit(np.log(processes), np.log(times), 1)[0])


def grouped(table: CounterTable, kernels: Kernels) -> CounterTable:
    """Return the table with the rows of all functions that are no kernel added up as ``REST``."""
    rest = set(kernels.rest)
    return summed(table, lambda name: REST if name in rest else name)


def nrmse(sampled: Sequence[float], instrumented: Sequence[float], printed: bool = False) -> float:
    """Return the normalized root mean square error of shares, sqrt(sum t (t - r)^2) / (max - min of both).

    Equation 1.

    ``printed``: the extremes over 1 < i < K, as the paper prints it, without the first and the last kernel. Raises
    InputError for different lengths, no kernel, and shares that are all the same.
    """
    t, r = np.asarray(sampled, dtype=np.float64), np.asarray(instrumented, dtype=np.float64)
    if t.shape != r.shape or t.ndim != 1 or not len(t):
        raise InputError(
            "sampled and instrumented shares differ in number", value=(t.shape, r.shape), allowed="as many of each"
        )
    inner = slice(1, -1) if printed else slice(None)
    both = np.concatenate([t[inner], r[inner]])
    if not len(both) or both.max() == both.min():
        raise InputError("the shares are all equal", value=both.tolist(), allowed="shares that differ")
    return float(np.sqrt((t * (t - r) ** 2).sum()) / (both.max() - both.min()))


def cpi_variance(cpi: Sequence[float]) -> float:
    """Equation 4: sum (CPI - mean)^2 / (n - 1) over runs. The source calls it standard deviation, but it is none."""
    values = np.asarray(cpi, dtype=np.float64)
    if len(values) < 2:
        raise InputError("a variance needs more runs", value=len(values), allowed="2 or more")
    return float(values.var(ddof=1))
