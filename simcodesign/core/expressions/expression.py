"""Formulas of a description, e.g. ``"(2*s_i + 6)*n_i"``: parsed by a whitelist, evaluated on arrays.

User text is never executed: the syntax tree of the standard library is translated, node by node, into the
few node types below, and whatever is not one of them is an error. All arithmetic is in float64: what has no
finite real value gives inf or nan (never an exception), which the caller checks.
"""

from __future__ import annotations

import ast
import functools
import operator
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place, nearest, shorten
from simcodesign.core.expressions.quantity_literals import QuantityLiteral, quantity_literals, without_quantities

MAX_LENGTH = 4096
MAX_DEPTH = 200

Value = np.float64 | NDArray[np.float64]
Values = Mapping[str, Value]

_OPERATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def _min(*values: Value) -> Value:
    return functools.reduce(np.minimum, values)


def _max(*values: Value) -> Value:
    return functools.reduce(np.maximum, values)


def _where(condition: Value, a: Value, b: Value) -> Value:
    return np.where(condition != 0, a, b)[()]  # [()] turns an array without dimensions into a number


@dataclass(frozen=True)
class _Function:
    numeric: Callable[..., Value]
    fewest: int = 1
    most: int = 1


#: Functions that an expression may call. ``log`` is natural; ``round`` rounds halves to the even neighbour.
FUNCTIONS: Mapping[str, _Function] = MappingProxyType(
    {
        "log2": _Function(np.log2),
        "log": _Function(np.log),
        "log10": _Function(np.log10),
        "exp": _Function(np.exp),
        "sqrt": _Function(np.sqrt),
        "cbrt": _Function(np.cbrt),
        "ceil": _Function(np.ceil),
        "floor": _Function(np.floor),
        "round": _Function(np.rint),
        "abs": _Function(np.abs),
        "min": _Function(_min, 2, MAX_LENGTH),
        "max": _Function(_max, 2, MAX_LENGTH),
        "where": _Function(_where, 3, 3),
    }
)


class Node(Protocol):
    """A part of an expression."""

    def evaluate(self, values: Values) -> Value:
        """Its value; ``values`` holds every name."""


@dataclass(frozen=True, slots=True)
class Number:
    """A literal as ``written``; ``dimension`` is the dimension of its unit, and the value is in SI units."""

    value: np.float64
    written: str = field(default="", compare=False)
    dimension: str = ""

    def evaluate(self, values: Values) -> Value:
        """Return the number."""
        return self.value


@dataclass(frozen=True, slots=True)
class Name:
    name: str

    def evaluate(self, values: Values) -> Value:
        """Return the value of the name."""
        return values[self.name]


@dataclass(frozen=True, slots=True)
class Negation:
    operand: Node

    def evaluate(self, values: Values) -> Value:
        """Return the operand with the other sign."""
        return -self.operand.evaluate(values)


@dataclass(frozen=True, slots=True)
class Operation:
    symbol: str
    left: Node
    right: Node

    def evaluate(self, values: Values) -> Value:
        """Return the result of the operation on both sides."""
        result: Value = _OPERATIONS[self.symbol](self.left.evaluate(values), self.right.evaluate(values))
        return result


@dataclass(frozen=True, slots=True)
class Comparison:
    """1 if the comparison holds, otherwise 0; ``a < b < c`` compares neighbours, as in mathematics."""

    symbols: tuple[str, ...]
    operands: tuple[Node, ...]

    def evaluate(self, values: Values) -> Value:
        """Return whether all comparisons of the chain hold."""
        operands = [operand.evaluate(values) for operand in self.operands]
        holds = [_COMPARISONS[s](a, b) for s, a, b in zip(self.symbols, operands, operands[1:], strict=False)]
        result: Value = functools.reduce(operator.and_, holds) * np.float64(1.0)
        return result


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    arguments: tuple[Node, ...]

    def evaluate(self, values: Values) -> Value:
        """Return the function at the values of its arguments."""
        return FUNCTIONS[self.function].numeric(*[argument.evaluate(values) for argument in self.arguments])


