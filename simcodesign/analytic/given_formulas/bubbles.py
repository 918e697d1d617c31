"""The bubble of a pipeline: what its ranks wait, by the closed forms that a workload states under ``bubbles``.

The longest path has these waits message by message. A forecast that is the sum of closed forms, because its path has
too many operations, takes the bubble instead (``analytic/headline``); otherwise it is a step of the ladder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from simcodesign.analytic.given_formulas.values import FormulaValues, formula_values
from simcodesign.core.forecast_parts import Bubble
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.design_point import DesignPoint

#: Names of a bubble that are seconds of the sum of closed forms in a phase.
PHASE = "phase."


def bubble_of(point: DesignPoint, phases_s: Mapping[str, FloatOrArray]) -> Bubble | None:
    """Return the first bubble of the workload that is valid at one design point; None if there is none.

    ``phases_s``: seconds of the sum of closed forms by phase, which bubbles name as ``phase.NAME``. Raises InputError
    for unknown names, and for terms that are not seconds.
    """
    for values in _values(point, {name: float(time_s) for name, time_s in phases_s.items()}):
        if values.total_s is not None and not values.reason:
            return Bubble(values.formula.name, float(values.total_s))
    return None


def bubbles_s_of(point: DesignPoint, phases_s: Mapping[str, FloatOrArray]) -> FloatOrArray:
    """Return the seconds of the first bubble that is valid at each design point, 0 if there is none.

    Otherwise as ``bubble_of``.
    """
    found: FloatOrArray = np.nan
    for values in _values(point, phases_s):
        if values.total_s is not None:
            found = np.where(np.isnan(found), values.total_s, found)
    found = np.nan_to_num(found)
    return found if np.ndim(found) else float(found)


def _values(point: DesignPoint, phases_s: Mapping[str, FloatOrArray]) -> Iterator[FormulaValues]:
    seconds = {f"{PHASE}{name}": time_s for name, time_s in phases_s.items()}
    for formula in point.workload.bubbles.values():
        yield formula_values(formula, point, seconds=seconds)
