"""Plots of validation cases as SVG: expected values, with their tolerance, and the readings."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.core.units import format_quantity
from simcodesign.report.common import plot_style
from simcodesign.report.common.numbers import shared_unit
from simcodesign.report.validation.tables import label_text
from simcodesign.studies.validation.case import Case, Readings, Tolerance
from simcodesign.studies.validation.run import Draw
from simcodesign.studies.validation.verdict import CaseValue

#: Characters of a label, and of a line of it: more would leave no room for the values.
MAX_LABEL, LABEL_LINE = 40, 30
#: Colour, marker and name of each series.
LOOKS = {
    "formula": ("#7B3FA0", "^", "formula"),
    "own": ("#CC79A7", "d", "own equations"),
    "forecast": (plot_style.FORECAST, "o", "forecast"),
    "simulation": (plot_style.SIMULATED, "x", "simulation"),
}
#: Inches: narrow enough to be read on a telephone, which shrinks it to fit.
WIDTH = 5.0
#: Beyond this ratio of largest to smallest an axis is logarithmic.
DECADES = 100.0
#: More strips cannot be read; more markers become a picture within the SVG.
MAX_STRIPS, MAX_MARKERS = 40, 400
_BAND = {"facecolor": "#009E73", "alpha": 0.18, "linewidth": 0}
_SPREAD: dict[str, Any] = {"color": plot_style.DARK, "linewidth": 2.5, "alpha": 0.6, "label": "spread of measured"}


def drawer() -> Draw | None:
    """Return the function that draws a case, or None where Matplotlib is missing."""
    try:
        plot_style.load_matplotlib()
    except InputError:
        return None
    return case_svg


def case_svg(case: Case, points: Sequence[CaseValue], readings: Readings) -> str:
    """Return the plot of a case as text of an SVG file, the same for the same values.

    Empty if there is nothing to show.
    """
    shown = [name for name in LOOKS if any(_is_number(getattr(point, name)) for point in points)]
    if not shown and readings.plot is None:
        return ""
    with plot_style.styled("case.svg") as mpl:
        mpl.rcParams.update({"svg.fonttype": "none", "font.family": "sans-serif", "savefig.dpi": 100})
        over_axis = readings.plot is not None or _has_axis(points)
        figure = plot_style.new_figure(mpl, WIDTH, 3.2 if over_axis else 1.25 + 0.26 * min(len(points), MAX_STRIPS))
        axes = figure.subplots()
        if readings.plot is not None:
            readings.plot(axes)
        elif over_axis:
            _over_axis(mpl, axes, case, points, shown)
        else:
            _strips(axes, case, points, shown)
        return _text(figure)


def _text(figure: Any) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def _has_axis(points: Sequence[CaseValue]) -> bool:
    numbers = [isinstance(point.label, int | float) and math.isfinite(point.label) for point in points]
    return len(numbers) >= 3 and all(numbers)


def _is_number(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _over_axis(mpl: Any, axes: Any, case: Case, points: Sequence[CaseValue], shown: Sequence[str]) -> None:
    """Draw expected values as a line with their tolerance, readings as markers, over numeric labels."""
    ordered = sorted(points, key=lambda point: float(point.label))
    places = [float(point.label) for point in ordered]
    numbers = [value for point in ordered for name in ("expected", *shown) if _is_number(value := getattr(point, name))]
    scale, unit = shared_unit(numbers, case.unit)
    scaled = [scale * value for value in numbers]
    margins = [[scale * margin for margin in _margins(case.tolerance, point.expected)] for point in ordered]
    expected = [scale * point.expected for point in ordered]
    if places[0] > 0 and all(math.log2(place).is_integer() for place in places):
        axes.set_xscale("log", base=2)
    elif _spans_decades(places):
        axes.set_xscale("log")
    low = _least(scaled)
    if _spans_decades(scaled):
        axes.set_yscale("log")
    else:
        plot_style.label_ticks(axes.yaxis, _in_full, 6)
    lower = [
        max(value - below, low / 2) if low > 0 else value - below
        for value, (below, _) in zip(expected, margins, strict=True)
    ]
    upper = [value + above for value, (_, above) in zip(expected, margins, strict=True)]
    if all(place.is_integer() for place in places):  # counts: there is nothing between them
        axes.vlines(
            places, lower, upper, label="tolerance", color=_BAND["facecolor"], alpha=_BAND["alpha"], linewidth=9
        )
        axes.plot(
            places, expected, "_", color=plot_style.DARK, markersize=11, markeredgewidth=1.4, label=_expected_word(case)
        )
    else:
        axes.fill_between(places, lower, upper, label="tolerance", **_BAND)
        axes.plot(places, expected, color=plot_style.DARK, linewidth=1.2, label=_expected_word(case))
    _allowed_side(axes, case, places, expected)
    if spreads := _spreads(ordered):
        where, lows, highs = zip(
            *((places[number], scale * low, scale * high) for number, low, high in spreads), strict=True
        )
        axes.vlines(where, lows, highs, **_SPREAD)
    for name in shown:
        pairs = [
            (place, scale * value)
            for place, point in zip(places, ordered, strict=True)
            if _is_number(value := getattr(point, name))
        ]
        _markers(axes, name, [pair[0] for pair in pairs], [pair[1] for pair in pairs])
    for line in (axes.xaxis, axes.yaxis):
        if line.get_scale() == "log" and line.get_transform().base == 10:
            plot_style.log_ticks(mpl, line)
    axes.set_xlabel(plot_style.plain(case.axis))
    axes.set_ylabel(plot_style.plain(_quantity_word(unit)))
    _legend(axes)


def _spreads(points: Sequence[CaseValue]) -> list[tuple[int, float, float]]:
    """Where the spread of what was measured is known: the number of the point, and both ends."""
    known = [(number, point.measured.ends) for number, point in enumerate(points) if point.measured is not None]
    return [(number, *ends) for number, ends in known if ends is not None]


def _expected_word(case: Case) -> str:
    return {"equal": "expected", "at_least": "at least", "at_most": "at most"}[case.tolerance.sense]


def _quantity_word(unit: str) -> str:
    """Return the label of an axis: times by name, pure numbers without a unit."""
    if unit in ("s", "ms", "us", "ns", "ps"):
        return f"time ({unit})"
    return "value" if unit in ("", "1") else unit


def _allowed_side(axes: Any, case: Case, places: Sequence[float], expected: Sequence[float]) -> None:
    """Mark the whole side that a bound allows, as far as the axes go."""
    if case.tolerance.sense == "equal":
        return
    low, high = axes.get_ylim()
    edge = high if case.tolerance.sense == "at_least" else low
    axes.fill_between(places, expected, edge, facecolor=_BAND["facecolor"], alpha=0.08, linewidth=0)


def _least(values: Iterable[float]) -> float:
    return min(values, default=0.0)


def _spans_decades(values: Sequence[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) >= DECADES * min(values)


def _margins(tolerance: Tolerance, expected: float) -> tuple[float, float]:
    """How far below and above what is expected a value may be; a one-sided claim has no margin on its open side."""
    margin = max(tolerance.absolute, tolerance.relative * abs(expected))
    return (0.0 if tolerance.sense == "at_most" else margin), (0.0 if tolerance.sense == "at_least" else margin)


def _markers(axes: Any, name: str, x: Sequence[float], y: Sequence[float]) -> None:
    """Open or crossed, so that equal values do not hide each other."""
    colour, marker, label = LOOKS[name]
    axes.plot(
        x,
        y,
        linestyle="none",
        marker=marker,
        markersize=6,
        markeredgecolor=colour,
        markerfacecolor="none",
        markeredgewidth=1.4,
        label=label,
        rasterized=len(x) > MAX_MARKERS,
    )


def _strips(axes: Any, case: Case, points: Sequence[CaseValue], shown: Sequence[str]) -> None:
    """One strip per value: how far each reading is from the expected value, and the tolerance."""
    cut = f"\nthe first {MAX_STRIPS} of {len(points)} values" if len(points) > MAX_STRIPS else ""
    points = points[:MAX_STRIPS]
    relative = all(point.expected for point in points)
    for row, point in enumerate(points):
        below, above = (_off(margin, point, relative) for margin in _margins(case.tolerance, point.expected))
        axes.barh(row, below + above, left=-below, height=0.8, label="tolerance" if not row else None, **_BAND)
    axes.axvline(0, color=plot_style.DARK, linewidth=1.2, label=_expected_word(case))
    if spreads := _spreads(points):
        off = [[_off(end - points[row].expected, points[row], relative) for end in ends] for row, *ends in spreads]
        axes.hlines([row for row, *_ in spreads], *zip(*off, strict=True), **_SPREAD)
    for name in shown:
        pairs = [
            (_off(value - point.expected, point, relative), row)
            for row, point in enumerate(points)
            if _is_number(value := getattr(point, name))
        ]
        _markers(axes, name, [pair[0] for pair in pairs], [pair[1] for pair in pairs])
    texts = [textwrap.fill(_label(case, point)[:MAX_LABEL], LABEL_LINE) for point in points]
    axes.set_yticks(range(len(points)), [plot_style.plain(text) for text in texts])
    axes.set_ylim(len(points) - 0.5, -0.5)
    axes.margins(x=0.08)
    _centre(axes)
    if case.tolerance.sense != "equal":
        low, high = axes.get_xlim()
        axes.axvspan(
            *((0, high) if case.tolerance.sense == "at_least" else (low, 0)),
            facecolor=_BAND["facecolor"],
            alpha=0.08,
            linewidth=0,
        )
        axes.set_xlim(low, high)
    side = {"equal": "", "at_least": ", allowed to the right", "at_most": ", allowed to the left"}[case.tolerance.sense]
    axes.set_xlabel(
        ("deviation from expected (%)" if relative else plot_style.plain(f"deviation ({case.unit})")) + side + cut
    )
    axes.locator_params(axis="x", nbins=4 if max(map(abs, axes.get_xlim())) < 1e-3 else 6)  # such numbers are long
    plot_style.label_ticks(axes.xaxis, _in_full, 6)
    _legend(axes)


def _label(case: Case, point: CaseValue) -> str:
    if case.axis == "bytes" and isinstance(point.label, int | float):
        return format_quantity(point.label, "size")
    return label_text(point.label)


def _off(difference: float, point: CaseValue, relative: bool) -> float:
    return 100 * difference / abs(point.expected) if relative else difference


def _centre(axes: Any) -> None:
    """Nothing deviates and nothing is allowed to: an axis all the same, in steps that can be read."""
    low, high = axes.get_xlim()
    if not high - low > 1e-13 * max(abs(low), abs(high), 1.0) or max(abs(low), abs(high)) < 1e-13:
        axes.set_xlim(-1.0, 1.0)


def _in_full(value: float, digits: int) -> str:
    """Return a number of a tick: no power of ten and no offset apart from it, which a legend may hide."""
    return f"{value:.{digits}g}"


def _legend(axes: Any) -> None:
    """Above the axes, from the left edge of the picture: it is wider than the axes where their labels are long."""
    entries = axes.get_legend_handles_labels()
    columns = 4 if len(entries[0]) <= 4 else 3
    axes.figure.legend(*entries, loc="outside upper left", ncols=columns, columnspacing=1.2, handletextpad=0.5)
