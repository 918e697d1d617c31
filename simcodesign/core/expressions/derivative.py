"""Derivatives of expressions, tree to tree: what an expression grows by with one of its names.

They hold almost everywhere: the derivative of a step (``ceil``, ``floor``, ``round``, ``//``, a comparison) is 0, and
at the kink of ``abs``, ``min`` and ``max`` it is the derivative of one side. Subtrees that are 0 or 1 by their
structure are folded, so that a name that remains in a derivative usually matters to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from simcodesign.core.expressions.expression import (
    Call,
    Comparison,
    Name,
    Negation,
    Node,
    Number,
    Operation,
)

ZERO, ONE = Number(np.float64(0.0)), Number(np.float64(1.0))
_LOGARITHMS = {"log": 1.0, "log2": float(np.log(2.0)), "log10": float(np.log(10.0))}
#: Functions that are constant except at steps.
STEPS = ("ceil", "floor", "round")


def derivative(node: Node, name: str) -> Node:
    """Return the derivative of a node by a name, as a tree over the same names."""
    match node:
        case Name(other):
            return ONE if other == name else ZERO
        case Negation(operand):
            return _negative(derivative(operand, name))
        case Operation(symbol, left, right):
            return _of_operation(node, symbol, (left, right), (derivative(left, name), derivative(right, name)))
        case Call("where", (condition, a, b)):
            return _chosen(condition, derivative(a, name), derivative(b, name))
        case Call(("min" | "max") as function, arguments):
            return _of_extreme(function, arguments, name)
        case Call(function, (argument,)):
            return _of_call(node, function, argument, derivative(argument, name))
    return ZERO  # a number, or a comparison


def _of_operation(node: Node, symbol: str, operands: tuple[Node, Node], slopes: tuple[Node, Node]) -> Node:
    (left, right), (by_left, by_right) = operands, slopes
    match symbol:
        case "+":
            return _sum(by_left, by_right)
        case "-":
            return _difference(by_left, by_right)
        case "*":
            return _sum(_product(by_left, right), _product(left, by_right))
        case "/" if by_right == ZERO:
            return _quotient(by_left, right)
        case "/":
            above = _difference(_product(by_left, right), _product(left, by_right))
            return _quotient(above, _power(right, Number(np.float64(2.0))))
        case "**":
            return _sum(_of_base(left, right, by_left), _of_exponent(node, left, by_right))
        case "%":  # left - right*floor(left/right)
            return _difference(by_left, _product(Operation("//", left, right), by_right))
    return ZERO  # //


def _of_base(base: Node, exponent: Node, slope: Node) -> Node:
    return _product(_product(exponent, _power(base, _difference(exponent, ONE))), slope)


def _of_exponent(power: Node, base: Node, slope: Node) -> Node:
    """Differentiate by the exponent. A zero base, such as log2(P) at P = 1, has zero powers, so its derivative is 0."""
    zero = Comparison(("==",), (base, ZERO))
    return _product(Call("where", (zero, ZERO, Operation("*", power, Call("log", (base,))))), slope)


def _of_call(node: Node, function: str, argument: Node, slope: Node) -> Node:
    if function in STEPS or slope == ZERO:
        return ZERO
    if function in _LOGARITHMS:
        return _quotient(slope, _product(argument, Number(np.float64(_LOGARITHMS[function]))))
    match function:
        case "exp":
            return _product(node, slope)
        case "sqrt":
            return _quotient(slope, _product(Number(np.float64(2.0)), node))
        case "cbrt":
            return _quotient(slope, _product(Number(np.float64(3.0)), _power(node, Number(np.float64(2.0)))))
        case "abs":
            return _chosen(Comparison(("<",), (argument, ZERO)), _negative(slope), slope)
    raise AssertionError(node)


def _of_extreme(function: str, arguments: Sequence[Node], name: str) -> Node:
    """Differentiate ``min`` or ``max``: the derivative of the argument that attains the extreme."""
    first, *others = arguments
    slope = derivative(first, name)
    if not others:
        return slope
    rest = others[0] if len(others) == 1 else Call(function, tuple(others))
    first_counts = Comparison(("<=" if function == "min" else ">=",), (first, rest))
    return _chosen(first_counts, slope, _of_extreme(function, others, name))


def _chosen(condition: Node, a: Node, b: Node) -> Node:
    return a if a == b else Call("where", (condition, a, b))


def _negative(node: Node) -> Node:
    match node:
        case Number(value):
            return Number(-value if value else value)
        case Negation(operand):
            return operand
    return Negation(node)


def _sum(a: Node, b: Node) -> Node:
    if a == ZERO or b == ZERO:
        return b if a == ZERO else a
    return _folded("+", a, b)


def _difference(a: Node, b: Node) -> Node:
    if a == b:
        return ZERO
    if a == ZERO or b == ZERO:
        return _negative(b) if a == ZERO else a
    return _folded("-", a, b)


def _product(a: Node, b: Node) -> Node:
    if ZERO in (a, b):
        return ZERO
    if ONE in (a, b):
        return b if a == ONE else a
    return _folded("*", a, b)


def _quotient(a: Node, b: Node) -> Node:
    return a if a == ZERO or b == ONE else Operation("/", a, b)


def _power(base: Node, exponent: Node) -> Node:
    if exponent == ZERO:
        return ONE
    return base if exponent == ONE else Operation("**", base, exponent)


def _folded(symbol: str, a: Node, b: Node) -> Node:
    """Return the operation, already computed if both operands are plain numbers."""
    node = Operation(symbol, a, b)
    plain = isinstance(a, Number) and isinstance(b, Number) and not a.dimension and not b.dimension
    return Number(np.float64(node.evaluate({}))) if plain else node


def names_in(node: Node) -> tuple[str, ...]:
    """Return the names of a tree, each once, in the order in which they are written."""
    match node:
        case Name(name):
            return (name,)
        case Negation() | Operation() | Comparison() | Call():
            return tuple(dict.fromkeys(name for part in parts_of(node) for name in names_in(part)))
    return ()


def parts_of(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below one."""
    match node:
        case Negation(operand):
            return (operand,)
        case Operation(_, left, right):
            return left, right
        case Comparison(_, parts) | Call(_, parts):
            return parts
    return ()


def with_nodes(node: Node, nodes: Mapping[str, Node]) -> Node:
    """Return the tree with some of its names replaced by other trees."""
    match node:
        case Name(name):
            return nodes.get(name, node)
        case Negation(operand):
            return Negation(with_nodes(operand, nodes))
        case Operation(symbol, left, right):
            return Operation(symbol, with_nodes(left, nodes), with_nodes(right, nodes))
        case Comparison(_, operands):
            return replace(node, operands=tuple(with_nodes(one, nodes) for one in operands))
        case Call(function, arguments):
            return Call(function, tuple(with_nodes(one, nodes) for one in arguments))
    return node
