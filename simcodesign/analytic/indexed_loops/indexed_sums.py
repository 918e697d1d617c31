"""Sums over the iterations of a loop with an index in closed form.

If an iteration takes a polynomial of its number, or a constant and a geometric term, a few iterations with weights of
their own have the same sum.

A polynomial of degree d is known from d + 1 iterations, spread over the loop. Their weights w solve

    sum of w_i k_i^j = 0^j + 1^j + ... + (n - 1)^j    for j = 0 ... d

(Faulhaber's formula gives the right side). A + B r^k is known from the first and the last iteration: with s the smaller
of r and 1 / r, S = (1 - s^n) / (1 - s) and B's part largest in the first of the two, the other one has the weight
(n - S) / (1 - s^(n - 1)), and both together n.

That an amount has such a form is read off its formula. Prices are linear in amounts except for messages, whose closed
forms are maxima of terms that grow linearly with the size: convex. So they are linear between the smallest and the
largest size of a loop if they are so in the middle of the two, which is computed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.demands.base import closed_form
from simcodesign.analytic.indexed_loops.index_shapes import IndexedLoop, Shape, total
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.evaluation import EvaluatedBlock, EvaluatedStep

Floats = NDArray[np.float64]
#: Degrees beyond it are summed iteration by iteration: their weights lose digits.
MOST_DEGREE = 8


def in_few_iterations(loop: EvaluatedBlock) -> EvaluatedBlock | None:
    """Return the loop at few values of its index, with weights that give its sums.

    None where no closed form is known.
    """
    index = loop.block.index
    assert index is not None
    count = np.asarray(loop.count(), dtype=np.float64)
    shape = _shape_of(loop, IndexedLoop(index, count))
    if shape is None or shape.degree > MOST_DEGREE:
        return None
    if shape.ratio is None:
        nodes, weights = polynomial_nodes(count, shape.degree)
    else:
        nodes, weights = geometric_nodes(count, shape.ratio.value(loop.evaluation.names, index))
    axes = (1,) * (len(loop.axes_of_values()) + 1 - nodes.ndim)
    nodes, weights = (part.reshape(len(part), *axes, *part.shape[1:]) for part in (nodes, weights))
    return loop.at_nodes(nodes, weights)


def _shape_of(block: EvaluatedBlock, loop: IndexedLoop) -> Shape | None:
    """How what its steps take depends on the index; None if that is not known."""
    if any(loop.index in value.names for _, value in block.block.constants):
        return None
    useful = block.block.useful_flops
    shape = Shape.of(None if useful is None else useful.tree, loop.index)
    for step in block.steps():
        if isinstance(step, EvaluatedBlock):
            inner = step.block
            is_plain = inner.index is None and loop.index not in inner.repeat.names
            other = _shape_of(step, loop) if is_plain else None
        else:
            other = (
                None
                if step.demand.started_as or _groups_differ(step, loop)
                else closed_form(step.demand).index_shape(step.demand, step, loop)
            )
        shape = total(shape, other)
    return shape


def _groups_differ(step: EvaluatedStep, loop: IndexedLoop) -> bool:
    """Whether who is in which group depends on the index."""
    group = step.demand.communicator
    return group is not None and loop.index in step.block.evaluation.design_point.workload.groups[group].names


def polynomial_nodes(count: Floats, degree: int) -> tuple[Floats, Floats]:
    """(degree + 1, ...) iterations of ``count`` (...), and weights with which they sum polynomials of this degree."""
    several, where = np.unique(count, return_inverse=True)
    nodes, weights = (np.array(part).T for part in zip(*(_weighted(int(n), degree) for n in several), strict=True))
    where = where.reshape(np.shape(count))
    return nodes[:, where], weights[:, where]


@functools.lru_cache(maxsize=4096)
def _weighted(count: int, degree: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return iterations and weights for one number of iterations, in exact arithmetic."""
    if count <= degree + 1:
        return tuple(map(float, range(degree + 1))), tuple(float(k < count) for k in range(degree + 1))
    nodes = [round(Fraction(i * (count - 1), max(degree, 1))) for i in range(degree + 1)]
    return tuple(map(float, nodes)), tuple(float(weight) for weight in _exact_weights(nodes, count))


def _exact_weights(nodes: list[int], count: int) -> Iterator[Fraction]:
    """Yield the sums over 0 ... count - 1 of Lagrange's polynomials of the nodes."""
    powers = [_sum_of_powers(count, power) for power in range(len(nodes))]
    for here in nodes:
        lagrange = [Fraction(1)]  # coefficients, of the constant first
        for other in nodes:
            if other != here:
                shifted = [Fraction(0), *lagrange]
                for place, coefficient in enumerate(lagrange):
                    shifted[place] -= other * coefficient
                lagrange = [coefficient / (here - other) for coefficient in shifted]
        yield sum((a * b for a, b in zip(lagrange, powers, strict=True)), start=Fraction(0))


@functools.lru_cache(maxsize=4096)
def _sum_of_powers(count: int, power: int) -> Fraction:
    """0^power + ... + (count - 1)^power: n^(j+1) is the sum of (k+1)^(j+1) - k^(j+1), which has the lower powers."""
    rest = Fraction(count) ** (power + 1)
    for lower in range(power):
        rest -= math.comb(power + 1, lower) * _sum_of_powers(count, lower)
    return rest / (power + 1)


def geometric_nodes(count: Floats, ratio: FloatOrArray) -> tuple[Floats, Floats]:
    """(2, ...) the iterations of ``count`` (...) in which A + B r^k is largest and smallest, and their weights."""
    count, ratio = np.broadcast_arrays(count, np.asarray(ratio, dtype=np.float64))
    with np.errstate(all="ignore"):
        log = -np.abs(np.log(ratio))  # of s; 0 for r = 1, and no number if there is none
        geometric = np.where(log < 0, np.expm1(count * log) / np.expm1(log), count)
        far = np.where((log < 0) & (count > 1), (count - geometric) / -np.expm1((count - 1) * log), 0.0)
    last = np.maximum(count - 1.0, 0.0)
    nodes = np.where(ratio > 1, np.stack([last, np.zeros_like(last)]), np.stack([np.zeros_like(last), last]))
    return nodes, np.stack([count - far, far])
