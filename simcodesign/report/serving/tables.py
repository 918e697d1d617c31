"""A server by both readings, as tables."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from simcodesign.core.serving_result import ServingResult
from simcodesign.report.common.numbers import Digits, Seconds, signed_percent
from simcodesign.report.common.tables import dashed_list, facts, new_table, paragraph
from simcodesign.studies.replication.output_analysis import Interval
from simcodesign.studies.serving.serve import ServingComparison

#: Quantities in seconds, and others, with their names.
_TIMES = {
    "waiting_s": "wait before the prefill, mean",
    "first_token_s": "time to first token, mean",
    "first_token_p50_s": "time to first token, p50",
    "first_token_p99_s": "time to first token, p99",
    "between_tokens_s": "time per further token",
    "latency_s": "latency, mean",
    "latency_p50_s": "latency, p50",
    "latency_p99_s": "latency, p99",
}
_NUMBERS = {
    "tokens_per_s": "tokens per second",
    "requests_per_s": "requests per second",
    "utilisation": "utilisation",
    "mean_batch": "requests in the batch",
    "in_system": "requests in the system",
}


def serving_tables(served: ServingComparison) -> Iterator[RenderableType]:
    """Yield a headline, the tables of times and of numbers, and what the forecast is from."""
    yield paragraph(f"{served.workload} on {served.machine}: one server", bold=True)
    yield facts(_facts(served, served.runs[0]))
    columns = ("forecast", "simulated", "±", "error")
    means, forecasts = served.means, served.forecasts
    show = Seconds([means[name].mean for name in _TIMES])
    times = new_table(f"Times ({show.unit})", "quantity", *columns)
    for name, about in _TIMES.items():
        times.add_row(about, *_cells(forecasts.get(name), means[name], show))
    yield times
    numbers = new_table("Rates and numbers", "quantity", *columns)
    for name, about in _NUMBERS.items():
        numbers.add_row(about, *_cells(forecasts.get(name), means[name], Digits([means[name].mean])))
    yield numbers
    if served.forecast is not None:
        yield dashed_list(served.forecast.basis, "The forecast")
    else:
        yield paragraph(f"No forecast: {served.saturated}. Simulated times grow with the number of requests.")


def _facts(served: ServingComparison, run: ServingResult) -> Iterator[tuple[str, str]]:
    """Facts of the forecast and the simulation."""
    yield "rate", f"{run.rate_per_s:g} requests per second"
    if served.forecast is not None and served.forecast.saturation_per_s is not None:
        yield "saturates at", f"{served.forecast.saturation_per_s:.4g} requests per second"
    yield "batching", f"{'continuous' if run.continuous else 'static'}, up to {run.largest_batch} requests"
    count = len(served.runs)
    yield "simulated", f"{'once' if count == 1 else f'{count} times'}; intervals of {100 * served.level:g} %"
    yield "effects", ", ".join(served.effects) or "none"


def _cells(forecast: float | None, simulated: Interval, show: Seconds | Digits) -> Iterator[str]:
    """Forecast, simulation, half of its interval, and the error of the forecast."""
    yield "-" if forecast is None else show(forecast)
    yield show(simulated.mean)
    yield "" if simulated.same or simulated.count < 2 else show(simulated.half_width)
    same = forecast is None or not simulated.mean
    yield "-" if same else signed_percent((forecast or 0.0) / simulated.mean - 1)
