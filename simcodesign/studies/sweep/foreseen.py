"""Points of a sweep that will fail, and why, as far as it is known before anything is simulated."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from simcodesign.core.errors import InputError, SimcodesignError
from simcodesign.studies.sweep.evaluate import SweepEvaluator
from simcodesign.studies.sweep.points import SweepPoint
from simcodesign.studies.sweep.sweep import Sweep

#: Number of points checked, spread over the sweep, and of reasons listed.
MOST_LOOKED_AT, MOST_NAMED = 1000, 5
#: A number, with the word behind it, which may be its unit.
_QUANTITY = re.compile(r"\d\S*(?: [A-Za-z]\S*)?")


def foreseen_failures(sweep: Sweep) -> Iterator[str]:
    """Yield a line for each reason why points will fail, with their number and the first of them.

    It shows the numbers of the first: machines that cannot be, values out of range, more ranks than processors.
    """
    looked_at = np.unique(np.linspace(0, sweep.count - 1, min(sweep.count, MOST_LOOKED_AT)).astype(int)).tolist()
    evaluator = SweepEvaluator(sweep)
    failing: dict[object, tuple[str, list[SweepPoint]]] = {}
    for point in sweep.points(looked_at):
        try:
            evaluator.scenario(point).bind()
        except SimcodesignError as error:
            failing.setdefault(_kind(error), (str(error), []))[1].append(point)
    of_all = f"{sweep.count:,} points" if len(looked_at) == sweep.count else f"{len(looked_at):,} points looked at"
    for reason, points in list(failing.values())[:MOST_NAMED]:
        where = ", ".join(f"{name} = {_text(value)}" for name, value in points[0].axes.items())
        first = where if len(points) == 1 else f"the first at {where}"
        yield f"{len(points):,} of {of_all} will fail ({first}): {reason}"
    if len(failing) > MOST_NAMED:
        further = sum(len(points) for _, points in list(failing.values())[MOST_NAMED:])
        yield f"{further:,} further points will fail, for other reasons"


def _kind(error: SimcodesignError) -> object:
    """Return the common part of errors that differ in numbers and in the given values."""
    if not isinstance(error, InputError):
        return _QUANTITY.sub("#", str(error))
    return error.place, *(_QUANTITY.sub("#", text or "") for text in (error.what, error.allowed))


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
