"""Sums over the index of a loop in SymPy.

In closed form if they are polynomial or geometric, otherwise left as a sum.

    sum of k^j over 0 ... n - 1 = polynomial of degree j + 1 (Faulhaber);  sum of r^k = (1 - r^n) / (1 - r), n for r = 1

The summand is first brought into a form that is safe to multiply out: functions, large numbers and whatever does not
depend on the index beyond sums, products and small powers become names, which are put back in the end. So nothing large
is ever evaluated, and what remains is a polynomial of bounded size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from simcodesign.analytic.formulas.symbolic_products import product_of, put_in, unevaluated_sum

#: Polynomials of a higher degree, or with more terms when multiplied out, are left as sums.
MOST_DEGREE, MOST_TERMS = 8, 200
#: A closed form with more terms is left as a sum, which is shorter; one with more names is not brought into factors.
_MOST_IN_FORM, _MOST_NAMES = 30, 6


class _NoClosedFormError(Exception):
    """The summand is neither a polynomial nor geometric, or is too large."""


def summed(sympy: Any, factors: Sequence[Any], index: str, count: Any) -> tuple[Any, ...]:
    """Return the factors of the sum of a product over ``index`` = 0 ... ``count`` - 1."""
    k = sympy.Symbol(index)
    alike = tuple(factor for factor in factors if k not in factor.free_symbols)
    differing = [factor for factor in factors if k in factor.free_symbols]
    if not differing:
        return (count, *alike)
    body = differing[0] if len(differing) == 1 else sympy.Mul(*differing, evaluate=False)
    try:
        total = _ClosedForm(sympy, k).of(body, count)
    except _NoClosedFormError:
        last = sympy.Add(count, -1, evaluate=count.is_Number)
        total = unevaluated_sum(sympy, body, k, sympy.Integer(0), last)
    return (*alike, total)


@dataclass
class _ClosedForm:
    """Closed form of sums over ``k``.

    ``names``: names of parts that are not looked into; ``ratios``: the names of geometric terms, each with base and
    exponent of what it grows by from one iteration to the next.
    """

    sympy: Any
    k: Any
    names: dict[Any, Any] = field(default_factory=dict)
    ratios: dict[tuple[Any, Any], Any] = field(default_factory=dict)

    def of(self, body: Any, count: Any) -> Any:
        """Return the sum. Raises _NoClosedFormError if none is known."""
        sympy = self.sympy
        if _terms(sympy, body) > MOST_TERMS or _terms(sympy, count) > MOST_TERMS:
            raise _NoClosedFormError
        iterations, polynomial = self._plain(count), self._polynomial(self._plain(body))
        if polynomial.degree(self.k) > MOST_DEGREE:
            raise _NoClosedFormError
        several: dict[tuple[int, ...], list[Any]] = {}
        for (power, *powers), coefficient in polynomial.terms():
            if power and any(powers):
                raise _NoClosedFormError
            sums = coefficient * _sum_of_powers(sympy, power, iterations) if not any(powers) else coefficient
            several.setdefault(tuple(powers), []).append(sums)
        back = {name: part for part, name in self.names.items()}
        terms = []
        for powers, coefficients in several.items():
            front = put_in(sympy, self._factored(sum(coefficients)), back, None)
            grown = self._geometric(powers, put_in(sympy, iterations, back, None)) if any(powers) else sympy.Integer(1)
            terms.append(product_of(sympy, (front, grown)).expression(sympy))
        return sympy.Add(*terms, evaluate=False) if len(terms) > 1 else terms[0] if terms else sympy.Integer(0)

    def _polynomial(self, plain: Any) -> Any:
        """In the index and the geometric terms."""
        return self.sympy.Poly(self.sympy.expand(plain), self.k, *self.ratios.values())

    def _plain(self, part: Any) -> Any:
        """Return a part of what is summed, of which only sums, products and small powers are left."""
        sympy, differs = self.sympy, self.k in part.free_symbols
        if part.is_Symbol or (part.is_Rational and max(abs(part.p), part.q) < 10**15):
            return part
        if isinstance(part, sympy.Add | sympy.Mul):
            return part.func(*(self._plain(inner) for inner in part.args))
        if isinstance(part, sympy.Pow):
            base, exponent = part.args
            if base.free_symbols and exponent.is_Integer and 0 <= exponent <= MOST_DEGREE:
                return self._plain(base) ** exponent
            if differs and self.k not in base.free_symbols:
                return self._geometric_term(base, exponent)
        if differs:
            raise _NoClosedFormError
        return self.names.setdefault(part, sympy.Dummy())

    def _geometric_term(self, base: Any, exponent: Any) -> Any:
        """base^(a k + b), as a name for its growth by base^a times base^b."""
        sympy = self.sympy
        linear = sympy.Poly(sympy.expand(self._plain(exponent)), self.k, *self.ratios.values())
        if linear.total_degree() != 1 or linear.degree(self.k) != 1:
            raise _NoClosedFormError
        back = {name: part for part, name in self.names.items()}
        slope, first = (put_in(sympy, linear.coeff_monomial(one), back, None) for one in (self.k, sympy.Integer(1)))
        growth = self.ratios.setdefault((base, slope), sympy.Dummy())
        if first == 0:
            return growth
        front = sympy.Pow(base, first, evaluate=False)
        return self.names.setdefault(front, sympy.Dummy()) * growth

    def _geometric(self, powers: Sequence[int], count: Any) -> Any:
        """Return the sum of r^k, where r is the product of these powers of the ratios."""
        sympy = self.sympy
        parts = [(base, slope, power) for (base, slope), power in zip(self.ratios, powers, strict=True) if power]
        exponents = [(base, _product(sympy, [sympy.Integer(power), slope])) for base, slope, power in parts]
        ratio = _product(sympy, [self._power(base, exponent) for base, exponent in exponents])
        grown = _product(sympy, [self._power(base, _product(sympy, [exponent, count])) for base, exponent in exponents])
        if ratio.is_Number:
            return count if ratio == 1 else _product(sympy, [_one_minus(sympy, grown), 1 / (1 - ratio)])
        quotient = sympy.Mul(
            _one_minus(sympy, grown), sympy.Pow(_one_minus(sympy, ratio), -1, evaluate=False), evaluate=False
        )
        same = sympy.Eq(ratio, 1, evaluate=False)
        return sympy.Piecewise((count, same), (quotient, True), evaluate=False)

    def _power(self, base: Any, exponent: Any) -> Any:
        """Evaluate a power if it is of a number with a small exponent."""
        is_small = base.is_Number and base != 0 and exponent.is_Integer and abs(exponent) <= MOST_DEGREE
        return base if exponent == 1 else self.sympy.Pow(base, exponent, evaluate=bool(is_small))

    def _factored(self, plain: Any) -> Any:
        """Return it as a product if that is quick."""
        plain = self.sympy.expand(plain)
        if len(plain.args) > _MOST_IN_FORM:
            raise _NoClosedFormError
        return self.sympy.factor(plain) if len(plain.free_symbols) <= _MOST_NAMES else plain


def _terms(sympy: Any, part: Any) -> int:
    """Maximum number of terms after multiplying out."""
    if isinstance(part, sympy.Add):
        return sum(_terms(sympy, inner) for inner in part.args)
    if isinstance(part, sympy.Mul):
        return math.prod(_terms(sympy, inner) for inner in part.args)
    if isinstance(part, sympy.Pow) and part.args[1].is_Integer and 0 <= part.args[1] <= MOST_DEGREE:
        return math.comb(_terms(sympy, part.args[0]) + int(part.args[1]) - 1, int(part.args[1]))
    return 1


def _sum_of_powers(sympy: Any, power: int, count: Any) -> Any:
    """0^power + ... + (count - 1)^power."""
    name = sympy.Dummy()
    return sympy.expand((sympy.bernoulli(power + 1, name) - sympy.bernoulli(power + 1, 0)) / (power + 1)).subs(
        name, count
    )


def _product(sympy: Any, factors: Sequence[Any]) -> Any:
    """Product of expressions that stay as they are; numbers are multiplied."""
    number = sympy.Integer(1)
    others = []
    for factor in factors:
        if factor.is_Number:
            number = number * factor
        else:
            others.append(factor)
    several = others if number == 1 and others else [number, *others]
    return several[0] if len(several) == 1 else sympy.Mul(*several, evaluate=False)


def _one_minus(sympy: Any, part: Any) -> Any:
    return sympy.Add(1, _product(sympy, [sympy.Integer(-1), part]), evaluate=False)
