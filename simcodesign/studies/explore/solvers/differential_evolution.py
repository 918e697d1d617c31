"""Differential evolution with whole variables and without penalty constants.

According to the feasibility rules of Deb (Comput. Methods Appl. Mech. Eng. 186, 2000) a feasible point is better than
any other; of two feasible points the lesser total is better, otherwise the lesser violation.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.optimize import Bounds, differential_evolution

from simcodesign.studies.explore.evaluator import Evaluator, Scored
from simcodesign.studies.explore.space import FloatArray

#: Points of a generation for each variable, and the smallest and largest generation.
PER_VARIABLE, MIN_POPULATION, MOST_POPULATION = 15, 40, 150
#: SciPy takes no smaller population.
MIN_OF_SCIPY = 5
#: A search ends when the totals of a generation differ by less than this fraction. Real variables are polished
#: afterwards, so that for them it is enough to have found the valley.
SETTLED, SETTLED_REAL = 1e-7, 1e-4
#: Generations without a better point after which a search ends.
IDLE = 60
#: Totals are below the first and violations above it, so that one number carries both rules.
_LARGEST_TOTAL, _VIOLATION = 1e80, 1e100


def evolve(evaluator: Evaluator, seed: int, evaluations: int, start: FloatArray | None = None) -> None:
    """Search with at most ``evaluations`` evaluations."""
    space = evaluator.problem.space
    random = np.random.default_rng(seed)
    size = int(np.clip(PER_VARIABLE * len(space.variables), MIN_POPULATION, MOST_POPULATION))
    size = max(min(size, evaluations // 5), MIN_OF_SCIPY)  # a few generations at least
    first = np.vstack([space.default() if start is None else start, space.sample(size - 1, random)])
    watch, settled = (
        _Watch(evaluator),
        SETTLED if any(variable.discrete for variable in space.variables) else SETTLED_REAL,
    )
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # SciPy warns of populations that have shrunk to a point
        differential_evolution(
            watch.key,
            Bounds(np.zeros(len(space.tops)), np.maximum(space.tops, 1e-300)),
            init=space.encode(first),
            integrality=space.counted,
            vectorized=True,
            updating="deferred",
            polish=False,
            tol=settled,
            atol=0.0,
            maxiter=max(evaluations // size - 1, 0),
            seed=random,
            callback=watch.end_of_generation,
        )


class _Watch:
    """Gives SciPy one number for each point, and ends a search that gets no further."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.best, self.before, self.idle = np.inf, np.inf, 0

    def key(self, coordinates: FloatArray) -> FloatArray:
        """For coordinates (variables, points): (points,)."""
        points = self.evaluator.problem.space.decode(np.atleast_2d(coordinates.T))
        keys = deb_key(self.evaluator(points, "evolution"))
        self.best = min(self.best, float(keys.min()))
        return keys

    def end_of_generation(self, *_: Any, **__: Any) -> bool:
        """Whether to stop; called after each generation."""
        self.idle = 0 if self.best < self.before else self.idle + 1
        self.before = self.best
        # If nothing is to be minimized, the first feasible point is as good as any.
        return self.idle >= IDLE or (self.evaluator.best_key[0] == 0 and not self.evaluator.problem.objectives)


def deb_key(scored: Scored) -> FloatArray:
    """One number in the order of Deb's rules; both rules keep the precision of their numbers."""
    total = np.clip(scored.total, -_LARGEST_TOTAL, _LARGEST_TOTAL)
    violated = np.clip(scored.violation * _VIOLATION, 10 * _LARGEST_TOTAL, 1e140)
    return np.where(scored.violation == 0, total, violated)
