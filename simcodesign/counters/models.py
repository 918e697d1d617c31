"""Models of an application from hardware counters: one of each kernel, one of its communication, and equation 2.

    T_app = sum over kernels (T_comp + BF_mem T_mem) + BF_comm T_comm + T_others

Source: Ding et al., APMT, section 3.3 and table 2. All counters and times are per process (see ``counters``).
A kernel's CPI counts its computation cycles only, as the source specifies, so that stalls are not counted twice; its
mean over the runs is taken for all numbers of processes. BF_mem T_mem is the modelled stall time (equation 3) until two
frequencies have given BF_mem by itself (``refinement``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.counters.communication import Collective, PointToPoint, fit_collective, fit_point_to_point
from simcodesign.counters.forms import Law, fit_forms, fit_normal_form
from simcodesign.counters.frequency_refinement import Refined
from simcodesign.counters.kernels import LEAST_RUNS, THRESHOLD, Kernels, cpi_variance, grouped, identify
from simcodesign.counters.runs import STRONG, Scaling, busy_s, clock_hz, run_times, scaling_of, works
from simcodesign.counters.table import LATENCIES, OTHERS, CounterTable, Latencies, means
from simcodesign.fitting.measurements import FloatArray

#: Counters of a kernel that are functions of the processes.
LEVELS = ("l1_hits", "l2_hits", "llc_hits", "memory_accesses")

FitLaw = Callable[[FloatArray, FloatArray, FloatArray], Law]


@dataclass(frozen=True)
class KernelTime:
    """Times in s of a kernel on one process.

    ``memory_s``: BF_mem T_mem, what memory adds to ``compute_s``; ``access_s``: T_mem, if no access overlapped anything
    (NaN where hits were not counted).
    """

    name: str
    compute_s: float
    memory_s: float
    access_s: float
    scales: bool

    @property
    def seconds(self) -> float:
        """T_comp + BF_mem T_mem."""
        return self.compute_s + self.memory_s

    @property
    def blocking_factor(self) -> float:
        """BF_mem, NaN where T_mem is 0 or not known."""
        return self.memory_s / self.access_s if self.access_s > 0 else float("nan")


@dataclass(frozen=True)
class KernelModel:
    """A kernel. ``counters``: laws of ``instructions``, ``stall_cycles`` and the levels, as far as they were recorded.

    ``cpi``: of the computation cycles, mean over the runs; ``cpi_variance``: equation 4. ``time``: the law of its time
    if there are no instructions or cycles to model. ``refined``: CPI_core and BF_mem from two frequencies.
    """

    name: str
    counters: Mapping[str, Law]
    cpi: float
    cpi_variance: float
    frequency_hz: float
    latencies: Latencies
    scales: bool
    time: Law | None = None
    refined: Refined | None = None

    def at(self, processes: float, work: float) -> KernelTime:
        """Return the time on a number of processes and for a work per process."""
        access_s = self._access_s(processes, work)
        if self.time is not None:
            return KernelTime(self.name, self.time.at(processes, work), 0.0, access_s, self.scales)
        cpi = self.cpi if self.refined is None else self.refined.cpi_core
        compute_s = self.counters["instructions"].at(processes, work) * cpi / self.frequency_hz
        if self.refined is not None:
            memory_s = self.refined.blocking_factor * access_s
        elif "stall_cycles" in self.counters:
            memory_s = self.counters["stall_cycles"].at(processes, work) / self.frequency_hz
        else:
            memory_s = 0.0
        return KernelTime(self.name, compute_s, memory_s, access_s, self.scales)

    def with_refinement(self, refined: Refined) -> KernelModel:
        """Return this model with CPI_core and BF_mem of two frequencies. InputError if accesses were not counted."""
        if self.time is not None or any(name not in self.counters for name in LEVELS):
            raise InputError(
                f"kernel {self.name!r} cannot be refined without these counters",
                allowed=f"runs with instructions, {', '.join(LEVELS)}",
            )
        return replace(self, refined=refined)

    def _access_s(self, processes: float, work: float) -> float:
        if any(name not in self.counters for name in LEVELS):
            return float("nan")
        l1, l2, llc, memory = (self.counters[name].at(processes, work) for name in LEVELS)
        cycles = l1 * self.latencies.l1_cycles + l2 * self.latencies.l2_cycles + llc * self.latencies.llc_cycles
        return cycles / self.frequency_hz + memory * self.latencies.memory_s


@dataclass(frozen=True)
class CommunicationModel:
    """Volumes in bytes of a process as laws, and times over them; ``blocking_factor``: BF_comm, mean over the runs."""

    p2p_bytes: Law
    p2p: PointToPoint
    collective_bytes: Law
    collective: Collective
    blocking_factor: float


@dataclass(frozen=True)
class Breakdown:
    """Equation 2, part by part, in s. ``size``: NaN where the runs do not say theirs."""

    processes: float
    size: float
    kernels: tuple[KernelTime, ...]
    p2p_s: float
    collective_s: float
    blocking_factor: float
    others_s: float

    @property
    def compute_s(self) -> float:
        """T_comp of all kernels."""
        return sum(kernel.compute_s for kernel in self.kernels)

    @property
    def memory_s(self) -> float:
        """BF_mem T_mem of all kernels."""
        return sum(kernel.memory_s for kernel in self.kernels)

    @property
    def communication_s(self) -> float:
        """BF_comm T_comm."""
        return self.blocking_factor * (self.p2p_s + self.collective_s)

    @property
    def seconds(self) -> float:
        """T_app."""
        return self.compute_s + self.memory_s + self.communication_s + self.others_s


@dataclass(frozen=True)
class ApplicationModel:
    """An application. ``runs``: what it was fitted to, one row per run and kernel, the rest as one kernel."""

    kernels: tuple[KernelModel, ...]
    communication: CommunicationModel
    others: Law | None
    scaling: Scaling
    identified: Kernels
    runs: CounterTable

    def at(self, processes: float, size: float | None = None, volume_ratio: float = 1.0) -> Breakdown:
        """Evaluate equation 2 for a number of processes and a size (None: as in the runs), with volumes times a ratio.

        InputError for a size that the runs do not cover; see ``counter_prediction`` for what else must hold.
        """
        point = self.scaling.coordinates(processes, size)
        # Messages depend on the number of processes itself: only their volume changes with the size.
        plain = (processes, self.scaling.size / processes) if self.scaling.kind == STRONG else point
        model = self.communication
        p2p_s = model.p2p.at(volume_ratio * model.p2p_bytes.at(*plain))
        collective_s = model.collective.at(processes, volume_ratio * model.collective_bytes.at(*plain))
        return Breakdown(
            processes,
            self.scaling.size_at(processes, size),
            tuple(kernel.at(*point) for kernel in self.kernels),
            p2p_s,
            collective_s,
            model.blocking_factor,
            self.others.at(*plain) if self.others else 0.0,
        )

    def refined(self, refinements: Mapping[str, Refined]) -> ApplicationModel:
        """Return this model with CPI_core and BF_mem of the named kernels."""
        kernels = [
            kernel.with_refinement(refinements[kernel.name]) if kernel.name in refinements else kernel
            for kernel in self.kernels
        ]
        return replace(self, kernels=tuple(kernels))


def fit_application(
    table: CounterTable, *, threshold: float = THRESHOLD, latencies: Latencies = LATENCIES, normal_form: bool = False
) -> ApplicationModel:
    """Return the model of an application from three or more runs on different numbers of processes.

    ``normal_form``: counters in the performance-model normal form (which asks for about five runs) instead of the best
    of the simple forms. InputError for fewer runs, and as ``identify``.
    """
    law: FitLaw = fit_normal_form if normal_form else fit_forms
    identified = identify(table, threshold)
    runs = means(grouped(table, identified))
    scaling = scaling_of(runs)
    non_scaling = identified.non_scaling
    kernels = [
        kernel_model(runs.of(name), latencies, name not in non_scaling, scaling, law) for name in identified.names
    ]
    others = _others(runs, scaling, law)
    return ApplicationModel(tuple(kernels), communication_model(runs, scaling, law), others, scaling, identified, runs)


def kernel_model(
    rows: CounterTable, latencies: Latencies, scales: bool, scaling: Scaling, law: FitLaw = fit_forms
) -> KernelModel:
    """Return the model of one kernel from its rows, one a run. InputError for fewer than three numbers of processes."""
    name = rows.kernels[0]
    counts = np.unique(rows.column("processes"))
    if len(counts) < LEAST_RUNS:
        given = f"{len(counts)} numbers of processes"
        raise InputError(
            f"kernel {name!r} has too few runs", value=given, allowed=f"{LEAST_RUNS} or more, or a higher threshold"
        )
    axes = works(rows, scaling)
    recorded = [
        column for column in ("instructions", "stall_cycles", *LEVELS) if not np.isnan(rows.column(column)).any()
    ]
    laws = {column: law(*axes, rows.column(column)) for column in recorded}
    options: dict[str, Any] = {"counters": laws, "latencies": latencies, "scales": scales}
    frequency_hz = clock_hz(rows)
    if "instructions" not in laws or np.isnan(rows.compute_cpi).any() or np.isnan(frequency_hz):
        time = law(*axes, busy_s(rows))
        return KernelModel(name, cpi=np.nan, cpi_variance=np.nan, frequency_hz=frequency_hz, time=time, **options)
    cpi = rows.compute_cpi
    return KernelModel(
        name, cpi=float(cpi.mean()), cpi_variance=cpi_variance(cpi.tolist()), frequency_hz=frequency_hz, **options
    )


def communication_model(runs: CounterTable, scaling: Scaling, law: FitLaw = fit_forms) -> CommunicationModel:
    """Volumes and times of communication, and BF_comm; volumes that were not recorded count as 0 bytes."""
    times = run_times(runs, scaling)
    factors = times.blocking_factor
    factor = 1.0 if np.isnan(factors).all() else float(np.nanmean(factors))
    return CommunicationModel(
        law(times.processes, times.work, times.p2p_bytes),
        fit_point_to_point(times.p2p_bytes, times.p2p_s),
        law(times.processes, times.work, times.collective_bytes),
        fit_collective(times.processes, times.collective_bytes, times.collective_s),
        factor,
    )


def _others(runs: CounterTable, scaling: Scaling, law: FitLaw) -> Law | None:
    """T_others as a function of the processes, where the runs have rows of it."""
    if OTHERS not in runs.kernels:
        return None
    times = run_times(runs, scaling)
    return law(times.processes, times.work, times.others_s)
