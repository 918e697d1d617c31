"""Error of a prediction because the true exponents lie between the exponents that were tried.

A model whose exponents come from a set nearly meets values that grow otherwise, and its residuals are no noise: from
it alone the prediction would look far too certain. To first order the model with other exponents is the model plus
multiples of its tangents: of each factor x^i log2(x)^j the term times ln x, and times ln ln x. Fitted with these, the
points say how far the prediction would move (its bias) and how uncertainly: the width is the root of the sum of both
squares. The inequality of Cauchy and Schwarz implies that no model of the same terms that meets the points is farther
off, to first order, than the bias.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcodesign.fitting.selection.least_squares import Family, Solved, solved
from simcodesign.fitting.selection.term_basis import Array, Index


@dataclass(frozen=True)
class Between:
    """S models with their exponents counted as fitted.

    ``widths`` of Student's t distributions around their predictions, with ``freedoms`` degrees of freedom, both (S,).
    """

    widths: Array
    freedoms: Array


def between_exponents(family: Family, rows: Index, point: Array) -> Between:
    """Evaluate some models of a family at a point (m,), with exponents counted as fitted.

    With powers and logarithms of their factors fitted if that leaves a degree of freedom, otherwise with powers alone,
    otherwise as they are.
    """
    each = family.root.ndim > 1
    root = family.root[rows] if each else np.broadcast_to(family.root, (len(rows), len(family.root)))
    scaled = family.scaled[rows] if each else np.broadcast_to(family.scaled, root.shape)
    columns, here = _with_tangents(family, rows, point)
    terms = family.shapes.exponents.shape[1]
    value = (family.plain.coefficients[rows] * here[:, : 1 + terms]).sum(1)
    relative, size = (array[rows] if each else array for array in family.further)
    further = np.broadcast_to((np.where(relative, np.abs(value), 1.0) / size) ** 2, value.shape)
    counts = (root > 0).sum(1)
    uses = np.asarray(family.shapes.uses[rows])
    coefficients = family.constant[rows] + uses.any(-1).sum(1)
    tangents = (columns.shape[1] - 1 - terms) // 2
    # How many kinds of tangents leave enough: powers may take all freedom, logarithms not.
    left = counts - coefficients - uses.sum((1, 2))
    kinds = np.where(left - uses.sum((1, 2)) >= 1, 2, np.where(left >= 0, 1, 0))
    made = Between(np.empty(len(rows)), np.empty(len(rows)))
    for kind in np.unique(kinds):
        some = np.flatnonzero(kinds == kind)
        count = 1 + terms + kind * tangents
        fitted = solved(columns[some, :count] * root[some][:, None, :], scaled[some])
        made.freedoms[some] = np.maximum(counts[some] - fitted.numbers, 1.0)
        made.widths[some] = _widths(fitted, here[some, :count], value[some], further[some], made.freedoms[some])
    return made


def _with_tangents(family: Family, rows: Index, point: Array) -> tuple[Array, Array]:
    """Return the columns of models and their tangents, at the points (S, q, K) and at a point (S, q).

    First for powers, then for logarithms.
    """
    shapes = family.shapes.take(rows)
    uses = np.asarray(shapes.uses)
    terms, axes = np.nonzero(np.asarray(uses.any(0)))
    both = np.concatenate([family.points, point[None]])
    present = np.asarray(uses.any(-1))
    values = np.where(present[..., None], shapes.values(both), 0.0)
    constant = np.broadcast_to(family.constant[rows][:, None, None], (len(rows), 1, len(both)))
    logs = np.log(both)
    twice = np.zeros_like(logs)
    defined = np.asarray((both > 1).all(0))
    twice[:, defined] = np.log(logs[:, defined])
    used = uses[:, terms, axes, None]
    tangents = [values[:, terms] * used * (slope - slope[:-1].mean(0)).T[axes] for slope in (logs, twice)]
    every = np.concatenate([constant, values, *tangents], 1)
    return every[..., :-1], every[..., -1]


def _widths(fitted: Solved, here: Array, value: Array, further: Array, freedoms: Array) -> Array:
    variance = (fitted.residuals**2).sum(1) / freedoms
    bias = (fitted.coefficients * here).sum(1) - value
    return np.asarray(np.sqrt(variance * (fitted.variance(here) + further) + bias**2))
