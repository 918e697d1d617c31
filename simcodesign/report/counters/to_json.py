"""Models of hardware counters and what they predict as plain numbers, for JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from simcodesign.core.to_json import attributes_of, fields_of
from simcodesign.counters.fit_and_predict import CommunicationRuns, CounterPredictions, TargetPrediction
from simcodesign.counters.forms import BestForm, Law, NormalForm
from simcodesign.counters.models import ApplicationModel, KernelModel
from simcodesign.counters.prediction import miss_fractions, optimization_advice
from simcodesign.report.counters.model_tables import law_text, reach_of
from simcodesign.report.counters.tables import COUNTERS, all_notes, assumed
from simcodesign.report.fits.tables import model_dict


def study_dict(study: CounterPredictions) -> dict[str, Any]:
    """All numbers in full; what is not known stays nan."""
    model = study.model
    return attributes_of(
        study,
        *("guard", "latencies"),
        processes="model.identified.processes",
        rest="model.identified.rest",
        refined_by_frequencies="clocks",
    ) | {
        "scaling": attributes_of(model.scaling, "kind", "size", size_per_process="work"),
        "latencies_assumed": assumed(study),
        "kernels": [_kernel_dict(model, kernel) for kernel in model.kernels],
        "communication": _communication_dict(model),
        "others_s": law_dict(model.others, reach_of(model)) if model.others else None,
        "misses": list(miss_fractions(model.runs)),
        "refined_by_further_runs": study.communication and _further_dict(study.communication),
        "profiling": [fields_of(one, "overhead") for one in study.profiling],
        "predictions": [_forecast_dict(forecast) for forecast in study.forecasts],
        "notes": list(all_notes(study)),
    }


def law_dict(law: Law, reach: Mapping[str, float]) -> dict[str, Any]:
    """Return a law as text and numbers: the best form, or a model of the normal form."""
    head = {"text": law_text(law, reach), "r2": law.r2}
    if isinstance(law, BestForm):
        return head | attributes_of(law.forms[0], "axis", "a", "b", form="kind")
    return {**head, "form": "normal form", **(model_dict(law.fit.model) if isinstance(law, NormalForm) else {})}


def _kernel_dict(model: ApplicationModel, kernel: KernelModel) -> dict[str, Any]:
    identified = {one.name: one for one in model.identified.kernels}.get(kernel.name)
    return attributes_of(kernel, "name", "scales", "cpi", "cpi_variance", "frequency_hz", "refined") | {
        "key": identified.key if identified else False,
        "fractions": identified.fractions if identified else model.identified.rest_fractions,
        "exponent": identified.exponent if identified else None,
        "counters": {name: law_dict(law, reach_of(model)) for name, law in kernel.counters.items()},
        "time_s": law_dict(kernel.time, reach_of(model)) if kernel.time else None,
    }


def _communication_dict(model: ApplicationModel) -> dict[str, Any]:
    communication = model.communication
    laws = {name: law_dict(getattr(communication, name), reach_of(model)) for name in ("p2p_bytes", "collective_bytes")}
    return attributes_of(communication, "blocking_factor", "p2p", "collective") | laws


def _further_dict(further: CommunicationRuns) -> dict[str, Any]:
    times = further.verdict and attributes_of(further.verdict, "measured_s", "before_s", "after_s")
    return fields_of(further) | {"verdict": times}


def _forecast_dict(forecast: TargetPrediction) -> dict[str, Any]:
    prediction, breakdown = forecast.prediction, forecast.prediction.breakdown
    shown = fields_of(breakdown, "communication_s", "seconds")
    shown |= attributes_of(prediction, "volume_ratio", "baselines")
    return shown | {
        "kernels": [fields_of(kernel, "seconds", "blocking_factor") for kernel in breakdown.kernels],
        "seconds": prediction.seconds,
        "measured": forecast.measured,
        "errors": _errors(forecast) if forecast.measured else None,
        "advice": list(optimization_advice(breakdown)),
    }


def _errors(forecast: TargetPrediction) -> dict[str, float]:
    """Relative errors against the run that was held back."""
    assert forecast.measured is not None
    total, prediction = forecast.measured.total_s, forecast.prediction
    every = {COUNTERS: prediction.seconds, **prediction.baselines}
    return {name: seconds / total - 1 if total > 0 else math.nan for name, seconds in every.items()}
