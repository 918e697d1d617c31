"""Predictions from hardware-counter models: more processes, larger problems, and the two models they are compared with.

Source: Ding et al., APMT, sections 4.2 and 5. A larger problem is predicted by the work of a process, with volumes of
messages times a ratio, and only where the last-level cache hardly misses: E = N_LLCmiss / N_totalmem <= 1e-4 for every
kernel and run. The models to compare with are T = a size/P + b (Nan et al. 2014) and T = a/P + b P^c + d (Worley et al.
2011), fitted to the total times of the same runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from simcodesign.core.errors import InputError
from simcodesign.core.units import POSITIVE_RANGE, is_positive
from simcodesign.counters.checks import in_words
from simcodesign.counters.communication import slopes_and_constant
from simcodesign.counters.forms import WORK, BestForm, Law, NormalForm
from simcodesign.counters.kernels import LEAST_RUNS
from simcodesign.counters.models import ApplicationModel, Breakdown, KernelModel
from simcodesign.counters.runs import STRONG, run_times
from simcodesign.counters.table import APPLICATION, OTHERS, CounterTable
from simcodesign.fitting.measurements import FloatArray

#: E above which a larger problem is not predicted (section 4.2).
GUARD = 1e-4
#: Exponents c that are tried in T = a/P + b P^c + d before the best is improved; the terms of time in P are between.
_EXPONENTS = np.linspace(0.05, 3.0, 60)
#: Parameters of that model. On this many numbers of processes or fewer c is 1: a free c would meet all times, noise
#: included, and be hundreds of times off when extrapolated.
_AMDAHL_PARAMETERS = 4
#: Parameters that are free with c = 1.
_UNKNOWNS = 3


@dataclass(frozen=True)
class Miss:
    """E of a kernel in a run."""

    kernel: str
    processes: float
    fraction: float


@dataclass(frozen=True)
class Prediction:
    """A predicted run. ``baselines``: seconds by the two other models, by name, as far as the runs suffice for them.

    ``volume_ratio``: by what the volumes of the runs were multiplied; ``misses``: E of every kernel and run, the
    largest first; ``notes``: what a reader must know, in words.
    """

    breakdown: Breakdown
    volume_ratio: float
    baselines: dict[str, float]
    misses: tuple[Miss, ...]
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """T_app."""
        return self.breakdown.seconds


def miss_fractions(table: CounterTable) -> tuple[Miss, ...]:
    """E of every kernel and run in which it was counted, the largest first."""
    shares = table.miss_fraction
    misses = [
        Miss(name, float(table.column("processes")[row]), float(shares[row]))
        for row, name in enumerate(table.kernels)
        if name not in (APPLICATION, OTHERS) and not np.isnan(shares[row])
    ]
    return tuple(sorted(misses, key=lambda miss: -miss.fraction))


def volume_ratio(size_ratio: float, dimensions: float) -> float:
    """Return how the volume of a halo grows with the size of a problem that is divided in ``dimensions`` dimensions.

    (size ratio)^((d - 1)/d): a grid of 64 times the cells, divided in two dimensions, has 8 times the edge, as the
    source takes 256/32 for HOMME. InputError for numbers below 1 dimension or a ratio that is not above 0.
    """
    if not (np.isfinite(dimensions) and dimensions >= 1):
        raise InputError("the problem must be divided in one dimension or more", value=dimensions, allowed="1 or above")
    if not is_positive(size_ratio):
        raise InputError("the ratio of sizes is out of range", value=size_ratio, allowed=POSITIVE_RANGE)
    return float(size_ratio ** ((dimensions - 1) / dimensions))


def predict(
    model: ApplicationModel,
    processes: float,
    size: float | None = None,
    *,
    volume: float | None = None,
    dimensions: float = 3,
    guard: float | None = GUARD,
) -> Prediction:
    """Predict the time of a run on ``processes`` and of that size (None: the size, or size per process, of the runs).

    ``volume``: by what the volumes of messages are multiplied for the size; by default as ``volume_ratio`` has it for
    ``dimensions``. ``guard``: the largest E with which another size is predicted; None for no guard. Raises InputError
    for a size beyond the guard, and for a size that the runs do not cover.
    """
    misses = miss_fractions(model.runs)
    ratio, other = 1.0, _other_size(model, size)
    if other:
        if guard is not None:
            check_guard(misses, guard)
        assert size is not None
        ratio = volume_ratio(size / model.scaling.size, dimensions) if volume is None else volume
    breakdown = model.at(processes, size, ratio)
    return Prediction(
        breakdown, ratio, baselines(model, processes, size), misses, _notes(model, processes, size, misses)
    )


def _other_size(model: ApplicationModel, size: float | None) -> bool:
    """Whether the wanted size differs from the size of the runs, if these have one."""
    scaling = model.scaling
    return size is not None and scaling.kind == STRONG and scaling.known and size != scaling.size


def check_guard(misses: Sequence[Miss], guard: float = GUARD) -> None:
    """Raise InputError with the reason where the last-level cache missed too often, or misses were not counted."""
    if not misses:
        raise InputError(
            "another size cannot be predicted: no run counted its accesses to memory",
            allowed="runs with llc_hits, memory_accesses and the levels above, or no guard",
        )
    worst = max(misses, key=lambda miss: miss.fraction)
    if worst.fraction > guard:
        others = len({miss.kernel for miss in misses if miss.fraction > guard}) - 1
        more = f" (and of {others} more)" if others else ""
        raise InputError(
            f"another size cannot be predicted: the last-level cache of kernel {worst.kernel!r}{more} missed "
            f"E = {worst.fraction:.3g} of its accesses on {worst.processes:g} processes, so that memory contention is "
            "already in the runs and will not stay as it is",
            value=worst.fraction,
            allowed=f"E up to {guard:g}: profile on more processes, or of a smaller size, or no guard",
        )


def _notes(model: ApplicationModel, processes: float, size: float | None, misses: Sequence[Miss]) -> tuple[str, ...]:
    """Return notes on extrapolation, and on what the models cannot predict."""
    notes = []
    profiled = model.runs.column("processes")
    at, _ = model.scaling.coordinates(processes, size)
    if _other_size(model, size):
        if not profiled.min() <= at <= profiled.max():
            notes.append(
                f"The work of a process equals the work for the profiled size on {at:.6g} processes, outside the "
                f"profiled {profiled.min():g} to {profiled.max():g}."
            )
        if model.identified.non_scaling:
            names = ", ".join(model.identified.non_scaling)
            notes.append(f"Runs of one size cannot say how kernels that do not scale grow with it: {names}.")
    elif misses and misses[0].fraction > GUARD:
        notes.append(_miss_note(misses))
    notes += [
        f"Kernel {kernel.name!r}: {_uncounted(model, kernel)}; its time is modelled as a whole."
        for kernel in model.kernels
        if kernel.time and kernel.time.text != "0"
    ]
    return (*notes, *replaced_forms(model, processes, size), *_baseline_notes(model, processes, size))


def kernels_above(misses: Sequence[Miss], limit: float) -> dict[str, float]:
    """Return the largest E of each kernel whose E exceeds the limit, the largest first."""
    kernels: dict[str, float] = {}
    for miss in misses:
        if miss.fraction > limit:
            kernels.setdefault(miss.kernel, miss.fraction)
    return kernels


def _miss_note(misses: Sequence[Miss]) -> str:
    above = kernels_above(misses, GUARD)
    listed = in_words([f"{name!r} (E = {share:.3g})" for name, share in above.items()])
    if len(above) == 1:
        return f"Kernel {listed} misses the last-level cache: its stalls may change with what its share of it holds."
    return f"Kernels {listed} miss the last-level cache: their stalls may change with what their share of it holds."


def _uncounted(model: ApplicationModel, kernel: KernelModel) -> str:
    """Which counter a kernel lacks for a model of its instructions, and where."""
    rows = model.runs.of(kernel.name)
    for name in ("instructions", "cycles"):
        gone = np.isnan(rows.column(name))
        if gone.all():
            return f"no {name} were counted"
        if gone.any():
            runs = in_words([f"{P:g}" for P in np.unique(rows.column("processes")[gone]).tolist()])
            return f"{name} are missing in the runs on P = {runs}"
    none = rows.column("instructions") == 0
    if none.any():
        runs = in_words([f"{P:g}" for P in np.unique(rows.column("processes")[none]).tolist()])
        return f"instructions are 0 in the runs on P = {runs}"
    return "the clock is not known (neither frequency_hz nor time_s is in all runs)"


def replaced_forms(model: ApplicationModel, processes: float, size: float | None = None) -> tuple[str, ...]:
    """List the printed laws that are below zero (or no number) for this target, and so are not used."""
    at = model.scaling.coordinates(processes, size)
    # As ``ApplicationModel.at``: messages and the rest of the time are read at the number of processes itself.
    plain = (processes, model.scaling.size / processes) if model.scaling.kind == STRONG else at
    laws: list[tuple[str, Law, tuple[float, float]]] = []
    for kernel in model.kernels:
        own = {"time": kernel.time} if kernel.time is not None else dict(kernel.counters)
        laws += [(f"kernel {kernel.name!r}, {name}", law, at) for name, law in own.items()]
    laws.append(("point-to-point bytes", model.communication.p2p_bytes, plain))
    laws.append(("collective bytes", model.communication.collective_bytes, plain))
    laws += [("time of others", model.others, plain)] if model.others is not None else []
    replaced = [(what, text) for what, law, point in laws if (text := _replaced(law, *point))]
    return tuple(f"P = {processes:.12g}: {what}: {text}." for what, text in replaced)


def _replaced(law: Law, processes: float, work: float) -> str:
    if isinstance(law, NormalForm):
        value = law.raw(processes, work)
        return f"{law.text} is {value:.3g} there, and is taken as 0" if value < 0 else ""
    if not isinstance(law, BestForm) or (used := law.chosen(processes, work)) is law.forms[0]:
        return ""
    best = law.forms[0]
    value = best.evaluate(work if best.axis == WORK else processes)
    return f"{best.text}, the best, is {value:.3g} there, which cannot be; used is {used.text}"


def _baseline_notes(model: ApplicationModel, processes: float, size: float | None) -> Iterator[str]:
    """Yield notes on the limits of the two other models."""
    predicted = baselines(model, processes, size)
    count = len(np.unique(model.runs.column("processes")))
    if EMPIRICAL in predicted and count <= _UNKNOWNS:
        yield (
            f"T = {EMPIRICAL} (c = 1) has as many unknowns as there are runs, {count}: it meets them in any case, "
            "which is no evidence for it."
        )
    for name, seconds in predicted.items():
        if seconds < 0:
            yield f"T = {name} is below zero on P = {processes:.12g} ({seconds:.3g} s): it does not apply there."


@dataclass(frozen=True)
class SizeOverProcesses:
    """T = a size/P + b, in s (Nan et al. 2014)."""

    a: float
    b: float

    def at(self, processes: float, size: float = 1.0) -> float:
        """Return a size / P + b."""
        return self.a * size / processes + self.b


@dataclass(frozen=True)
class AmdahlVariation:
    """T = a/P + b P^c + d, in s (Worley et al. 2011)."""

    a: float
    b: float
    c: float
    d: float

    def at(self, processes: float) -> float:
        """Return a / P + b P^c + d."""
        return self.a / processes + self.b * float(processes**self.c) + self.d


def fit_size_over_processes(processes: FloatArray, sizes: FloatArray, seconds: FloatArray) -> SizeOverProcesses:
    """Return the least-squares line over size/P, with a of 0 or above. InputError for numbers that are not finite."""
    (a, b), _ = slopes_and_constant([np.asarray(sizes) / np.asarray(processes)], seconds)
    return SizeOverProcesses(a, b)


def fit_amdahl_variation(processes: FloatArray, seconds: FloatArray) -> AmdahlVariation:
    """Least squares with a and b of 0 or above and c from 0.05 to 3.

    On four numbers of processes or fewer c is taken as 1, since the times do not determine it. InputError below three.
    """
    P, T = np.asarray(processes, dtype=np.float64), np.asarray(seconds, dtype=np.float64)
    count = len(np.unique(P))
    if count < LEAST_RUNS:
        raise InputError(
            "T = a/P + b P^c + d needs more numbers of processes", value=count, allowed=f"{LEAST_RUNS} or more"
        )
    if count <= _AMDAHL_PARAMETERS:
        return _with_exponent(P, T, 1.0)
    tried = [_with_exponent(P, T, float(c)) for c in _EXPONENTS]
    return _improved(min(tried, key=lambda model: _residual(model, P, T)), P, T)


def _with_exponent(P: FloatArray, T: FloatArray, c: float) -> AmdahlVariation:
    (a, b, d), _ = slopes_and_constant([1 / P, P**c], T)
    return AmdahlVariation(a, b, c, d)


def _residual(model: AmdahlVariation, P: FloatArray, T: FloatArray) -> float:
    return float(((model.a / P + model.b * P**model.c + model.d - T) ** 2).sum())


def _improved(start: AmdahlVariation, P: FloatArray, T: FloatArray) -> AmdahlVariation:
    """Optimise all four together, in units of the largest time and number of processes; keep the start if no better."""
    scale, most = float(T.max()), float(P.max())
    if start.b == 0 or scale == 0:
        return start
    x = P / most

    def residual(v: FloatArray) -> FloatArray:
        return np.asarray(v[0] / x + v[1] * x ** v[2] + v[3] - T / scale)

    first = [start.a / most / scale, start.b * most**start.c / scale, start.c, start.d / scale]
    parameters = least_squares(residual, first, method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=2000).x
    a, b, c, d = (float(one) for one in parameters)
    if a < 0 or b < 0 or not _EXPONENTS[0] <= c <= _EXPONENTS[-1]:
        return start
    better = AmdahlVariation(a * most * scale, b * scale / most**c, c, d * scale)
    return better if _residual(better, P, T) < _residual(start, P, T) else start


ANALYTIC, EMPIRICAL = "a size/P + b", "a/P + b P^c + d"


def baselines(model: ApplicationModel, processes: float, size: float | None = None) -> dict[str, float]:
    """Predict seconds by the two other models, fitted to the total times of the runs.

    The second one has no size, and is given only for runs of one size and at that size. A line may come out below
    zero.
    """
    scaling = model.scaling
    runs = run_times(model.runs, scaling)
    sizes = runs.work * runs.processes
    at = scaling.size_at(processes, size) if scaling.known else 1.0
    predicted = {ANALYTIC: fit_size_over_processes(runs.processes, sizes, runs.total_s).at(processes, at)}
    if scaling.kind == STRONG and not _other_size(model, size):
        predicted[EMPIRICAL] = fit_amdahl_variation(runs.processes, runs.total_s).at(processes)
    return predicted


def optimization_advice(breakdown: Breakdown, least: float = 0.1) -> tuple[str, ...]:
    """Where time could be saved, the largest part first: memory stalls, communication, kernels that do not scale.

    ``least``: parts below this fraction of the time are left out.
    """
    total = breakdown.seconds
    if total <= 0:
        return ()
    parts = [
        (
            breakdown.blocking_factor * breakdown.p2p_s,
            "point-to-point communication: send less, or overlap it with computation",
        )
    ]
    parts += [
        (
            breakdown.blocking_factor * breakdown.collective_s,
            "collective communication: fewer or smaller collectives, or another algorithm",
        )
    ]
    parts += [(breakdown.others_s, "initialization and finalization")]
    for kernel in breakdown.kernels:
        parts.append(
            (
                kernel.memory_s,
                f"memory stalls of kernel {kernel.name!r}: reuse data in cache, fewer dependencies between loads",
            )
        )
        if not kernel.scales:
            parts.append(
                (kernel.seconds, f"kernel {kernel.name!r}, which does not scale: divide its work among the processes")
            )
    if breakdown.kernels and max(kernel.memory_s for kernel in breakdown.kernels) < least * total:
        parts.append((breakdown.memory_s, "memory stalls, spread over several kernels: reuse data in cache"))
    parts.sort(key=lambda part: -part[0])
    return tuple(
        f"{100 * seconds / total:.0f} % of the time is {text}."
        for seconds, text in parts
        if seconds >= max(least * total, 1e-12 * total)
    )
