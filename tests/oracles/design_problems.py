"""Problems of design in text, for the tests of the explorer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simcodesign.studies.explore.problem import Problem, formula_model
from simcodesign.studies.explore.problem_parser import constraint, objective, variable
from simcodesign.studies.explore.space import Space


def problem(
    vary: Sequence[str],
    formulas: Mapping[str, str],
    minimize: Sequence[str] = (),
    subject_to: Sequence[str] = (),
    maximize: Sequence[str] = (),
    units: Mapping[str, str] | None = None,
) -> Problem:
    """A problem whose metrics are formulas."""
    space = Space(tuple(variable(text, {}) for text in vary))
    model = formula_model("formulas", formulas, space.names, units)
    known = model.dimensions
    objectives = [
        *(objective(text, False, known) for text in minimize),
        *(objective(text, True, known) for text in maximize),
    ]
    return Problem(model, space, tuple(objectives), tuple(constraint(text, known) for text in subject_to))


#: 50 TFLOP/s of GPUs with 512 flop per cycle and 133.2 GB/s at 250 W, three to a rack unit, in 42 units and 18 kW, and
#: with no more than 3 flop per byte.
ARCHITECT = {
    "peak": "gpus*512*clock",
    "power": "250*gpus",
    "units": "ceil(gpus/3)",
    "balance": "512*clock/133.2e9",
}
ARCHITECT_UNITS = {"peak": "rate", "power": "power"}
LIMITS = ["power <= 18 kW", "peak >= 50 TFLOP/s", "balance <= 3", "units <= 42"]