@dataclass(frozen=True)
class Expression:
    """A parsed formula, equal if its text is; ``names`` are its free names, ``place`` is its position in a file."""

    text: str
    names: frozenset[str] = field(compare=False)
    tree: Node = field(compare=False, repr=False)
    place: Place | None = field(default=None, compare=False, repr=False)

    def evaluate(self, values: Mapping[str, float | NDArray[Any]]) -> float | NDArray[np.float64]:
        """Return the value for these names, which may be more than needed; real numbers or arrays that broadcast.

        A float if every value used is a number, otherwise an array. Division by zero, overflow, logarithms of
        negative numbers and the like give inf or nan. Raises InputError for a missing name, a value that is
        not real, or shapes that do not broadcast.
        """
        used = {name: self._float64(name, values) for name in self.names}
        try:
            with np.errstate(all="ignore"):
                result = self.tree.evaluate(used)
        except ValueError as error:
            shapes = ", ".join(f"{name} {np.shape(used[name])}" for name in sorted(used))
            raise self._error(f"arrays do not broadcast: {shapes}", "broadcastable shapes") from error
        if isinstance(result, np.ndarray):
            return result.copy() if isinstance(self.tree, Name) else result  # never the caller's own array
        return float(result)

    def _float64(self, name: str, values: Mapping[str, Any]) -> Value:
        if name not in values:
            raise self._error(f"unknown name {name!r}", nearest(name, values))
        value = values[name]
        if type(value) is float:  # by far the most frequent
            return np.float64(value)
        try:
            array = np.asarray(value)
            if array.dtype.kind in "biuf":
                converted = array.astype(np.float64, copy=False)
                return converted if converted.ndim else np.float64(converted[()])
        except ValueError:  # a ragged list
            pass
        raise self._error(f"{name} is {shorten(value)}", "real numbers and arrays of them")

    def _error(self, what: str, allowed: str) -> InputError:
        return InputError(what, self.place, value=self.text, allowed=allowed)


def parse(text: str | int | float, place: Place | None = None, *, with_units: bool = False) -> Expression:
    """Parse ``text`` into an expression; a number becomes a constant.

    Allowed are numbers, names (ASCII, not starting with an underscore), ``+ - * / // % **``, comparisons,
    brackets and calls of ``FUNCTIONS``, up to ``MAX_LENGTH`` characters and ``MAX_DEPTH`` levels (a sum of n
    terms has n levels). ``with_units``: quantities too (``2.5 us``, one atom each, in SI units), and names with dots
    (``network.startup``). Raises InputError for anything else.
    """
    if isinstance(text, int | float | np.integer | np.floating) and not isinstance(text, bool):
        return _parse_number(text, place)
    if not isinstance(text, str):
        raise InputError("not an expression", place, value=text, allowed="a number or text like '2*n + 1'")
    text = text.translate(_SPACES).strip(" ")
    literals = quantity_literals(text, place) if with_units and len(text) <= MAX_LENGTH else {}
    code = without_quantities(text, literals)
    _check_text(code, text, place)
    body = _syntax_tree(code, text, place)
    _check_depth(body, text, place)
    builder = _Builder(text, place, literals if with_units else None)
    try:
        tree = builder.build(body)
    except RecursionError as error:
        raise _too_deep(text, place) from error
    return Expression(text, frozenset(builder.names), tree, place)


# --- from text to tree --------------------------------------------------------------------------------------

