"""A formula with unknown coefficients: parameters, known names, and how each coefficient enters.

A coefficient enters linearly if the symbolic derivative by it has neither itself nor another linear coefficient in it.
In ``a*(b + c*m)`` either ``a`` or ``b`` and ``c`` can be linear: the larger set is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.expressions.derivative import STEPS, derivative, names_in, parts_of, with_nodes
from simcodesign.core.expressions.expression import Call, Comparison, Expression, Negation, Node, Number, Operation
from simcodesign.core.expressions.expression_text import text_of
from simcodesign.describe.equations import ordered
from simcodesign.describe.formulas.formula import Formula
from simcodesign.fitting.formulas.known_names import KnownNames
from simcodesign.fitting.selection.candidate_fits import Flags
from simcodesign.fitting.selection.term_basis import Array

#: More coefficients than these that enter non-linearly have too many valleys to be searched.
MAX_NONLINEAR = 6
#: Names, numbers and operations of a symbol once others are put in.
_MAX_NODES = 5000
#: Name of ``p`` in formulas.
_RANKS = "P"


@dataclass(frozen=True)
class Form:
    """A formula over ``parameters``, the ``known`` values that it uses, and coefficients.

    ``linear`` and ``nonlinear`` ones, each in the order in which they are written; ``exponents`` are the nonlinear ones
    within an exponent.

    ``tree``: the total, symbols of the formula's own put in.
    """

    formula: Formula
    tree: Node
    parameters: tuple[str, ...]
    known: Mapping[str, float]
    linear: tuple[str, ...]
    nonlinear: tuple[str, ...]
    exponents: frozenset[str]

    @property
    def name(self) -> str:
        """Name of the formula."""
        return self.formula.name

    @property
    def text(self) -> str:
        """The expression as it was given."""
        return "" if self.formula.total is None else self.formula.total.text

    @property
    def coefficients(self) -> tuple[str, ...]:
        """All of them: linear ones first."""
        return self.linear + self.nonlinear

    @cached_property
    def slopes(self) -> dict[str, Node]:
        """The derivative by each coefficient."""
        return {name: derivative(self.tree, name) for name in self.coefficients}

    def names_at(self, points: Array) -> dict[str, Array | np.float64]:
        """Return the values of parameters at points (K, m), and of what is known."""
        values: dict[str, Array | np.float64] = {name: np.float64(value) for name, value in self.known.items()}
        values |= dict(zip(self.parameters, points.T, strict=True))
        if _RANKS in values and "p" not in values:
            values["p"] = values[_RANKS]
        return values

    def values(self, points: Array, coefficients: Mapping[str, float]) -> Array:
        """Return the formula at points (K, m), (K,); not finite if undefined."""
        return self.evaluated(self.tree, self.names_at(points), coefficients, len(points))

    def evaluated(
        self, node: Node, names: Mapping[str, Array | np.float64], coefficients: Mapping[str, float], count: int
    ) -> Array:
        """Return a node of this form, (count,)."""
        every = {**names, **{name: np.float64(value) for name, value in coefficients.items()}}
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(node.evaluate(every), dtype=np.float64), (count,))

    def holds(self, points: Array) -> Flags:
        """Whether the formula's condition holds at points (K, m), (K,)."""
        if self.formula.valid is None:
            return np.ones(len(points), dtype=np.bool_)
        values = self.evaluated(self.formula.valid.tree, self.names_at(points), {}, len(points))
        return np.asarray(np.nan_to_num(values) != 0)

    def text_with(self, numbers: Mapping[str, float], *, digits: int | None = None) -> str:
        """Return the expression with numbers instead of names.

        Written so that they read back exactly unless ``digits`` limits how many are shown.
        """
        return text_of(_signs_put_out(with_nodes(self.tree, {name: _number(x, digits) for name, x in numbers.items()})))


def _number(value: float, digits: int | None) -> Node:
    node = Number(np.float64(abs(value)), "" if digits is None else f"{abs(value):.{digits}g}")
    return Negation(node) if value < 0 else node


def _signs_put_out(node: Node) -> Node:
    """Write ``a - b*c`` instead of ``a + -b*c``."""
    match node:
        case Negation(operand):
            return Negation(_signs_put_out(operand))
        case Operation(symbol, left, right):
            left, right = _signs_put_out(left), _signs_put_out(right)
            positive = _without_sign(right) if symbol in ("+", "-") else None
            if positive is None:
                return Operation(symbol, left, right)
            return Operation("-" if symbol == "+" else "+", left, positive)
        case Call(function, arguments):
            return Call(function, tuple(map(_signs_put_out, arguments)))
    return node


def _without_sign(node: Node) -> Node | None:
    """Return a product without the minus sign of its first factor; None if it has none."""
    match node:
        case Negation(operand):
            return operand
        case Operation(("*" | "/") as symbol, left, right) if (positive := _without_sign(left)) is not None:
            return Operation(symbol, positive, right)
    return None


