"""Where the search for non-linear coefficients begins: points of a low-discrepancy sequence over likely values."""

from __future__ import annotations

import numpy as np

from simcodesign.fitting.formulas.form import Form
from simcodesign.fitting.selection.term_basis import Array

#: Exponents are sought between minus this and this.
EXPONENT_BOUND = 8.0
#: Exponents of starts: the exponents of published models are between.
_EXPONENTS = (-3.0, 4.0)
#: Starts of one, two, and more coefficients: powers of two, which Sobol's sequence asks for.
_COUNTS = (256, 2048, 4096)
#: Coefficients that are no exponents begin this far beyond the sizes that measurements and parameters have.
_BEYOND = 100.0
#: The fraction of starts at which such a coefficient is below zero.
_NEGATIVE = 0.25


def starts_of(form: Form, points: Array, values: Array) -> Array:
    """Return starts (S, N) for the N non-linear coefficients of a form.

    At points (K, m) with ``values`` (K,).

    Exponents are spread evenly, others by their logarithm: over the sizes of the values and the parameters, their
    products, quotients and inverses, which is what a coefficient may have to be of to mean anything.
    """
    from scipy.stats import qmc

    count = len(form.nonlinear)
    unit = qmc.Sobol(count, scramble=False).random(_COUNTS[min(count, len(_COUNTS)) - 1])
    low, high = np.log(_sizes(points, values))
    starts = np.empty(unit.shape)
    for column, name in enumerate(form.nonlinear):
        share = unit[:, column]
        if name in form.exponents:
            starts[:, column] = _EXPONENTS[0] + share * (_EXPONENTS[1] - _EXPONENTS[0])
            continue
        negative = share < _NEGATIVE
        within = np.where(negative, share / _NEGATIVE, (share - _NEGATIVE) / (1 - _NEGATIVE))
        starts[:, column] = np.where(negative, -1.0, 1.0) * np.exp(low + within * (high - low))
    return starts


def _sizes(points: Array, values: Array) -> tuple[float, float]:
    """Return the smallest and the largest size that a coefficient begins with."""
    sizes = np.abs(values[values != 0])
    of_values = np.array([sizes.min(), sizes.max()]) if len(sizes) else np.ones(2)
    of_points = np.concatenate([points.min(0), points.max(0), 1 / points.min(0), 1 / points.max(0), np.ones(1)])
    every = np.concatenate([of_points, np.outer(of_values, of_points).ravel()])
    return float(np.clip(every.min() / _BEYOND, 1e-100, 1e100)), float(np.clip(every.max() * _BEYOND, 1e-100, 1e100))