_SYMBOLS: Mapping[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
#: Syntax that people try but that is not allowed, and the allowed alternative.
_REFUSED: Mapping[type[ast.AST], str] = {
    ast.Attribute: "a '.' after a name",
    ast.BoolOp: "'and' or 'or' (multiply comparisons, or take their max)",
    ast.Compare: "'in' or 'is'",
    ast.IfExp: "'if' (write where(condition, a, b))",
    ast.Tuple: "a list of values",
    ast.UnaryOp: "'not' (write x == 0)",
}
_ALLOWED = "numbers, names, + - * / // % **, comparisons, brackets, calls of " + ", ".join(sorted(FUNCTIONS))
_SPACES = str.maketrans("\t\r\n", "   ")  # a formula may be folded over several lines
_FORBIDDEN = re.compile(r"[^A-Za-z0-9_ .+\-*/%(),<>=!]")


def _parse_number(number: Any, place: Place | None) -> Expression:
    try:
        value = np.float64(number)
    except OverflowError:
        value = np.float64("inf")
    if not np.isfinite(value):
        shown = number if isinstance(number, float) else "a number too large for float64"
        raise InputError("not a finite number", place, value=shown, allowed="numbers up to 1.8e308")
    text = str(number) if isinstance(number, int) else repr(float(value))
    return Expression(text, frozenset(), Number(value), place)


def _check_text(code: str, text: str, place: Place | None) -> None:
    """Check that ``code``, the text with names instead of quantities, can be parsed."""
    if not text:
        raise InputError("empty expression", place, value=text, allowed=_ALLOWED)
    if len(text) > MAX_LENGTH:
        allowed = f"up to {MAX_LENGTH} characters"
        raise InputError(f"expression of {len(text)} characters", place, value=text, allowed=allowed)
    forbidden = _FORBIDDEN.search(code)
    if forbidden:
        what = f"character {forbidden.group()!r} at column {forbidden.start() + 1} is not allowed in an expression"
        if forbidden.group() == "^":
            what += "; a power is written **"
        raise InputError(what, place, value=text, allowed=_ALLOWED)
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth > MAX_DEPTH:
            raise _too_deep(text, place)


def _syntax_tree(code: str, text: str, place: Place | None) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the tokenizer about "1if": that is refused below
            return ast.parse(code, mode="eval").body
    except SyntaxError as error:
        what = f"syntax error at column {error.offset or 1} of an expression"
        raise InputError(what, place, value=text, allowed=_ALLOWED) from error
    except (RecursionError, MemoryError) as error:
        raise _too_deep(text, place) from error
    except ValueError as error:
        raise InputError(f"not an expression: {error}", place, value=text, allowed=_ALLOWED) from error


def _check_depth(body: ast.expr, text: str, place: Place | None) -> None:
    level: list[ast.AST] = [body]
    for _ in range(MAX_DEPTH):
        children = [child for node in level for child in ast.iter_child_nodes(node)]
        level = [child for child in children if isinstance(child, ast.expr)]
        if not level:
            return
    raise _too_deep(text, place)


def _too_deep(text: str, place: Place | None) -> InputError:
    allowed = f"up to {MAX_DEPTH} levels of brackets and operators; split it into several equations"
    return InputError("expression nested too deeply", place, value=text, allowed=allowed)


class _Builder:
    """Translates a syntax tree and collects the names it meets.

    ``literals``: quantities by column, None where neither these nor names with dots are allowed.
    """

    def __init__(self, text: str, place: Place | None, literals: Mapping[int, QuantityLiteral] | None) -> None:
        self.text, self.place = text, place
        self.literals = literals
        self.names: set[str] = set()

    def build(self, node: ast.expr) -> Node:
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return self._number(node, value)
            case ast.Name() if self.literals and (literal := self.literals.get(node.col_offset)):
                return Number(np.float64(literal.value), literal.text, literal.dimension)
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.Attribute() if self.literals is not None and (path := self._path(node)):
                return self._name(node, path)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _SYMBOLS:
                return Operation(_SYMBOLS[type(op)], self.build(left), self.build(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Negation(self.build(operand))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.build(operand)
            case ast.Compare(left=first, ops=ops, comparators=rest) if set(map(type, ops)) <= set(_SYMBOLS):
                operands = tuple([self.build(operand) for operand in (first, *rest)])
                return Comparison(tuple(_SYMBOLS[type(op)] for op in ops), operands)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                self._check_call(node, name, len(arguments))
                return Call(name, tuple([self.build(argument) for argument in arguments]))
        raise self._error(node, f"{self._described(node)} is not allowed", _ALLOWED)

    def _number(self, node: ast.expr, value: int | float) -> Number:
        try:
            number = float(value)
        except OverflowError:
            number = float("inf")
        if number == float("inf"):
            raise self._error(node, "number too large", "numbers up to 1.8e308")
        return Number(np.float64(number), self.text[node.col_offset : node.end_col_offset])

    def _path(self, node: ast.expr) -> str:
        """``network.startup``; empty if it is no path of names."""
        parts = []
        while isinstance(node, ast.Attribute) and not node.attr.startswith("_"):
            parts.append(node.attr)
            node = node.value
        is_path = isinstance(node, ast.Name) and node.col_offset not in (self.literals or ())
        return ".".join((node.id, *reversed(parts))) if is_path and isinstance(node, ast.Name) else ""

    def _name(self, node: ast.expr, name: str) -> Name:
        if name.startswith("_"):
            raise self._error(node, f"name {shorten(name)}", "names that start with a letter")
        if name in FUNCTIONS:
            raise self._error(node, f"function {name!r} without arguments", f"{name}(...), or another name")
        self.names.add(name)
        return Name(name)

    def _check_call(self, node: ast.expr, name: str, count: int) -> None:
        if name not in FUNCTIONS:
            raise self._error(node, f"unknown function {shorten(name)}", nearest(name, FUNCTIONS))
        fewest, most = FUNCTIONS[name].fewest, FUNCTIONS[name].most
        if not fewest <= count <= most:
            allowed = f"{fewest}" if fewest == most else f"{fewest} or more"
            raise self._error(node, f"{name} with {count} arguments", allowed)

    def _described(self, node: ast.expr) -> str:
        if isinstance(node, ast.Call):
            return "a named argument" if isinstance(node.func, ast.Name) else "a call of what is not a name"
        if isinstance(node, ast.Constant):
            return shorten(node.value)
        return _REFUSED.get(type(node), type(node).__name__)

    def _error(self, node: ast.expr, what: str, allowed: str) -> InputError:
        what = f"{what} at column {node.col_offset + 1}"
        return InputError(what, self.place, value=self.text, allowed=allowed)
