"""Fewer candidate terms where there are too many to list: with four parameters, or with a large set of exponents.

A product of factors, averaged over all other parameters, is still a constant and its own factor; so is a sum. The
averages along each parameter say which of its factors matter; products are made of those only. Then each factor of the
best models found is exchanged for every other one of its parameter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simcodesign.fitting.selection.candidate_fits import Block, pairs, singles, smallest
from simcodesign.fitting.selection.candidates import Limits, candidates, coefficient_limit
from simcodesign.fitting.selection.term_basis import (
    Array,
    Basis,
    Choice,
    Index,
    Shapes,
    basis_of,
    product_of,
    stacked_shapes,
)

#: Factors of each parameter that are kept, and models whose factors are exchanged.
_FACTORS, _MODELS = 8, 6


def screen_terms(block: Block, points: Array, choices: Sequence[Sequence[Choice]], limits: Limits) -> Basis:
    """Candidate terms for one series (a block of one row)."""
    kept = [_kept(block, points, axis, list(choice)) for axis, choice in enumerate(choices)]
    basis = basis_of(points, product_of(kept))
    if not len(basis.columns):
        return basis
    pool = candidates(block, basis, limits)
    terms = np.unique(pool.terms[0, :_MODELS])
    best = basis.shapes.take(terms[terms >= 0])
    return basis_of(
        points, stacked_shapes([basis.shapes, *(_exchanged(best, axis, c) for axis, c in enumerate(choices))])
    )


def _kept(block: Block, points: Array, axis: int, choices: list[Choice]) -> list[Choice]:
    """Nothing, and the factors that fit the averages along one parameter best, alone or two together."""
    levels, average = _averages(block, points[:, axis])
    factors = [choice for choice in choices if any(choice)]
    if len(levels) < 2 or len(factors) <= _FACTORS:
        return choices
    basis = basis_of(levels[:, None], product_of([choices]))
    if not len(basis.columns):
        return choices[:1]
    fitting_best: list[int] = []
    for rss in singles(average, basis):
        fitting_best += list(smallest(rss, 4)[0])
    if coefficient_limit(np.array([len(levels)]))[0] >= 2:
        every = np.arange(len(basis.columns))
        flat = pairs(average, basis, every, every, True)[0].reshape(1, -1)
        for place in smallest(flat, 4)[0]:
            fitting_best += [int(place) // len(every), int(place) % len(every)]
    first = list(dict.fromkeys(fitting_best))[:_FACTORS]
    shapes = basis.shapes
    rows = [(shapes.exponents[k, 0], shapes.logs[k, 0], int(shapes.collectives[k, 0])) for k in first]
    return [choices[0], *rows]


def _averages(block: Block, x: Array) -> tuple[Array, Block]:
    """Levels of a parameter, and the mean of the values at each as a series of relative weights."""
    there = block.root[0] > 0
    levels, which = np.unique(x[there], return_inverse=True)
    values = block.scaled[0][there] / block.root[0][there]
    means = np.bincount(which, values) / np.bincount(which)
    root = 1.0 / np.maximum(np.abs(means), 1e-12 * max(float(np.abs(means).max()), 1e-300))
    return levels, Block(root[None], (root * means)[None], block.free)


def _exchanged(shapes: Shapes, axis: int, choices: Sequence[Choice]) -> Shapes:
    """Each shape with its factor of one parameter exchanged for every choice."""
    table = np.array(choices, dtype=np.float64)
    count = len(table)
    exponents, logs = (np.repeat(array, count, 0) for array in (shapes.exponents, shapes.logs))
    collectives: Index = np.repeat(shapes.collectives, count, 0)
    times = len(shapes.exponents)
    exponents[:, axis], logs[:, axis] = np.tile(table[:, 0], times), np.tile(table[:, 1], times)
    collectives[:, axis] = np.tile(table[:, 2].astype(np.int64), times)
    return Shapes(exponents, logs, collectives)
