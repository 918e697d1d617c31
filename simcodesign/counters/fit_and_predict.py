"""From the counters of all runs to predictions: which runs are fitted, which refine the models, which are held back.

Runs at a second clock frequency give CPI_core and BF_mem of the kernels; runs that only say how long communication took
refine its model, the largest of two or more being kept to tell what that was worth (Ding et al., APMT, section 3.4).
Runs that predictions are compared with are never fitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.counters.checks import check_counters, kernel_notes, plausibility_notes
from simcodesign.counters.communication_refinement import CommunicationRefinement, refine_communication
from simcodesign.counters.forms import fit_forms, fit_normal_form
from simcodesign.counters.frequency_refinement import Refined, refine_kernels
from simcodesign.counters.kernels import MEASURED_CLOCK, THRESHOLD, Kernels, grouped
from simcodesign.counters.models import LEVELS, ApplicationModel, communication_model, fit_application
from simcodesign.counters.partition import (
    SAME,
    RunPartition,
    Target,
    at_clock,
    held_back,
    is_at,
    mean_clock,
    partition_runs,
    points_of,
    without,
)
from simcodesign.counters.prediction import GUARD, Prediction, predict
from simcodesign.counters.profiling import ProfilingQuality, profiling_quality
from simcodesign.counters.runs import busy_s, run_times, scaling_of
from simcodesign.counters.table import APPLICATION, LATENCIES, OTHERS, CounterTable, Latencies, joined, means

#: How far beyond the largest profiled number of processes a prediction is worth a remark.
_FAR = 8.0
#: CPI that spreads by more than this fraction of its mean (standard deviation) is not the constant that it is taken
#: for.
_SPREAD = 0.05
#: Causes that an error lists.
_MOST_CAUSES = 4
#: Times of communication that vary by this fraction and of which the models explain less than that are worth a remark.
_VARIES, _EXPLAINED = 0.2, 0.5


@dataclass(frozen=True)
class HeldBackRun:
    """A run that was held back, in s of a process; what it does not say is NaN. ``kernels``: time of each by name."""

    total_s: float
    kernels: Mapping[str, float]
    p2p_s: float
    collective_s: float
    others_s: float


@dataclass(frozen=True)
class TargetPrediction:
    """A prediction, and what was measured there if a run was held back."""

    target: Target
    prediction: Prediction
    measured: HeldBackRun | None = None


@dataclass(frozen=True)
class KernelChange:
    """CPI and BF_mem of a kernel before and after it was run at a second frequency."""

    kernel: str
    cpi_before: float
    blocking_before: float
    after: Refined


@dataclass(frozen=True)
class FrequencyRefinement:
    """The refinement of kernels: at which frequencies in Hz, on how many processes, and what it gave."""

    high_hz: float
    low_hz: float
    processes: tuple[float, ...]
    kernels: tuple[KernelChange, ...]


@dataclass(frozen=True)
class CommunicationRuns:
    """The refinement of communication.

    ``fitted``: processes of further runs; ``kept``: of the run kept for validation, with its message, or None.
    """

    fitted: tuple[float, ...]
    kept: float | None = None
    verdict: CommunicationRefinement | None = None


@dataclass(frozen=True)
class CounterPredictions:
    """Models of the runs, and predictions. ``guard``: the largest E for a prediction of another size, None for any."""

    model: ApplicationModel
    latencies: Latencies
    guard: float | None
    forecasts: tuple[TargetPrediction, ...]
    clocks: FrequencyRefinement | None
    communication: CommunicationRuns | None
    notes: tuple[str, ...]
    profiling: tuple[ProfilingQuality, ...] = ()


def fit_and_predict(
    table: CounterTable,
    targets: Sequence[Target],
    *,
    evidence: CounterTable | None = None,
    threshold: float = THRESHOLD,
    latencies: Latencies = LATENCIES,
    normal_form: bool = False,
    refined: bool = True,
    volume: float | None = None,
    dimensions: float = 3,
    guard: float | None = GUARD,
    instrumented: CounterTable | None = None,
    unprofiled: CounterTable | None = None,
) -> CounterPredictions:
    """Models of the runs, and predictions at the targets.

    ``evidence``: runs to compare predictions with: all of them without targets, otherwise those at the targets.
    ``instrumented``, ``unprofiled``: the same runs with instrumentation and without profiling (``profiling_quality``).
    ``refined``: whether further runs refine the models. The rest is as in ``fit_application`` and ``predict``. The
    ``notes`` name what is doubtful about the runs. Raises InputError as these and ``check_counters``, without targets,
    and where ``evidence`` holds none of the targets.
    """
    for one in (table, evidence):
        if one is not None:
            check_counters(one)
    held = held_back(evidence, targets) if evidence is not None else {}
    targets = list(targets) or list(held)
    if not targets:
        raise InputError("there is nothing to predict", allowed="targets, or runs to compare predictions with")
    left = without(table, held)
    parts = partition_runs(left, refined)
    profiling = profiling_quality(parts.fitted, instrumented, unprofiled)
    try:
        model = fit_application(parts.fitted, threshold=threshold, latencies=latencies, normal_form=normal_form)
    except InputError as error:
        raise _explained(error, parts) from None
    parts.notes[:0] = [*table.notes, *plausibility_notes(left)]
    named = kernel_notes(model.runs, model.identified.names)
    parts.notes += [note for note in named if note not in parts.notes]
    parts.notes += _clock_notes(model, evidence)
    clocks, further = None, None
    if parts.clocks is not None:
        model, clocks = _refined_kernels(model, parts, latencies)
    if parts.communication is not None:
        model, further = _refined_communication(model, parts.communication, normal_form)
    forecasts = []
    for target in targets:
        try:
            prediction = predict(
                model, target.processes, target.size, volume=volume, dimensions=dimensions, guard=guard
            )
        except InputError as error:
            raise InputError(error.what, Place(target.text), value=error.value, allowed=error.allowed) from None
        run = next((run for point, run in held.items() if _same(point, target, model)), None)
        forecasts.append(
            TargetPrediction(target, prediction, None if run is None else _measured(run, model.identified))
        )
    notes = (*parts.notes, *_model_notes(model, targets, clocks))
    return CounterPredictions(model, latencies, guard, tuple(forecasts), clocks, further, notes, profiling)


def _explained(error: InputError, parts: RunPartition) -> InputError:
    """Return the error, and what may have caused it.

    Runs set aside for their frequency, kernels that some runs lack.
    """
    causes = [f"set aside for their frequency: {one}" for one in parts.aside]
    named = dict.fromkeys(parts.fitted.kernels)
    causes += [note.rstrip(".").replace("Kernel", "kernel", 1) for note in kernel_notes(means(parts.fitted), [*named])]
    what = "; ".join([error.what, *causes[:_MOST_CAUSES]])
    return InputError(what, error.place, value=error.value, allowed=error.allowed)


def _same(point: Target, target: Target, model: ApplicationModel) -> bool:
    """Whether both are the same point; a target without a size has the size of the runs."""
    size = target.size
    if size is None and model.scaling.known:
        size = model.scaling.size_at(target.processes)
    return is_at(Target(target.processes, size), point)


# --- Refinement -------------------------------------------------------------------------------------------------


def _refined_kernels(
    model: ApplicationModel, parts: RunPartition, latencies: Latencies
) -> tuple[ApplicationModel, FrequencyRefinement | None]:
    """CPI_core and BF_mem of the kernels from runs at both frequencies; the mean if there are several such pairs."""
    assert parts.clocks is not None
    second = means(grouped(parts.clocks, model.identified))
    points, others = points_of(model.runs), points_of(second)
    common = [point for point in dict.fromkeys(points) if point in set(others)]
    if not common:
        parts.notes.append(
            f"Runs set aside for their frequency: {at_clock(parts.clocks)}; fitted are {at_clock(parts.fitted)}. "
            "None of the former is on the processes and size of a fitted one: not refined."
        )
        return model, None
    pairs = []
    for point in common:
        ours, theirs = model.runs.rows([one == point for one in points]), second.rows([one == point for one in others])
        try:
            pairs.append(refine_kernels(joined([ours, theirs]), latencies))
        except InputError as error:
            parts.notes.append(f"Not refined on {point.text}: {error.what}.")
    usable = _usable(model, pairs, parts.notes)
    if not usable:
        return model, None
    at = model.at(common[0].processes, common[0].size)
    before = {kernel.name: kernel.blocking_factor for kernel in at.kernels}
    refinements = tuple(
        KernelChange(kernel.name, kernel.cpi, before[kernel.name], usable[kernel.name])
        for kernel in model.kernels
        if kernel.name in usable
    )
    clocks = [float(np.nanmean(one.column("frequency_hz"))) for one in (model.runs, second)]
    processes = tuple(point.processes for point in common)
    return model.refined(usable), FrequencyRefinement(max(clocks), min(clocks), processes, refinements)


def _usable(model: ApplicationModel, pairs: Sequence[Mapping[str, Refined]], notes: list[str]) -> dict[str, Refined]:
    """Return the mean over the pairs of each kernel whose model can take it; what cannot be is noted and left out."""
    refined = {}
    for kernel in model.kernels:
        some = [pair[kernel.name] for pair in pairs if kernel.name in pair]
        if not some or kernel.time is not None or not kernel.counters.keys() >= set(LEVELS):
            continue
        core = float(np.mean([one.cpi_core for one in some]))
        factor = float(np.mean([one.blocking_factor for one in some]))
        if core <= 0 or factor < -SAME:
            notes.append(
                f"Kernel {kernel.name!r}: two frequencies give CPI_core = {core:.3g} and BF_mem = {factor:.3g}, which "
                "cannot be: its model stays as it was."
            )
            continue
        refined[kernel.name] = Refined(core, max(factor, 0.0))
    return refined


def _refined_communication(
    model: ApplicationModel, runs: CounterTable, normal_form: bool
) -> tuple[ApplicationModel, CommunicationRuns]:
    """Communication fitted to further runs too; of two or more, that on the most processes is kept for validation."""
    points = points_of(runs)
    ordered = sorted(dict.fromkeys(points), key=lambda point: (point.processes, point.size or 0.0))
    law = fit_normal_form if normal_form else fit_forms
    if len(ordered) == 1:
        both = joined([model.runs, means(grouped(runs, model.identified))])
        fitted = communication_model(both, scaling_of(both), law)
        return replace(model, communication=fitted), CommunicationRuns((ordered[0].processes,))
    last = ordered[-1]
    mask = np.array([point == last for point in points])
    verdict = refine_communication(model, runs.rows(~mask), runs.rows(mask), law)
    return verdict.model, CommunicationRuns(tuple(point.processes for point in ordered[:-1]), last.processes, verdict)


# --- What was measured, and what to tell ------------------------------------------------------------------------


def _measured(run: CounterTable, identified: Kernels) -> HeldBackRun:
    """Return the parts of a run that was held back; waits as they show in its time (BF_comm T_comm)."""
    rows = means(grouped(run, identified))
    times = run_times(rows, scaling_of(rows))
    kernels = {}
    for name in dict.fromkeys(rows.kernels):
        if name not in (APPLICATION, OTHERS):
            kernels[name] = float(busy_s(rows.of(name)).sum())
    factor = float(times.blocking_factor[0])
    if kernels and not (rows.communication_s > 0).any():
        factor = 0.0
    others = float(times.others_s[0]) if OTHERS in rows.kernels else (0.0 if kernels else float("nan"))
    return HeldBackRun(
        float(times.total_s[0]), kernels, factor * float(times.p2p_s[0]), factor * float(times.collective_s[0]), others
    )


def _clock_notes(model: ApplicationModel, evidence: CounterTable | None) -> list[str]:
    if evidence is None:
        return []
    ours, theirs = (mean_clock(table) for table in (model.runs, evidence))
    if abs(ours - theirs) > MEASURED_CLOCK * ours:  # false for what is not known
        return [f"The runs held back were at {theirs / 1e9:.4g} GHz, the fitted ones at {ours / 1e9:.4g} GHz."]
    return []


def _unexplained(model: ApplicationModel) -> list[str]:
    """Return times of communication that vary, but not with what their models say."""
    times, communication = run_times(model.runs, model.scaling), model.communication
    both = (
        ("Point-to-point", times.p2p_s, communication.p2p.r2),
        ("Collective", times.collective_s, communication.collective.r2),
    )
    return [
        f"{name} time of a process goes from {seconds.min():.3g} to {seconds.max():.3g} s in the runs, which bytes and "
        f"P hardly explain (R2 = {r2:.2g}): its prediction is a guess."
        for name, seconds, r2 in both
        if seconds.max() - seconds.min() > _VARIES * seconds.max() and r2 < _EXPLAINED
    ]


def _model_notes(model: ApplicationModel, targets: Sequence[Target], clocks: FrequencyRefinement | None) -> list[str]:
    """Return notes on far extrapolation, and on constants that are not constant."""
    notes = []
    profiled = model.runs.column("processes")
    most = float(profiled.max())
    far = [target for target in targets if target.processes > _FAR * most]
    if far:
        largest = max(target.processes for target in far)
        notes.append(f"{largest:g} is {largest / most:.3g} times the largest profiled number of processes, {most:g}.")
    fitted = sorted({target.processes for target in targets if target.size is None} & set(profiled.tolist()))
    if fitted:
        listed = ", ".join(f"{P:g}" for P in fitted)
        notes.append(f"P = {listed} was used in the fit: the values there are not predictions.")
    notes += _unexplained(model)
    refined = {one.kernel for one in clocks.kernels} if clocks else set()
    return notes + [
        f"Kernel {kernel.name!r}: its CPI differs between the runs (standard deviation "
        f"{100 * kernel.cpi_variance**0.5 / kernel.cpi:.0f} % of the mean), but is taken as a constant."
        for kernel in model.kernels
        if kernel.name not in refined and kernel.cpi_variance**0.5 > _SPREAD * kernel.cpi
    ]
