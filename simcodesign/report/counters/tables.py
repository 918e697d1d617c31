"""Models of hardware counters and what they predict, as tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from simcodesign.counters.fit_and_predict import CounterPredictions, HeldBackRun, TargetPrediction
from simcodesign.counters.kernels import REST
from simcodesign.counters.models import LEVELS, Breakdown
from simcodesign.counters.prediction import Miss, kernels_above, miss_fractions, optimization_advice
from simcodesign.counters.profiling import ProfilingQuality
from simcodesign.counters.runs import MIXED, STRONG, WEAK
from simcodesign.counters.table import LATENCIES
from simcodesign.report.common.numbers import Seconds, quantity
from simcodesign.report.common.tables import dashed_list, facts, new_table, paragraph
from simcodesign.report.counters.model_tables import (
    ROUNDING,
    laws_of,
    model_table,
    model_words,
    r2_text,
)

#: Columns of the table of kernels that are left out if nothing is known, and what they mean.
MORE_WORDS = {
    "CPI": "cycles per instruction of computation, mean over the runs",
    "BF_mem": "share of the time of memory accesses that is not hidden, on P = {P}",
    "E": "largest share of accesses that miss the last-level cache",
}


#: Names of functions that a sentence lists.
_NAMED = 8


#: Letters of a kernel's name that stay together in a narrow table.
_NAME = 12


SCALING_WORDS = {STRONG: "strong scaling", WEAK: "weak scaling", MIXED: "several sizes"}


COUNTERS = "counters"


NO_ADVICE = "No part but computation that scales takes a tenth of the time: fewer instructions, or a lower CPI."


def counter_tables(study: CounterPredictions) -> Iterator[RenderableType]:
    """Yield the runs, the kernels, the models, every prediction, and what to do."""
    yield facts(_facts(study))
    kernels = kernel_table(study)
    yield kernels
    if words := _rest_words(study, [str(column.header) for column in kernels.columns]):
        yield paragraph(words)
    yield model_table(study.model)
    if words := model_words(study.model):
        yield paragraph(words)
    yield from _refinements(study)
    if study.profiling:
        yield profiling_table(study.profiling)
        if words := _overhead_words(study.profiling):
            yield paragraph(words)
    for forecast in study.forecasts:
        yield Text(f"Predicted for {place_text(forecast)}", style="bold")
        yield breakdown_table(forecast)
        yield rival_table(forecast)
        advice = optimization_advice(forecast.prediction.breakdown) or (NO_ADVICE,)
        yield dashed_list(advice, "Where time could be saved:")
    yield dashed_list(all_notes(study), "Notes:")


def profiling_table(profiling: Sequence[ProfilingQuality]) -> Table:
    """Return the error of sampled shares and the overhead of profiling, a row for each number of processes."""
    heads = ("kernels", "NRMSE", "largest difference", "profiled", "not profiled", "overhead")
    table = new_table("Profiling", "P", *heads)
    for one in profiling:
        pair, overhead = one.largest, one.overhead
        table.add_row(
            f"{one.processes:g}",
            f"{one.kernels}" if one.kernels else "-",
            _short(one.nrmse),
            f"{pair.kernel}: {pair.sampled:.2%} for {pair.instrumented:.2%}" if pair else "-",
            *(_second(time) if math.isfinite(time) else "-" for time in (one.profiled_s, one.unprofiled_s)),
            f"{overhead:+z.2%}" if math.isfinite(overhead) else "-",
        )
    return table


def _overhead_words(profiling: Sequence[ProfilingQuality]) -> str:
    """Return the mean overhead of several runs."""
    overheads = [one.overhead for one in profiling if math.isfinite(one.overhead)]
    return f"Mean overhead of profiling: {np.mean(overheads):+z.2%}" if len(overheads) > 1 else ""


def _facts(study: CounterPredictions) -> Iterator[tuple[str, str]]:
    runs, scaling = study.model.runs, study.model.scaling
    processes = sorted(set(runs.column("processes").tolist()))
    how = SCALING_WORDS[scaling.kind]
    if scaling.known:
        at = f"size {scaling.size:g}" if scaling.kind == STRONG else f"{scaling.work:g} of the size to a process"
        how = f"{how}, {at}"
    else:
        how = "taken as strong scaling: the runs do not say their size"
    yield ("runs", f"P = {', '.join(f'{P:g}' for P in processes)} ({how})")
    hz = study.model.kernels[0].frequency_hz
    clock = runs.column("frequency_hz")
    remark = "" if not np.isnan(clock).all() else " (cycles over time: the runs do not say their frequency)"
    yield ("clock", quantity(hz, "Hz") + remark if math.isfinite(hz) else "not known")
    used = study.latencies
    caches = ", ".join(f"{cycles:.3g}" for cycles in (used.l1_cycles, used.l2_cycles, used.llc_cycles))
    if any(kernel.counters.keys() >= set(LEVELS) for kernel in study.model.kernels):
        remark = "assumed: " if assumed(study) else ""
        memory = quantity(used.memory_s, "s")
        yield ("latencies", f"{remark}{caches} cycles (L1, L2, LLC), {memory} (memory)")
    yield ("guard", guard_words(study))


def assumed(study: CounterPredictions) -> bool:
    """Whether latencies are the defaults used without a machine."""
    return study.latencies is LATENCIES


def guard_words(study: CounterPredictions) -> str:
    """E of the runs, and whether another size is predicted."""
    misses = miss_fractions(study.model.runs)
    if not misses:
        return "E is not known: accesses to memory were not counted"
    worst = misses[0]
    alike = len(kernels_above(misses, worst.fraction * (1 - ROUNDING))) - 1
    more = f" and {alike} more" if alike > 0 else ""
    at = f"E up to {worst.fraction:.3g} (kernel {worst.kernel}{more}, P = {worst.processes:g})"
    if study.guard is None:
        return f"{at}; switched off"
    if worst.fraction > study.guard:
        return f"{at}, above {study.guard:g}: no other size is predicted"
    return f"{at}, not above {study.guard:g}: other sizes may be predicted"


def kernel_table(study: CounterPredictions) -> Table:
    """Return the identified kernels: shares, how their time goes with P, CPI, blocking factor, misses."""
    model = study.model
    first, last = (f"P={model.identified.processes[place]:g}" for place in (0, -1))
    identified = {kernel.name: kernel for kernel in model.identified.kernels}
    worst = _worst(miss_fractions(model.runs))
    last_run = model.at(float(max(model.identified.processes)))
    factors = {time.name: time.blocking_factor for time in last_run.kernels}
    rows = []
    for kernel in model.kernels:
        one = identified.get(kernel.name)
        shares = one.fractions if one else model.identified.rest_fractions
        exponent = f"P^{one.exponent:.2f}" if one and math.isfinite(one.exponent) else "-"
        error = f"{worst[kernel.name].fraction:.2g}" if kernel.name in worst else ""
        cpi, factor = (
            f"{x:.{digits}g}" if math.isfinite(x) else "" for x, digits in ((kernel.cpi, 4), (factors[kernel.name], 2))
        )
        rows.append(
            (
                kernel.name,
                f"{shares[0]:.1%}",
                f"{shares[-1]:.1%}",
                exponent,
                "yes" if kernel.scales else "NO",
                cpi,
                factor,
                error,
            )
        )
    heads = ("kernel", first, last, "time", "scales", *MORE_WORDS)
    shown = [place for place in range(len(heads)) if any(row[place] for row in rows)]
    table = new_table("Kernels, and their shares of the time", *(heads[place] for place in shown))
    table.columns[0].min_width = _NAME
    for column in table.columns[1:]:
        column.no_wrap = True
    for row in rows:
        table.add_row(*(row[place] or "-" for place in shown))
    return table


def _worst(misses: Iterable[Miss]) -> dict[str, Miss]:
    """Return the largest miss of each kernel, from misses with the largest first."""
    largest: dict[str, Miss] = {}
    for miss in misses:
        largest.setdefault(miss.kernel, miss)
    return largest


def _rest_words(study: CounterPredictions, shown: Sequence[str]) -> str:
    """Explanation of the rest, and of columns."""
    rest = study.model.identified.rest
    more = f" and {len(rest) - _NAMED} more" if len(rest) > _NAMED else ""
    parts = [f"{REST}: {', '.join(rest[:_NAMED])}{more}, of small shares and with times that fall."] if rest else []
    last = f"{max(study.model.identified.processes):g}"
    parts += [f"{name}: {words.format(P=last)}." for name, words in MORE_WORDS.items() if name in shown]
    return " ".join(parts)


def _refinements(study: CounterPredictions) -> Iterator[RenderableType]:
    if (clocks := study.clocks) is not None:
        runs = ", ".join(f"{P:g}" for P in clocks.processes)
        pair = f"{quantity(clocks.high_hz, 'Hz')} and {quantity(clocks.low_hz, 'Hz')}"
        title = f"Refined with runs at {pair}, P = {runs}"
        table = new_table(title, "kernel", "CPI before", "CPI_core", "BF_mem before", "BF_mem")
        for one in clocks.kernels:
            cells = (one.cpi_before, one.after.cpi_core, one.blocking_before, one.after.blocking_factor)
            table.add_row(one.kernel, *(_short(cell) for cell in cells))
        yield table
    if (further := study.communication) is not None:
        runs = ", ".join(f"{P:g}" for P in further.fitted)
        text = f"Communication was fitted again with further runs on P = {runs}."
        if further.verdict is not None:
            verdict, show = further.verdict, _second
            text += (
                f" On P = {further.kept:g}, kept for validation, it was {show(verdict.measured_s)}; modelled before "
                f"{show(verdict.before_s)} ({_error(verdict.before_s, verdict.measured_s)}), now "
                f"{show(verdict.after_s)} ({_error(verdict.after_s, verdict.measured_s)})."
            )
        yield paragraph(text)


def part_rows(breakdown: Breakdown) -> Iterator[tuple[str, float, float, float]]:
    """Name, computation, memory stalls and communication or other time of each part, in s; waits times BF_comm."""
    for kernel in breakdown.kernels:
        yield kernel.name, kernel.compute_s, kernel.memory_s, 0.0
    factor = breakdown.blocking_factor
    yield "point-to-point", 0.0, 0.0, factor * breakdown.p2p_s
    yield "collective", 0.0, 0.0, factor * breakdown.collective_s
    yield "others", 0.0, 0.0, breakdown.others_s


def breakdown_table(forecast: TargetPrediction) -> Table:
    """Equation 2 part by part, and the measurement, if a run was held back."""
    breakdown, run = forecast.prediction.breakdown, forecast.measured
    rows = [*part_rows(breakdown)]
    measured = _measured_parts(run) if run else {}
    show = Seconds([sum(row[1:]) for row in rows] + [breakdown.seconds, *([run.total_s] if run else [])])
    heads = ("measured", "error") if run else ()
    table = new_table("", f"part ({show.unit})", "computation", "memory", "time", "fraction", *heads)
    table.title = None
    for name, compute_s, memory_s, other_s in rows:
        seconds = compute_s + memory_s + other_s
        if not seconds and not measured.get(name):
            continue
        cells = [show(compute_s) if compute_s else "", show(memory_s) if memory_s else "", show(seconds)]
        cells.append(f"{seconds / breakdown.seconds:.1%}" if breakdown.seconds else "-")
        table.add_row(name, *cells, *(_against(seconds, measured.get(name, math.nan), show) if run else ()))
    table.add_section()
    whole = [show(breakdown.compute_s), show(breakdown.memory_s), show(breakdown.seconds), ""]
    table.add_row("total", *whole, *(_against(breakdown.seconds, run.total_s, show) if run else ()), style="bold")
    return table


def place_text(forecast: TargetPrediction) -> str:
    """``P = 128, size 1e+06``."""
    breakdown = forecast.prediction.breakdown
    size = f", size {breakdown.size:g}" if math.isfinite(breakdown.size) else ""
    ratio = forecast.prediction.volume_ratio
    return f"P = {breakdown.processes:g}{size}" + (f", volumes of messages x {ratio:.4g}" if ratio != 1 else "")


def _measured_parts(run: HeldBackRun) -> dict[str, float]:
    waits = {"point-to-point": run.p2p_s, "collective": run.collective_s, "others": run.others_s}
    return {**run.kernels, **waits}


def _against(seconds: float, measured: float, show: Seconds) -> tuple[str, str]:
    return show(measured), _error(seconds, measured)


def _error(seconds: float, measured: float) -> str:
    if not (math.isfinite(measured) and measured > 0):
        return "-"
    return f"{seconds / measured - 1:+z.1%}"


def rival_table(forecast: TargetPrediction) -> Table:
    """Return the prediction and the two models that use total times only."""
    prediction, run = forecast.prediction, forecast.measured
    show = Seconds([prediction.seconds, *prediction.baselines.values(), *([run.total_s] if run else [])])
    heads = (f"measured {show(run.total_s)}",) if run else ()
    table = new_table("", "model", f"time ({show.unit})", "against counters", *(f"error, {head}" for head in heads))
    table.title = None
    for name, seconds in {COUNTERS: prediction.seconds, **prediction.baselines}.items():
        label = name if name == COUNTERS else f"T = {name}"
        if seconds < 0:  # no time
            table.add_row(label, "-", "-", *(["-"] if run else []))
            continue
        beside = "" if name == COUNTERS else _error(seconds, prediction.seconds)
        table.add_row(label, show(seconds), beside, *([_error(seconds, run.total_s)] if run else []))
    return table


def all_notes(study: CounterPredictions) -> Iterator[str]:
    """Yield notes of the study, then notes of the predictions, each once."""
    texts = [*study.notes]
    for forecast in study.forecasts:
        texts += forecast.prediction.notes
    poor = [
        f"{kernel.name} ({counter})"
        for kernel in study.model.kernels
        for counter, law in laws_of(kernel)
        if r2_text(law) != "-" and law.r2 < 0.9
    ]
    if poor:
        texts.append(f"Models that explain less than 90 % of what their counter does: {', '.join(poor)}.")
    yield from dict.fromkeys(texts)


def _short(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "-"


def _second(value: float) -> str:
    return quantity(value, "s")
