"""Requirements of a recorded program as tables and JSON: models, their errors, and the recording that was held out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType

from simcodesign.core.to_json import attributes_of
from simcodesign.core.units import format_quantity
from simcodesign.fitting.measurements import point_text
from simcodesign.report.common.tables import dashed_list, new_table, text_table
from simcodesign.report.fits.tables import model_dict, percent
from simcodesign.studies.recorded.requirements import Requirements

#: Errors in percent below which two numbers are the same: rounding.
_ROUNDING_PERCENT = 1e-9


def recorded_tables(found: Requirements) -> Iterator[RenderableType]:
    """Yield a table of the requirements, one of the times on each machine, and what the models do not say."""
    held_out = point_text(found.parameters, found.held_out)
    names = ("requirement", "model", "at the points", f"at {held_out}", "recorded", "off")
    table = new_table("Requirements per rank", "phase", *names)
    for column in table.columns[1:3]:
        column.justify = "left"
    for one in found.requirements:
        table.add_row(
            one.phase,
            one.metric,
            one.model.text,
            _error(one.fit.smape),
            f"{one.predicted:.6g}",
            f"{one.recorded:.6g}",
            _error(100 * one.error),
        )
    yield table
    yield (
        f"Fitted at {len(found.points)} points; {held_out} is not among them. Maximum over the ranks; seconds: "
        "the mean of all ranks; bytes_used: NumPy arrays that variables hold. at the points: SMAPE.\n"
    )
    columns = ("forecast", "of the models", "off", "simulated", "of the models", "off")
    times = text_table(f"Time of the program at {held_out}", "machine", *columns, right=columns)
    for each in found.times:
        pairs = (
            (each.recorded_forecast_s, each.fitted_forecast_s),
            (each.recorded_simulated_s, each.fitted_simulated_s),
        )
        cells = [cell for recorded_s, fitted_s in pairs for cell in _compared(recorded_s, fitted_s)]
        times.add_row(each.machine, *cells)
    yield times
    yield dashed_list(_remarks(found))


def recorded_dict(found: Requirements) -> Mapping[str, Any]:
    """Return what the JSON contains."""
    rows = [
        attributes_of(one, "phase", "metric", "predicted", "recorded", "error")
        | {"smape_percent": one.fit.smape, "model": model_dict(one.model)}
        for one in found.requirements
    ]
    held_out = dict(zip(found.parameters, found.held_out.tolist(), strict=True))
    return attributes_of(found, "parameters", "points", "times") | {"held_out": held_out, "requirements": rows}


def _compared(recorded_s: float, fitted_s: float) -> tuple[str, str, str]:
    """Both times, and by what the fitted one differs."""
    off = _error(100 * abs(fitted_s / recorded_s - 1)) if recorded_s else "-"
    return format_quantity(recorded_s, "time"), format_quantity(fitted_s, "time"), off


def _error(in_percent: float) -> str:
    return "exact" if in_percent < _ROUNDING_PERCENT else percent(in_percent)


def _remarks(found: Requirements) -> Iterator[str]:
    """Warnings of the fits, each once, with the requirements that they are about."""
    about: dict[str, list[str]] = {}
    for one in found.requirements:
        for _, sentence in one.fit.warnings:
            about.setdefault(sentence, []).append(f"{one.phase} {one.metric}")
    for sentence, names in about.items():
        yield sentence if len(names) == len(found.requirements) else f"{', '.join(names)}: {sentence}"
