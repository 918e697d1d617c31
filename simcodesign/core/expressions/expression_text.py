"""Trees of expressions as text, with as few brackets as they need."""

from __future__ import annotations

from collections.abc import Iterable

from simcodesign.core.expressions.expression import (
    Call,
    Comparison,
    Name,
    Negation,
    Node,
    Number,
    Operation,
)

#: How closely an operator binds: comparisons, sums, products, negation, powers, atoms.
_COMPARED, _SUM, _PRODUCT, _NEGATED, _POWER, _ATOM = range(6)
_BINDING = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "//": _PRODUCT, "%": _PRODUCT, "**": _POWER}


def text_of(node: Node) -> str:
    """Return the node as an expression, which parses to the same tree."""
    match node:
        case Number(value, written):
            return written or repr(float(value))
        case Name(name):
            return name
        case Negation(operand):
            return f"-{_within(operand, _NEGATED)}"
        case Operation("**", left, right):
            return f"{_within(left, _ATOM)}**{_within(right, _NEGATED)}"
        case Operation(symbol, left, right):
            binding = _BINDING[symbol]
            space = " " if binding == _SUM else ""
            return f"{_within(left, binding)}{space}{symbol}{space}{_within(right, binding + 1)}"
        case Comparison(symbols, operands):
            rest = zip(symbols, operands[1:], strict=True)
            return " ".join([_within(operands[0], _SUM), *(f"{s} {_within(operand, _SUM)}" for s, operand in rest)])
        case Call(function, arguments):
            return f"{function}({', '.join(map(text_of, arguments))})"
    raise AssertionError(node)


def product_text(factors: Iterable[tuple[Node, bool]]) -> str:
    """Factors and divisors (``True``) as one product, ``t_s*m/P``."""
    factors = [*factors]
    above = [_within(node, _PRODUCT + 1) for node, inverted in factors if not inverted]
    below = [_within(node, _PRODUCT + 1) for node, inverted in factors if inverted]
    return "/".join(["*".join(above) or "1", *below])


def _within(node: Node, binding: int) -> str:
    """Return the text of an operand, in brackets unless it binds at least so closely."""
    text = text_of(node)
    return text if _binding(node) >= binding else f"({text})"


def _binding(node: Node) -> int:
    match node:
        case Operation(symbol, _, _):
            return _BINDING[symbol]
        case Negation():
            return _NEGATED
        case Comparison():
            return _COMPARED
    return _ATOM
