"""The bubble of a pipeline: what its ranks wait in a closed form, as a step of the ladder.

A workload states closed forms under ``bubbles``, each with the condition under which it holds. They are no part of the
forecast, which follows the messages of the program: the next step of the ladder is what they leave out.
"""

from __future__ import annotations

from dataclasses import dataclass

from simcodesign.comparison.formulas.values import formula_values
from simcodesign.describe.design_point import DesignPoint


@dataclass(frozen=True)
class Bubble:
    """``time_s``: seconds that ranks wait. ``name``: as the workload states it, such as ``(p-1)/m``, the fraction of
    the time without a bubble."""

    name: str
    time_s: float

    @property
    def title(self) -> str:
        """Its name in a ladder."""
        return f"bubble {self.name}"


def bubble_of(point: DesignPoint) -> Bubble | None:
    """Return the first bubble of the workload that is valid at one design point; None if there is none.

    Raises InputError for unknown names, and for terms that are not seconds.
    """
    for formula in point.workload.bubbles.values():
        values = formula_values(formula, point)
        if values.total_s is not None and not values.reason:
            return Bubble(formula.name, float(values.total_s))
    return None
