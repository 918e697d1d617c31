"""The columns of the table of candidates as plots show them: forecast, formulas, simulation, what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from simcodesign.report.common import plot_style
from simcodesign.studies.candidates.several import Candidate, SeveralComparisons

FORECAST, SIMULATED, MEASURED = "forecast", "simulated", "measured"
COLOURS = {FORECAST: plot_style.FORECAST, SIMULATED: plot_style.SIMULATED, MEASURED: plot_style.MEASURED}
#: Colours of formulas, and their markers; of more formulas, the first ones are plotted.
_FORMULAS = ("#009E73", "#CC79A7", "#8C6D31", "#F0E442", "#7B3FA0")
_MARKERS = "^vDPX"
NAN = float("nan")


@dataclass(frozen=True)
class Series:
    """A column of the table of candidates: ``time_s`` of each (nan for none), and the ends of its interval."""

    name: str
    colour: str
    look: dict[str, Any]
    time_s: Callable[[Candidate], float]
    ends_s: Callable[[Candidate], tuple[float, float]] | None = None


def series_of(several: SeveralComparisons) -> Iterator[Series]:
    """Yield the columns that any candidate has: forecast, formulas, simulation, measurement."""
    yield Series(FORECAST, COLOURS[FORECAST], {"linestyle": "--", "linewidth": 1.3}, lambda one: one.forecast_s)
    names = dict.fromkeys(formula.name for one in several.comparisons for formula in one.comparison.formulas)
    for name, colour, marker in zip(names, _FORMULAS, _MARKERS, strict=False):
        look = {"linestyle": ":", "linewidth": 1.3, "marker": marker, "markersize": 4}
        shown = name if name.startswith("formula") else f"{name} (formula)"
        yield Series(shown, colour, look, lambda one, name=name: _formula_s(one, name))  # type: ignore[misc]
    look = {"linestyle": "-", "linewidth": 1.4, "marker": "o", "markersize": 3.5}
    yield Series(
        SIMULATED,
        COLOURS[SIMULATED],
        look,
        lambda one: one.simulated.mean,
        lambda one: (one.simulated.low, one.simulated.high),
    )
    if any(one.measured for one in several.comparisons):
        look = {"marker": "s", "markersize": 6, "markerfacecolor": "none", "markeredgewidth": 1.3, "linestyle": ""}
        yield Series(MEASURED, COLOURS[MEASURED], look, measured_s, _spread_s)


def _formula_s(one: Candidate, name: str) -> float:
    return next((formula.total_s for formula in one.comparison.formulas if formula.name == name), NAN)


def measured_s(one: Candidate) -> float:
    """Return the measured total; nan if there is none."""
    return NAN if one.measured is None else float(one.measured)


def _spread_s(one: Candidate) -> tuple[float, float]:
    known = None if one.measured is None else one.measured.ends
    return (NAN, NAN) if known is None else known
