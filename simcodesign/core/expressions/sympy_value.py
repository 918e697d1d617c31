"""What SymPy expressions are worth in float64, node by node: nothing is simplified, and no code is made of them.

For those that ``to_sympy`` makes, and sums over them with an index.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError

#: A sum with more terms is not added up.
MOST_TERMS = 10_000_000

_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "Add": lambda *terms: functools.reduce(np.add, terms),
    "Mul": lambda *factors: functools.reduce(np.multiply, factors),
    "Pow": np.power,
    "Mod": np.mod,
    "log2": np.log2,
    "log10": np.log10,
    "log": np.log,
    "exp": np.exp,
    "floor": np.floor,
    "ceiling": np.ceil,
    "round": np.rint,
    "Abs": np.abs,
    "Min": lambda *values: functools.reduce(np.minimum, values),
    "Max": lambda *values: functools.reduce(np.maximum, values),
    "And": lambda *values: functools.reduce(np.logical_and, values),
    "Or": lambda *values: functools.reduce(np.logical_or, values),
    "StrictLessThan": np.less,
    "LessThan": np.less_equal,
    "StrictGreaterThan": np.greater,
    "GreaterThan": np.greater_equal,
    "Equality": np.equal,
    "Unequality": np.not_equal,
}


def value_of(expression: Any, values: Mapping[str, Any]) -> Any:
    """Evaluate a SymPy expression: a number, or an array if any value is one.

    ``values`` maps symbol names to values. Results that have no finite real value are inf or nan. InputError for a
    missing symbol, and for unsupported functions.
    """
    with np.errstate(all="ignore"):
        return _value(expression, values)


def _value(expression: Any, values: Mapping[str, Any]) -> Any:
    kind = expression.func.__name__
    if kind in ("Symbol", "Dummy"):
        if expression.name not in values:
            raise InputError("a symbol without a value", value=expression.name)
        return np.asarray(values[expression.name], dtype=np.float64)[()]
    if expression.is_Number or expression.is_NumberSymbol:
        return np.float64(expression)
    if kind in ("BooleanTrue", "BooleanFalse"):
        return np.bool_(kind == "BooleanTrue")
    if kind == "Piecewise":
        return _piecewise(expression.args, values)
    if kind == "Sum":
        body, limits = expression.args
        return _sum(body, limits, values)
    if kind not in _FUNCTIONS:
        raise InputError("a function that has no value here", value=kind)
    return _FUNCTIONS[kind](*(_value(part, values) for part in expression.args))


def _piecewise(pieces: Any, values: Mapping[str, Any]) -> Any:
    """Return the first whose condition holds, nan if none does."""
    result: Any = np.float64("nan")
    for value, condition in reversed(pieces):
        result = np.where(_value(condition, values), _value(value, values), result)[()]
    return result


def _sum(body: Any, limits: Any, values: Mapping[str, Any]) -> Any:
    """Sum single values: the terms of all indices from the first to the last."""
    index, first, last = limits
    start, end = (float(np.asarray(_value(limit, values)).item()) for limit in (first, last))
    if not end - start < MOST_TERMS:
        raise InputError("a sum of too many terms", value=end - start, allowed=f"up to {MOST_TERMS:,}")
    indices = np.arange(start, end + 0.5)
    terms = _value(body, {**values, index.name: indices})
    return np.sum(np.broadcast_to(terms, indices.shape))
