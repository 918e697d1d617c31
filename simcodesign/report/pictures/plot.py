"""``sc.plot``: an answer drawn into Matplotlib axes. The methods ``plot`` of answers call it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from simcodesign.comparison.compare import Comparison
from simcodesign.core.errors import InputError, nearest
from simcodesign.core.result import Result
from simcodesign.fitting.fits import Fit
from simcodesign.fitting.measurements import as_point
from simcodesign.report.candidates.plot import draw_replications, draw_several
from simcodesign.report.common import plot_style
from simcodesign.report.explore.plot import draw_front, draw_slice
from simcodesign.report.fits.plot import draw_fit, fit_handles
from simcodesign.report.fits.tables import Heading
from simcodesign.report.results.plots import draw_ladder, draw_phases, draw_sides, draw_stations
from simcodesign.report.sweep.plot import FORMS, draw_sweep
from simcodesign.report.timelines.gantt import draw_gantt
from simcodesign.report.trust.plot import draw_trust
from simcodesign.studies.candidates.several import SeveralComparisons
from simcodesign.studies.explore.pareto import Front
from simcodesign.studies.explore.solvers.solve import Solution
from simcodesign.studies.trust.sweep_in_memory import SweepTable

#: Draws one kind of picture of one class of answers: Matplotlib, axes, answer, options; returns what colours mean.
Draw = Callable[..., "dict[str, dict[str, Any]] | Sequence[Any] | None"]
#: Inches of a figure of its own.
SIZE = (8.0, 4.5)


def plot(answer: Any, ax: Any = None, *, kind: str | None = None, **options: Any) -> Any:
    """Draw an answer into Matplotlib axes, and return them.

    ``answer``: what a verb returned. ``ax``: axes; without any a new figure is made, in the style of the commands'
    plots. ``kind``: which picture, by default the first one that the answer has:

    - a ``Result``: ``gantt`` if it has a timeline, ``phases`` (seconds by phase and component), ``stations`` (how
      long they were busy, and requests waited). Options: ``window_s``, from when to when the ``gantt`` chart is.
    - a ``Comparison``: ``ladder`` (what each effect adds), ``times`` (of both readings, by component).
    - a comparison of several machines: ``times``, as bars or over what was varied; ``replications``, the simulated
      time of each, with the mean and its interval for each machine.
    - a sweep: ``lines``, ``heat``, ``contour`` or ``bars``, whichever fits its axes; options: ``of``, a column.
      ``trust`` (errors of a formula), with ``formula``, its name.
    - a fit: ``model``; options: ``over``, a parameter, ``target``, a point to predict, and ``level`` of the band.
    - an exploration: ``slice`` through the optimum, with ``over``, a variable; or ``front``.

    Raises InputError for an answer without a picture, another kind, and when Matplotlib is missing.

    >>> import simcodesign as sc
    >>> axes = sc.plot(sc.compare("broadcast", "mesh-256", {"P": 16}, effects="hops,links"))
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['forecast', 'dependencies and waiting', 'hops', 'links', 'simulation']
    """
    kinds = next((DRAWN[one] for one in type(answer).__mro__ if one in DRAWN), None)
    if kinds is None:
        names = ", ".join(sorted({one.__name__ for one in DRAWN}))
        raise InputError("an answer without a picture", value=type(answer).__name__, allowed=names)
    name = _usual(answer, [*kinds]) if kind is None else kind
    if name not in kinds:
        raise InputError("unknown kind of a picture", value=name, allowed=nearest(name, kinds))
    if ax is not None:
        return _drawn(plot_style.load_matplotlib(), ax, kinds[name], answer, options)
    with plot_style.styled(None) as mpl:
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=SIZE, layout="constrained")
        return _drawn(mpl, figure.subplots(), kinds[name], answer, options)


def _usual(answer: Any, kinds: Sequence[str]) -> str:
    """Return the first kind that the answer has."""
    if isinstance(answer, Result):
        return "gantt" if answer.timeline is not None else "phases"
    return kinds[0]


def _drawn(mpl: Any, ax: Any, draw: Draw, answer: Any, options: Mapping[str, Any]) -> Any:
    """Return the axes, with a title and a legend where the picture has none of its own."""
    entries = draw(mpl, ax, answer, **options)
    handles = plot_style.handles_of(mpl, entries) if isinstance(entries, dict) else entries
    if isinstance(answer, Result | Comparison):
        result = answer if isinstance(answer, Result) else answer.simulation
        title = f"{plot_style.headings([result])[0]}: {plot_style.seconds_text(float(result.headline_s))}"
        inches = ax.get_position().width * ax.figure.get_figwidth()
        own = ax.get_title() or ax.get_title(loc="left")
        ax.set_title("", loc="center")
        ax.set_title(plot_style.wrapped(f"{title}\n{own}".strip(), inches), loc="left", fontsize=9)
    if handles:
        points = 45 + 5 * max(len(one.get_label()) for one in handles)
        columns = max(1, min(len(handles), int(0.8 * ax.get_position().width * ax.figure.get_figwidth() * 72 / points)))
        below = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.16), "ncols": columns}
        ax.legend(handles=handles, fontsize=8, frameon=False, **below)
    return ax


def _fit(
    mpl: Any,
    ax: Any,
    fit: Fit,
    *,
    over: str = "",
    target: Mapping[str, float] | Sequence[float] | None = None,
    level: float = 0.9,
) -> list[Any]:
    """Draw the model over one parameter; return the handles of its legend."""
    parameters = fit.model.parameters
    if over and over not in parameters:
        raise InputError("no such parameter", value=over, allowed=nearest(over, parameters))
    largest = 4.0 * np.asarray(fit.family.points, dtype=float).max(axis=0)
    at = largest if target is None else as_point(parameters, target)
    heading = Heading(parameters, tuple(float(one) for one in at), target is not None, level, {})
    draw_fit(mpl, ax, heading, parameters.index(over) if over else 0, fit.metric, fit, fit.values)
    ax.set_title(plot_style.wrapped(fit.model.text, 6.0), loc="left")
    return fit_handles(mpl, heading)


def _swept(form: str | None) -> Draw:
    def draw(mpl: Any, ax: Any, sweep: SweepTable, of: str | Sequence[str] = ()) -> None:
        draw_sweep(mpl, ax, sweep.table, sweep.axes, of, form)

    return draw


def _trust(mpl: Any, ax: Any, sweep: SweepTable, formula: str = "") -> dict[str, dict[str, Any]]:
    if sweep.trust is None:
        raise InputError("a sweep without a trust map", allowed="within=, or formulas= and simulations")
    return draw_trust(mpl, ax, sweep.trust, formula)


#: The pictures of each class, the usual one first.
DRAWN: dict[type, dict[str, Draw]] = {
    Result: {"gantt": draw_gantt, "phases": draw_phases, "stations": draw_stations},
    Comparison: {"ladder": draw_ladder, "times": draw_sides},
    SeveralComparisons: {"times": draw_several, "replications": draw_replications},
    SweepTable: {"usual": _swept(None), **{form: _swept(form) for form in FORMS}, "trust": _trust},
    Fit: {"model": _fit},
    Solution: {"slice": draw_slice},
    Front: {"front": draw_front},
}