def form_of(formula: Formula, parameters: Sequence[str], known: KnownNames) -> Form:
    """Return the form of a formula for the total over measurements of these parameters.

    Raises InputError for a formula without a total, a name that is a parameter except for its case, a constant of a
    machine that is not given, a coefficient where least squares cannot vary it (in a comparison, a rounding or a
    remainder), and a condition with unknown names.
    """
    if formula.total is None:
        what = f"formula {formula.name!r} has no total to be fitted"
        raise InputError(what, formula.place, allowed="an expression, or 'total:' with one")
    _check_parameters(parameters, formula)
    tree = _with_symbols(formula.total.tree, formula.symbols)
    values = _with_word(formula, known)
    taken = {*parameters, *values, *(("p",) if _RANKS in parameters else ())}
    unknown = tuple(name for name in names_in(tree) if name not in taken)
    _check_names(formula, unknown, (*parameters, *values))
    _check_steps(formula.total, tree, unknown)
    if formula.valid is not None and (strange := sorted(formula.valid.names - taken)):
        what = f"the condition of formula {formula.name!r} has unknown names"
        raise InputError(what, formula.valid.place, value=", ".join(strange), allowed=", ".join(sorted(taken)))
    linear = linear_names(tree, unknown)
    nonlinear = tuple(name for name in unknown if name not in linear)
    if len(nonlinear) > MAX_NONLINEAR:
        what = f"formula {formula.name!r} has {len(nonlinear)} coefficients that enter non-linearly"
        raise InputError(what, formula.place, value=", ".join(nonlinear), allowed=f"up to {MAX_NONLINEAR}")
    used = {*names_in(tree), *(() if formula.valid is None else formula.valid.names)} - {*parameters}
    needed = {name: value for name, value in values.items() if name in used}
    return Form(formula, tree, tuple(parameters), needed, linear, nonlinear, frozenset(_exponents(tree)) & {*nonlinear})


def linear_names(tree: Node, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names in which the tree is linear, all together; in their order."""
    reach = {name: {*names_in(derivative(tree, name))} for name in names}
    own = [name for name in names if name not in reach[name]]
    clash = {a: {b for b in own if b in reach[a] or a in reach[b]} for a in own}
    chosen: set[str] = set()
    for name in sorted(own, key=lambda name: len(clash[name])):
        if not clash[name] & chosen:
            chosen.add(name)
    return tuple(name for name in names if name in chosen)


def _with_symbols(tree: Node, symbols: Mapping[str, Expression]) -> Node:
    """Return the tree with the formula's own symbols put in; they may need each other."""
    others = {name for expression in symbols.values() for name in expression.names} - symbols.keys()
    put_in: dict[str, Node] = {}
    for name in ordered(symbols, others):
        put_in[name] = _bounded(with_nodes(symbols[name].tree, put_in), symbols[name])
    return with_nodes(tree, put_in)


def _bounded(tree: Node, symbol: Expression) -> Node:
    """InputError for a tree that is too large: symbols of symbols may double it each time."""
    level, count = [tree], 0
    while level and count <= _MAX_NODES:
        count += len(level)
        level = [part for node in level for part in parts_of(node)]
    if count > _MAX_NODES:
        what = "symbols within symbols make too long a formula"
        raise InputError(what, symbol.place, value=symbol.text, allowed=f"up to {_MAX_NODES} names, numbers and signs")
    return tree


def _with_word(formula: Formula, known: KnownNames) -> dict[str, float]:
    """Known values, with t_w as a time per value if the formula gives the bytes of one."""
    values = known.values
    if formula.word is None or "t_w" not in known.of_machine or "t_w" in known.given:
        return values
    return values | {"t_w": values["t_w"] * float(formula.word.evaluate(values))}


def _check_parameters(parameters: Sequence[str], formula: Formula) -> None:
    for name in parameters:
        if name in formula.symbols:
            what = f"formula {formula.name!r} has a symbol with the name of a parameter"
            raise InputError(what, formula.place, value=name, allowed="another name")


def _check_names(formula: Formula, unknown: Sequence[str], known: Sequence[str]) -> None:
    """InputError for what is hardly meant as a coefficient; ``known``: parameters, and what has a value."""
    total = formula.total
    assert total is not None
    by_case = {name.lower(): name for name in reversed(known)}
    for name in unknown:
        if (meant := by_case.get(name.lower())) is not None:
            what = f"{name} is neither a parameter of the measurements nor known; {meant} is"
            raise InputError(what, total.place, value=total.text, allowed=f"{meant}, or another coefficient")
        if "." in name:
            what = f"{name} is neither a parameter nor known"
            allowed = f"{nearest(name, known)}; constants of a machine with --machine (machine=)"
            raise InputError(what, total.place, value=total.text, allowed=allowed)


def _check_steps(total: Expression, tree: Node, unknown: Sequence[str]) -> None:
    if stuck := [name for name in unknown if name in _in_steps(tree)]:
        what = f"{stuck[0]} is in a comparison, rounding or remainder, where least squares cannot vary it"
        raise InputError(what, total.place, value=total.text, allowed=f"a value for it: --set {stuck[0]}=... (known=)")


def _in_steps(node: Node) -> set[str]:
    match node:
        case Comparison() | Operation("//" | "%", _, _):
            return {*names_in(node)}
        case Call(function, _) if function in STEPS:
            return {*names_in(node)}
        case Call("where", (condition, a, b)):
            return {*names_in(condition)} | _in_steps(a) | _in_steps(b)
    return {name for part in parts_of(node) for name in _in_steps(part)}


def _exponents(node: Node) -> set[str]:
    """Return the names within exponents."""
    own = {*names_in(node.right)} if isinstance(node, Operation) and node.symbol == "**" else set()
    return own.union(*(_exponents(part) for part in parts_of(node)))
