"""Sums of products in SymPy, put together without its simplification: factors are compared, nothing is evaluated.

A coefficient is a list of products; what all of them share is put in front.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simcodesign.core.errors import InputError, Place

#: A price (its place in the order of the sum, its value) and the factors of how often it is paid.
Payment = tuple[tuple[int, Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Product:
    """A number times factors, none of which is a number or a product."""

    number: Any
    factors: tuple[Any, ...]

    def without(self, number: Any, shared: Counter[Any]) -> Product:
        """Divided by these factors, which it has."""
        left, rest = Counter(shared), []
        for factor in self.factors:
            if left[factor]:
                left[factor] -= 1
            else:
                rest.append(factor)
        return Product(self.number / number, tuple(rest))

    def expression(self, sympy: Any) -> Any:
        """Return the product in SymPy, unevaluated."""
        if not self.factors:
            return self.number
        factors = self.factors if self.number == 1 else (self.number, *self.factors)
        return factors[0] if len(factors) == 1 else sympy.Mul(*factors, evaluate=False)


def collected(sympy: Any, booked: Iterable[Payment]) -> Any:
    """Return the sum of all that is booked: by price, with what all have in common in front."""
    priced: dict[tuple[int, Any], list[Product]] = {}
    for key, counts in booked:
        product = product_of(sympy, counts)
        if product.number != 0 and key[1] != 0:
            priced.setdefault(key, []).append(product)
    every = [product for products in priced.values() for product in products]
    front = _shared(every) if len(priced) > 1 else Counter[Any]()
    terms = []
    for key in sorted(priced, key=lambda key: key[0]):
        often = _factored(sympy, [product.without(1, front) for product in priced[key]])
        price = product_of(sympy, (key[1],))
        if often.number == 0:
            continue
        terms.append(Product(often.number * price.number, (*often.factors, *price.factors)).expression(sympy))
    if not terms:
        return sympy.Integer(0)
    total = terms[0] if len(terms) == 1 else sympy.Add(*terms, evaluate=False)
    return Product(sympy.Integer(1), (*front.elements(), total)).expression(sympy)


def _factored(sympy: Any, products: Sequence[Product]) -> Product:
    """Return the sum of products as one product.

    Like terms together, common factors in front of the sum of the others.
    """
    products = merged_products(products)
    if len(products) <= 1:
        return products[0] if products else Product(sympy.Integer(0), ())
    shared = _shared(products)
    rest = [product.without(1, shared) for product in products]
    number = _shared_number(sympy, [product.number for product in rest])
    parts = [part for product in rest for part in _parts(sympy, product.without(number, Counter()))]
    terms = [product.expression(sympy) for product in merged_products(parts)]
    if not terms:
        return Product(sympy.Integer(0), ())
    if len(terms) == 1:
        return product_of(sympy, (number, *shared.elements(), *terms))
    return Product(number, (*shared.elements(), sympy.Add(*terms, evaluate=False)))


def _parts(sympy: Any, product: Product) -> list[Product]:
    """Return the terms of a product that is nothing but a sum."""
    if product.number == 1 and len(product.factors) == 1 and isinstance(product.factors[0], sympy.Add):
        return [product_of(sympy, (term,)) for term in product.factors[0].args]
    return [product]


def merged_products(products: Iterable[Product]) -> list[Product]:
    """Products of the same factors added up; what cancels is left out."""
    merged: dict[frozenset[tuple[Any, int]], Product] = {}
    for product in products:
        key = frozenset(Counter(product.factors).items())
        known = merged.get(key)
        merged[key] = product if known is None else Product(known.number + product.number, known.factors)
    return [product for product in merged.values() if product.number != 0]


def _shared(products: Sequence[Product]) -> Counter[Any]:
    """Return the factors that all products have."""
    every = (Counter(product.factors) for product in products)
    return functools.reduce(lambda a, b: a & b, every) if products else Counter()


def _shared_number(sympy: Any, numbers: Sequence[Any]) -> Any:
    """Return the largest rational number that leaves whole numbers, 1 if one of the numbers is a float."""
    if not numbers or not all(number.is_Rational for number in numbers):
        return sympy.Integer(1)
    whole = math.gcd(*(int(number.p) for number in numbers))
    return sympy.Rational(whole, math.lcm(*(int(number.q) for number in numbers)))


def product_of(sympy: Any, expressions: Iterable[Any]) -> Product:
    """All of them multiplied: numbers together, products as their factors, x/x of a name x left out."""
    number, factors = sympy.Integer(1), list[Any]()
    for expression in expressions:
        for factor in _factors(sympy, expression, False):
            inverse = _inverse(sympy, factor)
            if factor.is_Number:
                number = number * factor
            elif inverse in factors and (factor.is_Symbol or inverse.is_Symbol):
                factors.remove(inverse)
            else:
                factors.append(factor)
    return Product(number, tuple(factors))


def _factors(sympy: Any, expression: Any, inverted: bool) -> Iterator[Any]:
    if isinstance(expression, sympy.Mul):
        for factor in expression.args:
            yield from _factors(sympy, factor, inverted)
    elif isinstance(expression, sympy.Pow) and expression.args[1] == -1:
        yield from _factors(sympy, expression.args[0], not inverted)
    else:
        yield _inverse(sympy, expression) if inverted else expression


def _inverse(sympy: Any, factor: Any) -> Any:
    """1/x; of a number as a number."""
    if factor.is_Number and factor != 0:
        return 1 / factor
    if isinstance(factor, sympy.Pow) and factor.args[1] == -1:
        return factor.args[0]
    return sympy.Pow(factor, -1, evaluate=False)


def divided(sympy: Any, expression: Any, symbol: Any) -> Any | None:
    """Return the expression over the symbol if that is a factor of it (of all terms, in a sum), otherwise None."""
    if expression == symbol:
        return sympy.Integer(1)
    if isinstance(expression, sympy.Add):
        terms = [divided(sympy, term, symbol) for term in expression.args]
        return None if None in terms else sympy.Add(*terms, evaluate=False)
    for place, factor in enumerate(expression.args if isinstance(expression, sympy.Mul) else ()):
        quotient = divided(sympy, factor, symbol)
        if quotient is not None:
            others = (*expression.args[:place], quotient, *expression.args[place + 1 :])
            return product_of(sympy, others).expression(sympy)
    return None


def put_in(sympy: Any, expression: Any, definitions: Mapping[Any, Any], place: Place | None) -> Any:
    """Return the expression with symbols replaced.

    SymPy's own ``subs`` and ``xreplace`` would evaluate what they touch.
    """
    if expression in definitions:
        return definitions[expression]
    if isinstance(expression, sympy.Piecewise):
        pieces = [tuple(put_in(sympy, part, definitions, place) for part in piece.args) for piece in expression.args]
        if any(condition.has(sympy.Piecewise) for _, condition in pieces):
            raise InputError("a condition within a condition in SymPy", place, allowed="products, max")
        return sympy.Piecewise(*pieces, evaluate=False)
    if isinstance(expression, sympy.Sum):
        body, (index, *ends) = expression.args
        body, *ends = (put_in(sympy, part, definitions, place) for part in (body, *ends))
        return unevaluated_sum(sympy, body, index, *ends)
    parts = [put_in(sympy, part, definitions, place) for part in expression.args]
    if all(new is old for new, old in zip(parts, expression.args, strict=True)):
        return expression
    for kind in (sympy.Add, sympy.Mul):
        if isinstance(expression, kind):
            parts = [inner for part in parts for inner in _flat(kind, part)]
    decided = isinstance(expression, sympy.Rel) and all(part.is_Number for part in parts)
    return expression.func(*parts, evaluate=decided)


def _flat(kind: Any, part: Any) -> tuple[Any, ...]:
    """Return a sum in a sum as its terms, a product in a product as its factors.

    Without brackets, unless they begin with a number (``- - x``).
    """
    flat = isinstance(part, kind) and not part.args[0].is_Number
    return tuple(part.args) if flat else (part,)


def unevaluated_sum(sympy: Any, body: Any, index: Any, first: Any, last: Any) -> Any:
    """Return the sum over an index from the first to the last.

    SymPy's own constructor would rewrite conditions in it.
    """
    total = sympy.Basic.__new__(sympy.Sum, body, sympy.Tuple(index, first, last))
    total.is_commutative = True
    return total
