"""Values that follow the axes of a sweep.

``nodes=P``, ``network.startup=2us*sqrt(P)``, ``network.topology.shape=[P/64, 8]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.expression import parse
from simcodesign.core.units import DIMENSIONS, FloatOrArray
from simcodesign.studies.sweep.design.grid import (
    CHANGE,
    PARAMETER,
    SEED,
    Design,
    Known,
    Lookup,
    SweepAxis,
    Tie,
    split,
)
from simcodesign.studies.sweep.design.ranges import MOST_VALUES

FORMS = "NAME=EXPRESSION of axes and parameters, e.g. nodes=P, 'n=1e6/sqrt(P)', 'network.topology.shape=[P/64, 8, 8]'"


def tied(design: Design, texts: Sequence[str], lookup: Lookup, fixed: Mapping[str, float]) -> Design:
    """Return the design with what the texts tie to its axes, in SI units; ``fixed``: values of further names.

    InputError for what is no tie, names that are unknown, tied or varied twice, and values that cannot be set.
    """
    return replace(design, ties=tuple(_tie(text, design, lookup, fixed) for text in texts))


def _tie(text: str, design: Design, lookup: Lookup, fixed: Mapping[str, float]) -> Tie:
    place = Place("--tie", None, text)
    name, sign, formula = (part.strip() for part in text.partition("="))
    if not (name and sign and formula):
        raise InputError("not a tie", place, value=text, allowed=FORMS)
    known = lookup(name)
    if known.kind == SEED or known.choices:
        raise InputError("cannot be tied", place, value=name, allowed="parameters, constants and keys that are numbers")
    if formula.startswith("["):
        return _tied_list(name, formula, known, place, design, fixed)
    values, of = _values([formula], place, design, fixed, name)
    (column,) = values
    _check(column, known.whole, known.inverse, f"{name} = {formula}", place)
    unit = DIMENSIONS.get(known.dimension, "") if known.kind == PARAMETER else ""
    given = [_whole(value) if known.kind == CHANGE else value for value in column.tolist()]
    return Tie(SweepAxis(name, tuple(given), unit, False, known), of)


def _tied_list(name: str, formula: str, known: Known, place: Place, design: Design, fixed: Mapping[str, float]) -> Tie:
    """Return a tie of a list, such as a shape: its values are texts, as a machine file has them."""
    if known.kind != CHANGE or not formula.endswith("]"):
        raise InputError("not a tie", place, value=formula, allowed=f"a list for a key of the machine; {FORMS}")
    items = split(formula[1:-1], ",")
    if not all(items):
        raise InputError("a value is missing", place, value=formula, allowed=FORMS)
    columns, of = _values(items, place, design, fixed, name)
    for item, column in zip(items, columns, strict=True):
        _check(column, False, False, f"{item} in {name}", place)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    texts = tuple(f"[{', '.join(repr(_whole(value)) for value in row)}]" for row in rows)
    return Tie(SweepAxis(name, texts, "", False, known), of)


def _values(
    formulas: Sequence[str], place: Place, design: Design, fixed: Mapping[str, float], name: str
) -> tuple[list[NDArray[np.float64]], tuple[int, ...]]:
    """Return the values of expressions for every combination of values of the axes that any of them needs.

    Also return these axes.
    """
    expressions = [parse(formula, place, with_units=True) for formula in formulas]
    needed = frozenset().union(*(expression.names for expression in expressions))
    numeric = {axis.name: at for at, axis in enumerate(design.axes) if axis.numeric}
    if unknown := sorted(needed - numeric.keys() - fixed.keys()):
        names = {**numeric, **fixed}
        raise InputError("no number of the sweep", place, value=unknown[0], allowed=nearest(unknown[0], names))
    of = tuple(sorted(numeric[axis] for axis in needed & numeric.keys()))
    columns = [np.array(design.axes[at].values, dtype=np.float64) for at in of]
    if not design.zipped:
        if np.prod([len(column) for column in columns], dtype=float) > MOST_VALUES:
            raise InputError("follows too many values", place, value=name, allowed=f"up to {MOST_VALUES}")
        columns = [column.ravel() for column in np.meshgrid(*columns, indexing="ij")]
    given: dict[str, FloatOrArray] = {
        **fixed,
        **{design.axes[at].name: column for at, column in zip(of, columns, strict=True)},
    }
    shape = columns[0].shape if columns else (1,)
    return [np.broadcast_to(np.asarray(one.evaluate(given), dtype=np.float64), shape) for one in expressions], of


def _check(values: NDArray[np.float64], whole: bool, inverse: bool, what: str, place: Place) -> None:
    """InputError for values that cannot be set."""
    wrong = ~(np.isfinite(values) & (values > (0.0 if inverse else -np.inf)))
    if whole:
        wrong |= values != np.rint(values)
    if wrong.any():
        allowed = "whole numbers" if whole else "numbers above 0" if inverse else "finite numbers"
        raise InputError(what, place, value=float(values[wrong][0]), allowed=allowed)


def _whole(value: float) -> float:
    """Return the number, as an int if it is whole."""
    return int(value) if value.is_integer() else value
