"""A server at many points, as a table."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from simcodesign.report.common.numbers import Digits, Seconds
from simcodesign.report.common.tables import new_table, paragraph
from simcodesign.studies.serving.points import ServedPoint, ServedPoints
from simcodesign.studies.serving.serve import ServingComparison

#: Quantities of the table, with their names; the last one is a rate.
_TIMES = {
    "first_token_p50_s": "first token, p50",
    "first_token_p99_s": "first token, p99",
    "latency_p99_s": "latency, p99",
}
_TOKENS = "tokens_per_s"


def point_tables(points: ServedPoints) -> Iterator[RenderableType]:
    """Yield a row for each point, with both readings, and the reasons why points have none."""
    yield paragraph(f"{points.workload} on {points.machine}: one server at {len(points.points)} points", bold=True)
    served = [one.served for one in points.points if one.served is not None]
    if served:
        yield _table(points, served)
    if any(one.forecast is None for one in served):
        yield paragraph("Without a forecast the server saturates: simulated times grow with the number of requests.")
    reasons: dict[str, list[ServedPoint]] = {}
    for point in points.points:
        if point.served is None:
            reasons.setdefault(point.reason, []).append(point)
    for reason, failed in reasons.items():
        yield paragraph(f"No answer at {len(failed)} of the points, first at {_words(failed[0])}: {reason}")


def _table(points: ServedPoints, served: list[ServingComparison]) -> RenderableType:
    """Return the points that have an answer."""
    show = Seconds(one.means[name].mean for one in served for name in _TIMES)
    digits = Digits(one.means[_TOKENS].mean for one in served)
    names = [axis.name for axis in points.axes]
    heads = [f"{about}{reading}" for about in _TIMES.values() for reading in (", forecast", ", simulated")]
    table = new_table(f"Times ({show.unit}), and tokens per second", *names, *heads, "tokens/s", "batches of")
    for point in points.points:
        if (one := point.served) is None:
            continue
        means, forecasts = one.means, one.forecasts
        cells = [_value(point, name) for name in names]
        for name in _TIMES:
            cells += [show(forecasts[name]) if forecasts else "-", show(means[name].mean)]
        table.add_row(*cells, digits(means[_TOKENS].mean), f"{means['mean_batch'].mean:.3g}")
    return table


def _value(point: ServedPoint, name: str) -> str:
    value = point.values[name]
    return value if isinstance(value, str) else f"{value:g}"


def _words(point: ServedPoint) -> str:
    return ", ".join(f"{name} = {_value(point, name)}" for name in point.values)
