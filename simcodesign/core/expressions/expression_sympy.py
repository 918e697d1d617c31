"""Expressions in SymPy and LaTeX (extra ``sym``), node by node and in the order in which they were written.

Everything is built with ``evaluate=False``: SymPy would compute ``9**9**9**9`` exactly.
"""

from __future__ import annotations

from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import (
    Call,
    Comparison,
    Expression,
    Name,
    Negation,
    Node,
    Number,
    Operation,
)


def to_sympy(expression: Expression) -> Any:
    """Convert an expression to SymPy; names become plain symbols.

    Not simplified (``.doit()`` or ``sympy.simplify`` do that). ``round`` stays a function of that name;
    ``cbrt`` becomes a power of 1/3, which SymPy takes for the principal root, a complex one below zero.
    Raises InputError without SymPy, for an expression too deep for it and for conditions within conditions,
    other than products (and) and ``max`` (or) of comparisons.
    """
    try:
        return _formula(_import_sympy(), expression.tree)
    except RecursionError as error:
        raise _refused(expression, "nested too deeply for SymPy", "a shallower expression") from error
    except _NestedConditionError as error:
        raise _refused(expression, "a condition within a condition in SymPy", "products, max") from error


def to_latex(expression: Expression) -> str:
    """Return the formula in LaTeX. Raises InputError like ``to_sympy``."""
    formula = to_sympy(expression)
    try:
        return str(_import_sympy().latex(formula, order="none"))
    except RecursionError as error:
        raise _refused(expression, "nested too deeply for LaTeX", "a shallower expression") from error


def _refused(expression: Expression, what: str, allowed: str) -> InputError:
    return InputError(what, expression.place, value=expression.text, allowed=allowed)


def _import_sympy() -> Any:
    try:
        import sympy.codegen.cfunctions  # optional dependency; defines log2 and log10
    except ImportError as error:
        raise InputError("SymPy is not installed", allowed="pip install 'simcodesign[sym]'") from error
    return sympy


def _formula(sympy: Any, node: Node) -> Any:
    match node:
        case Number(value):
            number = float(value)
            return sympy.Integer(int(number)) if number.is_integer() and abs(number) < 1e15 else sympy.Float(number)
        case Name(name):
            return sympy.Symbol(name)
        case Negation(operand):
            return _negative(sympy, _formula(sympy, operand))
        case Operation(symbol, left, right):
            return _operation(sympy, symbol, _formula(sympy, left), _formula(sympy, right))
        case Comparison():
            return sympy.Piecewise((1, _comparison(sympy, node)), (0, True), evaluate=False)
        case Call("where", (condition, a, b)):
            choices = (_formula(sympy, a), _condition(sympy, condition)), (_formula(sympy, b), True)
            return sympy.Piecewise(*choices, evaluate=False)
        case Call(function, arguments):
            return _call(sympy, function, [_formula(sympy, argument) for argument in arguments])
    raise AssertionError(node)


def _operation(sympy: Any, symbol: str, left: Any, right: Any) -> Any:
    match symbol:
        case "+":
            return sympy.Add(*_terms(sympy.Add, left), right, evaluate=False)
        case "-":
            return sympy.Add(*_terms(sympy.Add, left), _negative(sympy, right), evaluate=False)
        case "*":
            return sympy.Mul(*_terms(sympy.Mul, left), right, evaluate=False)
        case "/":
            return _quotient(sympy, left, right)
        case "//":
            return sympy.floor(_quotient(sympy, left, right), evaluate=False)
        case "%":
            return sympy.Mod(left, right, evaluate=False)
        case _:
            return sympy.Pow(left, right, evaluate=False)


class _NestedConditionError(Exception):
    """SymPy would rewrite a case distinction inside a condition, and compute while it does."""


def _comparison(sympy: Any, node: Comparison) -> Any:
    """Return the comparison as a SymPy condition."""
    operands = [_operand(sympy, operand) for operand in node.operands]
    neighbours = zip(node.symbols, operands, operands[1:], strict=False)
    # Comparisons of two literals are decided here: SymPy cannot substitute into a chain that keeps an open 2 < 9.
    holds = [sympy.Rel(a, b, s, evaluate=a.is_Number and b.is_Number) for s, a, b in neighbours]
    return holds[0] if len(holds) == 1 else sympy.And(*holds, evaluate=False)


def _condition(sympy: Any, node: Node) -> Any:
    """Whether the node is not zero."""
    match node:
        case Comparison():
            return _comparison(sympy, node)
        case Operation("*", left, right):
            return sympy.And(_condition(sympy, left), _condition(sympy, right), evaluate=False)
        case Call("max", arguments) if all(isinstance(argument, Comparison) for argument in arguments):
            return sympy.Or(*[_condition(sympy, argument) for argument in arguments], evaluate=False)
        case _:
            return sympy.Ne(_operand(sympy, node), 0, evaluate=False)


def _operand(sympy: Any, node: Node) -> Any:
    formula = _formula(sympy, node)
    if formula.has(sympy.Piecewise):
        raise _NestedConditionError
    return formula


def _terms(kind: Any, formula: Any) -> tuple[Any, ...]:
    """Return ``a + b`` as its terms, so that ``a + b + c`` is one flat sum without brackets."""
    return tuple(formula.args) if isinstance(formula, kind) else (formula,)


def _negative(sympy: Any, formula: Any) -> Any:
    if formula.is_Number:
        return -formula
    factors = _terms(sympy.Mul, formula)
    if factors[0] == -1:  # a - (-b) would be printed as a - - b
        return factors[1] if len(factors) == 2 else sympy.Mul(*factors[1:], evaluate=False)
    return sympy.Mul(-1, *factors, evaluate=False)


def _quotient(sympy: Any, left: Any, right: Any) -> Any:
    if left.is_Integer and right.is_Integer and right != 0:
        return sympy.Rational(left, right)
    inverse = sympy.Pow(right, -1, evaluate=False)
    return inverse if left == 1 else sympy.Mul(*_terms(sympy.Mul, left), inverse, evaluate=False)


def _call(sympy: Any, function: str, arguments: list[Any]) -> Any:
    match function:
        case "log2" | "log10":
            return getattr(sympy.codegen.cfunctions, function)(*arguments, evaluate=False)
        case "ceil":
            return sympy.ceiling(*arguments, evaluate=False)
        case "abs":
            return sympy.Abs(*arguments, evaluate=False)
        case "min" | "max":
            return getattr(sympy, function.capitalize())(*arguments, evaluate=False)
        case "round":
            return sympy.Function("round")(*arguments)  # SymPy has none that takes halves to even
        case _:
            return getattr(sympy, function)(*arguments, evaluate=False)
