"""ISRES of NLopt (Runarsson and Yao 2005), the solver of the paper: whole variables are relaxed and rounded."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.studies.explore.evaluator import Evaluator, Scored
from simcodesign.studies.explore.space import FloatArray

#: Replacement for a number that the model does not have.
_HUGE = 1e80


def load_nlopt() -> Any:
    """InputError when it is not installed."""
    try:
        import nlopt
    except ImportError as error:
        allowed = "pip install 'simcodesign[opt]', or --solver auto"
        raise InputError("NLopt is not installed", Place("--solver"), allowed=allowed) from error
    return nlopt


def isres(evaluator: Evaluator, seed: int, evaluations: int, start: FloatArray | None = None) -> None:
    """Search with ``evaluations`` evaluations."""
    nlopt = load_nlopt()
    space = evaluator.problem.space
    reader = _Reader(evaluator)
    optimizer = nlopt.opt(nlopt.GN_ISRES, len(space.variables))
    optimizer.set_lower_bounds(np.zeros(len(space.tops)))
    optimizer.set_upper_bounds(np.maximum(space.tops, 1e-300))
    optimizer.set_min_objective(reader.total)
    for at, one in enumerate(evaluator.problem.constraints):
        optimizer.add_inequality_constraint(lambda x, _, at=at: reader.excess(x, at), 0.0)
        assert one is not None
    optimizer.set_maxeval(evaluations)
    nlopt.srand(seed + 1)  # 0 would take the clock
    try:
        optimizer.optimize(space.encode((space.default() if start is None else start)[None, :])[0])
    except (RuntimeError, ValueError):  # rounding stopped it: the best point is known
        return


class _Reader:
    """NLopt asks for the objective and each constraint of a point one by one."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.at: FloatArray = np.array([])
        self.scored: Scored | None = None

    def _evaluated(self, coordinates: FloatArray) -> Scored:
        if self.scored is None or not np.array_equal(self.at, coordinates):
            self.at = np.array(coordinates)
            self.scored = self.evaluator(self.evaluator.problem.space.decode(self.at[None, :]), "isres")
        return self.scored

    def total(self, coordinates: FloatArray, _gradient: Any) -> float:
        return float(np.clip(np.nan_to_num(self._evaluated(coordinates).total[0], nan=_HUGE), -_HUGE, _HUGE))

    def excess(self, coordinates: FloatArray, at: int) -> float:
        gaps = self._evaluated(coordinates).evaluated.gaps
        return float(np.nan_to_num(self.evaluator.problem.excess(gaps)[0, at], nan=_HUGE, posinf=_HUGE, neginf=-_HUGE))
