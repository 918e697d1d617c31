"""Units through an expression: whether all of its terms can be seconds, and which bare numbers must have a unit for it.

Sums in brackets are distributed, for this check only, so that every term is separate: ``(a + b)*c`` is ``a*c`` and
``b*c``. A term is described by the dimensions of its names and quantities.

- A term with a name of unknown unit may have any dimension except a time of its own: it must already have the time it
needs.
- A plain number multiplied by FLOP or cycles counts these: ``2*n*t_c`` with ``t_c`` in s/FLOP is a time.
- A bare literal is a coefficient in SI units in a term that has no time: ``2.5e-6*log2(P)`` takes 2.5e-6 s.
One without point and exponent is a coefficient only if the rest of the term is a plain count. In a sum, a
literal by itself has the unit of the other terms: ``(m - 1)*G``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.derivative import names_in
from simcodesign.core.expressions.dimension import PLAIN, Dimension, OnlyTime, dimension_named
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
from simcodesign.core.expressions.expression_text import product_text, text_of

SECONDS = dimension_named("time")
#: Products of sums with more terms are not distributed: then all terms of a sum must have one dimension.
MOST_TERMS = 1000
#: Functions of a plain count, those whose value is one whatever the unit of a name may be, and roots.
_PURE = ("log2", "log", "log10", "exp")
_WHOLE = ("ceil", "floor", "round")
_ROOTS = {"sqrt": Fraction(1, 2), "cbrt": Fraction(1, 3)}

#: The dimensions of names; None for a name of unknown unit, which may be anything except time.
Dimensions = Mapping[str, Dimension | OnlyTime | None]


@dataclass(frozen=True)
class TakenUnit:
    """A bare literal that is read as a coefficient in SI units."""

    literal: str
    dimension: Dimension

    def __str__(self) -> str:
        return f"{self.literal} taken as {self.literal} {self.dimension}"


def seconds_of(expression: Expression, dimensions: Dimensions) -> tuple[TakenUnit, ...]:
    """Return the bare literals that take a unit so that every term is in seconds.

    InputError for a term that cannot be.
    """
    walk = _Walk(expression, dimensions)
    # In a*(b*m + 1) the term with one coefficient determines the unit of a, and the other term then the unit of b.
    for term in sorted(walk.terms(expression.tree), key=lambda term: len(term.coefficients)):
        walk.settle(term, SECONDS)
    return walk.taken_units()


def condition_units(expression: Expression, dimensions: Dimensions) -> tuple[TakenUnit, ...]:
    """Return the bare literals that take a unit in a condition, as ``m <= 65536``.

    InputError where units contradict.
    """
    walk = _Walk(expression, dimensions)
    walk.terms(expression.tree)
    return walk.taken_units()


def dimension_of(expression: Expression, dimensions: Dimensions) -> Dimension | OnlyTime | None:
    """Return the dimension of all terms of an expression; None if it is unknown, or if a literal may have a unit.

    If only units of names are unknown, return the known exponent of time.
    """
    walk = _Walk(expression, dimensions)
    try:
        terms = walk.terms(expression.tree)
        whole = walk.one(expression.tree, terms)
    except InputError:
        return None
    if whole.unknown:
        return OnlyTime(whole.dimension.time) if whole.dimension.time else None
    hidden = whole.dimension.is_plain and any(term.literals for term in terms)
    return None if hidden else whole.dimension


@dataclass(frozen=True)
class Term:
    """A product: ``factors`` and divisors (True).

    The bare literals among them; whether the unit of a name in it is not ``known``, and whether a plain number is among
    them (``counts``).
    """

    dimension: Dimension
    factors: tuple[tuple[Node, bool], ...]
    literals: tuple[tuple[Number, bool], ...] = ()
    unknown: bool = False
    counts: bool = False

    def __str__(self) -> str:
        return product_text(self.factors)

    def __mul__(self, other: Term) -> Term:
        return Term(
            self.dimension * other.dimension,
            self.factors + other.factors,
            self.literals + other.literals,
            self.unknown or other.unknown,
            self.counts or other.counts,
        )

    @property
    def inverse(self) -> Term:
        """One over it."""
        turned = tuple((node, not inverted) for node, inverted in self.factors)
        literals = tuple((node, not inverted) for node, inverted in self.literals)
        return replace(self, dimension=self.dimension**-1, factors=turned, literals=literals)

    @property
    def is_literal(self) -> bool:
        """Whether it is nothing but bare literals."""
        return len(self.literals) == len(self.factors)

    @property
    def coefficients(self) -> list[tuple[Number, bool]]:
        """The literals that may take a unit, the likeliest first."""
        if self.dimension.time:
            return []
        real = [(node, inverted) for node, inverted in self.literals if {*".eE"} & {*node.written}]
        if real:
            return sorted(real, key=lambda literal: literal[1])
        whole = self.dimension.is_plain and not self.unknown
        return sorted(self.literals, key=lambda literal: literal[1])[:1] if whole else []


class _Walk:
    """From a tree to its terms; ``taken``: literals by identity with the unit that they took."""

    def __init__(self, expression: Expression, dimensions: Dimensions) -> None:
        self.expression, self.dimensions = expression, dimensions
        self.taken: dict[int, tuple[Number, Dimension]] = {}

    def taken_units(self) -> tuple[TakenUnit, ...]:
        """Return the units that literals took, in the order in which they were found, each once."""
        units = (TakenUnit(text_of(node), dimension) for node, dimension in self.taken.values())
        return tuple(dict.fromkeys(units))

    def terms(self, node: Node) -> list[Term]:
        """Return the terms of a node, sums within it distributed."""
        match node:
            case Number(dimension=named):
                if named:
                    return [Term(dimension_named(named), ((node, False),))]
                return [Term(PLAIN, ((node, False),), ((node, False),), counts=True)]
            case Name(name):
                dimension = self.dimensions.get(name)
                if isinstance(dimension, OnlyTime):
                    return [Term(SECONDS**dimension.time, ((node, False),), unknown=True)]
                plain = dimension is not None and dimension.is_plain
                return [Term(dimension or PLAIN, ((node, False),), unknown=dimension is None, counts=plain)]
            case Negation(operand):
                return self.terms(operand)
            case Operation(symbol, left, right):
                return self._operation(node, symbol, left, right)
            case Comparison(_, operands):
                self.one(node, [term for operand in operands for term in self.terms(operand)])
                return [_opaque(node, PLAIN)]
            case Call(function, arguments):
                return self._call(node, function, arguments)
        raise AssertionError(node)

    def _operation(self, node: Node, symbol: str, left: Node, right: Node) -> list[Term]:
        if symbol == "**":
            return [self._power(node, left, right)]
        ours, theirs = self.terms(left), self.terms(right)
        match symbol:
            case "+" | "-":
                return self._sum([*ours, *theirs])
            case "*":
                if len(ours) * len(theirs) > MOST_TERMS:
                    ours, theirs = [self.one(left, ours)], [self.one(right, theirs)]
                return [one * other for one in ours for other in theirs]
            case "/":
                divisor = self.one(right, theirs).inverse
                return [one * divisor for one in ours]
            case "//":
                return [self._plain(node, self.one(left, ours) * self.one(right, theirs).inverse)]
        return [replace(self.one(node, [*ours, *theirs]), factors=((node, False),), literals=())]

    def _call(self, node: Node, function: str, arguments: Sequence[Node]) -> list[Term]:
        if function == "where":
            self.terms(arguments[0])
            return self._sum([term for argument in arguments[1:] for term in self.terms(argument)])
        if function in ("min", "max"):
            return self._sum([term for argument in arguments for term in self.terms(argument)])
        (argument,) = arguments
        whole = self.one(argument, self.terms(argument))
        if function in _PURE:
            return [replace(self._plain(node, whole), unknown=False, counts=True)]
        if function in _WHOLE:
            return [self._plain(node, whole)]
        return [_opaque(node, whole.dimension ** _ROOTS.get(function, 1), whole.unknown)]

    def _sum(self, terms: list[Term]) -> list[Term]:
        """Return the terms; literals by themselves get the unit of the other terms, if these have one."""
        others = [term for term in terms if not term.is_literal]
        if any(term.unknown for term in others):
            return [replace(term, unknown=True) if term.is_literal else term for term in terms]
        rigid = {term.dimension for term in others}
        if len(rigid) != 1 or rigid == {PLAIN} or any(term.coefficients for term in others):
            return terms
        (dimension,) = rigid
        for term in terms:
            if term.is_literal:
                self.settle(term, dimension)
        return [replace(term, dimension=dimension) if term.is_literal else term for term in terms]

    def _power(self, node: Node, base: Node, exponent: Node) -> Term:
        power = self._plain(exponent, self.one(exponent, self.terms(exponent)))
        whole = self.one(base, self.terms(base))
        if whole.dimension.is_plain:
            return _opaque(node, PLAIN, whole.unknown)
        known = not power.unknown and not names_in(exponent)
        with np.errstate(all="ignore"):
            value = float(exponent.evaluate({})) if known else np.nan
        if not np.isfinite(value):
            raise self._error(f"{text_of(base)} is {whole.dimension}: its exponent must be a number", "a number")
        return _opaque(node, whole.dimension ** Fraction(value).limit_denominator(1000), whole.unknown)

    def one(self, node: Node, terms: list[Term]) -> Term:
        """All terms of a node as one, which they are if they have one dimension. InputError if not."""
        if len(terms) == 1:
            return terms[0]
        known = [term for term in terms if not term.unknown]
        rigid = [term for term in known if not term.coefficients] or [
            term for term in known if not term.dimension.is_plain
        ]
        times = {term.dimension.time for term in terms}
        dimension = rigid[0].dimension if rigid else SECONDS ** times.pop() if len(times) == 1 else PLAIN
        for term in known:
            self.settle(term, dimension)
        return _opaque(node, dimension, len(known) < len(terms))

    def _plain(self, node: Node, whole: Term) -> Term:
        """Return a node that is a plain count, since ``whole`` must be one."""
        if not whole.unknown:
            self.settle(whole, PLAIN)
        return _opaque(node, PLAIN, whole.unknown)

    def settle(self, term: Term, target: Dimension) -> None:
        """Let a literal take the unit that the term lacks. InputError if it cannot have this dimension."""
        missing = target / term.dimension
        if missing.is_plain or any(node.value == 0 for node, inverted in term.literals if not inverted):
            return
        if term.unknown and missing.time == 0:
            return
        if missing.counts_only and term.counts:
            return
        if term.coefficients:
            return self._take(term, SECONDS if term.unknown else missing)
        if term.unknown and not term.dimension.time and target.time:
            what = f"the term {term} has no time in it"
            raise self._error(what, "a factor in seconds, e.g. '2.5 us', t_s, or a parameter with 'unit: s'")
        allowed = f"terms in {target}" if not target.is_plain else "a plain count, e.g. m / 64 KiB"
        name = str(target) if not target.is_plain else PLAIN
        raise self._error(f"the term {term} is {term.dimension}, not {name}", allowed)

    def _take(self, term: Term, missing: Dimension) -> None:
        """Give a literal the missing unit, less the units that other parts of the term get from other terms."""
        open_ = [(node, inverted) for node, inverted in term.coefficients if id(node) not in self.taken]
        left = missing
        for node, inverted in term.coefficients:
            if id(node) in self.taken:
                _, before = self.taken[id(node)]
                left = left * before if inverted else left / before
        if left.is_plain:
            return
        if open_:
            node, inverted = open_[0]
            self.taken[id(node)] = node, left**-1 if inverted else left
            return
        node, inverted = term.coefficients[0]
        needed = missing**-1 if inverted else missing
        what = f"the coefficient {text_of(node)} would be {self.taken[id(node)][1]} in one term and {needed} in {term}"
        raise self._error(what, "a quantity with its unit in each term")

    def _error(self, what: str, allowed: str) -> InputError:
        return InputError(what, self.expression.place, value=self.expression.text, allowed=allowed)


def _opaque(node: Node, dimension: Dimension, unknown: bool = False) -> Term:
    """Return a node as one factor, whatever is in it."""
    return Term(dimension, ((node, False),), unknown=unknown, counts=dimension.is_plain and not unknown)
