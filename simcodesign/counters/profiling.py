"""How far profiled runs can be trusted: sampled shares against instrumented ones, and what profiling costs.

Source: Ding et al., APMT, section 2: the normalized root mean square error of the shares of time that sampling gives
(equation 1), and the overhead of profiled runs, T_profiled / T_unprofiled - 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.counters.kernels import execution_times, nrmse
from simcodesign.counters.runs import total_time_s
from simcodesign.counters.table import CounterTable, means


@dataclass(frozen=True)
class KernelFraction:
    """The fraction of the time that a kernel takes, as sampled and as instrumented."""

    kernel: str
    sampled: float
    instrumented: float


@dataclass(frozen=True)
class ProfilingQuality:
    """The quality of the profile on one number of processes.

    ``kernels``: how many were compared, 0 without an instrumented run; ``nrmse`` is NaN then. ``largest``: the kernel
    whose fractions differ most. ``profiled_s``, ``unprofiled_s``: times of a process; NaN if they are not known.
    """

    processes: float
    kernels: int
    nrmse: float
    largest: KernelFraction | None
    profiled_s: float
    unprofiled_s: float

    @property
    def overhead(self) -> float:
        """Time added by profiling, as a fraction of the time without it; NaN if one of the times is not known."""
        return self.profiled_s / self.unprofiled_s - 1 if self.unprofiled_s > 0 else math.nan


def profiling_quality(
    table: CounterTable, instrumented: CounterTable | None = None, unprofiled: CounterTable | None = None
) -> tuple[ProfilingQuality, ...]:
    """Compare profiled runs with ``instrumented`` and ``unprofiled`` ones on the same numbers of processes.

    Raises InputError for runs on numbers of processes, or of sizes, that were not profiled, for an unprofiled run
    without a time, and as ``execution_times``.
    """
    for what, other in (("an instrumented run", instrumented), ("a run without profiling", unprofiled)):
        if other is not None:
            _check_profiled(what, other, table)
    sampled = _shares(table) if instrumented is not None else {}
    exact = _shares(instrumented) if instrumented is not None else {}
    found = []
    for processes in np.unique(table.column("processes")).tolist():
        plain_s = _total_s(unprofiled, processes)
        if processes not in exact and math.isnan(plain_s):
            continue
        pairs = list(_pairs(sampled[processes], exact[processes])) if processes in exact else []
        error = nrmse([one.sampled for one in pairs], [one.instrumented for one in pairs]) if pairs else math.nan
        largest = max(pairs, key=lambda one: abs(one.sampled - one.instrumented), default=None)
        found.append(ProfilingQuality(processes, len(pairs), error, largest, _total_s(table, processes), plain_s))
    return tuple(found)


def _check_profiled(what: str, other: CounterTable, table: CounterTable) -> None:
    known = np.unique(table.column("processes"))
    for row, processes in enumerate(other.column("processes").tolist()):
        if processes not in known:
            allowed = f"processes of the profiled runs: {', '.join(f'{p:g}' for p in known)}"
            raise InputError(
                f"{what} has a number of processes that was not profiled",
                other.place(row),
                value=processes,
                allowed=allowed,
            )
        sizes = table.column("size")[table.column("processes") == processes]
        size = float(other.column("size")[row])
        if not (math.isnan(size) or np.isnan(sizes).all() or np.isclose(size, sizes, rtol=1e-9, atol=0).any()):
            allowed = ", ".join(f"{one:g}" for one in np.unique(sizes))
            raise InputError(f"{what} has another size", other.place(row), value=size, allowed=allowed)


def _shares(table: CounterTable) -> dict[float, dict[str, float]]:
    """Return the fraction of the execution time of each kernel, by the number of processes."""
    counts, names, times, _ = execution_times(table)
    total = times.sum(0)
    if not (total > 0).all():
        raise InputError("a run has no execution time", value=f"P = {counts[int(np.argmin(total))]:g}")
    shares = times / total
    return {p: dict(zip(names, shares[:, k].tolist(), strict=True)) for k, p in enumerate(counts.tolist())}


def _pairs(sampled: dict[str, float], exact: dict[str, float]) -> Iterator[KernelFraction]:
    """All kernels of either profile; one that a profile lacks took no time in it."""
    for name in dict.fromkeys([*sampled, *exact]):
        pair = KernelFraction(name, sampled.get(name, 0.0), exact.get(name, 0.0))
        if pair.sampled or pair.instrumented:
            yield pair


def _total_s(table: CounterTable | None, processes: float) -> float:
    """Return the time of a process, the mean over repetitions; NaN if there is no such run."""
    if table is None:
        return math.nan
    here = table.column("processes") == processes
    return total_time_s(means(table.rows(here))) if here.any() else math.nan
