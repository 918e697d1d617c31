"""Models in the performance-model normal form, from the shapes of their terms and fitted coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simcodesign.fitting.normal_form import Factor, Model, Term
from simcodesign.fitting.selection.term_basis import Array, Shapes


def without_unused_terms(shapes: Shapes) -> Shapes:
    """Return the shapes (N, T, m) without places for terms that no model has."""
    uses = np.asarray(shapes.uses.any((0, 2)))
    count = len(uses) - int(uses[::-1].argmax()) if uses.any() else 0
    return Shapes(shapes.exponents[:, :count], shapes.logs[:, :count], shapes.collectives[:, :count])


def model_of(parameters: tuple[str, ...], coefficients: Array, shapes: Shapes, place: int) -> Model:
    """One of N models, of terms ``shapes`` (N, T, m), with its coefficients (1 + T,), the constant first."""
    constant, *others = coefficients.tolist()
    rows = zip(
        shapes.exponents[place].tolist(), shapes.logs[place].tolist(), shapes.collectives[place].tolist(), strict=True
    )
    terms = [
        (factors.growth, Term(coefficient, factors.factors))
        for coefficient, row in zip(others, rows, strict=True)
        if (factors := _factors(parameters, *map(tuple, row))).factors
    ]
    terms.sort(key=lambda pair: pair[0])
    return Model(parameters, constant, tuple(term for _, term in terms))


@dataclass(frozen=True)
class _Product:
    """The factors of a term, and what it is ordered by."""

    factors: tuple[Factor, ...]
    growth: list[tuple[float, float]]


@lru_cache(maxsize=1 << 16)
def _factors(
    parameters: tuple[str, ...], exponents: tuple[float, ...], logs: tuple[float, ...], collectives: tuple[int, ...]
) -> _Product:
    """Return the factors of one term; the same ones occur in many models."""
    shape = Shapes(np.array([exponents]), np.array([logs]), np.array([collectives]))
    factors = shape.factors(parameters, 0)
    return _Product(factors, [factor.growth for factor in factors])
