"""Forms with ``min`` and ``max`` as if it were known at which points which argument counts: starts for the search.

If the argument that counts is known, coefficients within it mostly enter linearly, and follow directly. The search
tried is a change from one argument to the other at some value of one parameter, as from short messages to long ones;
then finds the value. Maxima of linear functions are fitted likewise, by alternately supposing and solving (Magnani
and Boyd, Optimization and Engineering 10 (2009)).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from simcodesign.core.expressions.derivative import names_in, parts_of
from simcodesign.core.expressions.expression import Call, Comparison, Name, Negation, Node, Number, Operation
from simcodesign.fitting.formulas.form import Form, linear_names
from simcodesign.fitting.selection.term_basis import Array


def forms_by_branch(form: Form, points: Array) -> Iterator[Form]:
    """Yield the form with a case distinction instead of every ``min`` and ``max``.

    Cases differ in whether a parameter is above a value between its values at points (K, m); none if no non-linear
    coefficient is in one.
    """
    if not _in_extremes(form.tree) & {*form.nonlinear}:
        return
    for name, values in zip(form.parameters, points.T, strict=True):
        distinct = np.unique(values)
        for between in np.sqrt(distinct[:-1]) * np.sqrt(distinct[1:]):
            for sign in (">", "<="):
                tree = _with_cases(form.tree, Comparison((sign,), (Name(name), Number(np.float64(between)))))
                linear = linear_names(tree, form.coefficients)
                nonlinear = tuple(one for one in form.coefficients if one not in linear)
                yield replace(form, tree=tree, linear=linear, nonlinear=nonlinear)


def _in_extremes(node: Node) -> set[str]:
    """Return the names in a ``min`` or ``max``."""
    if isinstance(node, Call) and node.function in ("min", "max"):
        return {*names_in(node)}
    return {name for part in parts_of(node) for name in _in_extremes(part)}


def _with_cases(node: Node, condition: Node) -> Node:
    """Return the tree with the first argument of every ``min`` and ``max`` where the condition holds.

    The last elsewhere.
    """
    match node:
        case Negation(operand):
            return Negation(_with_cases(operand, condition))
        case Operation(symbol, left, right):
            return Operation(symbol, _with_cases(left, condition), _with_cases(right, condition))
        case Call(function, arguments):
            cases = tuple(_with_cases(one, condition) for one in arguments)
            return (
                Call("where", (condition, cases[0], cases[-1])) if function in ("min", "max") else Call(function, cases)
            )
    return node
