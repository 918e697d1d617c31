"""Arithmetic in the field of q elements, q a power of a prime, by tables."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simcodesign.describe.topology.grid_shape import prime_factors
from simcodesign.describe.topology.link_loads import IntArray


@dataclass(frozen=True)
class FiniteField:
    """The field of ``size`` = prime^degree elements 0 .. size - 1.

    An element is a polynomial over the integers modulo the prime; its coefficients are the digits of its number in
    base ``prime``, the constant one lowest. Products are reduced by a polynomial of which x, or for degree 1 a number
    modulo the prime, generates all elements but 0 (a primitive one): its powers are ``power``.
    """

    size: int

    @property
    def prime(self) -> int:
        """Return the prime p of a field of p^n elements."""
        return prime_factors(self.size)[0]

    @property
    def degree(self) -> int:
        """Return the exponent n of a field of p^n elements."""
        return len(prime_factors(self.size))

    @cached_property
    def power(self) -> IntArray:
        """Powers 0 .. size - 2 of the primitive element, shape (size - 1,): every element but 0 once."""
        if self.degree == 1:
            tried = (self._powers_of_number(number) for number in range(1, self.size))
        else:
            every = itertools.product(range(self.prime), repeat=self.degree)
            tried = (self._powers_of_x(low) for low in every)
        return np.array(next(powers for powers in tried if len(powers) == self.size - 1), dtype=np.int64)

    def _powers_of_number(self, number: int) -> list[int]:
        powers = [1]
        while (following := powers[-1] * number % self.size) != 1:
            powers.append(following)
        return powers

    def _powers_of_x(self, low: tuple[int, ...]) -> list[int]:
        """Powers of x modulo x^degree + the polynomial with coefficients ``low``, until one comes again."""
        one = (1,) + (0,) * (self.degree - 1)
        digits, powers = one, [1]
        while len(powers) < self.size:
            carried = digits[-1]
            shifted = (0, *digits[:-1])
            digits = tuple((digit - carried * less) % self.prime for digit, less in zip(shifted, low, strict=True))
            if digits == one or not any(digits):
                break
            powers.append(sum(digit * self.prime**place for place, digit in enumerate(digits)))
        return powers if digits == one else []

    @cached_property
    def sum(self) -> IntArray:
        """Table (size, size) of a + b."""
        return self._by_digits(1)

    @cached_property
    def difference(self) -> IntArray:
        """Table (size, size) of a - b."""
        return self._by_digits(-1)

    def _by_digits(self, sign: int) -> IntArray:
        number, total = np.arange(self.size), np.zeros((self.size, self.size), dtype=np.int64)
        for place in range(self.degree):
            digit = number // self.prime**place % self.prime
            total += (digit[:, None] + sign * digit) % self.prime * self.prime**place
        return total

    @cached_property
    def product(self) -> IntArray:
        """Table (size, size) of a b."""
        logarithm = self._logarithm
        table: IntArray = self.power[(logarithm[:, None] + logarithm) % (self.size - 1)]
        table[0] = table[:, 0] = 0
        return table

    @cached_property
    def quotient(self) -> IntArray:
        """Table (size, size) of a / b; 0 where b is 0."""
        logarithm = self._logarithm
        table: IntArray = self.power[(logarithm[:, None] - logarithm) % (self.size - 1)]
        table[0] = table[:, 0] = 0
        return table

    @cached_property
    def _logarithm(self) -> IntArray:
        logarithm = np.zeros(self.size, dtype=np.int64)
        logarithm[self.power] = np.arange(self.size - 1)
        return logarithm
