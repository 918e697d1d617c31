"""Models of hardware counters and what they predict as plain numbers, for JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from simcodesign.counters.forms import BestForm, Law, NormalForm
from simcodesign.counters.models import ApplicationModel, KernelModel
from simcodesign.counters.prediction import miss_shares, optimization_advice
from simcodesign.counters.study import CounterStudy, Forecast
from simcodesign.report.counters.tables import COUNTERS, all_notes, assumed, law_text, reach_of
from simcodesign.report.fits.tables import model_dict


def study_dict(study: CounterStudy) -> dict[str, Any]:
    """All numbers in full; what is not known stays nan."""
    model, scaling = study.model, study.model.scaling
    return {
        "processes": list(model.identified.processes),
        "scaling": {"kind": scaling.kind, "size": scaling.size, "size_per_process": scaling.work},
        "latencies": vars(study.latencies),
        "latencies_assumed": assumed(study),
        "guard": study.guard,
        "kernels": [_kernel_dict(model, kernel) for kernel in model.kernels],
        "rest": list(model.identified.rest),
        "communication": _communication_dict(model),
        "others_s": law_dict(model.others, reach_of(model)) if model.others else None,
        "misses": [vars(miss) for miss in miss_shares(model.runs)],
        "refined_by_frequencies": _clocks_dict(study),
        "refined_by_further_runs": _further_dict(study),
        "predictions": [_forecast_dict(forecast) for forecast in study.forecasts],
        "notes": list(all_notes(study)),
    }


def law_dict(law: Law, reach: Mapping[str, float]) -> dict[str, Any]:
    """A law as text and numbers: the best form, or a model of the normal form."""
    head = {"text": law_text(law, reach), "r2": law.r2}
    if isinstance(law, BestForm):
        best = law.forms[0]
        return {**head, "form": best.kind, "axis": best.axis, "a": best.a, "b": best.b}
    return {**head, "form": "normal form", **(model_dict(law.fit.model) if isinstance(law, NormalForm) else {})}


def _kernel_dict(model: ApplicationModel, kernel: KernelModel) -> dict[str, Any]:
    found = {one.name: one for one in model.identified.kernels}.get(kernel.name)
    return {
        "name": kernel.name,
        "scales": kernel.scales,
        "key": found.key if found else False,
        "shares": list(found.shares if found else model.identified.rest_shares),
        "exponent": found.exponent if found else None,
        "cpi": kernel.cpi,
        "cpi_variance": kernel.cpi_variance,
        "frequency_hz": kernel.frequency_hz,
        "counters": {name: law_dict(law, reach_of(model)) for name, law in kernel.counters.items()},
        "time_s": law_dict(kernel.time, reach_of(model)) if kernel.time else None,
        "refined": vars(kernel.refined) if kernel.refined else None,
    }


def _communication_dict(model: ApplicationModel) -> dict[str, Any]:
    found = model.communication
    return {
        "blocking_factor": found.blocking_factor,
        "p2p_bytes": law_dict(found.p2p_bytes, reach_of(model)),
        "p2p": vars(found.p2p),
        "collective_bytes": law_dict(found.collective_bytes, reach_of(model)),
        "collective": vars(found.collective),
    }


def _clocks_dict(study: CounterStudy) -> dict[str, Any] | None:
    if study.clocks is None:
        return None
    kernels = [{**vars(one), "after": vars(one.after)} for one in study.clocks.kernels]
    return {**vars(study.clocks), "kernels": kernels}


def _further_dict(study: CounterStudy) -> dict[str, Any] | None:
    if (further := study.communication) is None:
        return None
    verdict = further.verdict
    names = ("measured_s", "before_s", "after_s")
    answer = {name: getattr(verdict, name) for name in names} if verdict else None
    return {"fitted": further.fitted, "kept": further.kept, "verdict": answer}


def _forecast_dict(forecast: Forecast) -> dict[str, Any]:
    found, run = forecast.prediction, forecast.measured
    breakdown = found.breakdown
    kernels = [
        {**vars(kernel), "seconds": kernel.seconds, "blocking_factor": kernel.blocking_factor}
        for kernel in breakdown.kernels
    ]
    parts = {
        "kernels": kernels,
        "p2p_s": breakdown.p2p_s,
        "collective_s": breakdown.collective_s,
        "blocking_factor": breakdown.blocking_factor,
        "communication_s": breakdown.communication_s,
        "others_s": breakdown.others_s,
    }
    return {
        "processes": breakdown.processes,
        "size": breakdown.size,
        "seconds": found.seconds,
        **parts,
        "volume_ratio": found.volume_ratio,
        "baselines": found.baselines,
        "measured": {**vars(run), "kernels": dict(run.kernels)} if run else None,
        "errors": _errors(forecast) if run else None,
        "advice": list(optimization_advice(breakdown)),
    }


def _errors(forecast: Forecast) -> dict[str, float]:
    """Relative errors against the run that was held back."""
    assert forecast.measured is not None
    total, found = forecast.measured.total_s, forecast.prediction
    every = {COUNTERS: found.seconds, **found.baselines}
    return {name: seconds / total - 1 if total > 0 else math.nan for name, seconds in every.items()}
